//! What a session is refused with, by field: ids, numbers, files of a workspace in memory, schemas of tools; and paths
//! that are spelled as folders.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use a3s_code_contract::{
    ArtifactStoreLimits, ErrorCode, MemoryFile, SessionOptions as Wire, WorkspaceBackend,
};
use a3s_code_core::tools::Tool;
use a3s_code_core::{
    Agent, AgentConfig, AgentSession, CodeError, SessionOptions, ToolCall, ToolError, ToolOutput,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

async fn open(options: SessionOptions) -> Result<AgentSession, CodeError> {
    let agent = Agent::create(AgentConfig::default()).await?;
    agent.session("label", options).await
}

fn in_memory(files: &[(&str, &str)]) -> SessionOptions {
    SessionOptions::from_wire(memory(files))
}

fn memory(files: &[(&str, &str)]) -> Wire {
    Wire {
        workspace_backend: Some(WorkspaceBackend::Memory {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), MemoryFile::Text((*text).to_owned())))
                .collect::<BTreeMap<_, _>>(),
            capabilities: None,
        }),
        ..Wire::default()
    }
}

async fn refused(options: SessionOptions) -> (ErrorCode, String) {
    match open(options).await {
        Ok(session) => panic!("{} was opened", session.session_id()),
        Err(error) => {
            let payload = error.payload();
            (payload.code, payload.message)
        }
    }
}

#[tokio::test]
async fn an_id_is_a_short_plain_name() {
    let long = "x".repeat(129);
    for id in [
        "", " ", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a b", "ä", "a\n", &long,
    ] {
        let (code, message) = refused(in_memory(&[]).with_session_id(id)).await;
        assert_eq!(code, ErrorCode::SessionConfiguration, "{id:?}");
        assert!(
            message.contains("session_id") && message.contains("1 to 128 of"),
            "{message}"
        );
        assert!(message.len() < 300, "{message}");
    }
    for id in ["x", "a.b", "-", "...", "Session_1-2.3", &"x".repeat(128)] {
        let session = open(in_memory(&[]).with_session_id(id)).await.unwrap();
        assert_eq!(session.session_id(), id);
    }
}

#[tokio::test]
async fn a_number_beyond_what_every_language_keeps_is_refused_by_field() {
    let limits = |max_bytes| {
        in_memory(&[]).with_artifact_store_limits(ArtifactStoreLimits {
            max_bytes,
            ..ArtifactStoreLimits::default()
        })
    };
    open(limits(9_007_199_254_740_991)).await.unwrap();
    let (code, message) = refused(limits(9_007_199_254_740_992)).await;
    assert_eq!(code, ErrorCode::SessionConfiguration);
    assert!(
        message.contains("max_bytes") && message.contains("0 to 9007199254740991"),
        "{message}"
    );
}

#[tokio::test]
async fn files_in_memory_must_not_contradict_each_other() {
    for (files, named) in [
        (&[("a", "1"), ("a/b", "2")][..], "a/b"),
        (&[("a/b", "1"), ("a//b", "2")], "a/b"),
        (&[("a", "1"), ("./a", "2")], "a"),
        (&[("a", "1"), ("x/../a", "2")], "x/../a"),
        (&[("a", "1"), ("a!", "2"), ("a/b/c", "3")], "a/b/c"),
        (&[("a/", "1")], "a"),
        (&[("", "1")], "."),
        (&[("../a", "1")], "../a"),
    ] {
        let (code, message) = refused(in_memory(files)).await;
        assert_eq!(code, ErrorCode::SessionConfiguration, "{files:?}");
        assert!(
            message.contains(&format!("`{named}`")),
            "{files:?}: {message}"
        );
    }
    let session = open(in_memory(&[("./a", "1"), ("b//c", "2")]))
        .await
        .unwrap();
    assert_eq!(session.glob("**").await.unwrap(), ["a", "b/c"]);
}

