//! An answer of the Messages interface, as its blocks come.

use crate::model::memo::Memo;
use crate::model::stream::{Dialect, Progress, count};
use crate::model::{LlmError, LlmEvent, LlmFault, LlmResponse, LlmToolCall, StopReason};
use a3s_code_contract::TokenUsage;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What has come of an answer.
pub(super) struct Answer<'a> {
    thoughts: &'a Memo,
    blocks: BTreeMap<u64, Block>,
    usage: Counts,
    stop: Option<StopReason>,
    complete: bool,
}

#[derive(Default)]
struct Counts {
    input: u32,
    output: u32,
    cache_read: Option<u32>,
    cache_write: Option<u32>,
}

enum Block {
    Text(String),
    Thought {
        text: String,
        signature: String,
    },
    /// Thoughts that are not shown and go back as they came.
    Hidden(Value),
    Call {
        id: String,
        name: String,
        arguments: String,
        /// Arguments that came with the beginning and count when no pieces follow.
        given: Value,
        closed: bool,
    },
    /// What this client does not ask for.
    Other,
}

impl<'a> Answer<'a> {
    pub(super) fn new(thoughts: &'a Memo) -> Self {
        Self {
            thoughts,
            blocks: BTreeMap::new(),
            usage: Counts::default(),
            stop: None,
            complete: false,
        }
    }

    fn begin(&mut self, index: u64, block: &Value, events: &mut Vec<LlmEvent>) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let begun = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                let text = text("text");
                if !text.is_empty() {
                    events.push(LlmEvent::Text(text.clone()));
                }
                Block::Text(text)
            }
            "thinking" => {
                let thought = text("thinking");
                if !thought.is_empty() {
                    events.push(LlmEvent::Reasoning(thought.clone()));
                }
                Block::Thought {
                    text: thought,
                    signature: text("signature"),
                }
            }
            "redacted_thinking" => Block::Hidden(block.clone()),
            "tool_use" => {
                let (id, name) = (text("id"), text("name"));
                events.push(LlmEvent::ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                });
                Block::Call {
                    id,
                    name,
                    arguments: String::new(),
                    given: block["input"].clone(),
                    closed: false,
                }
            }
            _ => Block::Other,
        };
        self.blocks.insert(index, begun);
    }

    fn grow(
        &mut self,
        index: u64,
        delta: &Value,
        events: &mut Vec<LlmEvent>,
    ) -> Result<(), LlmError> {
        let Some(block) = self.blocks.get_mut(&index) else {
            let message = "the answer goes on with a block that never began";
            return Err(LlmError::new(LlmFault::Malformed, message));
        };
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match block {
            Block::Text(text) => {
                let piece = piece("text");
                if !piece.is_empty() {
                    text.push_str(piece);
                    events.push(LlmEvent::Text(piece.to_owned()));
                }
            }
            Block::Thought { text, signature } => {
                signature.push_str(piece("signature"));
                let piece = piece("thinking");
                if !piece.is_empty() {
                    text.push_str(piece);
                    events.push(LlmEvent::Reasoning(piece.to_owned()));
                }
            }
            Block::Call { id, arguments, .. } => {
                let piece = piece("partial_json");
                if !piece.is_empty() {
                    arguments.push_str(piece);
                    events.push(LlmEvent::ToolInput {
                        id: id.clone(),
                        delta: piece.to_owned(),
                    });
                }
            }
            Block::Hidden(_) | Block::Other => {}
        }
        Ok(())
    }

    fn end(block: &mut Block, events: &mut Vec<LlmEvent>) {
        if let Block::Call {
            id,
            arguments,
            given,
            closed,
            ..
        } = block
            && !std::mem::replace(closed, true)
            && arguments.is_empty()
            && given.as_object().is_some_and(|given| !given.is_empty())
        {
            *arguments = given.to_string();
            events.push(LlmEvent::ToolInput {
                id: id.clone(),
                delta: arguments.clone(),
            });
        }
    }

    /// Later counts are of the whole answer and stand in the place of earlier ones.
    fn count(&mut self, usage: &Value) {
        let counts = &mut self.usage;
        if let Some(input) = count(&usage["input_tokens"]) {
            counts.input = input;
        }
        if let Some(output) = count(&usage["output_tokens"]) {
            counts.output = output;
        }
        counts.cache_read = count(&usage["cache_read_input_tokens"]).or(counts.cache_read);
        counts.cache_write = count(&usage["cache_creation_input_tokens"]).or(counts.cache_write);
    }

    fn stopped(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str() {
            self.stop = Some(match reason {
                "end_turn" | "stop_sequence" => StopReason::EndTurn,
                "tool_use" => StopReason::ToolUse,
                "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
                other => StopReason::Other(other.to_owned()),
            });
        }
    }

    /// Keeps the thoughts that have to go back with the results of the calls.
    fn remember(&self) {
        let first = self.blocks.values().find_map(|block| match block {
            Block::Call { id, .. } => Some(id),
            _ => None,
        });
        let thoughts: Vec<Value> = self
            .blocks
            .values()
            .filter_map(|block| match block {
                Block::Thought { text, signature } if !signature.is_empty() => {
                    Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
                }
                Block::Hidden(value) => Some(value.clone()),
                _ => None,
            })
            .collect();
        if let Some(id) = first
            && !thoughts.is_empty()
        {
            self.thoughts.keep(id, Value::from(thoughts));
        }
    }
}

