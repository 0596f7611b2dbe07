//! The commands of a session that are alive, and those that left something running.
//!
//! An entry is made before a command starts and removed by the thread that watches it, when its last process has
//! ended. Closing the ledger stops them all and lets no more in.

use super::run::Control;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The commands of one session. A clone is the same ledger.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    closed: bool,
    next: u64,
    live: BTreeMap<u64, Arc<Control>>,
}

impl Ledger {
    /// Enters a command; none when the ledger is closed.
    pub(super) fn enter(&self, control: &Arc<Control>) -> Option<Entry> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        let id = state.next;
        state.next += 1;
        state.live.insert(id, Arc::clone(control));
        Some(Entry {
            ledger: self.clone(),
            id,
        })
    }

    /// Stops every command and lets no more in. Does not wait.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for control in state.live.values() {
            control.stop();
        }
    }

    /// Waits until no command is left. The caller bounds the wait.
    pub(crate) async fn emptied(&self) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.lock().live.is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One command's place in the ledger, given up when dropped.
pub(super) struct Entry {
    ledger: Ledger,
    id: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ledger.lock().live.remove(&self.id);
        self.ledger.shared.changed.notify_waiters();
    }
}
