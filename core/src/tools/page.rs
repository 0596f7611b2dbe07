//! Pages of a list: cursors bound to what they were cut from, and the facts about a page.
//!
//! A cursor is an offset and a fingerprint of the whole list and of what was asked. When either has changed, the
//! cursor is refused: an entry can be neither skipped nor shown twice unnoticed.

use super::ToolError;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Items of a page when nothing is said.
pub(crate) const DEFAULT_LIMIT: usize = 200;
/// Most items of a page.
pub(crate) const MAX_LIMIT: usize = 1000;

/// Which items of a list a page holds.
#[derive(Debug)]
pub(crate) struct Page {
    /// First item.
    pub(crate) offset: usize,
    /// One beyond the last item.
    pub(crate) end: usize,
    total: usize,
    limit: usize,
    requested: Option<usize>,
    fingerprint: u64,
}

/// Fingerprint of a list and of what was asked.
pub(crate) fn fingerprint(parts: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
    // Keys are fixed: a cursor outlives the call that issued it, not the process.
    let mut hasher = DefaultHasher::new();
    for part in parts {
        part.as_ref().hash(&mut hasher);
    }
    hasher.finish()
}

impl Page {
    /// Cuts a page of a list of `total` items.
    pub(crate) fn cut(
        total: usize,
        limit: Option<usize>,
        cursor: Option<&str>,
        fingerprint: u64,
    ) -> Result<Self, ToolError> {
        let offset = match cursor.map(str::trim) {
            None | Some("") => 0,
            Some(cursor) => offset_of(cursor, fingerprint)?,
        };
        if offset > total || (offset == total && total > 0) {
            return Err(expired());
        }
        let requested = limit;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            let message = format!("`limit` is {limit}: it must be from 1 to {MAX_LIMIT}.");
            return Err(ToolError::invalid("limit", message));
        }
        Ok(Self {
            offset,
            end: offset.saturating_add(limit).min(total),
            total,
            limit,
            requested,
            fingerprint,
        })
    }

    /// Ends the page after this many items, because no more fit into a result.
    pub(crate) fn end_after(&mut self, items: usize) {
        self.end = self.end.min(self.offset + items);
    }

    /// Where to go on, when there is more.
    pub(crate) fn next_cursor(&self) -> Option<String> {
        (self.end < self.total).then(|| cursor_text(self.end, self.fingerprint))
    }

    /// `metadata.page`.
    pub(crate) fn metadata(&self) -> Value {
        json!({
            "offset": self.offset,
            "requested_limit": self.requested.unwrap_or(self.limit),
            "applied_limit": self.limit,
            "returned_items": self.end - self.offset,
            "total_items": self.total,
            "next_cursor": self.next_cursor(),
            "truncated": self.end < self.total,
            "limit_clamped": false,
        })
    }

    /// The line that ends a text with more behind it.
    pub(crate) fn footer(&self) -> String {
        match self.next_cursor() {
            Some(cursor) => format!("[More: continue with cursor \"{cursor}\".]\n"),
            None => String::new(),
        }
    }
}

fn cursor_text(offset: usize, fingerprint: u64) -> String {
    format!("{offset}.{fingerprint:016x}")
}

fn offset_of(cursor: &str, fingerprint: u64) -> Result<usize, ToolError> {
    let (offset, _) = cursor.split_once('.').ok_or_else(expired)?;
    let offset: usize = offset.parse().map_err(|_| expired())?;
    // Compared as text: only what was issued is taken.
    if cursor == cursor_text(offset, fingerprint) {
        Ok(offset)
    } else {
        Err(expired())
    }
}

fn expired() -> ToolError {
    ToolError::invalid(
        "cursor",
        "The cursor is not one of this list, or what it was cut from has changed: start again without a cursor.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_bound_to_the_list_it_was_cut_from() {
        let first = Page::cut(10, Some(4), None, 7).unwrap();
        assert_eq!((first.offset, first.end), (0, 4));
        let cursor = first.next_cursor().unwrap();
        let second = Page::cut(10, Some(4), Some(&cursor), 7).unwrap();
        assert_eq!((second.offset, second.end), (4, 8));
        assert!(Page::cut(10, Some(4), Some(&cursor), 8).is_err());
        for foreign in [
            "200",
            "not-a-cursor",
            "4.x",
            "-1.0000000000000007",
            "99.0000000000000007",
            "10.0000000000000007",
            "+4.0000000000000007",
            "4.7",
        ] {
            assert!(
                Page::cut(10, Some(4), Some(foreign), 7).is_err(),
                "{foreign}"
            );
        }
        for limit in [0, 1001, usize::MAX] {
            assert!(Page::cut(10, Some(limit), None, 7).is_err(), "{limit}");
        }
        let mut full = Page::cut(10, Some(4), Some(&cursor), 7).unwrap();
        full.end_after(1);
        assert_eq!(full.next_cursor(), Some(format!("5.{:016x}", 7)));
        assert_eq!(full.metadata()["returned_items"], 1);
        let blank = Page::cut(10, None, Some(" "), 7).unwrap();
        assert_eq!((blank.end, blank.next_cursor()), (10, None));
    }
}
