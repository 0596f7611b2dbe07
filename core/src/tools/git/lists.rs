//! `git` with what lists: branches, stashes, remotes, worktrees. A cursor is bound to the whole list.

use super::program::{self, Effect};
use super::{GitArgs, RESERVED_BYTES, Site, Stop, names, redact, shortened};
use crate::tools::page::{Page, fingerprint};
use crate::tools::{ToolCall, ToolError, ToolOutput};
use crate::workspace::name;

/// Entries of a page when nothing is said.
const DEFAULT_LIMIT: usize = 50;
/// Longest row in bytes.
const MOST_ROW_BYTES: usize = 4096;

/// One row of a list, and what tells it from others.
struct Row {
    text: String,
    identity: String,
}

pub(super) async fn branches(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let format = "--format=%(refname)%00%(objectname:short)%00%(HEAD)";
    let arguments = ["for-each-ref", "--sort=refname", format, "refs/heads"];
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    let done = done.or_failure()?;
    let rows = done.out.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.splitn(3, |byte| *byte == 0);
        let branch = name::encode(fields.next()?.strip_prefix(b"refs/heads/")?);
        let id = String::from_utf8_lossy(fields.next()?);
        let mark = String::from_utf8_lossy(fields.next()?);
        Some(Row {
            text: format!("{mark} {} {id}", name::printable(&branch)),
            identity: branch,
        })
    });
    Ok(list(call, args, "branches", rows.collect())?)
}

pub(super) async fn stashes(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let arguments = [
        "log",
        "-g",
        "-z",
        "--no-show-signature",
        "--no-notes",
        "--no-decorate",
        "--no-color",
        "--no-patch",
        "--encoding=UTF-8",
        "--format=tformat:%H%x00%cI%x00%gs",
        "refs/stash",
        "--",
    ];
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    if !done.succeeded() {
        let failure = done.failure();
        let none = matches!(failure, Stop::Output(_))
            && names::find(call, site, "refs/stash").await?.is_none();
        if !none {
            return Err(failure);
        }
    }
    let text = done.text();
    let fields: Vec<&str> = text.split('\0').collect();
    let rows = fields.chunks_exact(3).enumerate().map(|(at, stash)| Row {
        text: format!("stash@{{{at}}} {} {}", stash[1], name::printable(stash[2])),
        identity: stash[0].to_owned(),
    });
    Ok(list(call, args, "stashes", rows.collect())?)
}

pub(super) async fn remotes(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let arguments = ["config", "-z", "--get-regexp", r"^remote\..*\.(push)?url$"];
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    if !done.succeeded() {
        // A status without a word: there is none. Whether there is a repository it does not say.
        if !done.message.is_empty() {
            return Err(done.failure());
        }
        let question = ["rev-parse", "--git-dir"];
        let asked = program::run(call, site, Effect::Reads, &question).await?;
        asked.or_failure()?;
    }
    let rows = done.out.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = String::from_utf8_lossy(entry);
        let (key, url) = entry.split_once('\n')?;
        let (remote, kind) = key.strip_prefix("remote.")?.rsplit_once('.')?;
        let direction = if kind == "pushurl" { "push" } else { "fetch" };
        let url = redact::url(url);
        let text = format!(
            "{} {} ({direction})",
            name::printable(remote),
            name::printable(&url)
        );
        Some(Row {
            identity: text.clone(),
            text,
        })
    });
    Ok(list(call, args, "remotes", rows.collect())?)
}

pub(super) async fn worktrees(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let arguments = ["worktree", "list", "--porcelain", "-z"];
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    let done = done.or_failure()?;
    let mut rows: Vec<Row> = Vec::new();
    for fact in done.out.split(|byte| *byte == 0) {
        let state = if let Some(path) = fact.strip_prefix(b"worktree ") {
            let path = name::encode(path);
            rows.push(Row {
                text: name::printable(&path).into_owned(),
                identity: path,
            });
            continue;
        } else if let Some(branch) = fact.strip_prefix(b"branch ") {
            name::encode(branch.strip_prefix(b"refs/heads/").unwrap_or(branch))
        } else if fact == b"bare" || fact == b"detached" {
            format!("({})", name::encode(fact))
        } else {
            continue;
        };
        if let Some(row) = rows.last_mut() {
            row.text.push(' ');
            row.text.push_str(&name::printable(&state));
        }
    }
    Ok(list(call, args, "worktrees", rows)?)
}

fn list(
    call: &ToolCall,
    args: &GitArgs,
    what: &str,
    rows: Vec<Row>,
) -> Result<ToolOutput, ToolError> {
    let identities = rows.iter().map(|row| row.identity.as_str());
    let seal = fingerprint(["git", what].into_iter().chain(identities));
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    let mut page = Page::cut(rows.len(), Some(limit), args.cursor(), seal)?;
    let room = call.max_output_bytes().saturating_sub(RESERVED_BYTES);
    let mut text = String::new();
    for (at, row) in rows[page.offset..page.end].iter().enumerate() {
        let before = text.len();
        text.push_str(&shortened(&row.text, MOST_ROW_BYTES.min(room)));
        text.push('\n');
        if text.len() > room && at > 0 {
            text.truncate(before);
            page.end_after(at);
            break;
        }
    }
    let text = format!(
        "{what}: {} of {}\n{text}{}",
        page.end - page.offset,
        rows.len(),
        page.footer()
    );
    Ok(ToolOutput::success(text)
        .with("count", page.end - page.offset)
        .with("page", page.metadata()))
}
