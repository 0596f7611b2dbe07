//! What a session offers: by name, by definition, and as a model is shown it.

use super::AgentSession;
use a3s_code_contract::ToolDefinition;

impl AgentSession {
    /// Names of the tools this session offers now, sorted.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.inner()
            .kernel
            .surface()
            .iter()
            .map(|registered| registered.definition.name.clone())
            .collect()
    }

    /// Definitions of the tools this session offers now, sorted by name.
    #[must_use]
    pub fn tool_definitions(&self) -> Vec<ToolDefinition> {
        self.inner()
            .kernel
            .surface()
            .iter()
            .map(|registered| (*registered.definition).clone())
            .collect()
    }

    /// Definitions of the tools a model is shown under the session's presentation. Being shown grants nothing.
    #[must_use]
    pub fn presented_tool_definitions(&self, prompt: Option<&str>) -> Vec<ToolDefinition> {
        // The modes that are served do not look at the prompt.
        let _ = prompt;
        let inner = self.inner();
        if !inner.presented {
            return Vec::new();
        }
        inner
            .kernel
            .surface()
            .iter()
            .filter(|registered| !inner.hidden.contains(&registered.definition.name))
            .map(|registered| (*registered.definition).clone())
            .collect()
    }
}
