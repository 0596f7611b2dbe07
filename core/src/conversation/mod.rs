//! The conversation of a session with a model: one run at a time, turn by turn.
//!
//! A run asks the model, carries out the calls it chose through the kernel, tells it what came of them, and
//! goes on until the model has nothing more to ask for or a limit is reached (module `run`, which reads top to
//! bottom). The transcript stays one that a provider takes: every call in it has its result, whatever happens to
//! the run. The room knows no tool and no provider.

mod calls;
mod context;
mod run;
mod stream;
#[cfg(test)]
mod tests;
mod transcript;

pub(crate) use run::{Run, RunContext};
pub use stream::RunStream;
pub(crate) use transcript::Transcript;

use crate::error::{CodeError, Result};
use crate::model::LlmClient;
use crate::tools::Caller;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Most rounds of tool calls, 1 to 10,000.
    pub max_tool_rounds: u32,
    /// How often the same call may be made in a row before it is refused, 1 to 1,000.
    pub duplicate_tool_call_threshold: u32,
    /// How often a request is made before its fault ends the run, 1 to 100.
    pub circuit_breaker_threshold: u32,
    /// Longest run; no limit when left out.
    pub max_execution_time: Option<Duration>,
    /// Longest request to the model; no limit when left out.
    pub llm_api_timeout: Option<Duration>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_tool_rounds: 50,
            duplicate_tool_call_threshold: 3,
            circuit_breaker_threshold: 3,
            max_execution_time: None,
            llm_api_timeout: None,
        }
    }
}

impl RunLimits {
    /// # Errors
    /// The field that is out of bounds, and the bound.
    pub(crate) fn check(&self) -> Result<()> {
        let bounded = |field: &str, value: u32, most: u32| {
            if (1..=most).contains(&value) {
                return Ok(());
            }
            Err(CodeError::option(
                field,
                format!("{value}: must be 1 to {most}"),
            ))
        };
        bounded("max_tool_rounds", self.max_tool_rounds, 10_000)?;
        bounded(
            "duplicate_tool_call_threshold",
            self.duplicate_tool_call_threshold,
            1_000,
        )?;
        bounded(
            "circuit_breaker_threshold",
            self.circuit_breaker_threshold,
            100,
        )
    }
}

/// How one run is started: where its calls back into the application go and what cancels it beside the session.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// Where calls back into the application go.
    pub caller: Caller,
    /// Cancels the run.
    pub cancellation: Option<CancellationToken>,
}

/// What a session says and has said.
pub(crate) struct Conversation {
    pub(crate) model: Option<Arc<dyn LlmClient>>,
    pub(crate) limits: RunLimits,
    pub(crate) system: Option<String>,
    pub(crate) transcript: Mutex<Transcript>,
    busy: AtomicBool,
    /// Cancels the run that is on its way.
    running: Mutex<Option<CancellationToken>>,
}

impl Conversation {
    pub(crate) fn new(
        model: Option<Arc<dyn LlmClient>>,
        limits: RunLimits,
        system: Option<String>,
    ) -> Self {
        Self {
            model,
            limits,
            system,
            transcript: Mutex::default(),
            busy: AtomicBool::new(false),
            running: Mutex::default(),
        }
    }

    /// Takes the conversation for one run.
    ///
    /// # Errors
    /// Another run is on its way.
    fn take(self: &Arc<Self>, session_id: &str, scope: &CancellationToken) -> Result<Lease> {
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err(CodeError::SessionBusy {
                session_id: session_id.to_owned(),
            });
        }
        *self.lock_running() = Some(scope.clone());
        Ok(Lease(Arc::clone(self)))
    }

    /// Cancels the run that is on its way; false when there is none.
    pub(crate) fn cancel(&self) -> bool {
        match &*self.lock_running() {
            Some(scope) => {
                scope.cancel();
                true
            }
            None => false,
        }
    }

    pub(crate) fn transcript(&self) -> std::sync::MutexGuard<'_, Transcript> {
        self.transcript
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_running(&self) -> std::sync::MutexGuard<'_, Option<CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to be the one run; given back when dropped.
struct Lease(Arc<Conversation>);

impl Drop for Lease {
    fn drop(&mut self) {
        *self.0.lock_running() = None;
        self.0.busy.store(false, Ordering::Release);
    }
}
