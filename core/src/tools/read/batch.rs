//! Several files in one result: members in the order asked, within one budget, headers and footer included.
//!
//! Before a line is added, the result is measured with the footer it would need if it ended there, so the
//! budget can never be passed and the continuation is always there.

use super::super::attempt::Attempt;
use super::super::{ToolError, ToolErrorKind, ToolOutput};
use super::page::{Place, numbered};
use super::source::{LineIndexes, Source};
use super::{DEFAULT_BATCH_BYTES, MAX_LINES, Member, RESERVED_BYTES, ReadArgs};
use crate::workspace::{Wait, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Longest message about a member that failed.
const MAX_REASON_BYTES: usize = 300;

/// A batch that was checked.
pub(super) struct Plan {
    files: Vec<Member>,
    budget: usize,
    /// Bytes of the continuation from each member on.
    remaining: Vec<usize>,
}

/// Checks a batch before anything is read.
pub(super) fn plan(args: &ReadArgs, files: Vec<Member>, bound: usize) -> Result<Plan, ToolError> {
    if args.offset.is_some() || args.limit.is_some() || args.byte_offset.is_some() {
        return Err(ToolError::invalid(
            "offset",
            "With `files`, `offset`, `byte_offset` and `limit` belong to each member.",
        ));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = files.iter().find(|member| !seen.insert(&member.path)) {
        return Err(ToolError::invalid(
            "files",
            format!("`{}` is there twice.", twice.path),
        ));
    }
    let asked = args.max_output_bytes.unwrap_or(DEFAULT_BATCH_BYTES);
    let mut remaining = vec![0; files.len() + 1];
    for (at, member) in files.iter().enumerate().rev() {
        remaining[at] = remaining[at + 1] + json_len(member) + 1;
    }
    Ok(Plan {
        budget: asked.min(bound.saturating_sub(RESERVED_BYTES)),
        files,
        remaining,
    })
}

/// What became of the members so far.
#[derive(Default)]
struct Tally {
    successful: usize,
    failed: usize,
    completed: usize,
    lines: usize,
    first_failure: Option<ToolError>,
}

/// Reads the members.
pub(super) fn read(
    workspace: &dyn Workspace,
    wait: Wait,
    indexes: &LineIndexes,
    plan: &Plan,
) -> Result<ToolOutput, Attempt> {
    let mut text = String::new();
    let mut tally = Tally::default();
    let mut continuation: Vec<Member> = Vec::new();
    for (at, member) in plan.files.iter().enumerate() {
        let after = plan.remaining[at + 1];
        // Room for this member when the result ends inside it or right behind it.
        let header = header(&text, member);
        let rest = footer_len(json_len(member) + 64 + after);
        let room = plan.budget.saturating_sub(text.len() + header.len() + rest);
        match segment(workspace, wait, indexes, member, room, text.is_empty())? {
            Segment::Lines { body, lines, rest } => {
                if lines == 0 && rest.is_some() {
                    continuation.extend(plan.files[at..].iter().cloned());
                    break;
                }
                text.push_str(&header);
                text.push_str(&body);
                tally.successful += 1;
                tally.lines += lines;
                match rest {
                    Some(rest) => {
                        continuation.push(rest);
                        continuation.extend(plan.files[at + 1..].iter().cloned());
                        break;
                    }
                    None => tally.completed += 1,
                }
            }
            Segment::Failed(error) => {
                let body = format!("[{}]\n", shortened(&error.message));
                if body.len() > room {
                    continuation.extend(plan.files[at..].iter().cloned());
                    break;
                }
                text.push_str(&header);
                text.push_str(&body);
                tally.failed += 1;
                tally.first_failure.get_or_insert(error);
            }
        }
    }
    finish(plan, text, tally, continuation)
}

fn finish(
    plan: &Plan,
    mut text: String,
    tally: Tally,
    continuation: Vec<Member>,
) -> Result<ToolOutput, Attempt> {
    let total = plan.files.len();
    let truncated = !continuation.is_empty();
    if truncated && tally.successful == 0 && tally.failed == 0 {
        return Err(ToolError::invalid(
            "max_output_bytes",
            format!(
                "{} bytes do not hold one line and the continuation: give more or ask for fewer files.",
                plan.budget
            ),
        )
        .into());
    }
    let listed = serde_json::to_value(&continuation).unwrap_or(Value::Null);
    if truncated {
        text.push_str(&format!("\n[Partial: continue with files {listed}]\n"));
    } else {
        text.push_str(&format!(
            "\n[Complete: {} of {total} files, {} lines.]\n",
            tally.successful, tally.lines
        ));
    }
    let status = if tally.failed > 0 {
        "partial_failure"
    } else if truncated {
        "partial"
    } else {
        "complete"
    };
    let anchors: Vec<&str> = plan.files.iter().map(|member| &*member.path).collect();
    let batch = json!({
        "status": status,
        "requested_files": total,
        "successful_files": tally.successful,
        "failed_files": tally.failed,
        "completed_files": tally.completed,
        "returned_lines": tally.lines,
        "max_output_bytes": plan.budget,
        "output_bytes": text.len(),
        "truncated": truncated,
        "continuation": if truncated { listed } else { Value::Null },
    });
    if tally.successful == 0 && !truncated {
        let mut failure = ToolError::new(
            ToolErrorKind::PartialFailure {
                failed: u32::try_from(tally.failed).unwrap_or(u32::MAX),
                total: u32::try_from(total).unwrap_or(u32::MAX),
            },
            text,
        );
        failure.metadata.insert("batch".to_owned(), batch);
        return Err(failure.into());
    }
    Ok(ToolOutput::success(text)
        .with("source_anchors", json!(anchors))
        .with("batch", batch))
}

/// What one member gave.
enum Segment {
    Lines {
        body: String,
        lines: usize,
        /// What is left of it.
        rest: Option<Member>,
    },
    Failed(ToolError),
}

fn segment(
    workspace: &dyn Workspace,
    wait: Wait,
    indexes: &LineIndexes,
    member: &Member,
    room: usize,
    first: bool,
) -> Result<Segment, Attempt> {
    let offset = member.offset.unwrap_or(0);
    let limit = member.limit.unwrap_or(MAX_LINES);
    let read = (|| {
        let path = workspace.resolve(&member.path)?;
        let source = Source::open(workspace, &path, wait)?;
        let place = Place {
            offset,
            byte_offset: member.byte_offset.unwrap_or(0),
            limit,
            budget: room,
            tear: first,
        };
        numbered(&source, &place, indexes)
    })();
    let lines = match read {
        Ok(lines) => lines,
        Err(Attempt::WouldBlock) => return Err(Attempt::WouldBlock),
        Err(Attempt::Failed(error)) => return Ok(Segment::Failed(error)),
    };
    // A member asked for without a limit goes on to its end over as many results as it takes.
    let left = limit - lines.returned;
    let unfinished = !lines.eof && (left > 0 || member.limit.is_none());
    let rest = unfinished.then(|| Member {
        path: member.path.clone(),
        offset: Some(offset + lines.returned as u64),
        byte_offset: member.byte_offset.filter(|_| lines.returned == 0),
        limit: member.limit.map(|_| left),
    });
    let mut body = lines.text;
    if lines.returned == 0 && rest.is_none() {
        body.push_str("[No more lines.]\n");
    }
    Ok(Segment::Lines {
        body,
        lines: lines.returned,
        rest,
    })
}

fn header(text: &str, member: &Member) -> String {
    let gap = if text.is_empty() { "" } else { "\n" };
    format!("{gap}=== {} ===\n", member.path)
}

/// Bytes of a footer whose continuation has this many bytes.
fn footer_len(continuation: usize) -> usize {
    continuation + "\n[Partial: continue with files []]\n".len() + 32
}

fn json_len(member: &Member) -> usize {
    serde_json::to_string(member).map_or(0, |json| json.len())
}

fn shortened(reason: &str) -> &str {
    let mut end = reason.len().min(MAX_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}
