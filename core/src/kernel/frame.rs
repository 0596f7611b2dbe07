//! One call on the stack of calls: who it is, who started it, and the line of its children.

use super::admission::Line;
use super::origin::Origin;
use crate::event::RunFeed;
use a3s_code_contract::QueueLimits;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// A call that is running, as its children see it.
pub(crate) struct Frame {
    /// Id of the call.
    pub(crate) id: String,
    /// Canonical name of the tool.
    pub(crate) tool: String,
    /// Whether children of a built-in orchestrator keep the application's authority.
    pub(crate) trusted: bool,
    /// The call that started this one.
    pub(crate) parent: Option<Arc<Frame>>,
    /// Cancelled when the call must stop.
    pub(crate) scope: CancellationToken,
    /// The tools that may be called below, when they are restricted.
    pub(crate) only: Option<Arc<BTreeSet<String>>>,
    /// The run it belongs to; none for direct calls.
    pub(crate) run: Option<Arc<RunFeed>>,
    children: OnceLock<Line>,
    ended: AtomicBool,
}

impl Frame {
    pub(crate) fn new(
        id: String,
        tool: String,
        origin: Origin,
        parent: Option<Arc<Frame>>,
        scope: CancellationToken,
        only: Option<Arc<BTreeSet<String>>>,
        run: Option<Arc<RunFeed>>,
    ) -> Self {
        let run = run.or_else(|| parent.as_ref().and_then(|parent| parent.run.clone()));
        let inherited = parent.as_ref().is_some_and(|parent| parent.trusted);
        let trusted = origin == Origin::HOST_DIRECT
            || origin == Origin::TRUSTED_HOST_DIRECT_NESTED
            || (origin == Origin::RUNTIME_INTERNAL && inherited);
        Self {
            id,
            tool,
            trusted,
            parent,
            scope,
            only,
            run,
            children: OnceLock::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// True when this tool runs here or anywhere above.
    pub(crate) fn runs(&self, tool: &str) -> bool {
        let mut frame = Some(self);
        while let Some(here) = frame {
            if here.tool == tool {
                return true;
            }
            frame = here.parent.as_deref();
        }
        false
    }

    /// The line of its children.
    pub(crate) fn children(&self, limits: &QueueLimits) -> &Line {
        self.children.get_or_init(|| Line::new(limits))
    }

    /// True once the call has ended.
    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends the call: nothing can be started from it any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.scope.cancel();
    }
}
