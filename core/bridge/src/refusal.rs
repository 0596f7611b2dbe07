//! Why a value does not have the form that the contract asks for, in words of our own: which field, what it must be,
//! and the name that was probably meant.
//!
//! Only what a parser has refused is looked at here, by the JSON Schema of the type; nothing depends on how fast it is.

use crate::integers::MAX_INTEGER;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What is wrong with a value.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    /// Path of the field inside the value, such as `queueLimits.maxActive`; empty for the value itself.
    pub(crate) path: String,
    /// What it must be.
    pub(crate) message: String,
    /// The bound that it broke, where there is one.
    pub(crate) bound: Option<String>,
    /// The name that was probably meant.
    pub(crate) suggestion: Option<String>,
}

impl Fault {
    fn new(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            bound: None,
            suggestion: None,
        }
    }

    /// Facts for programs, with the place under a name.
    pub(crate) fn details(&self, key: &str, place: &str) -> Value {
        let mut details = Map::from_iter([(key.to_owned(), json!(place))]);
        if let Some(bound) = &self.bound {
            details.insert("bound".to_owned(), json!(bound));
        }
        if let Some(suggestion) = &self.suggestion {
            details.insert("suggestion".to_owned(), json!(suggestion));
        }
        Value::Object(details)
    }

    /// The place as seen from outside.
    pub(crate) fn beneath(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path if path.starts_with('[') => format!("{name}{path}"),
            path => format!("{name}.{path}"),
        }
    }
}

/// Reads a value of the contract.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(value: &Value) -> Result<T, Fault> {
    let read = T::deserialize(value);
    // The parser would take a list for an object whose fields may all be left out.
    if read.is_ok() && !holds_list(value) {
        return read.map_err(|error| Fault::new("", error.to_string()));
    }
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let explained = Explained {
        definitions: &schema["$defs"],
        bounds: read.is_err(),
    };
    match (explained.fault(value, &schema, ""), read) {
        (Some(fault), _) => Err(fault),
        (None, read) => read.map_err(|error| Fault::new("", error.to_string())),
    }
}

fn holds_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(holds_list),
        _ => false,
    }
}

struct Explained<'a> {
    definitions: &'a Value,
    /// Whether bounds of numbers count, which whoever uses an option checks as well.
    bounds: bool,
}

