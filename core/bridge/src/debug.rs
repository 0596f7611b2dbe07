//! What tests and benchmarks need of a runtime opened with `debug`: faults on demand and tools that cost
//! nothing. A runtime opened without it has none of this.

use crate::dispatch::Work;
use crate::operation::{Reply, invalid};
use a3s_code_contract::{ErrorCode, ErrorPayload, ToolCapabilities};
use a3s_code_core::tools::Tool;
use a3s_code_core::{SessionOptions, ToolCall, ToolError, ToolOutput};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn start(
    method: &str,
    mut arguments: Map<String, Value>,
    data: Vec<u8>,
) -> Result<Work, ErrorPayload> {
    match method {
        "debug.fail" => {
            let code = arguments.get("code").and_then(Value::as_str);
            let code = code
                .and_then(ErrorCode::parse)
                .ok_or_else(|| invalid("argument `code`: no such code".to_owned()))?;
            Ok(Box::pin(async move {
                Err(ErrorPayload::new(code, code.meaning()))
            }))
        }
        "debug.panic" => {
            let in_task = arguments.get("place").and_then(Value::as_str) == Some("task");
            assert!(in_task, "asked to panic at the entry");
            Ok(Box::pin(async move {
                assert!(!in_task, "asked to panic in the task");
                Reply::json(&())
            }))
        }
        _ => {
            let value = arguments.remove("value").unwrap_or(Value::Null);
            Ok(Box::pin(async move { Reply::with_data(&value, data) }))
        }
    }
}

/// Adds the tools for tests to a session.
pub(crate) fn with_tools(options: SessionOptions) -> SessionOptions {
    [Probe::Noop, Probe::Wait, Probe::Panic]
        .into_iter()
        .fold(options, |options, probe| options.with_tool(Arc::new(probe)))
}

enum Probe {
    Noop,
    Wait,
    Panic,
}

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        match self {
            Self::Noop => "debug_noop",
            Self::Wait => "debug_wait",
            Self::Panic => "debug_panic",
        }
    }

    fn description(&self) -> &str {
        match self {
            Self::Noop => "Does nothing.",
            Self::Wait => "Waits `ms` milliseconds.",
            Self::Panic => "Panics.",
        }
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object", "properties": { "ms": { "type": "integer", "minimum": 0 } } })
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities::parallel_safe_read(16)
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Noop => Ok(ToolOutput::success("ok")),
            Self::Wait => {
                let ms = call.args()["ms"].as_u64().unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(ToolOutput::success("waited"))
            }
            Self::Panic => std::panic::resume_unwind(Box::new("asked to panic in a tool")),
        }
    }
}
