//! `search` as a caller sees it.

use crate::contract::WorkspaceCapability;
use crate::search::{
    GlobRequest, GlobResponse, GrepRequest, GrepResponse, SearchBackend, SearchError, SearchScope,
    TreeSearch,
};
use crate::workspace::test_support::Scratch;
use crate::workspace::{FileSystem, LocalWorkspace, Workspace};
use crate::{Agent, AgentConfig, AgentSession, SessionOptions, ToolResult};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

async fn session(scratch: &Scratch) -> (Agent, AgentSession) {
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent
        .session(scratch.root(), SessionOptions::new())
        .await
        .unwrap();
    (agent, session)
}

async fn search(session: &AgentSession, args: Value) -> ToolResult {
    session.tool("search", args).await.unwrap()
}

fn kind(result: &ToolResult) -> &'static str {
    assert_ne!(result.exit_code, 0, "{}", result.output);
    result.error_kind.as_ref().map_or("", |kind| kind.tag())
}

fn facts<'a>(result: &'a ToolResult, pointer: &str) -> &'a Value {
    let metadata = result.metadata.as_ref().unwrap();
    metadata.pointer(pointer).unwrap_or(&Value::Null)
}

/// Runs a search page by page; the outputs of all pages.
async fn follow(session: &AgentSession, mut args: Value) -> Vec<String> {
    let mut pages = Vec::new();
    loop {
        let result = search(session, args.clone()).await;
        assert_eq!(result.exit_code, 0, "{}", result.output);
        let cursor = facts(&result, "/page/next_cursor").clone();
        pages.push(result.output);
        if cursor.is_null() {
            return pages;
        }
        assert!(pages.last().unwrap().contains(cursor.as_str().unwrap()));
        args["cursor"] = cursor;
    }
}

fn needles(count: usize) -> Scratch {
    let scratch = Scratch::new();
    for n in 0..count {
        scratch.write(
            format!("t/m{n:03}.txt"),
            format!("needle-token {n}\nother\n"),
        );
    }
    scratch.write("t/n000.txt", "hay\n");
    scratch
}

// claims: SRCH-01, SRCH-03
#[tokio::test]
async fn wrong_arguments_are_refused_and_name_what_is_wrong() {
    let scratch = needles(3);
    let (agent, session) = session(&scratch).await;
    for args in [
        json!({ "query": "x" }),
        json!({ "mode": "grep" }),
        json!({ "mode": "grep", "query": "" }),
        json!({ "mode": "semantic", "query": "x" }),
        json!({ "mode": "hybrid", "query": "x" }),
        json!({ "mode": "grep", "query": "x", "surprise": 1 }),
        json!({ "mode": "grep", "query": "x", "context": -1 }),
        json!({ "mode": "grep", "query": "x", "output_mode": "lines" }),
        json!({ "mode": "grep", "query": "x", "limit": 7 }),
        json!({ "mode": "grep", "query": "x", "cursor": "1" }),
        json!({ "mode": "grep", "query": "x", "output_mode": "summary", "limit": 7 }),
        json!({ "mode": "grep", "query": "x", "output_mode": "summary", "cursor": "1" }),
        json!({ "mode": "grep", "query": "x", "output_mode": "count", "cursor": "1" }),
        json!({ "mode": "grep", "query": "x", "output_mode": "count", "cursor": 1 }),
        json!({ "mode": "grep", "query": "x", "output_mode": "count", "limit": 0 }),
        json!({ "mode": "grep", "query": "x", "output_mode": "count", "limit": 1001 }),
        json!({ "mode": "grep", "query": "x", "sort": "path" }),
        json!({ "mode": "grep", "query": "(" }),
        json!({ "mode": "grep", "query": "x", "include": "../*" }),
        json!({ "mode": "grep", "query": "x", "include": "/etc/*" }),
        json!({ "mode": "glob", "query": "../*" }),
        json!({ "mode": "glob", "query": "/etc/*" }),
        json!({ "mode": "glob", "query": "[" }),
        json!({ "mode": "glob", "query": "*", "include": "*.rs" }),
        json!({ "mode": "glob", "query": "*", "context": 1 }),
        json!({ "mode": "glob", "query": "*", "path": "../.." }),
    ] {
        let result = search(&session, args.clone()).await;
        assert_eq!(
            kind(&result),
            "invalid_argument",
            "{args}: {}",
            result.output
        );
    }
    let missing = search(
        &session,
        json!({ "mode": "glob", "query": "*", "path": "none" }),
    )
    .await;
    assert_eq!(kind(&missing), "not_found");
    let definition = session
        .tool_definitions()
        .into_iter()
        .find(|tool| tool.name == "search")
        .unwrap();
    let schema = definition.parameters;
    assert_eq!(
        schema["properties"]["mode"]["enum"],
        json!(["grep", "glob", "bm25"])
    );
    assert_eq!(
        (&schema["type"], &schema["additionalProperties"]),
        (&json!("object"), &json!(false))
    );
    assert!(schema.get("oneOf").is_none() && !schema.to_string().contains("$ref"));
    agent.close().await;
}

