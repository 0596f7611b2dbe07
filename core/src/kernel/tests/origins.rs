//! One table over all five origins: what holds whoever asks.

use super::support::{Probe, allow_all, deny_all, invocation, invoke, kind, open};
use crate::governance::{
    ActiveSkillLimits, BudgetDecision, BudgetGuard, Hook, HookDecision, HookEvent, HookFailure,
    HookHandler, HookPoint, SecurityProvider,
};
use crate::kernel::Origin;
use crate::kernel::origin::Gate;
use crate::session::SessionOptions;
use crate::tools::ToolOutput;
use a3s_code_contract::{QueueLimits, ToolErrorKind};
use async_trait::async_trait;
use serde_json::json;
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// A hook that records what it sees and decides as told.
struct Recorder {
    decision: HookDecision,
    seen: Mutex<Vec<(String, String, &'static str)>>,
}

impl Recorder {
    fn new(decision: HookDecision) -> Arc<Self> {
        Arc::new(Self {
            decision,
            seen: Mutex::default(),
        })
    }
}

#[async_trait]
impl HookHandler for Recorder {
    async fn handle(&self, event: &HookEvent) -> Result<HookDecision, HookFailure> {
        let output = event.result.as_ref().map(|result| result.output.clone());
        self.seen.lock().unwrap().push((
            event.tool.clone(),
            output.unwrap_or_default(),
            event.origin,
        ));
        Ok(self.decision.clone())
    }
}

// claims: ORIG-07
#[tokio::test]
async fn a_pre_hook_that_blocks_stops_the_body_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::saying("probe", "ran");
        let hook = Recorder::new(HookDecision::Block {
            reason: "not now".to_owned(),
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_hook(Hook::new("block", HookPoint::PreToolUse, hook.clone()))
                .with_tool(probe.clone()),
        )
        .await;
        let settled = invoke(&session, origin, "probe", json!({})).await;
        assert_eq!(kind(&settled), "hook_denied", "{origin:?}");
        assert_eq!(probe.ran(), 0, "{origin:?}");
        assert_eq!(hook.seen.lock().unwrap()[0].2, origin.as_str());
    }
}

/// A budget that is used up.
struct UsedUp(AtomicUsize);

#[async_trait]
impl BudgetGuard for UsedUp {
    async fn check_before_tool(&self, _: &str, _: &str) -> BudgetDecision {
        self.0.fetch_add(1, Ordering::SeqCst);
        BudgetDecision::Deny {
            resource: "calls".to_owned(),
            reason: "none left".to_owned(),
        }
    }
}

// claims: ORIG-08
#[tokio::test]
async fn a_used_up_budget_refuses_before_any_effect_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::saying("probe", "ran");
        let budget = Arc::new(UsedUp(AtomicUsize::new(0)));
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_budget_guard(budget.clone())
                .with_tool(probe.clone()),
        )
        .await;
        let settled = invoke(&session, origin, "probe", json!({})).await;
        assert_ne!(settled.result.exit_code, 0, "{origin:?}");
        assert!(settled.result.output.contains("budget"), "{origin:?}");
        assert_eq!(probe.ran(), 0, "{origin:?}");
        assert_eq!(budget.0.load(Ordering::SeqCst), 1, "{origin:?}");
    }
}

// claims: ORIG-09
#[tokio::test(start_paused = true)]
async fn a_tool_that_outlasts_its_limit_times_out_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::new("probe", |_| std::future::pending());
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_tool_timeout(Duration::from_millis(40))
                .with_tool(probe.clone()),
        )
        .await;
        let settled = invoke(&session, origin, "probe", json!({})).await;
        assert_eq!(
            settled.result.error_kind,
            Some(ToolErrorKind::Timeout {
                op: "probe".to_owned(),
                duration_ms: 40
            }),
            "{origin:?}"
        );
        // It may have had an effect, so nobody may take it for not done; and it ran once.
        assert_eq!(
            settled.result.metadata.as_ref().unwrap()["outcome"],
            "unknown"
        );
        assert_eq!(probe.ran(), 1, "{origin:?}");
        assert!(session.active_tools().is_empty());
    }
}

