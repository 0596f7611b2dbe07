//! How one value is compared with what a case expects of it: an exact value or a form.
//!
//! A key that is not known is a difference, so that a case never passes because it was not understood.

use super::content::{numbered, sha256};
use regex::Regex;
use serde_json::Value;

/// A difference, for a person.
pub(crate) type Difference = String;

const TEXT_KEYS: &[&str] = &[
    "contains", "excludes", "matches", "bytes", "maxBytes", "sha256", "count", "once",
];
const VALUE_KEYS: &[&str] = &["exists", "contains", "excludes", "min", "max", "length"];

/// Which forms an object may be besides a value to equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forms {
    /// Those of `metadata`.
    Value,
    /// Those of `metadata` and of `output`.
    ValueAndText,
}

/// Text against an exact string or the forms of `output`.
pub(crate) fn check_text(what: &str, actual: &str, expected: &Value) -> Result<(), Difference> {
    match expected {
        Value::String(text) if text == actual => Ok(()),
        Value::String(text) => Err(format!("{what} is {}, not {}", quote(actual), quote(text))),
        Value::Object(fields) => {
            for (key, wanted) in fields {
                check_text_key(what, actual, key, wanted)?;
            }
            Ok(())
        }
        other => Err(format!("{what}: not a text form: {other}")),
    }
}

fn check_text_key(what: &str, actual: &str, key: &str, wanted: &Value) -> Result<(), Difference> {
    let malformed = || format!("{what}: {key} cannot be {wanted}");
    match key {
        "contains" | "excludes" => {
            for text in strings(wanted).ok_or_else(malformed)? {
                if actual.contains(text) != (key == "contains") {
                    let verb = if key == "contains" { "lacks" } else { "holds" };
                    return Err(format!("{what} {verb} {}: {}", quote(text), quote(actual)));
                }
            }
        }
        "matches" => {
            let pattern = wanted.as_str().ok_or_else(malformed)?;
            let regex = Regex::new(pattern).map_err(|error| format!("{what}: {error}"))?;
            if !regex.is_match(actual) {
                return Err(format!(
                    "{what} does not match {pattern:?}: {}",
                    quote(actual)
                ));
            }
        }
        "bytes" => {
            if wanted.as_u64().ok_or_else(malformed)? != actual.len() as u64 {
                return Err(format!("{what} has {} bytes, not {wanted}", actual.len()));
            }
        }
        "maxBytes" => {
            if actual.len() as u64 > wanted.as_u64().ok_or_else(malformed)? {
                return Err(format!(
                    "{what} has {} bytes, more than {wanted}",
                    actual.len()
                ));
            }
        }
        "sha256" => {
            let digest = sha256(actual.as_bytes());
            if wanted.as_str() != Some(digest.as_str()) {
                return Err(format!("{what} has sha256 {digest}, not {wanted}"));
            }
        }
        "count" => {
            for (text, times) in wanted.as_object().ok_or_else(malformed)? {
                let found = actual.matches(text.as_str()).count() as u64;
                if times.as_u64().ok_or_else(malformed)? != found {
                    return Err(format!(
                        "{what} holds {} {found} times, not {times}",
                        quote(text)
                    ));
                }
            }
        }
        "once" => {
            for range in wanted.as_array().ok_or_else(malformed)? {
                for text in numbered(range)? {
                    let found = actual.matches(text.as_str()).count();
                    if found != 1 {
                        return Err(format!(
                            "{what} holds {} {found} times, not once",
                            quote(&text)
                        ));
                    }
                }
            }
        }
        other => return Err(format!("{what}: unknown form {other}")),
    }
    Ok(())
}

/// A value, or nothing, against a value to equal or a form.
pub(crate) fn check_value(
    what: &str,
    actual: Option<&Value>,
    expected: &Value,
    forms: Forms,
) -> Result<(), Difference> {
    let Some(fields) = form_of(expected, forms) else {
        return match actual {
            Some(actual) if equal(actual, expected) => Ok(()),
            Some(actual) => Err(format!(
                "{what} is {}, not {expected}",
                quote(&actual.to_string())
            )),
            None => Err(format!("{what} is missing, not {expected}")),
        };
    };
    for (key, wanted) in fields {
        check_value_key(what, actual, key, wanted, forms)?;
    }
    Ok(())
}

/// The fields of `expected` when every one of them is a key of a form.
fn form_of(expected: &Value, forms: Forms) -> Option<&serde_json::Map<String, Value>> {
    let fields = expected.as_object().filter(|fields| !fields.is_empty())?;
    let known = |key: &str| {
        VALUE_KEYS.contains(&key) || (forms == Forms::ValueAndText && TEXT_KEYS.contains(&key))
    };
    fields.keys().all(|key| known(key)).then_some(fields)
}

