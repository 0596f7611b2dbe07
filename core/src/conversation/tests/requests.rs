//! Requests to a model: again where that helps, within a budget, no faster than they are read.

use super::*;

/// Fails a number of times before it answers.
struct Flaky {
    faults: Mutex<Vec<LlmFault>>,
    asked: AtomicU32,
}

#[async_trait]
impl LlmClient for Flaky {
    fn model(&self) -> &str {
        "flaky"
    }

    async fn complete(&self, _: &LlmRequest, events: LlmEvents) -> Result<LlmResponse, LlmError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        events.send(LlmEvent::Text("he".to_owned())).await;
        let fault = self.faults.lock().unwrap().pop();
        match fault {
            Some(fault) => Err(LlmError {
                retry_after: Some(Duration::from_millis(1)),
                ..LlmError::new(fault, "it failed")
            }),
            None => Ok(LlmResponse {
                text: "hello".to_owned(),
                ..LlmResponse::default()
            }),
        }
    }
}

#[tokio::test]
async fn a_request_is_made_again_only_where_that_can_help() {
    let scratch = Scratch::new();
    for (faults, asked, code) in [
        (vec![LlmFault::RateLimited, LlmFault::Transport], 3, None),
        (vec![LlmFault::Unavailable; 3], 3, Some(ErrorCode::Llm)),
        (vec![LlmFault::Authentication], 1, Some(ErrorCode::Llm)),
        (vec![LlmFault::Rejected], 1, Some(ErrorCode::Llm)),
    ] {
        let model = Arc::new(Flaky {
            faults: Mutex::new(faults),
            asked: AtomicU32::new(0),
        });
        let agent = Agent::create(AgentConfig::default()).await.unwrap();
        let options = SessionOptions::new().with_llm_client(Arc::clone(&model) as _);
        let session = agent.session(scratch.root(), options).await.unwrap();
        let mut stream = session.stream("go").unwrap();
        let mut turns = 0;
        let mut last = String::new();
        while let Some(event) = stream.next().await {
            turns += u32::from(event.event_type == "turn_start");
            last = event.event_type;
        }
        let ended = stream.result().await;
        assert_eq!(model.asked.load(Ordering::Relaxed), asked);
        assert_eq!(turns, asked);
        match code {
            None => {
                assert_eq!(ended.unwrap().text, "hello");
                assert_eq!(last, "agent_end");
            }
            Some(code) => {
                assert_eq!(ended.unwrap_err().code(), code);
                assert_eq!(last, "error");
                // A prompt that was never answered is taken back.
                assert!(session.history().is_empty());
            }
        }
    }
}

/// Denies the model after a number of requests and counts what it is told.
struct Purse {
    left: AtomicU32,
    told: Mutex<Vec<LlmUsage>>,
}

#[async_trait]
impl BudgetGuard for Purse {
    async fn check_before_llm(&self, _: &str, estimated_tokens: u64) -> BudgetDecision {
        assert!(estimated_tokens > 0);
        if self.left.load(Ordering::Relaxed) == 0 {
            return BudgetDecision::Deny {
                resource: "tokens".to_owned(),
                reason: "all spent".to_owned(),
            };
        }
        self.left.fetch_sub(1, Ordering::Relaxed);
        BudgetDecision::Allow
    }

    async fn record_after_llm(&self, _: &str, usage: LlmUsage) {
        self.told.lock().unwrap().push(usage);
    }
}

#[tokio::test]
async fn a_budget_is_asked_before_each_request_and_told_after() {
    let scratch = Scratch::new();
    let purse = Arc::new(Purse {
        left: AtomicU32::new(1),
        told: Mutex::default(),
    });
    let usage = TokenUsage {
        prompt_tokens: 7,
        completion_tokens: 2,
        total_tokens: 9,
        ..TokenUsage::default()
    };
    let turn = ScriptedTurn {
        usage: Some(usage),
        ..calls(&[("c1", "ls", json!({}))])
    };
    let model = scripted([turn, text("unreached")]);
    let options = SessionOptions::new().with_budget_guard(Arc::clone(&purse) as _);
    let session = open(&scratch, &model, allow(&["ls"]), options).await;
    let error = session.send("go").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::BudgetExhausted);
    assert_eq!(model.requests().len(), 1);
    let told = purse.told.lock().unwrap();
    assert_eq!(
        *told,
        [LlmUsage {
            input_tokens: 7,
            output_tokens: 2
        }]
    );
    check_transcript(&session.history());
}

/// Sends many pieces as fast as they are taken.
struct Talker {
    sent: Arc<AtomicU32>,
    pieces: u32,
}

#[async_trait]
impl LlmClient for Talker {
    fn model(&self) -> &str {
        "talker"
    }

    async fn complete(&self, _: &LlmRequest, events: LlmEvents) -> Result<LlmResponse, LlmError> {
        for _ in 0..self.pieces {
            events.send(LlmEvent::Text("x".to_owned())).await;
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
        Ok(LlmResponse {
            text: "x".repeat(self.pieces as usize),
            ..LlmResponse::default()
        })
    }
}

// hazards: T7
#[tokio::test]
async fn a_reader_that_does_not_read_holds_the_run_and_loses_nothing() {
    let scratch = Scratch::new();
    let sent = Arc::new(AtomicU32::new(0));
    let pieces = 50_000;
    let model = Arc::new(Talker {
        sent: Arc::clone(&sent),
        pieces,
    });
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    let options = SessionOptions::new().with_llm_client(model);
    let session = agent.session(scratch.root(), options).await.unwrap();
    let mut stream = session.stream("go").unwrap();
    let mut still = 0;
    let mut before = 0;
    while still < 20 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let now = sent.load(Ordering::Relaxed);
        still = if now == before && now > 0 {
            still + 1
        } else {
            0
        };
        before = now;
    }
    assert!(before < 2_000, "{before} pieces were made that nobody took");
    let mut taken = 0;
    let mut next = 0;
    let mut last = String::new();
    while let Some(event) = stream.next().await {
        assert_eq!(event.metadata.sequence, next);
        next += 1;
        taken += u32::from(event.event_type == "text_delta");
        last = event.event_type;
    }
    assert_eq!((taken, &*last), (pieces, "agent_end"));
    // One that goes away holds nothing.
    let stream = session.stream("again").unwrap();
    drop(stream);
    let mut stream = loop {
        match session.stream("third") {
            Ok(stream) => break stream,
            Err(error) => assert_eq!(error.code(), ErrorCode::SessionBusy),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert_eq!(stream.result().await.unwrap().text.len(), pieces as usize);
}
