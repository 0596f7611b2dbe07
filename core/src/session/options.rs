//! Options of a session: the wire's plain values and, for Rust, objects that run.

use crate::conversation::RunLimits;
use crate::error::{CodeError, Result};
use crate::event::EventObserver;
use crate::evidence::{PinnedPolicy, ToolResultTransformPolicyV1};
use crate::governance::{
    BudgetGuard, ConfirmationProvider, ConfirmationQueue, Hook, Hooks, PermissionChecker,
    PermissionRules, SecurityProvider,
};
use crate::model::LlmClient;
use crate::tools::Tool;
use crate::workspace::Workspace;
use a3s_code_contract as wire;
use std::sync::Arc;
use std::time::Duration;

/// Longest time limit that is accepted: a day.
const MAX_LIMIT_MS: u32 = 86_400_000;
/// Most bytes of a session's id.
const MAX_ID_BYTES: usize = 128;
/// Largest whole number that every language keeps.
const MAX_INTEGER: u64 = 9_007_199_254_740_991;
/// How long a question waits when nothing is said.
const DEFAULT_CONFIRMATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of a session. Every one may be left out.
#[derive(Clone, Default)]
#[must_use]
pub struct SessionOptions {
    pub(crate) wire: wire::SessionOptions,
    pub(crate) policy: Option<ToolResultTransformPolicyV1>,
    pub(crate) workspace: Option<Arc<dyn Workspace>>,
    pub(crate) permissions: Option<Arc<dyn PermissionChecker>>,
    pub(crate) confirmation: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) budget: Option<Arc<dyn BudgetGuard>>,
    pub(crate) security: Option<Arc<dyn SecurityProvider>>,
    pub(crate) observer: Option<Arc<dyn EventObserver>>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) llm: Option<Arc<dyn LlmClient>>,
    pub(crate) run_limits: RunLimits,
    pub(crate) system: Option<String>,
}

impl SessionOptions {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The options as they cross the boundary. `tools` of the application's language are registered by the
    /// bridge and not from here.
    pub fn from_wire(wire: wire::SessionOptions) -> Self {
        Self {
            wire,
            ..Self::default()
        }
    }

    /// Id of the session, unique among the live sessions of the agent.
    pub fn with_session_id(mut self, id: impl Into<String>) -> Self {
        self.wire.session_id = Some(id.into());
        self
    }

    /// How long results are shortened.
    pub fn with_tool_result_transform_policy(
        mut self,
        policy: ToolResultTransformPolicyV1,
    ) -> Self {
        self.policy = Some(policy);
        self
    }

    /// How many complete originals are kept.
    pub fn with_artifact_store_limits(mut self, limits: wire::ArtifactStoreLimits) -> Self {
        self.wire.artifact_store_limits = Some(limits);
        self
    }

    /// Rules for governed calls.
    pub fn with_permission_policy(mut self, policy: wire::PermissionPolicy) -> Self {
        self.wire.permission_policy = Some(policy);
        self
    }

    /// Decides governed calls in the place of rules.
    pub fn with_permission_checker(mut self, checker: Arc<dyn PermissionChecker>) -> Self {
        self.permissions = Some(checker);
        self
    }

    /// How questions about calls are settled.
    pub fn with_confirmation_policy(mut self, policy: wire::ConfirmationPolicy) -> Self {
        self.wire.confirmation_policy = Some(policy);
        self
    }

    /// Answers questions in the place of the built-in queue.
    pub fn with_confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> Self {
        self.confirmation = Some(provider);
        self
    }

    /// Adds a hook.
    pub fn with_hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Is asked before every call and told after.
    pub fn with_budget_guard(mut self, guard: Arc<dyn BudgetGuard>) -> Self {
        self.budget = Some(guard);
        self
    }

    /// Masks secrets in every result.
    pub fn with_security_provider(mut self, provider: Arc<dyn SecurityProvider>) -> Self {
        self.security = Some(provider);
        self
    }

    /// Replaces secrets of well-known forms in every result.
    pub fn with_default_security(mut self) -> Self {
        self.wire.default_security = Some(true);
        self
    }

