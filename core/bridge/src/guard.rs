//! Panics become errors at every entry.

use a3s_code_contract::{ErrorCode, ErrorPayload};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs an entry; a panic becomes an error with code `PANIC`.
///
/// # Errors
/// What `entry` returns, or `PANIC`.
pub fn guard<T>(entry: impl FnOnce() -> Result<T, ErrorPayload>) -> Result<T, ErrorPayload> {
    match catch_unwind(AssertUnwindSafe(entry)) {
        Ok(done) => done,
        Err(panic) => Err(panic_error(&*panic)),
    }
}

/// The error for a caught panic. Only its message crosses.
pub(crate) fn panic_error(panic: &(dyn std::any::Any + Send)) -> ErrorPayload {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ErrorPayload::new(
        ErrorCode::Panic,
        format!("a fault inside the library: {message}"),
    )
}
