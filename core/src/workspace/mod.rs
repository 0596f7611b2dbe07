//! What a workspace can do and how: the only room that touches a file system.
//!
//! A [`Workspace`] is a root and what its backend can do. Its [`FileSystem`] is synchronous and coarse: a
//! whole read is one task. Every operation takes a [`Wait`]: with [`Wait::Never`] it must answer from what
//! the operating system holds in memory or fail with [`WorkspaceError::WouldBlock`], so that a small warm
//! read is answered on the caller's thread and nothing ever blocks it; the tool then repeats the work with
//! [`Wait::Allowed`] on a blocking thread.
//!
//! Invariant: a local workspace opens its root once and resolves every path beneath that handle. `std::fs`
//! path functions are banned everywhere else (clippy `disallowed-methods`, and a test).

mod beneath;
mod local;
mod memory;
pub(crate) mod name;
mod path;
mod place;
mod real;
#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;
pub(crate) mod write;

pub use local::LocalWorkspace;
pub use memory::MemoryWorkspace;
pub use path::WorkspacePath;
pub use write::{Expectation, Replaced, Replacement, StagedWrite};

use crate::search::{SearchBackend, TreeSearch};
use a3s_code_contract::{ToolErrorKind, WorkspaceCapability};
use std::collections::BTreeSet;

/// Whether an operation may block the thread it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Answer from memory or fail with [`WorkspaceError::WouldBlock`].
    Never,
    /// Wait for the device as long as it takes.
    Allowed,
}

/// Kind of a directory entry or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Regular file.
    File,
    /// Folder.
    Directory,
    /// Symbolic link, not followed.
    Symlink,
    /// Pipe, socket, device.
    Other,
}

/// Facts about a file, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Size in bytes.
    pub len: u64,
    /// Last change, in nanoseconds since the epoch; 0 when unknown.
    pub modified_ns: i128,
    /// Last change of content or of the facts themselves, in nanoseconds since the epoch; 0 when unknown.
    pub changed_ns: i128,
    /// Tells two files of one backend apart, whatever they are called; 0 when unknown.
    pub identity: u128,
}

/// One entry of a folder, link not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Name. Bytes that are not UTF-8 appear as in [`WorkspacePath`]: escaped, and they find the file again.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Size in bytes; 0 for what is not a regular file.
    pub len: u64,
}

/// A file that is open.
pub trait OpenFile: Send + Sync {
    /// Facts at the time it was opened.
    fn metadata(&self) -> Metadata;
    /// Reads at an offset without moving anything; 0 bytes means the end.
    ///
    /// # Errors
    /// [`WorkspaceError::WouldBlock`] when the bytes are not in memory and `wait` is [`Wait::Never`].
    fn read_at(&self, offset: u64, buffer: &mut [u8], wait: Wait) -> Result<usize, WorkspaceError>;
}

/// Reading and writing of files beneath a root. Every path is confined.
pub trait FileSystem: Send + Sync {
    /// Opens a regular file, following links that stay inside. Never waits for a pipe or device.
    ///
    /// # Errors
    /// By kind: missing, outside, a folder, not a regular file.
    fn open(&self, path: &WorkspacePath, wait: Wait) -> Result<Box<dyn OpenFile>, WorkspaceError>;
    /// Facts about a path, following links that stay inside.
    ///
    /// # Errors
    /// By kind: missing, outside.
    fn metadata(&self, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError>;
    /// Entries of a folder, unordered, without `.` and `..`.
    ///
    /// # Errors
    /// By kind: missing, outside, not a folder.
    fn read_dir(&self, path: &WorkspacePath, wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError>;
    /// The same where only names and kinds matter: every `len` may be 0.
    ///
    /// # Errors
    /// As [`FileSystem::read_dir`].
    fn scan_dir(&self, path: &WorkspacePath, wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.read_dir(path, wait)
    }
    /// The path of the file that this path reads or writes, links resolved; the file may be missing.
    ///
    /// # Errors
    /// By kind: outside, a folder, not a regular file, a folder on the way that is none.
    fn locate(&self, path: &WorkspacePath, wait: Wait) -> Result<WorkspacePath, WorkspaceError> {
        let _ = wait;
        Ok(path.clone())
    }
    /// Prepares a write up to its last step; parents that are missing are made. A backend that cannot write
    /// has no other than this default. With [`Wait::Never`] it would always block.
    ///
    /// # Errors
    /// By kind: as for reading, [`WorkspaceError::VersionConflict`], [`WorkspaceError::OffLimits`],
    /// [`WorkspaceError::Stopped`], [`WorkspaceError::Unsupported`]. Nothing was changed then.
    fn stage<'a>(
        &'a self,
        replacement: &Replacement<'a>,
        wait: Wait,
    ) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
        let _ = (replacement, wait);
        Err(WorkspaceError::Unsupported(
            "this workspace cannot write files".to_owned(),
        ))
    }
    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// As [`FileSystem::stage`] and [`StagedWrite::commit`].
    fn replace<'a>(
        &'a self,
        replacement: &Replacement<'a>,
        wait: Wait,
    ) -> Result<Replaced, WorkspaceError> {
        self.stage(replacement, wait)?.commit()
    }
}

