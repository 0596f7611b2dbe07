//! Masking of secrets.

use crate::governance::{DefaultSecurityProvider, SecurityProvider, sanitize_text, sanitize_value};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::{Duration, Instant};

fn clean(text: &str) -> String {
    DefaultSecurityProvider.sanitize(text).into_owned()
}

#[test]
fn well_known_forms_are_masked() {
    for (text, expected) in [
        ("ssn 123-45-6789.", "ssn REDACTED:ssn."),
        ("mail a.b+c@example.co.uk!", "mail REDACTED:email!"),
        ("call (415) 555-2671 now", "call REDACTED:phone now"),
        ("call +1 415-555-2671", "call REDACTED:phone"),
        ("415.555.2671", "REDACTED:phone"),
        ("key=sk-abcDEF0123456789abcd", "key=REDACTED:api_key"),
        ("sk-proj-abc_DEF-0123456789", "REDACTED:api_key"),
        (
            &format!("sk-{}1{}.", "a".repeat(40), "b".repeat(600)),
            "REDACTED:api_key.",
        ),
        ("pk_live_0123456789abcdef", "REDACTED:api_key"),
        ("4111 1111 1111 1111", "REDACTED:credit_card"),
        ("4111-1111-1111-1111,", "REDACTED:credit_card,"),
        ("378282246310005", "REDACTED:credit_card"),
        ("id AKIAIOSFODNN7EXAMPLE", "id REDACTED:aws_key"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = REDACTED:aws_key",
        ),
        (
            "\"SecretAccessKey\": \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"",
            "\"SecretAccessKey\": \"REDACTED:aws_key\"",
        ),
        (
            "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "REDACTED:github_token",
        ),
        (
            "github_pat_11ABCDEFG0123456789_abc",
            "REDACTED:github_token",
        ),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc-x\n-----END RSA PRIVATE KEY----- y",
            "x REDACTED:private_key y",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIE+/=\nabc",
            "REDACTED:private_key",
        ),
        ("é123-45-6789", "é123-45-6789"),
        ("日本 123-45-6789 日本", "日本 REDACTED:ssn 日本"),
        ("a@b.co and c@d.org", "REDACTED:email and REDACTED:email"),
    ] {
        assert_eq!(clean(text), expected);
    }
}

#[test]
fn ordinary_text_is_left_as_it_is() {
    for text in [
        "",
        "plain",
        "1699999999999",
        "1234567890123456",
        "4111111111111112",
        "2024-01-02",
        "10.0.0.1:8080",
        "v1.22.333-4444",
        "000-12-3456",
        "task-abcdefghijklmnopqrst",
        "sk-short",
        "disk-usage-of-the-machine",
        "a@b",
        "@decorator",
        "user@host:path",
        "deadbeef-1234-5678-9abc-def012345678",
        "0123456789abcdef0123456789abcdef01234567",
        "fn ask_for_0123456789abcdef() {}",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "日本語のテキスト",
    ] {
        assert!(
            matches!(DefaultSecurityProvider.sanitize(text), Cow::Borrowed(same) if same == text),
            "{text}: {}",
            clean(text)
        );
    }
}

#[test]
fn masking_twice_changes_nothing_more() {
    let once = clean("sk-abcDEF0123456789abcd 123-45-6789 a@b.co 4111 1111 1111 1111");
    assert_eq!(clean(&once), once);
}

#[test]
fn hostile_text_is_masked_in_linear_time() {
    for piece in [
        "1 ",
        "1-",
        "sk-",
        "sk-a",
        "a@",
        "a.",
        "-----BEGIN PRIVATE KEY-----",
        "4111 ",
        "AKIA",
        "(415) ",
        "ghp_",
        "é",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        let started = Instant::now();
        let _ = clean(&text);
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "{piece}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn values_are_masked_in_strings_and_keys() {
    let mut value = json!({
        "a@b.co": 1, "c@d.co": [{"k": "123-45-6789"}, 5, null], "REDACTED:email": 3, "plain": "text"
    });
    sanitize_value(&DefaultSecurityProvider, &mut value);
    let text = value.to_string();
    assert!(!text.contains("@") && !text.contains("6789"), "{text}");
    assert_eq!(value.as_object().unwrap().len(), 4, "{text}");
    assert_eq!(value["REDACTED:email"], 3);
    let mut deep = (0..200).fold(json!("123-45-6789"), |inner, _| Value::Array(vec![inner]));
    sanitize_value(&DefaultSecurityProvider, &mut deep);
    assert!(!deep.to_string().contains("6789"));
}

#[test]
fn a_provider_that_panics_lets_nothing_out() {
    struct Broken;
    impl SecurityProvider for Broken {
        fn sanitize<'a>(&self, _: &'a str) -> Cow<'a, str> {
            panic!("broken")
        }
    }
    assert!(!sanitize_text(&Broken, "secret").contains("secret"));
    let mut value = json!({"key": "secret"});
    sanitize_value(&Broken, &mut value);
    assert!(!value.to_string().contains("secret"));
    let mut keys: Value = (0..20_000)
        .map(|n| (format!("k{n}"), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    sanitize_value(&Masked, &mut keys);
    assert_eq!(keys.as_object().unwrap().len(), 20_000);

    struct Masked;
    impl SecurityProvider for Masked {
        fn sanitize<'a>(&self, _: &'a str) -> Cow<'a, str> {
            Cow::Owned("x".to_owned())
        }
    }
}
