//! `ls`: the entries of a folder, page by page. Shows everything: hidden and ignored names, links, odd names.

use super::attempt::Attempt;
use super::page::{Page, fingerprint};
use super::{PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolOutput, schema};
use crate::workspace::{DirEntry, FileKind, Wait, Workspace, name};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Bytes of a result kept free for its first line and its footer, beside the folder's name.
const RESERVED_BYTES: usize = 512;

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
        let budget = call.max_output_bytes();
        call.file_work(move |workspace, wait| list(workspace, wait, &args, budget))
            .await
            .map_err(Attempt::into_error)
    }
}

fn list(
    workspace: &dyn Workspace,
    wait: Wait,
    args: &LsArgs,
    budget: usize,
) -> Result<ToolOutput, Attempt> {
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
    let mut page = Page::cut(entries.len(), args.limit, args.cursor.as_deref(), seal)?;
    let room = budget.saturating_sub(RESERVED_BYTES + shown.len());
    let mut rows = String::new();
    for (at, entry) in entries[page.offset..page.end].iter().enumerate() {
        let before = rows.len();
        row(&mut rows, entry);
        if rows.len() > room && at > 0 {
            rows.truncate(before);
            page.end_after(at);
            break;
        }
    }
    let text = format!(
        "{shown}: {} of {} entries\n{rows}{}",
        page.end - page.offset,
        entries.len(),
        page.footer()
    );
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
    let _ = writeln!(
        text,
        "{kind:<6} {size:>8} {}{suffix}",
        name::printable(&entry.name)
    );
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
        list(workspace, Wait::Allowed, &args, 102_400).map_err(Attempt::into_error)
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
    fn a_page_that_does_not_fit_ends_early_and_goes_on() {
        let scratch = Scratch::new();
        for n in 0..40 {
            scratch.write(format!("d/{n:02}{}", "x".repeat(200)), "");
        }
        let workspace = LocalWorkspace::open(&scratch.root(), false).unwrap();
        let (mut seen, mut args) = (
            String::new(),
            LsArgs {
                path: Some("d".into()),
                ..LsArgs::default()
            },
        );
        loop {
            let output = list(&workspace, Wait::Allowed, &args, 1024).unwrap();
            assert!(output.text.len() <= 1024);
            seen.push_str(&output.text);
            args.cursor = output.metadata["page"]["next_cursor"]
                .as_str()
                .map(str::to_owned);
            if args.cursor.is_none() {
                break;
            }
        }
        for n in 0..40 {
            assert_eq!(seen.matches(&format!(" {n:02}xx")).count(), 1);
        }
    }

    // claims: AST-07
    #[test]
    fn hidden_and_ignored_names_links_and_odd_names_are_listed_one_a_row() {
        let scratch = Scratch::new();
        scratch.write(".gitignore", "*.log\n");
        scratch.write("p/.hidden", "h");
        scratch.write("p/ignored.log", [b'x'; 1536]);
        scratch.write("p/Zed/x", "x");
        scratch.write("p/new\nline", "x");
        scratch.link("p/link.txt", "gone");
        let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
        let output = ls(&workspace, json!({ "path": "p" })).unwrap();
        let rows: Vec<&str> = output.text.lines().collect();
        assert_eq!(
            rows,
            [
                "p: 5 of 5 entries",
                "dir           - Zed/",
                "file         1B .hidden",
                "file      1.5KB ignored.log",
                "link          - link.txt",
                "file         1B new\\x0aline",
            ]
        );
        assert_eq!(
            (
                &output.metadata["path"],
                &output.metadata["page"]["truncated"]
            ),
            (&json!("p"), &json!(false))
        );
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
        let refused = ls(
            &workspace,
            json!({ "path": "d", "limit": 2, "cursor": cursor }),
        );
        assert_eq!(refused.unwrap_err().kind.tag(), "invalid_argument");
        let missing = ls(&workspace, json!({ "path": "gone" })).unwrap_err();
        assert_eq!(missing.kind.tag(), "not_found");
    }
}
