//! Hooks: code of the application that sees calls before and after they run.
//!
//! Invariants: a hook that fails, hangs, panics or answers in a wrong form before a call refuses it; after
//! a call it changes nothing and is reported. Hooks run in the order of their priority, then of their
//! registration, each within its own time limit. A call sees the hooks that were registered when it began.

use super::hook_points::HookPoint;
use super::pattern::{Glob, normalized};
use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures_util::FutureExt;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Priority when nothing else is said; lower comes first.
const DEFAULT_PRIORITY: i32 = 100;
/// Time limit when nothing else is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time limit.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// Most hooks of a session.
const MAX_HOOKS: usize = 1024;
/// Most bytes of a pattern of a matcher.
const MAX_PATTERN_BYTES: usize = 4096;

/// How a call ended, as hooks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookResult {
    /// Whether it ended well.
    pub success: bool,
    /// Its text, as everybody sees it.
    pub output: String,
    /// Its exit code.
    pub exit_code: i32,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
}

/// What a hook is told.
#[derive(Clone, Debug)]
pub struct HookEvent {
    /// Where the call is.
    pub name: HookPoint,
    /// Id of the session.
    pub session_id: String,
    /// Id of the call.
    pub tool_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Who asked for the call.
    pub origin: &'static str,
    /// Its arguments.
    pub args: Arc<Value>,
    /// How it ended; none before it ran.
    pub result: Option<HookResult>,
}

impl HookEvent {
    /// The event as handlers outside this language receive it: `{event_type, payload}`.
    #[must_use]
    pub fn to_wire(&self) -> Value {
        let mut payload = json!({
            "session_id": self.session_id,
            "tool_id": self.tool_id,
            "tool": self.tool,
            "origin": self.origin,
            "args": *self.args,
        });
        if let (Some(result), Value::Object(map)) = (&self.result, &mut payload) {
            map.insert(
                "result".to_owned(),
                json!({
                    "success": result.success,
                    "output": result.output,
                    "exit_code": result.exit_code,
                    "duration_ms": result.duration_ms,
                }),
            );
        }
        json!({ "event_type": self.name.as_str(), "payload": payload })
    }
}

/// What a hook decides.
#[derive(Clone, Debug, PartialEq)]
pub enum HookDecision {
    /// Go on.
    Continue,
    /// Refuse.
    Block {
        /// Why.
        reason: String,
    },
    /// Leave the call out: it is refused, and trying again is of no use.
    Skip,
    /// Refuse for now.
    Retry {
        /// How long to wait, in milliseconds.
        delay_ms: Option<u32>,
        /// Why.
        reason: String,
    },
    /// Go on with other arguments: an object, or one that holds them under `updatedInput`,
    /// `updated_input` or `args`, also inside `hookSpecificOutput`.
    Modify(Value),
}

/// A hook could not decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HookFailure {
    /// What happened.
    pub message: String,
}

/// Code of a hook.
#[async_trait]
pub trait HookHandler: Send + Sync {
    /// Sees an event and decides. Dropping the future ends it.
    ///
    /// # Errors
    /// Before a call an error refuses it; after a call it is reported.
    async fn handle(&self, event: &HookEvent) -> Result<HookDecision, HookFailure>;
}

/// Which calls a hook sees: all that fit every field given.
#[derive(Clone, Debug, Default)]
pub struct HookMatcher {
    tool: Option<String>,
    path: Option<Glob>,
    command: Option<Regex>,
    session_id: Option<String>,
}

impl HookMatcher {
    /// Every call.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Only calls of this tool, by its exact name.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Only calls of this session.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Only calls with a path in `path`, `file_path` or `files` that fits a glob: `*` within a folder,
    /// `**` across folders, `?` one character. At most 4 KiB.
    ///
    /// # Errors
    /// A pattern that cannot be used.
    pub fn path_pattern(mut self, pattern: &str) -> Result<Self, HookError> {
        let glob = (pattern.len() <= MAX_PATTERN_BYTES)
            .then(|| Glob::new(pattern).ok())
            .flatten()
            .ok_or(HookError::Pattern {
                field: "path_pattern",
            })?;
        self.path = Some(glob);
        Ok(self)
    }

    /// Only commands in which a regular expression is found, at most 4 KiB, linear syntax.
    ///
    /// # Errors
    /// A pattern that cannot be used.
    pub fn command_pattern(mut self, pattern: &str) -> Result<Self, HookError> {
        let expression = (pattern.len() <= MAX_PATTERN_BYTES)
            .then(|| Regex::new(pattern).ok())
            .flatten()
            .ok_or(HookError::Pattern {
                field: "command_pattern",
            })?;
        self.command = Some(expression);
        Ok(self)
    }

