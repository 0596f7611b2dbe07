//! What a result lost and where the original is.

/// The stored form of the projection policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResultTransformPolicyV1 {}
