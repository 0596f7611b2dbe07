//! A session on a memory workspace with probe tools, and a way to call at any origin.

use crate::agent::Agent;
use crate::kernel::frame::Frame;
use crate::kernel::{Invocation, Origin, Settled};
use crate::session::{AgentSession, SessionOptions};
use crate::tools::{Caller, Tool, ToolCall, ToolError, ToolOutput};
use crate::workspace::MemoryWorkspace;
use a3s_code_contract::{AgentConfig, PermissionDecision, PermissionPolicy, ToolCapabilities};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Body = dyn Fn(ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

/// A tool that counts its runs and does what a test says.
pub(super) struct Probe {
    name: &'static str,
    capabilities: ToolCapabilities,
    parameters: Value,
    pub(super) runs: AtomicUsize,
    pub(super) schema_reads: AtomicUsize,
    body: Box<Body>,
}

impl Probe {
    pub(super) fn new<F>(
        name: &'static str,
        body: impl Fn(ToolCall) -> F + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Arc::new(Self {
            name,
            capabilities: ToolCapabilities::default(),
            parameters: json!({ "type": "object" }),
            runs: AtomicUsize::new(0),
            schema_reads: AtomicUsize::new(0),
            body: Box::new(move |call| Box::pin(body(call))),
        })
    }

    /// A probe that says a text.
    pub(super) fn saying(name: &'static str, text: &'static str) -> Arc<Self> {
        Self::new(name, move |_| async move { Ok(ToolOutput::success(text)) })
    }

    pub(super) fn with_parameters(self: Arc<Self>, parameters: Value) -> Arc<Self> {
        let mut probe = Arc::into_inner(self).unwrap();
        probe.parameters = parameters;
        Arc::new(probe)
    }

    pub(super) fn with_capabilities(self: Arc<Self>, capabilities: ToolCapabilities) -> Arc<Self> {
        let mut probe = Arc::into_inner(self).unwrap();
        probe.capabilities = capabilities;
        Arc::new(probe)
    }

    pub(super) fn ran(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "A probe."
    }
    fn parameters(&self) -> Value {
        self.schema_reads.fetch_add(1, Ordering::SeqCst);
        self.parameters.clone()
    }
    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        self.capabilities
    }
    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        (self.body)(call).await
    }
}

/// A session on a small memory workspace.
pub(super) async fn open(options: SessionOptions) -> AgentSession {
    let files = BTreeMap::from([("README.md".to_owned(), b"# Title\nsecond line\n".to_vec())]);
    let workspace = MemoryWorkspace::new("/memory", files, None).unwrap();
    Agent::create(AgentConfig::default())
        .await
        .unwrap()
        .session(
            "/memory",
            options.with_workspace_backend(Arc::new(workspace)),
        )
        .await
        .unwrap()
}

/// A policy that allows everything, so that gates do not hide what a test looks at.
pub(super) fn allow_all() -> PermissionPolicy {
    PermissionPolicy {
        default_decision: PermissionDecision::Allow,
        ..PermissionPolicy::default()
    }
}

/// A policy that refuses everything.
pub(super) fn deny_all() -> PermissionPolicy {
    PermissionPolicy {
        default_decision: PermissionDecision::Deny,
        ..PermissionPolicy::default()
    }
}

/// The call that a nested origin is nested in.
fn outer(session: &AgentSession, origin: Origin) -> Option<Arc<Frame>> {
    let above = if origin == Origin::AGENT || origin == Origin::HOST_DIRECT {
        return None;
    } else if origin == Origin::TRUSTED_HOST_DIRECT_NESTED {
        Origin::HOST_DIRECT
    } else {
        Origin::AGENT
    };
    Some(Arc::new(Frame::new(
        "outer-1".to_owned(),
        "outer".to_owned(),
        above,
        None,
        session.inner().kernel.scope().child_token(),
        None,
        None,
    )))
}

/// An invocation at any origin, as the kernel itself would make it.
pub(super) fn invocation(
    session: &AgentSession,
    origin: Origin,
    name: &str,
    args: Value,
) -> Invocation {
    let kernel = &session.inner().kernel;
    let parent = outer(session, origin);
    let scope = match &parent {
        Some(parent) => parent.scope.clone(),
        None => kernel.scope().child_token(),
    };
    Invocation {
        id: None,
        run: None,
        fault: None,
        name: name.to_owned(),
        args: Arc::new(args),
        origin,
        parent,
        scope,
        surface: kernel.surface(),
        only: None,
        caller: Caller::default(),
        value_wanted: false,
    }
}

/// Calls at any origin.
pub(super) async fn invoke(
    session: &AgentSession,
    origin: Origin,
    name: &str,
    args: Value,
) -> Settled {
    session
        .inner()
        .kernel
        .invoke(invocation(session, origin, name, args))
        .await
        .unwrap()
}

/// Tag of the error kind, or nothing.
pub(super) fn kind(settled: &Settled) -> &'static str {
    settled
        .result
        .error_kind
        .as_ref()
        .map_or("", a3s_code_contract::ToolErrorKind::tag)
}
