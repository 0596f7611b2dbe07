//! Starting other programs: quiet when they succeed, their whole output when they fail.

use crate::failure::{AtPath, Result, fail};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What a program left.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Whether it ended with status 0.
    pub(crate) success: bool,
    /// How it ended, for a person.
    pub(crate) status: String,
    /// Standard output and error, in the order written.
    pub(crate) text: String,
}

impl Outcome {
    /// The last `lines` lines of the output.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let all: Vec<&str> = self.text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// Runs `command` to its end and returns all it wrote, both streams in one.
pub(crate) fn capture(command: &mut Command) -> Result<Outcome> {
    run(command, None)
}

/// The same, the output copied to `log` as it comes.
pub(crate) fn capture_to(command: &mut Command, log: &Path) -> Result<Outcome> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    let file = File::create(log).at(log)?;
    run(command, Some(file))
}

fn run(command: &mut Command, mut log: Option<File>) -> Result<Outcome> {
    let name = describe(command);
    let broken = |error: std::io::Error| fail(format!("{name}: {error}"));
    let (reader, writer) = std::io::pipe().map_err(broken)?;
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone().map_err(broken)?);
    command.stderr(writer);
    let mut child = command.spawn().map_err(broken)?;
    // The command keeps its copies of the pipe; they go here, or the reader would wait for ever.
    command.stdout(Stdio::null());
    command.stderr(Stdio::null());
    let mut text = String::new();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(broken)? > 0 {
        if let Some(file) = &mut log {
            file.write_all(&line).map_err(broken)?;
        }
        text.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait().map_err(broken)?;
    Ok(Outcome {
        success: status.success(),
        status: status.to_string(),
        text,
    })
}

/// Runs `command` and fails with its output unless it succeeds.
pub(crate) fn check(command: &mut Command) -> Result<String> {
    let outcome = capture(command)?;
    if outcome.success {
        return Ok(outcome.text);
    }
    Err(fail(format!(
        "{} ended with {}\n{}",
        describe(command),
        outcome.status,
        outcome.tail(60)
    )))
}

/// Runs `command`, returns its standard output alone; fails with what it wrote elsewhere.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(format!("{name}: {error}")))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(fail(format!(
            "{name} ended with {}\n{error}",
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The program and its arguments, for messages.
pub(crate) fn describe(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_come_back_in_order_with_the_status() {
        let outcome =
            capture(Command::new("sh").args(["-c", "echo one; echo two >&2; echo three; exit 3"]))
                .unwrap();
        assert_eq!(outcome.text, "one\ntwo\nthree\n");
        assert!(!outcome.success);
        assert_eq!(outcome.tail(1), "three");
    }

    #[test]
    fn a_failing_check_shows_what_the_program_said() {
        let failure =
            check(Command::new("sh").args(["-c", "echo broken thing; exit 1"])).unwrap_err();
        assert!(failure.to_string().contains("broken thing"), "{failure}");
    }
}
