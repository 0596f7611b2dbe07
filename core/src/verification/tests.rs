//! Reports, their summary, and checks carried out by a session.

use super::{Reports, report, status};
use crate::workspace::MemoryWorkspace;
use crate::workspace::test_support::Scratch;
use crate::{
    Agent, AgentConfig, AgentSession, CallOptions, CodeError, ErrorCode, SessionOptions,
    VerificationCheck, VerificationCommand, VerificationStatus,
};
use a3s_code_contract::VerificationStatus::{Failed, NeedsReview, Passed, Skipped};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

async fn open(root: &str) -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent.session(root, SessionOptions::new()).await.unwrap()
}

fn command(id: &str, line: &str, required: bool) -> VerificationCommand {
    VerificationCommand {
        id: id.to_owned(),
        kind: "test".to_owned(),
        description: "A check".to_owned(),
        command: line.to_owned(),
        required,
        timeout_ms: Some(20_000),
        expect_exit: None,
    }
}

fn check(required: bool, status: VerificationStatus) -> VerificationCheck {
    VerificationCheck {
        id: "c".to_owned(),
        kind: String::new(),
        description: String::new(),
        status,
        required,
        exit_code: None,
        duration_ms: 0,
        output: String::new(),
        suggested_tools: Vec::new(),
        evidence_uris: Vec::new(),
        residual_risk: None,
    }
}

// claims: VER-03
#[test]
fn the_status_follows_from_the_checks() {
    let table: &[(&[(bool, VerificationStatus)], bool, VerificationStatus)] = &[
        (&[], false, Skipped),
        (&[(true, Passed)], false, Passed),
        (&[(true, Passed), (false, Passed)], false, Passed),
        (&[(true, Passed), (true, Failed)], false, Failed),
        (&[(true, NeedsReview), (true, Failed)], true, Failed),
        (&[(true, Passed), (false, Failed)], false, NeedsReview),
        (&[(false, Failed)], false, NeedsReview),
        (&[(true, NeedsReview)], false, NeedsReview),
        (&[(true, Skipped), (false, Passed)], false, NeedsReview),
        (&[(false, NeedsReview), (true, Passed)], false, NeedsReview),
        (&[(true, Passed)], true, NeedsReview),
        (&[(true, Passed), (false, Skipped)], false, Passed),
        (&[(false, Skipped)], false, Skipped),
    ];
    for (checks, risks, expected) in table {
        let checks: Vec<_> = checks.iter().map(|(r, s)| check(*r, *s)).collect();
        assert_eq!(status(&checks, *risks), *expected, "{checks:?}");
    }
}

#[test]
fn the_last_report_of_a_subject_counts_and_the_oldest_are_dropped() {
    let reports = Reports::default();
    assert_eq!(reports.summary().status, Skipped);
    reports.add(report(
        "build",
        vec![check(true, Failed), check(false, Passed)],
    ));
    reports.add(report(
        "docs",
        vec![check(true, NeedsReview), check(true, Passed)],
    ));
    let summary = reports.summary();
    assert_eq!(summary.status, Failed);
    assert_eq!(summary.report_count, 2);
    assert_eq!(summary.required_check_count, 3);
    assert_eq!(summary.pending_required_check_count, 1);
    assert_eq!(summary.failed_check_count, 1);
    assert_eq!(summary.failed_subjects, ["build"]);
    assert_eq!(summary.pending_subjects, ["docs"]);
    let words = super::in_words(&summary);
    assert!(words.contains("failed") && words.contains("build") && words.contains("docs"));

    reports.add(report("build", vec![check(true, Passed)]));
    let summary = reports.summary();
    assert_eq!(summary.status, NeedsReview);
    assert_eq!((summary.report_count, summary.failed_check_count), (2, 0));

    for number in 0..300 {
        reports.add(report(&format!("s{number}"), vec![check(true, Passed)]));
    }
    assert_eq!(reports.all().len(), 256);
    assert_eq!(reports.all()[0].subject, "s44");
    assert_eq!(reports.summary().status, Passed);
}

#[test]
fn a_report_that_says_more_than_its_checks_is_refused_whole() {
    let reports = Reports::default();
    let good = report("good", vec![check(true, Passed)]);
    let mut claim = report("claim", vec![check(true, Failed)]);
    claim.status = Passed;
    let mut other = report("form", Vec::new());
    other.schema = "else.v1".to_owned();
    let mut nameless = report("x", vec![check(true, Passed)]);
    nameless.checks[0].id = " ".to_owned();
    for (wrong, field) in [
        (claim, "reports[1].status"),
        (other, "reports[1].schema"),
        (report("", Vec::new()), "reports[1].subject"),
        (nameless, "reports[1].checks[0].id"),
    ] {
        let refused = reports.record(vec![good.clone(), wrong]).unwrap_err();
        assert!(refused.to_string().contains(field), "{refused}");
        assert!(reports.all().is_empty());
    }
    reports.record(vec![good.clone()]).unwrap();
    assert_eq!(reports.all(), [good]);
}

