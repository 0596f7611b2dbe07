//! Structs, words and unions.
//!
//! What may be left out is omitted when it has Go's zero value, so numbers and booleans whose zero means
//! something are pointers. A union with a tag is an interface with one struct for each tag and one for
//! tags that are not known yet.

use super::HEADER;
use super::names::{doc, exported, lower_first};
use super::separate;
use crate::r#gen::ir::{Field, Shape, TypeDef, TypeRef, Variant};
use a3s_code_contract::{Argument, Type};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Types that are written by hand: unions without a tag, and the code of an error.
const HAND_WRITTEN: &[&str] = &[
    "ErrorCode",
    "MemoryFile",
    "PermissionRule",
    "SandboxSettings",
];

/// Types that applications have no use for.
const PRIVATE: &[&str] = &[
    "ErrorPayload",
    "HostCallInput",
    "HostReply",
    "HostToolSpec",
    "OpenedAgent",
    "OpenedSession",
];

/// Fields whose Go form is not the one their type would give: type, field, Go type, and tag.
const FIELDS: &[(&str, &str, &str, &str)] = &[
    ("SessionOptions", "tools", "[]Tool", "-"),
    (
        "ToolResult",
        "errorKind",
        "json.RawMessage",
        "errorKind,omitzero",
    ),
    ("ToolResult", "exitCode", "int", "exitCode"),
];

/// Fields that Go has and the wire carries beside the JSON.
const MORE: &[(&str, &str, &str)] = &[(
    "ToolArtifact",
    "Bytes []byte `json:\"-\"`",
    "The exact bytes.",
)];

/// The file of plain types and the file of unions.
pub(super) fn files(types: &[TypeDef]) -> Result<[(&'static str, String); 2], String> {
    let schemas = a3s_code_contract::definitions();
    let writer = Writer { types, schemas };
    let mut plain = format!(
        "{HEADER}\nimport \"encoding/json\"\n\n\
         // schemaHash is the fingerprint of the contract; a library with another one is refused.\n\
         const schemaHash = {:?}\n",
        a3s_code_contract::schema_hash()
    );
    let mut unions = format!("{HEADER}\nimport \"encoding/json\"\n");
    for definition in types {
        let out = match definition.shape {
            Shape::Tagged(_) => &mut unions,
            _ => &mut plain,
        };
        if !HAND_WRITTEN.contains(&definition.name.as_str()) {
            writer.definition(out, definition)?;
        }
    }
    Ok([("types", plain), ("unions", unions)])
}

/// Go type of a field of an event.
pub(super) fn event_field(field: &Argument) -> String {
    let kind = match field.kind {
        Type::String => "string",
        Type::Boolean => "bool",
        Type::Integer => "int64",
        Type::Number => "float64",
        _ => "json.RawMessage",
    };
    let pointer = !field.required && matches!(kind, "bool" | "int64" | "float64");
    format!("{}{kind}", if pointer { "*" } else { "" })
}

/// Go name of a type.
pub(super) fn type_name(name: &str) -> String {
    if PRIVATE.contains(&name) {
        lower_first(name)
    } else {
        name.to_owned()
    }
}

struct Writer<'a> {
    types: &'a [TypeDef],
    schemas: BTreeMap<String, Value>,
}

