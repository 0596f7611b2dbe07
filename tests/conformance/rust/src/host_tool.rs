//! A tool of the application: says one text, whatever the arguments.

use a3s_code_core::tools::async_trait;
use a3s_code_core::{Tool, ToolCall, ToolError, ToolOutput};
use serde_json::{Value, json};

/// Says one text.
pub(crate) struct HostTool {
    pub(crate) name: String,
    pub(crate) output: String,
    pub(crate) fail: bool,
}

#[async_trait]
impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "conformance tool"
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn run(&self, _: ToolCall) -> Result<ToolOutput, ToolError> {
        Ok(if self.fail {
            ToolOutput::failure(self.output.clone())
        } else {
            ToolOutput::success(self.output.clone())
        })
    }
}
