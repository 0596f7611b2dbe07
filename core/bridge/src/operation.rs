//! One call: answered at once where that blocks nobody, an operation with one terminal message otherwise.

use crate::dispatch::{self, Request, Work};
use crate::guard::panic_error;
use crate::integers::{self, MAX_INTEGER};
use crate::mailbox::Mailbox;
use crate::message::{CallOutcome, Message, MessageKind};
use crate::runtime::Runtime;
use crate::state::{Object, State, state, wrong_kind};
use a3s_code_contract::{ErrorCode, ErrorPayload, MAX_MESSAGE_BYTES, METHODS, Method, Target};
use a3s_code_core::kernel::{ArgumentError, parse_arguments};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use tokio_util::sync::CancellationToken;

/// JSON and the bytes beside it, or an error.
pub(crate) type Answer = Result<Reply, ErrorPayload>;

/// What a method returns.
pub(crate) struct Reply {
    pub(crate) payload: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(value: &impl serde::Serialize) -> Answer {
        Self::with_data(value, Vec::new())
    }

    pub(crate) fn with_data(value: &impl serde::Serialize, data: Vec<u8>) -> Answer {
        match serde_json::to_vec(value) {
            Ok(payload) => Ok(Self { payload, data }),
            Err(error) => Err(ErrorPayload::new(
                ErrorCode::Serialization,
                error.to_string(),
            )),
        }
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Method>> =
    LazyLock::new(|| METHODS.iter().map(|method| (method.name, method)).collect());

pub(crate) fn call(
    target: u64,
    mailbox: u64,
    method: &str,
    json: &[u8],
    data: &[u8],
) -> Result<CallOutcome, ErrorPayload> {
    let row = BY_NAME.get(method).copied().ok_or_else(|| {
        let name: String = method.chars().take(64).collect();
        invalid(format!("there is no method `{name}`"))
    })?;
    if json.len() + data.len() > MAX_MESSAGE_BYTES {
        return Err(invalid(format!(
            "a message has at most {MAX_MESSAGE_BYTES} bytes; this one has {}",
            json.len() + data.len()
        )));
    }
    let state = state();
    let (object, runtime) = target_of(&state, target, row)?;
    let arguments = arguments(json, row)?;
    let request = Request {
        handle: target,
        object,
        runtime: Arc::clone(&runtime),
        arguments,
        data: data.to_vec(),
        mailbox: None,
        cancellation: CancellationToken::new(),
    };
    if row.sync {
        return Ok(CallOutcome::Done(completion(
            0,
            target,
            dispatch::immediate(row.name, request),
        )));
    }
    let report = state.mailbox(mailbox)?;
    let cancellation = request.cancellation.clone();
    let work = dispatch::start(
        row.name,
        Request {
            mailbox: Some(Arc::clone(&report)),
            ..request
        },
    )?;
    let mut work = guarded(work);
    let handle = runtime.handle()?;
    if row.inline && report.is_drained() {
        let _on_runtime = handle.enter();
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(answer) = work.as_mut().poll(&mut context) {
            return Ok(CallOutcome::Done(completion(0, target, answer)));
        }
    }
    let operation = state.begin(cancellation);
    report.expect(operation);
    handle.spawn(finish(state, report, operation, target, work));
    Ok(CallOutcome::Pending(operation))
}

/// Sees an operation to its one terminal message.
async fn finish(
    state: Arc<State>,
    report: Arc<Mailbox>,
    operation: u64,
    owner: u64,
    work: BoxFuture<'static, Answer>,
) {
    // Also when the runtime drops the task.
    let mut terminal = Terminal {
        state,
        report,
        operation,
        owner,
        answer: None,
    };
    terminal.answer = Some(work.await);
}

struct Terminal {
    state: Arc<State>,
    report: Arc<Mailbox>,
    operation: u64,
    owner: u64,
    answer: Option<Answer>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.state.end(self.operation);
        self.report.forget(self.operation);
        let answer = self.answer.take().unwrap_or_else(|| {
            Err(ErrorPayload::new(
                ErrorCode::Cancelled,
                "the runtime was closed",
            ))
        });
        self.report
            .push(completion(self.operation, self.owner, answer));
    }
}

fn guarded(work: Work) -> BoxFuture<'static, Answer> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .map(|done| done.unwrap_or_else(|panic| Err(panic_error(&*panic))))
        .boxed()
}

fn completion(operation: u64, owner: u64, answer: Answer) -> Message {
    let (status, payload, data) = match answer {
        Ok(reply) => (0, reply.payload, reply.data),
        Err(error) => (
            1,
            serde_json::to_vec(&error).unwrap_or_default(),
            Vec::new(),
        ),
    };
    Message {
        kind: MessageKind::Completion,
        status,
        id: operation,
        owner,
        payload,
        data,
    }
}

fn target_of(
    state: &State,
    handle: u64,
    row: &Method,
) -> Result<(Object, Arc<Runtime>), ErrorPayload> {
    let (object, runtime) = match (row.target, state.object(handle, what(row.target))?) {
        (Target::Runtime, Object::Runtime(runtime)) => {
            if row.name.starts_with("debug.") && !runtime.debug() {
                return Err(invalid(format!("there is no method `{}`", row.name)));
            }
            (Object::Runtime(Arc::clone(&runtime)), runtime)
        }
        (Target::Agent, Object::Agent(agent)) => {
            let runtime = Arc::clone(&agent.runtime);
            (Object::Agent(agent), runtime)
        }
        (Target::Session, Object::Session(session)) => {
            let runtime = Arc::clone(&session.runtime);
            (Object::Session(session), runtime)
        }
        (Target::HostCall, Object::HostCall(call)) => {
            let runtime = call.runtime().ok_or_else(|| {
                ErrorPayload::new(ErrorCode::HandleClosed, "the runtime is closed")
            })?;
            (Object::HostCall(call), runtime)
        }
        (target, _) => return Err(wrong_kind(what(target))),
    };
    Ok((object, runtime))
}

fn what(target: Target) -> &'static str {
    match target {
        Target::Runtime => "runtime",
        Target::Agent => "agent",
        Target::Session => "session",
        Target::HostCall => "host call",
    }
}

fn arguments(json: &[u8], row: &Method) -> Result<Map<String, Value>, ErrorPayload> {
    if json.is_empty() {
        return Ok(Map::new());
    }
    let text = std::str::from_utf8(json)
        .map_err(|error| invalid(format!("the JSON is not UTF-8: {error}")))?;
    match parse_arguments(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(invalid("the arguments must be a JSON object".to_owned())),
        Err(ArgumentError::NumberRange { offset }) => {
            Err(unkept_number(text, offset, row.name == "agent.session"))
        }
        Err(error) => Err(invalid(format!("the JSON is refused: {error}"))),
    }
}

/// A number that no language keeps, by its place: in the options of a session, or in another argument.
fn unkept_number(text: &str, offset: usize, opens_session: bool) -> ErrorPayload {
    let place = integers::path_of(text, offset).unwrap_or_default();
    let bound = format!("-{MAX_INTEGER} to {MAX_INTEGER}");
    let message =
        format!("`{place}` is a number that does not fit; whole numbers are from {bound}");
    match place.strip_prefix("options.") {
        Some(field) if opens_session => {
            ErrorPayload::new(ErrorCode::SessionConfiguration, format!("option {message}"))
                .with_details(json!({ "field": field, "bound": bound }))
        }
        _ => invalid(format!("the JSON is refused: {message}"))
            .with_details(json!({ "argument": place, "bound": bound })),
    }
}

pub(crate) fn invalid(message: String) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::InvalidArgument, message)
}
