//! Search over a workspace: finding paths by pattern and lines by regular expression.
//!
//! A [`SearchBackend`] answers a request over a file system; [`TreeSearch`] is the built-in one and works
//! over any. Requests carry what was asked, never how it is shown. Both operations see one set of
//! candidates: regular files that no ignore file excludes and that are not in `.git`, `.a3s` or
//! `.a3s-code`; links are not followed, hidden files count. Exact search opens no index, so it cannot miss
//! what an index has not seen.

mod files;
mod ignores;
mod lines;
mod pattern;
pub(crate) mod rank;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;
mod tree;
mod walk;

pub use pattern::GlobPattern;
pub use tree::TreeSearch;

use crate::workspace::{FileSystem, Wait, WorkspaceError, WorkspacePath};

/// Largest file that is searched, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Most oversized files that a response names.
pub const MAX_NAMED_OVERSIZE: usize = 64;
/// Most files whose content revision a response states.
pub const MAX_REVISIONS: usize = 64;

/// What a search works on and when it must stop.
#[derive(Clone, Copy)]
pub struct SearchScope<'a> {
    /// The files.
    pub files: &'a dyn FileSystem,
    /// Whether it may wait for them.
    pub wait: Wait,
    /// True once nobody wants the answer; asked between folders and files.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
    /// True of a path whose content is kept from the caller: a search for lines takes no such file, and counts it.
    pub withheld: Option<&'a (dyn Fn(&str) -> bool + Sync)>,
}

/// Order of the paths of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathOrder {
    /// As the backend finds useful; the built-in one puts what changed last first.
    Backend,
    /// Lexical.
    Path,
}

/// A search for paths.
#[derive(Clone, Debug)]
pub struct GlobRequest {
    /// What paths must match, from `path` or from the root.
    pub pattern: GlobPattern,
    /// Folder or file to stay in.
    pub path: WorkspacePath,
    /// Order of the answer.
    pub order: PathOrder,
}

/// Paths that matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobResponse {
    /// Every path, in order.
    pub paths: Vec<String>,
    /// True when the backend stopped at a limit of its own.
    pub truncated: bool,
}

/// How much of each match is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrepDetail {
    /// Numbers only: no text of any line is made.
    Counts,
    /// Lines, until their text reaches a bound.
    Lines {
        /// Lines of context on each side.
        context: usize,
        /// Bytes of rows after which the scan stops.
        max_bytes: usize,
    },
    /// Every line that matches, whole.
    Everything {
        /// Bytes of text after which the scan fails.
        max_bytes: usize,
    },
}

/// A search for lines.
#[derive(Clone, Debug)]
pub struct GrepRequest {
    /// Regular expression that a line must match somewhere.
    pub pattern: String,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Folder or file to stay in.
    pub path: WorkspacePath,
    /// What paths must match: a pattern without `/` looks at the name alone.
    pub include: Option<GlobPattern>,
    /// What is wanted.
    pub detail: GrepDetail,
}

/// Why a row is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// It matches.
    Match,
    /// It stands beside a match.
    Context,
    /// Lines are left out here; has no text.
    Break,
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepRow {
    /// Why it is shown.
    pub kind: RowKind,
    /// Its number, from 1.
    pub line: u64,
    /// Its text without line ending, shortened around the match when it is long.
    pub text: String,
}

/// Matches of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// Its path.
    pub path: String,
    /// Lines that match.
    pub matching_lines: u64,
    /// `sha256:` and the digest of the content searched, where rows were made, for the first
    /// [`MAX_REVISIONS`] files.
    pub revision: Option<String>,
    /// Its rows in order, when lines were wanted.
    pub rows: Vec<GrepRow>,
}

/// A file that was too large to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OversizedFile {
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What a scan did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanWork {
    /// Files opened.
    pub opened_files: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Lines whose text was made.
    pub lines_built: u64,
}

/// Files with matching lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepResponse {
    /// Files that match, in lexical order.
    pub files: Vec<FileMatches>,
    /// `path:line:text` of every hit, joined by newlines, when [`GrepDetail::Everything`] was wanted.
    pub text: String,
    /// True when the scan stopped before its end, so that the totals are not complete.
    pub truncated: bool,
    /// Files that could not be read.
    pub failed_reads: u64,
    /// Files that are kept from the caller.
    pub withheld_files: u64,
    /// How many files were too large.
    pub skipped_oversize: u64,
    /// The first of them.
    pub oversized: Vec<OversizedFile>,
    /// What the scan did.
    pub work: ScanWork,
}

impl GrepResponse {
    /// Lines that match, over all files.
    #[must_use]
    pub fn matching_lines(&self) -> u64 {
        self.files.iter().map(|file| file.matching_lines).sum()
    }
}

/// How a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Nobody wants the answer any more.
    #[error("the search was cancelled")]
    Cancelled,
    /// A pattern cannot be used.
    #[error("{message}")]
    InvalidPattern {
        /// Argument it was given in.
        argument: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The exact text of all hits is larger than allowed.
    #[error("the matching lines have more than {max} bytes")]
    TooLarge {
        /// Bytes found before the scan stopped.
        size: u64,
        /// The bound.
        max: u64,
    },
    /// The workspace failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// What a workspace's own search can do.
pub trait SearchBackend: Send + Sync {
    /// Finds paths.
    ///
    /// # Errors
    /// By kind: cancelled, a wrong path.
    fn glob(
        &self,
        request: &GlobRequest,
        scope: SearchScope<'_>,
    ) -> Result<GlobResponse, SearchError>;

    /// Finds lines.
    ///
    /// # Errors
    /// By kind: cancelled, a wrong pattern, a wrong path.
    fn grep(
        &self,
        request: &GrepRequest,
        scope: SearchScope<'_>,
    ) -> Result<GrepResponse, SearchError>;
}
