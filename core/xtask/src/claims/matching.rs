//! From a test's place in the sources to its ids in the results of the last run.

use super::scan::Mention;
use crate::languages::Language;
use crate::results::{Status, TestResult};

/// Ids of the passed tests that `mention` in `file` stands for. A test that also failed somewhere proves nothing.
pub(super) fn passed<'a>(
    language: Language,
    file: &str,
    mention: &Mention,
    results: &'a [TestResult],
) -> Vec<&'a TestResult> {
    let Some(name) = &mention.test else {
        return Vec::new();
    };
    let candidates: Vec<&TestResult> = results
        .iter()
        .filter(|result| result.language == language.name() && !result.suite.starts_with("cases"))
        .filter(|result| match language {
            Language::Rust => rust(file, name, &result.id),
            Language::Node => node(file, name, mention.group, &result.id),
            Language::Python => python(file, name, mention.group, &result.id),
            Language::Go => go(file, name, &result.id),
        })
        .collect();
    if candidates
        .iter()
        .any(|result| result.status == Status::Failed)
    {
        return Vec::new();
    }
    candidates
        .into_iter()
        .filter(|result| result.status == Status::Passed)
        .collect()
}

/// `core/src/lib.rs::evidence::tests::name` for a test in `core/src/evidence/...`.
fn rust(file: &str, name: &str, id: &str) -> bool {
    if let Some(line) = name.strip_prefix("doc line ") {
        return id.starts_with(&format!("doc::{file} - "))
            && id.contains(&format!("(line {line})"));
    }
    let Some((source, path)) = id.split_once(".rs::") else {
        return false;
    };
    if path != name && !path.ends_with(&format!("::{name}")) {
        return false;
    }
    let Some(file) = file.strip_suffix(".rs") else {
        return false;
    };
    if file == source {
        return true;
    }
    // Modules of a crate lie beside its root file.
    let Some((folder, _)) = source.rsplit_once('/') else {
        return false;
    };
    let Some(inside) = file
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return false;
    };
    let module = inside
        .strip_suffix("/mod")
        .unwrap_or(inside)
        .replace('/', "::");
    path.starts_with(&format!("{module}::"))
}

/// `bindings-node/test/a.test.ts::group > title`; a title may hold `%s`, `$x` or `${x}`.
fn node(file: &str, name: &str, group: bool, id: &str) -> bool {
    let Some(path) = id
        .strip_prefix(file)
        .and_then(|rest| rest.strip_prefix("::"))
    else {
        return false;
    };
    let mut parts: Vec<&str> = path.split(" > ").collect();
    let title = parts.pop().unwrap_or_default();
    if group {
        return parts.iter().any(|part| titled(name, part));
    }
    // A title may hold the separator itself.
    titled(name, title) || titled(name, path) || (name.contains(" > ") && path.ends_with(name))
}

fn titled(template: &str, title: &str) -> bool {
    match template.find(['%', '$']) {
        Some(cut) if cut > 0 => title.starts_with(&template[..cut]),
        _ => template == title,
    }
}

/// `bindings-python/tests/test_a.py::TestGroup::test_name[parameters]`.
fn python(file: &str, name: &str, group: bool, id: &str) -> bool {
    let Some(path) = id
        .strip_prefix(file)
        .and_then(|rest| rest.strip_prefix("::"))
    else {
        return false;
    };
    let path = path.split('[').next().unwrap_or(path);
    let mut parts: Vec<&str> = path.split("::").collect();
    let function = parts.pop().unwrap_or_default();
    if group {
        parts.contains(&name)
    } else {
        function == name
    }
}

/// `bindings-go/folder::TestName`, the folder of the test's file.
fn go(file: &str, name: &str, id: &str) -> bool {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    id == format!("{folder}::{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_in_the_documentation_is_found_by_its_line() {
        let id = "doc::core/src/kernel/origin.rs - kernel::origin (line 6) - compile fail";
        assert!(rust("core/src/kernel/origin.rs", "doc line 6", id));
        assert!(!rust("core/src/kernel/origin.rs", "doc line 16", id));
        assert!(!rust("core/src/kernel/other.rs", "doc line 6", id));
    }

    #[test]
    fn ids_are_matched_by_place_and_name() {
        assert!(rust(
            "core/src/evidence/record.rs",
            "x",
            "core/src/lib.rs::evidence::record::tests::x"
        ));
        assert!(rust(
            "core/src/search/mod.rs",
            "x",
            "core/src/lib.rs::search::tests::x"
        ));
        assert!(rust("core/tests/a.rs", "x", "core/tests/a.rs::x"));
        assert!(rust(
            "core/tests/it/b.rs",
            "x",
            "core/tests/it/main.rs::b::x"
        ));
        assert!(!rust(
            "core/src/evidence/record.rs",
            "x",
            "core/src/lib.rs::search::tests::x"
        ));
        assert!(!rust(
            "core/src/evidence/record.rs",
            "x",
            "core/src/lib.rs::evidence::record::tests::yx"
        ));
        assert!(!rust("core/tests/a.rs", "x", "core/tests/b.rs::x"));
        assert!(node(
            "n/a.test.ts",
            "t %s",
            false,
            "n/a.test.ts::group > t 5"
        ));
        assert!(node("n/a.test.ts", "group", true, "n/a.test.ts::group > t"));
        assert!(!node("n/a.test.ts", "t", false, "n/a.test.ts::t > u"));
        assert!(python(
            "p/test_a.py",
            "test_x",
            false,
            "p/test_a.py::TestG::test_x[1-2]"
        ));
        assert!(python(
            "p/test_a.py",
            "TestG",
            true,
            "p/test_a.py::TestG::test_x"
        ));
        assert!(!python(
            "p/test_a.py",
            "test_x",
            false,
            "p/test_b.py::test_x"
        ));
        assert!(go("bindings-go/x_test.go", "TestX", "bindings-go::TestX"));
        assert!(!go(
            "bindings-go/x_test.go",
            "TestX",
            "bindings-go/y::TestX"
        ));
    }

    #[test]
    fn one_failed_parameter_takes_the_proof_away() {
        let mention = Mention {
            claims: vec![],
            line: 1,
            test: Some("test_x".into()),
            group: false,
        };
        let result = |id: &str, status| TestResult::new("python", "pytest", id, status);
        let good = [
            result("p/t.py::test_x[1]", Status::Passed),
            result("p/t.py::test_x[2]", Status::Skipped),
        ];
        assert_eq!(passed(Language::Python, "p/t.py", &mention, &good).len(), 1);
        let bad = [
            result("p/t.py::test_x[1]", Status::Passed),
            result("p/t.py::test_x[2]", Status::Failed),
        ];
        assert!(passed(Language::Python, "p/t.py", &mention, &bad).is_empty());
    }
}
