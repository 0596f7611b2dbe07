//! The measuring programs: how each is built, started and read.

use super::row::Row;
use crate::failure::{AtPath, Result, fail};
use crate::languages::{self, Language};
use crate::layout::Layout;
use crate::process;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the libraries that the other languages load.
const LIBRARIES: [&str; 3] = ["a3s-code-node", "a3s-code-python", "a3s-code-capi"];

/// What a program is told: its one argument, as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    quick: bool,
    corpus: PathBuf,
    peers: Option<Peers>,
}

/// Medians of the Rust program, in milliseconds, which those of the other languages stand beside.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peers {
    noop: f64,
    wait: f64,
    ping_pong: f64,
}

impl Plan {
    /// A plan for the Rust program.
    pub(crate) fn new(quick: bool, corpus: &Path) -> Self {
        Self {
            quick,
            corpus: corpus.to_owned(),
            peers: None,
        }
    }

    /// Makes it a plan for the other programs by the rows of the Rust program.
    pub(crate) fn set_peers(&mut self, rows: &[Row]) -> Result<()> {
        let missing = |what: &str| fail(format!("the Rust program printed no {what}"));
        let waits = rows
            .iter()
            .find(|row| row.id == "P2b" && row.floor.is_some());
        self.peers = Some(Peers {
            noop: rows
                .iter()
                .find(|row| row.id == "P1")
                .ok_or_else(|| missing("P1"))?
                .value,
            wait: waits.ok_or_else(|| missing("P2b"))?.value,
            ping_pong: waits
                .and_then(|row| row.floor)
                .ok_or_else(|| missing("floor of P2b"))?,
        });
        Ok(())
    }

    fn argument(&self) -> String {
        let mut plan = json!({ "quick": self.quick, "corpus": self.corpus });
        if let Some(peers) = self.peers {
            plan["noop"] = json!(peers.noop);
            plan["wait"] = json!(peers.wait);
            plan["pingPong"] = json!(peers.ping_pong);
        }
        plan.to_string()
    }
}

/// Builds the program of a language, where it is built.
pub(crate) fn build(layout: &Layout, language: Language) -> Result<()> {
    let mut command = match language {
        Language::Rust => {
            // Beside the libraries, so that features are resolved as they are there and nothing is built twice; alone
            // when one of them does not build.
            let package = ["--quiet", "--package", "bench-rust"];
            let mut together = languages::cargo(layout, "build");
            together
                .args(package)
                .args(LIBRARIES.iter().flat_map(|library| ["--package", library]));
            if process::check(&mut together).is_ok() {
                return Ok(());
            }
            let mut alone = languages::cargo(layout, "build");
            alone.args(package);
            alone
        }
        Language::Go => {
            let mut command = languages::go(layout, "bindings-go", "build")?;
            command
                .arg("-o")
                .arg(layout.built("bench-go"))
                .arg("./internal/bench");
            command
        }
        Language::Node | Language::Python => return Ok(()),
    };
    process::check(&mut command).map(|_| ())
}

/// Runs the program of a language and reads its rows.
pub(crate) fn measure(layout: &Layout, language: Language, plan: &Plan) -> Result<Vec<Row>> {
    let mut command = match language {
        Language::Rust => Command::new(layout.built("bench-rust")),
        Language::Node => {
            let mut command = Command::new("node");
            command.arg(layout.path("tests/bench/node/bench.mjs"));
            command
        }
        Language::Python => {
            let mut command = languages::python(layout);
            command.arg(layout.path("tests/bench/python/bench.py"));
            command
        }
        Language::Go => Command::new(layout.built("bench-go")),
    };
    command.arg(plan.argument()).current_dir(layout.root());
    let text = process::stdout(&mut command)?;
    let rows: Vec<Row> = text.lines().map(Row::parse).collect::<Result<_>>()?;
    if rows.is_empty() {
        return Err(fail("its program printed no row"));
    }
    check_library(layout, language)?;
    Ok(rows)
}

/// Fails when the library that was measured is not the one that was built: another set-up may have put its own there.
fn check_library(layout: &Layout, language: Language) -> Result<()> {
    let (built, used) = match language {
        Language::Node => (
            "liba3s_code_node.so",
            "bindings-node/a3s-code.linux-x64-gnu.node",
        ),
        Language::Python => (
            "liba3s_code_python.so",
            "bindings-python/python/a3s_code/_native.abi3.so",
        ),
        // The Rust and Go programs carry theirs inside.
        Language::Rust | Language::Go => return Ok(()),
    };
    let (built, used) = (layout.built(built), layout.path(used));
    if std::fs::read(&built).at(&built)? == std::fs::read(&used).at(&used)? {
        return Ok(());
    }
    Err(fail(format!(
        "{} was replaced during the measurement",
        used.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_come_from_the_rows_of_rust() {
        let row = |id: &str, value: f64, floor: Option<f64>| Row {
            floor,
            ..Row::at_most(id, "c", "ms", value, 1.0)
        };
        let mut plan = Plan::new(true, Path::new("/corpus"));
        assert_eq!(plan.argument(), r#"{"corpus":"/corpus","quick":true}"#);
        assert!(
            plan.set_peers(&[row("P1", 0.5, None), row("P2b", 0.7, None)])
                .is_err()
        );
        let rows = [
            row("P2b", 0.6, None),
            row("P2b", 0.25, Some(0.125)),
            row("P1", 0.5, None),
        ];
        plan.set_peers(&rows).unwrap();
        assert_eq!(
            plan.peers,
            Some(Peers {
                noop: 0.5,
                wait: 0.25,
                ping_pong: 0.125
            })
        );
        assert!(plan.argument().contains(r#""pingPong":0.125"#));
    }
}
