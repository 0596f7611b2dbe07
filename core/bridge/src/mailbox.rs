//! Where messages wait for the application. Pushing never blocks; one drain may take many.

use crate::message::{Message, Next};
use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wakes the application's loop. May only signal; called at most once between drains.
pub type Notify = Box<dyn Fn() + Send + Sync>;

/// A queue of messages with one reader and any number of writers. Bounded by the open operations and host
/// calls that report to it.
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    arrived: Condvar,
    notify: Option<Notify>,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Message>,
    operations: HashSet<u64>,
    notified: bool,
    closed: bool,
}

impl Mailbox {
    pub(crate) fn new(notify: Option<Notify>) -> Self {
        Self {
            inner: Mutex::default(),
            arrived: Condvar::new(),
            notify,
        }
    }

    /// Puts a message in; false when the mailbox is closed.
    pub(crate) fn push(&self, message: Message) -> bool {
        let mut inner = self.lock();
        if inner.closed {
            return false;
        }
        inner.queue.push_back(message);
        let wake = self.notify.is_some() && !std::mem::replace(&mut inner.notified, true);
        drop(inner);
        self.arrived.notify_one();
        if wake && let Some(notify) = &self.notify {
            notify();
        }
        true
    }

    /// Takes the next message, waiting at most `timeout`.
    pub(crate) fn next(&self, timeout: Duration) -> Next {
        let until = (!timeout.is_zero()).then(|| Instant::now().checked_add(timeout));
        let mut inner = self.lock();
        loop {
            if let Some(message) = inner.queue.pop_front() {
                return Next::Message(message);
            }
            // Drained: the next message wakes the loop again.
            inner.notified = false;
            if inner.closed {
                return Next::Closed;
            }
            let Some(until) = until else {
                return Next::Timeout;
            };
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return Next::Timeout;
            }
            inner = self
                .arrived
                .wait_timeout(inner, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// True when nothing waits, so that an answer at once overtakes nothing.
    pub(crate) fn is_drained(&self) -> bool {
        let inner = self.lock();
        inner.queue.is_empty() && !inner.closed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// An operation will report here.
    pub(crate) fn expect(&self, operation: u64) {
        self.lock().operations.insert(operation);
    }

    /// An operation has reported.
    pub(crate) fn forget(&self, operation: u64) {
        self.lock().operations.remove(&operation);
    }

    /// Closes it; returns the operations that were to report here.
    pub(crate) fn close(&self) -> Vec<u64> {
        let mut inner = self.lock();
        inner.closed = true;
        inner.queue.clear();
        let operations = inner.operations.drain().collect();
        drop(inner);
        self.arrived.notify_all();
        if let Some(notify) = &self.notify {
            notify();
        }
        operations
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
