//! What every entry point does the same way: guard against panics, check what C passed in, write what
//! goes out.
//!
//! Out parameters are written before any work ([`Out::reset`]), so that no path leaves them undefined.

use crate::types::{a3s_buf, a3s_bytes, a3s_message, a3s_message_kind, a3s_status};
use a3s_code_bridge::Message;
use a3s_code_bridge::contract::{ErrorCode, ErrorPayload, MAX_MESSAGE_BYTES};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs an entry point; a panic becomes `fallback`.
pub(crate) fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// Runs an entry point that can report an error; a panic is reported as one.
pub(crate) fn reporting(
    err: &mut Out<a3s_buf>,
    body: impl FnOnce() -> Result<a3s_status, ErrorPayload>,
) -> a3s_status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        Err(ErrorPayload::new(
            ErrorCode::Panic,
            "a fault inside the library; other objects go on working",
        ))
    });
    match result {
        Ok(status) => status,
        Err(error) => {
            let status = match error.code {
                ErrorCode::InvalidArgument => a3s_status::A3S_INVALID_ARGUMENT,
                ErrorCode::Panic => a3s_status::A3S_PANIC,
                _ => a3s_status::A3S_ERROR,
            };
            if err.present() {
                err.set(a3s_buf::from_vec(
                    serde_json::to_vec(&error).unwrap_or_default(),
                ));
            }
            status
        }
    }
}

/// An out parameter: null, or valid for one write.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Takes an out parameter and writes `initial` into it at once. The old value is not read.
    ///
    /// # Safety
    /// `target` is null, or aligned and valid for writes while the value returned lives.
    pub(crate) unsafe fn reset(target: *mut T, initial: T) -> Self {
        let mut out = Self(if target.is_aligned() {
            target
        } else {
            std::ptr::null_mut()
        });
        if out.present() {
            out.set(initial);
        }
        out
    }

    /// True when there is a place to write to.
    pub(crate) fn present(&self) -> bool {
        !self.0.is_null()
    }

    /// The same, as an error that names the parameter.
    pub(crate) fn required(&self, name: &str) -> Result<(), ErrorPayload> {
        if self.present() {
            return Ok(());
        }
        Err(invalid(name, "is null or not aligned"))
    }

    /// Writes a value; does nothing without a place.
    pub(crate) fn set(&mut self, value: T) {
        if self.present() {
            // SAFETY: not null, aligned, and valid for writes by the contract of `reset`. What is there
            // was written by `reset` or is the caller's, and needs no drop.
            unsafe { std::ptr::write(self.0, value) }
        }
    }
}

/// The place of a message, whose size the caller states.
pub(crate) struct MessageOut(Out<a3s_message>);

impl MessageOut {
    /// Takes the place and empties it. A place that is null or states a size below the first version of
    /// the struct counts as none, and is not touched.
    ///
    /// # Safety
    /// `target` is null, or aligned and valid for reads and writes of its stated `struct_size`.
    pub(crate) unsafe fn reset(target: *mut a3s_message) -> Self {
        let usable = !target.is_null() && target.is_aligned() && {
            // SAFETY: not null and aligned; `struct_size` is the first field and set by contract.
            let size = unsafe { (*target).struct_size };
            size >= size_of::<a3s_message>()
        };
        let place = if usable { target } else { std::ptr::null_mut() };
        // SAFETY: null, or large enough for the whole struct, as stated by the caller.
        Self(unsafe { Out::reset(place, empty_message()) })
    }

    /// True when there is a place.
    pub(crate) fn present(&self) -> bool {
        self.0.present()
    }

    /// The same, as an error that names the parameter.
    pub(crate) fn required(&self) -> Result<(), ErrorPayload> {
        if self.present() {
            return Ok(());
        }
        Err(invalid(
            "msg_out",
            "is null or its struct_size is below sizeof(a3s_message)",
        ))
    }

    /// Hands a message over.
    pub(crate) fn set(&mut self, message: Message) {
        self.0.set(a3s_message {
            kind: message.kind as i32,
            status: message.status,
            id: message.id,
            owner: message.owner,
            payload: a3s_buf::from_vec(message.payload),
            data: a3s_buf::from_vec(message.data),
            ..empty_message()
        });
    }
}

fn empty_message() -> a3s_message {
    a3s_message {
        struct_size: size_of::<a3s_message>(),
        kind: a3s_message_kind::A3S_MESSAGE_NONE as i32,
        status: 0,
        id: 0,
        owner: 0,
        payload: a3s_buf::EMPTY,
        data: a3s_buf::EMPTY,
    }
}

/// An argument that is wrong.
pub(crate) fn invalid(argument: &str, problem: &str) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::InvalidArgument,
        format!("`{argument}` {problem}"),
    )
    .with_details(serde_json::json!({ "argument": argument }))
}

/// The bytes that C lends for the time of a call.
///
/// # Safety
/// Unless null, `ptr` is valid for reads of `len` bytes for `'a`.
pub(crate) unsafe fn borrow<'a>(name: &str, bytes: a3s_bytes) -> Result<&'a [u8], ErrorPayload> {
    if bytes.len == 0 {
        return Ok(&[]);
    }
    if bytes.ptr.is_null() {
        return Err(invalid(name, "has a length and no bytes"));
    }
    if bytes.len > MAX_MESSAGE_BYTES {
        return Err(invalid(name, "is longer than 67108864 bytes"));
    }
    // SAFETY: not null, of sane length, and readable for `'a` by contract.
    Ok(unsafe { std::slice::from_raw_parts(bytes.ptr, bytes.len) })
}

/// The text that C lends for the time of a call.
///
/// # Safety
/// As for [`borrow`].
pub(crate) unsafe fn borrow_text<'a>(
    name: &str,
    bytes: a3s_bytes,
) -> Result<&'a str, ErrorPayload> {
    // SAFETY: the caller's contract is the same.
    let bytes = unsafe { borrow(name, bytes)? };
    std::str::from_utf8(bytes).map_err(|_| invalid(name, "is not UTF-8"))
}
