//! What the process holds for its hosts: objects by handle, operations by id.
//!
//! A handle table is the one thing a C interface must keep for the whole process. It is replaced as a whole
//! when the process finds itself forked: locks of the parent's threads may be held for ever in the child, so the
//! old state is left alone and never dropped.

use crate::handle::{Missing, Table};
use crate::host::HostCall;
use crate::mailbox::Mailbox;
use crate::runtime::Runtime;
use a3s_code_contract::{ErrorCode, ErrorPayload};
use a3s_code_core::{Agent, AgentSession};
use arc_swap::ArcSwap;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Everything that has a handle.
#[derive(Clone)]
pub(crate) enum Object {
    Runtime(Arc<Runtime>),
    Mailbox(Arc<Mailbox>),
    Agent(Arc<AgentObject>),
    Session(Arc<SessionObject>),
    HostCall(Arc<HostCall>),
}

/// An agent and the runtime it lives on.
pub(crate) struct AgentObject {
    pub(crate) agent: Agent,
    pub(crate) runtime: Arc<Runtime>,
}

/// A session and the runtime it lives on.
pub(crate) struct SessionObject {
    pub(crate) session: AgentSession,
    pub(crate) runtime: Arc<Runtime>,
}

/// Live objects, for tests and leak checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Runtimes.
    pub runtimes: usize,
    /// Mailboxes.
    pub mailboxes: usize,
    /// Agents.
    pub agents: usize,
    /// Sessions.
    pub sessions: usize,
    /// Operations.
    pub operations: usize,
    /// Host calls.
    pub host_calls: usize,
}

pub(crate) struct State {
    process: u32,
    epoch: u8,
    pub(crate) objects: Table<Object>,
    operations: Mutex<HashMap<u64, CancellationToken>>,
    next_operation: AtomicU64,
}

static STATE: LazyLock<ArcSwap<State>> =
    LazyLock::new(|| ArcSwap::from_pointee(State::new(std::process::id(), 0, 1)));

/// The state of this process.
pub(crate) fn state() -> Arc<State> {
    let current = STATE.load_full();
    let process = std::process::id();
    if current.process == process {
        return current;
    }
    let next = Arc::new(State::new(
        process,
        current.epoch.wrapping_add(1),
        current.next_operation.load(Ordering::Relaxed),
    ));
    // Never dropped: it belongs to threads that do not exist here.
    std::mem::forget(STATE.swap(Arc::clone(&next)));
    std::mem::forget(current);
    next
}

impl State {
    fn new(process: u32, epoch: u8, next_operation: u64) -> Self {
        Self {
            process,
            epoch,
            objects: Table::new(epoch),
            operations: Mutex::default(),
            next_operation: AtomicU64::new(next_operation),
        }
    }

    pub(crate) fn insert(&self, object: Object) -> Result<u64, ErrorPayload> {
        self.objects
            .insert(object)
            .ok_or_else(|| ErrorPayload::new(ErrorCode::Internal, "too many objects are open"))
    }

    pub(crate) fn object(&self, handle: u64, what: &str) -> Result<Object, ErrorPayload> {
        self.objects.get(handle).map_err(|missing| match missing {
            Missing::Closed => ErrorPayload::new(
                ErrorCode::HandleClosed,
                format!("the {what} is closed or never existed"),
            ),
            Missing::Forked => ErrorPayload::new(
                ErrorCode::ForkDetected,
                format!(
                    "the {what} belongs to the process this one was forked from; open a new agent here"
                ),
            ),
        })
    }

    pub(crate) fn mailbox(&self, handle: u64) -> Result<Arc<Mailbox>, ErrorPayload> {
        match self.object(handle, "mailbox")? {
            Object::Mailbox(mailbox) if !mailbox.is_closed() => Ok(mailbox),
            Object::Mailbox(_) => Err(ErrorPayload::new(
                ErrorCode::HandleClosed,
                "the mailbox is closed",
            )),
            _ => Err(wrong_kind("mailbox")),
        }
    }

    pub(crate) fn runtime(&self, handle: u64) -> Result<Arc<Runtime>, ErrorPayload> {
        match self.object(handle, "runtime")? {
            Object::Runtime(runtime) => Ok(runtime),
            _ => Err(wrong_kind("runtime")),
        }
    }

    /// Takes an id for an operation.
    pub(crate) fn begin(&self, cancellation: CancellationToken) -> u64 {
        let id = self.next_operation.fetch_add(1, Ordering::Relaxed);
        self.operations().insert(id, cancellation);
        id
    }

    /// The operation has ended.
    pub(crate) fn end(&self, operation: u64) {
        self.operations().remove(&operation);
    }

    /// Asks an operation to stop; harmless when it has ended.
    pub(crate) fn cancel(&self, operation: u64) {
        let token = self.operations().get(&operation).cloned();
        if let Some(token) = token {
            token.cancel();
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts {
            operations: self.operations().len(),
            ..Counts::default()
        };
        self.objects.for_each(|object| match object {
            Object::Runtime(_) => counts.runtimes += 1,
            Object::Mailbox(_) => counts.mailboxes += 1,
            Object::Agent(_) => counts.agents += 1,
            Object::Session(_) => counts.sessions += 1,
            Object::HostCall(_) => counts.host_calls += 1,
        });
        counts
    }

    fn operations(&self) -> std::sync::MutexGuard<'_, HashMap<u64, CancellationToken>> {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn wrong_kind(what: &str) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::InvalidArgument,
        format!("the handle is not one of a {what}"),
    )
}
