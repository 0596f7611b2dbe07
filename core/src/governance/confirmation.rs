//! Questions to a person about single calls.
//!
//! Invariants: every question is settled exactly once, by an answer, by its timer, or because the call
//! that waited for it went away; two calls never wait under one id; the observer sees a beginning and an
//! end for each. A question is pending from the moment [`ConfirmationProvider::confirm`] is called, so an
//! answer that comes back at once finds it.

use a3s_code_contract::{ConfirmationPolicy, TimeoutAction};
use async_trait::async_trait;
use serde_json::Value;
use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Longest wait for an answer.
const MAX_TIMEOUT_MS: u32 = 86_400_000;
/// Wait for an answer when nothing else is said.
const DEFAULT_TIMEOUT_MS: u32 = 30_000;
/// Most questions that wait at once.
const MAX_PENDING: usize = 1024;
/// The lanes a policy may name.
const LANES: &[&str] = &["control", "query", "execute", "generate"];

/// A question about one call.
#[derive(Clone, Debug)]
pub struct ConfirmationRequest {
    /// Id of the call.
    pub tool_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments.
    pub args: Arc<Value>,
    /// Id of the session.
    pub session_id: String,
    /// Why it is asked.
    pub reason: String,
    /// How long to wait for an answer.
    pub timeout: Duration,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfirmationOutcome {
    /// Run the call.
    Approved {
        /// What the person said.
        reason: Option<String>,
    },
    /// Do not run it.
    Rejected {
        /// What the person said.
        reason: Option<String>,
    },
    /// Nobody answered in time.
    TimedOut {
        /// Whether the policy runs the call then.
        approved: bool,
    },
    /// There is nobody to ask.
    Unavailable {
        /// Why, naming the option that would change it.
        reason: String,
    },
}

/// Asks a person. Dropping the future takes the question back.
#[async_trait]
pub trait ConfirmationProvider: Send + Sync {
    /// Asks and waits for the answer, never longer than the request's timeout.
    async fn confirm(&self, request: ConfirmationRequest) -> ConfirmationOutcome;
}

/// A question that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingConfirmation {
    /// Id of the call.
    pub tool_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments.
    pub args: Arc<Value>,
    /// Why it is asked.
    pub reason: String,
    /// How long it still waits, in milliseconds.
    pub remaining_ms: u32,
}

/// What an observer is told.
#[derive(Clone, Debug)]
pub enum ConfirmationNotice {
    /// A question waits and can be answered.
    Requested(ConfirmationRequest),
    /// A question was settled.
    Settled {
        /// Id of the call.
        tool_id: String,
        /// Name of the tool.
        tool_name: String,
        /// How.
        outcome: ConfirmationOutcome,
    },
}

/// Sees questions come and go. What it does, panics included, changes nothing.
pub type ConfirmationObserver = Arc<dyn Fn(&ConfirmationNotice) + Send + Sync>;

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmationPolicyError {
    /// The timeout is out of bounds.
    #[error("`confirmationPolicy.defaultTimeoutMs` is {value}: it must be 1 to {MAX_TIMEOUT_MS}")]
    Timeout {
        /// What was given.
        value: u32,
    },
    /// There is no such lane.
    #[error(
        "`confirmationPolicy.yoloLanes` names `{lane}`: the lanes are control, query, execute and generate"
    )]
    Lane {
        /// What was given.
        lane: String,
    },
}

struct Entry {
    serial: u64,
    request: ConfirmationRequest,
    deadline: Instant,
    answer: oneshot::Sender<ConfirmationOutcome>,
}

#[derive(Default)]
struct Pending {
    entries: HashMap<String, Entry>,
    next_serial: u64,
}

/// The built-in provider: questions wait here until somebody answers.
pub struct ConfirmationQueue {
    policy: ConfirmationPolicy,
    pending: Arc<Mutex<Pending>>,
    observer: Option<ConfirmationObserver>,
}

impl ConfirmationQueue {
    /// A queue under a policy.
    ///
    /// # Errors
    /// A timeout that is not 1 to 86,400,000 ms, a lane that does not exist.
    pub fn new(policy: ConfirmationPolicy) -> Result<Self, ConfirmationPolicyError> {
        if let Some(value) = policy.default_timeout_ms
            && !(1..=MAX_TIMEOUT_MS).contains(&value)
        {
            return Err(ConfirmationPolicyError::Timeout { value });
        }
        if let Some(lane) = policy
            .yolo_lanes
            .iter()
            .find(|lane| !LANES.contains(&lane.as_str()))
        {
            return Err(ConfirmationPolicyError::Lane { lane: lane.clone() });
        }
        Ok(Self {
            policy,
            pending: Arc::default(),
            observer: None,
        })
    }

    /// The same queue, watched.
    #[must_use]
    pub fn with_observer(mut self, observer: ConfirmationObserver) -> Self {
        self.observer = Some(observer);
        self
    }

    /// How long a question waits unless its request says otherwise.
    #[must_use]
    pub fn default_timeout(&self) -> Duration {
        Duration::from_millis(u64::from(
            self.policy.default_timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        ))
    }

