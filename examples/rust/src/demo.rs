//! The demo program: what an application does first, without a model. One JSON object a line; see ../../DEMO.md.

use a3s_code_core::tools::{ToolResultTransformPolicyV1, async_trait};
use a3s_code_core::{
    Agent, AgentConfig, AgentSession, SessionOptions, Tool, ToolCall, ToolError, ToolOutput,
    ToolResult,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

/// A tool of the application: numbered lines.
struct CountRows;

#[async_trait]
impl Tool for CountRows {
    fn name(&self) -> &str {
        "count_rows"
    }

    fn description(&self) -> &str {
        "Returns numbered lines."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "rows": { "type": "integer" } },
            "required": ["rows"],
        })
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let rows = call.args()["rows"].as_u64().unwrap_or(0);
        let text = (1..=rows).fold(String::new(), |mut text, row| {
            let _ = writeln!(text, "L{row:06}");
            text
        });
        Ok(ToolOutput::success(text))
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

fn evidence(result: &ToolResult) -> Value {
    result.metadata.as_ref().map_or(Value::Null, |metadata| {
        metadata["a3s_tool_result_evidence"].clone()
    })
}

fn show(step: &str, value: Value, text: &str) {
    println!("{}", json!({ "step": step, "value": value, "show": text }));
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: demo PATH")?;
    let agent = Agent::create(AgentConfig::default()).await?;
    let options = SessionOptions::new()
        .with_tool_result_transform_policy(ToolResultTransformPolicyV1::context_efficient());
    let session = agent.session(path, options).await?;

    let names = session.tool_names();
    show("tools", json!(names), &format!("{} tools", names.len()));

    let paths = session.glob("*").await?;
    let file = paths.first().ok_or("the folder has no files")?.clone();
    show(
        "glob",
        json!(paths),
        &format!("{} paths, first {file}", paths.len()),
    );

    let read = session.tool("read", json!({ "file_path": file })).await?;
    let (bytes, digest) = (
        &evidence(&read)["original_bytes"],
        &evidence(&read)["content_digest"],
    );
    show(
        "read",
        json!({ "file": file, "exitCode": read.exit_code, "bytes": bytes, "digest": digest }),
        &format!(
            "{bytes} bytes, {}",
            digest
                .as_str()
                .unwrap_or_default()
                .get(..19)
                .unwrap_or_default()
        ),
    );

    let text = session.read_file(&file).await?;
    show(
        "readFile",
        json!({ "bytes": text.len(), "sha256": sha256(text.as_bytes()) }),
        &format!("{} bytes", text.len()),
    );

    let listing = session.ls(None).await?;
    show(
        "ls",
        json!({ "exitCode": listing.exit_code, "digest": evidence(&listing)["content_digest"] }),
        &format!("exit {}", listing.exit_code),
    );

    let hits = session.grep("TODO|fn ").await?;
    let lines = hits.split('\n').filter(|line| !line.is_empty()).count();
    show(
        "grep",
        json!({ "lines": lines, "sha256": sha256(hits.as_bytes()) }),
        &format!("{lines} lines"),
    );

    session.register_dynamic_tool(Arc::new(CountRows))?;
    let custom = session
        .tool("count_rows", json!({ "rows": 20_000 }))
        .await?;
    let record = evidence(&custom);
    show(
        "custom",
        json!({
            "exitCode": custom.exit_code,
            "originalBytes": record["original_bytes"],
            "projectedBytes": record["projected_bytes"],
            "lossMode": record["loss_mode"],
            "digest": record["content_digest"],
        }),
        &format!(
            "{} to {} bytes, {}",
            record["original_bytes"],
            record["projected_bytes"],
            record["loss_mode"].as_str().unwrap_or_default()
        ),
    );

    let uri = record["content_ref"].as_str().unwrap_or_default();
    let (_, original) = session
        .get_artifact_bytes(uri)
        .ok_or("the original is gone")?;
    let matches = format!("sha256:{}", sha256(&original)) == record["content_digest"];
    show(
        "artifact",
        json!({ "bytes": original.len(), "sha256": sha256(&original), "matches": matches }),
        &format!(
            "{} bytes, {}",
            original.len(),
            if matches { "matches" } else { "DIFFERS" }
        ),
    );

    let governed = session
        .governed_tool("read", json!({ "file_path": file }))
        .await?;
    show(
        "governed",
        json!({ "exitCode": governed.exit_code }),
        &format!("exit {}", governed.exit_code),
    );

    direct(&session).await?;
    searched(&session, &file).await?;
    edited(&agent).await?;

    session.close().await;
    // A step without a text of its own shows its value.
    println!(
        "{}",
        json!({ "step": "close", "value": session.is_closed() })
    );
    agent.close().await;
    Ok(())
}

