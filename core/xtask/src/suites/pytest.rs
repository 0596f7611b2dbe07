//! Tests of the Python binding, read from pytest's JUnit report. Ids are `bindings-python/tests/test_a.py::test_name`.

use super::Report;
use crate::failure::{AtPath, Result, fail};
use crate::languages;
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};
use regex::Regex;

const FOLDER: &str = "bindings-python";

/// Checks the types, then runs the tests.
pub(crate) fn run(layout: &Layout) -> Result<Report> {
    let folder = layout.path(FOLDER);
    let mut mypy = languages::python(layout);
    mypy.args(["-m", "mypy", "--strict"])
        .current_dir(&folder)
        .env_remove("PYTHONPATH");
    let checked = process::capture(&mut mypy)?;
    if !checked.success {
        return Ok(Report::broken(format!(
            "mypy --strict\n{}",
            checked.tail(40)
        )));
    }
    let report = layout.target("logs/pytest.xml");
    if report.exists() {
        std::fs::remove_file(&report).at(&report)?;
    }
    let mut pytest = languages::python(layout);
    pytest
        .args(["-m", "pytest", "-o", "junit_family=xunit1"])
        .arg(format!("--junitxml={}", report.display()));
    pytest.current_dir(&folder).env("NO_COLOR", "1");
    let outcome = process::capture_to(&mut pytest, &layout.target("logs/pytest.log"))?;
    if !report.exists() {
        return Ok(Report::broken(format!(
            "pytest left no report\n{}",
            outcome.tail(60)
        )));
    }
    let text = std::fs::read_to_string(&report).at(&report)?;
    let results = read(FOLDER, &text)?;
    if results.iter().any(|result| result.status == Status::Failed) {
        println!("{}", outcome.tail(80));
    }
    Ok(Report::new(results, &outcome))
}

fn read(folder: &str, xml: &str) -> Result<Vec<TestResult>> {
    let regex = |pattern: &str| Regex::new(pattern).map_err(|error| fail(error.to_string()));
    let case = regex(r#"(?s)<testcase ([^>]*?)(?:/>|>(.*?)</testcase>)"#)?;
    let attribute = regex(r#"(\w+)="([^"]*)""#)?;
    let mut results = Vec::new();
    for captures in case.captures_iter(xml) {
        let mut name = String::new();
        let mut file = String::new();
        let mut class = String::new();
        for pair in attribute.captures_iter(&captures[1]) {
            let value = unescape(&pair[2]);
            match &pair[1] {
                "name" => name = value,
                "file" => file = value,
                "classname" => class = value,
                _ => {}
            }
        }
        let body = captures.get(2).map_or("", |body| body.as_str());
        let status = if body.contains("<failure") || body.contains("<error") {
            Status::Failed
        } else if body.contains("<skipped") {
            Status::Skipped
        } else {
            Status::Passed
        };
        // `tests.test_a.TestGroup`: what follows the module is the class of the test.
        let module = file.trim_end_matches(".py").replace('/', ".");
        let group = class
            .strip_prefix(&module)
            .unwrap_or_default()
            .trim_start_matches('.')
            .replace('.', "::");
        let mut id = format!("{folder}/{file}");
        if !group.is_empty() {
            id.push_str(&format!("::{group}"));
        }
        results.push(TestResult::new(
            "python",
            "pytest",
            format!("{id}::{name}"),
            status,
        ));
    }
    Ok(results)
}

fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#10;", "\n")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_classes_and_parameters_make_the_id() {
        let xml = r#"<testsuites><testsuite tests="3"><testcase classname="tests.test_a" name="test_x[a &lt; b]" file="tests/test_a.py" line="3" time="0.1" /><testcase classname="tests.test_a.TestG" name="test_y" file="tests/test_a.py" line="9" time="0"><failure message="a > b">no</failure></testcase><testcase classname="tests.test_b" name="test_z" file="tests/test_b.py"><skipped message="x"/></testcase></testsuite></testsuites>"#;
        let found: Vec<_> = read("p", xml)
            .unwrap()
            .into_iter()
            .map(|result| (result.id, result.status))
            .collect();
        assert_eq!(
            found,
            [
                (
                    "p/tests/test_a.py::test_x[a < b]".to_owned(),
                    Status::Passed
                ),
                (
                    "p/tests/test_a.py::TestG::test_y".to_owned(),
                    Status::Failed
                ),
                ("p/tests/test_b.py::test_z".to_owned(), Status::Skipped),
            ]
        );
    }
}
