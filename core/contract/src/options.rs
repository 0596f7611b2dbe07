//! Options of agents and sessions. Every field may be left out; unknown keys are refused.

use crate::HostToolSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Options of an agent. Needs nothing: no file, no key, no model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentConfig {}

/// Options of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SessionOptions {
    /// Id of the session: 1 to 128 of `A-Z a-z 0-9 . _ -`, unique among the live sessions of the agent; made up when
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How long results are shortened; the first 100 KiB are kept when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result_transform_policy: Option<ToolResultTransformPolicy>,
    /// How many complete originals are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_store_limits: Option<ArtifactStoreLimits>,
    /// Rules for governed calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_policy: Option<PermissionPolicy>,
    /// How questions about calls are settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_policy: Option<ConfirmationPolicy>,
    /// Time limit of every tool call in milliseconds, 1 to 86,400,000; none when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub tool_timeout_ms: Option<u32>,
    /// Limits on calls that run or wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_limits: Option<QueueLimits>,
    /// Tools that the model is not shown; they stay callable by the application.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden_tools: Vec<String>,
    /// How tools are presented to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_presentation_profile: Option<ToolPresentationProfile>,
    /// Where the workspace lives; the folder given to the session when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_backend: Option<WorkspaceBackend>,
    /// Sandbox for commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSettings>,
    /// Environment given to commands beside the allow-list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub command_env: BTreeMap<String, String>,
    /// Whether `task` is offered; true when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual_delegation_enabled: Option<bool>,
    /// Replace secrets of well-known forms in every result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_security: Option<bool>,
    /// Tools written in the application's language.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<HostToolSpec>,
}

/// How long results are shortened: `a3s.code.tool-result-transform-policy.v1`. All fields are required.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResultTransformPolicy {
    /// `a3s.code.tool-result-transform-policy.v1`.
    pub schema: String,
    /// Most bytes of a result, 1,024 to 102,400.
    #[schemars(range(min = 1024, max = 102_400))]
    pub max_output_bytes: u32,
    /// Bytes kept from the beginning, at least 1.
    #[schemars(range(min = 1, max = 102_400))]
    pub head_bytes: u32,
    /// Bytes kept from the end; head and tail leave 512 bytes below the most.
    #[schemars(range(min = 0, max = 102_400))]
    pub tail_bytes: u32,
    /// Fold runs of equal lines.
    pub fold_repeated_lines: bool,
    /// Shortest run that is folded, 2 to 10,000.
    #[schemars(range(min = 2, max = 10_000))]
    pub repeated_line_threshold: u32,
    /// Items kept from an oversized top-level JSON array, 0 (off) to 1,024.
    #[schemars(range(min = 0, max = 1024))]
    pub structured_sample_items: u32,
}

/// How many complete originals a session keeps; the oldest go first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactStoreLimits {
    /// Most artifacts, 256 by default.
    #[serde(default = "default_max_artifacts")]
    pub max_artifacts: u32,
    /// Most bytes of content, 16 MiB by default.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub max_bytes: u64,
}

fn default_max_artifacts() -> u32 {
    256
}

fn default_max_bytes() -> u64 {
    16 * 1024 * 1024
}

impl Default for ArtifactStoreLimits {
    fn default() -> Self {
        Self {
            max_artifacts: default_max_artifacts(),
            max_bytes: default_max_bytes(),
        }
    }
}

/// What a rule or a policy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// Run it.
    Allow,
    /// Refuse it.
    Deny,
    /// Ask a person.
    #[default]
    Ask,
}

/// A rule: its text, or an object that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PermissionRule {
    /// `Tool` or `Tool(pattern)`.
    Text(String),
    /// The same inside an object.
    Object {
        /// `Tool` or `Tool(pattern)`.
        rule: String,
    },
}

impl PermissionRule {
    /// The text of the rule.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(rule) | Self::Object { rule } => rule,
        }
    }
}

/// Rules for governed calls: deny first, then allow, then ask, then the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PermissionPolicy {
    /// Calls that are refused.
    pub deny: Vec<PermissionRule>,
    /// Calls that run without a question.
    pub allow: Vec<PermissionRule>,
    /// Calls that are asked about.
    pub ask: Vec<PermissionRule>,
    /// What holds when no rule matches; ask when left out.
    pub default_decision: PermissionDecision,
    /// False allows everything; true when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What happens to a question that nobody answers in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// Refuse the call.
    #[default]
    Reject,
    /// Run the call.
    AutoApprove,
}

