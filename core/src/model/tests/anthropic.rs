//! Anthropic's Messages interface.

use super::server::{Server, Step, events, full};
use super::*;
use a3s_code_contract::TokenUsage;

fn config(base: &str) -> AnthropicConfig {
    AnthropicConfig {
        model: "claude".to_owned(),
        base_url: Some(base.to_owned()),
        api_key: Some(Secret::from("key")),
        ..AnthropicConfig::default()
    }
}

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

/// Thoughts, text, and two calls whose pieces come between each other.
fn rich() -> Vec<Value> {
    vec![
        json!({ "type": "message_start", "message": { "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1 } } }),
        start(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        json!({ "type": "ping" }),
        delta(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
        delta(0, json!({ "type": "signature_delta", "signature": "sig" })),
        stop(0),
        start(1, json!({ "type": "redacted_thinking", "data": "blob" })),
        stop(1),
        start(2, json!({ "type": "text", "text": "" })),
        delta(2, json!({ "type": "text_delta", "text": "I lo" })),
        delta(2, json!({ "type": "text_delta", "text": "ök" })),
        stop(2),
        start(
            3,
            json!({ "type": "tool_use", "id": "t1", "name": "read", "input": {} }),
        ),
        start(
            4,
            json!({ "type": "tool_use", "id": "t2", "name": "ls", "input": {} }),
        ),
        delta(3, json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(
            3,
            json!({ "type": "input_json_delta", "partial_json": "{\"path\":" }),
        ),
        delta(
            4,
            json!({ "type": "input_json_delta", "partial_json": "{}" }),
        ),
        delta(
            3,
            json!({ "type": "input_json_delta", "partial_json": "\"a\"}" }),
        ),
        stop(3),
        stop(4),
        start(
            5,
            json!({ "type": "tool_use", "id": "t3", "name": "read", "input": { "path": "b" } }),
        ),
        stop(5),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 55 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn plain(reason: &str) -> Vec<Value> {
    vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
        start(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "text_delta", "text": "hi" })),
        stop(0),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[tokio::test]
async fn a_stream_becomes_events_and_an_answer_however_it_is_cut() {
    for size in [1, 3, 17, 100_000] {
        let server = Server::start([events(&rich(), "", size)]).await;
        let client = AnthropicClient::new(config(&server.base)).unwrap();
        let (seen, answer) = ask(&client, &request()).await;
        assert_eq!(
            seen,
            [
                thought("hm"),
                text("I lo"),
                text("ök"),
                begins("t1", "read"),
                begins("t2", "ls"),
                input("t1", "{\"path\":"),
                input("t2", "{}"),
                input("t1", "\"a\"}"),
                begins("t3", "read"),
                input("t3", "{\"path\":\"b\"}"),
            ]
        );
        let expected = LlmResponse {
            text: "I look".replace("look", "lo\u{f6}k"),
            reasoning: Some("hm".to_owned()),
            tool_calls: vec![
                called("t1", "read", "{\"path\":\"a\"}"),
                called("t2", "ls", "{}"),
                called("t3", "read", "{\"path\":\"b\"}"),
            ],
            usage: TokenUsage {
                prompt_tokens: 240,
                completion_tokens: 55,
                total_tokens: 295,
                cache_read_tokens: Some(200),
                cache_write_tokens: Some(30),
            },
            stop: StopReason::ToolUse,
        };
        assert_eq!(answer.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_request_has_the_form_of_the_interface() {
    let server = Server::start([events(&plain("end_turn"), "", 4096)]).await;
    let client = AnthropicClient::new(AnthropicConfig {
        temperature: Some(0.2),
        ..config(&server.base)
    })
    .unwrap();
    let mut request = request();
    request
        .messages
        .extend(turn("call.of/another", json!("no json"), "gone", true));
    request.messages.push(Message::text(Role::Assistant, " "));
    request
        .messages
        .push(Message::text(Role::User, "and this?"));
    request.images.push(LlmImage {
        message: 4,
        media_type: "image/png".to_owned(),
        data: Arc::from(&b"png"[..]),
    });
    request.tools[0].parameters["oneOf"] = json!([{ "required": ["path"] }]);
    request.tool_choice = ToolChoice::Named("read".to_owned());
    ask(&client, &request).await.1.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(seen.headers["anthropic-version"], "2023-06-01");
    assert_eq!(seen.headers["x-api-key"], "key");
    assert_eq!(seen.headers["content-type"], "application/json");
    let body = seen.json();
    let id = body["messages"][1]["content"][0]["id"].clone();
    assert!(id.as_str().unwrap().starts_with("call_"), "{id}");
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        body,
        json!({
            "model": "claude",
            "max_tokens": 8192,
            "temperature": 0.2,
            "stream": true,
            "system": [{ "type": "text", "text": "be brief", "cache_control": mark }],
            "tools": [{ "name": "read", "description": "reads", "cache_control": mark, "input_schema": {
                "type": "object", "properties": { "path": { "type": "string" } } } }],
            "tool_choice": { "type": "tool", "name": "read" },
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "hello" }] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "read",
                    "input": { "malformed_arguments": "no json" } }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "gone",
                    "is_error": true }] },
                { "role": "user", "content": [
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } },
                    { "type": "text", "text": "and this?", "cache_control": mark }] },
            ],
        })
    );
}