fn check_value_key(
    what: &str,
    actual: Option<&Value>,
    key: &str,
    wanted: &Value,
    forms: Forms,
) -> Result<(), Difference> {
    let malformed = || format!("{what}: {key} cannot be {wanted}");
    if key == "exists" {
        let there = actual.is_some();
        return if Some(there) == wanted.as_bool() {
            Ok(())
        } else {
            Err(format!(
                "{what} {}",
                if there { "exists" } else { "is missing" }
            ))
        };
    }
    let actual = actual.ok_or_else(|| format!("{what} is missing"))?;
    match key {
        "contains" | "excludes" => {
            let items: Vec<&Value> = match wanted {
                Value::Array(items) => items.iter().collect(),
                one => vec![one],
            };
            for item in items {
                if holds(actual, item) != (key == "contains") {
                    let verb = if key == "contains" { "lacks" } else { "holds" };
                    return Err(format!(
                        "{what} {verb} {item}: {}",
                        quote(&actual.to_string())
                    ));
                }
            }
            Ok(())
        }
        "min" | "max" => {
            let (Some(number), Some(bound)) = (actual.as_f64(), wanted.as_f64()) else {
                return Err(format!(
                    "{what} is {}, not a number",
                    quote(&actual.to_string())
                ));
            };
            if if key == "min" {
                number < bound
            } else {
                number > bound
            } {
                return Err(format!("{what} is {actual}, beyond {key} {wanted}"));
            }
            Ok(())
        }
        "length" => {
            let length = match actual {
                Value::Array(items) => items.len(),
                Value::Object(fields) => fields.len(),
                Value::String(text) => text.len(),
                _ => return Err(format!("{what} has no length: {actual}")),
            };
            if wanted.as_u64().ok_or_else(malformed)? != length as u64 {
                return Err(format!("{what} has length {length}, not {wanted}"));
            }
            Ok(())
        }
        other if forms == Forms::ValueAndText => match actual {
            Value::String(text) => check_text_key(what, text, other, wanted),
            _ => Err(format!(
                "{what} is not text: {}",
                quote(&actual.to_string())
            )),
        },
        other => Err(format!("{what}: unknown form {other}")),
    }
}

/// A list holds a whole element, a text a part; anything else is searched as JSON text.
fn holds(actual: &Value, item: &Value) -> bool {
    match (actual, item) {
        (Value::Array(items), _) => items.iter().any(|one| equal(one, item)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (_, Value::String(part)) => actual.to_string().contains(part.as_str()),
        _ => false,
    }
}

/// Equality of JSON in which 1 and 1.0 are the same number.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

/// Whether every field of `partial` is in `actual`, at every depth.
pub(crate) fn partly_equal(actual: &Value, partial: &Value) -> bool {
    match (actual, partial) {
        (Value::Object(a), Value::Object(p)) => p
            .iter()
            .all(|(key, wanted)| a.get(key).is_some_and(|found| partly_equal(found, wanted))),
        _ => equal(actual, partial),
    }
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// A short quotation of a long text.
pub(crate) fn quote(text: &str) -> String {
    const SHOWN: usize = 240;
    if text.len() <= SHOWN {
        return format!("{text:?}");
    }
    let head = text.floor_char_boundary(SHOWN);
    format!("{:?}... ({} bytes)", &text[..head], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_text_form_can_hold_and_can_fail() {
        let text = "row-01\nrow-02\nrow-02\n";
        let table = [
            (json!("row-01\nrow-02\nrow-02\n"), json!("row-01")),
            (
                json!({"contains": ["row-01"]}),
                json!({"contains": ["row-01", "row-03"]}),
            ),
            (
                json!({"excludes": ["row-03"]}),
                json!({"excludes": ["row-02"]}),
            ),
            (
                json!({"matches": "(?m)^row-02$"}),
                json!({"matches": "^row-02$"}),
            ),
            (json!({"bytes": 21}), json!({"bytes": 20})),
            (json!({"maxBytes": 21}), json!({"maxBytes": 20})),
            (
                json!({"sha256": sha256(text.as_bytes())}),
                json!({"sha256": "00"}),
            ),
            (json!({"count": {"row": 3}}), json!({"count": {"row": 2}})),
            (
                json!({"once": [["row-%02d", 1, 1]]}),
                json!({"once": [["row-%02d", 1, 2]]}),
            ),
            (json!({}), json!({"contians": []})),
        ];
        for (holds, fails) in table {
            assert_eq!(check_text("output", text, &holds), Ok(()), "{holds}");
            assert!(check_text("output", text, &fails).is_err(), "{fails}");
        }
    }

    #[test]
    fn every_value_form_can_hold_and_can_fail() {
        let there = json!({"list": ["a", "b"], "text": "abc", "n": 5, "empty": {}});
        let table = [
            ("/n", json!(5.0), json!(6)),
            (
                "/list",
                json!({"contains": ["a"]}),
                json!({"contains": ["ab"]}),
            ),
            (
                "/list",
                json!({"excludes": ["c"]}),
                json!({"excludes": ["b"]}),
            ),
            ("/text", json!({"contains": "bc"}), json!({"contains": "x"})),
            ("", json!({"contains": "abc"}), json!({"excludes": "abc"})),
            ("/list", json!({"length": 2}), json!({"length": 3})),
            ("/n", json!({"min": 5, "max": 5}), json!({"min": 6})),
            ("/n", json!({"exists": true}), json!({"exists": false})),
            ("/gone", json!({"exists": false}), json!({"exists": true})),
            ("/empty", json!({}), json!({"a": 1})),
            ("/text", json!({"bytes": 3}), json!({"bytes": 4})),
        ];
        for (pointer, holds, fails) in table {
            let actual = there.pointer(pointer);
            assert_eq!(
                check_value(pointer, actual, &holds, Forms::ValueAndText),
                Ok(()),
                "{holds}"
            );
            assert!(
                check_value(pointer, actual, &fails, Forms::ValueAndText).is_err(),
                "{fails}"
            );
        }
    }

    #[test]
    fn an_object_with_other_keys_is_a_value_to_equal() {
        let expected = json!({"summary": "x", "length": 1});
        assert!(check_value("v", Some(&expected), &expected, Forms::Value).is_ok());
        assert!(check_value("v", Some(&json!("x")), &expected, Forms::Value).is_err());
    }

    #[test]
    fn big_integers_are_compared_exactly() {
        assert!(!equal(
            &json!(9_007_199_254_740_993_u64),
            &json!(9_007_199_254_740_992_u64)
        ));
        assert!(partly_equal(
            &json!({"a": {"b": 1, "c": 2}}),
            &json!({"a": {"b": 1}})
        ));
        assert!(!partly_equal(&json!({"a": 1}), &json!({"b": 1})));
    }
}
