//! Folding of repeated lines: one copy and one marker line for a run of equal lines.
//!
//! Lines are equal when they are byte for byte, newline included, so a last line without newline never
//! belongs to a run. The scan allocates nothing; the text is built only when folding makes it shorter.

use std::ops::Range;
use std::slice;

const MARKER_START: &str = "[a3s repeated-line fold: ";
const MARKER_END: &str = " more copies]\n";

/// A run of equal lines.
struct Run {
    /// The whole run in bytes.
    span: Range<usize>,
    /// Length of one line, newline included.
    line: usize,
    /// Copies beside the one that is kept.
    copies: usize,
}

impl Run {
    fn marker_len(&self) -> usize {
        let digits = self.copies.checked_ilog10().unwrap_or(0) as usize + 1;
        MARKER_START.len() + digits + MARKER_END.len()
    }
}

/// Positions of the newlines of a text, in order.
///
/// A search that starts anew after each hit costs too much where lines are short; this one marks the
/// newlines of sixteen bytes at a time and then takes the marks one by one.
struct Newlines<'a> {
    chunks: slice::Iter<'a, [u8; 16]>,
    rest: &'a [u8],
    /// The top bit of each byte that is a newline, the first byte lowest.
    marks: u128,
    /// Position of the marked bytes and of what comes after them.
    base: usize,
    next: usize,
}

impl<'a> Newlines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let (chunks, rest) = bytes.as_chunks::<16>();
        Self {
            chunks: chunks.iter(),
            rest,
            marks: 0,
            base: 0,
            next: 0,
        }
    }
}

impl Iterator for Newlines<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.marks == 0 {
            let mut chunk = [0; 16];
            let len = if let Some(full) = self.chunks.next() {
                chunk = *full;
                full.len()
            } else {
                let rest = std::mem::take(&mut self.rest);
                if rest.is_empty() {
                    return None;
                }
                chunk[..rest.len()].copy_from_slice(rest);
                rest.len()
            };
            self.marks = u128::from_le_bytes(chunk.map(|byte| u8::from(byte == b'\n') << 7));
            self.base = self.next;
            self.next += len;
        }
        let at = self.base + (self.marks.trailing_zeros() / 8) as usize;
        self.marks &= self.marks - 1;
        Some(at)
    }
}

/// The runs of a text that are at least `threshold` lines long, in order.
struct Runs<'a> {
    bytes: &'a [u8],
    newlines: Newlines<'a>,
    threshold: usize,
    /// Start of the run being looked at, the start of its last line and how many lines it has.
    run_start: usize,
    line_start: usize,
    lines: usize,
    /// Where the next line starts.
    at: usize,
    ended: bool,
}

impl<'a> Runs<'a> {
    fn new(text: &'a str, threshold: usize) -> Self {
        Self {
            bytes: text.as_bytes(),
            newlines: Newlines::new(text.as_bytes()),
            threshold,
            run_start: 0,
            line_start: 0,
            lines: 0,
            at: 0,
            ended: false,
        }
    }

    /// The run that ends before `end`, if it is long enough.
    fn close(&self, end: usize) -> Option<Run> {
        (self.lines >= self.threshold).then(|| Run {
            span: self.run_start..end,
            line: end - self.line_start,
            copies: self.lines - 1,
        })
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        while let Some(newline) = self.newlines.next() {
            let start = self.at;
            self.at = newline + 1;
            if self.lines > 0 && same_line(self.bytes, self.line_start, start, self.at) {
                self.line_start = start;
                self.lines += 1;
                continue;
            }
            let closed = self.close(start);
            self.run_start = start;
            self.line_start = start;
            self.lines = 1;
            if closed.is_some() {
                return closed;
            }
        }
        if self.ended {
            return None;
        }
        self.ended = true;
        self.close(self.at)
    }
}

/// Whether the line `a..b` equals the line `b..end`; both end with a newline.
#[inline]
fn same_line(bytes: &[u8], a: usize, b: usize, end: usize) -> bool {
    if b - a != end - b {
        return false;
    }
    // Numbered rows have equal lengths and differ near the end: look there before comparing all.
    (end - b < 2 || bytes[b - 2] == bytes[end - 2]) && bytes[a..b] == bytes[b..end]
}

/// The folded text, or nothing when folding would not make it shorter.
///
/// `threshold` is the shortest run that is folded, at least 2.
pub(super) fn fold_repeated_lines(text: &str, threshold: usize) -> Option<String> {
    let (mut removed, mut added) = (0_usize, 0_usize);
    for run in Runs::new(text, threshold) {
        removed += run.span.len() - run.line;
        added += run.marker_len();
    }
    if added >= removed {
        return None;
    }
    let mut folded = String::with_capacity(text.len() - removed + added);
    let mut copied = 0;
    for run in Runs::new(text, threshold) {
        folded.push_str(&text[copied..run.span.start + run.line]);
        folded.push_str(MARKER_START);
        folded.push_str(&run.copies.to_string());
        folded.push_str(MARKER_END);
        copied = run.span.end;
    }
    folded.push_str(&text[copied..]);
    Some(folded)
}
