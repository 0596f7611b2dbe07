//! Confinement: what a path may name, in both ways of resolving it.

mod links;
mod vectors;
mod writes;

use super::test_support::Scratch;
use super::{FileSystem, LocalWorkspace, Wait, Workspace, WorkspaceError};
use crate::{Agent, AgentConfig, AgentSession, SessionOptions};
use std::sync::Arc;

/// Text of every file outside the workspace.
const CANARY: &str = "outside-canary";

/// The ways of resolving: by the kernel, and step by step as where `openat2` is missing or forbidden.
const WAYS: [&str; 2] = ["kernel", "stepwise"];

fn open(root: &str, way: &str) -> LocalWorkspace {
    let opened = if way == "kernel" {
        LocalWorkspace::open(root, true)
    } else {
        LocalWorkspace::open_stepwise(root, true)
    };
    opened.unwrap()
}

/// The same, and it may be written.
fn open_writable(root: &str, way: &str) -> LocalWorkspace {
    let opened = if way == "kernel" {
        LocalWorkspace::open(root, false)
    } else {
        LocalWorkspace::open_stepwise(root, false)
    };
    opened.unwrap()
}

async fn session(root: &str, way: &str) -> (Agent, AgentSession) {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let options = SessionOptions::new().with_workspace_backend(Arc::new(open(root, way)));
    let session = agent.session(root, options).await.unwrap();
    (agent, session)
}

fn content(workspace: &dyn Workspace, path: &str) -> Result<Vec<u8>, WorkspaceError> {
    content_in(workspace.file_system(), workspace, path, Wait::Allowed)
}

fn content_in(
    files: &dyn FileSystem,
    workspace: &dyn Workspace,
    path: &str,
    wait: Wait,
) -> Result<Vec<u8>, WorkspaceError> {
    let file = files.open(&workspace.resolve(path)?, wait)?;
    let mut bytes = vec![0; 4096];
    let count = file.read_at(0, &mut bytes, wait)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// A workspace with an ordinary inside, and an outside that must never be seen.
fn guarded() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("a.txt", "inner-text\n");
    scratch.write("sub/x/inner.txt", "inner-text\n");
    scratch.write("../secret.txt", CANARY);
    scratch.write("../app-secret/secret.txt", CANARY);
    scratch.write("../../secret.txt", CANARY);
    scratch.write("../../far/secret.txt", CANARY);
    scratch
}
