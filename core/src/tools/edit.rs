//! `edit`: exact text in a file replaced by other text.
//!
//! Nothing in the old or the new text has a special meaning. Between LF and CRLF no difference is made in a file
//! that uses one of them throughout: what is written has the file's endings. A mark at the beginning of the file
//! stays. All conditions are checked before anything is written, and the write expects the bytes that were
//! looked at. A dry run does everything but the write and gives the same receipt.

use super::change::{BOM, Changing, Endings, Target, at, bounded, too_large, unsupported};
use super::{
    OutputKind, PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput,
    schema,
};
use crate::workspace::{Expectation, Workspace};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Bytes of the diff in the text of a result.
const SHOWN_DIFF_BYTES: usize = 8 * 1024;

/// Replaces text in a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditArgs {
    /// File to change, relative to the workspace.
    #[schemars(length(min = 1))]
    file_path: String,
    /// Text to replace, exactly as it stands in the file, without line numbers.
    #[schemars(length(min = 1))]
    old_string: String,
    /// Text to put in its place.
    new_string: String,
    /// Replaces every occurrence; without it there must be exactly one.
    #[serde(default)]
    replace_all: bool,
    /// Shows the change without making it.
    #[serde(default)]
    dry_run: bool,
    /// Most occurrences to replace: with more, nothing is changed.
    #[serde(default)]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    max_replacements: Option<u64>,
    /// Number of occurrences there must be, as a dry run counted them: else nothing is changed.
    #[serde(default)]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    expected_replacements: Option<u64>,
}

/// The `edit` tool.
pub(crate) struct EditTool;

#[async_trait]
impl Tool for EditTool {
    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> &str {
        "Replaces exact text in a file. `old_string` must occur exactly once, or set `replace_all`. For a change in \
         many places, a `dry_run` tells `replacement_count`; apply with it as `expected_replacements`."
    }

    fn parameters(&self) -> Value {
        schema::of::<EditArgs>()
    }

    fn capabilities(&self, args: &Value) -> ToolCapabilities {
        let promised = if args["dry_run"] == true {
            ToolCapabilities::parallel_safe_read(16)
        } else {
            ToolCapabilities::default()
        };
        ToolCapabilities {
            output_kind: OutputKind::Diff,
            ..promised
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(vec![args["file_path"].as_str()?.to_owned()])
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        let write = args["dry_run"] != true;
        let path = args["file_path"].as_str().map(str::to_owned);
        path.map(|path| PathUse { path, write })
            .into_iter()
            .collect()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: EditArgs = call.parse()?;
        let changing = Changing::of(&call);
        call.blocking_work(move |workspace, _| edit(workspace, &changing, &args))
            .await
            .map_err(|error| at("file_path", error))
    }
}

fn edit(
    workspace: &dyn Workspace,
    changing: &Changing,
    args: &EditArgs,
) -> Result<ToolOutput, ToolError> {
    let target = changing.target(workspace, &args.file_path)?;
    let before = changing.existing(workspace, &target)?;
    let (after, count) = replaced(&target, &before, args)?;
    if !args.dry_run {
        let expectation = Expectation::Content(before.as_bytes());
        changing.replace(workspace, &target, after.as_bytes(), expectation)?;
    }
    let sizes = [before.len(), after.len()];
    let receipt =
        changing
            .receipts("edit", sizes.into_iter())
            .of(&target, Some(before.as_bytes()), &after);
    let plural = if count == 1 { "" } else { "s" };
    let done = if args.dry_run {
        "Dry run, nothing was written:"
    } else {
        "Edited:"
    };
    let diff = match &receipt.diff {
        Some(diff) => bounded(diff, SHOWN_DIFF_BYTES),
        None => "[The file is too large for a diff.]\n".into(),
    };
    let shown = target.shown();
    let mut output = ToolOutput::success(format!(
        "{done} {count} replacement{plural} in {shown}.\n{diff}"
    ));
    output.metadata = receipt.metadata;
    output.metadata.extend(facts(args, count));
    Ok(output)
}

/// The facts about an edit that stand beside the receipt, of a failed one too.
fn facts(args: &EditArgs, count: usize) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("dry_run".to_owned(), args.dry_run.into());
    facts.insert("replacement_count".to_owned(), count.into());
    facts.insert(
        "expected_replacements".to_owned(),
        json!(args.expected_replacements),
    );
    facts.insert("max_replacements".to_owned(), json!(args.max_replacements));
    facts
}

