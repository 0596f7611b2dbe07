package code

// What the generated stubs call: one function for each way in which a result travels.

import (
	"context"
	"encoding/json"
	"runtime"
)

// callNothing makes a call that returns nothing.
func callNothing(ctx context.Context, on owner, method string, arguments *arguments) error {
	_, err := call(ctx, on, method, arguments)
	return err
}

// callText makes a call whose result is the raw bytes.
func callText(ctx context.Context, on owner, method string, arguments *arguments) (string, error) {
	m, err := call(ctx, on, method, arguments)
	return string(m.data), err
}

// callTool makes a call that returns a tool's result, whose output is the raw bytes.
func callTool(ctx context.Context, on owner, method string, arguments *arguments) (*ToolResult, error) {
	m, err := call(ctx, on, method, arguments)
	if err != nil {
		return nil, err
	}
	result, err := decode[*ToolResult](method, m.payload)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, &Error{Code: CodeSerialization, Message: "the result of " + method + " is missing"}
	}
	result.Output = string(m.data)
	return result, nil
}

// callValue makes a call whose result is JSON.
func callValue[T any](ctx context.Context, on owner, method string, arguments *arguments) (T, error) {
	m, err := call(ctx, on, method, arguments)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](method, m.payload)
}

// immediate makes a call that never waits; its result is empty when the call fails.
func immediate[T any](on owner, method string, arguments *arguments) T {
	var none T
	encoded, err := arguments.encoded()
	if err != nil {
		return none
	}
	_, target, err := on.native()
	if err != nil {
		return none
	}
	return immediateOn[T](target, on, method, encoded)
}

// immediateNothing makes a call that never waits and returns nothing.
func immediateNothing(on owner, method string, arguments *arguments) error {
	encoded, err := arguments.encoded()
	if err != nil {
		return err
	}
	_, target, err := on.native()
	if err != nil {
		return err
	}
	m, _, err := nativeCall(target, 0, method, encoded, nil)
	runtime.KeepAlive(on)
	if err != nil {
		return err
	}
	if m.failed {
		return decodeError(m.payload)
	}
	return nil
}

// immediateOn is immediate on a given handle; alive stays alive until the call has returned.
func immediateOn[T any](target uint64, alive any, method string, arguments []byte) T {
	var none T
	m, op, err := nativeCall(target, 0, method, arguments, nil)
	runtime.KeepAlive(alive)
	if err != nil || op != 0 || m.failed {
		return none
	}
	value, err := decode[T](method, m.payload)
	if err != nil {
		return none
	}
	return value
}

// decode reads a result. One that does not have its form is a fault of the library.
func decode[T any](method string, payload []byte) (T, error) {
	var value T
	if len(payload) == 0 {
		return value, nil
	}
	if err := json.Unmarshal(payload, &value); err != nil {
		return value, &Error{
			Code:    CodeSerialization,
			Message: "the result of " + method + " has an unknown form: " + err.Error(),
			wrapped: err,
		}
	}
	return value, nil
}
