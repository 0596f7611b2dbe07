//! Tools: what a tool is, and one module for each built-in one.
//!
//! A tool is a pure description plus [`Tool::run`]. It knows neither the registry nor the pipeline nor
//! other tools; everything it may use comes in its [`ToolCall`]. Only the kernel calls `run`.

mod attempt;
mod bash;
mod batch;
mod call;
mod change;
mod edit;
mod git;
mod ls;
mod page;
mod patch;
mod read;
mod schema;
mod search;
mod write;

pub use crate::evidence::ToolResultTransformPolicyV1;
pub use a3s_code_contract::{OutputKind, ToolCapabilities, ToolErrorKind, Trust};
pub(crate) use call::RefusedContent;
pub use call::{Caller, InvocationRuntime, MaybeWouldBlock, OutputSink, ResourceScope, ToolCall};

pub use async_trait::async_trait;
use serde_json::{Map, Value};

/// Exact content beside a text: for typed helpers and scripts, never for the model.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolValue {
    /// The exact text of a file or command.
    Text(String),
    /// Paths in order.
    Paths(Vec<String>),
}

impl ToolValue {
    /// Size in bytes, for the bound of 16 MiB.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Paths(paths) => paths.iter().map(|p| p.len() + 1).sum(),
        }
    }

    /// True when it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a tool returns: its whole, self-bounded text. The runtime shortens and accounts for it.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// The text.
    pub text: String,
    /// Exact content, only when [`ToolCall::value_wanted`] asks for it.
    pub value: Option<ToolValue>,
    /// True when the tool did what it was asked.
    pub success: bool,
    /// Facts about the result.
    pub metadata: Map<String, Value>,
    /// How it failed.
    pub error_kind: Option<ToolErrorKind>,
    /// How far the text may be trusted.
    pub trust: Trust,
}

impl ToolOutput {
    /// A success with this text.
    #[must_use]
    pub fn success(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            success: true,
            ..Self::default()
        }
    }

    /// A failure with this text and no kind.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The same with one fact more.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

/// A failure with a kind; becomes a result with exit code 1.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// How it failed.
    pub kind: ToolErrorKind,
    /// What happened, for a person or model.
    pub message: String,
    /// Facts about the failure.
    pub metadata: Map<String, Value>,
}

impl ToolError {
    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            metadata: Map::new(),
        }
    }

    /// A wrong argument.
    #[must_use]
    pub fn invalid(argument: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(ToolErrorKind::invalid(argument, message.clone()), message)
    }
}

impl From<crate::workspace::WorkspaceError> for ToolError {
    fn from(error: crate::workspace::WorkspaceError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// A path that a call would touch, as its arguments spell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathUse {
    /// The path.
    pub path: String,
    /// Whether it would be changed.
    pub write: bool,
}

/// A governed, schedulable operation.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    fn name(&self) -> &str;
    /// What it does, for a model.
    fn description(&self) -> &str;
    /// JSON Schema of its arguments, an object. Asked once, when the tool is registered.
    fn parameters(&self) -> Value;
    /// What it promises for these arguments; nothing by default.
    fn capabilities(&self, args: &Value) -> ToolCapabilities {
        let _ = args;
        ToolCapabilities::default()
    }
    /// True when these arguments must be asked about even where policy allows the tool.
    fn requires_confirmation(&self, args: &Value) -> bool {
        let _ = args;
        false
    }
    /// The texts that permission rules are matched against; each must be allowed. `None` means the
    /// arguments as JSON.
    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        let _ = args;
        None
    }
    /// The command line this call would run, when it runs one: rules are then matched word by word.
    fn command_line<'a>(&self, args: &'a Value) -> Option<&'a str> {
        let _ = args;
        None
    }
    /// The paths this call would touch.
    fn paths(&self, args: &Value) -> Vec<PathUse> {
        let _ = args;
        Vec::new()
    }
    /// Time limit of a call, beside the session's; none by default.
    fn timeout(&self, args: &Value) -> Option<std::time::Duration> {
        let _ = args;
        None
    }
    /// Does the work. Dropping the future must stop it.
    ///
    /// # Errors
    /// A [`ToolError`] becomes a failed result with its kind.
    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError>;
}

/// The built-in tools that a workspace can serve.
pub(crate) fn builtin(
    workspace: &dyn crate::workspace::Workspace,
) -> Vec<std::sync::Arc<dyn Tool>> {
    use a3s_code_contract::WorkspaceCapability as Can;
    let mut tools: Vec<std::sync::Arc<dyn Tool>> = vec![std::sync::Arc::new(batch::BatchTool)];
    if workspace.can(Can::Read) {
        tools.push(std::sync::Arc::new(read::ReadTool::default()));
    }
    if workspace.can(Can::Write) {
        tools.push(std::sync::Arc::new(write::WriteTool));
    }
    if workspace.can(Can::Read) && workspace.can(Can::Write) {
        tools.push(std::sync::Arc::new(edit::EditTool));
        tools.push(std::sync::Arc::new(patch::PatchTool));
    }
    if workspace.can(Can::List) {
        tools.push(std::sync::Arc::new(ls::LsTool));
    }
    if workspace.can(Can::Search) {
        tools.push(std::sync::Arc::new(search::SearchTool {
            ranks: workspace.can(Can::Read),
        }));
    }
    // Commands need the files of this machine.
    if workspace.is_local() && workspace.can(Can::Execute) {
        tools.push(std::sync::Arc::new(bash::BashTool));
    }
    if workspace.is_local() && workspace.can(Can::Git) {
        tools.push(std::sync::Arc::new(git::GitTool));
    }
    tools
}
