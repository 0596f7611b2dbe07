//! How a run ends, and what keeps one from beginning.

use super::*;

// claims: DIRECT-08, DIRECT-09
#[tokio::test]
async fn a_direct_call_goes_beside_a_run_and_leaves_no_trace_in_it() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "direct-canary\n");
    let model = Arc::new(Gate::default());
    let options = SessionOptions::new().with_llm_client(Arc::clone(&model) as _);
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent.session(scratch.root(), options).await.unwrap();
    let mut stream = session.stream("wait").unwrap();
    model.asked.notified().await;
    let busy = session.send("second").await.unwrap_err();
    assert_eq!(busy.code(), ErrorCode::SessionBusy);
    let read = session.read_file("a.txt").await.unwrap();
    assert_eq!(read, "direct-canary\n");
    model.open.notify_one();
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        seen.push(event);
    }
    assert_eq!(stream.result().await.unwrap().text, "at last");
    assert!(
        seen.iter()
            .all(|event| !event.event_type.starts_with("tool_"))
    );
    assert!(!format!("{:?}", session.history()).contains("direct-canary"));
    model.open.notify_one();
    session.send("third").await.unwrap();
    assert!(
        !model
            .requests
            .lock()
            .unwrap()
            .concat()
            .contains("direct-canary")
    );
}

#[tokio::test]
async fn a_run_ends_promptly_when_it_is_cancelled_closed_or_dropped() {
    for how in ["cancel", "token", "close", "drop", "stream"] {
        let scratch = Scratch::new();
        let model = scripted([
            calls(&[
                ("c1", "bash", json!({ "command": "touch begun; sleep 30" })),
                ("c2", "bash", json!({ "command": "touch second" })),
            ]),
            text("never"),
        ]);
        let session = open(&scratch, &model, allow(&["bash"]), SessionOptions::new()).await;
        let token = CancellationToken::new();
        let begun = Instant::now();
        let started = async {
            while !scratch.inside("begun").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let options = RunOptions {
            cancellation: Some(token.clone()),
            ..RunOptions::default()
        };
        match how {
            "stream" => {
                let stream = session.stream("go").unwrap();
                started.await;
                drop(stream);
            }
            "drop" => {
                let run = session.send("go");
                tokio::select! {
                    _ = run => panic!("it ended"),
                    () = started => {}
                }
            }
            _ => {
                let stop = async {
                    started.await;
                    match how {
                        "cancel" => assert!(session.cancel()),
                        "token" => token.cancel(),
                        _ => session.close().await,
                    }
                };
                let (ended, ()) = tokio::join!(session.send_with("go", options), stop);
                let expected = match how {
                    "close" => ErrorCode::SessionClosed,
                    _ => ErrorCode::Cancelled,
                };
                assert_eq!(ended.unwrap_err().code(), expected, "{how}");
            }
        }
        // The conversation is free again, in a form that goes on.
        let free = async {
            while session.cancel() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), free)
            .await
            .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{how}");
        assert!(!scratch.inside("second").exists(), "{how}");
        check_transcript(&session.history());
        if how != "close" {
            model.push([text("fine")]);
            let history = session.history();
            assert_eq!(results_of(&history).len(), 2, "{how}: {history:?}");
            // The script still holds the answer that never came.
            assert_eq!(session.send("again").await.unwrap().text, "never", "{how}");
            check_transcript(&session.history());
        }
    }
}

#[tokio::test]
async fn limits_end_a_run_and_say_so() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "a\n");
    // Rounds.
    let reads = |n: u32| {
        calls(&[(
            &*format!("c{n}"),
            "read",
            json!({ "file_path": "a.txt", "limit": n }),
        )])
    };
    let model = scripted((1..10).map(reads));
    let options = SessionOptions::new().with_run_limits(RunLimits {
        max_tool_rounds: 2,
        ..RunLimits::default()
    });
    let session = open(&scratch, &model, allow(&["read"]), options).await;
    let result = session.send("go").await.unwrap();
    assert_eq!(result.forced_stop, Some(ForcedStop::ToolBudget));
    assert_eq!(model.requests().len(), 3);
    check_transcript(&session.history());
    // Time.
    let gate = Arc::new(Gate::default());
    let options = SessionOptions::new()
        .with_llm_client(gate as _)
        .with_run_limits(RunLimits {
            max_execution_time: Some(Duration::from_millis(50)),
            ..RunLimits::default()
        });
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent.session(scratch.root(), options).await.unwrap();
    let error = session.send("go").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert!(session.history().is_empty());
    // Bounds of the limits themselves.
    for limits in [
        RunLimits {
            max_tool_rounds: 0,
            ..RunLimits::default()
        },
        RunLimits {
            duplicate_tool_call_threshold: 1001,
            ..RunLimits::default()
        },
        RunLimits {
            circuit_breaker_threshold: 0,
            ..RunLimits::default()
        },
    ] {
        let options = SessionOptions::new().with_run_limits(limits);
        let refused = agent.session(scratch.root(), options).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::SessionConfiguration);
    }
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let scratch = Scratch::new();
    let count = Arc::new(AtomicU32::new(0));
    let probe = |n: u32| calls(&[(&*format!("c{n}"), "probe", json!({}))]);
    let twice = calls(&[
        ("d1", "probe", json!({ "n": 1 })),
        ("d2", "probe", json!({ "n": 1 })),
    ]);
    let model = scripted((0..5).map(probe).chain([twice, text("done")]));
    let options = SessionOptions::new().with_tool(Arc::new(Probe(Arc::clone(&count))));
    let session = open(&scratch, &model, allow(&["probe"]), options).await;
    session.send("go").await.unwrap();
    // Two of five in a row, and one of the two in one answer.
    assert_eq!(count.load(Ordering::Relaxed), 3);
    let results = results_of(&session.history());
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, _, failed)| *failed)
        .map(|(id, ..)| &**id)
        .collect();
    assert_eq!(failed, ["c2", "c3", "c4", "d2"]);
    check_transcript(&session.history());
}

#[tokio::test]
async fn what_keeps_a_run_from_beginning_is_an_error_of_its_kind() {
    let scratch = Scratch::new();
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let session = agent
        .session(scratch.root(), SessionOptions::new())
        .await
        .unwrap();
    let error = session.send("hello").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Config);
    assert!(error.to_string().contains("model"));
    let model = scripted([text("x")]);
    let session = open(&scratch, &model, allow(&[]), SessionOptions::new()).await;
    let error = session.send("  ").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(!session.cancel());
    session.close().await;
    assert_eq!(
        session.send("x").await.unwrap_err().code(),
        ErrorCode::SessionClosed
    );
    assert!(model.requests().is_empty());
}
