//! What a provider wants back with a later request and a transcript has no place for: signed thoughts, signatures
//! of calls. Kept by the id of a call, bounded, oldest out first; what is lost is never an error.

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Most answers that are remembered.
const MOST_ENTRIES: usize = 512;
/// Most bytes of all of them.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Values by id.
#[derive(Debug, Default)]
pub(super) struct Memo(Mutex<State>);

#[derive(Default)]
struct State {
    values: BTreeMap<String, (Value, usize)>,
    order: VecDeque<String>,
    bytes: usize,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("State")
            .field("entries", &self.values.len())
            .field("bytes", &self.bytes)
            .finish()
    }
}

impl Memo {
    pub(super) fn keep(&self, id: &str, value: Value) {
        let size = value.to_string().len() + id.len();
        if size > MOST_BYTES {
            return;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = state.values.insert(id.to_owned(), (value, size)) {
            state.bytes -= old;
        } else {
            state.order.push_back(id.to_owned());
        }
        state.bytes += size;
        while state.bytes > MOST_BYTES || state.values.len() > MOST_ENTRIES {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            if let Some((_, old)) = state.values.remove(&oldest) {
                state.bytes -= old;
            }
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Value> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.values.get(id).map(|(value, _)| value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_the_count_is_bounded() {
        let memo = Memo::default();
        for n in 0..MOST_ENTRIES + 3 {
            memo.keep(&format!("id-{n}"), Value::from(n));
        }
        memo.keep("id-9", Value::from("again"));
        assert_eq!(memo.get("id-2"), None);
        assert_eq!(memo.get("id-3"), Some(Value::from(3)));
        assert_eq!(memo.get("id-9"), Some(Value::from("again")));
        let large = "x".repeat(MOST_BYTES - 100);
        memo.keep("large", Value::from(large));
        assert!(memo.get("large").is_some());
        let state = memo.0.lock().unwrap();
        assert!(state.bytes <= MOST_BYTES && state.values.len() < 20);
    }
}
