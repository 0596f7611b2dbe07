//! What a provider's refusal means: its status, its body and its `Retry-After` become one kind of fault.
//!
//! Texts of providers are data of strangers: bounded, without control characters. Secrets are taken out where the
//! error leaves the client.

use super::{LlmError, LlmFault};
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Most characters of a provider's words.
const MOST_CHARACTERS: usize = 600;
/// Longest wait that is believed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);
/// Words by which providers say that the conversation is too long.
const TOO_LONG: [&str; 13] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "exceed_context_size",
    "maximum context",
    "maximum prompt length",
    "max_prompt_tokens",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "request_too_large",
    "too many input tokens",
];

/// What a status and its body mean.
pub(super) fn of_status(status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
    let text = String::from_utf8_lossy(body);
    let parsed = serde_json::from_str::<Value>(&text).ok();
    let said = match &parsed {
        Some(value) => Said::of(value),
        None => Said {
            message: text.into_owned(),
            ..Said::default()
        },
    };
    let fault = match status {
        300..=399 => LlmFault::Rejected,
        401 | 403 => LlmFault::Authentication,
        408 => LlmFault::TimedOut,
        413 => LlmFault::ContextTooLong,
        429 if said.is("insufficient_quota") || said.is("billing_error") => LlmFault::Rejected,
        429 => LlmFault::RateLimited,
        500.. if said.is_too_long() => LlmFault::ContextTooLong,
        500.. => LlmFault::Unavailable,
        _ if said.is_too_long() => LlmFault::ContextTooLong,
        _ => LlmFault::Rejected,
    };
    let what = match status {
        300..=399 => ", a redirect, which is not followed: configure the final address",
        404 => ": is `base_url` right, and is the model there?",
        _ => "",
    };
    let message = format!("the provider answered {status}{what}{}", said.shown());
    LlmError::new(fault, message).with_retry_after(retry_after(headers, SystemTime::now()))
}

/// What an error in the place of an answer means.
pub(super) fn of_error(value: &Value) -> LlmError {
    let said = Said::of(value);
    let status = said.code.parse::<u16>().ok().filter(|code| *code >= 400);
    let fault = if said.is_too_long() {
        LlmFault::ContextTooLong
    } else if said.is("overloaded_error") || said.is("api_error") || said.is("server_error") {
        LlmFault::Unavailable
    } else if said.is("insufficient_quota") || said.is("billing_error") {
        LlmFault::Rejected
    } else if said.is("rate_limit_error") || said.is("rate_limit_exceeded") {
        LlmFault::RateLimited
    } else if said.is("authentication_error") || said.is("permission_error") {
        LlmFault::Authentication
    } else if said.is("timeout_error") {
        LlmFault::TimedOut
    } else {
        match status {
            Some(status) => of_status(status, &HeaderMap::new(), &[]).fault,
            // Once an answer has begun the request as such was taken: what breaks is on the provider's side.
            None if said.kind.is_empty() => LlmFault::Unavailable,
            None => LlmFault::Rejected,
        }
    };
    let message = format!("the provider broke off with an error{}", said.shown());
    LlmError::new(fault, message)
}

/// The words of an error.
#[derive(Debug, Default)]
struct Said {
    kind: String,
    code: String,
    message: String,
}

impl Said {
    /// Reads the forms in which errors come: an object under `error`, a text there, or `message` and `detail` beside
    /// nothing.
    fn of(value: &Value) -> Self {
        let value = match value {
            Value::Array(list) => list.first().unwrap_or(value),
            _ => value,
        };
        let error = value.get("error").unwrap_or(value);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = [
            error.get("message"),
            error.get("detail"),
            value.get("message"),
        ]
        .into_iter()
        .map(&text)
        .find(|text| !text.is_empty())
        .unwrap_or_else(|| match error {
            Value::String(text) => text.clone(),
            _ => error.get("detail").unwrap_or(error).to_string(),
        });
        Self {
            kind: text(error.get("type").or_else(|| error.get("status"))),
            code: text(error.get("code")),
            message,
        }
    }

    fn is(&self, word: &str) -> bool {
        self.kind == word || self.code == word
    }

    fn is_too_long(&self) -> bool {
        let message = self.message.to_lowercase();
        TOO_LONG
            .iter()
            .any(|word| self.kind == *word || self.code == *word || message.contains(word))
    }

    fn shown(&self) -> String {
        let message = plain(&self.message);
        let kind = plain(if self.kind.is_empty() {
            &self.code
        } else {
            &self.kind
        });
        match (kind.is_empty(), message.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!(": {message}"),
            (false, true) => format!(" ({kind})"),
            (false, false) => format!(" ({kind}): {message}"),
        }
    }
}

/// One bounded line without characters that steer a terminal or hide text.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for character in text.trim().chars() {
        let hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if hidden {
            continue;
        }
        let blank = character.is_control() || character.is_whitespace();
        if blank && shown.ends_with(' ') {
            continue;
        }
        // Bounded later than masked: a key that is cut could not be found any more.
        if count == MOST_CHARACTERS * 8 {
            break;
        }
        shown.push(if blank { ' ' } else { character });
        count += 1;
    }
    shown
}

