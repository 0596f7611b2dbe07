//! One run of the git program: what it is told, what it sees of the host, what is kept of its output.
//!
//! What a repository says about itself runs nothing. Programs that a fixed key can name are switched off by a fixed
//! list; programs behind a name that the repository chooses (filters, hooks) are switched off one by one by what
//! `site` found; what is asked of a remote is refused by protocol. Neither the user's nor the system's
//! configuration is read, and of the application's variables only those that say who commits or that configure git.

use super::site::Site;
use super::{Stop, not_a_repository};
use crate::process::{Command, End, Environment, Receive, StartError, Stream, start};
use crate::tools::{ToolCall, ToolError, ToolErrorKind, ToolOutput};
use crate::workspace::name;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit of one run.
const TIME_LIMIT_MS: u32 = 30_000;
/// Most bytes of output that one run may write.
pub(super) const MOST_OUTPUT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of messages that are kept.
const MOST_MESSAGE_BYTES: usize = 4096;

/// Keys that could run a program or reach a network, and keys that change what the output looks like.
const SETTINGS: [&str; 22] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.gitProxy=",
    "credential.helper=",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=dirty",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "color.ui=false",
    "diff.suppressBlankEmpty=false",
    "diff.interHunkContext=0",
];
/// Variables of git and what they are set to.
const VARIABLES: [(&str, &str); 12] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Whether a run may change the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) out: Vec<u8>,
    pub(super) message: String,
    code: Option<i32>,
}

impl Done {
    pub(super) fn succeeded(&self) -> bool {
        match self.code {
            Some(code) => code == 0,
            // The host took the status away; git says nothing there when all went well.
            None => self.message.is_empty(),
        }
    }

    /// Its output as text.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.out)
    }

    /// The same when it succeeded.
    pub(super) fn or_failure(self) -> Result<Self, Stop> {
        if self.succeeded() {
            Ok(self)
        } else {
            Err(self.failure())
        }
    }

    /// Why it failed.
    pub(super) fn failure(&self) -> Stop {
        let says = |part: &str| self.message.contains(part);
        if says("ot a git repository") {
            return not_a_repository().into();
        }
        for (part, reason) in [
            (
                "dubious ownership",
                "the repository belongs to another user. Where that is intended, the application can set \
                 `safe.directory` through `GIT_CONFIG_COUNT` in the environment of commands",
            ),
            (
                "unsafe repository",
                "the repository belongs to another user",
            ),
            (
                "cannot use bare repository",
                "the workspace is a bare repository, which has no files",
            ),
        ] {
            if says(part) {
                let message = format!("git cannot work here: {reason}.");
                let kind = ToolErrorKind::Unsupported {
                    message: message.clone(),
                };
                return ToolError::new(kind, message).into();
            }
        }
        let said = match self.message.trim_end() {
            "" => "git failed and did not say why",
            said => said,
        };
        Stop::Output(ToolOutput::failure(format!("{said}\n")).with("git_exit_code", self.code))
    }
}

/// The output of git, up to its bounds.
#[derive(Default)]
struct Bounded {
    out: Vec<u8>,
    message: Vec<u8>,
    seen: usize,
}

impl Receive for Bounded {
    fn receive(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        match stream {
            Stream::Output => {
                self.seen += bytes.len();
                if self.seen <= MOST_OUTPUT_BYTES {
                    self.out.extend_from_slice(bytes);
                }
                self.seen <= MOST_OUTPUT_BYTES
            }
            Stream::Error => {
                let room = MOST_MESSAGE_BYTES.saturating_sub(self.message.len());
                self.message
                    .extend_from_slice(&bytes[..bytes.len().min(room)]);
                true
            }
        }
    }
}

