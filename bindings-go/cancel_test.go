package code

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// prompt is how soon a cancelled call must return.
const prompt = 200 * time.Millisecond

func TestAContextThatEndsEndsTheCall(t *testing.T) {
	session := openSession(t, nil, nil)
	reason := errors.New("the user left")

	// Before the call.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := session.Tool(ctx, "debug_noop", nil); !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Error(err)
	}

	// During the call.
	ctx, cancel = context.WithCancelCause(t.Context())
	var cancelledAt time.Time
	go func() {
		eventually(t, "the start of the call", func() bool {
			active, err := session.ActiveTools(t.Context())
			return err == nil && len(active) == 1
		})
		cancelledAt = time.Now()
		cancel(reason)
	}()
	_, err := session.Tool(ctx, "debug_wait", m{"ms": 60000})
	if since := time.Since(cancelledAt); since > prompt {
		t.Errorf("the call returned after %v", since)
	}
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != CodeCancelled || errors.Unwrap(err) != context.Canceled || !errors.Is(err, reason) {
		t.Error(err)
	}
	eventually(t, "the end of the call in the library", func() bool {
		active, err := session.ActiveTools(t.Context())
		return err == nil && len(active) == 0
	})

	// At its deadline.
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	start := time.Now()
	if _, err := session.Tool(ctx, "debug_wait", m{"ms": 60000}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	if since := time.Since(start); since > 20*time.Millisecond+prompt {
		t.Errorf("the call returned after %v", since)
	}

	// After the call.
	ctx, cancel = context.WithCancelCause(t.Context())
	result, err := session.Tool(ctx, "debug_wait", m{"ms": 1})
	cancel(reason)
	if err != nil || result.ExitCode != 0 {
		t.Error(err)
	}
	noneLeft(t, session)
}

// noneLeft fails unless the client has forgotten all operations.
func noneLeft(t *testing.T, session *Session) {
	t.Helper()
	c := session.state.client
	eventually(t, "the end of all operations", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.slots) == 0 && nativeCounts()["operations"] == 0
	})
}

// A caller that gives up while its answer arrives: either outcome is right, and nothing is left behind.
func TestCancellationRacesWithCompletion(t *testing.T) {
	session := openSession(t, nil, nil)
	var running sync.WaitGroup
	for at := range 2000 {
		running.Add(1)
		go func() {
			defer running.Done()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(at%40)*50*time.Microsecond)
			defer cancel()
			if _, err := session.Tool(ctx, "debug_wait", m{"ms": 1}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}()
	}
	running.Wait()
	noneLeft(t, session)
}

func TestASessionWhoseOpenerGaveUpIsClosed(t *testing.T) {
	agent := openAgent(t)
	root := t.TempDir()
	for at := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(at)*5*time.Microsecond)
		session, err := agent.Session(ctx, root, nil)
		cancel()
		switch {
		case err == nil:
			closeNow(t, session)
		case !errors.Is(err, context.DeadlineExceeded):
			t.Error(err)
		}
	}
	eventually(t, "the closing of all sessions", func() bool {
		ids, err := agent.ListSessions(t.Context())
		return err == nil && len(ids) == 0 && nativeCounts()["sessions"] == 0
	})
}

func TestManyGoroutinesShareASession(t *testing.T) {
	session := openSession(t, nil, nil)
	start := make(chan struct{})
	var running sync.WaitGroup
	for at := range 1000 {
		running.Add(1)
		go func() {
			defer running.Done()
			<-start
			name, args := "debug_noop", m{}
			if at%4 == 0 {
				name, args = "debug_wait", m{"ms": 1}
			}
			if result, err := session.Tool(t.Context(), name, args); err != nil || result.ExitCode != 0 {
				t.Error(result, err)
			}
		}()
	}
	close(start)
	running.Wait()
	noneLeft(t, session)
}

func TestClosing(t *testing.T) {
	agent := openAgent(t)
	session, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		result, err := session.Tool(t.Context(), "debug_wait", m{"ms": 60000})
		if err == nil && result.ErrorType() == "cancelled" {
			err = ErrCancelled
		}
		ended <- err
	}()
	eventually(t, "the start of the call", func() bool {
		active, err := session.ActiveTools(t.Context())
		return err == nil && len(active) == 1
	})

	// A context that has ended closes nothing, and closing can be tried again.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := session.Close(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var closing sync.WaitGroup
	for range 8 {
		closing.Add(1)
		go func() { defer closing.Done(); closeNow(t, session) }()
	}
	closing.Wait()
	if err := wait(t, ended); !errors.Is(err, ErrCancelled) && !errors.Is(err, ErrSessionClosed) {
		t.Errorf("the call that ran gives %v", err)
	}
	if _, err := session.Tool(t.Context(), "debug_noop", nil); !errors.Is(err, ErrSessionClosed) {
		t.Error(err)
	}
	if session.ToolNames() != nil || session.ToolDefinitions() != nil || !session.IsClosed() {
		t.Error("a closed session has tools")
	}
	if session.SessionID() == "" || session.Workspace() == "" {
		t.Error("a closed session has forgotten its name")
	}

	second, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	closeNow(t, agent)
	closeNow(t, agent)
	closeNow(t, second)
	if _, err := second.Tool(t.Context(), "debug_noop", nil); !errors.Is(err, ErrSessionClosed) {
		t.Error(err)
	}
	if _, err := agent.Session(t.Context(), t.TempDir(), nil); !errors.Is(err, ErrHandleClosed) || !agent.IsClosed() {
		t.Error(err)
	}
}

func TestClosingAnAgentEndsItsCalls(t *testing.T) {
	agent := openAgent(t)
	session, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for range 50 {
		running.Add(1)
		go func() {
			defer running.Done()
			result, err := session.Tool(t.Context(), "debug_wait", m{"ms": 60000})
			if err == nil && result.ExitCode == 0 {
				t.Error("the call went well")
			}
		}()
	}
	eventually(t, "the start of the calls", func() bool {
		active, err := session.ActiveTools(t.Context())
		return err == nil && len(active) == 50
	})
	closeNow(t, agent)
	running.Wait()
}
