//! The entry points. Each catches panics, checks what it is given, and blocks for nothing.

use crate::guard::guard;
use crate::host;
use crate::mailbox::{Mailbox, Notify};
use crate::message::{CallOutcome, Message, MessageKind, Next, ReplyStatus};
use crate::operation;
use crate::runtime::{Runtime, RuntimeOptions};
use crate::state::{Counts, Object, state};
use a3s_code_contract::{ABI_VERSION, ErrorCode, ErrorPayload, schema_hash};
use serde::Deserialize;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How long closing a runtime waits for its threads when nothing is said.
const DEFAULT_CLOSE_DEADLINE_MS: u32 = 2_000;

fn options<T: serde::de::DeserializeOwned + Default>(json: &[u8]) -> Result<T, ErrorPayload> {
    if json.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(json)
        .map_err(|error| ErrorPayload::new(ErrorCode::InvalidArgument, error.to_string()))
}

/// Opens a runtime: `{"threads": n?, "debug": bool?}` or nothing. No thread starts before it is needed.
///
/// # Errors
/// `INVALID_ARGUMENT` when the JSON is wrong.
pub fn runtime_open(json: &[u8]) -> Result<u64, ErrorPayload> {
    guard(|| {
        let runtime = Runtime::open(options::<RuntimeOptions>(json)?)?;
        state().insert(Object::Runtime(Arc::new(runtime)))
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CloseOptions {
    deadline_ms: Option<u32>,
}

/// Closes a runtime with its agents and sessions: `{"deadlineMs": n?}` or nothing. Its end is a completion in
/// the mailbox.
///
/// # Errors
/// `HANDLE_CLOSED` for a handle that is not open.
pub fn runtime_close(runtime: u64, mailbox: u64, json: &[u8]) -> Result<u64, ErrorPayload> {
    guard(|| {
        let state = state();
        let closing = state.runtime(runtime)?;
        let report = state.mailbox(mailbox)?;
        let deadline = options::<CloseOptions>(json)?
            .deadline_ms
            .unwrap_or(DEFAULT_CLOSE_DEADLINE_MS);
        let deadline = Duration::from_millis(u64::from(deadline));
        state.objects.remove(runtime);
        let mut agents = Vec::new();
        state.objects.for_each(|object| {
            if let Object::Agent(agent) = object
                && Arc::ptr_eq(&agent.runtime, &closing)
            {
                agents.push(agent.agent.clone());
            }
        });
        let operation = state.begin(tokio_util::sync::CancellationToken::new());
        let end = move || {
            if !agents.is_empty()
                && let Ok(handle) = closing.handle()
            {
                handle.block_on(async {
                    let all =
                        futures_util::future::join_all(agents.iter().map(|agent| agent.close()));
                    let _ = tokio::time::timeout(deadline, all).await;
                });
            }
            drop(agents);
            closing.close(deadline);
            state.end(operation);
            report.push(Message {
                kind: MessageKind::Completion,
                status: 0,
                id: operation,
                owner: runtime,
                payload: b"null".to_vec(),
                data: Vec::new(),
            });
        };
        std::thread::Builder::new()
            .name("a3s-code-close".to_owned())
            .spawn(end)
            .map_err(|error| ErrorPayload::new(ErrorCode::Io, error.to_string()))?;
        Ok(operation)
    })
}

/// Opens a mailbox. `notify` may only signal; it is called at most once between drains.
///
/// # Errors
/// `HANDLE_CLOSED` when the runtime is not open.
pub fn mailbox_open(runtime: u64, notify: Option<Notify>) -> Result<u64, ErrorPayload> {
    guard(|| {
        let state = state();
        state.runtime(runtime)?;
        state.insert(Object::Mailbox(Arc::new(Mailbox::new(notify))))
    })
}

/// Takes the next message, waiting at most `timeout`; with zero it only looks.
#[must_use]
pub fn mailbox_next(mailbox: u64, timeout: Duration) -> Next {
    let found = state().mailbox(mailbox);
    match found {
        Ok(mailbox) => mailbox.next(timeout),
        Err(_) => Next::Closed,
    }
}

/// Closes a mailbox: wakes its readers and cancels the operations that report to it.
pub fn mailbox_close(mailbox: u64) {
    let state = state();
    if let Some(Object::Mailbox(closing)) = state.objects.remove(mailbox) {
        for operation in closing.close() {
            state.cancel(operation);
        }
    }
}

/// Calls a method of an object.
///
/// # Arguments
/// `json` holds the arguments by name, `data` raw bytes beside them; together at most 64 MiB. `mailbox` is where
/// the completion of a call that must wait arrives, and where its questions to the application go; 0 is
/// enough for methods that never wait.
///
/// # Errors
/// `HANDLE_CLOSED`, `FORK_DETECTED`, `INVALID_ARGUMENT` when the call itself is bad. Failures of the method are
/// messages.
pub fn call(
    target: u64,
    mailbox: u64,
    method: &str,
    json: &[u8],
    data: &[u8],
) -> Result<CallOutcome, ErrorPayload> {
    guard(|| operation::call(target, mailbox, method, json, data))
}

/// Asks an operation to stop. Its completion still arrives. Harmless for one that has ended.
pub fn cancel(operation: u64) {
    state().cancel(operation);
}

/// Answers a host call: with `ok`, `HostReply` JSON and the text as `data`; without, a message as JSON text.
#[must_use]
pub fn host_reply(host_call: u64, ok: bool, json: &[u8], data: &[u8]) -> ReplyStatus {
    catch_unwind(AssertUnwindSafe(|| host::reply(host_call, ok, json, data)))
        .unwrap_or(ReplyStatus::Invalid)
}

/// Reports output or progress of a host call.
#[must_use]
pub fn host_progress(host_call: u64, text: &str) -> ReplyStatus {
    catch_unwind(AssertUnwindSafe(|| host::progress(host_call, text)))
        .unwrap_or(ReplyStatus::Invalid)
}

/// Drops the reference that a handle is; operations in flight keep the object alive. Harmless when repeated.
pub fn release(handle: u64) {
    let state = state();
    let is_host_call = matches!(state.objects.get(handle), Ok(Object::HostCall(_)));
    if is_host_call {
        return;
    }
    if let Some(Object::Mailbox(closing)) = state.objects.remove(handle) {
        for operation in closing.close() {
            state.cancel(operation);
        }
    }
}

/// Counts what is alive.
#[must_use]
pub fn debug_counts() -> Counts {
    state().counts()
}

/// Version, platform and fingerprint of the contract, as JSON.
#[must_use]
pub fn build_info() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "abi": ABI_VERSION,
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "schemaHash": schema_hash(),
    })
    .to_string()
}
