//! The Rust driver: runs steps through the public API and reports what it saw. The protocol is ../DRIVER.md.

mod host_tool;
mod step;

use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// Reads requests and answers each on one line.
#[tokio::main]
async fn main() {
    let mut driver = step::Driver::default();
    let input = std::io::stdin().lock();
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let (id, answer) = match serde_json::from_str::<Value>(&line) {
            Ok(request) => (request["id"].clone(), driver.answer(&request).await),
            Err(error) => (Value::Null, json!({ "unsupported": error.to_string() })),
        };
        let mut answer = answer;
        answer["id"] = id;
        let mut output = std::io::stdout().lock();
        if writeln!(output, "{answer}")
            .and_then(|()| output.flush())
            .is_err()
        {
            break;
        }
    }
    driver.reset().await;
}
