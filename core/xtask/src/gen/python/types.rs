//! Types of the contract in Python: option classes that are filled in, result classes that are read.
//!
//! What is reachable from the options becomes a mutable class whose `WIRE` says how each attribute crosses; what
//! methods return becomes a frozen one with `from_wire`. Words are `Literal`s. Types that never show in the
//! public API are left out.

use super::super::ir::{Field, Form, Shape, TypeDef, TypeRef};
use super::{header, kind as result_kind, pascal, safe, snake};
use a3s_code_contract::{Argument, METHODS, Type};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Types that an application fills in.
const OPTION_ROOTS: &[&str] = &[
    "SessionOptions",
    "ReadFileOptions",
    "GitOptions",
    "ToolCapabilities",
    "VerificationCommand",
    "VerificationReport",
];

/// Types that an application reads beside the results of methods.
const RESULT_ROOTS: &[&str] = &["EventMetadata", "ToolResultEvidence"];

/// Never shown: the package has a form of its own for them.
const HIDDEN: &[&str] = &["HostToolSpec", "OpenedAgent", "OpenedSession"];

/// Kinds of failure stay opaque, so that one that is not known yet reads like the others.
const OPAQUE: &[&str] = &["ToolErrorKind"];

/// Attributes that travel beside the JSON: class, name, type, documentation.
const BESIDE: &[(&str, &str, &str, &str)] =
    &[("ToolArtifact", "bytes", "bytes", "The exact bytes.")];

/// Class, method, documentation, values.
type Preset = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Values of the classes that are complete from the start: class, method (empty for the attributes' own values),
/// documentation, values in wire names.
const PRESETS: &[Preset] = &[
    (
        "ToolResultTransformPolicy",
        "",
        "",
        &[
            ("schema", "\"a3s.code.tool-result-transform-policy.v1\""),
            ("maxOutputBytes", "102400"),
            ("headBytes", "102400"),
            ("tailBytes", "0"),
            ("foldRepeatedLines", "False"),
            ("repeatedLineThreshold", "3"),
            ("structuredSampleItems", "0"),
        ],
    ),
    (
        "ToolResultTransformPolicy",
        "conservative",
        "Keeps the first 100 KiB and changes nothing else; what a session does when no policy is given.",
        &[],
    ),
    (
        "ToolResultTransformPolicy",
        "context_efficient",
        "Keeps a 64 KiB head and a 32 KiB tail, folds repeated lines, samples oversized JSON arrays.",
        &[
            ("headBytes", "65536"),
            ("tailBytes", "32768"),
            ("foldRepeatedLines", "True"),
            ("structuredSampleItems", "32"),
        ],
    ),
];

/// `types.py`.
pub(super) fn file(definitions: &[TypeDef]) -> Result<String, String> {
    let mut options = BTreeSet::new();
    for root in OPTION_ROOTS {
        reach(definitions, root, &mut options)?;
    }
    let mut results = BTreeSet::new();
    for root in RESULT_ROOTS {
        reach(definitions, root, &mut results)?;
    }
    for row in METHODS {
        let result = match &row.result {
            Type::List(item) | Type::Optional(item) => item,
            other => other,
        };
        if let Type::Named(name) = result {
            reach(definitions, name, &mut results)?;
        }
    }
    let mut out = header("Types of the contract: options to fill in, results to read.");
    out.push_str("import json\nfrom collections.abc import Mapping, Sequence\nfrom dataclasses import dataclass\nfrom typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias\n\nfrom .. import _wire\n\nif TYPE_CHECKING:\n    from ..tools import Tool\n\n");
    let mut names: Vec<String> = Vec::new();
    let mut body = String::new();
    for definition in definitions {
        let (option, result) = (
            options.contains(&definition.name),
            results.contains(&definition.name),
        );
        if HIDDEN.contains(&definition.name.as_str()) || !(option || result) {
            continue;
        }
        write_type(
            &mut body,
            &mut names,
            definitions,
            definition,
            (option, result),
        )?;
    }
    names.sort();
    super::all(&mut out, &names);
    out.push_str(&body);
    Ok(out)
}

fn find<'a>(definitions: &'a [TypeDef], name: &str) -> Result<&'a TypeDef, String> {
    definitions
        .iter()
        .find(|definition| definition.name == name)
        .ok_or_else(|| format!("no type `{name}` in the contract"))
}

