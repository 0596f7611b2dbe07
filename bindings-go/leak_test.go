package code

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// status gives a line of the kernel's description of this process.
func status(t *testing.T, key string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc on this system")
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s", key)
	return ""
}

func statusNumber(t *testing.T, key string) int {
	t.Helper()
	value, err := strconv.Atoi(strings.Fields(status(t, key))[0])
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc on this system")
	}
	return len(entries)
}

func TestCallsLeaveNothingBehind(t *testing.T) {
	answering := emitting("answer", strings.Repeat("text ", 200))
	session := openSession(t, &SessionOptions{Tools: []Tool{answering}}, map[string]string{"a.txt": "one\n"})
	calls := func(count int) {
		for at := range count {
			name, args := "debug_noop", m{"text": "some text"}
			switch at % 10 {
			case 0:
				name, args = "answer", nil
			case 1:
				name, args = "debug_wait", m{"ms": 0}
			case 2:
				name, args = "read", m{"file_path": "a.txt"}
			}
			if _, err := session.Tool(t.Context(), name, args); err != nil {
				t.Fatal(err)
			}
		}
	}
	measure := func() (threads, files, rss, goroutines int, counts map[string]int64) {
		debug.FreeOSMemory()
		return statusNumber(t, "Threads"), descriptors(t), statusNumber(t, "VmRSS"), runtime.NumGoroutine(), nativeCounts()
	}
	calls(1000)
	threads, files, rss, goroutines, counts := measure()
	calls(10000)
	noneLeft(t, session)
	threadsAfter, filesAfter, rssAfter, goroutinesAfter, countsAfter := measure()
	runtime.KeepAlive(session)
	if threadsAfter > threads || filesAfter > files || goroutinesAfter > goroutines {
		t.Errorf("threads %d to %d, files %d to %d, goroutines %d to %d",
			threads, threadsAfter, files, filesAfter, goroutines, goroutinesAfter)
	}
	for name, count := range counts {
		if countsAfter[name] > count {
			t.Errorf("%s: %d to %d", name, count, countsAfter[name])
		}
	}
	if growth := rssAfter - rss; growth > 5*1024 && !raceEnabled {
		t.Errorf("memory grew by %d KiB", growth)
	}
}

func TestClosingLeavesNoGoroutineAndNoHandle(t *testing.T) {
	before, counts := runtime.NumGoroutine(), nativeCounts()
	for range 20 {
		agent, err := NewAgent(t.Context(), withDebug())
		if err != nil {
			t.Fatal(err)
		}
		session, err := agent.Session(t.Context(), t.TempDir(), &SessionOptions{Tools: []Tool{emitting("answer", "text")}})
		if err != nil {
			t.Fatal(err)
		}
		succeeded(t, session, "answer", nil)
		closeNow(t, session)
		closeNow(t, agent)
	}
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
	eventually(t, "the release of all handles", func() bool {
		for name, count := range nativeCounts() {
			if count > counts[name] {
				return false
			}
		}
		return true
	})
}

