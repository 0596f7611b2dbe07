//! What crosses the C boundary: two pairs that never change, one message that may grow, and closed sets of
//! integers. No unions, no bit-fields, no `bool`, no C strings.

use std::ffi::c_void;

/// Version of this ABI. A program compares it with a3s_abi_version() before it calls anything else.
pub const A3S_ABI_VERSION: u32 = 1;

/// A runtime, mailbox, agent or session. 0 is never one.
pub type a3s_handle = u64;

/// How a function ended. Negative values are failures.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum a3s_status {
    /// Done. From a3s_call: the answer is in the message and no operation is left.
    A3S_OK = 0,
    /// The operation goes on; its completion will arrive in the mailbox under the id returned.
    A3S_PENDING = 1,
    /// Nothing arrived within the time limit.
    A3S_TIMEOUT = 2,
    /// The mailbox is closed and empty, or was never there.
    A3S_CLOSED = 3,
    /// The host call has ended already; the answer was dropped and nothing is wrong.
    A3S_STALE = 4,
    /// The call itself failed; the error out parameter says how.
    A3S_ERROR = -1,
    /// An argument is null, malformed or out of its bounds; the error out parameter says which.
    A3S_INVALID_ARGUMENT = -2,
    /// A fault inside the library; other objects go on working.
    A3S_PANIC = -3,
}

/// What a message is. Tolerate values that are not listed here.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum a3s_message_kind {
    /// No message was written.
    A3S_MESSAGE_NONE = 0,
    /// The end of an operation: `id` is the operation. Exactly one arrives for each.
    A3S_MESSAGE_COMPLETION = 1,
    /// A tool of the application is called: `id` is the host call to answer, `owner` the session.
    A3S_MESSAGE_HOST_CALL = 2,
    /// The host call `id` is no longer needed: stop it. A late answer is A3S_STALE.
    A3S_MESSAGE_HOST_CANCEL = 3,
    /// Lines of the log, as JSON.
    A3S_MESSAGE_LOG = 4,
    /// The mailbox is closed.
    A3S_MESSAGE_CLOSED = 5,
}

/// Borrowed bytes: read during the call, never kept. A null `ptr` is allowed when `len` is 0. This pair
/// never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct a3s_bytes {
    /// First byte.
    pub ptr: *const u8,
    /// Number of bytes.
    pub len: usize,
}

/// Owned bytes: the receiver frees them with a3s_buf_free. `ptr` is null when `len` is 0. The bytes are not
/// followed by a zero. This pair never grows.
#[repr(C)]
#[derive(Debug)]
pub struct a3s_buf {
    /// First byte.
    pub ptr: *mut u8,
    /// Number of bytes.
    pub len: usize,
}

/// One message. Set `struct_size` to sizeof(a3s_message) before passing it in; the library writes no field
/// that lies beyond it, and sets it to the size of the part it knows. The receiver frees both buffers.
#[repr(C)]
#[derive(Debug)]
pub struct a3s_message {
    /// Size of this struct in bytes.
    pub struct_size: usize,
    /// One of a3s_message_kind.
    pub kind: i32,
    /// Of a completion: 0 when it succeeded, 1 when `payload` is an error.
    pub status: i32,
    /// Id of the operation or of the host call.
    pub id: u64,
    /// Handle that it is about, or 0.
    pub owner: a3s_handle,
    /// JSON.
    pub payload: a3s_buf,
    /// Raw bytes that belong to the JSON.
    pub data: a3s_buf,
}

/// Called when a mailbox has something to fetch, from a thread of the library, and not again until
/// a3s_mailbox_next has found the mailbox empty: fetch until A3S_TIMEOUT before waiting for the signal. It
/// may only signal: write to an eventfd or pipe, wake a loop, set a flag. It must not call into this library
/// and must not block. `data` is what was given to a3s_mailbox_open.
pub type a3s_notify = Option<unsafe extern "C" fn(data: *mut c_void)>;
