//! `cargo xtask test`: all set-up and every test, one line a suite, everything counted at the end.
//!
//! A failure does not stop what comes after it, so that one run shows all that is wrong; only a missing program does.

use crate::cases;
use crate::checks;
use crate::failure::Result;
use crate::languages::{self, Language};
use crate::layout::Layout;
use crate::results::{self, Status};
use crate::suites::{self, Report};

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn check(&mut self, name: &str, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                println!("ok {name}");
                self.passed += 1;
            }
            Err(failure) => {
                println!("FAIL {name}: {failure}");
                self.failed += 1;
            }
        }
    }
}

/// Runs everything of `languages`; `quick` leaves out the checks of the repository, never a test.
pub(crate) fn run(layout: &Layout, languages: &[Language], quick: bool) -> Result<bool> {
    languages::check_toolchains(languages)?;
    let mut tally = Tally::default();
    for language in languages {
        results::forget(layout, language.name())?;
    }
    let mut ready = Vec::new();
    for (language, outcome) in languages::prepare(layout, languages) {
        if outcome.is_ok() {
            ready.push(language);
        }
        tally.check(&format!("set-up {}", language.name()), outcome);
    }
    if !quick && languages.contains(&Language::Rust) {
        for (name, check) in checks::ALL {
            tally.check(name, check(layout));
        }
    }
    for language in &ready {
        run_suites(layout, *language, &mut tally)?;
    }
    let cases = cases::run_default(layout, &ready)?;
    tally.passed += cases.passed;
    tally.failed += cases.failed;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(tally.failed == 0)
}

fn run_suites(layout: &Layout, language: Language, tally: &mut Tally) -> Result<()> {
    let name = language.name();
    let (suite, report) = match language {
        Language::Rust => ("cargo", suites::cargo(layout)),
        Language::Node => ("vitest", suites::vitest(layout)),
        Language::Python => ("pytest", suites::pytest(layout)),
        Language::Go => ("go", suites::gotest(layout)),
    };
    settle(layout, name, suite, report, tally)?;
    let example = suites::example(layout, language);
    settle(layout, name, "example", example, tally)
}

/// Stores what a suite gave, prints its failures and one line about it.
fn settle(
    layout: &Layout,
    language: &str,
    suite: &str,
    report: Result<Report>,
    tally: &mut Tally,
) -> Result<()> {
    let report = report.unwrap_or_else(|failure| Report::broken(failure.to_string()));
    let count = |status: Status| {
        report
            .results
            .iter()
            .filter(|result| result.status == status)
            .count()
    };
    let (passed, failed, skipped) = (
        count(Status::Passed),
        count(Status::Failed),
        count(Status::Skipped),
    );
    for result in report
        .results
        .iter()
        .filter(|result| result.status == Status::Failed)
    {
        println!("FAIL {} {language}", result.id);
    }
    tally.passed += passed;
    tally.failed += failed;
    if let Some(trouble) = &report.trouble {
        println!("FAIL {suite} {language}: {trouble}");
        tally.failed += 1;
    }
    let word = if failed == 0 && report.trouble.is_none() {
        "ok"
    } else {
        "failed:"
    };
    println!(
        "{word} {suite} {language}: {passed} tests passed, {failed} failed, {skipped} left out"
    );
    results::replace(layout, language, suite, report.results)
}
