//! Projection: sample, then fold, then cut.
//!
//! The scan ([`condense`]) needs only the text, so that it can run beside the digest; the assembly
//! ([`finish`]) also needs the artifact line, which contains the digest. All cuts are in bytes on
//! character boundaries. Under the compatibility shape the markers stand after the bound; under every
//! other policy they stand inside it, which the 512 bytes that head and tail leave free make possible.

use super::fold::fold_repeated_lines;
use super::policy::{PinnedPolicy, TRANSFORM_ALGORITHM, ToolResultTransformPolicyV1};
use super::sample::sample_json_array;
use serde::{Deserialize, Serialize};

/// Longest artifact line that always fits beside a cut marker in the reserved 512 bytes. A URI of a tool
/// name of 64 characters gives at most 192.
const MAX_ARTIFACT_LINE: usize = 320;

/// What happened to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossMode {
    /// Nothing was lost.
    None,
    /// Only the beginning is shown.
    BoundedPreview,
    /// The beginning and the end are shown.
    HeadTail,
    /// Sampled or folded, and not cut.
    DeterministicTransform,
    /// Sampled or folded, and then cut.
    Composite,
}

impl LossMode {
    /// The word of the record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BoundedPreview => "bounded_preview",
            Self::HeadTail => "head_tail",
            Self::DeterministicTransform => "deterministic_transform",
            Self::Composite => "composite",
        }
    }
}

/// The text to show instead of the original, when anything was lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Projection {
    pub(super) text: String,
    pub(super) loss: LossMode,
    /// Bytes of the original that are shown as they were.
    pub(super) shown_bytes: usize,
}

/// Whether this text needs a scan at all before it is cut.
pub(super) fn needs_scan(len: usize, policy: &ToolResultTransformPolicyV1) -> bool {
    policy.fold_repeated_lines
        || (policy.structured_sample_items > 0 && len > policy.max_output_bytes as usize)
}

/// The sampled and folded text, or nothing when neither changed it.
pub(super) fn condense(text: &str, policy: &ToolResultTransformPolicyV1) -> Option<String> {
    let sampled =
        if policy.structured_sample_items > 0 && text.len() > policy.max_output_bytes as usize {
            sample_json_array(text, policy.structured_sample_items as usize)
        } else {
            None
        };
    let folded = if policy.fold_repeated_lines {
        let text = sampled.as_deref().unwrap_or(text);
        fold_repeated_lines(text, policy.repeated_line_threshold as usize)
    } else {
        None
    };
    folded.or(sampled)
}

/// The text to show, or nothing when the original is shown whole.
///
/// `uri` is where the original is; `kept` says whether a store of these limits can hold it.
pub(super) fn finish(
    text: &str,
    condensed: Option<String>,
    policy: &PinnedPolicy,
    uri: &str,
    kept: bool,
) -> Option<Projection> {
    let policy = policy.policy();
    let max = policy.max_output_bytes as usize;
    if condensed.is_none() && text.len() <= max {
        return None;
    }
    let outside = policy.has_compatibility_shape();
    let mut line = artifact_line(uri, kept);
    if !outside && line.len() > MAX_ARTIFACT_LINE {
        line.clear();
    }
    let was_condensed = condensed.is_some();
    if let Some(mut condensed) = condensed {
        let counted = if outside { 0 } else { line.len() };
        if condensed.len() + counted <= max {
            condensed.push_str(&line);
            return Some(Projection {
                text: condensed,
                loss: LossMode::DeterministicTransform,
                shown_bytes: 0,
            });
        }
        return Some(cut(&condensed, was_condensed, policy, &line, kept));
    }
    Some(cut(text, was_condensed, policy, &line, kept))
}

/// Head, marker, tail and artifact line.
fn cut(
    text: &str,
    was_condensed: bool,
    policy: &ToolResultTransformPolicyV1,
    line: &str,
    kept: bool,
) -> Projection {
    let head = &text[..text.floor_char_boundary(policy.head_bytes as usize)];
    let tail_start = text.len().saturating_sub(policy.tail_bytes as usize);
    let tail = &text[text.ceil_char_boundary(tail_start)..];
    let shown = head.len() + tail.len();
    let loss = match (was_condensed, policy.tail_bytes) {
        (true, _) => LossMode::Composite,
        (false, 0) => LossMode::BoundedPreview,
        (false, _) => LossMode::HeadTail,
    };
    let marker = if loss == LossMode::BoundedPreview {
        let rest = if kept {
            "the full text is kept as an artifact"
        } else {
            "the full text is too large to be kept"
        };
        let total = text.len();
        format!("\n\n[Showing the first {shown} of {total} bytes; {rest}.]")
    } else {
        let omitted = text.len() - shown;
        format!("\n\n[{TRANSFORM_ALGORITHM}: {omitted} bytes omitted here]\n\n")
    };
    Projection {
        text: [head, &marker, tail, line].concat(),
        loss,
        shown_bytes: if was_condensed { 0 } else { shown },
    }
}

fn artifact_line(uri: &str, kept: bool) -> String {
    let note = if kept { "" } else { " (not kept)" };
    format!("\n\n[Full output artifact: {uri}{note}]")
}
