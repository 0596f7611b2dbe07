//! Writes: a file is replaced as a whole or stays as it was.
//!
//! A write has two steps. Staging checks everything and puts the new bytes, synced, where only the last step
//! is missing; committing checks once more what was expected of the old file and puts the new one in its
//! place. A staged write that is dropped leaves nothing behind. Several files are staged before the first one
//! is committed.
//!
//! A reader, whenever it looks, sees the old bytes or the new ones. The mode of the file stays (without set-id
//! bits), its owner too where the system lets us, and a link stays a link: what it leads to is replaced. The
//! file is a fresh one, so that other hard links to the old one keep the old bytes. A write of the bytes that
//! are there already changes nothing, not even times, when they were expected.

pub(super) mod local;

use super::{WorkspaceError, WorkspacePath};
use sha2::{Digest, Sha256};

/// What must hold of the old file right before it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation<'a> {
    /// Nothing.
    Any,
    /// There is no file.
    Absent,
    /// There is a file and it holds exactly these bytes.
    Content(&'a [u8]),
}

/// One file to write.
#[derive(Clone, Copy)]
pub struct Replacement<'a> {
    /// Where, links followed.
    pub path: &'a WorkspacePath,
    /// Every byte of the new file.
    pub content: &'a [u8],
    /// What must hold of the old one.
    pub expectation: Expectation<'a>,
    /// True of a path, links resolved, that must not be written.
    pub off_limits: Option<fn(&WorkspacePath) -> bool>,
    /// Asked before the last step; true leaves the file as it is.
    pub stopped: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Replacement<'a> {
    /// A write without further conditions.
    #[must_use]
    pub fn new(path: &'a WorkspacePath, content: &'a [u8], expectation: Expectation<'a>) -> Self {
        Self {
            path,
            content,
            expectation,
            off_limits: None,
            stopped: None,
        }
    }

    /// True when what is expected is what would be written.
    pub(super) fn changes_nothing(&self) -> bool {
        self.expectation == Expectation::Content(self.content)
    }

    /// Fails when the file that `real` names must not be written.
    pub(super) fn check_limits(&self, real: &WorkspacePath) -> Result<(), WorkspaceError> {
        match self.off_limits {
            Some(off_limits) if off_limits(real) => Err(WorkspaceError::OffLimits {
                path: self.path.display().into_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Fails when the write was called off.
    pub(super) fn check_stopped(&self) -> Result<(), WorkspaceError> {
        match self.stopped {
            Some(stopped) if stopped() => Err(WorkspaceError::Stopped {
                path: self.path.display().into_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The error of a file that is not the one expected; `actual` says what is there, if anything.
    pub(super) fn conflict(&self, actual: Option<String>) -> WorkspaceError {
        let expected = match self.expectation {
            Expectation::Content(bytes) => version(bytes),
            Expectation::Absent => "no file".to_owned(),
            Expectation::Any => "the file that was there a moment before".to_owned(),
        };
        WorkspaceError::VersionConflict {
            path: self.path.display().into_owned(),
            expected,
            actual,
        }
    }
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Where the bytes are, links resolved.
    pub path: WorkspacePath,
    /// True when there was no file before.
    pub created: bool,
    /// False when the bytes were there already and nothing was touched.
    pub written: bool,
}

/// A write of which only the last step is missing. Dropping it leaves everything as it was.
pub trait StagedWrite: Send {
    /// Checks the expectation once more and puts the new file in its place.
    ///
    /// # Errors
    /// [`WorkspaceError::VersionConflict`], [`WorkspaceError::Stopped`], and what the operating system says;
    /// the old file is then as it was.
    fn commit(self: Box<Self>) -> Result<Replaced, WorkspaceError>;
}

/// How errors and results name a content: `sha256:` and 64 hex digits.
pub(crate) fn version(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}

/// SHA-256 of these bytes, 64 lowercase hex digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    Sha256::digest(bytes)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}