impl Explained<'_> {
    /// The first thing that is wrong with a value.
    fn fault(&self, value: &Value, schema: &Value, path: &str) -> Option<Fault> {
        let schema = self.resolved(schema);
        if let Some(forms) = schema["anyOf"].as_array() {
            return self.of_forms(value, forms, path);
        }
        if let Some(forms) = schema["oneOf"].as_array() {
            return self.of_choice(value, forms, path);
        }
        if let Some(words) = schema["enum"].as_array() {
            return one_of(value, words.iter(), path);
        }
        let kinds = kinds(schema);
        if kinds.is_empty() || (value.is_null() && kinds.contains(&"null")) {
            return None;
        }
        let kind = kinds.into_iter().find(|kind| *kind != "null")?;
        match (kind, value) {
            ("object", Value::Object(fields)) => self.of_object(fields, schema, path),
            ("array", Value::Array(items)) => items.iter().enumerate().find_map(|(at, item)| {
                self.fault(item, &schema["items"], &format!("{path}[{at}]"))
            }),
            ("integer", Value::Number(_)) if !self.bounds => None,
            ("integer", _) => whole_number(value, schema, path),
            ("string", Value::String(_))
            | ("boolean", Value::Bool(_))
            | ("number", Value::Number(_)) => None,
            _ => Some(Fault::new(
                path,
                format!("must be {}, not {}", named(kind), given(value)),
            )),
        }
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        while let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|reference| reference.strip_prefix("#/$defs/"))
        {
            schema = &self.definitions[name];
        }
        schema
    }

    /// One of several forms that no tag tells apart: the one of the value's own kind is meant.
    fn of_forms(&self, value: &Value, forms: &[Value], path: &str) -> Option<Fault> {
        let forms: Vec<&Value> = forms.iter().map(|form| self.resolved(form)).collect();
        if value.is_null() && forms.iter().any(|form| kinds(form).contains(&"null")) {
            return None;
        }
        let forms: Vec<&Value> = forms
            .into_iter()
            .filter(|form| kinds(form) != ["null"])
            .collect();
        let meant = forms
            .iter()
            .find(|form| self.kind_of(form) == Some(kind(value)));
        match (meant, forms.as_slice()) {
            (Some(form), _) | (None, [form]) => self.fault(value, form, path),
            _ => {
                let names: Vec<&str> = forms
                    .iter()
                    .filter_map(|form| self.kind_of(form))
                    .map(named)
                    .collect();
                Some(Fault::new(
                    path,
                    format!("must be {}, not {}", names.join(" or "), given(value)),
                ))
            }
        }
    }

    fn kind_of<'s>(&'s self, schema: &'s Value) -> Option<&'s str> {
        let first = schema["oneOf"].as_array().and_then(|forms| forms.first());
        kinds(self.resolved(first.unwrap_or(schema)))
            .into_iter()
            .next()
    }

    /// Words, or objects told apart by `type`.
    fn of_choice(&self, value: &Value, forms: &[Value], path: &str) -> Option<Fault> {
        if forms.iter().all(|form| form["const"].is_string()) {
            return one_of(value, forms.iter().map(|form| &form["const"]), path);
        }
        let Value::Object(fields) = value else {
            return Some(Fault::new(
                path,
                format!("must be an object, not {}", given(value)),
            ));
        };
        let tag = |form: &Value| form["properties"]["type"]["const"].clone();
        let place = join(path, "type");
        match fields.get("type") {
            None => Some(Fault::new(&place, "is missing")),
            Some(word) => match forms.iter().find(|form| tag(form) == *word) {
                Some(form) => self.of_object(fields, form, path),
                None => {
                    let tags: Vec<Value> = forms.iter().map(tag).collect();
                    one_of(word, tags.iter(), &place)
                }
            },
        }
    }

    fn of_object(&self, fields: &Map<String, Value>, schema: &Value, path: &str) -> Option<Fault> {
        let none = Map::new();
        let known = schema["properties"].as_object().unwrap_or(&none);
        for (name, value) in fields {
            let place = join(path, name);
            let found = match (known.get(name), &schema["additionalProperties"]) {
                (Some(schema), _) => self.fault(value, schema, &place),
                (None, Value::Bool(false)) => Some(unknown(name, known.keys(), &place)),
                (None, Value::Object(_)) => {
                    self.fault(value, &schema["additionalProperties"], &place)
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        let required = schema["required"].as_array()?;
        required
            .iter()
            .filter_map(Value::as_str)
            .find(|name| !fields.contains_key(*name))
            .map(|name| Fault::new(&join(path, name), "is missing"))
    }
}

fn join(path: &str, name: &str) -> String {
    // A name that the caller made may be long; an error is not.
    let name: String = name.chars().take(128).collect();
    match path {
        "" => name,
        _ => format!("{path}.{name}"),
    }
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn named(kind: &str) -> &'static str {
    match kind {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    }
}

fn given(value: &Value) -> &'static str {
    match value {
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        _ => named(kind(value)),
    }
}

fn whole_number(value: &Value, schema: &Value, path: &str) -> Option<Fault> {
    let least = schema["minimum"].as_i64();
    let most = schema["maximum"]
        .as_u64()
        .unwrap_or(match schema["format"].as_str() {
            Some("uint32") => u64::from(u32::MAX),
            _ => MAX_INTEGER,
        });
    let fits = value
        .as_i64()
        .is_some_and(|value| least.is_none_or(|least| value >= least))
        || value.as_u64().is_some_and(|value| value <= most);
    if fits && value.as_u64().is_none_or(|value| value <= most) {
        return None;
    }
    let least = least.map_or_else(|| format!("-{MAX_INTEGER}"), |least| least.to_string());
    let bound = format!("{least} to {most}");
    let but = match value {
        Value::Number(number) => number.to_string(),
        _ => given(value).to_owned(),
    };
    Some(Fault {
        bound: Some(bound.clone()),
        ..Fault::new(
            path,
            format!("must be a whole number from {bound}, not {but}"),
        )
    })
}

fn one_of<'a>(value: &Value, words: impl Iterator<Item = &'a Value>, path: &str) -> Option<Fault> {
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let word = value.as_str();
    if word.is_some_and(|word| words.contains(&word)) {
        return None;
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let mut fault = Fault::new(path, format!("must be one of {}", quoted.join(", ")));
    fault.suggestion = word.and_then(|word| nearest(word, words.iter().copied()));
    Some(fault)
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>, place: &str) -> Fault {
    // `hostRef` is between a binding and the library.
    let known: Vec<&str> = known
        .map(String::as_str)
        .filter(|name| *name != "hostRef")
        .collect();
    let suggestion = nearest(name, known.iter().copied());
    let message = match &suggestion {
        Some(meant) => format!("is not known; did you mean `{meant}`?"),
        None => {
            let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("is not known; known are {}", quoted.join(", "))
        }
    };
    Fault {
        suggestion,
        ..Fault::new(place, message)
    }
}

/// The name that was probably meant: a third of it may be wrong, underscores and case count for nothing.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let plain = |name: &str| -> Vec<char> {
        name.chars()
            .filter(|letter| *letter != '_' && *letter != '-')
            .flat_map(char::to_lowercase)
            .take(128)
            .collect()
    };
    let name = plain(name);
    known
        .map(|other| (distance(&name, &plain(other)), other))
        .filter(|(distance, other)| *distance <= other.len().max(3) / 3)
        .min()
        .map(|(_, other)| other.to_owned())
}

