//! One file: a page of numbered lines and where it goes on.

use super::super::attempt::Attempt;
use super::super::{ToolError, ToolOutput, ToolValue};
use super::MAX_LINES;
use super::source::{LineIndexes, Source};
use crate::workspace::{Wait, Workspace};
use serde_json::json;
use std::fmt::Write as _;

/// Bytes of one line that are shown.
const MAX_LINE_BYTES: usize = 2000;
/// Room for a line's number, tab, newline and the mark of a line that was shortened.
const LINE_OVERHEAD: usize = 110;
/// Room for the footer of a page.
const FOOTER_BYTES: usize = 64;

/// What is asked of one file.
pub(super) struct Request {
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) byte_offset: u64,
    pub(super) limit: Option<usize>,
    pub(super) budget: usize,
    pub(super) value_wanted: bool,
}

/// Which lines of a file, and how much room there is for them.
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) byte_offset: u64,
    pub(super) limit: usize,
    pub(super) budget: usize,
    /// Whether a first line that does not fit is shortened rather than left out.
    pub(super) tear: bool,
}

/// Numbered lines of a file that fit a budget.
pub(super) struct Lines {
    pub(super) text: String,
    pub(super) returned: usize,
    /// Whether the file ends behind them.
    pub(super) eof: bool,
    /// Whether they stopped for want of room.
    pub(super) budget_clamped: bool,
    pub(super) total_lines: Option<u64>,
}

/// Reads a page.
pub(super) fn read(
    workspace: &dyn Workspace,
    wait: Wait,
    indexes: &LineIndexes,
    request: &Request,
) -> Result<ToolOutput, Attempt> {
    let path = workspace.resolve(&request.path)?;
    let source = Source::open(workspace, &path, wait)?;
    let limit = request.limit.unwrap_or(MAX_LINES);
    let budget = request.budget.saturating_sub(FOOTER_BYTES);
    let place = Place {
        offset: request.offset,
        byte_offset: request.byte_offset,
        limit,
        budget,
        tear: true,
    };
    let lines = numbered(&source, &place, indexes)?;
    let next = request.offset + lines.returned as u64;
    let mut text = lines.text;
    if !lines.eof {
        let _ = writeln!(text, "[More lines: continue with offset {next}.]");
    } else if lines.returned == 0 {
        let total = lines.total_lines.unwrap_or(next);
        let _ = match total {
            0 => writeln!(text, "[The file is empty.]"),
            total => writeln!(text, "[End of file: {total} lines.]"),
        };
    }
    let value = match request.value_wanted {
        true => Some(ToolValue::Text(exact(&source, request, indexes)?)),
        false => None,
    };
    let shown = path.display().into_owned();
    let mut output = ToolOutput::success(text);
    output.value = value;
    let output_bytes = output.text.len();
    Ok(output
        .with("path", shown.clone())
        .with("source_anchors", json!([shown]))
        .with(
            "range",
            json!({
                "offset": request.offset,
                "requested_limit": request.limit.unwrap_or(MAX_LINES),
                "applied_limit": limit,
                "returned_lines": lines.returned,
                "next_offset": (!lines.eof).then_some(next),
                "eof": lines.eof,
                "total_lines": lines.total_lines,
                "limit_clamped": false,
                "output_bytes": output_bytes,
                "budget_clamped": lines.budget_clamped,
            }),
        ))
}

