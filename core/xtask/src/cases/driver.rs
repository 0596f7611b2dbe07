//! A driver process: requests out, responses in, one JSON object a line, and an end to every wait.

use super::forms::Difference;
use crate::failure::{AtPath, Result, fail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What a step gave.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// A ToolResult.
    Result(Value),
    /// Any other value.
    Value(Value),
    /// The API threw.
    Error {
        /// Stable code.
        code: String,
        /// Kind of the failed tool call behind it.
        kind: Option<String>,
        /// Message.
        message: String,
    },
    /// The language lacks it.
    Unsupported(String),
    /// A stream waits for an answer to its first confirmation request.
    Waiting,
}

/// Why a driver gave no answer; it has to be started again.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Nothing came in time.
    Hung(Duration),
    /// The process ended or spoke nonsense.
    Died(String),
}

impl From<Fault> for Difference {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Hung(limit) => format!("no answer within {} ms", limit.as_millis()),
            Fault::Died(how) => format!("the driver failed: {how}"),
        }
    }
}

/// A running driver.
#[derive(Debug)]
pub(crate) struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    early: BTreeMap<u64, Value>,
}

impl Driver {
    /// Starts the program and waits for its greeting; its standard error goes to the end of `log`.
    pub(crate) fn start(mut command: Command, language: &str, log: &Path) -> Result<Self> {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder).at(folder)?;
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(log)
            .at(log)?;
        let name = crate::process::describe(&command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| fail(format!("{name}: {error}")))?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| fail("the driver has no output"))?;
        let (sender, lines) = channel();
        std::thread::spawn(move || forward(output, &sender));
        let input = child.stdin.take();
        let mut driver = Self {
            child,
            input,
            lines,
            next_id: 0,
            early: BTreeMap::new(),
        };
        match driver.call(json!({"op": "hello"}), Duration::from_secs(60)) {
            Ok(Outcome::Value(value)) if value["language"] == language => Ok(driver),
            Ok(other) => Err(fail(format!("{name}: greeted with {other:?}"))),
            Err(fault) => Err(fail(format!("{name}: {}", Difference::from(fault)))),
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(
        &mut self,
        request: Value,
        limit: Duration,
    ) -> std::result::Result<Outcome, Fault> {
        let id = self.send(request)?;
        self.wait(id, limit)
    }

    /// Sends a request without waiting.
    pub(crate) fn send(&mut self, mut request: Value) -> std::result::Result<u64, Fault> {
        self.next_id += 1;
        request["id"] = json!(self.next_id);
        let mut line = request.to_string();
        line.push('\n');
        let written = match &mut self.input {
            Some(input) => input
                .write_all(line.as_bytes())
                .and_then(|()| input.flush()),
            None => return Err(Fault::Died("its input is closed".to_owned())),
        };
        written.map_err(|error| Fault::Died(error.to_string()))?;
        Ok(self.next_id)
    }

    /// Waits for the answer to a request.
    pub(crate) fn wait(&mut self, id: u64, limit: Duration) -> std::result::Result<Outcome, Fault> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return outcome(&answer);
            }
            let line = match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Err(Fault::Hung(limit)),
                Err(RecvTimeoutError::Disconnected) => return Err(Fault::Died(self.status())),
            };
            let answer: Value = serde_json::from_str(&line).map_err(|error| {
                Fault::Died(format!("{error} in {}", super::forms::quote(&line)))
            })?;
            let Some(answered) = answer["id"].as_u64() else {
                return Err(Fault::Died(format!(
                    "an answer without id: {}",
                    super::forms::quote(&line)
                )));
            };
            self.early.insert(answered, answer);
        }
    }

    fn status(&mut self) -> String {
        // Its output is closed; the process itself may need a moment to be gone.
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return format!("it ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        "it closed its output".to_owned()
    }

    /// Closes its input; an error says that it did not end with status 0 within 5 seconds.
    pub(crate) fn finish(mut self) -> std::result::Result<(), Difference> {
        self.input = None;
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the driver ended with {status}")),
                Ok(None) if Instant::now() >= deadline => {
                    return Err(
                        "the driver did not end within 5 s after its input was closed".to_owned(),
                    );
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(output: impl std::io::Read, sender: &Sender<String>) {
    let mut reader = BufReader::with_capacity(1 << 16, output);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if !text.is_empty() && sender.send(text).is_err() {
            return;
        }
    }
}

fn outcome(answer: &Value) -> std::result::Result<Outcome, Fault> {
    if let Some(result) = answer.get("result") {
        return Ok(Outcome::Result(result.clone()));
    }
    if let Some(value) = answer.get("value") {
        return Ok(Outcome::Value(value.clone()));
    }
    if let Some(error) = answer.get("error") {
        let text = |field: &str| error[field].as_str().map(str::to_owned);
        return Ok(Outcome::Error {
            code: text("code").unwrap_or_default(),
            kind: text("kind"),
            message: text("message").unwrap_or_default(),
        });
    }
    if let Some(what) = answer.get("unsupported") {
        return Ok(Outcome::Unsupported(
            what.as_str().unwrap_or("something").to_owned(),
        ));
    }
    if answer["waiting"] == true {
        return Ok(Outcome::Waiting);
    }
    Err(Fault::Died(format!(
        "an answer of no known form: {}",
        super::forms::quote(&answer.to_string())
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREETING: &str = r#"read x; echo '{"id":1,"value":{"language":"test"}}';"#;

    fn start(script: &str) -> Driver {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{GREETING}{script}")]);
        let log = std::env::temp_dir().join(format!("a3s-driver-{}.log", std::process::id()));
        Driver::start(command, "test", &log).unwrap()
    }

    #[test]
    fn answers_may_come_out_of_order() {
        let mut driver = start(
            r#"read a; read b; echo '{"id":3,"value":3}'; echo '{"id":2,"error":{"code":"X","kind":"k","message":"m"}}'"#,
        );
        let first = driver.send(json!({"op": "a"})).unwrap();
        let second = driver.send(json!({"op": "b"})).unwrap();
        assert!(matches!(
            driver.wait(first, Duration::from_secs(5)),
            Ok(Outcome::Error { kind: Some(_), .. })
        ));
        assert!(
            matches!(driver.wait(second, Duration::from_secs(5)), Ok(Outcome::Value(value)) if value == 3)
        );
        assert_eq!(driver.finish(), Ok(()));
    }

    #[test]
    fn silence_death_and_nonsense_end_the_wait() {
        let mut silent = start("read a; sleep 60");
        assert!(matches!(
            silent.call(json!({}), Duration::from_millis(100)),
            Err(Fault::Hung(_))
        ));
        let mut dead = start("exit 7");
        assert!(matches!(
            dead.call(json!({}), Duration::from_secs(5)),
            Err(Fault::Died(_))
        ));
        let mut talker = start("read a; echo hello");
        assert!(matches!(
            talker.call(json!({}), Duration::from_secs(5)),
            Err(Fault::Died(_))
        ));
    }

    #[test]
    fn an_unclean_end_is_reported() {
        assert!(start("read a; exit 3").finish().is_err());
    }
}
