// The driver of the conformance cases for Go: runs steps through the public API and reports what it saw.
// tests/conformance/DRIVER.md is its protocol. It judges nothing.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/a3s-lab/code/bindings-go"
)

// request is one line of the comparator.
type request struct {
	ID        int64                      `json:"id"`
	Op        string                     `json:"op"`
	Name      string                     `json:"name"`
	Args      json.RawMessage            `json:"args"`
	Workspace string                     `json:"workspace"`
	Options   map[string]json.RawMessage `json:"options"`
	HostTools map[string]hostTool        `json:"hostTools"`
	Model     []json.RawMessage          `json:"model"`
	Interrupt *interrupt                 `json:"interrupt"`
}

type hostTool struct {
	Output string `json:"output"`
	Fail   bool   `json:"fail"`
}

type interrupt struct {
	AfterMS int64  `json:"afterMs"`
	By      string `json:"by"`
}

// answer is what goes back beside the id.
type answer map[string]any

func value(v any) answer               { return answer{"value": v} }
func unsupported(what string) answer   { return answer{"unsupported": what} }
func result(r *code.ToolResult) answer { return answer{"result": shown(r)} }

func shown(r *code.ToolResult) map[string]any {
	return map[string]any{
		"name": r.Name, "output": r.Output, "exitCode": r.ExitCode,
		"metadata": orNull(r.Metadata), "errorKind": orNull(r.ErrorKind),
	}
}

