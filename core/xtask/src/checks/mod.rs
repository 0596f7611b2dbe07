//! Checks of the repository itself, beside the tests: form, lints, licences, lock files, the order of the crates.

mod layers;
mod licences;
mod locks;

use crate::failure::{Result, fail};
use crate::languages;
use crate::layout::Layout;
use crate::process;
use serde_json::Value;

/// A check and its name.
pub(crate) type Check = (&'static str, fn(&Layout) -> Result<()>);

/// All of them, cheap ones first.
pub(crate) const ALL: &[Check] = &[
    ("lock files", locks::check),
    ("order of crates", layers::check),
    ("generated files", generated),
    ("cargo fmt", formatted),
    ("licences", licences::check),
    ("cargo clippy", linted),
];

fn generated(_: &Layout) -> Result<()> {
    crate::r#gen::run(true)
}

fn formatted(layout: &Layout) -> Result<()> {
    process::check(languages::cargo(layout, "fmt").args(["--all", "--check", "--", "-l"]))
        .map(|_| ())
}

fn linted(layout: &Layout) -> Result<()> {
    let mut clippy = languages::cargo(layout, "clippy");
    clippy.args([
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    process::check(&mut clippy).map(|_| ())
}

/// What cargo knows of the workspace, its dependencies included when asked.
fn metadata(layout: &Layout, dependencies: bool) -> Result<Value> {
    let mut command = languages::cargo(layout, "metadata");
    command.args(["--format-version", "1"]);
    if !dependencies {
        command.arg("--no-deps");
    }
    let text = process::stdout(&mut command)?;
    serde_json::from_str(&text).map_err(|error| fail(format!("cargo metadata: {error}")))
}

/// One failure that lists everything wrong, or none.
fn all_well(wrong: Vec<String>) -> Result<()> {
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(fail(wrong.join("\n")))
    }
}
