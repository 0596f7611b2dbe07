//! Calls put together from pieces, whatever way a server cuts them.
//!
//! A piece belongs to the call of its index. It begins another one when it brings another id, or a name after the
//! arguments have become a whole object: there are servers that send every call under index 0, or under none. A call
//! without an id, or with one that was used before, gets one of its own.

use crate::model::memo::Memo;
use crate::model::{LlmEvent, LlmToolCall};
use serde_json::Value;
use std::collections::BTreeSet;

/// The calls of an answer.
pub(super) struct Calls<'a> {
    extras: &'a Memo,
    /// Ids that stand in the conversation or in this answer.
    taken: BTreeSet<String>,
    calls: Vec<Call>,
}

struct Call {
    index: Option<u64>,
    /// As the server gave it; empty when it gave none.
    given: String,
    /// As it is shown.
    id: String,
    name: String,
    arguments: String,
    /// The beginning was told.
    told: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(extras: &'a Memo, taken: BTreeSet<String>) -> Self {
        Self {
            extras,
            taken,
            calls: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece of a call.
    pub(super) fn take(&mut self, piece: &Value, events: &mut Vec<LlmEvent>) {
        let function = &piece["function"];
        let id = piece["id"].as_str().unwrap_or_default();
        let name = function["name"].as_str().unwrap_or_default();
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers send the object itself.
            value => value.to_string(),
        };
        let index = piece["index"].as_u64();
        let place = match self.place(index, id, name) {
            Some(place) => place,
            None if id.is_empty() && name.is_empty() && arguments.is_empty() => return,
            None => self.begin(index, id),
        };
        if let Some(extra) = piece.get("extra_content").filter(|extra| !extra.is_null()) {
            self.extras.keep(&self.calls[place].id, extra.clone());
        }
        let call = &mut self.calls[place];
        // Names are repeated by some servers and come in pieces from others.
        if !name.is_empty() && call.name != name && !call.told {
            call.name.push_str(name);
        }
        if !arguments.is_empty() {
            call.tell(events);
            call.arguments.push_str(&arguments);
            events.push(LlmEvent::ToolInput {
                id: call.id.clone(),
                delta: arguments,
            });
        }
    }

    /// The call that a piece goes on with.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let place = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.given == id)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[place];
        let other_id = !id.is_empty() && !call.given.is_empty() && call.given != id;
        let is_again = id.is_empty() && !name.is_empty() && is_object(&call.arguments);
        (!other_id && !is_again).then_some(place)
    }

    fn begin(&mut self, index: Option<u64>, given: &str) -> usize {
        let id = match given.is_empty() || self.taken.contains(given) {
            true => format!("call-{}", uuid::Uuid::new_v4().simple()),
            false => given.to_owned(),
        };
        self.taken.insert(id.clone());
        // The one before is not gone on with any more: its beginning is told when the answer closes at the latest.
        self.calls.push(Call {
            index,
            given: given.to_owned(),
            id,
            name: String::new(),
            arguments: String::new(),
            told: false,
        });
        self.calls.len() - 1
    }

    /// Tells the beginning of calls that have no arguments.
    pub(super) fn close(&mut self, events: &mut Vec<LlmEvent>) {
        for call in &mut self.calls {
            call.tell(events);
        }
    }

    pub(super) fn into_calls(self) -> Vec<LlmToolCall> {
        let calls = self.calls.into_iter();
        calls
            .map(|call| LlmToolCall {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            })
            .collect()
    }
}

impl Call {
    fn tell(&mut self, events: &mut Vec<LlmEvent>) {
        if !std::mem::replace(&mut self.told, true) {
            events.push(LlmEvent::ToolCall {
                id: self.id.clone(),
                name: self.name.clone(),
            });
        }
    }
}