fn reach(definitions: &[TypeDef], name: &str, into: &mut BTreeSet<String>) -> Result<(), String> {
    if HIDDEN.contains(&name) || !into.insert(name.to_owned()) {
        return Ok(());
    }
    let mut inner: Vec<&TypeRef> = Vec::new();
    match &find(definitions, name)?.shape {
        Shape::Enum(_) => {}
        Shape::Object(fields) => inner.extend(fields.iter().map(|field| &field.kind)),
        Shape::Tagged(variants) => {
            inner.extend(
                variants
                    .iter()
                    .flat_map(|variant| &variant.fields)
                    .map(|field| &field.kind),
            );
        }
        Shape::Untagged(forms) => {
            for form in forms {
                match form {
                    Form::Type(kind) => inner.push(kind),
                    Form::Object(fields) => inner.extend(fields.iter().map(|field| &field.kind)),
                }
            }
        }
    }
    for kind in inner {
        let mut kind = kind;
        while let TypeRef::List(item) | TypeRef::Map(item) = kind {
            kind = item;
        }
        if let TypeRef::Named(name) = kind {
            reach(definitions, name, into)?;
        }
    }
    Ok(())
}

fn write_type(
    out: &mut String,
    names: &mut Vec<String>,
    definitions: &[TypeDef],
    definition: &TypeDef,
    (option, result): (bool, bool),
) -> Result<(), String> {
    let name = &definition.name;
    match &definition.shape {
        Shape::Enum(values) => {
            names.push(name.clone());
            let words: Vec<String> = values
                .iter()
                .map(|value| format!("\"{}\"", value.value))
                .collect();
            alias(
                out,
                name,
                &format!("Literal[{}]", words.join(", ")),
                &definition.doc,
            );
        }
        Shape::Object(fields) if option => {
            names.push(name.clone());
            option_class(out, definitions, name, &definition.doc, fields, result)?;
            if result {
                out.pop();
                from_wire(out, definitions, name, fields)?;
                out.push('\n');
            }
        }
        Shape::Object(fields) => {
            names.push(name.clone());
            result_class(out, definitions, definition, fields)?;
        }
        Shape::Tagged(variants) if option => {
            let mut classes = Vec::new();
            for variant in variants {
                let class = format!("{}{name}", pascal(&variant.tag));
                option_class(
                    out,
                    definitions,
                    &class,
                    &variant.doc,
                    &variant.fields,
                    false,
                )?;
                names.push(class.clone());
                classes.push(class);
            }
            names.push(name.clone());
            classes.push("Mapping[str, Any]".to_owned());
            alias(
                out,
                name,
                &format!("\"{}\"", classes.join(" | ")),
                &definition.doc,
            );
        }
        Shape::Tagged(variants) => {
            let class = format!("{name}Type");
            let words: Vec<String> = variants
                .iter()
                .map(|variant| format!("\"{}\"", variant.tag))
                .collect();
            let doc = format!("{} This is its `type`.", definition.doc);
            alias(out, &class, &format!("Literal[{}]", words.join(", ")), &doc);
            names.push(class);
        }
        Shape::Untagged(forms) => {
            names.push(name.clone());
            let mut kinds = Vec::new();
            for form in forms {
                match form {
                    Form::Type(kind) => kinds.push(option_kind(definitions, kind)),
                    Form::Object(fields) => {
                        if base64(fields) {
                            kinds.push("bytes".to_owned());
                        }
                        kinds.push("Mapping[str, Any]".to_owned());
                    }
                }
            }
            alias(
                out,
                name,
                &format!("\"{}\"", kinds.join(" | ")),
                &definition.doc,
            );
        }
    }
    Ok(())
}

