//! The receipt of a change: what `before`, `after` and `change` of the metadata hold.
//!
//! A small change is shown in full. A large one is shown by a preview of each side, the digests and sizes of
//! both, a unified diff and, where the session has room, both sides as artifacts. The same two contents always
//! give the same receipt, whether the change was made or only tried.

use super::super::call::{ArtifactKeeper, KeptArtifact};
use super::Target;
use crate::workspace::write::sha256_hex;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Most bytes of both sides of all changes of a call that are shown in full.
const MAX_FULL_BYTES: usize = 64 * 1024;
/// Most bytes of both sides that are compared.
const MAX_COMPARED_BYTES: usize = 1024 * 1024;
/// Bytes of one side that a preview shows.
const PREVIEW_BYTES: usize = 8 * 1024;
/// Most bytes of a diff in the metadata.
const DIFF_BYTES: usize = 32 * 1024;
/// Bytes of previews, and of diffs, for all changes of a call together.
const ALL_BYTES: usize = 256 * 1024;
/// Unchanged lines around a change.
const CONTEXT: u32 = 3;

/// Makes the receipts of one call.
pub(crate) struct Receipts {
    tool: &'static str,
    artifacts: ArtifactKeeper,
    compacted: bool,
    files: usize,
    /// What this call kept stays until the last receipt is made.
    kept: Vec<KeptArtifact>,
}

/// What a receipt says.
pub(crate) struct Receipt {
    /// `file_path`, `before`, `after` and `change`.
    pub(crate) metadata: Map<String, Value>,
    /// The difference as text, unless there is too much to compare; empty when there is none.
    pub(crate) diff: Option<String>,
}

impl Receipts {
    /// For changes whose sides have these sizes: two a change.
    pub(crate) fn new(
        tool: &'static str,
        artifacts: ArtifactKeeper,
        sizes: impl Iterator<Item = usize>,
    ) -> Self {
        let (mut sides, mut bytes) = (0_usize, 0_usize);
        for size in sizes {
            sides += 1;
            bytes = bytes.saturating_add(size);
        }
        Self {
            tool,
            artifacts,
            compacted: bytes > MAX_FULL_BYTES,
            files: (sides / 2).max(1),
            kept: Vec::new(),
        }
    }

    /// The receipt of one change; `before` is none for a file that was made.
    pub(crate) fn of(&mut self, target: &Target, before: Option<&[u8]>, after: &str) -> Receipt {
        let old = before.map(std::str::from_utf8);
        let whole_text = !matches!(old, Some(Err(_)));
        let old = old.and_then(Result::ok);
        let compacted = self.compacted || !whole_text;
        let shown = target.shown();
        let total = before.map_or(0, <[u8]>::len) + after.len();
        let diff =
            (whole_text && total <= MAX_COMPARED_BYTES).then(|| unified_diff(&shown, old, after));

        let mut change = Map::new();
        change.insert("compacted".to_owned(), compacted.into());
        let before_side = match before {
            Some(bytes) => self.side("before", bytes, compacted),
            None => Value::Null,
        };
        change.insert("before".to_owned(), before_side);
        let after_side = self.side("after", after.as_bytes(), compacted);
        change.insert("after".to_owned(), after_side);
        let omitted = compacted && diff.is_none();
        change.insert("diff_omitted".to_owned(), omitted.into());
        if compacted && let Some(diff) = &diff {
            let most = DIFF_BYTES.min(ALL_BYTES / self.files);
            change.insert("unified_diff".to_owned(), bounded(diff, most).into());
        }

        let mut metadata = Map::new();
        metadata.insert("file_path".to_owned(), shown.into());
        if before.is_some() {
            // Bytes that are no text are in the artifact alone.
            let text = old.map(|text| self.text(text, compacted));
            metadata.insert("before".to_owned(), json!(text));
        }
        metadata.insert("after".to_owned(), self.text(after, compacted).into());
        metadata.insert("change".to_owned(), Value::Object(change));
        Receipt { metadata, diff }
    }

    fn side(&mut self, side: &str, bytes: &[u8], compacted: bool) -> Value {
        let kept = if compacted {
            self.artifacts
                .keep(&format!("{}-{side}", self.tool), bytes.to_vec())
        } else {
            None
        };
        let artifact = kept.as_ref().map(|kept| kept.reference.clone());
        self.kept.extend(kept);
        json!({ "bytes": bytes.len(), "sha256": sha256_hex(bytes), "artifact": artifact })
    }

    fn text<'t>(&self, text: &'t str, compacted: bool) -> Cow<'t, str> {
        if compacted {
            preview(text, PREVIEW_BYTES.min(ALL_BYTES / (2 * self.files)))
        } else {
            Cow::Borrowed(text)
        }
    }
}

