//! One run, from the prompt to the last word.
//!
//! ```text
//! prompt > [ budget > ask the model > answer > calls? > carry them out > results ] ... > the last word
//! ```

use super::calls::{Carrier, Repetition, read};
use super::context::system_prompt;
use super::{Conversation, Lease, RunOptions};
use crate::error::{CodeError, Result};
use crate::event::{EventBus, RunFeed};
use crate::governance::{BudgetDecision, LlmUsage, check_llm_budget, record_llm_budget};
use crate::kernel::{Kernel, Surface};
use crate::model::{
    LlmClient, LlmError, LlmEvent, LlmEvents, LlmFault, LlmRequest, LlmResponse, StopReason,
};
use a3s_code_contract::{
    AgentResult, ContentBlock, ForcedStop, Message, Role, TokenUsage, ToolDefinition,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Longest prompt in bytes.
pub(super) const MOST_PROMPT_BYTES: usize = 4 * 1024 * 1024;
/// First wait before a request is made again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest wait before a request is made again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What a run works with.
pub(crate) struct RunContext {
    pub(crate) session_id: Arc<str>,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) conversation: Arc<Conversation>,
    /// Tools that the model is shown.
    pub(crate) tools: Vec<ToolDefinition>,
}

/// A run that has the conversation and has not begun.
pub(crate) struct Run {
    context: RunContext,
    model: Arc<dyn LlmClient>,
    surface: Arc<Surface>,
    feed: Arc<RunFeed>,
    scope: CancellationToken,
    options: RunOptions,
    prompt: String,
    usage: TokenUsage,
    calls: u32,
    _lease: Lease,
}

/// Ends a run whose future is dropped.
struct EndOnDrop {
    scope: CancellationToken,
    conversation: Arc<Conversation>,
    before: usize,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.scope.cancel();
        self.conversation.transcript().settle(self.before);
    }
}

impl Run {
    /// Takes the conversation.
    ///
    /// # Errors
    /// No model; an empty or oversized prompt; another run; a closed session.
    pub(crate) fn prepare(
        context: RunContext,
        prompt: &str,
        options: RunOptions,
        read: bool,
    ) -> Result<Self> {
        if context.kernel.is_closed() {
            return Err(CodeError::SessionClosed {
                session_id: context.session_id.to_string(),
            });
        }
        let model = context.conversation.model.clone().ok_or_else(|| CodeError::Config {
            message: "the session has no model: give one in its options or in the agent's configuration".to_owned(),
        })?;
        if prompt.trim().is_empty() || prompt.len() > MOST_PROMPT_BYTES {
            return Err(CodeError::InvalidArgument {
                argument: "prompt".to_owned(),
                message: format!(
                    "must have 1 to {MOST_PROMPT_BYTES} bytes that are not all white space"
                ),
            });
        }
        let scope = context.kernel.scope().child_token();
        let lease = context.conversation.take(&context.session_id, &scope)?;
        let run_id = format!("run-{}", uuid::Uuid::new_v4().simple());
        let feed = match read {
            true => RunFeed::read(run_id),
            false => RunFeed::unread(run_id),
        };
        Ok(Self {
            // The tools of a run are those it began with.
            surface: context.kernel.surface(),
            model,
            feed: Arc::new(feed),
            scope,
            options,
            prompt: prompt.to_owned(),
            usage: TokenUsage::default(),
            calls: 0,
            context,
            _lease: lease,
        })
    }

    pub(super) fn feed(&self) -> &Arc<RunFeed> {
        &self.feed
    }

    pub(super) fn scope(&self) -> &CancellationToken {
        &self.scope
    }

    /// Runs to the end. Its last event is `agent_end` or `error`, whatever happens.
    ///
    /// # Errors
    /// `CANCELLED`, `TIMEOUT`, `LLM_ERROR`, `BUDGET_EXHAUSTED`, `SESSION_CLOSED`, `PANIC`.
    pub(crate) async fn finish(mut self) -> Result<AgentResult> {
        let ending = EndOnDrop {
            scope: self.scope.clone(),
            conversation: Arc::clone(&self.context.conversation),
            before: self.context.conversation.transcript().messages().len(),
        };
        self.emit("agent_start", || json!({ "prompt": self.prompt }));
        let cancelled = self.cancelled();
        let limit = self.context.conversation.limits.max_execution_time;
        let ended = tokio::select! {
            biased;
            ended = self.turns() => ended,
            error = cancelled => Err(error),
            error = over_time(limit) => Err(error),
        };
        // Before the last event: whoever has seen it finds the transcript as it stays.
        drop(ending);
        match &ended {
            Ok(result) => self.emit("agent_end", || {
                json!({ "text": result.text, "usage": result.usage, "forcedStop": result.forced_stop })
            }),
            Err(error) => self.emit("error", || {
                json!({ "message": error.to_string(), "code": error.code().as_str() })
            }),
        }
        self.feed.end();
        ended
    }

