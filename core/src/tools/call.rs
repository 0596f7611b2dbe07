//! What a tool sees of the world while it runs.

pub use crate::kernel::InvocationRuntime;

use crate::evidence::{Artifact, ArtifactPin, ArtifactStore};
use crate::process::Ledger;
use crate::tools::ToolError;
use crate::workspace::{Wait, Workspace, WorkspaceError, WorkspacePath};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Something to run when a call or session ends.
pub(crate) type Release = Box<dyn FnOnce() + Send>;

/// What was registered to be released. Released once, newest first, when the scope ends.
#[derive(Clone, Default)]
pub struct ResourceScope {
    resources: Arc<Mutex<Vec<Release>>>,
}

impl ResourceScope {
    /// Registers something to run when the scope ends.
    pub fn own(&self, release: impl FnOnce() + Send + 'static) {
        self.resources
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(release));
    }

    /// Runs what was registered. A release that panics does not keep the others from running.
    pub(crate) fn release(&self) {
        let resources = std::mem::take(
            &mut *self
                .resources
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for resource in resources.into_iter().rev() {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(resource));
        }
    }
}

/// Where a tool reports output before it ends.
#[derive(Clone)]
pub struct OutputSink {
    emit: Arc<dyn Fn(&str) + Send + Sync>,
}

impl OutputSink {
    pub(crate) fn new(emit: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            emit: Arc::new(emit),
        }
    }

    /// Reports a piece of output or a sign of progress.
    pub fn progress(&self, text: &str) {
        (self.emit)(text);
    }
}

/// Who asked for a call, opaque to the engine: lets a bridge answer where the question came from.
#[derive(Clone, Default)]
pub struct Caller(Option<Arc<dyn std::any::Any + Send + Sync>>);

impl Caller {
    /// A caller with something of its own.
    #[must_use]
    pub fn new(route: Arc<dyn std::any::Any + Send + Sync>) -> Self {
        Self(Some(route))
    }

    /// What it carries, when it is a `T`.
    #[must_use]
    pub fn route<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.clone().and_then(|route| route.downcast().ok())
    }
}

/// One call, as the tool sees it: arguments, workspace, deadline, cancellation, output, invoker.
pub struct ToolCall {
    pub(crate) id: String,
    pub(crate) session_id: Arc<str>,
    pub(crate) args: Arc<Value>,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) deadline: Option<Instant>,
    pub(crate) max_output_bytes: usize,
    pub(crate) value_wanted: bool,
    pub(crate) output: OutputSink,
    pub(crate) resources: ResourceScope,
    pub(crate) session_resources: ResourceScope,
    pub(crate) runtime: InvocationRuntime,
    pub(crate) caller: Caller,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) command_env: Arc<BTreeMap<String, String>>,
    pub(crate) processes: Ledger,
    pub(crate) off_limits: Option<fn(&WorkspacePath) -> bool>,
    pub(crate) refused_content: Option<RefusedContent>,
}

