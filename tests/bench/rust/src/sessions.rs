//! Sessions: opening and closing one (P21, P28), memory and threads of many (P22), what they leave (P23).

use crate::row::{Plan, Row};
use crate::sample::{Effort, Result, medians, time};
use a3s_code_core::{Agent, AgentConfig, AgentSession, SessionOptions};
use serde_json::json;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tokio::runtime::Runtime;

const HELD: usize = 200;
/// Threads that the pool for file work may have more at one moment than at another, however many sessions there are.
const POOL_THREADS: f64 = 4.0;

/// Measures and prints.
pub(crate) fn measure(tokio: &Runtime, plan: &Plan, effort: Effort) -> Result<()> {
    let agent = tokio.block_on(Agent::create(AgentConfig::default()))?;
    let path = Path::new(&plan.corpus)
        .join("empty")
        .to_string_lossy()
        .into_owned();
    let (floor, value) = medians(
        effort,
        || time(|| File::open(&path)),
        || {
            time(|| {
                tokio.block_on(async {
                    let session = agent.session(path.clone(), SessionOptions::new()).await?;
                    session.close().await;
                    Ok::<_, a3s_code_core::CodeError>(())
                })
            })
        },
    )?;
    Row::at_most("P21", "session open and close, rust", "ms", value)
        .floor(floor)
        .target(0.2)
        .print()?;
    tokio.block_on(agent.close());

    let mut firsts = Vec::new();
    for _ in 0..if plan.quick { 5 } else { 15 } {
        let text = child(plan, &["first-session"])?;
        firsts.push(text.trim().parse::<f64>()?);
    }
    firsts.sort_by(f64::total_cmp);
    Row::at_most("P28", "first session, rust", "ms", firsts[firsts.len() / 2])
        .target(5.0)
        .print()?;
    for tree in ["empty", "mid"] {
        print!("{}", child(plan, &["memory", tree])?);
    }
    Ok(())
}

/// Runs a part in a process that has done nothing else and gives back what it printed.
fn child(plan: &Plan, words: &[&str]) -> Result<String> {
    let output = Command::new(std::env::current_exe()?)
        .arg(serde_json::to_string(plan)?)
        .args(words)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?)
}

/// Prints how long it took from nothing to an open session, in milliseconds.
pub(crate) fn first(plan: &Plan) -> Result<()> {
    let start = Instant::now();
    let tokio = runtime()?;
    let agent = tokio.block_on(Agent::create(AgentConfig::default()))?;
    let session = tokio.block_on(agent.session(plan.corpus.clone(), SessionOptions::new()))?;
    println!("{}", start.elapsed().as_secs_f64() * 1e3);
    tokio.block_on(session.close());
    Ok(())
}

/// Holds many sessions that were all used once, then closes them; prints the rows of one tree.
pub(crate) fn memory(plan: &Plan, tree: &str) -> Result<()> {
    let path = Path::new(&plan.corpus)
        .join(tree)
        .to_string_lossy()
        .into_owned();
    let (most, held, left, threads) = match tree {
        "empty" => (
            20.0,
            "200 sessions held, empty tree",
            "left after closing them, empty tree",
            "threads with 200 sessions, empty tree",
        ),
        "mid" => (
            60.0,
            "200 sessions held, 1,000 files",
            "left after closing them, 1,000 files",
            "threads with 200 sessions, 1,000 files",
        ),
        other => return Err(format!("no such tree: {other}").into()),
    };
    let tokio = runtime()?;
    let agent = tokio.block_on(Agent::create(AgentConfig::default()))?;
    let start = status()?;
    let mut sessions = vec![open(&tokio, &agent, &path)?];
    // As many calls by one session as by many, since a pool of threads grows with calls for a while.
    for _ in 0..HELD {
        exercise(&tokio, &sessions[0])?;
    }
    let one = status()?;
    while sessions.len() < HELD {
        sessions.push(open(&tokio, &agent, &path)?);
    }
    let many = status()?;
    Row::at_most("P22", held, "MB", many.megabytes - start.megabytes)
        .target(most)
        .print()?;
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let (one, many) = (one.threads as f64, many.threads as f64);
    Row::at_most("P22", threads, "threads", many)
        .floor(one)
        .target(one + POOL_THREADS)
        .print()?;
    for session in sessions.drain(..) {
        tokio.block_on(session.close());
    }
    drop(sessions);
    Row::at_most("P23", left, "MB", status()?.megabytes - start.megabytes)
        .target(5.0)
        .print()?;
    Ok(())
}

/// Opens a session and uses it: one that was only opened holds nothing worth measuring.
fn open(tokio: &Runtime, agent: &Agent, path: &str) -> Result<AgentSession> {
    let session = tokio.block_on(agent.session(path, SessionOptions::new()))?;
    exercise(tokio, &session)?;
    Ok(session)
}

/// Lists and searches the tree of a session.
fn exercise(tokio: &Runtime, session: &AgentSession) -> Result<()> {
    let calls = [
        ("ls", json!({})),
        (
            "search",
            json!({ "mode": "grep", "query": "fn part_7_", "output_mode": "summary" }),
        ),
    ];
    for (name, args) in calls {
        let result = tokio.block_on(session.tool(name, args))?;
        if result.exit_code != 0 {
            return Err(format!("{name}: {}", result.output).into());
        }
    }
    Ok(())
}

struct Status {
    megabytes: f64,
    threads: usize,
}

/// Memory in use and number of threads of this process.
fn status() -> Result<Status> {
    let text = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| -> Result<usize> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .ok_or("a field of /proc/self/status is missing")?;
        Ok(line
            .trim_start_matches(':')
            .trim()
            .trim_end_matches(" kB")
            .parse()?)
    };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let megabytes = field("VmRSS")? as f64 * 1024.0 / 1e6;
    Ok(Status {
        megabytes,
        threads: field("Threads")?,
    })
}
