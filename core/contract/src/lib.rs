//! The contract between the engine and every language: what crosses the boundary, declared once.
//!
//! Options, results, events and errors are plain serde types here; methods are rows of [`METHODS`].
//! `cargo xtask gen` turns both into TypeScript, Python, Go and the reference tables, and `gen --check`
//! fails when they differ. This crate has no behaviour and knows no other crate of the workspace.
//!
//! Rules of the wire: options, events and typed results are camelCase; tool arguments, `metadata` and
//! `errorKind` are opaque and snake_case; times are integer milliseconds since the epoch, durations
//! integer milliseconds; integers stay within 2^53 - 1; unknown option keys are refused.
#![forbid(unsafe_code)]

mod capabilities;
mod conversation;
mod error;
mod event;
mod host;
mod inventory;
mod method;
mod options;
mod result;
mod schema;
mod verification;

pub use capabilities::{OutputKind, ToolCapabilities};
pub use conversation::{
    AgentResult, ContentBlock, ForcedStop, Message, ModelConfig, ModelRequest, OpenedModel,
    OpenedRun, PendingConfirmation, Role, RunEvents, ScriptedToolCall, ScriptedTurn, TokenUsage,
};
pub use error::{ErrorCode, ErrorPayload};
pub use event::{EVENT_TYPES, EventEnvelope, EventMetadata, EventSpec, EventVersion};
pub use host::{HostCallInput, HostReply, HostToolSpec};
pub use inventory::sdk_capabilities;
pub use method::{Argument, METHODS, Method, Target, Type};
pub use options::{
    AgentConfig, ArtifactStoreLimits, ConfirmationPolicy, GitOptions, MemoryFile,
    PermissionDecision, PermissionPolicy, PermissionRule, PresentationMode, QueueLimits,
    ReadFileOptions, SandboxMode, SandboxSettings, SessionOptions, TimeoutAction,
    ToolPresentationProfile, ToolResultTransformPolicy, WorkspaceBackend, WorkspaceCapability,
};
pub use result::{
    ActiveTool, LossMode, OpenedAgent, OpenedSession, SdkCapability, ToolArtifact, ToolDefinition,
    ToolErrorKind, ToolResult, ToolResultEvidence, Trust,
};
pub use schema::{definitions, schema_hash};
pub use verification::{
    VERIFICATION_REPORT_SCHEMA, VerificationCheck, VerificationCommand, VerificationPreset,
    VerificationReport, VerificationStatus, VerificationSummary,
};

/// Largest integer that every language of the wire keeps exactly: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
/// Deepest nesting of JSON that crosses the boundary.
pub const MAX_JSON_DEPTH: usize = 128;
/// Largest message, JSON and data together, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Version of the C ABI; a binding refuses a library of another major version.
pub const ABI_VERSION: u32 = 1;
