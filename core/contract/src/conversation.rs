//! What is said between an application, a model and tools.

use crate::{EventEnvelope, ToolDefinition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The application, and results of tools.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A call that the model chose.
    ToolUse {
        /// Id of the call, unique in the transcript.
        id: String,
        /// Name of the tool.
        name: String,
        /// Its arguments; text where what the model sent was no JSON.
        input: Value,
    },
    /// What a call came to.
    ToolResult {
        /// Id of the call.
        tool_use_id: String,
        /// Text of the result, as the model sees it.
        content: String,
        /// Whether the call failed.
        #[serde(default)]
        is_error: bool,
    },
}

/// One message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// Its parts in order.
    pub content: Vec<ContentBlock>,
    /// What the model thought before it, where the provider tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning_content: Option<String>,
}

impl Message {
    /// A message of one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: vec![ContentBlock::Text { text: text.into() }],
            reasoning_content: None,
        }
    }
}

/// What models used, in tokens as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TokenUsage {
    /// Sent.
    pub prompt_tokens: u32,
    /// Received.
    pub completion_tokens: u32,
    /// Both.
    pub total_tokens: u32,
    /// Of those sent, read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u32>,
    /// Of those sent, written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u32>,
}

impl TokenUsage {
    /// Adds what another request used.
    pub fn add(&mut self, other: &Self) {
        let sum = |one: Option<u32>, other: Option<u32>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(other.completion_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cache_read_tokens = sum(self.cache_read_tokens, other.cache_read_tokens);
        self.cache_write_tokens = sum(self.cache_write_tokens, other.cache_write_tokens);
    }
}

/// Why a run ended before the model had said its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForcedStop {
    /// The rounds of tool calls were used up.
    ToolBudget,
    /// The model's answer was cut off at its own limit.
    ResponseTruncated,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentResult {
    /// Id of the run.
    pub run_id: String,
    /// The model's last words.
    pub text: String,
    /// What its requests used.
    pub usage: TokenUsage,
    /// How many calls the model made.
    pub tool_calls_count: u32,
    /// Why it ended early; absent when the model ended it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forced_stop: Option<ForcedStop>,
}

/// A call in a scripted answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedToolCall {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args: Option<Value>,
    /// The raw text of its arguments in their place, JSON or not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args_text: Option<String>,
}

/// One answer of a scripted model: text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedTurn {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The text in the pieces in which it is streamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<String>,
    /// What it thinks before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Its calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ScriptedToolCall>,
    /// What the request is said to have used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Fails the request with this message instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A model for the conversations of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum ModelConfig {
    /// Answers from a list, for tests.
    Scripted {
        /// The answers, one a request.
        turns: Vec<ScriptedTurn>,
    },
}

/// A model that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedModel {
    /// Its handle.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub handle: u64,
}

/// A request that a scripted model was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// Everything it was told, as text.
    pub text: String,
    /// What holds for the whole conversation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools it was shown.
    pub tools: Vec<ToolDefinition>,
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedRun {
    /// Its handle.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub handle: u64,
    /// Its id.
    pub run_id: String,
}

/// Events of a run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEvents {
    /// The events since the last batch; at least one unless the run has ended.
    pub events: Vec<EventEnvelope>,
    /// True when no event comes after these.
    pub ended: bool,
}

/// A question about a call that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingConfirmation {
    /// Id of the call.
    pub tool_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments.
    pub args: Value,
    /// Why it is asked.
    pub reason: String,
    /// How long it still waits, in milliseconds.
    pub remaining_ms: u32,
}