/// A root and what its backend can do.
pub trait Workspace: Send + Sync {
    /// Absolute root of a local workspace, a label otherwise.
    fn root(&self) -> &str;
    /// True when the files are those of this machine.
    fn is_local(&self) -> bool;
    /// What it can do.
    fn capabilities(&self) -> &BTreeSet<WorkspaceCapability>;
    /// Its files.
    fn file_system(&self) -> &dyn FileSystem;
    /// Its search; the built-in one over [`Workspace::file_system`] by default.
    fn search(&self) -> &dyn SearchBackend {
        &TreeSearch
    }

    /// Takes a path as a caller spells it: relative, or absolute beneath any spelling of the root.
    ///
    /// # Errors
    /// Outside the root, or a form that cannot be used.
    fn resolve(&self, path: &str) -> Result<WorkspacePath, WorkspaceError> {
        WorkspacePath::parse(path, self.root())
    }

    /// Where a path really lies: every link followed, for what does not exist yet the folder that does. What is
    /// decided about a path is decided about this one too. May wait for the file system.
    ///
    /// # Errors
    /// The path leads out or nowhere, or it cannot be told where it leads.
    fn real_path(&self, path: &WorkspacePath) -> Result<WorkspacePath, WorkspaceError> {
        Ok(path.clone())
    }

    /// True when it has this capability.
    fn can(&self, capability: WorkspaceCapability) -> bool {
        self.capabilities().contains(&capability)
    }
}

/// How a file operation failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The answer is not in memory; repeat with [`Wait::Allowed`].
    #[error("the operation would block")]
    WouldBlock,
    /// The path leads out of the workspace.
    #[error("`{path}` leads out of the workspace")]
    Outside {
        /// As given.
        path: String,
    },
    /// The path has a form that cannot be used.
    #[error("`{path}` cannot be used as a path: {reason}")]
    InvalidPath {
        /// As given, shortened.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path.
        path: String,
    },
    /// A folder stands where a file was asked for.
    #[error("`{path}` is a folder")]
    IsDirectory {
        /// The path.
        path: String,
    },
    /// A file stands where a folder was asked for.
    #[error("`{path}` is not a folder")]
    NotDirectory {
        /// The path.
        path: String,
    },
    /// A pipe, socket or device.
    #[error("`{path}` is not a regular file")]
    NotRegular {
        /// The path.
        path: String,
    },
    /// Links go round in a circle or too deep.
    #[error("`{path}` has a loop of links")]
    LinkLoop {
        /// The path.
        path: String,
    },
    /// More bytes than allowed.
    #[error("`{path}` has {size} bytes; the most is {max}")]
    TooLarge {
        /// The path.
        path: String,
        /// Its size.
        size: u64,
        /// The bound.
        max: u64,
    },
    /// The file is not the one that was expected; it is as it was.
    #[error("`{path}` is not what was expected ({expected}): it is {}", actual.as_deref().unwrap_or("missing"))]
    VersionConflict {
        /// The path.
        path: String,
        /// What was expected: `sha256:...` or words.
        expected: String,
        /// What is there, if anything.
        actual: Option<String>,
    },
    /// The path leads to a file that this write may not touch.
    #[error("`{path}` leads to control files, which this call may not change")]
    OffLimits {
        /// The path.
        path: String,
    },
    /// The write was called off before its last step; the file is as it was.
    #[error("the write of `{path}` was called off")]
    Stopped {
        /// The path.
        path: String,
    },
    /// The backend cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The operating system refused or failed.
    #[error("`{path}`: {source}")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
}

impl WorkspaceError {
    /// The kind a tool result carries for it.
    #[must_use]
    pub fn kind(&self) -> ToolErrorKind {
        let message = self.to_string();
        match self {
            Self::NotFound { path } => ToolErrorKind::NotFound { path: path.clone() },
            Self::TooLarge { path, size, max } => ToolErrorKind::TooLarge {
                path: path.clone(),
                size_bytes: *size,
                max_bytes: *max,
            },
            Self::VersionConflict {
                path,
                expected,
                actual,
            } => ToolErrorKind::VersionConflict {
                path: path.clone(),
                expected: expected.clone(),
                actual: actual.clone(),
            },
            Self::OffLimits { .. } => ToolErrorKind::PermissionDenied { reason: message },
            Self::Stopped { .. } => ToolErrorKind::Cancelled { op: message },
            Self::Outside { .. }
            | Self::InvalidPath { .. }
            | Self::IsDirectory { .. }
            | Self::NotDirectory { .. }
            | Self::NotRegular { .. }
            | Self::LinkLoop { .. } => ToolErrorKind::invalid("path", message),
            Self::WouldBlock | Self::Unsupported(_) => ToolErrorKind::Unsupported { message },
            Self::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    ToolErrorKind::PermissionDenied { reason: message }
                }
                _ => ToolErrorKind::Transport { op: message },
            },
        }
    }
}
