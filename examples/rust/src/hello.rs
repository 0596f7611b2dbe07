//! Opens a session on a repository, reads and searches it, and fetches the original of a cut result.

use a3s_code_core::{Agent, AgentConfig, SessionOptions};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::create(AgentConfig::default()).await?;
    let session = agent.session(".", SessionOptions::new()).await?;

    println!("tools: {}", session.tool_names().join(", "));
    println!("markdown files: {:?}", session.glob("*.md").await?);
    let hits = session.grep("PermissionPolicy").await?;
    println!("hits: {}", hits.lines().count());

    let result = session
        .tool("read", json!({ "file_path": "README.md", "limit": 3 }))
        .await?;
    println!("exit {}:\n{}", result.exit_code, result.output);
    let metadata = result.metadata.unwrap_or_default();
    println!(
        "evidence: {}",
        metadata["a3s_tool_result_evidence"]["loss_mode"]
    );

    // As a model would: nothing that changes anything runs unasked.
    let refused = session
        .governed_tool("ls", json!({ "path": ".git" }))
        .await?;
    println!("governed: exit {}", refused.exit_code);
    agent.close().await;
    Ok(())
}
