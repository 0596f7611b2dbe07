//! What calls return.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How far the text of a result may be trusted. Instructions inside any of it are data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Comes from the workspace.
    #[default]
    WorkspaceData,
    /// Comes from outside: a page, a server, a download.
    External,
    /// Made by the runtime itself.
    Trusted,
}

/// Result of one tool call. A failed call is a result too: look at `exit_code`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Canonical name of the tool.
    pub name: String,
    /// Text after projection. Crosses the boundary as raw bytes beside the JSON.
    pub output: String,
    /// 0 on success, another value when the tool failed.
    pub exit_code: i32,
    /// Facts about the result, always with `a3s_tool_result_evidence`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Value>,
    /// How it failed, tagged by `type`; tolerate types you do not know.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_kind: Option<ToolErrorKind>,
    /// How far the text may be trusted.
    #[serde(default)]
    pub trust: Trust,
}

/// What was lost between a tool's text and the text that a result shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossMode {
    /// Nothing was lost.
    None,
    /// Only the beginning is shown.
    BoundedPreview,
    /// The beginning and the end are shown.
    HeadTail,
    /// Sampled or folded, and not cut.
    DeterministicTransform,
    /// Sampled or folded, and then cut.
    Composite,
}

/// What a result says of its own text: `a3s.code.tool-result-evidence.v1`, the metadata `a3s_tool_result_evidence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResultEvidence {
    /// `a3s.code.tool-result-evidence.v1`.
    pub schema: String,
    /// Size of the tool's text in bytes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub original_bytes: u64,
    /// Size of the text that is shown in bytes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub projected_bytes: u64,
    /// Estimate for the tool's text; not a provider's count.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub original_estimated_tokens: u64,
    /// Estimate for the text that is shown; not a provider's count.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub projected_estimated_tokens: u64,
    /// Name of the estimator.
    pub token_estimator: String,
    /// Version of the transformation, also when nothing was changed.
    pub transform_algorithm: String,
    /// Digest of the tool's text.
    pub content_digest: String,
    /// Digest of the text that is shown.
    pub projected_digest: String,
    /// Equal for results of equal text.
    pub repeat_key: String,
    /// `inline:` and the digest, or the artifact's URI when something was lost.
    pub content_ref: String,
    /// What happened.
    pub loss_mode: LossMode,
    /// Projected minus original bytes.
    #[schemars(range(min = -9_007_199_254_740_991_i64, max = 9_007_199_254_740_991_i64))]
    pub byte_delta: i64,
    /// Projected minus original estimate.
    #[schemars(range(min = -9_007_199_254_740_991_i64, max = 9_007_199_254_740_991_i64))]
    pub estimated_token_delta: i64,
}

/// Kind of a failed tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolErrorKind {
    /// The content on disk is not the one expected.
    VersionConflict {
        /// Path of the file.
        path: String,
        /// What was expected.
        expected: String,
        /// What was found, if anything.
        actual: Option<String>,
    },
    /// The remote git service refused.
    RemoteGitConflict {
        /// Its code.
        code: String,
        /// Its message.
        message: String,
    },
    /// The path does not exist.
    NotFound {
        /// The path.
        path: String,
    },
    /// An argument is wrong; nothing was changed.
    InvalidArgument {
        /// What is wrong.
        message: String,
        /// Name of the argument.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        argument: Option<String>,
        /// The bound it broke.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        bound: Option<String>,
    },
    /// A hook refused.
    HookDenied {
        /// Its reason.
        reason: String,
        /// Whether trying later can succeed.
        retryable: bool,
        /// How long to wait, in milliseconds.
        retry_after_ms: Option<u32>,
    },
    /// The call cannot be served here.
    Unsupported {
        /// What is not supported.
        message: String,
    },
    /// The time limit passed.
    Timeout {
        /// Operation that was running.
        op: String,
        /// The limit, in milliseconds.
        duration_ms: u32,
    },
    /// The transport failed.
    Transport {
        /// Operation that was running.
        op: String,
    },
    /// The call was cancelled.
    Cancelled {
        /// Operation that was running.
        op: String,
    },
    /// All or some members failed.
    PartialFailure {
        /// How many failed.
        failed: u32,
        /// How many there were.
        total: u32,
    },
    /// Too many calls.
    RateLimited {
        /// How long to wait, in milliseconds.
        retry_after_ms: Option<u32>,
    },
    /// More bytes than allowed.
    TooLarge {
        /// Path or name of the thing.
        path: String,
        /// Its size in bytes.
        #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
        size_bytes: u64,
        /// The most that is allowed.
        #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
        max_bytes: u64,
    },
    /// Policy, confirmation or a skill limit refused.
    PermissionDenied {
        /// Why, and what would allow it.
        reason: String,
    },
    /// Whether the effect happened is not known; look before trying again.
    OutcomeUnknown {
        /// Operation that was running.
        op: String,
    },
}

impl ToolErrorKind {
    /// The tag, as on the wire.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::VersionConflict { .. } => "version_conflict",
            Self::RemoteGitConflict { .. } => "remote_git_conflict",
            Self::NotFound { .. } => "not_found",
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::HookDenied { .. } => "hook_denied",
            Self::Unsupported { .. } => "unsupported",
            Self::Timeout { .. } => "timeout",
            Self::Transport { .. } => "transport",
            Self::Cancelled { .. } => "cancelled",
            Self::PartialFailure { .. } => "partial_failure",
            Self::RateLimited { .. } => "rate_limited",
            Self::TooLarge { .. } => "too_large",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
        }
    }

    /// `invalid_argument` for one argument.
    #[must_use]
    pub fn invalid(argument: &str, message: impl Into<String>) -> Self {
        Self::InvalidArgument {
            message: message.into(),
            argument: Some(argument.to_owned()),
            bound: None,
        }
    }
}

/// Name, description and argument schema of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Name to call it by.
    pub name: String,
    /// What it does, for a model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call that is running now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveTool {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// When it started, in milliseconds since the epoch.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub started_at_ms: u64,
}

/// The complete original of a result that was cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolArtifact {
    /// Its id.
    pub artifact_id: String,
    /// Its URI, `a3s://tool-output/...`.
    pub artifact_uri: String,
    /// Tool that made it.
    pub tool_name: String,
    /// The text; bytes that are not UTF-8 are replaced here and exact in the bytes beside it.
    pub content: String,
    /// Size in bytes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub original_bytes: u64,
    /// Bytes of it that the result showed.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub shown_bytes: u64,
}

/// One thing the product offers, as a contract; does not vary with the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SdkCapability {
    /// Stable id.
    pub id: String,
    /// Group it belongs to.
    pub category: String,
    /// What it is.
    pub description: String,
    /// Methods that serve it, by their wire name.
    pub operations: Vec<String>,
}

/// What opening an agent gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedAgent {
    /// Handle of the agent.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub handle: u64,
}

/// What opening a session gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    /// Handle of the session.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub handle: u64,
    /// Id of the session.
    pub session_id: String,
    /// Root of the workspace.
    pub workspace: String,
}
