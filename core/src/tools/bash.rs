//! `bash`: runs one command line in the workspace. Output is bounded and counted exactly; what the command started
//! ends with it when it is stopped, and with the session when it is not.
//!
//! The tool has no sandbox; its metadata says so. It promises nothing about a command, so calls never run
//! beside each other unasked, and one that timed out has an outcome that is not known.

use super::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolValue, schema};
use crate::process::{
    Captured, Command, End, Environment, HeadTail, Outcome, Rooms, StartError, end_line, start,
};
use crate::workspace::name;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// Time limit when nothing is said.
const DEFAULT_TIMEOUT_MS: u32 = 120_000;
/// Longest command line in bytes.
const MOST_COMMAND_BYTES: usize = 1024 * 1024;
/// Longest single argument of a program in bytes: what Linux takes, without the NUL.
const MOST_ARGUMENT_BYTES: usize = 131_071;
/// Puts a command line together that is too long for one argument, and leaves no trace of how.
const JOIN: &str = r#"printf -v A3S_JOINED %s "$@"; set --; eval "unset A3S_JOINED; $A3S_JOINED""#;

/// Runs a command line with `bash -c` in the workspace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    /// The command line.
    #[schemars(length(min = 1, max = 1_048_576))]
    command: String,
    /// Time limit in milliseconds, 1000 to 3600000; 120000 when left out.
    #[serde(default)]
    #[schemars(range(min = 1000, max = 3_600_000))]
    timeout: Option<u32>,
}

/// The `bash` tool.
pub(crate) struct BashTool;

#[async_trait]
impl Tool for BashTool {
    fn name(&self) -> &str {
        "bash"
    }

    fn description(&self) -> &str {
        "Runs a command line with bash in the workspace. There is no terminal and nothing on standard input. Both output \
         streams come back together, the first and the last part when there is more than fits; a status that is not 0 is \
         stated in the last line. At its time limit the command and everything it started is ended."
    }

    fn parameters(&self) -> Value {
        schema::of::<BashArgs>()
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        Some(vec![
            args["command"].as_str().unwrap_or_default().to_owned(),
        ])
    }

    fn command_line<'a>(&self, args: &'a Value) -> Option<&'a str> {
        args["command"].as_str()
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: BashArgs = call.parse()?;
        let timeout_ms = args.timeout.unwrap_or(DEFAULT_TIMEOUT_MS);
        let command = command(&call, &args.command, timeout_ms)?;
        let (live, mut pieces) = mpsc::unbounded_channel();
        let keeper = call.artifact_keeper();
        let receiver = HeadTail::new(
            Rooms::within(call.max_output_bytes()),
            keeper.most_bytes(),
            Some(live),
        );
        let mut running =
            start(command, receiver, call.processes()).map_err(|error| not_started(&error))?;
        let mut stopping = false;
        let outcome = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => call.output().progress(&piece),
                outcome = running.outcome() => break outcome.map_err(|error| not_started(&error))?,
                () = call.cancellation().cancelled(), if !stopping => {
                    stopping = true;
                    running.stop();
                }
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            call.output().progress(&piece);
        }
        if outcome.end == End::Stopped {
            return Err(cancelled());
        }
        let told = Told::of(&outcome, timeout_ms);
        // An artifact is read back and hashed: not on a thread that serves others.
        let (captured, artifact) = if outcome.received.is_cut() {
            call.blocking_work(move |_, _| {
                let mut captured = outcome.received.captured();
                let whole = captured.whole.take();
                let artifact = whole.and_then(|bytes| {
                    let size = bytes.len();
                    let mut kept = keeper.keep("bash", bytes)?;
                    kept.reference["original_bytes"] = json!(size);
                    Some(kept)
                });
                Ok::<_, ToolError>((captured, artifact))
            })
            .await?
        } else {
            (outcome.received.captured(), None)
        };
        let reference = artifact.as_ref().map(|kept| kept.reference.clone());
        Ok(told.output(captured, reference, call.value_wanted()))
    }
}

fn command(call: &ToolCall, line: &str, timeout_ms: u32) -> Result<Command, ToolError> {
    if line.len() > MOST_COMMAND_BYTES {
        let message = format!(
            "`command` has {} bytes: the most is {MOST_COMMAND_BYTES}.",
            line.len()
        );
        return Err(ToolError::invalid("command", message));
    }
    if line.contains('\0') {
        return Err(ToolError::invalid(
            "command",
            "`command` contains NUL, which no command line can.",
        ));
    }
    let arguments = if line.len() <= MOST_ARGUMENT_BYTES {
        vec![b"-c".to_vec(), line.as_bytes().to_vec()]
    } else {
        let parts = line.as_bytes().chunks(MOST_ARGUMENT_BYTES);
        [&b"-c"[..], JOIN.as_bytes(), b"bash"]
            .into_iter()
            .chain(parts)
            .map(<[u8]>::to_vec)
            .collect()
    };
    let directory = name::decode(call.workspace().root()).into_owned();
    let mut environment = Environment::unattended(call.command_env());
    environment.set("PWD", &directory);
    Ok(Command {
        program: "bash",
        untrusted: None,
        arguments,
        environment,
        directory,
        time_limit: Duration::from_millis(u64::from(timeout_ms)),
    })
}

