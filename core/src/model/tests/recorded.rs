//! Cassettes: what was recorded is replayed, and what is asked differently is refused.

use super::*;
use a3s_code_contract::{ScriptedToolCall, ScriptedTurn};

fn scripted() -> Arc<ScriptedClient> {
    Arc::new(ScriptedClient::new([
        ScriptedTurn {
            reasoning: Some("hm".to_owned()),
            deltas: vec!["I loo".to_owned(), "k in /srv/one/ws/a".to_owned()],
            tool_calls: vec![ScriptedToolCall {
                id: "a".to_owned(),
                name: "read".to_owned(),
                args: Some(json!({ "path": "/srv/one/ws/a" })),
                args_text: None,
            }],
            ..ScriptedTurn::default()
        },
        ScriptedTurn {
            error: Some("/srv/one/ws is full".to_owned()),
            ..ScriptedTurn::default()
        },
    ]))
}

fn asked(folder: &str) -> [LlmRequest; 2] {
    let mut first = request();
    first.system = Some(format!("Workspace: {folder}"));
    first.temperature = Some(0.1);
    let mut second = first.clone();
    let path = json!({ "path": format!("{folder}/a") });
    second.messages.extend(turn("a", path, "text", false));
    second.images.push(LlmImage {
        message: 0,
        media_type: "image/png".to_owned(),
        data: Arc::from(&b"png"[..]),
    });
    [first, second]
}

async fn record() -> (String, Vec<(Vec<LlmEvent>, Result<LlmResponse, LlmError>)>) {
    let masks = Masks::default().with("/srv/one/ws", "{workspace}");
    let client = RecordingClient::new(scripted(), masks);
    let mut answers = Vec::new();
    for request in asked("/srv/one/ws") {
        answers.push(ask(&client, &request).await);
    }
    (client.cassette(), answers)
}

#[tokio::test]
async fn a_replay_gives_what_was_recorded_also_elsewhere() {
    let (cassette, answers) = record().await;
    assert_eq!(cassette.lines().count(), 3);
    assert!(!cassette.contains("/home/one"), "{cassette}");
    let here = Masks::default().with("/srv/one/ws", "{workspace}");
    let client = ReplayClient::new(&cassette, here).unwrap();
    assert_eq!((client.model(), client.left()), ("scripted", 2));
    for (request, answer) in asked("/srv/one/ws").iter().zip(&answers) {
        assert_eq!(ask(&client, request).await, *answer);
    }
    let elsewhere = Masks::default().with("/srv/two", "{workspace}");
    let client = ReplayClient::new(&cassette, elsewhere).unwrap();
    let [first, second] = asked("/srv/two");
    let (seen, answer) = ask(&client, &first).await;
    assert_eq!(seen.last(), Some(&input("a", "{\"path\":\"/srv/two/a\"}")));
    assert_eq!(answer.unwrap().text, "I look in /srv/two/a");
    let error = ask(&client, &second).await.1.unwrap_err();
    assert_eq!(
        (error.fault, error.message.as_str()),
        (LlmFault::Rejected, "/srv/two is full")
    );
    let error = ask(&client, &second).await.1.unwrap_err();
    assert_eq!(error.fault, LlmFault::Mismatch);
    assert_eq!(
        error.message,
        "the cassette has 2 turns and is asked for one more"
    );
}

#[tokio::test]
async fn a_different_request_is_refused_with_the_first_difference() {
    let (cassette, _) = record().await;
    let [first, second] = asked("{workspace}");
    let edit = |change: fn(&mut LlmRequest)| {
        let mut request = first.clone();
        change(&mut request);
        request
    };
    for (request, words) in [
        (
            edit(|request| request.messages[0] = Message::text(Role::User, "hello!")),
            "turn 1 of the cassette: the request differs at `/messages/0/content/0/text`: recorded \"hello\", asked \"hello!\"",
        ),
        (second.clone(), "differs at `/images/0`: recorded nothing"),
        (
            edit(|request| request.temperature = None),
            "`/temperature`: recorded \"0.1\", asked \"null\"",
        ),
        (
            edit(|request| request.tools.clear()),
            "`/tools/0`: recorded \"{",
        ),
        (
            edit(|request| request.tool_choice = ToolChoice::Required),
            "`/tool_choice`: recorded \"auto\", asked \"required\"",
        ),
    ] {
        let client = ReplayClient::new(&cassette, Masks::default()).unwrap();
        let (seen, answer) = ask(&client, &request).await;
        let error = answer.unwrap_err();
        assert_eq!((error.fault, seen.len()), (LlmFault::Mismatch, 0));
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.is_retryable());
        // Nothing was used up.
        assert_eq!(client.left(), 2);
        assert!(ask(&client, &first).await.1.is_ok());
    }
    let client = ReplayClient::new(&cassette, Masks::default())
        .unwrap()
        .without_comparison();
    assert!(ask(&client, &second).await.1.is_ok());
}

#[tokio::test]
async fn what_is_no_cassette_is_refused_with_its_line() {
    let (cassette, _) = record().await;
    let lines: Vec<&str> = cassette.lines().collect();
    for (text, line, words) in [
        (String::new(), 1, "head is missing"),
        ("{}".to_owned(), 1, "no head"),
        (
            lines[0].replace("\"cassette\":1", "\"cassette\":2"),
            1,
            "version 2",
        ),
        (format!("{}\n{}\nhalf", lines[0], lines[1]), 3, "no turn"),
        (
            format!("{}\n{}", lines[0], lines[1].replace("hello", "hullo")),
            2,
            "digest differs",
        ),
        (
            format!(
                "{}\n{}",
                lines[0],
                lines[1].replace("\"response\"", "\"answer\"")
            ),
            2,
            "unknown field",
        ),
        (
            format!(
                "{}\n{}",
                lines[0],
                lines[1].replace("\"stop\":\"tool_use\"", "\"stop\":\"x\"")
            ),
            2,
            "`response`",
        ),
    ] {
        let error = ReplayClient::new(&text, Masks::default()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}
