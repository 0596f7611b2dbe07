//! The transform policy of a session: its seven fields, their bounds and its digests.
//!
//! Invariant: a [`PinnedPolicy`] is always valid and never changes; whatever projects takes one, so an
//! unchecked policy cannot shorten anything.

use super::digest::Digest;
use a3s_code_contract::ToolResultTransformPolicy;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Schema of the policy.
pub const POLICY_SCHEMA: &str = "a3s.code.tool-result-transform-policy.v1";
/// Version of the transformation that every record names.
pub const TRANSFORM_ALGORITHM: &str = "a3s.code.tool-result-transform.v1";
/// Schema of the record that ties a result to its policy.
pub const BINDING_SCHEMA: &str = "a3s.code.tool-result-transform-binding.v1";

const POLICY_DIGEST_DOMAIN: &str = "a3s.code.tool-result-transform-policy-digest.v1";
const MIN_OUTPUT_BYTES: u32 = 1024;
const MAX_OUTPUT_BYTES: u32 = 100 * 1024;
/// Bytes that head and tail leave free for markers.
const RESERVE_BYTES: u32 = 512;
const MAX_SAMPLE_ITEMS: u32 = 1024;

/// How long results are shortened: the stored form, in snake case, with unknown fields refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResultTransformPolicyV1 {
    /// `a3s.code.tool-result-transform-policy.v1`.
    pub schema: String,
    /// Most bytes of a result, 1,024 to 102,400.
    pub max_output_bytes: u32,
    /// Bytes kept from the beginning, at least 1.
    pub head_bytes: u32,
    /// Bytes kept from the end; head and tail leave 512 bytes below the most.
    pub tail_bytes: u32,
    /// Fold runs of equal lines.
    pub fold_repeated_lines: bool,
    /// Shortest run that is folded, 2 to 10,000.
    pub repeated_line_threshold: u32,
    /// Items kept from an oversized top-level JSON array, 0 (off) to 1,024.
    pub structured_sample_items: u32,
}

/// A policy outside its bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`tool_result_transform_policy.{argument}` must be {bound}: {actual}")]
pub struct PolicyError {
    /// Field of the policy.
    pub argument: &'static str,
    /// What the field must be.
    pub bound: &'static str,
    /// What it was.
    pub actual: String,
}

impl PolicyError {
    /// Option of the session that holds the policy.
    pub const OPTION: &'static str = "tool_result_transform_policy";

    fn new(argument: &'static str, bound: &'static str, actual: impl ToString) -> Self {
        Self {
            argument,
            bound,
            actual: actual.to_string(),
        }
    }
}

impl ToolResultTransformPolicyV1 {
    /// The default: the first 100 KiB, nothing folded or sampled.
    #[must_use]
    pub fn conservative() -> Self {
        Self {
            schema: POLICY_SCHEMA.to_owned(),
            max_output_bytes: MAX_OUTPUT_BYTES,
            head_bytes: MAX_OUTPUT_BYTES,
            tail_bytes: 0,
            fold_repeated_lines: false,
            repeated_line_threshold: 3,
            structured_sample_items: 0,
        }
    }

