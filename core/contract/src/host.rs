//! Tools that live in the application: how they are described, called and answered.

use crate::ToolCapabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool written in the application's language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostToolSpec {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`. Refused are names that are taken, that begin with `mcp__`, or that are reserved
    /// for built-in tools, in any case and whether a session offers them or not: `ask_user`, `ask_user_form`,
    /// `background`, `bash`, `batch`, `bm25`, `code_diagnostics`, `code_format`, `code_navigation`, `code_symbols`,
    /// `download`, `dynamic_workflow`, `edit`, `generate_object`, `git`, `glob`, `grep`, `ls`, `parallel_task`,
    /// `patch`, `program`, `read`, `search`, `search_skills`, `skill`, `task`, `update_plan`, `web_fetch`,
    /// `web_search`, `write`.
    pub name: String,
    /// What it does, for a model.
    pub description: String,
    /// JSON Schema of its arguments, which are an object: its top has `"type": "object"` or no `type`.
    pub parameters: Value,
    /// What it promises; nothing when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ToolCapabilities>,
    /// Time limit of a call in milliseconds, 1 to 86,400,000; 600,000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub timeout_ms: Option<u32>,
    /// Number by which the binding finds the handler again; never reused in a process.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub host_ref: u64,
}

/// What a handler is given. The id of the message is the host call to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostCallInput {
    /// `host_ref` of the registration.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub host_ref: u64,
    /// Name of the tool.
    pub name: String,
    /// Id of the call.
    pub call_id: String,
    /// Id of the session.
    pub session_id: String,
    /// Root of the workspace.
    pub workspace: String,
    /// The arguments, validated against the schema.
    pub args: Value,
    /// When the call must end, in milliseconds since the epoch.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub deadline_ms: u64,
}

/// What a handler answers; its text travels as raw bytes beside this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostReply {
    /// False when the tool failed; true when left out. An error kind means failure, whatever this says.
    pub success: Option<bool>,
    /// Facts about the result, an object. Whole numbers in it are within 2^53 - 1.
    pub metadata: Option<Value>,
    /// How it failed, tagged by `type`.
    pub error_kind: Option<Value>,
    /// Message of what the handler threw; makes the call fail with exit code 1.
    pub host_error: Option<String>,
}
