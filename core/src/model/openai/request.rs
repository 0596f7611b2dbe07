//! A request in the form of chat completions.

use super::Settings;
use crate::model::anthropic::number;
use crate::model::config::ReasoningEffort;
use crate::model::memo::Memo;
use crate::model::{
    LlmError, LlmFault, LlmImage, LlmRequest, ResponseFormat, StructuredSupport, ToolChoice,
    object_arguments,
};
use a3s_code_contract::{ContentBlock, Message, Role};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The body of a request.
pub(super) fn body(
    settings: &Settings,
    request: &LlmRequest,
    extras: &Memo,
    with_usage: bool,
) -> Result<Vec<u8>, LlmError> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = request
        .system
        .as_ref()
        .filter(|text| !text.trim().is_empty())
    {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for (place, message) in request.messages.iter().enumerate() {
        let images: Vec<_> = request
            .images
            .iter()
            .filter(|image| image.message == place)
            .collect();
        match message.role {
            Role::User => said(message, &images, &mut messages),
            Role::Assistant => messages.extend(answered(settings, message, extras)),
        }
    }
    let mut body = json!({ "model": settings.model, "stream": true, "messages": messages });
    if with_usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if let Some(most) = request.max_tokens.or(settings.max_tokens) {
        body[settings.max_tokens_field] = Value::from(most);
    }
    if let Some(temperature) = request.temperature.or(settings.temperature) {
        body["temperature"] = number(temperature);
    }
    if let Some(effort) = settings.reasoning_effort {
        body["reasoning_effort"] = Value::from(effort_word(effort));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({ "type": "function", "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }})
            })
            .collect();
        body["tools"] = Value::from(tools);
        match &request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => body["tool_choice"] = Value::from("required"),
            ToolChoice::Forbidden => body["tool_choice"] = Value::from("none"),
            ToolChoice::Named(name) => {
                body["tool_choice"] = json!({ "type": "function", "function": { "name": name } });
            }
        }
    }
    if let Some(format) = format(settings, &request.response_format)? {
        body["response_format"] = format;
    }
    Ok(body.to_string().into_bytes())
}

/// The ids of calls that the conversation holds.
pub(super) fn call_ids(request: &LlmRequest) -> BTreeSet<String> {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(id.clone()),
            ContentBlock::Text { .. } | ContentBlock::ToolResult { .. } => None,
        })
        .collect()
}

/// Results first, each a message of its own that must follow its call, then what else was said.
fn said(message: &Message, images: &[&LlmImage], messages: &mut Vec<Value>) {
    let mut texts = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                ..
            } => messages.push(json!({
                "role": "tool",
                "tool_call_id": tool_use_id,
                "content": content,
            })),
            ContentBlock::Text { text } => texts.push(text.as_str()),
            ContentBlock::ToolUse { .. } => {}
        }
    }
    if images.is_empty() {
        if !texts.is_empty() {
            // Older servers take a text and no list of parts.
            messages.push(json!({ "role": "user", "content": texts.join("\n\n") }));
        }
        return;
    }
    let mut parts: Vec<Value> = images
        .iter()
        .map(|image| {
            let data = STANDARD.encode(&image.data);
            let url = format!("data:{};base64,{data}", image.media_type);
            json!({ "type": "image_url", "image_url": { "url": url } })
        })
        .collect();
    parts.extend(
        texts
            .iter()
            .map(|text| json!({ "type": "text", "text": text })),
    );
    messages.push(json!({ "role": "user", "content": parts }));
}

fn answered(settings: &Settings, message: &Message, extras: &Memo) -> Option<Value> {
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::Text { text: part } => text.push_str(part),
            ContentBlock::ToolUse { id, name, input } => {
                let mut call = json!({ "id": id, "type": "function", "function": {
                    "name": name,
                    // Servers parse it, and fail where it is no object.
                    "arguments": object_arguments(input).to_string(),
                }});
                if let Some(extra) = extras.get(id) {
                    call["extra_content"] = extra;
                }
                calls.push(call);
            }
            ContentBlock::ToolResult { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut value = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        value["tool_calls"] = Value::from(calls);
    }
    if settings.return_reasoning
        && let Some(reasoning) = &message.reasoning_content
    {
        value["reasoning_content"] = Value::from(reasoning.as_str());
    }
    Some(value)
}

fn format(settings: &Settings, format: &ResponseFormat) -> Result<Option<Value>, LlmError> {
    let support = settings.structured;
    let value = match format {
        ResponseFormat::Text => return Ok(None),
        ResponseFormat::JsonObject
            if matches!(
                support,
                StructuredSupport::JsonObject | StructuredSupport::JsonSchema
            ) =>
        {
            json!({ "type": "json_object" })
        }
        ResponseFormat::JsonSchema {
            name,
            schema,
            strict,
        } if support == StructuredSupport::JsonSchema => {
            json!({ "type": "json_schema", "json_schema": {
                "name": name, "schema": schema, "strict": strict,
            }})
        }
        ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. } => {
            let message = "this server is not known to take this form for its text";
            return Err(LlmError::new(LlmFault::Rejected, message));
        }
    };
    Ok(Some(value))
}

fn effort_word(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None => "none",
        ReasoningEffort::Minimal => "minimal",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        ReasoningEffort::XHigh | ReasoningEffort::Max => "xhigh",
    }
}
