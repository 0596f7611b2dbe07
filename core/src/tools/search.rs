//! `search`: paths by pattern (`glob`) and lines by regular expression (`grep`), over the workspace's own search.
//!
//! One tool for the model, one mode a call. Which modes there are is in the schema; the modes never mix.

mod ranked;
use super::page::{Page, fingerprint};
use super::{
    PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput, ToolValue,
    schema,
};
use crate::search::{
    GlobPattern, GlobRequest, GrepDetail, GrepRequest, GrepResponse, PathOrder, RowKind,
    SearchError, SearchScope,
};
use crate::workspace::{Wait, Workspace, WorkspaceError, name::printable};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use tokio_util::sync::CancellationToken;

/// Bytes of rows of a `content` search.
const CONTENT_BYTES: usize = 96 * 1024;
/// Bytes of hits for a typed helper.
const EXACT_BYTES: usize = 16 * 1024 * 1024;
/// Most anchors and results in the metadata.
const MAX_ANCHORS: usize = 64;
/// Files named as too large in the text.
const NAMED_IN_TEXT: usize = 3;

/// What to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Grep,
    Glob,
    Bm25,
}

/// Shape of a `grep` result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
    Summary,
}

impl OutputMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::FilesWithMatches => "files_with_matches",
            Self::Count => "count",
            Self::Summary => "summary",
        }
    }
}

/// Order of the paths of a `glob`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Path,
    #[default]
    Backend,
}

/// Searches the workspace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// `grep`: lines by regular expression; `glob`: paths by pattern; `bm25`: places ranked by plain text.
    mode: Mode,
    /// The regular expression, the glob pattern or the plain text.
    #[schemars(length(min = 1, max = 4096))]
    query: String,
    /// Folder or file to stay in; the root when left out.
    #[serde(default)]
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// grep, bm25: only files whose path matches this glob, such as `*.rs`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    include: Option<String>,
    /// Lines of context around each match; grep: 0 when left out, bm25: 2 when left out and at most 8.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    context: Option<usize>,
    /// grep: whether case counts; true when left out.
    #[serde(default)]
    case_sensitive: Option<bool>,
    /// grep: `content` (lines), `files_with_matches` (paths), `count` (lines a file), `summary` (totals).
    #[serde(default)]
    output_mode: Option<OutputMode>,
    /// Items of a page, for paths and counts; 200 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Where to go on: `page.next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
    /// glob: `path` for lexical order and stable pages, `backend` for what changed last first.
    #[serde(default)]
    sort: Option<Sort>,
}

/// The `search` tool.
pub(crate) struct SearchTool {
    /// Whether files can be read, which ranking needs.
    pub(crate) ranks: bool,
}

#[async_trait]
impl Tool for SearchTool {
    fn name(&self) -> &str {
        "search"
    }

    fn description(&self) -> &str {
        "Searches the workspace. Mode `grep` finds lines by regular expression, mode `glob` finds paths by pattern, \
         mode `bm25` ranks places by a plain-text query. \
         Ignored files and `.git` are left out, hidden files are not. Choose the smallest `output_mode` that answers \
         the question."
    }

    fn parameters(&self) -> Value {
        let mut schema = schema::of::<SearchArgs>();
        if !self.ranks {
            let mode = &mut schema["properties"]["mode"];
            for words in ["enum", "oneOf"] {
                if let Some(Value::Array(words)) = mode.get_mut(words) {
                    words.retain(|word| word != "bm25" && word["const"] != "bm25");
                }
            }
        }
        schema
    }

