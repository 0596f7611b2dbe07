"""Commands that turn "done" into evidence, and the reports a session keeps of them."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
from conftest import Open

from a3s_code import InvalidArgument, VerificationCommand


def check(id: str, command: str, **more: Any) -> VerificationCommand:
    given = {"required": True, "timeout_ms": 20_000, **more}
    return VerificationCommand(id=id, kind="test", description="A check", command=command, **given)


# claims: VER-01, VER-02, VER-03
def test_a_report_shows_what_each_command_came_to(open_session: Open) -> None:
    session = open_session({"marker.txt": "x"})
    good, bad = check("good", "test -f marker.txt"), check("bad", "echo no good; exit 1")
    report = session.verify_commands("release readiness", [good, bad])
    assert report.schema == "a3s.verification_report.v1"
    assert (report.subject, report.status) == ("release readiness", "failed")
    assert [(c.id, c.status, c.exit_code) for c in report.checks] == [
        ("good", "passed", 0),
        ("bad", "failed", 1),
    ]
    assert "no good" in report.checks[1].output
    assert session.verification_reports() == [report]

    optional = session.verify_commands(
        "release readiness",
        [
            {"id": "a", "kind": "test", "description": "d", "command": "true", "required": True},
            {"id": "b", "kind": "lint", "description": "d", "command": "false", "required": False},
        ],
    )
    assert optional.status == "needs_review"
    summary = session.verification_summary()
    assert (summary.status, summary.report_count, summary.failed_check_count) == ("needs_review", 1, 1)
    assert "release readiness" in session.verification_summary_text()


# claims: VER-04
async def test_a_command_that_takes_too_long_has_not_passed(open_session: Open) -> None:
    session = open_session()
    begun = time.monotonic()
    report = await session.verify_commands_async("time", [check("slow", "sleep 30", timeout_ms=1000)])
    assert time.monotonic() - begun < 10
    assert report.status == report.checks[0].status == "failed"
    assert report.checks[0].exit_code is None


def test_what_is_malformed_runs_nothing_and_is_named(open_session: Open) -> None:
    session = open_session()
    with pytest.raises(InvalidArgument, match=r"commands\[1\].timeoutMs"):
        session.verify_commands("x", [check("a", "touch ran"), check("b", "true", timeout_ms=0)])
    assert "ran" not in session.tool("ls", {}).output
    assert session.verification_reports() == []


def test_presets_fit_and_reports_of_the_application_are_kept(open_session: Open) -> None:
    session = open_session({"go.mod": "module x\n"})
    [preset] = session.verification_presets()
    assert (preset.id, preset.project_kind) == ("go", "go")
    assert [c.command for c in preset.commands] == ["go test ./...", "go vet ./..."]
    report = session.verify_commands("mine", [check("a", "true")])
    session.record_verification_reports([dataclasses.replace(report, subject="elsewhere")])
    assert [each.subject for each in session.verification_reports()] == ["mine", "elsewhere"]
    claim = dataclasses.replace(report, checks=[dataclasses.replace(report.checks[0], status="failed")])
    with pytest.raises(InvalidArgument, match=r"reports\[0\].status"):
        session.record_verification_reports([claim])
    assert len(session.verification_reports()) == 2
