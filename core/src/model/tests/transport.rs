//! Connections, waits and bounds, through the client of chat completions.

use super::server::{Server, Step, chunk, end, events, full, head};
use super::*;
use std::time::Instant;

fn config(base: &str) -> OpenAiConfig {
    OpenAiConfig {
        model: "m".to_owned(),
        base_url: Some(base.to_owned()),
        timeouts: Timeouts {
            headers: Duration::from_secs(20),
            ..Timeouts::default()
        },
        ..OpenAiConfig::default()
    }
}

fn client(base: &str) -> OpenAiClient {
    OpenAiClient::new(config(base)).unwrap()
}

fn hello() -> Vec<Value> {
    vec![
        json!({ "choices": [{ "delta": { "content": "hi" } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
    ]
}

fn said(answer: Result<LlmResponse, LlmError>) -> String {
    answer.unwrap().text
}

fn fault(answer: Result<LlmResponse, LlmError>) -> (LlmFault, String) {
    let error = answer.unwrap_err();
    (error.fault, error.message)
}

#[tokio::test]
async fn a_connection_is_used_again() {
    // The end of the body comes a moment after the end of the answer.
    let answer = || {
        let mut steps = events(&hello(), "data: [DONE]\n\n", 4096);
        steps.insert(steps.len() - 1, Step::Pause(Duration::from_millis(5)));
        steps
    };
    // A refusal does not cost the connection either.
    let refusal = vec![Step::Send(full(400, &[], "{}"))];
    let server = Server::start([answer(), refusal, answer()]).await;
    let client = client(&server.base);
    assert_eq!(said(ask(&client, &request()).await.1), "hi");
    assert_eq!(
        fault(ask(&client, &request()).await.1).0,
        LlmFault::Rejected
    );
    assert_eq!(said(ask(&client, &request()).await.1), "hi");
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn every_wait_ends() {
    let short = Duration::from_millis(150);
    let ping = chunk(": still here\n\n");
    for (script, timeouts, words) in [
        (
            vec![Step::Forever],
            Timeouts {
                headers: short,
                ..Timeouts::default()
            },
            "sent no answer within 150 ms",
        ),
        (
            vec![Step::Drip(
                b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
                Duration::from_millis(10),
            )],
            Timeouts {
                headers: short,
                ..Timeouts::default()
            },
            "sent no answer within 150 ms",
        ),
        (
            vec![Step::Send(head()), Step::Forever],
            Timeouts {
                idle: short,
                ..Timeouts::default()
            },
            "nothing came for 150 ms",
        ),
        (
            vec![
                Step::Send(head()),
                Step::Drip(ping, Duration::from_millis(10)),
            ],
            Timeouts {
                total: short,
                ..Timeouts::default()
            },
            "took too long as a whole",
        ),
        (
            vec![
                Step::Send(b"HTTP/1.1 500 X\r\ncontent-length: 9\r\n\r\n".to_vec()),
                Step::Forever,
            ],
            Timeouts {
                idle: short,
                ..Timeouts::default()
            },
            "answered 500",
        ),
    ] {
        let mut server = Server::start([script]).await;
        let client = OpenAiClient::new(OpenAiConfig {
            timeouts,
            ..config(&server.base)
        })
        .unwrap();
        let begun = Instant::now();
        let error = ask(&client, &request()).await.1.unwrap_err();
        assert!(error.message.contains(words), "{error:?}");
        assert!(error.is_retryable());
        assert!(begun.elapsed() < Duration::from_secs(4), "{words}");
        server.closed().await;
    }
}

#[tokio::test]
async fn a_dropped_request_closes_its_connection() {
    let begun = vec![
        Step::Send(head()),
        Step::Send(chunk(
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        )),
        Step::Forever,
    ];
    for (script, waits_for_text) in [(vec![Step::Forever], false), (begun, true)] {
        let mut server = Server::start([script]).await;
        let client = client(&server.base);
        let (events, mut coming) = LlmEvents::channel();
        let request = request();
        {
            let answer = client.complete(&request, events);
            tokio::pin!(answer);
            tokio::select! {
                _ = &mut answer => panic!("there is no answer"),
                Some(event) = coming.recv(), if waits_for_text => assert_eq!(event, text("a")),
                () = server.asked(), if !waits_for_text => {}
            }
        }
        server.closed().await;
    }
}

#[tokio::test]
async fn what_breaks_off_is_a_fault_of_the_transport() {
    let piece = chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
    let half = chunk("data: {\"choices\":[{\"del");
    let json = full(200, &[], "{\"choices\":[{\"message\":{\"content\":\"a");
    for script in [
        vec![Step::Close],
        vec![
            Step::Send(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
            Step::Close,
        ],
        vec![Step::Send(head()), Step::Close],
        vec![Step::Send(head()), Step::Send(end())],
        vec![Step::Send(head()), Step::Send(piece.clone()), Step::Close],
        vec![
            Step::Send(head()),
            Step::Send(piece.clone()),
            Step::Send(end()),
        ],
        vec![
            Step::Send(head()),
            Step::Send(piece),
            Step::Send(half),
            Step::Send(end()),
        ],
        vec![
            Step::Send(head()),
            Step::Send(chunk("data: [DONE]\n\n")),
            Step::Send(end()),
        ],
        vec![Step::Send(json)],
        vec![Step::Send(full(200, &[], ""))],
    ] {
        let server = Server::start([script.clone()]).await;
        let (fault, message) = fault(ask(&client(&server.base), &request()).await.1);
        assert_eq!(fault, LlmFault::Transport, "{message}");
    }
    // Nobody listens.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let (fault, message) = fault(ask(&client(&base), &request()).await.1);
    assert_eq!(fault, LlmFault::Transport);
    assert!(
        message.starts_with(&format!("{base}: no connection: ")),
        "{message}"
    );
}

#[tokio::test]
async fn what_is_whole_counts_although_the_connection_breaks() {
    let whole = chunk(
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    for last in [Step::Close, Step::Forever] {
        let server =
            Server::start([vec![Step::Send(head()), Step::Send(whole.clone()), last]]).await;
        assert_eq!(said(ask(&client(&server.base), &request()).await.1), "hi");
    }
}

#[tokio::test]
async fn what_is_not_an_answer_is_malformed() {
    let line = format!("data: {}", "x".repeat(9 * 1024 * 1024));
    for (script, words) in [
        (
            vec![Step::Send(full(200, &[], "<!doctype html><p>hello"))],
            "is `base_url` right?",
        ),
        (
            vec![Step::Send(full(200, &[], "{\"x\": nonsense}"))],
            "no JSON (line 1",
        ),
        (
            vec![Step::Send(full(200, &[], "{\"ok\": true}"))],
            "no choices",
        ),
        (
            vec![Step::Send(full(200, &[("content-encoding", "gzip")], "zz"))],
            "compressed",
        ),
        (
            vec![
                Step::Send(head()),
                Step::Send(chunk("data: hello\n\n")),
                Step::Forever,
            ],
            "no JSON",
        ),
        (
            vec![Step::Send(head()), Step::Send(chunk(&line)), Step::Forever],
            "more than 8388608 bytes",
        ),
    ] {
        let server = Server::start([script]).await;
        let (fault, message) = fault(ask(&client(&server.base), &request()).await.1);
        assert_eq!(fault, LlmFault::Malformed, "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn refusals_say_their_kind_and_how_long_to_wait() {
    let body = r#"{"error":{"message":"slow down","type":"tokens"}}"#;
    for (status, headers, expected, wait) in [
        (
            429,
            &[("retry-after", "7")][..],
            LlmFault::RateLimited,
            Some(7),
        ),
        (
            503,
            &[
                ("date", "Tue, 01 Dec 2026 10:00:00 GMT"),
                ("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT"),
            ],
            LlmFault::Unavailable,
            Some(30),
        ),
        (500, &[], LlmFault::Unavailable, None),
        (529, &[], LlmFault::Unavailable, None),
        (401, &[], LlmFault::Authentication, None),
        (400, &[], LlmFault::Rejected, None),
    ] {
        let server = Server::start([vec![Step::Send(full(status, headers, body))]]).await;
        let error = ask(&client(&server.base), &request()).await.1.unwrap_err();
        assert_eq!(
            (error.fault, error.retry_after),
            (expected, wait.map(Duration::from_secs))
        );
        assert_eq!(
            error.message,
            format!("the provider answered {status} (tokens): slow down")
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([]).await;
    let location = [("location", elsewhere.base.as_str())];
    for status in [301, 302, 307, 308] {
        let server = Server::start([vec![Step::Send(full(status, &location, ""))]]).await;
        let config = OpenAiConfig {
            api_key: Some(Secret::from("sk-canary")),
            ..config(&server.base)
        };
        let client = OpenAiClient::new(config).unwrap();
        let (fault, message) = fault(ask(&client, &request()).await.1);
        assert_eq!(fault, LlmFault::Rejected);
        assert!(
            message.contains("a redirect, which is not followed"),
            "{message}"
        );
        assert_eq!(server.seen().len(), 1);
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn slow_pieces_are_put_together_and_the_reader_sets_the_pace() {
    let many: Vec<Value> = (0..300)
        .map(|n| json!({ "choices": [{ "delta": { "content": format!("é{n} ") } }] }))
        .chain([json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })])
        .collect();
    let expected: String = (0..300).map(|n| format!("é{n} ")).collect();
    let server = Server::start([events(&many, "data: [DONE]\n\n", 7)]).await;
    let timeouts = Timeouts {
        idle: Duration::from_millis(400),
        total: Duration::from_millis(2000),
        ..Timeouts::default()
    };
    let client = OpenAiClient::new(OpenAiConfig {
        timeouts,
        ..config(&server.base)
    })
    .unwrap();
    let (events, mut coming) = LlmEvents::channel();
    let request = request();
    let answer = client.complete(&request, events);
    let reader = async {
        // Nobody takes for longer than the idle limit: the wait is not the provider's.
        tokio::time::sleep(Duration::from_millis(700)).await;
        let mut taken = String::new();
        while let Some(LlmEvent::Text(piece)) = coming.recv().await {
            taken.push_str(&piece);
        }
        taken
    };
    let (answer, taken) = tokio::join!(answer, reader);
    assert_eq!(said(answer), expected);
    assert_eq!(taken, expected);
}

#[tokio::test]
async fn a_proxy_is_used_only_when_it_is_configured() {
    let proxy = Server::start([events(&hello(), "", 4096)]).await;
    let address = proxy.base.replace("http://", "http://user:pass-canary@");
    let config = OpenAiConfig {
        proxy: ProxyChoice::Through(Secret::from(address)),
        ..config("http://provider.invalid/v1")
    };
    let client = OpenAiClient::new(config).unwrap();
    assert_eq!(said(ask(&client, &request()).await.1), "hi");
    let seen = &proxy.seen()[0];
    assert_eq!(
        seen.line,
        "POST http://provider.invalid/v1/chat/completions HTTP/1.1"
    );
    assert_eq!(
        seen.headers["proxy-authorization"],
        "Basic dXNlcjpwYXNzLWNhbmFyeQ=="
    );
}

/// The environment belongs to the process: the test runs itself again with one of its own.
#[test]
fn the_proxy_of_the_environment_counts_only_when_asked_for() {
    let name = "model::tests::transport::with_a_proxy_in_the_environment";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .env("ALL_PROXY", "http://127.0.0.1:1")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env_remove("REQUEST_METHOD")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[tokio::test]
#[ignore = "run by the test above in a process of its own"]
async fn with_a_proxy_in_the_environment() {
    let server = Server::start([events(&hello(), "", 4096)]).await;
    let direct = client(&server.base);
    assert_eq!(said(ask(&direct, &request()).await.1), "hi");
    let config = OpenAiConfig {
        proxy: ProxyChoice::Environment,
        ..config(&server.base)
    };
    let client = OpenAiClient::new(config).unwrap();
    assert_eq!(
        fault(ask(&client, &request()).await.1).0,
        LlmFault::Transport
    );
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_wrong_configuration_names_its_field() {
    let good = || config("http://127.0.0.1:1");
    let zero = Timeouts {
        idle: Duration::ZERO,
        ..Timeouts::default()
    };
    let header = |name: &str, value: &str| vec![(name.to_owned(), Secret::from(value))];
    for (config, field) in [
        (
            OpenAiConfig {
                model: " ".to_owned(),
                ..good()
            },
            "model",
        ),
        (
            OpenAiConfig {
                base_url: None,
                ..good()
            },
            "api_key",
        ),
        (
            OpenAiConfig {
                base_url: Some("localhost:80".to_owned()),
                ..good()
            },
            "base_url",
        ),
        (
            OpenAiConfig {
                base_url: Some("ftp://x".to_owned()),
                ..good()
            },
            "base_url",
        ),
        (
            OpenAiConfig {
                base_url: Some("http://u:canary@x".to_owned()),
                ..good()
            },
            "base_url",
        ),
        (
            OpenAiConfig {
                api_key: Some(Secret::from("canary\n")),
                ..good()
            },
            "api_key",
        ),
        (
            OpenAiConfig {
                api_key: Some(Secret::from("")),
                ..good()
            },
            "api_key",
        ),
        (
            OpenAiConfig {
                headers: header("x y", "canary"),
                ..good()
            },
            "headers",
        ),
        (
            OpenAiConfig {
                headers: header("x", "canary\u{0}"),
                ..good()
            },
            "headers",
        ),
        (
            OpenAiConfig {
                headers: header("Content-Length", "1"),
                ..good()
            },
            "headers",
        ),
        (
            OpenAiConfig {
                timeouts: zero,
                ..good()
            },
            "timeouts.idle",
        ),
        (
            OpenAiConfig {
                max_tokens: Some(0),
                ..good()
            },
            "max_tokens",
        ),
        (
            OpenAiConfig {
                temperature: Some(2.1),
                ..good()
            },
            "temperature",
        ),
        (
            OpenAiConfig {
                temperature: Some(f32::NAN),
                ..good()
            },
            "temperature",
        ),
        (
            OpenAiConfig {
                proxy: ProxyChoice::Through(Secret::from("canary:8080")),
                ..good()
            },
            "proxy",
        ),
    ] {
        let error = OpenAiClient::new(config).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(
            !format!("{error} {error:?}").contains("canary"),
            "{error:?}"
        );
    }
    let own = AnthropicConfig {
        model: "m".to_owned(),
        ..AnthropicConfig::default()
    };
    let key = || AnthropicConfig {
        api_key: Some(Secret::from("k")),
        ..own.clone()
    };
    for (config, field) in [
        (own.clone(), "api_key"),
        (
            AnthropicConfig {
                temperature: Some(1.1),
                ..key()
            },
            "temperature",
        ),
        (
            AnthropicConfig {
                thinking: Some(Thinking::Budget(1023)),
                ..key()
            },
            "thinking",
        ),
        (
            AnthropicConfig {
                thinking: Some(Thinking::Budget(2000)),
                max_tokens: Some(2000),
                ..key()
            },
            "thinking",
        ),
        (
            AnthropicConfig {
                thinking: Some(Thinking::Budget(2000)),
                temperature: Some(1.0),
                ..key()
            },
            "temperature",
        ),
    ] {
        assert_eq!(AnthropicClient::new(config).unwrap_err().field, field);
    }
    assert!(
        AnthropicClient::new(key()).is_ok(),
        "needs the system's certificates"
    );
}
