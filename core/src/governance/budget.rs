//! Budgets: asked before a tool or a model does anything, told afterwards.
//!
//! Invariant: a guard that panics, hangs or answers with numbers that are none decides against the call;
//! what it does with a record never changes a result.

use async_trait::async_trait;
use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// How long a guard may take.
pub const BUDGET_TIMEOUT: Duration = Duration::from_secs(5);

/// What a guard decides.
#[derive(Clone, Debug, PartialEq)]
pub enum BudgetDecision {
    /// Go on.
    Allow,
    /// Go on and tell that a threshold was passed.
    Soft {
        /// Name of the resource.
        resource: String,
        /// How much of it is used.
        consumed: f64,
        /// Where it ends.
        limit: f64,
        /// Words for a person.
        message: Option<String>,
    },
    /// Refuse.
    Deny {
        /// Name of the resource.
        resource: String,
        /// Why.
        reason: String,
    },
}

/// What a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlmUsage {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
}

/// Counts and limits what a session uses. Everything is allowed and forgotten by default.
#[async_trait]
pub trait BudgetGuard: Send + Sync {
    /// Asked before a tool has any side effect.
    async fn check_before_tool(&self, session_id: &str, tool: &str) -> BudgetDecision {
        let _ = (session_id, tool);
        BudgetDecision::Allow
    }
    /// Told when a tool has run.
    async fn record_after_tool(&self, session_id: &str, tool: &str) {
        let _ = (session_id, tool);
    }
    /// Asked before a request goes to a model.
    async fn check_before_llm(&self, session_id: &str, estimated_tokens: u64) -> BudgetDecision {
        let _ = (session_id, estimated_tokens);
        BudgetDecision::Allow
    }
    /// Told when a model has answered.
    async fn record_after_llm(&self, session_id: &str, usage: LlmUsage) {
        let _ = (session_id, usage);
    }
}

/// Asks a guard about a tool, within 5 s. A guard that panics or hangs denies.
pub async fn check_budget(guard: &dyn BudgetGuard, session_id: &str, tool: &str) -> BudgetDecision {
    decided(async { guard.check_before_tool(session_id, tool).await }).await
}

/// Asks a guard about a request to a model, within 5 s. A guard that panics or hangs denies.
pub async fn check_llm_budget(
    guard: &dyn BudgetGuard,
    session_id: &str,
    estimated_tokens: u64,
) -> BudgetDecision {
    decided(async { guard.check_before_llm(session_id, estimated_tokens).await }).await
}

/// Tells a guard that a tool has run, within 5 s. What it does with it changes nothing.
pub async fn record_budget(guard: &dyn BudgetGuard, session_id: &str, tool: &str) {
    recorded(async { guard.record_after_tool(session_id, tool).await }).await;
}

/// Tells a guard what a model used, within 5 s. What it does with it changes nothing.
pub async fn record_llm_budget(guard: &dyn BudgetGuard, session_id: &str, usage: LlmUsage) {
    recorded(async { guard.record_after_llm(session_id, usage).await }).await;
}

async fn decided(asked: impl Future<Output = BudgetDecision>) -> BudgetDecision {
    let reason =
        match tokio::time::timeout(BUDGET_TIMEOUT, AssertUnwindSafe(asked).catch_unwind()).await {
            Ok(Ok(BudgetDecision::Soft {
                consumed, limit, ..
            })) if !consumed.is_finite() || !limit.is_finite() => {
                "the budget guard answered with numbers that are none".to_owned()
            }
            Ok(Ok(decision)) => return decision,
            Ok(Err(_)) => "the budget guard failed".to_owned(),
            Err(_) => format!(
                "the budget guard did not answer within {} s",
                BUDGET_TIMEOUT.as_secs()
            ),
        };
    BudgetDecision::Deny {
        resource: "guard".to_owned(),
        reason,
    }
}

async fn recorded(told: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(BUDGET_TIMEOUT, AssertUnwindSafe(told).catch_unwind()).await;
}
