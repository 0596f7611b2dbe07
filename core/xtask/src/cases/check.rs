//! What a step gave against what its case expects.

use super::driver::Outcome;
use super::evidence;
use super::forms::{Difference, Forms, check_text, check_value, equal, partly_equal, quote};
use super::stage::{Snapshot, Stage};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that can be seen after a step.
pub(crate) struct Seen<'a> {
    /// What the call gave.
    pub(crate) outcome: &'a Outcome,
    /// The folders of the case.
    pub(crate) stage: &'a Stage,
    /// Files before the step, of those that must be unchanged.
    pub(crate) before: &'a BTreeMap<String, Option<Snapshot>>,
    /// Texts of the model's requests, asked for when a case speaks of them.
    pub(crate) requests: Option<&'a [String]>,
}

/// Names of the files that `expected` wants unchanged, alternatives included.
pub(crate) fn files_to_snapshot(expected: &Value, names: &mut BTreeSet<String>) {
    for (path, wanted) in expected["files"].as_object().into_iter().flatten() {
        if wanted.get("unchanged").is_some() {
            names.insert(path.clone());
        }
    }
    for alternative in expected["oneOf"].as_array().into_iter().flatten() {
        files_to_snapshot(alternative, names);
    }
}

/// Whether `key` appears in `expected` or its alternatives.
pub(crate) fn mentions(expected: &Value, key: &str) -> bool {
    expected.get(key).is_some()
        || expected["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|alternative| mentions(alternative, key))
}

/// Compares; the first difference is the error.
pub(crate) fn check(expected: &Value, seen: &Seen<'_>) -> Result<(), Difference> {
    if let Outcome::Unsupported(what) = seen.outcome {
        return Err(format!("unsupported: {what}"));
    }
    check_object(expected, seen, false)
}

fn check_object(expected: &Value, seen: &Seen<'_>, error_settled: bool) -> Result<(), Difference> {
    let empty = Map::new();
    let fields = match expected {
        Value::Null => &empty,
        Value::Object(fields) => fields,
        other => return Err(format!("not an expectation: {other}")),
    };
    let settled = match fields.get("throws") {
        Some(wanted) => {
            check_throws(wanted, seen.outcome)?;
            true
        }
        None => error_settled,
    };
    if let Outcome::Error {
        code,
        message,
        kind,
    } = seen.outcome
        && !settled
        && !fields.contains_key("oneOf")
    {
        let kind = kind
            .as_deref()
            .map(|kind| format!(" ({kind})"))
            .unwrap_or_default();
        return Err(format!("threw {code}{kind}: {message}"));
    }
    for (key, wanted) in fields {
        check_key(key, wanted, seen)?;
    }
    if let Some(alternatives) = fields.get("oneOf").and_then(Value::as_array) {
        let mut differences = Vec::new();
        for alternative in alternatives {
            match check_object(alternative, seen, settled) {
                Ok(()) => return Ok(()),
                Err(difference) => differences.push(difference),
            }
        }
        return Err(format!(
            "none of the alternatives holds: {}",
            differences.join("; ")
        ));
    }
    Ok(())
}

fn check_key(key: &str, wanted: &Value, seen: &Seen<'_>) -> Result<(), Difference> {
    match key {
        "throws" | "oneOf" => Ok(()),
        // The runner waits for processes itself, before anything is compared.
        "survivors" => Ok(()),
        "exitCode" => check_exit_code(&tool_result(seen)?["exitCode"], wanted),
        "errorKind" => {
            let found = &tool_result(seen)?["errorKind"]["type"];
            if found == wanted {
                return Ok(());
            }
            let output = tool_result(seen)?["output"].as_str().unwrap_or_default();
            Err(format!(
                "errorKind is {found}, not {wanted}; the output says {}",
                quote(output)
            ))
        }
        "output" => check_text("output", output_of(seen)?, wanted),
        "outputJson" => {
            let output = output_of(seen)?;
            let parsed: Value = serde_json::from_str(output)
                .map_err(|error| format!("output is not JSON ({error}): {}", quote(output)))?;
            check_pointers("output", &parsed, wanted, Forms::Value)
        }
        "metadata" => check_pointers(
            "metadata",
            &tool_result(seen)?["metadata"],
            wanted,
            Forms::Value,
        ),
        "evidence" => {
            if wanted == &Value::Bool(true) {
                evidence::check(output_of(seen)?, &tool_result(seen)?["metadata"])
            } else {
                Err(format!("evidence cannot be {wanted}"))
            }
        }
        "value" => check_whole_value(plain_value(seen)?, wanted),
        "valueAt" => check_pointers("value", plain_value(seen)?, wanted, Forms::ValueAndText),
        "text" => {
            let value = plain_value(seen)?;
            let text = value["text"]
                .as_str()
                .ok_or_else(|| format!("there is no text: {}", quote(&value.to_string())))?;
            check_text("text", text, wanted)
        }
        "events" => check_events(plain_value(seen)?, wanted),
        "noEvents" => check_no_events(plain_value(seen)?, wanted),
        "modelSaw" => check_requests(seen.requests.unwrap_or_default(), wanted),
        "files" => {
            for (path, expected) in wanted.as_object().ok_or("files is not an object")? {
                let before = seen.before.get(path).and_then(Option::as_ref);
                seen.stage.check_file(path, expected, before)?;
            }
            Ok(())
        }
        "onlyFiles" => {
            let wanted: BTreeSet<String> = wanted
                .as_array()
                .ok_or("onlyFiles is not a list")?
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let found = seen.stage.list_files()?;
            if found == wanted {
                return Ok(());
            }
            let more: Vec<_> = found.difference(&wanted).collect();
            let less: Vec<_> = wanted.difference(&found).collect();
            Err(format!(
                "the workspace also holds {more:?} and lacks {less:?}"
            ))
        }
        other => Err(format!("unknown expectation {other}")),
    }
}

fn check_throws(wanted: &Value, outcome: &Outcome) -> Result<(), Difference> {
    let Outcome::Error {
        code,
        kind,
        message,
    } = outcome
    else {
        return Err(format!("expected an error, got {}", describe(outcome)));
    };
    match wanted {
        Value::Bool(true) => Ok(()),
        Value::Object(fields) => {
            for (key, wanted) in fields {
                let found = match key.as_str() {
                    "code" => Some(code.as_str()),
                    "kind" => kind.as_deref(),
                    other => return Err(format!("unknown expectation throws.{other}")),
                };
                if found != wanted.as_str() {
                    return Err(format!(
                        "the error's {key} is {found:?}, not {wanted}: {message}"
                    ));
                }
            }
            Ok(())
        }
        other => Err(format!("throws cannot be {other}")),
    }
}

fn check_exit_code(found: &Value, wanted: &Value) -> Result<(), Difference> {
    let code = found
        .as_i64()
        .ok_or_else(|| format!("exitCode is {found}"))?;
    let holds = match wanted {
        Value::String(word) if word == "nonzero" => code != 0,
        Value::Number(_) => wanted.as_i64() == Some(code),
        other => return Err(format!("exitCode cannot be {other}")),
    };
    if holds {
        Ok(())
    } else {
        Err(format!("exitCode is {code}, not {wanted}"))
    }
}

fn check_pointers(
    what: &str,
    root: &Value,
    wanted: &Value,
    forms: Forms,
) -> Result<(), Difference> {
    let fields = wanted
        .as_object()
        .ok_or_else(|| format!("{what}: not an object of pointers: {wanted}"))?;
    for (pointer, expected) in fields {
        check_value(
            &format!("{what}{pointer}"),
            root.pointer(pointer),
            expected,
            forms,
        )?;
    }
    Ok(())
}

fn check_whole_value(value: &Value, wanted: &Value) -> Result<(), Difference> {
    match (value, wanted) {
        (Value::String(text), Value::Object(_) | Value::String(_)) => {
            check_text("value", text, wanted)
        }
        _ => check_value("value", Some(value), wanted, Forms::ValueAndText),
    }
}

fn check_events(value: &Value, wanted: &Value) -> Result<(), Difference> {
    let events = value["events"].as_array().ok_or("there are no events")?;
    let mut rest = events.iter();
    for partial in wanted.as_array().ok_or("events is not a list")? {
        if !rest.any(|event| partly_equal(event, partial)) {
            let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
            return Err(format!(
                "no event like {partial} in its place; there were {}",
                quote(&json!(types).to_string())
            ));
        }
    }
    Ok(())
}

fn check_no_events(value: &Value, wanted: &Value) -> Result<(), Difference> {
    let events = value["events"].as_array().ok_or("there are no events")?;
    for partial in wanted.as_array().ok_or("noEvents is not a list")? {
        if let Some(event) = events.iter().find(|event| partly_equal(event, partial)) {
            return Err(format!(
                "there was an event like {partial}: {}",
                quote(&event.to_string())
            ));
        }
    }
    Ok(())
}

fn check_requests(requests: &[String], wanted: &Value) -> Result<(), Difference> {
    for expected in wanted.as_array().ok_or("modelSaw is not a list")? {
        let number = expected["request"]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .ok_or("modelSaw names no request")?;
        let text = requests.get(number).ok_or_else(|| {
            format!(
                "there was no model request {number}, only {}",
                requests.len()
            )
        })?;
        let mut forms = expected.clone();
        if let Some(fields) = forms.as_object_mut() {
            fields.remove("request");
        }
        check_text(&format!("model request {number}"), text, &forms)?;
    }
    Ok(())
}

fn tool_result<'a>(seen: &Seen<'a>) -> Result<&'a Value, Difference> {
    match seen.outcome {
        Outcome::Result(result) => Ok(result),
        other => Err(format!("expected a ToolResult, got {}", describe(other))),
    }
}