// claims: SRCH-09, SRCH-10, AST-10
#[tokio::test]
async fn content_shows_matches_with_context_and_says_what_it_searched() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "one\ntwo needle\nthree\nfour\nfive\nsix needle\n");
    let (agent, session) = session(&scratch).await;
    for mode in [json!(null), json!("content")] {
        let mut args = json!({ "mode": "grep", "query": "needle", "context": 1 });
        if !mode.is_null() {
            args["output_mode"] = mode;
        }
        let result = search(&session, args).await;
        let rows: Vec<&str> = result.output.lines().collect();
        assert_eq!(
            rows[..6],
            [
                "  a.txt:1: one",
                "> a.txt:2: two needle",
                "  a.txt:3: three",
                "--",
                "  a.txt:5: five",
                "> a.txt:6: six needle",
            ]
        );
        assert_eq!(facts(&result, "/mode"), "grep");
        assert_eq!(facts(&result, "/output_mode"), "content");
        assert_eq!(facts(&result, "/source_anchors"), &json!(["a.txt"]));
        assert_eq!(
            facts(&result, "/search"),
            &json!({ "matching_lines": 2, "matching_files": 1, "truncated": false })
        );
        // sha256sum of the file above.
        let revision = "sha256:ebbb79d274a1027b99a117b3bd2ef3fdcb308fa6db9d8bee9eb3f51514e4635c";
        let hits = facts(&result, "/results");
        assert_eq!(
            (&hits[0]["path"], &hits[0]["line"], &hits[1]["line"]),
            (&json!("a.txt"), &json!(2), &json!(6))
        );
        assert_eq!(hits[0]["source_revision"], revision);
    }
    agent.close().await;
}

// claims: SRCH-11, SRCH-12, SRCH-13
#[tokio::test]
async fn pages_give_each_file_once_in_lexical_order_and_totals_agree() {
    let scratch = needles(24);
    scratch.write("t/m003.txt", "needle-token\nneedle-token needle-token\n");
    let (agent, session) = session(&scratch).await;
    let args = |shape: &str| json!({ "mode": "grep", "query": "needle-token", "output_mode": shape, "limit": 7 });
    for (shape, row) in [("files_with_matches", ""), ("count", ": 1")] {
        let first = search(&session, args(shape)).await;
        assert_eq!(facts(&first, "/page/returned_items"), 7);
        assert_eq!(facts(&first, "/page/total_items"), 24);
        assert_eq!(facts(&first, "/sort"), "path");
        assert_eq!(facts(&first, "/search/matching_lines"), 25);
        assert_eq!(facts(&first, "/search/matching_files"), 24);
        let pages = follow(&session, args(shape)).await;
        assert_eq!(pages.len(), 4);
        let rows: Vec<&str> = pages
            .iter()
            .flat_map(|page| page.lines())
            .filter(|row| !row.starts_with('['))
            .collect();
        let expected: Vec<String> = (0..24)
            .map(|n| match (n, shape) {
                (3, "count") => "t/m003.txt: 2".to_owned(),
                _ => format!("t/m{n:03}.txt{row}"),
            })
            .collect();
        assert_eq!(rows, expected);
    }
    let summary = search(
        &session,
        json!({ "mode": "grep", "query": "needle-token", "output_mode": "summary" }),
    )
    .await;
    assert_eq!(
        facts(&summary, "/search"),
        &json!({ "matching_lines": 25, "matching_files": 24, "truncated": false })
    );
    assert!(
        !summary.output.contains("m0") && !summary.output.contains("needle"),
        "{}",
        summary.output
    );
    let content = search(&session, json!({ "mode": "grep", "query": "needle-token" })).await;
    assert_eq!(facts(&content, "/search"), facts(&summary, "/search"));
    assert_eq!(
        content
            .output
            .lines()
            .filter(|row| row.starts_with('>'))
            .count(),
        25
    );
    agent.close().await;
}

// claims: SRCH-20, SRCH-22
#[tokio::test]
async fn glob_pages_in_lexical_order_give_every_path_once() {
    let scratch = needles(24);
    let (agent, session) = session(&scratch).await;
    let pages = follow(
        &session,
        json!({ "mode": "glob", "query": "t/m*.txt", "sort": "path", "limit": 10 }),
    )
    .await;
    let rows: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.lines())
        .filter(|row| !row.starts_with('['))
        .collect();
    let expected: Vec<String> = (0..24).map(|n| format!("t/m{n:03}.txt")).collect();
    assert_eq!(rows, expected);
    let none = search(&session, json!({ "mode": "glob", "query": "*.none" })).await;
    assert_eq!(
        (none.exit_code, facts(&none, "/page/total_items")),
        (0, &json!(0))
    );
    agent.close().await;
}

