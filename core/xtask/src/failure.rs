//! The one error of the tool: a text for the person who called it.

use std::fmt;
use std::path::Path;

/// What stopped a verb.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// Result of everything that can stop a verb.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// A failure with this text.
pub(crate) fn fail(text: impl Into<String>) -> Failure {
    Failure(text.into())
}

/// Names the path beside what the operating system said.
pub(crate) trait AtPath<T> {
    /// The same result, its error naming `path`.
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| fail(format!("{}: {error}", path.display())))
    }
}
