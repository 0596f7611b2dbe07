//! Errors of the engine: one enum, and an exhaustive map to the stable codes.

use crate::model::LlmError;
use a3s_code_contract::{ErrorCode, ErrorPayload, ToolErrorKind};
use serde_json::json;

/// What a call of the engine's API can fail with. A tool that fails is a result, not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The agent configuration is missing something or is wrong.
    #[error("{message}")]
    Config {
        /// What is wrong.
        message: String,
    },
    /// A session option is wrong.
    #[error("option `{field}`: {message}")]
    SessionConfiguration {
        /// The option, as spelled in Rust.
        field: String,
        /// What is wrong and what the bound is.
        message: String,
    },
    /// A resource of the session could not be opened.
    #[error("{resource}: {message}")]
    SessionInitialization {
        /// The resource.
        resource: String,
        /// What happened.
        message: String,
    },
    /// The session is closed.
    #[error("session `{session_id}` is closed")]
    SessionClosed {
        /// Its id.
        session_id: String,
    },
    /// The agent is closed.
    #[error("the agent is closed")]
    AgentClosed,
    /// An argument is missing, malformed or out of its bounds.
    #[error("argument `{argument}`: {message}")]
    InvalidArgument {
        /// The argument.
        argument: String,
        /// What is wrong and what the bound is.
        message: String,
    },
    /// The thing named does not exist.
    #[error("{message}")]
    NotFound {
        /// What is missing.
        message: String,
    },
    /// A typed helper's tool failed.
    #[error("{tool}: {message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What happened.
        message: String,
        /// How it failed.
        kind: Option<ToolErrorKind>,
    },
    /// The request is valid and cannot be served here.
    #[error("{message}")]
    Unsupported {
        /// What is not supported.
        message: String,
    },
    /// A tool panicked; the session goes on working.
    #[error("a panic in `{place}`: {message}")]
    Panic {
        /// Where.
        place: String,
        /// Its message.
        message: String,
    },
    /// The model did not answer.
    #[error("{model}: {error}")]
    Llm {
        /// Name of the model.
        model: String,
        /// What happened.
        error: LlmError,
    },
    /// Another run is on its way in the session.
    #[error("session `{session_id}` is busy with another run")]
    SessionBusy {
        /// Its id.
        session_id: String,
    },
    /// A budget is used up.
    #[error("the budget `{resource}` is used up: {reason}")]
    BudgetExhausted {
        /// The budget.
        resource: String,
        /// Why.
        reason: String,
    },
    /// The run was cancelled.
    #[error("{message}")]
    Cancelled {
        /// What was cancelled.
        message: String,
    },
    /// The run took too long.
    #[error("{message}")]
    Timeout {
        /// What took how long.
        message: String,
    },
    /// A fault that has no other name.
    #[error("{message}")]
    Internal {
        /// What happened.
        message: String,
    },
}

/// Result of the engine's API.
pub type Result<T, E = CodeError> = std::result::Result<T, E>;