    fn capabilities(&self, args: &Value) -> ToolCapabilities {
        if args["mode"] == "bm25" {
            return ToolCapabilities::parallel_safe_read(2);
        }
        let paged = args["mode"] == "glob"
            || matches!(
                args["output_mode"].as_str(),
                Some("files_with_matches" | "count")
            );
        ToolCapabilities {
            resumable: paged,
            supports_pagination: paged,
            ..ToolCapabilities::parallel_safe_read(16)
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        let word = |key: &str| args[key].as_str().unwrap_or_default().to_owned();
        let path = args["path"].as_str().unwrap_or(".");
        Some(vec![format!("{} {} {path}", word("mode"), word("query"))])
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        let path = args["path"].as_str().unwrap_or(".").to_owned();
        vec![PathUse { path, write: false }]
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: SearchArgs = call.parse()?;
        let cancelled = call.cancellation().child_token();
        // The work is on another thread: when nobody waits for it any more, it must stop there.
        let _stop = cancelled.clone().drop_guard();
        let value_wanted = call.value_wanted();
        let refused = call.refused_content();
        let content_bytes = CONTENT_BYTES.min(call.max_output_bytes().saturating_sub(512));
        call.blocking_work(move |workspace, wait| {
            let withheld = refused.as_ref().map(|refused| {
                let real = real_spelling(workspace, args.path.as_deref().unwrap_or("."));
                move |path: &str| refused(&[path, &real(path)])
            });
            let search = Search {
                workspace,
                withheld: withheld.as_ref().map(|withheld| withheld as _),
                wait,
                cancelled: &cancelled,
                args: &args,
                content_bytes,
            };
            match (args.mode, value_wanted) {
                (Mode::Glob, false) => search.glob(),
                (Mode::Glob, true) => search.every_path(),
                (Mode::Grep, false) => search.grep(),
                (Mode::Grep, true) => search.every_hit(),
                (Mode::Bm25, _) => search.ranked(),
            }
        })
        .await
    }
}

impl From<SearchError> for ToolError {
    fn from(error: SearchError) -> Self {
        let message = error.to_string();
        match error {
            SearchError::Cancelled => Self::new(
                ToolErrorKind::Cancelled {
                    op: "search".to_owned(),
                },
                message,
            ),
            SearchError::InvalidPattern { argument, .. } => Self::invalid(argument, message),
            SearchError::TooLarge { size, max } => Self::new(
                ToolErrorKind::TooLarge {
                    path: "search".to_owned(),
                    size_bytes: size,
                    max_bytes: max,
                },
                message,
            ),
            SearchError::Workspace(error) => error.into(),
        }
    }
}

/// One search on its way.
struct Search<'a> {
    workspace: &'a dyn Workspace,
    wait: Wait,
    cancelled: &'a CancellationToken,
    args: &'a SearchArgs,
    content_bytes: usize,
    withheld: Option<&'a (dyn Fn(&str) -> bool + Sync)>,
}

/// Gives for a path below `start` the one that does not lead through a link, where `start` does.
fn real_spelling(workspace: &dyn Workspace, start: &str) -> impl Fn(&str) -> String + Sync + use<> {
    let spelled = workspace.resolve(start);
    let real = spelled
        .as_ref()
        .ok()
        .and_then(|path| workspace.real_path(path).ok());
    let spelled = spelled.map_or_else(|_| String::new(), |path| path.as_str().to_owned());
    move |path: &str| match (&real, path.strip_prefix(spelled.as_str())) {
        (Some(real), Some(rest)) => {
            let joined = format!("{}/{}", real.as_str(), rest.trim_start_matches('/'));
            joined.trim_matches('/').to_owned()
        }
        _ => path.to_owned(),
    }
}

