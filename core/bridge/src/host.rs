//! Tools of the application: a question in a mailbox, an answer from the application, and what happens when
//! there is none.
//!
//! A call is offered; then it is answered, or no longer needed. Whichever comes first decides, once. When the
//! engine no longer needs the answer, because the call was cancelled, timed out or the session closed, the
//! application is told by `HostCancel`; an answer that comes soon ends the wait and changes nothing else, and one that
//! comes later is harmless.

use crate::integers::{self, MAX_INTEGER};
use crate::mailbox::Mailbox;
use crate::message::{Message, MessageKind, ReplyStatus};
use crate::runtime::Runtime;
use crate::state::{Object, state};
use a3s_code_contract::{
    ErrorCode, ErrorPayload, HostCallInput, HostReply, HostToolSpec, MAX_MESSAGE_BYTES,
    ToolCapabilities, ToolErrorKind,
};
use a3s_code_core::tools::{OutputSink, Tool};
use a3s_code_core::{InvocationRuntime, ToolCall, ToolError, ToolOutput};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// Longest time limit: a day.
const MAX_TIMEOUT_MS: u32 = 86_400_000;
/// Longest message of what a handler threw that is kept.
const MAX_HOST_ERROR_BYTES: usize = 4096;
/// Most bytes of metadata that a handler may return.
const MAX_METADATA_BYTES: usize = 1024 * 1024;
/// Time limit of a call when nothing is said: ten minutes.
const DEFAULT_TIMEOUT_MS: u32 = 600_000;

/// A tool whose code lives in the application.
pub(crate) struct HostTool {
    spec: HostToolSpec,
    session: AtomicU64,
    runtime: Weak<Runtime>,
    registered_by: Option<Weak<Mailbox>>,
}

/// Makes tools of their descriptions.
pub(crate) fn compile_tools(
    specs: Vec<HostToolSpec>,
    runtime: &Arc<Runtime>,
    mailbox: Option<&Arc<Mailbox>>,
) -> Result<Vec<Arc<HostTool>>, ErrorPayload> {
    for spec in &specs {
        if let Some(limit) = spec.timeout_ms
            && !(1..=MAX_TIMEOUT_MS).contains(&limit)
        {
            return Err(ErrorPayload::new(
                ErrorCode::InvalidArgument,
                format!(
                    "tool `{}`: `timeoutMs` {limit} is not within 1 to {MAX_TIMEOUT_MS}",
                    spec.name
                ),
            )
            .with_details(serde_json::json!({ "argument": "timeoutMs" })));
        }
    }
    Ok(specs
        .into_iter()
        .map(|spec| {
            Arc::new(HostTool {
                spec,
                session: AtomicU64::new(0),
                runtime: Arc::downgrade(runtime),
                registered_by: mailbox.map(Arc::downgrade),
            })
        })
        .collect())
}

impl HostTool {
    /// Says which session the tool belongs to.
    pub(crate) fn belongs_to(&self, session: u64) {
        self.session.store(session, Ordering::Relaxed);
    }

    /// Where the question goes: to whoever asked for the call, else to whoever registered the tool.
    fn route(&self, call: &ToolCall) -> Option<Arc<Mailbox>> {
        call.caller()
            .route::<Mailbox>()
            .filter(|mailbox| !mailbox.is_closed())
            .or_else(|| self.registered_by.as_ref().and_then(Weak::upgrade))
    }
}

#[async_trait]
impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        &self.spec.description
    }

    fn parameters(&self) -> Value {
        self.spec.parameters.clone()
    }

    fn capabilities(&self, _: &Value) -> ToolCapabilities {
        self.spec.capabilities.unwrap_or_default()
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        let limit = self.spec.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        Some(Duration::from_millis(u64::from(limit)))
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let runtime = self.runtime.upgrade().ok_or_else(gone)?;
        let mailbox = self.route(&call).ok_or_else(gone)?;
        let (answer, answered) = oneshot::channel();
        let asked = Arc::new(HostCall {
            answer: Mutex::new(Some(answer)),
            nested: call.runtime().clone(),
            output: call.output().clone(),
            runtime: Arc::downgrade(&runtime),
        });
        let Ok(id) = state().insert(Object::HostCall(asked)) else {
            return Err(gone());
        };
        let mut offered = Offered {
            id,
            owner: self.session.load(Ordering::Relaxed),
            mailbox,
            open: true,
            called_off: false,
        };
        offered.ask(&self.spec, &call)?;
        tokio::pin!(answered);
        let answer = tokio::select! {
            biased;
            answer = &mut answered => answer,
            () = call.cancellation().cancelled() => {
                offered.call_off();
                // A handler that heeds it ends the wait with its answer; otherwise the kernel drops this call when
                // its grace is over.
                answered.await
            }
        };
        offered.settle();
        answer.map_err(|_| gone())?
    }
}

fn gone() -> ToolError {
    ToolError::new(
        ToolErrorKind::Unsupported {
            message: "the application that serves this tool is gone".to_owned(),
        },
        "The application that serves this tool is gone.",
    )
}

/// A question that is open. Dropping it tells the application that it is no longer needed.
struct Offered {
    id: u64,
    owner: u64,
    mailbox: Arc<Mailbox>,
    open: bool,
    called_off: bool,
}

