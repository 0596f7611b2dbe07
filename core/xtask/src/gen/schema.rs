//! `schema/contract.json`: types, methods, events and errors of the contract as data, for programs that
//! are not written in Rust and for a reviewer who wants to see what a change does to the wire.

use super::Files;
use a3s_code_contract::{ABI_VERSION, Argument, EVENT_TYPES, ErrorCode, METHODS, Method, Type};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The schema file.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn files() -> Result<Files, String> {
    let contract = json!({
        "abi": ABI_VERSION,
        "types": a3s_code_contract::definitions(),
        "methods": METHODS.iter().map(method).collect::<Vec<_>>(),
        "events": EVENT_TYPES
            .iter()
            .map(|event| json!({"name": event.name, "doc": event.doc, "fields": arguments(event.fields)}))
            .collect::<Vec<_>>(),
        "errors": ErrorCode::ALL
            .iter()
            .map(|code| {
                json!({"code": code.as_str(), "meaning": code.meaning(), "retryable": code.retryable()})
            })
            .collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&contract).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(vec![(PathBuf::from("schema/contract.json"), text)])
}

fn method(method: &Method) -> Value {
    json!({
        "name": method.name,
        "target": format!("{:?}", method.target),
        "doc": method.doc,
        "errors": method.errors,
        "cancellation": method.cancellation,
        "arguments": arguments(method.arguments),
        "result": type_text(&method.result),
        "sync": method.sync,
        "inline": method.inline,
        "dataOut": method.data_out,
        "dataIn": method.data_in,
    })
}

fn arguments(arguments: &[Argument]) -> Vec<Value> {
    arguments
        .iter()
        .map(|argument| {
            json!({
                "name": argument.name,
                "type": type_text(&argument.kind),
                "required": argument.required,
                "doc": argument.doc,
            })
        })
        .collect()
}

/// A type in words, the same in the schema and in the reference.
pub(super) fn type_text(kind: &Type) -> String {
    match kind {
        Type::Unit => "nothing".to_owned(),
        Type::String => "string".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Json => "json".to_owned(),
        Type::List(item) => format!("list of {}", type_text(item)),
        Type::Optional(item) => format!("{} or nothing", type_text(item)),
        Type::Named(name) => (*name).to_owned(),
    }
}
