//! What the library says about itself.

use crate::entry::{Out, reporting};
use crate::memory::live_buffers;
use crate::types::{A3S_ABI_VERSION, a3s_buf, a3s_status};
use a3s_code_bridge::contract::{ErrorCode, ErrorPayload};

const _: () = assert!(A3S_ABI_VERSION == a3s_code_bridge::ABI_VERSION);

/// Version of the ABI that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn a3s_abi_version() -> u32 {
    A3S_ABI_VERSION
}

/// Describes the build.
///
/// \param out Receives JSON: {"version", "abi", "target", "schemaHash"}.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_build_info(out: *mut a3s_buf) -> a3s_status {
    // SAFETY: null or valid for writes by the rules of the header.
    let mut out = unsafe { Out::reset(out, a3s_buf::EMPTY) };
    reporting(&mut no_error(), || {
        out.required("out")?;
        out.set(a3s_buf::from_vec(
            a3s_code_bridge::build_info().into_bytes(),
        ));
        Ok(a3s_status::A3S_OK)
    })
}

/// Counts what is alive, for tests and leak checks.
///
/// \param out Receives JSON: {"runtimes", "mailboxes", "agents", "sessions", "operations",
///            "hostCalls", "buffers"}. `buffers` does not count this answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_debug_counts(out: *mut a3s_buf) -> a3s_status {
    // SAFETY: null or valid for writes by the rules of the header.
    let mut out = unsafe { Out::reset(out, a3s_buf::EMPTY) };
    reporting(&mut no_error(), || {
        out.required("out")?;
        let buffers = live_buffers();
        let mut counts = serde_json::to_value(a3s_code_bridge::debug_counts()).map_err(internal)?;
        counts["buffers"] = buffers.into();
        out.set(a3s_buf::from_vec(
            serde_json::to_vec(&counts).map_err(internal)?,
        ));
        Ok(a3s_status::A3S_OK)
    })
}

fn no_error() -> Out<a3s_buf> {
    // SAFETY: a null place is never written to.
    unsafe { Out::reset(std::ptr::null_mut(), a3s_buf::EMPTY) }
}

fn internal(error: serde_json::Error) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Internal, error.to_string())
}
