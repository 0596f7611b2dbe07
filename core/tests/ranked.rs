//! Mode `bm25` of `search`, through the public API.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use a3s_code_core::contract::WorkspaceCapability as Can;
use a3s_code_core::search::{
    GlobRequest, GlobResponse, GrepRequest, GrepResponse, SearchBackend, SearchError, SearchScope,
    TreeSearch,
};
use a3s_code_core::workspace::{
    FileSystem, MemoryWorkspace, Workspace, WorkspaceError, WorkspacePath,
};
use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions, ToolResult};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn memory(files: Vec<(String, String)>, capabilities: Option<&[Can]>) -> MemoryWorkspace {
    let files: BTreeMap<String, Vec<u8>> = files
        .into_iter()
        .map(|(path, text)| (path, text.into_bytes()))
        .collect();
    let capabilities = capabilities.map(|list| list.iter().copied().collect::<BTreeSet<Can>>());
    MemoryWorkspace::new("stub", files, capabilities).unwrap()
}

async fn open(workspace: Arc<dyn Workspace>) -> AgentSession {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let options = SessionOptions::new().with_workspace_backend(workspace);
    agent.session("stub", options).await.unwrap()
}

async fn ranked(session: &AgentSession, mut args: Value) -> (ToolResult, Value) {
    args["mode"] = "bm25".into();
    let result = session.tool("search", args).await.unwrap();
    let metadata = result.metadata.clone().unwrap();
    (result, metadata)
}

