//! `a3s_code._native`: the bridge as a dozen functions for Python.
//!
//! Nothing here is clever on purpose. Every call into the bridge runs with the interpreter detached, and no
//! thread of the bridge ever attaches to it: what the runtime has to say waits in a mailbox until a thread of
//! the host asks. JSON crosses as text, large output as bytes beside it. The Python package around this module
//! owns every policy: loops, handlers, errors, fork and exit.
#![forbid(unsafe_code)]

mod mailbox;

use a3s_code_bridge as bridge;
use bridge::contract::ErrorPayload;
use bridge::{CallOutcome, Message, ReplyStatus};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

create_exception!(
    _native,
    NativeError,
    PyException,
    "A call that the bridge refused; its only argument is the error as JSON."
);

/// Answer of a call: its status (0 ok, 1 error), the JSON and the bytes beside it.
type Answer<'py> = (i32, Bound<'py, PyString>, Bound<'py, PyBytes>);

/// What a call gives at once: an operation to wait for, or its answer.
#[derive(IntoPyObject)]
enum Outcome<'py> {
    Pending(u64),
    Done(Answer<'py>),
}

fn error_json(error: &ErrorPayload) -> String {
    // Encoding can only fail on a map with keys that are not text, which details never hold.
    serde_json::to_string(error).unwrap_or_else(|_| {
        r#"{"code":"INTERNAL_ERROR","message":"an error could not be encoded","retryable":false}"#
            .to_owned()
    })
}

fn refused(error: ErrorPayload) -> PyErr {
    NativeError::new_err(error_json(&error))
}

fn answer<'py>(py: Python<'py>, message: &Message) -> Answer<'py> {
    (
        message.status,
        text(py, &message.payload),
        PyBytes::new(py, &message.data),
    )
}

/// JSON of the bridge as Python text; it is UTF-8 by construction.
fn text<'py>(py: Python<'py>, json: &[u8]) -> Bound<'py, PyString> {
    PyString::new(py, &String::from_utf8_lossy(json))
}

/// Version of the C ABI that the library was built with.
#[pyfunction]
fn abi_version() -> u32 {
    bridge::ABI_VERSION
}

/// What was built, as JSON.
#[pyfunction]
fn build_info() -> String {
    bridge::build_info()
}

/// Live objects of the process, as JSON.
#[pyfunction]
fn debug_counts(py: Python<'_>) -> PyResult<String> {
    let counts = py.detach(bridge::debug_counts);
    serde_json::to_string(&counts).map_err(|error| PyException::new_err(error.to_string()))
}

/// Opens a runtime.
#[pyfunction]
fn runtime_open(py: Python<'_>, json: &str) -> PyResult<u64> {
    py.detach(|| bridge::runtime_open(json.as_bytes()))
        .map_err(refused)
}

/// Closes a runtime; the completion of the returned operation arrives in the mailbox.
#[pyfunction]
fn runtime_close(py: Python<'_>, runtime: u64, mailbox: u64, json: &str) -> PyResult<u64> {
    py.detach(|| bridge::runtime_close(runtime, mailbox, json.as_bytes()))
        .map_err(refused)
}

/// Calls a method.
#[pyfunction]
fn call<'py>(
    py: Python<'py>,
    target: u64,
    mailbox: u64,
    method: &str,
    json: &str,
    data: &[u8],
) -> Outcome<'py> {
    match py.detach(|| bridge::call(target, mailbox, method, json.as_bytes(), data)) {
        Ok(CallOutcome::Pending(op)) => Outcome::Pending(op),
        Ok(CallOutcome::Done(message)) => Outcome::Done(answer(py, &message)),
        Err(error) => Outcome::Done((
            1,
            PyString::new(py, &error_json(&error)),
            PyBytes::new(py, b""),
        )),
    }
}

/// Asks an operation to stop.
#[pyfunction]
fn cancel(py: Python<'_>, op: u64) {
    py.detach(|| bridge::cancel(op));
}

/// Answers a host call: 0 accepted, 1 no longer wanted, 2 malformed.
#[pyfunction]
fn host_reply(py: Python<'_>, host_call: u64, ok: bool, json: &str, data: &[u8]) -> i32 {
    status(py.detach(|| bridge::host_reply(host_call, ok, json.as_bytes(), data)))
}

/// Reports progress of a host call: 0 accepted, 1 no longer wanted, 2 malformed.
#[pyfunction]
fn host_progress(py: Python<'_>, host_call: u64, text: &str) -> i32 {
    status(py.detach(|| bridge::host_progress(host_call, text)))
}

fn status(status: ReplyStatus) -> i32 {
    match status {
        ReplyStatus::Accepted => 0,
        ReplyStatus::Stale => 1,
        ReplyStatus::Invalid => 2,
    }
}

/// Drops a reference to an object.
#[pyfunction]
fn release(py: Python<'_>, handle: u64) {
    py.detach(|| bridge::release(handle));
}

/// The native module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeError", module.py().get_type::<NativeError>())?;
    module.add_function(wrap_pyfunction!(abi_version, module)?)?;
    module.add_function(wrap_pyfunction!(build_info, module)?)?;
    module.add_function(wrap_pyfunction!(debug_counts, module)?)?;
    module.add_function(wrap_pyfunction!(runtime_open, module)?)?;
    module.add_function(wrap_pyfunction!(runtime_close, module)?)?;
    module.add_function(wrap_pyfunction!(mailbox::mailbox_open, module)?)?;
    module.add_function(wrap_pyfunction!(mailbox::mailbox_next, module)?)?;
    module.add_function(wrap_pyfunction!(mailbox::mailbox_close, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add_function(wrap_pyfunction!(cancel, module)?)?;
    module.add_function(wrap_pyfunction!(host_reply, module)?)?;
    module.add_function(wrap_pyfunction!(host_progress, module)?)?;
    module.add_function(wrap_pyfunction!(release, module)?)?;
    Ok(())
}
