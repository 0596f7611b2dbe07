//! Mailboxes for Python: taken in batches by a blocked thread, or by an event loop that watches a descriptor.
//!
//! The wake-up of an event loop is one byte in a socket pair. The writing end belongs to the mailbox, the
//! reading end to Python, so that neither can write into a descriptor that was closed and given out again.

use crate::text;
use a3s_code_bridge as bridge;
use bridge::{Message, Next};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A message: kind, status, id, owner, JSON, bytes.
type Taken<'py> = (
    i32,
    i32,
    u64,
    u64,
    Bound<'py, PyString>,
    Bound<'py, PyBytes>,
);

/// Opens a mailbox. With `wake` the second value is a descriptor that becomes readable when there are messages,
/// owned by the caller; -1 without.
#[pyfunction]
pub(crate) fn mailbox_open(py: Python<'_>, runtime: u64, wake: bool) -> PyResult<(u64, i32)> {
    if !wake {
        let mailbox = py
            .detach(|| bridge::mailbox_open(runtime, None))
            .map_err(crate::refused)?;
        return Ok((mailbox, -1));
    }
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    writer.set_nonblocking(true)?;
    let notify = move || {
        // A full socket already wakes the reader, and a closed one has nobody left to wake.
        let _ = (&writer).write(&[1]);
    };
    let mailbox = py
        .detach(|| bridge::mailbox_open(runtime, Some(Box::new(notify))))
        .map_err(crate::refused)?;
    Ok((mailbox, reader.into_raw_fd()))
}

/// Takes up to `most` messages, waiting for the first at most `timeout_ms`. A shorter list means that the
/// mailbox was seen empty; `None` that it is closed.
#[pyfunction]
pub(crate) fn mailbox_next<'py>(
    py: Python<'py>,
    mailbox: u64,
    timeout_ms: u64,
    most: usize,
) -> Option<Vec<Taken<'py>>> {
    let (messages, closed) = py.detach(|| {
        let mut messages: Vec<Message> = Vec::new();
        let mut timeout = Duration::from_millis(timeout_ms);
        while messages.len() < most {
            match bridge::mailbox_next(mailbox, timeout) {
                Next::Message(message) => messages.push(message),
                Next::Timeout => return (messages, false),
                Next::Closed => return (messages, true),
            }
            timeout = Duration::ZERO;
        }
        (messages, false)
    });
    if closed && messages.is_empty() {
        return None;
    }
    Some(
        messages
            .into_iter()
            .map(|message| {
                (
                    message.kind as i32,
                    message.status,
                    message.id,
                    message.owner,
                    text(py, &message.payload),
                    PyBytes::new(py, &message.data),
                )
            })
            .collect(),
    )
}

/// Closes a mailbox: blocked readers wake, operations that report to it are cancelled.
#[pyfunction]
pub(crate) fn mailbox_close(py: Python<'_>, mailbox: u64) {
    py.detach(|| bridge::mailbox_close(mailbox));
}
