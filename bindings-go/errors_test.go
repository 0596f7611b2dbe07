package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

func TestAWrongOptionIsNamedWithItsBound(t *testing.T) {
	agent := openAgent(t)
	for field, wrong := range map[string]struct {
		options SessionOptions
		bound   string
	}{
		"sessionId":                    {SessionOptions{SessionID: "../x"}, "1 to 128"},
		"artifactStoreLimits.maxBytes": {SessionOptions{ArtifactStoreLimits: &ArtifactStoreLimits{MaxBytes: Ptr[int64](1 << 53)}}, "9007199254740991"},
		"queueLimits.maxActive":        {SessionOptions{QueueLimits: &QueueLimits{MaxActive: Ptr[int64](-1)}}, "1 to 1024"},
	} {
		_, err := agent.Session(t.Context(), t.TempDir(), &wrong.options)
		var failure *Error
		if !errors.As(err, &failure) || failure.Code != CodeSessionConfiguration {
			t.Errorf("%s: %v", field, err)
			continue
		}
		var details struct{ Field string }
		if err := json.Unmarshal(failure.Details, &details); err != nil || details.Field != field {
			t.Errorf("%s: %s", field, failure.Details)
		}
		if !strings.Contains(failure.Message, wrong.bound) {
			t.Error(failure.Message)
		}
	}
	session, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Grep(t.Context(), "(")
	var failure *Error
	if !errors.As(err, &failure) || !strings.Contains(string(failure.Details), `"argument":"pattern"`) {
		t.Error(err)
	}
	if closeNow(t, agent); agent.IsClosed() {
		if _, err := agent.ListSessions(t.Context()); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
	}
}

func TestEvidenceIsTyped(t *testing.T) {
	session := openSession(t, nil, map[string]string{"a.txt": "text"})
	result := succeeded(t, session, "read", m{"file_path": "a.txt"})
	evidence := result.Evidence()
	if evidence == nil || evidence.LossMode != LossModeNone || evidence.ProjectedBytes != int64(len(result.Output)) {
		t.Errorf("%+v", evidence)
	}
	if (&ToolResult{}).Evidence() != nil {
		t.Error("there is evidence of nothing")
	}
}
