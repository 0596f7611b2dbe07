//! A session: one workspace, direct calls on it, and what they may reach.
//!
//! A session knows neither the bindings nor a model's wire format. It owns its kernel; closing it cancels what
//! runs, waits for it to settle, and gives everything back.

mod converse;
mod direct;
mod options;
mod surface;
mod verify;

pub use direct::CallOptions;
pub use options::SessionOptions;
pub(crate) use options::resolve;

use crate::conversation::Conversation;
use crate::error::Result;
use crate::governance::{ActiveSkillLimits, ConfirmationQueue, Hook, Hooks, PendingConfirmation};
use crate::kernel::Kernel;
use crate::tools::Tool;
use crate::verification::Reports;
use a3s_code_contract::{ActiveTool, ToolArtifact};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long close waits for cancelled calls before it goes on without them.
const CLOSE_GRACE: Duration = Duration::from_secs(5);

/// How long close waits for what commands left running; it is killed before that.
const KILL_GRACE: Duration = Duration::from_secs(3);

/// One workspace and one conversation. Cloning gives another handle on the same session; the session closes
/// when it is closed or the last handle is dropped.
#[derive(Clone)]
pub struct AgentSession {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) id: Arc<str>,
    pub(crate) root: String,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) questions: Option<Arc<ConfirmationQueue>>,
    pub(crate) hidden: BTreeSet<String>,
    pub(crate) presented: bool,
    pub(crate) reports: Reports,
    pub(crate) conversation: Arc<Conversation>,
}

impl AgentSession {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Id of the session.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.inner.id
    }

    /// Root of the workspace.
    #[must_use]
    pub fn workspace(&self) -> &str {
        &self.inner.root
    }

    /// True once the session is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.kernel.is_closed()
    }

    /// Closes the session: running calls end as cancelled, and everything it owns is released. Closing again
    /// does nothing.
    pub async fn close(&self) {
        self.inner.close().await;
    }

    /// Calls that are running now, oldest first.
    #[must_use]
    pub fn active_tools(&self) -> Vec<ActiveTool> {
        self.inner.kernel.active().list()
    }

    /// Fetches the complete original of a cut result of this session while it is retained.
    #[must_use]
    pub fn get_artifact(&self, uri: &str) -> Option<ToolArtifact> {
        self.inner
            .kernel
            .artifacts()
            .get(uri)
            .map(|artifact| ToolArtifact {
                artifact_id: artifact.id,
                artifact_uri: artifact.uri,
                tool_name: artifact.tool_name,
                content: String::from_utf8_lossy(&artifact.content).into_owned(),
                original_bytes: artifact.original_bytes,
                shown_bytes: artifact.shown_bytes,
            })
    }

    /// The same with its exact bytes and without a text made of them.
    #[must_use]
    pub fn get_artifact_bytes(&self, uri: &str) -> Option<(ToolArtifact, Vec<u8>)> {
        self.inner.kernel.artifacts().get(uri).map(|artifact| {
            (
                ToolArtifact {
                    artifact_id: artifact.id,
                    artifact_uri: artifact.uri,
                    tool_name: artifact.tool_name,
                    content: String::new(),
                    original_bytes: artifact.original_bytes,
                    shown_bytes: artifact.shown_bytes,
                },
                artifact.content.to_vec(),
            )
        })
    }

    /// Adds a tool of the application. Calls that have started keep the tools they had.
    ///
    /// # Errors
    /// [`crate::CodeError::InvalidArgument`] when the name is taken, built in or malformed or the schema is
    /// refused; [`crate::CodeError::SessionClosed`].
    pub fn register_dynamic_tool(&self, tool: Arc<dyn Tool>) -> Result<()> {
        self.inner.kernel.register(tool)
    }

    /// Removes a tool of the application; true when it was there.
    ///
    /// # Errors
    /// [`crate::CodeError::InvalidArgument`] for a built-in tool; [`crate::CodeError::SessionClosed`].
    pub fn unregister_dynamic_tool(&self, name: &str) -> Result<bool> {
        self.inner.kernel.unregister(name)
    }

    /// Adds a hook.
    ///
    /// # Errors
    /// [`crate::CodeError::InvalidArgument`] when its id is taken or its limits are out of bounds.
    pub fn register_hook(&self, hook: Hook) -> Result<()> {
        self.inner
            .hooks
            .register(hook)
            .map_err(|error| crate::CodeError::InvalidArgument {
                argument: "hook".to_owned(),
                message: error.to_string(),
            })
    }

    /// Removes a hook; true when it was there.
    #[must_use]
    pub fn unregister_hook(&self, id: &str) -> bool {
        self.inner.hooks.unregister(id)
    }

    /// Restricts governed calls to what an active skill allows, or lifts the restriction.
    pub fn set_active_skill_limits(&self, limits: Option<ActiveSkillLimits>) {
        self.inner.kernel.set_skill_limits(limits);
    }

    /// Questions that wait for an answer, oldest first.
    #[must_use]
    pub fn pending_confirmations(&self) -> Vec<PendingConfirmation> {
        self.inner
            .questions
            .as_ref()
            .map(|questions| questions.pending())
            .unwrap_or_default()
    }

    /// Answers a question by the id of its call; false when it no longer waits.
    #[must_use]
    pub fn confirm_tool_use(&self, tool_id: &str, approved: bool, reason: Option<String>) -> bool {
        self.inner
            .questions
            .as_ref()
            .is_some_and(|questions| questions.answer(tool_id, approved, reason))
    }

    /// Rejects every question that waits; how many there were.
    #[must_use]
    pub fn cancel_confirmations(&self) -> usize {
        self.inner
            .questions
            .as_ref()
            .map_or(0, |questions| questions.cancel_all())
    }
}

impl Inner {
    pub(crate) async fn close(&self) -> bool {
        let first = self.kernel.close();
        // Bounded: a tool that ignores its cancellation is dropped after its own, shorter grace.
        let _ = tokio::time::timeout(CLOSE_GRACE, self.kernel.active().settled()).await;
        self.kernel.release();
        let _ = tokio::time::timeout(KILL_GRACE, self.kernel.processes().emptied()).await;
        first
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.kernel.close();
        self.kernel.release();
    }
}

impl std::fmt::Debug for AgentSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AgentSession")
            .field("id", &self.inner.id)
            .field("workspace", &self.inner.root)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
