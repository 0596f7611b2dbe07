//! Extracts the Rust snippets from the documents, character for character. The one string that is replaced is a path
//! that must exist.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a build script"
)]

use std::path::Path;

fn between<'a>(text: &'a str, first: &str, last: &str) -> &'a str {
    let start = text
        .find(first)
        .unwrap_or_else(|| panic!("`{first}` is in the document"));
    let end = start
        + text[start..]
            .find(last)
            .unwrap_or_else(|| panic!("`{last}` follows"))
        + last.len();
    &text[start..end]
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let spec = root.join("../../spec");
    let repository = root.join("../../fixtures/rust-repo");
    let tools = std::fs::read_to_string(spec.join("seed-tools.txt")).unwrap();
    let aster = std::fs::read_to_string(spec.join("seed-aster-tools.txt")).unwrap();
    println!("cargo::rerun-if-changed={}", spec.display());

    let projection = between(
        &tools,
        "use a3s_code_core::{tools::ToolResultTransformPolicyV1, SessionOptions};",
        ".build()\n    .await?;",
    );
    assert_eq!(projection.matches("\"/repo\"").count(), 1);
    let projection = projection.replace(
        "\"/repo\"",
        &format!("{:?}", repository.display().to_string()),
    );
    let governed = between(&aster, "use aster_core::AgentSession;", "    Ok(())\n}");

    let out = std::env::var("OUT_DIR").unwrap();
    let out = Path::new(&out);
    let wrapped = format!(
        "async fn open(agent: &a3s_code_core::Agent) -> anyhow::Result<a3s_code_core::AgentSession> {{\n{projection}\nOk(session)\n}}\n"
    );
    std::fs::write(out.join("projection.rs"), wrapped).unwrap();
    std::fs::write(out.join("governed.rs"), governed).unwrap();
}
