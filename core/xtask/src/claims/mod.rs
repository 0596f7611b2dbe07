//! `cargo xtask claims`: which claim is proved by which test or case in which language.
//!
//! A claim counts as proved in a language only by a test or case that passed in the last run; one that names
//! languages needs each of them. A test or case that names an unknown claim is an error.

mod catalogue;
mod matching;
mod scan;

use crate::arguments::Arguments;
use crate::cases;
use crate::failure::{AtPath, Result, fail};
use crate::languages::Language;
use crate::layout::Layout;
use crate::results::{self, Status, TestResult};
use catalogue::Claim;
use scan::Scanner;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LIST: &str = "tests/spec/claims.md";
const SKIPPED_FOLDERS: &[&str] = &[
    "target",
    ".git",
    "node_modules",
    ".venv",
    "dist",
    "__pycache__",
];

/// Proofs: claim to language to ids of tests.
type Proofs = BTreeMap<String, BTreeMap<Language, BTreeSet<String>>>;

/// The verb.
pub(crate) fn run(layout: &Layout, arguments: &Arguments) -> Result<bool> {
    let path = layout.path(LIST);
    let text = std::fs::read_to_string(&path).at(&path)?;
    let claims = catalogue::parse(&text).map_err(|error| fail(format!("{LIST}: {error}")))?;
    let results = results::load(layout)?;
    let (proofs, wrong) = collect(layout, &claims, &results)?;
    let prefix = arguments.value("prefix").unwrap_or_default().to_uppercase();
    let chosen: Vec<&Claim> = claims
        .iter()
        .filter(|claim| prefix.is_empty() || claim.id.starts_with(&prefix))
        .collect();
    let proved = chosen
        .iter()
        .filter(|claim| is_proved(claim, &proofs))
        .count();
    let missing_only = arguments.flag("missing");
    if arguments.flag("json") {
        let shown = chosen
            .iter()
            .filter(|claim| !missing_only || !is_proved(claim, &proofs));
        let rows: Vec<Value> = shown.map(|claim| to_json(claim, &proofs)).collect();
        println!("{}", json!({ "claims": rows }));
    } else {
        for claim in &chosen {
            if !missing_only || !is_proved(claim, &proofs) {
                println!("{}", to_line(claim, &proofs));
            }
        }
        println!("{}", last_line(proved, chosen.len(), results.is_empty()));
    }
    for problem in &wrong {
        eprintln!("error: {problem}");
    }
    Ok(wrong.is_empty())
}

fn last_line(proved: usize, of: usize, no_run: bool) -> String {
    let line = format!("proved {proved} of {of}");
    match no_run {
        true => format!("{line}: no run is recorded, `cargo xtask test` makes one"),
        false => line,
    }
}

/// Every proof of the last run, and what is wrong in the sources.
fn collect(
    layout: &Layout,
    claims: &[Claim],
    results: &[TestResult],
) -> Result<(Proofs, Vec<String>)> {
    let known: BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    let prefixes = known
        .iter()
        .filter_map(|id| id.split_once('-'))
        .map(|(prefix, _)| prefix.to_owned())
        .collect();
    let scanner = Scanner::new(prefixes).map_err(fail)?;
    let mut proofs = Proofs::new();
    let mut wrong = Vec::new();
    for (path, language) in sources(layout.root())? {
        let file = layout.relative(&path);
        let text = std::fs::read_to_string(&path).at(&path)?;
        let mentions = match scanner.scan(language, &text) {
            Ok(mentions) => mentions,
            Err(error) => {
                wrong.push(format!("{file}:{error}"));
                continue;
            }
        };
        for mention in mentions {
            for unknown in mention
                .claims
                .iter()
                .filter(|id| !known.contains(id.as_str()))
            {
                wrong.push(format!("{file}:{}: unknown claim {unknown}", mention.line));
            }
            if mention.test.is_none() {
                wrong.push(format!(
                    "{file}:{}: the claims belong to no test",
                    mention.line
                ));
            }
            for result in matching::passed(language, &file, &mention, results) {
                for claim in &mention.claims {
                    prove(&mut proofs, claim, language, result.id.clone());
                }
            }
        }
    }
    for (id, named) in cases::claims_by_case(layout)? {
        for claim in named {
            if !known.contains(claim.as_str()) {
                wrong.push(format!("case {id}: unknown claim {claim}"));
                continue;
            }
            for result in results
                .iter()
                .filter(|result| result.suite == "cases" && result.id == id)
            {
                if let (Status::Passed, Some(language)) =
                    (result.status, Language::parse(&result.language))
                {
                    prove(&mut proofs, &claim, language, format!("case::{id}"));
                }
            }
        }
    }
    Ok((proofs, wrong))
}

