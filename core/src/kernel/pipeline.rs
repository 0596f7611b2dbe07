//! The path of one call, top to bottom.
//!
//! resolve > recursion > schema > pre-hooks > [control files > skills > permission > confirmation] > budget >
//! admission > run > sanitise > project, evidence, artifact > post-hooks > settle. The bracketed gates are
//! skipped by the origins that [`Origin::skipped_gates`] says; every other stage applies to all five.
//!
//! Whatever happens, the caller gets one result with evidence. Errors are kept for a closed session and for
//! faults of the library itself.

use super::frame::Frame;
use super::invoker::InvocationRuntime;
use super::origin::{Gate, Origin};
use super::surface::Registered;
use super::views;
use super::{Invocation, Kernel, Settled};
use crate::error::CodeError;
use crate::evidence;
use crate::governance::{
    BudgetDecision, ConfirmationOutcome, ConfirmationRequest, HookEvent, HookPoint, HookResult,
    PermissionQuery, PreToolOutcome, check_budget, control_file, record_budget, sanitize_text,
    sanitize_value,
};
use crate::tools::{
    OutputSink, PathUse, RefusedContent, ResourceScope, ToolCall, ToolError, ToolOutput, ToolValue,
};
use crate::workspace::WorkspacePath;
use a3s_code_contract::{PermissionDecision, ToolCapabilities, ToolErrorKind, ToolResult};
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a tool may go on after it was cancelled or timed out, to leave things tidy.
const SETTLE_GRACE: Duration = Duration::from_millis(500);
/// Largest value beside a text.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;
/// Longest name echoed in a refusal.
const MAX_ECHOED_NAME: usize = 64;

/// A call that has a name, an id and a place on the stack.
struct Live {
    frame: Arc<Frame>,
    origin: Origin,
    registered: Option<Arc<Registered>>,
    args: Arc<Value>,
    started: Instant,
}

/// What became of a call before it is accounted for.
struct Ended {
    output: ToolOutput,
    exit_code: i32,
    /// Whether the tool itself ran.
    ran: bool,
}