impl CodeError {
    /// A session option that is wrong.
    pub(crate) fn option(field: &str, message: impl Into<String>) -> Self {
        Self::SessionConfiguration {
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// The error a typed helper raises for a failed result.
    pub(crate) fn from_failed_tool(
        tool: &str,
        mut message: String,
        mut kind: Option<ToolErrorKind>,
    ) -> Self {
        // The caller is told of the argument that it gave, not of the one that the tool was given for it.
        if let Some(ToolErrorKind::InvalidArgument {
            argument: Some(argument),
            message: what,
            ..
        }) = &mut kind
            && let Some(own) = argument_of_helper(tool, argument)
        {
            message = renamed(&message, argument, own);
            *what = renamed(what, argument, own);
            *argument = own.to_owned();
        }
        Self::Tool {
            tool: tool.to_owned(),
            message,
            kind,
        }
    }

    /// Stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config { .. } => ErrorCode::Config,
            Self::SessionConfiguration { .. } => ErrorCode::SessionConfiguration,
            Self::SessionInitialization { .. } => ErrorCode::SessionInitialization,
            Self::SessionClosed { .. } => ErrorCode::SessionClosed,
            Self::AgentClosed => ErrorCode::HandleClosed,
            Self::InvalidArgument { .. } => ErrorCode::InvalidArgument,
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::Tool { kind, .. } => tool_code(kind.as_ref()),
            Self::Unsupported { .. } => ErrorCode::Unsupported,
            Self::Panic { .. } => ErrorCode::Panic,
            Self::Llm { .. } => ErrorCode::Llm,
            Self::SessionBusy { .. } => ErrorCode::SessionBusy,
            Self::BudgetExhausted { .. } => ErrorCode::BudgetExhausted,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// The error as it crosses the boundary.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        let payload = ErrorPayload::new(self.code(), self.to_string());
        match self {
            Self::SessionConfiguration { field, .. } => {
                payload.with_details(json!({ "field": field }))
            }
            Self::InvalidArgument { argument, .. } => {
                payload.with_details(json!({ "argument": argument }))
            }
            Self::Tool { tool, kind, .. } => {
                let mut payload = payload.with_details(json!({ "tool": tool, "errorKind": kind }));
                match kind {
                    Some(ToolErrorKind::InvalidArgument {
                        argument: Some(argument),
                        bound,
                        ..
                    }) => {
                        if let Some(details) = payload.details.as_mut() {
                            details["argument"] = json!(argument);
                            if let Some(bound) = bound {
                                details["bound"] = json!(bound);
                            }
                        }
                    }
                    Some(ToolErrorKind::RateLimited { retry_after_ms }) => {
                        payload.retryable = true;
                        payload.retry_after_ms = *retry_after_ms;
                    }
                    Some(ToolErrorKind::HookDenied {
                        retryable,
                        retry_after_ms,
                        ..
                    }) => {
                        payload.retryable = *retryable;
                        payload.retry_after_ms = *retry_after_ms;
                    }
                    _ => {}
                }
                payload
            }
            _ => payload,
        }
    }
}

/// What a typed helper calls an argument of its tool, where that is another name.
fn argument_of_helper(tool: &str, argument: &str) -> Option<&'static str> {
    match (tool, argument) {
        ("search", "query") => Some("pattern"),
        ("read", "file_path") => Some("path"),
        _ => None,
    }
}

/// A message that calls an argument by another name: as `` `name` `` or before a colon.
fn renamed(message: &str, from: &str, to: &str) -> String {
    let quoted = format!("`{from}`");
    if message.contains(&quoted) {
        return message.replacen(&quoted, &format!("`{to}`"), 1);
    }
    message.replacen(&format!("{from}: "), &format!("{to}: "), 1)
}

fn tool_code(kind: Option<&ToolErrorKind>) -> ErrorCode {
    match kind {
        Some(ToolErrorKind::NotFound { .. }) => ErrorCode::NotFound,
        Some(ToolErrorKind::InvalidArgument { .. }) => ErrorCode::InvalidArgument,
        Some(ToolErrorKind::Unsupported { .. }) => ErrorCode::Unsupported,
        Some(ToolErrorKind::Timeout { .. }) => ErrorCode::Timeout,
        Some(ToolErrorKind::Cancelled { .. }) => ErrorCode::Cancelled,
        Some(ToolErrorKind::HookDenied {
            retryable: false, ..
        }) => ErrorCode::HookDenied,
        Some(ToolErrorKind::HookDenied {
            retryable: true, ..
        }) => ErrorCode::HookRetry,
        Some(
            ToolErrorKind::VersionConflict { .. }
            | ToolErrorKind::RemoteGitConflict { .. }
            | ToolErrorKind::Transport { .. }
            | ToolErrorKind::PartialFailure { .. }
            | ToolErrorKind::RateLimited { .. }
            | ToolErrorKind::TooLarge { .. }
            | ToolErrorKind::PermissionDenied { .. }
            | ToolErrorKind::OutcomeUnknown { .. },
        )
        | None => ErrorCode::Tool,
    }
}