    /// Ends when the run is cancelled from wherever that may be.
    fn cancelled(&self) -> impl Future<Output = CodeError> + use<> {
        let scope = self.scope.clone();
        let asked = self.options.cancellation.clone().unwrap_or_default();
        let kernel = Arc::clone(&self.context.kernel);
        let session_id = Arc::clone(&self.context.session_id);
        async move {
            tokio::select! {
                () = scope.cancelled() => {}
                () = asked.cancelled() => scope.cancel(),
            }
            if kernel.is_closed() {
                return CodeError::SessionClosed {
                    session_id: session_id.to_string(),
                };
            }
            CodeError::Cancelled {
                message: "the run was cancelled".to_owned(),
            }
        }
    }

    async fn turns(&mut self) -> Result<AgentResult> {
        let system = self.system().await?;
        self.context.conversation.transcript().say(&self.prompt);
        let mut repetition = Repetition::default();
        let limits = self.context.conversation.limits;
        let mut turn = 0_u32;
        loop {
            turn += 1;
            let response = self.ask(turn, &system).await?;
            self.usage.add(&response.usage);
            let usage = response.usage;
            self.emit("turn_end", || json!({ "turn": turn, "usage": usage }));
            let taken = self.context.conversation.transcript().call_ids();
            let mut calls = read(&response.tool_calls, &taken);
            self.context
                .conversation
                .transcript()
                .answer(message(&response, &calls));
            if calls.is_empty() {
                let cut = (response.stop == StopReason::MaxTokens)
                    .then_some(ForcedStop::ResponseTruncated);
                return Ok(self.result(response.text, cut));
            }
            self.calls = self
                .calls
                .saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
            if turn > limits.max_tool_rounds {
                return Ok(self.result(response.text, Some(ForcedStop::ToolBudget)));
            }
            repetition.guard(&mut calls, limits.duplicate_tool_call_threshold);
            let carrier = Carrier {
                kernel: &self.context.kernel,
                surface: &self.surface,
                feed: &self.feed,
                scope: &self.scope,
                caller: &self.options.caller,
            };
            let results = carrier.carry_out(calls).await?;
            self.context.conversation.transcript().results(results);
        }
    }

    async fn system(&self) -> Result<String> {
        let workspace = self.context.kernel.workspace()?;
        let own = self.context.conversation.system.clone();
        let told = tokio::task::spawn_blocking(move || system_prompt(&*workspace, own.as_deref()));
        let told = told.await.map_err(|_| CodeError::Internal {
            message: "the runtime is shutting down".to_owned(),
        })?;
        // What stands in a file leaves it as a result of a tool would.
        Ok(self.context.kernel.sanitized(told))
    }

