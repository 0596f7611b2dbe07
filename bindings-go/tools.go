package code

// Tools written in Go: how they are described, called and answered.
//
// A handler runs in a goroutine of its own and always answers, also when it panics or ends its goroutine.
// A handler that does not return costs its goroutine and nothing else: the call ends without it.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
	"weak"
)

// Tool is a tool written in Go.
type Tool struct {
	// Name is 1 to 64 of A-Z a-z 0-9 _ -; names that are taken, and those reserved for
	// built-in tools, are refused; docs/reference/options.md lists them.
	Name string

	// Description says what it does, for a model.
	Description string

	// Parameters is the JSON Schema of its arguments, anything that encoding/json writes as an object;
	// nil accepts any object.
	Parameters any

	// Capabilities are what it promises; nil promises nothing.
	Capabilities *ToolCapabilities

	// Timeout is the time limit of a call, 1 ms to 24 h in whole milliseconds; 0 stands for 10 minutes.
	Timeout time.Duration

	// Handler does the work. It should return soon after ctx ends, which happens when the call is
	// cancelled, has run out of time, or its session closes; context.Cause tells which by ErrCancelled or
	// ErrTimeout. Returning then ends the wait for it, and what it returns is dropped. An error
	// that it returns, a panic, and the end of its goroutine are a failed result with exit code 1 and the
	// message in the metadata under "host_error".
	Handler func(ctx context.Context, call *ToolCall) (ToolOutput, error)
}

// ToolOutput is what a handler returns.
type ToolOutput struct {
	// Output is the text, UTF-8.
	Output string

	// Failed makes it the result of a failed call, with exit code 1; so does an ErrorKind.
	Failed bool

	// Metadata are facts about the result, anything that encoding/json writes as an object; may be nil. Whole
	// numbers outside -(2^53 - 1) to 2^53 - 1 are refused.
	Metadata any

	// ErrorKind says how it failed; a ToolErrorKind, or anything that encoding/json writes as an object
	// with a "type"; may be nil.
	ErrorKind any
}

// ToolCall is one call of a tool written in Go. It is of no use after the handler has returned.
type ToolCall struct {
	// ID is the id of the call.
	ID string

	// Name is the name under which the tool was called.
	Name string

	// SessionID is the id of the session.
	SessionID string

	// Workspace is the root of the workspace.
	Workspace string

	// Args are the arguments, validated against the schema of the tool.
	Args json.RawMessage

	// Deadline is when the call must end.
	Deadline time.Time

	client   *client
	hostCall uint64
	mu       sync.Mutex
	owned    []func()
	released bool
}

// Bind decodes the arguments into a value, as json.Unmarshal does.
//
// Errors: INVALID_ARGUMENT when they do not have its form.
func (c *ToolCall) Bind(value any) error {
	if err := json.Unmarshal(c.Args, value); err != nil {
		failure := invalidArgument("args", "do not have the form asked for: %v", err)
		failure.wrapped = err
		return failure
	}
	return nil
}

// Progress reports a piece of output, or with an empty text a sign of life. Text that is not UTF-8 is
// dropped.
func (c *ToolCall) Progress(text string) {
	if c != nil && utf8.ValidString(text) {
		nativeProgress(c.hostCall, text)
	}
}

// InvokeTool calls another tool. Such a call is always governed, and possible only while this one runs.
//
// Errors: HANDLE_CLOSED once the call has ended.
func (c *ToolCall) InvokeTool(ctx context.Context, name string, args any) (*ToolResult, error) {
	arguments := arguments{}
	arguments.add("name", name)
	arguments.add("args", object(args))
	return callTool(ctx, c, "hostCall.invokeTool", &arguments)
}

// Own closes a resource when the handler has returned or its context has ended, whichever comes first;
// newest first. Its error is dropped.
func (c *ToolCall) Own(resource io.Closer) { c.OwnFunc(func() { _ = resource.Close() }) }

// OwnFunc is Own for a function.
func (c *ToolCall) OwnFunc(release func()) {
	c.mu.Lock()
	late := c.released
	if !late {
		c.owned = append(c.owned, release)
	}
	c.mu.Unlock()
	if late {
		guarded(release)
	}
}

func (c *ToolCall) release() {
	c.mu.Lock()
	owned := c.owned
	c.owned, c.released = nil, true
	c.mu.Unlock()
	for at := range owned {
		guarded(owned[len(owned)-1-at])
	}
}

// guarded runs a function whose panic is nobody else's business.
func guarded(run func()) {
	defer func() { _ = recover() }()
	run()
}

func (c *ToolCall) native() (*client, uint64, error) {
	if c == nil || c.client == nil {
		return nil, 0, errNeverOpened("the call", "a Session")
	}
	return c.client, c.hostCall, nil
}

// Text is the output of a call that went well.
func Text(text string) ToolOutput { return ToolOutput{Output: text} }

// lastHostRef numbers handlers: the library tells them apart by a number that is unique in the process.
var lastHostRef atomic.Int64

// handlers are the handlers of a client by their number. The client lives on while its pump runs, so it holds
// them weakly: their session holds them.
type handlers struct {
	byRef sync.Map // int64 to weak.Pointer[Tool]
}

// registered are tools that were taken in, to be held by their session.
type registered struct {
	refs  []int64
	tools []*Tool
}

