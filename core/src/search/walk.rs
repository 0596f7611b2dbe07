//! The walk that gives glob and grep their candidates: regular files below a path, in lexical order.
//!
//! An explicit path is searched even where a walk would not go: inside a skipped folder or one that ignore
//! files exclude. The rules of the folders above it hold inside it only when they do not exclude the path
//! itself.

use super::ignores::{Rules, is_skipped};
use super::{SearchError, SearchScope};
use crate::workspace::{FileKind, WorkspaceError, WorkspacePath};

/// Files below a path.
pub(super) struct Candidates {
    /// Their paths, in lexical order.
    pub(super) paths: Vec<String>,
    /// Folders that could not be listed.
    pub(super) failed_folders: u64,
}

/// Finds the candidates below `start`, a folder or a file, keeping those that `keep` wants; it is given the
/// path and the length of the searched folder's path.
pub(super) fn candidates(
    start: &WorkspacePath,
    scope: SearchScope<'_>,
    keep: impl Fn(&str, usize) -> bool,
) -> Result<Candidates, SearchError> {
    let facts = scope.files.metadata(start, scope.wait)?;
    match facts.kind {
        FileKind::File => {
            let folder = start.as_str().rfind('/').map_or(0, |at| at + 1);
            let paths = if keep(start.as_str(), folder) {
                vec![start.as_str().to_owned()]
            } else {
                Vec::new()
            };
            return Ok(Candidates {
                paths,
                failed_folders: 0,
            });
        }
        FileKind::Directory => {}
        FileKind::Symlink | FileKind::Other => {
            return Err(SearchError::Workspace(WorkspaceError::NotRegular {
                path: start.display().into_owned(),
            }));
        }
    }
    let folder = match start.as_str() {
        "" => 0,
        path => path.len() + 1,
    };
    let mut found = Candidates {
        paths: Vec::new(),
        failed_folders: 0,
    };
    let mut open = vec![(start.clone(), rules_above(start, scope)?)];
    let mut first = true;
    while let Some((path, above)) = open.pop() {
        if (scope.cancelled)() {
            return Err(SearchError::Cancelled);
        }
        let entries = match scope.files.scan_dir(&path, scope.wait) {
            Ok(entries) => entries,
            Err(WorkspaceError::WouldBlock) => return Err(WorkspaceError::WouldBlock.into()),
            Err(error) if first => return Err(error.into()),
            // Removed or changed since it was listed, or not ours to read.
            Err(WorkspaceError::NotFound { .. }) => continue,
            Err(_) => {
                found.failed_folders += 1;
                continue;
            }
        };
        first = false;
        let rules = above.inside(&path, &entries, scope);
        for entry in entries {
            let is_folder = match entry.kind {
                FileKind::Directory => true,
                FileKind::File => false,
                FileKind::Symlink | FileKind::Other => continue,
            };
            if is_skipped(&entry.name) {
                continue;
            }
            let inner = path.join(&entry.name);
            if rules.exclude(inner.as_str(), is_folder) {
                continue;
            }
            if is_folder {
                open.push((inner, rules.clone()));
            } else if keep(inner.as_str(), folder) {
                found.paths.push(inner.into_string());
            }
        }
    }
    found.paths.sort_unstable();
    Ok(found)
}

/// The rules of the folders above a path, or none when they exclude it.
fn rules_above(start: &WorkspacePath, scope: SearchScope<'_>) -> Result<Rules, SearchError> {
    let mut rules = Rules::none();
    let mut folder = WorkspacePath::root();
    for part in start.as_str().split('/').filter(|part| !part.is_empty()) {
        // What `..` leads to is not known here, and rules of the wrong folder are worse than none.
        if part == ".." || is_skipped(part) {
            return Ok(Rules::none());
        }
        match scope.files.scan_dir(&folder, scope.wait) {
            Ok(entries) => rules = rules.inside(&folder, &entries, scope),
            Err(WorkspaceError::WouldBlock) => return Err(WorkspaceError::WouldBlock.into()),
            Err(_) => {}
        }
        folder = folder.join(part);
        if rules.exclude(folder.as_str(), true) {
            return Ok(Rules::none());
        }
    }
    Ok(rules)
}
