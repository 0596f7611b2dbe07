package code

// Options that Go shows in a form of its own, and the options of an agent.

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// PermissionRule is the text of a rule: a tool's name, or a name and a pattern as in "bash(git status)".
type PermissionRule string

// MemoryFile is the content of a file of an in-memory workspace.
type MemoryFile []byte

// MarshalJSON writes text as text and anything else as base64.
func (f MemoryFile) MarshalJSON() ([]byte, error) {
	if utf8.Valid(f) {
		return json.Marshal(string(f))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(f)})
}

// SandboxSettings say how commands are confined. What cannot be served yet is refused.
type SandboxSettings struct {
	// Mode is a SandboxMode, or with the other fields "workspace_write" or "read_only".
	Mode SandboxMode

	// Network is "off", "on" or "mediated"; may be empty.
	Network string

	// AllowHosts are the hosts that are allowed when the network is mediated.
	AllowHosts []string
}

// MarshalJSON writes a word where a word says everything, and an object otherwise.
func (s SandboxSettings) MarshalJSON() ([]byte, error) {
	switch s.Mode {
	case SandboxModeAuto, SandboxModeRequired, SandboxModeOff:
		if s.Network == "" && s.AllowHosts == nil {
			return json.Marshal(string(s.Mode))
		}
	}
	return json.Marshal(struct {
		Mode       SandboxMode `json:"mode"`
		Network    string      `json:"network,omitzero"`
		AllowHosts []string    `json:"allowHosts,omitzero"`
	}{s.Mode, s.Network, s.AllowHosts})
}

// ContextEfficient is the policy for a model's context: at most 100 KiB, of which 64 KiB from the beginning
// and 32 KiB from the end, equal lines folded, and large arrays sampled.
func ContextEfficient() *ToolResultTransformPolicy {
	return &ToolResultTransformPolicy{
		Schema:                "a3s.code.tool-result-transform-policy.v1",
		MaxOutputBytes:        100 * 1024,
		HeadBytes:             64 * 1024,
		TailBytes:             32 * 1024,
		FoldRepeatedLines:     true,
		RepeatedLineThreshold: 3,
		StructuredSampleItems: 32,
	}
}

// AgentOption is an option of NewAgent.
type AgentOption func(*agentSettings)

type agentSettings struct {
	source  any
	runtime runtimeSettings
}

type runtimeSettings struct {
	Threads int  `json:"threads,omitzero"`
	Debug   bool `json:"debug,omitzero"`
}

// WithConfig configures the agent.
func WithConfig(config AgentConfig) AgentOption {
	return func(s *agentSettings) { s.source = config }
}

// WithSource configures the agent from the path of an .acl file or from inline configuration text.
func WithSource(source string) AgentOption {
	return func(s *agentSettings) { s.source = source }
}

// WithThreads sets the number of threads that run the agent's work; by default it follows the processors.
func WithThreads(threads int) AgentOption {
	return func(s *agentSettings) { s.runtime.Threads = threads }
}
