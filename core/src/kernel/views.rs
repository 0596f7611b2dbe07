//! The ways a governed call can be read: as it is spelled, and as it really is.
//!
//! A rule speaks of a file, whatever a link or spelling calls it. So a call with paths is judged as spelled and once
//! more with every path replaced by where it really lies, relative and absolute. A rule that denies any reading
//! denies the call; to be allowed it must be allowed both as spelled and as it really is.

use super::Kernel;
use super::surface::Registered;
use crate::governance::{
    PermissionChecker, PermissionQuery, PermissionVerdict, control_file_beneath,
};
use crate::tools::PathUse;
use crate::workspace::{Workspace, WorkspaceError};
use a3s_code_contract::PermissionDecision;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One reading of a call.
struct View {
    subjects: Vec<String>,
    paths: Vec<PathUse>,
}

/// All readings of a call: the first is as spelled.
pub(super) struct Views {
    views: Vec<View>,
    command_line: Option<String>,
    read_only: bool,
    inside_workspace: bool,
    requires_confirmation: bool,
}

/// Reads a call.
///
/// # Errors
/// Why it cannot be told which files it would touch.
pub(super) async fn of(
    kernel: &Kernel,
    registered: &Registered,
    args: &Value,
) -> Result<Views, String> {
    let tool = &registered.tool;
    let paths = tool.paths(args);
    let Ok(workspace) = kernel.workspace() else {
        return Err("the session is closed".to_owned());
    };
    let real = real_paths(&workspace, &paths).await?;
    let mut views = vec![view(registered, args, &paths, &BTreeMap::new())];
    if real.iter().any(|(spelled, real)| spelled != real) {
        views.push(view(registered, args, &paths, &real));
        let root = workspace.root().trim_end_matches('/');
        let absolute = real
            .into_iter()
            .map(|(spelled, real)| (spelled, format!("{root}/{real}")))
            .collect();
        views.push(view(registered, args, &paths, &absolute));
    }
    Ok(Views {
        views,
        command_line: tool.command_line(args).map(str::to_owned),
        read_only: tool.capabilities(args).read_only,
        inside_workspace: paths
            .iter()
            .all(|used| workspace.resolve(&used.path).is_ok()),
        requires_confirmation: tool.requires_confirmation(args),
    })
}

/// Each path as spelled and where it really lies. One that does not exist or leads out has no other reading: the
/// tool refuses it by itself.
async fn real_paths(
    workspace: &Arc<dyn Workspace>,
    paths: &[PathUse],
) -> Result<BTreeMap<String, String>, String> {
    let spelled: Vec<String> = paths.iter().map(|used| used.path.clone()).collect();
    if spelled.is_empty() {
        return Ok(BTreeMap::new());
    }
    let asked = Arc::clone(workspace);
    let look = move || {
        spelled
            .into_iter()
            .map(|spelled| {
                let real = asked
                    .resolve(&spelled)
                    .and_then(|path| asked.real_path(&path));
                (spelled, real)
            })
            .collect::<Vec<_>>()
    };
    let found = if workspace.is_local() {
        tokio::task::spawn_blocking(look)
            .await
            .map_err(|_| "the runtime is shutting down".to_owned())?
    } else {
        look()
    };
    let mut real = BTreeMap::new();
    for (spelled, path) in found {
        match path {
            Ok(path) => {
                let path = path.as_str();
                let path = if path.is_empty() { "." } else { path };
                real.insert(spelled, path.to_owned());
            }
            Err(
                WorkspaceError::NotFound { .. }
                | WorkspaceError::Outside { .. }
                | WorkspaceError::NotDirectory { .. }
                | WorkspaceError::LinkLoop { .. },
            ) => {}
            Err(WorkspaceError::InvalidPath { reason, .. }) if reason.contains("leads nowhere") => {
                return Err(format!("`{spelled}`: {reason}"));
            }
            Err(WorkspaceError::InvalidPath { .. }) => {}
            Err(error) => {
                return Err(format!(
                    "it cannot be told where `{spelled}` leads: {error}"
                ));
            }
        }
    }
    Ok(real)
}

fn view(
    registered: &Registered,
    args: &Value,
    paths: &[PathUse],
    real: &BTreeMap<String, String>,
) -> View {
    let mut args = args.clone();
    replace(&mut args, real);
    View {
        subjects: registered
            .tool
            .permission_subjects(&args)
            .unwrap_or_else(|| vec![args.to_string()]),
        paths: paths
            .iter()
            .map(|used| PathUse {
                path: real.get(&used.path).unwrap_or(&used.path).clone(),
                write: used.write,
            })
            .collect(),
    }
}

/// Puts other texts in the place of those that are paths of the call.
fn replace(value: &mut Value, real: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = real.get(text) {
                other.clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, real)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| replace(member, real)),
        _ => {}
    }
}

impl Views {
    /// A control file that any reading touches.
    pub(super) fn control_file(&self, root: &str) -> Option<String> {
        self.views
            .iter()
            .find_map(|view| control_file_beneath(root, &view.paths))
    }

    /// Whether a limit permits the call as spelled and as it really is.
    pub(super) fn permitted(
        &self,
        tool: &str,
        permits: impl Fn(&PermissionQuery<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut answers = self
            .views
            .iter()
            .map(|view| permits(&self.query(tool, view)));
        answers.next().unwrap_or(Ok(()))?;
        let real: Vec<Result<(), String>> = answers.collect();
        if real.iter().any(Result::is_ok) {
            return Ok(());
        }
        real.into_iter().next().unwrap_or(Ok(()))
    }

    /// What a checker decides over all readings.
    pub(super) async fn verdict(
        &self,
        tool: &str,
        checker: &dyn PermissionChecker,
    ) -> PermissionVerdict {
        let mut verdicts = Vec::with_capacity(self.views.len());
        for view in &self.views {
            let verdict = checker.check(&self.query(tool, view)).await;
            if verdict.decision == PermissionDecision::Deny && verdict.rule.is_some() {
                return verdict;
            }
            verdicts.push(verdict);
        }
        let mut verdicts = verdicts.into_iter();
        let spelled = verdicts.next();
        let real = verdicts.min_by_key(|verdict| severity(verdict.decision));
        spelled
            .into_iter()
            .chain(real)
            .max_by_key(|verdict| severity(verdict.decision))
            .unwrap_or_else(|| PermissionVerdict {
                decision: PermissionDecision::Deny,
                reason: "nothing decided about the call".to_owned(),
                rule: None,
            })
    }

    fn query<'a>(&'a self, tool: &'a str, view: &'a View) -> PermissionQuery<'a> {
        PermissionQuery {
            tool,
            subjects: &view.subjects,
            command_line: self.command_line.as_deref(),
            read_only: self.read_only,
            inside_workspace: self.inside_workspace,
            paths: &view.paths,
            requires_confirmation: self.requires_confirmation,
        }
    }
}

fn severity(decision: PermissionDecision) -> u8 {
    match decision {
        PermissionDecision::Allow => 0,
        PermissionDecision::Ask => 1,
        PermissionDecision::Deny => 2,
    }
}
