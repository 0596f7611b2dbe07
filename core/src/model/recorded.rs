//! A cassette: turns of a real model, recorded once and replayed offline.
//!
//! A cassette is text, one JSON value a line: the head, then one line a turn with the request, its digest, the events
//! and the answer. Requests hold no keys, images stand as their digest, and what differs from machine to machine is
//! masked. A replay gives the turns in order and refuses a request that is not the recorded one. Files are the
//! caller's business.

use super::{
    LlmClient, LlmError, LlmEvent, LlmEvents, LlmFault, LlmRequest, LlmResponse, StructuredSupport,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The form of cassettes that this crate writes and reads.
const VERSION: u32 = 1;
/// Characters of a value that are shown where requests differ.
const SHOWN: usize = 80;

/// A text that is no cassette.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cassette, line {line}: {message}")]
pub struct CassetteError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Texts that differ from machine to machine, and what stands for them in a cassette.
#[derive(Clone, Debug, Default)]
pub struct Masks(Vec<(String, String)>);

impl Masks {
    /// Puts `placeholder` in the place of `text`, as `{workspace}` in that of a folder. An empty one of either is
    /// left out.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, placeholder: impl Into<String>) -> Self {
        let (text, placeholder) = (text.into(), placeholder.into());
        if !text.is_empty() && !placeholder.is_empty() {
            self.0.push((text, placeholder));
            // A folder goes before the folder it lies in.
            self.0
                .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
        self
    }

    fn hide(&self, value: &mut Value) {
        self.replace(value, |(text, placeholder)| (text, placeholder));
    }

    fn show(&self, value: &mut Value) {
        self.replace(value, |(text, placeholder)| (placeholder, text));
    }

    fn replace(&self, value: &mut Value, way: fn(&(String, String)) -> (&String, &String)) {
        match value {
            Value::String(text) => {
                for (from, to) in self.0.iter().map(way) {
                    if text.contains(from.as_str()) {
                        *text = text.replace(from.as_str(), to);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace(value, way)),
            Value::Object(values) => values
                .values_mut()
                .for_each(|value| self.replace(value, way)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    cassette: u32,
    model: String,
    #[serde(default)]
    structured: StructuredSupport,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    digest: String,
    request: Value,
    events: Value,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    response: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    error: Option<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedError {
    fault: LlmFault,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    retry_after_ms: Option<u64>,
}

/// Passes requests on to another client and records what comes of them. A request that is cancelled is not recorded.
pub struct RecordingClient {
    inner: Arc<dyn LlmClient>,
    masks: Masks,
    turns: Mutex<Vec<Turn>>,
}

impl RecordingClient {
    /// Records the turns of a client.
    #[must_use]
    pub fn new(inner: Arc<dyn LlmClient>, masks: Masks) -> Self {
        Self {
            inner,
            masks,
            turns: Mutex::new(Vec::new()),
        }
    }

    /// The cassette of the turns so far, in the order in which they ended.
    #[must_use]
    pub fn cassette(&self) -> String {
        let head = Head {
            cassette: VERSION,
            model: self.inner.model().to_owned(),
            structured: self.inner.structured_support(),
        };
        let mut text = line(&head);
        for turn in lock(&self.turns).iter() {
            text.push_str(&line(turn));
        }
        text
    }

    fn keep(
        &self,
        request: &LlmRequest,
        events: &[LlmEvent],
        answered: &Result<LlmResponse, LlmError>,
    ) {
        let masked = |mut value: Value| {
            self.masks.hide(&mut value);
            value
        };
        let request = masked(request_value(request));
        let (response, error) = match answered {
            Ok(response) => (Some(masked(json!(response))), None),
            Err(error) => {
                let recorded = RecordedError {
                    fault: error.fault,
                    message: error.message.clone(),
                    retry_after_ms: error
                        .retry_after
                        .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
                };
                (None, Some(masked(json!(recorded))))
            }
        };
        lock(&self.turns).push(Turn {
            digest: digest(&request),
            request,
            events: masked(json!(events)),
            response,
            error,
        });
    }
}

impl std::fmt::Debug for RecordingClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RecordingClient")
            .field("model", &self.inner.model())
            .field("turns", &lock(&self.turns).len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LlmClient for RecordingClient {
    fn model(&self) -> &str {
        self.inner.model()
    }

    fn structured_support(&self) -> StructuredSupport {
        self.inner.structured_support()
    }

    async fn complete(
        &self,
        request: &LlmRequest,
        events: LlmEvents,
    ) -> Result<LlmResponse, LlmError> {
        let (sender, mut coming) = LlmEvents::channel();
        let answer = self.inner.complete(request, sender);
        tokio::pin!(answer);
        let mut seen = Vec::new();
        let answered = loop {
            tokio::select! {
                biased;
                Some(event) = coming.recv() => {
                    seen.push(event.clone());
                    events.send(event).await;
                }
                answered = &mut answer => break answered,
            }
        };
        while let Ok(event) = coming.try_recv() {
            seen.push(event.clone());
            events.send(event).await;
        }
        self.keep(request, &seen, &answered);
        answered
    }
}

/// Answers from a cassette, one turn a request, in order.
pub struct ReplayClient {
    head: Head,
    masks: Masks,
    turns: Mutex<Left>,
    compares: bool,
}

struct Left {
    turns: VecDeque<Turn>,
    taken: usize,
}

impl ReplayClient {
    /// Reads a cassette. `masks` has the placeholders that it was recorded with and the texts of this machine.
    ///
    /// # Errors
    /// [`CassetteError`] with the first line that is wrong.
    pub fn new(cassette: &str, masks: Masks) -> Result<Self, CassetteError> {
        let wrong = |line: usize, message: String| CassetteError {
            line: line + 1,
            message,
        };
        let mut lines = cassette
            .lines()
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty());
        let (at, first) = lines
            .next()
            .ok_or_else(|| wrong(0, "the head is missing".to_owned()))?;
        let head: Head = serde_json::from_str(first)
            .map_err(|error| wrong(at, format!("is no head of a cassette: {error}")))?;
        if head.cassette != VERSION {
            let message = format!("has version {}, known is {VERSION}", head.cassette);
            return Err(wrong(at, message));
        }
        let mut turns = VecDeque::new();
        for (at, text) in lines {
            let turn: Turn = serde_json::from_str(text)
                .map_err(|error| wrong(at, format!("is no turn: {error}")))?;
            if digest(&turn.request) != turn.digest {
                let message = "the request is not the one that was recorded: its digest differs";
                return Err(wrong(at, message.to_owned()));
            }
            let _ = answer_of(&turn, &masks).map_err(|message| wrong(at, message))?;
            turns.push_back(turn);
        }
        Ok(Self {
            head,
            masks,
            turns: Mutex::new(Left { turns, taken: 0 }),
            compares: true,
        })
    }

    /// The same, but it takes any request: for tests of what comes after an answer and not of what was asked.
    #[must_use]
    pub fn without_comparison(mut self) -> Self {
        self.compares = false;
        self
    }

    /// How many turns are left.
    #[must_use]
    pub fn left(&self) -> usize {
        lock(&self.turns).turns.len()
    }

    fn next(
        &self,
        request: &LlmRequest,
    ) -> Result<(Vec<LlmEvent>, Result<LlmResponse, LlmError>), LlmError> {
        let mismatch = |message: String| LlmError::new(LlmFault::Mismatch, message);
        let mut left = lock(&self.turns);
        let number = left.taken + 1;
        let Some(turn) = left.turns.front() else {
            let message = format!(
                "the cassette has {} turns and is asked for one more",
                left.taken
            );
            return Err(mismatch(message));
        };
        let mut asked = request_value(request);
        self.masks.hide(&mut asked);
        if self.compares
            && let Some(difference) = difference(&turn.request, &asked)
        {
            return Err(mismatch(format!(
                "turn {number} of the cassette: {difference}"
            )));
        }
        let answer = answer_of(turn, &self.masks).map_err(mismatch)?;
        left.turns.pop_front();
        left.taken = number;
        Ok(answer)
    }
}

impl std::fmt::Debug for ReplayClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ReplayClient")
            .field("model", &self.head.model)
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LlmClient for ReplayClient {
    fn model(&self) -> &str {
        &self.head.model
    }

    fn structured_support(&self) -> StructuredSupport {
        self.head.structured
    }

    async fn complete(
        &self,
        request: &LlmRequest,
        events: LlmEvents,
    ) -> Result<LlmResponse, LlmError> {
        let (recorded, answered) = self.next(request)?;
        for event in recorded {
            events.send(event).await;
        }
        answered
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(value: &impl Serialize) -> String {
    // Values of strings, numbers and lists alone: there is nothing that could not be written.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// A request as a cassette keeps it.
fn request_value(request: &LlmRequest) -> Value {
    let images: Vec<Value> = request
        .images
        .iter()
        .map(|image| {
            json!({
                "message": image.message,
                "media_type": image.media_type,
                "digest": hex(&Sha256::digest(&image.data)),
            })
        })
        .collect();
    json!({
        "system": request.system,
        "messages": request.messages,
        "tools": request.tools,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature.map(super::anthropic::number),
        "images": images,
        "tool_choice": request.tool_choice,
        "response_format": request.response_format,
    })
}

fn answer_of(
    turn: &Turn,
    masks: &Masks,
) -> Result<(Vec<LlmEvent>, Result<LlmResponse, LlmError>), String> {
    let shown = |value: &Value| {
        let mut value = value.clone();
        masks.show(&mut value);
        value
    };
    let events = serde_json::from_value(shown(&turn.events))
        .map_err(|error| format!("`events`: {error}"))?;
    let answered = match (&turn.response, &turn.error) {
        (Some(response), None) => Ok(serde_json::from_value(shown(response))
            .map_err(|error| format!("`response`: {error}"))?),
        (None, Some(error)) => {
            let recorded: RecordedError = serde_json::from_value(shown(error))
                .map_err(|error| format!("`error`: {error}"))?;
            Err(LlmError::new(recorded.fault, recorded.message)
                .with_retry_after(recorded.retry_after_ms.map(Duration::from_millis)))
        }
        _ => return Err("must have `response` or `error`, and not both".to_owned()),
    };
    Ok((events, answered))
}

fn digest(request: &Value) -> String {
    let mut text = String::new();
    canonical(request, &mut text);
    format!("sha256:{}", hex(&Sha256::digest(text)))
}

/// Writes a value with the names of objects in order, however this build keeps them.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(values) => {
            let sorted: BTreeMap<&String, &Value> = values.iter().collect();
            text.push('{');
            for (name, value) in sorted {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for value in values {
                canonical(value, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where two requests first differ, and how.
fn difference(recorded: &Value, asked: &Value) -> Option<String> {
    let mut path = String::new();
    let (recorded, asked) = differing(recorded, asked, &mut path)?;
    Some(format!(
        "the request differs at `{path}`: recorded {recorded}, asked {asked}"
    ))
}

fn differing(recorded: &Value, asked: &Value, path: &mut String) -> Option<(String, String)> {
    let depth = path.len();
    match (recorded, asked) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                let pair = (one.get(name), other.get(name));
                if let Some(found) = either(pair, path) {
                    return Some(found);
                }
                path.truncate(depth);
            }
            None
        }
        (Value::Array(one), Value::Array(other)) => {
            for place in 0..one.len().max(other.len()) {
                path.push_str(&format!("/{place}"));
                if let Some(found) = either((one.get(place), other.get(place)), path) {
                    return Some(found);
                }
                path.truncate(depth);
            }
            None
        }
        (Value::String(one), Value::String(other)) if one != other => {
            let same = one
                .chars()
                .zip(other.chars())
                .take_while(|(a, b)| a == b)
                .count();
            let from = same.saturating_sub(SHOWN / 4);
            Some((part(one, from), part(other, from)))
        }
        (one, other) if one == other => None,
        (one, other) => Some((part(&one.to_string(), 0), part(&other.to_string(), 0))),
    }
}

fn either(pair: (Option<&Value>, Option<&Value>), path: &mut String) -> Option<(String, String)> {
    let nothing = || "nothing".to_owned();
    match pair {
        (Some(one), Some(other)) => differing(one, other, path),
        (Some(one), None) => Some((part(&one.to_string(), 0), nothing())),
        (None, Some(other)) => Some((nothing(), part(&other.to_string(), 0))),
        (None, None) => None,
    }
}

fn part(text: &str, from: usize) -> String {
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "..." } else { "" };
    let after = if text.chars().count() > from + SHOWN {
        "..."
    } else {
        ""
    };
    format!("{:?}", format!("{before}{shown}{after}"))
}
