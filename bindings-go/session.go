package code

// Sessions: one workspace, and what is called in it.

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
)

// Session is one workspace and what happens in it. Close it when it is no longer needed; one that is forgotten
// is closed when it is collected. Only an Agent makes one: methods of another fail with HANDLE_CLOSED.
type Session struct {
	agent *Agent // kept so that an agent lives as long as its sessions
	state *sessionState
	id    string
	root  string

	// tools are its own. Their handlers often refer to the session, so nothing that outlives it may hold them.
	mu    sync.Mutex
	tools []*Tool
}

// sessionState is what a session leaves behind when it is collected.
type sessionState struct {
	client *client
	handle uint64
	ending ending

	mu   sync.Mutex
	refs []int64
}

func newSession(agent *Agent, c *client, opened openedSession, added registered) *Session {
	state := &sessionState{client: c, handle: uint64(opened.Handle), refs: added.refs}
	session := &Session{agent: agent, state: state, id: opened.SessionID, root: opened.Workspace, tools: added.tools}
	runtime.AddCleanup(session, func(state *sessionState) { state.forget() }, state)
	return session
}

// forget gives the handle and the handlers back. It does not wait.
func (s *sessionState) forget() {
	nativeRelease(s.handle)
	s.mu.Lock()
	refs := s.refs
	s.refs = nil
	s.mu.Unlock()
	s.client.handlers.remove(refs)
}

func (s *Session) native() (*client, uint64, error) {
	if s == nil || s.state == nil {
		return nil, 0, errNeverOpened("the session", "Agent.Session")
	}
	if s.state.ending.isDone() || s.agent.state.ending.isDone() {
		return nil, 0, errSessionClosed()
	}
	return s.state.client, s.state.handle, nil
}

// SessionID is the id of the session.
func (s *Session) SessionID() string {
	if s == nil {
		return ""
	}
	return s.id
}

// Workspace is the root of the workspace.
func (s *Session) Workspace() string {
	if s == nil {
		return ""
	}
	return s.root
}

// RegisterTool adds a tool written in Go; runs that started earlier do not see it.
//
// Errors: INVALID_ARGUMENT when the name is taken, built in or malformed, or the schema is refused.
func (s *Session) RegisterTool(ctx context.Context, tool Tool) error {
	c, _, err := s.native()
	if err != nil {
		return err
	}
	specs, added, err := c.handlers.add([]Tool{tool})
	if err != nil {
		return err
	}
	arguments := arguments{}
	arguments.add("tool", specs[0])
	if err := callNothing(ctx, s, "session.registerTool", &arguments); err != nil {
		c.handlers.remove(added.refs)
		return err
	}
	// A handler stays until the session ends, also after UnregisterTool: a run keeps its tools.
	s.mu.Lock()
	s.tools = append(s.tools, added.tools...)
	s.mu.Unlock()
	s.state.mu.Lock()
	s.state.refs = append(s.state.refs, added.refs...)
	s.state.mu.Unlock()
	return nil
}

// GetArtifact fetches the complete original of a result that was cut, while it is retained. It gives nil
// without an error when there is none.
//
// uri: "a3s://tool-output/..." of this session.
func (s *Session) GetArtifact(ctx context.Context, uri string) (*ToolArtifact, error) {
	arguments := arguments{}
	arguments.add("uri", uri)
	m, err := call(ctx, s, "session.getArtifact", &arguments)
	if err != nil {
		return nil, err
	}
	artifact, err := decode[*ToolArtifact]("session.getArtifact", m.payload)
	if err != nil || artifact == nil {
		return nil, err
	}
	artifact.Bytes = m.data
	artifact.Content = strings.ToValidUTF8(string(m.data), "\uFFFD")
	return artifact, nil
}

// Git runs one git operation on the workspace's repository. A failure is a result: look at the exit code.
//
// Errors: SESSION_CLOSED after close.
//
// Cancelling: Cancels this call; the tool stops and the error is CANCELLED.
func (s *Session) Git(ctx context.Context, options GitOptions) (*ToolResult, error) {
	arguments := arguments{}
	arguments.add("options", &options)
	return callTool(ctx, s, "session.git", &arguments)
}

// IsClosed tells whether the session is closed. Never waits.
func (s *Session) IsClosed() bool {
	_, handle, err := s.native()
	if err != nil {
		return true
	}
	m, _, err := nativeCall(handle, 0, "session.isClosed", nil, nil)
	runtime.KeepAlive(s)
	return err != nil || m.failed || string(m.payload) == "true"
}

// Close closes the session: running calls end as cancelled and everything it owns is released. Closing
// again does nothing.
//
// When ctx ends first, Close returns its error and the session goes on closing; another Close waits for it.
func (s *Session) Close(ctx context.Context) error {
	if s == nil || s.state == nil {
		return errNeverOpened("the session", "Agent.Session")
	}
	if s.agent.state.ending.isDone() {
		return nil
	}
	err := s.state.ending.run(ctx, s.state.close)
	runtime.KeepAlive(s)
	return err
}

func (s *sessionState) close() error {
	if _, err := s.client.do(context.Background(), s.handle, "session.close", nil, nil, nil); err != nil {
		return err
	}
	s.forget()
	return nil
}

// DecodeMetadata decodes the metadata into a value, as json.Unmarshal does. A result without metadata
// leaves the value as it is.
func (r *ToolResult) DecodeMetadata(value any) error {
	if len(r.Metadata) == 0 {
		return nil
	}
	return json.Unmarshal(r.Metadata, value)
}

// Evidence is what the result says of its own text: the metadata "a3s_tool_result_evidence". Every result of a
// call has it; nil for a value that is none.
func (r *ToolResult) Evidence() *ToolResultEvidence {
	var metadata struct {
		Evidence *ToolResultEvidence `json:"a3s_tool_result_evidence"`
	}
	if r == nil || json.Unmarshal(r.Metadata, &metadata) != nil {
		return nil
	}
	return metadata.Evidence
}

// ErrorType is the type of the error kind, such as "not_found"; empty when the call did not fail with a
// kind. Tolerate types you do not know.
func (r *ToolResult) ErrorType() string {
	var kind struct {
		Type string `json:"type"`
	}
	if len(r.ErrorKind) == 0 || json.Unmarshal(r.ErrorKind, &kind) != nil {
		return ""
	}
	return kind.Type
}