impl Kernel {
    /// Takes one call through the kernel.
    ///
    /// # Errors
    /// A closed session, or a panic in the tool. Everything else is a result.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        invocation: Invocation,
    ) -> Result<Settled, CodeError> {
        self.check_open()?;
        let mut live = self.place(&invocation);
        // Whatever happens to this future, the call ends with it.
        let _ending = EndOnDrop(Arc::clone(&live.frame));

        let cancelled = live.frame.scope.clone();
        let admitted = tokio::select! {
            biased;
            admitted = self.admit(&mut live, &invocation) => admitted,
            () = cancelled.cancelled() => Err(was_cancelled(&live.frame.tool)),
        };
        let ended = match admitted {
            Ok(admitted) => self.run(&live, &invocation, admitted).await?,
            Err(refusal) => Ended::refused(refusal),
        };
        Ok(self.settle(&live, ended).await)
    }

    /// Gives the call its canonical name, its id and its place on the stack.
    fn place(&self, invocation: &Invocation) -> Live {
        let registered = invocation.surface.resolve(&invocation.name).map(Arc::clone);
        let tool = match &registered {
            Some(found) => found.definition.name.clone(),
            None => invocation.name.chars().take(MAX_ECHOED_NAME).collect(),
        };
        let frame = Frame::new(
            invocation.id.clone().unwrap_or_else(|| {
                let prefix = invocation.origin.id_prefix();
                format!("{prefix}-{}", uuid::Uuid::new_v4().simple())
            }),
            tool,
            invocation.origin,
            invocation.parent.clone(),
            invocation.scope.child_token(),
            invocation.only.clone(),
            invocation.run.clone(),
        );
        Live {
            frame: Arc::new(frame),
            origin: invocation.origin,
            registered,
            args: Arc::clone(&invocation.args),
            started: Instant::now(),
        }
    }

    /// Every stage before the tool runs, in order.
    async fn admit(&self, live: &mut Live, invocation: &Invocation) -> Result<Admitted, ToolError> {
        let registered = resolve(live, invocation)?;
        if let Some(fault) = &invocation.fault {
            let mut refusal = ToolError::invalid("args", fault.message.clone());
            if let Some(guard) = fault.guard {
                let guard = Value::String(guard.to_owned());
                refusal.metadata.insert("guard".to_owned(), guard);
            }
            return Err(refusal);
        }
        guard_recursion(live)?;
        validate(&registered, &live.args)?;
        self.pre_hooks(live, &registered).await?;
        self.governance(live, &registered).await?;
        self.budget(live).await?;
        let slot = match &live.frame.parent {
            Some(parent) => parent.children(&self.parts.queue_limits).enter().await?,
            None => self.line.enter().await?,
        };
        if live.frame.scope.is_cancelled() {
            return Err(was_cancelled(&live.frame.tool));
        }
        Ok(Admitted {
            capabilities: registered.tool.capabilities(&live.args),
            registered,
            _slot: slot,
        })
    }

    /// Hooks may refuse the call or replace its arguments, which are then validated again.
    async fn pre_hooks(&self, live: &mut Live, registered: &Registered) -> Result<(), ToolError> {
        if self.parts.hooks.count() == 0 {
            return Ok(());
        }
        let event = self.hook_event(live, HookPoint::PreToolUse, None);
        match self.parts.hooks.pre_tool(&event).await {
            PreToolOutcome::Continue { args: None } => Ok(()),
            PreToolOutcome::Continue { args: Some(args) } => {
                validate(registered, &args)?;
                live.args = Arc::new(args);
                Ok(())
            }
            PreToolOutcome::Denied {
                reason,
                retryable,
                retry_after_ms,
            } => Err(ToolError::new(
                ToolErrorKind::HookDenied {
                    reason: reason.clone(),
                    retryable,
                    retry_after_ms,
                },
                format!("Refused by a hook: {reason}"),
            )),
        }
    }

    /// The gates that some origins skip.
    async fn governance(&self, live: &Live, registered: &Registered) -> Result<(), ToolError> {
        let gates = [Gate::ControlFiles, Gate::Skills, Gate::Permission];
        if !gates.iter().any(|gate| live.origin.passes_through(*gate)) {
            return Ok(());
        }
        let views = views::of(self, registered, &live.args)
            .await
            .map_err(|reason| self.denied(live, reason))?;
        if live.origin.passes_through(Gate::ControlFiles)
            && let Some(path) = views.control_file(self.parts.root())
        {
            return Err(self.denied(
                live,
                format!("`{path}` holds control files, which governed calls may not touch"),
            ));
        }
        if live.origin.passes_through(Gate::Skills)
            && let Some(limits) = &*self.skills.load()
        {
            let permits = |query: &PermissionQuery<'_>| limits.permits_call(query);
            views
                .permitted(&live.frame.tool, permits)
                .map_err(|reason| self.denied(live, reason))?;
        }
        if !live.origin.passes_through(Gate::Permission) {
            return Ok(());
        }
        let verdict = views
            .verdict(&live.frame.tool, &*self.parts.permissions)
            .await;
        match verdict.decision {
            PermissionDecision::Allow => Ok(()),
            PermissionDecision::Deny => Err(self.denied(live, verdict.reason)),
            PermissionDecision::Ask if !live.origin.passes_through(Gate::Confirmation) => Ok(()),
            PermissionDecision::Ask => self.confirm(live, verdict.reason).await,
        }
    }

    /// Asks a person; with nobody to answer the call is refused.
    async fn confirm(&self, live: &Live, reason: String) -> Result<(), ToolError> {
        let Some(provider) = &self.parts.confirmation else {
            return Err(self.denied(
                live,
                format!(
                    "{reason}; nobody can be asked: allow the call in `permissionPolicy`, or enable `confirmationPolicy` and answer"
                ),
            ));
        };
        let timeout = self.parts.confirmation_timeout;
        let asked = provider.confirm(ConfirmationRequest {
            tool_id: live.frame.id.clone(),
            tool_name: live.frame.tool.clone(),
            args: Arc::clone(&live.args),
            session_id: self.parts.session_id.to_string(),
            reason,
            timeout,
        });
        // The question waits before it is announced: a fast answer finds it.
        self.parts
            .events
            .emit(live.frame.run.as_deref(), "confirmation_required", || {
                json!({ "toolId": live.frame.id, "toolName": live.frame.tool, "args": *live.args,
                    "timeoutMs": millis(timeout) })
            });
        let outcome = match AssertUnwindSafe(asked).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => ConfirmationOutcome::Unavailable {
                reason: "the confirmation provider failed".to_owned(),
            },
        };
        let (approved, event, said) = match outcome {
            ConfirmationOutcome::Approved { reason } => (true, "confirmation_received", reason),
            ConfirmationOutcome::Rejected { reason } => (false, "confirmation_received", reason),
            ConfirmationOutcome::TimedOut { approved } => (approved, "confirmation_timeout", None),
            ConfirmationOutcome::Unavailable { reason } => {
                return Err(self.denied(live, reason));
            }
        };
        self.parts.events.emit(live.frame.run.as_deref(), event, || {
            json!({ "toolId": live.frame.id, "toolName": live.frame.tool, "approved": approved,
                    "actionTaken": if approved { "auto_approve" } else { "reject" }, "reason": said })
        });
        if approved {
            return Ok(());
        }
        let why = match (event, said) {
            ("confirmation_timeout", _) => "nobody confirmed the call in time".to_owned(),
            (_, Some(said)) => format!("the call was rejected: {said}"),
            (_, None) => "the call was rejected".to_owned(),
        };
        Err(self.denied(live, why))
    }

    fn denied(&self, live: &Live, reason: String) -> ToolError {
        self.parts
            .events
            .emit(live.frame.run.as_deref(), "permission_denied", || {
                json!({ "toolId": live.frame.id, "toolName": live.frame.tool, "args": *live.args,
                    "reason": reason })
            });
        ToolError::new(
            ToolErrorKind::PermissionDenied {
                reason: reason.clone(),
            },
            format!(
                "Permission denied for `{}`: {reason}. Do not repeat the call unchanged.",
                live.frame.tool
            ),
        )
    }

    async fn budget(&self, live: &Live) -> Result<(), ToolError> {
        let Some(guard) = &self.parts.budget else {
            return Ok(());
        };
        match check_budget(&**guard, &self.parts.session_id, &live.frame.tool).await {
            BudgetDecision::Allow => Ok(()),
            BudgetDecision::Soft {
                resource,
                consumed,
                limit,
                message,
            } => {
                self.parts
                    .events
                    .emit(live.frame.run.as_deref(), "budget_threshold_hit", || {
                        json!({ "resource": resource, "kind": "soft", "consumed": consumed,
                            "limit": limit, "message": message })
                    });
                Ok(())
            }
            BudgetDecision::Deny { resource, reason } => {
                self.parts
                    .events
                    .emit(live.frame.run.as_deref(), "budget_threshold_hit", || {
                        json!({ "resource": resource, "kind": "hard", "consumed": 0, "limit": 0,
                            "message": reason })
                    });
                let mut refusal = ToolError::new(
                    ToolErrorKind::PermissionDenied {
                        reason: format!("the budget `{resource}` is used up: {reason}"),
                    },
                    format!("Refused: the budget `{resource}` is used up: {reason}"),
                );
                refusal
                    .metadata
                    .insert("budget_exhausted".to_owned(), Value::String(resource));
                Err(refusal)
            }
        }
    }

    /// What keeps the content of some files from a governed search that was allowed.
    fn refused_content(&self, live: &Live) -> Option<RefusedContent> {
        let checker = &self.parts.permissions;
        if !live.origin.passes_through(Gate::Permission) || !checker.refuses_files() {
            return None;
        }
        let checker = Arc::clone(checker);
        let root = self
            .workspace()
            .ok()?
            .root()
            .trim_end_matches('/')
            .to_owned();
        Some(Arc::new(move |ways| {
            let absolute: Vec<String> = ways.iter().map(|path| format!("{root}/{path}")).collect();
            let all: Vec<&str> = ways
                .iter()
                .copied()
                .chain(absolute.iter().map(|path| &**path))
                .collect();
            checker.refuses_content(&all)
        }))
    }

    /// Runs the tool under its deadline and its cancellation.
    async fn run(
        self: &Arc<Self>,
        live: &Live,
        invocation: &Invocation,
        admitted: Admitted,
    ) -> Result<Ended, CodeError> {
        let tool = &admitted.registered.tool;
        let limit = [self.parts.tool_timeout, tool.timeout(&live.args)]
            .into_iter()
            .flatten()
            .min();
        let resources = ResourceScope::default();
        let _releasing = ReleaseOnDrop(resources.clone());
        let _listed = self.active.begin(&live.frame.id, &live.frame.tool);
        self.parts
            .events
            .emit(live.frame.run.as_deref(), "tool_execution_start", || {
                json!({ "toolId": live.frame.id, "toolName": live.frame.tool, "args": *live.args,
                    "origin": live.origin.as_str() })
            });
        let call = ToolCall {
            id: live.frame.id.clone(),
            session_id: Arc::clone(&self.parts.session_id),
            args: Arc::clone(&live.args),
            workspace: self.workspace()?,
            cancellation: live.frame.scope.clone(),
            deadline: limit.map(|limit| live.started + limit),
            max_output_bytes: self.parts.policy.policy().max_output_bytes as usize,
            value_wanted: invocation.value_wanted,
            output: self.output_sink(live),
            resources,
            session_resources: self.resources.clone(),
            runtime: InvocationRuntime::new(
                Arc::downgrade(self),
                Arc::clone(&live.frame),
                Arc::clone(&invocation.surface),
                invocation.caller.clone(),
            ),
            caller: invocation.caller.clone(),
            artifacts: self.parts.artifacts.clone(),
            command_env: Arc::clone(&self.parts.command_env),
            processes: self.processes.clone(),
            off_limits: live
                .origin
                .passes_through(Gate::ControlFiles)
                .then_some(leads_to_control_file),
            refused_content: self.refused_content(live),
        };
        let running = AssertUnwindSafe(tool.run(call)).catch_unwind();
        let ended = match supervise(running, limit, &live.frame.scope).await {
            Stopped::Done(Ok(done)) => Ended::done(done),
            Stopped::Done(Err(panic)) => {
                return Err(CodeError::Panic {
                    place: live.frame.tool.clone(),
                    message: panic_message(&*panic),
                });
            }
            Stopped::TimedOut(limit) => {
                Ended::ran(timed_out(&live.frame.tool, limit, &admitted.capabilities))
            }
            Stopped::Cancelled => Ended::ran(was_cancelled(&live.frame.tool)),
        };
        // Nothing can be started from the call any more, and what it started is cancelled.
        live.frame.end();
        Ok(ended)
    }

    fn output_sink(&self, live: &Live) -> OutputSink {
        let events = Arc::clone(&self.parts.events);
        let security = self.parts.security.clone();
        let frame = Arc::clone(&live.frame);
        OutputSink::new(move |text| {
            events.emit(frame.run.as_deref(), "tool_output_delta", || {
                let text = match &security {
                    Some(security) => sanitize_text(&**security, text),
                    None => text.into(),
                };
                json!({ "toolId": frame.id, "toolName": frame.tool, "text": text })
            });
        })
    }

    /// Sanitises, projects and accounts for what came back, and tells everybody.
    async fn settle(&self, live: &Live, ended: Ended) -> Settled {
        let Ended {
            mut output,
            mut exit_code,
            ran,
        } = ended;
        let mut value = output.value.take();
        if let Some(too_large) = value.as_ref().and_then(|value| oversized(live, value)) {
            output = ToolOutput {
                error_kind: Some(too_large.kind),
                ..ToolOutput::failure(too_large.message)
            };
            exit_code = 1;
            value = None;
        }
        let mut error_kind = output.error_kind.take();
        if let Some(security) = &self.parts.security {
            if let std::borrow::Cow::Owned(clean) = sanitize_text(&**security, &output.text) {
                output.text = clean;
            }
            value = value.map(|value| clean_value(&**security, value));
            error_kind = error_kind.map(|kind| clean_kind(&**security, kind));
            let mut metadata = Value::Object(std::mem::take(&mut output.metadata));
            sanitize_value(&**security, &mut metadata);
            if let Value::Object(clean) = metadata {
                output.metadata = clean;
            }
        }
        let text = evidence::account(
            &live.frame.tool,
            output.text,
            &self.parts.policy,
            &self.parts.artifacts,
            &mut output.metadata,
        );
        let result = ToolResult {
            name: live.frame.tool.clone(),
            output: text,
            exit_code,
            metadata: Some(Value::Object(output.metadata)),
            error_kind,
            trust: output.trust,
        };
        if ran {
            self.after_run(live, &result).await;
        }
        self.parts
            .events
            .emit(live.frame.run.as_deref(), "tool_end", || {
                json!({ "toolId": live.frame.id, "toolName": live.frame.tool, "args": *live.args,
                    "output": result.output, "exitCode": result.exit_code,
                    "metadata": result.metadata, "errorKind": result.error_kind,
                    "origin": live.origin.as_str() })
            });
        Settled { result, value }
    }

    async fn after_run(&self, live: &Live, result: &ToolResult) {
        if self.parts.hooks.count() > 0 {
            let seen = HookResult {
                success: result.exit_code == 0,
                output: result.output.clone(),
                exit_code: result.exit_code,
                duration_ms: millis(live.started.elapsed()),
            };
            let event = self.hook_event(live, HookPoint::PostToolUse, Some(seen));
            // A hook that watches and fails changes nothing.
            let _faults = self.parts.hooks.post_tool(&event).await;
        }
        if let Some(guard) = &self.parts.budget {
            record_budget(&**guard, &self.parts.session_id, &live.frame.tool).await;
        }
    }

    fn hook_event(&self, live: &Live, point: HookPoint, result: Option<HookResult>) -> HookEvent {
        HookEvent {
            name: point,
            session_id: self.parts.session_id.to_string(),
            tool_id: live.frame.id.clone(),
            tool: live.frame.tool.clone(),
            origin: live.origin.as_str(),
            args: Arc::clone(&live.args),
            result,
        }
    }
}

