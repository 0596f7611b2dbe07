//! The example of the README.

use a3s_code_core::tools::async_trait;
use a3s_code_core::{
    Agent, AgentConfig, ReadFileOptions, SessionOptions, Tool, ToolCall, ToolError, ToolOutput,
};
use serde_json::{Value, json};
use std::sync::Arc;

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
        Ok(ToolOutput::success(
            (0..20_000)
                .map(|n| format!("row {n}\n"))
                .collect::<String>(),
        ))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::create(AgentConfig::default()).await?;
    let path = std::env::args().nth(1).unwrap_or(".".to_owned());
    let session = agent
        .session(path, SessionOptions::new().with_tool(Arc::new(Rows)))
        .await?;

    let first = ReadFileOptions {
        limit: Some(1),
        ..Default::default()
    };
    let first = session
        .read_file_with_options("README.md", first, Default::default())
        .await?;
    println!("{} {}", first.trim(), session.glob("**/*.rs").await?.len());

    let result = session.tool("rows", json!({})).await?; // bounded, and accounted for
    let evidence = &result.metadata.unwrap_or_default()["a3s_tool_result_evidence"];
    let original = session.get_artifact(evidence["content_ref"].as_str().unwrap_or_default());
    println!(
        "{} {}",
        evidence["loss_mode"].as_str().unwrap_or_default(),
        original.map_or(0, |a| a.content.len())
    );

    let as_model = session.governed_tool("rows", json!({})).await?; // governed: nobody allowed it
    println!("{}", as_model.error_kind.map_or("", |kind| kind.tag()));
    agent.close().await;
    Ok(())
}
