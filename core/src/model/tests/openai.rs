//! Chat completions, and what servers make of them.

use super::server::{Server, Step, events, full};
use super::*;
use a3s_code_contract::TokenUsage;

fn client(base: &str) -> OpenAiClient {
    OpenAiClient::new(OpenAiConfig {
        model: "local".to_owned(),
        base_url: Some(base.to_owned()),
        ..OpenAiConfig::default()
    })
    .unwrap()
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn call(index: u64, id: Value, name: Value, arguments: Value) -> Value {
    delta(
        json!({ "tool_calls": [{ "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments } }] }),
    )
}

const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn a_stream_becomes_events_and_an_answer_however_it_is_cut() {
    let values = [
        delta(json!({ "role": "assistant", "content": null })),
        delta(json!({ "reasoning_content": "h" })),
        delta(json!({ "reasoning": "m", "content": "" })),
        delta(json!({ "content": "I löok" })),
        call(0, json!("a"), json!("read"), json!("")),
        call(0, Value::Null, Value::Null, json!("{\"path\":")),
        call(1, json!("b"), json!("ls"), json!("{}")),
        call(0, Value::Null, Value::Null, json!("\"x\"}")),
        finish("tool_calls"),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13,
            "prompt_tokens_details": { "cached_tokens": 5 } } }),
    ];
    for size in [1, 5, 100_000] {
        let server = Server::start([events(&values, DONE, size)]).await;
        let (seen, answer) = ask(&client(&server.base), &request()).await;
        assert_eq!(
            seen,
            [
                thought("h"),
                thought("m"),
                text("I löok"),
                begins("a", "read"),
                input("a", "{\"path\":"),
                begins("b", "ls"),
                input("b", "{}"),
                input("a", "\"x\"}"),
            ]
        );
        let expected = LlmResponse {
            text: "I löok".to_owned(),
            reasoning: Some("hm".to_owned()),
            tool_calls: vec![
                called("a", "read", "{\"path\":\"x\"}"),
                called("b", "ls", "{}"),
            ],
            usage: TokenUsage {
                prompt_tokens: 9,
                completion_tokens: 4,
                total_tokens: 13,
                cache_read_tokens: Some(5),
                cache_write_tokens: None,
            },
            stop: StopReason::ToolUse,
        };
        assert_eq!(answer.unwrap(), expected);
    }
}

#[tokio::test]
async fn what_servers_leave_out_or_do_differently_is_understood() {
    let hi = || delta(json!({ "content": "hi" }));
    let whole_call = || json!({ "function": { "name": "read", "arguments": { "path": "x" } } });
    let one_call = vec![("read".to_owned(), "{\"path\":\"x\"}".to_owned())];
    for (case, values, last, calls, tokens, stop) in [
        (
            "no [DONE]",
            vec![hi(), finish("stop")],
            "",
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "no reason",
            vec![hi()],
            DONE,
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "a reason with the last piece",
            vec![
                json!({ "choices": [{ "delta": { "content": "hi" }, "finish_reason": "length" }] }),
            ],
            "",
            vec![],
            0,
            StopReason::MaxTokens,
        ),
        (
            "no last blank line",
            vec![hi(), finish("stop")],
            "data: [DONE]",
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "no blank lines",
            vec![],
            "data: {\"choices\":[{\"delta\":{\"content\":\"h\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"i\"}}]}\ndata: [DONE]\n\n",
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "usage with a choice",
            vec![
                json!({ "choices": [{ "delta": { "content": "hi" }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 2, "completion_tokens": 1 } }),
            ],
            DONE,
            vec![],
            3,
            StopReason::EndTurn,
        ),
        (
            "usage as null, then timings",
            vec![
                hi(),
                json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": null, "timings": { "prompt_n": 4, "cache_n": 6, "predicted_n": 1.0 } }),
            ],
            DONE,
            vec![],
            11,
            StopReason::EndTurn,
        ),
        (
            "parts",
            vec![
                delta(json!({ "content": [{ "type": "text", "text": "hi" }] })),
                finish("stop"),
            ],
            DONE,
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "a message in the place of a delta",
            vec![
                json!({ "choices": [{ "message": { "content": "hi" }, "finish_reason": "stop" }] }),
            ],
            DONE,
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "a whole call without index and id, and `stop`",
            vec![
                hi(),
                delta(json!({ "tool_calls": [whole_call()] })),
                finish("stop"),
            ],
            DONE,
            one_call.clone(),
            0,
            StopReason::ToolUse,
        ),
        (
            "no role, comments, another choice",
            vec![
                hi(),
                json!({ "choices": [{ "index": 1, "delta": { "content": "no" } }] }),
                finish("stop"),
            ],
            ": bye\n\n",
            vec![],
            0,
            StopReason::EndTurn,
        ),
        (
            "an unknown reason",
            vec![hi(), finish("content_filter")],
            DONE,
            vec![],
            0,
            StopReason::Other("content_filter".to_owned()),
        ),
        (
            "an error that is none",
            vec![
                json!({ "error": null, "choices": [{ "delta": { "content": "hi" }, "finish_reason": "stop" }] }),
            ],
            DONE,
            vec![],
            0,
            StopReason::EndTurn,
        ),
    ] {
        let server = Server::start([events(&values, last, 4096)]).await;
        let answer = ask(&client(&server.base), &request()).await.1;
        let answer = answer.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(answer.text, "hi", "{case}");
        let names: Vec<_> = answer
            .tool_calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect();
        assert_eq!(names, calls, "{case}");
        assert!(
            answer.tool_calls.iter().all(|call| !call.id.is_empty()),
            "{case}"
        );
        assert_eq!(
            (answer.usage.total_tokens, answer.stop),
            (tokens, stop),
            "{case}"
        );
    }
}

#[tokio::test]
async fn an_answer_without_a_stream_is_read_too() {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": "hi", "reasoning": "hm",
        "tool_calls": [{ "id": "", "type": "function", "function": { "name": "read", "arguments": "{}" } }] },
        "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 } });
    // What the head says does not matter.
    for kind in ["application/json", "text/event-stream"] {
        let answer = full(200, &[("content-type", kind)], &format!("\n {body}"));
        let server = Server::start([vec![Step::Send(answer)]]).await;
        let (seen, answer) = ask(&client(&server.base), &request()).await;
        let answer = answer.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.reasoning.as_deref()),
            ("hi", Some("hm"))
        );
        assert_eq!(
            (answer.usage.total_tokens, answer.stop),
            (3, StopReason::ToolUse)
        );
        let id = answer.tool_calls[0].id.clone();
        assert_eq!(
            seen,
            [
                thought("hm"),
                text("hi"),
                begins(&id, "read"),
                input(&id, "{}")
            ]
        );
    }
}

