//! Questions, hooks and budgets: what answers, what fails, what hangs.

use crate::governance::*;
use a3s_code_contract::{ConfirmationPolicy, TimeoutAction};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn request(id: &str) -> ConfirmationRequest {
    ConfirmationRequest {
        tool_id: id.to_owned(),
        tool_name: "write".to_owned(),
        args: Arc::new(json!({"a": 1})),
        session_id: "s".to_owned(),
        reason: "because".to_owned(),
        timeout: Duration::from_secs(30),
    }
}

fn enabled() -> ConfirmationPolicy {
    ConfirmationPolicy {
        enabled: true,
        ..ConfirmationPolicy::default()
    }
}

fn rejected(outcome: &ConfirmationOutcome) -> bool {
    matches!(outcome, ConfirmationOutcome::Rejected { .. })
}

#[tokio::test(start_paused = true)]
async fn an_answer_settles_its_question_once() {
    let queue = ConfirmationQueue::new(enabled()).unwrap();
    let first = queue.confirm(request("1"));
    let second = queue.confirm(request("2"));
    // Both wait although nobody has polled them yet.
    let pending = queue.pending();
    assert_eq!(
        pending
            .iter()
            .map(|entry| entry.tool_id.as_str())
            .collect::<Vec<_>>(),
        ["1", "2"]
    );
    assert!(pending[0].remaining_ms <= 30_000 && pending[0].remaining_ms > 29_000);
    assert!(queue.answer("1", true, Some("fine".to_owned())));
    assert!(queue.answer("2", false, None));
    assert!(!queue.answer("1", true, None) && !queue.answer("3", true, None));
    assert_eq!(
        first.await,
        ConfirmationOutcome::Approved {
            reason: Some("fine".to_owned())
        }
    );
    assert_eq!(second.await, ConfirmationOutcome::Rejected { reason: None });
    assert!(queue.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_ends_by_its_timer() {
    for (action, approved) in [
        (TimeoutAction::Reject, false),
        (TimeoutAction::AutoApprove, true),
    ] {
        let queue = ConfirmationQueue::new(ConfirmationPolicy {
            timeout_action: action,
            ..enabled()
        })
        .unwrap();
        let started = tokio::time::Instant::now();
        assert_eq!(
            queue.confirm(request("1")).await,
            ConfirmationOutcome::TimedOut { approved }
        );
        assert_eq!(started.elapsed().as_secs(), 30);
        assert!(queue.pending().is_empty() && !queue.answer("1", true, None));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_with_the_same_id_are_both_rejected() {
    let queue = ConfirmationQueue::new(enabled()).unwrap();
    let first = queue.confirm(request("1"));
    let second = queue.confirm(request("1"));
    assert!(!queue.answer("1", true, None));
    assert!(rejected(&first.await) && rejected(&second.await));
    let third = queue.confirm(request("1"));
    assert!(queue.answer("1", true, None));
    assert!(matches!(third.await, ConfirmationOutcome::Approved { .. }));
}

#[tokio::test(start_paused = true)]
async fn cancelled_and_dropped_questions_leave_nothing() {
    let notices: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&notices);
    let queue = ConfirmationQueue::new(enabled())
        .unwrap()
        .with_observer(Arc::new(move |notice| {
            seen.lock().unwrap().push(match notice {
                ConfirmationNotice::Requested(request) => format!("+{}", request.tool_id),
                ConfirmationNotice::Settled { tool_id, .. } => format!("-{tool_id}"),
            });
            panic!("what an observer does changes nothing");
        }));
    let waiting = [queue.confirm(request("1")), queue.confirm(request("2"))];
    drop(queue.confirm(request("3")));
    assert_eq!(queue.pending().len(), 2);
    assert_eq!(queue.cancel_all(), 2);
    for question in waiting {
        assert!(rejected(&question.await));
    }
    assert_eq!(queue.cancel_all(), 0);
    assert_eq!(
        *notices.lock().unwrap(),
        ["+1", "+2", "+3", "-3", "-1", "-2"]
    );
    // An answer to a call that is gone reaches nobody, even after its id was used again.
    let gone = queue.confirm(request("4"));
    drop(gone);
    assert!(!queue.answer("4", true, None));
}

#[tokio::test]
async fn policies_are_checked_and_obeyed() {
    let off = ConfirmationQueue::new(ConfirmationPolicy::default()).unwrap();
    match off.confirm(request("1")).await {
        ConfirmationOutcome::Unavailable { reason } => {
            assert!(reason.contains("confirmationPolicy.enabled"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    let trusting = ConfirmationQueue::new(ConfirmationPolicy {
        yolo_lanes: vec!["execute".to_owned()],
        ..enabled()
    })
    .unwrap();
    assert!(matches!(
        trusting.confirm(request("1")).await,
        ConfirmationOutcome::Approved { .. }
    ));
    let query = trusting.confirm(ConfirmationRequest {
        tool_name: "web_fetch".to_owned(),
        ..request("2")
    });
    assert_eq!(trusting.pending().len(), 1);
    drop(query);
    assert!(
        ConfirmationQueue::new(ConfirmationPolicy {
            yolo_lanes: vec!["fast".to_owned()],
            ..enabled()
        })
        .is_err()
    );
    for value in [0, 86_400_001] {
        assert!(
            ConfirmationQueue::new(ConfirmationPolicy {
                default_timeout_ms: Some(value),
                ..enabled()
            })
            .is_err()
        );
    }
    let short = ConfirmationQueue::new(ConfirmationPolicy {
        default_timeout_ms: Some(5),
        ..enabled()
    })
    .unwrap();
    assert_eq!(short.default_timeout(), Duration::from_millis(5));
    assert_eq!(off.default_timeout(), Duration::from_secs(30));
}

#[derive(Clone)]
enum Act {
    Decide(HookDecision),
    Fail,
    Hang,
    Panic,
}

struct Scripted {
    act: Act,
    seen: Arc<Mutex<Vec<Value>>>,
}

#[async_trait]
impl HookHandler for Scripted {
    async fn handle(&self, event: &HookEvent) -> Result<HookDecision, HookFailure> {
        self.seen.lock().unwrap().push(event.to_wire());
        match self.act.clone() {
            Act::Decide(decision) => Ok(decision),
            Act::Fail => Err(HookFailure {
                message: "broken".to_owned(),
            }),
            Act::Hang => std::future::pending().await,
            Act::Panic => panic!("hook"),
        }
    }
}

fn hook(id: &str, point: HookPoint, act: Act) -> (Hook, Arc<Mutex<Vec<Value>>>) {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let handler = Arc::new(Scripted {
        act,
        seen: Arc::clone(&seen),
    });
    (Hook::new(id, point, handler), seen)
}

fn event(point: HookPoint, tool: &str, args: Value) -> HookEvent {
    HookEvent {
        name: point,
        session_id: "s".to_owned(),
        tool_id: "t".to_owned(),
        tool: tool.to_owned(),
        origin: "agent",
        args: Arc::new(args),
        result: (point == HookPoint::PostToolUse).then(|| HookResult {
            success: true,
            output: "out".to_owned(),
            exit_code: 0,
            duration_ms: 3,
        }),
    }
}

async fn one(act: Act) -> PreToolOutcome {
    let hooks = Hooks::default();
    hooks
        .register(hook("h", HookPoint::PreToolUse, act).0)
        .unwrap();
    hooks
        .pre_tool(&event(HookPoint::PreToolUse, "write", json!({"a": 1})))
        .await
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_in_a_hook_before_a_call_refuses_it() {
    let proceed = PreToolOutcome::Continue { args: None };
    assert_eq!(one(Act::Decide(HookDecision::Continue)).await, proceed);
    for act in [
        Act::Fail,
        Act::Hang,
        Act::Panic,
        Act::Decide(HookDecision::Block {
            reason: "no".to_owned(),
        }),
        Act::Decide(HookDecision::Skip),
        Act::Decide(HookDecision::Modify(json!(5))),
        Act::Decide(HookDecision::Modify(json!({"args": 5}))),
        Act::Decide(HookDecision::Modify(json!({"hookSpecificOutput": 5}))),
        Act::Decide(HookDecision::Modify(
            json!({"hookSpecificOutput": {"permissionDecision": "deny"}}),
        )),
    ] {
        let outcome = one(act).await;
        assert!(
            matches!(
                outcome,
                PreToolOutcome::Denied {
                    retryable: false,
                    ..
                }
            ),
            "{outcome:?}"
        );
    }
    assert_eq!(
        one(Act::Decide(HookDecision::Retry {
            delay_ms: Some(7),
            reason: "later".to_owned()
        }))
        .await,
        PreToolOutcome::Denied {
            reason: "later".to_owned(),
            retryable: true,
            retry_after_ms: Some(7)
        }
    );
}

#[tokio::test]
async fn arguments_are_replaced_in_every_documented_form() {
    for form in [
        json!({"b": 2}),
        json!({"updatedInput": {"b": 2}}),
        json!({"updated_input": {"b": 2}}),
        json!({"args": {"b": 2}}),
        json!({"hookSpecificOutput": {"updatedInput": {"b": 2}}}),
        json!({"hookSpecificOutput": {"args": {"b": 2}}}),
        json!({"hookSpecificOutput": {"b": 2}}),
    ] {
        let outcome = one(Act::Decide(HookDecision::Modify(form.clone()))).await;
        assert_eq!(
            outcome,
            PreToolOutcome::Continue {
                args: Some(json!({"b": 2}))
            },
            "{form}"
        );
    }
}

#[tokio::test]
async fn hooks_run_by_priority_and_the_first_refusal_ends_it() {
    let hooks = Hooks::default();
    let (mut late, late_seen) = hook(
        "late",
        HookPoint::PreToolUse,
        Act::Decide(HookDecision::Block {
            reason: "no".to_owned(),
        }),
    );
    late.priority = 200;
    let (mut last, last_seen) = hook(
        "last",
        HookPoint::PreToolUse,
        Act::Decide(HookDecision::Continue),
    );
    last.priority = 300;
    let (early, _) = hook(
        "early",
        HookPoint::PreToolUse,
        Act::Decide(HookDecision::Modify(json!({"b": 2}))),
    );
    for hook in [last, late, early] {
        hooks.register(hook).unwrap();
    }
    let outcome = hooks
        .pre_tool(&event(HookPoint::PreToolUse, "write", json!({"a": 1})))
        .await;
    assert!(matches!(outcome, PreToolOutcome::Denied { reason, .. } if reason == "no"));
    assert_eq!(
        late_seen.lock().unwrap()[0]["payload"]["args"],
        json!({"b": 2})
    );
    assert_eq!(late_seen.lock().unwrap()[0]["event_type"], "pre_tool_use");
    assert!(last_seen.lock().unwrap().is_empty());
    assert!(hooks.unregister("late") && !hooks.unregister("late"));
    assert_eq!(hooks.count(), 2);
    let outcome = hooks
        .pre_tool(&event(HookPoint::PreToolUse, "write", json!({"a": 1})))
        .await;
    assert_eq!(
        outcome,
        PreToolOutcome::Continue {
            args: Some(json!({"b": 2}))
        }
    );
}

#[tokio::test(start_paused = true)]
async fn hooks_after_a_call_see_it_and_report_what_failed() {
    let hooks = Hooks::default();
    let (last, seen) = hook(
        "good",
        HookPoint::PostToolUse,
        Act::Decide(HookDecision::Block {
            reason: "no".to_owned(),
        }),
    );
    for hook in [
        hook("fails", HookPoint::PostToolUse, Act::Fail).0,
        hook("hangs", HookPoint::PostToolUse, Act::Hang).0,
        hook("panics", HookPoint::PostToolUse, Act::Panic).0,
        last,
        hook("other", HookPoint::PreToolUse, Act::Panic).0,
    ] {
        hooks.register(hook).unwrap();
    }
    let faults = hooks
        .post_tool(&event(HookPoint::PostToolUse, "write", json!({})))
        .await;
    assert_eq!(
        faults
            .iter()
            .map(|fault| fault.hook.as_str())
            .collect::<Vec<_>>(),
        ["fails", "hangs", "panics"]
    );
    let seen = seen.lock().unwrap();
    assert_eq!(
        seen[0]["payload"]["result"],
        json!({"success": true, "output": "out", "exit_code": 0, "duration_ms": 3})
    );
}

#[tokio::test]
async fn a_matcher_fits_when_all_its_fields_do() {
    let any = HookMatcher::any;
    for (matcher, tool, args, expected) in [
        (any(), "write", json!({}), true),
        (any().tool("write"), "write", json!({}), true),
        (any().tool("write"), "Write", json!({}), false),
        (any().session("s"), "write", json!({}), true),
        (any().session("t"), "write", json!({}), false),
        (
            any().path_pattern("src/**").unwrap(),
            "write",
            json!({"file_path": "src/a/b"}),
            true,
        ),
        (
            any().path_pattern("src/**").unwrap(),
            "write",
            json!({"file_path": "./src/a"}),
            true,
        ),
        (
            any().path_pattern("src/*").unwrap(),
            "write",
            json!({"file_path": "src/a/b"}),
            false,
        ),
        (
            any().path_pattern("src/**").unwrap(),
            "ls",
            json!({"path": "src/a"}),
            true,
        ),
        (
            any().path_pattern("src/**").unwrap(),
            "read",
            json!({"files": [{"file_path": "x"}, {"file_path": "src/a"}]}),
            true,
        ),
        (
            any().path_pattern("src/**").unwrap(),
            "bash",
            json!({"command": "src/a"}),
            false,
        ),
        (
            any().command_pattern("rm +-r").unwrap(),
            "bash",
            json!({"command": "true; rm  -rf x"}),
            true,
        ),
        (
            any().command_pattern("rm").unwrap(),
            "write",
            json!({"command": "rm"}),
            false,
        ),
        (
            any().tool("bash").command_pattern("ls").unwrap(),
            "bash",
            json!({"command": "rm"}),
            false,
        ),
    ] {
        let hooks = Hooks::default();
        let (mut seeing, seen) = hook(
            "h",
            HookPoint::PreToolUse,
            Act::Decide(HookDecision::Continue),
        );
        seeing.matcher = matcher.clone();
        hooks.register(seeing).unwrap();
        hooks
            .pre_tool(&event(HookPoint::PreToolUse, tool, args.clone()))
            .await;
        assert_eq!(
            seen.lock().unwrap().len(),
            usize::from(expected),
            "{matcher:?} on {tool} {args}"
        );
    }
    assert!(any().command_pattern("(").is_err() && any().command_pattern("(?=a)").is_err());
}

#[test]
fn registration_is_bounded() {
    let hooks = Hooks::default();
    let make = |id: &str| hook(id, HookPoint::PreToolUse, Act::Fail).0;
    hooks.register(make("a")).unwrap();
    assert_eq!(
        hooks.register(make("a")),
        Err(HookError::DuplicateId { id: "a".to_owned() })
    );
    for timeout in [Duration::ZERO, Duration::from_secs(3601)] {
        assert_eq!(
            hooks.register(Hook {
                timeout,
                ..make("b")
            }),
            Err(HookError::Timeout)
        );
    }
    for n in 1..1024 {
        hooks.register(make(&format!("h{n}"))).unwrap();
    }
    assert_eq!(hooks.register(make("z")), Err(HookError::TooMany));
}

#[test]
fn every_point_has_its_documented_name() {
    assert_eq!(HookPoint::ALL.len(), 28);
    for point in HookPoint::ALL {
        assert_eq!(HookPoint::parse(point.as_str()), Some(*point));
    }
    let gating: Vec<_> = HookPoint::ALL
        .iter()
        .filter(|point| point.is_gating())
        .map(|point| point.as_str())
        .collect();
    assert_eq!(
        gating,
        [
            "pre_tool_use",
            "permission_request",
            "pre_compact",
            "pre_prompt",
            "pre_planning",
            "pre_run_control"
        ]
    );
}

enum Guard {
    Says(BudgetDecision),
    Hangs,
    Panics,
}

#[async_trait]
impl BudgetGuard for Guard {
    async fn check_before_tool(&self, _: &str, _: &str) -> BudgetDecision {
        match self {
            Self::Says(decision) => decision.clone(),
            Self::Hangs => std::future::pending().await,
            Self::Panics => panic!("guard"),
        }
    }
    async fn check_before_llm(&self, session: &str, _: u64) -> BudgetDecision {
        self.check_before_tool(session, "").await
    }
    async fn record_after_tool(&self, session: &str, _: &str) {
        self.check_before_tool(session, "").await;
    }
    async fn record_after_llm(&self, session: &str, _: LlmUsage) {
        self.check_before_tool(session, "").await;
    }
}

struct Silent;
impl BudgetGuard for Silent {}

#[tokio::test(start_paused = true)]
async fn a_budget_guard_that_fails_denies() {
    let soft = |consumed| BudgetDecision::Soft {
        resource: "tokens".to_owned(),
        consumed,
        limit: 10.0,
        message: None,
    };
    for decision in [
        BudgetDecision::Allow,
        soft(9.0),
        BudgetDecision::Deny {
            resource: "tokens".to_owned(),
            reason: "used up".to_owned(),
        },
    ] {
        assert_eq!(
            check_budget(&Guard::Says(decision.clone()), "s", "t").await,
            decision
        );
        assert_eq!(
            check_llm_budget(&Guard::Says(decision.clone()), "s", 5).await,
            decision
        );
    }
    assert_eq!(check_budget(&Silent, "s", "t").await, BudgetDecision::Allow);
    assert_eq!(
        check_llm_budget(&Silent, "s", 1).await,
        BudgetDecision::Allow
    );
    for guard in [Guard::Hangs, Guard::Panics, Guard::Says(soft(f64::NAN))] {
        let started = tokio::time::Instant::now();
        assert!(matches!(
            check_budget(&guard, "s", "t").await,
            BudgetDecision::Deny { .. }
        ));
        assert!(matches!(
            check_llm_budget(&guard, "s", 5).await,
            BudgetDecision::Deny { .. }
        ));
        record_budget(&guard, "s", "t").await;
        record_llm_budget(&guard, "s", LlmUsage::default()).await;
        assert!(started.elapsed() <= Duration::from_secs(21));
    }
}