/// The message as it leaves: bounded, after the secrets have been taken out.
pub(super) fn bounded(message: &str) -> String {
    match message.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message.to_owned(),
    }
}

/// How long the provider asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| {
        let value: f64 = text.parse().ok()?;
        let seconds = value * unit;
        (0.0..=LONGEST_RETRY_AFTER.as_secs_f64())
            .contains(&seconds)
            .then(|| Duration::from_secs_f64(seconds))
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| number(text, 0.001)) {
        return Some(wait);
    }
    let asked = text("retry-after")?;
    if let Some(wait) = number(asked, 1.0) {
        return Some(wait);
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    // The provider's own clock where it tells it.
    let now = text("date")
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or(now);
    let wait = until.duration_since(now).unwrap_or_default();
    (wait <= LONGEST_RETRY_AFTER).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn waits(headers: &[(&'static str, &'static str)]) -> Option<f64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        let now = httpdate::parse_http_date("Tue, 01 Dec 2026 10:00:00 GMT").unwrap();
        retry_after(&map, now).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn the_wait_is_read_in_every_form() {
        for (headers, expected) in [
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", " 0.5 ")], Some(0.5)),
            (&[("retry-after", "0")], Some(0.0)),
            (
                &[("retry-after", "Tue, 01 Dec 2026 10:00:09 GMT")],
                Some(9.0),
            ),
            (
                &[("retry-after", "Tue, 01 Dec 2026 09:00:00 GMT")],
                Some(0.0),
            ),
            (
                &[
                    ("retry-after", "Tue, 01 Dec 2026 11:00:05 GMT"),
                    ("date", "Tue, 01 Dec 2026 11:00:00 GMT"),
                ],
                Some(5.0),
            ),
            (
                &[("retry-after-ms", "250"), ("retry-after", "9")],
                Some(0.25),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "99999999")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "Fri, 01 Dec 2299 11:00:05 GMT")], None),
            (&[], None),
        ] {
            assert_eq!(waits(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn statuses_and_bodies_become_kinds() {
        for (status, body, fault) in [
            (400, r#"{"error":{"message":"bad"}}"#, LlmFault::Rejected),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
                LlmFault::ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}"#,
                LlmFault::ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
                LlmFault::ContextTooLong,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 9 tokens","type":"BadRequestError","code":400}"#,
                LlmFault::ContextTooLong,
            ),
            (401, "", LlmFault::Authentication),
            (403, "{}", LlmFault::Authentication),
            (404, r#"{"error":"model not found"}"#, LlmFault::Rejected),
            (408, "", LlmFault::TimedOut),
            (413, "<html>", LlmFault::ContextTooLong),
            (
                422,
                r#"{"detail":[{"loc":["body"],"msg":"x"}]}"#,
                LlmFault::Rejected,
            ),
            (
                429,
                r#"{"error":{"type":"insufficient_quota"}}"#,
                LlmFault::Rejected,
            ),
            (
                429,
                r#"{"error":{"message":"Request too large, context window"}}"#,
                LlmFault::RateLimited,
            ),
            (500, "oops", LlmFault::Unavailable),
            (
                503,
                r#"{"error":{"code":503,"message":"Loading model"}}"#,
                LlmFault::Unavailable,
            ),
            (
                529,
                r#"{"error":{"type":"overloaded_error"}}"#,
                LlmFault::Unavailable,
            ),
            (307, "", LlmFault::Rejected),
        ] {
            let error = of_status(status, &HeaderMap::new(), body.as_bytes());
            assert_eq!(error.fault, fault, "{status} {body}: {error}");
            assert!(error.message.contains(&status.to_string()));
        }
    }

    #[test]
    fn errors_in_the_place_of_an_answer_become_kinds() {
        for (body, fault) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
                LlmFault::Unavailable,
            ),
            (
                r#"{"error":{"type":"rate_limit_error"}}"#,
                LlmFault::RateLimited,
            ),
            (
                r#"{"error":{"type":"authentication_error"}}"#,
                LlmFault::Authentication,
            ),
            (
                r#"{"error":{"type":"invalid_request_error","message":"no"}}"#,
                LlmFault::Rejected,
            ),
            (
                r#"{"error":{"code":429,"message":"slow down"}}"#,
                LlmFault::RateLimited,
            ),
            (
                r#"{"error":{"code":502,"message":"upstream"}}"#,
                LlmFault::Unavailable,
            ),
            (r#"{"error":"stopped"}"#, LlmFault::Unavailable),
            (
                r#"{"code":500,"message":"the context size is exceeded","type":"x"}"#,
                LlmFault::ContextTooLong,
            ),
        ] {
            let value = serde_json::from_str(body).unwrap();
            assert_eq!(of_error(&value).fault, fault, "{body}");
        }
    }

    #[test]
    fn a_providers_words_are_one_bounded_plain_line() {
        let body = format!("a\u{1b}[31m\r\nb\u{202e}c {}", "x".repeat(9000));
        let message = bounded(&of_status(500, &HeaderMap::new(), body.as_bytes()).message);
        assert!(message.contains(": a [31m bc xx"), "{message}");
        assert!(message.chars().count() <= MOST_CHARACTERS + 3 && message.ends_with("..."));
    }
}