#[tokio::test]
async fn a_request_has_the_form_of_chat_completions() {
    let answer = || {
        events(
            &[delta(json!({ "content": "hi" })), finish("stop")],
            DONE,
            4096,
        )
    };
    let server = Server::start([answer(), answer()]).await;
    let config = OpenAiConfig {
        model: "local".to_owned(),
        base_url: Some(format!("{}/v1/", server.base)),
        api_key: Some(Secret::from("key")),
        max_tokens: Some(100),
        temperature: Some(0.7),
        reasoning_effort: Some(ReasoningEffort::Low),
        structured: Some(StructuredSupport::JsonSchema),
        return_reasoning: true,
        ..OpenAiConfig::default()
    };
    let client = OpenAiClient::new(config).unwrap();
    let mut request = request();
    let mut turn = turn("a", json!("no json"), "gone", true);
    turn[0].reasoning_content = Some("hm".to_owned());
    turn[1].content.insert(
        0,
        ContentBlock::Text {
            text: "and this?".to_owned(),
        },
    );
    request.messages.extend(turn);
    request.images.push(LlmImage {
        message: 2,
        media_type: "image/png".to_owned(),
        data: Arc::from(&b"png"[..]),
    });
    request.tool_choice = ToolChoice::Required;
    request.max_tokens = Some(50);
    request.response_format = ResponseFormat::JsonSchema {
        name: "result".to_owned(),
        schema: json!({ "type": "object" }),
        strict: true,
    };
    ask(&client, &request).await.1.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(seen.headers["authorization"], "Bearer key");
    assert_eq!(
        seen.json(),
        json!({
            "model": "local",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 50,
            "temperature": 0.7,
            "reasoning_effort": "low",
            "tool_choice": "required",
            "response_format": { "type": "json_schema", "json_schema": {
                "name": "result", "schema": { "type": "object" }, "strict": true } },
            "tools": [{ "type": "function", "function": { "name": "read", "description": "reads", "parameters": {
                "type": "object", "properties": { "path": { "type": "string" } } } } }],
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": "hello" },
                { "role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                    { "id": "a", "type": "function", "function": {
                        "name": "read", "arguments": "{\"malformed_arguments\":\"no json\"}" } }] },
                { "role": "tool", "tool_call_id": "a", "content": "gone" },
                { "role": "user", "content": [
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } },
                    { "type": "text", "text": "and this?" }] },
            ],
        })
    );
    // A server of which nothing is known is asked for no form.
    let formed = LlmRequest {
        response_format: ResponseFormat::JsonObject,
        ..request
    };
    let plain = self::client(&server.base);
    assert_eq!(plain.structured_support(), StructuredSupport::None);
    assert_eq!(
        ask(&plain, &formed).await.1.unwrap_err().fault,
        LlmFault::Rejected
    );
}

