//! Events of a run: the closed catalogue of what is emitted and the open envelope it travels in.
//!
//! A consumer keeps types it does not know. Payload keys are camelCase; `args`, `metadata` and `errorKind`
//! inside them are opaque. Every event about a tool carries `toolId` and `toolName`.

use crate::{Argument, Type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the envelope; another one is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventVersion;

impl Serialize for EventVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for EventVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(serde::de::Error::custom(format!(
                "event envelope version {other} is not 1"
            ))),
        }
    }
}

impl JsonSchema for EventVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventVersion".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "integer", "const": 1})
    }
    fn inline_schema() -> bool {
        true
    }
}

/// Where and when an event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventMetadata {
    /// Session it belongs to.
    pub session_id: String,
    /// Run it belongs to; none for direct calls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_id: Option<String>,
    /// Number in the session, from 0 without gaps.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub sequence: u64,
    /// Milliseconds since the epoch.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub timestamp_ms: u64,
}

/// One event: `{version: 1, type, payload, metadata}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventEnvelope {
    /// Always 1.
    pub version: EventVersion,
    /// Name of the event.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Its facts.
    pub payload: Value,
    /// Where and when.
    pub metadata: EventMetadata,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// When it is emitted.
    pub doc: &'static str,
    /// Keys of the payload.
    pub fields: &'static [Argument],
}

const fn field(name: &'static str, kind: Type, required: bool) -> Argument {
    Argument {
        name,
        kind,
        required,
        doc: "",
    }
}