// add takes tools in and describes them as the library needs them.
func (h *handlers) add(tools []Tool) (specs []hostToolSpec, added registered, err error) {
	for at := range tools {
		tool := tools[at]
		spec, err := tool.spec()
		if err != nil {
			h.remove(added.refs)
			return nil, registered{}, err
		}
		h.byRef.Store(spec.HostRef, weak.Make(&tool))
		specs = append(specs, spec)
		added.refs, added.tools = append(added.refs, spec.HostRef), append(added.tools, &tool)
	}
	return specs, added, nil
}

// find gives the tool of a number; nil when it is gone.
func (h *handlers) find(ref int64) *Tool {
	found, _ := h.byRef.Load(ref)
	if tool, ok := found.(weak.Pointer[Tool]); ok {
		return tool.Value()
	}
	return nil
}

func (h *handlers) remove(refs []int64) {
	for _, ref := range refs {
		h.byRef.Delete(ref)
	}
}

func (t *Tool) spec() (hostToolSpec, error) {
	if t.Handler == nil {
		return hostToolSpec{}, invalidArgument("handler", "of tool %q is nil", t.Name)
	}
	spec := hostToolSpec{
		Name:         t.Name,
		Description:  t.Description,
		Capabilities: t.Capabilities,
		Parameters:   json.RawMessage(`{"type":"object"}`),
	}
	if t.Parameters != nil {
		parameters, err := encode("parameters", t.Parameters)
		if err != nil {
			return hostToolSpec{}, err
		}
		spec.Parameters = parameters
	}
	if t.Timeout != 0 {
		if t.Timeout%time.Millisecond != 0 || t.Timeout < 0 {
			return hostToolSpec{}, invalidArgument("timeout", "of tool %q is not whole milliseconds, at least 1", t.Name)
		}
		spec.TimeoutMS = Ptr(t.Timeout.Milliseconds())
	}
	spec.HostRef = lastHostRef.Add(1)
	return spec, nil
}

// startHostCall runs the handler that a message asks for. Called by the pump, which it does not hold up.
func (c *client) startHostCall(m message) {
	var input hostCallInput
	if err := json.Unmarshal(m.payload, &input); err != nil {
		replyError(m.id, "the call cannot be read: "+err.Error())
		return
	}
	tool := c.handlers.find(input.HostRef)
	if tool == nil {
		replyError(m.id, "the tool "+input.Name+" is gone")
		return
	}
	call := &ToolCall{
		ID:        input.CallID,
		Name:      input.Name,
		SessionID: input.SessionID,
		Workspace: input.Workspace,
		Args:      input.Args,
		Deadline:  time.UnixMilli(input.DeadlineMS),
		client:    c,
		hostCall:  m.id,
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c.mu.Lock()
	c.hostCalls[m.id] = func(cause error) {
		if !time.Now().Before(call.Deadline) {
			cause = errOutOfTime
		}
		cancel(cause)
	}
	c.mu.Unlock()
	go c.runHandler(callContext{ctx, call.Deadline}, cancel, tool, call)
}

// Why the context of a handler ended.
var (
	errNotNeeded = &Error{Code: CodeCancelled, Message: "the call was cancelled or its session closed"}
	errOutOfTime = &Error{Code: CodeTimeout, Message: "the call has run out of time"}
)

// callContext is the context of a handler. It knows the deadline and leaves it to the library to end the
// call then: a timer of its own would let a late answer through now and then.
type callContext struct {
	context.Context
	deadline time.Time
}

// Deadline is when the call must end.
func (c callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// cancelHostCall ends the context of a handler.
func (c *client) cancelHostCall(id uint64) {
	c.mu.Lock()
	cancel := c.hostCalls[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errNotNeeded)
	}
}

// runHandler runs a handler and answers, whatever it does.
func (c *client) runHandler(ctx context.Context, cancel context.CancelCauseFunc, tool *Tool, call *ToolCall) {
	context.AfterFunc(ctx, call.release)
	returned := false
	defer func() {
		if !returned {
			// recover gives nil when the handler ended its goroutine instead.
			replyError(call.hostCall, panicText(recover()))
		}
		cancel(nil)
		call.release()
		c.mu.Lock()
		delete(c.hostCalls, call.hostCall)
		c.mu.Unlock()
	}()
	output, err := tool.Handler(ctx, call)
	// What it returned is the handler's own code too: an Error or MarshalJSON may panic.
	if err != nil {
		replyError(call.hostCall, err.Error())
	} else {
		reply(call.hostCall, output)
	}
	returned = true
}

func panicText(value any) string {
	if value == nil {
		return "the handler ended its goroutine"
	}
	return fmt.Sprintf("the handler panicked: %v", value)
}

func reply(hostCall uint64, output ToolOutput) {
	if !utf8.ValidString(output.Output) {
		replyError(hostCall, "the handler returned text that is not UTF-8")
		return
	}
	var wire hostReply
	var err error
	if output.Failed {
		wire.Success = Ptr(false)
	}
	if output.Metadata != nil {
		if wire.Metadata, err = encode("metadata", output.Metadata); err != nil {
			replyError(hostCall, err.Error())
			return
		}
	}
	if output.ErrorKind != nil {
		if wire.ErrorKind, err = encode("errorKind", output.ErrorKind); err != nil {
			replyError(hostCall, err.Error())
			return
		}
	}
	encoded, err := encode("reply", wire)
	if err != nil {
		replyError(hostCall, err.Error())
		return
	}
	nativeReply(hostCall, encoded, []byte(output.Output))
}

func replyError(hostCall uint64, text string) {
	encoded, _ := json.Marshal(hostReply{HostError: text})
	nativeReply(hostCall, encoded, nil)
}
