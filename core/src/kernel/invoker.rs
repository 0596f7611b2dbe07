//! Nested calls.

/// Invokes other tools from inside a tool, always governed, only while that tool's call runs.
#[derive(Clone)]
pub struct InvocationRuntime {}
