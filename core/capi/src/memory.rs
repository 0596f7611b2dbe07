//! Owned bytes on their way to C and back.

use crate::entry::guarded;
use crate::types::a3s_buf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Buffers that C holds now; a figure for leak checks that steers nothing.
static LIVE: AtomicU64 = AtomicU64::new(0);

impl a3s_buf {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self {
        ptr: std::ptr::null_mut(),
        len: 0,
    };

    /// Hands bytes over to C.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        let bytes = bytes.into_boxed_slice();
        let len = bytes.len();
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self {
            ptr: Box::into_raw(bytes).cast::<u8>(),
            len,
        }
    }
}

/// Number of buffers that were handed out and not freed.
pub(crate) fn live_buffers() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Frees the bytes of a buffer and zeroes it, so that a second call does nothing.
///
/// \param buf A buffer that this library filled, unchanged; may be null or zeroed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_buf_free(buf: *mut a3s_buf) {
    guarded((), || {
        if buf.is_null() {
            return;
        }
        // SAFETY: not null, and by contract a valid, exclusively held `a3s_buf`.
        let old = unsafe { std::ptr::replace(buf, a3s_buf::EMPTY) };
        if old.ptr.is_null() {
            return;
        }
        LIVE.fetch_sub(1, Ordering::Relaxed);
        let bytes = std::ptr::slice_from_raw_parts_mut(old.ptr, old.len);
        // SAFETY: `ptr` and `len` come unchanged from `Box::into_raw` in `from_vec`, and the buffer was
        // zeroed above, so that the box is rebuilt once.
        drop(unsafe { Box::from_raw(bytes) });
    });
}
