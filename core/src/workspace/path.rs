//! Paths inside a workspace: relative, normal, and no way to spell one that leads out by text alone.
//!
//! A path has two forms: the text a caller sees and types, and the bytes the file system knows. Names that
//! are not UTF-8 are spelled with the escapes of the `name` module; every [`WorkspacePath`] is in the one
//! canonical spelling. Nothing is expanded: `~`, `$HOME`, `file://` and `%2e%2e` are plain names.

use super::{WorkspaceError, name};
use std::borrow::Cow;

/// Longest path in bytes, as the operating system has it.
pub(crate) const MAX_PATH_BYTES: usize = 4095;
/// Longest component in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 255;
/// Most bytes of a path that an error repeats.
const SHOWN_PATH_BYTES: usize = 200;

/// A path relative to the root, `/`-separated, without `.` components; the empty path is the root.
/// `..` is kept for the backend to resolve, because a link may stand before it.
///
/// A path that was spelled with a `/` at its end is equal to the one without, and names nothing but a folder.
#[derive(Clone, Debug)]
pub struct WorkspacePath {
    text: String,
    folder: bool,
}

impl PartialEq for WorkspacePath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for WorkspacePath {}

impl std::hash::Hash for WorkspacePath {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for WorkspacePath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WorkspacePath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl WorkspacePath {
    /// The root.
    #[must_use]
    pub fn root() -> Self {
        Self::from_spelled(String::new())
    }

    /// Takes a path as a caller spells it, relative or absolute inside `root`; at most 4095 bytes, and 255
    /// for one component.
    ///
    /// # Errors
    /// Outside the root, or a form that cannot be used.
    pub fn parse(input: &str, root: &str) -> Result<Self, WorkspaceError> {
        Self::parse_beneath(input, &[&name::decode(root)])
    }

    /// The same, with several spellings of the root.
    pub(crate) fn parse_beneath(input: &str, roots: &[&[u8]]) -> Result<Self, WorkspaceError> {
        let bytes = name::decode(input);
        if bytes.len() > MAX_PATH_BYTES {
            return Err(invalid(
                input,
                format!("it has {} bytes; the most is {MAX_PATH_BYTES}", bytes.len()),
            ));
        }
        if bytes.contains(&0) {
            return Err(invalid(input, "it contains NUL".to_owned()));
        }
        let all: Vec<&[u8]> = components(&bytes).collect();
        let relative = if bytes.first() == Some(&b'/') {
            roots
                .iter()
                .find_map(|root| strip_root(&all, root))
                .ok_or_else(|| outside(input))?
        } else {
            &all[..]
        };
        if climbs_out(relative) {
            return Err(outside(input));
        }
        if let Some(long) = relative.iter().find(|part| part.len() > MAX_NAME_BYTES) {
            return Err(invalid(
                input,
                format!(
                    "a component has {} bytes; the most is {MAX_NAME_BYTES}",
                    long.len()
                ),
            ));
        }
        Ok(Self {
            text: name::encode(&relative.join(&b'/')),
            folder: bytes.ends_with(b"/"),
        })
    }

    /// A path that is already in canonical spelling.
    pub(crate) fn from_spelled(text: String) -> Self {
        Self {
            text,
            folder: false,
        }
    }

    /// Fails for a file that was spelled as a folder.
    pub(super) fn check_file(&self) -> Result<(), WorkspaceError> {
        if self.folder {
            return Err(WorkspaceError::NotDirectory {
                path: self.display().into_owned(),
            });
        }
        Ok(())
    }

    /// Fails for a path that only a folder can have, where a file is to be written.
    pub(super) fn check_new_file(&self) -> Result<(), WorkspaceError> {
        if self.folder {
            return Err(invalid(
                &self.text,
                "it ends with `/`, so it names a folder".to_owned(),
            ));
        }
        Ok(())
    }

    /// The text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text for a person or model: `.` for the root, on one line.
    #[must_use]
    pub fn display(&self) -> Cow<'_, str> {
        if self.text.is_empty() {
            Cow::Borrowed(".")
        } else {
            name::printable(&self.text)
        }
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// The bytes the file system knows; empty for the root.
    #[must_use]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        name::decode(&self.text)
    }

    /// The path of an entry of this folder, by its spelled name.
    #[must_use]
    pub fn join(&self, entry: &str) -> Self {
        if self.text.is_empty() {
            Self::from_spelled(entry.to_owned())
        } else {
            Self::from_spelled(format!("{}/{entry}", self.text))
        }
    }
}