/// The text after the edit and how many places were changed; fails when a condition does not hold.
fn replaced(target: &Target, before: &str, args: &EditArgs) -> Result<(String, usize), ToolError> {
    let shown = target.shown();
    let endings = Endings::of(before);
    let multiline = args.old_string.contains('\n') || args.new_string.contains('\n');
    if endings == Endings::Mixed && multiline {
        return Err(unsupported(format!(
            "`{shown}` has both LF and CRLF line endings: text of several lines cannot be replaced in it without \
             changing some. Edit within single lines, or rewrite the file with `write`."
        )));
    }
    let old = endings.adapt(&args.old_string);
    let new = endings.adapt(&args.new_string);
    let finder = memchr::memmem::Finder::new(old.as_bytes());
    let count = finder.find_iter(before.as_bytes()).count();
    check_count(&shown, args, count)?;
    let size = before.len() - count * old.len();
    too_large(
        target,
        (size as u64).saturating_add((count as u64).saturating_mul(new.len() as u64)),
    )?;
    let mut after = String::with_capacity(size + count * new.len() + BOM.len_utf8());
    let mut done = 0;
    for place in finder.find_iter(before.as_bytes()) {
        after.push_str(&before[done..place]);
        after.push_str(&new);
        done = place + old.len();
    }
    after.push_str(&before[done..]);
    if before.starts_with(BOM) && !after.starts_with(BOM) {
        after.insert(0, BOM);
    }
    let kept = match (endings, Endings::of(&after)) {
        (Endings::None | Endings::Mixed, _) | (_, Endings::None) => true,
        (old, new) => old == new,
    };
    if !kept {
        return Err(failed(
            args,
            count,
            "new_string",
            None,
            format!(
                "The edit would mix line endings in `{shown}`: it would put a CR before a line feed or take one away. \
                 Nothing was changed."
            ),
        ));
    }
    if after == before && args.old_string != args.new_string {
        return Err(failed(
            args,
            count,
            "new_string",
            None,
            format!(
                "The edit would change nothing in `{shown}`: line endings and the mark at the beginning stay as \
                 they are. Use `write` to change them."
            ),
        ));
    }
    Ok((after, count))
}

fn check_count(shown: &str, args: &EditArgs, count: usize) -> Result<(), ToolError> {
    let found = count as u64;
    let (argument, bound, message) = match (args.expected_replacements, args.max_replacements) {
        _ if count == 0 => (
            "old_string",
            None,
            format!(
                "`old_string` does not occur in `{shown}`: it must be the exact text, spaces and all. Nothing was \
                 changed; read the file again."
            ),
        ),
        (Some(expected), _) if expected != found => (
            "expected_replacements",
            Some(expected),
            format!(
                "`old_string` occurs {count} times in `{shown}`, not {expected} as expected. Nothing was changed."
            ),
        ),
        (_, Some(most)) if found > most => (
            "max_replacements",
            Some(most),
            format!(
                "`old_string` occurs {count} times in `{shown}`, more than the {most} allowed. Nothing was changed."
            ),
        ),
        _ if count > 1 && !args.replace_all => (
            "old_string",
            Some(1),
            format!(
                "`old_string` occurs {count} times in `{shown}`. Give more of the text around the one meant, or set \
                 `replace_all`. Nothing was changed."
            ),
        ),
        _ => return Ok(()),
    };
    let mut error = failed(args, count, argument, bound, message);
    error
        .metadata
        .insert("file_path".to_owned(), shown.to_owned().into());
    Err(error)
}

/// A wrong argument, with the counts.
fn failed(
    args: &EditArgs,
    count: usize,
    argument: &str,
    bound: Option<u64>,
    message: String,
) -> ToolError {
    let kind = ToolErrorKind::InvalidArgument {
        message: message.clone(),
        argument: Some(argument.to_owned()),
        bound: bound.map(|bound| bound.to_string()),
    };
    ToolError {
        metadata: facts(args, count),
        ..ToolError::new(kind, message)
    }
}
