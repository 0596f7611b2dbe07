//! Round trip between two threads that wake each other through a futex: the kernel's own price of waiting twice.
//!
//! Each thread has a processor of its own where there are two. Left alone, the scheduler puts a strict alternation on
//! one processor, where waking costs a switch and no idle processor is woken; a caller and a pool of threads that also
//! serve others are not that lucky.

use crate::sample::{Effort, Result, median};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

const STOP: usize = usize::MAX;

/// Median round trip in milliseconds.
pub(crate) fn round_trip(effort: Effort) -> Result<f64> {
    let allowed = sched_getaffinity(None)?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
    let here = processors.next().ok_or("no processor is allowed")?;
    let there = processors.next().unwrap_or(here);
    // On a thread of its own, so that the caller stays where it may run.
    thread::scope(|scope| {
        scope
            .spawn(|| ask(effort, here, there).map_err(|failure| failure.to_string()))
            .join()
            .map_err(|_| "a thread of the ping-pong died")?
            .map_err(Into::into)
    })
}

fn ask(effort: Effort, here: usize, there: usize) -> Result<f64> {
    pin(here)?;
    let turn = Arc::new(AtomicUsize::new(0));
    let asker = thread::current();
    let other = {
        let turn = Arc::clone(&turn);
        thread::spawn(move || {
            let outcome = pin(there)
                .map(|()| answer(&turn, &asker))
                .map_err(|failure| failure.to_string());
            // Also when it never began: the asker must not park for ever.
            turn.store(STOP, Ordering::Release);
            asker.unpark();
            outcome
        })
    };
    let mut asked = 0;
    let value = median(effort, || {
        let start = Instant::now();
        turn.store(asked + 1, Ordering::Release);
        other.thread().unpark();
        loop {
            match turn.load(Ordering::Acquire) {
                STOP => return Err("the other thread of the ping-pong ended".into()),
                answered if answered == asked + 2 => break,
                _ => thread::park(),
            }
        }
        asked += 2;
        Ok(start.elapsed())
    });
    turn.store(STOP, Ordering::Release);
    other.thread().unpark();
    other
        .join()
        .map_err(|_| "the other thread of the ping-pong died")??;
    value
}

fn answer(turn: &AtomicUsize, asker: &Thread) {
    let mut answered = 0;
    loop {
        match turn.load(Ordering::Acquire) {
            STOP => return,
            asked if asked == answered + 1 => {
                answered += 2;
                turn.store(answered, Ordering::Release);
                asker.unpark();
            }
            _ => thread::park(),
        }
    }
}

fn pin(processor: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(processor);
    Ok(sched_setaffinity(None, &set)?)
}