/// True when the text alone goes above the root. A link might lead back in; such a path is refused too.
fn climbs_out(path: &[&[u8]]) -> bool {
    let mut depth = 0_usize;
    path.iter().any(|part| {
        if *part == b".." {
            let above = depth == 0;
            depth = depth.saturating_sub(1);
            above
        } else {
            depth += 1;
            false
        }
    })
}

/// Components without empty ones and `.`.
pub(super) fn components(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
}

/// What is left of an absolute path beneath an absolute root, compared component by component.
pub(super) fn strip_root<'a, 'b>(path: &'a [&'b [u8]], root: &[u8]) -> Option<&'a [&'b [u8]]> {
    if root.first() != Some(&b'/') {
        return None;
    }
    let mut rest = path;
    for part in components(root) {
        match rest.split_first() {
            Some((first, after)) if *first == part => rest = after,
            _ => return None,
        }
    }
    Some(rest)
}

fn shortened(path: &str) -> String {
    if path.len() <= SHOWN_PATH_BYTES {
        return name::printable(&path.replace('\0', "\u{fffd}")).into_owned();
    }
    let end = path.floor_char_boundary(SHOWN_PATH_BYTES);
    let shown = path[..end].replace('\0', "\u{fffd}");
    format!("{}... ({} bytes)", name::printable(&shown), path.len())
}

pub(super) fn outside(path: &str) -> WorkspaceError {
    WorkspaceError::Outside {
        path: shortened(path),
    }
}

pub(super) fn invalid(path: &str, reason: String) -> WorkspaceError {
    WorkspaceError::InvalidPath {
        path: shortened(path),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(input: &str) -> Option<String> {
        WorkspacePath::parse(input, "/w/app")
            .ok()
            .map(|path| path.as_str().to_owned())
    }

    #[test]
    fn forms_of_a_path_have_one_spelling() {
        for (input, expected) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            ("a/../b", "a/../b"),
            ("/w/app", ""),
            ("/w/app/", ""),
            ("/w//app/./a", "a"),
            ("~/a", "~/a"),
            ("$HOME", "$HOME"),
            ("file:///w/app/a", "file:/w/app/a"),
            ("%2e%2e/a", "%2e%2e/a"),
            ("...", "..."),
            ("..a/b", "..a/b"),
            ("caf\\xe9", "caf\\xe9"),
            ("caf\\xc3\\xa9", "café"),
        ] {
            assert_eq!(parsed(input).as_deref(), Some(expected), "{input}");
        }
    }

    #[test]
    fn paths_that_lead_out_by_text_are_refused() {
        for input in [
            "..",
            "../a",
            "./../a",
            "a/../../b",
            "a/b/../../../a/b",
            "/",
            "/w",
            "/w/app-secret/a",
            "/w/ap",
            "/w/app/../a",
            "/w/./app/../app/a",
            "/etc/passwd",
            "//etc/passwd",
        ] {
            assert!(
                matches!(
                    WorkspacePath::parse(input, "/w/app"),
                    Err(WorkspaceError::Outside { .. })
                ),
                "{input}"
            );
        }
    }

    #[test]
    fn lengths_and_nul_are_typed_errors() {
        assert!(parsed(&"n".repeat(255)).is_some());
        assert!(parsed(&"d/".repeat(2047)).is_some());
        let deep = format!("{}a", "d/".repeat(2047));
        assert_eq!(deep.len(), 4095);
        assert!(parsed(&deep).is_some());
        for input in [
            "n".repeat(256),
            format!("{deep}b"),
            "d/".repeat(50_000),
            "a\0b".to_owned(),
            "\0".to_owned(),
        ] {
            let error = WorkspacePath::parse(&input, "/w/app").unwrap_err();
            assert!(matches!(error, WorkspaceError::InvalidPath { .. }));
            assert!(error.to_string().len() < 400, "the error repeats the path");
        }
    }

    #[test]
    fn a_label_is_never_a_prefix() {
        assert!(WorkspacePath::parse("/a", "memory").is_err());
        assert_eq!(WorkspacePath::parse("a", "memory").unwrap().as_str(), "a");
        assert_eq!(
            WorkspacePath::parse("/etc/x", "/").unwrap().as_str(),
            "etc/x"
        );
    }
}
