//! Arguments against schemas: captured and compiled once, checked before anything else happens.
//!
//! A schema comes from a tool, which may come from anywhere, and arguments come from a model. So nothing
//! is fetched, patterns run on a linear engine, and what would cost more than it is worth is refused
//! before it is compiled ([`guard`]). A violation names the argument and the bound it broke and never
//! repeats what the argument held. Argument text is parsed strictly ([`arguments`]).

mod arguments;
mod guard;
#[cfg(test)]
mod tests;

pub use arguments::{ArgumentError, check_depth, parse_arguments};

use arguments::MAX_DEPTH;
use guard::Shape;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most bytes of a serialized schema.
pub(crate) const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// Most violations that are named.
const MAX_VIOLATIONS: usize = 8;
/// Most bytes of the text that names them.
const MAX_MESSAGE_BYTES: usize = 4096;
/// Most bytes of one violation, so that eight fit.
const MAX_VIOLATION_BYTES: usize = 480;
/// Most bytes of names taken from the arguments that a violation shows.
const MAX_ECHO_BYTES: usize = 160;
/// Frames that a recursive schema may need: instance depth times schema depth.
const MAX_FRAMES: usize = 1000;
/// Ways through a recursive schema up to which single violations are looked for.
const MAX_WAYS: u64 = 10_000;
/// Bytes one compiled pattern may take.
const PATTERN_BYTES: usize = 1024 * 1024;

/// Why a schema is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    /// Too many bytes.
    #[error("the schema is larger than {bound} bytes")]
    TooLarge {
        /// The bound.
        bound: usize,
    },
    /// Would cost too much to compile or to use.
    #[error("the schema is too complex: {reason}")]
    TooComplex {
        /// What about it.
        reason: String,
    },
    /// Refers to something outside itself.
    #[error("the schema refers to `{reference}`: only references inside the schema are followed")]
    RemoteRefRefused {
        /// The reference, shortened.
        reference: String,
    },
    /// Is not a schema.
    #[error("the schema is not valid: {message}")]
    Invalid {
        /// What about it.
        message: String,
    },
}

/// What is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violations {
    /// At most 8 of them, joined with "; ", at most 4 KiB.
    pub(crate) message: String,
    /// Top-level argument of the first one.
    pub(crate) argument: Option<String>,
}

/// Most values of the arguments times values of the schema that are compared.
const MAX_COST: u64 = 50_000_000;
/// Most of them where what is wrong is listed: listing costs far more than comparing.
const MAX_LISTED_COST: u64 = 500_000;

/// A schema that was captured, checked and compiled once.
pub(crate) struct CompiledSchema {
    validator: Validator,
    shape: Shape,
}

impl std::fmt::Debug for CompiledSchema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CompiledSchema")
            .finish_non_exhaustive()
    }
}

impl CompiledSchema {
    /// Compiles a schema, at most 256 KiB, nested at most 64 deep; draft 2020-12 where it names none.
    ///
    /// # Errors
    /// By kind: too large, too complex, a reference that leads outside, not a schema.
    pub(crate) fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let shape = guard::inspect(schema)?;
        let options = jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_BYTES)
                    .dfa_size_limit(PATTERN_BYTES),
            );
        match catch_unwind(AssertUnwindSafe(|| options.build(schema))) {
            Ok(Ok(validator)) => Ok(Self { validator, shape }),
            Ok(Err(error)) => Err(SchemaError::Invalid {
                message: clip(
                    &error.masked_with("the value").to_string(),
                    MAX_VIOLATION_BYTES,
                ),
            }),
            Err(_) => Err(SchemaError::Invalid {
                message: "it cannot be compiled".to_owned(),
            }),
        }
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// The violations, at most 8 in at most 4 KiB, each naming the argument and the bound.
    #[cfg(test)]
    pub(crate) fn validate(&self, args: &Value) -> Result<(), String> {
        self.check(args).map_err(|violations| violations.message)
    }

    /// Top-level argument of the first violation, when there is one and it lies in an argument.
    #[cfg(test)]
    pub(crate) fn first_argument(&self, args: &Value) -> Option<String> {
        self.check(args).err().and_then(|found| found.argument)
    }

    /// Checks arguments and says which argument is the first one at fault.
    ///
    /// # Errors
    /// The violations.
    pub(crate) fn check(&self, args: &Value) -> Result<(), Violations> {
        let depth = arguments::depth(args);
        if depth > MAX_DEPTH {
            return Err(Violations::whole(format!(
                "arguments: nested deeper than {MAX_DEPTH}"
            )));
        }
        if self.shape.recursive && depth.saturating_mul(self.shape.depth) > MAX_FRAMES {
            return Err(Violations::whole(format!(
                "arguments: nested {depth} deep, which is more than this schema can be checked for"
            )));
        }
        // Every value may meet every part of the schema: bounded before anything is compared.
        let cost = arguments::values(args).saturating_mul(self.shape.size);
        if cost > MAX_COST {
            return Err(Violations::whole(
                "arguments: hold more values than this schema can be checked for".to_owned(),
            ));
        }
        catch_unwind(AssertUnwindSafe(|| {
            if self.validator.is_valid(args) {
                return Ok(());
            }
            if cost > MAX_LISTED_COST {
                return Err(Violations::whole(
                    "arguments: do not match the schema".to_owned(),
                ));
            }
            // Each way through a recursive schema is another set of violations, and telling them
            // apart can cost far more than the answer: say only that it does not match.
            if self.shape.recursive && ways(self.shape.references, depth) > MAX_WAYS {
                return Err(Violations::whole(
                    "arguments: do not match the schema".to_owned(),
                ));
            }
            Err(Violations::of(self.validator.iter_errors(args)))
        }))
        .unwrap_or_else(|_| {
            Err(Violations::whole(
                "arguments: cannot be checked against the schema".to_owned(),
            ))
        })
    }
}

