//! Licences of everything that is linked, bundled or used to build: only those of the list.

use super::{all_well, metadata};
use crate::failure::{AtPath, Result, fail};
use crate::languages;
use crate::layout::Layout;
use crate::process;
use serde_json::Value;

/// Licences under which anything may be used here. The last ones cover data tables and build tools.
const ALLOWED: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "0BSD",
    "Zlib",
    "Unlicense",
    "BSL-1.0",
    "CC0-1.0",
    "Unicode-3.0",
    "BlueOak-1.0.0",
    "Python-2.0",
    "PSF-2.0",
    "CDLA-Permissive-2.0",
];

/// Tools of the build that are never linked, bundled or shipped may stand under these as well.
const ALLOWED_TOOLS: &[(&str, &str)] = &[
    ("cbindgen", "MPL-2.0"),
    ("lightningcss", "MPL-2.0"),
    ("pathspec", "MPL-2.0"),
    ("certifi", "MPL-2.0"),
];

/// Lists what is installed in the environment with the licence that each names.
const PYTHON_LIST: &str = r#"
import importlib.metadata as metadata
for one in metadata.distributions():
    about = one.metadata
    classified = [c.rsplit(" :: ", 1)[-1] for c in about.get_all("Classifier") or [] if c.startswith("License :: ")]
    text = about.get("License-Expression") or (about.get("License") or "").split("\n")[0] or ", ".join(classified)
    print(about["Name"], text or ", ".join(classified), sep="\t")
"#;

/// Fails with every package whose licence is not of the list.
pub(super) fn check(layout: &Layout) -> Result<()> {
    let mut wrong = cargo_problems(&metadata(layout, true)?);
    wrong.extend(npm_problems(layout)?);
    wrong.extend(python_problems(layout)?);
    wrong.extend(go_problems(layout)?);
    all_well(wrong)
}

fn cargo_problems(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    packages
        .iter()
        .filter_map(|package| problem(package["name"].as_str()?, package["license"].as_str()))
        .collect()
}

fn npm_problems(layout: &Layout) -> Result<Vec<String>> {
    let path = layout.path("bindings-node/package-lock.json");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).at(&path)?;
    let lock: Value = serde_json::from_str(&text)
        .map_err(|error| fail(format!("{}: {error}", path.display())))?;
    let packages = lock["packages"].as_object().into_iter().flatten();
    Ok(packages
        .filter_map(|(name, package)| {
            problem(
                name.rsplit("node_modules/").next()?,
                package["license"].as_str(),
            )
        })
        .collect())
}

fn python_problems(layout: &Layout) -> Result<Vec<String>> {
    if !layout.path(".venv/bin/python").exists() {
        return Ok(Vec::new());
    }
    let text = process::stdout(languages::python(layout).args(["-c", PYTHON_LIST]))?;
    let rows = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(rows
        .filter_map(|(name, licence)| problem(name, Some(classified(licence))))
        .collect())
}

/// The binding has no dependencies; one that comes must be looked at by a person.
fn go_problems(layout: &Layout) -> Result<Vec<String>> {
    let path = layout.path("bindings-go/go.mod");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).at(&path)?;
    Ok(
        match text
            .lines()
            .find(|line| line.trim_start().starts_with("require"))
        {
            Some(line) => vec![format!("go.mod: the licence of `{line}` is not known")],
            None => Vec::new(),
        },
    )
}

/// Words of package classifiers, as expressions.
fn classified(licence: &str) -> &str {
    match licence {
        "MIT License" | "The MIT License" => "MIT",
        "Apache Software License" | "Apache License 2.0" | "Apache 2.0" => "Apache-2.0",
        "BSD License" | "BSD" => "BSD-3-Clause",
        "Python Software Foundation License" | "PSF" => "PSF-2.0",
        "ISC License (ISCL)" => "ISC",
        "Mozilla Public License 2.0 (MPL 2.0)" => "MPL-2.0",
        other => other,
    }
}

fn problem(name: &str, licence: Option<&str>) -> Option<String> {
    let Some(licence) = licence.filter(|text| !text.is_empty()) else {
        return Some(format!("{name} names no licence"));
    };
    let tool = ALLOWED_TOOLS
        .iter()
        .any(|(tool, allowed)| name.starts_with(tool) && licence == *allowed);
    if tool || allows(licence) {
        None
    } else {
        Some(format!("{name} stands under {licence}"))
    }
}

/// Whether an SPDX expression can be satisfied by the list: one side of an `OR`, both of an `AND`.
fn allows(expression: &str) -> bool {
    let expression = expression.trim();
    // The old form `MIT/Apache-2.0` means a choice.
    let expression = expression.replace('/', " OR ");
    let expression = strip_parentheses(expression.trim());
    if let Some((left, right)) = split_outside(expression, " OR ") {
        return allows(left) || allows(right);
    }
    if let Some((left, right)) = split_outside(expression, " AND ") {
        return allows(left) && allows(right);
    }
    ALLOWED.contains(&expression)
}

/// Without parentheses that enclose the whole expression.
fn strip_parentheses(expression: &str) -> &str {
    let Some(inside) = expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return expression;
    };
    let mut depth = 0_i32;
    for byte in inside.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return expression,
            b')' => depth -= 1,
            _ => {}
        }
    }
    strip_parentheses(inside.trim())
}

fn split_outside<'a>(expression: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0_i32;
    for (at, byte) in expression.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b' ' if depth == 0 && expression[at..].starts_with(word) => {
                return Some((&expression[..at], &expression[at + word.len()..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "MIT/Apache-2.0",
            "(MIT) OR (Zlib)",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(allows(good), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND SSPL-1.0",
            "LGPL-2.1-or-later",
            "",
        ] {
            assert!(!allows(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_without_licence_is_named() {
        assert!(problem("x", None).is_some());
        assert!(problem("x", Some("MPL-2.0")).is_some());
        assert!(problem("cbindgen", Some("MPL-2.0")).is_none());
    }
}
