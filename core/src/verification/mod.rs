//! What checks come to: the status of a report, the reports of a session, their summary.
//!
//! The room knows no tool and no session; it turns outcomes into reports. A report is evidence: a check passes only
//! with the exit status it asked for, a failed check that is not required never makes the report fail, and whatever
//! could not be carried out is left open, never passed.

mod presets;
#[cfg(test)]
mod tests;

pub(crate) use presets::presets;

use crate::error::{CodeError, Result};
use a3s_code_contract::{
    VERIFICATION_REPORT_SCHEMA, VerificationCheck, VerificationCommand, VerificationReport,
    VerificationStatus, VerificationSummary,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most commands of one report.
pub(crate) const MOST_COMMANDS: usize = 64;
/// Reports that a session keeps.
pub(crate) const MOST_REPORTS: usize = 256;
/// Longest subject in bytes.
const MOST_SUBJECT_BYTES: usize = 1024;
/// Longest id of a check in bytes.
const MOST_ID_BYTES: usize = 128;
/// Longest kind or description of a check in bytes.
const MOST_WORDS_BYTES: usize = 4096;
/// Longest time limit in milliseconds.
const MOST_TIMEOUT_MS: u32 = 3_600_000;
/// Most bytes of one report that the application made itself.
const MOST_REPORT_BYTES: usize = 1024 * 1024;

fn invalid(argument: &str, message: impl Into<String>) -> CodeError {
    CodeError::InvalidArgument {
        argument: argument.to_owned(),
        message: message.into(),
    }
}

/// Refuses what cannot be carried out, before anything is.
///
/// # Errors
/// `INVALID_ARGUMENT` naming the argument and the bound.
pub(crate) fn check_request(subject: &str, commands: &[VerificationCommand]) -> Result<()> {
    check_subject("subject", subject)?;
    if commands.len() > MOST_COMMANDS {
        let message = format!("{} commands: the most is {MOST_COMMANDS}", commands.len());
        return Err(invalid("commands", message));
    }
    let mut seen = BTreeSet::new();
    for (index, command) in commands.iter().enumerate() {
        let at = |field: &str| format!("commands[{index}].{field}");
        check_id(&at("id"), &command.id)?;
        if !seen.insert(command.id.as_str()) {
            let message = format!("`{}` is the id of an earlier command too", command.id);
            return Err(invalid(&at("id"), message));
        }
        check_words(&at("kind"), &command.kind)?;
        check_words(&at("description"), &command.description)?;
        if command.command.trim().is_empty() {
            return Err(invalid(&at("command"), "must not be empty"));
        }
        if let Some(timeout) = command.timeout_ms
            && !(1..=MOST_TIMEOUT_MS).contains(&timeout)
        {
            let message = format!("{timeout}: must be 1 to {MOST_TIMEOUT_MS} milliseconds");
            return Err(invalid(&at("timeoutMs"), message));
        }
        if let Some(code) = command.expect_exit
            && !(0..=255).contains(&code)
        {
            let message = format!("{code}: must be 0 to 255");
            return Err(invalid(&at("expectExit"), message));
        }
    }
    Ok(())
}

fn check_subject(argument: &str, subject: &str) -> Result<()> {
    if subject.trim().is_empty() || subject.len() > MOST_SUBJECT_BYTES {
        let message = format!("must have 1 to {MOST_SUBJECT_BYTES} bytes");
        return Err(invalid(argument, message));
    }
    Ok(())
}

fn check_id(argument: &str, id: &str) -> Result<()> {
    if id.trim().is_empty() || id.len() > MOST_ID_BYTES {
        let message = format!("must have 1 to {MOST_ID_BYTES} bytes");
        return Err(invalid(argument, message));
    }
    Ok(())
}

fn check_words(argument: &str, words: &str) -> Result<()> {
    if words.len() > MOST_WORDS_BYTES {
        let message = format!("has {} bytes: the most is {MOST_WORDS_BYTES}", words.len());
        return Err(invalid(argument, message));
    }
    Ok(())
}

/// The report on checks that were carried out.
pub(crate) fn report(subject: &str, checks: Vec<VerificationCheck>) -> VerificationReport {
    let residual_risks: Vec<String> = checks
        .iter()
        .filter_map(|check| {
            let risk = check.residual_risk.as_deref()?;
            Some(format!("{}: {risk}", check.id))
        })
        .collect();
    VerificationReport {
        schema: VERIFICATION_REPORT_SCHEMA.to_owned(),
        subject: subject.to_owned(),
        status: status(&checks, !residual_risks.is_empty()),
        checks,
        residual_risks,
    }
}

fn status(checks: &[VerificationCheck], risks: bool) -> VerificationStatus {
    use VerificationStatus::{Failed, NeedsReview, Passed, Skipped};
    let any = |required: bool, status: VerificationStatus| {
        checks
            .iter()
            .any(|check| check.required == required && check.status == status)
    };
    if any(true, Failed) {
        return Failed;
    }
    let open = any(true, NeedsReview)
        || any(true, Skipped)
        || any(false, Failed)
        || any(false, NeedsReview)
        || risks;
    if open {
        NeedsReview
    } else if checks.iter().all(|check| check.status == Skipped) {
        Skipped
    } else {
        Passed
    }
}

/// The reports of one session, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<VecDeque<VerificationReport>>);

impl Reports {
    /// Adds a report; the oldest goes when there are too many.
    pub(crate) fn add(&self, report: VerificationReport) {
        let mut reports = self.lock();
        while reports.len() >= MOST_REPORTS {
            reports.pop_front();
        }
        reports.push_back(report);
    }

    /// Adds reports that the application made: all of them, or none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for one that is malformed.
    pub(crate) fn record(&self, added: Vec<VerificationReport>) -> Result<()> {
        if added.len() > MOST_REPORTS {
            let message = format!("{} reports: the most is {MOST_REPORTS}", added.len());
            return Err(invalid("reports", message));
        }
        for (index, report) in added.iter().enumerate() {
            check_report(index, report)?;
        }
        for report in added {
            self.add(report);
        }
        Ok(())
    }

    pub(crate) fn all(&self) -> Vec<VerificationReport> {
        self.lock().iter().cloned().collect()
    }

    pub(crate) fn summary(&self) -> VerificationSummary {
        summarise(self.lock().iter())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<VerificationReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_report(index: usize, report: &VerificationReport) -> Result<()> {
    let at = |field: &str| format!("reports[{index}].{field}");
    if report.schema != VERIFICATION_REPORT_SCHEMA {
        let message = format!(
            "`{}`: must be `{VERIFICATION_REPORT_SCHEMA}`",
            report.schema
        );
        return Err(invalid(&at("schema"), message));
    }
    check_subject(&at("subject"), &report.subject)?;
    let bytes = serde_json::to_vec(report).map_or(usize::MAX, |json| json.len());
    if bytes > MOST_REPORT_BYTES {
        let message = format!("has {bytes} bytes as JSON: the most is {MOST_REPORT_BYTES}");
        return Err(invalid(&format!("reports[{index}]"), message));
    }
    for (number, check) in report.checks.iter().enumerate() {
        check_id(&at(&format!("checks[{number}].id")), &check.id)?;
    }
    // A report that says more than its checks do is no evidence.
    let derived = status(&report.checks, !report.residual_risks.is_empty());
    if report.status == VerificationStatus::Passed && derived != VerificationStatus::Passed {
        let message = "`passed` does not follow from the checks: every required one must have passed and nothing be left open";
        return Err(invalid(&at("status"), message));
    }
    Ok(())
}

fn summarise<'a>(reports: impl Iterator<Item = &'a VerificationReport>) -> VerificationSummary {
    use VerificationStatus::{Failed, NeedsReview, Passed, Skipped};
    let mut last: BTreeMap<&str, (usize, &VerificationReport)> = BTreeMap::new();
    for (number, report) in reports.enumerate() {
        last.insert(&report.subject, (number, report));
    }
    let mut last: Vec<_> = last.into_values().collect();
    last.sort_by_key(|(number, _)| *number);
    let reports: Vec<&VerificationReport> = last.into_iter().map(|(_, report)| report).collect();
    let count = |wanted: &dyn Fn(&VerificationCheck) -> bool| {
        let found = reports.iter().flat_map(|report| &report.checks);
        bounded(found.filter(|check| wanted(check)).count())
    };
    let subjects = |wanted: &[VerificationStatus]| -> Vec<String> {
        let found = reports
            .iter()
            .filter(|report| wanted.contains(&report.status));
        found.map(|report| report.subject.clone()).collect()
    };
    let failed_subjects = subjects(&[Failed]);
    let needs_review = reports.iter().any(|report| report.status == NeedsReview);
    VerificationSummary {
        status: if !failed_subjects.is_empty() {
            Failed
        } else if needs_review {
            NeedsReview
        } else if reports.iter().all(|report| report.status == Skipped) {
            Skipped
        } else {
            Passed
        },
        report_count: bounded(reports.len()),
        required_check_count: count(&|check| check.required),
        pending_required_check_count: count(&|check| {
            check.required && matches!(check.status, NeedsReview | Skipped)
        }),
        failed_check_count: count(&|check| check.status == Failed),
        residual_risk_count: bounded(reports.iter().map(|r| r.residual_risks.len()).sum()),
        pending_subjects: subjects(&[NeedsReview, Skipped]),
        failed_subjects,
    }
}

fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A summary in words.
pub(crate) fn in_words(summary: &VerificationSummary) -> String {
    let status = match summary.status {
        VerificationStatus::Passed => "passed",
        VerificationStatus::Failed => "failed",
        VerificationStatus::NeedsReview => "needs review",
        VerificationStatus::Skipped => "nothing checked",
    };
    let mut text = format!(
        "Verification: {status}. Reports: {}. Required checks: {}, without a result: {}. Failed checks: {}. Residual risks: {}.",
        summary.report_count,
        summary.required_check_count,
        summary.pending_required_check_count,
        summary.failed_check_count,
        summary.residual_risk_count,
    );
    for (title, subjects) in [
        ("Failed", &summary.failed_subjects),
        ("Open", &summary.pending_subjects),
    ] {
        if !subjects.is_empty() {
            text.push_str(&format!("\n{title}: {}", subjects.join(", ")));
        }
    }
    text
}
