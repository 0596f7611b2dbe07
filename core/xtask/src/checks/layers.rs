//! Dependencies point one way: contract, core, bridge, then the bindings. By path only, and nothing is published.

use super::{all_well, metadata};
use crate::failure::Result;
use crate::layout::Layout;
use serde_json::Value;

/// What each crate of the workspace may depend on within it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("a3s-code-contract", &[]),
    ("a3s-code-spawn", &[]),
    ("a3s-code-core", &["a3s-code-contract", "a3s-code-spawn"]),
    ("a3s-code-bridge", &["a3s-code-contract", "a3s-code-core"]),
    ("a3s-code-capi", &["a3s-code-contract", "a3s-code-bridge"]),
    ("a3s-code-node", &["a3s-code-contract", "a3s-code-bridge"]),
    ("a3s-code-python", &["a3s-code-contract", "a3s-code-bridge"]),
    ("aster_core", &["a3s-code-core"]),
    ("xtask", &["a3s-code-contract"]),
    (
        "bench-rust",
        &["a3s-code-contract", "a3s-code-core", "a3s-code-bridge"],
    ),
    ("conformance-rust", &["a3s-code-contract", "a3s-code-core"]),
    ("examples-rust", &["a3s-code-core"]),
    ("snippets-rust", &["a3s-code-core", "aster_core"]),
];

/// Fails with every dependency that points the wrong way.
pub(super) fn check(layout: &Layout) -> Result<()> {
    all_well(problems(&metadata(layout, false)?))
}

fn problems(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!(
                "{name} has no place in the order of crates (core/xtask/src/checks/layers.rs)"
            ));
            continue;
        };
        // An empty list of registries is what `publish = false` becomes.
        if package["publish"] != serde_json::json!([]) {
            wrong.push(format!("{name} may not be published"));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            let ours = names.contains(&on) || on.starts_with("a3s") || on.starts_with("aster");
            if ours && dependency["path"].is_null() {
                wrong.push(format!("{name} takes {on} from a registry"));
            }
            if names.contains(&on) && !allowed.contains(&on) {
                wrong.push(format!("{name} may not depend on {on}"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, on: &[(&str, bool)]) -> Value {
        let dependencies: Vec<Value> = on
            .iter()
            .map(|(name, path)| {
                if *path {
                    json!({"name": name, "path": "/x"})
                } else {
                    json!({"name": name})
                }
            })
            .collect();
        json!({"name": name, "publish": [], "dependencies": dependencies})
    }

    #[test]
    fn a_dependency_against_the_order_is_found() {
        let good = [
            package("a3s-code-contract", &[("serde", false)]),
            package("a3s-code-core", &[("a3s-code-contract", true)]),
        ];
        assert!(problems(&json!({ "packages": good })).is_empty());
        let bad = [
            package("a3s-code-contract", &[("a3s-code-core", true)]),
            package("a3s-code-core", &[("a3s-code-contract", false)]),
            package("stranger", &[]),
        ];
        assert_eq!(problems(&json!({ "packages": bad })).len(), 3);
        let mut published = package("xtask", &[]);
        published["publish"] = Value::Null;
        assert_eq!(problems(&json!({ "packages": [published] })).len(), 1);
    }
}
