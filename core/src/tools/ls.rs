//! `ls`: the entries of a folder, page by page. Shows everything: hidden and ignored names, links, odd names.

use super::attempt::Attempt;
use super::page::{Page, fingerprint};
use super::{
    PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolOutput, schema,
};
use crate::workspace::{DirEntry, FileKind, Wait, Workspace};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Lists the entries of a folder.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LsArgs {
    /// Folder, relative to the workspace; the root when left out.
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// Entries of a page; 200 when left out.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Where to go on: `page.next_cursor` of the page before.
    cursor: Option<String>,
}

/// The `ls` tool.
pub(crate) struct LsTool;

#[async_trait]
impl Tool for LsTool {
    fn name(&self) -> &str {
        "ls"
    }

    fn description(&self) -> &str {
        "Lists the entries of a folder: kind, size and name, folders first. Hidden and ignored names are shown. \
         When there is more, the page ends with a cursor to go on with."
    }

    fn parameters(&self) -> Value {
        schema::of::<LsArgs>()
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        ToolCapabilities {
            resumable: true,
            supports_pagination: true,
            ..ToolCapabilities::parallel_safe_read(16)
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(vec![args["path"].as_str().unwrap_or(".").to_owned()])
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        let path = args["path"].as_str().unwrap_or(".").to_owned();
        vec![PathUse { path, write: false }]
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: LsArgs = call.parse()?;
        call.file_work(move |workspace, wait| list(workspace, wait, &args))
            .await
            .map_err(Attempt::into_error)
    }
}

fn list(workspace: &dyn Workspace, wait: Wait, args: &LsArgs) -> Result<ToolOutput, Attempt> {
    let path = workspace.resolve(args.path.as_deref().unwrap_or("."))?;
    let mut entries = workspace.file_system().read_dir(&path, wait)?;
    entries.sort_by_cached_key(|entry| {
        (
            entry.kind != FileKind::Directory,
            entry.name.to_lowercase(),
            entry.name.clone(),
        )
    });
    let shown = if path.as_str().is_empty() {
        ".".to_owned()
    } else {
        path.display().into_owned()
    };
    let seal = fingerprint(
        std::iter::once(shown.as_str()).chain(entries.iter().map(|entry| entry.name.as_str())),
    );
    let page = Page::cut(entries.len(), args.limit, args.cursor.as_deref(), seal)?;
    let rows = &entries[page.offset..page.end];
    let mut text = format!(
        "{shown}: {} of {} entries\n",
        rows.len(),
        entries.len()
    );
    for entry in rows {
        row(&mut text, entry);
    }
    text.push_str(&page.footer());
    Ok(ToolOutput::success(text)
        .with("path", shown.clone())
        .with("source_anchors", json!([shown]))
        .with("page", page.metadata()))
}

fn row(text: &mut String, entry: &DirEntry) {
    let (kind, suffix) = match entry.kind {
        FileKind::File => ("file", ""),
        FileKind::Directory => ("dir", "/"),
        FileKind::Symlink => ("link", ""),
        FileKind::Other => ("unknown", ""),
    };
    let size = match entry.kind {
        FileKind::File => size(entry.len),
        _ => "-".to_owned(),
    };
    let _ = writeln!(text, "{kind:<6} {size:>8} {}{suffix}", entry.name);
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KB", "MB", "GB"];
    let mut unit = 0;
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes}B")
    } else {
        format!("{value:.1}{}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{LocalWorkspace, test_support::Scratch};

    fn ls(workspace: &dyn Workspace, args: Value) -> Result<ToolOutput, ToolError> {
        let args = serde_json::from_value(args).unwrap();
        list(workspace, Wait::Allowed, &args).map_err(Attempt::into_error)
    }

    // claims: CTR-07, AST-07
    #[test]
    fn following_the_cursor_lists_every_entry_once_folders_first() {
        let scratch = Scratch::new();
        for n in 0..25 {
            scratch.write(format!("d/f{n:02}.txt"), "x");
        }
        scratch.write("d/sub/x", "");
        let workspace = LocalWorkspace::open(&scratch.root(), false).unwrap();
        let (mut seen, mut cursor) = (String::new(), Value::Null);
        for pages in 1.. {
            let mut args = json!({ "path": "d", "limit": 10 });
            if !cursor.is_null() {
                args["cursor"] = cursor;
            }
            let output = ls(&workspace, args).unwrap();
            seen.push_str(&output.text);
            assert_eq!(output.metadata["page"]["total_items"], 26);
            cursor = output.metadata["page"]["next_cursor"].clone();
            if cursor.is_null() {
                assert_eq!(pages, 3);
                break;
            }
        }
        for n in 0..25 {
            assert_eq!(seen.matches(&format!("f{n:02}.txt")).count(), 1);
        }
        assert!(seen.lines().nth(1).unwrap().ends_with("sub/"));
    }

    // claims: CTR-07
    #[test]
    fn a_cursor_of_a_folder_that_changed_is_refused() {
        let scratch = Scratch::new();
        for n in 0..5 {
            scratch.write(format!("d/f{n}"), "x");
        }
        let workspace = LocalWorkspace::open(&scratch.root(), false).unwrap();
        let first = ls(&workspace, json!({ "path": "d", "limit": 2 })).unwrap();
        let cursor = first.metadata["page"]["next_cursor"].clone();
        scratch.write("d/a-new-one", "x");
        let refused = ls(&workspace, json!({ "path": "d", "limit": 2, "cursor": cursor }));
        assert_eq!(refused.unwrap_err().kind.tag(), "invalid_argument");
        let missing = ls(&workspace, json!({ "path": "gone" })).unwrap_err();
        assert_eq!(missing.kind.tag(), "not_found");
    }
}
