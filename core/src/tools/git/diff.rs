//! `git` with `diff`: the files against the index or a commit, in ranges that end with whole lines.
//!
//! Offsets count bytes of the whole text. `byte_offset` continues wherever it is told; `cursor` also carries a
//! fingerprint of the whole diff, so that one that has changed meanwhile is refused instead of torn.

use super::program::{self, Effect};
use super::{GitArgs, RESERVED_BYTES, Site, Stop, names};
use crate::tools::page::fingerprint;
use crate::tools::{ToolCall, ToolError, ToolOutput};
use serde_json::json;

/// Bytes of a page when nothing is said.
const DEFAULT_BYTES: usize = 65_536;

pub(super) async fn diff(call: &ToolCall, site: &Site, args: &GitArgs) -> Result<ToolOutput, Stop> {
    let target = match &args.target {
        Some(target) => Some(names::resolve(call, site, "target", target).await?),
        None => None,
    };
    let mut arguments = vec![
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--no-color",
        "--submodule=short",
        "--ignore-submodules=dirty",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--unified=3",
    ];
    if site.prefix.is_some() {
        arguments.push("--relative");
    }
    arguments.extend(target.as_deref());
    arguments.extend(site.paths());
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    let done = done.or_failure()?;
    let is_exact = std::str::from_utf8(&done.out).is_ok();
    let text = done.text();
    let seal = fingerprint(["git", "diff", &*text]);
    let offset = offset(args, &text, seal)?;
    let requested = args.max_bytes.unwrap_or(DEFAULT_BYTES);
    let applied = requested.min(
        call.max_output_bytes()
            .saturating_sub(RESERVED_BYTES)
            .max(256),
    );
    let rest = &text[offset..];
    let shown = &rest[..cut(rest, applied)];
    let end = offset + shown.len();
    let eof = end == text.len();
    let next = (!eof).then(|| format!("{end}.{seal:016x}"));
    let mut page = match text.is_empty() {
        true => "No differences.\n".to_owned(),
        false => shown.to_owned(),
    };
    if let Some(next) = &next {
        if !page.ends_with('\n') {
            page.push('\n');
        }
        page.push_str(&format!(
            "[More: continue with byte_offset {end}, or with cursor \"{next}\".]\n"
        ));
    }
    let mut output = ToolOutput::success(page).with(
        "range",
        json!({
            "byte_offset": offset,
            "requested_max_bytes": requested,
            "applied_max_bytes": applied,
            "returned_bytes": shown.len(),
            "total_bytes": text.len(),
            "next_byte_offset": (!eof).then_some(end),
            "next_cursor": next,
            "eof": eof,
            "limit_clamped": applied < requested,
        }),
    );
    if !is_exact {
        // Bytes that are not UTF-8 are shown as U+FFFD.
        output = output.with("lossy", true);
    }
    Ok(output)
}

fn offset(args: &GitArgs, text: &str, seal: u64) -> Result<usize, ToolError> {
    let given = args.byte_offset.filter(|offset| *offset > 0);
    let (argument, offset) = match (args.cursor(), given) {
        (Some(_), Some(_)) => {
            let message = "`cursor` and `byte_offset` are two ways to say the same: give one.";
            return Err(ToolError::invalid("cursor", message));
        }
        (Some(cursor), None) => {
            let offset = cursor
                .strip_suffix(&format!(".{seal:016x}"))
                .filter(|offset| offset.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|offset| offset.parse().ok());
            let offset = offset.ok_or_else(|| {
                ToolError::invalid(
                    "cursor",
                    "The cursor is not one of this diff, or the diff has changed: start again without a cursor.",
                )
            })?;
            ("cursor", offset)
        }
        (None, Some(offset)) => ("byte_offset", offset),
        (None, None) => return Ok(0),
    };
    if offset >= text.len() || !text.is_char_boundary(offset) {
        let message = format!(
            "`{argument}` is at byte {offset}: the diff has {} bytes, and a page begins with a whole character.",
            text.len()
        );
        return Err(ToolError::invalid(argument, message));
    }
    Ok(offset)
}

/// How much of a text fits: whole lines where one does, whole characters otherwise.
fn cut(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let end = text.floor_char_boundary(most);
    match text[..end].rfind('\n') {
        Some(line) => line + 1,
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_page_ends_with_a_whole_line_or_at_least_a_whole_character() {
        assert_eq!(cut("ab\ncd\n", 6), 6);
        assert_eq!(cut("ab\ncd\n", 5), 3);
        assert_eq!(cut("ääää", 3), 2);
        assert_eq!(cut("abcdef", 4), 4);
    }
}