/// How many letters must be changed, added or removed.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (to, right) in b.iter().enumerate() {
            let change = diagonal + usize::from(left != right);
            diagonal = row[to + 1];
            row[to + 1] = change.min(row[to] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use a3s_code_contract::{HostToolSpec, ReadFileOptions, SessionOptions};

    fn fault<T: DeserializeOwned + JsonSchema>(value: Value) -> Fault {
        read::<T>(&value).err().expect("it is refused")
    }

    #[test]
    fn a_wrong_option_is_named_with_what_it_must_be() {
        for (options, path, message) in [
            (
                json!({"sesionId": "x"}),
                "sesionId",
                "did you mean `sessionId`",
            ),
            (
                json!({"session_id": "x"}),
                "session_id",
                "did you mean `sessionId`",
            ),
            (json!({"zzz": 1}), "zzz", "known are `artifactStoreLimits`"),
            (
                json!({"sessionId": 5}),
                "sessionId",
                "must be text, not a whole number",
            ),
            (
                json!({"queueLimits": {"maxActive": -1}}),
                "queueLimits.maxActive",
                "from 1 to 1024, not -1",
            ),
            (
                json!({"queueLimits": {"maxActive": 1.5}}),
                "queueLimits.maxActive",
                "from 1 to 1024, not 1.5",
            ),
            (
                json!({"queueLimits": {"maxActive": "4"}}),
                "queueLimits.maxActive",
                "from 1 to 1024, not text",
            ),
            (
                json!({"queueLimits": []}),
                "queueLimits",
                "must be an object, not a list",
            ),
            (
                json!({"defaultSecurity": "yes"}),
                "defaultSecurity",
                "must be true or false, not text",
            ),
            (
                json!({"hiddenTools": ["a", 5]}),
                "hiddenTools[1]",
                "must be text",
            ),
            (
                json!({"permissionPolicy": {"denny": []}}),
                "permissionPolicy.denny",
                "did you mean `deny`",
            ),
            (
                json!({"permissionPolicy": {"deny": [5]}}),
                "permissionPolicy.deny[0]",
                "must be text or an object",
            ),
            (
                json!({"permissionPolicy": {"deny": [{"rul": "x"}]}}),
                "permissionPolicy.deny[0].rule",
                "is missing",
            ),
            (
                json!({"permissionPolicy": {"defaultDecision": "alow"}}),
                "permissionPolicy.defaultDecision",
                "one of `allow`, `deny`, `ask`",
            ),
            (
                json!({"workspaceBackend": {"type": "disk"}}),
                "workspaceBackend.type",
                "one of `local`, `memory`",
            ),
            (
                json!({"workspaceBackend": {}}),
                "workspaceBackend.type",
                "is missing",
            ),
            (
                json!({"workspaceBackend": {"type": "memory", "fils": {}}}),
                "workspaceBackend.fils",
                "did you mean `files`",
            ),
            (
                json!({"workspaceBackend": {"type": "memory", "files": {"a": 5}}}),
                "workspaceBackend.files.a",
                "must be text or an object",
            ),
            (
                json!({"sandbox": "of"}),
                "sandbox",
                "one of `auto`, `required`, `off`",
            ),
            (
                json!({"artifactStoreLimits": {"maxBytes": -1}}),
                "artifactStoreLimits.maxBytes",
                "from 0 to 9007199254740991, not -1",
            ),
            (
                json!({"toolResultTransformPolicy": {}}),
                "toolResultTransformPolicy.schema",
                "is missing",
            ),
            (
                json!({"commandEnv": {"A": 1}}),
                "commandEnv.A",
                "must be text",
            ),
        ] {
            let fault = fault::<SessionOptions>(options.clone());
            assert_eq!(fault.path, path, "{options}");
            assert!(
                fault.message.contains(message),
                "{options}: {}",
                fault.message
            );
        }
    }

    #[test]
    fn arguments_of_calls_are_explained_alike() {
        assert_eq!(
            fault::<String>(json!(5)).message,
            "must be text, not a whole number"
        );
        assert_eq!(
            fault::<bool>(json!("x")).message,
            "must be true or false, not text"
        );
        let fault = fault::<ReadFileOptions>(json!({"offset": -1}));
        assert_eq!(fault.beneath("options"), "options.offset");
        assert_eq!(fault.bound.as_deref(), Some("0 to 9007199254740991"));
        assert_eq!(
            fault.details("argument", "options.offset")["bound"],
            "0 to 9007199254740991"
        );
        let spec = json!({"name": "n", "description": "d", "parameters": {}, "hostRef": 1, "timeoutMS": 5});
        assert_eq!(
            self::fault::<HostToolSpec>(spec).suggestion.as_deref(),
            Some("timeoutMs")
        );
    }

    #[test]
    fn what_is_right_is_read() {
        let options = json!({"queueLimits": {"maxActive": 4}, "sandbox": "off", "sessionId": null});
        assert_eq!(
            read::<SessionOptions>(&options)
                .expect("read")
                .queue_limits
                .and_then(|limits| limits.max_active),
            Some(4)
        );
    }
}