fn base64(fields: &[Field]) -> bool {
    fields.iter().any(|field| field.name == "base64")
}

fn alias(out: &mut String, name: &str, value: &str, doc: &str) {
    let _ = write!(out, "\n{name}: TypeAlias = {value}\n");
    if !doc.is_empty() {
        let _ = writeln!(out, "\"\"\"{}\"\"\"", safe(doc));
    }
}

fn option_class(
    out: &mut String,
    definitions: &[TypeDef],
    name: &str,
    doc: &str,
    fields: &[Field],
    read: bool,
) -> Result<(), String> {
    let presets: Vec<_> = PRESETS.iter().filter(|preset| preset.0 == name).collect();
    let own = presets
        .iter()
        .find(|preset| preset.1.is_empty())
        .map(|preset| preset.3);
    let _ = write!(
        out,
        "\n\n@dataclass(kw_only=True, slots=True)\nclass {name}:\n    \"\"\"{}\"\"\"\n\n",
        safe(doc)
    );
    let mut wire = String::new();
    for field in fields {
        // What is read as well has the type that reading gives.
        let kind = match read {
            true => plain_kind(&field.kind),
            false => option_kind(definitions, &field.kind),
        };
        let attribute = snake(&field.name);
        let value = match own {
            Some(values) => {
                let value = values.iter().find(|value| value.0 == field.name);
                let value =
                    value.ok_or_else(|| format!("{name}: no value for `{}`", field.name))?;
                format!("{kind} = {}", value.1)
            }
            None if field.required => kind,
            None => format!("{kind} | None = None"),
        };
        let _ = writeln!(out, "    {attribute}: {value}");
        if !field.doc.is_empty() {
            let _ = writeln!(out, "    \"\"\"{}\"\"\"", safe(&field.doc));
        }
        // The handlers of tools stay behind, so the session sends these itself.
        if !mentions(&field.kind, "HostToolSpec") {
            let how = crossing(definitions, &field.kind)?;
            let _ = writeln!(
                wire,
                "        \"{attribute}\": (\"{}\", {how}),",
                field.name
            );
        }
    }
    let _ = write!(
        out,
        "\n    WIRE: ClassVar[dict[str, tuple[str, Any]]] = {{\n{wire}    }}\n"
    );
    for (_, method, doc, values) in presets.iter().filter(|preset| !preset.1.is_empty()) {
        let values: Vec<String> = values
            .iter()
            .map(|(field, value)| format!("{}={value}", snake(field)))
            .collect();
        let _ = write!(
            out,
            "\n    @staticmethod\n    def {method}() -> {name}:\n        \"\"\"{doc}\"\"\"\n        return {name}({})\n",
            values.join(", ")
        );
    }
    out.push('\n');
    Ok(())
}

fn mentions(kind: &TypeRef, wanted: &str) -> bool {
    match kind {
        TypeRef::Named(name) => name == wanted,
        TypeRef::List(item) | TypeRef::Map(item) => mentions(item, wanted),
        TypeRef::String
        | TypeRef::Boolean
        | TypeRef::Integer
        | TypeRef::Number
        | TypeRef::Json
        | TypeRef::Constant(_) => false,
    }
}

/// Annotation of an option.
fn option_kind(definitions: &[TypeDef], kind: &TypeRef) -> String {
    match kind {
        TypeRef::List(item) => format!("Sequence[{}]", option_kind(definitions, item)),
        TypeRef::Map(item) => format!("Mapping[str, {}]", option_kind(definitions, item)),
        TypeRef::Named(name) if name == "HostToolSpec" => "Tool | Mapping[str, Any]".to_owned(),
        TypeRef::Named(name) => match find(definitions, name).map(|definition| &definition.shape) {
            Ok(Shape::Object(_)) => format!("{name} | Mapping[str, Any]"),
            _ => name.clone(),
        },
        other => plain_kind(other),
    }
}