    /// Asks the model, again where that can help.
    async fn ask(&mut self, turn: u32, system: &str) -> Result<LlmResponse> {
        let request = LlmRequest {
            system: Some(system.to_owned()),
            messages: self.context.conversation.transcript().messages().to_vec(),
            tools: self.context.tools.clone(),
            ..LlmRequest::default()
        };
        let attempts = self.context.conversation.limits.circuit_breaker_threshold;
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            self.budget(&request).await?;
            self.emit("turn_start", || json!({ "turn": turn }));
            let error = match self.request(&request).await {
                Ok(response) => {
                    self.record(&response.usage).await;
                    return Ok(response);
                }
                Err(error) => error,
            };
            if !error.is_retryable() || attempt >= attempts {
                return Err(CodeError::Llm {
                    model: self.model.model().to_owned(),
                    error,
                });
            }
            tokio::time::sleep(error.retry_after.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }

    /// Makes one request and passes on what comes of it.
    async fn request(&self, request: &LlmRequest) -> Result<LlmResponse, LlmError> {
        let (events, mut coming) = LlmEvents::channel();
        let answer = self.model.complete(request, events);
        tokio::pin!(answer);
        let begun = Instant::now();
        let limit = self.context.conversation.limits.llm_api_timeout;
        let mut names = std::collections::BTreeMap::new();
        loop {
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            tokio::select! {
                biased;
                Some(event) = coming.recv() => {
                    self.feed.room().await;
                    self.pass_on(event, &mut names);
                }
                answered = &mut answer => {
                    while let Ok(event) = coming.try_recv() {
                        self.pass_on(event, &mut names);
                    }
                    return answered;
                }
                () = after(left) => {
                    let message = format!("no answer within {} ms", limit.unwrap_or_default().as_millis());
                    return Err(LlmError::new(LlmFault::TimedOut, message));
                }
            }
        }
    }

    fn pass_on(&self, event: LlmEvent, names: &mut std::collections::BTreeMap<String, String>) {
        match event {
            LlmEvent::Text(text) => self.emit("text_delta", || json!({ "text": text })),
            LlmEvent::Reasoning(text) => self.emit("reasoning_delta", || json!({ "text": text })),
            LlmEvent::ToolCall { id, name } => {
                let name = match self.surface.resolve(&name) {
                    Some(registered) => registered.definition.name.clone(),
                    None => name,
                };
                names.insert(id.clone(), name.clone());
                self.emit("tool_start", || json!({ "toolId": id, "toolName": name }));
            }
            LlmEvent::ToolInput { id, delta } => {
                let name = names.get(&id);
                self.emit(
                    "tool_input_delta",
                    || json!({ "toolId": id, "toolName": name, "delta": delta }),
                );
            }
            LlmEvent::Restarted => names.clear(),
        }
    }

    async fn budget(&self, request: &LlmRequest) -> Result<()> {
        let Some(guard) = self.context.kernel.budget_guard() else {
            return Ok(());
        };
        let estimate = request.estimated_tokens();
        match check_llm_budget(&**guard, &self.context.session_id, estimate).await {
            BudgetDecision::Allow => Ok(()),
            BudgetDecision::Soft {
                resource,
                consumed,
                limit,
                message,
            } => {
                self.emit("budget_threshold_hit", || {
                    json!({ "resource": resource, "kind": "soft", "consumed": consumed, "limit": limit,
                            "message": message })
                });
                Ok(())
            }
            BudgetDecision::Deny { resource, reason } => {
                self.emit("budget_threshold_hit", || {
                    json!({ "resource": resource, "kind": "hard", "consumed": 0, "limit": 0,
                            "message": reason })
                });
                Err(CodeError::BudgetExhausted { resource, reason })
            }
        }
    }

    async fn record(&self, usage: &TokenUsage) {
        if let Some(guard) = self.context.kernel.budget_guard() {
            let usage = LlmUsage {
                input_tokens: u64::from(usage.prompt_tokens),
                output_tokens: u64::from(usage.completion_tokens),
            };
            record_llm_budget(&**guard, &self.context.session_id, usage).await;
        }
    }

    fn result(&self, text: String, forced_stop: Option<ForcedStop>) -> AgentResult {
        AgentResult {
            run_id: self.feed.run_id().to_owned(),
            text,
            usage: self.usage,
            tool_calls_count: self.calls,
            forced_stop,
        }
    }

    fn emit(&self, event_type: &str, payload: impl FnOnce() -> Value) {
        self.events().emit(Some(&self.feed), event_type, payload);
    }

    fn events(&self) -> &EventBus {
        self.context.kernel.events()
    }
}

/// The answer as the transcript keeps it.
fn message(response: &LlmResponse, calls: &[super::calls::Call]) -> Message {
    let mut content = Vec::with_capacity(calls.len() + 1);
    // A provider refuses a message without content.
    if !response.text.is_empty() || calls.is_empty() {
        content.push(ContentBlock::Text {
            text: response.text.clone(),
        });
    }
    content.extend(calls.iter().map(|call| ContentBlock::ToolUse {
        id: call.id.clone(),
        name: call.name.clone(),
        input: call.args.clone(),
    }));
    Message {
        role: Role::Assistant,
        content,
        reasoning_content: response.reasoning.clone(),
    }
}

async fn after(left: Option<Duration>) {
    match left {
        Some(left) => tokio::time::sleep(left).await,
        None => std::future::pending().await,
    }
}

async fn over_time(limit: Option<Duration>) -> CodeError {
    after(limit).await;
    CodeError::Timeout {
        message: format!(
            "the run took longer than {} ms",
            limit.unwrap_or_default().as_millis()
        ),
    }
}
