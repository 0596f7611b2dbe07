//! Tools of the application on the surface: names, schemas, and what calls in progress keep.

use super::support::{Probe, allow_all, deny_all, open};
use crate::error::CodeError;
use crate::session::SessionOptions;
use crate::tools::{Tool, ToolOutput};
use a3s_code_contract::{ConfirmationPolicy, PresentationMode, ToolCapabilities};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

// claims: CTR-04
#[tokio::test]
async fn a_schema_is_captured_once_however_often_the_tool_is_called() {
    let probe = Probe::saying("probe", "ok").with_parameters(json!({
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"]
    }));
    let session = open(SessionOptions::new().with_tool(probe.clone())).await;
    for n in 0..50 {
        let result = session.tool("probe", json!({ "n": n })).await.unwrap();
        assert_eq!(result.exit_code, 0);
    }
    let refused = session.tool("probe", json!({ "n": "x" })).await.unwrap();
    assert_eq!(refused.error_kind.unwrap().tag(), "invalid_argument");
    assert_eq!(probe.schema_reads.load(Ordering::SeqCst), 1);
    assert_eq!(probe.ran(), 50);
}

// claims: SURF-15, SURF-02
#[tokio::test]
async fn a_registered_tool_is_listed_next_to_the_built_in_ones() {
    let session = open(SessionOptions::new()).await;
    let before = session.tool_names();
    assert!(!before.contains(&"probe".to_owned()));
    session
        .register_dynamic_tool(Probe::saying("probe", "ok"))
        .unwrap();
    let names = session.tool_names();
    assert!(names.contains(&"probe".to_owned()) && names.contains(&"read".to_owned()));
    let defined: Vec<String> = session
        .tool_definitions()
        .into_iter()
        .map(|definition| definition.name)
        .collect();
    assert_eq!(defined, names);
    assert!(session.unregister_dynamic_tool("probe").unwrap());
    assert!(!session.unregister_dynamic_tool("probe").unwrap());
    assert_eq!(session.tool_names(), before);
}

// claims: AST-51, AST-52
#[tokio::test]
async fn taken_and_built_in_names_are_refused_and_nothing_changes() {
    let first = Probe::saying("probe", "first");
    let session = open(SessionOptions::new().with_tool(first.clone())).await;
    for name in [
        "probe",
        "Probe",
        "read",
        "READ",
        "bash",
        "grep",
        "mcp__x__y",
        "",
        "a b",
        "a/b",
    ] {
        let refused = session.register_dynamic_tool(Probe::saying(name, "second"));
        assert!(
            matches!(&refused, Err(CodeError::InvalidArgument { argument, .. }) if argument == "name"),
            "{name}: {refused:?}"
        );
    }
    let result = session.tool("probe", json!({})).await.unwrap();
    assert_eq!(result.output, "first");
    let read = session.tool("read", json!({ "file_path": "README.md" }));
    assert!(read.await.unwrap().output.contains("# Title"));
    assert!(session.unregister_dynamic_tool("read").is_err());
    // `bash` keeps its meaning: not offered here, and not the application's.
    let bash = session
        .tool("bash", json!({ "command": "x" }))
        .await
        .unwrap();
    assert_eq!(bash.error_kind.unwrap().tag(), "invalid_argument");
}

// claims: AST-46
#[tokio::test]
async fn a_tool_that_declares_nothing_is_taken_for_the_worst() {
    let probe = Probe::saying("probe", "ran");
    let declared = probe.capabilities(&json!({}));
    assert_eq!(declared, ToolCapabilities::default());
    assert!(!declared.read_only && !declared.idempotent && !declared.parallel_safe());
    assert_eq!(declared.max_parallelism, 1);
    // Under the default posture it is asked about and, with nobody to ask, refused.
    let session = open(SessionOptions::new().with_tool(probe.clone())).await;
    let refused = session.governed_tool("probe", json!({})).await.unwrap();
    assert_eq!(refused.error_kind.unwrap().tag(), "permission_denied");
    assert!(refused.output.contains("permissionPolicy"));
    assert_eq!(probe.ran(), 0);
    // One that declares itself read-only is allowed.
    let reader =
        Probe::saying("reader", "read").with_capabilities(ToolCapabilities::parallel_safe_read(4));
    session.register_dynamic_tool(reader).unwrap();
    let allowed = session.governed_tool("reader", json!({})).await.unwrap();
    assert_eq!(allowed.output, "read");
}

