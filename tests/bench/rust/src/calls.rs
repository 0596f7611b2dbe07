//! What a call costs in Rust: one that is answered at once (P1), and one that waits for another thread (P2b).

use crate::noop::Noop;
use crate::ping_pong;
use crate::row::{Plan, Row};
use crate::sample::{Effort, Result, median, medians, time};
use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions, ToolResult};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Opens a session on the corpus that has the tool of [`Noop`].
pub(crate) fn open(tokio: &Runtime, plan: &Plan) -> Result<(Agent, AgentSession)> {
    let agent = tokio.block_on(Agent::create(AgentConfig::default()))?;
    let options = SessionOptions::new().with_tool(Arc::new(Noop));
    let session = tokio.block_on(agent.session(plan.corpus.clone(), options))?;
    Ok((agent, session))
}

/// Calls a tool; a failed result is a failure here, so that no refusal is taken for speed.
pub(crate) fn call(
    tokio: &Runtime,
    session: &AgentSession,
    name: &str,
    args: Value,
) -> Result<ToolResult> {
    let result = tokio.block_on(session.tool(name, args))?;
    if result.exit_code == 0 {
        return Ok(result);
    }
    Err(format!("{name}: {}", result.output).into())
}

/// Measures and prints.
pub(crate) fn measure(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    let (agent, session) = open(tokio, plan)?;
    let sample = call(tokio, &session, "noop", json!({}))?;
    let (floor, value) = medians(
        effort,
        || time(|| tokio.block_on(bare(&sample))),
        || time(|| call(tokio, &session, "noop", json!({}))),
    )?;
    Row::at_most("P1", "no-op tool, direct call, rust", "ms", value)
        .floor(floor)
        .target(0.015)
        .print()?;

    let args = json!({ "file_path": "waits.txt" });
    let value = median(effort, || {
        time(|| call(tokio, &session, "read", args.clone()))
    })?;
    let ping_pong = ping_pong::round_trip(effort)?;
    Row::at_most("P2b", "call that waits, rust", "ms", value)
        .floor(ping_pong)
        .print()?;
    tokio.block_on(agent.close());
    Ok(())
}

/// What is left of a no-op when nothing of ours stands around it: a call through a table, the digest of its text,
/// and facts of the same size.
fn bare(
    sample: &ToolResult,
) -> Pin<Box<dyn Future<Output = std::result::Result<(String, Value, [u8; 32]), Infallible>> + '_>>
{
    Box::pin(async move {
        let text = "ok".to_owned();
        let digest = Sha256::digest(text.as_bytes()).into();
        Ok((text, json!(sample.metadata), digest))
    })
}