/// A call that passed every stage before the tool runs.
struct Admitted {
    registered: Arc<Registered>,
    capabilities: ToolCapabilities,
    _slot: super::admission::Slot,
}

impl Ended {
    fn refused(refusal: ToolError) -> Self {
        Self {
            ran: false,
            ..Self::ran(refusal)
        }
    }

    fn ran(failure: ToolError) -> Self {
        Self {
            output: ToolOutput {
                text: failure.message,
                metadata: failure.metadata,
                error_kind: Some(failure.kind),
                ..ToolOutput::default()
            },
            exit_code: 1,
            ran: true,
        }
    }

    fn done(done: Result<ToolOutput, ToolError>) -> Self {
        match done {
            Ok(output) => Self {
                exit_code: i32::from(!output.success),
                output,
                ran: true,
            },
            Err(failure) => Self::ran(failure),
        }
    }
}

/// Whether a path whose links are resolved is that of a control file: a link may have led there.
fn leads_to_control_file(real: &WorkspacePath) -> bool {
    let used = PathUse {
        path: real.as_str().to_owned(),
        write: true,
    };
    control_file(&[used]).is_some()
}

fn resolve(live: &Live, invocation: &Invocation) -> Result<Arc<Registered>, ToolError> {
    let registered = live.registered.as_ref().ok_or_else(|| {
        ToolError::invalid(
            "name",
            format!(
                "There is no tool named `{}` in this session.",
                live.frame.tool
            ),
        )
    })?;
    if let Some(only) = &invocation.only
        && !only.contains(&live.frame.tool)
    {
        return Err(ToolError::new(
            ToolErrorKind::PermissionDenied {
                reason: "the surrounding call may not use this tool".to_owned(),
            },
            format!(
                "Permission denied: `{}` is not among the tools the surrounding call may use.",
                live.frame.tool
            ),
        ));
    }
    Ok(Arc::clone(registered))
}