#[tokio::test]
async fn a_running_call_keeps_the_tools_it_started_with() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let outer = Probe::new("outer_tool", {
        let (started, go) = (started.clone(), go.clone());
        move |call| {
            let (started, go) = (started.clone(), go.clone());
            async move {
                started.notify_one();
                go.notified().await;
                let old = call.runtime().invoke_tool("old", json!({})).await.unwrap();
                let new = call.runtime().invoke_tool("new", json!({})).await.unwrap();
                Ok(ToolOutput::success(format!(
                    "{} {}",
                    old.exit_code, new.exit_code
                )))
            }
        }
    });
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_all())
            .with_tool(outer)
            .with_tool(Probe::saying("old", "old")),
    )
    .await;
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.tool("outer_tool", json!({})).await.unwrap() }
    });
    started.notified().await;
    session.unregister_dynamic_tool("old").unwrap();
    session
        .register_dynamic_tool(Probe::saying("new", "new"))
        .unwrap();
    go.notify_one();
    assert_eq!(running.await.unwrap().output, "0 1");
    assert_eq!(session.tool("new", json!({})).await.unwrap().exit_code, 0);
}

// claims: AST-02, AST-03
#[tokio::test]
async fn what_is_hidden_from_the_model_is_still_offered() {
    let session = open(
        SessionOptions::new()
            .with_tool(Probe::saying("probe", "ran"))
            .with_hidden_tools(["probe"]),
    )
    .await;
    let presented = session.presented_tool_definitions(None);
    assert!(
        presented
            .iter()
            .all(|definition| definition.name != "probe")
    );
    assert!(presented.iter().any(|definition| definition.name == "read"));
    let offered = session.tool_definitions();
    assert!(offered.iter().any(|definition| definition.name == "probe"));
    assert_eq!(session.tool("probe", json!({})).await.unwrap().exit_code, 0);
    let none = open(SessionOptions::new().with_tool_presentation_profile(
        a3s_code_contract::ToolPresentationProfile {
            mode: PresentationMode::Disabled,
            ..Default::default()
        },
    ))
    .await;
    assert!(none.presented_tool_definitions(None).is_empty());
    assert!(!none.tool_definitions().is_empty());
}

// claims: AST-16, AST-18, AST-19, AST-20
#[tokio::test]
async fn governed_calls_are_refused_where_direct_ones_run() {
    let session = open(SessionOptions::new().with_permission_policy(deny_all())).await;
    let args = json!({ "file_path": "README.md" });
    let direct = session.tool("read", args.clone()).await.unwrap();
    assert!(direct.output.contains("# Title"));
    assert_eq!(
        session.read_file("README.md").await.unwrap(),
        "# Title\nsecond line\n"
    );
    let governed = session.governed_tool("read", args).await.unwrap();
    assert_eq!(governed.error_kind.unwrap().tag(), "permission_denied");
    assert!(!governed.output.contains("Title"));

    let open_session = open(SessionOptions::new().with_permission_policy(allow_all())).await;
    let missing = json!({ "file_path": "none.md" });
    let missing = open_session.governed_tool("read", missing).await.unwrap();
    assert_eq!(missing.error_kind.unwrap().tag(), "not_found");
    assert_ne!(missing.exit_code, 0);
}

// claims: AST-17
#[tokio::test]
async fn a_governed_call_waits_for_an_answer_and_runs_only_when_approved() {
    for approved in [true, false] {
        let probe = Probe::saying("probe", "ran");
        let session = open(
            SessionOptions::new()
                .with_permission_policy(Default::default())
                .with_confirmation_policy(ConfirmationPolicy {
                    enabled: true,
                    ..Default::default()
                })
                .with_tool(probe.clone()),
        )
        .await;
        let running = tokio::spawn({
            let session = session.clone();
            async move { session.governed_tool("probe", json!({})).await.unwrap() }
        });
        let question = loop {
            match session.pending_confirmations().pop() {
                Some(question) => break question,
                None => tokio::task::yield_now().await,
            }
        };
        assert_eq!((question.tool_name.as_str(), probe.ran()), ("probe", 0));
        assert!(session.confirm_tool_use(&question.tool_id, approved, None));
        let result = running.await.unwrap();
        assert_eq!(result.exit_code == 0, approved);
        assert_eq!(probe.ran(), usize::from(approved));
    }
}

// claims: SURF-19
#[tokio::test]
async fn a_call_is_active_while_it_runs_and_no_longer() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let probe = Probe::new("probe", {
        let (started, go) = (started.clone(), go.clone());
        move |_| {
            let (started, go) = (started.clone(), go.clone());
            async move {
                started.notify_one();
                go.notified().await;
                Ok(ToolOutput::success("done"))
            }
        }
    });
    let session = open(SessionOptions::new().with_tool(probe)).await;
    assert!(session.active_tools().is_empty());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.tool("probe", json!({})).await.unwrap() }
    });
    started.notified().await;
    let active = session.active_tools();
    assert_eq!(active.len(), 1);
    assert_eq!(active[0].name, "probe");
    assert!(active[0].started_at_ms > 0 && !active[0].id.is_empty());
    go.notify_one();
    running.await.unwrap();
    assert!(session.active_tools().is_empty());
}
