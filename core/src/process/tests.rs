//! Commands that misbehave, run for real. What is left of one is counted in `/proc`, by a mark that its processes
//! carry in their environment or on their command line, never by what the room itself says.

mod bytes;
mod endings;
mod starts;

use super::{
    Captured, Command, End, Environment, HeadTail, Ledger, Outcome, Rooms, StartError, start,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A number of seconds that no other process sleeps for.
fn mark() -> String {
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("100.{:07}{next:05}", std::process::id())
}

/// `line` for bash; `@` in it stands for the mark.
fn command(line: &str, mark: &str, limit: Duration) -> Command {
    let mut environment = Environment::unattended(&BTreeMap::new());
    environment.set("TEST_MARK", mark);
    Command {
        program: "bash",
        untrusted: None,
        arguments: vec![b"-c".to_vec(), line.replace('@', mark).into_bytes()],
        environment,
        directory: std::env::temp_dir().into_os_string().into_encoded_bytes(),
        time_limit: limit,
    }
}

fn receiver() -> HeadTail {
    HeadTail::new(Rooms::within(102_400), 1024 * 1024, None)
}

/// Runs a line to its end.
async fn run(line: &str) -> (End, Captured) {
    let command = command(line, &mark(), Duration::from_secs(20));
    let mut running = start(command, receiver(), &Ledger::default()).unwrap();
    let outcome = running.outcome().await.unwrap();
    (outcome.end, outcome.received.captured())
}

/// How many processes that have not ended carry the mark.
fn marked(mark: &str) -> usize {
    marked_pids(mark).len()
}

#[allow(clippy::disallowed_methods)]
fn marked_pids(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let carries = |pid: &str, file: &str| {
        let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        memchr::memmem::find(&content, mark.as_bytes()).is_some()
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|pid| carries(pid, "environ") || carries(pid, "cmdline"))
        .collect()
}

/// What the marked processes are, for a person.
#[allow(clippy::disallowed_methods)]
fn left(mark: &str) -> String {
    let tell = |pid: &String| {
        let file = |name: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        format!("[{} {}]", file("stat"), file("cmdline"))
    };
    marked_pids(mark).iter().map(tell).collect()
}

/// Waits until nothing carries the mark; how long that took. What is not gone in time stays.
async fn gone(what: &str, mark: &str, within: Duration) -> Duration {
    let begun = Instant::now();
    while marked(mark) > 0 {
        assert!(begun.elapsed() < within, "{what}: left are {}", left(mark));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    begun.elapsed()
}

async fn emptied(ledger: &Ledger) {
    let wait = tokio::time::timeout(Duration::from_secs(5), ledger.emptied());
    wait.await.expect("the ledger does not become empty");
}