fn output_of<'a>(seen: &Seen<'a>) -> Result<&'a str, Difference> {
    let result = tool_result(seen)?;
    result["output"]
        .as_str()
        .ok_or_else(|| format!("output is {}", result["output"]))
}

fn plain_value<'a>(seen: &Seen<'a>) -> Result<&'a Value, Difference> {
    match seen.outcome {
        Outcome::Value(value) => Ok(value),
        other => Err(format!("expected a value, got {}", describe(other))),
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(result) => format!(
            "a ToolResult with exitCode {} and output {}",
            result["exitCode"],
            quote(result["output"].as_str().unwrap_or_default())
        ),
        Outcome::Value(value) => format!("the value {}", quote(&value.to_string())),
        Outcome::Error { code, message, .. } => format!("the error {code}: {message}"),
        Outcome::Unsupported(what) => format!("unsupported: {what}"),
        Outcome::Waiting => "a stream that waits".to_owned(),
    }
}

/// What every answer must satisfy, whatever the case says: the form of a ToolResult, and an artifact whose bytes fit its text.
pub(crate) fn check_form(outcome: &Outcome) -> Result<(), Difference> {
    match outcome {
        Outcome::Result(result) => {
            for field in ["name", "output"] {
                if !result[field].is_string() {
                    return Err(format!("the driver reports {field} {}", result[field]));
                }
            }
            for field in ["metadata", "errorKind"] {
                if !result[field].is_null() && !result[field].is_object() {
                    return Err(format!(
                        "the driver reports {field} {}",
                        quote(&result[field].to_string())
                    ));
                }
            }
            Ok(())
        }
        Outcome::Value(value) if value.get("bytesBase64").is_some() => {
            let bytes =
                super::content::decode_base64(value["bytesBase64"].as_str().unwrap_or_default())?;
            let text = Value::String(String::from_utf8_lossy(&bytes).into_owned());
            if equal(&text, &value["content"]) {
                Ok(())
            } else {
                Err("the artifact's bytes and content differ".to_owned())
            }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expected: &Value, outcome: &Outcome) -> Result<(), Difference> {
        let home = std::env::temp_dir().join(format!(
            "a3s-check-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let stage = Stage::create(home).unwrap();
        let requests = ["first question".to_owned()];
        check(
            expected,
            &Seen {
                outcome,
                stage: &stage,
                before: &BTreeMap::new(),
                requests: Some(&requests),
            },
        )
    }

    fn result(exit_code: i64) -> Outcome {
        Outcome::Result(json!({
            "name": "t", "output": "{\"a\":1}", "exitCode": exit_code, "metadata": {"x": [1]},
            "errorKind": if exit_code == 0 { Value::Null } else { json!({"type": "not_found"}) },
        }))
    }

    fn error() -> Outcome {
        Outcome::Error {
            code: "SESSION_CLOSED".into(),
            kind: Some("not_found".into()),
            message: "m".into(),
        }
    }

    #[test]
    fn each_expectation_can_hold_and_can_fail() {
        let value =
            Outcome::Value(json!({"text": "hi", "events": [{"type": "a"}, {"type": "b", "n": 1}]}));
        let list = Outcome::Value(json!(["read", "readable"]));
        let table = [
            (
                result(0),
                json!({"exitCode": 0}),
                json!({"exitCode": "nonzero"}),
            ),
            (
                result(2),
                json!({"exitCode": "nonzero", "errorKind": "not_found"}),
                json!({"errorKind": "timeout"}),
            ),
            (
                result(0),
                json!({"outputJson": {"/a": 1}}),
                json!({"outputJson": {"/a": 2}}),
            ),
            (
                result(0),
                json!({"metadata": {"/x": {"length": 1}}}),
                json!({"metadata": {"/y": 1}}),
            ),
            (result(0), json!({}), json!({"throws": true})),
            (error(), json!({"throws": true}), json!({})),
            (
                error(),
                json!({"throws": {"code": "SESSION_CLOSED"}}),
                json!({"throws": {"code": "TIMEOUT"}}),
            ),
            (
                error(),
                json!({"throws": {"kind": "not_found"}}),
                json!({"throws": {"kind": "x"}}),
            ),
            (
                error(),
                json!({"oneOf": [{"exitCode": 0}, {"throws": true}]}),
                json!({"oneOf": [{"exitCode": 0}, {}]}),
            ),
            (
                result(0),
                json!({"oneOf": [{"exitCode": 0}], "onlyFiles": []}),
                json!({"oneOf": [{"exitCode": 0}], "onlyFiles": ["a"]}),
            ),
            (value.clone(), json!({"text": "hi"}), json!({"text": "ho"})),
            (
                value.clone(),
                json!({"events": [{"type": "a"}, {"n": 1}]}),
                json!({"events": [{"type": "b"}, {"type": "a"}]}),
            ),
            (
                value.clone(),
                json!({"noEvents": [{"type": "c"}]}),
                json!({"noEvents": [{"type": "a"}]}),
            ),
            (
                value.clone(),
                json!({"modelSaw": [{"request": 0, "contains": ["question"]}]}),
                json!({"modelSaw": [{"request": 1}]}),
            ),
            (
                list.clone(),
                json!({"value": {"contains": ["read"], "excludes": ["rea"]}}),
                json!({"value": {"contains": ["rea"]}}),
            ),
            (
                list,
                json!({"value": ["read", "readable"]}),
                json!({"value": []}),
            ),
            (
                value,
                json!({"valueAt": {"/text": {"bytes": 2}}}),
                json!({"exitCode": 0}),
            ),
            (
                result(0),
                json!({"files": {"a": {"absent": true}}}),
                json!({"unheard": 1}),
            ),
        ];
        for (outcome, holds, fails) in table {
            assert_eq!(verdict(&holds, &outcome), Ok(()), "{holds}");
            assert!(verdict(&fails, &outcome).is_err(), "{fails}");
        }
    }

    #[test]
    fn what_a_language_lacks_never_satisfies_a_case() {
        let lacking = Outcome::Unsupported("helper git".into());
        for expected in [
            json!({}),
            json!({"throws": true}),
            json!({"oneOf": [{"throws": true}]}),
        ] {
            assert!(verdict(&expected, &lacking).is_err(), "{expected}");
        }
    }

    #[test]
    fn the_form_of_answers_is_checked() {
        assert!(check_form(&result(0)).is_ok());
        assert!(
            check_form(&Outcome::Result(
                json!({"name": "t", "output": "", "metadata": "text"})
            ))
            .is_err()
        );
        assert!(
            check_form(&Outcome::Value(
                json!({"content": "é", "bytesBase64": "w6k="})
            ))
            .is_ok()
        );
        assert!(
            check_form(&Outcome::Value(
                json!({"content": "e", "bytesBase64": "w6k="})
            ))
            .is_err()
        );
    }
}
