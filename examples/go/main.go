package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/a3s-lab/code/bindings-go"
)

func main() {
	ctx := context.Background()
	agent := must(code.NewAgent(ctx))
	defer agent.Close(ctx)
	rows := code.Tool{Name: "rows", Description: "Says many lines.",
		Handler: func(context.Context, *code.ToolCall) (code.ToolOutput, error) {
			var text strings.Builder
			for n := range 20000 {
				fmt.Fprintf(&text, "row %d\n", n)
			}
			return code.ToolOutput{Output: text.String()}, nil
		}}
	session := must(agent.Session(ctx, append(os.Args, ".")[1], &code.SessionOptions{Tools: []code.Tool{rows}}))

	first := must(session.ReadFile(ctx, "README.md", code.ReadFileOptions{Limit: code.Ptr[int64](1)}))
	fmt.Println(strings.TrimSpace(first), len(must(session.Glob(ctx, "**/*.rs"))))

	result := must(session.Tool(ctx, "rows", nil)) // bounded, and accounted for
	var facts struct {
		Evidence struct {
			LossMode   string `json:"loss_mode"`
			ContentRef string `json:"content_ref"`
		} `json:"a3s_tool_result_evidence"`
	}
	if err := result.DecodeMetadata(&facts); err != nil {
		log.Fatal(err)
	}
	original := must(session.GetArtifact(ctx, facts.Evidence.ContentRef))
	fmt.Println(facts.Evidence.LossMode, len(original.Bytes))

	asModel := must(session.GovernedTool(ctx, "rows", nil)) // governed: nobody allowed it
	fmt.Println(asModel.ErrorType())
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
