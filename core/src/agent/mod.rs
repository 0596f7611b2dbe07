//! An agent: opens sessions and closes them. Needs no configuration, key or model.

mod builder;

pub use builder::SessionBuilder;

use crate::error::{CodeError, Result};
use crate::kernel::Surface;
use crate::session::{AgentSession, Inner, SessionOptions};
use crate::workspace::Workspace;
pub use a3s_code_contract::AgentConfig;
use a3s_code_contract::WorkspaceCapability;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio_util::sync::CancellationToken;

/// Opens sessions. Cloning gives another handle on the same agent.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) scope: CancellationToken,
    closed: AtomicBool,
    sessions: Mutex<BTreeMap<String, Option<Weak<Inner>>>>,
    surfaces: Mutex<Vec<(BTreeSet<WorkspaceCapability>, bool, Surface)>>,
}

impl Agent {
    /// Opens an agent.
    ///
    /// # Errors
    /// [`CodeError::Config`] when the configuration is wrong.
    pub async fn create(config: AgentConfig) -> Result<Self> {
        let AgentConfig {} = config;
        Ok(Self {
            shared: Arc::new(Shared {
                scope: CancellationToken::new(),
                closed: AtomicBool::new(false),
                sessions: Mutex::default(),
                surfaces: Mutex::default(),
            }),
        })
    }

    /// Prepares a session on a workspace; [`SessionBuilder::build`] opens it.
    pub fn session_builder(&self, workspace: impl Into<String>) -> SessionBuilder {
        SessionBuilder::new(Arc::clone(&self.shared), workspace.into())
    }

    /// Opens a session on a workspace.
    ///
    /// # Errors
    /// As [`SessionBuilder::build`].
    pub async fn session(
        &self,
        workspace: impl Into<String>,
        options: SessionOptions,
    ) -> Result<AgentSession> {
        self.session_builder(workspace)
            .options(options)
            .build()
            .await
    }

    /// Ids of the live sessions, sorted.
    #[must_use]
    pub fn list_sessions(&self) -> Vec<String> {
        self.shared.live().into_keys().collect()
    }

    /// Closes a session by id; true when it was open.
    pub async fn close_session(&self, session_id: &str) -> bool {
        match self.shared.live().remove(session_id) {
            Some(session) => session.close().await,
            None => false,
        }
    }

    /// True once the agent is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Closes the agent and its sessions; running calls end as cancelled. Closing again does nothing.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.scope.cancel();
        for session in self.shared.live().into_values() {
            session.close().await;
        }
    }
}

impl Shared {
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(CodeError::AgentClosed);
        }
        Ok(())
    }

    /// The built-in tools that a workspace can serve: described and compiled once for all sessions of the agent
    /// whose workspaces can do the same.
    pub(crate) fn builtin_surface(&self, workspace: &dyn Workspace) -> Result<Surface> {
        let mut surfaces = self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        let known = surfaces.iter().find(|(capabilities, local, _)| {
            capabilities == workspace.capabilities() && *local == workspace.is_local()
        });
        if let Some((_, _, surface)) = known {
            return Ok(surface.clone());
        }
        let mut surface = Surface::default();
        for tool in crate::tools::builtin(workspace) {
            surface = surface.with_builtin(tool)?;
        }
        surfaces.push((
            workspace.capabilities().clone(),
            workspace.is_local(),
            surface.clone(),
        ));
        Ok(surface)
    }

    /// Takes an id for a session in the making.
    pub(crate) fn reserve(self: &Arc<Self>, id: &str) -> Result<Reserved> {
        let mut sessions = self.lock();
        let taken = match sessions.get(id) {
            Some(Some(session)) => session
                .upgrade()
                .is_some_and(|session| !session.kernel.is_closed()),
            Some(None) => true,
            None => false,
        };
        if taken {
            return Err(CodeError::option(
                "session_id",
                format!("`{id}` is the id of a live session of this agent"),
            ));
        }
        sessions.insert(id.to_owned(), None);
        Ok(Reserved {
            shared: Arc::clone(self),
            id: id.to_owned(),
            kept: false,
        })
    }

    /// The sessions that are open; forgets the others.
    fn live(&self) -> BTreeMap<String, Arc<Inner>> {
        let mut live = BTreeMap::new();
        self.lock().retain(|id, session| match session {
            None => true,
            Some(session) => match session.upgrade() {
                Some(session) if !session.kernel.is_closed() => {
                    live.insert(id.clone(), session);
                    true
                }
                _ => false,
            },
        });
        live
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<Weak<Inner>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An id taken for a session in the making; free again when the making fails.
pub(crate) struct Reserved {
    shared: Arc<Shared>,
    id: String,
    kept: bool,
}

impl Reserved {
    /// The session is there.
    pub(crate) fn keep(mut self, session: &Arc<Inner>) {
        self.kept = true;
        self.shared
            .lock()
            .insert(self.id.clone(), Some(Arc::downgrade(session)));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.kept {
            self.shared.lock().remove(&self.id);
        }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("sessions", &self.list_sessions())
            .field("closed", &self.is_closed())
            .finish()
    }
}
