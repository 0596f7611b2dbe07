// Package code runs coding-agent tools in a workspace: reading, searching, changing files and running
// commands, with results that are bounded and accounted for.
//
// An Agent opens Sessions, each on one workspace. A Session calls tools:
//
//	agent, err := code.NewAgent(ctx)
//	session, err := agent.Session(ctx, "/repo", nil)
//	result, err := session.Tool(ctx, "read", map[string]any{"file_path": "README.md"})
//
// A tool that fails gives a result whose ExitCode is not 0; an error is kept for calls that could not be
// made, were cancelled, or came after Close. Every error is an *Error with a stable code, to compare with
// errors.Is(err, code.ErrNotFound).
//
// There is no model behind it yet: what calls a tool is the program, directly with Session.Tool or under the
// rules of the session with Session.GovernedTool.
//
// All methods may be called from any goroutine. A context that ends makes its call return at once, with
// an error that errors.Is finds to be context.Canceled or context.DeadlineExceeded; the work behind it is
// stopped. A handler of the program's own that does not heed its context is left to itself.
//
// Agents and sessions hold threads and memory until Close, which is the right way to end them. One that nothing
// refers to any more, not counting the handlers of its own tools, is closed when it is collected; that may be
// much later, and its calls end without being waited for.
package code