func orNull(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// failure reports an error of the API.
func failure(err error) answer {
	var own *code.Error
	if !errors.As(err, &own) {
		return answer{"error": map[string]any{"code": fmt.Sprintf("HOST:%T", err), "message": err.Error()}}
	}
	report := map[string]any{"code": own.Code, "message": own.Message}
	var details struct {
		ErrorKind struct {
			Type string `json:"type"`
		} `json:"errorKind"`
	}
	if len(own.Details) > 0 && json.Unmarshal(own.Details, &details) == nil && details.ErrorKind.Type != "" {
		report["kind"] = details.ErrorKind.Type
	}
	return answer{"error": report}
}

// driver is what one case has open.
type driver struct {
	agent   *code.Agent
	session *code.Session
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var d driver
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var r request
			var a answer
			if broken := json.Unmarshal(line, &r); broken != nil {
				a = unsupported("a line that cannot be read: " + broken.Error())
			} else {
				a = d.serve(&r)
			}
			a["id"] = r.ID
			if err := out.Encode(a); err != nil {
				fail(err)
			}
		}
		if errors.Is(err, io.EOF) {
			d.reset()
			return
		}
		if err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (d *driver) serve(r *request) answer {
	switch r.Op {
	case "hello":
		return value(map[string]string{"language": "go"})
	case "reset":
		d.reset()
		return value(nil)
	case "open":
		return d.open(r)
	}
	if d.session == nil {
		return unsupported("no session is open")
	}
	switch r.Op {
	case "close":
		if err := d.session.Close(context.Background()); err != nil {
			return failure(err)
		}
		return value(nil)
	case "tool", "governedTool", "helper":
		return d.interruptible(r)
	default:
		return unsupported("op " + r.Op)
	}
}

func (d *driver) reset() {
	if d.agent != nil {
		if err := d.agent.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	*d = driver{}
}

func (d *driver) open(r *request) answer {
	if len(r.Model) > 0 {
		return unsupported("scripted models")
	}
	options, missing, err := decodeOptions(r.Options)
	if err != nil {
		return unsupported(err.Error())
	}
	if missing != "" {
		return unsupported("option " + missing)
	}
	for name, tool := range r.HostTools {
		options.Tools = append(options.Tools, code.Tool{
			Name:        name,
			Description: "conformance tool",
			Parameters:  map[string]string{"type": "object"},
			Handler: func(context.Context, *code.ToolCall) (code.ToolOutput, error) {
				return code.ToolOutput{Output: tool.Output, Failed: tool.Fail}, nil
			},
		})
	}
	if d.agent == nil {
		if d.agent, err = code.NewAgent(context.Background()); err != nil {
			return failure(err)
		}
	}
	session, err := d.agent.Session(context.Background(), r.Workspace, options)
	if err != nil {
		return failure(err)
	}
	d.session = session
	return value(nil)
}

// interruptible makes a call, and cancels it or closes the session when the request says so.
func (d *driver) interruptible(r *request) answer {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	session := d.session
	var closing sync.WaitGroup
	defer closing.Wait()
	if r.Interrupt != nil {
		interrupt := func() { cancel() }
		if r.Interrupt.By == "close" {
			interrupt = func() {
				if err := session.Close(context.Background()); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
		}
		closing.Add(1)
		timer := time.AfterFunc(time.Duration(r.Interrupt.AfterMS)*time.Millisecond, func() {
			defer closing.Done()
			interrupt()
		})
		defer func() {
			if timer.Stop() {
				closing.Done()
			}
		}()
	}
	if r.Op == "helper" {
		return helper(ctx, session, r)
	}
	call := session.Tool
	if r.Op == "governedTool" {
		call = session.GovernedTool
	}
	var args any
	if len(r.Args) > 0 {
		args = r.Args
	}
	return toolResult(call(ctx, r.Name, args))
}

func helper(ctx context.Context, session *code.Session, r *request) answer {
	var args []json.RawMessage
	if len(r.Args) > 0 {
		if err := json.Unmarshal(r.Args, &args); err != nil {
			return unsupported("arguments of a helper that are not a list")
		}
	}
	text := func(at int) (out string) {
		if at < len(args) {
			_ = json.Unmarshal(args[at], &out)
		}
		return out
	}
	switch r.Name {
	case "readFile":
		var options []code.ReadFileOptions
		if len(args) > 1 {
			var one code.ReadFileOptions
			if err := json.Unmarshal(args[1], &one); err != nil {
				return unsupported("options of readFile: " + err.Error())
			}
			options = append(options, one)
		}
		return either(session.ReadFile(ctx, text(0), options...))
	case "grep":
		return either(session.Grep(ctx, text(0)))
	case "glob":
		return either(session.Glob(ctx, text(0)))
	case "bash":
		return either(session.Bash(ctx, text(0)))
	case "writeFile":
		return toolResult(session.WriteFile(ctx, text(0), text(1)))
	case "editFile":
		all := len(args) > 3 && string(args[3]) == "true"
		return toolResult(session.EditFile(ctx, text(0), text(1), text(2), all))
	case "patchFile":
		return toolResult(session.PatchFile(ctx, text(0), text(1)))
	case "git":
		options, err := gitOptions(args)
		if err != nil {
			return unsupported("options of git: " + err.Error())
		}
		return toolResult(session.Git(ctx, options))
	case "gitCommand":
		if len(args) == 0 {
			return unsupported("gitCommand without a request")
		}
		return toolResult(session.GitCommand(ctx, args[0]))
	case "ls":
		return toolResult(session.LS(ctx, text(0)))
	case "verifyCommands":
		var commands []code.VerificationCommand
		if len(args) > 1 {
			if err := json.Unmarshal(args[1], &commands); err != nil {
				return unsupported("commands of verifyCommands: " + err.Error())
			}
		}
		return either(session.VerifyCommands(ctx, text(0), commands))
	case "toolNames":
		return value(session.ToolNames())
	case "toolDefinitions":
		return value(session.ToolDefinitions())
	case "getArtifact":
		artifact, err := session.GetArtifact(ctx, text(0))
		if err != nil {
			return failure(err)
		}
		if artifact == nil {
			return value(nil)
		}
		return value(map[string]any{
			"artifactId": artifact.ArtifactID, "artifactUri": artifact.ArtifactURI, "toolName": artifact.ToolName,
			"content": artifact.Content, "bytesBase64": base64.StdEncoding.EncodeToString(artifact.Bytes),
			"originalBytes": artifact.OriginalBytes, "shownBytes": artifact.ShownBytes,
		})
	default:
		return unsupported("helper " + r.Name)
	}
}

func toolResult(have *code.ToolResult, err error) answer {
	if err != nil {
		return failure(err)
	}
	return result(have)
}

func either[T any](v T, err error) answer {
	if err != nil {
		return failure(err)
	}
	return value(v)
}
