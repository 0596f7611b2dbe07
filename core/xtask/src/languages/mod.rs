//! The four languages: what each needs, how it is set up, and how its programs are started.
//!
//! Set-up is the same for tests, cases, demo and measurements, and does only what is not up to date. A language that
//! cannot be set up is an error that names it; none is left out in silence.

mod go;
mod node;
mod python;
mod stamp;
mod toolchain;

use crate::failure::{AtPath, Failure, Result, fail};
use crate::layout::{Layout, Profile};
use crate::process;
use std::path::Path;
use std::process::Command;

/// A language of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    /// Rust.
    Rust,
    /// Node.js.
    Node,
    /// Python.
    Python,
    /// Go.
    Go,
}

/// Builds everything of the workspace once.
fn build_workspace(layout: &Layout) -> Result<()> {
    process::check(cargo(layout, "build").args(["--quiet", "--workspace"])).map(|_| ())
}

impl Language {
    /// All of them, in the order of the reports.
    pub(crate) const ALL: [Language; 4] = [Self::Rust, Self::Node, Self::Python, Self::Go];

    /// Its name in reports and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Node => "node",
            Self::Python => "python",
            Self::Go => "go",
        }
    }

    /// The language with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.name() == name)
    }

    /// The package that is built for it.
    fn package(self) -> &'static str {
        match self {
            Self::Rust => "conformance-rust",
            Self::Node => "a3s-code-node",
            Self::Python => "a3s-code-python",
            Self::Go => "a3s-code-capi",
        }
    }

    /// Starts its conformance driver.
    pub(crate) fn driver(self, layout: &Layout) -> Command {
        let mut command = match self {
            Self::Rust => Command::new(layout.built("conformance-rust")),
            Self::Node => {
                let mut command = Command::new("node");
                command.arg(layout.path("tests/conformance/node/driver.mjs"));
                command
            }
            Self::Python => {
                let mut command = python(layout);
                command.arg(layout.path("tests/conformance/python/driver.py"));
                command
            }
            Self::Go => Command::new(layout.built("conformance-go")),
        };
        command.current_dir(layout.root());
        command
    }

    /// Starts its demo program on a folder.
    pub(crate) fn demo(self, layout: &Layout, folder: &Path) -> Result<Command> {
        let mut command = match self {
            Self::Rust => {
                // Built with the workspace: alone, its features would be resolved anew and everything built twice.
                build_workspace(layout)?;
                Command::new(layout.built("demo"))
            }
            Self::Node => {
                let mut command = Command::new("node");
                command.arg(layout.path("examples/node/demo.mjs"));
                command
            }
            Self::Python => {
                let mut command = python(layout);
                command.arg(layout.path("examples/python/demo.py"));
                command
            }
            Self::Go => {
                let program = layout.built("demo-go");
                go::build(layout, "examples/go", "./demo", &program)?;
                Command::new(program)
            }
        };
        command.arg(folder).current_dir(layout.root());
        Ok(command)
    }

    /// The file of the README's example.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Rust => "examples/rust/src/hello.rs",
            Self::Node => "examples/node/hello.mjs",
            Self::Python => "examples/python/hello.py",
            Self::Go => "examples/go/main.go",
        }
    }

    /// Starts the README's example on a folder.
    pub(crate) fn hello(self, layout: &Layout, folder: &Path) -> Result<Command> {
        let mut command = match self {
            Self::Rust => {
                build_workspace(layout)?;
                Command::new(layout.built("hello"))
            }
            Self::Node => {
                let mut command = Command::new("node");
                command.arg(layout.path(self.example()));
                command
            }
            Self::Python => {
                let mut command = python(layout);
                command.arg(layout.path(self.example()));
                command
            }
            Self::Go => {
                let program = layout.built("hello-go");
                go::build(layout, "examples/go", ".", &program)?;
                Command::new(program)
            }
        };
        command.arg(folder).current_dir(layout.root());
        Ok(command)
    }

    fn set_up(self, layout: &Layout) -> Result<()> {
        match self {
            Self::Rust => Ok(()),
            Self::Node => node::set_up(layout),
            Self::Python => python::set_up(layout),
            Self::Go => go::set_up(layout),
        }
    }
}

/// The interpreter of the project's own environment, which finds the package of this tree.
pub(crate) fn python(layout: &Layout) -> Command {
    let mut command = Command::new(layout.path(".venv/bin/python"));
    command.env("PYTHONPATH", layout.path("bindings-python/python"));
    command
}

/// Go, told what it cannot see: that the static library it links has changed.
pub(crate) fn go(layout: &Layout, folder: &str, verb: &str) -> Result<Command> {
    go::command(layout, folder, verb)
}

/// `cargo VERB` for the profile of the layout.
pub(crate) fn cargo(layout: &Layout, verb: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(verb).current_dir(layout.root());
    if layout.profile() == Profile::Release {
        command.arg("--release");
    }
    command
}

/// Fails with one line that names every missing program.
pub(crate) fn check_toolchains(languages: &[Language]) -> Result<()> {
    toolchain::check(languages)
}

/// Sets up `languages`; the result of each is beside it.
pub(crate) fn prepare(layout: &Layout, languages: &[Language]) -> Vec<(Language, Result<()>)> {
    let together = build(layout, languages);
    languages
        .iter()
        .map(|&language| {
            let outcome = toolchain::check(&[language])
                .and_then(|()| match &together {
                    Ok(()) => Ok(()),
                    // One crate that does not build must not hide the languages that do.
                    Err(_) => build(layout, &[language]),
                })
                .and_then(|()| language.set_up(layout))
                .map_err(|failure| fail(format!("set-up: {failure}")));
            (language, outcome)
        })
        .collect()
}

/// The same, as one result.
pub(crate) fn prepare_all(layout: &Layout, languages: &[Language]) -> Result<()> {
    for (language, outcome) in prepare(layout, languages) {
        outcome.map_err(|failure: Failure| fail(format!("{}: {failure}", language.name())))?;
    }
    Ok(())
}

fn build(layout: &Layout, languages: &[Language]) -> Result<()> {
    let mut command = cargo(layout, "build");
    command.arg("--quiet");
    if languages.len() == Language::ALL.len() {
        // The whole workspace, so that features are resolved as the tests resolve them and nothing is built twice.
        command.arg("--workspace");
    } else {
        for language in languages {
            command.args(["--package", language.package()]);
        }
    }
    process::check(&mut command).map(|_| ())
}

/// Puts a built file where a binding looks for it; the old one may be loaded, so it is replaced and not rewritten.
fn install(from: &Path, to: &Path) -> Result<()> {
    let new = std::fs::read(from).at(from)?;
    if std::fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    let beside = to.with_extension(format!("new-{}", std::process::id()));
    std::fs::write(&beside, new).at(&beside)?;
    std::fs::rename(&beside, to).at(to)
}

/// Fails unless the path is there.
fn require(layout: &Layout, relative: &str) -> Result<()> {
    if layout.path(relative).exists() {
        Ok(())
    } else {
        Err(fail(format!("{relative} is missing")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_its_language_back() {
        for language in Language::ALL {
            assert_eq!(Language::parse(language.name()), Some(language));
        }
        assert_eq!(Language::parse("ruby"), None);
    }

    #[test]
    fn installing_replaces_the_file() {
        let folder = std::env::temp_dir().join(format!("a3s-install-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("from"), folder.join("in/to.so"));
        for text in ["one", "two"] {
            std::fs::write(&from, text).unwrap();
            install(&from, &to).unwrap();
            assert_eq!(std::fs::read_to_string(&to).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(folder.join("in")).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