// claims: VER-01, VER-02, VER-03, VER-05
#[tokio::test]
async fn a_report_carries_what_each_command_came_to() {
    let scratch = Scratch::new();
    scratch.write("marker.txt", "x");
    let session = open(&scratch.root()).await;
    let commands = [
        command("present", "test -f marker.txt && echo it is there", true),
        command("lint", "echo problem >&2; exit 3", false),
        command("killed", "kill -9 $$", false),
        command("none", "no-such-program-at-all", false),
        VerificationCommand {
            expect_exit: Some(7),
            ..command("seven", "exit 7", true)
        },
    ];
    let report = session.verify_commands("release", &commands).await.unwrap();
    assert_eq!(report.schema, "a3s.verification_report.v1");
    assert_eq!(report.subject, "release");
    // Failed checks that are not required never make it fail.
    assert_eq!(report.status, NeedsReview);
    let came: Vec<_> = report
        .checks
        .iter()
        .map(|check| (check.id.as_str(), check.status, check.exit_code))
        .collect();
    assert_eq!(
        came,
        [
            ("present", Passed, Some(0)),
            ("lint", Failed, Some(3)),
            ("killed", Failed, None),
            ("none", Failed, Some(127)),
            ("seven", Passed, Some(7)),
        ]
    );
    assert_eq!(report.checks[0].output, "it is there\n");
    assert!(report.checks[1].output.contains("problem"));
    assert!(report.residual_risks[0].contains("lint: exit status 3"));
    assert!(
        report.checks[2]
            .residual_risk
            .as_deref()
            .unwrap()
            .contains("signal 9")
    );
    assert_eq!(session.verification_reports(), [report]);
    assert_eq!(session.verification_summary().failed_check_count, 3);
    assert!(session.verification_summary_text().contains("release"));

    let failed = [command("a", "true", true), command("b", "false", true)];
    let report = session.verify_commands("release", &failed).await.unwrap();
    assert_eq!(report.status, Failed);
    assert_eq!(session.verification_summary().failed_subjects, ["release"]);
}

// claims: VER-04
#[tokio::test]
async fn a_command_ends_at_its_time_limit_and_has_not_passed() {
    let scratch = Scratch::new();
    let session = open(&scratch.root()).await;
    for (limit, keeps_output) in [(1200, true), (150, false)] {
        let slow = VerificationCommand {
            timeout_ms: Some(limit),
            ..command("slow", "echo begun; sleep 30; touch done", true)
        };
        let begun = Instant::now();
        let next = command("next", "true", true);
        let report = session
            .verify_commands("time", &[slow, next])
            .await
            .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10));
        let check = &report.checks[0];
        assert_eq!((check.status, check.exit_code), (Failed, None));
        assert!(
            check
                .residual_risk
                .as_deref()
                .unwrap()
                .contains(&format!("{limit} ms"))
        );
        assert_eq!(check.output.contains("begun"), keeps_output);
        // The rest is carried out.
        assert_eq!(report.checks[1].status, Passed);
        assert_eq!(report.status, Failed);
    }
    assert!(!scratch.inside("done").exists());
}

// claims: VER-05
#[tokio::test]
async fn what_could_not_be_carried_out_is_left_open() {
    let files = BTreeMap::from([("a.txt".to_owned(), b"x".to_vec())]);
    let workspace = MemoryWorkspace::new("memory", files, None).unwrap();
    let options = SessionOptions::new().with_workspace_backend(Arc::new(workspace));
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent.session("memory", options).await.unwrap();
    let report = session
        .verify_commands("x", &[command("a", "true", true)])
        .await
        .unwrap();
    assert_eq!(report.status, NeedsReview);
    assert_eq!(report.checks[0].status, NeedsReview);
    assert_eq!(report.checks[0].exit_code, None);
    assert!(report.residual_risks[0].contains("could not be carried out"));
    assert_eq!(session.verification_summary().pending_subjects, ["x"]);
    assert!(session.verification_presets().is_empty());
}

