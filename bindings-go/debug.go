package code

import "github.com/a3s-lab/code/bindings-go/internal/debug"

func init() {
	debug.Option = AgentOption(func(s *agentSettings) { s.runtime.Debug = true })
}