fn modes(session: &AgentSession) -> Vec<String> {
    let definitions = session.tool_definitions();
    let search = definitions
        .iter()
        .find(|definition| definition.name == "search")
        .unwrap();
    let mode = &search.parameters["properties"]["mode"];
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

// claims: SURF-05
#[tokio::test]
async fn ranking_is_offered_where_files_can_be_read() {
    let without = open(Arc::new(memory(vec![], Some(&[Can::Search])))).await;
    assert_eq!(modes(&without), ["grep", "glob"]);
    let refused = without
        .tool("search", json!({ "mode": "bm25", "query": "x" }))
        .await
        .unwrap();
    assert_eq!(refused.error_kind.unwrap().tag(), "invalid_argument");
    let with = open(Arc::new(memory(vec![], Some(&[Can::Search, Can::Read])))).await;
    assert_eq!(modes(&with), ["grep", "glob", "bm25"]);
}

// claims: SRCH-23, SRCH-30
#[tokio::test]
async fn a_query_is_plain_text_and_needs_nothing_else() {
    let files = vec![("a.txt".to_owned(), "foo(bar) [baz]*\n".to_owned())];
    let session = open(Arc::new(memory(files, None))).await;
    for query in ["(", "*", "[", "foo(bar) [baz]*", "a|b", "\\"] {
        let (result, _) = ranked(&session, json!({ "query": query })).await;
        assert_eq!(result.exit_code, 0, "{query}: {}", result.output);
    }
    let (_, metadata) = ranked(&session, json!({ "query": "(bar" })).await;
    assert_eq!(metadata["returned_results"], 1);
}

// claims: SRCH-26, SRCH-27
#[tokio::test]
async fn hits_are_snippets_within_one_chunk_of_eighty_lines() {
    let line = |n: usize| match n {
        79 | 80 | 200 => format!("lantern here at {n}\n"),
        _ => format!("filler {n}\n"),
    };
    let files = (0..30)
        .map(|file| (format!("f{file:02}.txt"), (0..300).map(line).collect()))
        .collect();
    let session = open(Arc::new(memory(files, None))).await;
    let (result, metadata) = ranked(
        &session,
        json!({ "query": "lantern", "limit": 7, "context": 8 }),
    )
    .await;
    let results = metadata["results"].as_array().unwrap();
    assert_eq!(
        (results.len(), &metadata["returned_results"]),
        (7, &json!(7))
    );
    for hit in results {
        let (start, end) = (
            hit["start_line"].as_u64().unwrap(),
            hit["end_line"].as_u64().unwrap(),
        );
        assert_eq!((start - 1) / 80, (end - 1) / 80, "{hit}");
        assert!(end - start < 17 && start >= 1);
    }
    assert!(result.output.lines().count() < 7 * 20);
    for (argument, value) in [("limit", 26), ("context", 9)] {
        let refused = session.tool(
            "search",
            json!({ "mode": "bm25", "query": "x", argument: value }),
        );
        assert_eq!(
            refused.await.unwrap().error_kind.unwrap().tag(),
            "invalid_argument"
        );
    }
}

// claims: SRCH-28
#[tokio::test]
async fn what_is_read_stays_within_its_bounds() {
    let mut files: Vec<(String, String)> = (0..400)
        .map(|n| (format!("many/{n:03}.txt"), "lantern\n".to_owned()))
        .collect();
    files.push(("huge.txt".to_owned(), "lantern lantern\n".repeat(50_000)));
    for n in 0..40 {
        files.push((
            format!("big/{n}.txt"),
            "lantern and more of it here\n".repeat(18_000),
        ));
    }
    let session = open(Arc::new(memory(files, None))).await;
    let (_, metadata) = ranked(&session, json!({ "query": "lantern" })).await;
    let scan = &metadata["scan"];
    assert!(scan["read_files"].as_u64() <= Some(256));
    assert!(scan["scanned_bytes"].as_u64() <= Some(16 * 1024 * 1024));
    assert!(scan["oversized_files"].as_u64() >= Some(1));
    assert_eq!(
        (
            &scan["truncated"],
            &metadata["candidate_search"]["candidate_truncated"]
        ),
        (&json!(true), &json!(true))
    );
    assert_eq!(metadata["candidate_search"]["matching_files"], 441);
}

/// A backend that counts what it is asked.
struct Instrumented {
    inner: MemoryWorkspace,
    greps: AtomicUsize,
}

impl SearchBackend for Instrumented {
    fn glob(
        &self,
        request: &GlobRequest,
        scope: SearchScope<'_>,
    ) -> Result<GlobResponse, SearchError> {
        TreeSearch.glob(request, scope)
    }
    fn grep(
        &self,
        request: &GrepRequest,
        scope: SearchScope<'_>,
    ) -> Result<GrepResponse, SearchError> {
        self.greps.fetch_add(1, Ordering::SeqCst);
        TreeSearch.grep(request, scope)
    }
}

impl Workspace for Instrumented {
    fn root(&self) -> &str {
        self.inner.root()
    }
    fn is_local(&self) -> bool {
        false
    }
    fn capabilities(&self) -> &BTreeSet<Can> {
        self.inner.capabilities()
    }
    fn file_system(&self) -> &dyn FileSystem {
        self.inner.file_system()
    }
    fn search(&self) -> &dyn SearchBackend {
        self
    }
    fn resolve(&self, path: &str) -> Result<WorkspacePath, WorkspaceError> {
        self.inner.resolve(path)
    }
}

// claims: SRCH-29
#[tokio::test]
async fn candidates_come_from_the_search_of_the_workspace_and_rare_words_weigh_more() {
    let mut files: Vec<(String, String)> = (0..50)
        .map(|n| {
            (
                format!("common{n:02}.txt"),
                "session session session shutdown-notes\n".to_owned(),
            )
        })
        .collect();
    files.push((
        "rare.txt".to_owned(),
        "the zeppelin of a session\n".to_owned(),
    ));
    let workspace = Arc::new(Instrumented {
        inner: memory(files, None),
        greps: AtomicUsize::new(0),
    });
    let session = open(workspace.clone()).await;
    let (_, metadata) = ranked(&session, json!({ "query": "session zeppelin" })).await;
    assert!(workspace.greps.load(Ordering::SeqCst) > 0);
    assert_eq!(metadata["results"][0]["path"], "rare.txt");
}
