//! What the bridge adds, without any language on top (P2a, P2b). These rows have no target of their own: they
//! tell the share of the bridge in those of the languages.

use crate::row::{Plan, Row};
use crate::sample::{Effort, Result, median, time};
use a3s_code_bridge::{self as bridge, CallOutcome, ErrorPayload, Message, Next};
use serde_json::{Value, json};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// A session of a debug runtime, by handles.
struct Client {
    mailbox: u64,
    session: u64,
}

/// Measures and prints.
pub(crate) fn measure(plan: &Plan, effort: Effort) -> Result<()> {
    let runtime = bridge::runtime_open(br#"{"debug":true}"#).map_err(refused)?;
    let mailbox = bridge::mailbox_open(runtime, None).map_err(refused)?;
    let agent = open(runtime, mailbox, "agent.create", &json!({}))?;
    let session = open(
        agent,
        mailbox,
        "agent.session",
        &json!({ "workspace": plan.corpus }),
    )?;
    let client = Client { mailbox, session };

    let mut kinds = Kinds::default();
    let noop = br#"{"name":"debug_noop","args":{}}"#;
    let value = median(effort, || time(|| client.tool(noop, &mut kinds)))?;
    if kinds.pending > 0 {
        return Err("a no-op was not answered at once".into());
    }
    Row::at_most("P2a", "no-op tool, through the bridge alone", "ms", value).print()?;

    let mut kinds = Kinds::default();
    let read = br#"{"name":"read","args":{"file_path":"waits.txt"}}"#;
    let value = median(effort, || time(|| client.tool(read, &mut kinds)))?;
    // On a busy machine the other thread may be done before this one looks for the first time.
    if kinds.done > kinds.pending {
        return Err(
            "the read that must wait is answered at once: P2b would measure nothing".into(),
        );
    }
    Row::at_most(
        "P2b",
        "call that waits, through the bridge alone",
        "ms",
        value,
    )
    .print()?;

    let closing = bridge::runtime_close(runtime, mailbox, b"").map_err(refused)?;
    completion(mailbox, closing)?;
    for handle in [session, agent, mailbox] {
        bridge::release(handle);
    }
    Ok(())
}

/// How calls were answered.
#[derive(Debug, Default)]
struct Kinds {
    done: usize,
    pending: usize,
}

impl Client {
    /// Calls a tool and counts how the answer came.
    fn tool(&self, json: &[u8], kinds: &mut Kinds) -> Result<Message> {
        let message = match bridge::call(self.session, self.mailbox, "session.tool", json, &[])
            .map_err(refused)?
        {
            CallOutcome::Pending(id) => {
                kinds.pending += 1;
                completion(self.mailbox, id)?
            }
            CallOutcome::Done(message) => {
                kinds.done += 1;
                message
            }
        };
        if message.status == 0 {
            return Ok(message);
        }
        Err(String::from_utf8_lossy(&message.payload)
            .into_owned()
            .into())
    }
}

fn open(target: u64, mailbox: u64, method: &str, arguments: &Value) -> Result<u64> {
    let outcome = bridge::call(
        target,
        mailbox,
        method,
        arguments.to_string().as_bytes(),
        &[],
    )
    .map_err(refused)?;
    let message = match outcome {
        CallOutcome::Done(message) => message,
        CallOutcome::Pending(id) => completion(mailbox, id)?,
    };
    let answer: Value = serde_json::from_slice(&message.payload)?;
    answer["handle"]
        .as_u64()
        .ok_or_else(|| format!("{method}: {answer}").into())
}

fn completion(mailbox: u64, id: u64) -> Result<Message> {
    match bridge::mailbox_next(mailbox, PATIENCE) {
        Next::Message(message) if message.id == id => Ok(message),
        _ => Err("no completion arrived".into()),
    }
}

fn refused(error: ErrorPayload) -> Box<dyn std::error::Error> {
    format!("{:?}: {}", error.code, error.message).into()
}
