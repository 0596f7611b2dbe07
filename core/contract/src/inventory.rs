//! What the product offers, as a contract: derived from the table of methods, so that nothing is listed that
//! does not exist.

use crate::{METHODS, SdkCapability};

/// Id, category, description, and the beginnings of the method names that serve it.
const ROWS: &[(&str, &str, &str, &[&str])] = &[
    (
        "agent_runtime",
        "runtime",
        "Agents and sessions that need no configuration, and close with everything they own.",
        &[
            "agent.",
            "session.close",
            "session.isClosed",
            "session.sessionId",
            "session.workspace",
        ],
    ),
    (
        "governed_tools",
        "tools",
        "Direct and governed tool calls with bounded, accounted results.",
        &[
            "session.tool",
            "session.governedTool",
            "session.activeTools",
        ],
    ),
    (
        "workspace_tools",
        "tools",
        "Typed helpers over the files of the workspace.",
        &[
            "session.readFile",
            "session.writeFile",
            "session.editFile",
            "session.patchFile",
            "session.ls",
            "session.grep",
            "session.glob",
        ],
    ),
    (
        "commands",
        "tools",
        "Command lines and git in the workspace.",
        &["session.bash", "session.git", "session.gitCommand"],
    ),
    (
        "tool_surface",
        "tools",
        "What a session offers and what a model is shown.",
        &[
            "session.toolNames",
            "session.toolDefinitions",
            "session.presentedToolDefinitions",
            "runtime.sdkCapabilities",
        ],
    ),
    (
        "verification",
        "evidence",
        "Checks run in the workspace, and reports of what they came to.",
        &[
            "session.verifyCommands",
            "session.verificationReports",
            "session.recordVerificationReports",
            "session.verificationSummary",
            "session.verificationSummaryText",
            "session.verificationPresets",
        ],
    ),
    (
        "custom_tools",
        "tools",
        "Tools written in the application's language.",
        &[
            "session.registerTool",
            "session.unregisterTool",
            "hostCall.invokeTool",
        ],
    ),
    (
        "artifacts",
        "evidence",
        "Complete originals of cut results.",
        &["session.getArtifact"],
    ),
];

/// Lists what the product offers; does not vary with a session.
#[must_use]
pub fn sdk_capabilities() -> Vec<SdkCapability> {
    ROWS.iter()
        .map(|(id, category, description, served_by)| SdkCapability {
            id: (*id).to_owned(),
            category: (*category).to_owned(),
            description: (*description).to_owned(),
            operations: METHODS
                .iter()
                .filter(|method| {
                    served_by.iter().any(|served| {
                        method.name == *served
                            || (served.ends_with('.') && method.name.starts_with(served))
                    })
                })
                .map(|method| method.name.to_owned())
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // claims: AST-01
    #[test]
    fn every_method_is_listed_once_and_every_row_serves_something() {
        let listed: Vec<String> = sdk_capabilities()
            .into_iter()
            .flat_map(|capability| {
                assert!(!capability.operations.is_empty(), "{}", capability.id);
                capability.operations
            })
            .collect();
        for method in METHODS.iter().filter(|m| !m.name.starts_with("debug.")) {
            assert_eq!(
                listed.iter().filter(|name| *name == method.name).count(),
                1,
                "{}",
                method.name
            );
        }
    }
}
