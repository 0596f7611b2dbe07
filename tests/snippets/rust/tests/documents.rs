//! The documents' Rust snippets compile and do what the documents say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test"
)]

use a3s_code_core::{Agent, AgentConfig, SessionOptions, Tool, ToolCall, ToolError, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;

mod projection {
    include!(concat!(env!("OUT_DIR"), "/projection.rs"));

    pub(crate) async fn run(
        agent: &a3s_code_core::Agent,
    ) -> anyhow::Result<a3s_code_core::AgentSession> {
        open(agent).await
    }
}

mod governed {
    include!(concat!(env!("OUT_DIR"), "/governed.rs"));

    pub(crate) async fn run(session: &AgentSession) -> anyhow::Result<()> {
        inspect_readme(session).await
    }
}

/// Says 20,000 numbered lines.
struct Rows;

#[async_trait]
impl Tool for Rows {
    fn name(&self) -> &str {
        "rows"
    }
    fn description(&self) -> &str {
        "Says many lines."
    }
    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }
    async fn run(&self, _: ToolCall) -> Result<ToolOutput, ToolError> {
        let rows: String = (1..=20_000).map(|n| format!("L{n:06}\n")).collect();
        Ok(ToolOutput::success(rows))
    }
}

use a3s_code_core::tools::async_trait;

// claims: PROJ-12
#[tokio::test]
async fn the_projection_snippet_builds_a_context_efficient_session() {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = projection::run(&agent).await.unwrap();
    session.register_dynamic_tool(Arc::new(Rows)).unwrap();
    let result = session.tool("rows", json!({})).await.unwrap();
    let metadata = result.metadata.unwrap();
    assert_eq!(
        metadata["a3s_tool_result_evidence"]["loss_mode"],
        "head_tail"
    );
    assert!(result.output.contains("L000001\n") && result.output.contains("L020000\n"));
    assert!(result.output.len() <= 102_400);
}

// claims: AST-15
#[tokio::test]
async fn the_governed_tool_snippet_reads_the_readme() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/rust-repo");
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent.session(root, SessionOptions::new()).await.unwrap();
    governed::run(&session).await.unwrap();
    // What it printed.
    let result = session
        .governed_tool("read", json!({ "file_path": "README.md" }))
        .await
        .unwrap();
    assert!(format!("{result:?}").contains("# Fixture"));
}