async fn direct(session: &AgentSession) -> Result<(), Box<dyn Error>> {
    let files = session.glob("src/**/*.rs").await?;
    let hits = session.grep("PermissionPolicy").await?;
    let status = session.git(json!({ "command": "status" })).await?;
    let output = session.bash("git log -1").await?;
    let raw = session
        .tool("read", json!({ "file_path": "README.md" }))
        .await?;
    let schemas = session.tool_definitions();
    let lines = hits.split('\n').filter(|line| !line.is_empty()).count();
    show(
        "direct",
        json!({
            "files": files.len(),
            "hitLines": lines,
            "status": status.exit_code,
            "statusDigest": evidence(&status)["content_digest"],
            "outputBytes": output.len(),
            "outputSha256": sha256(output.as_bytes()),
            "read": raw.exit_code,
            "readDigest": evidence(&raw)["content_digest"],
            "schemas": schemas.len(),
        }),
        &format!("{} {lines} {} {}", files.len(), output.len(), schemas.len()),
    );
    Ok(())
}

async fn searched(session: &AgentSession, file: &str) -> Result<(), Box<dyn Error>> {
    let query = json!({
        "mode": "bm25",
        "query": "workspace permission policy",
        "limit": 8,
        "context": 2,
    });
    let ranked = session.tool("search", query).await?;
    let facts = ranked.metadata.unwrap_or_default();
    let places: Vec<&Value> = facts["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hit| &hit["path"])
        .collect();
    show(
        "bm25",
        json!({ "exitCode": ranked.exit_code, "paths": places }),
        &format!("{} places", places.len()),
    );

    let reads =
        [file, "no-such-file"].map(|path| json!({ "tool": "read", "args": { "file_path": path } }));
    let batch = session
        .tool("batch", json!({ "invocations": reads }))
        .await?;
    let facts = batch.metadata.unwrap_or_default();
    show(
        "batch",
        json!({
            "exitCode": batch.exit_code,
            "status": facts["status"],
            "failed": facts["failed_indices"],
        }),
        &format!(
            "{}, exit {}",
            facts["status"].as_str().unwrap_or_default(),
            batch.exit_code
        ),
    );
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "an application makes its own folders"
)]
async fn edited(agent: &Agent) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("a3s-demo-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let notes = agent
        .session(folder.display().to_string(), SessionOptions::new())
        .await?;
    let before = "port = 1\nport = 2\n";
    notes.write_file("notes.txt", before).await?;
    let mut edit = json!({
        "file_path": "notes.txt",
        "old_string": "port",
        "new_string": "gate",
        "replace_all": true,
        "dry_run": true,
    });
    let dry = notes.tool("edit", edit.clone()).await?;
    let counted = dry.metadata.unwrap_or_default()["replacement_count"].clone();
    let untouched = notes.read_file("notes.txt").await? == before;
    edit["dry_run"] = false.into();
    edit["expected_replacements"] = counted.clone();
    let edited = notes.tool("edit", edit).await?;
    show(
        "edit",
        json!({
            "counted": counted,
            "untouched": untouched,
            "exitCode": edited.exit_code,
            "text": notes.read_file("notes.txt").await?,
        }),
        &format!("{counted} counted, exit {}", edited.exit_code),
    );
    notes.close().await;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
