//! A request in the form of the Messages interface.

use super::{Settings, Thinking};
use crate::model::config::ReasoningEffort;
use crate::model::memo::Memo;
use crate::model::{LlmError, LlmFault, LlmImage, LlmRequest, ResponseFormat, ToolChoice};
use a3s_code_contract::{ContentBlock, Message, Role, ToolDefinition};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The body of a request.
pub(super) fn body(
    settings: &Settings,
    request: &LlmRequest,
    thoughts: &Memo,
) -> Result<Vec<u8>, LlmError> {
    if request.response_format != ResponseFormat::Text {
        let message = "this provider takes no form for its text: force a tool in its place";
        return Err(LlmError::new(LlmFault::Rejected, message));
    }
    let forced = matches!(
        request.tool_choice,
        ToolChoice::Required | ToolChoice::Named(_)
    );
    // A forced call excludes thoughts, and so does a chain of calls whose thoughts are not there any more.
    let thinking = settings
        .thinking
        .filter(|_| !forced && has_thoughts(&request.messages, thoughts));
    let mut messages = Vec::with_capacity(request.messages.len());
    for (place, message) in request.messages.iter().enumerate() {
        let images = request.images.iter().filter(|image| image.message == place);
        let content = content(message, images, thoughts, thinking.is_some());
        // The interface refuses a message without content.
        if !content.is_empty() {
            messages.push(json!({ "role": role(message.role), "content": content }));
        }
    }
    let mut body = json!({
        "model": settings.model,
        "max_tokens": request.max_tokens.unwrap_or(settings.max_tokens),
        "stream": true,
    });
    match thinking {
        Some(Thinking::Budget(budget)) => {
            let most = body["max_tokens"].as_u64().unwrap_or_default();
            if u64::from(budget) < most {
                body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
            }
        }
        Some(Thinking::Effort(effort)) => {
            body["thinking"] = json!({ "type": "adaptive" });
            body["output_config"] = json!({ "effort": effort_word(effort) });
        }
        None => {}
    }
    if body.get("thinking").is_none()
        && let Some(temperature) = request.temperature.or(settings.temperature)
    {
        body["temperature"] = number(temperature);
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut system: Vec<Value> = request
        .system
        .iter()
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    if settings.cache {
        mark(tools.last_mut());
        mark(system.last_mut());
        mark(last_user_block(&mut messages));
    }
    if !system.is_empty() {
        body["system"] = Value::from(system);
    }
    if !tools.is_empty() {
        body["tools"] = Value::from(tools);
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => body["tool_choice"] = json!({ "type": "any" }),
            ToolChoice::Forbidden => body["tool_choice"] = json!({ "type": "none" }),
            ToolChoice::Named(name) => {
                body["tool_choice"] = json!({ "type": "tool", "name": name });
            }
        }
    }
    body["messages"] = Value::from(messages);
    Ok(body.to_string().into_bytes())
}

/// Whether the chain of calls at the end, if there is one, begins with an answer whose thoughts are kept.
fn has_thoughts(messages: &[Message], thoughts: &Memo) -> bool {
    let is_said = |message: &Message| {
        message.role == Role::User
            && !message
                .content
                .iter()
                .any(|block| matches!(block, ContentBlock::ToolResult { .. }))
    };
    let begin = messages.iter().rposition(is_said).map_or(0, |at| at + 1);
    messages[begin..]
        .iter()
        .find(|message| message.role == Role::Assistant)
        .is_none_or(|message| first_call(message).is_some_and(|id| thoughts.get(id).is_some()))
}

fn first_call(message: &Message) -> Option<&str> {
    message.content.iter().find_map(|block| match block {
        ContentBlock::ToolUse { id, .. } => Some(id.as_str()),
        ContentBlock::Text { .. } | ContentBlock::ToolResult { .. } => None,
    })
}

fn content<'a>(
    message: &Message,
    images: impl Iterator<Item = &'a LlmImage>,
    thoughts: &Memo,
    thinking: bool,
) -> Vec<Value> {
    let mut content = Vec::new();
    if thinking
        && message.role == Role::Assistant
        && let Some(id) = first_call(message)
        && let Some(Value::Array(blocks)) = thoughts.get(id)
    {
        content.extend(blocks);
    }
    // Results come before anything else of their message.
    let (results, others): (Vec<_>, Vec<_>) = message
        .content
        .iter()
        .partition(|block| matches!(block, ContentBlock::ToolResult { .. }));
    content.extend(results.into_iter().filter_map(block));
    content.extend(images.map(|image| {
        json!({ "type": "image", "source": {
            "type": "base64",
            "media_type": image.media_type,
            "data": STANDARD.encode(&image.data),
        }})
    }));
    content.extend(others.into_iter().filter_map(block));
    content
}

fn block(block: &ContentBlock) -> Option<Value> {
    Some(match block {
        ContentBlock::Text { text } if text.trim().is_empty() => return None,
        ContentBlock::Text { text } => json!({ "type": "text", "text": text }),
        ContentBlock::ToolUse { id, name, input } => json!({
            "type": "tool_use",
            "id": call_id(id),
            "name": name,
            "input": crate::model::object_arguments(input),
        }),
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => {
            let mut result = json!({
                "type": "tool_result",
                "tool_use_id": call_id(tool_use_id),
                "content": content,
            });
            if *is_error {
                result["is_error"] = Value::Bool(true);
            }
            result
        }
    })
}

/// An id as the interface takes it; one of another provider becomes a digest of itself.
fn call_id(id: &str) -> String {
    let fits = !id.is_empty()
        && id.len() <= 128
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if fits {
        return id.to_owned();
    }
    let digest = Sha256::digest(id.as_bytes());
    let hex: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("call_{hex}")
}

fn tool(definition: &ToolDefinition) -> Value {
    let mut schema = match &definition.parameters {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    // The interface takes an object and no choice at the top; the runtime holds calls to the whole schema.
    for choice in ["oneOf", "anyOf", "allOf"] {
        schema.remove(choice);
    }
    schema.insert("type".to_owned(), Value::from("object"));
    json!({
        "name": definition.name,
        "description": definition.description,
        "input_schema": schema,
    })
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn last_user_block(messages: &mut [Value]) -> Option<&mut Value> {
    let message = messages
        .iter_mut()
        .rfind(|message| message["role"] == "user")?;
    message["content"].as_array_mut()?.last_mut()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn effort_word(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        ReasoningEffort::XHigh => "xhigh",
        ReasoningEffort::Max => "max",
    }
}

/// Without the digits that a conversion from 32 to 64 bits would add.
pub(in crate::model) fn number(value: f32) -> Value {
    value
        .to_string()
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}