    /// Time limit of every tool call.
    pub fn with_tool_timeout(mut self, limit: Duration) -> Self {
        self.wire.tool_timeout_ms = Some(u32::try_from(limit.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// Limits on calls that run or wait.
    pub fn with_queue_limits(mut self, limits: wire::QueueLimits) -> Self {
        self.wire.queue_limits = Some(limits);
        self
    }

    /// Tools that the model is not shown; they stay callable by the application.
    pub fn with_hidden_tools<I: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = I>,
    ) -> Self {
        self.wire.hidden_tools = names.into_iter().map(Into::into).collect();
        self
    }

    /// How tools are presented to the model.
    pub fn with_tool_presentation_profile(
        mut self,
        profile: wire::ToolPresentationProfile,
    ) -> Self {
        self.wire.tool_presentation_profile = Some(profile);
        self
    }

    /// Sets a variable in the environment of commands, beside the allow-list.
    pub fn with_command_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.wire.command_env.insert(name.into(), value.into());
        self
    }

    /// The model of the conversation.
    pub fn with_llm_client(mut self, client: Arc<dyn LlmClient>) -> Self {
        self.llm = Some(client);
        self
    }

    /// Limits of each run.
    pub fn with_run_limits(mut self, limits: RunLimits) -> Self {
        self.run_limits = limits;
        self
    }

    /// What the model is told before the conversation, in the place of the built-in text. Instruction files of the
    /// workspace are told beside it.
    pub fn with_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// The workspace, in the place of the folder given to the session.
    pub fn with_workspace_backend(mut self, workspace: Arc<dyn Workspace>) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Adds a tool of the application.
    pub fn with_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Listens to the events of the session.
    pub fn with_event_observer(mut self, observer: Arc<dyn EventObserver>) -> Self {
        self.observer = Some(observer);
        self
    }
}

/// Options after validation: everything a session is built from.
pub(crate) struct Resolved {
    pub(crate) policy: PinnedPolicy,
    pub(crate) permissions: Arc<dyn PermissionChecker>,
    pub(crate) confirmation: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) queue: Option<Arc<ConfirmationQueue>>,
    pub(crate) confirmation_timeout: Duration,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) security: Option<Arc<dyn SecurityProvider>>,
    pub(crate) tool_timeout: Option<Duration>,
    pub(crate) queue_limits: wire::QueueLimits,
    pub(crate) artifact_limits: wire::ArtifactStoreLimits,
}

/// Validates the options; nothing has been opened yet.
pub(crate) fn resolve(options: &SessionOptions) -> Result<Resolved> {
    let wire = &options.wire;
    if let Some(id) = &wire.session_id {
        check_id(id)?;
    }
    if let Some(limits) = &wire.artifact_store_limits
        && limits.max_bytes > MAX_INTEGER
    {
        return Err(CodeError::option(
            "artifact_store_limits.max_bytes",
            format!("{} is not within 0 to {MAX_INTEGER}", limits.max_bytes),
        ));
    }
    refuse_unserved(wire)?;
    options.run_limits.check()?;
    for (name, value) in &wire.command_env {
        crate::process::check_name(name, value).map_err(|reason| {
            CodeError::option("command_env", format!("variable `{name}`: {reason}"))
        })?;
    }
    let policy = match (&options.policy, &wire.tool_result_transform_policy) {
        (Some(policy), _) => policy.clone(),
        (None, Some(policy)) => policy.clone().into(),
        (None, None) => ToolResultTransformPolicyV1::conservative(),
    };
    let policy = PinnedPolicy::new(policy)
        .map_err(|error| CodeError::option("tool_result_transform_policy", error.to_string()))?;
    let permissions: Arc<dyn PermissionChecker> =
        match (&options.permissions, &wire.permission_policy) {
            (Some(checker), _) => Arc::clone(checker),
            (None, Some(policy)) => Arc::new(
                PermissionRules::compile(policy)
                    .map_err(|error| CodeError::option("permission_policy", error.to_string()))?,
            ),
            (None, None) => Arc::new(PermissionRules::default_posture()),
        };
    let (confirmation, queue, confirmation_timeout) = confirmation(options)?;
    let hooks = Arc::new(Hooks::default());
    for hook in &options.hooks {
        hooks
            .register(hook.clone())
            .map_err(|error| CodeError::option("hooks", error.to_string()))?;
    }
    let security = match (&options.security, wire.default_security) {
        (Some(provider), _) => Some(Arc::clone(provider)),
        (None, Some(true)) => Some(Arc::new(crate::governance::DefaultSecurityProvider) as _),
        (None, _) => None,
    };
    let queue_limits = wire.queue_limits.clone().unwrap_or_default();
    in_range("queue_limits.max_active", queue_limits.max_active, 1, 1024)?;
    in_range(
        "queue_limits.max_pending",
        queue_limits.max_pending,
        0,
        100_000,
    )?;
    in_range("tool_timeout_ms", wire.tool_timeout_ms, 1, MAX_LIMIT_MS)?;
    Ok(Resolved {
        policy,
        permissions,
        confirmation,
        queue,
        confirmation_timeout,
        hooks,
        security,
        tool_timeout: wire
            .tool_timeout_ms
            .map(|limit| Duration::from_millis(u64::from(limit))),
        queue_limits,
        artifact_limits: wire.artifact_store_limits.clone().unwrap_or_default(),
    })
}

