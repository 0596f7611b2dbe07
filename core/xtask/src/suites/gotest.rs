//! Tests of the Go binding, read from `go test -json`. Ids are `bindings-go/folder::TestName/case`.

use super::Report;
use crate::failure::{Result, fail};
use crate::languages;
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const FOLDER: &str = "bindings-go";

/// Formats, vets, then runs the tests.
pub(crate) fn run(layout: &Layout) -> Result<Report> {
    let unformatted = process::check(
        Command::new("gofmt")
            .args(["-l", "."])
            .current_dir(layout.path(FOLDER)),
    )?;
    if !unformatted.trim().is_empty() {
        return Ok(Report::broken(format!(
            "gofmt -w is needed for {}",
            unformatted.trim().replace('\n', ", ")
        )));
    }
    let vetted = process::capture(languages::go(layout, FOLDER, "vet")?.arg("./..."))?;
    if !vetted.success {
        return Ok(Report::broken(format!("go vet\n{}", vetted.tail(40))));
    }
    let module = process::stdout(
        Command::new("go")
            .args(["list", "-m"])
            .current_dir(layout.path(FOLDER)),
    )?;
    let mut tests = languages::go(layout, FOLDER, "test")?;
    tests.args(["-count=1", "-json", "./..."]);
    let outcome = process::capture_to(&mut tests, &layout.target("logs/go-test.log"))?;
    let (results, output) = read(module.trim(), &outcome.text)?;
    for line in output {
        print!("    {line}");
    }
    Ok(Report::new(results, &outcome))
}

/// The tests, and what the failed ones printed.
fn read(module: &str, text: &str) -> Result<(Vec<TestResult>, Vec<String>)> {
    let mut results = Vec::new();
    let mut printed: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut failures = Vec::new();
    for event in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        let package = event["Package"].as_str().unwrap_or_default();
        let folder = match package.strip_prefix(module) {
            Some(inside) => format!("{FOLDER}{inside}"),
            None if package.is_empty() => continue,
            None => {
                return Err(fail(format!(
                    "go tested {package}, which is not of {module}"
                )));
            }
        };
        let test = event["Test"].as_str().unwrap_or_default().to_owned();
        let key = (folder, test);
        let status = match event["Action"].as_str() {
            Some("pass") => Status::Passed,
            Some("fail") => Status::Failed,
            Some("skip") => Status::Skipped,
            Some("output") => {
                printed
                    .entry(key)
                    .or_default()
                    .push(event["Output"].as_str().unwrap_or_default().to_owned());
                continue;
            }
            _ => continue,
        };
        if status == Status::Failed {
            failures.extend(printed.remove(&key).unwrap_or_default());
        }
        if !key.1.is_empty() {
            results.push(TestResult::new(
                "go",
                "go",
                format!("{}::{}", key.0, key.1),
                status,
            ));
        }
    }
    Ok((results, failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_become_folders() {
        let text = r#"{"Action":"run","Package":"example.com/m","Test":"TestA"}
{"Action":"output","Package":"example.com/m","Test":"TestA","Output":"why\n"}
{"Action":"fail","Package":"example.com/m","Test":"TestA"}
{"Action":"pass","Package":"example.com/m/in","Test":"TestB/one"}
{"Action":"skip","Package":"example.com/m/in","Test":"TestC"}
{"Action":"pass","Package":"example.com/m/in"}
go: something
"#;
        let (results, failures) = read("example.com/m", text).unwrap();
        let found: Vec<_> = results
            .iter()
            .map(|result| (result.id.as_str(), result.status))
            .collect();
        assert_eq!(
            found,
            [
                ("bindings-go::TestA", Status::Failed),
                ("bindings-go/in::TestB/one", Status::Passed),
                ("bindings-go/in::TestC", Status::Skipped),
            ]
        );
        assert_eq!(failures, ["why\n"]);
    }
}
