//! A session through the public API alone, as a Rust application uses it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use a3s_code_core::contract::WorkspaceCapability as Can;
use a3s_code_core::workspace::MemoryWorkspace;
use a3s_code_core::{Agent, AgentConfig, AgentSession, ErrorCode, SessionOptions};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/rust-repo");

async fn open(root: &str, options: SessionOptions) -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent.session(root, options).await.unwrap()
}

/// A session on a backend that is not local and can do only this.
async fn on_backend(capabilities: &[Can]) -> AgentSession {
    let files = BTreeMap::from([("a.txt".to_owned(), b"alpha\n".to_vec())]);
    let capabilities: BTreeSet<Can> = capabilities.iter().copied().collect();
    let workspace = MemoryWorkspace::new("stub", files, Some(capabilities)).unwrap();
    open(
        "stub",
        SessionOptions::new().with_workspace_backend(Arc::new(workspace)),
    )
    .await
}

// claims: DIRECT-02, DIRECT-03, DIRECT-05, DIRECT-07, AST-05
#[tokio::test]
async fn the_typed_helpers_give_paths_hits_and_text_of_the_workspace() {
    let session = open(FIXTURE, SessionOptions::new()).await;
    let paths = session.glob("src/**/*.rs").await.unwrap();
    assert_eq!(paths, ["src/lib.rs", "src/policy.rs"]);
    let hits = session.grep("PermissionPolicy").await.unwrap();
    assert_eq!(hits.split('\n').count(), 1);
    assert!(
        hits.starts_with("src/policy.rs:4:pub struct PermissionPolicy"),
        "{hits}"
    );
    let text = session.read_file("README.md").await.unwrap();
    assert_eq!(text, "# Fixture\n\nA small Rust repository.\n");
    let names = session.tool_names();
    assert!(!names.iter().any(|name| name == "glob" || name == "grep"));
    let missing = session.read_file("none.md").await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    let outside = session.read_file("../../README.md").await.unwrap_err();
    assert_eq!(outside.code(), ErrorCode::InvalidArgument);
    let wrong = session.grep("(").await.unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::InvalidArgument);
}

// claims: RES-01, RES-02, RES-03
#[tokio::test]
async fn a_result_has_a_name_a_text_an_exit_code_and_facts() {
    let session = open(FIXTURE, SessionOptions::new()).await;
    let good = session
        .tool("read", json!({ "file_path": "README.md" }))
        .await
        .unwrap();
    assert_eq!((good.name.as_str(), good.exit_code), ("read", 0));
    assert!(good.metadata.is_some_and(|metadata| metadata.is_object()));
    let bad = session
        .tool("read", json!({ "file_path": "none" }))
        .await
        .unwrap();
    assert_eq!((bad.name.as_str(), bad.exit_code), ("read", 1));
}

// claims: SURF-02, SRCH-02, SRCH-03
#[tokio::test]
async fn search_is_the_one_search_tool_and_its_modes_are_in_its_schema() {
    let session = open(FIXTURE, SessionOptions::new()).await;
    let names = session.tool_names();
    for gone in ["grep", "glob", "bm25", "vector_search", "semantic_search"] {
        assert!(!names.iter().any(|name| name == gone));
    }
    let definitions = session.tool_definitions();
    let defined: Vec<&String> = definitions
        .iter()
        .map(|definition| &definition.name)
        .collect();
    assert_eq!(defined, names.iter().collect::<Vec<_>>());
    let search = definitions
        .iter()
        .find(|definition| definition.name == "search")
        .unwrap();
    let modes = modes(&search.parameters);
    assert!(modes.contains(&"grep".to_owned()) && modes.contains(&"glob".to_owned()));
    for mode in ["semantic", "hybrid"] {
        assert!(!modes.contains(&mode.to_owned()));
        let refused = session
            .tool("search", json!({ "mode": mode, "query": "x" }))
            .await
            .unwrap();
        assert_ne!(refused.exit_code, 0);
    }
}

fn modes(schema: &Value) -> Vec<String> {
    let mode = &schema["properties"]["mode"];
    let listed = mode["enum"]
        .as_array()
        .or_else(|| mode["oneOf"].as_array())
        .unwrap();
    listed
        .iter()
        .filter_map(|word| word.as_str().or_else(|| word["const"].as_str()))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_backend_offers_only_the_tools_it_can_serve() {
    for (tool, needs) in [
        ("read", &[Can::Read][..]),
        ("ls", &[Can::List]),
        ("search", &[Can::Search]),
    ] {
        assert!(
            on_backend(needs)
                .await
                .tool_names()
                .iter()
                .any(|name| name == tool)
        );
        let others: Vec<Can> = [Can::Read, Can::Write, Can::List, Can::Search]
            .into_iter()
            .filter(|can| !needs.contains(can))
            .collect();
        let session = on_backend(&others).await;
        assert!(
            !session.tool_names().iter().any(|name| name == tool),
            "{tool}"
        );
        let refused = session.tool(tool, json!({})).await.unwrap();
        assert_eq!(refused.error_kind.unwrap().tag(), "invalid_argument");
    }
}

// claims: AST-01
#[tokio::test]
async fn what_the_product_offers_does_not_vary_with_a_session() {
    let before = a3s_code_core::sdk_capabilities();
    let session = on_backend(&[]).await;
    assert_eq!(a3s_code_core::sdk_capabilities(), before);
    assert!(
        before
            .iter()
            .any(|capability| capability.id == "governed_tools")
    );
    session.close().await;
}

#[tokio::test]
async fn a_closed_session_refuses_calls_and_closes_again() {
    let session = open(FIXTURE, SessionOptions::new()).await;
    session.close().await;
    session.close().await;
    let refused = session.tool("ls", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::SessionClosed);
    assert!(session.is_closed());
}
