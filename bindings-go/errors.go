package code

// Errors: one type with a stable code. The codes and the errors to compare with are generated.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrorCode is the stable code of an error.
type ErrorCode string

// Error is what every function of this package returns when it fails.
type Error struct {
	// Code says what kind of error it is.
	Code ErrorCode

	// Message says what happened, for a person; it holds no secrets.
	Message string

	// Retryable says whether trying again unchanged can succeed.
	Retryable bool

	// RetryAfter is how long to wait before that; 0 when it is not known.
	RetryAfter time.Duration

	// Details are facts for programs, such as "field", "argument", "bound" or "errorKind"; may be nil.
	Details json.RawMessage

	// Causes are the messages of what led to it, outermost first.
	Causes []string

	// wrapped is the error of the context that ended, or of Go code that failed.
	wrapped error

	// cause is the cause of the context that ended.
	cause error
}

// Error gives the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is reports whether target is an *Error with the same code, or the cause of the context that ended.
func (e *Error) Is(target error) bool {
	if other, ok := target.(*Error); ok {
		return other.Code == e.Code
	}
	return e.cause != nil && errors.Is(e.cause, target)
}

// As finds a target in the cause of the context that ended.
func (e *Error) As(target any) bool { return e.cause != nil && errors.As(e.cause, target) }

// Unwrap gives the error of the context that ended, or of Go code that failed; nil for others.
func (e *Error) Unwrap() error { return e.wrapped }

// contextError is the error of a call whose context has ended.
func contextError(ctx context.Context) error {
	e := &Error{Code: CodeCancelled, Message: "the context of the call was cancelled", wrapped: ctx.Err()}
	if errors.Is(e.wrapped, context.DeadlineExceeded) {
		e.Code, e.Message = CodeTimeout, "the deadline of the call's context has passed"
	}
	if cause := context.Cause(ctx); cause != e.wrapped {
		e.cause = cause
		e.Message += ": " + cause.Error()
	}
	return e
}

// invalidArgument is the error for an argument that cannot be sent.
func invalidArgument(argument, format string, values ...any) *Error {
	details, _ := json.Marshal(map[string]string{"argument": argument})
	return &Error{
		Code:    CodeInvalidArgument,
		Message: "`" + argument + "` " + fmt.Sprintf(format, values...),
		Details: details,
	}
}

// errClosed is the error of a call on something that was closed.
func errClosed(what string) error {
	return &Error{Code: CodeHandleClosed, Message: what + " is closed"}
}

// errNeverOpened is the error of a call on a nil pointer or on a value that was not made by this package.
func errNeverOpened(what, maker string) error {
	return &Error{Code: CodeHandleClosed, Message: what + " was never opened: " + maker + " does that"}
}

// errSessionClosed is the error of a call on a closed session.
func errSessionClosed() error {
	return &Error{Code: CodeSessionClosed, Message: "the session is closed"}
}

// decodeError reads an error as the library sends it.
func decodeError(payload []byte) error {
	var wire errorPayload
	if err := json.Unmarshal(payload, &wire); err != nil {
		return &Error{Code: CodeInternal, Message: "the library sent an error that is not JSON", wrapped: err}
	}
	e := &Error{
		Code:      wire.Code,
		Message:   wire.Message,
		Retryable: wire.Retryable,
		Details:   wire.Details,
		Causes:    wire.Cause,
	}
	if wire.RetryAfterMS != nil {
		e.RetryAfter = time.Duration(*wire.RetryAfterMS) * time.Millisecond
	}
	return e
}
