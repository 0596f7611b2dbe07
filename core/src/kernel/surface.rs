//! The tools of a session: an immutable snapshot that calls keep for their whole life.
//!
//! Registration replaces the snapshot. A call in progress, and everything it starts, keeps the one it began
//! with. Schemas are captured and compiled here, once, when a tool is registered.

use super::schema::{CompiledSchema, SchemaError};
use crate::error::CodeError;
use crate::tools::Tool;
use a3s_code_contract::ToolDefinition;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names that only the product may give to a tool, listed or not.
const RESERVED: &[&str] = &[
    "read",
    "write",
    "edit",
    "patch",
    "download",
    "search",
    "ls",
    "bash",
    "git",
    "grep",
    "glob",
    "bm25",
    "background",
    "batch",
    "program",
    "task",
    "parallel_task",
    "generate_object",
    "search_skills",
    "skill",
    "dynamic_workflow",
    "web_fetch",
    "web_search",
    "update_plan",
    "ask_user",
    "ask_user_form",
    "code_symbols",
    "code_navigation",
    "code_diagnostics",
    "code_format",
];

/// A tool with what was captured of it.
pub(crate) struct Registered {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: CompiledSchema,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) builtin: bool,
}

/// The tools at one moment, by name.
#[derive(Clone, Default)]
pub(crate) struct Surface {
    tools: BTreeMap<String, Arc<Registered>>,
}

impl Surface {
    /// The surface with a built-in tool more.
    pub(crate) fn with_builtin(mut self, tool: Arc<dyn Tool>) -> Result<Self, CodeError> {
        let registered = capture(tool, true)?;
        self.tools
            .insert(registered.definition.name.clone(), Arc::new(registered));
        Ok(self)
    }

    /// The surface with a tool of the application more.
    pub(crate) fn with_custom(&self, tool: Arc<dyn Tool>) -> Result<Self, CodeError> {
        check_name(tool.name())?;
        let name = tool.name().to_ascii_lowercase();
        if let Some(taken) = self
            .tools
            .keys()
            .find(|other| other.to_ascii_lowercase() == name)
        {
            return Err(CodeError::InvalidArgument {
                argument: "name".to_owned(),
                message: format!("the session already has a tool named `{taken}`"),
            });
        }
        let registered = capture(tool, false)?;
        check_parameters(&registered.definition.parameters)?;
        let mut next = self.clone();
        next.tools
            .insert(registered.definition.name.clone(), Arc::new(registered));
        Ok(next)
    }

    /// The surface without a tool of the application, or `None` when it has no such tool.
    pub(crate) fn without_custom(&self, name: &str) -> Result<Option<Self>, CodeError> {
        match self.tools.get(name) {
            None => Ok(None),
            Some(registered) if registered.builtin => Err(CodeError::InvalidArgument {
                argument: "name".to_owned(),
                message: format!("`{name}` is built in and cannot be removed"),
            }),
            Some(_) => {
                let mut next = self.clone();
                next.tools.remove(name);
                Ok(Some(next))
            }
        }
    }

    /// Finds a tool: as given, without a leading `functions.`, in lower case, in any case.
    pub(crate) fn resolve(&self, name: &str) -> Option<&Arc<Registered>> {
        if let Some(found) = self.tools.get(name) {
            return Some(found);
        }
        let bare = match name.get(..10) {
            Some(prefix) if prefix.eq_ignore_ascii_case("functions.") => &name[10..],
            _ => name,
        };
        self.tools
            .get(bare)
            .or_else(|| self.tools.get(&bare.to_ascii_lowercase()))
            .or_else(|| {
                self.tools
                    .iter()
                    .find(|(other, _)| other.eq_ignore_ascii_case(bare))
                    .map(|(_, found)| found)
            })
    }

    /// Every tool, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.tools.values()
    }
}

fn capture(tool: Arc<dyn Tool>, builtin: bool) -> Result<Registered, CodeError> {
    let parameters = tool.parameters();
    let schema = CompiledSchema::compile(&parameters).map_err(|error| refused_schema(&error))?;
    let definition = Arc::new(ToolDefinition {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters,
    });
    Ok(Registered {
        tool,
        schema,
        definition,
        builtin,
    })
}

fn refused_schema(error: &SchemaError) -> CodeError {
    CodeError::InvalidArgument {
        argument: "parameters".to_owned(),
        message: error.to_string(),
    }
}

/// Arguments are an object, so a schema that says anything else would refuse every call.
fn check_parameters(schema: &Value) -> Result<(), CodeError> {
    let allows_object = match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    };
    if allows_object && schema.is_object() {
        return Ok(());
    }
    Err(CodeError::InvalidArgument {
        argument: "parameters".to_owned(),
        message: "the schema must be one of an object: `\"type\": \"object\"` at its top"
            .to_owned(),
    })
}

fn check_name(name: &str) -> Result<(), CodeError> {
    let refuse = |message: String| {
        Err(CodeError::InvalidArgument {
            argument: "name".to_owned(),
            message,
        })
    };
    let well_formed = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !well_formed {
        return refuse("a tool name has 1 to 64 of A-Z a-z 0-9 _ -".to_owned());
    }
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) {
        return refuse(format!("`{name}` is reserved for a built-in tool"));
    }
    if lower.starts_with("mcp__") {
        return refuse("names that begin with `mcp__` belong to MCP servers".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::RESERVED;

    #[test]
    fn the_contract_names_every_reserved_name() {
        let definitions = a3s_code_contract::definitions();
        let described = definitions["HostToolSpec"]["properties"]["name"]["description"]
            .as_str()
            .unwrap_or_default();
        for name in RESERVED {
            assert!(described.contains(&format!("`{name}`")), "{name}");
        }
    }
}
