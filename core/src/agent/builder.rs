//! How a session is built: options are validated first, then the workspace is opened, then the tools that
//! the workspace can serve are put on the surface.

use super::Shared;
use crate::conversation::Conversation;
use crate::error::{CodeError, Result};
use crate::event::EventBus;
use crate::evidence::ArtifactStore;
use crate::kernel::{Kernel, KernelParts};
use crate::session::{AgentSession, Inner, SessionOptions, resolve};
use crate::workspace::{LocalWorkspace, MemoryWorkspace, Workspace};
use a3s_code_contract::{MemoryFile, PresentationMode, WorkspaceBackend};
use base64::Engine;
use std::sync::Arc;

/// A session in the making.
#[must_use]
pub struct SessionBuilder {
    agent: Arc<Shared>,
    workspace: String,
    options: SessionOptions,
}

impl SessionBuilder {
    pub(super) fn new(agent: Arc<Shared>, workspace: String) -> Self {
        Self {
            agent,
            workspace,
            options: SessionOptions::new(),
        }
    }

    /// Sets the options.
    pub fn options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    /// [`CodeError::SessionConfiguration`] with the option's name; [`CodeError::NotFound`] when the workspace
    /// is missing; [`CodeError::Unsupported`] for an option that is not served yet;
    /// [`CodeError::AgentClosed`].
    pub async fn build(self) -> Result<AgentSession> {
        self.agent.check_open()?;
        let options = self.options;
        let resolved = resolve(&options)?;
        let id = match &options.wire.session_id {
            Some(id) => id.clone(),
            None => format!("session-{}", uuid::Uuid::new_v4().simple()),
        };
        let reserved = self.agent.reserve(&id)?;
        let workspace = match &options.workspace {
            Some(workspace) => Arc::clone(workspace),
            None => open_workspace(self.workspace, options.wire.workspace_backend.clone()).await?,
        };
        let mut surface = self.agent.builtin_surface(&*workspace)?;
        for tool in &options.tools {
            surface = surface.with_custom(Arc::clone(tool)).map_err(|error| {
                CodeError::option("tools", format!("`{}`: {error}", tool.name()))
            })?;
        }
        let session_id: Arc<str> = id.into();
        let root = workspace.root().to_owned();
        let kernel = Kernel::new(KernelParts {
            session_id: Arc::clone(&session_id),
            workspace,
            surface,
            policy: resolved.policy,
            artifacts: ArtifactStore::new(resolved.artifact_limits),
            permissions: resolved.permissions,
            confirmation: resolved.confirmation,
            confirmation_timeout: resolved.confirmation_timeout,
            hooks: Arc::clone(&resolved.hooks),
            budget: options.budget,
            security: resolved.security,
            events: EventBus::new(Arc::clone(&session_id), options.observer),
            tool_timeout: resolved.tool_timeout,
            queue_limits: resolved.queue_limits,
            scope: self.agent.scope.child_token(),
            command_env: options.wire.command_env.clone(),
        });
        let presented = options
            .wire
            .tool_presentation_profile
            .is_none_or(|profile| profile.mode == PresentationMode::Direct);
        let inner = Arc::new(Inner {
            id: session_id,
            root,
            kernel,
            hooks: resolved.hooks,
            questions: resolved.queue,
            hidden: options.wire.hidden_tools.into_iter().collect(),
            presented,
            reports: crate::verification::Reports::default(),
            conversation: Arc::new(Conversation::new(
                options.llm,
                options.run_limits,
                options.system,
            )),
        });
        reserved.keep(&inner);
        // The agent may have been closed while the workspace was opened.
        if let Err(closed) = self.agent.check_open() {
            inner.close().await;
            return Err(closed);
        }
        Ok(AgentSession::new(inner))
    }
}

async fn open_workspace(
    path: String,
    backend: Option<WorkspaceBackend>,
) -> Result<Arc<dyn Workspace>> {
    match backend {
        None => open_local(path, false).await,
        Some(WorkspaceBackend::Local { root, read_only }) => {
            open_local(root.unwrap_or(path), read_only.unwrap_or(false)).await
        }
        Some(WorkspaceBackend::Memory {
            files,
            capabilities,
        }) => {
            let mut contents = std::collections::BTreeMap::new();
            for (path, file) in files {
                let content = match file {
                    MemoryFile::Text(text) => text.into_bytes(),
                    MemoryFile::Base64 { base64 } => base64::engine::general_purpose::STANDARD
                        .decode(base64)
                        .map_err(|error| {
                            CodeError::option("workspace_backend", format!("`{path}`: {error}"))
                        })?,
                };
                contents.insert(path, content);
            }
            let capabilities = capabilities.map(|list| list.into_iter().collect());
            let workspace = MemoryWorkspace::new(&path, contents, capabilities)
                .map_err(|error| CodeError::option("workspace_backend", error.to_string()))?;
            Ok(Arc::new(workspace))
        }
    }
}

async fn open_local(root: String, read_only: bool) -> Result<Arc<dyn Workspace>> {
    let opened = tokio::task::spawn_blocking(move || LocalWorkspace::open(&root, read_only)).await;
    match opened {
        Ok(Ok(workspace)) => Ok(Arc::new(workspace)),
        Ok(Err(error)) => Err(match error.kind() {
            a3s_code_contract::ToolErrorKind::NotFound { .. } => CodeError::NotFound {
                message: format!("workspace: {error}"),
            },
            _ => CodeError::option("workspace", error.to_string()),
        }),
        Err(_) => Err(CodeError::Internal {
            message: "the runtime is shutting down".to_owned(),
        }),
    }
}
