//! The text of a unified diff, taken apart.
//!
//! Lines may end with LF or CRLF: the endings of the file decide what is written. Lines before the first hunk
//! must be those that tools put there; what says that a file is made, deleted or renamed is refused.

/// A stretch of lines that changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hunk<'d> {
    /// Lines of the file before it.
    pub(super) start: usize,
    /// Its lines in order.
    pub(super) lines: Vec<Line<'d>>,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'d> {
    pub(super) mark: Mark,
    /// Without its mark and its ending.
    pub(super) text: &'d str,
    /// False where the diff says that no newline follows.
    pub(super) newline: bool,
}

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Context,
    Removed,
    Added,
}

impl Mark {
    pub(super) fn is_old(self) -> bool {
        self != Self::Added
    }

    pub(super) fn is_new(self) -> bool {
        self != Self::Removed
    }
}

/// Beginnings of lines that may stand before a hunk.
const HEADERS: [&str; 4] = ["diff ", "index ", "--- ", "+++ "];
/// Beginnings of lines that ask for more than changed lines.
const REFUSED: [&str; 8] = [
    "new file mode",
    "deleted file mode",
    "rename ",
    "copy ",
    "similarity index",
    "old mode",
    "new mode",
    "GIT binary patch",
];

/// Takes a diff of one file apart; the error says what is wrong with it.
pub(super) fn parse(diff: &str) -> Result<Vec<Hunk<'_>>, String> {
    let mut lines = diff
        .strip_suffix('\n')
        .unwrap_or(diff)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .peekable();
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    while let Some((at, line)) = lines.next() {
        if let Some(header) = line.strip_prefix("@@ ") {
            let mut header = Header::of(header)
                .ok_or_else(|| format!("line {at} is no hunk header like `@@ -1,3 +1,4 @@`"))?;
            let mut hunk = Hunk {
                start: header.start(at)?,
                lines: Vec::new(),
            };
            while header.more() {
                let Some((at, line)) = lines.next() else {
                    return Err(header.counts_differ(at));
                };
                hunk.lines.push(header.take(at, line)?);
                if lines.peek().is_some_and(|(_, line)| line.starts_with('\\')) {
                    lines.next();
                    if let Some(last) = hunk.lines.last_mut() {
                        last.newline = false;
                    }
                }
            }
            if let Some((_, line)) = lines.peek()
                && line.starts_with([' ', '+', '-'])
                && !line.starts_with("--- ")
                && !line.trim().is_empty()
            {
                return Err(header.counts_differ(at));
            }
            check_ends(at, &hunk)?;
            hunks.push(hunk);
        } else if REFUSED.iter().any(|word| line.starts_with(word)) || line.ends_with("/dev/null") {
            return Err(format!(
                "line {at} makes, deletes or renames a file or changes more than lines; only lines of an existing \
                 file can be changed"
            ));
        } else if HEADERS.iter().any(|word| line.starts_with(word)) {
            if !hunks.is_empty() {
                return Err(format!(
                    "line {at} begins another file; give each file its own diff"
                ));
            }
        } else if !line.trim().is_empty() {
            return Err(format!("line {at} is not part of a unified diff"));
        }
    }
    if hunks.is_empty() {
        return Err("it has no hunk, which begins with a line like `@@ -1,3 +1,4 @@`".to_owned());
    }
    Ok(hunks)
}

/// Only the last line of a side can be one that no newline follows.
fn check_ends(at: usize, hunk: &Hunk<'_>) -> Result<(), String> {
    for side in [Mark::is_old, Mark::is_new] {
        let mut lines = hunk.lines.iter().filter(|line| side(line.mark)).rev();
        lines.next();
        if lines.any(|line| !line.newline) {
            return Err(format!(
                "the hunk at line {at} has lines after one that it says no newline follows"
            ));
        }
    }
    Ok(())
}

/// The numbers of a hunk header; the counts are those still to come.
struct Header {
    old_start: usize,
    old: usize,
    new: usize,
    /// The counts as the header states them.
    stated: (usize, usize),
}

impl Header {
    /// Reads what follows `@@ `.
    fn of(text: &str) -> Option<Self> {
        let (ranges, _) = text.split_once(" @@")?;
        let (old, new) = ranges.split_once(' ')?;
        let (old_start, old) = range(old.strip_prefix('-')?)?;
        let (_, new) = range(new.strip_prefix('+')?)?;
        Some(Self {
            old_start,
            old,
            new,
            stated: (old, new),
        })
    }

    /// Lines of the file before the hunk.
    fn start(&self, at: usize) -> Result<usize, String> {
        if self.old == 0 {
            return Ok(self.old_start);
        }
        self.old_start
            .checked_sub(1)
            .ok_or_else(|| format!("the hunk at line {at} starts at line 0 but has old lines"))
    }

    fn more(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    /// Takes one line of the hunk.
    fn take<'d>(&mut self, at: usize, line: &'d str) -> Result<Line<'d>, String> {
        let (mark, text) = match line.as_bytes().first() {
            Some(b' ') => (Mark::Context, &line[1..]),
            Some(b'-') => (Mark::Removed, &line[1..]),
            Some(b'+') => (Mark::Added, &line[1..]),
            // An empty line of context that lost its space on the way.
            None => (Mark::Context, line),
            Some(b'@') => return Err(self.counts_differ(at)),
            Some(_) => {
                return Err(format!(
                    "line {at} is inside a hunk but begins with neither a space nor `-` nor `+`"
                ));
            }
        };
        let rest = |left: usize, counts: bool| left.checked_sub(usize::from(counts));
        let (Some(old), Some(new)) = (rest(self.old, mark.is_old()), rest(self.new, mark.is_new()))
        else {
            return Err(self.counts_differ(at));
        };
        (self.old, self.new) = (old, new);
        Ok(Line {
            mark,
            text,
            newline: true,
        })
    }

    fn counts_differ(&self, at: usize) -> String {
        let (old, new) = self.stated;
        format!(
            "the hunk around line {at} does not have the {old} old and {new} new lines that its header states"
        )
    }
}

/// `start` or `start,count`.
fn range(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse().ok())
            .flatten()
    };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
