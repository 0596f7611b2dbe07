//! Matching lines of one file, and their text.

use super::{GrepDetail, GrepRow, RowKind, SearchError};
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use std::fmt::Write as _;

/// Bytes in which a NUL makes a file binary.
const BINARY_PREFIX: usize = 64 * 1024;
/// Longest text of a row in bytes.
const MAX_ROW_BYTES: usize = 500;
/// Bytes kept before the match in a long line.
const BEFORE_MATCH: usize = 150;
/// Bytes of a row beside its path and text.
const ROW_OVERHEAD: usize = 16;
/// Bound on the compiled form of a pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 16 * 1024 * 1024;

/// Compiles a regular expression for one line; its errors name `query`.
pub(super) fn compile(pattern: &str, case_sensitive: bool) -> Result<RegexMatcher, SearchError> {
    RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .line_terminator(Some(b'\n'))
        .crlf(true)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build(pattern)
        .map_err(|error| SearchError::InvalidPattern {
            argument: "query",
            message: format!("`query` is not a valid regular expression for one line: {error}"),
        })
}

/// The searcher for this detail.
pub(super) fn searcher(detail: GrepDetail) -> Searcher {
    let (numbers, context) = match detail {
        GrepDetail::Counts => (false, 0),
        GrepDetail::Lines { context, .. } => (true, context),
        GrepDetail::Everything { .. } => (true, 0),
    };
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(numbers)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::none())
        .build()
}

/// True for content that is not text.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    // Text in UTF-16 is full of NUL and says what it is.
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return false;
    }
    memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PREFIX)]).is_some()
}

/// Takes the matches of one file.
pub(super) struct Lines<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) path: &'a str,
    pub(super) detail: GrepDetail,
    /// Bytes of text made so far, over all files.
    pub(super) used: &'a mut usize,
    /// Where the text of every hit goes.
    pub(super) text: &'a mut String,
    pub(super) matching_lines: u64,
    pub(super) rows: Vec<GrepRow>,
    pub(super) lines_built: u64,
    /// Set when the bound on text was reached.
    pub(super) full: bool,
}

impl Lines<'_> {
    fn push(&mut self, row: GrepRow, max_bytes: usize) -> bool {
        let cost = self.path.len() + row.text.len() + ROW_OVERHEAD;
        if *self.used + cost > max_bytes {
            self.full = true;
            return false;
        }
        *self.used += cost;
        self.lines_built += 1;
        self.rows.push(row);
        true
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(
        &mut self,
        _searcher: &Searcher,
        found: &SinkMatch<'_>,
    ) -> Result<bool, Self::Error> {
        match self.detail {
            GrepDetail::Counts => {}
            GrepDetail::Lines { max_bytes, .. } => {
                let bytes = trim_line(found.bytes());
                let row = GrepRow {
                    kind: RowKind::Match,
                    line: found.line_number().unwrap_or(0),
                    text: shown(bytes, match_start(self.matcher, bytes)),
                };
                if !self.push(row, max_bytes) {
                    return Ok(false);
                }
            }
            GrepDetail::Everything { max_bytes } => {
                let bytes = trim_line(found.bytes());
                self.lines_built += 1;
                let separator = if self.text.is_empty() { "" } else { "\n" };
                let line = found.line_number().unwrap_or(0);
                let _ = write!(self.text, "{separator}{}:{line}:", self.path);
                self.text.push_str(&String::from_utf8_lossy(bytes));
                if self.text.len() > max_bytes {
                    self.full = true;
                    return Ok(false);
                }
            }
        }
        self.matching_lines += 1;
        Ok(true)
    }

    fn context(
        &mut self,
        _searcher: &Searcher,
        context: &SinkContext<'_>,
    ) -> Result<bool, Self::Error> {
        let GrepDetail::Lines { max_bytes, .. } = self.detail else {
            return Ok(true);
        };
        debug_assert!(!matches!(context.kind(), SinkContextKind::Other));
        let row = GrepRow {
            kind: RowKind::Context,
            line: context.line_number().unwrap_or(0),
            text: shown(trim_line(context.bytes()), 0),
        };
        Ok(self.push(row, max_bytes))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, Self::Error> {
        self.rows.push(GrepRow {
            kind: RowKind::Break,
            line: 0,
            text: String::new(),
        });
        Ok(true)
    }
}

fn trim_line(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn match_start(matcher: &RegexMatcher, line: &[u8]) -> usize {
    if line.len() <= MAX_ROW_BYTES {
        return 0;
    }
    matcher
        .find(line)
        .ok()
        .flatten()
        .map_or(0, |found| found.start())
}

/// The text of a line, with what is left out before and after when it is long.
fn shown(line: &[u8], start: usize) -> String {
    if line.len() <= MAX_ROW_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = boundary(line, start.saturating_sub(BEFORE_MATCH));
    let to = boundary(line, (from + MAX_ROW_BYTES).min(line.len()));
    let mut out = String::with_capacity(to - from + 64);
    if from > 0 {
        let _ = write!(out, "[{from} bytes] ");
    }
    out.push_str(&String::from_utf8_lossy(&line[from..to]));
    if to < line.len() {
        let _ = write!(out, " [{} bytes]", line.len() - to);
    }
    out
}

/// The nearest start of a character at or before a place.
fn boundary(line: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|at| line.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(at)
}
