//! Models: what is asked, what comes back, and who answers.
//!
//! An [`LlmClient`] takes a request and gives one answer; on the way it sends events, in the order in which the
//! provider does, and waits while nobody takes them. It knows no loop, no tool and no session. Dropping its future
//! is how a request is cancelled.

mod anthropic;
mod config;
mod fault;
mod http;
mod memo;
mod openai;
mod recorded;
mod scripted;
mod secret;
mod sse;
mod stream;

#[cfg(test)]
mod tests;

pub use anthropic::{AnthropicClient, AnthropicConfig, Thinking};
pub use config::{ModelConfigError, ProxyChoice, ReasoningEffort, Timeouts};
pub use openai::{OpenAiClient, OpenAiConfig};
pub use recorded::{CassetteError, Masks, RecordingClient, ReplayClient};
pub use scripted::ScriptedClient;
pub use secret::Secret;

use a3s_code_contract::{Message, TokenUsage, ToolDefinition};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Events that wait to be taken before a client has to wait.
const EVENTS_WAITING: usize = 64;

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmRequest {
    /// What holds for the whole conversation.
    pub system: Option<String>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Most tokens of the answer; the provider's own limit when left out.
    pub max_tokens: Option<u32>,
    /// Temperature; the provider's own when left out.
    pub temperature: Option<f32>,
    /// Images beside the text of messages.
    pub images: Vec<LlmImage>,
    /// Whether a tool must be called.
    pub tool_choice: ToolChoice,
    /// The form of the answer's text.
    pub response_format: ResponseFormat,
}

/// An image that belongs to a message of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct LlmImage {
    /// Place of the message in the request; an image of a message that is not there is left out.
    pub message: usize,
    /// Its media type, as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub data: Arc<[u8]>,
}

impl std::fmt::Debug for LlmImage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LlmImage")
            .field("message", &self.message)
            .field("media_type", &self.media_type)
            .field("bytes", &self.data.len())
            .finish()
    }
}

/// Whether a model must call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// Any one at least.
    Required,
    /// None.
    Forbidden,
    /// This one.
    Named(String),
}

/// What the text of an answer has to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Anything.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// A JSON value of a schema.
    JsonSchema {
        /// Name of the schema.
        name: String,
        /// The schema.
        schema: Value,
        /// Whether the provider must hold the answer to it exactly.
        strict: bool,
    },
}

/// The best that a provider has for answers of a given form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredSupport {
    /// Nothing that can be relied on.
    #[default]
    None,
    /// JSON objects.
    JsonObject,
    /// A call of a named tool can be forced.
    ForcedTool,
    /// JSON of a schema; calls can be forced too.
    JsonSchema,
}

impl LlmRequest {
    /// Everything the model is told, as text: for tests and for an estimate of the request's size.
    #[must_use]
    pub fn to_text(&self) -> String {
        use a3s_code_contract::ContentBlock;
        let mut text = String::new();
        let mut line = |part: &str| {
            text.push_str(part);
            text.push('\n');
        };
        if let Some(system) = &self.system {
            line(system);
        }
        for tool in &self.tools {
            line(&tool.name);
            line(&tool.description);
        }
        for block in self.messages.iter().flat_map(|message| &message.content) {
            match block {
                ContentBlock::Text { text } => line(text),
                ContentBlock::ToolUse { id, name, input } => {
                    line(&format!("{id} {name} {input}"));
                }
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    ..
                } => {
                    line(tool_use_id);
                    line(content);
                }
            }
        }
        text
    }

    /// A rough count of its tokens: a quarter of its bytes, rounded up.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        (self.to_text().len() as u64).div_ceil(4)
    }
}

/// What comes of a request while it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmEvent {
    /// A piece of the text.
    Text(String),
    /// A piece of the reasoning.
    Reasoning(String),
    /// A call begins.
    ToolCall {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// A piece of the raw text of a call's arguments.
    ToolInput {
        /// Id of the call.
        id: String,
        /// The piece.
        delta: String,
    },
    /// The request begins anew: what came of it so far does not count.
    Restarted,
}

/// Where a client sends its events.
#[derive(Clone, Debug)]
pub struct LlmEvents(mpsc::Sender<LlmEvent>);

impl LlmEvents {
    /// A sender and what takes from it.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<LlmEvent>) {
        let (sender, receiver) = mpsc::channel(EVENTS_WAITING);
        (Self(sender), receiver)
    }

    /// Sends an event and waits while too many wait. Nothing happens when nobody takes them any more.
    pub async fn send(&self, event: LlmEvent) {
        let _ = self.0.send(event).await;
    }
}

/// A call the model chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmToolCall {
    /// Id of the call, as the provider gave it.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The raw text of its arguments; empty for none.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it had to say.
    #[default]
    EndTurn,
    /// It wants its calls carried out.
    ToolUse,
    /// The answer reached the limit of its length.
    MaxTokens,
    /// Another, in the provider's words.
    Other(String),
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmResponse {
    /// The text.
    pub text: String,
    /// What was thought before, where the provider tells.
    pub reasoning: Option<String>,
    /// The calls in order.
    pub tool_calls: Vec<LlmToolCall>,
    /// What the request used.
    pub usage: TokenUsage,
    /// Why it ended.
    pub stop: StopReason,
}

/// What kept a request from being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmFault {
    /// The provider could not be reached or the connection broke.
    Transport,
    /// Too many requests.
    RateLimited,
    /// The provider is overloaded or failed on its side.
    Unavailable,
    /// The key is missing or refused.
    Authentication,
    /// The provider refuses the request as it is.
    Rejected,
    /// The conversation does not fit into the model's window.
    ContextTooLong,
    /// Nothing came for too long.
    TimedOut,
    /// The answer is not in the provider's own form.
    Malformed,
    /// A recorded model is asked something else than when it was recorded.
    Mismatch,
}

/// A request that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    /// What kind of fault it is.
    pub fault: LlmFault,
    /// What happened. Holds no key and no query of an address.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// A fault and what happened.
    #[must_use]
    pub fn new(fault: LlmFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The same, with how long the provider asks to wait.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// Whether the same request may be answered later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.fault,
            LlmFault::Transport
                | LlmFault::RateLimited
                | LlmFault::Unavailable
                | LlmFault::TimedOut
        )
    }
}

/// Answers requests.
#[async_trait]
pub trait LlmClient: Send + Sync {
    /// Name of the model, for errors and for people.
    fn model(&self) -> &str;

    /// What its provider has for answers of a given form.
    fn structured_support(&self) -> StructuredSupport {
        StructuredSupport::None
    }

    /// Answers a request, sending events on the way. Dropping the future cancels it.
    ///
    /// # Errors
    /// [`LlmError`] with the kind of fault.
    async fn complete(
        &self,
        request: &LlmRequest,
        events: LlmEvents,
    ) -> Result<LlmResponse, LlmError>;
}

/// Arguments of a call in a transcript as an object: every provider wants one, also where the model sent none.
fn object_arguments(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(serde_json::Map::new()),
        other => serde_json::json!({ "malformed_arguments": other }),
    }
}
