//! The tools that change files, through a session: what they change, what they refuse, what they say about it.

#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]

mod edits;
mod meanwhile;
mod reach;
mod receipts;

use crate::workspace::test_support::Scratch;
use crate::workspace::{MemoryWorkspace, Workspace};
use crate::{Agent, AgentConfig, AgentSession, SessionOptions, ToolResult};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

async fn open(root: &str, options: SessionOptions) -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent.session(root, options).await.unwrap()
}

async fn on(workspace: impl Workspace + 'static) -> AgentSession {
    let options = SessionOptions::new().with_workspace_backend(Arc::new(workspace));
    open("stub", options).await
}

fn memory(files: &[(&str, &str)]) -> MemoryWorkspace {
    let files: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    MemoryWorkspace::new("stub", files, None).unwrap()
}

async fn call(session: &AgentSession, tool: &str, args: Value) -> ToolResult {
    session.tool(tool, args).await.unwrap()
}

fn tag(result: &ToolResult) -> String {
    let kind = result.error_kind.as_ref();
    kind.map_or_else(|| "none".to_owned(), |kind| kind.tag().to_owned())
}

fn facts(result: &ToolResult) -> Value {
    result.metadata.clone().unwrap()
}

fn text(scratch: &Scratch, path: &str) -> String {
    String::from_utf8(std::fs::read(scratch.inside(path)).unwrap()).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Lines, so many that a change of them is a large one.
fn large() -> String {
    (0..4000)
        .map(|n| format!("line {n:05} of a large file\n"))
        .collect()
}