impl Writer<'_> {
    fn definition(&self, out: &mut String, definition: &TypeDef) -> Result<(), String> {
        let name = type_name(&definition.name);
        let _ = writeln!(out, "\n// {name}: {}", lower_first(&definition.doc));
        match &definition.shape {
            Shape::Enum(values) => {
                let _ = writeln!(out, "type {name} string\n\n// Words of {name}.\nconst (");
                for (at, value) in values.iter().enumerate() {
                    separate(out, at);
                    doc(out, "\t", &value.doc);
                    let _ = writeln!(
                        out,
                        "\t{name}{} {name} = \"{}\"",
                        exported(&value.value),
                        value.value
                    );
                }
                out.push_str(")\n");
            }
            Shape::Object(fields) => {
                let _ = writeln!(out, "type {name} struct {{");
                self.fields(out, &definition.name, fields);
                out.push_str("}\n");
            }
            Shape::Tagged(variants) => self.union(out, &definition.name, variants),
            Shape::Untagged(_) => {
                return Err(format!(
                    "{name}: a union without a tag has no form in Go; write it by hand"
                ));
            }
        }
        Ok(())
    }

    fn union(&self, out: &mut String, name: &str, variants: &[Variant]) {
        let _ = writeln!(
            out,
            "type {name} interface {{\n\t// {name}Type is the tag on the wire.\n\t{name}Type() string\n}}"
        );
        for variant in variants {
            let own = format!("{name}{}", exported(&variant.tag));
            let _ = writeln!(out, "\n// {own}: {}", lower_first(&variant.doc));
            let _ = writeln!(out, "type {own} struct {{");
            self.fields(out, &own, &variant.fields);
            let _ = writeln!(
                out,
                "}}\n\n// {name}Type is {tag:?}.\nfunc ({own}) {name}Type() string {{ return {tag:?} }}\n\n\
                 // MarshalJSON writes the fields and the tag.\n\
                 func (v {own}) MarshalJSON() ([]byte, error) {{\n\ttype fields {own}\n\
                 \treturn json.Marshal(struct {{\n\t\tType string `json:\"type\"`\n\t\tfields\n\t}}{{{tag:?}, fields(v)}})\n}}",
                tag = variant.tag
            );
        }
        let _ = writeln!(
            out,
            "\n// Unknown{name} is one whose tag this version does not know.\ntype Unknown{name} struct {{\n\
             \t// Type is the tag.\n\tType string\n\n\t// Raw is the whole object.\n\tRaw json.RawMessage\n}}\n\n\
             // {name}Type is the tag.\nfunc (v Unknown{name}) {name}Type() string {{ return v.Type }}\n\n\
             // MarshalJSON writes the whole object.\n\
             func (v Unknown{name}) MarshalJSON() ([]byte, error) {{ return v.Raw, nil }}\n\n\
             // Decode{name} gives the object as the struct that belongs to its tag, or as an Unknown{name}.\n\
             func Decode{name}(raw json.RawMessage) ({name}, error) {{\n\
             \tvar head struct {{\n\t\tType string `json:\"type\"`\n\t}}\n\
             \tif err := json.Unmarshal(raw, &head); err != nil {{\n\t\treturn nil, err\n\t}}\n\
             \tswitch head.Type {{"
        );
        for variant in variants {
            let own = format!("{name}{}", exported(&variant.tag));
            let _ = writeln!(
                out,
                "\tcase {:?}:\n\t\tvar value {own}\n\t\terr := json.Unmarshal(raw, &value)\n\t\treturn value, err",
                variant.tag
            );
        }
        let _ = writeln!(
            out,
            "\tdefault:\n\t\treturn Unknown{name}{{Type: head.Type, Raw: raw}}, nil\n\t}}\n}}"
        );
    }

    fn fields(&self, out: &mut String, owner: &str, fields: &[Field]) {
        let mut fields: Vec<&Field> = fields.iter().collect();
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        for (at, field) in fields.into_iter().enumerate() {
            separate(out, at);
            doc(out, "\t", &field.doc);
            let special = FIELDS
                .iter()
                .find(|(kind, name, ..)| *kind == owner && *name == field.name);
            let (kind, tag) = match special {
                Some((_, _, kind, tag)) => ((*kind).to_owned(), (*tag).to_owned()),
                None => self.field(owner, field),
            };
            let _ = writeln!(out, "\t{} {kind} `json:\"{tag}\"`", exported(&field.name));
        }
        for (_, field, text) in MORE.iter().filter(|(kind, ..)| *kind == owner) {
            out.push('\n');
            doc(out, "\t", text);
            let _ = writeln!(out, "\t{field}");
        }
    }

    /// Go type and JSON tag of a field.
    fn field(&self, owner: &str, field: &Field) -> (String, String) {
        let kind = self.kind(&field.kind);
        if field.required && !field.nullable {
            return (kind, field.name.clone());
        }
        let pointer = match &field.kind {
            TypeRef::Boolean | TypeRef::Integer | TypeRef::Number => {
                !self.zero_is_default(owner, field)
            }
            TypeRef::Named(name) => self.is_struct(name),
            _ => false,
        };
        let star = if pointer { "*" } else { "" };
        (format!("{star}{kind}"), format!("{},omitzero", field.name))
    }

    /// True when leaving a field out means the same as Go's zero value.
    fn zero_is_default(&self, owner: &str, field: &Field) -> bool {
        let default =
            &self.schemas.get(owner).unwrap_or(&Value::Null)["properties"][&field.name]["default"];
        !field.nullable && (default == &Value::Bool(false) || default.as_f64() == Some(0.0))
    }

    fn is_struct(&self, name: &str) -> bool {
        name == "SandboxSettings"
            || self.types.iter().any(|definition| {
                definition.name == name && matches!(definition.shape, Shape::Object(_))
            })
    }

    fn kind(&self, kind: &TypeRef) -> String {
        match kind {
            TypeRef::String => "string".to_owned(),
            TypeRef::Boolean => "bool".to_owned(),
            TypeRef::Integer => "int64".to_owned(),
            TypeRef::Number => "float64".to_owned(),
            TypeRef::Json => "json.RawMessage".to_owned(),
            TypeRef::Constant(_) => "int".to_owned(),
            TypeRef::List(item) => format!("[]{}", self.kind(item)),
            TypeRef::Map(item) => format!("map[string]{}", self.kind(item)),
            TypeRef::Named(name) => type_name(name),
        }
    }
}
