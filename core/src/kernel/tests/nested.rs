//! Calls from inside calls: what they inherit, what they lose, and when they end.

use super::support::{Probe, allow_all, deny_all, invocation, invoke, kind, open};
use crate::kernel::{InvocationRuntime, Origin};
use crate::session::SessionOptions;
use crate::tools::ToolOutput;
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// A custom tool that calls `inner` and reports what came back.
fn caller_of_inner() -> Arc<Probe> {
    Probe::new("outer_tool", |call| async move {
        let inner = call
            .runtime()
            .invoke_tool("inner", json!({}))
            .await
            .unwrap();
        let kind = inner.error_kind.map(|kind| kind.tag());
        Ok(ToolOutput::success(format!("{kind:?} {}", inner.exit_code)))
    })
}

// claims: ORIG-28
#[tokio::test]
async fn a_custom_tool_called_directly_is_governed_in_what_it_calls() {
    let inner = Probe::saying("inner", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(deny_all())
            .with_tool(caller_of_inner())
            .with_tool(inner.clone()),
    )
    .await;
    let result = session.tool("outer_tool", json!({})).await.unwrap();
    assert_eq!(result.output, "Some(\"permission_denied\") 1");
    assert_eq!(inner.ran(), 0);
    // The same inner call made directly runs.
    assert_eq!(session.tool("inner", json!({})).await.unwrap().exit_code, 0);
    assert_eq!(inner.ran(), 1);
}

// claims: ORIG-28
#[tokio::test]
async fn the_nested_calls_of_a_custom_tool_run_where_policy_allows_them() {
    let inner = Probe::saying("inner", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_all())
            .with_tool(caller_of_inner())
            .with_tool(inner.clone()),
    )
    .await;
    let result = session.tool("outer_tool", json!({})).await.unwrap();
    assert_eq!(result.output, "None 0");
    assert_eq!(inner.ran(), 1);
}

// claims: ORIG-29
#[tokio::test]
async fn a_kept_runtime_is_dead_when_its_call_has_ended() {
    let kept: Arc<Mutex<Option<InvocationRuntime>>> = Arc::default();
    let keeper = Probe::new("keeper", {
        let kept = kept.clone();
        move |call| {
            *kept.lock().unwrap() = Some(call.runtime().clone());
            async { Ok(ToolOutput::success("kept")) }
        }
    });
    let inner = Probe::saying("inner", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_all())
            .with_tool(keeper)
            .with_tool(inner.clone()),
    )
    .await;
    session.tool("keeper", json!({})).await.unwrap();
    let runtime = kept.lock().unwrap().take().unwrap();
    assert!(runtime.invoke_tool("inner", json!({})).await.is_err());
    assert_eq!(inner.ran(), 0);
}

// claims: ORIG-31
#[tokio::test]
async fn what_a_scoped_invoker_refuses_does_not_run_from_the_registry() {
    let narrowed = Probe::new("narrowed", |call| async move {
        let only = call.runtime().restricted_to(["other".to_owned()]);
        let direct = only.invoke_tool("inner", json!({})).await.unwrap();
        // Further down the restriction still holds, and cannot be widened.
        let wider = only.restricted_to(["inner".to_owned(), "other".to_owned()]);
        let below = wider.invoke_tool("other", json!({})).await.unwrap();
        Ok(ToolOutput::success(format!(
            "{} / {}",
            direct.error_kind.map_or("ran", |kind| kind.tag()),
            below.output
        )))
    });
    let other = Probe::new("other", |call| async move {
        let inner = call
            .runtime()
            .invoke_tool("inner", json!({}))
            .await
            .unwrap();
        Ok(ToolOutput::success(
            inner.error_kind.map_or("ran", |kind| kind.tag()),
        ))
    });
    let inner = Probe::saying("inner", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_all())
            .with_tool(narrowed)
            .with_tool(other)
            .with_tool(inner.clone()),
    )
    .await;
    let result = session.tool("narrowed", json!({})).await.unwrap();
    assert_eq!(result.output, "permission_denied / permission_denied");
    assert_eq!(inner.ran(), 0);
}