// claims: ORIG-09
#[tokio::test]
async fn queue_limits_hold_whatever_the_origin() {
    for origin in Origin::ALL {
        let release = Arc::new(Notify::new());
        let started = Arc::new(Notify::new());
        let probe = Probe::new("probe", {
            let (release, started) = (release.clone(), started.clone());
            move |_| {
                let (release, started) = (release.clone(), started.clone());
                async move {
                    started.notify_one();
                    release.notified().await;
                    Ok(ToolOutput::success("done"))
                }
            }
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_queue_limits(QueueLimits {
                    max_active: Some(1),
                    max_pending: Some(0),
                })
                .with_tool(probe.clone()),
        )
        .await;
        let kernel = session.inner().kernel.clone();
        let first = invocation(&session, origin, "probe", json!({}));
        let mut second = invocation(&session, origin, "probe", json!({}));
        // Siblings: nested calls stand in the line of their parent.
        second.parent = first.parent.clone();
        let running = tokio::spawn({
            let kernel = kernel.clone();
            async move { kernel.invoke(first).await.unwrap() }
        });
        started.notified().await;
        let refused = kernel.invoke(second).await.unwrap();
        assert_eq!(kind(&refused), "rate_limited", "{origin:?}");
        assert_eq!(probe.ran(), 1, "{origin:?}");
        release.notify_one();
        assert_eq!(running.await.unwrap().result.output, "done", "{origin:?}");
    }
}

// claims: ORIG-10
#[tokio::test]
async fn cancelling_the_scope_ends_the_call_as_cancelled_whatever_the_origin() {
    for origin in Origin::ALL {
        let started = Arc::new(Notify::new());
        let probe = Probe::new("probe", {
            let started = started.clone();
            move |call| {
                let started = started.clone();
                async move {
                    started.notify_one();
                    call.cancellation().cancelled().await;
                    Ok(ToolOutput::success("tidy"))
                }
            }
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_tool(probe.clone()),
        )
        .await;
        let call = invocation(&session, origin, "probe", json!({}));
        let scope = call.scope.clone();
        let kernel = session.inner().kernel.clone();
        let running = tokio::spawn(async move { kernel.invoke(call).await.unwrap() });
        started.notified().await;
        scope.cancel();
        let settled = running.await.unwrap();
        assert_eq!(kind(&settled), "cancelled", "{origin:?}");
        assert_ne!(settled.result.exit_code, 0, "{origin:?}");
    }
}

// claims: ORIG-11
#[tokio::test]
async fn a_tool_that_calls_back_into_itself_is_stopped_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::new("probe", |call| async move {
            let inner = call.runtime().invoke_tool("PROBE", json!({})).await;
            let inner = inner.unwrap();
            Ok(ToolOutput::success(format!(
                "{} {}",
                inner.exit_code, inner.output
            )))
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_tool(probe.clone()),
        )
        .await;
        let settled = invoke(&session, origin, "probe", json!({})).await;
        assert!(
            settled.result.output.starts_with("1 Refused: `probe`"),
            "{origin:?}: {}",
            settled.result.output
        );
        assert_eq!(probe.ran(), 1, "{origin:?}");
    }
}

// claims: ORIG-12
#[tokio::test]
async fn a_post_hook_sees_every_call_that_ran_whatever_the_origin() {
    for origin in Origin::ALL {
        let hook = Recorder::new(HookDecision::Continue);
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_hook(Hook::new("see", HookPoint::PostToolUse, hook.clone()))
                .with_tool(Probe::saying("probe", "what it said")),
        )
        .await;
        invoke(&session, origin, "probe", json!({})).await;
        invoke(&session, origin, "no_such_tool", json!({})).await;
        let seen = hook.seen.lock().unwrap().clone();
        assert_eq!(
            seen,
            [(
                "probe".to_owned(),
                "what it said".to_owned(),
                origin.as_str()
            )],
            "only what ran"
        );
    }
}

/// Masks one word.
struct Mask;

