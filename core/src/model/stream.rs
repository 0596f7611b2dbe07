//! From the pieces of an answer to events and a response, the same for every provider.
//!
//! A [`Dialect`] knows what a provider's events mean; it does no input or output. Whether an answer is a stream or
//! one JSON value is seen by its first byte, not by what its head says: servers are wrong about that.

use super::fault;
use super::http::HttpAnswer;
use super::sse::{SseEvent, SseParser, SseTooLong};
use super::{LlmError, LlmEvent, LlmEvents, LlmFault, LlmResponse};
use serde_json::Value;
use std::time::Duration;

/// How long a stream that has said why it ended may still take to say what it used.
const AFTER_END: Duration = Duration::from_secs(3);

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More must come.
    Open,
    /// The answer is whole; something about it may still come.
    Settled,
    /// Nothing comes any more.
    Complete,
}

/// The meaning of a provider's events.
pub(super) trait Dialect: Send {
    /// Takes the value of one event of the stream.
    fn value(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError>;

    /// Takes the answer as one value.
    fn whole(&mut self, value: &Value, events: &mut Vec<LlmEvent>) -> Result<(), LlmError>;

    /// Whether this data is the sign that the stream has ended.
    fn is_end(&mut self, data: &str) -> bool;

    /// How far it is.
    fn progress(&self) -> Progress;

    /// Ends the answer: open calls are closed.
    fn close(&mut self, events: &mut Vec<LlmEvent>);

    /// What came of it.
    fn response(self) -> LlmResponse;
}

enum Form {
    Unknown(Vec<u8>),
    Whole(Vec<u8>),
    Events,
}

/// Reads an answer to its end, sending events on the way.
pub(super) async fn read<D: Dialect>(
    mut answer: HttpAnswer,
    mut dialect: D,
    sender: &LlmEvents,
) -> Result<LlmResponse, LlmError> {
    let mut form = Form::Unknown(Vec::new());
    let mut parser = SseParser::new();
    let mut found = Vec::new();
    let mut out = Vec::new();
    while dialect.progress() != Progress::Complete {
        let within = match dialect.progress() {
            Progress::Open => Duration::MAX,
            Progress::Settled | Progress::Complete => AFTER_END,
        };
        let piece = match answer.piece(within).await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            // What is whole is not lost because the connection was not ended well.
            Err(_) if dialect.progress() != Progress::Open => break,
            Err(error) => return Err(error),
        };
        let piece = match sort(&mut form, piece)? {
            Some(piece) => piece,
            None => continue,
        };
        parser.push(&piece, &mut found).map_err(too_long)?;
        for event in found.drain(..) {
            take(&mut dialect, &event, &mut out)?;
            send(sender, &mut out).await;
        }
    }
    match form {
        Form::Unknown(_) => {}
        Form::Whole(bytes) => {
            let value =
                serde_json::from_slice::<Value>(&bytes).map_err(|error| match error.is_eof() {
                    true => {
                        LlmError::new(LlmFault::Transport, "the answer broke off before its end")
                    }
                    false => malformed(&error),
                })?;
            if is_error(&value) {
                return Err(fault::of_error(&value));
            }
            dialect.whole(&value, &mut out)?;
        }
        Form::Events if dialect.progress() != Progress::Complete => {
            if let Some(event) = parser.finish().map_err(too_long)? {
                let taken = take(&mut dialect, &event, &mut out);
                // A last event without its end may be half of one.
                if dialect.progress() == Progress::Open {
                    taken.map_err(|error| match error.fault {
                        LlmFault::Malformed => broken_off(),
                        _ => error,
                    })?;
                }
            }
        }
        Form::Events => answer.release().await,
    }
    if dialect.progress() == Progress::Open {
        return Err(broken_off());
    }
    dialect.close(&mut out);
    send(sender, &mut out).await;
    Ok(dialect.response())
}

/// Puts a piece where it belongs; gives it back when it is of a stream.
fn sort(form: &mut Form, piece: Vec<u8>) -> Result<Option<Vec<u8>>, LlmError> {
    match form {
        Form::Events => Ok(Some(piece)),
        Form::Whole(bytes) => {
            bytes.extend_from_slice(&piece);
            Ok(None)
        }
        Form::Unknown(bytes) => {
            bytes.extend_from_slice(&piece);
            let bytes = std::mem::take(bytes);
            let first = bytes
                .iter()
                .copied()
                .find(|byte| !byte.is_ascii_whitespace());
            match first {
                None => {
                    *form = Form::Unknown(bytes);
                    Ok(None)
                }
                Some(b'{' | b'[') => {
                    *form = Form::Whole(bytes);
                    Ok(None)
                }
                Some(b'<') => Err(LlmError::new(
                    LlmFault::Malformed,
                    "the answer is a page and not of the provider's interface: is `base_url` right?",
                )),
                Some(_) => {
                    *form = Form::Events;
                    Ok(Some(bytes))
                }
            }
        }
    }
}

fn take<D: Dialect>(
    dialect: &mut D,
    event: &SseEvent,
    out: &mut Vec<LlmEvent>,
) -> Result<(), LlmError> {
    if dialect.progress() == Progress::Complete {
        return Ok(());
    }
    match serde_json::from_str::<Value>(&event.data) {
        Ok(value) => one(dialect, event, &value, out),
        Err(error) => {
            // Servers that put no blank line between events make one of several.
            let lines = event
                .data
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            for line in lines {
                if dialect.is_end(line) {
                    return Ok(());
                }
                match serde_json::from_str::<Value>(line) {
                    Ok(value) => one(dialect, event, &value, out)?,
                    Err(_) if event.name == "error" => {
                        return Err(fault::of_error(&Value::from(event.data.as_str())));
                    }
                    Err(_) => return Err(malformed(&error)),
                }
            }
            Ok(())
        }
    }
}

fn one<D: Dialect>(
    dialect: &mut D,
    event: &SseEvent,
    value: &Value,
    out: &mut Vec<LlmEvent>,
) -> Result<(), LlmError> {
    if event.name == "error" || is_error(value) {
        return Err(fault::of_error(value));
    }
    dialect.value(value, out)
}

fn is_error(value: &Value) -> bool {
    value.get("error").is_some_and(|error| !error.is_null()) || value["type"] == "error"
}

async fn send(sender: &LlmEvents, out: &mut Vec<LlmEvent>) {
    for event in out.drain(..) {
        sender.send(event).await;
    }
}

fn malformed(error: &serde_json::Error) -> LlmError {
    // The position alone: what stands there may be a secret of the conversation.
    let message = format!(
        "the answer holds something that is no JSON (line {}, column {})",
        error.line(),
        error.column()
    );
    LlmError::new(LlmFault::Malformed, message)
}

fn too_long(error: SseTooLong) -> LlmError {
    LlmError::new(LlmFault::Malformed, error.to_string())
}

fn broken_off() -> LlmError {
    LlmError::new(LlmFault::Transport, "the answer broke off before its end")
}

/// A count of tokens in whatever number form.
pub(super) fn count(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        // Saturates, and is never negative.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number as u64)
    })?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}
