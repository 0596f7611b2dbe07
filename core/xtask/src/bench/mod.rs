//! `cargo xtask bench`: measurements, each beside a floor or peer of the same run.
//!
//! Everything is built in the release profile. Rust goes first, since its rows are the peers of the other languages.
//! A language that cannot be measured is an error at the end and hides no row of the others. With `--json` standard
//! output holds the rows and nothing else.

mod corpus;
mod programs;
mod row;
mod sizes;
mod table;

use crate::failure::{Failure, Result, fail};
use crate::languages::{self, Language};
use crate::layout::{Layout, Profile};
use corpus::Corpus;
use programs::Plan;
use row::Row;
use serde_json::{Value, json};
use std::time::Instant;

/// Measures what there is and prints it; `quick` stays within a minute after everything is built.
pub(crate) fn run(quick: bool, as_json: bool) -> Result<()> {
    let layout = Layout::discover(Profile::Release)?;
    languages::check_toolchains(&Language::ALL)?;
    // First of all, so that its files are no longer new when they are read.
    let corpus = Corpus::create(quick)?;
    eprintln!("building in the release profile");
    let mut broken: Vec<(Language, Failure)> = Vec::new();
    let mut ready = Vec::new();
    for (language, outcome) in
        languages::prepare(&layout, &[Language::Node, Language::Python, Language::Go])
    {
        match outcome.and_then(|()| programs::build(&layout, language)) {
            Ok(()) => ready.push(language),
            Err(failure) => broken.push((language, failure)),
        }
    }
    programs::build(&layout, Language::Rust)?;

    let start = Instant::now();
    let mut plan = Plan::new(quick, corpus.path());
    eprintln!("measuring rust");
    let mut rows = programs::measure(&layout, Language::Rust, &plan)?;
    plan.set_peers(&rows)?;
    for &language in &ready {
        eprintln!("measuring {}", language.name());
        match programs::measure(&layout, language, &plan) {
            Ok(more) => rows.extend(more),
            Err(failure) => broken.push((language, failure)),
        }
    }
    rows.extend(sizes::measure(&layout, &ready)?);
    rows.sort_by_key(Row::order);
    eprintln!("measured in {:.0} s", start.elapsed().as_secs_f64());

    if as_json {
        let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
        println!("{}", json!({ "rows": rows }));
    } else {
        table::print(&rows);
    }
    let broken: Vec<String> = broken
        .iter()
        .map(|(language, failure)| format!("{}: {failure}", language.name()))
        .collect();
    if broken.is_empty() {
        Ok(())
    } else {
        Err(fail(broken.join("\n")))
    }
}
