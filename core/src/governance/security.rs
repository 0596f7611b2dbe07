//! Masking of secrets in what tools return.
//!
//! The built-in provider replaces, in text of any language, what has one of these well-known forms by
//! `REDACTED:<kind>`:
//!
//! | kind | form |
//! |---|---|
//! | `private_key` | a PEM block of a private key, whole |
//! | `github_token` | `ghp_`, `gho_`, `ghu_`, `ghs_`, `ghr_` with 36 or more characters, `github_pat_` |
//! | `aws_key` | an access key id (`AKIA`, `ASIA` and kin), a value named `aws_secret_access_key` |
//! | `api_key` | `sk-` or `pk-` (also `sk_`, `pk_`) and at least 16 more characters |
//! | `credit_card` | 13 to 19 digits of a known issuer with a valid check digit |
//! | `ssn` | `123-45-6789` in the ranges that are issued |
//! | `email` | an address with a top-level domain |
//! | `phone` | three groups of digits with separators, with or without country code |
//!
//! The expressions run in linear time. What has no such form is not found: this is a net, not a wall.

use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// Deepest nesting that is looked through; what lies deeper is withheld.
const MAX_DEPTH: usize = 128;
/// Stands for what a provider failed to look through.
const WITHHELD: &str = "[withheld: the security provider failed]";

/// Masks secrets in text before anybody sees it.
pub trait SecurityProvider: Send + Sync {
    /// The text without secrets; borrowed when there were none.
    fn sanitize<'a>(&self, text: &'a str) -> Cow<'a, str>;
}

/// The built-in provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultSecurityProvider;

const FORMS: &str = r"(?x)
  (?P<private_key> -----BEGIN\ [A-Z0-9\ ]{0,24}PRIVATE\ KEY(?:\ BLOCK)?----- )
| (?P<github_token> gh[pousr]_[A-Za-z0-9]{36,} | github_pat_[A-Za-z0-9_]{22,} )
| (?P<aws_key> (?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16} )
| (?: (?i:aws_secret_access_key|aws_session_token|secretaccesskey) [\x22']? \s{0,4} [=:] \s{0,4} [\x22']? )(?P<aws_value> [A-Za-z0-9/+=]{40,} )
| (?P<api_key> [sp]k[-_][A-Za-z0-9_-]{16,64} )
| (?P<email> [A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24} )
| (?P<credit_card> [2-6][0-9]{3}[\ -][0-9]{4}[\ -][0-9]{4}[\ -][0-9]{1,4}(?:[\ -][0-9]{3})? | 3[0-9]{3}[\ -][0-9]{6}[\ -][0-9]{4,5} | [2-6][0-9]{12,18} )
| (?P<ssn> [0-9]{3}-[0-9]{2}-[0-9]{4} )
| (?P<phone> (?:\+[0-9]{1,3}[\ .-]?)? (?:\([0-9]{3}\)\ ?|[0-9]{3}[\ .-]) [0-9]{3}[\ .-][0-9]{4} )
";

/// The kinds in the order in which they are tried.
const KINDS: &[&str] = &[
    "private_key",
    "github_token",
    "aws_key",
    "aws_value",
    "api_key",
    "credit_card",
    "ssn",
    "email",
    "phone",
];

static EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(FORMS).ok());