fn plain_kind(kind: &TypeRef) -> String {
    match kind {
        TypeRef::String => "str".to_owned(),
        TypeRef::Boolean => "bool".to_owned(),
        TypeRef::Integer | TypeRef::Constant(_) => "int".to_owned(),
        TypeRef::Number => "float".to_owned(),
        TypeRef::Json => "Any".to_owned(),
        TypeRef::List(item) => format!("list[{}]", plain_kind(item)),
        TypeRef::Map(item) => format!("dict[str, {}]", plain_kind(item)),
        TypeRef::Named(name) if OPAQUE.contains(&name.as_str()) => "dict[str, Any]".to_owned(),
        TypeRef::Named(name) => name.clone(),
    }
}

/// Expression that says how an option crosses.
fn crossing(definitions: &[TypeDef], kind: &TypeRef) -> Result<String, String> {
    Ok(match kind {
        TypeRef::List(item) => format!("_wire.Many({})", crossing(definitions, item)?),
        TypeRef::Map(item) => format!("_wire.ByName({})", crossing(definitions, item)?),
        TypeRef::Named(name) => match &find(definitions, name)?.shape {
            Shape::Enum(_) => "_wire.PLAIN".to_owned(),
            Shape::Object(_) => format!("_wire.Record(lambda: {name})"),
            Shape::Tagged(variants) => {
                let kinds: Vec<String> = variants
                    .iter()
                    .map(|variant| format!("\"{0}\": {1}{name}", variant.tag, pascal(&variant.tag)))
                    .collect();
                format!("_wire.Tagged(lambda: {{{}}})", kinds.join(", "))
            }
            Shape::Untagged(forms) => {
                let fields: Vec<&Field> = forms
                    .iter()
                    .filter_map(|form| match form {
                        Form::Object(fields) => Some(fields),
                        Form::Type(_) => None,
                    })
                    .flatten()
                    .collect();
                let names: Vec<String> = fields
                    .iter()
                    .map(|field| format!("\"{}\": \"{}\"", snake(&field.name), field.name))
                    .collect();
                let bytes = if fields.iter().any(|field| field.name == "base64") {
                    ", of_bytes=\"base64\""
                } else {
                    ""
                };
                format!("_wire.Forms({{{}}}{bytes})", names.join(", "))
            }
        },
        _ => "_wire.PLAIN".to_owned(),
    })
}

fn result_class(
    out: &mut String,
    definitions: &[TypeDef],
    definition: &TypeDef,
    fields: &[Field],
) -> Result<(), String> {
    let name = &definition.name;
    let _ = write!(
        out,
        "\n\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass {name}:\n    \"\"\"{}\"\"\"\n\n",
        safe(&definition.doc)
    );
    for field in fields {
        let attribute = snake(&field.name);
        let opaque_object = field.kind == TypeRef::Json && field.name == "metadata";
        let mut kind = if opaque_object {
            "dict[str, Any]".to_owned()
        } else {
            plain_kind(&field.kind)
        };
        if (field.nullable || opaque_object) && kind != "Any" {
            kind.push_str(" | None");
        }
        let _ = writeln!(out, "    {attribute}: {kind}");
        if !field.doc.is_empty() {
            let _ = writeln!(out, "    \"\"\"{}\"\"\"", safe(&field.doc));
        }
    }
    for (_, attribute, kind, doc) in BESIDE.iter().filter(|row| row.0 == name) {
        let _ = writeln!(out, "    {attribute}: {kind}\n    \"\"\"{doc}\"\"\"");
    }
    from_wire(out, definitions, name, fields)?;
    if fields.iter().any(|field| field.name == "metadata") {
        out.push_str("\n    @property\n    def metadata_json(self) -> str | None:\n        \"\"\"The metadata as JSON text.\"\"\"\n        return None if self.metadata is None else json.dumps(self.metadata, ensure_ascii=False)\n");
        out.push_str("\n    @property\n    def evidence(self) -> ToolResultEvidence:\n        \"\"\"What the result says of its own text: `metadata[\"a3s_tool_result_evidence\"]`.\"\"\"\n        return ToolResultEvidence.from_wire((self.metadata or {})[\"a3s_tool_result_evidence\"])\n");
    }
    out.push('\n');
    Ok(())
}

