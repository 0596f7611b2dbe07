//! Direct calls: what the application asks for itself.
//!
//! Permission and confirmation are skipped, because the application chose the call; hooks, budget, deadlines,
//! cancellation and evidence are not. Names and arguments that a model produced belong in
//! [`AgentSession::governed_tool`]. The typed helpers return the exact content beside a result's text and raise
//! an error where the result is a failure.

use super::AgentSession;
use crate::error::{CodeError, Result};
use crate::kernel::{Invocation, Origin, Settled};
use crate::tools::{Caller, ToolValue};
use a3s_code_contract::{ReadFileOptions, ToolResult};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How one direct call is made: where questions are answered and what cancels it beside the session.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Where calls back into the application go.
    pub caller: Caller,
    /// Cancels the call.
    pub cancellation: Option<CancellationToken>,
}

impl AgentSession {
    /// Calls a tool directly.
    ///
    /// # Errors
    /// [`CodeError::SessionClosed`]; [`CodeError::Panic`] for a fault in the tool. A failed call is a result.
    pub async fn tool(&self, name: &str, args: Value) -> Result<ToolResult> {
        self.tool_with(name, args, CallOptions::default()).await
    }

    /// Calls a tool directly, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn tool_with(
        &self,
        name: &str,
        args: Value,
        options: CallOptions,
    ) -> Result<ToolResult> {
        Ok(self
            .invoke(Origin::HOST_DIRECT, name, args, options, false)
            .await?
            .result)
    }

    /// Calls a tool as a model would: permission, confirmation, skill limits, hooks and budget apply.
    ///
    /// # Errors
    /// As [`AgentSession::tool`]. A refusal is a result of kind `permission_denied`.
    pub async fn governed_tool(&self, name: &str, args: Value) -> Result<ToolResult> {
        self.governed_tool_with(name, args, CallOptions::default())
            .await
    }

    /// Calls a tool as a model would, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::governed_tool`].
    pub async fn governed_tool_with(
        &self,
        name: &str,
        args: Value,
        options: CallOptions,
    ) -> Result<ToolResult> {
        Ok(self
            .invoke(Origin::AGENT, name, args, options, false)
            .await?
            .result)
    }

    /// Reads a text file of the workspace: its exact text.
    ///
    /// # Errors
    /// By code: `NOT_FOUND`, `INVALID_ARGUMENT` for a path outside, `UNSUPPORTED` for what is not UTF-8 text.
    pub async fn read_file(&self, path: &str) -> Result<String> {
        self.read_file_with_options(path, ReadFileOptions::default(), CallOptions::default())
            .await
    }

    /// Reads lines of a text file: `offset` is the first one, from 0; `limit` how many.
    ///
    /// # Errors
    /// As [`AgentSession::read_file`].
    pub async fn read_file_with_options(
        &self,
        path: &str,
        lines: ReadFileOptions,
        options: CallOptions,
    ) -> Result<String> {
        let mut args = json!({ "file_path": path });
        if let Some(offset) = lines.offset {
            args["offset"] = offset.into();
        }
        if let Some(limit) = lines.limit {
            args["limit"] = limit.into();
        }
        self.text("read", args, options).await
    }

    /// Lists a folder of the workspace; the root without a path.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn ls(&self, path: Option<&str>) -> Result<ToolResult> {
        let args = path.map_or_else(|| json!({}), |path| json!({ "path": path }));
        self.tool("ls", args).await
    }

    /// Writes a file of the workspace, whole: exactly these bytes.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn write_file(&self, path: &str, content: &str) -> Result<ToolResult> {
        self.write_file_with(path, content, CallOptions::default())
            .await
    }

    /// Writes a file, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn write_file_with(
        &self,
        path: &str,
        content: &str,
        options: CallOptions,
    ) -> Result<ToolResult> {
        let args = json!({ "file_path": path, "content": content });
        self.tool_with("write", args, options).await
    }

    /// Replaces exact text in a file: its one occurrence, or each with `replace_all`.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn edit_file(
        &self,
        path: &str,
        old: &str,
        new: &str,
        replace_all: bool,
    ) -> Result<ToolResult> {
        self.edit_file_with(path, old, new, replace_all, CallOptions::default())
            .await
    }

    /// Replaces exact text in a file, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn edit_file_with(
        &self,
        path: &str,
        old: &str,
        new: &str,
        replace_all: bool,
        options: CallOptions,
    ) -> Result<ToolResult> {
        let args = json!({
            "file_path": path,
            "old_string": old,
            "new_string": new,
            "replace_all": replace_all,
        });
        self.tool_with("edit", args, options).await
    }

    /// Applies a unified diff to a file.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn patch_file(&self, path: &str, diff: &str) -> Result<ToolResult> {
        self.patch_file_with(path, diff, CallOptions::default())
            .await
    }

    /// Applies a unified diff to a file, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn patch_file_with(
        &self,
        path: &str,
        diff: &str,
        options: CallOptions,
    ) -> Result<ToolResult> {
        let args = json!({ "file_path": path, "diff": diff });
        self.tool_with("patch", args, options).await
    }

    /// Searches file contents: one `path:line:text` a hit, in lexical order, every hit.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the pattern does not compile.
    pub async fn grep(&self, pattern: &str) -> Result<String> {
        self.grep_with(pattern, CallOptions::default()).await
    }

    /// Searches file contents, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::grep`].
    pub async fn grep_with(&self, pattern: &str, options: CallOptions) -> Result<String> {
        let args = json!({ "mode": "grep", "query": pattern });
        self.text("search", args, options).await
    }

    /// Lists the paths that match a pattern, in lexical order, every path.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the pattern is wrong.
    pub async fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        self.glob_with(pattern, CallOptions::default()).await
    }

    /// Lists the paths that match a pattern, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::glob`].
    pub async fn glob_with(&self, pattern: &str, options: CallOptions) -> Result<Vec<String>> {
        let args = json!({ "mode": "glob", "query": pattern, "sort": "path" });
        match self.value("search", args, options).await? {
            ToolValue::Paths(paths) => Ok(paths),
            ToolValue::Text(_) => Err(no_value("search")),
        }
    }

    /// Runs a command line in the workspace: its output and, when its status is not 0, a last line that states it.
    ///
    /// # Errors
    /// `TIMEOUT` at its time limit, `CANCELLED`, and what keeps it from starting. A status that is not 0 is none.
    pub async fn bash(&self, command: &str) -> Result<String> {
        self.bash_with(command, CallOptions::default()).await
    }

    /// Runs a command line, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::bash`].
    pub async fn bash_with(&self, command: &str, options: CallOptions) -> Result<String> {
        let args = json!({ "command": command });
        let settled = self
            .invoke(Origin::HOST_DIRECT, "bash", args, options, true)
            .await?;
        match (settled.value, settled.result.error_kind) {
            (Some(ToolValue::Text(text)), None) => Ok(text),
            (_, kind) => Err(CodeError::from_failed_tool(
                "bash",
                settled.result.output,
                kind,
            )),
        }
    }

    /// Runs one git operation on the workspace's repository; `request` is the arguments of the tool `git`.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn git(&self, request: Value) -> Result<ToolResult> {
        self.git_with(request, CallOptions::default()).await
    }

    /// Runs one git operation, with options for the call.
    ///
    /// # Errors
    /// As [`AgentSession::tool`].
    pub async fn git_with(&self, request: Value, options: CallOptions) -> Result<ToolResult> {
        self.tool_with("git", request, options).await
    }

    async fn text(&self, tool: &str, args: Value, options: CallOptions) -> Result<String> {
        match self.value(tool, args, options).await? {
            ToolValue::Text(text) => Ok(text),
            ToolValue::Paths(_) => Err(no_value(tool)),
        }
    }

    async fn value(&self, tool: &str, args: Value, options: CallOptions) -> Result<ToolValue> {
        let settled = self
            .invoke(Origin::HOST_DIRECT, tool, args, options, true)
            .await?;
        if settled.result.exit_code != 0 {
            return Err(CodeError::from_failed_tool(
                tool,
                settled.result.output,
                settled.result.error_kind,
            ));
        }
        settled.value.ok_or_else(|| no_value(tool))
    }

    pub(super) async fn invoke(
        &self,
        origin: Origin,
        name: &str,
        args: Value,
        options: CallOptions,
        value_wanted: bool,
    ) -> Result<Settled> {
        let kernel = &self.inner().kernel;
        let scope = kernel.scope().child_token();
        let call = kernel.invoke(Invocation {
            id: None,
            run: None,
            fault: None,
            name: name.to_owned(),
            args: Arc::new(args),
            origin,
            parent: None,
            scope: scope.clone(),
            surface: kernel.surface(),
            only: None,
            caller: options.caller,
            value_wanted,
        });
        let Some(cancellation) = options.cancellation else {
            return call.await;
        };
        tokio::pin!(call);
        tokio::select! {
            biased;
            settled = &mut call => settled,
            () = cancellation.cancelled() => {
                scope.cancel();
                call.await
            }
        }
    }
}

fn no_value(tool: &str) -> CodeError {
    CodeError::Internal {
        message: format!("`{tool}` returned no content"),
    }
}
