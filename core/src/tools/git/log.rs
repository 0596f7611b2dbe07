//! `git` with `log`: the history, page by page. A cursor names the commit at which the history began, so that new
//! commits between two pages move nothing.

use super::program::{self, Effect};
use super::{GitArgs, RESERVED_BYTES, Site, Stop, names, shortened};
use crate::tools::{ToolCall, ToolError, ToolOutput};
use crate::workspace::name;
use serde_json::json;
use std::fmt::Write as _;

/// Commits of a page when nothing is said.
const DEFAULT_LIMIT: usize = 10;
/// Longest author and subject in bytes.
const MOST_AUTHOR_BYTES: usize = 128;
const MOST_SUBJECT_BYTES: usize = 1024;
/// Fields of a commit, each ended by NUL.
const FORMAT: &str = "--format=tformat:%H%x00%h%x00%an%x00%aI%x00%s";
const FIELDS: usize = 5;

pub(super) async fn log(call: &ToolCall, site: &Site, args: &GitArgs) -> Result<ToolOutput, Stop> {
    let limit = args.limit.or(args.max_count);
    let applied = limit.unwrap_or(DEFAULT_LIMIT);
    let (offset, start) = match args.cursor() {
        None => (0, None),
        Some(cursor) => {
            let (offset, start) = position(cursor).ok_or_else(expired)?;
            (offset, Some(start.to_owned()))
        }
    };
    let (skip, count) = (
        format!("--skip={offset}"),
        format!("--max-count={}", applied + 1),
    );
    let mut arguments = vec![
        "log",
        "-z",
        &skip,
        &count,
        "--no-show-signature",
        "--no-notes",
        "--no-decorate",
        "--no-color",
        "--no-mailmap",
        "--encoding=UTF-8",
        "--no-patch",
        FORMAT,
        start.as_deref().unwrap_or("HEAD"),
    ];
    arguments.extend(site.paths());
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    if !done.succeeded() {
        let failure = done.failure();
        let unknown = matches!(failure, Stop::Output(_));
        match &start {
            Some(start) if unknown && names::find(call, site, start).await?.is_none() => {
                return Err(expired().into());
            }
            None if unknown && names::find(call, site, "HEAD").await?.is_none() => {}
            _ => return Err(failure),
        }
    }
    let text = done.text();
    let fields: Vec<&str> = text.split('\0').collect();
    let commits: Vec<&[&str]> = fields.chunks_exact(FIELDS).collect();
    let start = start.or_else(|| commits.first().map(|commit| commit[0].to_owned()));
    let room = call.max_output_bytes().saturating_sub(RESERVED_BYTES);
    let (mut rows, mut shown) = (String::new(), 0);
    for commit in commits.iter().take(applied) {
        let before = rows.len();
        let author = name::printable(commit[2]);
        let author = shortened(&author, MOST_AUTHOR_BYTES);
        let subject = name::printable(commit[4]);
        let subject = shortened(&subject, MOST_SUBJECT_BYTES.min(room / 2));
        let _ = writeln!(rows, "{} {} {author}\n    {subject}", commit[1], commit[3]);
        if rows.len() > room && shown > 0 {
            rows.truncate(before);
            break;
        }
        shown += 1;
    }
    let more = shown < commits.len();
    let end = offset + shown;
    let next = start.filter(|_| more).map(|start| format!("{end}.{start}"));
    let mut text = match shown {
        0 => "No commits.\n".to_owned(),
        _ => rows,
    };
    if let Some(next) = &next {
        let _ = writeln!(text, "[More: continue with cursor \"{next}\".]");
    }
    Ok(ToolOutput::success(text).with("count", shown).with(
        "page",
        json!({
            "offset": offset,
            "requested_limit": limit.unwrap_or(applied),
            "applied_limit": applied,
            "returned_items": shown,
            "total_items": (!more).then_some(end),
            "next_cursor": next,
            "truncated": more,
            "limit_clamped": false,
        }),
    ))
}

/// Offset and first commit of a cursor.
fn position(cursor: &str) -> Option<(usize, &str)> {
    let (offset, start) = cursor.split_once('.')?;
    let digits =
        (1..=9).contains(&offset.len()) && offset.bytes().all(|byte| byte.is_ascii_digit());
    (digits && names::is_id(start)).then_some(())?;
    Some((offset.parse().ok()?, start))
}

fn expired() -> ToolError {
    ToolError::invalid(
        "cursor",
        "The cursor is not one of this log, or its history is gone: start again without a cursor.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cursors_of_a_log_are_taken() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(position(&format!("7.{id}")), Some((7, id)));
        for foreign in ["7", "7.0123456789abcdef", "+7.x", "-1.x", ".x", "x"] {
            assert_eq!(position(foreign), None, "{foreign}");
        }
        for offset in ["+7", "-7", "", "7777777777", "7 "] {
            assert_eq!(position(&format!("{offset}.{id}")), None, "{offset}");
        }
        assert_eq!(position(&format!("7.--output={id}")), None);
    }
}