/// The beginning and the end of a text, and how much is left out between.
fn preview(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    Cow::Owned(format!(
        "{}\n[... {} bytes left out ...]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    ))
}

/// At most this many bytes of a diff, cut between lines where that leaves anything, with a last line that says
/// so.
pub(crate) fn bounded(diff: &str, most: usize) -> Cow<'_, str> {
    if diff.len() <= most {
        return Cow::Borrowed(diff);
    }
    let end = diff.floor_char_boundary(most.saturating_sub(64));
    let end = match diff[..end].rfind('\n') {
        Some(newline) if newline > end / 2 => newline + 1,
        _ => end,
    };
    let joint = if diff[..end].ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Cow::Owned(format!(
        "{}{joint}[... {} more bytes of the diff ...]\n",
        &diff[..end],
        diff.len() - end
    ))
}

/// The unified diff of two texts, with file headers; empty when they are equal.
pub(crate) fn unified_diff(shown: &str, before: Option<&str>, after: &str) -> String {
    let made = before.is_none();
    let input = InternedInput::new(before.unwrap_or_default(), after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut text = String::new();
    if hunks.is_empty() {
        return text;
    }
    let old_name = if made {
        Cow::Borrowed("/dev/null")
    } else {
        Cow::Owned(format!("a/{shown}"))
    };
    let _ = writeln!(text, "--- {old_name}\n+++ b/{shown}");
    let old_len = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let mut at = 0;
    while at < hunks.len() {
        // Changes with little between them share a hunk.
        let mut end = at + 1;
        while end < hunks.len()
            && hunks[end].before.start - hunks[end - 1].before.end <= 2 * CONTEXT
        {
            end += 1;
        }
        write_hunk(&mut text, &input, &hunks[at..end], old_len);
        at = end;
    }
    text
}

fn write_hunk(text: &mut String, input: &InternedInput<&str>, changes: &[Hunk], old_len: u32) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let lead = first.before.start.min(CONTEXT);
    let (old_start, new_start) = (first.before.start - lead, first.after.start - lead);
    let trail = (old_len - last.before.end).min(CONTEXT);
    let old_count = last.before.end + trail - old_start;
    let new_count = last.after.end + trail - new_start;
    // A side without lines is placed after the line before it.
    let place = |start: u32, count: u32| start + u32::from(count > 0);
    let _ = writeln!(
        text,
        "@@ -{},{old_count} +{},{new_count} @@",
        place(old_start, old_count),
        place(new_start, new_count)
    );
    let mut lines = |mark: char, tokens: &[imara_diff::Token]| {
        for token in tokens {
            let line = input.interner[*token];
            text.push(mark);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    let old = |from: u32, to: u32| &input.before[from as usize..to as usize];
    let mut at = old_start;
    for change in changes {
        lines(' ', old(at, change.before.start));
        lines('-', old(change.before.start, change.before.end));
        lines(
            '+',
            &input.after[change.after.start as usize..change.after.end as usize],
        );
        at = change.before.end;
    }
    lines(' ', old(at, last.before.end + trail));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_headers_context_and_the_marks_of_missing_newlines() {
        let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let after = before
            .replace("\n4\n", "\nfour\n")
            .replace("\n18\n", "\n")
            .trim_end()
            .to_owned();
        assert_eq!(
            unified_diff("d/f", Some(&before), &after),
            "--- a/d/f\n+++ b/d/f\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n\
             @@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n-20\n+20\n\\ No newline at end of file\n"
        );
        assert_eq!(
            unified_diff("f", None, "x\n"),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x\n"
        );
        assert_eq!(
            unified_diff("f", Some("x"), ""),
            "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-x\n\\ No newline at end of file\n"
        );
        assert_eq!(unified_diff("f", Some("x"), "x"), "");
    }

    #[test]
    fn previews_and_diffs_are_cut_between_characters_and_say_how_much_is_missing() {
        let text = "é".repeat(10_000);
        let shown = preview(&text, 8192);
        assert!(shown.starts_with(&"é".repeat(2048)) && shown.ends_with(&"é".repeat(2048)));
        assert!(
            shown.contains("[... 11808 bytes left out ...]"),
            "{}",
            &shown[4090..4140]
        );
        assert_eq!(preview("short", 8192), "short");
        let long = format!("+{text}\n");
        let cut = bounded(&long, 1000);
        assert!(cut.len() <= 1000 && cut.ends_with(" more bytes of the diff ...]\n"));
        let lines = "+1234567\n".repeat(1000);
        let cut = bounded(&lines, 1000);
        let whole = cut.lines().filter(|line| *line == "+1234567").count();
        let missing = (9000 - whole * 9).to_string();
        assert!(cut.len() <= 1000 && cut.contains(&format!("[... {missing} more")));
    }
}
