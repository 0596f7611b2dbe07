//! Search over a workspace.

/// What a workspace's own search can do.
pub trait SearchBackend: Send + Sync {}
