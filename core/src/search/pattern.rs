//! Glob patterns: one engine for every mode.
//!
//! `*` and `?` stay inside a folder, `**` crosses folders, `{a,b}` and `[ab]` work, `[[]` is a bracket.
//! A pattern stays in the workspace: `..` and absolute patterns are refused.

use super::SearchError;
use globset::{GlobBuilder, GlobMatcher};

/// Longest pattern in bytes.
const MAX_PATTERN_BYTES: usize = 4096;

/// A pattern for paths.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    text: String,
    matcher: GlobMatcher,
    name_only: bool,
}

impl GlobPattern {
    /// Takes a pattern of 1 to 4096 bytes, given as `argument`.
    ///
    /// # Errors
    /// It is empty, too long, absolute, climbs with `..`, or has a wrong form.
    pub fn new(pattern: &str, argument: &'static str) -> Result<Self, SearchError> {
        let invalid = |message: String| SearchError::InvalidPattern { argument, message };
        if pattern.trim().is_empty() {
            return Err(invalid(format!("`{argument}` is empty")));
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(invalid(format!(
                "`{argument}` has {} bytes; the most is {MAX_PATTERN_BYTES}",
                pattern.len()
            )));
        }
        if pattern.contains('\0') {
            return Err(invalid(format!("`{argument}` contains NUL")));
        }
        let parts = || pattern.split(['/', '{', '}', ',', '\\']);
        if parts().any(|part| part == "..") {
            return Err(invalid(format!(
                "`{argument}` must stay in the workspace: `..` is not allowed"
            )));
        }
        if pattern.trim_start_matches(['{', '\\']).starts_with('/') {
            return Err(invalid(format!(
                "`{argument}` must be relative to the workspace, not absolute"
            )));
        }
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        let matcher = GlobBuilder::new(plain)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| invalid(format!("`{argument}` is not a valid pattern: {error}")))?
            .compile_matcher();
        Ok(Self {
            text: pattern.to_owned(),
            matcher,
            name_only: !plain.contains('/'),
        })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True when the whole path matches, seen from the root or from the folder that is searched, whose path
    /// has `folder` bytes with its `/`.
    pub(super) fn matches_path(&self, path: &str, folder: usize) -> bool {
        self.matcher.is_match(path)
            || (folder > 0
                && path
                    .get(folder..)
                    .is_some_and(|inner| self.matcher.is_match(inner)))
    }

    /// As a filter: a pattern without `/` looks at the name alone.
    pub(super) fn admits(&self, path: &str, folder: usize) -> bool {
        if self.name_only {
            let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
            self.matcher.is_match(name)
        } else {
            self.matches_path(path, folder)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        GlobPattern::new(pattern, "query")
            .unwrap()
            .matches_path(path, 0)
    }

    #[test]
    fn stars_braces_and_classes_match_as_documented() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("./*.rs", "a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/x/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**", "src/x/y", true),
            ("*.{ts,tsx}", "b.tsx", true),
            ("src/[ab].??", "src/a.rs", true),
            ("src/[!ab].rs", "src/c.rs", true),
            ("a/[[]id]/*", "a/[id]/page", true),
            ("a/[[]id]/*", "a/i/page", false),
            ("a/\\[id\\]/*", "a/[id]/page", true),
            ("src?a.rs", "src/a.rs", false),
            ("...", "...", true),
            ("a..b", "a..b", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_that_climb_or_are_wrong_are_refused() {
        for pattern in [
            "",
            " ",
            "../*",
            "a/../b",
            "..",
            "{..,a}/b",
            "{a,..}/b",
            "/etc/*",
            "{/etc,a}/*",
            "a[",
            "{a",
            "a\0b",
            "x/..",
        ] {
            assert!(
                matches!(
                    GlobPattern::new(pattern, "include"),
                    Err(SearchError::InvalidPattern {
                        argument: "include",
                        ..
                    })
                ),
                "{pattern}"
            );
        }
        assert!(GlobPattern::new(&"a".repeat(4097), "query").is_err());
        assert!(GlobPattern::new(&"a".repeat(4096), "query").is_ok());
    }
}
