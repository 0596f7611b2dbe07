//! The calls of one answer: read, guarded against repetition, and carried out through the kernel.
//!
//! Calls that declare themselves safe to run beside each other do when they stand side by side; every other one
//! runs alone, in the order in which the model gave them. Results come in the order of the calls.

use crate::error::Result;
use crate::event::RunFeed;
use crate::kernel::{CallFault, Invocation, Kernel, Origin, Settled, Surface};
use crate::model::LlmToolCall;
use crate::tools::Caller;
use a3s_code_contract::ContentBlock;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most calls that run beside each other.
const BESIDE: usize = 8;
/// Most bytes of a text that was to be arguments and is quoted back.
const QUOTED_BYTES: usize = 200;

/// A call as it will be carried out.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its id, unique in the transcript.
    pub(super) id: String,
    /// Name as the model gave it.
    pub(super) name: String,
    /// Its arguments; text where they are no JSON.
    pub(super) args: Value,
    /// Why it is refused before anything is looked at.
    pub(super) fault: Option<CallFault>,
}

/// Reads the calls of an answer.
pub(super) fn read(calls: &[LlmToolCall], taken: &BTreeSet<String>) -> Vec<Call> {
    let mut taken = taken.clone();
    calls
        .iter()
        .map(|call| {
            let (args, mut fault) = arguments(&call.arguments);
            let mut id = call.id.clone();
            if id.is_empty() || !taken.insert(id.clone()) {
                let what = if id.is_empty() {
                    "is empty"
                } else {
                    "was used before"
                };
                fault = fault.or_else(|| {
                    Some(format!(
                        "The id of the call {what}; give every call an id of its own."
                    ))
                });
                id = format!("call-{}", uuid::Uuid::new_v4().simple());
                taken.insert(id.clone());
            }
            Call {
                id,
                name: call.name.clone(),
                args,
                fault: fault.map(|message| CallFault {
                    message,
                    guard: None,
                }),
            }
        })
        .collect()
}

fn arguments(text: &str) -> (Value, Option<String>) {
    if text.trim().is_empty() {
        return (json!({}), None);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => (value, None),
        Ok(value) => {
            let fault = "The arguments must be one JSON object.".to_owned();
            (value, Some(fault))
        }
        Err(error) => {
            let quoted = &text[..text.floor_char_boundary(QUOTED_BYTES)];
            let fault = format!(
                "The arguments are not JSON ({error}); they begin with: {quoted}\nNothing was done. Send the call again with the arguments as one JSON object."
            );
            (Value::String(text.to_owned()), Some(fault))
        }
    }
}

/// Stops a model that makes the same call again and again.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    last: Option<(String, Value)>,
    times: u32,
}

impl Repetition {
    /// Marks the calls that are one too many of their kind.
    pub(super) fn guard(&mut self, calls: &mut [Call], threshold: u32) {
        for at in 0..calls.len() {
            let same_response = calls[..at].iter().any(|earlier| {
                earlier.fault.is_none()
                    && earlier.name == calls[at].name
                    && earlier.args == calls[at].args
            });
            let call = &mut calls[at];
            if call.fault.is_some() {
                continue;
            }
            if same_response {
                call.fault = Some(CallFault {
                    message:
                        "The same call stands earlier in this answer; it was carried out once."
                            .to_owned(),
                    guard: Some("same_response_duplicate"),
                });
                continue;
            }
            let this = (call.name.clone(), call.args.clone());
            if self.last.as_ref() == Some(&this) {
                self.times += 1;
            } else {
                self.last = Some(this);
                self.times = 1;
            }
            if self.times >= threshold.max(2) {
                call.fault = Some(CallFault {
                    message: format!(
                        "This call was made {} times in a row with the same arguments and was not carried out again. Do something else, or end with an answer.",
                        self.times
                    ),
                    guard: Some("duplicate_tool_call"),
                });
            }
        }
    }
}

/// What calls are carried out with.
pub(super) struct Carrier<'a> {
    pub(super) kernel: &'a Arc<Kernel>,
    pub(super) surface: &'a Arc<Surface>,
    pub(super) feed: &'a Arc<RunFeed>,
    pub(super) scope: &'a CancellationToken,
    pub(super) caller: &'a Caller,
}

impl Carrier<'_> {
    /// Carries out the calls; one result a call, in their order.
    ///
    /// # Errors
    /// The session was closed, or a tool panicked.
    pub(super) async fn carry_out(&self, calls: Vec<Call>) -> Result<Vec<ContentBlock>> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls.into_iter().peekable();
        while let Some(call) = rest.next() {
            self.feed.room().await;
            let mut beside = vec![call];
            let mut most = self.parallelism(&beside[0]);
            while most > 1
                && let Some(next) = rest.peek()
                && self.parallelism(next) > 1
            {
                most = most.min(self.parallelism(next));
                beside.extend(rest.next());
            }
            let mut running =
                futures_util::stream::iter(beside.into_iter().map(|call| self.one(call)))
                    .buffered(most.clamp(1, BESIDE));
            while let Some(result) = running.next().await {
                results.push(result?);
            }
        }
        Ok(results)
    }

    /// How many calls like this may run beside each other; 1 for those that run alone.
    fn parallelism(&self, call: &Call) -> usize {
        if call.fault.is_some() {
            return 1;
        }
        self.surface.resolve(&call.name).map_or(1, |registered| {
            let capabilities = registered.tool.capabilities(&call.args);
            if capabilities.parallel_safe() {
                capabilities.max_parallelism as usize
            } else {
                1
            }
        })
    }

    async fn one(&self, call: Call) -> Result<ContentBlock> {
        let Settled { result, .. } = self
            .kernel
            .invoke(Invocation {
                id: Some(call.id.clone()),
                run: Some(Arc::clone(self.feed)),
                fault: call.fault,
                name: call.name,
                args: Arc::new(call.args),
                origin: Origin::AGENT,
                parent: None,
                scope: self.scope.clone(),
                surface: Arc::clone(self.surface),
                only: None,
                caller: self.caller.clone(),
                value_wanted: false,
            })
            .await?;
        Ok(ContentBlock::ToolResult {
            tool_use_id: call.id,
            content: result.output,
            is_error: result.exit_code != 0,
        })
    }
}
