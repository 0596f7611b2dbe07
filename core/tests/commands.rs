//! What commands cost the host, through the public API: its memory under a flood, and what it holds afterwards.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions};
use serde_json::json;
use tokio::sync::Mutex;

/// Counts are those of the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Two bounds of captured output and what the allocator may keep.
const MOST_GROWTH_KIB: u64 = 2 * 100 + 16 * 1024;

async fn session() -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let folder = std::env::temp_dir();
    agent
        .session(folder.to_str().unwrap(), SessionOptions::new())
        .await
        .unwrap()
}

async fn bash(session: &AgentSession, line: &str) -> serde_json::Value {
    let args = json!({"command": line, "timeout": 600_000});
    let result = session.tool("bash", args).await.unwrap();
    assert_eq!(result.exit_code, 0, "{}", result.output);
    result.metadata.unwrap()
}

fn fact(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Children that were not waited for, or live.
fn children() -> usize {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .map(|children| children.split_whitespace().count())
        .sum()
}

async fn flood(bytes: u64) {
    let _alone = ALONE.lock().await;
    let session = session().await;
    bash(&session, "head -c 1000000 /dev/zero").await;
    let before = fact("VmHWM:");
    for line in [
        format!("head -c {bytes} /dev/zero"),
        format!("yes | head -c {bytes}"),
        format!(
            "head -c {} /dev/zero & head -c {} /dev/zero >&2; wait",
            bytes / 2,
            bytes / 2
        ),
    ] {
        let facts = bash(&session, &line).await;
        assert_eq!(facts["output"]["total_bytes"], bytes, "{line}");
    }
    let growth = fact("VmHWM:") - before;
    assert!(growth <= MOST_GROWTH_KIB, "{growth} KiB");
}

async fn repeat(times: usize) {
    let _alone = ALONE.lock().await;
    let session = session().await;
    for _ in 0..20 {
        bash(&session, "true").await;
    }
    let before = (descriptors(), children());
    let threads = fact("Threads:");
    for _ in 0..times {
        bash(&session, "echo x").await;
    }
    // A thread that has handed its result over may need a moment to be gone, and its descriptors with it.
    let now = || (descriptors(), children(), fact("Threads:"));
    let mut looks = 0;
    while now().0 > before.0 || now().1 > before.1 || now().2 > threads {
        let before = (before.0, before.1, threads);
        assert!(looks < 200, "{:?} now, {before:?} before", now());
        looks += 1;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

// claims: CTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_counted_exactly_and_does_not_grow_the_host() {
    flood(200_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_leave_no_descriptor_thread_or_child_behind() {
    repeat(200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_longer_than_an_argument_runs_whole() {
    let _alone = ALONE.lock().await;
    let session = session().await;
    for size in [131_000, 131_072, 200_000, 1_000_000] {
        let facts = bash(&session, &format!(": {}\nprintf done", "x".repeat(size))).await;
        assert_eq!(facts["output"]["total_bytes"], 4, "{size}");
    }
}

// Hazard X2 in its long form: 10 GB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: about a minute"]
async fn a_flood_of_ten_gigabytes_does_not_grow_the_host() {
    flood(10_000_000_000).await;
}

// Hazard X7 in its long form: 10,000 commands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: about a minute"]
async fn ten_thousand_commands_leave_nothing_behind() {
    repeat(10_000).await;
}