fn prove(proofs: &mut Proofs, claim: &str, language: Language, id: String) {
    proofs
        .entry(claim.to_owned())
        .or_default()
        .entry(language)
        .or_default()
        .insert(id);
}

fn lacking(claim: &Claim, proofs: &Proofs) -> Vec<Language> {
    let proved = proofs.get(&claim.id);
    claim
        .languages
        .iter()
        .copied()
        .filter(|language| !proved.is_some_and(|by| by.contains_key(language)))
        .collect()
}

fn is_proved(claim: &Claim, proofs: &Proofs) -> bool {
    lacking(claim, proofs).is_empty()
}

fn to_json(claim: &Claim, proofs: &Proofs) -> Value {
    let mut tests = Map::new();
    for language in Language::ALL {
        let ids = proofs
            .get(&claim.id)
            .and_then(|by| by.get(&language))
            .cloned()
            .unwrap_or_default();
        tests.insert(language.name().to_owned(), json!(ids));
    }
    json!({"id": claim.id, "proved": is_proved(claim, proofs), "tests": tests})
}

fn to_line(claim: &Claim, proofs: &Proofs) -> String {
    let lacking: Vec<&str> = lacking(claim, proofs)
        .into_iter()
        .map(Language::name)
        .collect();
    let mut line = match lacking.is_empty() {
        true => format!("proved  {}", claim.id),
        false => format!("missing {} in {}", claim.id, lacking.join(", ")),
    };
    for (language, ids) in proofs.get(&claim.id).into_iter().flatten() {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        line.push_str(&format!(
            "\n        {}: {}",
            language.name(),
            ids.join(", ")
        ));
    }
    line
}

/// Sources that may hold tests.
fn sources(root: &Path) -> Result<Vec<(PathBuf, Language)>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().at(&folder)?.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    folders.push(entry.path());
                }
            } else if let Some(language) = language_of(&name) {
                found.push((entry.path(), language));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn language_of(name: &str) -> Option<Language> {
    let (stem, extension) = name.rsplit_once('.')?;
    match extension {
        "rs" => Some(Language::Rust),
        "ts" | "mts" => Some(Language::Node),
        "py" => Some(Language::Python),
        "go" if stem.ends_with("_test") => Some(Language::Go),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_needs_every_language_it_names() {
        let claim = Claim {
            id: "EVID-03".into(),
            languages: vec![Language::Rust, Language::Go],
        };
        let mut proofs = Proofs::new();
        prove(&mut proofs, "EVID-03", Language::Rust, "a::b".into());
        assert_eq!(lacking(&claim, &proofs), [Language::Go]);
        assert_eq!(to_json(&claim, &proofs)["proved"], false);
        prove(&mut proofs, "EVID-03", Language::Go, "c".into());
        assert!(is_proved(&claim, &proofs));
        assert_eq!(
            to_json(&claim, &proofs),
            json!({"id": "EVID-03", "proved": true, "tests": {"rust": ["a::b"], "node": [], "python": [], "go": ["c"]}})
        );
    }

    #[test]
    fn that_nothing_is_proved_without_a_run_is_said() {
        assert_eq!(last_line(3, 5, false), "proved 3 of 5");
        assert!(last_line(0, 5, true).contains("no run is recorded"));
    }

    #[test]
    fn only_go_files_of_tests_are_read() {
        assert_eq!(language_of("a_test.go"), Some(Language::Go));
        assert_eq!(language_of("a.go"), None);
        assert_eq!(language_of("a.test.ts"), Some(Language::Node));
        assert_eq!(language_of("Makefile"), None);
    }
}
