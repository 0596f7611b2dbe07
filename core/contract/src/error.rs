//! Error codes: one closed list, the same words in every language.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, retryable $retry:literal;)*) => {
        /// Stable code of an error that is thrown, raised or returned.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $($(#[doc = $doc])* #[serde(rename = $text)] $name,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the reference.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),*];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $text),* }
            }

            /// One line that says when it occurs.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$name => concat!($($doc),*)),* }
            }

            /// Whether trying again unchanged can succeed.
            #[must_use]
            pub fn retryable(self) -> bool {
                match self { $(ErrorCode::$name => $retry),* }
            }

            /// The code with this text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(ErrorCode::$name),)* _ => None }
            }
        }
    };
}

codes! {
    #[doc = "An argument is missing, malformed or out of its bounds."] InvalidArgument = "INVALID_ARGUMENT", retryable false;
    #[doc = "The file, folder or object does not exist."] NotFound = "NOT_FOUND", retryable false;
    #[doc = "The call was cancelled before it ended."] Cancelled = "CANCELLED", retryable false;
    #[doc = "The call did not end within its time limit."] Timeout = "TIMEOUT", retryable false;
    #[doc = "The request is valid and cannot be served here."] Unsupported = "UNSUPPORTED", retryable false;
    #[doc = "The object was closed or never existed."] HandleClosed = "HANDLE_CLOSED", retryable false;
    #[doc = "The process forked after the runtime was opened; open a new agent in the child."] ForkDetected = "FORK_DETECTED", retryable false;
    #[doc = "Code of the application failed, hung or vanished."] HostError = "HOST_ERROR", retryable false;
    #[doc = "A fault inside the library; other objects go on working."] Panic = "PANIC", retryable false;
    #[doc = "The agent configuration is missing something or is wrong."] Config = "CONFIG_ERROR", retryable false;
    #[doc = "The model provider failed."] Llm = "LLM_ERROR", retryable true;
    #[doc = "A tool failed; `details.errorKind` says how."] Tool = "TOOL_ERROR", retryable false;
    #[doc = "The session cannot do this now."] Session = "SESSION_ERROR", retryable false;
    #[doc = "A session option is wrong; `details.field` names it."] SessionConfiguration = "SESSION_CONFIGURATION_ERROR", retryable false;
    #[doc = "A resource of the session could not be opened."] SessionInitialization = "SESSION_INITIALIZATION_ERROR", retryable false;
    #[doc = "The session is closed."] SessionClosed = "SESSION_CLOSED", retryable false;
    #[doc = "A conversation operation is already running in the session."] SessionBusy = "SESSION_BUSY", retryable true;
    #[doc = "The call was cancelled while it waited for admission."] TaskAdmissionCancelled = "TASK_ADMISSION_CANCELLED", retryable false;
    #[doc = "The scheduler is closed."] TaskSchedulerClosed = "TASK_SCHEDULER_CLOSED", retryable false;
    #[doc = "Too many calls wait for admission."] TaskAdmissionLimit = "TASK_ADMISSION_LIMIT", retryable true;
    #[doc = "A run with this id exists and differs."] RunIdentityConflict = "RUN_IDENTITY_CONFLICT", retryable false;
    #[doc = "The request has a wrong form."] InvalidRequest = "INVALID_REQUEST", retryable false;
    #[doc = "The request names another session."] SessionMismatch = "SESSION_MISMATCH", retryable false;
    #[doc = "The request names another run."] RunMismatch = "RUN_MISMATCH", retryable false;
    #[doc = "No run is active."] NoActiveRun = "NO_ACTIVE_RUN", retryable false;
    #[doc = "The turn named has passed."] StaleTurn = "STALE_TURN", retryable false;
    #[doc = "The deadline of the request has passed."] DeadlineExceeded = "DEADLINE_EXCEEDED", retryable false;
    #[doc = "The queue is full."] QueueFull = "QUEUE_FULL", retryable true;
    #[doc = "The target of the request is closed."] Closed = "CLOSED", retryable false;
    #[doc = "A request with this id was taken already."] DuplicateRequest = "DUPLICATE_REQUEST", retryable false;
    #[doc = "A hook refused the call."] HookDenied = "HOOK_DENIED", retryable false;
    #[doc = "A hook asks to try again later."] HookRetry = "HOOK_RETRY", retryable true;
    #[doc = "The run was cancelled."] RunCancelled = "RUN_CANCELLED", retryable false;
    #[doc = "A budget is used up."] BudgetExhausted = "BUDGET_EXHAUSTED", retryable false;
    #[doc = "The security provider refused."] Security = "SECURITY_ERROR", retryable false;
    #[doc = "The context could not be assembled."] Context = "CONTEXT_ERROR", retryable false;
    #[doc = "An MCP server failed."] Mcp = "MCP_ERROR", retryable false;
    #[doc = "The queue failed."] Queue = "QUEUE_ERROR", retryable false;
    #[doc = "A capability is not available at run time."] Capability = "CAPABILITY_RUNTIME_ERROR", retryable false;
    #[doc = "A workflow failed."] Flow = "FLOW_ERROR", retryable false;
    #[doc = "The operating system refused or failed."] Io = "IO_ERROR", retryable false;
    #[doc = "Data could not be encoded or decoded."] Serialization = "SERIALIZATION_ERROR", retryable false;
    #[doc = "A fault inside the library that has no other name."] Internal = "INTERNAL_ERROR", retryable false;
}

/// An error as it crosses the boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorPayload {
    /// Stable code.
    pub code: ErrorCode,
    /// What happened, for a person; holds no secrets.
    pub message: String,
    /// Whether trying again unchanged can succeed.
    pub retryable: bool,
    /// How long to wait before, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_ms: Option<u32>,
    /// Facts for programs, such as `field`, `argument`, `bound` or `errorKind`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub details: Option<Value>,
    /// Id under which the application's own exception is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host_error_id: Option<String>,
    /// Messages of the causes, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cause: Vec<String>,
}

impl ErrorPayload {
    /// An error without details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: code.retryable(),
            retry_after_ms: None,
            details: None,
            host_error_id: None,
            cause: Vec::new(),
        }
    }

    /// The same error with facts for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
