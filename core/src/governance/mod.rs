//! What decides whether a governed call may run, and what is masked in what it returns.
//!
//! Rules for tools and command lines ([`PermissionRules`]), control files ([`control_file`]), questions
//! to a person ([`ConfirmationQueue`]), hooks ([`Hooks`]), budgets ([`BudgetGuard`]), limits of an active
//! skill ([`ActiveSkillLimits`]) and masking of secrets ([`SecurityProvider`]). This room knows no tool's
//! insides: a tool says which texts, command line and paths its arguments stand for.
//!
//! Invariant: whatever fails, hangs or panics in code of the application decides against the call. Rules
//! on text express intent; they are not the boundary that keeps a process inside its workspace.

mod budget;
mod command;
mod confirmation;
mod control;
mod hook_points;
mod hooks;
mod pattern;
mod permission;
mod programs;
mod rule;
mod security;
mod sightings;
mod skills;
#[cfg(test)]
mod tests;

pub use budget::{
    BUDGET_TIMEOUT, BudgetDecision, BudgetGuard, LlmUsage, check_budget, check_llm_budget,
    record_budget, record_llm_budget,
};
pub use confirmation::{
    ConfirmationNotice, ConfirmationObserver, ConfirmationOutcome, ConfirmationPolicyError,
    ConfirmationProvider, ConfirmationQueue, ConfirmationRequest, PendingConfirmation,
};
pub use control::{control_file, control_file_beneath};
pub use hook_points::HookPoint;
pub use hooks::{
    Hook, HookDecision, HookError, HookEvent, HookFailure, HookFault, HookHandler, HookMatcher,
    HookResult, Hooks, PreToolOutcome,
};
pub use permission::{
    PermissionChecker, PermissionQuery, PermissionRules, PermissionVerdict, RuleError,
};
pub use security::{DefaultSecurityProvider, SecurityProvider, sanitize_text, sanitize_value};
pub use skills::ActiveSkillLimits;
