//! Tests of the workspace: unit, integration and doc tests, read from what `cargo test` prints.
//!
//! Ids are `core/src/lib.rs::module::name`: the root file of the tested program, then the path of the test in it.

use super::Report;
use crate::failure::{Result, fail};
use crate::languages;
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const SUITE: &str = "cargo";

/// Runs them all; what they print is kept in `target/logs/cargo-test.log`.
pub(crate) fn run(layout: &Layout) -> Result<Report> {
    let log = layout.target("logs/cargo-build-tests.log");
    let mut build = languages::cargo(layout, "test");
    build.args([
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    let outcome = process::capture_to(&mut build, &log)?;
    if !outcome.success {
        return Ok(Report::broken(format!(
            "the tests do not build\n{}",
            without_json(&outcome.tail(80))
        )));
    }
    let programs = programs(layout, &outcome.text);
    let mut tests = languages::cargo(layout, "test");
    tests.args(["--workspace", "--no-fail-fast"]);
    let outcome = process::capture_to(&mut tests, &layout.target("logs/cargo-test.log"))?;
    let mut report = Report::new(read(layout.root(), &programs, &outcome.text)?, &outcome);
    if report.trouble.is_none()
        && report
            .results
            .iter()
            .any(|result| result.status == Status::Failed)
    {
        print_failures(&outcome.text);
    }
    if let Some(trouble) = &mut report.trouble {
        trouble.push_str("\nsee target/logs/cargo-test.log");
    }
    Ok(report)
}

fn without_json(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with('{'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What failed tests printed, between `failures:` and the list of their names.
fn print_failures(text: &str) {
    let mut inside = false;
    for line in text.lines() {
        inside = (inside || line.starts_with("---- ")) && line != "failures:";
        if inside {
            println!("    {line}");
        }
    }
}

/// Test programs and the root file of each, relative to the repository.
fn programs(layout: &Layout, text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for message in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        if let (Some(program), Some(source)) = (
            message["executable"].as_str(),
            message["target"]["src_path"].as_str(),
        ) {
            found.insert(program.to_owned(), layout.relative(Path::new(source)));
        }
    }
    found
}

fn read(root: &Path, programs: &BTreeMap<String, String>, text: &str) -> Result<Vec<TestResult>> {
    let mut source = String::new();
    let mut docs = false;
    let mut results = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(header) = trimmed
            .strip_prefix("Running ")
            .filter(|header| header.ends_with(')'))
        {
            let program = header
                .rsplit_once('(')
                .map_or("", |(_, program)| program.trim_end_matches(')'));
            let program = root.join(program).to_string_lossy().into_owned();
            docs = false;
            source = programs
                .get(&program)
                .cloned()
                .ok_or_else(|| fail(format!("cargo ran {program}, which it did not build")))?;
        } else if trimmed.starts_with("Doc-tests ") {
            docs = true;
        } else if let Some((name, status)) = test_line(line) {
            let id = if docs {
                format!("doc::{name}")
            } else {
                format!("{source}::{name}")
            };
            results.push(TestResult::new("rust", SUITE, id, status));
        }
    }
    Ok(results)
}

/// `test a::b ... ok`; what a test prints itself may stand between.
fn test_line(line: &str) -> Option<(&str, Status)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let status = if rest.ends_with("ok") {
        Status::Passed
    } else if rest.contains("FAILED") {
        Status::Failed
    } else if rest.starts_with("ignored") {
        Status::Skipped
    } else {
        return None;
    };
    Some((name.strip_suffix(" - should panic").unwrap_or(name), status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_give_the_tests_their_place() {
        let programs = BTreeMap::from([
            (
                "/r/target/debug/deps/core-1".to_owned(),
                "core/src/lib.rs".to_owned(),
            ),
            (
                "/r/target/debug/deps/it-2".to_owned(),
                "core/tests/it.rs".to_owned(),
            ),
        ]);
        let text = "   Compiling x\n     Running unittests src/lib.rs (target/debug/deps/core-1)\n\nrunning 2 tests\ntest a::b ... ok\ntest a::c - should panic ... FAILED\ntest a::d ... ignored, slow\n     Running tests/it.rs (target/debug/deps/it-2)\ntest x ... ok\n   Doc-tests core\ntest core/src/lib.rs - f (line 3) ... ok\ntest result: ok. 1 passed\n";
        let found: Vec<_> = read(Path::new("/r"), &programs, text)
            .unwrap()
            .into_iter()
            .map(|result| (result.id, result.status))
            .collect();
        assert_eq!(
            found,
            [
                ("core/src/lib.rs::a::b".to_owned(), Status::Passed),
                ("core/src/lib.rs::a::c".to_owned(), Status::Failed),
                ("core/src/lib.rs::a::d".to_owned(), Status::Skipped),
                ("core/tests/it.rs::x".to_owned(), Status::Passed),
                (
                    "doc::core/src/lib.rs - f (line 3)".to_owned(),
                    Status::Passed
                ),
            ]
        );
        assert!(read(Path::new("/r"), &BTreeMap::new(), text).is_err());
    }
}