/// An id may become the name of a file one day: 1 to 128 of `A-Z a-z 0-9 . _ -`, and neither `.` nor `..`.
fn check_id(id: &str) -> Result<()> {
    let bound = "1 to 128 of A-Z a-z 0-9 . _ -, and neither `.` nor `..`";
    let problem = match id {
        "" => "is empty".to_owned(),
        "." | ".." => format!("is `{id}`"),
        _ if id.len() > MAX_ID_BYTES => format!("has {} bytes", id.len()),
        _ => match id.chars().find(|letter| !is_id_letter(*letter)) {
            Some(letter) => format!("holds {letter:?}"),
            None => return Ok(()),
        },
    };
    Err(CodeError::option(
        "session_id",
        format!("it {problem}; an id is {bound}"),
    ))
}

fn is_id_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-')
}

type Confirmation = (
    Option<Arc<dyn ConfirmationProvider>>,
    Option<Arc<ConfirmationQueue>>,
    Duration,
);

fn confirmation(options: &SessionOptions) -> Result<Confirmation> {
    let policy = options.wire.confirmation_policy.as_ref();
    let limit = policy.and_then(|policy| policy.default_timeout_ms);
    in_range(
        "confirmation_policy.default_timeout_ms",
        limit,
        1,
        MAX_LIMIT_MS,
    )?;
    let timeout = limit.map_or(DEFAULT_CONFIRMATION_TIMEOUT, |limit| {
        Duration::from_millis(u64::from(limit))
    });
    if let Some(provider) = &options.confirmation {
        return Ok((Some(Arc::clone(provider)), None, timeout));
    }
    Ok(match policy {
        Some(policy) => {
            let queue = ConfirmationQueue::new(policy.clone())
                .map_err(|error| CodeError::option("confirmation_policy", error.to_string()))?;
            let queue = Arc::new(queue);
            (Some(Arc::clone(&queue) as _), Some(queue), timeout)
        }
        None => (None, None, timeout),
    })
}

/// What the contract reserves and nothing serves yet is refused, never ignored.
fn refuse_unserved(wire: &wire::SessionOptions) -> Result<()> {
    use wire::{PresentationMode, SandboxMode, SandboxSettings};
    let unserved = |message: &str| {
        Err(CodeError::Unsupported {
            message: message.to_owned(),
        })
    };
    match &wire.sandbox {
        None | Some(SandboxSettings::Mode(SandboxMode::Auto | SandboxMode::Off)) => {}
        Some(_) => {
            return unserved(
                "option `sandbox`: no sandbox is available yet; `auto` and `off` are accepted",
            );
        }
    }
    if let Some(profile) = &wire.tool_presentation_profile {
        if !matches!(
            profile.mode,
            PresentationMode::Direct | PresentationMode::Disabled
        ) {
            return unserved(
                "option `toolPresentationProfile`: modes `direct` and `disabled` are served",
            );
        }
        const SCHEMA: &str = "a3s.code.tool-presentation-profile.v1";
        if profile
            .schema
            .as_ref()
            .is_some_and(|schema| schema != SCHEMA)
        {
            return Err(CodeError::option(
                "tool_presentation_profile",
                format!("`schema` must be `{SCHEMA}`"),
            ));
        }
    }
    Ok(())
}

fn in_range(field: &str, value: Option<u32>, least: u32, most: u32) -> Result<()> {
    match value {
        Some(value) if !(least..=most).contains(&value) => Err(CodeError::option(
            field,
            format!("{value} is not within {least} to {most}"),
        )),
        _ => Ok(()),
    }
}
