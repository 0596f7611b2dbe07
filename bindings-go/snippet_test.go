package code

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// snippetProgram is what stands around the documented lines, which are taken as they are.
const snippetProgram = `package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/a3s-lab/code/bindings-go"
)

func run(ctx context.Context, agent *code.Agent) (*code.Session, error) {
%s
	return session, err
}

func main() {
	ctx := context.Background()
	agent, err := code.NewAgent(ctx)
	check(err)
	session, err := run(ctx, agent)
	check(err)
	check(session.RegisterTool(ctx, code.Tool{
		Name: "rows",
		Description: "Returns many rows.",
		Handler: func(context.Context, *code.ToolCall) (code.ToolOutput, error) {
			var rows strings.Builder
			for at := range 30000 {
				fmt.Fprintf(&rows, "row %%06d\n", at)
			}
			return code.Text(rows.String()), nil
		},
	}))
	result, err := session.Tool(ctx, "rows", nil)
	check(err)
	fmt.Print(result.Output)
	check(agent.Close(ctx))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// The documented session options compile and give the head and the tail of a large result.
//
// claims: PROJ-15
func TestTheDocumentedOptionsCompileAndApply(t *testing.T) {
	snippet := between(t, seed(t, "seed-tools.txt"), "session, err := agent.Session(ctx, \"/repo\"", "\n})\n")
	root := folder(t, map[string]string{"a.txt": "one\n"})
	// The path must exist, so that one string is another one.
	snippet = strings.Replace(snippet, `"/repo"`, strconv.Quote(root), 1)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	program := t.TempDir()
	for name, text := range map[string]string{
		"main.go": fmt.Sprintf(snippetProgram, snippet),
		"go.mod": "module snippet\n\ngo 1.24\n\nrequire github.com/a3s-lab/code/bindings-go v0.0.0\n\n" +
			"replace github.com/a3s-lab/code/bindings-go => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "run", ".")
	command.Dir = program
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text := string(output)
	if len(text) > 100*1024 || !strings.HasPrefix(text, "row 000000\n") || !strings.Contains(text, "row 029999") {
		t.Errorf("%d bytes, not a head and a tail of at most 100 KiB", len(text))
	}
	if head := strings.Count(text[:64*1024-1024], "\n"); head < 5800 {
		t.Errorf("the head has %d rows", head)
	}
}
