//! No code path reaches a tool's body except the kernel's pipeline.

#![allow(
    clippy::disallowed_methods,
    reason = "this test reads the sources of the crate"
)]

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "test_support.rs" {
            found.push(path);
        }
    }
}

fn code_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn only_the_pipeline_runs_a_tool() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let callers: Vec<String> = files
        .iter()
        .filter(|path| code_of(path).contains(".run("))
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .filter(|path| !path.starts_with("search/"))
        .collect();
    assert_eq!(callers, ["kernel/pipeline.rs"]);
}

#[test]
fn only_the_workspace_room_touches_the_file_system() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20);
    for path in files {
        let inside = path.strip_prefix(&root).unwrap();
        if inside.starts_with("workspace") {
            continue;
        }
        let code = code_of(&path);
        for banned in [
            "std::fs",
            "tokio::fs",
            "File::open",
            "set_current_dir",
            "set_var",
        ] {
            assert!(!code.contains(banned), "{} uses {banned}", inside.display());
        }
    }
}
