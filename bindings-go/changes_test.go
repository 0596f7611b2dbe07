package code

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// family starts a process of the background, says who they are, and waits.
const family = "sleep 60 & echo $! >> pids; echo $$ >> pids; wait"

// ended is how soon a cancelled or closed command must have ended.
const ended = 5 * time.Second

// runs tells whether a process runs; one that has ended and is not collected yet does not.
func runs(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	after := string(text[strings.LastIndexByte(string(text), ')')+2:])
	return !strings.HasPrefix(after, "Z")
}

// running gives those of the processes that run.
func running(pids []string) (alive []string) {
	for _, pid := range pids {
		if runs(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}

// members gives the processes of family, once they have said who they are.
func members(t *testing.T, session *Session) (pids []string) {
	t.Helper()
	eventually(t, "the start of the command", func() bool {
		text, _ := os.ReadFile(filepath.Join(session.Workspace(), "pids"))
		pids = strings.Fields(string(text))
		return strings.Count(string(text), "\n") == 2
	})
	return pids
}

func content(t *testing.T, session *Session, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(session.Workspace(), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheHelpersThatWriteHaveChangedTheFile(t *testing.T) {
	session := openSession(t, nil, nil)
	for _, step := range []struct {
		name string
		call func() (*ToolResult, error)
		tool string
		good bool
		want string
	}{
		{"write", func() (*ToolResult, error) {
			return session.WriteFile(t.Context(), "d/f.txt", "one\ntwo\none\n")
		}, "write", true, "one\ntwo\none\n"},
		{"ambiguous edit", func() (*ToolResult, error) {
			return session.EditFile(t.Context(), "d/f.txt", "one", "1", false)
		}, "edit", false, "one\ntwo\none\n"},
		{"edit", func() (*ToolResult, error) {
			return session.EditFile(t.Context(), "d/f.txt", "two", "2", false)
		}, "edit", true, "one\n2\none\n"},
		{"edit of all", func() (*ToolResult, error) {
			return session.EditFile(t.Context(), "d/f.txt", "one", "1", true)
		}, "edit", true, "1\n2\n1\n"},
		{"patch", func() (*ToolResult, error) {
			return session.PatchFile(t.Context(), "d/f.txt", "@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 1\n")
		}, "patch", true, "1\nzwei\n1\n"},
	} {
		result, err := step.call()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if result.Name != step.tool || (result.ExitCode == 0) != step.good {
			t.Errorf("%s: %s has exit code %d: %s", step.name, result.Name, result.ExitCode, result.Output)
		}
		if have := content(t, session, "d/f.txt"); have != step.want {
			t.Errorf("%s: the file holds %q", step.name, have)
		}
	}
}

// claims: EDIT-01, EDIT-03
func TestADryRunTouchesNothing(t *testing.T) {
	session := openSession(t, nil, map[string]string{"p.txt": "port = 1\nport = 2\n"})
	path := filepath.Join(session.Workspace(), "p.txt")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(more m) m {
		args := m{"file_path": "p.txt", "old_string": "port", "new_string": "gate", "replace_all": true}
		for key, value := range more {
			args[key] = value
		}
		return args
	}
	var facts struct {
		Before           string `json:"before"`
		After            string `json:"after"`
		ReplacementCount int    `json:"replacement_count"`
	}
	if err := succeeded(t, session, "edit", edit(m{"dry_run": true})).DecodeMetadata(&facts); err != nil {
		t.Fatal(err)
	}
	if facts.Before != "port = 1\nport = 2\n" || facts.After != "gate = 1\ngate = 2\n" {
		t.Errorf("%+v", facts)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the dry run touched the file", err)
	}
	if wrong := tool(t, session, "edit", edit(m{"expected_replacements": facts.ReplacementCount + 1})); wrong.ExitCode == 0 {
		t.Error("the edit does not heed what was expected")
	}
	if have := content(t, session, "p.txt"); have != facts.Before {
		t.Errorf("the file holds %q", have)
	}
	succeeded(t, session, "edit", edit(m{"expected_replacements": facts.ReplacementCount}))
	if have := content(t, session, "p.txt"); have != facts.After {
		t.Errorf("the file holds %q", have)
	}
}

func TestAnyTextIsWrittenExactly(t *testing.T) {
	session := openSession(t, nil, nil)
	for _, text := range []string{strings.Repeat("grüße 🐟 \x00 \r\n", 800_000), ""} {
		result, err := session.WriteFile(t.Context(), "f", text)
		if err != nil || result.ExitCode != 0 {
			t.Fatal(result, err)
		}
		if content(t, session, "f") != text {
			t.Error("the file holds another text")
		}
	}
	for _, wrong := range []string{"a\xff", "\xed\xa0\x80"} {
		if _, err := session.WriteFile(t.Context(), "f", wrong); !errors.Is(err, ErrInvalidArgument) {
			t.Error(err)
		}
		if _, err := session.PatchFile(t.Context(), "f", wrong); !errors.Is(err, ErrInvalidArgument) {
			t.Error(err)
		}
	}
	outside, err := session.WriteFile(t.Context(), "../f", "x")
	if err != nil || outside.ErrorType() != "invalid_argument" {
		t.Error(outside, err)
	}
}

// claims: DIRECT-04, DIRECT-07
func TestBashGivesTheOutput(t *testing.T) {
	session := openSession(t, nil, map[string]string{"d/f.txt": "here\n"})
	for command, want := range map[string]string{
		"printf 'plain\\n'; echo wrong >&2": "plain\nwrong\n",
		"pwd":                               session.Workspace() + "\n",
		"cat d/f.txt":                       "here\n",
	} {
		if have, err := session.Bash(t.Context(), command); err != nil || have != want {
			t.Errorf("%s gives %q, %v", command, have, err)
		}
	}
	failed, err := session.Bash(t.Context(), "echo some-text; exit 37")
	first, last, _ := strings.Cut(failed, "\n")
	if err != nil || first != "some-text" || !strings.Contains(last, "37") {
		t.Errorf("%q, %v", failed, err)
	}
	if _, err := session.Bash(t.Context(), "echo \x00"); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	limited := openSession(t, &SessionOptions{ToolTimeoutMS: Ptr[int64](300)}, nil)
	if _, err := limited.Bash(t.Context(), "sleep 60"); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

// claims: ORIG-35
func TestClosingTheSessionEndsARunningCommand(t *testing.T) {
	session := openSession(t, nil, nil)
	given := make(chan error, 1)
	go func() {
		result, err := session.Tool(t.Context(), "bash", m{"command": family})
		if err == nil && result.ErrorType() != "cancelled" {
			err = fmt.Errorf("the call gave %q", result.ErrorType())
		}
		given <- err
	}()
	pids := members(t, session)
	start := time.Now()
	closeNow(t, session)
	if err := wait(t, given); err != nil {
		t.Error(err)
	}
	if since := time.Since(start); since > ended {
		t.Errorf("the call ended after %v", since)
	}
	if alive := running(pids); alive != nil {
		t.Errorf("%v are left", alive)
	}
}

// claims: CTR-16
func TestAContextEndsTheCommandWithEverythingItStarted(t *testing.T) {
	session := openSession(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := session.Bash(ctx, family)
		given <- err
	}()
	pids := members(t, session)
	if len(running(pids)) != 2 {
		t.Error("the processes do not run")
	}
	cancel()
	if err := wait(t, given); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	eventually(t, "the end of the processes", func() bool { return running(pids) == nil })
	if have, err := session.Bash(t.Context(), "echo on"); err != nil || have != "on\n" {
		t.Error(have, err)
	}
}

// claims: CTR-15, CTR-13
func TestATimeoutEndsACommandWhateverItDoes(t *testing.T) {
	session := openSession(t, nil, nil)
	for _, command := range []string{family, "exec >&- 2>&-; sleep 60"} {
		start := time.Now()
		result := tool(t, session, "bash", m{"command": command, "timeout": 1000})
		if since := time.Since(start); result.ErrorType() != "timeout" || since > time.Second+ended {
			t.Errorf("%s: %q after %v", command, result.ErrorType(), since)
		}
	}
	if alive := running(members(t, session)); alive != nil {
		t.Errorf("%v are left", alive)
	}
}