/// Numbers lines from `offset` on until `limit`, `budget` or the file ends.
pub(super) fn numbered(
    source: &Source,
    place: &Place,
    indexes: &LineIndexes,
) -> Result<Lines, Attempt> {
    let Place {
        offset,
        byte_offset,
        limit,
        budget,
        tear,
    } = *place;
    // A window as large as the budget holds every line that can be shown; long lines need more, found below.
    let mut wanted = budget.saturating_add(MAX_LINE_BYTES);
    loop {
        let window = source.window(offset, Some(wanted), indexes)?;
        let mut lines = Lines {
            text: String::with_capacity(budget.min(window.bytes.len() + 1024)),
            returned: 0,
            eof: false,
            budget_clamped: false,
            total_lines: window.total_lines,
        };
        let mut rest = &window.bytes[..];
        let mut incomplete = false;
        while !rest.is_empty() && lines.returned < limit {
            let (line, after) = match memchr::memchr(b'\n', rest) {
                Some(newline) => (&rest[..newline], &rest[newline + 1..]),
                None if window.to_end => (rest, &rest[rest.len()..]),
                None => {
                    incomplete = true;
                    break;
                }
            };
            let skip = if lines.returned == 0 { byte_offset } else { 0 };
            let room = budget.saturating_sub(lines.text.len());
            let number = offset + lines.returned as u64;
            let tear = tear && lines.returned == 0;
            match render(source, line, number, skip, room, tear)? {
                Some(row) => lines.text.push_str(&row),
                None => {
                    lines.budget_clamped = true;
                    break;
                }
            }
            lines.returned += 1;
            rest = after;
        }
        if incomplete && !lines.budget_clamped {
            // The next line is longer than the window: look further.
            wanted = wanted.saturating_mul(4);
            continue;
        }
        lines.eof = rest.is_empty() && window.to_end;
        if lines.eof && lines.total_lines.is_none() {
            lines.total_lines = Some(offset + lines.returned as u64);
        }
        return Ok(lines);
    }
}

/// One numbered line; nothing when there is no room for it.
fn render(
    source: &Source,
    line: &[u8],
    number: u64,
    skip: u64,
    room: usize,
    tear: bool,
) -> Result<Option<String>, ToolError> {
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let Some(line) = line.get(skip..) else {
        return Err(ToolError::invalid(
            "byte_offset",
            format!("`byte_offset` {skip} is beyond the end of line {number}."),
        ));
    };
    if skip > 0
        && line
            .first()
            .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    {
        return Err(ToolError::invalid(
            "byte_offset",
            format!("`byte_offset` {skip} is inside a character of line {number}."),
        ));
    }
    let cut = MAX_LINE_BYTES.min(room.saturating_sub(LINE_OVERHEAD));
    if line.len() <= MAX_LINE_BYTES {
        let text = source.text(line)?;
        let row = format!("{:>6}\t{text}\n", number + 1);
        if row.len() <= room {
            return Ok(Some(row));
        }
        // A line that fits another page is not torn, unless it would stand alone on that one too.
        if !tear {
            return Ok(None);
        }
    }
    if cut < 64 || (cut < MAX_LINE_BYTES && !tear) {
        return Ok(None);
    }
    let end = boundary(line, cut);
    let text = source.text(&line[..end])?;
    Ok(Some(format!(
        "{:>6}\t{text} [{} more bytes in this line: offset {number}, byte_offset {}]\n",
        number + 1,
        line.len() - end,
        skip + end
    )))
}

/// The last character boundary at or before `at`.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let mut at = at.min(bytes.len());
    let lowest = at.saturating_sub(3);
    while at > lowest && at < bytes.len() && bytes[at] & 0b1100_0000 == 0b1000_0000 {
        at -= 1;
    }
    at
}

/// The exact text of the lines asked for, all that follow when no limit was given.
fn exact(source: &Source, request: &Request, indexes: &LineIndexes) -> Result<String, Attempt> {
    let window = source.window(request.offset, None, indexes)?;
    let mut bytes = window.bytes;
    if let Some(limit) = request.limit
        && let Some(newline) = memchr::memchr_iter(b'\n', &bytes).nth(limit.saturating_sub(1))
    {
        bytes.truncate(newline + 1);
    }
    source.text(&bytes)?;
    String::from_utf8(bytes)
        .map_err(|error| ToolError::invalid("file_path", error.to_string()).into())
}