impl Offered {
    fn ask(&self, spec: &HostToolSpec, call: &ToolCall) -> Result<(), ToolError> {
        let input = HostCallInput {
            host_ref: spec.host_ref,
            name: spec.name.clone(),
            call_id: call.id().to_owned(),
            session_id: call.session_id().to_owned(),
            workspace: call.workspace().root().to_owned(),
            args: call.args().clone(),
            deadline_ms: wall_clock(call.deadline()),
        };
        let payload = serde_json::to_vec(&input).map_err(|error| {
            ToolError::new(
                ToolErrorKind::Unsupported {
                    message: error.to_string(),
                },
                error.to_string(),
            )
        })?;
        let sent = self.mailbox.push(Message {
            kind: MessageKind::HostCall,
            status: 0,
            id: self.id,
            owner: self.owner,
            payload,
            data: Vec::new(),
        });
        if sent { Ok(()) } else { Err(gone()) }
    }

    fn settle(&mut self) {
        self.open = false;
        state().objects.remove(self.id);
    }

    /// Tells the application, once, that the answer is no longer needed.
    fn call_off(&mut self) {
        if std::mem::replace(&mut self.called_off, true) {
            return;
        }
        self.mailbox.push(Message {
            kind: MessageKind::HostCancel,
            status: 0,
            id: self.id,
            owner: self.owner,
            payload: b"null".to_vec(),
            data: Vec::new(),
        });
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        if self.open {
            self.settle();
            self.call_off();
        }
    }
}

fn wall_clock(deadline: Option<Instant>) -> u64 {
    let left = deadline.map_or(
        Duration::from_millis(u64::from(DEFAULT_TIMEOUT_MS)),
        |deadline| deadline.saturating_duration_since(Instant::now()),
    );
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| {
            u64::try_from((now + left).as_millis()).unwrap_or(0)
        })
}

/// A question, as the application refers to it by its id.
pub(crate) struct HostCall {
    answer: Mutex<Option<oneshot::Sender<Result<ToolOutput, ToolError>>>>,
    nested: InvocationRuntime,
    output: OutputSink,
    runtime: Weak<Runtime>,
}

impl HostCall {
    pub(crate) fn nested_calls(&self) -> InvocationRuntime {
        self.nested.clone()
    }

    /// The runtime it lives on; none once that is closed.
    pub(crate) fn runtime(&self) -> Option<Arc<Runtime>> {
        self.runtime.upgrade()
    }
}

/// Takes the answer to a host call.
pub(crate) fn reply(host_call: u64, ok: bool, json: &[u8], data: &[u8]) -> ReplyStatus {
    let Ok(Object::HostCall(call)) = state().objects.get(host_call) else {
        return ReplyStatus::Stale;
    };
    let Some(answer) = call
        .answer
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
    else {
        return ReplyStatus::Stale;
    };
    let read = if ok {
        read_reply(json, data)
    } else {
        Ok(host_failure(String::from_utf8_lossy(json).into_owned()))
    };
    let (output, status) = match read {
        Ok(output) => (Ok(output), ReplyStatus::Accepted),
        Err(reason) => (
            Ok(host_failure(format!(
                "the tool's answer is refused: {reason}"
            ))),
            ReplyStatus::Invalid,
        ),
    };
    match answer.send(output) {
        Ok(()) => status,
        Err(_) => ReplyStatus::Stale,
    }
}

/// Reports output of a host call.
pub(crate) fn progress(host_call: u64, text: &str) -> ReplyStatus {
    let Ok(Object::HostCall(call)) = state().objects.get(host_call) else {
        return ReplyStatus::Stale;
    };
    call.output.progress(text);
    ReplyStatus::Accepted
}

fn read_reply(json: &[u8], data: &[u8]) -> Result<ToolOutput, String> {
    if json.len() + data.len() > MAX_MESSAGE_BYTES {
        return Err(format!("it has more than {MAX_MESSAGE_BYTES} bytes"));
    }
    let reply: HostReply = if json.is_empty() {
        HostReply::default()
    } else {
        let text =
            std::str::from_utf8(json).map_err(|error| format!("its JSON is not UTF-8: {error}"))?;
        if let Some(place) = integers::oversized(text) {
            return Err(format!(
                "`{place}` is a whole number outside -{MAX_INTEGER} to {MAX_INTEGER}, which not every language keeps; \
                 send it as text"
            ));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())?
    };
    if let Some(message) = reply.host_error {
        return Ok(host_failure(message));
    }
    let text = std::str::from_utf8(data)
        .map_err(|error| format!("its text is not UTF-8: {error}"))?
        .to_owned();
    let metadata = match reply.metadata.map(without_minus_zero) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        // Kept under the name that says what it was.
        Some(other) => Map::from_iter([("previous_metadata".to_owned(), other)]),
    };
    let size = serde_json::to_vec(&metadata).map_or(0, |json| json.len());
    if size > MAX_METADATA_BYTES {
        return Err(format!(
            "its metadata has {size} bytes; the most is {MAX_METADATA_BYTES}"
        ));
    }
    let error_kind = match reply.error_kind {
        None | Some(Value::Null) => None,
        Some(kind) => Some(
            serde_json::from_value::<ToolErrorKind>(kind)
                .map_err(|error| format!("`errorKind`: {error}"))?,
        ),
    };
    Ok(ToolOutput {
        text,
        // How it failed says that it failed.
        success: error_kind.is_none() && reply.success.unwrap_or(true),
        metadata,
        error_kind,
        ..ToolOutput::default()
    })
}

/// Zero has one form, because one of the languages writes only one.
fn without_minus_zero(mut value: Value) -> Value {
    let mut open = vec![&mut value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) if number.as_f64() == Some(0.0) => *number = 0.into(),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values_mut()),
            _ => {}
        }
    }
    value
}

/// What the handler threw: a failed result that says so.
fn host_failure(message: String) -> ToolOutput {
    let mut end = message.len().min(MAX_HOST_ERROR_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let kept = message[..end].to_owned();
    // The text is whole: it is shortened and accounted for like any other.
    ToolOutput::failure(message).with("host_error", kept)
}
