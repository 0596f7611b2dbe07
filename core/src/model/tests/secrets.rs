//! A key never leaves but in the request it belongs to.

use super::server::{Server, Step, chunk, end, full, head};
use super::*;

const KEY: &str = "sk-canary/0123456789+\"x";
const HEADER: &str = "header-canary-77";
const QUERY: &str = "query-canary-88";

fn clients(base: &str, timeouts: Timeouts) -> Vec<Box<dyn LlmClient>> {
    let base_url = Some(format!("{base}/path-canary?token={QUERY}"));
    let headers = vec![("x-gateway".to_owned(), Secret::from(HEADER))];
    let api_key = Some(Secret::from(KEY));
    let open = OpenAiConfig {
        model: "m".to_owned(),
        base_url: base_url.clone(),
        api_key: api_key.clone(),
        headers: headers.clone(),
        timeouts,
        ..OpenAiConfig::default()
    };
    let messages = AnthropicConfig {
        model: "m".to_owned(),
        base_url,
        api_key,
        headers,
        timeouts,
        ..AnthropicConfig::default()
    };
    assert_clean(&format!("{open:?}{messages:?}"));
    let open = OpenAiClient::new(open).unwrap();
    let messages = AnthropicClient::new(messages).unwrap();
    assert_clean(
        &format!("{open:?}")
            .replace("path-canary", "")
            .replace(QUERY, ""),
    );
    assert_clean(
        &format!("{messages:?}")
            .replace("path-canary", "")
            .replace(QUERY, ""),
    );
    vec![Box::new(open), Box::new(messages)]
}

fn assert_clean(text: &str) {
    let lower = text.to_lowercase();
    for form in ["canary", "c2stY2FuYXJ5", "736b2d63616e617279"] {
        assert!(!lower.contains(&form.to_lowercase()), "{text}");
    }
}

#[tokio::test]
async fn no_error_shows_a_key() {
    let json = Value::from(KEY).to_string();
    let json = json.trim_matches('"').to_owned();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 = "c2stY2FuYXJ5LzAxMjM0NTY3ODkrIng=";
    let percent = "sk-canary%2F0123456789%2B%22x";
    let echo = format!("you sent {json} {HEADER} {QUERY} {hex} {base64} {percent}");
    let long = format!("{}{json}", "x".repeat(590));
    let short = Timeouts {
        headers: Duration::from_millis(100),
        idle: Duration::from_millis(100),
        ..Timeouts::default()
    };
    let body = |echo: &str| format!("{{\"error\":{{\"message\":\"{echo}\",\"type\":\"{json}\"}}}}");
    let mut scripts: Vec<Vec<Step>> = [300, 400, 401, 403, 404, 408, 413, 429, 500, 529]
        .into_iter()
        .map(|status| {
            vec![Step::Send(full(
                status,
                &[("location", &format!("http://x/?{KEY}"))],
                &body(&echo),
            ))]
        })
        .collect();
    scripts.extend([
        vec![Step::Send(full(400, &[], &body(&long)))],
        vec![Step::Send(full(
            500,
            &[],
            &format!("plain {KEY} {HEADER} {percent}"),
        ))],
        vec![Step::Send(full(200, &[], &body(&echo)))],
        vec![Step::Send(full(200, &[], &format!("<html>{KEY}")))],
        vec![Step::Send(full(200, &[], &format!("{{\"x\": {KEY}")))],
        vec![
            Step::Send(head()),
            Step::Send(chunk(&format!("event: error\ndata: {}\n\n", body(&echo)))),
            Step::Send(end()),
        ],
        vec![
            Step::Send(head()),
            Step::Send(chunk(&format!("error: {KEY}\n\n"))),
            Step::Send(end()),
        ],
        vec![
            Step::Send(head()),
            Step::Send(chunk(&format!("data: {KEY}\n\n"))),
            Step::Send(end()),
        ],
        vec![Step::Send(head()), Step::Close],
        vec![Step::Send(head()), Step::Forever],
        vec![
            Step::Send(format!("HTTP/9 {KEY}\r\n\r\n").into_bytes()),
            Step::Close,
        ],
        vec![Step::Close],
        vec![Step::Forever],
    ]);
    for script in scripts {
        let server = Server::start([script.clone(), script]).await;
        for client in clients(&server.base, short) {
            let error = ask(&*client, &request()).await.1.unwrap_err();
            assert_clean(&format!("{error} {error:?}"));
        }
        // It did go where it belongs.
        let seen = server.seen();
        assert_eq!(seen[0].headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(seen[1].headers["x-api-key"], KEY);
        assert_eq!(seen[1].headers["x-gateway"], HEADER);
        assert!(
            seen[1]
                .line
                .contains(&format!("path-canary/v1/messages?token={QUERY}"))
        );
    }
    // An address that leads nowhere, and one that speaks no TLS.
    let server = Server::start([]).await;
    for base in [
        "http://127.0.0.1:1",
        "http://nowhere.invalid",
        &server.base.replace("http:", "https:"),
    ] {
        for client in clients(base, short) {
            let error = ask(&*client, &request()).await.1.unwrap_err();
            let shown = format!("{error} {error:?}");
            assert_clean(&shown);
        }
    }
}
