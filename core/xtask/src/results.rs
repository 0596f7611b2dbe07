//! `target/test-results.json`: what passed, failed or was left out in the last run, by language and suite.
//!
//! A suite of a language is replaced as a whole when it runs again; nothing of an older run of it counts.

use crate::failure::{AtPath, Result, fail};
use crate::layout::Layout;
use serde_json::{Value, json};

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It did not run.
    Skipped,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "passed" => Some(Self::Passed),
            "failed" => Some(Self::Failed),
            "skipped" => Some(Self::Skipped),
            _ => None,
        }
    }
}

/// One test of the last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestResult {
    /// `rust`, `node`, `python`, `go` or `c`.
    pub(crate) language: String,
    /// `unit`, `cases`, ...
    pub(crate) suite: String,
    /// `path::name`.
    pub(crate) id: String,
    /// How it ended.
    pub(crate) status: Status,
}

impl TestResult {
    /// A result.
    pub(crate) fn new(language: &str, suite: &str, id: impl Into<String>, status: Status) -> Self {
        Self {
            language: language.to_owned(),
            suite: suite.to_owned(),
            id: id.into(),
            status,
        }
    }
}

/// Results of the last run; none when there was no run.
pub(crate) fn load(layout: &Layout) -> Result<Vec<TestResult>> {
    let path = layout.target("test-results.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).at(&path)?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| fail(format!("{}: {error}", path.display())))?;
    let rows = document["results"].as_array().cloned().unwrap_or_default();
    Ok(rows
        .iter()
        .filter_map(|row| {
            Some(TestResult {
                language: row["lang"].as_str()?.to_owned(),
                suite: row["suite"].as_str()?.to_owned(),
                id: row["id"].as_str()?.to_owned(),
                status: Status::parse(row["status"].as_str()?)?,
            })
        })
        .collect())
}

/// Replaces one suite of one language.
pub(crate) fn replace(
    layout: &Layout,
    language: &str,
    suite: &str,
    new: Vec<TestResult>,
) -> Result<()> {
    let mut all = load(layout)?;
    all.retain(|result| !(result.language == language && result.suite == suite));
    all.extend(new);
    store(layout, &all)
}

/// Forgets everything of a language, before it is run again.
pub(crate) fn forget(layout: &Layout, language: &str) -> Result<()> {
    let mut all = load(layout)?;
    all.retain(|result| result.language != language);
    store(layout, &all)
}

fn store(layout: &Layout, all: &[TestResult]) -> Result<()> {
    let rows: Vec<Value> = all
        .iter()
        .map(|result| json!({"lang": result.language, "suite": result.suite, "id": result.id, "status": result.status.as_str()}))
        .collect();
    let path = layout.target("test-results.json");
    let text = serde_json::to_string_pretty(&json!({ "results": rows }))
        .map_err(|error| fail(error.to_string()))?;
    std::fs::write(&path, text).at(&path)
}
