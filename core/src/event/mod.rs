//! Events of a session: numbered without gaps, built only when somebody listens.
//!
//! This room knows nothing of who emits. An event belongs to a run or, for a direct call, to none; those of a run go
//! to its reader as well.

mod feed;

pub(crate) use feed::RunFeed;

use a3s_code_contract::{EventEnvelope, EventMetadata, EventVersion};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Listens to the events of a session, in order. Called on the thread that emits: it must not block.
pub trait EventObserver: Send + Sync {
    /// One event.
    fn observe(&self, event: &EventEnvelope);
}

/// Emits the events of one session.
pub(crate) struct EventBus {
    session_id: Arc<str>,
    observer: Option<Arc<dyn EventObserver>>,
    next: Mutex<u64>,
}

impl EventBus {
    pub(crate) fn new(session_id: Arc<str>, observer: Option<Arc<dyn EventObserver>>) -> Self {
        Self {
            session_id,
            observer,
            next: Mutex::new(0),
        }
    }

    /// Emits an event, of a run or of none; `payload` is built only when somebody listens.
    pub(crate) fn emit(
        &self,
        run: Option<&RunFeed>,
        event_type: &str,
        payload: impl FnOnce() -> Value,
    ) {
        let reader = run.filter(|run| run.has_reader());
        if self.observer.is_none() && reader.is_none() {
            return;
        }
        if reader.is_some_and(|reader| reader.leaves_out(event_type)) {
            return;
        }
        let payload = payload();
        // Held while observing: the numbers arrive in order.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let event = EventEnvelope {
            version: EventVersion,
            event_type: event_type.to_owned(),
            payload,
            metadata: EventMetadata {
                session_id: self.session_id.to_string(),
                run_id: run.map(|run| run.run_id().to_owned()),
                sequence: *next,
                timestamp_ms: now_ms(),
            },
        };
        if let Some(observer) = &self.observer {
            observer.observe(&event);
        }
        if let Some(reader) = reader {
            reader.push(event);
        }
        *next += 1;
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}
