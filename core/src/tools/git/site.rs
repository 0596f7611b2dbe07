//! Which repository a call works on, and what in it has to be switched off by name.
//!
//! The repository is that of the workspace's root. Its files are the workspace's whatever `core.worktree` says. When
//! the root only lies in a larger repository, what is read is limited to the workspace and nothing is changed, since
//! a change would reach files outside.
//!
//! A filter is run by status, diff, checkout and stash, and its name is the repository's choice. When the one
//! configuration file cannot name any (it contains none of the words that could), nothing more is asked; otherwise
//! git lists its effective configuration first, and every filter and hook in it is switched off by name.

use super::program::{self, Done, Effect};
use super::{Stop, not_a_repository};
use crate::process::real_path;
use crate::tools::{ToolCall, ToolError, ToolErrorKind};
use crate::workspace::{FileKind, Wait, Workspace, WorkspaceError, name};
use memchr::memmem;
use std::collections::BTreeSet;

/// Longest configuration file that is looked at here.
const MOST_CONFIG_BYTES: u64 = 64 * 1024;
/// Words without which a configuration file names no filter or hook and no further file.
const TELLING_WORDS: [&[u8]; 4] = [b"filter", b"hook", b"include", b"worktreeconfig"];
/// Most filters and hooks, and most submodules, that are switched off.
const MOST_NAMED: usize = 256;
/// A key that no program knows: git lists it only when it takes settings from variables.
const PROBE: &[u8] = b"a3s.probe";

/// The repository of a workspace.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Real path of the workspace's root.
    pub(super) root: Vec<u8>,
    /// Path of the workspace in its repository, with a slash at its end, when it is not the top.
    pub(super) prefix: Option<Vec<u8>>,
    /// Whether it is a linked worktree.
    pub(super) is_worktree: bool,
    /// Variables that fix what git works on.
    pub(super) variables: Vec<(String, Vec<u8>)>,
    /// Settings that come after all others.
    pub(super) switched_off: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What can be told without git.
struct Look {
    site: Site,
    at_root: bool,
    /// Whether the configuration may name something to be switched off.
    telling: bool,
}

impl Site {
    /// Finds the repository.
    ///
    /// # Errors
    /// There is none, or git cannot be used on it safely.
    pub(super) async fn find(call: &ToolCall) -> Result<Self, Stop> {
        let look: Look = call
            .blocking_work(|workspace, wait| look(workspace, wait))
            .await?;
        let mut site = look.site;
        if look.telling {
            let names = ["config", "--list", "-z", "--name-only"];
            site.switched_off = vec![(PROBE.to_vec(), Vec::new())];
            let listed = program::run(call, &site, Effect::Reads, &names).await?;
            site.switched_off = switched_off(&listed.or_failure()?)?;
        }
        if !look.at_root {
            site.find_above(call).await?;
        }
        Ok(site)
    }

    async fn find_above(&mut self, call: &ToolCall) -> Result<(), Stop> {
        let questions = [
            "rev-parse",
            "--is-inside-work-tree",
            "--git-dir",
            "--git-common-dir",
            "--show-prefix",
        ];
        let done = program::run(call, self, Effect::Reads, &questions).await?;
        let done = done.or_failure()?;
        let mut answers = done.out.splitn(4, |byte| *byte == b'\n');
        let mut answer = || answers.next().unwrap_or_default();
        if answer() != b"true" {
            return Err(not_a_repository().into());
        }
        self.is_worktree = answer() != answer();
        let prefix = answer();
        self.prefix = Some(prefix.strip_suffix(b"\n").unwrap_or(prefix).to_vec());
        Ok(())
    }

