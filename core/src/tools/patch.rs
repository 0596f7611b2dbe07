//! `patch`: a unified diff applied to a file, or several diffs to several files, all or none.
//!
//! A hunk applies where it says or not at all: context and removed lines must be the file's, at the stated
//! line, with nothing fuzzy about it. Files are neither made nor deleted. Everything is checked, and every new
//! file is written and synced aside, before the first one is put in its place; when a later one cannot be, those
//! before it are put back.

mod apply;
mod hunks;
#[cfg(test)]
mod tests;

use super::change::{Changing, MAX_FILE_BYTES, Target, at, bounded};
use super::{
    OutputKind, PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput,
    schema,
};
use crate::workspace::{Expectation, Workspace, WorkspaceError};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bytes of the diffs in the text of a result.
const SHOWN_DIFF_BYTES: usize = 8 * 1024;

/// Applies unified diffs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PatchArgs {
    /// File to change, relative to the workspace. Goes with `diff`.
    #[schemars(length(min = 1))]
    file_path: Option<String>,
    /// Unified diff: hunks with exact line numbers, counts and context.
    #[schemars(length(min = 1))]
    diff: Option<String>,
    /// Several files, changed all or none; `file_path` and `diff` are then not looked at.
    #[schemars(length(min = 1, max = 64))]
    patches: Option<Vec<Member>>,
}

/// One of several files.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Member {
    /// File to change, relative to the workspace; each file once.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Unified diff for this file.
    #[schemars(length(min = 1))]
    diff: String,
}

/// The `patch` tool.
pub(crate) struct PatchTool;

#[async_trait]
impl Tool for PatchTool {
    fn name(&self) -> &str {
        "patch"
    }

    fn description(&self) -> &str {
        "Applies a unified diff to an existing file. Context and removed lines must match exactly at the stated line. \
         Use `patches` to change several files, all or none."
    }

