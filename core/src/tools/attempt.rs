//! How one attempt at file work failed: for good, or only because it may not wait here.

use super::{MaybeWouldBlock, ToolError};
use crate::workspace::WorkspaceError;

/// Failure of an attempt.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// Repeat where the work may wait.
    WouldBlock,
    /// It failed.
    Failed(ToolError),
}

impl Attempt {
    /// The failure; work that may wait has no other.
    pub(crate) fn into_error(self) -> ToolError {
        match self {
            Self::Failed(error) => error,
            Self::WouldBlock => WorkspaceError::WouldBlock.into(),
        }
    }
}

impl From<WorkspaceError> for Attempt {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::WouldBlock => Self::WouldBlock,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<ToolError> for Attempt {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl MaybeWouldBlock for Attempt {
    fn would_block(&self) -> bool {
        matches!(self, Self::WouldBlock)
    }
}
