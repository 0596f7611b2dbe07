//! Method stubs: each builds its arguments and names the helper that makes the call.

use super::HEADER;
use super::names::{exported, parameter, sentence};
use super::types::type_name;
use a3s_code_contract::{Argument, METHODS, Method, Target, Type};
use std::fmt::Write;

/// Methods with a stub in other languages that Go writes by hand: closing can be repeated, and what was
/// learnt when the object was opened needs no call.
const HAND_WRITTEN: &[&str] = &[
    "agent.close",
    "agent.isClosed",
    "session.close",
    "session.isClosed",
    "session.sessionId",
    "session.workspace",
];

/// The file of stubs.
pub(super) fn file() -> Result<String, String> {
    let mut out = format!("{HEADER}\nimport \"context\"\n");
    for method in METHODS {
        if method.stub && !HAND_WRITTEN.contains(&method.name) {
            stub(&mut out, method).map_err(|error| format!("{}: {error}", method.name))?;
        }
    }
    Ok(out)
}

fn stub(out: &mut String, method: &Method) -> Result<(), String> {
    let (receiver, owner) = match method.target {
        Target::Agent => ("a", "Agent"),
        Target::Session => ("s", "Session"),
        Target::Runtime | Target::HostCall => {
            return Err("its target has no stubs in Go".to_owned());
        }
    };
    let plain = method.name.rsplit('.').next().unwrap_or_default();
    let name = exported(plain);
    describe(out, &name, method);
    let mut parameters = Vec::new();
    if !method.sync {
        parameters.push("ctx context.Context".to_owned());
    }
    for argument in method.arguments {
        parameters.push(format!(
            "{} {}",
            parameter(argument.name),
            parameter_type(argument)?
        ));
    }
    let (call, result) = result(method)?;
    let _ = writeln!(
        out,
        "func ({receiver} *{owner}) {name}({}) {result} {{",
        parameters.join(", ")
    );
    out.push_str("\targuments := arguments{}\n");
    for argument in method.arguments {
        let name = argument.name;
        let parameter = parameter(name);
        if method.data_in == Some(name) {
            let _ = writeln!(out, "\targuments.addBytes(\"{name}\", {parameter})");
            continue;
        }
        let _ = match (argument.kind, argument.required) {
            (Type::Json, true) => writeln!(out, "\targuments.add(\"{name}\", object({parameter}))"),
            (_, true) | (Type::Boolean, false) => {
                writeln!(out, "\targuments.add(\"{name}\", {parameter})")
            }
            (Type::String, false) => writeln!(out, "\targuments.addText(\"{name}\", {parameter})"),
            (Type::Named(_), false) => {
                writeln!(out, "\taddOptions(&arguments, \"{name}\", {parameter})")
            }
            (kind, false) => {
                return Err(format!(
                    "an optional argument of type {kind:?} has no form in Go"
                ));
            }
        };
    }
    let context = if method.sync { "" } else { "ctx, " };
    let _ = writeln!(
        out,
        "\treturn {call}({context}{receiver}, \"{}\", &arguments)\n}}",
        method.name
    );
    Ok(())
}

fn describe(out: &mut String, name: &str, method: &Method) {
    let _ = writeln!(out, "\n// {}", sentence(name, method.doc));
    for argument in method.arguments {
        let optional = match (argument.required, argument.kind) {
            (true, _) | (false, Type::Boolean) => "",
            (false, Type::String) => " May be empty.",
            (false, _) => " May be left out.",
        };
        let _ = writeln!(
            out,
            "//\n// {}: {}{optional}",
            parameter(argument.name),
            argument.doc
        );
    }
    if method.sync && method.result == Type::Unit {
        let _ = writeln!(out, "//\n// Errors: {}\n//\n// Never waits.", method.errors);
    } else if method.sync {
        out.push_str("//\n// Never waits. The result is empty when the call cannot be answered, as after Close.\n");
    } else {
        let _ = writeln!(
            out,
            "//\n// Errors: {}\n//\n// Cancelling: {}",
            method.errors, method.cancellation
        );
    }
}

fn parameter_type(argument: &Argument) -> Result<String, String> {
    Ok(match (argument.kind, argument.required) {
        (Type::String, _) => "string".to_owned(),
        (Type::Boolean, _) => "bool".to_owned(),
        (Type::Integer, true) => "int64".to_owned(),
        (Type::Number, true) => "float64".to_owned(),
        (Type::Json, true) => "any".to_owned(),
        (Type::Named(name), true) => format!("*{}", type_name(name)),
        (Type::Named(name), false) => format!("...{}", type_name(name)),
        (Type::List(Type::Named(name)), true) => format!("[]{}", type_name(name)),
        (kind, _) => {
            return Err(format!(
                "argument `{}` of type {kind:?} has no form in Go",
                argument.name
            ));
        }
    })
}

/// The helper that makes the call, and the result list of the stub.
fn result(method: &Method) -> Result<(String, String), String> {
    if method.sync && method.result == Type::Unit {
        return Ok(("immediateNothing".to_owned(), "error".to_owned()));
    }
    if method.sync {
        let kind = value_type(&method.result)?;
        return Ok((format!("immediate[{kind}]"), kind));
    }
    Ok(match (method.data_out, method.result) {
        (Some("output"), Type::Named("ToolResult")) => {
            ("callTool".to_owned(), "(*ToolResult, error)".to_owned())
        }
        (Some(""), Type::String) => ("callText".to_owned(), "(string, error)".to_owned()),
        (Some(place), _) => return Err(format!("data in `{place}` has no form in Go")),
        (None, Type::Unit) => ("callNothing".to_owned(), "error".to_owned()),
        (None, kind) => {
            let kind = value_type(&kind)?;
            (format!("callValue[{kind}]"), format!("({kind}, error)"))
        }
    })
}

fn value_type(kind: &Type) -> Result<String, String> {
    Ok(match kind {
        Type::String => "string".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer => "int64".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::Json => "json.RawMessage".to_owned(),
        Type::List(Type::Named(name)) => format!("[]{}", type_name(name)),
        Type::List(item) => format!("[]{}", value_type(item)?),
        Type::Optional(item) => value_type(item)?,
        Type::Named(name) => format!("*{}", type_name(name)),
        Type::Unit => return Err("a result of nothing has no form in Go".to_owned()),
    })
}
