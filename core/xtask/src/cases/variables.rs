//! `${name}` in the strings of a case. A name that nothing defines stays as it is written.

use serde_json::Value;
use std::collections::BTreeMap;

/// What can be substituted: the folders, and what steps saved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// Defines or replaces a name.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// The same value with every string substituted; keys are left alone.
    pub(crate) fn apply(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.apply_text(text),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.apply(item)).collect())
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, field)| (key.clone(), self.apply(field)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    fn apply_text(&self, text: &str) -> Value {
        if !text.contains("${") {
            return Value::String(text.to_owned());
        }
        // A string that is nothing but one name keeps the type of what was saved.
        if let Some(name) = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
            && let Some(value) = self.0.get(name)
        {
            return value.clone();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            out.push_str(&rest[..start]);
            let inside = &rest[start + 2..];
            let known = inside
                .find('}')
                .and_then(|end| Some((end, self.0.get(&inside[..end])?)));
            match known {
                Some((end, value)) => {
                    match value {
                        Value::String(text) => out.push_str(text),
                        other => out.push_str(&other.to_string()),
                    }
                    rest = &inside[end + 1..];
                }
                None => {
                    out.push_str("${");
                    rest = inside;
                }
            }
        }
        out.push_str(rest);
        Value::String(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let mut variables = Variables::default();
        variables.set("outside", json!("/o"));
        variables.set("cursor", json!([{"path": "a"}]));
        variables.set("n", json!(3));
        assert_eq!(
            variables.apply(&json!({"${n}": ["${outside}/x", "${cursor}", "`${snippets.length}` ${n}${outside}"]})),
            json!({"${n}": ["/o/x", [{"path": "a"}], "`${snippets.length}` 3/o"]})
        );
        assert_eq!(
            variables.apply(&json!("${unfinished ${outside}")),
            json!("${unfinished /o")
        );
    }
}
