//! Processes that a session started, found by the marker in their environment.

use std::fs;
use std::time::{Duration, Instant};

/// Name of the environment variable that marks what a case starts.
pub(crate) const MARKER: &str = "A3S_CASE_MARKER";

/// Waits up to `grace` for the marked processes to become `wanted` in number; returns how many there are.
pub(crate) fn settle(marker: &str, wanted: usize, grace: Duration) -> usize {
    let deadline = Instant::now() + grace;
    loop {
        let alive = count(marker);
        if alive == wanted || Instant::now() >= deadline {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(marker: &str) -> usize {
    let needle = format!("{MARKER}={marker}");
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        })
        .filter(|entry| {
            // A process that ended and waits to be collected has no environment left: it counts as gone.
            fs::read(entry.path().join("environ")).is_ok_and(|bytes| {
                bytes
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == needle.as_bytes())
            })
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_marked_process_is_seen_while_it_lives() {
        let marker = format!("test-{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("30")
            .env(MARKER, &marker)
            .spawn()
            .unwrap();
        assert_eq!(settle(&marker, 1, Duration::from_secs(2)), 1);
        assert_eq!(settle(&marker, 0, Duration::from_millis(50)), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(settle(&marker, 0, Duration::from_secs(2)), 0);
    }
}
