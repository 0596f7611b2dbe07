//! The boundary as a host sees it: calls, mailboxes, host calls, and what misuse does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test"
)]

use a3s_code_bridge::{
    CallOutcome, ErrorCode, Message, MessageKind, Next, ReplyStatus, call, cancel, debug_counts,
    host_progress, host_reply, mailbox_close, mailbox_next, mailbox_open, release, runtime_close,
    runtime_open,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// A runtime for tests, a mailbox, an agent and a session on memory.
struct Host {
    runtime: u64,
    mailbox: u64,
    agent: u64,
    session: u64,
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

fn parse(message: &Message) -> Value {
    serde_json::from_slice(&message.payload).unwrap()
}

fn next(mailbox: u64) -> Message {
    match mailbox_next(mailbox, PATIENCE) {
        Next::Message(message) => message,
        other => panic!("no message: {other:?}"),
    }
}

/// Calls and waits for the one terminal message.
fn settle(target: u64, mailbox: u64, method: &str, args: Value) -> Message {
    match call(target, mailbox, method, &bytes(&args), b"").unwrap() {
        CallOutcome::Done(message) => message,
        CallOutcome::Pending(operation) => {
            let message = next(mailbox);
            assert_eq!(
                (message.kind, message.id),
                (MessageKind::Completion, operation)
            );
            message
        }
    }
}

impl Host {
    fn open(tools: Value) -> Self {
        let runtime = runtime_open(br#"{"debug":true,"threads":2}"#).unwrap();
        let mailbox = mailbox_open(runtime, None).unwrap();
        let agent = parse(&settle(runtime, mailbox, "agent.create", json!({})));
        let agent = agent["handle"].as_u64().unwrap();
        let opened = settle(
            agent,
            mailbox,
            "agent.session",
            json!({ "workspace": "/memory", "options": {
                "workspaceBackend": { "type": "memory", "files": { "a.txt": "alpha\n" } },
                "permissionPolicy": { "defaultDecision": "allow" },
                "tools": tools,
            }}),
        );
        assert_eq!(opened.status, 0, "{}", parse(&opened));
        let session = parse(&opened)["handle"].as_u64().unwrap();
        Self {
            runtime,
            mailbox,
            agent,
            session,
        }
    }

    fn tool(&self, name: &str, args: Value) -> Message {
        settle(
            self.session,
            self.mailbox,
            "session.tool",
            json!({ "name": name, "args": args }),
        )
    }

    fn start(&self, name: &str, args: Value) -> u64 {
        let request = bytes(&json!({ "name": name, "args": args }));
        match call(self.session, self.mailbox, "session.tool", &request, b"").unwrap() {
            CallOutcome::Pending(operation) => operation,
            CallOutcome::Done(message) => panic!("done at once: {message:?}"),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        release(self.session);
        release(self.agent);
        if let Ok(operation) = runtime_close(self.runtime, self.mailbox, b"") {
            loop {
                let message = next(self.mailbox);
                if message.id == operation {
                    break;
                }
            }
        }
        mailbox_close(self.mailbox);
    }
}

fn one_tool() -> Value {
    json!([{ "name": "ask", "description": "Asks the host.", "parameters": { "type": "object" }, "hostRef": 7 }])
}

#[test]
fn a_call_that_does_not_wait_is_answered_at_once_with_its_text_beside_the_json() {
    let host = Host::open(json!([]));
    let request = bytes(&json!({ "name": "debug_noop" }));
    let outcome = call(host.session, host.mailbox, "session.tool", &request, b"").unwrap();
    let CallOutcome::Done(message) = outcome else {
        panic!("pending")
    };
    assert_eq!(
        (message.id, message.status, &*message.data),
        (0, 0, &b"ok"[..])
    );
    let head = parse(&message);
    assert_eq!(
        (head["name"].as_str(), head["exitCode"].as_i64()),
        (Some("debug_noop"), Some(0))
    );
    assert!(head.get("output").is_none());
    assert_eq!(
        head["metadata"]["a3s_tool_result_evidence"]["original_bytes"],
        2
    );
}

#[test]
fn a_call_that_waits_has_exactly_one_terminal_message_also_when_cancelled() {
    let host = Host::open(json!([]));
    let quick = host.start("debug_wait", json!({ "ms": 5 }));
    let message = next(host.mailbox);
    assert_eq!((message.id, message.status), (quick, 0));
    cancel(quick);

    let long = host.start("debug_wait", json!({ "ms": 60_000 }));
    let since = Instant::now();
    cancel(long);
    cancel(long);
    let message = next(host.mailbox);
    assert_eq!((message.id, message.status), (long, 1));
    assert_eq!(parse(&message)["code"], "CANCELLED");
    assert!(since.elapsed() < Duration::from_secs(3));
    assert!(matches!(
        mailbox_next(host.mailbox, Duration::ZERO),
        Next::Timeout
    ));
}

#[test]
fn misuse_is_an_error_and_never_more() {
    let host = Host::open(json!([]));
    for target in [0, 1, u64::MAX, host.mailbox, host.runtime] {
        let error = call(target, host.mailbox, "session.toolNames", b"{}", b"").unwrap_err();
        assert!(
            matches!(
                error.code,
                ErrorCode::HandleClosed | ErrorCode::InvalidArgument
            ),
            "{error:?}"
        );
    }
    for (method, json) in [
        ("no.such", &b"{}"[..]),
        ("session.tool", b"["),
        ("session.tool", b"[]"),
        ("session.tool", b"{\"name\":1}"),
        ("session.tool", b"\xff\xfe"),
        (
            "session.tool",
            b"{\"name\":\"debug_noop\",\"name\":\"debug_noop\"}",
        ),
        ("session.tool", b"{\"name\":\"debug_noop\",\"extra\":1}"),
    ] {
        let error = call(host.session, host.mailbox, method, json, b"").unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{method} {json:?}");
    }
    let deep = format!(
        "{{\"name\":\"debug_noop\",\"args\":{}1{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    let error = call(
        host.session,
        host.mailbox,
        "session.tool",
        deep.as_bytes(),
        b"",
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(
        call(
            host.session,
            0,
            "session.tool",
            b"{\"name\":\"debug_noop\"}",
            b""
        )
        .is_err()
    );
    release(12_345);
    release(host.session);
    release(host.session);
    let error = call(host.session, host.mailbox, "session.isClosed", b"", b"").unwrap_err();
    assert_eq!(error.code, ErrorCode::HandleClosed);
}

#[test]
fn an_option_that_is_wrong_is_named() {
    let host = Host::open(json!([]));
    for (options, field) in [
        (
            json!({ "toolResultTransformPolicyy": 1 }),
            "toolResultTransformPolicyy",
        ),
        (
            json!({ "queueLimits": { "maxActive": 0 } }),
            "queueLimits.maxActive",
        ),
        (json!({ "toolTimeoutMs": -1 }), "toolTimeoutMs"),
        (
            json!({ "permissionPolicy": { "deny": ["bash("] } }),
            "permissionPolicy",
        ),
    ] {
        let request = bytes(&json!({ "workspace": "/m", "options": options }));
        let error = match call(host.agent, host.mailbox, "agent.session", &request, b"") {
            // Seen while the request was read.
            Err(error) => serde_json::to_value(error).unwrap(),
            Ok(CallOutcome::Done(message)) => parse(&message),
            Ok(CallOutcome::Pending(_)) => parse(&next(host.mailbox)),
        };
        assert_eq!(error["code"], "SESSION_CONFIGURATION_ERROR", "{error}");
        assert_eq!(error["details"]["field"], field, "{error}");
    }
}

#[test]
fn a_tool_of_the_application_is_asked_and_answers() {
    let host = Host::open(one_tool());
    let operation = host.start("ask", json!({ "word": "hi" }));
    let question = next(host.mailbox);
    assert_eq!(
        (question.kind, question.owner),
        (MessageKind::HostCall, host.session)
    );
    let input = parse(&question);
    assert_eq!(
        (input["hostRef"].as_u64(), input["args"]["word"].as_str()),
        (Some(7), Some("hi"))
    );
    assert_eq!(
        host_progress(question.id, "half way"),
        ReplyStatus::Accepted
    );
    let reply = bytes(&json!({ "metadata": { "n": 1 } }));
    assert_eq!(
        host_reply(question.id, true, &reply, "grüße".as_bytes()),
        ReplyStatus::Accepted
    );
    assert_eq!(
        host_reply(question.id, true, b"", b"late"),
        ReplyStatus::Stale
    );
    let message = next(host.mailbox);
    assert_eq!(
        (message.id, &*message.data),
        (operation, "grüße".as_bytes())
    );
    assert_eq!(parse(&message)["metadata"]["n"], 1);
    assert_eq!(host_progress(question.id, "too late"), ReplyStatus::Stale);
}

#[test]
fn what_a_handler_throws_or_answers_wrongly_is_a_failed_result() {
    let host = Host::open(one_tool());
    for (ok, json, data, status) in [
        (
            true,
            &br#"{"hostError":"boom"}"#[..],
            &b""[..],
            ReplyStatus::Accepted,
        ),
        (false, b"boom", b"", ReplyStatus::Accepted),
        (true, b"{\"unknown\":1}", b"boom", ReplyStatus::Invalid),
        (true, b"{}", b"\xff", ReplyStatus::Invalid),
    ] {
        host.start("ask", json!({}));
        let question = next(host.mailbox);
        assert_eq!(host_reply(question.id, ok, json, data), status);
        let message = next(host.mailbox);
        let head = parse(&message);
        assert_eq!((message.status, head["exitCode"].as_i64()), (0, Some(1)));
        assert!(head["metadata"]["host_error"].is_string(), "{head}");
    }
}

#[test]
fn a_question_that_is_no_longer_needed_is_called_off_and_a_late_answer_is_harmless() {
    let host = Host::open(one_tool());
    let operation = host.start("ask", json!({}));
    let question = next(host.mailbox);
    cancel(operation);
    let off = next(host.mailbox);
    assert_eq!((off.kind, off.id), (MessageKind::HostCancel, question.id));
    assert_eq!(next(host.mailbox).id, operation);
    assert_eq!(
        host_reply(question.id, true, b"", b"late"),
        ReplyStatus::Stale
    );
    assert_eq!(host_progress(question.id, "late"), ReplyStatus::Stale);
}

#[test]
fn a_handler_that_heeds_its_cancellation_ends_the_wait() {
    let host = Host::open(one_tool());
    for _ in 0..3 {
        let operation = host.start("ask", json!({}));
        let question = next(host.mailbox);
        let since = Instant::now();
        cancel(operation);
        assert_eq!(next(host.mailbox).kind, MessageKind::HostCancel);
        assert_eq!(
            host_reply(question.id, true, b"", b"tidied"),
            ReplyStatus::Accepted
        );
        let message = next(host.mailbox);
        assert_eq!((message.id, message.status), (operation, 1));
        assert_eq!(parse(&message)["code"], "CANCELLED");
        // Well before the grace of half a second is over.
        assert!(since.elapsed() < Duration::from_millis(400));
    }
}

#[test]
fn a_handler_calls_other_tools_only_while_its_own_call_runs() {
    let host = Host::open(one_tool());
    host.start("ask", json!({}));
    let question = next(host.mailbox);
    let nested = json!({ "name": "debug_noop", "args": {} });
    let inner = settle(
        question.id,
        host.mailbox,
        "hostCall.invokeTool",
        nested.clone(),
    );
    assert_eq!((inner.status, &*inner.data), (0, &b"ok"[..]));
    let itself = json!({ "name": "ask", "args": {} });
    let inner = settle(question.id, host.mailbox, "hostCall.invokeTool", itself);
    assert_eq!(parse(&inner)["errorKind"]["type"], "invalid_argument");
    let _ = host_reply(question.id, true, b"", b"done");
    next(host.mailbox);
    let error = call(
        question.id,
        host.mailbox,
        "hostCall.invokeTool",
        &bytes(&nested),
        b"",
    );
    assert_eq!(error.unwrap_err().code, ErrorCode::HandleClosed);
}

#[test]
fn closing_a_session_ends_its_calls_as_cancelled_and_refuses_new_ones() {
    let host = Host::open(one_tool());
    let waiting = host.start("debug_wait", json!({ "ms": 60_000 }));
    let asking = host.start("ask", json!({}));
    let question = next(host.mailbox);
    assert_eq!(question.kind, MessageKind::HostCall);
    let request = call(host.session, host.mailbox, "session.close", b"", b"").unwrap();
    let CallOutcome::Pending(closing) = request else {
        panic!("closing waits for what it cancels")
    };
    let mut ended = Vec::new();
    while ended.len() < 3 {
        let message = next(host.mailbox);
        if message.kind == MessageKind::Completion {
            if message.id != closing {
                assert_eq!(parse(&message)["errorKind"]["type"], "cancelled");
            }
            ended.push(message.id);
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, [waiting, asking, closing]);
    let message = host.tool("debug_noop", json!({}));
    assert_eq!(parse(&message)["code"], "SESSION_CLOSED");
}

// hazards: F1
#[test]
fn a_panic_anywhere_is_an_error_and_everything_goes_on() {
    let host = Host::open(json!([]));
    let entry = bytes(&json!({ "place": "entry" }));
    let error = call(host.runtime, host.mailbox, "debug.panic", &entry, b"").unwrap_err();
    assert_eq!(error.code, ErrorCode::Panic);
    let task = settle(
        host.runtime,
        host.mailbox,
        "debug.panic",
        json!({ "place": "task" }),
    );
    assert_eq!(parse(&task)["code"], "PANIC");
    assert_eq!(parse(&host.tool("debug_panic", json!({})))["code"], "PANIC");
    for _ in 0..100 {
        assert_eq!(host.tool("debug_noop", json!({})).status, 0);
    }
}

#[test]
fn every_code_crosses_as_it_is() {
    let host = Host::open(json!([]));
    for code in ErrorCode::ALL {
        let message = settle(
            host.runtime,
            host.mailbox,
            "debug.fail",
            json!({ "code": code }),
        );
        assert_eq!(parse(&message)["code"], code.as_str());
    }
}

#[test]
fn closing_a_mailbox_wakes_its_reader_and_cancels_what_reports_to_it() {
    let host = Host::open(json!([]));
    let other = mailbox_open(host.runtime, None).unwrap();
    let reader = std::thread::spawn(move || mailbox_next(other, PATIENCE));
    let request = bytes(&json!({ "name": "debug_wait", "args": { "ms": 60_000 } }));
    call(host.session, other, "session.tool", &request, b"").unwrap();
    mailbox_close(other);
    assert!(matches!(reader.join().unwrap(), Next::Closed));
    assert!(matches!(mailbox_next(other, PATIENCE), Next::Closed));
    let since = Instant::now();
    while parse(&settle(
        host.session,
        host.mailbox,
        "session.activeTools",
        json!({}),
    )) != json!([])
    {
        assert!(since.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn a_notification_comes_once_between_drains() {
    let host = Host::open(json!([]));
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let told = count.clone();
    let notify = Box::new(move || {
        told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    let mailbox = mailbox_open(host.runtime, Some(notify)).unwrap();
    let request = bytes(&json!({ "name": "debug_wait", "args": { "ms": 1 } }));
    for round in 1..=3 {
        for _ in 0..10 {
            call(host.session, mailbox, "session.tool", &request, b"").unwrap();
        }
        for _ in 0..10 {
            next(mailbox);
        }
        assert!(matches!(
            mailbox_next(mailbox, Duration::ZERO),
            Next::Timeout
        ));
        let told = count.load(std::sync::atomic::Ordering::SeqCst);
        assert!(
            (round..=round * 10).contains(&told),
            "{told} in round {round}"
        );
    }
    mailbox_close(mailbox);
}

// hazards: F6
#[test]
fn text_and_bytes_cross_unchanged() {
    let host = Host::open(json!([]));
    let value =
        json!({ "nul": "\u{0}", "big": 9_007_199_254_740_993_i64, "deep": [[[]]], "emoji": "🦀" });
    let data: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let request = bytes(&json!({ "value": value }));
    let outcome = call(host.runtime, host.mailbox, "debug.echo", &request, &data).unwrap();
    let message = match outcome {
        CallOutcome::Done(message) => message,
        CallOutcome::Pending(_) => next(host.mailbox),
    };
    assert_eq!(parse(&message), value);
    assert_eq!(message.data, data);
}

// hazards: F2
#[test]
fn a_thousand_sessions_leave_nothing_behind() {
    let host = Host::open(json!([]));
    let before = debug_counts().operations;
    for _ in 0..1_000 {
        let opened = settle(
            host.agent,
            host.mailbox,
            "agent.session",
            json!({ "workspace": "/m", "options": { "workspaceBackend": { "type": "memory" } } }),
        );
        let session = parse(&opened)["handle"].as_u64().unwrap();
        settle(session, host.mailbox, "session.close", json!({}));
        release(session);
    }
    let listed = parse(&settle(
        host.agent,
        host.mailbox,
        "agent.listSessions",
        json!({}),
    ));
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert!(debug_counts().operations <= before + 8);
}
