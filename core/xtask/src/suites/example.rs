//! The example of the README: what stands there is the file that runs, and it prints the same in every language.

use super::Report;
use crate::failure::{AtPath, Result};
use crate::languages::Language;
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};

/// What the example prints on the fixture.
const EXPECTED: &str = "# Fixture 3\nbounded_preview 188890\npermission_denied\n";

/// Checks the example of one language.
pub(crate) fn run(layout: &Layout, language: Language) -> Result<Report> {
    let file = language.example();
    let stands = stands_in_readme(layout, file)?;
    let folder = layout.path("tests/fixtures/rust-repo");
    let printed = process::stdout(&mut language.hello(layout, &folder)?)?;
    let mut results = Vec::new();
    for (name, good) in [
        ("stands in the README", stands),
        ("prints the same", printed == EXPECTED),
    ] {
        let status = if good { Status::Passed } else { Status::Failed };
        let id = format!("{file}::{name}");
        results.push(TestResult::new(language.name(), "example", id, status));
    }
    Ok(Report {
        results,
        trouble: (printed != EXPECTED).then(|| format!("{file} printed {printed:?}")),
    })
}

fn stands_in_readme(layout: &Layout, file: &str) -> Result<bool> {
    let readme = layout.path("README.md");
    let text = std::fs::read_to_string(&readme).at(&readme)?;
    let path = layout.path(file);
    let code = std::fs::read_to_string(&path).at(&path)?;
    // The line that says what a Rust file is for stands in the file alone.
    let code = match code.strip_prefix("//!") {
        Some(rest) => rest.split_once("\n\n").map_or("", |(_, code)| code),
        None => &code,
    };
    let block = text
        .split_once(&format!("<!-- {file} -->\n```"))
        .and_then(|(_, rest)| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.split_once("\n```\n"))
        .map(|(block, _)| block);
    Ok(block == Some(code.trim_end()))
}
