//! The contract as the generators see it: a handful of shapes read from its JSON Schemas.
//!
//! Only a restricted subset of JSON Schema is understood, on purpose: a type that does not fit is an error
//! that names it, so that the wire stays describable in every language.

use serde_json::Value;

/// A named type of the contract.
#[derive(Clone, Debug)]
pub(crate) struct TypeDef {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) doc: String,
    /// Its shape.
    pub(crate) shape: Shape,
}

/// Shape of a named type.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Closed set of words.
    Enum(Vec<EnumValue>),
    /// Object with fields.
    Object(Vec<Field>),
    /// Objects told apart by `type`.
    Tagged(Vec<Variant>),
    /// One of several forms without a tag.
    Untagged(Vec<Form>),
}

/// One word of an enum.
#[derive(Clone, Debug)]
pub(crate) struct EnumValue {
    /// The word on the wire.
    pub(crate) value: String,
    /// What it means.
    pub(crate) doc: String,
}

/// One object of a tagged union.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// Value of `type`.
    pub(crate) tag: String,
    /// What it is.
    pub(crate) doc: String,
    /// Its fields beside `type`.
    pub(crate) fields: Vec<Field>,
}

/// One form of an untagged union.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// A plain type.
    Type(TypeRef),
    /// An anonymous object.
    Object(Vec<Field>),
}

/// Field of an object, sorted as declared by name.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Name on the wire.
    pub(crate) name: String,
    /// What it is, with units and bounds.
    pub(crate) doc: String,
    /// Whether it must be present.
    pub(crate) required: bool,
    /// Its type; `null` is expressed by `required == false` and `nullable`.
    pub(crate) kind: TypeRef,
    /// Whether `null` is a value of it.
    pub(crate) nullable: bool,
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeRef {
    /// Text.
    String,
    /// True or false.
    Boolean,
    /// Integer within 2^53 - 1.
    Integer,
    /// Any number.
    Number,
    /// Opaque JSON.
    Json,
    /// A list.
    List(Box<TypeRef>),
    /// Text to something.
    Map(Box<TypeRef>),
    /// A named type.
    Named(String),
    /// A fixed integer, such as a version.
    Constant(i64),
}

/// Reads every named type of the contract.
///
/// # Errors
/// A type outside the subset, by name.
pub(crate) fn load() -> Result<Vec<TypeDef>, String> {
    a3s_code_contract::definitions()
        .iter()
        .map(|(name, schema)| type_def(name, schema).map_err(|error| format!("{name}: {error}")))
        .collect()
}

fn doc(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ")
}

fn type_def(name: &str, schema: &Value) -> Result<TypeDef, String> {
    let shape = if let Some(values) = words(schema) {
        Shape::Enum(values)
    } else if let Some(variants) = schema["oneOf"].as_array() {
        Shape::Tagged(variants.iter().map(variant).collect::<Result<_, _>>()?)
    } else if let Some(forms) = schema["anyOf"].as_array() {
        Shape::Untagged(forms.iter().map(form).collect::<Result<_, _>>()?)
    } else if schema["type"] == "object" {
        Shape::Object(fields(schema, None)?)
    } else {
        return Err(format!("unsupported shape {schema}"));
    };
    Ok(TypeDef {
        name: name.to_owned(),
        doc: doc(schema),
        shape,
    })
}

fn words(schema: &Value) -> Option<Vec<EnumValue>> {
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| {
                Some(EnumValue {
                    value: value.as_str()?.to_owned(),
                    doc: String::new(),
                })
            })
            .collect();
    }
    schema["oneOf"]
        .as_array()?
        .iter()
        .map(|word| {
            let value = word["const"].as_str()?.to_owned();
            Some(EnumValue {
                value,
                doc: doc(word),
            })
        })
        .collect()
}

fn variant(schema: &Value) -> Result<Variant, String> {
    let tag = schema["properties"]["type"]["const"]
        .as_str()
        .ok_or("a variant has no constant `type`")?;
    Ok(Variant {
        tag: tag.to_owned(),
        doc: doc(schema),
        fields: fields(schema, Some("type"))?,
    })
}

fn form(schema: &Value) -> Result<Form, String> {
    if schema["type"] == "object" && schema["properties"].is_object() {
        return Ok(Form::Object(fields(schema, None)?));
    }
    Ok(Form::Type(type_ref(schema)?.0))
}

fn fields(schema: &Value, without: Option<&str>) -> Result<Vec<Field>, String> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else {
        return Ok(Vec::new());
    };
    properties
        .iter()
        .filter(|(name, _)| Some(name.as_str()) != without)
        .map(|(name, property)| {
            let (kind, nullable) =
                type_ref(property).map_err(|error| format!("field `{name}`: {error}"))?;
            Ok(Field {
                name: name.clone(),
                doc: doc(property),
                required: required.contains(&name.as_str()),
                kind,
                nullable,
            })
        })
        .collect()
}

/// The type and whether it may be null.
fn type_ref(schema: &Value) -> Result<(TypeRef, bool), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return Ok((TypeRef::Named(name.to_owned()), false));
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let some: Vec<&Value> = options
            .iter()
            .filter(|option| option["type"] != "null")
            .collect();
        if let [one] = some[..] {
            return Ok((type_ref(one)?.0, options.len() > 1));
        }
        return Err(format!("unsupported union {schema}"));
    }
    if let Some(constant) = schema["const"].as_i64() {
        return Ok((TypeRef::Constant(constant), false));
    }
    let (name, nullable) = match &schema["type"] {
        Value::String(name) => (name.as_str(), false),
        Value::Array(names) => {
            let name = names
                .iter()
                .filter_map(Value::as_str)
                .find(|name| *name != "null");
            (name.ok_or("a type of null alone")?, true)
        }
        _ => return Ok((TypeRef::Json, true)),
    };
    let kind = match name {
        "string" => TypeRef::String,
        "boolean" => TypeRef::Boolean,
        "number" => TypeRef::Number,
        "integer" => {
            if matches!(schema["format"].as_str(), Some("uint64" | "int64"))
                && schema["maximum"]
                    .as_u64()
                    .is_none_or(|most| most > a3s_code_contract::MAX_SAFE_INTEGER)
            {
                return Err("a 64-bit integer without a bound of 2^53 - 1".to_owned());
            }
            TypeRef::Integer
        }
        "array" => TypeRef::List(Box::new(type_ref(&schema["items"])?.0)),
        "object" if schema["additionalProperties"].is_object() => {
            TypeRef::Map(Box::new(type_ref(&schema["additionalProperties"])?.0))
        }
        "object" => TypeRef::Json,
        other => return Err(format!("unsupported type `{other}`")),
    };
    Ok((kind, nullable))
}
