//! Hunks applied to a text, exactly where they say.

use super::super::change::{BOM, Endings, unsupported};
use super::super::{ToolError, ToolErrorKind};
use super::conflict;
use super::hunks::{Hunk, Mark};

/// Words for a line that no newline follows.
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// The text after the hunks. Endings and the mark at the beginning stay; `argument` named the diff.
pub(super) fn apply(
    shown: &str,
    before: &str,
    hunks: &[Hunk<'_>],
    argument: &str,
) -> Result<String, ToolError> {
    let endings = Endings::of(before);
    if endings == Endings::Mixed {
        return Err(unsupported(format!(
            "`{shown}` has both LF and CRLF line endings and cannot be patched. Nothing was changed."
        )));
    }
    let (mark, body) = match before.strip_prefix(BOM) {
        Some(body) => (&before[..BOM.len_utf8()], body),
        None => ("", before),
    };
    let ending = endings.text();
    let final_newline = body.ends_with(ending);
    let whole = body.strip_suffix(ending).unwrap_or(body);
    let lines: Vec<&str> = if body.is_empty() {
        Vec::new()
    } else {
        whole.split(ending).collect()
    };
    let file = File {
        shown,
        lines,
        final_newline,
    };

    let mut result: Vec<&str> = Vec::with_capacity(file.lines.len());
    let mut ends_with_newline = final_newline;
    let mut at = 0;
    for hunk in hunks {
        if hunk.start < at {
            return Err(out_of_order(shown, argument, hunk.start + 1));
        }
        let Some(between) = file.lines.get(at..hunk.start) else {
            let expected = hunk.lines.iter().find(|line| line.mark.is_old());
            let expected = expected.map_or("the end of the file", |line| line.text);
            return Err(conflict(shown, hunk.start + 1, expected, None));
        };
        result.extend(between);
        at = hunk.start;
        let only_adds = hunk.lines.iter().all(|line| !line.mark.is_old());
        if only_adds && at == file.lines.len() && at > 0 && !final_newline {
            // What follows the last line needs a newline that is not there: only context can say so.
            return Err(file.newline_conflict(at, true));
        }
        for line in &hunk.lines {
            if line.mark.is_old() {
                file.expect(at, line.text, line.newline)?;
                at += 1;
            }
            if line.mark != Mark::Removed {
                result.push(line.text);
            }
        }
        let last_new = hunk.lines.iter().rev().find(|line| line.mark.is_new());
        if at == file.lines.len() {
            ends_with_newline = last_new.is_none_or(|line| line.newline);
        } else if last_new.is_some_and(|line| !line.newline) {
            let message = format!(
                "The hunk at line {} of `{shown}` says that no newline follows its last line, but other lines do. \
                 Nothing was changed.",
                hunk.start + 1
            );
            return Err(ToolError::invalid(argument, message));
        }
    }
    result.extend(&file.lines[at..]);
    let mut after = String::with_capacity(before.len() + 256);
    after.push_str(mark);
    for (at, line) in result.iter().enumerate() {
        after.push_str(line);
        if at + 1 < result.len() || ends_with_newline {
            after.push_str(ending);
        }
    }
    Ok(after)
}

/// The file as lines.
struct File<'t> {
    shown: &'t str,
    lines: Vec<&'t str>,
    final_newline: bool,
}

impl File<'_> {
    /// Fails unless this line stands there, followed by a newline or not as the diff says.
    fn expect(&self, at: usize, text: &str, newline: bool) -> Result<(), ToolError> {
        let found = self.lines.get(at).copied();
        if found != Some(text) {
            return Err(conflict(self.shown, at + 1, text, found));
        }
        let has_newline = at + 1 < self.lines.len() || self.final_newline;
        if has_newline != newline {
            return Err(self.newline_conflict(at + 1, newline));
        }
        Ok(())
    }

    /// The error of a line that the diff says a newline follows, or does not, when the file has it otherwise.
    fn newline_conflict(&self, line: usize, stated: bool) -> ToolError {
        let (should, is) = if stated {
            ("a newline", NO_NEWLINE)
        } else {
            (NO_NEWLINE, "a newline")
        };
        let message = format!(
            "`{}` is not as the diff says after line {line}: the diff has `{should}`, the file `{is}`. Nothing was \
             changed.",
            self.shown
        );
        ToolError::new(
            ToolErrorKind::VersionConflict {
                path: self.shown.to_owned(),
                expected: should.to_owned(),
                actual: Some(is.to_owned()),
            },
            message,
        )
    }
}

fn out_of_order(shown: &str, argument: &str, line: usize) -> ToolError {
    ToolError::invalid(
        argument,
        format!(
            "The hunk at line {line} of `{shown}` overlaps the one before it or stands before it. Nothing was changed."
        ),
    )
}
