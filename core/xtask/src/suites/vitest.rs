//! Tests of the Node binding, read from vitest's JSON report. Ids are `bindings-node/test/a.test.ts::group > title`.

use super::Report;
use crate::failure::{AtPath, Result, fail};
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Checks the types of package and tests, then runs the tests.
pub(crate) fn run(layout: &Layout) -> Result<Report> {
    let folder = layout.path("bindings-node");
    let tsc = folder.join("node_modules/.bin/tsc");
    let types = match folder.join("tsconfig.test.json").exists() {
        true => "tsconfig.test.json",
        false => "tsconfig.json",
    };
    let checked = process::capture(
        Command::new(&tsc)
            .args(["--strict", "--noEmit", "-p", types])
            .current_dir(&folder),
    )?;
    if !checked.success {
        return Ok(Report::broken(format!(
            "tsc --strict -p {types}\n{}",
            checked.tail(40)
        )));
    }
    let report = layout.target("logs/vitest.json");
    if report.exists() {
        std::fs::remove_file(&report).at(&report)?;
    }
    let mut vitest = Command::new(folder.join("node_modules/.bin/vitest"));
    vitest
        .args(["run", "--reporter=default", "--reporter=json"])
        .arg(format!("--outputFile.json={}", report.display()));
    vitest
        .current_dir(&folder)
        .env("CI", "1")
        .env("NO_COLOR", "1");
    let outcome = process::capture_to(&mut vitest, &layout.target("logs/vitest.log"))?;
    if !report.exists() {
        return Ok(Report::broken(format!(
            "vitest left no report\n{}",
            outcome.tail(60)
        )));
    }
    let text = std::fs::read_to_string(&report).at(&report)?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| fail(format!("{}: {error}", report.display())))?;
    let (results, failures) = read(layout.root(), &document);
    for failure in failures {
        println!("    {failure}");
    }
    Ok(Report::new(results, &outcome))
}

/// The tests, and what the failed ones said.
fn read(root: &Path, document: &Value) -> (Vec<TestResult>, Vec<String>) {
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for file in document["testResults"].as_array().into_iter().flatten() {
        let path = Path::new(file["name"].as_str().unwrap_or_default());
        let name = path
            .strip_prefix(root)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned();
        let tests = file["assertionResults"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        for test in tests {
            let mut titles: Vec<&str> = test["ancestorTitles"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            titles.push(test["title"].as_str().unwrap_or_default());
            let id = format!("{name}::{}", titles.join(" > "));
            let status = match test["status"].as_str() {
                Some("passed") => Status::Passed,
                Some("failed") => Status::Failed,
                _ => Status::Skipped,
            };
            if status == Status::Failed {
                for message in test["failureMessages"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                {
                    failures.push(format!("{id}: {message}"));
                }
            }
            results.push(TestResult::new("node", "vitest", id, status));
        }
        if file["status"] == "failed" && tests.is_empty() {
            failures.push(format!(
                "{name}: {}",
                file["message"].as_str().unwrap_or_default()
            ));
            results.push(TestResult::new(
                "node",
                "vitest",
                format!("{name}::(file)"),
                Status::Failed,
            ));
        }
    }
    (results, failures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn titles_are_joined_and_a_file_that_does_not_load_fails() {
        let document = json!({"testResults": [
            {"name": "/r/b/a.test.ts", "status": "failed", "assertionResults": [
                {"ancestorTitles": ["g"], "title": "t", "status": "passed"},
                {"ancestorTitles": [], "title": "u", "status": "failed", "failureMessages": ["why"]},
                {"ancestorTitles": [], "title": "v", "status": "todo"},
            ]},
            {"name": "/r/b/c.test.ts", "status": "failed", "message": "no", "assertionResults": []},
        ]});
        let (results, failures) = read(Path::new("/r"), &document);
        let found: Vec<_> = results
            .iter()
            .map(|result| (result.id.as_str(), result.status))
            .collect();
        assert_eq!(
            found,
            [
                ("b/a.test.ts::g > t", Status::Passed),
                ("b/a.test.ts::u", Status::Failed),
                ("b/a.test.ts::v", Status::Skipped),
                ("b/c.test.ts::(file)", Status::Failed),
            ]
        );
        assert_eq!(failures, ["b/a.test.ts::u: why", "b/c.test.ts: no"]);
    }
}
