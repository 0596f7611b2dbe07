//! What a schema would cost, found out before it is compiled.
//!
//! One walk over everything that the schema's keywords and references reach. Invariants of what passes:
//! it is at most 256 KiB, every reference stays inside it and exists, no chain of references comes back
//! to itself without descending into the instance, no path through it is longer than 256 schemas, and
//! written out without references it has at most 50,000 schemas.

use super::{MAX_SCHEMA_BYTES, SchemaError, clip};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io;

/// Deepest nesting of the schema's own JSON.
const MAX_NESTING: usize = 64;
/// Longest path through schemas, references followed.
const MAX_PATH: usize = 256;
/// Most schemas when references are written out.
const MAX_COST: u64 = 50_000;
/// Most bytes of one pattern.
const MAX_PATTERN_BYTES: usize = 4096;
/// Most patterns, and most bytes of all of them.
const MAX_PATTERNS: usize = 256;
const MAX_PATTERNS_BYTES: usize = 64 * 1024;

/// Keywords whose value is a schema for the same instance.
const IN_PLACE: &[&str] = &["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas for the same instance.
const IN_PLACE_LISTS: &[&str] = &["allOf", "anyOf", "oneOf"];
/// Keywords whose value maps names to schemas for the same instance.
const IN_PLACE_MAPS: &[&str] = &["dependentSchemas", "dependencies"];
/// Keywords whose value is a schema for a part of the instance.
const PARTS: &[&str] = &[
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas for parts of the instance.
const PART_LISTS: &[&str] = &["prefixItems", "items"];
/// Keywords whose value maps names to schemas for parts of the instance.
const PART_MAPS: &[&str] = &["properties", "patternProperties"];
/// Keywords whose value maps names to schemas that do nothing until they are referred to.
const DEFINITIONS: &[&str] = &["$defs", "definitions"];
/// Keywords that refer to another schema.
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
/// Dialects that are understood.
const DIALECTS: &[&str] = &[
    "://json-schema.org/draft/2020-12/schema",
    "://json-schema.org/draft/2019-09/schema",
    "://json-schema.org/draft-07/schema",
    "://json-schema.org/draft-06/schema",
];

/// What is known about a schema that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Longest path through schemas, at least 1.
    pub(super) depth: usize,
    /// Whether a schema contains itself.
    pub(super) recursive: bool,
    /// Number of references.
    pub(super) references: u64,
    /// Number of values it is written with, words of an enum included.
    pub(super) size: u64,
}

/// Inspects a schema.
///
/// # Errors
/// By kind: too large, too complex, a reference that leads outside, not a schema.
pub(super) fn inspect(schema: &Value) -> Result<Shape, SchemaError> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(invalid("it must be an object"));
    }
    // Nesting first: writing a value out recurses.
    if super::arguments::depth(schema) > MAX_NESTING {
        return Err(complex(format!("nested deeper than {MAX_NESTING}")));
    }
    let mut counter = ByteCounter(0);
    if serde_json::to_writer(&mut counter, schema).is_err() {
        return Err(SchemaError::TooLarge {
            bound: MAX_SCHEMA_BYTES,
        });
    }
    let mut walk = Walk::default();
    let (_, depth) = walk.visit(schema, schema, 1)?;
    walk.refuse_idle_cycles()?;
    Ok(Shape {
        depth,
        recursive: walk.recursive,
        references: walk.references,
        size: super::arguments::values(schema),
    })
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        if self.0 > MAX_SCHEMA_BYTES {
            return Err(io::Error::other("too large"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Identity of a schema inside the document: its address, which does not move during the walk.
type Node = *const Value;

#[derive(Default)]
struct Walk<'s> {
    known: HashMap<Node, (u64, usize)>,
    open: HashSet<Node>,
    in_place: HashMap<Node, Vec<Node>>,
    anchors: HashMap<Node, HashMap<&'s str, &'s Value>>,
    patterns: usize,
    pattern_bytes: usize,
    references: u64,
    recursive: bool,
}

impl<'s> Walk<'s> {
    /// Cost and depth of a schema; `base` is the resource that its references are relative to.
    fn visit(
        &mut self,
        node: &'s Value,
        base: &'s Value,
        level: usize,
    ) -> Result<(u64, usize), SchemaError> {
        let id: Node = node;
        if let Some(&(cost, depth)) = self.known.get(&id) {
            if level + depth > MAX_PATH {
                return Err(complex(format!("a path of more than {MAX_PATH} schemas")));
            }
            return Ok((cost, depth));
        }
        if level > MAX_PATH {
            return Err(complex(format!("a path of more than {MAX_PATH} schemas")));
        }
        let Value::Object(map) = node else {
            return Ok((1, 1));
        };
        if !self.open.insert(id) {
            self.recursive = true;
            return Ok((1, 1));
        }
        let base = match map.get("$id") {
            Some(Value::String(text)) if !text.starts_with('#') => node,
            _ => base,
        };
        if let Some(Value::String(dialect)) = map.get("$schema") {
            check_dialect(dialect)?;
        }
        self.check_patterns(map)?;

        let mut total = Total { cost: 1, depth: 0 };
        let mut same: Vec<&'s Value> = Vec::new();
        let mut parts: Vec<&'s Value> = Vec::new();
        for keyword in REFERENCES {
            if let Some(Value::String(reference)) = map.get(*keyword) {
                self.references += 1;
                same.push(self.resolve(base, reference)?);
            }
        }
        collect(map, IN_PLACE, IN_PLACE_LISTS, IN_PLACE_MAPS, &mut same);
        collect(map, PARTS, PART_LISTS, PART_MAPS, &mut parts);
        self.in_place
            .insert(id, same.iter().map(|child| *child as Node).collect());
        for child in same.into_iter().chain(parts) {
            let measured = self.visit(child, base, level + 1)?;
            total.add(measured)?;
        }
        let mut definitions: Vec<&'s Value> = Vec::new();
        collect(map, &[], &[], DEFINITIONS, &mut definitions);
        for child in definitions {
            // Checked like the rest, but free of charge where nothing refers to it.
            self.visit(child, base, level + 1)?;
        }
        self.open.remove(&id);
        let measured = (total.cost, total.depth + 1);
        self.known.insert(id, measured);
        Ok(measured)
    }

    fn check_patterns(
        &mut self,
        map: &'s serde_json::Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let pattern = map.get("pattern").and_then(Value::as_str);
        let keys = match map.get("patternProperties") {
            Some(Value::Object(by_pattern)) => Some(by_pattern.keys().map(String::as_str)),
            _ => None,
        };
        for text in pattern.into_iter().chain(keys.into_iter().flatten()) {
            self.patterns += 1;
            self.pattern_bytes += text.len();
            if text.len() > MAX_PATTERN_BYTES {
                return Err(complex(format!(
                    "a pattern of more than {MAX_PATTERN_BYTES} bytes"
                )));
            }
            if self.patterns > MAX_PATTERNS || self.pattern_bytes > MAX_PATTERNS_BYTES {
                return Err(complex(format!(
                    "more than {MAX_PATTERNS} patterns or {MAX_PATTERNS_BYTES} bytes of them"
                )));
            }
            if ["(?=", "(?!", "(?<=", "(?<!"]
                .iter()
                .any(|group| text.contains(group))
            {
                return Err(invalid(
                    "a pattern uses look-around, which is not supported",
                ));
            }
        }
        Ok(())
    }

    fn resolve(&mut self, base: &'s Value, reference: &'s str) -> Result<&'s Value, SchemaError> {
        let Some(fragment) = fragment_of(reference) else {
            return Err(SchemaError::RemoteRefRefused {
                reference: clip(reference, 200),
            });
        };
        let missing = || invalid(&format!("`{}` points nowhere", clip(reference, 200)));
        if fragment.is_empty() {
            return Ok(base);
        }
        let fragment = percent_decode(fragment).ok_or_else(missing)?;
        if fragment.starts_with('/') {
            return base.pointer(&fragment).ok_or_else(missing);
        }
        let anchors = self
            .anchors
            .entry(base as Node)
            .or_insert_with(|| anchors_of(base));
        anchors.get(fragment.as_str()).copied().ok_or_else(missing)
    }

    /// Refuses chains that come back to where they started without descending into the instance.
    fn refuse_idle_cycles(&self) -> Result<(), SchemaError> {
        let mut done: HashSet<Node> = HashSet::new();
        for &start in self.in_place.keys() {
            if done.contains(&start) {
                continue;
            }
            let mut on_path: HashSet<Node> = HashSet::from([start]);
            let mut stack: Vec<(Node, usize)> = vec![(start, 0)];
            while let Some((node, next)) = stack.pop() {
                let child = self
                    .in_place
                    .get(&node)
                    .and_then(|children| children.get(next));
                let Some(&child) = child else {
                    on_path.remove(&node);
                    done.insert(node);
                    continue;
                };
                stack.push((node, next + 1));
                if on_path.contains(&child) {
                    return Err(complex(
                        "a reference leads back to itself without looking further into the value"
                            .to_owned(),
                    ));
                }
                if !done.contains(&child) && self.in_place.contains_key(&child) {
                    on_path.insert(child);
                    stack.push((child, 0));
                }
            }
        }
        Ok(())
    }
}

struct Total {
    cost: u64,
    depth: usize,
}

impl Total {
    fn add(&mut self, (cost, depth): (u64, usize)) -> Result<(), SchemaError> {
        self.cost = self.cost.saturating_add(cost);
        self.depth = self.depth.max(depth);
        if self.cost > MAX_COST {
            return Err(complex(format!(
                "more than {MAX_COST} schemas when its references are written out"
            )));
        }
        Ok(())
    }
}

fn collect<'s>(
    map: &'s serde_json::Map<String, Value>,
    singles: &[&str],
    lists: &[&str],
    maps: &[&str],
    into: &mut Vec<&'s Value>,
) {
    for keyword in singles {
        if let Some(child @ (Value::Object(_) | Value::Bool(_))) = map.get(*keyword) {
            into.push(child);
        }
    }
    for keyword in lists {
        if let Some(Value::Array(children)) = map.get(*keyword) {
            into.extend(children);
        }
    }
    for keyword in maps {
        if let Some(Value::Object(children)) = map.get(*keyword) {
            into.extend(children.values());
        }
    }
}