    fn parameters(&self) -> Value {
        schema::of::<PatchArgs>()
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities {
            output_kind: OutputKind::Diff,
            ..ToolCapabilities::default()
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(spelled_paths(args)).filter(|paths| !paths.is_empty())
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        spelled_paths(args)
            .into_iter()
            .map(|path| PathUse { path, write: true })
            .collect()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: PatchArgs = call.parse()?;
        let changing = Changing::of(&call);
        let (members, argument) = match (args.patches, args.file_path, args.diff) {
            (Some(members), _, _) => (members, "patches"),
            (None, Some(file_path), Some(diff)) => (vec![Member { file_path, diff }], "file_path"),
            (None, None, _) => {
                return Err(ToolError::invalid(
                    "file_path",
                    "`file_path` and `diff`, or `patches`, are required.",
                ));
            }
            (None, Some(_), None) => {
                return Err(ToolError::invalid(
                    "diff",
                    "`diff` is required with `file_path`.",
                ));
            }
        };
        let several = argument == "patches";
        call.blocking_work(move |workspace, _| patch(workspace, &changing, &members, several))
            .await
            .map_err(|error| at(argument, error))
    }
}

/// A file before and after its diff.
struct Patched {
    target: Target,
    before: String,
    after: String,
}

fn patch(
    workspace: &dyn Workspace,
    changing: &Changing,
    members: &[Member],
    several: bool,
) -> Result<ToolOutput, ToolError> {
    let changes = checked(workspace, changing, members, several)?;
    written(workspace, changing, &changes)?;
    let sizes = changes
        .iter()
        .flat_map(|change| [change.before.len(), change.after.len()]);
    let mut receipts = changing.receipts("patch", sizes);
    let mut text = match &changes[..] {
        [one] => format!("Patched {}.\n", one.target.shown()),
        all => format!("Patched {} files.\n", all.len()),
    };
    let mut files: Vec<Map<String, Value>> = Vec::new();
    let mut diffs = String::new();
    for change in &changes {
        let receipt = receipts.of(
            &change.target,
            Some(change.before.as_bytes()),
            &change.after,
        );
        match receipt.diff {
            Some(diff) => diffs.push_str(&diff),
            None => {
                let _ = writeln!(diffs, "[{}: too large for a diff.]", change.target.shown());
            }
        }
        files.push(receipt.metadata);
    }
    text.push_str(&bounded(&diffs, SHOWN_DIFF_BYTES));
    let mut output = ToolOutput::success(text);
    if several {
        let files = files.into_iter().map(Value::Object).collect();
        return Ok(output.with("files", Value::Array(files)));
    }
    output.metadata = files.pop().unwrap_or_default();
    Ok(output)
}

/// Every change, computed; nothing is written.
fn checked(
    workspace: &dyn Workspace,
    changing: &Changing,
    members: &[Member],
    several: bool,
) -> Result<Vec<Patched>, ToolError> {
    let argument = if several { "patches" } else { "diff" };
    let mut seen = BTreeSet::new();
    let mut changes = Vec::with_capacity(members.len());
    let mut bytes = 0_u64;
    for member in members {
        let hunks = hunks::parse(&member.diff).map_err(|reason| {
            let of = if several {
                format!(" of `{}`", member.file_path)
            } else {
                String::new()
            };
            ToolError::invalid(
                argument,
                format!("The diff{of} cannot be used: {reason}. Nothing was changed."),
            )
        })?;
        let target = changing.target(workspace, &member.file_path)?;
        if !seen.insert(target.real.clone()) {
            return Err(ToolError::invalid(
                argument,
                format!(
                    "`{}` is named twice: put all hunks of a file into one diff. Nothing was changed.",
                    target.shown()
                ),
            ));
        }
        let before = changing.existing(workspace, &target)?;
        bytes = bytes.saturating_add(before.len() as u64);
        if bytes > MAX_FILE_BYTES {
            return Err(WorkspaceError::TooLarge {
                path: target.shown(),
                size: bytes,
                max: MAX_FILE_BYTES,
            }
            .into());
        }
        let after = apply::apply(&target.shown(), &before, &hunks, argument)?;
        changes.push(Patched {
            target,
            before,
            after,
        });
    }
    Ok(changes)
}

/// Writes every change or none.
fn written(
    workspace: &dyn Workspace,
    changing: &Changing,
    changes: &[Patched],
) -> Result<(), ToolError> {
    let mut staged = Vec::with_capacity(changes.len());
    for change in changes {
        staged.push(changing.stage(
            workspace,
            &change.target,
            change.after.as_bytes(),
            Expectation::Content(change.before.as_bytes()),
        )?);
    }
    for (at, write) in staged.into_iter().enumerate() {
        let Err(error) = write.commit() else { continue };
        let mut left = Vec::new();
        for done in changes[..at].iter().rev() {
            let (old, new) = (done.before.as_bytes(), done.after.as_bytes());
            if let Err(error) = changing.put_back(workspace, &done.target, old, new) {
                left.push(format!("{} ({error})", done.target.shown()));
            }
        }
        let mut failure = ToolError::from(error);
        if left.is_empty() {
            failure.message.push_str("; no file was changed");
        } else {
            let _ = write!(
                failure.message,
                "; these files were changed before and could not be put back: {}",
                left.join(", ")
            );
            failure
                .metadata
                .insert("left_changed".to_owned(), left.into());
        }
        return Err(failure);
    }
    Ok(())
}

/// The paths of a call, as it spells them.
fn spelled_paths(args: &Value) -> Vec<String> {
    let of = |member: &Value| member["file_path"].as_str().map(str::to_owned);
    match args["patches"].as_array() {
        Some(members) => members.iter().filter_map(of).collect(),
        None => of(args).into_iter().collect(),
    }
}

/// The error of a file that is not as the diff says.
fn conflict(shown: &str, line: usize, expected: &str, actual: Option<&str>) -> ToolError {
    /// Most bytes of a line that an error repeats.
    const SHOWN: usize = 200;
    let cut = |text: &str| match text.len() > SHOWN {
        true => format!("{}...", &text[..text.floor_char_boundary(SHOWN)]),
        false => text.to_owned(),
    };
    let is = match actual {
        Some(actual) => format!("it is `{}`", cut(actual)),
        None => "the file ends before it".to_owned(),
    };
    ToolError::new(
        ToolErrorKind::VersionConflict {
            path: shown.to_owned(),
            expected: cut(expected),
            actual: actual.map(cut),
        },
        format!(
            "`{shown}` is not as the diff says: line {line} should be `{}`, {is}. Nothing was changed; read the file \
             again.",
            cut(expected)
        ),
    )
}
