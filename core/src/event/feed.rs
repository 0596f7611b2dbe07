//! The events of one run on their way to its reader.
//!
//! Invariants: what waits is bounded in number and bytes; pieces of output of a tool, which come again whole at its
//! end, are the only events that are left out when it is full; everything else is taken, and whoever makes events
//! at will waits for room first. The last event always arrives.

use a3s_code_contract::EventEnvelope;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Events that wait before a run has to wait.
const MOST_EVENTS: usize = 1024;
/// Bytes that wait before a run has to wait.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// What an event costs beside its payload.
const EVENT_BYTES: usize = 256;

/// One run, as its events name it.
pub(crate) struct RunFeed {
    run_id: String,
    /// None where nobody reads.
    queue: Option<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    added: Notify,
    taken: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<(EventEnvelope, usize)>,
    bytes: usize,
    ended: bool,
    abandoned: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.events.len() >= MOST_EVENTS || self.bytes >= MOST_BYTES
    }
}

impl RunFeed {
    /// A run whose events go to the session's observer alone.
    pub(crate) fn unread(run_id: String) -> Self {
        Self {
            run_id,
            queue: None,
        }
    }

    /// A run with a reader.
    pub(crate) fn read(run_id: String) -> Self {
        Self {
            run_id,
            queue: Some(Queue::default()),
        }
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Whether somebody reads.
    pub(super) fn has_reader(&self) -> bool {
        self.queue
            .as_ref()
            .is_some_and(|queue| !queue.lock().abandoned)
    }

    /// Whether an event of this type is left out now.
    pub(super) fn leaves_out(&self, event_type: &str) -> bool {
        event_type == "tool_output_delta"
            && self
                .queue
                .as_ref()
                .is_some_and(|queue| queue.lock().is_full())
    }

    pub(super) fn push(&self, event: EventEnvelope) {
        let Some(queue) = &self.queue else {
            return;
        };
        let bytes = EVENT_BYTES + size_of_value(&event.payload);
        let mut state = queue.lock();
        if !state.abandoned {
            state.bytes += bytes;
            state.events.push_back((event, bytes));
        }
        drop(state);
        queue.added.notify_one();
    }

    /// Waits while too many events wait for the reader.
    pub(crate) async fn room(&self) {
        let Some(queue) = &self.queue else {
            return;
        };
        loop {
            let taken = queue.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            {
                let state = queue.lock();
                if state.abandoned || !state.is_full() {
                    return;
                }
            }
            taken.await;
        }
    }

    /// Says that no event comes any more.
    pub(crate) fn end(&self) {
        if let Some(queue) = &self.queue {
            queue.lock().ended = true;
            queue.added.notify_one();
        }
    }

    /// Says that nobody reads any more: what waits is dropped, and nothing waits from now on.
    pub(crate) fn abandon(&self) {
        if let Some(queue) = &self.queue {
            let mut state = queue.lock();
            state.abandoned = true;
            state.events.clear();
            state.bytes = 0;
            drop(state);
            queue.taken.notify_waiters();
        }
    }

    /// An event that is there already.
    pub(crate) fn take_ready(&self) -> Option<EventEnvelope> {
        let queue = self.queue.as_ref()?;
        let mut state = queue.lock();
        let (event, bytes) = state.events.pop_front()?;
        state.bytes -= bytes;
        let room = !state.is_full();
        drop(state);
        if room {
            queue.taken.notify_waiters();
        }
        Some(event)
    }

    /// The next event; none after the last. One reader.
    pub(crate) async fn next(&self) -> Option<EventEnvelope> {
        let queue = self.queue.as_ref()?;
        loop {
            let added = queue.added.notified();
            if let Some(event) = self.take_ready() {
                return Some(event);
            }
            {
                let state = queue.lock();
                if state.events.is_empty() && (state.ended || state.abandoned) {
                    return None;
                }
            }
            added.await;
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes a value takes.
fn size_of_value(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 16 + size_of_value(item)).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| 32 + key.len() + size_of_value(member))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
