//! The generic call, and what can be done about an operation or handle afterwards.

use crate::entry::{MessageOut, Out, borrow, borrow_text, guarded, reporting};
use crate::mailbox::shut_gate;
use crate::types::{a3s_buf, a3s_bytes, a3s_handle, a3s_message, a3s_status};
use a3s_code_bridge::CallOutcome;

/// Calls a method.
///
/// A3S_OK: the answer is in `msg_out`, a completion, and no operation is left. A3S_PENDING: `op_out` is the
/// operation, and exactly one completion with this id will arrive in `mailbox`, also after a3s_cancel. Any
/// other status: the call itself was wrong, and `err` says how. A completion whose `status` is 1 carries
/// an error of the same form as its payload.
///
/// \param target  Handle that the method is called on: a runtime, agent or session, or a host-call id.
/// \param mailbox Where the completion goes, and calls of the application's tools that it causes. 0 is
///                enough for methods that are immediate.
/// \param method  Name, such as "session.tool".
/// \param json    Object with the arguments by name, or nothing.
/// \param data    Raw bytes beside the JSON, for the methods that take them.
/// \param msg_out Receives the answer; the caller frees its buffers.
/// \param op_out  Receives the operation, 0 when there is none.
/// \param err     Receives the error; may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_call(
    target: a3s_handle,
    mailbox: a3s_handle,
    method: a3s_bytes,
    json: a3s_bytes,
    data: a3s_bytes,
    msg_out: *mut a3s_message,
    op_out: *mut u64,
    err: *mut a3s_buf,
) -> a3s_status {
    // SAFETY: out parameters are null or valid for writes by the rules of the header.
    let (mut msg_out, mut op_out, mut err) = unsafe {
        (
            MessageOut::reset(msg_out),
            Out::reset(op_out, 0),
            Out::reset(err, a3s_buf::EMPTY),
        )
    };
    reporting(&mut err, || {
        msg_out.required()?;
        op_out.required("op_out")?;
        // SAFETY: borrowed bytes are readable during the call by the rules of the header.
        let (method, json, data) = unsafe {
            (
                borrow_text("method", method)?,
                borrow("json", json)?,
                borrow("data", data)?,
            )
        };
        match a3s_code_bridge::call(target, mailbox, method, json, data)? {
            CallOutcome::Done(message) => {
                msg_out.set(message);
                Ok(a3s_status::A3S_OK)
            }
            CallOutcome::Pending(op) => {
                op_out.set(op);
                Ok(a3s_status::A3S_PENDING)
            }
        }
    })
}

/// Asks for an operation to be cancelled. Its completion still arrives. An id that is unknown or whose
/// operation has ended does nothing, and neither does asking again.
#[unsafe(no_mangle)]
pub extern "C" fn a3s_cancel(op: u64) {
    guarded((), || a3s_code_bridge::cancel(op));
}

/// Gives a handle back. Operations that still use the object keep it until they end. A handle that is
/// unknown or was released already does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn a3s_release(handle: a3s_handle) {
    guarded((), || {
        a3s_code_bridge::release(handle);
        shut_gate(handle);
    });
}
