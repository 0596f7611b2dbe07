//! The one door to the tools.
mod invoker;
pub use invoker::InvocationRuntime;