    /// The questions that wait, oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingConfirmation> {
        let now = Instant::now();
        let pending = lock(&self.pending);
        let mut entries: Vec<&Entry> = pending.entries.values().collect();
        entries.sort_by_key(|entry| entry.serial);
        entries
            .into_iter()
            .map(|entry| PendingConfirmation {
                tool_id: entry.request.tool_id.clone(),
                tool_name: entry.request.tool_name.clone(),
                args: Arc::clone(&entry.request.args),
                reason: entry.request.reason.clone(),
                remaining_ms: u32::try_from(
                    entry.deadline.saturating_duration_since(now).as_millis(),
                )
                .unwrap_or(u32::MAX),
            })
            .collect()
    }

    /// Answers a question. True when a call waited for it.
    pub fn answer(&self, tool_id: &str, approved: bool, reason: Option<String>) -> bool {
        let entry = lock(&self.pending).entries.remove(tool_id);
        let outcome = if approved {
            ConfirmationOutcome::Approved { reason }
        } else {
            ConfirmationOutcome::Rejected { reason }
        };
        entry.is_some_and(|entry| entry.answer.send(outcome).is_ok())
    }

    /// Rejects every question that waits, and says how many there were.
    pub fn cancel_all(&self) -> usize {
        let entries = std::mem::take(&mut lock(&self.pending).entries);
        entries
            .into_values()
            .filter_map(|entry| {
                entry
                    .answer
                    .send(rejected("the question was cancelled"))
                    .ok()
            })
            .count()
    }

    /// The outcome of what needs no waiting, or the question, now pending.
    fn ask(&self, request: ConfirmationRequest) -> Result<Question, ConfirmationOutcome> {
        if !self.policy.enabled {
            return Err(ConfirmationOutcome::Unavailable {
                reason: format!(
                    "{}; nobody can be asked because `confirmationPolicy.enabled` is false",
                    request.reason
                ),
            });
        }
        let lane = lane_of(&request.tool_name);
        if self.policy.yolo_lanes.iter().any(|name| name == lane) {
            return Err(ConfirmationOutcome::Approved {
                reason: Some(format!("`confirmationPolicy.yoloLanes` holds `{lane}`")),
            });
        }
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + request.timeout;
        let serial = {
            let mut pending = lock(&self.pending);
            if let Some(first) = pending.entries.remove(&request.tool_id) {
                // Nobody can tell which of the two an answer means.
                let _ = first.answer.send(rejected("another call has the same id"));
                return Err(rejected("another call has the same id"));
            }
            if pending.entries.len() >= MAX_PENDING {
                return Err(ConfirmationOutcome::Unavailable {
                    reason: format!("{MAX_PENDING} questions already wait for an answer"),
                });
            }
            pending.next_serial += 1;
            let serial = pending.next_serial;
            pending.entries.insert(
                request.tool_id.clone(),
                Entry {
                    serial,
                    request: request.clone(),
                    deadline,
                    answer,
                },
            );
            serial
        };
        let question = Question {
            pending: Arc::clone(&self.pending),
            observer: self.observer.clone(),
            tool_id: request.tool_id.clone(),
            tool_name: request.tool_name.clone(),
            serial,
            deadline,
            approved_on_timeout: self.policy.timeout_action == TimeoutAction::AutoApprove,
            answered,
            settled: false,
        };
        tell(self.observer.as_ref(), || {
            ConfirmationNotice::Requested(request)
        });
        Ok(question)
    }
}

impl ConfirmationProvider for ConfirmationQueue {
    fn confirm<'life0, 'async_trait>(
        &'life0 self,
        request: ConfirmationRequest,
    ) -> Pin<Box<dyn Future<Output = ConfirmationOutcome> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        match self.ask(request) {
            Ok(question) => Box::pin(question.wait()),
            Err(outcome) => Box::pin(std::future::ready(outcome)),
        }
    }
}

/// A question that waits; dropping it takes it back.
struct Question {
    pending: Arc<Mutex<Pending>>,
    observer: Option<ConfirmationObserver>,
    tool_id: String,
    tool_name: String,
    serial: u64,
    deadline: Instant,
    approved_on_timeout: bool,
    answered: oneshot::Receiver<ConfirmationOutcome>,
    settled: bool,
}

impl Question {
    async fn wait(mut self) -> ConfirmationOutcome {
        let outcome = match tokio::time::timeout_at(self.deadline, &mut self.answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| rejected("the question was taken back")),
            Err(_) => {
                self.remove();
                // An answer that came in at the last moment counts.
                self.answered
                    .try_recv()
                    .unwrap_or(ConfirmationOutcome::TimedOut {
                        approved: self.approved_on_timeout,
                    })
            }
        };
        self.settle(&outcome);
        outcome
    }

    fn remove(&self) {
        let mut pending = lock(&self.pending);
        if pending
            .entries
            .get(&self.tool_id)
            .is_some_and(|entry| entry.serial == self.serial)
        {
            pending.entries.remove(&self.tool_id);
        }
    }

    fn settle(&mut self, outcome: &ConfirmationOutcome) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        tell(self.observer.as_ref(), || ConfirmationNotice::Settled {
            tool_id: self.tool_id.clone(),
            tool_name: self.tool_name.clone(),
            outcome: outcome.clone(),
        });
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.settled {
            self.remove();
            self.settle(&rejected("the call was cancelled"));
        }
    }
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(observer: Option<&ConfirmationObserver>, notice: impl FnOnce() -> ConfirmationNotice) {
    if let Some(observer) = observer {
        let notice = notice();
        let _ = catch_unwind(AssertUnwindSafe(|| observer(&notice)));
    }
}

fn rejected(reason: &str) -> ConfirmationOutcome {
    ConfirmationOutcome::Rejected {
        reason: Some(reason.to_owned()),
    }
}

/// The lane a tool's calls belong to.
fn lane_of(tool: &str) -> &'static str {
    match tool {
        "read" | "ls" | "search" | "web_fetch" | "web_search" => "query",
        "generate_object" => "generate",
        _ if tool.starts_with("code_") => "query",
        _ => "execute",
    }
}
