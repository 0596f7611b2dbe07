//! Resolution beneath a root handle: nothing opened here can lie outside, however the tree changes meanwhile.
//!
//! Two ways with one outcome. `openat2` lets the kernel refuse every step that leads out. Where it is
//! missing, and for absolute links (which it always refuses, though their target may lie inside), the path is
//! walked component by component: each step is opened without following links, a link's text is read from
//! the handle that was opened, and `..` goes back to the handle the walk came from. A magic link (as in
//! `/proc`) is only ever read as text, never followed.

use super::path::{components, invalid, outside, strip_root};
use super::{Wait, WorkspaceError, WorkspacePath};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;

/// Links followed in one resolution; the kernel's own bound.
const MAX_LINKS: usize = 40;
/// Tries while somebody renames folders below us.
const MAX_TRIES: usize = 64;

/// What a handle is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Facts only.
    Inspect,
    /// The bytes of a file.
    Read,
    /// The entries of a folder.
    List,
}

impl Purpose {
    pub(super) fn flags(self) -> OFlags {
        // A pipe without a writer opens at once and a terminal does not become ours.
        match self {
            Self::Inspect => OFlags::PATH | OFlags::CLOEXEC,
            Self::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
            Self::List => OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        }
    }
}

/// A root handle, and the spellings of its absolute path under which a link may name it.
pub(super) struct Beneath {
    root: OwnedFd,
    spellings: Vec<Vec<u8>>,
    kernel: bool,
}

/// The components that are still ahead in a walk, links expanded as they are met.
pub(super) struct Steps {
    ahead: VecDeque<Vec<u8>>,
    links: usize,
}

impl Iterator for Steps {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.ahead.pop_front()
    }
}

impl Steps {
    pub(super) fn new(path: &[u8]) -> Self {
        Self {
            ahead: components(path).map(<[u8]>::to_vec).collect(),
            links: 0,
        }
    }

    pub(super) fn more(&self) -> bool {
        !self.ahead.is_empty()
    }

    fn again(&mut self, part: Vec<u8>) {
        self.ahead.push_front(part);
    }

    /// Puts what a link says in front of what is ahead; true when the walk goes on from the root.
    pub(super) fn follow(
        &mut self,
        path: &WorkspacePath,
        link: &OwnedFd,
        beneath: &Beneath,
    ) -> Result<bool, WorkspaceError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(failure(path, Errno::LOOP));
        }
        let target = readlinkat(link, "", Vec::new())
            .map_err(|error| failure(path, error))?
            .into_bytes();
        if target.is_empty() {
            return Err(failure(path, Errno::NOENT));
        }
        let parts: Vec<&[u8]> = components(&target).collect();
        let absolute = target[0] == b'/';
        let parts = if absolute {
            beneath
                .spellings
                .iter()
                .find_map(|spelling| strip_root(&parts, spelling))
                .ok_or_else(|| outside(path.as_str()))?
        } else {
            &parts[..]
        };
        for part in parts.iter().rev() {
            self.ahead.push_front(part.to_vec());
        }
        Ok(absolute)
    }
}

impl Beneath {
    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Takes a root handle; `stepwise` leaves `openat2` unused.
    pub(super) fn new(root: OwnedFd, spellings: Vec<Vec<u8>>, stepwise: bool) -> Self {
        let kernel = !stepwise
            && openat2(
                &root,
                ".",
                Purpose::Inspect.flags(),
                Mode::empty(),
                ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            )
            .is_ok();
        Self {
            root,
            spellings,
            kernel,
        }
    }

    /// Opens a path, following links that stay inside.
    pub(super) fn open(
        &self,
        path: &WorkspacePath,
        purpose: Purpose,
        wait: Wait,
    ) -> Result<OwnedFd, WorkspaceError> {
        let bytes = path.bytes();
        if self.kernel {
            let spelled: &[u8] = if bytes.is_empty() { b"." } else { &bytes };
            let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            if wait == Wait::Never {
                resolve |= ResolveFlags::CACHED;
            }
            for _ in 0..MAX_TRIES {
                match openat2(&self.root, spelled, purpose.flags(), Mode::empty(), resolve) {
                    Ok(handle) => return Ok(handle),
                    // Absolute links come here too, wherever they lead: the walk knows which stay inside.
                    Err(Errno::XDEV) => break,
                    Err(Errno::AGAIN | Errno::INVAL) if wait == Wait::Never => {
                        return Err(WorkspaceError::WouldBlock);
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(failure(path, error)),
                }
            }
        }
        if wait == Wait::Never {
            return Err(WorkspaceError::WouldBlock);
        }
        self.walk(path, &bytes, purpose)
    }

    fn walk(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        purpose: Purpose,
    ) -> Result<OwnedFd, WorkspaceError> {
        let mut steps = Steps::new(bytes);
        let mut behind: Vec<OwnedFd> = Vec::new();
        let mut tries = 0;
        while let Some(part) = steps.next() {
            if part == b".." {
                if behind.pop().is_none() {
                    return Err(outside(path.as_str()));
                }
                continue;
            }
            let here = behind.last().map_or(self.root.as_fd(), |fd| fd.as_fd());
            let step = open_step(here, &part, Purpose::Inspect.flags())
                .map_err(|error| failure(path, error))?;
            match kind_of(&step).map_err(|error| failure(path, error))? {
                FileType::Symlink => {
                    if steps.follow(path, &step, self)? {
                        behind.clear();
                    }
                }
                FileType::Directory => behind.push(step),
                _ if steps.more() => return Err(failure(path, Errno::NOTDIR)),
                _ => match purpose {
                    Purpose::Inspect => return Ok(step),
                    Purpose::List => return Err(failure(path, Errno::NOTDIR)),
                    // Opened again by name: what stands there now is still an entry of this folder and,
                    // opened without following, is not a link.
                    Purpose::Read => match open_step(here, &part, purpose.flags()) {
                        Ok(file) => return Ok(file),
                        Err(Errno::LOOP) if tries < MAX_TRIES => {
                            tries += 1;
                            steps.again(part);
                        }
                        Err(error) => return Err(failure(path, error)),
                    },
                },
            }
        }
        let folder = behind.last().map_or(self.root.as_fd(), |fd| fd.as_fd());
        openat(folder, ".", purpose.flags(), Mode::empty()).map_err(|error| failure(path, error))
    }
}

pub(super) fn open_step(
    folder: BorrowedFd<'_>,
    part: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    openat(folder, part, flags | OFlags::NOFOLLOW, Mode::empty())
}

pub(super) fn kind_of(handle: &OwnedFd) -> Result<FileType, Errno> {
    rustix::fs::fstat(handle).map(|facts| FileType::from_raw_mode(facts.st_mode))
}

/// The typed error for what the operating system said about a path.
pub(super) fn failure(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    let shown = path.display().into_owned();
    match error {
        Errno::NOENT => WorkspaceError::NotFound { path: shown },
        Errno::NOTDIR => WorkspaceError::NotDirectory { path: shown },
        Errno::ISDIR => WorkspaceError::IsDirectory { path: shown },
        Errno::LOOP => WorkspaceError::LinkLoop { path: shown },
        Errno::NXIO | Errno::NODEV => WorkspaceError::NotRegular { path: shown },
        Errno::XDEV => outside(path.as_str()),
        Errno::NAMETOOLONG => invalid(path.as_str(), "it is too long".to_owned()),
        _ => WorkspaceError::Io {
            path: shown,
            source: error.into(),
        },
    }
}
