//! `batch` over the kernel: bounds, concurrency, and what partial failure leaves.

use super::support::{Probe, allow_all, deny_all, invoke, kind, open};
use crate::kernel::Origin;
use crate::session::SessionOptions;
use crate::tools::ToolOutput;
use a3s_code_contract::ToolCapabilities;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Barrier;

fn calls(name: &str, count: usize) -> Value {
    let calls: Vec<Value> = (0..count)
        .map(|n| json!({ "tool": name, "args": { "n": n } }))
        .collect();
    json!({ "invocations": calls, "max_concurrency": 16 })
}

/// A probe that knows how many of it run at once.
fn counting(name: &'static str, peak: &Arc<AtomicUsize>) -> Arc<Probe> {
    let (peak, now) = (peak.clone(), Arc::new(AtomicUsize::new(0)));
    Probe::new(name, move |_| {
        let (peak, now) = (peak.clone(), now.clone());
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::success("ok"))
        }
    })
}

// claims: BATCH-01, BATCH-02
#[tokio::test(start_paused = true)]
async fn thirty_two_are_taken_at_most_sixteen_at_once_and_thirty_three_refused() {
    let peak = Arc::new(AtomicUsize::new(0));
    let probe =
        counting("probe", &peak).with_capabilities(ToolCapabilities::parallel_safe_read(64));
    let session = open(SessionOptions::new().with_tool(probe.clone())).await;
    let refused = session.tool("batch", calls("probe", 33)).await.unwrap();
    assert_eq!(refused.error_kind.unwrap().tag(), "invalid_argument");
    assert_eq!(probe.ran(), 0);
    let taken = session.tool("batch", calls("probe", 32)).await.unwrap();
    assert_eq!((taken.exit_code, probe.ran()), (0, 32));
    assert_eq!(peak.load(Ordering::SeqCst), 16);
    let metadata = taken.metadata.unwrap();
    assert_eq!(metadata["execution_mode"], "parallel");
    assert_eq!(metadata["applied_concurrency"], 16);
}

// claims: BATCH-03
#[tokio::test]
async fn safe_children_overlap_in_time() {
    let together = Arc::new(Barrier::new(3));
    let probe = Probe::new("probe", move |_| {
        let together = together.clone();
        async move {
            together.wait().await;
            Ok(ToolOutput::success("met"))
        }
    })
    .with_capabilities(ToolCapabilities::parallel_safe_read(8));
    let session = open(SessionOptions::new().with_tool(probe)).await;
    let result = session.tool("batch", calls("probe", 3)).await.unwrap();
    assert_eq!(result.output.matches("met").count(), 3);
}

// claims: BATCH-04, BATCH-05
#[tokio::test(start_paused = true)]
async fn one_child_that_promises_nothing_makes_the_batch_run_in_order() {
    for other in ["unknown", "no_such_tool"] {
        let peak = Arc::new(AtomicUsize::new(0));
        let safe =
            counting("safe", &peak).with_capabilities(ToolCapabilities::parallel_safe_read(8));
        let session = open(
            SessionOptions::new()
                .with_tool(safe)
                .with_tool(Probe::saying("unknown", "ok")),
        )
        .await;
        let mut args = calls("safe", 4);
        args["invocations"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "tool": other }));
        let result = session.tool("batch", args).await.unwrap();
        assert_eq!(
            result.metadata.unwrap()["execution_mode"],
            "serial",
            "{other}"
        );
        assert_eq!(peak.load(Ordering::SeqCst), 1, "{other}");
    }
}

// claims: BATCH-06, BATCH-07, AST-22
#[tokio::test]
async fn a_partial_failure_names_the_failed_and_keeps_the_rest() {
    let session = open(SessionOptions::new().with_tool(Probe::saying("fine", "was fine"))).await;
    let missing = json!({ "tool": "read", "args": { "file_path": "none" } });
    let args =
        json!({ "invocations": [{ "tool": "fine" }, missing, { "tool": "fine", "id": "last" }] });
    let result = session.tool("batch", args).await.unwrap();
    let metadata = result.metadata.unwrap();
    assert_eq!(
        (result.exit_code, &metadata["status"]),
        (0, &json!("partial_failure"))
    );
    assert_eq!(metadata["failed_indices"], json!([1]));
    assert_eq!(result.output.matches("was fine").count(), 2);
    assert_eq!(metadata["results"][1]["error_kind"]["type"], "not_found");
    assert_eq!(metadata["results"][2]["id"], "last");
    let all = session
        .tool("batch", json!({ "invocations": [missing, missing] }))
        .await
        .unwrap();
    assert_eq!(
        (all.exit_code, all.error_kind.unwrap().tag()),
        (1, "partial_failure")
    );
}

// claims: ORIG-16, CTR-03
#[tokio::test]
async fn the_wrapper_grants_nothing_and_takes_nothing_away() {
    let batch_of_probe = json!({ "invocations": [{ "tool": "probe" }] });
    let allow_batch = crate::PermissionPolicy {
        allow: vec![a3s_code_contract::PermissionRule::Text("batch".to_owned())],
        ..deny_all()
    };
    let probe = Probe::saying("probe", "ran");
    let session = open(
        SessionOptions::new()
            .with_permission_policy(allow_batch)
            .with_tool(probe.clone()),
    )
    .await;
    let governed = invoke(&session, Origin::AGENT, "batch", batch_of_probe.clone()).await;
    assert_eq!((kind(&governed), probe.ran()), ("partial_failure", 0));
    let rows = &governed.result.metadata.as_ref().unwrap()["results"];
    assert_eq!(rows[0]["error_kind"]["type"], "permission_denied");
    let evidence = &rows[0]["metadata"]["a3s_tool_result_evidence"];
    assert_eq!(evidence["schema"], "a3s.code.tool-result-evidence.v1");
    // The application's own batch runs its children without a question.
    let direct = session.tool("batch", batch_of_probe).await.unwrap();
    assert_eq!((direct.exit_code, probe.ran()), (0, 1));
    // Arguments that break a child's schema are refused before it runs.
    let session = open(SessionOptions::new().with_permission_policy(allow_all())).await;
    let bad =
        json!({ "invocations": [{ "tool": "read", "args": { "limit": 0 } }, { "tool": "ls" }] });
    let bad = session.governed_tool("batch", bad).await.unwrap();
    let row = &bad.metadata.unwrap()["results"][0];
    assert_eq!(row["error_kind"]["type"], "invalid_argument");
    // A batch does not nest.
    let nested = json!({ "invocations": [{ "tool": "batch", "args": { "invocations": [] } }] });
    let nested = session.tool("batch", nested).await.unwrap();
    assert_ne!(nested.exit_code, 0);
}
