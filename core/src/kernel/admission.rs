//! How many calls run and wait at once.
//!
//! A session has one line for its top-level calls; a call has one for its children, so that a parent that
//! waits for its children never holds what they wait for.

use crate::tools::ToolError;
use a3s_code_contract::{QueueLimits, ToolErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most calls that wait when no limit is given.
const DEFAULT_MAX_PENDING: u32 = 100_000;

/// A line of calls. Without a limit everything runs at once.
pub(crate) struct Line {
    slots: Option<Arc<Semaphore>>,
    max_active: u32,
    max_pending: usize,
    pending: AtomicUsize,
}

/// A place among the calls that run; given back when dropped.
pub(crate) struct Slot(
    #[allow(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>,
);

impl Line {
    pub(crate) fn new(limits: &QueueLimits) -> Self {
        Self {
            slots: limits
                .max_active
                .map(|most| Arc::new(Semaphore::new(most as usize))),
            max_active: limits.max_active.unwrap_or(0),
            max_pending: limits.max_pending.unwrap_or(DEFAULT_MAX_PENDING) as usize,
            pending: AtomicUsize::new(0),
        }
    }

    /// Waits for a place; refused at once when too many wait already.
    pub(crate) async fn enter(&self) -> Result<Slot, ToolError> {
        let Some(slots) = &self.slots else {
            return Ok(Slot(None));
        };
        if let Ok(permit) = Arc::clone(slots).try_acquire_owned() {
            return Ok(Slot(Some(permit)));
        }
        let _waiting = Waiting::begin(self)?;
        match Arc::clone(slots).acquire_owned().await {
            Ok(permit) => Ok(Slot(Some(permit))),
            Err(_) => Ok(Slot(None)),
        }
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(line: &'a Line) -> Result<Self, ToolError> {
        let before = line.pending.fetch_add(1, Ordering::AcqRel);
        let waiting = Self(&line.pending);
        if before >= line.max_pending {
            return Err(ToolError::new(
                ToolErrorKind::RateLimited {
                    retry_after_ms: None,
                },
                format!(
                    "Refused: {} calls run and {before} wait, the most that queueLimits allows.",
                    line.max_active
                ),
            ));
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
