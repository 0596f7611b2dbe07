//! Medians of samples taken in turn: a floor and what is measured against it see the same moments of the machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What can go wrong in a measurement.
pub(crate) type Failure = Box<dyn std::error::Error>;
/// Result of everything here.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Fewest samples of a median.
const FEWEST: usize = 11;
/// Most samples of a median.
const MOST: usize = 20_000;
/// Samples of one side before it is the other's turn, unless they take long.
const BLOCK: usize = 32;
/// A block ends after this time.
const BLOCK_TIME: Duration = Duration::from_millis(2);

/// How long a case may be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort(Duration);

impl Effort {
    /// The effort of a run.
    pub(crate) fn new(quick: bool) -> Self {
        Self(Duration::from_millis(if quick { 500 } else { 2_500 }))
    }
}

/// Times `work`; what it gives is dropped after the clock has stopped.
pub(crate) fn time<T, E: Into<Failure>>(
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<Duration> {
    let start = Instant::now();
    let outcome = work();
    let elapsed = start.elapsed();
    black_box(outcome.map_err(Into::into)?);
    Ok(elapsed)
}

/// Median of one case in milliseconds.
pub(crate) fn median(effort: Effort, mut sample: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let mut samples = Vec::new();
    warm(effort, &mut sample)?;
    let end = Instant::now() + effort.0;
    while samples.len() < FEWEST || (Instant::now() < end && samples.len() < MOST) {
        block(&mut sample, &mut samples)?;
    }
    Ok(middle(samples))
}

/// Medians of a floor and of what is measured against it, in milliseconds.
pub(crate) fn medians(
    effort: Effort,
    mut floor: impl FnMut() -> Result<Duration>,
    mut value: impl FnMut() -> Result<Duration>,
) -> Result<(f64, f64)> {
    let (mut floors, mut values) = (Vec::new(), Vec::new());
    warm(effort, &mut floor)?;
    warm(effort, &mut value)?;
    let end = Instant::now() + effort.0;
    while values.len() < FEWEST || (Instant::now() < end && values.len() < MOST) {
        block(&mut floor, &mut floors)?;
        block(&mut value, &mut values)?;
    }
    Ok((middle(floors), middle(values)))
}

fn warm(effort: Effort, sample: &mut impl FnMut() -> Result<Duration>) -> Result<()> {
    let end = Instant::now() + effort.0 / 10;
    for at in 0..1_000 {
        if at >= 3 && Instant::now() >= end {
            break;
        }
        sample()?;
    }
    Ok(())
}

fn block(sample: &mut impl FnMut() -> Result<Duration>, into: &mut Vec<Duration>) -> Result<()> {
    let end = Instant::now() + BLOCK_TIME;
    for _ in 0..BLOCK {
        into.push(sample()?);
        if Instant::now() >= end {
            break;
        }
    }
    Ok(())
}

fn middle(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples
        .get(samples.len() / 2)
        .map_or(f64::NAN, |sample| sample.as_secs_f64() * 1e3)
}
