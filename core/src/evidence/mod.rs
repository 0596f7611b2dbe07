//! What a result lost and where the original is.
//!
//! A session pins one transform policy ([`PinnedPolicy`]). At the end of every call [`account`] takes the
//! whole sanitised text, shortens it under that policy, keeps the original in the [`ArtifactStore`] when
//! anything was lost, and writes the record of it into the metadata.
//!
//! Invariants: the figures of a record are those of exactly the text that is returned; the same text of
//! the same tool under the same policy and store limits gives the same bytes; under every policy but the
//! compatibility shape all markers fit inside `max_output_bytes`; a reference never resolves to anything
//! but the complete original.
//!
//! This room does not know who called, and it does not sanitise.

mod digest;
mod fold;
mod json;
mod policy;
mod project;
mod record;
mod sample;
mod store;
#[cfg(test)]
mod tests;

pub use policy::{
    BINDING_SCHEMA, POLICY_SCHEMA, PinnedPolicy, PolicyError, TRANSFORM_ALGORITHM,
    ToolResultTransformPolicyV1,
};
pub use project::LossMode;
pub use record::{
    ARTIFACT_KEY, BINDING_KEY, EVIDENCE_KEY, EvidenceError, ToolResultEvidenceV1, account,
};
pub use store::{Artifact, ArtifactPin, ArtifactStore};
