package code

// What the tests share: an agent with the methods for tests, workspaces made of literals, and the counts
// that show what is left behind.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// withDebug opens the runtime with the methods and tools for tests.
func withDebug() AgentOption { return func(s *agentSettings) { s.runtime.Debug = true } }

func openAgent(t testing.TB) *Agent {
	t.Helper()
	agent, err := NewAgent(t.Context(), withDebug())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, agent) })
	return agent
}

func closeNow(t testing.TB, closer interface{ Close(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := closer.Close(ctx); err != nil {
		t.Error("close:", err)
	}
}

// folder makes a workspace of files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func openSession(t testing.TB, options *SessionOptions, files map[string]string) *Session {
	t.Helper()
	session, err := openAgent(t).Session(t.Context(), folder(t, files), options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// tool calls a tool that must give a result.
func tool(t testing.TB, session *Session, name string, args any) *ToolResult {
	t.Helper()
	result, err := session.Tool(t.Context(), name, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// succeeded is tool for a call that must go well.
func succeeded(t testing.TB, session *Session, name string, args any) *ToolResult {
	t.Helper()
	result := tool(t, session, name, args)
	if result.ExitCode != 0 {
		t.Fatalf("%s: exit code %d: %s", name, result.ExitCode, result.Output)
	}
	return result
}

type m = map[string]any

// evidence is what a result says about itself.
type evidence struct {
	Schema         string `json:"schema"`
	OriginalBytes  int    `json:"original_bytes"`
	ProjectedBytes int    `json:"projected_bytes"`
	ContentDigest  string `json:"content_digest"`
	RepeatKey      string `json:"repeat_key"`
	ContentRef     string `json:"content_ref"`
	LossMode       string `json:"loss_mode"`
}

func evidenceOf(t testing.TB, result *ToolResult) evidence {
	t.Helper()
	var metadata struct {
		Evidence *evidence `json:"a3s_tool_result_evidence"`
	}
	if err := result.DecodeMetadata(&metadata); err != nil {
		t.Fatal(err)
	}
	if metadata.Evidence == nil {
		t.Fatalf("no evidence in %s", result.Metadata)
	}
	return *metadata.Evidence
}

// emitting is a tool that returns a text.
func emitting(name, text string) Tool {
	return Tool{
		Name:        name,
		Description: "Returns a text.",
		Handler:     func(context.Context, *ToolCall) (ToolOutput, error) { return Text(text), nil },
	}
}

// debugCall calls a method for tests on the runtime.
func debugCall(t testing.TB, agent *Agent, method string, arguments, data []byte) (message, error) {
	t.Helper()
	c, _, err := agent.native()
	if err != nil {
		t.Fatal(err)
	}
	return c.do(t.Context(), c.runtime, method, arguments, data, nil)
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s did not happen\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

// seed is the text of a document that states what the product does.
func seed(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "tests", "spec", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// between cuts the text from the first occurrence of from to the end of the next until.
func between(t testing.TB, text, from, until string) string {
	t.Helper()
	start := strings.Index(text, from)
	if start < 0 {
		t.Fatalf("the document has no %q", from)
	}
	end := strings.Index(text[start:], until)
	if end < 0 {
		t.Fatalf("the document has no %q after %q", until, from)
	}
	return text[start : start+end+len(until)]
}

func raw(t testing.TB, value any) json.RawMessage {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