    fn fits(&self, event: &HookEvent) -> bool {
        self.tool.as_ref().is_none_or(|tool| *tool == event.tool)
            && self
                .session_id
                .as_ref()
                .is_none_or(|id| *id == event.session_id)
            && self.command.as_ref().is_none_or(|expression| {
                matches!(event.tool.as_str(), "bash" | "background")
                    && event
                        .args
                        .get("command")
                        .and_then(Value::as_str)
                        .is_some_and(|command| expression.is_match(command))
            })
            && self.path.as_ref().is_none_or(|glob| {
                paths_of(&event.args)
                    .iter()
                    .any(|path| glob.matches(path) || glob.matches(&normalized(path)))
            })
    }
}

fn paths_of(args: &Value) -> Vec<&str> {
    let mut paths: Vec<&str> = ["file_path", "path"]
        .iter()
        .filter_map(|key| args.get(key).and_then(Value::as_str))
        .collect();
    if let Some(Value::Array(files)) = args.get("files") {
        paths.extend(files.iter().filter_map(|file| {
            file.get("file_path")
                .or_else(|| file.get("path"))
                .unwrap_or(file)
                .as_str()
        }));
    }
    paths
}

/// A hook that can be registered.
#[derive(Clone)]
pub struct Hook {
    /// Unique in its session.
    pub id: String,
    /// When it runs.
    pub point: HookPoint,
    /// Which calls it sees.
    pub matcher: HookMatcher,
    /// Lower comes first; 100 unless said otherwise.
    pub priority: i32,
    /// Its time limit, 1 ms to 1 h; 30 s unless said otherwise.
    pub timeout: Duration,
    /// Its code.
    pub handler: Arc<dyn HookHandler>,
}

impl Hook {
    /// A hook that sees every call, with priority 100 and 30 s.
    #[must_use]
    pub fn new(id: impl Into<String>, point: HookPoint, handler: Arc<dyn HookHandler>) -> Self {
        Self {
            id: id.into(),
            point,
            matcher: HookMatcher::any(),
            priority: DEFAULT_PRIORITY,
            timeout: DEFAULT_TIMEOUT,
            handler,
        }
    }
}

/// Why a hook is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The id is taken.
    #[error("a hook with the id `{id}` is registered already")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// Too many.
    #[error("a session takes at most {MAX_HOOKS} hooks")]
    TooMany,
    /// The time limit is out of bounds.
    #[error("`timeout` must be 1 ms to 1 h")]
    Timeout,
    /// A pattern cannot be used.
    #[error("`{field}` cannot be used: it is not valid or longer than {MAX_PATTERN_BYTES} bytes")]
    Pattern {
        /// Name of the field.
        field: &'static str,
    },
}

/// What the hooks before a call decided together.
#[derive(Clone, Debug, PartialEq)]
pub enum PreToolOutcome {
    /// Go on, with other arguments when there are some; they must be validated again.
    Continue {
        /// The other arguments.
        args: Option<Value>,
    },
    /// Refuse.
    Denied {
        /// Why.
        reason: String,
        /// Whether trying later can succeed.
        retryable: bool,
        /// How long to wait, in milliseconds.
        retry_after_ms: Option<u32>,
    },
}

impl PreToolOutcome {
    fn denied(reason: String) -> Self {
        Self::Denied {
            reason,
            retryable: false,
            retry_after_ms: None,
        }
    }
}

/// A hook that failed after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFault {
    /// Id of the hook.
    pub hook: String,
    /// What happened.
    pub message: String,
}

/// The hooks of a session.
#[derive(Default)]
pub struct Hooks {
    hooks: ArcSwap<Vec<Arc<Hook>>>,
    registration: Mutex<()>,
}

impl Hooks {
    /// Adds a hook; calls that have begun do not see it.
    ///
    /// # Errors
    /// An id that is taken, too many hooks, a time limit out of bounds.
    pub fn register(&self, hook: Hook) -> Result<(), HookError> {
        if hook.timeout < Duration::from_millis(1) || hook.timeout > MAX_TIMEOUT {
            return Err(HookError::Timeout);
        }
        let _one_at_a_time = self
            .registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut hooks = Vec::clone(&self.hooks.load());
        if hooks.iter().any(|other| other.id == hook.id) {
            return Err(HookError::DuplicateId { id: hook.id });
        }
        if hooks.len() >= MAX_HOOKS {
            return Err(HookError::TooMany);
        }
        hooks.push(Arc::new(hook));
        hooks.sort_by_key(|hook| hook.priority);
        self.hooks.store(Arc::new(hooks));
        Ok(())
    }