#[tokio::test]
async fn the_builtin_route_is_trusted_only_below_a_direct_call() {
    for origin in Origin::ALL {
        let orchestrator = Probe::new("orchestrator", |call| async move {
            let child = call.builtin_invoker().invoke("inner", json!({})).await;
            let child = child.unwrap().result;
            Ok(ToolOutput::success(format!("{}", child.exit_code)))
        });
        let inner = Probe::saying("inner", "ran");
        let session = open(
            SessionOptions::new()
                .with_permission_policy(crate::PermissionPolicy {
                    allow: vec![a3s_code_contract::PermissionRule::Text(
                        "orchestrator".to_owned(),
                    )],
                    ..deny_all()
                })
                .with_tool(orchestrator)
                .with_tool(inner.clone()),
        )
        .await;
        invoke(&session, origin, "orchestrator", json!({})).await;
        let trusted = origin == Origin::HOST_DIRECT || origin == Origin::TRUSTED_HOST_DIRECT_NESTED;
        assert_eq!(inner.ran(), usize::from(trusted), "{origin:?}");
    }
}

#[tokio::test]
async fn an_engine_of_the_runtime_reuses_the_decision_and_its_calls_do_not() {
    let workflow = Probe::new("workflow", |call| async move {
        let invoker = call.builtin_invoker();
        let engine = invoker.invoke_engine("engine", json!({})).await.unwrap();
        Ok(ToolOutput::success(engine.result.output))
    });
    let engine = Probe::new("engine", |call| async move {
        let child = call.builtin_invoker().invoke("inner", json!({})).await;
        let child = child.unwrap().result;
        Ok(ToolOutput::success(format!(
            "engine ran, child {}",
            child.error_kind.map_or("ran", |kind| kind.tag())
        )))
    });
    let inner = Probe::saying("inner", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(crate::PermissionPolicy {
                allow: vec![a3s_code_contract::PermissionRule::Text(
                    "workflow".to_owned(),
                )],
                ..deny_all()
            })
            .with_tool(workflow)
            .with_tool(engine.clone())
            .with_tool(inner.clone()),
    )
    .await;
    let settled = invoke(&session, Origin::AGENT, "workflow", json!({})).await;
    assert_eq!(settled.result.output, "engine ran, child permission_denied");
    assert_eq!((engine.ran(), inner.ran()), (1, 0));
}

#[tokio::test]
async fn cancelling_the_outer_call_cancels_what_it_started() {
    let started = Arc::new(Notify::new());
    let seen = Arc::new(Notify::new());
    let inner = Probe::new("inner", {
        let (started, seen) = (started.clone(), seen.clone());
        move |call| {
            let (started, seen) = (started.clone(), seen.clone());
            async move {
                started.notify_one();
                call.cancellation().cancelled().await;
                seen.notify_one();
                Ok(ToolOutput::success("tidy"))
            }
        }
    });
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_all())
            .with_tool(caller_of_inner())
            .with_tool(inner),
    )
    .await;
    let call = invocation(&session, Origin::HOST_DIRECT, "outer_tool", json!({}));
    let scope = call.scope.clone();
    let kernel = session.inner().kernel.clone();
    let running = tokio::spawn(async move { kernel.invoke(call).await.unwrap() });
    started.notified().await;
    scope.cancel();
    seen.notified().await;
    assert_eq!(kind(&running.await.unwrap()), "cancelled");
}

// claims: AST-47
#[tokio::test]
async fn a_custom_tool_sees_workspace_arguments_cancellation_and_deadline() {
    let probe = Probe::new("probe", |call| async move {
        use a3s_code_contract::WorkspaceCapability as Can;
        let workspace = call.workspace();
        let left = call.deadline().unwrap() - std::time::Instant::now();
        Ok(ToolOutput::success(format!(
            "{} {} {} {} {} {}",
            workspace.root(),
            workspace.can(Can::Read),
            workspace.can(Can::Execute),
            call.args()["word"],
            call.cancellation().is_cancelled(),
            left.as_millis() <= 5_000
        )))
    });
    let session = open(
        SessionOptions::new()
            .with_tool_timeout(std::time::Duration::from_secs(5))
            .with_tool(probe),
    )
    .await;
    let result = session
        .tool("probe", json!({ "word": "hi" }))
        .await
        .unwrap();
    assert_eq!(result.output, "/memory true false \"hi\" false true");
}

// claims: AST-48
#[tokio::test]
async fn what_a_call_owns_is_released_with_it_and_what_the_session_owns_with_the_session() {
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let probe = Probe::new("probe", {
        let log = log.clone();
        move |call| {
            let (of_call, of_session) = (log.clone(), log.clone());
            call.resources()
                .own(move || of_call.lock().unwrap().push("call"));
            call.session_resources()
                .own(move || of_session.lock().unwrap().push("session"));
            async move {
                let _kept_to_the_end = call;
                Ok(ToolOutput::success("ok"))
            }
        }
    });
    let session = open(SessionOptions::new().with_tool(probe)).await;
    session.tool("probe", json!({})).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["call"]);
    session.close().await;
    assert_eq!(*log.lock().unwrap(), ["call", "session"]);
}