    /// The same for a command that cannot be told to leave the files of submodules alone: git would start itself in
    /// each, where filters have other names. What says otherwise for one submodule is overruled by its name.
    pub(super) async fn without_submodules(&self, call: &ToolCall) -> Result<Self, Stop> {
        let mut names = BTreeSet::new();
        // Any of the three may be the one that counts while the command runs.
        for place in [
            "--file=.gitmodules",
            "--blob=:.gitmodules",
            "--blob=HEAD:.gitmodules",
        ] {
            let keys = [
                "config",
                "-z",
                "--name-only",
                place,
                "--get-regexp",
                r"^submodule\.",
            ];
            let done = program::run(call, self, Effect::Reads, &keys).await?;
            if !done.succeeded() && done.message.contains("bad config") {
                return Err(done.failure());
            }
            names.extend(done.out.split(|byte| *byte == 0).filter_map(|key| {
                let end = key.iter().rposition(|byte| *byte == b'.')?;
                key[..end]
                    .starts_with(b"submodule.")
                    .then(|| key[..end].to_vec())
            }));
        }
        few_enough(names.len(), "submodules")?;
        let mut site = self.clone();
        for name in names {
            let setting = ([&name, &b".ignore"[..]].concat(), b"dirty".to_vec());
            site.switched_off.push(setting);
        }
        Ok(site)
    }

    /// Refuses where a change would reach files outside the workspace.
    pub(super) fn may_change(&self) -> Result<(), ToolError> {
        match self.prefix {
            None => Ok(()),
            Some(_) => {
                let message = "The workspace is a folder in a larger repository: this would change files outside it.";
                let kind = ToolErrorKind::Unsupported {
                    message: message.to_owned(),
                };
                Err(ToolError::new(kind, message))
            }
        }
    }

    /// What limits a command to the workspace.
    pub(super) fn paths(&self) -> &'static [&'static str] {
        match self.prefix {
            None => &["--"],
            Some(_) => &["--", "."],
        }
    }

    /// A path of the repository as one of the workspace.
    pub(super) fn own_path(&self, path: &[u8]) -> String {
        let own = match &self.prefix {
            Some(prefix) => path.strip_prefix(&prefix[..]).unwrap_or(path),
            None => path,
        };
        match own {
            [] => ".".to_owned(),
            own => name::encode(own),
        }
    }
}

fn look(workspace: &dyn Workspace, wait: Wait) -> Result<Look, ToolError> {
    let root = name::decode(workspace.root());
    let root = real_path(&root).ok_or_else(|| WorkspaceError::NotFound {
        path: workspace.root().to_owned(),
    })?;
    let parent = root.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let parent = root[..parent].to_vec();
    let files = workspace.file_system();
    let is = |path: &str| {
        let path = workspace.resolve(path)?;
        Ok::<_, WorkspaceError>(files.metadata(&path, wait)?.kind)
    };
    let kind = is(".git");
    let mut look = Look {
        site: Site {
            root,
            prefix: None,
            is_worktree: false,
            variables: Vec::new(),
            switched_off: Vec::new(),
        },
        at_root: !matches!(kind, Err(WorkspaceError::NotFound { .. })),
        telling: true,
    };
    if !look.at_root {
        return Ok(look);
    }
    if parent.contains(&b':') {
        // Such a folder cannot be named as the one where the search ends.
        let whole = [".git/HEAD", ".git/objects", ".git/refs"];
        if matches!(kind, Ok(FileKind::Directory)) && whole.iter().any(|path| is(path).is_err()) {
            return Err(not_a_repository());
        }
    } else if !parent.is_empty() {
        let variable = ("GIT_CEILING_DIRECTORIES".to_owned(), parent);
        look.site.variables.push(variable);
    }
    let work_tree = ("GIT_WORK_TREE".to_owned(), look.site.root.clone());
    look.site.variables.push(work_tree);
    match kind {
        Ok(FileKind::File) => {
            let text = read(workspace, ".git", wait).unwrap_or_default();
            look.site.is_worktree = names_worktree(&text);
        }
        Ok(FileKind::Directory) => {
            let shared = !matches!(is(".git/commondir"), Err(WorkspaceError::NotFound { .. }));
            let config = match read(workspace, ".git/config", wait) {
                Err(WorkspaceError::NotFound { .. }) => Some(Vec::new()),
                read => read.ok(),
            };
            look.telling = shared || config.is_none_or(|config| is_telling(&config));
        }
        _ => {}
    }
    Ok(look)
}