impl SecurityProvider for DefaultSecurityProvider {
    fn sanitize<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(expression) = &*EXPRESSION else {
            return Cow::Owned(WITHHELD.to_owned());
        };
        let mut clean = String::new();
        let mut kept = 0;
        let mut at = 0;
        let mut key_ends = KeyEnds { known_none: false };
        while let Some(found) = expression.captures_at(text, at) {
            let Some((kind, start, end)) = secret(text, &found) else {
                at = found
                    .get(0)
                    .map_or(text.len(), |whole| after_none(text, whole.start()));
                continue;
            };
            let end = match kind {
                "private_key" => key_ends.after(text, end),
                "api_key" => end_of_token(text, end),
                _ => end,
            };
            clean.push_str(text.get(kept..start).unwrap_or_default());
            clean.push_str("REDACTED:");
            clean.push_str(kind);
            kept = end;
            at = end;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

/// Finds where a key block ends, looking through the rest of a text at most once in vain.
struct KeyEnds {
    known_none: bool,
}

impl KeyEnds {
    fn after(&mut self, text: &str, from: usize) -> usize {
        const END: &str = "-----END ";
        const CLOSE: &str = "-----";
        let rest = text.get(from..).unwrap_or_default();
        if !self.known_none {
            if let Some(place) = rest.find(END) {
                let label = from + place + END.len();
                let tail = text.get(label..).unwrap_or_default();
                let line = tail.split('\n').next().unwrap_or_default();
                return label
                    + line
                        .find(CLOSE)
                        .map_or(line.len(), |close| close + CLOSE.len());
            }
            self.known_none = true;
        }
        // Cut off in the middle: everything that can belong to it goes.
        let body = rest
            .bytes()
            .position(|b| {
                !(b.is_ascii_alphanumeric()
                    || matches!(b, b'+' | b'/' | b'=' | b'\\' | b'\n' | b'\r'))
            })
            .unwrap_or(rest.len());
        from + body
    }
}

/// Where to look on after a form that is none. It may still hold one, but none that begins inside the
/// same run of digits.
fn after_none(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let digits = rest.bytes().position(|byte| !byte.is_ascii_digit());
    start + digits.unwrap_or(rest.len()).max(1)
}

/// The expression looks at 64 characters of a key; the rest belongs to it as well.
fn end_of_token(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let more = rest
        .bytes()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')));
    from + more.unwrap_or(rest.len())
}

/// Kind and place of a secret that a match really is. A match always begins with an ASCII character.
fn secret(text: &str, found: &Captures<'_>) -> Option<(&'static str, usize, usize)> {
    let (kind, group) = KINDS
        .iter()
        .find_map(|kind| found.name(kind).map(|group| (*kind, group)))?;
    let (start, end) = (group.start(), group.end());
    let value = group.as_str();
    let before = text.get(..start).and_then(|head| head.chars().next_back());
    let after = text.get(end..).and_then(|tail| tail.chars().next());
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let apart = !word(before) && !word(after);
    let alone = apart && before != Some('-') && after != Some('-');
    let real = match kind {
        "aws_key" => apart,
        "api_key" => !word(before) && value.bytes().any(|byte| byte.is_ascii_digit()),
        "credit_card" => alone && is_card(value),
        "ssn" => alone && is_ssn(value),
        "phone" => alone && before != Some('.') && before != Some('+'),
        "email" => !word(before),
        _ => true,
    };
    let kind = if kind == "aws_value" { "aws_key" } else { kind };
    real.then_some((kind, start, end))
}

fn is_ssn(value: &str) -> bool {
    let mut groups = value.split('-');
    let (area, group, serial) = (groups.next(), groups.next(), groups.next());
    !matches!(area, Some("000" | "666"))
        && !area.is_some_and(|area| area.starts_with('9'))
        && group != Some("00")
        && serial != Some("0000")
}

fn is_card(value: &str) -> bool {
    let digits: Vec<u32> = value.chars().filter_map(|c| c.to_digit(10)).collect();
    let leading = |count: usize| {
        digits
            .iter()
            .take(count)
            .fold(0, |sum, digit| sum * 10 + digit)
    };
    let known = match digits.len() {
        13 | 19 => leading(1) == 4,
        14 => matches!(leading(2), 36 | 38) || (300..=305).contains(&leading(3)),
        15 => matches!(leading(2), 34 | 37),
        16 => {
            leading(1) == 4
                || (51..=55).contains(&leading(2))
                || (2221..=2720).contains(&leading(4))
                || leading(4) == 6011
                || matches!(leading(2), 35 | 65)
                || (644..=649).contains(&leading(3))
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    known && sum.is_multiple_of(10)
}

/// Masks a text. A provider that panics makes the text withheld.
#[must_use]
pub fn sanitize_text<'a>(provider: &dyn SecurityProvider, text: &'a str) -> Cow<'a, str> {
    catch_unwind(AssertUnwindSafe(|| provider.sanitize(text)))
        .unwrap_or_else(|_| Cow::Owned(WITHHELD.to_owned()))
}

/// Masks every string and every key inside a value; what is nested deeper than 128 is withheld.
pub fn sanitize_value(provider: &dyn SecurityProvider, value: &mut Value) {
    sanitize_nested(provider, value, 0);
}

fn sanitize_nested(provider: &dyn SecurityProvider, value: &mut Value, level: usize) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = sanitize_text(provider, text) {
                *text = clean;
            }
        }
        Value::Array(_) | Value::Object(_) if level >= MAX_DEPTH => {
            *value = Value::String("[withheld: nested too deeply]".to_owned());
        }
        Value::Array(items) => {
            for item in items {
                sanitize_nested(provider, item, level + 1);
            }
        }
        Value::Object(map) => {
            let mut clean = Map::new();
            let mut masked: Vec<(String, Value)> = Vec::new();
            for (key, mut item) in std::mem::take(map) {
                sanitize_nested(provider, &mut item, level + 1);
                match sanitize_text(provider, &key) {
                    Cow::Borrowed(_) => {
                        clean.insert(key, item);
                    }
                    Cow::Owned(name) => masked.push((name, item)),
                }
            }
            insert_masked(&mut clean, masked);
            *map = clean;
        }
        _ => {}
    }
}

/// Masking may make keys equal; they are numbered, so that no value is lost.
fn insert_masked(map: &mut Map<String, Value>, masked: Vec<(String, Value)>) {
    let mut numbers: HashMap<String, u64> = HashMap::new();
    for (name, item) in masked {
        let number = numbers.entry(name.clone()).or_insert(1);
        let mut key = name.clone();
        while map.contains_key(&key) {
            *number += 1;
            key = format!("{name}#{number}");
        }
        map.insert(key, item);
    }
}
