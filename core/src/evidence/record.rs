//! The evidence record of a result, and the one place that writes it.
//!
//! A record observes: its figures are those of the text before and after projection, and nothing else in
//! it changes a result. Three metadata keys belong to the runtime alone; what a tool puts there is removed.

use super::digest::{Digest, digest_beside};
use super::policy::{PinnedPolicy, TRANSFORM_ALGORITHM};
use super::project::{self, LossMode};
use super::store::{self, Artifact, ArtifactStore};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Metadata key of the evidence record.
pub const EVIDENCE_KEY: &str = "a3s_tool_result_evidence";
/// Metadata key of the policy binding.
pub const BINDING_KEY: &str = "a3s_tool_result_transform_binding";
/// Metadata key of the artifact of a lossy result.
pub const ARTIFACT_KEY: &str = "artifact";

const EVIDENCE_SCHEMA: &str = "a3s.code.tool-result-evidence.v1";
const TOKEN_ESTIMATOR: &str = "utf8-bytes-ceil-div-4/v1";

/// What was lost between a tool's text and the text that was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResultEvidenceV1 {
    /// `a3s.code.tool-result-evidence.v1`.
    pub schema: String,
    /// Size of the tool's text in bytes.
    pub original_bytes: u64,
    /// Size of the text that is shown in bytes.
    pub projected_bytes: u64,
    /// Estimate for the tool's text; not a provider's count.
    pub original_estimated_tokens: u64,
    /// Estimate for the text that is shown; not a provider's count.
    pub projected_estimated_tokens: u64,
    /// Name of the estimator.
    pub token_estimator: String,
    /// Version of the transformation, also when nothing was changed.
    pub transform_algorithm: String,
    /// Digest of the tool's text.
    pub content_digest: String,
    /// Digest of the text that is shown.
    pub projected_digest: String,
    /// Equal for results of equal text.
    pub repeat_key: String,
    /// `inline:` and the digest, or the artifact's URI when something was lost.
    pub content_ref: String,
    /// What happened.
    pub loss_mode: LossMode,
    /// Projected minus original bytes.
    pub byte_delta: i64,
    /// Projected minus original estimate.
    pub estimated_token_delta: i64,
}

/// A stored record that does not agree with its text or with itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`a3s_tool_result_evidence.{field}` does not agree with the result")]
pub struct EvidenceError {
    /// The first field that is wrong.
    pub field: &'static str,
}

impl ToolResultEvidenceV1 {
    fn new(original: &Side, projected: &Side, loss_mode: LossMode, content_ref: String) -> Self {
        Self {
            schema: EVIDENCE_SCHEMA.to_owned(),
            original_bytes: original.bytes,
            projected_bytes: projected.bytes,
            original_estimated_tokens: original.tokens(),
            projected_estimated_tokens: projected.tokens(),
            token_estimator: TOKEN_ESTIMATOR.to_owned(),
            transform_algorithm: TRANSFORM_ALGORITHM.to_owned(),
            content_digest: original.digest.clone(),
            projected_digest: projected.digest.clone(),
            repeat_key: original.digest.clone(),
            content_ref,
            loss_mode,
            // Wrapping, since a stored record that is being checked may hold any number.
            byte_delta: projected
                .bytes
                .cast_signed()
                .wrapping_sub(original.bytes.cast_signed()),
            estimated_token_delta: projected
                .tokens()
                .cast_signed()
                .wrapping_sub(original.tokens().cast_signed()),
        }
    }

    /// Checks a stored record against the text that was shown with it.
    ///
    /// # Errors
    /// An [`EvidenceError`] that names the first field that is wrong.
    pub fn verify(&self, shown: &str) -> Result<(), EvidenceError> {
        let projected = Side::of(shown.as_bytes());
        let lossless = self.loss_mode == LossMode::None;
        let original = if lossless {
            projected.clone()
        } else {
            Side {
                bytes: self.original_bytes,
                digest: self.content_digest.clone(),
            }
        };
        let digest = &self.content_digest;
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        let canonical =
            hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let referred = if lossless {
            self.content_ref.strip_prefix("inline:sha256:") == Some(hex)
        } else {
            let tail = self.content_ref.strip_prefix("a3s://tool-output/");
            tail.and_then(|tail| tail.split_once('/'))
                .map(|(_, hex)| hex)
                == Some(hex)
        };
        let expected = Self::new(
            &original,
            &projected,
            self.loss_mode,
            self.content_ref.clone(),
        );
        let checks = [
            ("schema", self.schema == expected.schema),
            (
                "original_bytes",
                self.original_bytes == expected.original_bytes
                    && i64::try_from(self.original_bytes).is_ok(),
            ),
            (
                "projected_bytes",
                self.projected_bytes == expected.projected_bytes,
            ),
            (
                "original_estimated_tokens",
                self.original_estimated_tokens == expected.original_estimated_tokens,
            ),
            (
                "projected_estimated_tokens",
                self.projected_estimated_tokens == expected.projected_estimated_tokens,
            ),
            (
                "token_estimator",
                self.token_estimator == expected.token_estimator,
            ),
            (
                "transform_algorithm",
                self.transform_algorithm == expected.transform_algorithm,
            ),
            (
                "content_digest",
                canonical && *digest == expected.content_digest,
            ),
            (
                "projected_digest",
                self.projected_digest == expected.projected_digest,
            ),
            ("repeat_key", self.repeat_key == expected.repeat_key),
            ("content_ref", referred),
            (
                "loss_mode",
                lossless == (self.content_digest == self.projected_digest),
            ),
            ("byte_delta", self.byte_delta == expected.byte_delta),
            (
                "estimated_token_delta",
                self.estimated_token_delta == expected.estimated_token_delta,
            ),
        ];
        match checks.into_iter().find(|(_, agrees)| !agrees) {
            None => Ok(()),
            Some((field, _)) => Err(EvidenceError { field }),
        }
    }