fn read(workspace: &dyn Workspace, path: &str, wait: Wait) -> Result<Vec<u8>, WorkspaceError> {
    let path = workspace.resolve(path)?;
    let file = workspace.file_system().open(&path, wait)?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = file.read_at(bytes.len() as u64, &mut buffer, wait)?;
        if count == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.len() as u64 > MOST_CONFIG_BYTES {
            return Err(WorkspaceError::TooLarge {
                path: path.display().into_owned(),
                size: bytes.len() as u64,
                max: MOST_CONFIG_BYTES,
            });
        }
    }
}

/// Whether a configuration file may name a filter, a hook or a further file.
fn is_telling(config: &[u8]) -> bool {
    let config = config.to_ascii_lowercase();
    TELLING_WORDS
        .iter()
        .any(|word| memmem::find(&config, word).is_some())
}

/// Whether a `.git` file is that of a linked worktree.
fn names_worktree(text: &[u8]) -> bool {
    let Some(path) = text.strip_prefix(b"gitdir:") else {
        return false;
    };
    let mut parts = path.trim_ascii().rsplit(|byte| *byte == b'/');
    parts.next();
    parts.next() == Some(b"worktrees")
}

fn unsupported(message: String) -> ToolError {
    let kind = ToolErrorKind::Unsupported {
        message: message.clone(),
    };
    ToolError::new(kind, message)
}

fn few_enough(count: usize, what: &str) -> Result<(), ToolError> {
    match count <= MOST_NAMED {
        true => Ok(()),
        false => Err(unsupported(format!(
            "This repository names {count} {what}; the most that can be switched off is {MOST_NAMED}."
        ))),
    }
}

/// Settings that switch off every filter and hook of a configuration, given the names of all its keys.
fn switched_off(listed: &Done) -> Result<Vec<(Vec<u8>, Vec<u8>)>, ToolError> {
    let keys = || listed.out.split(|byte| *byte == 0);
    if !keys().any(|key| key == PROBE) {
        return Err(unsupported(
            "The configuration of this repository names programs, and this git is too old to be told not to run them."
                .to_owned(),
        ));
    }
    let named: BTreeSet<(&[u8], bool)> = keys()
        .filter_map(|key| {
            let end = key.iter().rposition(|byte| *byte == b'.')?;
            let section = &key[..end];
            match section {
                _ if section.starts_with(b"filter.") => Some((section, true)),
                _ if section.starts_with(b"hook.") => Some((section, false)),
                _ => None,
            }
        })
        .collect();
    few_enough(named.len(), "filters and hooks")?;
    let filter: &[(&str, &str)] = &[
        ("clean", ""),
        ("smudge", ""),
        ("process", ""),
        ("required", "false"),
    ];
    let hook: &[(&str, &str)] = &[("event", ""), ("enabled", "false")];
    let mut settings = Vec::new();
    for (section, is_filter) in named {
        for (key, value) in if is_filter { filter } else { hook } {
            let key = [section, b".", key.as_bytes()].concat();
            settings.push((key, value.as_bytes().to_vec()));
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_tells_when_it_could_name_a_program_or_a_further_file() {
        assert!(!is_telling(
            b"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n"
        ));
        for telling in [
            &b"[FiLtEr \"x\"]\n\tclean = y\n"[..],
            b"[include]\npath=/x",
            b"[includeIf \"gitdir:/\"]\npath=x",
            b"[extensions] worktreeConfig = true",
            b"[hook \"x\"] command = y",
        ] {
            assert!(is_telling(telling));
        }
    }

    #[test]
    fn a_linked_worktree_is_told_from_a_submodule() {
        assert!(names_worktree(b"gitdir: /r/.git/worktrees/topic\n"));
        assert!(!names_worktree(b"gitdir: ../.git/modules/sub\n"));
        assert!(!names_worktree(b"worktrees/x"));
    }
}
