//! The conversation of a session: send, stream, and what was said.

use super::AgentSession;
use crate::conversation::{Run, RunContext, RunOptions, RunStream};
use crate::error::Result;
use a3s_code_contract::{AgentResult, Message};
use std::sync::Arc;

impl AgentSession {
    /// Sends a prompt to the model and waits for its last word; the calls it chooses are governed.
    ///
    /// # Errors
    /// `CONFIG_ERROR` without a model; `INVALID_ARGUMENT` for the prompt; `SESSION_BUSY` while another run is on
    /// its way; `CANCELLED`, `TIMEOUT`, `LLM_ERROR`, `BUDGET_EXHAUSTED`; [`crate::CodeError::SessionClosed`].
    /// Dropping the future cancels the run.
    pub async fn send(&self, prompt: &str) -> Result<AgentResult> {
        self.send_with(prompt, RunOptions::default()).await
    }

    /// Sends a prompt, with options for the run.
    ///
    /// # Errors
    /// As [`AgentSession::send`].
    pub async fn send_with(&self, prompt: &str, options: RunOptions) -> Result<AgentResult> {
        Run::prepare(self.run_context(), prompt, options, false)?
            .finish()
            .await
    }

    /// Sends a prompt to the model and gives the events of the run as they come. Must be called on a runtime.
    ///
    /// # Errors
    /// As [`AgentSession::send`] for what keeps the run from beginning; the rest is its last event.
    pub fn stream(&self, prompt: &str) -> Result<RunStream> {
        self.stream_with(prompt, RunOptions::default())
    }

    /// Streams, with options for the run.
    ///
    /// # Errors
    /// As [`AgentSession::stream`].
    pub fn stream_with(&self, prompt: &str, options: RunOptions) -> Result<RunStream> {
        Run::prepare(self.run_context(), prompt, options, true).map(RunStream::start)
    }

    /// The conversation so far, oldest first. Direct calls leave nothing in it.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.inner().conversation.transcript().messages().to_vec()
    }

    /// Cancels the run that is on its way; false when there is none. Does not wait for its end.
    #[must_use]
    pub fn cancel(&self) -> bool {
        self.inner().conversation.cancel()
    }

    fn run_context(&self) -> RunContext {
        let inner = self.inner();
        RunContext {
            session_id: Arc::clone(&inner.id),
            kernel: Arc::clone(&inner.kernel),
            conversation: Arc::clone(&inner.conversation),
            tools: self.presented_tool_definitions(None),
        }
    }
}