impl Dialect for Answer<'_> {
    fn value(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError> {
        let index = value["index"].as_u64().unwrap_or_default();
        match value["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&value["message"]["usage"]),
            "content_block_start" => self.begin(index, &value["content_block"], events),
            "content_block_delta" => self.grow(index, &value["delta"], events)?,
            "content_block_stop" => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    Self::end(block, events);
                }
            }
            "message_delta" => {
                self.count(&value["usage"]);
                self.stopped(&value["delta"]["stop_reason"]);
            }
            "message_stop" => self.complete = true,
            // `ping`, and events of the future.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError> {
        let Some(content) = value["content"].as_array() else {
            let message = "the answer holds no content";
            return Err(LlmError::new(LlmFault::Malformed, message));
        };
        for (index, block) in content.iter().enumerate() {
            self.begin(index as u64, block, events);
        }
        self.count(&value["usage"]);
        self.stopped(&value["stop_reason"]);
        self.complete = true;
        Ok(())
    }

    fn is_end(&mut self, data: &str) -> bool {
        // Not of this interface, but gateways send it.
        data == "[DONE]"
    }

    fn progress(&self) -> Progress {
        match (self.complete, &self.stop) {
            (true, _) => Progress::Complete,
            (false, Some(_)) => Progress::Settled,
            (false, None) => Progress::Open,
        }
    }

    fn close(&mut self, events: &mut Vec<LlmEvent>) {
        for block in self.blocks.values_mut() {
            Self::end(block, events);
        }
    }

    fn response(self) -> LlmResponse {
        self.remember();
        let mut response = LlmResponse::default();
        let mut reasoning = String::new();
        for block in self.blocks.into_values() {
            match block {
                Block::Text(text) => response.text.push_str(&text),
                Block::Thought { text, .. } => reasoning.push_str(&text),
                Block::Call {
                    id,
                    name,
                    arguments,
                    ..
                } => response.tool_calls.push(LlmToolCall {
                    id,
                    name,
                    arguments,
                }),
                Block::Hidden(_) | Block::Other => {}
            }
        }
        let counts = self.usage;
        // The provider counts what it took from its cache apart.
        let prompt = counts
            .input
            .saturating_add(counts.cache_read.unwrap_or(0))
            .saturating_add(counts.cache_write.unwrap_or(0));
        response.usage = TokenUsage {
            prompt_tokens: prompt,
            completion_tokens: counts.output,
            total_tokens: prompt.saturating_add(counts.output),
            cache_read_tokens: counts.cache_read,
            cache_write_tokens: counts.cache_write,
        };
        response.stop = self.stop.unwrap_or(match response.tool_calls.is_empty() {
            true => StopReason::EndTurn,
            false => StopReason::ToolUse,
        });
        response.reasoning = (!reasoning.is_empty()).then_some(reasoning);
        response
    }
}
