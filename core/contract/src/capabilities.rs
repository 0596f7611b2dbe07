//! What a tool promises about one call: the facts a scheduler may rely on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shape of a tool's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// Plain text.
    #[default]
    Text,
    /// Machine-readable structure.
    Structured,
    /// A difference between two texts.
    Diff,
    /// Text and structure together.
    Mixed,
}

/// Scheduling capabilities of one call. Nothing is claimed by default: a tool that declares nothing is
/// neither read-only nor idempotent nor parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolCapabilities {
    /// The call changes nothing.
    pub read_only: bool,
    /// Repeating the call has the effect of doing it once.
    pub idempotent: bool,
    /// A stopped call can be carried on from where it was.
    pub resumable: bool,
    /// Dropping the call half way leaves nothing half done.
    pub cancellation_safe: bool,
    /// The call returns a cursor or offset when there is more.
    pub supports_pagination: bool,
    /// Calls of this kind that may run side by side, at least 1.
    pub max_parallelism: u32,
    /// Shape of the text.
    pub output_kind: OutputKind,
}

impl Default for ToolCapabilities {
    fn default() -> Self {
        Self {
            read_only: false,
            idempotent: false,
            resumable: false,
            cancellation_safe: false,
            supports_pagination: false,
            max_parallelism: 1,
            output_kind: OutputKind::Text,
        }
    }
}

impl ToolCapabilities {
    /// Capabilities of a read that may run `max_parallelism` times side by side.
    #[must_use]
    pub fn parallel_safe_read(max_parallelism: u32) -> Self {
        Self {
            read_only: true,
            idempotent: true,
            cancellation_safe: true,
            max_parallelism,
            ..Self::default()
        }
    }

    /// True when several such calls may run side by side.
    #[must_use]
    pub fn parallel_safe(&self) -> bool {
        self.read_only && self.idempotent && self.cancellation_safe && self.max_parallelism > 1
    }
}
