//! `cargo xtask cases`: the one comparator of the conformance cases, for every language.
//!
//! A language supplies a driver (tests/conformance/DRIVER.md) that runs steps and reports; everything else, from the
//! files of a case to the verdict, is here.

mod case;
mod check;
mod content;
mod driver;
mod evidence;
mod forms;
mod run;
mod stage;
mod survivors;
mod variables;

use crate::arguments::Arguments;
use crate::failure::{AtPath, Result, fail};
use crate::languages::{self, Language};
use crate::layout::Layout;
use crate::results::{self, Status, TestResult};
use case::Case;
use driver::Driver;
use run::Verdict;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const DEFAULT_FOLDER: &str = "tests/conformance/cases";
const STEP_LIMIT: Duration = Duration::from_secs(60);
const PENDING_LIMIT: Duration = Duration::from_secs(10);

/// How many passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Passed.
    pub(crate) passed: usize,
    /// Failed.
    pub(crate) failed: usize,
}

/// What to run.
struct Plan {
    cases: Vec<Case>,
    pending: BTreeMap<String, String>,
    suite: String,
    whole: bool,
    /// Whether they are the project's own, whose claims are counted.
    own: bool,
}

/// The verb.
pub(crate) fn run(layout: &Layout, arguments: &Arguments) -> Result<bool> {
    let languages = arguments.languages()?;
    let mut plan = plan(layout, arguments.positional())?;
    if let Some(only) = arguments.value("only") {
        plan.cases.retain(|case| case.id == only);
        plan.whole = false;
        if plan.cases.is_empty() {
            return Err(fail(format!("there is no case {only}")));
        }
    }
    let tally = run_plan(layout, &plan, &languages)?;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(tally.failed == 0)
}

/// The project's own cases, without the closing line.
pub(crate) fn run_default(layout: &Layout, languages: &[Language]) -> Result<Tally> {
    run_plan(layout, &plan(layout, &[])?, languages)
}

/// Claims of the project's own cases, by case id.
pub(crate) fn claims_by_case(layout: &Layout) -> Result<BTreeMap<String, Vec<String>>> {
    let cases = case::load(&[layout.path(DEFAULT_FOLDER)])?;
    Ok(cases
        .into_iter()
        .map(|case| (case.id, case.claims))
        .collect())
}

fn plan(layout: &Layout, folders: &[String]) -> Result<Plan> {
    let default = layout.path(DEFAULT_FOLDER);
    if folders.is_empty() {
        return Ok(Plan {
            cases: case::load(&[default])?,
            pending: pending(layout)?,
            suite: "cases".to_owned(),
            whole: true,
            own: true,
        });
    }
    let paths: Vec<PathBuf> = folders
        .iter()
        .map(|folder| layout.root().join(folder))
        .collect();
    let ours = default.canonicalize().at(&default)?;
    let own_copy = paths.iter().all(|path| {
        path.canonicalize()
            .is_ok_and(|path| path.starts_with(&ours))
    });
    Ok(Plan {
        cases: case::load(&paths)?,
        pending: if own_copy {
            pending(layout)?
        } else {
            BTreeMap::new()
        },
        // Only a whole run of the project's own cases may replace what the claims rest on.
        suite: format!("cases {}", folders.join(" ")),
        whole: !own_copy,
        own: own_copy,
    })
}

fn pending(layout: &Layout) -> Result<BTreeMap<String, String>> {
    let path = layout.path("tests/conformance/pending.json");
    let text = std::fs::read_to_string(&path).at(&path)?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| fail(format!("{}: {error}", path.display())))?;
    let fields = document
        .as_object()
        .ok_or_else(|| fail(format!("{}: not an object", path.display())))?;
    fields
        .iter()
        .map(|(id, reason)| match reason.as_str() {
            Some(reason) if !reason.is_empty() => Ok((id.clone(), reason.to_owned())),
            _ => Err(fail(format!("{}: {id} has no reason", path.display()))),
        })
        .collect()
}