    /// Removes a hook; true when it was there.
    pub fn unregister(&self, id: &str) -> bool {
        let _one_at_a_time = self
            .registration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut hooks = Vec::clone(&self.hooks.load());
        let before = hooks.len();
        hooks.retain(|hook| hook.id != id);
        let found = hooks.len() < before;
        if found {
            self.hooks.store(Arc::new(hooks));
        }
        found
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.hooks.load().len()
    }

    /// Lets the hooks before a call decide. The first refusal ends it; each hook sees the arguments as the
    /// one before left them. Dropping the future ends the hook that is running.
    pub async fn pre_tool(&self, event: &HookEvent) -> PreToolOutcome {
        let hooks = self.hooks.load_full();
        let mut event = event.clone();
        let mut replaced = false;
        for hook in hooks.iter().filter(|hook| hook.point == event.name) {
            if !hook.matcher.fits(&event) {
                continue;
            }
            let decision = match run(hook, &event).await {
                Ok(decision) => decision,
                Err(message) => return PreToolOutcome::denied(message),
            };
            match decision {
                HookDecision::Continue => {}
                HookDecision::Block { reason } => return PreToolOutcome::denied(reason),
                HookDecision::Skip => {
                    return PreToolOutcome::denied(format!(
                        "the hook `{}` left the call out",
                        hook.id
                    ));
                }
                HookDecision::Retry { delay_ms, reason } => {
                    return PreToolOutcome::Denied {
                        reason,
                        retryable: true,
                        retry_after_ms: delay_ms,
                    };
                }
                HookDecision::Modify(modified) => match arguments_in(modified) {
                    Ok(args) => {
                        event.args = Arc::new(args);
                        replaced = true;
                    }
                    Err(why) => {
                        return PreToolOutcome::denied(format!("the hook `{}` {why}", hook.id));
                    }
                },
            }
        }
        PreToolOutcome::Continue {
            args: replaced.then(|| Value::clone(&event.args)),
        }
    }

    /// Shows a call that has ended to the hooks after it, and says which of them failed.
    pub async fn post_tool(&self, event: &HookEvent) -> Vec<HookFault> {
        let hooks = self.hooks.load_full();
        let mut faults = Vec::new();
        for hook in hooks.iter().filter(|hook| hook.point == event.name) {
            if !hook.matcher.fits(event) {
                continue;
            }
            if let Err(message) = run(hook, event).await {
                faults.push(HookFault {
                    hook: hook.id.clone(),
                    message,
                });
            }
        }
        faults
    }
}

async fn run(hook: &Hook, event: &HookEvent) -> Result<HookDecision, String> {
    // Inside an async block, so that a handler that panics before its first wait is caught too.
    let handled = AssertUnwindSafe(async { hook.handler.handle(event).await }).catch_unwind();
    match tokio::time::timeout(hook.timeout, handled).await {
        Ok(Ok(Ok(decision))) => Ok(decision),
        Ok(Ok(Err(failure))) => Err(format!("the hook `{}` failed: {failure}", hook.id)),
        Ok(Err(_)) => Err(format!("the hook `{}` failed", hook.id)),
        Err(_) => Err(format!(
            "the hook `{}` did not answer within {} ms",
            hook.id,
            hook.timeout.as_millis()
        )),
    }
}

/// The arguments in what a hook returned.
fn arguments_in(modified: Value) -> Result<Value, String> {
    let Value::Object(mut map) = modified else {
        return Err("returned arguments that are not an object".to_owned());
    };
    if let Some(inner) = map.remove("hookSpecificOutput") {
        let Value::Object(inner) = inner else {
            return Err("returned a `hookSpecificOutput` that is not an object".to_owned());
        };
        if inner.get("permissionDecision").and_then(Value::as_str) == Some("deny") {
            let reason = inner
                .get("permissionDecisionReason")
                .and_then(Value::as_str);
            return Err(format!(
                "refused: {}",
                reason.unwrap_or("no reason was given")
            ));
        }
        map = inner;
    }
    match wrapped(&mut map) {
        Some(args @ Value::Object(_)) => Ok(args),
        Some(_) => Err("returned arguments that are not an object".to_owned()),
        None => Ok(Value::Object(map)),
    }
}

fn wrapped(map: &mut Map<String, Value>) -> Option<Value> {
    ["updatedInput", "updated_input", "args"]
        .iter()
        .find_map(|key| map.remove(*key))
}
