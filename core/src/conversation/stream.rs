//! A run as it happens: its events one after the other, and what it came to.

use super::run::Run;
use crate::error::{CodeError, Result};
use crate::event::RunFeed;
use a3s_code_contract::{AgentResult, EventEnvelope};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The events of one run. Dropping it before the end cancels the run.
pub struct RunStream {
    feed: Arc<RunFeed>,
    scope: CancellationToken,
    worker: Option<JoinHandle<Result<AgentResult>>>,
}

impl RunStream {
    /// Starts a run on the runtime that calls this.
    pub(crate) fn start(run: Run) -> Self {
        let (feed, scope) = (Arc::clone(run.feed()), run.scope().clone());
        let ending = EndFeed(Arc::clone(&feed));
        let worker = tokio::spawn(async move {
            let _ending = ending;
            run.finish().await
        });
        Self {
            feed,
            scope,
            worker: Some(worker),
        }
    }

    /// Id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.feed.run_id()
    }

    /// The next event; none after the last, which is `agent_end` or `error`. While events wait to be taken the run
    /// waits too. May be dropped and called again.
    pub async fn next(&mut self) -> Option<EventEnvelope> {
        self.feed.next().await
    }

    /// An event that is there already; none when there is none now.
    pub fn take_ready(&mut self) -> Option<EventEnvelope> {
        self.feed.take_ready()
    }

    /// Cancels the run; its last event still comes.
    pub fn cancel(&self) {
        self.scope.cancel();
    }

    /// Waits for the end without looking at more events, and gives what the run came to.
    ///
    /// # Errors
    /// As a run sent without a stream; [`CodeError::Internal`] when it was asked for before.
    pub async fn result(&mut self) -> Result<AgentResult> {
        self.feed.abandon();
        let Some(worker) = &mut self.worker else {
            return Err(CodeError::Internal {
                message: "the result was taken before".to_owned(),
            });
        };
        let ended = worker.await;
        self.worker = None;
        ended.unwrap_or_else(|error| {
            Err(CodeError::Panic {
                place: "run".to_owned(),
                message: error.to_string(),
            })
        })
    }
}

/// Says that no event comes any more, also when the run panicked.
struct EndFeed(Arc<RunFeed>);

impl Drop for EndFeed {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for RunStream {
    fn drop(&mut self) {
        if self
            .worker
            .as_ref()
            .is_some_and(|worker| !worker.is_finished())
        {
            self.scope.cancel();
        }
        // A run that waits for a reader goes on to its end.
        self.feed.abandon();
    }
}

impl std::fmt::Debug for RunStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunStream")
            .field("run_id", &self.run_id())
            .finish_non_exhaustive()
    }
}
