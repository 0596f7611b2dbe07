//! Where a worktree may lie: in the workspace, or in a folder right beside it. Nowhere else, whatever a path says.

use super::{Site, names};
use crate::tools::{ToolCall, ToolError, ToolErrorKind};
use crate::workspace::{WorkspaceError, name};
use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A folder of a worktree.
pub(super) struct Place {
    /// Absolute path.
    pub(super) path: Vec<u8>,
    /// Its path in the workspace; none when it lies beside it.
    inside: Option<String>,
}

impl Place {
    /// The folder beside the workspace that a worktree of this branch gets when nothing is said.
    pub(super) fn beside(site: &Site, branch: &str) -> Self {
        let branch = branch.replace('/', "-");
        Self {
            path: [&site.root, &b"-"[..], branch.as_bytes()].concat(),
            inside: None,
        }
    }

    /// The folder that a path names.
    ///
    /// # Errors
    /// It leads elsewhere, or into files that the call may not touch.
    pub(super) async fn named(call: &ToolCall, site: &Site, path: &str) -> Result<Self, ToolError> {
        names::check_path("path", path)?;
        let given = name::decode(path);
        let absolute = match given.first() {
            Some(b'/') => given.into_owned(),
            _ => [&site.root, &b"/"[..], &given].concat(),
        };
        let absolute = tidy(&absolute);
        let parent = site
            .root
            .iter()
            .rposition(|byte| *byte == b'/')
            .unwrap_or(0);
        if let Some(inside) = below(&absolute, &site.root) {
            let inside = inside.to_vec();
            let off_limits = call.off_limits();
            return call
                .blocking_work(move |workspace, _| {
                    let path = workspace.resolve(&name::encode(&inside))?;
                    let real = workspace.real_path(&path)?;
                    let control = off_limits.is_some_and(|off| off(&real) || off(&path));
                    let in_git = real.as_str().split('/').any(|part| part == ".git");
                    if control || in_git {
                        return Err(WorkspaceError::OffLimits {
                            path: path.display().into_owned(),
                        }
                        .into());
                    }
                    let real = real.as_str().to_owned();
                    Ok(Self {
                        path: absolute_in(&name::decode(workspace.root()), &name::decode(&real)),
                        inside: Some(real),
                    })
                })
                .await;
        }
        match below(&absolute, &site.root[..parent]) {
            Some(sibling) if !sibling.contains(&b'/') => Ok(Self {
                path: absolute,
                inside: None,
            }),
            _ => Err(names::refused(
                "path",
                "a worktree lies in the workspace or right beside it, not elsewhere",
            )),
        }
    }

    /// Refuses a place where something is.
    pub(super) async fn must_be_free(&self, call: &ToolCall) -> Result<(), ToolError> {
        let path = self.path.clone();
        let free = call
            .blocking_work(move |_, _| {
                let facts = statat(CWD, OsStr::from_bytes(&path), AtFlags::SYMLINK_NOFOLLOW);
                Ok::<_, ToolError>(matches!(facts, Err(Errno::NOENT)))
            })
            .await?;
        if free {
            return Ok(());
        }
        let message = format!(
            "`path` cannot be used: there is already something at `{}`.",
            self.shown()
        );
        Err(ToolError::new(
            ToolErrorKind::invalid("path", message.clone()),
            message,
        ))
    }

    /// As it is shown: relative where it lies in the workspace.
    pub(super) fn shown(&self) -> String {
        match &self.inside {
            Some(inside) => inside.clone(),
            None => name::encode(&self.path),
        }
    }
}

fn absolute_in(root: &[u8], path: &[u8]) -> Vec<u8> {
    let root = root.strip_suffix(b"/").unwrap_or(root);
    [root, b"/", path].concat()
}

/// What follows a folder in a path; none when nothing does.
fn below<'a>(path: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    path.strip_prefix(folder)?
        .strip_prefix(b"/")
        .filter(|rest| !rest.is_empty())
}

/// An absolute path without empty parts, `.` and `..`.
fn tidy(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    [b"/", &parts.join(&b'/')[..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_judged_by_where_it_leads() {
        assert_eq!(tidy(b"/a/./b//../c"), b"/a/c");
        assert_eq!(tidy(b"/../.."), b"/");
        assert_eq!(below(b"/a/b", b"/a"), Some(&b"b"[..]));
        for (path, folder) in [("/ab", "/a"), ("/a", "/a"), ("/a/", "/a")] {
            assert_eq!(below(path.as_bytes(), folder.as_bytes()), None);
        }
    }
}