impl ToolCall {
    /// Id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Id of the session.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The arguments, validated against the schema.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// The arguments as a type.
    ///
    /// # Errors
    /// `invalid_argument` when they do not have that form.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(&*self.args).map_err(|error| ToolError::invalid("args", error.to_string()))
    }

    /// The workspace and what it can do.
    #[must_use]
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }

    /// Cancelled when the call must stop.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// When the call must end.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Bound on the text of a result, in bytes.
    #[must_use]
    pub fn max_output_bytes(&self) -> usize {
        self.max_output_bytes
    }

    /// True when somebody wants the exact content beside the text.
    #[must_use]
    pub fn value_wanted(&self) -> bool {
        self.value_wanted
    }

    /// Where output is reported before the end.
    #[must_use]
    pub fn output(&self) -> &OutputSink {
        &self.output
    }

    /// Invokes other tools, always governed, while this call runs.
    #[must_use]
    pub fn runtime(&self) -> &InvocationRuntime {
        &self.runtime
    }

    /// What is released when the call ends.
    #[must_use]
    pub fn resources(&self) -> &ResourceScope {
        &self.resources
    }

    /// What is released when the session ends.
    #[must_use]
    pub fn session_resources(&self) -> &ResourceScope {
        &self.session_resources
    }

    /// Who asked for the call.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Does file work: first on this thread with what is in memory, then, when that would block, once
    /// more on a blocking thread. `work` runs at most twice and must have no effect before its last step.
    ///
    /// # Errors
    /// What `work` returns.
    pub async fn file_work<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<WorkspaceError> + MaybeWouldBlock + Send + 'static,
        F: Fn(&dyn Workspace, Wait) -> Result<T, E> + Send + Sync + 'static,
    {
        match work(&*self.workspace, Wait::Never) {
            Err(error) if error.would_block() => self.blocking_work(work).await,
            done => done,
        }
    }

    /// Does file work on a blocking thread straight away: for work that is long even in memory.
    ///
    /// # Errors
    /// What `work` returns.
    pub async fn blocking_work<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<WorkspaceError> + Send + 'static,
        F: FnOnce(&dyn Workspace, Wait) -> Result<T, E> + Send + 'static,
    {
        let workspace = Arc::clone(&self.workspace);
        match tokio::task::spawn_blocking(move || work(&*workspace, Wait::Allowed)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(WorkspaceError::Unsupported(
                    "the runtime is shutting down".to_owned(),
                )
                .into()),
            },
        }
    }
}

/// Errors that can say "the answer is not in memory".
pub trait MaybeWouldBlock {
    /// True when the work should be repeated where it may wait.
    fn would_block(&self) -> bool;
}

impl MaybeWouldBlock for WorkspaceError {
    fn would_block(&self) -> bool {
        matches!(self, Self::WouldBlock)
    }
}

/// Whether the content of a file is refused, by the ways to spell its path.
pub(crate) type RefusedContent = Arc<dyn Fn(&[&str]) -> bool + Send + Sync>;

/// Content that a call keeps for the session, held there at least until this is dropped.
pub(crate) struct KeptArtifact {
    /// `artifact_id` and `artifact_uri`.
    pub(crate) reference: Value,
    _pin: ArtifactPin,
}

/// Where a call keeps content beside its text.
#[derive(Clone)]
pub(crate) struct ArtifactKeeper(ArtifactStore);

impl ArtifactKeeper {
    /// Most bytes that one artifact may have.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.0.most_bytes()
    }

    /// Keeps these bytes under the name of a tool, or one with `-before` or `-after`; none when they do not
    /// fit.
    pub(crate) fn keep(&self, tool: &str, bytes: Vec<u8>) -> Option<KeptArtifact> {
        if !self.0.accepts(bytes.len() as u64) {
            return None;
        }
        let artifact = Artifact::new(tool, bytes, 0);
        let reference = json!({ "artifact_id": artifact.id, "artifact_uri": artifact.uri });
        let pin = self.0.put_pinned(artifact)?;
        Some(KeptArtifact {
            reference,
            _pin: pin,
        })
    }
}

impl ToolCall {
    /// What the application adds to the environment of commands.
    pub(crate) fn command_env(&self) -> &BTreeMap<String, String> {
        &self.command_env
    }

    /// The commands of the session that are alive.
    pub(crate) fn processes(&self) -> &Ledger {
        &self.processes
    }

    /// Where content is kept beside the text.
    pub(crate) fn artifact_keeper(&self) -> ArtifactKeeper {
        ArtifactKeeper(self.artifacts.clone())
    }

    /// True of a file, by the ways to spell its path, whose content a search of this call may not show.
    pub(crate) fn refused_content(&self) -> Option<RefusedContent> {
        self.refused_content.clone()
    }

    /// True of a path, links resolved, that this call may not read or change.
    pub(crate) fn off_limits(&self) -> Option<fn(&WorkspacePath) -> bool> {
        self.off_limits
    }

    /// The route of built-in orchestrators.
    pub(crate) fn builtin_invoker(&self) -> crate::kernel::BuiltinInvoker {
        crate::kernel::BuiltinInvoker::new(self.runtime.clone())
    }
}