/// The fragment of a reference into the same document; none for every other reference.
fn fragment_of(reference: &str) -> Option<&str> {
    if reference.is_empty() {
        return Some("");
    }
    reference.strip_prefix('#')
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn anchors_of(base: &Value) -> HashMap<&str, &Value> {
    let mut found = HashMap::new();
    let mut stack = vec![base];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = map.get(keyword) {
                        found.entry(name.as_str()).or_insert(value);
                    }
                }
                if let Some(name) = map
                    .get("$id")
                    .and_then(Value::as_str)
                    .and_then(|id| id.strip_prefix('#'))
                {
                    found.entry(name).or_insert(value);
                }
                stack.extend(map.values());
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    found
}

fn check_dialect(dialect: &str) -> Result<(), SchemaError> {
    let name = dialect.trim_end_matches('#');
    let name = name
        .strip_prefix("https")
        .or_else(|| name.strip_prefix("http"));
    if name.is_some_and(|name| DIALECTS.contains(&name)) {
        return Ok(());
    }
    Err(SchemaError::RemoteRefRefused {
        reference: clip(dialect, 200),
    })
}

fn complex(reason: String) -> SchemaError {
    SchemaError::TooComplex { reason }
}

fn invalid(message: &str) -> SchemaError {
    SchemaError::Invalid {
        message: message.to_owned(),
    }
}