fn is_object(text: &str) -> bool {
    text.trim_end().ends_with('}')
        && serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(pieces: &[Value]) -> Vec<(String, String, String)> {
        let extras = Memo::default();
        let taken = BTreeSet::from(["used".to_owned()]);
        let mut calls = Calls::new(&extras, taken);
        let mut events = Vec::new();
        for piece in pieces {
            calls.take(piece, &mut events);
        }
        calls.close(&mut events);
        let calls = calls.into_calls();
        // What was told on the way is what came of it.
        for call in &calls {
            let told: Vec<_> = events
                .iter()
                .filter(|event| matches!(event, LlmEvent::ToolCall { id, name } if *id == call.id && *name == call.name))
                .collect();
            assert_eq!(told.len(), 1, "{call:?}");
            let input: String = events
                .iter()
                .filter_map(|event| match event {
                    LlmEvent::ToolInput { id, delta } if *id == call.id => Some(delta.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(input, call.arguments);
        }
        calls
            .into_iter()
            .map(|call| {
                let id = match call.id.strip_prefix("call-") {
                    Some(own) if own.len() == 32 => "*".to_owned(),
                    _ => call.id,
                };
                (id, call.name, call.arguments)
            })
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn pieces_become_calls_whatever_the_server() {
        let a = |index: Value, id: Value, name: Value, arguments: Value| {
            json!({ "index": index, "id": id, "type": "function",
                    "function": { "name": name, "arguments": arguments } })
        };
        let none = Value::Null;
        for (case, pieces, expected) in [
            (
                "by index, interleaved",
                vec![
                    a(json!(0), json!("a"), json!("read"), json!("")),
                    a(json!(1), json!("b"), json!("ls"), json!("{\"p\"")),
                    a(json!(0), none.clone(), none.clone(), json!("{\"x\":")),
                    a(json!(1), none.clone(), none.clone(), json!(":1}")),
                    a(json!(0), none.clone(), none.clone(), json!("2}")),
                ],
                vec![call("a", "read", "{\"x\":2}"), call("b", "ls", "{\"p\":1}")],
            ),
            (
                "every call under index 0",
                vec![
                    a(json!(0), json!("a"), json!("read"), json!("{}")),
                    a(json!(0), json!("b"), json!("read"), json!("{}")),
                ],
                vec![call("a", "read", "{}"), call("b", "read", "{}")],
            ),
            (
                "no index and no id, whole",
                vec![
                    json!({ "function": { "name": "read", "arguments": { "x": 1 } } }),
                    json!({ "function": { "name": "read", "arguments": { "x": 2 } } }),
                ],
                vec![
                    call("*", "read", "{\"x\":1}"),
                    call("*", "read", "{\"x\":2}"),
                ],
            ),
            (
                "empty ids, repeated names and ids",
                vec![
                    a(json!(0), json!(""), json!("read"), json!("{\"x\"")),
                    a(json!(0), json!(""), json!("read"), json!(":1}")),
                    a(json!(1), json!("c"), json!("ls"), json!("{")),
                    a(json!(1), json!("c"), json!("ls"), json!("}")),
                ],
                vec![call("*", "read", "{\"x\":1}"), call("c", "ls", "{}")],
            ),
            (
                "a name in pieces, no arguments",
                vec![
                    a(json!(0), json!("a"), json!("re"), none.clone()),
                    a(json!(0), none.clone(), json!("ad"), none.clone()),
                ],
                vec![call("a", "read", "")],
            ),
            (
                "an id used before",
                vec![
                    a(json!(0), json!("used"), json!("ls"), json!("{}")),
                    a(json!(1), json!("used"), json!("ls"), json!("{}")),
                ],
                vec![call("*", "ls", "{}"), call("*", "ls", "{}")],
            ),
            (
                "a late id, and an empty piece",
                vec![
                    a(json!(0), none.clone(), json!("ls"), json!("{")),
                    a(json!(0), json!("late"), none.clone(), json!("}")),
                    a(json!(1), none.clone(), none.clone(), json!("")),
                ],
                vec![call("*", "ls", "{}")],
            ),
            (
                "broken arguments stay as they are",
                vec![a(json!(0), json!("a"), json!("ls"), json!("{\"x\": "))],
                vec![call("a", "ls", "{\"x\": ")],
            ),
        ] {
            assert_eq!(read(&pieces), expected, "{case}");
        }
    }
}
