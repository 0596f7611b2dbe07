package code

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestEveryCodeHasItsError(t *testing.T) {
	agent := openAgent(t)
	if len(errorCodes) < 30 || len(errorCodes) != len(sentinels) {
		t.Fatalf("%d codes, %d errors", len(errorCodes), len(sentinels))
	}
	for at, code := range errorCodes {
		_, err := debugCall(t, agent, "debug.fail", raw(t, m{"code": code}), nil)
		var failure *Error
		if !errors.As(err, &failure) || failure.Code != code || failure.Message == "" {
			t.Errorf("%s: %v", code, err)
		}
		for other, sentinel := range sentinels {
			if errors.Is(err, sentinel) != (at == other) {
				t.Errorf("%s is %v: %v", code, sentinel, errors.Is(err, sentinel))
			}
			if errors.Is(fmt.Errorf("wrapped: %w", err), sentinel) != (at == other) {
				t.Errorf("%s, wrapped, is %v", code, sentinel)
			}
		}
	}
}

func TestAPanicInTheLibraryIsAnErrorAndNothingMore(t *testing.T) {
	session := openSession(t, nil, nil)
	for _, place := range []string{"entry", "task"} {
		if _, err := debugCall(t, session.agent, "debug.panic", raw(t, m{"place": place}), nil); !errors.Is(err, ErrPanic) {
			t.Errorf("%s: %v", place, err)
		}
	}
	if result, err := session.Tool(t.Context(), "debug_panic", nil); !errors.Is(err, ErrPanic) && (err != nil || result.ExitCode == 0) {
		t.Error(result, err)
	}
	for range 100 {
		if result, err := session.Tool(t.Context(), "debug_noop", nil); err != nil || result.ExitCode != 0 {
			t.Fatal(result, err)
		}
	}
}

func TestMistakesOfTheCallerAreTyped(t *testing.T) {
	session := openSession(t, nil, nil)
	var none context.Context
	if _, err := session.Tool(none, "debug_noop", nil); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := NewAgent(none); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if err := session.Close(none); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := NewAgent(t.Context(), WithThreads(65)); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := NewAgent(t.Context(), WithSource("no such file.acl")); err == nil {
		t.Error("a source that cannot be served is taken")
	}
	if _, err := session.ReadFile(t.Context(), "a", ReadFileOptions{}, ReadFileOptions{}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if result, err := session.Tool(t.Context(), "no_such_tool", nil); err != nil || result.ErrorType() != "invalid_argument" {
		t.Error(result, err)
	}
	if result, err := session.Tool(t.Context(), "debug_noop", []int{1}); err == nil && result.ErrorType() != "invalid_argument" {
		t.Error(result, err)
	}
}
