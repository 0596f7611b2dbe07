//! The adapters against a server on this machine that says exactly what a test wants, and no more.

mod anthropic;
mod openai;
mod recorded;
mod secrets;
mod server;
mod transport;

use super::*;
use a3s_code_contract::{ContentBlock, Message, Role, ToolDefinition};
use serde_json::json;

/// A conversation with one tool.
fn request() -> LlmRequest {
    LlmRequest {
        system: Some("be brief".to_owned()),
        messages: vec![Message::text(Role::User, "hello")],
        tools: vec![ToolDefinition {
            name: "read".to_owned(),
            description: "reads".to_owned(),
            parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        }],
        ..LlmRequest::default()
    }
}

/// A call and its result.
fn turn(id: &str, input: Value, result: &str, is_error: bool) -> [Message; 2] {
    let used = ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "read".to_owned(),
        input,
    };
    let result = ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: result.to_owned(),
        is_error,
    };
    [
        Message {
            role: Role::Assistant,
            content: vec![used],
            reasoning_content: None,
        },
        Message {
            role: Role::User,
            content: vec![result],
            reasoning_content: None,
        },
    ]
}

/// Asks a client and gives what it sent on the way and what it answered.
async fn ask(
    client: &dyn LlmClient,
    request: &LlmRequest,
) -> (Vec<LlmEvent>, Result<LlmResponse, LlmError>) {
    let (events, mut coming) = LlmEvents::channel();
    let seen = async {
        let mut seen = Vec::new();
        while let Some(event) = coming.recv().await {
            seen.push(event);
        }
        seen
    };
    let answer = async {
        // Dropped with this block, so that the events end.
        client.complete(request, events).await
    };
    tokio::join!(seen, answer)
}

fn text(text: &str) -> LlmEvent {
    LlmEvent::Text(text.to_owned())
}

fn thought(text: &str) -> LlmEvent {
    LlmEvent::Reasoning(text.to_owned())
}

fn begins(id: &str, name: &str) -> LlmEvent {
    LlmEvent::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

fn input(id: &str, delta: &str) -> LlmEvent {
    LlmEvent::ToolInput {
        id: id.to_owned(),
        delta: delta.to_owned(),
    }
}

fn called(id: &str, name: &str, arguments: &str) -> LlmToolCall {
    LlmToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}
