//! Messages as JavaScript sees them: copied strings and Buffers, never memory that Rust still owns.

use a3s_code_bridge as bridge;
use bridge::contract::{ErrorCode, ErrorPayload};
use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;

/// One message out of a mailbox, or the answer to a call.
#[napi(object, object_from_js = false)]
pub struct NativeMessage {
    /// 1 completion, 2 host call, 3 host cancel, 4 log, 5 closed.
    pub kind: i32,
    /// 0 well, 1 error.
    pub status: i32,
    /// Operation or host call it is about.
    pub id: f64,
    /// Object it belongs to.
    pub owner: f64,
    /// JSON.
    pub payload: String,
    /// Bytes beside the JSON.
    pub data: Option<Either<String, Buffer>>,
}

impl NativeMessage {
    /// Copies a message; with `as_text` its bytes become a string.
    pub(crate) fn new(message: bridge::Message, as_text: bool) -> Self {
        let data = if as_text {
            Some(Either::A(text(message.data)))
        } else if message.data.is_empty() {
            None
        } else {
            Some(Either::B(Buffer::from(message.data)))
        };
        Self {
            kind: message.kind as i32,
            status: message.status,
            id: message.id as f64,
            owner: message.owner as f64,
            payload: text(message.payload),
            data,
        }
    }

    /// The mailbox is closed.
    pub(crate) fn closed() -> Self {
        Self {
            kind: bridge::MessageKind::Closed as i32,
            status: 0,
            id: 0.0,
            owner: 0.0,
            payload: String::new(),
            data: None,
        }
    }

    /// An error that came before there was an operation.
    pub(crate) fn failed(error: &ErrorPayload) -> Self {
        let payload = serde_json::to_string(error).unwrap_or_else(|_| {
            format!(
                r#"{{"code":"{}","message":"","retryable":false}}"#,
                error.code.as_str()
            )
        });
        Self {
            kind: bridge::MessageKind::Completion as i32,
            status: 1,
            id: 0.0,
            owner: 0.0,
            payload,
            data: None,
        }
    }
}

/// The answer to a call: a number for a pending operation, else its message.
pub(crate) fn reply(
    outcome: Result<bridge::CallOutcome, ErrorPayload>,
    as_text: bool,
) -> Either<f64, NativeMessage> {
    match outcome {
        Ok(bridge::CallOutcome::Pending(op)) => Either::A(op as f64),
        Ok(bridge::CallOutcome::Done(message)) => Either::B(NativeMessage::new(message, as_text)),
        Err(error) => Either::B(NativeMessage::failed(&error)),
    }
}

/// A handle out of a number; what is no handle becomes 0, which no object has.
pub(crate) fn handle(number: f64) -> u64 {
    let whole = number.is_finite() && number >= 0.0 && number.fract() == 0.0;
    if whole && number <= bridge::contract::MAX_SAFE_INTEGER as f64 {
        number as u64
    } else {
        0
    }
}

/// An error of this crate itself.
pub(crate) fn fault(message: impl Into<String>) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Internal, message)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
