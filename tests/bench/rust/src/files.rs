//! Reading and listing (P3 to P6), each against the bare system calls. The files are in memory.

use crate::calls::{call, open};
use crate::row::{Plan, Row};
use crate::sample::{Effort, Result, medians, time};
use a3s_code_core::SessionOptions;
use serde_json::json;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use tokio::runtime::Runtime;

/// Measures and prints.
pub(crate) fn measure(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    let root = Path::new(&plan.corpus);
    let (agent, session) = open(tokio, plan)?;

    let args = json!({ "file_path": "hundred.txt" });
    let path = root.join("hundred.txt");
    let (floor, value) = medians(
        effort,
        || time(|| fs::read(&path)),
        || time(|| call(tokio, &session, "read", args.clone())),
    )?;
    Row::at_most("P3", "read, 100 lines", "ms", value)
        .floor(floor)
        .target(0.03)
        .print()?;

    let bytes = fs::read(root.join("big.txt"))?;
    let lines = memchr::memchr_iter(b'\n', &bytes).count();
    let args = json!({ "file_path": "big.txt", "offset": lines - 200, "limit": 100 });
    let count = || time(|| Ok::<_, Infallible>(memchr::memchr_iter(b'\n', &bytes).count()));
    let (floor, value) = medians(effort, count, || {
        time(|| call(tokio, &session, "read", args.clone()))
    })?;
    Row::at_most("P4", "read, 10 MB file near its end, again", "ms", value)
        .floor(floor)
        .target(0.5)
        .print()?;
    // A session that has not seen the file has no index of its lines.
    let (floor, value) = medians(effort, count, || {
        let fresh = tokio.block_on(agent.session(plan.corpus.clone(), SessionOptions::new()))?;
        let elapsed = time(|| call(tokio, &fresh, "read", args.clone()));
        tokio.block_on(fresh.close());
        elapsed
    })?;
    Row::at_most("P4", "read, 10 MB file near its end, first", "ms", value)
        .floor(floor)
        .target(0.5)
        .print()?;

    let names: Vec<String> = (0..32).map(|at| format!("many/{at:02}.txt")).collect();
    let paths: Vec<_> = names.iter().map(|name| root.join(name)).collect();
    let members: Vec<_> = names.iter().map(|name| json!({ "path": name })).collect();
    let args = json!({ "files": members });
    let (floor, value) = medians(
        effort,
        || {
            time(|| {
                paths
                    .iter()
                    .map(fs::read)
                    .collect::<std::io::Result<Vec<_>>>()
            })
        },
        || time(|| call(tokio, &session, "read", args.clone())),
    )?;
    Row::at_most("P5", "read.files, 32 files", "ms", value)
        .floor(floor)
        .target(0.4)
        .print()?;

    let args = json!({ "path": "fifty" });
    let path = root.join("fifty");
    let (floor, value) = medians(
        effort,
        || time(|| list(&path)),
        || time(|| call(tokio, &session, "ls", args.clone())),
    )?;
    Row::at_most("P6", "ls, 50 entries", "ms", value)
        .floor(floor)
        .target(0.15)
        .print()?;
    tokio.block_on(agent.close());
    Ok(())
}

/// Names and sizes of a folder.
fn list(path: &Path) -> std::io::Result<Vec<(std::ffi::OsString, u64)>> {
    fs::read_dir(path)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), entry.metadata()?.len()))
        })
        .collect()
}
