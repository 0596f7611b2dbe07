//! Lock files name packages and digests, no hosts of mirrors; the product's own names never come from a registry.

use super::all_well;
use crate::failure::{AtPath, Result};
use crate::layout::Layout;
use std::path::Path;

/// The one source that Cargo writes for its default registry, whatever mirror served it.
const CARGO_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Finds what is wrong in the text of a lock file.
type Look = fn(&str) -> Vec<String>;

/// Fails with every line that breaks this.
pub(super) fn check(layout: &Layout) -> Result<()> {
    let mut wrong = Vec::new();
    let files: &[(&str, Look)] = &[
        ("Cargo.lock", cargo),
        ("bindings-node/package-lock.json", npm),
        ("bindings-python/requirements-dev.txt", python),
        ("bindings-go/go.mod", go),
        ("bindings-go/go.sum", go),
        ("examples/go/go.mod", go),
    ];
    for (name, look) in files {
        if let Some(text) = read(&layout.path(name))? {
            wrong.extend(
                look(&text)
                    .into_iter()
                    .map(|problem| format!("{name}: {problem}")),
            );
        }
    }
    all_well(wrong)
}

fn read(path: &Path) -> Result<Option<String>> {
    if path.exists() {
        std::fs::read_to_string(path).at(path).map(Some)
    } else {
        Ok(None)
    }
}

fn ours(name: &str) -> bool {
    let name = name.trim_start_matches('@').to_lowercase();
    name.starts_with("a3s") || name.starts_with("aster")
}

fn cargo(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(source) = line.strip_prefix("source = ") {
            let source = source.trim_matches('"');
            if source != CARGO_SOURCE {
                wrong.push(format!("{name} comes from {source}"));
            }
            if ours(name) {
                wrong.push(format!("{name} comes from a registry"));
            }
        }
    }
    wrong
}

fn npm(text: &str) -> Vec<String> {
    let Ok(lock) = serde_json::from_str::<serde_json::Value>(text) else {
        return vec!["not JSON".to_owned()];
    };
    let mut wrong = Vec::new();
    for (path, package) in lock["packages"].as_object().into_iter().flatten() {
        if package["resolved"]
            .as_str()
            .is_some_and(|place| place.contains("://"))
        {
            wrong.push(format!(
                "{path} names a host; install with omit-lockfile-registry-resolved"
            ));
        }
        if let Some((_, name)) = path.rsplit_once("node_modules/")
            && ours(name)
            && package["link"] != true
        {
            wrong.push(format!("{name} comes from a registry"));
        }
    }
    wrong
}

fn python(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if line.contains("://")
            || line.starts_with("--index-url")
            || line.starts_with("--extra-index-url")
        {
            wrong.push(format!("names a host: {line}"));
        }
        if ours(line) {
            wrong.push(format!("comes from a registry: {line}"));
        }
    }
    wrong
}

fn go(text: &str) -> Vec<String> {
    let replaced = text.contains("replace github.com/a3s-lab/code/bindings-go => ");
    let mut wrong = Vec::new();
    for line in text.lines().map(str::trim) {
        let required = !line.starts_with("module ")
            && !line.starts_with("replace ")
            && line.contains("github.com/a3s-lab/");
        if required && !replaced {
            wrong.push(format!("comes from a registry: {line}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_own_names_from_a_registry_are_found() {
        let source = format!("source = \"{CARGO_SOURCE}\"");
        assert!(
            cargo(&format!(
                "name = \"a3s-code-core\"\nname = \"serde\"\n{source}\n"
            ))
            .is_empty()
        );
        assert_eq!(
            cargo(&format!("name = \"aster_core\"\n{source}\n")).len(),
            1
        );
        assert_eq!(
            cargo("name = \"serde\"\nsource = \"registry+https://mirror.example/index\"\n").len(),
            1
        );
        assert!(
            npm(r#"{"packages":{"":{"name":"@a3s-lab/code"},"node_modules/x":{"version":"1"}}}"#)
                .is_empty()
        );
        assert_eq!(npm(r#"{"packages":{"node_modules/x":{"resolved":"https://m.example/x"},"node_modules/@a3s-lab/code":{}}}"#).len(), 2);
        assert!(python("pytest==9\n# https://x\n").is_empty());
        assert_eq!(
            python("--index-url https://m.example\na3s-code==1\n").len(),
            2
        );
        assert!(go("module github.com/a3s-lab/code/bindings-go\n").is_empty());
        assert!(go("require github.com/a3s-lab/code/bindings-go v0.0.0\nreplace github.com/a3s-lab/code/bindings-go => ../../bindings-go\n").is_empty());
        assert_eq!(
            go("require github.com/a3s-lab/code/bindings-go v1.0.0\n").len(),
            1
        );
    }
}
