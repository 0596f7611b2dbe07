// Reads a file of a workspace:  go run . FOLDER
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/a3s-lab/code/bindings-go"
)

func main() {
	ctx := context.Background()
	agent, err := code.NewAgent(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close(ctx)
	session, err := agent.Session(ctx, os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.Tool(ctx, "read", map[string]any{"file_path": "README.md"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.ExitCode, result.Output)
}
