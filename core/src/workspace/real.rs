//! Where a path really lies beneath a root handle, as the operating system names what was opened.

use super::beneath::{Beneath, Purpose, failure};
use super::path::{invalid, outside};
use super::{Wait, WorkspaceError, WorkspacePath, name};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};
use rustix::io::Errno;

impl Beneath {
    /// The path with every link followed. What does not exist yet keeps its last names behind the real path of the
    /// folder that does; a link that leads nowhere is refused, since what is made through it would lie elsewhere.
    pub(super) fn real_path(&self, path: &WorkspacePath) -> Result<WorkspacePath, WorkspaceError> {
        let spelled = path.as_str();
        let mut existing = spelled;
        loop {
            let folder = WorkspacePath::from_spelled(existing.to_owned());
            match self.open(&folder, Purpose::Inspect, Wait::Allowed) {
                Ok(handle) => {
                    let real = self.name_of(path, rustix::fd::AsFd::as_fd(&handle))?;
                    let rest = spelled[existing.len()..].trim_start_matches('/');
                    return Ok(if rest.is_empty() {
                        real
                    } else {
                        real.join(rest)
                    });
                }
                Err(error @ WorkspaceError::NotFound { .. }) => {
                    let (parent, last) = existing.rsplit_once('/').unwrap_or(("", existing));
                    if last.is_empty() || last == ".." {
                        return Err(error);
                    }
                    self.refuse_dangling(path, parent, last)?;
                    existing = parent;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn refuse_dangling(
        &self,
        path: &WorkspacePath,
        parent: &str,
        last: &str,
    ) -> Result<(), WorkspaceError> {
        let parent = WorkspacePath::from_spelled(parent.to_owned());
        let Ok(folder) = self.open(&parent, Purpose::Inspect, Wait::Allowed) else {
            return Ok(());
        };
        match statat(&folder, &*name::decode(last), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) if FileType::from_raw_mode(facts.st_mode) == FileType::Symlink => Err(
                invalid(path.as_str(), "a link in it leads nowhere".to_owned()),
            ),
            _ => Ok(()),
        }
    }

    /// What the operating system calls an open file, seen from the root as it is called now.
    fn name_of(
        &self,
        path: &WorkspacePath,
        handle: BorrowedFd<'_>,
    ) -> Result<WorkspacePath, WorkspaceError> {
        let here = link_of(handle).map_err(|error| failure(path, error))?;
        let root = link_of(self.root()).map_err(|error| failure(path, error))?;
        let inside = match root.as_slice() {
            b"/" => here.strip_prefix(b"/"),
            root => match here.strip_prefix(root) {
                Some(b"") => Some(&b""[..]),
                Some(rest) => rest.strip_prefix(b"/"),
                None => None,
            },
        };
        match inside {
            Some(inside) => Ok(WorkspacePath::from_spelled(name::encode(inside))),
            None => Err(outside(path.as_str())),
        }
    }
}

fn link_of(handle: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok(readlinkat(CWD, link, Vec::new())?.into_bytes())
}

#[cfg(test)]
mod tests {
    use crate::workspace::test_support::Scratch;
    use crate::workspace::{LocalWorkspace, Workspace};

    // hazards: P1, P7
    #[test]
    fn links_and_spellings_come_out_as_what_they_lead_to() {
        let scratch = Scratch::new();
        scratch.write("secret/key", "k");
        scratch.write("caf\u{e9}", "c");
        scratch.link("dlink", "secret");
        scratch.link("alink", "secret/key");
        scratch.link("self", ".");
        scratch.link("secret/up", "..");
        scratch.link("nowhere", "secret/none");
        scratch.link("absolute", scratch.inside("secret"));
        for stepwise in [false, true] {
            let workspace = match stepwise {
                false => LocalWorkspace::open(&scratch.root(), false),
                true => LocalWorkspace::open_stepwise(&scratch.root(), false),
            };
            let workspace = workspace.unwrap();
            for (spelled, real) in [
                ("secret/key", "secret/key"),
                ("./secret//key", "secret/key"),
                ("dlink/key", "secret/key"),
                ("absolute/key", "secret/key"),
                ("alink", "secret/key"),
                ("self/self/alink", "secret/key"),
                ("secret/up/secret", "secret"),
                ("dlink/new/deep.txt", "secret/new/deep.txt"),
                ("caf\\xc3\\xa9", "caf\u{e9}"),
                (".", ""),
            ] {
                let path = workspace.resolve(spelled).unwrap();
                let found = workspace.real_path(&path).unwrap();
                assert_eq!(found.as_str(), real, "{spelled}");
            }
            let dangling = workspace.resolve("nowhere").unwrap();
            assert!(workspace.real_path(&dangling).is_err());
        }
    }
}
