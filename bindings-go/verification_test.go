package code

// Commands that turn "done" into evidence, and the reports a session keeps of them.

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func check(id, command string, required bool) VerificationCommand {
	return VerificationCommand{
		ID: id, Kind: "test", Description: "A check", Command: command, Required: required, TimeoutMS: millis(20_000),
	}
}

func millis(n int64) *int64 { return &n }

// claims: VER-01, VER-02, VER-03
func TestAReportShowsWhatEachCommandCameTo(t *testing.T) {
	session := openSession(t, nil, map[string]string{"marker.txt": "x"})
	commands := []VerificationCommand{check("good", "test -f marker.txt", true), check("bad", "echo no good; exit 1", true)}
	report, err := session.VerifyCommands(t.Context(), "release readiness", commands)
	if err != nil {
		t.Fatal(err)
	}
	if report.Schema != "a3s.verification_report.v1" || report.Subject != "release readiness" || report.Status != VerificationStatusFailed {
		t.Fatalf("%+v", report)
	}
	good, bad := report.Checks[0], report.Checks[1]
	if good.ID != "good" || good.Status != VerificationStatusPassed || *good.ExitCode != 0 {
		t.Errorf("%+v", good)
	}
	if bad.ID != "bad" || bad.Status != VerificationStatusFailed || *bad.ExitCode != 1 || !strings.Contains(bad.Output, "no good") {
		t.Errorf("%+v", bad)
	}
	commands[1].Required = false
	report, err = session.VerifyCommands(t.Context(), "release readiness", commands)
	if err != nil || report.Status != VerificationStatusNeedsReview {
		t.Fatalf("%+v %v", report, err)
	}
	summary := session.VerificationSummary()
	if summary == nil || summary.ReportCount != 1 || summary.FailedCheckCount != 1 || len(session.VerificationReports()) != 2 {
		t.Errorf("%+v", summary)
	}
	if text := session.VerificationSummaryText(); !strings.Contains(text, "release readiness") {
		t.Error(text)
	}
}

// claims: VER-04
func TestACommandThatTakesTooLongHasNotPassed(t *testing.T) {
	session := openSession(t, nil, nil)
	slow := check("slow", "sleep 30", true)
	slow.TimeoutMS = millis(1000)
	begun := time.Now()
	report, err := session.VerifyCommands(t.Context(), "time", []VerificationCommand{slow})
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(begun) > patience || report.Status != VerificationStatusFailed || report.Checks[0].ExitCode != nil {
		t.Errorf("%v %+v", time.Since(begun), report)
	}
}

func TestWhatIsMalformedRunsNothingAndIsNamed(t *testing.T) {
	session := openSession(t, nil, map[string]string{"go.mod": "module x\n"})
	wrong := check("b", "true", true)
	wrong.TimeoutMS = millis(0)
	_, err := session.VerifyCommands(t.Context(), "x", []VerificationCommand{check("a", "touch ran", true), wrong})
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "commands[1].timeoutMs") {
		t.Fatal(err)
	}
	listed, err := session.LS(t.Context(), "")
	if err != nil || strings.Contains(listed.Output, "ran") {
		t.Error(listed, err)
	}
	presets := session.VerificationPresets()
	if len(presets) != 1 || presets[0].ID != "go" || presets[0].Commands[0].Command != "go test ./..." {
		t.Errorf("%+v", presets)
	}
	report, err := session.VerifyCommands(t.Context(), "mine", []VerificationCommand{check("a", "true", true)})
	if err != nil {
		t.Fatal(err)
	}
	report.Subject = "elsewhere"
	if err := session.RecordVerificationReports([]VerificationReport{*report}); err != nil {
		t.Fatal(err)
	}
	report.Checks[0].Status = VerificationStatusFailed
	if err := session.RecordVerificationReports([]VerificationReport{*report}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if len(session.VerificationReports()) != 2 {
		t.Error(session.VerificationReports())
	}
}
