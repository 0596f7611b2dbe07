//! Handles: a slot and a generation in one integer below 2^53. A handle that was released never names
//! something else.

use std::sync::{PoisonError, RwLock};

const SLOT_BITS: u32 = 24;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// Generations of one slot before it is retired.
const GENERATION_BITS: u32 = 20;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

/// Objects by handle. `epoch` tells handles of this process from those of the process it was forked from.
pub(crate) struct Table<T> {
    epoch: u8,
    slots: RwLock<Slots<T>>,
}

struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    object: Option<T>,
}

/// Why a handle names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Released, or never made.
    Closed,
    /// Made by the process this one was forked from.
    Forked,
}

impl<T: Clone> Table<T> {
    pub(crate) fn new(epoch: u8) -> Self {
        Self {
            epoch,
            slots: RwLock::new(Slots {
                slots: Vec::new(),
                free: Vec::new(),
            }),
        }
    }

    /// Puts an object in; `None` when there are 16 million already.
    pub(crate) fn insert(&self, object: T) -> Option<u64> {
        let mut table = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let index = match table.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(table.slots.len()).ok()?;
                if u64::from(index) >= SLOT_MASK {
                    return None;
                }
                table.slots.push(Slot {
                    generation: 0,
                    object: None,
                });
                index
            }
        };
        let slot = &mut table.slots[index as usize];
        slot.object = Some(object);
        Some(self.encode(index, slot.generation))
    }

    pub(crate) fn get(&self, handle: u64) -> Result<T, Missing> {
        let (index, generation) = self.decode(handle)?;
        let table = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        match table.slots.get(index as usize) {
            Some(slot) if slot.generation == generation => {
                slot.object.clone().ok_or(Missing::Closed)
            }
            _ => Err(Missing::Closed),
        }
    }

    /// Takes an object out; its handle names nothing from now on.
    pub(crate) fn remove(&self, handle: u64) -> Option<T> {
        let (index, generation) = self.decode(handle).ok()?;
        let mut table = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = table.slots.get_mut(index as usize)?;
        if slot.generation != generation {
            return None;
        }
        let object = slot.object.take()?;
        slot.generation += 1;
        if slot.generation < GENERATION_MASK {
            table.free.push(index);
        }
        Some(object)
    }

    pub(crate) fn for_each(&self, mut visit: impl FnMut(&T)) {
        let table = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        table
            .slots
            .iter()
            .filter_map(|slot| slot.object.as_ref())
            .for_each(&mut visit);
    }

    fn encode(&self, index: u32, generation: u32) -> u64 {
        let generation = (u64::from(self.epoch) << GENERATION_BITS) | u64::from(generation);
        (generation << SLOT_BITS) | (u64::from(index) + 1)
    }

    fn decode(&self, handle: u64) -> Result<(u32, u32), Missing> {
        let slot = handle & SLOT_MASK;
        let generation = handle >> SLOT_BITS;
        if slot == 0 || generation >> (GENERATION_BITS + 8) != 0 {
            return Err(Missing::Closed);
        }
        if generation >> GENERATION_BITS != u64::from(self.epoch) {
            return Err(Missing::Forked);
        }
        let index = u32::try_from(slot - 1).map_err(|_| Missing::Closed)?;
        let generation =
            u32::try_from(generation & u64::from(GENERATION_MASK)).map_err(|_| Missing::Closed)?;
        Ok((index, generation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_handle_never_names_something_else() {
        let table = Table::new(0);
        let first = table.insert("first").unwrap();
        assert_eq!(table.get(first), Ok("first"));
        assert_eq!(table.remove(first), Some("first"));
        assert_eq!(table.remove(first), None);
        let second = table.insert("second").unwrap();
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(Missing::Closed));
        assert!(second < 1 << 53);
    }

    #[test]
    fn handles_of_the_process_before_a_fork_are_told_apart() {
        let before = Table::new(0).insert(()).unwrap();
        assert_eq!(Table::<()>::new(1).get(before), Err(Missing::Forked));
        for garbage in [0, 1 << 24, u64::MAX, 1 << 53] {
            assert!(Table::<()>::new(0).get(garbage).is_err());
        }
    }
}
