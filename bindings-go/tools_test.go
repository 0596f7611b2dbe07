package code

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func handling(name string, handler func(context.Context, *ToolCall) (ToolOutput, error)) Tool {
	return Tool{Name: name, Description: "For a test.", Handler: handler}
}

// hostError is what the metadata says a handler threw.
func hostError(t *testing.T, result *ToolResult) string {
	t.Helper()
	var metadata struct {
		HostError string `json:"host_error"`
	}
	if err := result.DecodeMetadata(&metadata); err != nil {
		t.Fatal(err)
	}
	return metadata.HostError
}

func TestAHandlerReturnsTextMetadataAndKind(t *testing.T) {
	type arguments struct {
		Rows int `json:"rows"`
	}
	session := openSession(t, &SessionOptions{Tools: []Tool{{
		Name:         "rows",
		Description:  "Counts rows.",
		Parameters:   m{"type": "object", "properties": m{"rows": m{"type": "integer"}}, "required": []string{"rows"}},
		Capabilities: &ToolCapabilities{ReadOnly: true, Idempotent: true},
		Handler: func(_ context.Context, call *ToolCall) (ToolOutput, error) {
			var args arguments
			if err := call.Bind(&args); err != nil {
				return ToolOutput{}, err
			}
			if call.Name != "rows" || call.ID == "" || time.Until(call.Deadline) < time.Minute {
				t.Errorf("%+v", call)
			}
			call.Progress("half way")
			return ToolOutput{
				Output:    strings.Repeat("row\n", args.Rows),
				Failed:    true,
				Metadata:  m{"rows": args.Rows, "workspace": call.Workspace, "session": call.SessionID},
				ErrorKind: ToolErrorKindNotFound{Path: "x"},
			}, nil
		},
	}}}, nil)
	result := tool(t, session, "rows", m{"rows": 2})
	var metadata struct {
		Rows      int    `json:"rows"`
		Workspace string `json:"workspace"`
		Session   string `json:"session"`
	}
	if err := result.DecodeMetadata(&metadata); err != nil {
		t.Fatal(err)
	}
	if result.Output != "row\nrow\n" || result.ExitCode != 1 || result.ErrorType() != "not_found" ||
		metadata.Rows != 2 || metadata.Workspace != session.Workspace() || metadata.Session != session.SessionID() {
		t.Errorf("%q, %d, %s, %+v", result.Output, result.ExitCode, result.ErrorKind, metadata)
	}
	if result := tool(t, session, "rows", m{"rows": "two"}); result.ErrorType() != "invalid_argument" {
		t.Errorf("the schema was not applied: %s", result.Output)
	}
}

// panicking cannot be written as JSON without a panic.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

func TestWhateverAHandlerDoesIsAnswered(t *testing.T) {
	for name, handler := range map[string]func(context.Context, *ToolCall) (ToolOutput, error){
		"asked to fail":  func(context.Context, *ToolCall) (ToolOutput, error) { return ToolOutput{}, errors.New("asked to fail") },
		"asked to panic": func(context.Context, *ToolCall) (ToolOutput, error) { panic("asked to panic") },
		"nil map": func(context.Context, *ToolCall) (ToolOutput, error) {
			var none map[string]int
			none["x"] = 1
			return ToolOutput{}, nil
		},
		"nil argument":        func(context.Context, *ToolCall) (ToolOutput, error) { panic(nil) },
		"ended its goroutine": func(context.Context, *ToolCall) (ToolOutput, error) { runtime.Goexit(); return ToolOutput{}, nil },
		"panicked": func(context.Context, *ToolCall) (ToolOutput, error) {
			var none *os.PathError
			return ToolOutput{}, none
		},
		"handler panicked": func(context.Context, *ToolCall) (ToolOutput, error) { return ToolOutput{Metadata: panicking{}}, nil },
		"not UTF-8":        func(context.Context, *ToolCall) (ToolOutput, error) { return Text("\xff"), nil },
		"metadata":         func(context.Context, *ToolCall) (ToolOutput, error) { return ToolOutput{Metadata: m{"a": "\xff"}}, nil },
		"errorKind":        func(context.Context, *ToolCall) (ToolOutput, error) { return ToolOutput{ErrorKind: func() {}}, nil },
	} {
		session := openSession(t, &SessionOptions{Tools: []Tool{handling("probe", handler)}}, nil)
		result := tool(t, session, "probe", nil)
		if result.ExitCode != 1 || !strings.Contains(hostError(t, result), name) {
			t.Errorf("%s: exit code %d, host error %q", name, result.ExitCode, hostError(t, result))
		}
		if after := tool(t, session, "debug_noop", nil); after.ExitCode != 0 {
			t.Errorf("%s: the next call gives %s", name, after.Output)
		}
	}
}