fn guard_recursion(live: &Live) -> Result<(), ToolError> {
    match &live.frame.parent {
        Some(parent) if parent.runs(&live.frame.tool) => Err(ToolError::invalid(
            "name",
            format!(
                "Refused: `{}` is already running above this call, and a tool may not call back into itself.",
                live.frame.tool
            ),
        )),
        _ => Ok(()),
    }
}

fn validate(registered: &Registered, args: &Value) -> Result<(), ToolError> {
    registered.schema.check(args).map_err(|violations| {
        let message = violations.message;
        ToolError::new(
            ToolErrorKind::InvalidArgument {
                argument: violations.argument,
                message: message.clone(),
                bound: None,
            },
            format!(
                "Invalid arguments for `{}`: {message}\n[The same arguments will be refused again; change them.]",
                registered.definition.name
            ),
        )
    })
}

/// How supervising a tool ended.
enum Stopped<T> {
    Done(T),
    TimedOut(Duration),
    Cancelled,
}

/// Waits for the tool, its time limit or its cancellation, whichever comes first. After the last two the tool
/// gets a short grace to leave things tidy; then it is dropped, which stops it.
async fn supervise<F: Future>(
    running: F,
    limit: Option<Duration>,
    scope: &CancellationToken,
) -> Stopped<F::Output> {
    tokio::pin!(running);
    // Most calls end at once: no timer is made for them.
    if let Some(done) = running.as_mut().now_or_never() {
        return Stopped::Done(done);
    }
    let out_of_time = async {
        match limit {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    let stopped = tokio::select! {
        biased;
        // First: a tool that ends because it was told to stop was cancelled.
        () = scope.cancelled() => Stopped::Cancelled,
        done = &mut running => return Stopped::Done(done),
        limit = out_of_time => Stopped::TimedOut(limit),
    };
    scope.cancel();
    let _ = tokio::time::timeout(SETTLE_GRACE, running).await;
    stopped
}

fn was_cancelled(tool: &str) -> ToolError {
    ToolError::new(
        ToolErrorKind::Cancelled {
            op: tool.to_owned(),
        },
        format!("`{tool}` was cancelled."),
    )
}

fn timed_out(tool: &str, limit: Duration, capabilities: &ToolCapabilities) -> ToolError {
    let mut failure = ToolError::new(
        ToolErrorKind::Timeout {
            op: tool.to_owned(),
            duration_ms: millis(limit),
        },
        format!("`{tool}` did not end within {} ms.", limit.as_millis()),
    );
    // What may have had an effect, and may not be repeated, is reported as not known.
    if !capabilities.read_only && !capabilities.idempotent {
        failure
            .metadata
            .insert("outcome".to_owned(), Value::String("unknown".to_owned()));
    }
    failure
}

fn oversized(live: &Live, value: &ToolValue) -> Option<ToolError> {
    (value.len() > MAX_VALUE_BYTES).then(|| {
        ToolError::new(
            ToolErrorKind::TooLarge {
                path: live.frame.tool.clone(),
                size_bytes: value.len() as u64,
                max_bytes: MAX_VALUE_BYTES as u64,
            },
            format!(
                "`{}` has {} bytes of content; the most is {MAX_VALUE_BYTES}.",
                live.frame.tool,
                value.len()
            ),
        )
    })
}

fn clean_value(security: &dyn crate::governance::SecurityProvider, value: ToolValue) -> ToolValue {
    match value {
        ToolValue::Text(text) => ToolValue::Text(sanitize_text(security, &text).into_owned()),
        ToolValue::Paths(paths) => ToolValue::Paths(
            paths
                .into_iter()
                .map(|path| sanitize_text(security, &path).into_owned())
                .collect(),
        ),
    }
}

fn clean_kind(
    security: &dyn crate::governance::SecurityProvider,
    kind: ToolErrorKind,
) -> ToolErrorKind {
    let Ok(mut raw) = serde_json::to_value(&kind) else {
        return kind;
    };
    sanitize_value(security, &mut raw);
    serde_json::from_value(raw).unwrap_or(kind)
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

struct EndOnDrop(Arc<Frame>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

struct ReleaseOnDrop(ResourceScope);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release();
    }
}