/// Every event that is emitted.
pub const EVENT_TYPES: &[EventSpec] = &[
    EventSpec {
        name: "agent_start",
        doc: "Run starts.",
        fields: &[field("prompt", Type::String, true)],
    },
    EventSpec {
        name: "agent_mode_changed",
        doc: "The style changed.",
        fields: &[
            field("mode", Type::String, true),
            field("agent", Type::String, true),
            field("description", Type::String, true),
        ],
    },
    EventSpec {
        name: "turn_start",
        doc: "A turn starts; the same turn may repeat after a stream retry.",
        fields: &[field("turn", Type::Integer, true)],
    },
    EventSpec {
        name: "text_delta",
        doc: "Piece of the answer.",
        fields: &[field("text", Type::String, true)],
    },
    EventSpec {
        name: "reasoning_delta",
        doc: "Piece of the reasoning.",
        fields: &[field("text", Type::String, true)],
    },
    EventSpec {
        name: "tool_start",
        doc: "The model began a call.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
        ],
    },
    EventSpec {
        name: "tool_input_delta",
        doc: "Piece of the raw argument text.",
        fields: &[
            field("toolId", Type::String, false),
            field("toolName", Type::String, false),
            field("delta", Type::String, true),
        ],
    },
    EventSpec {
        name: "tool_request_bound",
        doc: "Digests of the request.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("snapshot", Type::Json, true),
        ],
    },
    EventSpec {
        name: "tool_execution_start",
        doc: "The call passed every gate and starts.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("args", Type::Json, true),
            field("origin", Type::String, true),
        ],
    },
    EventSpec {
        name: "tool_output_delta",
        doc: "Piece of the output, progress or partial object.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("text", Type::String, true),
        ],
    },
    EventSpec {
        name: "tool_end",
        doc: "The call ended.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("args", Type::Json, false),
            field("output", Type::String, true),
            field("exitCode", Type::Integer, true),
            field("metadata", Type::Json, false),
            field("errorKind", Type::Json, false),
            field("origin", Type::String, true),
        ],
    },
    EventSpec {
        name: "turn_end",
        doc: "A turn ended.",
        fields: &[
            field("turn", Type::Integer, true),
            field("usage", Type::Json, true),
        ],
    },
    EventSpec {
        name: "agent_end",
        doc: "The run ended well.",
        fields: &[
            field("text", Type::String, true),
            field("usage", Type::Json, true),
            field("verificationSummary", Type::Json, false),
            field("forcedStop", Type::String, false),
        ],
    },
    EventSpec {
        name: "error",
        doc: "The run ended with an error.",
        fields: &[
            field("message", Type::String, true),
            field("code", Type::String, false),
        ],
    },
    EventSpec {
        name: "confirmation_required",
        doc: "Somebody must answer.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("args", Type::Json, true),
            field("timeoutMs", Type::Integer, true),
        ],
    },
    EventSpec {
        name: "confirmation_received",
        doc: "Somebody answered.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("approved", Type::Boolean, true),
            field("reason", Type::String, false),
        ],
    },
    EventSpec {
        name: "confirmation_timeout",
        doc: "Nobody answered in time.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("actionTaken", Type::String, true),
        ],
    },
    EventSpec {
        name: "permission_denied",
        doc: "A governed call was refused.",
        fields: &[
            field("toolId", Type::String, true),
            field("toolName", Type::String, true),
            field("args", Type::Json, true),
            field("reason", Type::String, true),
        ],
    },
    EventSpec {
        name: "user_question",
        doc: "A question for the user.",
        fields: &[
            field("questionId", Type::String, true),
            field("question", Type::String, true),
            field("options", Type::Json, true),
            field("allowFreeText", Type::Boolean, true),
            field("form", Type::Json, false),
        ],
    },
    EventSpec {
        name: "task_updated",
        doc: "The checklist changed.",
        fields: &[
            field("sessionId", Type::String, true),
            field("tasks", Type::Json, true),
        ],
    },
    EventSpec {
        name: "auto_compact",
        doc: "The history is compacted.",
        fields: &[
            field("phase", Type::String, true),
            field("tokensUsed", Type::Integer, true),
            field("contextWindow", Type::Integer, true),
            field("tokensAfter", Type::Integer, false),
        ],
    },
    EventSpec {
        name: "context_compacted",
        doc: "The history was compacted.",
        fields: &[
            field("sessionId", Type::String, true),
            field("beforeMessages", Type::Integer, true),
            field("afterMessages", Type::Integer, true),
            field("percentBefore", Type::Number, true),
            field("summary", Type::String, false),
        ],
    },
    EventSpec {
        name: "subagent_start",
        doc: "A child started.",
        fields: &[
            field("taskId", Type::String, true),
            field("sessionId", Type::String, true),
            field("parentSessionId", Type::String, true),
            field("agent", Type::String, true),
            field("description", Type::String, true),
            field("startedMs", Type::Integer, true),
        ],
    },
    EventSpec {
        name: "subagent_progress",
        doc: "A child goes on.",
        fields: &[
            field("taskId", Type::String, true),
            field("sessionId", Type::String, true),
            field("status", Type::String, true),
            field("metadata", Type::Json, true),
        ],
    },
    EventSpec {
        name: "subagent_end",
        doc: "A child ended.",
        fields: &[
            field("taskId", Type::String, true),
            field("sessionId", Type::String, true),
            field("agent", Type::String, true),
            field("output", Type::String, true),
            field("success", Type::Boolean, true),
            field("finishedMs", Type::Integer, true),
        ],
    },
    EventSpec {
        name: "run_control_applied",
        doc: "A steer or interrupt took effect.",
        fields: &[
            field("requestId", Type::String, true),
            field("operation", Type::String, true),
            field("turnId", Type::String, false),
            field("turnRevision", Type::Integer, false),
            field("input", Type::String, false),
            field("reason", Type::String, false),
        ],
    },
    EventSpec {
        name: "persistence_failed",
        doc: "Saving failed.",
        fields: &[
            field("sessionId", Type::String, true),
            field("operation", Type::String, true),
            field("error", Type::String, true),
        ],
    },
    EventSpec {
        name: "budget_threshold_hit",
        doc: "A budget is nearly or wholly used.",
        fields: &[
            field("resource", Type::String, true),
            field("kind", Type::String, true),
            field("consumed", Type::Number, true),
            field("limit", Type::Number, true),
            field("message", Type::String, false),
        ],
    },
    EventSpec {
        name: "queue_alert",
        doc: "The queue is under pressure.",
        fields: &[
            field("level", Type::String, true),
            field("alertType", Type::String, true),
            field("message", Type::String, true),
        ],
    },
];
