//! The schema of a tool's arguments, derived from the struct that they are parsed into.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// JSON Schema of `T`, without references, titles or numeric formats.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    schema
}

fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("title");
            if map.get("format").is_some_and(|format| {
                format
                    .as_str()
                    .is_some_and(|format| format.starts_with("uint") || format.starts_with("int"))
            }) {
                map.remove("format");
            }
            // An argument that may be left out is not an argument that may be null.
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = &types[..] {
                    let one = one.clone();
                    map.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(words)) = map.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(options)) = map.get_mut("anyOf") {
                options.retain(|option| option["type"] != "null");
                if options.len() == 1
                    && let Some(Value::Object(only)) = options.pop()
                {
                    map.remove("anyOf");
                    for (key, value) in only {
                        map.entry(key).or_insert(value);
                    }
                }
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
