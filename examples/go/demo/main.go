// The demo program in Go: the steps that examples/DEMO.md lists, one JSON object a line.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/a3s-lab/code/bindings-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo FOLDER")
		os.Exit(1)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// step prints one line.
func step(name string, value any, show ...string) error {
	line := map[string]any{"step": name, "value": value}
	if len(show) > 0 {
		line["show"] = show[0]
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}

func digest(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

// evidence is the part of a result's metadata that the demo shows.
type evidence struct {
	OriginalBytes  int64  `json:"original_bytes"`
	ProjectedBytes int64  `json:"projected_bytes"`
	LossMode       string `json:"loss_mode"`
	ContentDigest  string `json:"content_digest"`
	ContentRef     string `json:"content_ref"`
}

// tool calls a tool and gives its result with the evidence.
func tool(ctx context.Context, session *code.Session, name string, args any) (*code.ToolResult, evidence, error) {
	result, err := session.Tool(ctx, name, args)
	if err != nil {
		return nil, evidence{}, err
	}
	own, err := evidenceOf(result)
	return result, own, err
}

func evidenceOf(result *code.ToolResult) (evidence, error) {
	var metadata struct {
		Evidence evidence `json:"a3s_tool_result_evidence"`
	}
	err := result.DecodeMetadata(&metadata)
	return metadata.Evidence, err
}

func countRows(_ context.Context, call *code.ToolCall) (code.ToolOutput, error) {
	var args struct {
		Rows int `json:"rows"`
	}
	if err := call.Bind(&args); err != nil {
		return code.ToolOutput{}, err
	}
	var rows strings.Builder
	for at := 1; at <= args.Rows; at++ {
		fmt.Fprintf(&rows, "L%06d\n", at)
	}
	return code.Text(rows.String()), nil
}

func run(ctx context.Context, folder string) error {
	agent, err := code.NewAgent(ctx)
	if err != nil {
		return err
	}
	defer agent.Close(ctx)
	session, err := agent.Session(ctx, folder, &code.SessionOptions{
		ToolResultTransformPolicy: code.ContextEfficient(),
	})
	if err != nil {
		return err
	}
	names := session.ToolNames()
	if err := step("tools", names, fmt.Sprintf("%d tools", len(names))); err != nil {
		return err
	}
	file, err := readingSteps(ctx, session)
	if err != nil {
		return err
	}
	if err := customSteps(ctx, session); err != nil {
		return err
	}
	governed, err := session.GovernedTool(ctx, "read", map[string]any{"file_path": file})
	if err != nil {
		return err
	}
	if err := step("governed", map[string]any{"exitCode": governed.ExitCode},
		fmt.Sprintf("exit %d", governed.ExitCode)); err != nil {
		return err
	}
	if err := directStep(ctx, session); err != nil {
		return err
	}
	if err := searchSteps(ctx, session, file); err != nil {
		return err
	}
	if err := editStep(ctx, agent); err != nil {
		return err
	}
	if err := session.Close(ctx); err != nil {
		return err
	}
	return step("close", session.IsClosed())
}

func readingSteps(ctx context.Context, session *code.Session) (file string, err error) {
	paths, err := session.Glob(ctx, "*")
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", errors.New("the folder has no files")
	}
	file = paths[0]
	if err := step("glob", paths, fmt.Sprintf("%d paths, first %s", len(paths), file)); err != nil {
		return "", err
	}
	read, own, err := tool(ctx, session, "read", map[string]any{"file_path": file})
	if err != nil {
		return "", err
	}
	if err := step("read", map[string]any{
		"file": file, "exitCode": read.ExitCode, "bytes": own.OriginalBytes, "digest": own.ContentDigest,
	}, fmt.Sprintf("%d bytes, %.19s", own.OriginalBytes, own.ContentDigest)); err != nil {
		return "", err
	}
	text, err := session.ReadFile(ctx, file)
	if err != nil {
		return "", err
	}
	if err := step("readFile", map[string]any{"bytes": len(text), "sha256": digest([]byte(text))},
		fmt.Sprintf("%d bytes", len(text))); err != nil {
		return "", err
	}
	listed, err := session.LS(ctx, "")
	if err != nil {
		return "", err
	}
	own, err = evidenceOf(listed)
	if err != nil {
		return "", err
	}
	if err := step("ls", map[string]any{"exitCode": listed.ExitCode, "digest": own.ContentDigest},
		fmt.Sprintf("exit %d", listed.ExitCode)); err != nil {
		return "", err
	}
	hits, err := session.Grep(ctx, "TODO|fn ")
	if err != nil {
		return "", err
	}
	lines := 0
	if hits != "" {
		lines = strings.Count(strings.TrimSuffix(hits, "\n"), "\n") + 1
	}
	return file, step("grep", map[string]any{"lines": lines, "sha256": digest([]byte(hits))}, fmt.Sprintf("%d lines", lines))
}

func customSteps(ctx context.Context, session *code.Session) error {
	if err := session.RegisterTool(ctx, code.Tool{
		Name:        "count_rows",
		Description: "Writes numbered rows.",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"]}`),
		Handler: countRows,
	}); err != nil {
		return err
	}
	counted, own, err := tool(ctx, session, "count_rows", map[string]any{"rows": 20000})
	if err != nil {
		return err
	}
	if err := step("custom", map[string]any{
		"exitCode": counted.ExitCode, "originalBytes": own.OriginalBytes, "projectedBytes": own.ProjectedBytes,
		"lossMode": own.LossMode, "digest": own.ContentDigest,
	}, fmt.Sprintf("%d to %d bytes, %s", own.OriginalBytes, own.ProjectedBytes, own.LossMode)); err != nil {
		return err
	}
	artifact, err := session.GetArtifact(ctx, own.ContentRef)
	if err != nil {
		return err
	}
	if artifact == nil {
		return errors.New("the original was not kept")
	}
	sum, verdict := digest(artifact.Bytes), "DIFFERS"
	if "sha256:"+sum == own.ContentDigest {
		verdict = "matches"
	}
	return step("artifact", map[string]any{
		"bytes": len(artifact.Bytes), "sha256": sum, "matches": verdict == "matches",
	}, fmt.Sprintf("%d bytes, %s", len(artifact.Bytes), verdict))
}

func directStep(ctx context.Context, session *code.Session) error {
	files, err := session.Glob(ctx, "src/**/*.rs")
	if err != nil {
		return err
	}
	hits, err := session.Grep(ctx, "PermissionPolicy")
	if err != nil {
		return err
	}
	status, err := session.Git(ctx, code.GitOptions{Command: "status"})
	if err != nil {
		return err
	}
	statusEvidence, err := evidenceOf(status)
	if err != nil {
		return err
	}
	output, err := session.Bash(ctx, "git log -1")
	if err != nil {
		return err
	}
	raw, rawEvidence, err := tool(ctx, session, "read", map[string]any{"file_path": "README.md"})
	if err != nil {
		return err
	}
	schemas := session.ToolDefinitions()
	lines := len(strings.FieldsFunc(hits, func(r rune) bool { return r == '\n' }))
	return step("direct", map[string]any{
		"files": len(files), "hitLines": lines, "status": status.ExitCode, "statusDigest": statusEvidence.ContentDigest,
		"outputBytes": len(output), "outputSha256": digest([]byte(output)), "read": raw.ExitCode,
		"readDigest": rawEvidence.ContentDigest, "schemas": len(schemas),
	}, fmt.Sprintf("%d %d %d %d", len(files), lines, len(output), len(schemas)))
}

func searchSteps(ctx context.Context, session *code.Session, file string) error {
	ranked, err := session.Tool(ctx, "search", map[string]any{
		"mode": "bm25", "query": "workspace permission policy", "limit": 8, "context": 2,
	})
	if err != nil {
		return err
	}
	var found struct {
		Results []struct {
			Path string `json:"path"`
		} `json:"results"`
	}
	if err := ranked.DecodeMetadata(&found); err != nil {
		return err
	}
	places := []string{}
	for _, hit := range found.Results {
		places = append(places, hit.Path)
	}
	if err := step("bm25", map[string]any{"exitCode": ranked.ExitCode, "paths": places},
		fmt.Sprintf("%d places", len(places))); err != nil {
		return err
	}
	var reads []any
	for _, path := range []string{file, "no-such-file"} {
		reads = append(reads, map[string]any{"tool": "read", "args": map[string]any{"file_path": path}})
	}
	batch, err := session.Tool(ctx, "batch", map[string]any{"invocations": reads})
	if err != nil {
		return err
	}
	var facts struct {
		Status string `json:"status"`
		Failed []int  `json:"failed_indices"`
	}
	if err := batch.DecodeMetadata(&facts); err != nil {
		return err
	}
	return step("batch", map[string]any{"exitCode": batch.ExitCode, "status": facts.Status, "failed": facts.Failed},
		fmt.Sprintf("%s, exit %d", facts.Status, batch.ExitCode))
}

func editStep(ctx context.Context, agent *code.Agent) (err error) {
	folder, err := os.MkdirTemp("", "a3s-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	notes, err := agent.Session(ctx, folder, nil)
	if err != nil {
		return err
	}
	const before = "port = 1\nport = 2\n"
	if _, err := notes.WriteFile(ctx, "notes.txt", before); err != nil {
		return err
	}
	edit := map[string]any{
		"file_path": "notes.txt", "old_string": "port", "new_string": "gate", "replace_all": true, "dry_run": true,
	}
	dry, err := notes.Tool(ctx, "edit", edit)
	if err != nil {
		return err
	}
	var facts struct {
		ReplacementCount int `json:"replacement_count"`
	}
	if err := dry.DecodeMetadata(&facts); err != nil {
		return err
	}
	unchanged, err := notes.ReadFile(ctx, "notes.txt")
	if err != nil {
		return err
	}
	edit["dry_run"] = false
	edit["expected_replacements"] = facts.ReplacementCount
	edited, err := notes.Tool(ctx, "edit", edit)
	if err != nil {
		return err
	}
	after, err := notes.ReadFile(ctx, "notes.txt")
	if err != nil {
		return err
	}
	if err := step("edit", map[string]any{
		"counted": facts.ReplacementCount, "untouched": unchanged == before, "exitCode": edited.ExitCode, "text": after,
	}, fmt.Sprintf("%d counted, exit %d", facts.ReplacementCount, edited.ExitCode)); err != nil {
		return err
	}
	return notes.Close(ctx)
}