    /// For small contexts: 64 KiB of head and 32 KiB of tail, equal lines folded, 32 items sampled.
    #[must_use]
    pub fn context_efficient() -> Self {
        Self {
            head_bytes: 64 * 1024,
            tail_bytes: 32 * 1024,
            fold_repeated_lines: true,
            structured_sample_items: 32,
            ..Self::conservative()
        }
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// A [`PolicyError`] that names the first field out of its bound.
    pub fn validate(&self) -> Result<(), PolicyError> {
        if self.schema != POLICY_SCHEMA {
            let bound = "`a3s.code.tool-result-transform-policy.v1`";
            return Err(PolicyError::new("schema", bound, &self.schema));
        }
        if !(MIN_OUTPUT_BYTES..=MAX_OUTPUT_BYTES).contains(&self.max_output_bytes) {
            let bound = "1024 to 102400";
            return Err(PolicyError::new(
                "max_output_bytes",
                bound,
                self.max_output_bytes,
            ));
        }
        if self.head_bytes == 0 {
            return Err(PolicyError::new("head_bytes", "at least 1", 0));
        }
        let kept = u64::from(self.head_bytes) + u64::from(self.tail_bytes);
        if !self.has_compatibility_shape()
            && kept + u64::from(RESERVE_BYTES) > u64::from(self.max_output_bytes)
        {
            let bound = "with `tail_bytes` at most `max_output_bytes` - 512 in sum, or equal to \
                         `max_output_bytes` with no tail";
            return Err(PolicyError::new("head_bytes", bound, kept));
        }
        if !(2..=10_000).contains(&self.repeated_line_threshold) {
            return Err(PolicyError::new(
                "repeated_line_threshold",
                "2 to 10000",
                self.repeated_line_threshold,
            ));
        }
        if self.structured_sample_items > MAX_SAMPLE_ITEMS {
            return Err(PolicyError::new(
                "structured_sample_items",
                "0 to 1024",
                self.structured_sample_items,
            ));
        }
        Ok(())
    }

    /// `sha256:` and the digest of the stored form.
    #[must_use]
    pub fn digest(&self) -> String {
        // Written out since the digest depends on this order of fields.
        let content = format!(
            "{{\"schema\":{},\"max_output_bytes\":{},\"head_bytes\":{},\"tail_bytes\":{},\
             \"fold_repeated_lines\":{},\"repeated_line_threshold\":{},\"structured_sample_items\":{}}}",
            Value::from(self.schema.as_str()),
            self.max_output_bytes,
            self.head_bytes,
            self.tail_bytes,
            self.fold_repeated_lines,
            self.repeated_line_threshold,
            self.structured_sample_items,
        );
        Digest::with_domain(POLICY_DIGEST_DOMAIN, &content).prefixed()
    }

    /// Whether the head fills the whole bound, so that markers can only stand outside it.
    pub(super) fn has_compatibility_shape(&self) -> bool {
        self.tail_bytes == 0 && self.head_bytes == self.max_output_bytes
    }
}

impl Default for ToolResultTransformPolicyV1 {
    fn default() -> Self {
        Self::conservative()
    }
}

impl From<ToolResultTransformPolicy> for ToolResultTransformPolicyV1 {
    fn from(policy: ToolResultTransformPolicy) -> Self {
        Self {
            schema: policy.schema,
            max_output_bytes: policy.max_output_bytes,
            head_bytes: policy.head_bytes,
            tail_bytes: policy.tail_bytes,
            fold_repeated_lines: policy.fold_repeated_lines,
            repeated_line_threshold: policy.repeated_line_threshold,
            structured_sample_items: policy.structured_sample_items,
        }
    }
}

impl From<ToolResultTransformPolicyV1> for ToolResultTransformPolicy {
    fn from(policy: ToolResultTransformPolicyV1) -> Self {
        Self {
            schema: policy.schema,
            max_output_bytes: policy.max_output_bytes,
            head_bytes: policy.head_bytes,
            tail_bytes: policy.tail_bytes,
            fold_repeated_lines: policy.fold_repeated_lines,
            repeated_line_threshold: policy.repeated_line_threshold,
            structured_sample_items: policy.structured_sample_items,
        }
    }
}

/// A checked policy with its binding, computed once for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PinnedPolicy {
    policy: ToolResultTransformPolicyV1,
    binding: Value,
}

impl PinnedPolicy {
    /// Checks and pins this policy.
    ///
    /// # Errors
    /// A [`PolicyError`] that names the first field out of its bound.
    pub fn new(policy: ToolResultTransformPolicyV1) -> Result<Self, PolicyError> {
        policy.validate()?;
        let policy_digest = policy.digest();
        // Constants and hex digits need no escaping.
        let content = format!(
            "{{\"schema\":\"{BINDING_SCHEMA}\",\"transform_algorithm\":\"{TRANSFORM_ALGORITHM}\",\
             \"policy_digest\":\"{policy_digest}\"}}"
        );
        let binding = json!({
            "schema": BINDING_SCHEMA,
            "transform_algorithm": TRANSFORM_ALGORITHM,
            "policy_digest": policy_digest,
            "binding_digest": Digest::with_domain(BINDING_SCHEMA, &content).prefixed(),
        });
        Ok(Self { policy, binding })
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &ToolResultTransformPolicyV1 {
        &self.policy
    }

    /// The record of policy and algorithm that every result carries. A stored binding is valid for this
    /// policy exactly when it equals this one.
    #[must_use]
    pub fn binding(&self) -> &Value {
        &self.binding
    }
}