fn cancelled() -> ToolError {
    let kind = ToolErrorKind::Cancelled {
        op: "bash".to_owned(),
    };
    ToolError::new(
        kind,
        "The command was cancelled, and everything it had started was ended.",
    )
}

fn not_started(error: &StartError) -> ToolError {
    let message = format!("The command did not start: {error}.");
    let kind = match error {
        StartError::Closed => return cancelled(),
        StartError::Missing(_) | StartError::Untrusted(_) => ToolErrorKind::Unsupported {
            message: message.clone(),
        },
        StartError::Nul => ToolErrorKind::invalid("command", message.clone()),
        StartError::System { source, .. } => match source.kind() {
            std::io::ErrorKind::Unsupported => ToolErrorKind::Unsupported {
                message: message.clone(),
            },
            std::io::ErrorKind::ArgumentListTooLong => {
                ToolErrorKind::invalid("command", message.clone())
            }
            _ => ToolErrorKind::Transport {
                op: "bash".to_owned(),
            },
        },
    };
    ToolError::new(kind, message)
}

/// How a command ended, apart from its output.
struct Told {
    end: End,
    timeout_ms: u32,
    duration: Duration,
    pipe_held: bool,
    survivors: usize,
    reach: &'static str,
}

impl Told {
    fn of<R>(outcome: &Outcome<R>, timeout_ms: u32) -> Self {
        Self {
            end: outcome.end,
            timeout_ms,
            duration: outcome.duration,
            pipe_held: outcome.pipe_held,
            survivors: outcome.survivors,
            reach: outcome.reach,
        }
    }

    fn timed_out(&self) -> bool {
        self.end == End::TimedOut
    }

    fn exit_code(&self) -> Option<i32> {
        match self.end {
            End::Exited(code) => Some(code),
            End::Killed(_) | End::TimedOut | End::Stopped | End::Unknown => None,
        }
    }

    fn output(self, captured: Captured, artifact: Option<Value>, value_wanted: bool) -> ToolOutput {
        let facts = json!({
            "total_bytes": captured.total_bytes(),
            "stdout_bytes": captured.stdout_bytes,
            "stderr_bytes": captured.stderr_bytes,
            "captured_bytes": captured.captured_bytes,
            "omitted_bytes": captured.omitted_bytes(),
            "truncated": captured.omitted_bytes() > 0,
            "timed_out": self.timed_out(),
            "pipe_held": self.pipe_held,
            "survivors": self.survivors,
            "kill_level": self.reach,
            "artifact": artifact,
        });
        let mut text = captured.text;
        let status = self.status();
        let value = value_wanted.then(|| {
            let mut value = text.clone();
            note(&mut value, status.as_deref());
            ToolValue::Text(value)
        });
        note(&mut text, self.left_over().as_deref());
        note(&mut text, status.as_deref());
        let mut output = ToolOutput {
            value,
            success: self.exit_code() == Some(0),
            ..ToolOutput::failure(text)
        }
        .with("exit_code", self.exit_code())
        .with("sandboxed", false)
        .with("sandbox_available", false)
        .with(
            "duration_ms",
            u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        )
        .with("output", facts);
        if let End::Killed(signal) = self.end {
            output = output.with("signal", signal);
        }
        if self.timed_out() {
            output.error_kind = Some(ToolErrorKind::Timeout {
                op: "bash".to_owned(),
                duration_ms: self.timeout_ms,
            });
            // What the command had done by then nobody can say.
            output = output
                .with("timeout_ms", self.timeout_ms)
                .with("outcome", "unknown");
        }
        output
    }

    /// The line that states a status that is not 0.
    fn status(&self) -> Option<String> {
        match self.end {
            End::Exited(0) => None,
            End::Exited(code) => Some(format!("[exit code {code}]")),
            End::Killed(signal) => Some(format!("[killed by signal {signal}]")),
            End::TimedOut => Some(format!("[timed out after {} ms]", self.timeout_ms)),
            End::Stopped | End::Unknown => Some("[the exit code is not known]".to_owned()),
        }
    }

    fn left_over(&self) -> Option<String> {
        match (self.timed_out(), self.survivors, self.pipe_held) {
            (_, 0, false) => None,
            (true, survivors, _) => Some(format!("[{survivors} processes could not be ended]")),
            (false, 0, true) => Some(
                "[something the command started still holds its output; it ends with the session]"
                    .to_owned(),
            ),
            (false, survivors, _) => Some(format!(
                "[processes the command started that still run: {survivors}; they end with the session]"
            )),
        }
    }
}

fn note(text: &mut String, line: Option<&str>) {
    if let Some(line) = line {
        end_line(text);
        text.push_str(line);
        text.push('\n');
    }
}
