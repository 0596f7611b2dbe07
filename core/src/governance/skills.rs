//! What an active skill allows: a list of rules; everything else is refused while it is active.

use super::permission::{PermissionQuery, PermissionRules, RuleError};
use a3s_code_contract::{PermissionDecision, PermissionPolicy, PermissionRule};

/// Tools that an active skill allows, in the syntax of permission rules.
#[derive(Debug)]
pub struct ActiveSkillLimits {
    skill: String,
    rules: PermissionRules,
}

impl ActiveSkillLimits {
    /// Limits of a skill: `Tool` or `Tool(pattern)` entries; an empty list allows nothing.
    ///
    /// # Errors
    /// An entry that is not a rule, named by its place.
    pub fn new<S: AsRef<str>>(
        skill: impl Into<String>,
        allowed: impl IntoIterator<Item = S>,
    ) -> Result<Self, RuleError> {
        let policy = PermissionPolicy {
            allow: allowed
                .into_iter()
                .map(|entry| PermissionRule::Text(entry.as_ref().to_owned()))
                .collect(),
            default_decision: PermissionDecision::Deny,
            ..PermissionPolicy::default()
        };
        Ok(Self {
            skill: skill.into(),
            rules: PermissionRules::compile(&policy)?,
        })
    }

    /// Whether every call of a tool is allowed. An entry with a pattern allows none here: such calls need
    /// [`ActiveSkillLimits::permits_call`].
    ///
    /// # Errors
    /// Why not, for the model.
    pub fn permits(&self, tool: &str) -> Result<(), String> {
        if self.rules.allows_tool(tool) {
            return Ok(());
        }
        Err(self.refusal(tool))
    }

    /// Whether one call is allowed, patterns included.
    ///
    /// # Errors
    /// Why not, for the model.
    pub fn permits_call(&self, query: &PermissionQuery<'_>) -> Result<(), String> {
        let query = PermissionQuery {
            requires_confirmation: false,
            ..*query
        };
        if self.rules.decide(&query).decision == PermissionDecision::Allow {
            return Ok(());
        }
        Err(self.refusal(query.tool))
    }

    fn refusal(&self, tool: &str) -> String {
        format!("the active skill `{}` does not allow `{tool}`", self.skill)
    }
}
