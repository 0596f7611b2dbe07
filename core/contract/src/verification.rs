//! Checks that turn "done" into evidence, and what came of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the form of a [`VerificationReport`].
pub const VERIFICATION_REPORT_SCHEMA: &str = "a3s.verification_report.v1";

/// What a check, or a report as a whole, came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationStatus {
    /// Everything required passed and nothing is left open.
    Passed,
    /// Something required failed.
    Failed,
    /// Somebody has to look: an optional check failed, or one could not be carried out.
    NeedsReview,
    /// Nothing was checked.
    Skipped,
}

/// One command that checks something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationCommand {
    /// Name of the check, unique within a report; 1 to 128 bytes.
    pub id: String,
    /// What kind of check it is, such as `test`, `lint` or `build`.
    pub kind: String,
    /// What it checks, for people.
    pub description: String,
    /// Command line, run by `bash` in the workspace.
    pub command: String,
    /// Whether the report fails when it fails.
    #[serde(default)]
    pub required: bool,
    /// Time limit in milliseconds, 1 to 3600000; 120000 when left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<u32>,
    /// Exit status that passes, 0 to 255; 0 when left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect_exit: Option<i32>,
}

/// What one check came to, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationCheck {
    /// Name of the check.
    pub id: String,
    /// What kind of check it is.
    pub kind: String,
    /// What it checks.
    pub description: String,
    /// What it came to.
    pub status: VerificationStatus,
    /// Whether the report fails when it fails.
    pub required: bool,
    /// Exit status of the command; absent when it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
    /// What the command printed, the first and the last part of it when it is long.
    pub output: String,
    /// Tools that can carry the check out again.
    pub suggested_tools: Vec<String>,
    /// Where more of the evidence is: artifacts of the session.
    pub evidence_uris: Vec<String>,
    /// What is left open.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub residual_risk: Option<String>,
}

/// What a number of checks came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReport {
    /// `a3s.verification_report.v1`.
    pub schema: String,
    /// What was checked, in the application's words.
    pub subject: String,
    /// What it came to.
    pub status: VerificationStatus,
    /// The checks in the order they were carried out.
    pub checks: Vec<VerificationCheck>,
    /// What is left open.
    pub residual_risks: Vec<String>,
}

/// What the reports of a session come to; of several about one subject the last counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationSummary {
    /// What they come to.
    pub status: VerificationStatus,
    /// How many reports count.
    pub report_count: u32,
    /// How many of their checks are required.
    pub required_check_count: u32,
    /// How many of the required ones did not come to a result.
    pub pending_required_check_count: u32,
    /// How many checks failed, required or not.
    pub failed_check_count: u32,
    /// How many residual risks they name.
    pub residual_risk_count: u32,
    /// Subjects that somebody has to look at, or where nothing was checked.
    pub pending_subjects: Vec<String>,
    /// Subjects that failed.
    pub failed_subjects: Vec<String>,
}

/// Commands that fit a kind of project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationPreset {
    /// Name of the preset.
    pub id: String,
    /// `rust`, `node`, `python` or `go`.
    pub project_kind: String,
    /// What it is for.
    pub description: String,
    /// The commands, for `verifyCommands`.
    pub commands: Vec<VerificationCommand>,
}
