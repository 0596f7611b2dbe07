//! What the tools that change files share: finding and reading the file, writing it, and the receipt.
//!
//! A change is computed from bytes that were read, and the write that follows expects exactly these bytes: what
//! somebody else changed meanwhile is never overwritten. Everything here runs where it may wait.

mod endings;
mod receipt;
#[cfg(test)]
mod tests;

pub(crate) use endings::{BOM, Endings};
#[cfg(test)]
pub(crate) use receipt::unified_diff;
pub(crate) use receipt::{Receipts, bounded};

use super::call::ArtifactKeeper;
use super::{ToolCall, ToolError, ToolErrorKind};
use crate::workspace::{
    Expectation, Replaced, Replacement, StagedWrite, Wait, Workspace, WorkspaceError, WorkspacePath,
};

/// Largest file that is read, and largest that is written.
pub(crate) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes fetched at once.
const CHUNK: usize = 256 * 1024;

/// What a change needs of its call, on the thread where it is made.
pub(crate) struct Changing {
    artifacts: ArtifactKeeper,
    off_limits: Option<fn(&WorkspacePath) -> bool>,
    stopped: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A file to change: its path as the call spells it, in normal form, and with links resolved.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: WorkspacePath,
    pub(crate) real: WorkspacePath,
}

impl Target {
    /// The path for `metadata.file_path`.
    pub(crate) fn shown(&self) -> String {
        self.path.display().into_owned()
    }
}

impl Changing {
    pub(crate) fn of(call: &ToolCall) -> Self {
        let cancellation = call.cancellation().clone();
        Self {
            artifacts: call.artifact_keeper(),
            off_limits: call.off_limits(),
            stopped: Box::new(move || cancellation.is_cancelled()),
        }
    }

    /// Finds the file that a spelled path names.
    pub(crate) fn target(
        &self,
        workspace: &dyn Workspace,
        spelled: &str,
    ) -> Result<Target, WorkspaceError> {
        let path = workspace.resolve(spelled)?;
        let real = workspace.file_system().locate(&path, Wait::Allowed)?;
        if self.off_limits.is_some_and(|off_limits| off_limits(&real)) {
            return Err(WorkspaceError::OffLimits {
                path: path.display().into_owned(),
            });
        }
        Ok(Target { path, real })
    }

    /// Every byte of the file; none when there is no file.
    pub(crate) fn read(
        &self,
        workspace: &dyn Workspace,
        target: &Target,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        match workspace.file_system().open(&target.real, Wait::Allowed) {
            Ok(file) => {
                let size = file.metadata().len;
                too_large(target, size)?;
                let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
                loop {
                    let at = bytes.len();
                    let room = (bytes.capacity() - at).clamp(1, CHUNK);
                    bytes.resize(at + room, 0);
                    let read = file.read_at(at as u64, &mut bytes[at..], Wait::Allowed)?;
                    bytes.truncate(at + read);
                    if read == 0 {
                        return Ok(Some(bytes));
                    }
                    too_large(target, bytes.len() as u64)?;
                }
            }
            Err(WorkspaceError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The text of a file that must be there.
    pub(crate) fn existing(
        &self,
        workspace: &dyn Workspace,
        target: &Target,
    ) -> Result<String, ToolError> {
        let bytes = self
            .read(workspace, target)?
            .ok_or_else(|| WorkspaceError::NotFound {
                path: target.shown(),
            })?;
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| memchr::memchr(0, text.as_bytes()).is_none());
        text.ok_or_else(|| {
            unsupported(format!(
                "`{}` is not UTF-8 text; it was left as it is.",
                target.shown()
            ))
        })
    }

    /// Prepares a write up to its last step; the call's cancellation can still call it off.
    pub(crate) fn stage<'a>(
        &'a self,
        workspace: &'a dyn Workspace,
        target: &'a Target,
        content: &'a [u8],
        expectation: Expectation<'a>,
    ) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
        too_large(target, content.len() as u64)?;
        let replacement = Replacement {
            off_limits: self.off_limits,
            stopped: Some(&*self.stopped),
            ..Replacement::new(&target.path, content, expectation)
        };
        workspace.file_system().stage(&replacement, Wait::Allowed)
    }

    /// Writes a file, whole or not at all.
    pub(crate) fn replace(
        &self,
        workspace: &dyn Workspace,
        target: &Target,
        content: &[u8],
        expectation: Expectation<'_>,
    ) -> Result<Replaced, WorkspaceError> {
        self.stage(workspace, target, content, expectation)?
            .commit()
    }

    /// Puts old content back where `new` was written, also when the call has been called off.
    pub(crate) fn put_back(
        &self,
        workspace: &dyn Workspace,
        target: &Target,
        old: &[u8],
        new: &[u8],
    ) -> Result<Replaced, WorkspaceError> {
        let replacement = Replacement {
            off_limits: self.off_limits,
            ..Replacement::new(&target.path, old, Expectation::Content(new))
        };
        workspace.file_system().replace(&replacement, Wait::Allowed)
    }

    /// Receipts for the changes of this call.
    pub(crate) fn receipts(
        &self,
        tool: &'static str,
        sizes: impl Iterator<Item = usize>,
    ) -> Receipts {
        Receipts::new(tool, self.artifacts.clone(), sizes)
    }
}

/// Fails for more bytes than a file may have.
pub(crate) fn too_large(target: &Target, size: u64) -> Result<(), WorkspaceError> {
    if size <= MAX_FILE_BYTES {
        return Ok(());
    }
    Err(WorkspaceError::TooLarge {
        path: target.shown(),
        size,
        max: MAX_FILE_BYTES,
    })
}

/// An error of kind `unsupported`.
pub(crate) fn unsupported(message: String) -> ToolError {
    ToolError::new(
        ToolErrorKind::Unsupported {
            message: message.clone(),
        },
        message,
    )
}

/// The error of a path that came from this argument.
pub(crate) fn at(argument: &str, mut error: ToolError) -> ToolError {
    if let ToolErrorKind::InvalidArgument {
        argument: named, ..
    } = &mut error.kind
        && named.as_deref() == Some("path")
    {
        *named = Some(argument.to_owned());
    }
    error
}
