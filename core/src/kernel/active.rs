//! The calls that are running now.

use crate::event::now_ms;
use a3s_code_contract::ActiveTool;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The calls of one session that are running, oldest first.
#[derive(Clone, Default)]
pub(crate) struct ActiveCalls {
    calls: Arc<Mutex<Calls>>,
    idle: Arc<Notify>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    running: BTreeMap<u64, ActiveTool>,
}

/// A call in the list; taken off when dropped.
pub(crate) struct Listed {
    calls: ActiveCalls,
    number: u64,
}

impl ActiveCalls {
    /// Puts a call on the list.
    pub(crate) fn begin(&self, id: &str, name: &str) -> Listed {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.next;
        calls.next += 1;
        calls.running.insert(
            number,
            ActiveTool {
                id: id.to_owned(),
                name: name.to_owned(),
                started_at_ms: now_ms(),
            },
        );
        Listed {
            calls: self.clone(),
            number,
        }
    }

    /// The calls that are running.
    pub(crate) fn list(&self) -> Vec<ActiveTool> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.running.values().cloned().collect()
    }

    /// Waits until no call is running.
    pub(crate) async fn settled(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.is_idle() {
                return;
            }
            idle.await;
        }
    }

    fn is_idle(&self) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.running.is_empty()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut calls = self
            .calls
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.running.remove(&self.number);
        if calls.running.is_empty() {
            self.calls.idle.notify_waiters();
        }
    }
}
