//! Programs that must be installed beforehand, and their oldest versions.

use super::Language;
use crate::failure::{Result, fail};
use std::process::{Command, Stdio};

struct Program {
    name: &'static str,
    arguments: &'static [&'static str],
    oldest: Option<(u32, u32)>,
}

const CARGO: Program = Program {
    name: "cargo",
    arguments: &["--version"],
    oldest: Some((1, 95)),
};
const CC: Program = Program {
    name: "cc",
    arguments: &["--version"],
    oldest: None,
};
const NODE: Program = Program {
    name: "node",
    arguments: &["--version"],
    oldest: Some((20, 0)),
};
const NPM: Program = Program {
    name: "npm",
    arguments: &["--version"],
    oldest: None,
};
const PYTHON: Program = Program {
    name: "python3",
    arguments: &["--version"],
    oldest: Some((3, 11)),
};
const GO: Program = Program {
    name: "go",
    arguments: &["env", "GOVERSION"],
    oldest: Some((1, 24)),
};

fn programs(language: Language) -> &'static [Program] {
    match language {
        Language::Rust => &[CARGO, CC],
        Language::Node => &[CARGO, CC, NODE, NPM],
        Language::Python => &[CARGO, CC, PYTHON],
        Language::Go => &[CARGO, CC, GO],
    }
}

/// Fails with one line that names every program that is missing or too old.
pub(super) fn check(languages: &[Language]) -> Result<()> {
    let mut missing: Vec<String> = Vec::new();
    for program in languages.iter().flat_map(|language| programs(*language)) {
        if let Err(what) = look(program)
            && !missing.contains(&what)
        {
            missing.push(what);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(fail(format!("install first: {}", missing.join(", "))))
}

fn look(program: &Program) -> std::result::Result<(), String> {
    let wanted = match program.oldest {
        Some((major, minor)) => format!("{} >= {major}.{minor}", program.name),
        None => program.name.to_owned(),
    };
    let output = Command::new(program.name)
        .args(program.arguments)
        .stdin(Stdio::null())
        .output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return Err(wanted);
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match (program.oldest, version(&text)) {
        (None, _) => Ok(()),
        (Some(oldest), Some(found)) if found >= oldest => Ok(()),
        (Some(_), found) => Err(match found {
            Some((major, minor)) => format!("{wanted} (found {major}.{minor})"),
            None => wanted,
        }),
    }
}

/// The first `major.minor` of a text.
fn version(text: &str) -> Option<(u32, u32)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut parts = text[start..].split(|c: char| !c.is_ascii_digit());
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(version("cargo 1.95.0 (f2d 2026-03-21)"), Some((1, 95)));
        assert_eq!(version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(version("go1.26rc1"), Some((1, 26)));
        assert_eq!(version("Python 3.9.1"), Some((3, 9)));
        assert_eq!(version("none"), None);
    }

    #[test]
    fn a_missing_or_old_program_is_named() {
        let absent = Program {
            name: "no-such-program-here",
            arguments: &[],
            oldest: Some((1, 2)),
        };
        assert_eq!(look(&absent), Err("no-such-program-here >= 1.2".to_owned()));
        let old = Program {
            name: "cargo",
            arguments: &["--version"],
            oldest: Some((9999, 0)),
        };
        assert!(
            look(&old)
                .unwrap_err()
                .starts_with("cargo >= 9999.0 (found 1.")
        );
    }
}
