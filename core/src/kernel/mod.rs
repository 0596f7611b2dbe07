//! The one door to the tools.
//!
//! Everything a session does to the world is one [`Invocation`] of one tool, and every invocation, whoever
//! asked for it, goes through [`Kernel::invoke`] in `pipeline.rs`: no other code calls `Tool::run`, and a
//! test looks for one. The kernel knows no tool by name; what it needs to decide, the tool declares.

mod active;
mod admission;
mod frame;
mod invoker;
mod origin;
mod pipeline;
mod schema;
mod surface;
mod views;

#[cfg(test)]
mod tests;

pub use invoker::InvocationRuntime;
pub use origin::Origin;
pub use schema::{ArgumentError, check_depth, parse_arguments};

pub(crate) use active::ActiveCalls;
pub(crate) use admission::Line;
pub(crate) use invoker::BuiltinInvoker;
pub(crate) use surface::Surface;

use crate::error::CodeError;
use crate::event::{EventBus, RunFeed};
use crate::evidence::{ArtifactStore, PinnedPolicy};
use crate::governance::{
    ActiveSkillLimits, BudgetGuard, ConfirmationProvider, Hooks, PermissionChecker,
    SecurityProvider, sanitize_text,
};
use crate::process::Ledger;
use crate::tools::{Caller, ResourceScope, Tool, ToolValue};
use crate::workspace::Workspace;
use a3s_code_contract::{QueueLimits, ToolResult};
use arc_swap::{ArcSwap, ArcSwapOption};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One call on its way through the kernel.
pub(crate) struct Invocation {
    /// Id of the call; made up when left out.
    pub(crate) id: Option<String>,
    /// The run it belongs to, when it was not started from another call.
    pub(crate) run: Option<Arc<RunFeed>>,
    /// Why it cannot be carried out as it was asked for: refused with this text.
    pub(crate) fault: Option<CallFault>,
    /// Name as asked for.
    pub(crate) name: String,
    /// Arguments as asked for.
    pub(crate) args: Arc<Value>,
    /// Who asked.
    pub(crate) origin: Origin,
    /// The call this one was started from.
    pub(crate) parent: Option<Arc<frame::Frame>>,
    /// Cancelled when whoever asked no longer wants it.
    pub(crate) scope: CancellationToken,
    /// The tools it may resolve to.
    pub(crate) surface: Arc<Surface>,
    /// A narrower set of them.
    pub(crate) only: Option<Arc<BTreeSet<String>>>,
    /// Where questions about it are answered.
    pub(crate) caller: Caller,
    /// Whether the exact content beside the text is wanted.
    pub(crate) value_wanted: bool,
}

/// Why a call is refused before anything about it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFault {
    /// What is wrong and what helps.
    pub(crate) message: String,
    /// The guard that refuses it, for the metadata.
    pub(crate) guard: Option<&'static str>,
}

/// A call that has ended: the result everybody sees and the value for typed helpers.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) result: ToolResult,
    pub(crate) value: Option<ToolValue>,
}

/// What a session gives its kernel.
pub(crate) struct KernelParts {
    pub(crate) session_id: Arc<str>,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) surface: Surface,
    pub(crate) policy: PinnedPolicy,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) permissions: Arc<dyn PermissionChecker>,
    pub(crate) confirmation: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) confirmation_timeout: Duration,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) budget: Option<Arc<dyn BudgetGuard>>,
    pub(crate) security: Option<Arc<dyn SecurityProvider>>,
    pub(crate) events: EventBus,
    pub(crate) tool_timeout: Option<Duration>,
    pub(crate) queue_limits: QueueLimits,
    pub(crate) scope: CancellationToken,
    pub(crate) command_env: BTreeMap<String, String>,
}

/// The kernel of one session.
pub(crate) struct Kernel {
    parts: Fixed,
    surface: ArcSwap<Surface>,
    registration: Mutex<()>,
    skills: ArcSwapOption<ActiveSkillLimits>,
    line: Line,
    active: ActiveCalls,
    resources: ResourceScope,
    processes: Ledger,
    closed: AtomicBool,
    /// Given back when the session closes, with the handle it holds.
    workspace: Mutex<Option<Arc<dyn Workspace>>>,
}

/// What never changes in the life of a session.
struct Fixed {
    session_id: Arc<str>,
    root: String,
    policy: PinnedPolicy,
    artifacts: ArtifactStore,
    permissions: Arc<dyn PermissionChecker>,
    confirmation: Option<Arc<dyn ConfirmationProvider>>,
    confirmation_timeout: Duration,
    hooks: Arc<Hooks>,
    budget: Option<Arc<dyn BudgetGuard>>,
    security: Option<Arc<dyn SecurityProvider>>,
    events: Arc<EventBus>,
    tool_timeout: Option<Duration>,
    queue_limits: QueueLimits,
    scope: CancellationToken,
    command_env: Arc<BTreeMap<String, String>>,
}

