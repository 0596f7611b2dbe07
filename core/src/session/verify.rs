//! Verification: commands run one after the other through the tool `bash`, and the session's reports.

use super::AgentSession;
use super::direct::CallOptions;
use crate::error::{CodeError, Result};
use crate::evidence::Artifact;
use crate::kernel::{Origin, Settled};
use crate::tools::ToolValue;
use crate::verification::{check_request, in_words, presets, report};
use a3s_code_contract::{
    ToolErrorKind, VerificationCheck, VerificationCommand, VerificationPreset, VerificationReport,
    VerificationStatus, VerificationSummary,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Time limit of a command when nothing is said.
const DEFAULT_TIMEOUT_MS: u32 = 120_000;
/// Shortest time limit that the tool takes; a shorter one is kept here.
const LEAST_TOOL_TIMEOUT_MS: u32 = 1000;
/// Bytes of output that a check shows from the beginning, and from the end.
const SHOWN_BYTES: usize = 4096;

impl AgentSession {
    /// Runs commands one after the other in the workspace and reports what each came to.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming the command's field and the bound, nothing has run then; `CANCELLED`;
    /// [`CodeError::SessionClosed`]. A check that fails is in the report.
    pub async fn verify_commands(
        &self,
        subject: &str,
        commands: &[VerificationCommand],
    ) -> Result<VerificationReport> {
        self.verify_commands_with(subject, commands, CallOptions::default())
            .await
    }

    /// Runs commands and reports on them, with options for the call. A report that was cancelled is not kept.
    ///
    /// # Errors
    /// As [`AgentSession::verify_commands`].
    pub async fn verify_commands_with(
        &self,
        subject: &str,
        commands: &[VerificationCommand],
        options: CallOptions,
    ) -> Result<VerificationReport> {
        check_request(subject, commands)?;
        let mut checks = Vec::with_capacity(commands.len());
        for command in commands {
            checks.push(self.carry_out(command, &options).await?);
        }
        let report = report(subject, checks);
        self.open()?;
        self.inner().reports.add(report.clone());
        Ok(report)
    }

    /// Reports of this session, oldest first.
    #[must_use]
    pub fn verification_reports(&self) -> Vec<VerificationReport> {
        self.inner().reports.all()
    }

    /// Adds reports that the application made itself: all of them, or none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for one that is malformed or claims `passed` against its own checks.
    pub fn record_verification_reports(&self, reports: Vec<VerificationReport>) -> Result<()> {
        self.open()?;
        self.inner().reports.record(reports)
    }

    /// What the reports come to; of several about one subject the last counts.
    #[must_use]
    pub fn verification_summary(&self) -> VerificationSummary {
        self.inner().reports.summary()
    }

    /// The same in words.
    #[must_use]
    pub fn verification_summary_text(&self) -> String {
        in_words(&self.verification_summary())
    }

    /// Commands that fit the project in the workspace, by what stands in its root.
    #[must_use]
    pub fn verification_presets(&self) -> Vec<VerificationPreset> {
        let workspace = self.inner().kernel.workspace();
        workspace.map_or_else(|_| Vec::new(), |workspace| presets(&*workspace))
    }

    fn open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(CodeError::SessionClosed {
                session_id: self.session_id().to_owned(),
            });
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        command: &VerificationCommand,
        options: &CallOptions,
    ) -> Result<VerificationCheck> {
        let limit = command.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        let stop = CancellationToken::new();
        let args = json!({
            "command": command.command,
            "timeout": limit.max(LEAST_TOOL_TIMEOUT_MS),
        });
        let call = CallOptions {
            caller: options.caller.clone(),
            cancellation: Some(stop.clone()),
        };
        let begun = Instant::now();
        let running = self.invoke(Origin::HOST_DIRECT, "bash", args, call, true);
        tokio::pin!(running);
        let asked = options.cancellation.clone().unwrap_or_default();
        let (settled, timed_out) = tokio::select! {
            biased;
            settled = &mut running => (settled?, false),
            () = asked.cancelled() => {
                stop.cancel();
                (running.await?, false)
            }
            () = tokio::time::sleep(Duration::from_millis(u64::from(limit))),
                if limit < LEAST_TOOL_TIMEOUT_MS => {
                stop.cancel();
                (running.await?, true)
            }
        };
        self.judge(command, limit, settled, timed_out, begun)
    }

    /// Turns what a command came to into a check.
    fn judge(
        &self,
        command: &VerificationCommand,
        limit: u32,
        settled: Settled,
        stopped: bool,
        begun: Instant,
    ) -> Result<VerificationCheck> {
        let Settled { result, value } = settled;
        let facts = result.metadata.unwrap_or(Value::Null);
        let kind = result.error_kind;
        if !stopped && matches!(kind, Some(ToolErrorKind::Cancelled { .. })) {
            self.open()?;
            return Err(CodeError::from_failed_tool("bash", result.output, kind));
        }
        let timed_out = stopped || matches!(kind, Some(ToolErrorKind::Timeout { .. }));
        let exit_code = facts["exit_code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok());
        let signal = facts["signal"].as_i64();
        let expected = command.expect_exit.unwrap_or(0);
        let (status, open) = match (exit_code, signal) {
            _ if timed_out => (
                VerificationStatus::Failed,
                Some(format!("ended at its time limit of {limit} ms")),
            ),
            (Some(code), _) if code == expected => (VerificationStatus::Passed, None),
            (Some(code), _) => (
                VerificationStatus::Failed,
                Some(format!("exit status {code} where {expected} was expected")),
            ),
            (None, Some(signal)) => (
                VerificationStatus::Failed,
                Some(format!("killed by signal {signal}")),
            ),
            // It did not run to an end of its own: nobody can say that it passed or that it failed.
            (None, None) => (
                VerificationStatus::NeedsReview,
                Some(format!(
                    "could not be carried out: {}",
                    first_line(&result.output)
                )),
            ),
        };
        let text = match value {
            Some(ToolValue::Text(text)) => text,
            _ => result.output,
        };
        let spooled = facts["output"]["artifact"]["artifact_uri"].as_str();
        let (output, kept) = self.shown(text, spooled);
        Ok(VerificationCheck {
            id: command.id.clone(),
            kind: command.kind.clone(),
            description: command.description.clone(),
            status,
            required: command.required,
            exit_code,
            duration_ms: took_ms(&facts, begun),
            output,
            suggested_tools: if status == VerificationStatus::Passed {
                Vec::new()
            } else {
                vec!["bash".to_owned()]
            },
            evidence_uris: kept.into_iter().collect(),
            residual_risk: open,
        })
    }

    /// What of the output is shown, and where the whole of it is when that is not all.
    fn shown(&self, text: String, spooled: Option<&str>) -> (String, Option<String>) {
        let uri = spooled.map(str::to_owned);
        if text.len() <= 2 * SHOWN_BYTES {
            return (text, uri);
        }
        let head = &text[..text.floor_char_boundary(SHOWN_BYTES)];
        let tail = &text[text.ceil_char_boundary(text.len() - SHOWN_BYTES)..];
        let omitted = text.len() - head.len() - tail.len();
        let shown = format!("{head}\n[{omitted} bytes omitted]\n{tail}");
        let uri = uri.or_else(|| {
            let artifact = Artifact::new("bash", text.into_bytes(), 2 * SHOWN_BYTES as u64);
            let uri = artifact.uri.clone();
            self.inner().kernel.artifacts().put(artifact).then_some(uri)
        });
        (shown, uri)
    }
}

fn took_ms(facts: &Value, begun: Instant) -> u32 {
    let stated = facts["duration_ms"].as_u64().map(u128::from);
    let took = stated.unwrap_or_else(|| begun.elapsed().as_millis());
    u32::try_from(took).unwrap_or(u32::MAX)
}

fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(512)]
}
