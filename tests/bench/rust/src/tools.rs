//! Changes (P7), commands (P8), git (P10) and batch (P11), each against the same work with nothing of ours around it.

use crate::calls::call;
use crate::row::{Plan, Row};
use crate::sample::{Effort, Failure, Result, medians, time};
use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tokio::runtime::Runtime;

const EDITED_BYTES: usize = 16 * 1024;
const WRITTEN_BYTES: usize = 8 * 1024;
const BATCH: usize = 16;

/// Measures and prints.
pub(crate) fn measure(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    changes(tokio, plan, effort)?;
    batch(tokio, plan, effort)?;
    for tree in ["small", "large"] {
        commands(tokio, plan, effort, tree)?;
    }
    Ok(())
}

fn session_on(tokio: &Runtime, root: &Path) -> Result<(Agent, AgentSession)> {
    let root = root
        .to_str()
        .ok_or("the corpus has a name that is not text")?;
    let agent = tokio.block_on(Agent::create(AgentConfig::default()))?;
    let session = tokio.block_on(agent.session(root.to_owned(), SessionOptions::new()))?;
    Ok((agent, session))
}

fn changes(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    let root = Path::new(&plan.corpus).join("empty");
    let (agent, session) = session_on(tokio, &root)?;
    let line = "a line of text as it stands in a file, not too long\n";
    let text = |bytes: usize, word: &str| {
        let filler = line.repeat(bytes / line.len());
        format!("{word}\n{filler}")
    };
    let words = ["the first word", "the other word"];
    fs::write(root.join("edited.txt"), text(EDITED_BYTES, words[0]))?;
    let mut turn = 0;
    let (floor, value) = medians(
        effort,
        || time(|| replace(&root, "floor.txt", &text(EDITED_BYTES, words[0]))),
        || {
            let (old, new) = (words[turn % 2], words[(turn + 1) % 2]);
            turn += 1;
            let args = json!({ "file_path": "edited.txt", "old_string": old, "new_string": new });
            time(|| call(tokio, &session, "edit", args))
        },
    )?;
    Row::at_most("P7", "edit 16 KB, whole or not at all", "ms", value)
        .floor(floor)
        .target(0.5)
        .print()?;

    let contents = words.map(|word| text(WRITTEN_BYTES, word));
    let mut turn = 0;
    let (floor, value) = medians(
        effort,
        || time(|| replace(&root, "floor.txt", &contents[0])),
        || {
            let args = json!({ "file_path": "written.txt", "content": contents[turn % 2] });
            turn += 1;
            time(|| call(tokio, &session, "write", args))
        },
    )?;
    Row::at_most("P7", "write 8 KB, whole or not at all", "ms", value)
        .floor(floor)
        .target(0.5)
        .print()?;
    tokio.block_on(agent.close());
    Ok(())
}

/// A temporary file, synced and renamed.
fn replace(root: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let temporary = root.join("temporary");
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, root.join(name))
}

fn batch(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    let root = Path::new(&plan.corpus);
    let (agent, session) = session_on(tokio, root)?;
    let names: Vec<String> = (0..BATCH).map(|at| format!("many/{at:02}.txt")).collect();
    let calls: Vec<Value> = names
        .iter()
        .map(|name| json!({ "tool": "read", "args": { "file_path": name } }))
        .collect();
    let args = json!({ "invocations": calls });
    let read = || {
        names
            .iter()
            .map(|name| fs::read(root.join(name)))
            .collect::<std::io::Result<Vec<_>>>()
    };
    let (floor, value) = medians(
        effort,
        || time(read),
        || time(|| call(tokio, &session, "batch", args.clone())),
    )?;
    Row::at_most("P11", "batch of 16 reads", "ms", value)
        .floor(floor)
        .target(0.3)
        .print()?;
    tokio.block_on(agent.close());
    Ok(())
}

fn commands(tokio: &Runtime, plan: &Plan, effort: Effort, tree: &str) -> Result<()> {
    let root = Path::new(&plan.corpus).join(tree);
    let (agent, session) = session_on(tokio, &root)?;
    let args = json!({ "command": "true" });
    let (floor, value) = medians(
        effort,
        || time(|| program(&root, "bash", &["-c", "true"])),
        || time(|| call(tokio, &session, "bash", args.clone())),
    )?;
    Row::at_most("P8", &format!("bash `true`, {tree} tree"), "ms", value)
        .floor(floor)
        .target(1.3 * floor)
        .print()?;

    let args = json!({ "command": "status" });
    let status = ["status", "--porcelain=v2", "--branch"];
    let (floor, value) = medians(
        effort,
        || time(|| program(&root, "git", &status)),
        || time(|| call(tokio, &session, "git", args.clone())),
    )?;
    Row::at_most("P10", &format!("git status, {tree} tree"), "ms", value)
        .floor(floor)
        .target(1.2 * floor)
        .print()?;
    tokio.block_on(agent.close());
    Ok(())
}

/// Runs a program to its end and reads what it writes.
fn program(root: &Path, name: &str, words: &[&str]) -> std::result::Result<Vec<u8>, Failure> {
    let output = Command::new(name)
        .args(words)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{name}: {}", output.status).into())
}