/// The method of a class that reads what comes over the wire.
fn from_wire(
    out: &mut String,
    definitions: &[TypeDef],
    name: &str,
    fields: &[Field],
) -> Result<(), String> {
    let mut read = String::new();
    for field in fields {
        let attribute = snake(&field.name);
        let value = reading(definitions, field)
            .map_err(|error| format!("{name}.{}: {error}", field.name))?;
        let _ = writeln!(read, "            {attribute}={value},");
    }
    for (_, attribute, ..) in BESIDE.iter().filter(|row| row.0 == name) {
        let _ = writeln!(read, "            {attribute}=record[\"{attribute}\"],");
    }
    let _ = write!(
        out,
        "\n    @classmethod\n    def from_wire(cls, record: Mapping[str, Any]) -> {name}:\n        \"\"\"Reads the record of the wire.\"\"\"\n        return cls(\n{read}        )\n"
    );
    Ok(())
}

/// Expression for a field of a record.
fn reading(definitions: &[TypeDef], field: &Field) -> Result<String, String> {
    // What has a default on the wire is left out only when it says nothing.
    let value = if !field.required && field.nullable {
        format!("record.get(\"{}\")", field.name)
    } else {
        format!("record[\"{}\"]", field.name)
    };
    let is_record = |kind: &TypeRef| -> Result<bool, String> {
        match kind {
            TypeRef::Named(inner) if !OPAQUE.contains(&inner.as_str()) => {
                match find(definitions, inner)?.shape {
                    Shape::Enum(_) => Ok(false),
                    Shape::Object(_) => Ok(true),
                    _ => Err("a union in a result is not supported".to_owned()),
                }
            }
            _ => Ok(false),
        }
    };
    match &field.kind {
        TypeRef::List(item) if is_record(item)? => Ok(format!(
            "[{}.from_wire(item) for item in {value}]",
            plain_kind(item)
        )),
        kind if is_record(kind)? && !field.required => {
            Err("a record that may be missing is not supported".to_owned())
        }
        kind if is_record(kind)? => Ok(format!("{}.from_wire({value})", plain_kind(kind))),
        _ => Ok(value),
    }
}

/// Annotation of a method's argument.
pub(super) fn parameter(definitions: &[TypeDef], kind: &Type) -> String {
    match kind {
        Type::Json => "Mapping[str, Any]".to_owned(),
        Type::Named(name) => option_kind(definitions, &TypeRef::Named((*name).to_owned())),
        Type::List(Type::Named(name)) => format!(
            "Sequence[{}]",
            option_kind(definitions, &TypeRef::Named((*name).to_owned()))
        ),
        other => result_kind(other),
    }
}

/// Expression for a method's argument as it crosses.
pub(super) fn argument(definitions: &[TypeDef], argument: &Argument) -> Result<String, String> {
    let name = snake(argument.name);
    Ok(match argument.kind {
        Type::Named(kind) => {
            let how = crossing(definitions, &TypeRef::Named(kind.to_owned()))?;
            format!("{how}.to_wire({name}, \"{name}\")")
        }
        Type::List(Type::Named(kind)) => {
            let how = crossing(definitions, &TypeRef::Named((*kind).to_owned()))?;
            format!("_wire.Many({how}).to_wire({name}, \"{name}\")")
        }
        _ => name,
    })
}