#[tokio::test]
async fn a_server_that_takes_no_stream_options_is_asked_without_them_from_then_on() {
    let refusal =
        r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#;
    let answer = || {
        events(
            &[delta(json!({ "content": "hi" })), finish("stop")],
            DONE,
            4096,
        )
    };
    let server = Server::start([
        vec![Step::Send(full(400, &[], refusal))],
        answer(),
        answer(),
    ])
    .await;
    let client = client(&server.base);
    for _ in 0..2 {
        assert_eq!(ask(&client, &request()).await.1.unwrap().text, "hi");
    }
    let asked: Vec<bool> = server
        .seen()
        .iter()
        .map(|seen| seen.json().get("stream_options").is_some())
        .collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn ids_are_unique_in_the_conversation_and_signatures_go_back() {
    let signed = json!({ "google": { "thought_signature": "sig" } });
    let mut first = call(0, json!("a"), json!("read"), json!("{}"));
    first["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = signed.clone();
    let again = call(0, json!("a"), json!("read"), json!("{}"));
    let server = Server::start([
        events(&[first, finish("tool_calls")], DONE, 4096),
        events(&[again, finish("tool_calls")], DONE, 4096),
    ])
    .await;
    let client = client(&server.base);
    let mut request = request();
    let answer = ask(&client, &request).await.1.unwrap();
    assert_eq!(answer.tool_calls, [called("a", "read", "{}")]);
    request.messages.extend(turn("a", json!({}), "text", false));
    let (seen, answer) = ask(&client, &request).await;
    let id = answer.unwrap().tool_calls[0].id.clone();
    assert!(id.starts_with("call-"), "{id}");
    assert_eq!(seen, [begins(&id, "read"), input(&id, "{}")]);
    let sent = server.seen()[1].json();
    assert_eq!(
        sent["messages"][2]["tool_calls"][0]["extra_content"],
        signed
    );
}

#[tokio::test]
async fn an_error_in_the_stream_has_its_kind() {
    let hi = delta(json!({ "content": "hi" }));
    for (last, fault) in [
        (
            "data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n",
            LlmFault::RateLimited,
        ),
        ("data: {\"error\":\"it broke\"}\n\n", LlmFault::Unavailable),
        (
            "error: {\"code\":500,\"message\":\"the context size is exceeded\",\"type\":\"server_error\"}\n\n",
            LlmFault::ContextTooLong,
        ),
        (
            "event: error\ndata: no json at all\n\n",
            LlmFault::Unavailable,
        ),
    ] {
        let server = Server::start([events(std::slice::from_ref(&hi), last, 4096)]).await;
        let (seen, answer) = ask(&client(&server.base), &request()).await;
        assert_eq!(seen, [text("hi")]);
        assert_eq!(answer.unwrap_err().fault, fault, "{last}");
    }
}

/// Asks a server of this machine, when one is there: `MODEL_URL=http://127.0.0.1:8081/v1`.
#[tokio::test]
#[ignore = "needs a model that is served on this machine"]
async fn a_real_model_calls_a_tool_and_goes_on_with_its_result() {
    let Ok(base) = std::env::var("MODEL_URL") else {
        panic!("MODEL_URL is not set");
    };
    let client = RecordingClient::new(Arc::new(client(&base)), Masks::default());
    let mut request = request();
    request.system =
        Some("Use the tool read to look into files. Answer in one sentence.".to_owned());
    request.messages = vec![Message::text(Role::User, "What is in the file notes.txt?")];
    request.max_tokens = Some(120);
    // A small model puts its call into its text now and then.
    let mut answer = LlmResponse::default();
    for _ in 0..8 {
        let (seen, answered) = ask(&client, &request).await;
        println!("{seen:?}\n{answered:?}");
        answer = answered.unwrap();
        if answer.stop == StopReason::ToolUse {
            break;
        }
    }
    let call = &answer.tool_calls[0];
    let input = serde_json::from_str(&call.arguments).unwrap();
    request
        .messages
        .extend(turn(&call.id, input, "Buy milk on Friday.", false));
    let (seen, answer) = ask(&client, &request).await;
    println!("{seen:?}\n{answer:?}\n{}", client.cassette());
    assert!(answer.unwrap().usage.total_tokens > 0);
}