func TestAHandlerThatHangsIsCancelledWithItsCall(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	session := openSession(t, &SessionOptions{Tools: []Tool{handling("hang", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ToolOutput{}, ctx.Err()
	})}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := session.Tool(ctx, "hang", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if cause := wait(t, ended); !errors.Is(cause, ErrCancelled) {
		t.Error(cause)
	}
}

func wait[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatal("nothing arrived")
	}
	return value
}

func TestAHandlerThatRunsOutOfTimeIsToldSo(t *testing.T) {
	ended := make(chan error, 1)
	slow := handling("slow", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return Text("late"), nil
	})
	slow.Timeout = 50 * time.Millisecond
	session := openSession(t, &SessionOptions{Tools: []Tool{slow}}, nil)
	if result := tool(t, session, "slow", nil); result.ErrorType() != "timeout" {
		t.Errorf("%s %s", result.ErrorKind, result.Output)
	}
	if cause := wait(t, ended); !errors.Is(cause, ErrTimeout) {
		t.Error(cause)
	}
}

func TestAHandlerThatNeverReturnsHoldsUpNobody(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	defer close(release)
	session := openSession(t, &SessionOptions{Tools: []Tool{handling("stuck", func(context.Context, *ToolCall) (ToolOutput, error) {
		entered <- struct{}{}
		<-release
		return Text("too late"), nil
	})}}, nil)
	failed := make(chan error, 1)
	go func() { _, err := session.Tool(t.Context(), "stuck", nil); failed <- err }()
	wait(t, entered)
	closeNow(t, session)
	if err := wait(t, failed); err != nil && !errors.Is(err, ErrCancelled) && !errors.Is(err, ErrSessionClosed) {
		t.Error(err)
	}
}

func TestNestedCallsAreGoverned(t *testing.T) {
	nested := handling("nested", func(ctx context.Context, call *ToolCall) (ToolOutput, error) {
		allowed, err := call.InvokeTool(ctx, "inner", m{})
		if err != nil {
			return ToolOutput{}, err
		}
		denied, err := call.InvokeTool(ctx, "forbidden", m{})
		if err != nil {
			return ToolOutput{}, err
		}
		return Text(allowed.Output + " and " + denied.ErrorType()), nil
	})
	var ran atomic.Bool
	forbidden := handling("forbidden", func(context.Context, *ToolCall) (ToolOutput, error) { ran.Store(true); return Text("ran"), nil })
	session := openSession(t, &SessionOptions{
		Tools:            []Tool{nested, emitting("inner", "inner ran"), forbidden},
		PermissionPolicy: &PermissionPolicy{Allow: []PermissionRule{"inner"}, Deny: []PermissionRule{"forbidden"}},
	}, nil)
	result := succeeded(t, session, "nested", nil)
	if result.Output != "inner ran and permission_denied" || ran.Load() {
		t.Errorf("%q, forbidden ran: %v", result.Output, ran.Load())
	}
	if direct := succeeded(t, session, "forbidden", nil); direct.Output != "ran" {
		t.Error(direct.Output)
	}
}

func TestANestedCallAfterItsHandlerIsRefused(t *testing.T) {
	var kept *ToolCall
	session := openSession(t, &SessionOptions{Tools: []Tool{handling("leaky", func(_ context.Context, call *ToolCall) (ToolOutput, error) {
		kept = call
		return Text("done"), nil
	})}}, nil)
	succeeded(t, session, "leaky", nil)
	if _, err := kept.InvokeTool(t.Context(), "debug_noop", nil); !errors.Is(err, ErrHandleClosed) {
		t.Error(err)
	}
	kept.Progress("late")
}

