//! Globs of permission rules and hooks, and the normal form of paths.
//!
//! `*` stays within a folder, `**` crosses folders, `?` is one character; nothing else is special. A glob
//! is matched against the whole text, in linear time.

use regex::{Regex, RegexBuilder};

/// Bytes a compiled glob may take.
const GLOB_BYTES: usize = 4 * 1024 * 1024;

/// A compiled glob.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    expression: Regex,
}

impl Glob {
    /// A glob whose `*` stays within a folder.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        Self::compile(pattern, "[^/]")
    }

    /// A glob whose `*` crosses folders: for rules that refuse, where missing one is worse.
    pub(super) fn wide(pattern: &str) -> Result<Self, String> {
        Self::compile(pattern, ".")
    }

    fn compile(pattern: &str, one: &str) -> Result<Self, String> {
        let mut expression = String::from("^(?:");
        let mut rest = pattern;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**/") {
                expression.push_str("(?:.*/)?");
                rest = after;
                continue;
            }
            if rest.starts_with("**") {
                expression.push_str(".*");
                rest = rest.trim_start_matches('*');
                continue;
            }
            match c {
                '*' => {
                    expression.push_str(one);
                    expression.push('*');
                }
                '?' => expression.push_str(one),
                _ => expression.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        expression.push_str(")$");
        RegexBuilder::new(&expression)
            .dot_matches_new_line(true)
            .size_limit(GLOB_BYTES)
            .build()
            .map(|expression| Self { expression })
            .map_err(|_| "the pattern is too large".to_owned())
    }

    /// Whether the whole text fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.expression.is_match(text)
    }
}

/// True when a pattern holds something special.
pub(super) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// A path without `.`, doubled or trailing separators and with `..` resolved by text. What leads above the
/// beginning keeps its `..`.
pub(super) fn normalized(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute && parts.is_empty() => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
