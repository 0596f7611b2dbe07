//! `batch`: up to 32 calls at once, each governed on its own.
//!
//! Calls run side by side only when every one of them declares itself safe for its arguments; one that is not makes
//! the whole batch run in order. Nothing is undone when one fails: the result says which, so that only those are
//! repeated. The wrapper grants nothing.

use super::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, schema};
use crate::kernel::BuiltinInvoker;
use a3s_code_contract::ToolResult;
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Calls at once when nothing is said.
const DEFAULT_CONCURRENCY: usize = 8;
/// Bytes of a child's metadata that are kept in the batch's.
const MAX_CHILD_METADATA: usize = 4096;
/// Keys of a child's metadata that are kept when the rest is too large.
const ESSENTIAL: &[&str] = &[
    "a3s_tool_result_evidence",
    "artifact",
    "path",
    "page",
    "range",
];

/// Several calls in one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BatchArgs {
    /// The calls, in order.
    #[schemars(length(min = 1, max = 32))]
    invocations: Vec<Child>,
    /// Most calls at once; 8 when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    max_concurrency: Option<usize>,
}

/// One call of a batch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Child {
    /// Name of the tool.
    #[schemars(length(min = 1, max = 128))]
    tool: String,
    /// Its arguments.
    #[serde(default)]
    args: Map<String, Value>,
    /// A name for the call in the result.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    id: Option<String>,
}

/// The `batch` tool.
pub(crate) struct BatchTool;

#[async_trait]
impl Tool for BatchTool {
    fn name(&self) -> &str {
        "batch"
    }

    fn description(&self) -> &str {
        "Makes up to 32 independent tool calls in one. Calls that only read run side by side; otherwise they run in \
         order. Nothing is undone when one fails: repeat only those that `failed_indices` names."
    }

    fn parameters(&self) -> Value {
        schema::of::<BatchArgs>()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: BatchArgs = call.parse()?;
        let invoker = call.builtin_invoker();
        let requested = args.max_concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        let widest = width(&invoker, &args.invocations);
        let applied = widest
            .unwrap_or(1)
            .min(requested)
            .min(args.invocations.len());
        let mut calls = Vec::with_capacity(args.invocations.len());
        for child in &args.invocations {
            calls.push(invoke(&invoker, child));
        }
        let results: Vec<ToolResult> = stream::iter(calls).buffered(applied).collect().await;
        finish(&args, &results, requested, applied, widest.is_some())
    }
}

/// How many of the calls may run at once; nothing when one of them is not safe to run beside others.
fn width(invoker: &BuiltinInvoker, children: &[Child]) -> Option<usize> {
    children
        .iter()
        .map(|child| {
            invoker
                .capabilities(&child.tool, &Value::Object(child.args.clone()))
                .filter(a3s_code_contract::ToolCapabilities::parallel_safe)
                .map(|capabilities| capabilities.max_parallelism as usize)
        })
        .collect::<Option<Vec<usize>>>()
        .and_then(|widths| widths.into_iter().min())
}

async fn invoke(invoker: &BuiltinInvoker, child: &Child) -> ToolResult {
    let args = Value::Object(child.args.clone());
    match invoker.invoke(&child.tool, args).await {
        Ok(settled) => settled.result,
        // A fault of the library in one child leaves the others alone.
        Err(error) => ToolResult {
            name: child.tool.clone(),
            output: error.to_string(),
            exit_code: 1,
            metadata: None,
            error_kind: None,
            trust: a3s_code_contract::Trust::Trusted,
        },
    }
}

fn finish(
    args: &BatchArgs,
    results: &[ToolResult],
    requested: usize,
    applied: usize,
    parallel: bool,
) -> Result<ToolOutput, ToolError> {
    let mut text = String::new();
    let mut rows = Vec::with_capacity(results.len());
    let mut failed = Vec::new();
    for (index, (child, result)) in args.invocations.iter().zip(results).enumerate() {
        let success = result.exit_code == 0;
        if !success {
            failed.push(index);
        }
        let id = child.id.as_deref();
        let _ = writeln!(
            text,
            "=== [{index}] {}{}{} ===",
            result.name,
            id.map(|id| format!(" {id}")).unwrap_or_default(),
            if success { "" } else { " failed" }
        );
        text.push_str(&result.output);
        if !result.output.ends_with('\n') {
            text.push('\n');
        }
        rows.push(json!({
            "index": index,
            "id": id,
            "tool": result.name,
            "success": success,
            "exit_code": result.exit_code,
            "output_bytes": result.output.len(),
            "error_kind": result.error_kind,
            "metadata": compacted(result.metadata.as_ref()),
        }));
    }
    let total = results.len();
    let status = match failed.len() {
        0 => "complete",
        some if some == total => "failed",
        _ => "partial_failure",
    };
    let _ = writeln!(
        text,
        "[{} of {total} calls succeeded.]",
        total - failed.len()
    );
    if !failed.is_empty() {
        let _ = writeln!(text, "[Failed: {failed:?}. Repeat only those.]");
    }
    let mut metadata = Map::new();
    for (key, value) in [
        ("status", json!(status)),
        ("requested_concurrency", json!(requested)),
        ("applied_concurrency", json!(applied)),
        (
            "execution_mode",
            json!(if parallel { "parallel" } else { "serial" }),
        ),
        ("total_count", json!(total)),
        ("success_count", json!(total - failed.len())),
        ("failure_count", json!(failed.len())),
        ("failed_indices", json!(failed)),
        ("results", json!(rows)),
    ] {
        metadata.insert(key.to_owned(), value);
    }
    if failed.len() == total {
        let kind = ToolErrorKind::PartialFailure {
            failed: u32::try_from(total).unwrap_or(u32::MAX),
            total: u32::try_from(total).unwrap_or(u32::MAX),
        };
        return Err(ToolError {
            metadata,
            ..ToolError::new(kind, text)
        });
    }
    let mut output = ToolOutput::success(text);
    output.metadata = metadata;
    Ok(output)
}

/// A child's metadata, or its essentials when it is large.
fn compacted(metadata: Option<&Value>) -> Value {
    let Some(Value::Object(all)) = metadata else {
        return Value::Null;
    };
    let whole = Value::Object(all.clone());
    if whole.to_string().len() <= MAX_CHILD_METADATA {
        return whole;
    }
    let mut kept = Map::new();
    for key in ESSENTIAL {
        if let Some(value) = all.get(*key) {
            kept.insert((*key).to_owned(), value.clone());
            if Value::Object(kept.clone()).to_string().len() > MAX_CHILD_METADATA {
                kept.remove(*key);
            }
        }
    }
    kept.insert("compacted".to_owned(), Value::Bool(true));
    Value::Object(kept)
}