// claims: SRCH-22
#[tokio::test]
async fn a_cursor_of_another_search_or_of_an_older_tree_is_refused() {
    let scratch = needles(5);
    let (agent, session) = session(&scratch).await;
    let args = json!({ "mode": "glob", "query": "t/m*.txt", "sort": "path", "limit": 2 });
    let first = search(&session, args.clone()).await;
    let mut next = args.clone();
    next["cursor"] = facts(&first, "/page/next_cursor").clone();
    assert_eq!(search(&session, next.clone()).await.exit_code, 0);
    let mut foreign = next.clone();
    foreign["query"] = json!("t/*.txt");
    assert_eq!(kind(&search(&session, foreign).await), "invalid_argument");
    scratch.write("t/m000a.txt", "");
    assert_eq!(kind(&search(&session, next).await), "invalid_argument");
    agent.close().await;
}

/// A backend that answers glob in an order of its own.
struct Ordered(LocalWorkspace);

impl Workspace for Ordered {
    fn root(&self) -> &str {
        self.0.root()
    }
    fn is_local(&self) -> bool {
        true
    }
    fn capabilities(&self) -> &BTreeSet<WorkspaceCapability> {
        self.0.capabilities()
    }
    fn file_system(&self) -> &dyn FileSystem {
        self.0.file_system()
    }
    fn search(&self) -> &dyn SearchBackend {
        self
    }
}

impl SearchBackend for Ordered {
    fn glob(&self, _: &GlobRequest, _: SearchScope<'_>) -> Result<GlobResponse, SearchError> {
        Ok(GlobResponse {
            paths: ["zebra", "apple", "mango"].map(str::to_owned).to_vec(),
            truncated: false,
        })
    }
    fn grep(
        &self,
        request: &GrepRequest,
        scope: SearchScope<'_>,
    ) -> Result<GrepResponse, SearchError> {
        TreeSearch.grep(request, scope)
    }
}

// claims: SRCH-21
#[tokio::test]
async fn the_order_of_the_backend_is_passed_through() {
    let scratch = Scratch::new();
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let workspace = Arc::new(Ordered(
        LocalWorkspace::open(&scratch.root(), true).unwrap(),
    ));
    let options = SessionOptions::new().with_workspace_backend(workspace);
    let session = agent.session(scratch.root(), options).await.unwrap();
    let result = search(&session, json!({ "mode": "glob", "query": "*" })).await;
    assert!(
        result.output.starts_with("zebra\napple\nmango\n"),
        "{}",
        result.output
    );
    assert_eq!(facts(&result, "/sort"), "backend");
    agent.close().await;
}

#[tokio::test]
async fn helpers_get_every_path_and_every_hit_exactly() {
    let scratch = needles(260);
    scratch.write("long.txt", format!("needle-token {}\n", "x".repeat(5000)));
    scratch.write("new\nline.txt", "");
    let (agent, session) = session(&scratch).await;
    let paths = session.glob("**/*.txt").await.unwrap();
    assert_eq!(paths.len(), 263);
    assert!(paths.is_sorted() && paths.iter().any(|path| path == "new\nline.txt"));
    let hits = session.grep("needle-token").await.unwrap();
    assert_eq!(hits.lines().count(), 261);
    assert!(hits.starts_with(&format!(
        "long.txt:1:needle-token {}\nt/m000.txt:1:",
        "x".repeat(5000)
    )));
    assert!(!hits.ends_with('\n'));
    // The text that a model sees names a file with a line break on one line.
    let shown = search(&session, json!({ "mode": "glob", "query": "new*" })).await;
    assert!(
        shown.output.starts_with("new\\x0aline.txt\n"),
        "{}",
        shown.output
    );
    agent.close().await;
}

// claims: CTR-05
#[tokio::test]
async fn what_a_search_promises_depends_on_its_arguments() {
    use crate::tools::{OutputKind, Tool, ToolCapabilities, search::SearchTool};
    let promised = |args: Value| (SearchTool { ranks: true }).capabilities(&args);
    let paged = ToolCapabilities {
        read_only: true,
        idempotent: true,
        resumable: true,
        cancellation_safe: true,
        supports_pagination: true,
        max_parallelism: 16,
        output_kind: OutputKind::Text,
    };
    let whole = ToolCapabilities {
        resumable: false,
        supports_pagination: false,
        ..paged
    };
    for (args, expected) in [
        (json!({ "mode": "glob", "query": "*" }), paged),
        (json!({ "mode": "grep", "query": "x" }), whole),
        (
            json!({ "mode": "grep", "query": "x", "output_mode": "content" }),
            whole,
        ),
        (
            json!({ "mode": "grep", "query": "x", "output_mode": "summary" }),
            whole,
        ),
        (
            json!({ "mode": "grep", "query": "x", "output_mode": "count" }),
            paged,
        ),
        (
            json!({ "mode": "grep", "query": "x", "output_mode": "files_with_matches" }),
            paged,
        ),
    ] {
        assert_eq!(promised(args.clone()), expected, "{args}");
    }
}