/// A file spelled as a folder is none; a folder may be spelled either way.
async fn check_slash(session: &AgentSession) {
    for (tool, args) in [
        ("read", json!({ "file_path": "a.txt/" })),
        ("read", json!({ "file_path": "d/b.txt//" })),
        ("write", json!({ "file_path": "a.txt/", "content": "new" })),
        (
            "write",
            json!({ "file_path": "new.txt/", "content": "new" }),
        ),
        (
            "edit",
            json!({ "file_path": "a.txt/", "old_string": "text", "new_string": "new" }),
        ),
        ("ls", json!({ "path": "a.txt/" })),
    ] {
        let result = session.tool(tool, args.clone()).await.unwrap();
        assert_ne!(result.exit_code, 0, "{tool} {args}: {}", result.output);
    }
    assert!(session.read_file("a.txt/").await.is_err());
    assert_eq!(session.read_file("a.txt").await.unwrap(), "text");
    assert_eq!(session.glob("*").await.unwrap(), ["a.txt"]);
    assert_eq!(session.ls(Some("d/")).await.unwrap().exit_code, 0);
}

#[tokio::test]
async fn a_file_spelled_as_a_folder_is_not_there() {
    let session = open(in_memory(&[("a.txt", "text"), ("d/b.txt", "more")]))
        .await
        .unwrap();
    check_slash(&session).await;
    let root = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("spelled-as-a-folder");
    #[expect(clippy::disallowed_methods, reason = "a workspace for the test")]
    {
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a.txt"), "text").unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/b.txt"), "more").unwrap();
    }
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let local = agent
        .session(root.to_str().unwrap(), SessionOptions::new())
        .await
        .unwrap();
    check_slash(&local).await;
}

struct Shaped(&'static str, Value);

#[async_trait]
impl Tool for Shaped {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "Has a schema."
    }

    fn parameters(&self) -> Value {
        self.1.clone()
    }

    async fn run(&self, _: ToolCall) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::success("ok"))
    }
}

#[tokio::test]
async fn the_schema_of_a_tool_is_one_of_an_object() {
    for schema in [
        json!({ "type": "array", "items": {} }),
        json!({ "type": "string" }),
        json!({ "type": ["array", "null"] }),
        json!(true),
    ] {
        let session = open(in_memory(&[])).await.unwrap();
        let error = session
            .register_dynamic_tool(Arc::new(Shaped("shaped", schema.clone())))
            .unwrap_err();
        assert_eq!(error.payload().code, ErrorCode::InvalidArgument, "{schema}");
        assert!(error.to_string().contains("object"), "{error}");
    }
    for schema in [
        json!({}),
        json!({ "type": "object" }),
        json!({ "type": ["object", "null"] }),
        json!({ "properties": { "n": { "type": "integer" } } }),
    ] {
        let session = open(in_memory(&[])).await.unwrap();
        session
            .register_dynamic_tool(Arc::new(Shaped("shaped", schema)))
            .unwrap();
        let result = session.tool("shaped", json!({ "n": 1 })).await.unwrap();
        assert_eq!(result.exit_code, 0, "{}", result.output);
    }
}

#[tokio::test]
async fn a_reserved_name_is_refused_as_such_whether_the_tool_is_there_or_not() {
    let session = open(in_memory(&[])).await.unwrap();
    for name in ["read", "Read", "web_fetch", "dynamic_workflow"] {
        let error = session
            .register_dynamic_tool(Arc::new(Shaped(name, json!({}))))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("is reserved for a built-in tool"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_helper_blames_the_argument_that_it_was_given() {
    let session = open(in_memory(&[("a.txt", "text")])).await.unwrap();
    let long = "x".repeat(5000);
    for (error, argument) in [
        (session.grep("(").await.unwrap_err(), "pattern"),
        (session.grep("").await.unwrap_err(), "pattern"),
        (session.glob("[").await.unwrap_err(), "pattern"),
        (session.read_file("../x").await.unwrap_err(), "path"),
        (session.read_file("a\0b").await.unwrap_err(), "path"),
        (session.read_file(&long).await.unwrap_err(), "path"),
    ] {
        let payload = error.payload();
        let details = payload.details.unwrap();
        assert_eq!(payload.code, ErrorCode::InvalidArgument, "{details}");
        assert_eq!(details["argument"], argument, "{details}");
        assert_eq!(details["errorKind"]["argument"], argument, "{details}");
        for name in ["query", "file_path"] {
            assert!(!details.to_string().contains(name), "{details}");
            assert!(!payload.message.contains(name), "{}", payload.message);
        }
    }
}
