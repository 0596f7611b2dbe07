//! Opening and closing a runtime.

use crate::entry::{Out, borrow, reporting};
use crate::types::{a3s_buf, a3s_bytes, a3s_handle, a3s_status};

/// Opens a runtime. A process may hold several. Threads start with the first operation that waits.
///
/// \param json Options, or nothing: {"threads": 1 to 64?}.
/// \param out  Receives the handle, 0 on failure. Close it with a3s_runtime_close, then release it.
/// \param err  Receives the error; may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_runtime_open(
    json: a3s_bytes,
    out: *mut a3s_handle,
    err: *mut a3s_buf,
) -> a3s_status {
    // SAFETY: out parameters are null or valid for writes by the rules of the header.
    let (mut out, mut err) = unsafe { (Out::reset(out, 0), Out::reset(err, a3s_buf::EMPTY)) };
    reporting(&mut err, || {
        out.required("out")?;
        // SAFETY: borrowed bytes are readable during the call by the rules of the header.
        let json = unsafe { borrow("json", json)? };
        out.set(a3s_code_bridge::runtime_open(json)?);
        Ok(a3s_status::A3S_OK)
    })
}

/// Begins to close a runtime: its agents and sessions close, running operations end as cancelled. Returns
/// A3S_PENDING; the completion arrives in `mailbox`, which stays open for it.
///
/// \param json   Options, or nothing: {"deadlineMs": integer?}, after which what still runs is abandoned.
/// \param op_out Receives the operation, 0 on failure.
/// \param err    Receives the error; may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_runtime_close(
    runtime: a3s_handle,
    mailbox: a3s_handle,
    json: a3s_bytes,
    op_out: *mut u64,
    err: *mut a3s_buf,
) -> a3s_status {
    // SAFETY: out parameters are null or valid for writes by the rules of the header.
    let (mut op_out, mut err) = unsafe { (Out::reset(op_out, 0), Out::reset(err, a3s_buf::EMPTY)) };
    reporting(&mut err, || {
        op_out.required("op_out")?;
        // SAFETY: borrowed bytes are readable during the call by the rules of the header.
        let json = unsafe { borrow("json", json)? };
        op_out.set(a3s_code_bridge::runtime_close(runtime, mailbox, json)?);
        Ok(a3s_status::A3S_PENDING)
    })
}