fn run_plan(layout: &Layout, plan: &Plan, languages: &[Language]) -> Result<Tally> {
    let mut tally = Tally::default();
    if plan.whole
        && let Some(id) = plan
            .pending
            .keys()
            .find(|id| !plan.cases.iter().any(|case| &case.id == *id))
    {
        println!("FAIL {id} all: pending.json names a case that does not exist");
        tally.failed += 1;
    }
    let prepared = languages::prepare(layout, languages);
    for (language, ready) in prepared {
        let outcome = ready.and_then(|()| run_language(layout, plan, language, &mut tally));
        if let Err(failure) = outcome {
            println!("FAIL * {}: {failure}", language.name());
            tally.failed += 1;
            if plan.whole {
                results::replace(layout, language.name(), &plan.suite, Vec::new())?;
            }
        }
    }
    Ok(tally)
}

fn run_language(layout: &Layout, plan: &Plan, language: Language, tally: &mut Tally) -> Result<()> {
    let name = language.name();
    let log = layout.target(&format!("conformance/{name}.log"));
    if log.exists() {
        std::fs::remove_file(&log).at(&log)?;
    }
    let start = || Driver::start(language.driver(layout), name, &log);
    let mut driver = Some(start()?);
    let mut rows = Vec::new();
    for case in &plan.cases {
        if !case.languages.is_empty() && !case.languages.iter().any(|one| one == name) {
            println!("skip {} {name}: the case names other languages", case.id);
            continue;
        }
        let mut current = match driver.take() {
            Some(running) => running,
            None => start()?,
        };
        let reason = plan.pending.get(&case.id);
        let (limit, cap) = match reason {
            Some(_) => (PENDING_LIMIT, Some(PENDING_LIMIT)),
            None => (STEP_LIMIT, None),
        };
        let home = std::env::temp_dir().join(format!(
            "a3s-case-{}-{name}-{}",
            std::process::id(),
            case.id
        ));
        let mut report = run::run(case, &mut current, home, limit, cap);
        if plan.own && report.saw_nothing && report.verdict == Verdict::Passed {
            // A refusal of an unknown tool can look like the refusal that a case expects; it proves no claim.
            report.verdict =
                Verdict::Failed("no tool that it calls is there: nothing was tested".to_owned());
        }
        if report.driver_usable {
            driver = Some(current);
        }
        let status = announce(
            &case.id,
            name,
            report.verdict,
            reason.map(String::as_str),
            tally,
        );
        rows.push(TestResult::new(name, &plan.suite, case.id.clone(), status));
    }
    if let Some(driver) = driver
        && let Err(difference) = driver.finish()
    {
        println!("FAIL * {name}: {difference}");
        tally.failed += 1;
    }
    if plan.whole {
        results::replace(layout, name, &plan.suite, rows)?;
    }
    Ok(())
}

fn announce(
    id: &str,
    language: &str,
    verdict: Verdict,
    pending: Option<&str>,
    tally: &mut Tally,
) -> Status {
    match (verdict, pending) {
        (Verdict::Passed, None) => {
            println!("ok {id} {language}");
            tally.passed += 1;
            Status::Passed
        }
        (Verdict::Passed, Some(_)) => {
            println!("FAIL {id} {language}: pending case passes: remove it from pending.json");
            tally.failed += 1;
            Status::Failed
        }
        (Verdict::Failed(difference), None) => {
            println!("FAIL {id} {language}: {}", one_line(&difference));
            tally.failed += 1;
            Status::Failed
        }
        (Verdict::Failed(_), Some(reason)) => {
            println!("skip {id} {language}: pending: {reason}");
            Status::Skipped
        }
        (Verdict::Skipped(why), _) => {
            println!("skip {id} {language}: {}", one_line(&why));
            Status::Skipped
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}
