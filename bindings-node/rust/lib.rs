//! Native half of the Node.js binding.
//!
//! Every function is synchronous and thin: it forwards to the bridge and copies the answer into values of
//! JavaScript. Nothing here runs JavaScript, waits, or throws for an error of the library: errors are
//! messages with status 1. Each Node environment (the main thread, every worker) opens its own client;
//! the environment's cleanup hook closes its mailbox. What the binding does with messages is TypeScript.

mod client;
mod message;

pub use client::{NativeClient, open_client};
pub use message::NativeMessage;

use a3s_code_bridge as bridge;
use message::{handle, reply};
use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Calls a method: a number is the id of a pending operation, an object the answer.
///
/// `as_text` asks for the bytes beside the answer as text instead of a `Buffer`.
#[napi(catch_unwind)]
pub fn call(
    target: f64,
    mailbox: f64,
    method: String,
    json: String,
    data: Option<Buffer>,
    as_text: bool,
) -> Either<f64, NativeMessage> {
    let bytes: &[u8] = data.as_deref().unwrap_or_default();
    reply(
        bridge::call(
            handle(target),
            handle(mailbox),
            &method,
            json.as_bytes(),
            bytes,
        ),
        as_text,
    )
}

/// Takes the next message of a mailbox without waiting; nothing when there is none.
#[napi(catch_unwind)]
pub fn mailbox_next(mailbox: f64) -> Option<NativeMessage> {
    match bridge::mailbox_next(handle(mailbox), Duration::ZERO) {
        bridge::Next::Message(message) => Some(NativeMessage::new(message, false)),
        bridge::Next::Timeout => None,
        bridge::Next::Closed => Some(NativeMessage::closed()),
    }
}

/// Asks for an operation to be cancelled; its completion still comes.
#[napi(catch_unwind)]
pub fn cancel(op: f64) {
    bridge::cancel(handle(op));
}

/// Answers a host call: 0 accepted, 1 no longer needed, 2 malformed.
#[napi(catch_unwind)]
pub fn host_reply(host_call: f64, json: String, text: String) -> i32 {
    bridge::host_reply(handle(host_call), true, json.as_bytes(), text.as_bytes()) as i32
}

/// Reports partial output of a host call: 0 accepted, 1 no longer needed, 2 malformed.
#[napi(catch_unwind)]
pub fn host_progress(host_call: f64, text: String) -> i32 {
    bridge::host_progress(handle(host_call), &text) as i32
}

/// The environment of a mailbox holds an object: it is released with the environment at the latest.
#[napi(catch_unwind)]
pub fn hold(mailbox: f64, object: f64) {
    client::hold(handle(mailbox), handle(object));
}

/// Drops the reference on an object; again does nothing.
#[napi(catch_unwind)]
pub fn release(mailbox: f64, object: f64) {
    client::let_go(handle(mailbox), handle(object));
}

/// A number for a registration of a handler, unique in the process because workers share the runtime.
#[napi(catch_unwind)]
pub fn next_host_ref() -> f64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) as f64
}

/// Live objects of the process as JSON.
#[napi(catch_unwind)]
pub fn debug_counts() -> String {
    serde_json::to_string(&bridge::debug_counts()).unwrap_or_else(|_| "{}".to_owned())
}

/// Version, ABI, target and schema hash of the library as JSON.
#[napi(catch_unwind)]
pub fn build_info() -> String {
    bridge::build_info()
}
