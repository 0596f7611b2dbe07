//! An answer of chat completions, as its pieces come or whole.

use super::calls::Calls;
use crate::model::memo::Memo;
use crate::model::stream::{Dialect, Progress, count};
use crate::model::{LlmError, LlmEvent, LlmFault, LlmResponse, StopReason};
use a3s_code_contract::TokenUsage;
use serde_json::Value;
use std::collections::BTreeSet;

/// What has come of an answer.
pub(super) struct Answer<'a> {
    text: String,
    reasoning: String,
    calls: Calls<'a>,
    usage: Option<TokenUsage>,
    /// What a local server measured itself, where it says nothing of usage.
    timings: Option<TokenUsage>,
    stop: Option<StopReason>,
    /// A choice has come: the sign of the end alone is no answer.
    begun: bool,
    complete: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(extras: &'a Memo, taken: BTreeSet<String>) -> Self {
        Self {
            text: String::new(),
            reasoning: String::new(),
            calls: Calls::new(extras, taken),
            usage: None,
            timings: None,
            stop: None,
            begun: false,
            complete: false,
        }
    }

    /// Takes what a choice says: in a stream its delta, else its message.
    fn said(&mut self, said: &Value, events: &mut Vec<LlmEvent>) {
        let reasoning = [&said["reasoning_content"], &said["reasoning"]]
            .into_iter()
            .filter_map(Value::as_str)
            .find(|text| !text.is_empty());
        if let Some(text) = reasoning {
            self.think(text, events);
        }
        match &said["content"] {
            Value::String(text) => self.say(text, events),
            Value::Array(parts) => {
                for part in parts {
                    self.part(part, events);
                }
            }
            _ => {}
        }
        // What a model says when it declines is what it says.
        if let Some(text) = said["refusal"].as_str() {
            self.say(text, events);
        }
        for piece in said["tool_calls"].as_array().into_iter().flatten() {
            self.calls.take(piece, events);
        }
    }

    fn part(&mut self, part: &Value, events: &mut Vec<LlmEvent>) {
        match &part["thinking"] {
            Value::Null => self.say(part["text"].as_str().unwrap_or_default(), events),
            Value::String(text) => self.think(text, events),
            thoughts => {
                for thought in thoughts.as_array().into_iter().flatten() {
                    self.think(thought["text"].as_str().unwrap_or_default(), events);
                }
            }
        }
    }

    fn say(&mut self, text: &str, events: &mut Vec<LlmEvent>) {
        if !text.is_empty() {
            self.text.push_str(text);
            events.push(LlmEvent::Text(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, events: &mut Vec<LlmEvent>) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            events.push(LlmEvent::Reasoning(text.to_owned()));
        }
    }

    fn counts(&mut self, value: &Value) {
        let usage = [&value["usage"], &value["x_groq"]["usage"]]
            .into_iter()
            .find(|usage| usage.is_object());
        if let Some(usage) = usage {
            let prompt = count(&usage["prompt_tokens"]).unwrap_or(0);
            let completion = count(&usage["completion_tokens"]).unwrap_or(0);
            self.usage = Some(TokenUsage {
                prompt_tokens: prompt,
                completion_tokens: completion,
                total_tokens: count(&usage["total_tokens"])
                    .unwrap_or_else(|| prompt.saturating_add(completion)),
                cache_read_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"])
                    .or_else(|| count(&usage["prompt_cache_hit_tokens"])),
                cache_write_tokens: None,
            });
        }
        let timings = &value["timings"];
        if let (Some(read), Some(written)) =
            (count(&timings["prompt_n"]), count(&timings["predicted_n"]))
        {
            let cached = count(&timings["cache_n"]);
            let prompt = read.saturating_add(cached.unwrap_or(0));
            self.timings = Some(TokenUsage {
                prompt_tokens: prompt,
                completion_tokens: written,
                total_tokens: prompt.saturating_add(written),
                cache_read_tokens: cached,
                cache_write_tokens: None,
            });
        }
    }

    fn stopped(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str().filter(|reason| !reason.is_empty()) {
            self.stop = Some(match reason {
                "stop" | "eos" | "end_turn" => StopReason::EndTurn,
                "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
                "length" | "max_tokens" => StopReason::MaxTokens,
                other => StopReason::Other(other.to_owned()),
            });
        }
    }
}

impl Dialect for Answer<'_> {
    fn value(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError> {
        self.counts(value);
        // The last piece of a stream, with the usage alone, has no choices.
        for choice in value["choices"].as_array().into_iter().flatten() {
            if choice["index"].as_u64().unwrap_or(0) != 0 {
                continue;
            }
            self.begun = true;
            let said = match &choice["delta"] {
                Value::Null => &choice["message"],
                delta => delta,
            };
            self.said(said, events);
            self.stopped(&choice["finish_reason"]);
        }
        Ok(())
    }

    fn whole(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError> {
        if value["choices"].as_array().is_none_or(Vec::is_empty) {
            let message = "the answer holds no choices";
            return Err(LlmError::new(LlmFault::Malformed, message));
        }
        self.value(value, events)?;
        self.complete = true;
        Ok(())
    }

    fn is_end(&mut self, data: &str) -> bool {
        let is_end = data == "[DONE]";
        self.complete |= is_end && self.begun;
        is_end
    }

    fn progress(&self) -> Progress {
        match (self.complete, &self.stop) {
            (true, _) => Progress::Complete,
            (false, Some(_)) => Progress::Settled,
            (false, None) => Progress::Open,
        }
    }

    fn close(&mut self, events: &mut Vec<LlmEvent>) {
        self.calls.close(events);
    }

    fn response(self) -> LlmResponse {
        let called = !self.calls.is_empty();
        LlmResponse {
            text: self.text,
            reasoning: (!self.reasoning.is_empty()).then_some(self.reasoning),
            tool_calls: self.calls.into_calls(),
            usage: self.usage.or(self.timings).unwrap_or_default(),
            // Some servers say `stop` after calls.
            stop: match self.stop {
                None | Some(StopReason::EndTurn) if called => StopReason::ToolUse,
                stop => stop.unwrap_or_default(),
            },
        }
    }
}