/// How questions about calls are settled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfirmationPolicy {
    /// Whether questions are put at all; with false they are refused.
    pub enabled: bool,
    /// How long to wait for an answer in milliseconds, 1 to 86,400,000; 30,000 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub default_timeout_ms: Option<u32>,
    /// What happens then.
    pub timeout_action: TimeoutAction,
    /// Lanes whose calls are approved unasked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub yolo_lanes: Vec<String>,
}

/// Limits on calls of a session that run or wait. A call's children are counted apart, under their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QueueLimits {
    /// Calls that run at once, 1 to 1,024; no limit when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub max_active: Option<u32>,
    /// Calls that wait, 0 to 100,000; 100,000 when left out. One more is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub max_pending: Option<u32>,
}

/// How tools are presented to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PresentationMode {
    /// All of them that are not hidden.
    #[default]
    Direct,
    /// None.
    Disabled,
    /// Reserved.
    Adaptive,
    /// Reserved.
    Code,
}

/// `a3s.code.tool-presentation-profile.v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolPresentationProfile {
    /// `a3s.code.tool-presentation-profile.v1` or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The mode.
    pub mode: PresentationMode,
}

/// Something a workspace can do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceCapability {
    /// Read files.
    Read,
    /// Write files.
    Write,
    /// List folders.
    List,
    /// Search.
    Search,
    /// Run commands.
    Execute,
    /// Use git.
    Git,
}

/// Content of a file of an in-memory workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MemoryFile {
    /// Its text.
    Text(String),
    /// Its bytes.
    Base64 {
        /// Standard base64 with padding.
        base64: String,
    },
}

/// Where a workspace lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum WorkspaceBackend {
    /// A folder of this machine: the one given to the session.
    Local {
        /// Another folder instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<String>,
        /// Refuse every change; false when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_only: Option<bool>,
    },
    /// Memory of this process; declares itself not local.
    Memory {
        /// Path to content; folders follow from the paths.
        #[serde(default)]
        files: BTreeMap<String, MemoryFile>,
        /// What it can do; read, write, list and search when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capabilities: Option<Vec<WorkspaceCapability>>,
    },
}

/// Word form of the sandbox option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Use one where there is one.
    #[default]
    Auto,
    /// Refuse to run without one.
    Required,
    /// Use none.
    Off,
}

/// Sandbox for commands. Reserved: what cannot be served yet is refused with `unsupported`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SandboxSettings {
    /// A word.
    Mode(SandboxMode),
    /// Everything named.
    #[serde(rename_all = "camelCase")]
    Detailed {
        /// `workspace_write` or `read_only`.
        mode: String,
        /// `off`, `on` or `mediated`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<String>,
        /// Hosts allowed when mediated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allow_hosts: Option<Vec<String>>,
    },
}

/// Lines to read from a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReadFileOptions {
    /// First line, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub offset: Option<u64>,
    /// Number of lines, at least 1; all that follow when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub limit: Option<u64>,
}

/// One git operation and what it works on: the arguments of the tool `git`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitOptions {
    /// `status`, `log`, `branch`, `checkout`, `diff`, `stash`, `remote` or `worktree`.
    pub command: String,
    /// For `worktree`: `list` when left out, `create` or `remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<String>,
    /// Branch to create, or branch of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether `worktree create` makes a new branch; true when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_branch: Option<bool>,
    /// Where a new branch starts; `HEAD` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Discard changes on `checkout`, or remove a worktree that has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Older name of `limit` for `log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_count: Option<u32>,
    /// Message of the stash to create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the stash to create takes untracked files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_untracked: Option<bool>,
    /// For `diff`: compare with this ref instead of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// For `checkout`: what to switch to.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Most entries of `log` and of lists, 1 to 200; 10 for `log` and 50 for lists when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
    /// Where `log` or a list goes on, as its last result says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// For `diff`: the byte at which it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub byte_offset: Option<u64>,
    /// For `diff`: most bytes of one result, 256 to 102,400; 65,536 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 256, max = 102_400))]
    pub max_bytes: Option<u32>,
}
