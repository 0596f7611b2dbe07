//! Runs against a scripted model: what it is asked, what its calls may do, what is heard of it, how it ends.

#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]

mod calls;
mod endings;
mod requests;

use super::{RunLimits, RunOptions};
use crate::event::EventObserver;
use crate::governance::{BudgetDecision, BudgetGuard, LlmUsage};
use crate::model::{
    LlmClient, LlmError, LlmEvent, LlmEvents, LlmFault, LlmRequest, LlmResponse, ScriptedClient,
};
use crate::tools::{Tool, ToolCall, ToolError, ToolOutput};
use crate::workspace::test_support::Scratch;
use crate::{Agent, AgentConfig, AgentSession, ErrorCode, PermissionPolicy, SessionOptions};
use a3s_code_contract::{
    ContentBlock, EventEnvelope, ForcedStop, Message, PermissionDecision, PermissionRule, Role,
    ScriptedToolCall, ScriptedTurn, TokenUsage, ToolCapabilities,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn text(words: &str) -> ScriptedTurn {
    ScriptedTurn {
        text: Some(words.to_owned()),
        ..ScriptedTurn::default()
    }
}

fn calls(list: &[(&str, &str, Value)]) -> ScriptedTurn {
    ScriptedTurn {
        tool_calls: list
            .iter()
            .map(|(id, name, args)| ScriptedToolCall {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                args: Some(args.clone()),
                args_text: None,
            })
            .collect(),
        ..ScriptedTurn::default()
    }
}

fn allow(rules: &[&str]) -> PermissionPolicy {
    PermissionPolicy {
        allow: rules
            .iter()
            .map(|rule| PermissionRule::Text((*rule).to_owned()))
            .collect(),
        default_decision: PermissionDecision::Deny,
        ..PermissionPolicy::default()
    }
}

async fn open(
    scratch: &Scratch,
    model: &Arc<ScriptedClient>,
    policy: PermissionPolicy,
    options: SessionOptions,
) -> AgentSession {
    let options = options
        .with_llm_client(Arc::clone(model) as _)
        .with_permission_policy(policy);
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent.session(scratch.root(), options).await.unwrap()
}

fn scripted(turns: impl IntoIterator<Item = ScriptedTurn>) -> Arc<ScriptedClient> {
    Arc::new(ScriptedClient::new(turns))
}

fn results_of(messages: &[Message]) -> Vec<(String, String, bool)> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => Some((tool_use_id.clone(), content.clone(), *is_error)),
            _ => None,
        })
        .collect()
}

/// Every call has exactly one result, in the message after it, and the sides take turns.
fn check_transcript(messages: &[Message]) {
    for pair in messages.windows(2) {
        assert_ne!(pair[0].role, pair[1].role, "{messages:?}");
        let asked: Vec<&String> = pair[0]
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolUse { id, .. } => Some(id),
                _ => None,
            })
            .collect();
        let answered: Vec<&String> = pair[1]
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                _ => None,
            })
            .collect();
        assert_eq!(asked, answered, "{messages:?}");
    }
    if let Some(last) = messages.last() {
        let open = last
            .content
            .iter()
            .any(|block| matches!(block, ContentBlock::ToolUse { .. }));
        assert!(!open, "{messages:?}");
    }
}

/// A model that answers when it is let.
#[derive(Default)]
struct Gate {
    asked: tokio::sync::Notify,
    open: tokio::sync::Notify,
    requests: Mutex<Vec<String>>,
}

#[async_trait]
impl LlmClient for Gate {
    fn model(&self) -> &str {
        "gate"
    }

    async fn complete(&self, request: &LlmRequest, _: LlmEvents) -> Result<LlmResponse, LlmError> {
        self.requests.lock().unwrap().push(request.to_text());
        self.asked.notify_one();
        self.open.notified().await;
        Ok(LlmResponse {
            text: "at last".to_owned(),
            ..LlmResponse::default()
        })
    }
}

/// Counts its runs; may run beside itself.
struct Probe(Arc<AtomicU32>);

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn description(&self) -> &str {
        "Counts."
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities::parallel_safe_read(4)
    }

    async fn run(&self, _: ToolCall) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ToolOutput::success("ok"))
    }
}
