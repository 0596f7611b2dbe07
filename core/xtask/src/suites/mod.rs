//! Test suites of the languages: each runs one foreign test runner and reads what it reports.

mod cargo;
mod example;
mod gotest;
mod pytest;
mod vitest;

pub(crate) use cargo::run as cargo;
pub(crate) use example::run as example;
pub(crate) use gotest::run as gotest;
pub(crate) use pytest::run as pytest;
pub(crate) use vitest::run as vitest;

use crate::process::Outcome;
use crate::results::{Status, TestResult};

/// What a suite gave.
#[derive(Debug)]
pub(crate) struct Report {
    /// Its tests.
    pub(crate) results: Vec<TestResult>,
    /// A failure that is no test's: it did not build, did not start, or ran nothing.
    pub(crate) trouble: Option<String>,
}

impl Report {
    /// A suite of which nothing ran.
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self {
            results: Vec::new(),
            trouble: Some(what.into()),
        }
    }

    /// Tests and the end of the process that ran them: one that fails without a failed test is trouble.
    fn new(results: Vec<TestResult>, outcome: &Outcome) -> Self {
        let failed = results.iter().any(|result| result.status == Status::Failed);
        let trouble = if results.is_empty() {
            Some(format!(
                "no test ran; it ended with {}\n{}",
                outcome.status,
                outcome.tail(40)
            ))
        } else if !outcome.success && !failed {
            Some(format!(
                "it ended with {}\n{}",
                outcome.status,
                outcome.tail(40)
            ))
        } else {
            None
        };
        Self { results, trouble }
    }
}
