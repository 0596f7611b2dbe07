//! Answers to calls of the application's tools.

use crate::entry::{borrow, borrow_text, guarded};
use crate::types::{a3s_bytes, a3s_status};
use a3s_code_bridge::ReplyStatus;

/// Answers a host call. Never waits, and needs no mailbox.
///
/// \param host_call `id` of the A3S_MESSAGE_HOST_CALL.
/// \param ok        1 for an answer of the tool, failed or not; 0 when `json` is plain text that says why the
///                  tool could not be run.
/// \param json      {"success"?, "metadata"?, "errorKind"?}, or {"hostError": message} for what the tool
///                  threw; nothing for a success without more.
/// \param data      The tool's text as UTF-8.
/// \return A3S_OK; A3S_STALE when the call has ended, which is harmless; A3S_INVALID_ARGUMENT when the
///         answer could not be read, and then the call has failed with the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_host_reply(
    host_call: u64,
    ok: i32,
    json: a3s_bytes,
    data: a3s_bytes,
) -> a3s_status {
    guarded(a3s_status::A3S_PANIC, || {
        // SAFETY: borrowed bytes are readable during the call by the rules of the header.
        let borrowed = unsafe { borrow("json", json).and_then(|j| Ok((j, borrow("data", data)?))) };
        let Ok((json, data)) = borrowed else {
            return a3s_status::A3S_INVALID_ARGUMENT;
        };
        reply_status(a3s_code_bridge::host_reply(host_call, ok != 0, json, data))
    })
}

/// Reports output of a host call before its end, or a sign of life.
///
/// \param host_call `id` of the A3S_MESSAGE_HOST_CALL.
/// \param text      UTF-8; may be empty.
/// \return As a3s_host_reply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_host_progress(host_call: u64, text: a3s_bytes) -> a3s_status {
    guarded(a3s_status::A3S_PANIC, || {
        // SAFETY: borrowed bytes are readable during the call by the rules of the header.
        let Ok(text) = (unsafe { borrow_text("text", text) }) else {
            return a3s_status::A3S_INVALID_ARGUMENT;
        };
        reply_status(a3s_code_bridge::host_progress(host_call, text))
    })
}

fn reply_status(status: ReplyStatus) -> a3s_status {
    match status {
        ReplyStatus::Accepted => a3s_status::A3S_OK,
        ReplyStatus::Stale => a3s_status::A3S_STALE,
        ReplyStatus::Invalid => a3s_status::A3S_INVALID_ARGUMENT,
    }
}