#[tokio::test]
async fn thoughts_go_back_with_the_results_of_their_calls() {
    let answer = || events(&plain("end_turn"), "", 4096);
    let server = Server::start([events(&rich(), "", 4096), answer(), answer(), answer()]).await;
    let config = || AnthropicConfig {
        thinking: Some(Thinking::Budget(2000)),
        ..config(&server.base)
    };
    let client = AnthropicClient::new(config()).unwrap();
    let mut request = request();
    ask(&client, &request).await.1.unwrap();
    request
        .messages
        .extend(turn("t1", json!({ "path": "a" }), "text", false));
    ask(&client, &request).await.1.unwrap();
    // Another client knows nothing of them: it goes on without thinking, which the interface takes.
    ask(&AnthropicClient::new(config()).unwrap(), &request)
        .await
        .1
        .unwrap();
    // A forced call and thinking exclude each other.
    request.tool_choice = ToolChoice::Required;
    ask(&client, &request).await.1.unwrap();
    let bodies: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    let budget = json!({ "type": "enabled", "budget_tokens": 2000 });
    assert_eq!(bodies[0]["thinking"], budget);
    assert_eq!(bodies[0]["max_tokens"], 65_536);
    assert_eq!(bodies[1]["thinking"], budget);
    assert_eq!(
        bodies[1]["messages"][1]["content"],
        json!([
            { "type": "thinking", "thinking": "hm", "signature": "sig" },
            { "type": "redacted_thinking", "data": "blob" },
            { "type": "tool_use", "id": "t1", "name": "read", "input": { "path": "a" } },
        ])
    );
    for body in &bodies[2..] {
        assert_eq!(body.get("thinking"), None);
        assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
    }
    assert_eq!(bodies[3]["tool_choice"], json!({ "type": "any" }));
}

#[tokio::test]
async fn effort_and_no_cache_are_passed_on() {
    let server = Server::start([events(&plain("end_turn"), "", 4096)]).await;
    let client = AnthropicClient::new(AnthropicConfig {
        thinking: Some(Thinking::Effort(ReasoningEffort::High)),
        no_cache: true,
        ..config(&server.base)
    })
    .unwrap();
    ask(&client, &request()).await.1.unwrap();
    let body = server.seen()[0].json();
    assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(body["output_config"], json!({ "effort": "high" }));
    assert!(!body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn an_answer_without_a_stream_is_read_too() {
    let body = json!({
        "type": "message", "stop_reason": "tool_use", "usage": { "input_tokens": 4, "output_tokens": 2 },
        "content": [{ "type": "text", "text": "hi" }, { "type": "tool_use", "id": "t", "name": "read", "input": { "path": "a" } }],
    });
    let server = Server::start([vec![Step::Send(full(200, &[], &body.to_string()))]]).await;
    let client = AnthropicClient::new(config(&server.base)).unwrap();
    let (seen, answer) = ask(&client, &request()).await;
    assert_eq!(
        seen,
        [
            text("hi"),
            begins("t", "read"),
            input("t", "{\"path\":\"a\"}")
        ]
    );
    let answer = answer.unwrap();
    assert_eq!(answer.tool_calls, [called("t", "read", "{\"path\":\"a\"}")]);
    assert_eq!(
        (answer.usage.total_tokens, answer.stop),
        (6, StopReason::ToolUse)
    );
}

#[tokio::test]
async fn every_stop_has_its_reason_and_a_missing_end_is_forgiven() {
    for (reason, stop) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Other("refusal".to_owned())),
    ] {
        let mut values = plain(reason);
        values.pop();
        let server = Server::start([events(&values, "", 4096)]).await;
        let client = AnthropicClient::new(config(&server.base)).unwrap();
        let answer = ask(&client, &request()).await.1.unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), ("hi", stop));
    }
}

#[tokio::test]
async fn an_error_in_the_stream_has_its_kind() {
    for (kind, fault) in [
        ("overloaded_error", LlmFault::Unavailable),
        ("rate_limit_error", LlmFault::RateLimited),
        ("invalid_request_error", LlmFault::Rejected),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "no" } });
        let values = [&plain("end_turn")[..3], &[error]].concat();
        let server = Server::start([events(&values, "", 11)]).await;
        let client = AnthropicClient::new(config(&server.base)).unwrap();
        let (seen, answer) = ask(&client, &request()).await;
        assert_eq!(seen, [text("hi")]);
        assert_eq!(answer.unwrap_err().fault, fault);
    }
    let stray = [delta(7, json!({ "type": "text_delta", "text": "x" }))];
    let server = Server::start([events(&stray, "", 4096)]).await;
    let client = AnthropicClient::new(config(&server.base)).unwrap();
    assert_eq!(
        ask(&client, &request()).await.1.unwrap_err().fault,
        LlmFault::Malformed
    );
    let formed = LlmRequest {
        response_format: ResponseFormat::JsonObject,
        ..request()
    };
    assert_eq!(
        ask(&client, &formed).await.1.unwrap_err().fault,
        LlmFault::Rejected
    );
}
