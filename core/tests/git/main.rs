//! The `git` tool through the public API: what it shows, what it changes, and that a hostile repository runs nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod hostile;
mod operations;
mod pages;

use a3s_code_core::contract::ToolResult;
use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder with a repository `w`; removed when dropped.
struct Repository(PathBuf);

impl Repository {
    /// A folder that is no repository.
    fn none() -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("git-tool-{}-{id}", std::process::id()));
        std::fs::create_dir_all(folder.join("w")).unwrap();
        Self(std::fs::canonicalize(folder).unwrap())
    }

    /// With one commit of `a.txt` on `main`.
    fn new() -> Self {
        let repository = Self::none();
        repository.git(&["init", "-q", "-b", "main"]);
        repository.write("a.txt", "start\n");
        repository.commit("first");
        repository
    }

    fn root(&self) -> PathBuf {
        self.0.join("w")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Plain git, as a person would use it.
    fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.root(), arguments)
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    async fn session(&self) -> AgentSession {
        session_in(&self.root(), SessionOptions::new()).await
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Tester")
        .env("GIT_AUTHOR_EMAIL", "tester@example.com")
        .env("GIT_COMMITTER_NAME", "Tester")
        .env("GIT_COMMITTER_EMAIL", "tester@example.com")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn session_in(root: &Path, options: SessionOptions) -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent
        .session(root.to_str().unwrap(), options)
        .await
        .unwrap()
}

async fn git(session: &AgentSession, args: Value) -> ToolResult {
    session.git(args).await.unwrap()
}

async fn done(session: &AgentSession, args: Value) -> ToolResult {
    let result = git(session, args.clone()).await;
    assert_eq!(result.exit_code, 0, "{args}: {}", result.output);
    result
}

/// Kind of a failed result and the argument it names.
async fn refused(session: &AgentSession, args: Value) -> (String, String) {
    let result = git(session, args.clone()).await;
    assert_ne!(result.exit_code, 0, "{args}: {}", result.output);
    let kind = serde_json::to_value(&result.error_kind).unwrap();
    let text = |key: &str| kind[key].as_str().unwrap_or_default().to_owned();
    (text("type"), text("argument"))
}

fn facts(result: &ToolResult) -> &Value {
    result.metadata.as_ref().unwrap()
}