#[tokio::test]
async fn long_output_is_shown_in_part_and_kept_whole() {
    let scratch = Scratch::new();
    let session = open(&scratch.root()).await;
    for count in [3_000, 60_000] {
        let line = format!("seq 1 {count}");
        let report = session
            .verify_commands("x", &[command("a", &line, true)])
            .await
            .unwrap();
        let check = &report.checks[0];
        assert!(check.output.len() < 9 * 1024);
        assert!(check.output.starts_with("1\n2\n") && check.output.contains("omitted"));
        assert!(check.output.ends_with(&format!("\n{count}\n")));
        let (_, whole) = session.get_artifact_bytes(&check.evidence_uris[0]).unwrap();
        let expected: String = (1..=count).map(|n| format!("{n}\n")).collect();
        assert!(whole == expected.as_bytes(), "{} bytes", whole.len());
    }
}

#[tokio::test]
async fn what_is_malformed_runs_nothing() {
    let scratch = Scratch::new();
    let session = open(&scratch.root()).await;
    let touch = || command("a", "touch ran", true);
    let refused = |subject: &'static str, commands: Vec<VerificationCommand>| {
        let session = session.clone();
        async move {
            let error = session
                .verify_commands(subject, &commands)
                .await
                .unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            error.to_string()
        }
    };
    let many = (0..65)
        .map(|n| command(&n.to_string(), "touch ran", false))
        .collect();
    for (subject, commands, named) in [
        ("", vec![touch()], "subject"),
        ("x", vec![touch(), touch()], "commands[1].id"),
        (
            "x",
            vec![touch(), command("", "true", true)],
            "commands[1].id",
        ),
        (
            "x",
            vec![touch(), command("b", " ", true)],
            "commands[1].command",
        ),
        (
            "x",
            vec![
                touch(),
                VerificationCommand {
                    timeout_ms: Some(0),
                    ..command("b", "true", true)
                },
            ],
            "commands[1].timeoutMs",
        ),
        (
            "x",
            vec![
                touch(),
                VerificationCommand {
                    expect_exit: Some(300),
                    ..command("b", "true", true)
                },
            ],
            "commands[1].expectExit",
        ),
        ("x", many, "64"),
    ] {
        let message = refused(subject, commands).await;
        assert!(message.contains(named), "{message}");
    }
    assert!(!scratch.inside("ran").exists());
    assert!(session.verification_reports().is_empty());
}

#[tokio::test]
async fn cancelling_ends_the_command_and_keeps_no_report() {
    let scratch = Scratch::new();
    let session = open(&scratch.root()).await;
    let cancellation = CancellationToken::new();
    let options = CallOptions {
        cancellation: Some(cancellation.clone()),
        ..CallOptions::default()
    };
    let commands = [
        command("a", "touch begun; sleep 30", true),
        command("b", "touch second", true),
    ];
    let running = session.verify_commands_with("x", &commands, options);
    tokio::pin!(running);
    let begun = Instant::now();
    let error = loop {
        tokio::select! {
            ended = &mut running => break ended.unwrap_err(),
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                if scratch.inside("begun").exists() {
                    cancellation.cancel();
                }
            }
        }
    };
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(!scratch.inside("second").exists());
    assert!(session.verification_reports().is_empty());

    session.close().await;
    let closed = session
        .verify_commands("x", &[command("a", "true", true)])
        .await;
    assert!(matches!(closed, Err(CodeError::SessionClosed { .. })));
    let closed = session.record_verification_reports(Vec::new());
    assert!(matches!(closed, Err(CodeError::SessionClosed { .. })));
}

#[tokio::test]
async fn presets_follow_what_stands_in_the_root() {
    let scratch = Scratch::new();
    let session = open(&scratch.root()).await;
    assert!(session.verification_presets().is_empty());
    for (name, text) in [
        ("Cargo.toml", "[package]"),
        (
            "package.json",
            r#"{"scripts":{"test":"vitest","lint":"eslint ."}}"#,
        ),
        ("pnpm-lock.yaml", ""),
        ("pyproject.toml", ""),
        ("go.mod", "module x"),
    ] {
        scratch.write(name, text);
    }
    let presets = session.verification_presets();
    let kinds: Vec<_> = presets
        .iter()
        .map(|preset| preset.project_kind.as_str())
        .collect();
    assert_eq!(kinds, ["rust", "node", "python", "go"]);
    let lines = |kind: usize| -> Vec<(&str, bool)> {
        let commands = presets[kind].commands.iter();
        commands.map(|c| (c.command.as_str(), c.required)).collect()
    };
    assert_eq!(
        lines(1),
        [("pnpm run test", true), ("pnpm run lint", false)]
    );
    assert_eq!(lines(3), [("go test ./...", true), ("go vet ./...", false)]);
    assert_eq!(lines(0).iter().filter(|(_, required)| *required).count(), 3);
    // Each preset can be handed on as it is.
    for preset in &presets {
        super::check_request(&preset.id, &preset.commands).unwrap();
    }
}
