//! `git` with `status`: where the repository stands and which files differ.

use super::program::{self, Effect};
use super::{RESERVED_BYTES, Site, Stop};
use crate::tools::{ToolCall, ToolOutput};
use crate::workspace::name;
use serde_json::Value;
use std::fmt::Write as _;

/// One file that differs.
struct Entry {
    /// Index and files, each one letter.
    state: String,
    path: String,
}

pub(super) async fn status(call: &ToolCall, site: &Site) -> Result<ToolOutput, Stop> {
    let mut arguments = vec![
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--no-renames",
        "--no-ahead-behind",
    ];
    arguments.extend(site.paths());
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    let done = done.or_failure()?;
    let (mut branch, mut commit, mut entries) = (None, None, Vec::new());
    for line in done.out.split(|byte| *byte == 0) {
        if let Some(head) = line.strip_prefix(b"# branch.head ") {
            branch = Some(name::encode(head)).filter(|name| name != "(detached)");
        } else if let Some(id) = line.strip_prefix(b"# branch.oid ") {
            commit = Some(name::encode(id)).filter(|id| id != "(initial)");
        } else {
            entries.extend(entry(site, line));
        }
    }
    let text = text(call, site, branch.as_deref(), commit.as_deref(), &entries);
    Ok(ToolOutput::success(text)
        .with("branch", branch.map_or(Value::Null, Value::from))
        .with("commit", commit.map_or(Value::Null, Value::from))
        .with("is_worktree", site.is_worktree)
        .with("dirty_count", entries.len())
        .with("is_dirty", !entries.is_empty()))
}

fn text(
    call: &ToolCall,
    site: &Site,
    branch: Option<&str>,
    commit: Option<&str>,
    entries: &[Entry],
) -> String {
    let state = match entries.len() {
        0 => "clean".to_owned(),
        count => format!("{count} changed"),
    };
    let branch = name::printable(branch.unwrap_or("none (detached)"));
    let mut text = format!(
        "branch: {}\ncommit: {}\nstatus: {state}\nworktree: {}\n",
        super::shortened(&branch, RESERVED_BYTES / 2),
        commit.unwrap_or("none yet"),
        if site.is_worktree { "linked" } else { "main" },
    );
    let room = call.max_output_bytes().saturating_sub(RESERVED_BYTES / 4);
    for (at, entry) in entries.iter().enumerate() {
        let before = text.len();
        let path = name::printable(&entry.path);
        let _ = writeln!(text, "{} {path}", entry.state);
        if text.len() > room {
            text.truncate(before);
            let _ = writeln!(text, "[{} more are not shown]", entries.len() - at);
            break;
        }
    }
    text
}

fn entry(site: &Site, line: &[u8]) -> Option<Entry> {
    // Number of fields before the path.
    let before = match line.first()? {
        b'1' => 8,
        b'u' => 10,
        b'?' => 1,
        _ => return None,
    };
    let mut fields = line.splitn(before + 1, |byte| *byte == b' ');
    let state = match fields.next()? {
        b"?" => "??".to_owned(),
        _ => {
            let state = String::from_utf8_lossy(fields.next()?);
            state.replace('.', " ")
        }
    };
    Some(Entry {
        state,
        path: site.own_path(fields.last()?),
    })
}
