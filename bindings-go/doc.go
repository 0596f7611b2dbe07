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
// All methods may be called from any goroutine. A context that ends makes its call return at once, with
// an error that errors.Is finds to be context.Canceled or context.DeadlineExceeded; the work behind it is
// stopped. Agents and sessions hold resources until Close; what is forgotten is released when it is
// collected, which is a net and not a plan.
package code