impl Search<'_> {
    fn glob(&self) -> Result<ToolOutput, ToolError> {
        self.refuse_grep_arguments()?;
        let sort = self.args.sort.unwrap_or_default();
        let order = match sort {
            Sort::Path => PathOrder::Path,
            Sort::Backend => PathOrder::Backend,
        };
        let found = self.paths(order)?;
        let seal = self.seal("glob", found.paths.iter().map(String::as_str));
        let mut page = self.page(found.paths.len(), seal)?;
        let mut text = String::new();
        for (at, path) in found.paths[page.offset..page.end].iter().enumerate() {
            if !self.row(&mut text, &printable(path)) {
                page.end_after(at);
                break;
            }
        }
        let shown = &found.paths[page.offset..page.end];
        let _ = writeln!(text, "[{} of {} paths.]", shown.len(), found.paths.len());
        text.push_str(&page.footer());
        Ok(ToolOutput::success(text)
            .with("mode", "glob")
            .with(
                "sort",
                match sort {
                    Sort::Path => "path",
                    Sort::Backend => "backend",
                },
            )
            .with("source_anchors", anchors(shown.iter().map(String::as_str)))
            .with("page", page.metadata())
            .with("search", json!({ "truncated": found.truncated })))
    }

    /// Every path, for the typed helper.
    fn every_path(&self) -> Result<ToolOutput, ToolError> {
        self.refuse_grep_arguments()?;
        let found = self.paths(PathOrder::Path)?;
        let mut output =
            ToolOutput::success(format!("[{} paths.]\n", found.paths.len())).with("mode", "glob");
        output.value = Some(ToolValue::Paths(found.paths));
        Ok(output)
    }

    fn paths(&self, order: PathOrder) -> Result<crate::search::GlobResponse, ToolError> {
        let request = GlobRequest {
            pattern: GlobPattern::new(&self.args.query, "query")?,
            path: self.folder()?,
            order,
        };
        Ok(self
            .workspace
            .search()
            .glob(&request, self.scope(&|| self.cancelled.is_cancelled()))?)
    }

    fn grep(&self) -> Result<ToolOutput, ToolError> {
        if self.args.sort.is_some() {
            return Err(ToolError::invalid("sort", "`sort` goes with mode `glob`."));
        }
        let shape = self.args.output_mode.unwrap_or_default();
        let paged = matches!(shape, OutputMode::FilesWithMatches | OutputMode::Count);
        if !paged {
            self.refuse_paging(shape)?;
        }
        if shape != OutputMode::Content && self.args.context.is_some_and(|lines| lines > 0) {
            return Err(ToolError::invalid(
                "context",
                "`context` goes with output_mode `content`.",
            ));
        }
        let detail = match shape {
            OutputMode::Content => GrepDetail::Lines {
                context: self.args.context.unwrap_or(0),
                max_bytes: self.content_bytes,
            },
            _ => GrepDetail::Counts,
        };
        let found = self.lines(detail)?;
        let mut text = String::new();
        let mut metadata = Map::new();
        let listed: Vec<&str> = match shape {
            OutputMode::Content => {
                metadata.insert("results".to_owned(), content(&mut text, &found));
                found.files.iter().map(|file| &*file.path).collect()
            }
            OutputMode::Summary => Vec::new(),
            OutputMode::FilesWithMatches | OutputMode::Count => {
                let counts = found
                    .files
                    .iter()
                    .map(|file| file.matching_lines.to_string());
                let counts: Vec<String> = counts.collect();
                let parts = found.files.iter().map(|file| &*file.path);
                let seal = self.seal(shape.as_str(), parts.chain(counts.iter().map(|n| &**n)));
                let mut page = self.page(found.files.len(), seal)?;
                for (at, file) in found.files[page.offset..page.end].iter().enumerate() {
                    let path = printable(&file.path);
                    let row = match shape {
                        OutputMode::Count => format!("{path}: {}", file.matching_lines),
                        _ => path.into_owned(),
                    };
                    if !self.row(&mut text, &row) {
                        page.end_after(at);
                        break;
                    }
                }
                let shown = &found.files[page.offset..page.end];
                text.push_str(&page.footer());
                metadata.insert("page".to_owned(), page.metadata());
                metadata.insert("sort".to_owned(), "path".into());
                shown.iter().map(|file| &*file.path).collect()
            }
        };
        let anchors = anchors(listed);
        totals(&mut text, &found);
        let mut output = ToolOutput::success(text)
            .with("mode", "grep")
            .with("output_mode", shape.as_str())
            .with("source_anchors", anchors)
            .with("search", search_facts(&found))
            .with("failed_reads", found.failed_reads);
        if found.skipped_oversize > 0 {
            let named: Vec<Value> = found
                .oversized
                .iter()
                .map(|file| json!({ "path": file.path, "size_bytes": file.size }))
                .collect();
            output = output
                .with("skipped_oversize", named)
                .with("skipped_oversize_count", found.skipped_oversize);
        }
        output.metadata.append(&mut metadata);
        Ok(output)
    }

    /// Every hit, for the typed helper.
    fn every_hit(&self) -> Result<ToolOutput, ToolError> {
        let found = self.lines(GrepDetail::Everything {
            max_bytes: EXACT_BYTES,
        })?;
        let mut text = String::new();
        totals(&mut text, &found);
        let mut output = ToolOutput::success(text)
            .with("mode", "grep")
            .with("search", search_facts(&found));
        output.value = Some(ToolValue::Text(found.text));
        Ok(output)
    }

    fn lines(&self, detail: GrepDetail) -> Result<GrepResponse, ToolError> {
        let include = match &self.args.include {
            Some(include) => Some(GlobPattern::new(include, "include")?),
            None => None,
        };
        let request = GrepRequest {
            pattern: self.args.query.clone(),
            case_sensitive: self.args.case_sensitive.unwrap_or(true),
            path: self.folder()?,
            include,
            detail,
        };
        let cancelled = || self.cancelled.is_cancelled();
        let scope = self.scope(&cancelled);
        let mut found = self.workspace.search().grep(&request, scope)?;
        // A backend of the application may not have asked.
        if let Some(withheld) = self.withheld {
            let all = found.files.len();
            found.files.retain(|file| !withheld(&file.path));
            found.withheld_files += (all - found.files.len()) as u64;
        }
        Ok(found)
    }

    fn folder(&self) -> Result<crate::workspace::WorkspacePath, WorkspaceError> {
        self.workspace
            .resolve(self.args.path.as_deref().unwrap_or("."))
    }

    fn scope<'a>(&'a self, cancelled: &'a (dyn Fn() -> bool + Sync)) -> SearchScope<'a> {
        SearchScope {
            files: self.workspace.file_system(),
            wait: self.wait,
            cancelled,
            withheld: self.withheld,
        }
    }

    /// Adds a row; false when it does not fit and is not the first.
    fn row(&self, text: &mut String, row: &str) -> bool {
        let fits = text.is_empty() || text.len() + row.len() < self.content_bytes;
        if fits {
            text.push_str(row);
            text.push('\n');
        }
        fits
    }

    fn page(&self, total: usize, seal: u64) -> Result<Page, ToolError> {
        Page::cut(total, self.args.limit, self.args.cursor.as_deref(), seal)
    }

    /// Binds a cursor to what was asked and to what was found.
    fn seal<'a>(&'a self, shape: &'a str, found: impl Iterator<Item = &'a str>) -> u64 {
        let asked = [
            shape,
            &self.args.query,
            self.args.path.as_deref().unwrap_or("."),
            self.args.include.as_deref().unwrap_or(""),
        ];
        fingerprint(asked.into_iter().chain(found))
    }

    fn refuse_grep_arguments(&self) -> Result<(), ToolError> {
        let args = self.args;
        let given = [
            ("include", args.include.is_some()),
            ("context", args.context.is_some()),
            ("case_sensitive", args.case_sensitive.is_some()),
            ("output_mode", args.output_mode.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(ToolError::invalid(
                name,
                format!(
                    "`{name}` goes with mode `grep`; in mode `glob` the query is the whole filter."
                ),
            )),
            None => Ok(()),
        }
    }

    fn refuse_paging(&self, shape: OutputMode) -> Result<(), ToolError> {
        let shape = shape.as_str();
        if self
            .args
            .cursor
            .as_deref()
            .is_some_and(|cursor| !cursor.trim().is_empty())
        {
            return Err(ToolError::invalid(
                "cursor",
                format!("output_mode `{shape}` has no pages."),
            ));
        }
        if self
            .args
            .limit
            .is_some_and(|limit| limit != super::page::DEFAULT_LIMIT)
        {
            return Err(ToolError::invalid(
                "limit",
                format!("output_mode `{shape}` has no pages: leave `limit` out."),
            ));
        }
        Ok(())
    }
}

