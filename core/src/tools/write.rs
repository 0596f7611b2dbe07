//! `write`: a whole file, or bytes at the end of one. The file is exactly what was given; line endings are not
//! touched. Appending is compare-and-set on the size, so that a repeated call appends once.

use super::change::{Changing, Target, at, unsupported};
use super::{
    OutputKind, PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput,
    schema,
};
use crate::workspace::{Expectation, Replaced, Workspace, WorkspaceError};
use a3s_code_contract::WorkspaceCapability;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How often an overwrite looks again at a file that changes under it.
const MAX_TRIES: usize = 8;

/// Writes a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteArgs {
    /// File to write, relative to the workspace; folders on the way are made.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Every byte to write.
    content: String,
    /// `overwrite` replaces the whole file, `append` adds to its end.
    #[serde(default)]
    mode: Mode,
    /// For `append`: the size of the file in bytes before it, 0 for a new one.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    expected_offset: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Overwrite,
    Append,
}

/// The `write` tool.
pub(crate) struct WriteTool;

#[async_trait]
impl Tool for WriteTool {
    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> &str {
        "Writes a text file: a new one, or a whole one in place of the old; folders on the way are made. Use `edit` \
         or `patch` to change a part. With mode `append` and `expected_offset`, the current size, it adds to the end."
    }

    fn parameters(&self) -> Value {
        schema::of::<WriteArgs>()
    }

    fn capabilities(&self, args: &Value) -> ToolCapabilities {
        ToolCapabilities {
            idempotent: true,
            resumable: args["mode"] == "append",
            output_kind: OutputKind::Diff,
            ..ToolCapabilities::default()
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(vec![args["file_path"].as_str()?.to_owned()])
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        let path = args["file_path"].as_str().map(str::to_owned);
        path.map(|path| PathUse { path, write: true })
            .into_iter()
            .collect()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: WriteArgs = call.parse()?;
        let changing = Changing::of(&call);
        call.blocking_work(move |workspace, _| match (args.mode, args.expected_offset) {
            (Mode::Append, Some(offset)) => append(workspace, &changing, &args, offset),
            (Mode::Append, None) => Err(ToolError::invalid(
                "expected_offset",
                "`append` needs `expected_offset`: the current size of the file in bytes, 0 for a new one.",
            )),
            (Mode::Overwrite, Some(offset)) if offset > 0 => Err(ToolError::invalid(
                "expected_offset",
                format!("`expected_offset` is {offset}: in mode `overwrite` it can only be 0."),
            )),
            (Mode::Overwrite, _) => overwrite(workspace, &changing, &args),
        })
        .await
        .map_err(|error| at("file_path", error))
    }
}

fn overwrite(
    workspace: &dyn Workspace,
    changing: &Changing,
    args: &WriteArgs,
) -> Result<ToolOutput, ToolError> {
    let target = changing.target(workspace, &args.file_path)?;
    let content = args.content.as_bytes();
    if !workspace.can(WorkspaceCapability::Read) {
        return unseen(workspace, changing, args, &target);
    }
    let mut tries = 0;
    // The receipt shows what was replaced, so what was read must be what is replaced.
    let (before, replaced) = loop {
        tries += 1;
        let before = changing.read(workspace, &target)?;
        let expectation = match &before {
            Some(bytes) => Expectation::Content(bytes),
            None => Expectation::Absent,
        };
        match changing.replace(workspace, &target, content, expectation) {
            Err(WorkspaceError::VersionConflict { .. }) if tries < MAX_TRIES => {}
            replaced => break (before, replaced?),
        }
    };
    let sizes = [before.as_ref().map_or(0, Vec::len), content.len()];
    let receipt =
        changing
            .receipts("write", sizes.into_iter())
            .of(&target, before.as_deref(), &args.content);
    Ok(done(args, &target, &replaced, receipt.metadata))
}

/// Overwrites where files cannot be read: the receipt cannot show what was replaced.
fn unseen(
    workspace: &dyn Workspace,
    changing: &Changing,
    args: &WriteArgs,
    target: &Target,
) -> Result<ToolOutput, ToolError> {
    let content = args.content.as_bytes();
    let replaced = changing.replace(workspace, target, content, Expectation::Any)?;
    let sizes = [0, content.len()];
    let receipt = changing
        .receipts("write", sizes.into_iter())
        .of(target, None, &args.content);
    Ok(done(args, target, &replaced, receipt.metadata))
}

fn done(
    args: &WriteArgs,
    target: &Target,
    replaced: &Replaced,
    metadata: Map<String, Value>,
) -> ToolOutput {
    let how = if replaced.created {
        "a new file"
    } else if replaced.written {
        "replaced"
    } else {
        "unchanged: it held the same bytes"
    };
    let mut output = ToolOutput::success(format!(
        "Wrote {} to {} ({how}).\n",
        amount(&args.content),
        target.shown()
    ));
    output.metadata = metadata;
    output.with("created", replaced.created)
}

fn append(
    workspace: &dyn Workspace,
    changing: &Changing,
    args: &WriteArgs,
    offset: u64,
) -> Result<ToolOutput, ToolError> {
    if !workspace.can(WorkspaceCapability::Read) {
        return Err(unsupported(
            "This workspace cannot read files, so nothing can be appended to one.".to_owned(),
        ));
    }
    let target = changing.target(workspace, &args.file_path)?;
    let content = args.content.as_bytes();
    let before = changing.read(workspace, &target)?;
    let held = before.as_deref().unwrap_or_default();
    let size = held.len() as u64;
    let receipt = |resulting_size: u64, already: bool, done: &str| {
        let text = format!(
            "{done} {} at byte {offset} of {}, which has {resulting_size} bytes now.\n",
            amount(&args.content),
            target.shown()
        );
        ToolOutput::success(text)
            .with("file_path", target.shown())
            .with("mode", "append")
            .with("offset", offset)
            .with("appended_bytes", content.len())
            .with("resulting_size", resulting_size)
            .with("already_applied", already)
    };
    if size == offset && !(content.is_empty() && before.is_some()) {
        let mut whole = Vec::with_capacity(held.len() + content.len());
        whole.extend_from_slice(held);
        whole.extend_from_slice(content);
        let expectation = match &before {
            Some(bytes) => Expectation::Content(bytes),
            None => Expectation::Absent,
        };
        changing.replace(workspace, &target, &whole, expectation)?;
        return Ok(receipt(whole.len() as u64, false, "Appended"));
    }
    if Some(size) == offset.checked_add(content.len() as u64) && held.ends_with(content) {
        return Ok(receipt(size, true, "Already appended"));
    }
    let message = format!(
        "`{}` has {size} bytes, not {offset} as expected; nothing was appended.",
        target.shown()
    );
    let mut refused = ToolError::new(
        ToolErrorKind::VersionConflict {
            path: target.shown(),
            expected: offset.to_string(),
            actual: before.is_some().then(|| size.to_string()),
        },
        message,
    );
    refused
        .metadata
        .insert("expected_offset".to_owned(), json!(offset));
    refused
        .metadata
        .insert("actual_size".to_owned(), json!(size));
    Err(refused)
}

/// How much a text is, in words.
fn amount(text: &str) -> String {
    let bytes = text.len();
    let lines = text.lines().count();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{bytes} byte{} ({lines} line{})",
        plural(bytes),
        plural(lines)
    )
}
