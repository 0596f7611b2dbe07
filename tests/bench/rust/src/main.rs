//! Measures the Rust API and the bridge. Started by `cargo xtask bench` with a plan as its one argument; prints rows.
//!
//! With a second word it is its own child: memory and first calls are measured in a process that has done
//! nothing else.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "floors touch files with nothing of ours around them"
)]

mod bridge;
mod calls;
mod files;
mod noop;
mod ping_pong;
mod projection;
mod row;
mod sample;
mod sessions;
mod tools;

use row::Plan;
use sample::{Effort, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-rust: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let plan = words
        .first()
        .ok_or("the plan is missing: start this by `cargo xtask bench`")?;
    let plan: Plan = serde_json::from_str(plan)?;
    match words.get(1).map(String::as_str) {
        Some("memory") => return sessions::memory(&plan, words.get(2).map_or("", String::as_str)),
        Some("first-session") => return sessions::first(&plan),
        Some(other) => return Err(format!("no such part: {other}").into()),
        None => {}
    }
    let effort = Effort::new(plan.quick);
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    calls::measure(&tokio, &plan, effort)?;
    bridge::measure(&plan, effort)?;
    files::measure(&tokio, &plan, effort)?;
    tools::measure(&tokio, &plan, effort)?;
    projection::measure(effort)?;
    sessions::measure(&tokio, &plan, effort)
}
