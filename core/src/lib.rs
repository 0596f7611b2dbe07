//! A3S Code: an embeddable coding-agent runtime.
//!
//! An [`Agent`] opens sessions; an [`AgentSession`] is one workspace. Everything a session does to the world
//! is one call of one tool through one kernel: governed, bounded, and with its loss accounted for.
//!
//! ```
//! use a3s_code_core::{Agent, AgentConfig, SessionOptions};
//! use serde_json::json;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let agent = Agent::create(AgentConfig::default()).await?;
//! let session = agent.session(".", SessionOptions::new()).await?;
//! let result = session.tool("ls", json!({})).await?;
//! assert_eq!(result.exit_code, 0);
//! agent.close().await;
//! # Ok::<(), a3s_code_core::CodeError>(())
//! # }).unwrap();
//! ```
#![forbid(unsafe_code)]

pub mod agent;
pub mod conversation;
mod error;
pub mod event;
pub mod evidence;
pub mod governance;
pub mod kernel;
pub mod model;
mod process;
pub mod search;
pub mod session;
pub mod tools;
mod verification;
pub mod workspace;

pub use a3s_code_contract as contract;
pub use a3s_code_contract::{
    ActiveTool, ArtifactStoreLimits, ConfirmationPolicy, ErrorCode, PermissionDecision,
    PermissionPolicy, QueueLimits, ReadFileOptions, SdkCapability, ToolArtifact, ToolCapabilities,
    ToolDefinition, ToolErrorKind, ToolResult, VerificationCheck, VerificationCommand,
    VerificationPreset, VerificationReport, VerificationStatus, VerificationSummary,
    sdk_capabilities,
};
pub use agent::{Agent, AgentConfig, SessionBuilder};
pub use error::{CodeError, Result};
pub use session::{AgentSession, CallOptions, SessionOptions};
pub use tools::{InvocationRuntime, Tool, ToolCall, ToolError, ToolOutput};