/// Rows of a `content` search; returns `results`.
fn content(text: &mut String, found: &GrepResponse) -> Value {
    let mut results = Vec::new();
    for file in &found.files {
        let path = printable(&file.path);
        for row in &file.rows {
            let _ = match row.kind {
                RowKind::Match => writeln!(text, "> {path}:{}: {}", row.line, row.text),
                RowKind::Context => writeln!(text, "  {path}:{}: {}", row.line, row.text),
                RowKind::Break => writeln!(text, "--"),
            };
            if row.kind == RowKind::Match && results.len() < MAX_ANCHORS {
                results.push(json!({
                    "path": file.path,
                    "line": row.line,
                    "source_revision": file.revision,
                }));
            }
        }
    }
    Value::Array(results)
}

fn totals(text: &mut String, found: &GrepResponse) {
    let (lines, files) = (found.matching_lines(), found.files.len());
    let _ = if found.truncated {
        writeln!(
            text,
            "[{lines} matching lines in {files} files so far; the scan stopped there. Narrow the query, or use output_mode `count` or `summary` for totals.]"
        )
    } else {
        writeln!(text, "[{lines} matching lines in {files} files.]")
    };
    if found.skipped_oversize > 0 {
        let named: Vec<_> = found
            .oversized
            .iter()
            .take(NAMED_IN_TEXT)
            .map(|file| printable(&file.path))
            .collect();
        let _ = writeln!(
            text,
            "[{} files are too large and were not searched: {}.]",
            found.skipped_oversize,
            named.join(", ")
        );
    }
    if found.failed_reads > 0 {
        let _ = writeln!(text, "[{} files could not be read.]", found.failed_reads);
    }
    withheld_note(text, found.withheld_files);
}

/// States that rules kept files out.
fn withheld_note(text: &mut String, files: u64) {
    if files > 0 {
        let _ = writeln!(
            text,
            "[{files} files were not searched: a permission rule refuses them.]"
        );
    }
}

fn search_facts(found: &GrepResponse) -> Value {
    let mut facts = json!({
        "matching_lines": found.matching_lines(),
        "matching_files": found.files.len(),
        "truncated": found.truncated,
    });
    if found.withheld_files > 0 {
        facts["withheld_files"] = json!(found.withheld_files);
    }
    facts
}

fn anchors<'a>(paths: impl IntoIterator<Item = &'a str>) -> Value {
    paths.into_iter().take(MAX_ANCHORS).collect()
}

#[cfg(test)]
mod tests;