impl SecurityProvider for Mask {
    fn sanitize<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains("hunter2") {
            Cow::Owned(text.replace("hunter2", "REDACTED"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

// claims: ORIG-13
#[tokio::test]
async fn a_masked_secret_is_masked_in_the_output_and_its_evidence_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::new("probe", |_| async {
            Ok(ToolOutput::success("pw hunter2").with("seen", "hunter2"))
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_security_provider(Arc::new(Mask))
                .with_tool(probe),
        )
        .await;
        let settled = invoke(&session, origin, "probe", json!({})).await;
        assert_eq!(settled.result.output, "pw REDACTED", "{origin:?}");
        let metadata = settled.result.metadata.unwrap();
        assert!(!metadata.to_string().contains("hunter2"), "{origin:?}");
        let evidence = &metadata["a3s_tool_result_evidence"];
        assert_eq!(evidence["original_bytes"], "pw REDACTED".len());
        assert_eq!(evidence["loss_mode"], "none");
    }
}

#[tokio::test]
async fn the_table_of_skipped_gates_is_what_the_gates_do() {
    for origin in Origin::ALL {
        for gate in Gate::ALL {
            let options = match gate {
                Gate::Permission => SessionOptions::new().with_permission_policy(deny_all()),
                // Nobody to answer.
                Gate::Confirmation => {
                    SessionOptions::new().with_permission_policy(Default::default())
                }
                Gate::ControlFiles | Gate::Skills => {
                    SessionOptions::new().with_permission_policy(allow_all())
                }
            };
            let session = open(options.with_tool(Probe::saying("probe", "ran"))).await;
            if gate == Gate::Skills {
                let limits = ActiveSkillLimits::new("skill", ["read"]).unwrap();
                session.set_active_skill_limits(Some(limits));
            }
            let settled = if gate == Gate::ControlFiles {
                let args = json!({ "file_path": ".git/config" });
                invoke(&session, origin, "read", args).await
            } else {
                invoke(&session, origin, "probe", json!({})).await
            };
            assert_eq!(
                kind(&settled) == "permission_denied",
                origin.passes_through(gate),
                "{origin:?} {gate:?}: {}",
                settled.result.output
            );
        }
    }
}

// claims: EVID-01
#[tokio::test]
async fn refusals_carry_evidence_too() {
    for origin in Origin::ALL {
        let session = open(SessionOptions::new().with_permission_policy(deny_all())).await;
        let settled = invoke(&session, origin, "nothing_of_the_kind", json!({})).await;
        let metadata = settled.result.metadata.unwrap();
        let evidence = &metadata["a3s_tool_result_evidence"];
        assert_eq!(evidence["schema"], "a3s.code.tool-result-evidence.v1");
        assert_eq!(evidence["projected_bytes"], settled.result.output.len());
    }
}

// claims: ORIG-06
#[tokio::test]
async fn artifacts_stay_within_the_session_limits_whatever_the_origin() {
    for origin in Origin::ALL {
        let probe = Probe::new("probe", |call| async move {
            let letter = call.args()["letter"].as_str().unwrap_or("x").to_owned();
            Ok(ToolOutput::success(letter.repeat(200_000)))
        });
        let session = open(
            SessionOptions::new()
                .with_permission_policy(allow_all())
                .with_artifact_store_limits(a3s_code_contract::ArtifactStoreLimits {
                    max_artifacts: 2,
                    max_bytes: 1_000_000,
                })
                .with_tool(probe),
        )
        .await;
        let mut references = Vec::new();
        for letter in ["a", "b", "c"] {
            let settled = invoke(&session, origin, "probe", json!({ "letter": letter })).await;
            let metadata = settled.result.metadata.unwrap();
            references.push(
                metadata["artifact"]["artifact_uri"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        // The oldest is reported missing; the others are whole.
        assert!(session.get_artifact(&references[0]).is_none(), "{origin:?}");
        for (reference, letter) in references[1..].iter().zip(["b", "c"]) {
            let kept = session.get_artifact(reference).unwrap();
            assert_eq!(kept.content, letter.repeat(200_000), "{origin:?}");
        }
    }
}
