//! Where a write goes: the folder and the name in it, found step by step beneath the root.
//!
//! Every step opens without following links, a link's text is expanded beneath the handles that were opened,
//! and what comes back is a folder handle and one plain name. Working with `*at` calls on these two cannot
//! reach another folder, whatever happens to the tree meanwhile. Nothing is made here.

use super::beneath::{Beneath, Purpose, Steps, failure, kind_of, open_step};
use super::{WorkspaceError, WorkspacePath, name};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, openat};
use rustix::io::Errno;

/// A file that is there or can be made.
pub(super) struct Place {
    /// The deepest folder on the way that is there.
    pub(super) folder: OwnedFd,
    /// Folders that are missing beneath it, outermost first.
    pub(super) missing: Vec<Vec<u8>>,
    /// Name of the file in the last of them.
    pub(super) name: Vec<u8>,
    /// Whether the file is there.
    pub(super) exists: bool,
    /// The path, links resolved.
    pub(super) real: WorkspacePath,
}

impl Beneath {
    /// Finds the file that a write to this path would make or replace: a regular file, or nothing yet.
    pub(super) fn place(&self, path: &WorkspacePath) -> Result<Place, WorkspaceError> {
        let bytes = path.bytes();
        let mut steps = Steps::new(&bytes);
        let mut behind: Vec<(OwnedFd, Vec<u8>)> = Vec::new();
        while let Some(part) = steps.next() {
            if part == b".." {
                if behind.pop().is_none() {
                    return Err(super::path::outside(path.as_str()));
                }
                continue;
            }
            let here = behind.last().map_or(self.root(), |(fd, _)| fd.as_fd());
            let step = match open_step(here, &part, Purpose::Inspect.flags()) {
                Ok(step) => step,
                Err(Errno::NOENT) => {
                    let mut missing = vec![part];
                    missing.extend(steps);
                    // What is above a folder that is not there, nobody can say.
                    if missing.iter().any(|part| part == b"..") {
                        return Err(failure(path, Errno::NOENT));
                    }
                    return self.placed(path, behind, missing, false);
                }
                Err(error) => return Err(failure(path, error)),
            };
            match kind_of(&step).map_err(|error| failure(path, error))? {
                FileType::Symlink => {
                    if steps.follow(path, &step, self)? {
                        behind.clear();
                    }
                }
                FileType::Directory => behind.push((step, part)),
                _ if steps.more() => return Err(failure(path, Errno::NOTDIR)),
                FileType::RegularFile => return self.placed(path, behind, vec![part], true),
                _ => return Err(failure(path, Errno::NODEV)),
            }
        }
        Err(failure(path, Errno::ISDIR))
    }

    fn placed(
        &self,
        path: &WorkspacePath,
        behind: Vec<(OwnedFd, Vec<u8>)>,
        mut ahead: Vec<Vec<u8>>,
        exists: bool,
    ) -> Result<Place, WorkspaceError> {
        let names: Vec<&[u8]> = behind
            .iter()
            .map(|(_, name)| name.as_slice())
            .chain(ahead.iter().map(Vec::as_slice))
            .collect();
        let real = WorkspacePath::from_spelled(name::encode(&names.join(&b'/')));
        let Some(last) = ahead.pop() else {
            return Err(failure(path, Errno::ISDIR));
        };
        let folder = match behind.into_iter().next_back() {
            Some((folder, _)) => folder,
            None => openat(self.root(), ".", Purpose::Inspect.flags(), Mode::empty())
                .map_err(|error| failure(path, error))?,
        };
        Ok(Place {
            folder,
            missing: ahead,
            name: last,
            exists,
            real,
        })
    }
}
