//! A tool that does nothing.

use a3s_code_core::tools::async_trait;
use a3s_code_core::{Tool, ToolCall, ToolCapabilities, ToolError, ToolOutput};
use serde_json::{Value, json};

/// Returns `ok`.
pub(crate) struct Noop;

#[async_trait]
impl Tool for Noop {
    fn name(&self) -> &str {
        "noop"
    }

    fn description(&self) -> &str {
        "Does nothing."
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities::parallel_safe_read(16)
    }

    async fn run(&self, _: ToolCall) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::success("ok"))
    }
}