impl Fixed {
    fn root(&self) -> &str {
        &self.root
    }
}

impl Kernel {
    pub(crate) fn new(parts: KernelParts) -> Arc<Self> {
        let line = Line::new(&parts.queue_limits);
        Arc::new(Self {
            surface: ArcSwap::from_pointee(parts.surface),
            registration: Mutex::new(()),
            skills: ArcSwapOption::empty(),
            line,
            active: ActiveCalls::default(),
            resources: ResourceScope::default(),
            processes: Ledger::default(),
            closed: AtomicBool::new(false),
            workspace: Mutex::new(Some(Arc::clone(&parts.workspace))),
            parts: Fixed {
                session_id: parts.session_id,
                root: parts.workspace.root().to_owned(),
                policy: parts.policy,
                artifacts: parts.artifacts,
                permissions: parts.permissions,
                confirmation: parts.confirmation,
                confirmation_timeout: parts.confirmation_timeout,
                hooks: parts.hooks,
                budget: parts.budget,
                security: parts.security,
                events: Arc::new(parts.events),
                tool_timeout: parts.tool_timeout,
                queue_limits: parts.queue_limits,
                scope: parts.scope,
                command_env: Arc::new(parts.command_env),
            },
        })
    }

    /// The tools as they are now.
    pub(crate) fn surface(&self) -> Arc<Surface> {
        self.surface.load_full()
    }

    /// Adds a tool of the application; calls that have started keep the tools they had.
    pub(crate) fn register(&self, tool: Arc<dyn Tool>) -> Result<(), CodeError> {
        self.check_open()?;
        let _one_at_a_time = self
            .registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let next = self.surface.load().with_custom(tool)?;
        self.surface.store(Arc::new(next));
        Ok(())
    }

    /// Removes a tool of the application; true when it was there.
    pub(crate) fn unregister(&self, name: &str) -> Result<bool, CodeError> {
        self.check_open()?;
        let _one_at_a_time = self
            .registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match self.surface.load().without_custom(name)? {
            Some(next) => {
                self.surface.store(Arc::new(next));
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Restricts governed calls to what an active skill allows, or lifts the restriction.
    pub(crate) fn set_skill_limits(&self, limits: Option<ActiveSkillLimits>) {
        self.skills.store(limits.map(Arc::new));
    }

    /// The workspace while the session is open.
    pub(crate) fn workspace(&self) -> Result<Arc<dyn Workspace>, CodeError> {
        let workspace = self
            .workspace
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        workspace.clone().ok_or_else(|| CodeError::SessionClosed {
            session_id: self.parts.session_id.to_string(),
        })
    }

    pub(crate) fn active(&self) -> &ActiveCalls {
        &self.active
    }

    pub(crate) fn artifacts(&self) -> &ArtifactStore {
        &self.parts.artifacts
    }

    pub(crate) fn events(&self) -> &EventBus {
        &self.parts.events
    }

    /// A text as the security provider lets it out.
    pub(crate) fn sanitized(&self, text: String) -> String {
        match &self.parts.security {
            Some(provider) => sanitize_text(&**provider, &text).into_owned(),
            None => text,
        }
    }

    pub(crate) fn budget_guard(&self) -> Option<&Arc<dyn BudgetGuard>> {
        self.parts.budget.as_ref()
    }

    pub(crate) fn scope(&self) -> &CancellationToken {
        &self.parts.scope
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Refuses work on a closed session.
    pub(crate) fn check_open(&self) -> Result<(), CodeError> {
        if self.is_closed() {
            return Err(CodeError::SessionClosed {
                session_id: self.parts.session_id.to_string(),
            });
        }
        Ok(())
    }

    /// Closes the session: new calls are refused and running ones cancelled. True the first time.
    pub(crate) fn close(&self) -> bool {
        let first = !self.closed.swap(true, Ordering::AcqRel);
        self.parts.scope.cancel();
        first
    }

    /// The commands that are alive.
    pub(crate) fn processes(&self) -> &Ledger {
        &self.processes
    }

    /// Gives back what the session owns. Called when its calls have ended.
    pub(crate) fn release(&self) {
        self.processes.close();
        self.resources.release();
        self.parts.artifacts.clear();
        self.surface.store(Arc::new(Surface::default()));
        self.workspace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}
