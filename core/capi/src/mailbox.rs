//! Mailboxes: where operations end and tools of the application are called.

use crate::entry::{MessageOut, Out, guarded, reporting};
use crate::types::{a3s_buf, a3s_handle, a3s_message, a3s_notify, a3s_status};
use a3s_code_bridge::Next;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The application's pointer on its way to its own function. Nothing here looks behind it.
struct NotifyData(*mut c_void);

// SAFETY: the pointer is only passed back to the application's function, which by the rules of
// `a3s_notify` may be called from any thread.
unsafe impl Send for NotifyData {}

/// The application's function, callable until its mailbox is closed: after that `data` may be gone.
struct Gate(Mutex<Option<NotifyData>>);

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Option<NotifyData>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gates by mailbox. Not state of the product: only what closing needs to find the function again.
static GATES: Mutex<BTreeMap<a3s_handle, Arc<Gate>>> = Mutex::new(BTreeMap::new());

fn gates() -> MutexGuard<'static, BTreeMap<a3s_handle, Arc<Gate>>> {
    GATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the application's function from being called again; waits for a call that runs.
pub(crate) fn shut_gate(mailbox: a3s_handle) {
    let gate = gates().remove(&mailbox);
    if let Some(gate) = gate {
        gate.lock().take();
    }
}

/// Opens a mailbox of a runtime: one for each thread or event loop that fetches messages.
///
/// \param notify Called when there is something to fetch; may be null, then a3s_mailbox_next waits.
/// \param data   Passed to `notify`. Must stay valid until a3s_mailbox_close has returned, after which
///               `notify` is not called again.
/// \param out    Receives the handle, 0 on failure. Close it with a3s_mailbox_close.
/// \param err    Receives the error; may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_mailbox_open(
    runtime: a3s_handle,
    notify: a3s_notify,
    data: *mut c_void,
    out: *mut a3s_handle,
    err: *mut a3s_buf,
) -> a3s_status {
    // SAFETY: out parameters are null or valid for writes by the rules of the header.
    let (mut out, mut err) = unsafe { (Out::reset(out, 0), Out::reset(err, a3s_buf::EMPTY)) };
    reporting(&mut err, || {
        out.required("out")?;
        let Some(notify) = notify else {
            out.set(a3s_code_bridge::mailbox_open(runtime, None)?);
            return Ok(a3s_status::A3S_OK);
        };
        let gate = Arc::new(Gate(Mutex::new(Some(NotifyData(data)))));
        let inside = Arc::clone(&gate);
        let wake = move || {
            if let Some(data) = &*inside.lock() {
                // SAFETY: by the rules of `a3s_notify` the function takes this pointer from any thread,
                // and the pointer is valid because the mailbox is not closed yet.
                unsafe { notify(data.0) }
            }
        };
        let mailbox = a3s_code_bridge::mailbox_open(runtime, Some(Box::new(wake)))?;
        gates().insert(mailbox, gate);
        out.set(mailbox);
        Ok(a3s_status::A3S_OK)
    })
}

/// Fetches the next message, waiting for it. The only function that blocks. Several threads may wait in
/// one mailbox; each message goes to one of them.
///
/// \param timeout_ms Longest wait in milliseconds; 0 does not wait.
/// \param msg_out    Receives the message, whose buffers the caller then frees.
/// \return A3S_OK, A3S_TIMEOUT, A3S_CLOSED, or A3S_INVALID_ARGUMENT when `msg_out` cannot be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn a3s_mailbox_next(
    mailbox: a3s_handle,
    timeout_ms: u32,
    msg_out: *mut a3s_message,
) -> a3s_status {
    // SAFETY: null or valid for its stated size by the rules of the header.
    let mut msg_out = unsafe { MessageOut::reset(msg_out) };
    guarded(a3s_status::A3S_PANIC, || {
        if !msg_out.present() {
            return a3s_status::A3S_INVALID_ARGUMENT;
        }
        let timeout = Duration::from_millis(timeout_ms.into());
        match a3s_code_bridge::mailbox_next(mailbox, timeout) {
            Next::Message(message) => {
                msg_out.set(message);
                a3s_status::A3S_OK
            }
            Next::Timeout => a3s_status::A3S_TIMEOUT,
            Next::Closed => a3s_status::A3S_CLOSED,
        }
    })
}

/// Closes a mailbox: operations that report to it are cancelled, and threads that wait in it return with
/// A3S_CLOSED. When it returns, `notify` of the mailbox is not running and will not be called again.
/// Closing again does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn a3s_mailbox_close(mailbox: a3s_handle) {
    guarded((), || {
        a3s_code_bridge::mailbox_close(mailbox);
        shut_gate(mailbox);
    });
}
