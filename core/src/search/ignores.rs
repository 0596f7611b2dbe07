//! Ignore files, as git reads them: `.gitignore` and `.ignore` of every folder and `.git/info/exclude`,
//! whether there is a repository or not. `.ignore` outranks `.gitignore`, which outranks `exclude`; within
//! one sort the deeper folder outranks the higher one. Nothing outside the workspace is consulted.

use super::SearchScope;
use super::files::read_whole;
use crate::workspace::{DirEntry, FileKind, WorkspacePath};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::sync::Arc;

/// Largest ignore file that is read; a larger one is left out as a whole.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;
/// Folders of this name are never walked into.
const SKIPPED: [&str; 3] = [".git", ".a3s", ".a3s-code"];
/// Sorts of ignore files, strongest first.
const SORTS: usize = 3;

/// True for names that no walk enters.
pub(super) fn is_skipped(name: &str) -> bool {
    SKIPPED.contains(&name)
}

/// The rules that hold in one folder: those it adds, and those of the folders above.
#[derive(Clone)]
pub(super) struct Rules(Option<Arc<Level>>);

struct Level {
    /// Bytes of the folder's path with its `/`: rules see paths from there.
    skip: usize,
    sorts: [Option<Gitignore>; SORTS],
    above: Rules,
}

impl Rules {
    /// No rules.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The rules inside `folder`, whose entries are known.
    pub(super) fn inside(
        &self,
        folder: &WorkspacePath,
        entries: &[DirEntry],
        scope: SearchScope<'_>,
    ) -> Self {
        let mut sorts: [Option<Gitignore>; SORTS] = [None, None, None];
        for entry in entries {
            let (sort, path) = match (entry.name.as_str(), entry.kind) {
                (".ignore", FileKind::File | FileKind::Symlink) => (0, folder.join(".ignore")),
                (".gitignore", FileKind::File | FileKind::Symlink) => {
                    (1, folder.join(".gitignore"))
                }
                (".git", FileKind::Directory) => (2, folder.join(".git/info/exclude")),
                _ => continue,
            };
            sorts[sort] = compile(&path, scope);
        }
        if sorts.iter().all(Option::is_none) {
            return self.clone();
        }
        let skip = match folder.as_str() {
            "" => 0,
            path => path.len() + 1,
        };
        Self(Some(Arc::new(Level {
            skip,
            sorts,
            above: self.clone(),
        })))
    }

    /// True when the rules exclude a path; folders above it are taken to be included.
    pub(super) fn exclude(&self, path: &str, is_folder: bool) -> bool {
        for sort in 0..SORTS {
            let mut at = self.0.as_deref();
            while let Some(level) = at {
                if let Some(rules) = &level.sorts[sort] {
                    match rules.matched(&path[level.skip..], is_folder) {
                        Match::Ignore(_) => return true,
                        Match::Whitelist(_) => return false,
                        Match::None => {}
                    }
                }
                at = level.above.0.as_deref();
            }
        }
        false
    }
}

/// The rules of one ignore file. One that cannot be read has none; a wrong line leaves the others.
fn compile(path: &WorkspacePath, scope: SearchScope<'_>) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    let file = scope.files.open(path, scope.wait).ok()?;
    if file.metadata().len > MAX_IGNORE_BYTES {
        return None;
    }
    read_whole(&*file, MAX_IGNORE_BYTES, &mut bytes, scope.wait).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