func TestAHandlerMayEnterTheLibraryAgain(t *testing.T) {
	agent := openAgent(t)
	other, err := agent.Session(t.Context(), t.TempDir(), &SessionOptions{Tools: []Tool{emitting("far", "far away")}})
	if err != nil {
		t.Fatal(err)
	}
	var own *Session
	own, err = agent.Session(t.Context(), t.TempDir(), &SessionOptions{Tools: []Tool{
		emitting("near", "near by"),
		handling("visit", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
			far, err := other.Tool(ctx, "far", nil)
			if err != nil {
				return ToolOutput{}, err
			}
			near, err := own.Tool(ctx, "near", nil)
			if err != nil {
				return ToolOutput{}, err
			}
			return Text(far.Output + ", " + near.Output), nil
		}),
		handling("leave", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
			return Text("left"), own.Close(ctx)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if result := succeeded(t, own, "visit", nil); result.Output != "far away, near by" {
		t.Error(result.Output)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := own.Tool(ctx, "leave", nil); errors.Is(err, context.DeadlineExceeded) {
		t.Error("a handler that closes its own session hangs")
	}
	if closeNow(t, own); !own.IsClosed() {
		t.Error("the session is open")
	}
}

// handlersOf counts the handlers that a session's client keeps.
func handlersOf(session *Session) (count int) {
	session.state.client.handlers.byRef.Range(func(any, any) bool { count++; return true })
	return count
}

func TestToolsComeAndGo(t *testing.T) {
	session := openSession(t, nil, nil)
	ctx := t.Context()
	if err := session.RegisterTool(ctx, emitting("fresh", "fresh")); err != nil {
		t.Fatal(err)
	}
	if succeeded(t, session, "fresh", nil).Output != "fresh" {
		t.Error("the tool does not run")
	}
	for _, refused := range []Tool{
		emitting("fresh", "taken"), emitting("debug_noop", "built in"), emitting("not a name", ""), emitting("\xff", ""),
		{Name: "none", Description: "No handler."},
		{Name: "schema", Description: "Bad.", Parameters: "text", Handler: emitting("", "").Handler},
		{Name: "time", Description: "Bad.", Timeout: time.Microsecond, Handler: emitting("", "").Handler},
	} {
		if err := session.RegisterTool(ctx, refused); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%q: %v", refused.Name, err)
		}
	}
	other := &SessionOptions{Tools: []Tool{emitting("fine", ""), emitting("not a name", "")}}
	if _, err := session.agent.Session(ctx, t.TempDir(), other); !errors.Is(err, ErrInvalidArgument) && !errors.Is(err, ErrSessionConfiguration) {
		t.Error(err)
	}
	if kept := handlersOf(session); kept != 1 {
		t.Errorf("%d handlers are kept for one tool", kept)
	}
	if removed, err := session.UnregisterTool(ctx, "fresh"); err != nil || !removed {
		t.Error(removed, err)
	}
	if removed, err := session.UnregisterTool(ctx, "fresh"); err != nil || removed {
		t.Error(removed, err)
	}
	if result := tool(t, session, "fresh", nil); result.ErrorType() != "invalid_argument" {
		t.Error(result.Output)
	}
	closeNow(t, session)
	if kept := handlersOf(session); kept != 0 {
		t.Errorf("%d handlers are kept for a closed session", kept)
	}
}

type closer func()

func (c closer) Close() error { c(); return io.ErrClosedPipe }

func TestWhatACallOwnsIsClosedWithIt(t *testing.T) {
	order := make(chan string, 4)
	session := openSession(t, &SessionOptions{Tools: []Tool{
		handling("owner", func(_ context.Context, call *ToolCall) (ToolOutput, error) {
			call.Own(closer(func() { order <- "first" }))
			call.OwnFunc(func() { order <- "second"; panic("while closing") })
			return Text(""), nil
		}),
		handling("hanging_owner", func(ctx context.Context, call *ToolCall) (ToolOutput, error) {
			unblocked := make(chan struct{})
			call.OwnFunc(func() { order <- "freed"; close(unblocked) })
			<-unblocked
			return ToolOutput{}, ctx.Err()
		}),
	}}, nil)
	succeeded(t, session, "owner", nil)
	if first, second := wait(t, order), wait(t, order); first != "second" || second != "first" {
		t.Errorf("%s, %s: newest comes first", first, second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := session.Tool(ctx, "hanging_owner", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if wait(t, order) != "freed" {
		t.Error("the resource of a cancelled call was not freed")
	}
}

// A handler that returns because its context has ended ends the wait; one that does not holds its call for
// another half second.
func TestALateAnswerEndsTheWait(t *testing.T) {
	late := handling("late", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
		<-ctx.Done()
		return Text("late"), nil
	})
	failing := handling("failing", func(ctx context.Context, _ *ToolCall) (ToolOutput, error) {
		<-ctx.Done()
		return ToolOutput{}, ctx.Err()
	})
	late.Timeout, failing.Timeout = 100*time.Millisecond, 100*time.Millisecond
	session := openSession(t, &SessionOptions{Tools: []Tool{late, failing}}, nil)
	for _, name := range []string{"late", "failing"} {
		start := time.Now()
		result := tool(t, session, name, nil)
		if result.ErrorType() != "timeout" {
			t.Errorf("%s: %s %s", name, result.ErrorKind, result.Output)
		}
		if took := time.Since(start); took > 450*time.Millisecond {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestAnErrorKindMakesTheCallFail(t *testing.T) {
	session := openSession(t, &SessionOptions{Tools: []Tool{handling("odd", func(context.Context, *ToolCall) (ToolOutput, error) {
		return ToolOutput{Output: "x", ErrorKind: m{"type": "not_found", "path": "x"}}, nil
	})}}, nil)
	if result := tool(t, session, "odd", nil); result.ExitCode != 1 || result.ErrorType() != "not_found" {
		t.Errorf("%d %s", result.ExitCode, result.ErrorKind)
	}
}

func TestWholeNumbersOfMetadataAreBounded(t *testing.T) {
	session := openSession(t, &SessionOptions{Tools: []Tool{
		handling("fits", func(context.Context, *ToolCall) (ToolOutput, error) {
			numbers := []any{1<<53 - 1, -(1<<53 - 1), math.Copysign(0, -1), 0.5, 1e300}
			return ToolOutput{Metadata: m{"numbers": numbers}}, nil
		}),
		handling("large", func(_ context.Context, call *ToolCall) (ToolOutput, error) {
			var args struct{ N json.Number }
			if err := call.Bind(&args); err != nil {
				return ToolOutput{}, err
			}
			return ToolOutput{Metadata: m{"deep": []any{m{"n": json.RawMessage(args.N)}}}}, nil
		}),
	}}, nil)
	var metadata struct{ Numbers json.RawMessage }
	if err := succeeded(t, session, "fits", nil).DecodeMetadata(&metadata); err != nil {
		t.Fatal(err)
	}
	if want := "[9007199254740991,-9007199254740991,0,0.5,1e+300]"; string(metadata.Numbers) != want {
		t.Errorf("%s, want %s", metadata.Numbers, want)
	}
	for _, n := range []string{"9007199254740992", "-9007199254740992", "18446744073709551615", "1180591620717411303424"} {
		result := tool(t, session, "large", m{"N": n})
		var metadata struct {
			HostError string `json:"host_error"`
		}
		if err := result.DecodeMetadata(&metadata); err != nil || result.ExitCode != 1 {
			t.Errorf("%s: exit code %d, %v", n, result.ExitCode, err)
		}
		if !strings.Contains(metadata.HostError, "metadata.deep[0].n") || !strings.Contains(metadata.HostError, "9007199254740991") {
			t.Errorf("%s: %s", n, metadata.HostError)
		}
	}
}
