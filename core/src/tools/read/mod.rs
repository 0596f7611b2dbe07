//! `read`: lines of one file, or of several files in one bounded result.
//!
//! Lines are numbered and counted from 0 in arguments and metadata, from 1 in the text. What does not fit says
//! where to go on; following it shows every line once. Only what is shown must be UTF-8.

mod batch;
mod page;
mod source;
#[cfg(test)]
mod tests;

use super::attempt::Attempt;
use super::{
    PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput, schema,
};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use source::LineIndexes;
use std::sync::Arc;

/// Lines of a page when nothing is said, and the most.
const MAX_LINES: usize = 2000;
/// Bytes of a result kept free for what the runtime adds.
const RESERVED_BYTES: usize = 256;
/// Bytes of a result over several files when nothing is said.
const DEFAULT_BATCH_BYTES: usize = 65_536;

/// Reads lines of one file (`file_path`) or of several (`files`).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ReadArgs {
    /// File to read, relative to the workspace. Excludes `files`.
    #[schemars(length(min = 1))]
    file_path: Option<String>,
    /// First line, from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    offset: Option<u64>,
    /// Bytes to skip in the first line, to go on inside a very long line.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    byte_offset: Option<u64>,
    /// Number of lines; 2000 when left out.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<usize>,
    /// Several files, shown in this order within one budget. Excludes `file_path`.
    #[schemars(length(min = 1, max = 32))]
    files: Option<Vec<Member>>,
    /// Budget for `files` in bytes, headers and footer included; 65536 when left out.
    #[schemars(range(min = 1024, max = 98_304))]
    max_output_bytes: Option<usize>,
}

/// One of several files.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Member {
    /// File to read, relative to the workspace.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// First line, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    offset: Option<u64>,
    /// Bytes to skip in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    byte_offset: Option<u64>,
    /// Number of lines; 2000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<usize>,
}

/// The `read` tool.
#[derive(Default)]
pub(crate) struct ReadTool {
    indexes: Arc<LineIndexes>,
}

#[async_trait]
impl Tool for ReadTool {
    fn name(&self) -> &str {
        "read"
    }

    fn description(&self) -> &str {
        "Reads a text file as numbered lines. Use `offset` and `limit` for a window of a long file, or `files` to read \
         several known files in one bounded result. What does not fit ends with where to go on."
    }

    fn parameters(&self) -> Value {
        schema::of::<ReadArgs>()
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities {
            resumable: true,
            supports_pagination: true,
            ..ToolCapabilities::parallel_safe_read(16)
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(spelled_paths(args))
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        spelled_paths(args)
            .into_iter()
            .map(|path| PathUse { path, write: false })
            .collect()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let mut args: ReadArgs = call.parse()?;
        let indexes = Arc::clone(&self.indexes);
        let bound = call.max_output_bytes();
        let value_wanted = call.value_wanted();
        match (args.file_path.take(), args.files.take()) {
            (Some(_), Some(_)) => Err(ToolError::invalid(
                "files",
                "`file_path` and `files` exclude each other.",
            )),
            (None, None) => Err(ToolError::invalid(
                "file_path",
                "One of `file_path` and `files` is required.",
            )),
            (None, Some(files)) => {
                let plan = batch::plan(&args, files, bound)?;
                call.file_work(move |workspace, wait| batch::read(workspace, wait, &indexes, &plan))
                    .await
                    .map_err(Attempt::into_error)
            }
            (Some(path), None) => {
                if args.max_output_bytes.is_some() {
                    return Err(ToolError::invalid(
                        "max_output_bytes",
                        "`max_output_bytes` goes with `files`.",
                    ));
                }
                let request = page::Request {
                    path,
                    offset: args.offset.unwrap_or(0),
                    byte_offset: args.byte_offset.unwrap_or(0),
                    limit: args.limit,
                    budget: bound.saturating_sub(RESERVED_BYTES),
                    value_wanted,
                };
                call.file_work(move |workspace, wait| {
                    page::read(workspace, wait, &indexes, &request)
                })
                .await
                .map_err(|attempt| at_file_path(attempt.into_error()))
            }
        }
    }
}

/// The error of a path that came from `file_path`.
fn at_file_path(mut error: ToolError) -> ToolError {
    if let ToolErrorKind::InvalidArgument { argument, .. } = &mut error.kind
        && argument.as_deref() == Some("path")
    {
        *argument = Some("file_path".to_owned());
    }
    error
}

/// The paths of a call, as it spells them.
fn spelled_paths(args: &Value) -> Vec<String> {
    let members = args["files"].as_array().into_iter().flatten();
    args["file_path"]
        .as_str()
        .into_iter()
        .chain(members.filter_map(|member| member["path"].as_str()))
        .map(str::to_owned)
        .collect()
}
