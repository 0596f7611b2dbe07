//! `cargo xtask VERB`: the one entry point of the repository.
//!
//! Set-up, tests, conformance cases, claims, generated files, the demo and the measurements start here and nowhere
//! else, so that a machine and a person run the same commands. It reads and writes the repository itself; nothing of
//! it is part of the product.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "works on the repository's own files, outside any workspace room"
)]

mod arguments;
mod bench;
mod cases;
mod checks;
mod claims;
mod demo;
mod failure;
mod r#gen;
mod languages;
mod layout;
mod process;
mod results;
mod suites;
mod test;

use arguments::Arguments;
use failure::Result;
use layout::{Layout, Profile};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask VERB

  test   [--lang rust|node|python|go] [--quick]   all set-up and every test
  cases  [DIR...] [--lang L] [--only ID]          conformance cases
  claims [--prefix P] [--missing] [--json]        which claims the last run proved
  demo   [PATH]                                   the main job in four languages
  gen    [--check]                                generated files of the contract
  bench  [--quick] [--json]                       measurements
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(verb) = words.next() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&verb, words.collect()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask {verb}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a verb; false when it ran and found something wrong.
fn run(verb: &str, words: Vec<String>) -> Result<bool> {
    let layout = Layout::discover(Profile::Dev)?;
    match verb {
        "test" => {
            let arguments = Arguments::parse(words, &["quick"], &["lang"])?;
            arguments.expect_no_positional()?;
            test::run(&layout, &arguments.languages()?, arguments.flag("quick"))
        }
        "cases" => {
            let arguments = Arguments::parse(words, &[], &["lang", "only"])?;
            cases::run(&layout, &arguments)
        }
        "claims" => {
            let arguments = Arguments::parse(words, &["missing", "json"], &["prefix"])?;
            arguments.expect_no_positional()?;
            claims::run(&layout, &arguments)
        }
        "demo" => {
            let arguments = Arguments::parse(words, &[], &[])?;
            demo::run(&layout, arguments.positional())
        }
        "gen" => {
            let arguments = Arguments::parse(words, &["check"], &[])?;
            arguments.expect_no_positional()?;
            r#gen::run(arguments.flag("check")).map(|()| true)
        }
        "bench" => {
            let arguments = Arguments::parse(words, &["quick", "json"], &[])?;
            arguments.expect_no_positional()?;
            bench::run(arguments.flag("quick"), arguments.flag("json")).map(|()| true)
        }
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(true)
        }
        other => Err(failure::fail(format!("no such verb: {other}\n{USAGE}"))),
    }
}
