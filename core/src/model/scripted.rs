//! A model that answers from a list and remembers what it was asked: for tests, without a provider.

use super::{
    LlmClient, LlmError, LlmEvent, LlmEvents, LlmFault, LlmRequest, LlmResponse, LlmToolCall,
    StopReason,
};
use a3s_code_contract::{ScriptedToolCall, ScriptedTurn};
use async_trait::async_trait;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers from a list, one turn a request, in the order of the requests. Every request is kept.
#[derive(Debug, Default)]
pub struct ScriptedClient {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    turns: VecDeque<ScriptedTurn>,
    requests: Vec<LlmRequest>,
}

impl ScriptedClient {
    /// A model with these answers.
    #[must_use]
    pub fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        Self {
            state: Mutex::new(State {
                turns: turns.into_iter().collect(),
                requests: Vec::new(),
            }),
        }
    }

    /// Adds answers at the end.
    pub fn push(&self, turns: impl IntoIterator<Item = ScriptedTurn>) {
        self.lock().turns.extend(turns);
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<LlmRequest> {
        self.lock().requests.clone()
    }

    /// How many answers are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.lock().turns.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LlmClient for ScriptedClient {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn complete(
        &self,
        request: &LlmRequest,
        events: LlmEvents,
    ) -> Result<LlmResponse, LlmError> {
        let turn = {
            let mut state = self.lock();
            state.requests.push(request.clone());
            state.turns.pop_front()
        };
        let Some(turn) = turn else {
            let message = "the scripted model has no answer left";
            return Err(LlmError::new(LlmFault::Rejected, message));
        };
        if let Some(message) = turn.error {
            return Err(LlmError::new(LlmFault::Rejected, message));
        }
        if let Some(reasoning) = &turn.reasoning {
            events.send(LlmEvent::Reasoning(reasoning.clone())).await;
        }
        let pieces = match (turn.deltas.is_empty(), &turn.text) {
            (true, Some(text)) => vec![text.clone()],
            (_, _) => turn.deltas,
        };
        for piece in &pieces {
            events.send(LlmEvent::Text(piece.clone())).await;
        }
        let tool_calls: Vec<LlmToolCall> = turn.tool_calls.into_iter().map(call).collect();
        for call in &tool_calls {
            let (id, name) = (call.id.clone(), call.name.clone());
            events
                .send(LlmEvent::ToolCall {
                    id: id.clone(),
                    name,
                })
                .await;
            let delta = call.arguments.clone();
            events.send(LlmEvent::ToolInput { id, delta }).await;
        }
        Ok(LlmResponse {
            text: pieces.concat(),
            reasoning: turn.reasoning,
            stop: if tool_calls.is_empty() {
                StopReason::EndTurn
            } else {
                StopReason::ToolUse
            },
            tool_calls,
            usage: turn.usage.unwrap_or_default(),
        })
    }
}

fn call(scripted: ScriptedToolCall) -> LlmToolCall {
    let arguments = scripted.args_text.unwrap_or_else(|| {
        scripted
            .args
            .map_or_else(String::new, |args| args.to_string())
    });
    LlmToolCall {
        id: scripted.id,
        name: scripted.name,
        arguments,
    }
}
