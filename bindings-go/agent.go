package code

// Agents: what opens sessions.

import (
	"context"
	"encoding/json"
	"runtime"
)

// Agent opens sessions. It holds threads and memory until Close; one that is forgotten is closed when it is
// collected, whenever that may be. Only NewAgent makes one: methods of another fail with HANDLE_CLOSED.
type Agent struct {
	state *agentState
}

// agentState is what an agent leaves behind when it is collected.
type agentState struct {
	client *client
	handle uint64
	ending ending
}

// NewAgent opens an agent. It needs no file, key or model.
//
// Errors: CONFIG_ERROR when the configuration is wrong; UNSUPPORTED for a source that cannot be served yet.
func NewAgent(ctx context.Context, options ...AgentOption) (*Agent, error) {
	var settings agentSettings
	for _, option := range options {
		if option == nil {
			return nil, invalidArgument("options", "hold nil")
		}
		option(&settings)
	}
	runtimeOptions, err := encode("threads", settings.runtime)
	if err != nil {
		return nil, err
	}
	arguments := arguments{}
	if settings.source != nil {
		arguments.add("source", settings.source)
	}
	encoded, err := arguments.encoded()
	if err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, invalidArgument("ctx", "is nil")
	}
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	c, err := openClient(runtimeOptions)
	if err != nil {
		return nil, err
	}
	// An agent that is opened although nobody waits for it goes with the client.
	m, err := c.do(ctx, c.runtime, "agent.create", encoded, nil, nil)
	if err != nil {
		c.shut()
		return nil, err
	}
	opened, err := decode[openedAgent]("agent.create", m.payload)
	if err != nil {
		c.shut()
		return nil, err
	}
	state := &agentState{client: c, handle: uint64(opened.Handle)}
	agent := &Agent{state: state}
	runtime.AddCleanup(agent, func(state *agentState) { state.forget() }, state)
	return agent, nil
}

// forget gives back what an agent held that nobody closed. It does not wait.
func (s *agentState) forget() {
	if s.ending.isDone() {
		return
	}
	nativeRelease(s.handle)
	nativeCloseMailbox(s.client.mailbox)
	nativeRelease(s.client.mailbox)
	nativeRelease(s.client.runtime)
}

func (a *Agent) native() (*client, uint64, error) {
	if a == nil || a.state == nil {
		return nil, 0, errNeverOpened("the agent", "NewAgent")
	}
	if a.state.ending.isDone() {
		return nil, 0, errClosed("the agent")
	}
	return a.state.client, a.state.handle, nil
}

// Session opens a session on the folder of a workspace. options may be nil.
//
// Errors: SESSION_CONFIGURATION_ERROR with "field" in the details for a wrong option; INVALID_ARGUMENT
// for options that are not UTF-8; NOT_FOUND when the workspace is missing; HANDLE_CLOSED after Close.
//
// Cancelling: the session is not opened.
func (a *Agent) Session(ctx context.Context, workspace string, options *SessionOptions) (*Session, error) {
	c, handle, err := a.native()
	if err != nil {
		return nil, err
	}
	var added registered
	arguments := arguments{}
	arguments.add("workspace", workspace)
	if options != nil {
		specs, tools, err := c.handlers.add(options.Tools)
		if err != nil {
			return nil, err
		}
		added = tools
		arguments.add("options", struct {
			*SessionOptions
			Tools []hostToolSpec `json:"tools,omitzero"`
		}{options, specs})
	}
	session, err := a.open(ctx, c, handle, &arguments, added)
	runtime.KeepAlive(a)
	if err != nil {
		c.handlers.remove(added.refs)
		return nil, err
	}
	return session, nil
}

func (a *Agent) open(ctx context.Context, c *client, handle uint64, arguments *arguments, added registered) (*Session, error) {
	encoded, err := arguments.encoded()
	if err != nil {
		return nil, err
	}
	m, err := c.do(ctx, handle, "agent.session", encoded, nil, c.discardSession)
	if err != nil {
		return nil, err
	}
	opened, err := decode[openedSession]("agent.session", m.payload)
	if err != nil {
		return nil, err
	}
	return newSession(a, c, opened, added), nil
}

// discardSession closes a session that was opened although its caller had given up.
func (c *client) discardSession(m message) {
	var opened openedSession
	if json.Unmarshal(m.payload, &opened) != nil {
		return
	}
	handle := uint64(opened.Handle)
	if _, op, err := nativeCall(handle, c.mailbox, "session.close", nil, nil); err == nil && op != 0 {
		c.ignore(op, func(message) {})
	}
	nativeRelease(handle)
}

// SdkCapabilities lists what the product offers as a contract; it does not vary with a session.
//
// Never waits. The result is empty after Close.
func (a *Agent) SdkCapabilities() []SdkCapability {
	c, _, err := a.native()
	if err != nil {
		return nil
	}
	return immediateOn[[]SdkCapability](c.runtime, a, "runtime.sdkCapabilities", nil)
}

// IsClosed tells whether the agent is closed. Never waits.
func (a *Agent) IsClosed() bool {
	_, handle, err := a.native()
	return err != nil || immediateOn[bool](handle, a, "agent.isClosed", nil)
}

// Close closes the agent and its sessions; running calls end as cancelled. Closing again does nothing.
//
// When ctx ends first, Close returns its error and the agent goes on closing; another Close waits for it.
func (a *Agent) Close(ctx context.Context) error {
	if a == nil || a.state == nil {
		return errNeverOpened("the agent", "NewAgent")
	}
	err := a.state.ending.run(ctx, a.state.close)
	runtime.KeepAlive(a)
	return err
}

func (s *agentState) close() error {
	c := s.client
	ctx := context.Background()
	if _, err := c.do(ctx, s.handle, "agent.close", nil, nil, nil); err != nil {
		return err
	}
	op, err := nativeCloseRuntime(c.runtime, c.mailbox, nil)
	if err != nil {
		return err
	}
	if _, err := c.await(ctx, op, nil); err != nil {
		return err
	}
	nativeRelease(s.handle)
	c.shut()
	return nil
}
