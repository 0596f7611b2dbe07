//! Changing files and running commands through the public API alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test"
)]

use a3s_code_core::{
    Agent, AgentConfig, AgentSession, CallOptions, ErrorCode, SessionOptions, ToolResult,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How soon a cancelled or closed command must have ended.
const PROMPT: Duration = Duration::from_secs(5);
/// Starts a process of the background, says who they are, and waits.
const FAMILY: &str = "sleep 60 & echo $! >> pids; echo $$ >> pids; wait";

/// A folder that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "a3s-changes-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    async fn open(&self, options: SessionOptions) -> AgentSession {
        let agent = Agent::create(AgentConfig::default()).await.unwrap();
        agent
            .session(self.0.to_str().unwrap(), options)
            .await
            .unwrap()
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.0.join(path)).unwrap()
    }

    /// The processes of [`FAMILY`], once they have said who they are.
    async fn family(&self) -> Vec<u32> {
        let started = Instant::now();
        loop {
            let text = std::fs::read_to_string(self.0.join("pids")).unwrap_or_default();
            if text.matches('\n').count() == 2 {
                return text.lines().map(|line| line.parse().unwrap()).collect();
            }
            assert!(started.elapsed() < PROMPT, "the command does not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a process runs; one that has ended and is not collected yet does not.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim_start().starts_with('Z'))
    })
}

fn kind(result: &ToolResult) -> Option<&str> {
    result.error_kind.as_ref().map(|kind| kind.tag())
}

// claims: DIRECT-04, DIRECT-07
#[tokio::test]
async fn bash_gives_the_output_of_a_command_in_the_workspace() {
    let scratch = Scratch::new();
    let session = scratch.open(SessionOptions::new()).await;
    session.write_file("d/f.txt", "here\n").await.unwrap();
    assert_eq!(scratch.text("d/f.txt"), "here\n");
    assert_eq!(session.bash("cat d/f.txt").await.unwrap(), "here\n");
    let root = format!("{}\n", scratch.0.display());
    assert_eq!(session.bash("pwd").await.unwrap(), root);
    let both = session.bash("printf 'plain\\n'; echo wrong >&2").await;
    assert_eq!(both.unwrap(), "plain\nwrong\n");
    let failed = session.bash("echo some-text; exit 37").await.unwrap();
    let last = failed.strip_prefix("some-text\n").expect("the output");
    assert!(last.contains("37") && last.lines().count() == 1, "{last}");
}

// claims: DIRECT-04, CTR-13, CTR-15
#[tokio::test]
async fn a_time_limit_is_an_error_of_the_helper_and_a_kind_of_the_result() {
    let scratch = Scratch::new();
    let limits = SessionOptions::new().with_tool_timeout(Duration::from_millis(300));
    let late = scratch.open(limits).await.bash("sleep 60").await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::Timeout);
    let session = scratch.open(SessionOptions::new()).await;
    for command in [FAMILY, "exec >&- 2>&-; sleep 60"] {
        let started = Instant::now();
        let args = json!({ "command": command, "timeout": 1000 });
        let result = session.tool("bash", args).await.unwrap();
        assert_eq!(kind(&result), Some("timeout"), "{command}");
        assert!(started.elapsed() < Duration::from_secs(1) + PROMPT);
    }
    assert!(!scratch.family().await.into_iter().any(runs));
}

// claims: ORIG-35
#[tokio::test]
async fn closing_the_session_ends_a_running_command_promptly() {
    let scratch = Scratch::new();
    let session = scratch.open(SessionOptions::new()).await;
    let running = session.clone();
    let call =
        tokio::spawn(async move { running.tool("bash", json!({ "command": FAMILY })).await });
    let family = scratch.family().await;
    let started = Instant::now();
    session.close().await;
    let result = call.await.unwrap().unwrap();
    assert_eq!(kind(&result), Some("cancelled"));
    assert!(started.elapsed() < PROMPT);
    assert!(!family.into_iter().any(runs));
}

// claims: CTR-16
#[tokio::test]
async fn a_token_ends_the_command_with_everything_it_started() {
    let scratch = Scratch::new();
    let session = scratch.open(SessionOptions::new()).await;
    let token = CancellationToken::new();
    let options = CallOptions {
        cancellation: Some(token.clone()),
        ..CallOptions::default()
    };
    let running = session.clone();
    let call = tokio::spawn(async move { running.bash_with(FAMILY, options).await });
    let family = scratch.family().await;
    assert!(family.iter().all(|pid| runs(*pid)));
    token.cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(!family.into_iter().any(runs));
    assert_eq!(session.bash("echo on").await.unwrap(), "on\n");
}