// What nobody closes goes when it is collected.
func TestForgottenObjectsAreReleased(t *testing.T) {
	before, counts := runtime.NumGoroutine(), nativeCounts()
	func() {
		agent, err := NewAgent(t.Context(), withDebug())
		if err != nil {
			t.Fatal(err)
		}
		session, err := agent.Session(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		succeeded(t, session, "debug_noop", nil)
	}()
	eventually(t, "the collection", func() bool {
		runtime.GC()
		for name, count := range nativeCounts() {
			if count > counts[name] {
				return false
			}
		}
		return runtime.NumGoroutine() <= before
	})
}

// The threads of an agent go with it, also when a handler refers to the session that holds it.
func TestForgottenAgentsGiveTheirThreadsBack(t *testing.T) {
	forget := func() {
		agent, err := NewAgent(t.Context(), withDebug())
		if err != nil {
			t.Fatal(err)
		}
		var session *Session
		session, err = agent.Session(t.Context(), t.TempDir(), &SessionOptions{Tools: []Tool{handling("self", func(context.Context, *ToolCall) (ToolOutput, error) {
			return Text(session.SessionID()), nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		succeeded(t, session, "self", nil)
		own := handling("more", func(context.Context, *ToolCall) (ToolOutput, error) { return Text(session.SessionID()), nil })
		if err := session.RegisterTool(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		succeeded(t, session, "more", nil)
		succeeded(t, session, "debug_wait", m{"ms": 1})
	}
	forget()
	eventually(t, "the release of the first agent", func() bool { runtime.GC(); return nativeCounts()["runtimes"] == 0 })
	threads := statusNumber(t, "Threads")
	for range 8 {
		forget()
	}
	eventually(t, "the release of all handles", func() bool {
		runtime.GC()
		for _, count := range nativeCounts() {
			if count > 0 {
				return false
			}
		}
		return true
	})
	// Each agent had several; a few of Go's own may have come.
	eventually(t, "the end of the threads", func() bool { return statusNumber(t, "Threads") <= threads+4 })
}

func TestWhatWasNeverOpenedFailsWithAnError(t *testing.T) {
	ctx := t.Context()
	for _, agent := range []*Agent{nil, {}} {
		if _, err := agent.Session(ctx, t.TempDir(), nil); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
		if _, err := agent.ListSessions(ctx); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
		if _, err := agent.CloseSession(ctx, "x"); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
		if err := agent.Close(ctx); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
		if !agent.IsClosed() || agent.SdkCapabilities() != nil {
			t.Error("it is open")
		}
	}
	for _, session := range []*Session{nil, {}} {
		for name, call := range map[string]func() error{
			"Tool":         func() error { _, err := session.Tool(ctx, "ls", nil); return err },
			"ReadFile":     func() error { _, err := session.ReadFile(ctx, "a"); return err },
			"LS":           func() error { _, err := session.LS(ctx, ""); return err },
			"Glob":         func() error { _, err := session.Glob(ctx, "*"); return err },
			"GetArtifact":  func() error { _, err := session.GetArtifact(ctx, "a3s://x"); return err },
			"RegisterTool": func() error { return session.RegisterTool(ctx, emitting("x", "")) },
			"Unregister":   func() error { _, err := session.UnregisterTool(ctx, "x"); return err },
			"Close":        func() error { return session.Close(ctx) },
		} {
			if err := call(); !errors.Is(err, ErrHandleClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !session.IsClosed() || session.ToolNames() != nil || session.ToolDefinitions() != nil ||
			session.SessionID() != "" || session.Workspace() != "" {
			t.Error("it is open")
		}
	}
	for _, call := range []*ToolCall{nil, {}} {
		if _, err := call.InvokeTool(ctx, "ls", nil); !errors.Is(err, ErrHandleClosed) {
			t.Error(err)
		}
		call.Progress("text")
	}
	if _, err := NewAgent(ctx, nil); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

// An object in use is not collected under its call: nothing here refers to the agent or the session once the
// call has begun.
func TestACallKeepsItsObjectsAlive(t *testing.T) {
	agent, err := NewAgent(t.Context(), withDebug())
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var collecting sync.WaitGroup
	collecting.Add(1)
	go func() {
		defer collecting.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	result, err := session.Tool(t.Context(), "debug_wait", m{"ms": 200})
	close(stop)
	collecting.Wait()
	if err != nil || result.ExitCode != 0 {
		t.Error(result, err)
	}
}

func TestTheProcessIsLeftAsItWas(t *testing.T) {
	if os.Getenv("A3S_TEST_PROCESS") == "" {
		// In a process of its own, so that nothing else has touched it.
		command := exec.Command(os.Args[0], "-test.run=^TestTheProcessIsLeftAsItWas$", "-test.v")
		command.Env = append(os.Environ(), "A3S_TEST_PROCESS=1")
		output, err := command.CombinedOutput()
		if err != nil || !bytes.Contains(output, []byte("--- PASS")) {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	state := func() string {
		folder, _ := os.Getwd()
		return strings.Join([]string{
			status(t, "SigCgt"), status(t, "SigIgn"), status(t, "Umask"), folder, strings.Join(os.Environ(), "\n"),
		}, "\n")
	}
	before, threads := state(), statusNumber(t, "Threads")
	agent, err := NewAgent(t.Context(), withDebug())
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.Session(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	succeeded(t, session, "debug_wait", m{"ms": 1})
	if now := state(); now != before {
		t.Errorf("before:\n%s\nduring:\n%s", before, now)
	}
	closeNow(t, session)
	closeNow(t, agent)
	if now := state(); now != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, now)
	}
	// Threads of the library end with it; a few of Go's own may have come.
	if now := statusNumber(t, "Threads"); now > threads+6 {
		t.Errorf("%d threads, %d before", now, threads)
	}
}

// The profiler's signal interrupts threads of the library; nothing may notice.
func TestProfilingAndChildrenDoNotDisturbCalls(t *testing.T) {
	session := openSession(t, &SessionOptions{Tools: []Tool{emitting("answer", "text")}}, nil)
	runtime.SetCPUProfileRate(0)
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var running sync.WaitGroup
	running.Add(1)
	go func() {
		defer running.Done()
		for ctx.Err() == nil {
			if output, err := exec.Command("true").CombinedOutput(); err != nil {
				t.Error(string(output), err)
			}
		}
	}()
	for _, name := range []string{"debug_noop", "debug_wait", "answer"} {
		running.Add(1)
		go func() {
			defer running.Done()
			for ctx.Err() == nil {
				if result, err := session.Tool(t.Context(), name, m{"ms": 1}); err != nil || result.ExitCode != 0 {
					t.Error(name, err)
				}
			}
		}()
	}
	running.Wait()
	pprof.StopCPUProfile()
	if profile.Len() == 0 {
		t.Error("no profile")
	}
}

// The archive is built with ./native.go and the module, not with cgo in other files.
func TestOnlyOneFileSpeaksC(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`(?m)^import "C"|"unsafe"$|^//export`)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && name != "native.go" {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if found := foreign.Find(text); found != nil {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
	if text, err := os.ReadFile("native.go"); err != nil || bytes.Contains(text, []byte("//export")) {
		t.Error("native.go exports functions to C", err)
	}
}