/// Runs git with these arguments.
///
/// # Errors
/// By kind: no git, more output than is kept, the time limit, cancelled. A status that is not 0 is no error here.
pub(super) async fn run<A: AsRef<[u8]>>(
    call: &ToolCall,
    site: &Site,
    effect: Effect,
    arguments: &[A],
) -> Result<Done, ToolError> {
    let mut all: Vec<Vec<u8>> = vec![b"--no-pager".to_vec()];
    if effect == Effect::Reads {
        all.push(b"--no-optional-locks".to_vec());
    }
    for setting in SETTINGS {
        all.extend([b"-c".to_vec(), setting.as_bytes().to_vec()]);
    }
    all.extend(arguments.iter().map(|argument| argument.as_ref().to_vec()));
    let command = Command {
        program: "git",
        untrusted: Some(site.root.clone()),
        arguments: all,
        environment: environment(call.command_env(), site),
        directory: site.root.clone(),
        time_limit: Duration::from_millis(u64::from(TIME_LIMIT_MS)),
    };
    let mut running = start(command, Bounded::default(), call.processes())
        .map_err(|error| not_started(&error))?;
    let mut stopping = false;
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = running.outcome() => break outcome.map_err(|error| not_started(&error))?,
            () = call.cancellation().cancelled(), if !stopping => {
                stopping = true;
                running.stop();
            }
        }
    };
    let received = outcome.received;
    let code = match outcome.end {
        End::Exited(code) => Some(code),
        End::Unknown => None,
        End::Stopped if received.seen > MOST_OUTPUT_BYTES => return Err(too_much(received.seen)),
        End::Stopped => return Err(cancelled()),
        End::TimedOut => return Err(timed_out(effect)),
        End::Killed(signal) => {
            let kind = ToolErrorKind::Transport {
                op: "git".to_owned(),
            };
            return Err(ToolError::new(
                kind,
                format!("git was ended by signal {signal}."),
            ));
        }
    };
    let message = String::from_utf8_lossy(&received.message);
    let message: Vec<_> = message.lines().map(name::printable).collect();
    Ok(Done {
        out: received.out,
        message: message.join("\n"),
        code,
    })
}

fn environment(added: &BTreeMap<String, String>, site: &Site) -> Environment {
    let of_git = |name: &str| name.starts_with("GIT_");
    let kept = added
        .iter()
        .filter(|(name, _)| {
            !of_git(name) || name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_")
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut environment = Environment::unattended(&kept);
    for (name, value) in VARIABLES {
        environment.set(name, value);
    }
    environment.set("PWD", &site.root);
    for (name, value) in &site.variables {
        environment.set(name, value);
    }
    // The application's own configuration first: what is switched off stays off.
    let mut settings: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let count = added.get("GIT_CONFIG_COUNT");
    let count: usize = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    for at in 0..count.min(1000) {
        let part = |part: &str| added.get(&format!("GIT_CONFIG_{part}_{at}"));
        if let (Some(key), Some(value)) = (part("KEY"), part("VALUE")) {
            settings.push((key.clone().into_bytes(), value.clone().into_bytes()));
        }
    }
    settings.extend(site.switched_off.iter().cloned());
    for (at, (key, value)) in settings.iter().enumerate() {
        environment.set(&format!("GIT_CONFIG_KEY_{at}"), key);
        environment.set(&format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    environment.set("GIT_CONFIG_COUNT", settings.len().to_string());
    environment
}

fn cancelled() -> ToolError {
    let kind = ToolErrorKind::Cancelled {
        op: "git".to_owned(),
    };
    ToolError::new(kind, "git was cancelled and ended.")
}

fn timed_out(effect: Effect) -> ToolError {
    let kind = ToolErrorKind::Timeout {
        op: "git".to_owned(),
        duration_ms: TIME_LIMIT_MS,
    };
    let mut error = ToolError::new(kind, format!("git was ended after {TIME_LIMIT_MS} ms."));
    if effect == Effect::Writes {
        // How far it had come nobody can say.
        error
            .metadata
            .insert("outcome".to_owned(), "unknown".into());
    }
    error
}

fn too_much(seen: usize) -> ToolError {
    let kind = ToolErrorKind::TooLarge {
        path: "output of git".to_owned(),
        size_bytes: seen as u64,
        max_bytes: MOST_OUTPUT_BYTES as u64,
    };
    ToolError::new(
        kind,
        format!(
            "git writes more than {MOST_OUTPUT_BYTES} bytes here, which is the most that is taken."
        ),
    )
}

fn not_started(error: &StartError) -> ToolError {
    let message = format!("git did not start: {error}.");
    let kind = match error {
        StartError::Closed => return cancelled(),
        StartError::Missing(_) | StartError::Untrusted(_) => ToolErrorKind::Unsupported {
            message: message.clone(),
        },
        StartError::Nul => ToolErrorKind::invalid("args", message.clone()),
        StartError::System { source, .. } => match source.kind() {
            std::io::ErrorKind::Unsupported => ToolErrorKind::Unsupported {
                message: message.clone(),
            },
            std::io::ErrorKind::ArgumentListTooLong => {
                ToolErrorKind::invalid("args", message.clone())
            }
            _ => ToolErrorKind::Transport {
                op: "git".to_owned(),
            },
        },
    };
    ToolError::new(kind, message)
}