fn ways(references: u64, depth: usize) -> u64 {
    references.saturating_pow(u32::try_from(depth).unwrap_or(u32::MAX))
}

impl Violations {
    fn whole(message: String) -> Self {
        Self {
            message,
            argument: None,
        }
    }

    fn of<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let mut argument = None;
        let mut message = String::new();
        for (index, error) in errors.take(MAX_VIOLATIONS).enumerate() {
            if index == 0 {
                argument = first_segment(&error);
            }
            let text = clip(&describe(&error), MAX_VIOLATION_BYTES);
            if !message.is_empty() {
                message.push_str("; ");
            }
            message.push_str(&text);
        }
        Self {
            message: clip(&message, MAX_MESSAGE_BYTES),
            argument,
        }
    }
}

fn first_segment(error: &ValidationError<'_>) -> Option<String> {
    let path = error.instance_path().to_string();
    let first = path.trim_start_matches('/').split('/').next().unwrap_or("");
    if !first.is_empty() {
        return Some(clip(&unescape(first), MAX_ECHO_BYTES));
    }
    match error.kind() {
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => Some(clip(name, MAX_ECHO_BYTES)),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected.first().map(|name| clip(name, MAX_ECHO_BYTES))
        }
        _ => None,
    }
}

/// One violation: where, and which bound. Values of the instance are never shown, names only in part.
fn describe(error: &ValidationError<'_>) -> String {
    let place = place(&error.instance_path().to_string());
    match error.kind() {
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{}: is required", join_place(&place, name)),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names = unexpected.join("`, `");
            format!(
                "{place}: unknown property `{}`",
                clip(&names, MAX_ECHO_BYTES)
            )
        }
        ValidationErrorKind::AdditionalItems { limit } => {
            format!("{place}: more than {limit} items")
        }
        ValidationErrorKind::UnevaluatedItems { .. } => {
            format!("{place}: has items that the schema does not allow")
        }
        ValidationErrorKind::PropertyNames { .. } => {
            format!("{place}: has a property name that the schema does not allow")
        }
        ValidationErrorKind::FalseSchema => format!("{place}: is not allowed"),
        ValidationErrorKind::RegexEngineFailure { .. }
        | ValidationErrorKind::BacktrackLimitExceeded { .. } => {
            format!("{place}: cannot be matched against its pattern")
        }
        ValidationErrorKind::Referencing(_) => format!("{place}: its schema cannot be resolved"),
        _ => format!("{place}: {}", error.masked_with("the value")),
    }
}

/// A JSON pointer as people write it: `files[0].file_path`; `arguments` for the whole.
fn place(pointer: &str) -> String {
    let mut text = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = unescape(segment);
        if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push('[');
            text.push_str(&segment);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&segment);
        }
    }
    if text.is_empty() {
        "arguments".to_owned()
    } else {
        clip(&text, MAX_ECHO_BYTES)
    }
}

fn join_place(place: &str, name: &str) -> String {
    let name = clip(name, MAX_ECHO_BYTES);
    if place == "arguments" {
        name
    } else {
        format!("{place}.{name}")
    }
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// At most `bound` bytes of a text, cut on a character boundary, with a sign that it was cut.
fn clip(text: &str, bound: usize) -> String {
    const CUT: &str = "...";
    if text.len() <= bound {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bound.saturating_sub(CUT.len()));
    format!("{}{CUT}", text.get(..end).unwrap_or_default())
}