    fn into_value(self) -> Value {
        json!({
            "schema": self.schema,
            "original_bytes": self.original_bytes,
            "projected_bytes": self.projected_bytes,
            "original_estimated_tokens": self.original_estimated_tokens,
            "projected_estimated_tokens": self.projected_estimated_tokens,
            "token_estimator": self.token_estimator,
            "transform_algorithm": self.transform_algorithm,
            "content_digest": self.content_digest,
            "projected_digest": self.projected_digest,
            "repeat_key": self.repeat_key,
            "content_ref": self.content_ref,
            "loss_mode": self.loss_mode.as_str(),
            "byte_delta": self.byte_delta,
            "estimated_token_delta": self.estimated_token_delta,
        })
    }
}

/// The figures of one text.
#[derive(Clone)]
struct Side {
    bytes: u64,
    digest: String,
}

impl Side {
    fn of(bytes: &[u8]) -> Self {
        Self::new(bytes.len(), &Digest::of(bytes))
    }

    fn new(bytes: usize, digest: &Digest) -> Self {
        Self {
            bytes: bytes as u64,
            digest: digest.prefixed(),
        }
    }

    /// A quarter of the bytes, rounded up.
    fn tokens(&self) -> u64 {
        self.bytes.div_ceil(4)
    }
}

/// Takes the whole sanitised text of a tool and gives the text to show.
///
/// Writes the evidence and the policy binding into `metadata`, and for a lossy result `artifact`, whose
/// original goes to the store; whatever a tool put under these three keys is removed.
#[must_use]
pub fn account(
    tool: &str,
    text: String,
    policy: &PinnedPolicy,
    store: &ArtifactStore,
    metadata: &mut Map<String, Value>,
) -> String {
    let (digest, condensed) = if project::needs_scan(text.len(), policy.policy()) {
        digest_beside(&text, |text| project::condense(text, policy.policy()))
    } else {
        (Digest::of(text.as_bytes()), None)
    };
    let original = Side::new(text.len(), &digest);
    let (id, uri) = store::names(tool, &digest);
    // The wording depends on the limits alone, so that the text does not depend on what else is kept now.
    let kept = store.accepts(original.bytes);
    let Some(projection) = project::finish(&text, condensed, policy, &uri, kept) else {
        let content_ref = format!("inline:{}", original.digest);
        let record = ToolResultEvidenceV1::new(&original, &original, LossMode::None, content_ref);
        metadata.remove(ARTIFACT_KEY);
        write(metadata, record, policy);
        return text;
    };
    let shown_bytes = projection.shown_bytes as u64;
    let mut artifact = json!({
        "artifact_id": id,
        "artifact_uri": uri,
        "original_bytes": original.bytes,
        "shown_bytes": shown_bytes,
    });
    let retained = kept
        && store.put(Artifact::named(
            id,
            uri.clone(),
            tool,
            text.into_bytes(),
            shown_bytes,
        ));
    artifact["retained"] = Value::Bool(retained);
    metadata.insert(ARTIFACT_KEY.to_owned(), artifact);
    let projected = Side::of(projection.text.as_bytes());
    let record = ToolResultEvidenceV1::new(&original, &projected, projection.loss, uri);
    write(metadata, record, policy);
    projection.text
}

fn write(metadata: &mut Map<String, Value>, record: ToolResultEvidenceV1, policy: &PinnedPolicy) {
    metadata.insert(EVIDENCE_KEY.to_owned(), record.into_value());
    metadata.insert(BINDING_KEY.to_owned(), policy.binding().clone());
}
