//! Files of this machine beneath one root handle.
//!
//! The root is opened once; what the path of the root names later does not matter. Every operation resolves
//! its path beneath that handle (module `beneath`) and then works on the handle it got, so that what was
//! checked and what is used are the same file. Only regular files are opened for reading.

use super::beneath::{Beneath, Purpose, failure};
use super::path::invalid;
use super::{
    DirEntry, FileKind, FileSystem, Metadata, OpenFile, Replacement, StagedWrite, Wait, Workspace,
    WorkspaceError, WorkspacePath, name, write,
};
use a3s_code_contract::WorkspaceCapability;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Statx, StatxFlags, openat, statx};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::os::unix::ffi::OsStrExt;

/// Bytes of folder entries fetched at once.
const DIRECTORY_BUFFER: usize = 32 * 1024;

/// A folder of this machine.
pub struct LocalWorkspace {
    root: String,
    canonical: String,
    capabilities: BTreeSet<WorkspaceCapability>,
    files: LocalFiles,
}

impl LocalWorkspace {
    /// Opens the folder `root`, an absolute path or one relative to the process's folder; a `read_only`
    /// workspace advertises no writing.
    ///
    /// # Errors
    /// The folder is missing, not a folder, or cannot be opened.
    pub fn open(root: &str, read_only: bool) -> Result<Self, WorkspaceError> {
        Self::open_with(root, read_only, false)
    }

    /// The same without `openat2` and without files that have no name, as on a system that lacks or forbids them.
    #[cfg(test)]
    pub(crate) fn open_stepwise(root: &str, read_only: bool) -> Result<Self, WorkspaceError> {
        Self::open_with(root, read_only, true)
    }

    fn open_with(root: &str, read_only: bool, stepwise: bool) -> Result<Self, WorkspaceError> {
        let shown = WorkspacePath::from_spelled(root.to_owned());
        if root.is_empty() || root.contains('\0') {
            return Err(invalid(root, "it is empty or contains NUL".to_owned()));
        }
        let spelled = name::decode(root);
        #[expect(
            clippy::disallowed_methods,
            reason = "the root's own name, before there is a handle"
        )]
        let canonical = std::fs::canonicalize(std::ffi::OsStr::from_bytes(&spelled))
            .map_err(|error| io_failure(&shown, error))?;
        let canonical = canonical.as_os_str().as_bytes().to_vec();
        let handle = openat(
            CWD,
            &*canonical,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|error| failure(&shown, error))?;
        let mut capabilities = BTreeSet::from([
            WorkspaceCapability::Read,
            WorkspaceCapability::Write,
            WorkspaceCapability::List,
            WorkspaceCapability::Search,
            WorkspaceCapability::Execute,
            WorkspaceCapability::Git,
        ]);
        if read_only {
            capabilities.remove(&WorkspaceCapability::Write);
        }
        let canonical_text = name::encode(&canonical);
        let given = if root.starts_with('/') {
            root.to_owned()
        } else {
            canonical_text.clone()
        };
        let spellings = vec![canonical, spelled.into_owned()];
        Ok(Self {
            root: given,
            canonical: canonical_text,
            capabilities,
            files: LocalFiles {
                beneath: Beneath::new(handle, spellings, stepwise),
                writable: !read_only,
                named: stepwise,
            },
        })
    }
}

impl Workspace for LocalWorkspace {
    fn root(&self) -> &str {
        &self.root
    }

    fn is_local(&self) -> bool {
        true
    }

    fn capabilities(&self) -> &BTreeSet<WorkspaceCapability> {
        &self.capabilities
    }

    fn file_system(&self) -> &dyn FileSystem {
        &self.files
    }

    fn resolve(&self, path: &str) -> Result<WorkspacePath, WorkspaceError> {
        let root = name::decode(&self.root);
        let canonical = name::decode(&self.canonical);
        WorkspacePath::parse_beneath(path, &[&root, &canonical])
    }

    fn real_path(&self, path: &WorkspacePath) -> Result<WorkspacePath, WorkspaceError> {
        self.files.beneath.real_path(path)
    }
}

struct LocalFiles {
    beneath: Beneath,
    writable: bool,
    /// Leaves files without a name unused, as on a file system that has none.
    named: bool,
}

impl LocalFiles {
    fn entries(
        &self,
        path: &WorkspacePath,
        wait: Wait,
        sizes: bool,
    ) -> Result<Vec<DirEntry>, WorkspaceError> {
        // Reading a folder has no form that cannot wait.
        if wait == Wait::Never {
            return Err(WorkspaceError::WouldBlock);
        }
        let folder = self.beneath.open(path, Purpose::List, wait)?;
        let mut entries = Vec::new();
        let mut buffer = Vec::with_capacity(DIRECTORY_BUFFER);
        let mut listing = RawDir::new(&folder, buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry.map_err(|error| failure(path, error))?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            let mut kind = kind(entry.file_type());
            let mut len = 0;
            if entry.file_type() == FileType::Unknown || (sizes && kind == FileKind::File) {
                match rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(facts) => {
                        kind = self::kind(FileType::from_raw_mode(facts.st_mode));
                        if kind == FileKind::File {
                            len = u64::try_from(facts.st_size).unwrap_or(0);
                        }
                    }
                    // Removed since it was listed.
                    Err(Errno::NOENT) => continue,
                    Err(_) => {}
                }
            }
            entries.push(DirEntry {
                name: name::encode(bytes),
                kind,
                len,
            });
        }
        Ok(entries)
    }
}

impl FileSystem for LocalFiles {
    fn open(&self, path: &WorkspacePath, wait: Wait) -> Result<Box<dyn OpenFile>, WorkspaceError> {
        let handle = self.beneath.open(path, Purpose::Read, wait)?;
        let metadata = facts(&handle, path, wait)?;
        if metadata.kind != FileKind::Directory {
            path.check_file()?;
        }
        match metadata.kind {
            FileKind::File => Ok(Box::new(LocalFile {
                handle,
                metadata,
                path: path.clone(),
            })),
            FileKind::Directory => Err(WorkspaceError::IsDirectory {
                path: path.display().into_owned(),
            }),
            FileKind::Symlink | FileKind::Other => Err(WorkspaceError::NotRegular {
                path: path.display().into_owned(),
            }),
        }
    }

    fn metadata(&self, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError> {
        let handle = self.beneath.open(path, Purpose::Inspect, wait)?;
        let metadata = facts(&handle, path, wait)?;
        if metadata.kind != FileKind::Directory {
            path.check_file()?;
        }
        Ok(metadata)
    }

    fn read_dir(&self, path: &WorkspacePath, wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.entries(path, wait, true)
    }

    fn scan_dir(&self, path: &WorkspacePath, wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.entries(path, wait, false)
    }

    fn locate(&self, path: &WorkspacePath, wait: Wait) -> Result<WorkspacePath, WorkspaceError> {
        if wait == Wait::Never {
            return Err(WorkspaceError::WouldBlock);
        }
        Ok(self.beneath.place(path)?.real)
    }

    fn stage<'a>(
        &'a self,
        replacement: &Replacement<'a>,
        wait: Wait,
    ) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
        if wait == Wait::Never {
            return Err(WorkspaceError::WouldBlock);
        }
        if !self.writable {
            return Err(WorkspaceError::Unsupported(
                "this workspace is read-only".to_owned(),
            ));
        }
        replacement.path.check_new_file()?;
        write::local::stage(&self.beneath, replacement, self.named)
    }
}

struct LocalFile {
    handle: OwnedFd,
    metadata: Metadata,
    path: WorkspacePath,
}

impl OpenFile for LocalFile {
    fn metadata(&self) -> Metadata {
        self.metadata
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8], wait: Wait) -> Result<usize, WorkspaceError> {
        loop {
            let read = match wait {
                Wait::Allowed => pread(&self.handle, &mut *buffer, offset),
                Wait::Never => preadv2(
                    &self.handle,
                    &mut [IoSliceMut::new(buffer)],
                    offset,
                    ReadWriteFlags::NOWAIT,
                ),
            };
            return match read {
                Ok(read) => Ok(read),
                Err(Errno::INTR) => continue,
                // Not in memory, or a file system or kernel that cannot answer without waiting.
                Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
                    if wait == Wait::Never =>
                {
                    Err(WorkspaceError::WouldBlock)
                }
                Err(error) => Err(failure(&self.path, error)),
            };
        }
    }
}

fn facts(handle: &OwnedFd, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError> {
    // A network file system may ask its server about a handle; without waiting it must not.
    let flags = match wait {
        Wait::Never => AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC,
        Wait::Allowed => AtFlags::EMPTY_PATH,
    };
    match statx(handle, "", flags, StatxFlags::BASIC_STATS) {
        Ok(facts) => Ok(from_statx(&facts)),
        Err(_) if wait == Wait::Never => Err(WorkspaceError::WouldBlock),
        Err(Errno::NOSYS | Errno::PERM) => {
            let facts = rustix::fs::fstat(handle).map_err(|error| failure(path, error))?;
            Ok(Metadata {
                kind: kind(FileType::from_raw_mode(facts.st_mode)),
                len: u64::try_from(facts.st_size).unwrap_or(0),
                modified_ns: nanoseconds(facts.st_mtime, facts.st_mtime_nsec),
                changed_ns: nanoseconds(facts.st_ctime, facts.st_ctime_nsec),
                identity: identity(facts.st_dev, facts.st_ino),
            })
        }
        Err(error) => Err(failure(path, error)),
    }
}

fn from_statx(facts: &Statx) -> Metadata {
    Metadata {
        kind: kind(FileType::from_raw_mode(facts.stx_mode.into())),
        len: facts.stx_size,
        modified_ns: nanoseconds(facts.stx_mtime.tv_sec, facts.stx_mtime.tv_nsec),
        changed_ns: nanoseconds(facts.stx_ctime.tv_sec, facts.stx_ctime.tv_nsec),
        identity: identity(
            rustix::fs::makedev(facts.stx_dev_major, facts.stx_dev_minor),
            facts.stx_ino,
        ),
    }
}

fn identity(device: u64, inode: u64) -> u128 {
    u128::from(device) << 64 | u128::from(inode)
}

fn nanoseconds(seconds: i64, nanos: impl TryInto<i128>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + nanos.try_into().unwrap_or(0)
}

fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

fn io_failure(path: &WorkspacePath, error: std::io::Error) -> WorkspaceError {
    match Errno::from_io_error(&error) {
        Some(errno) => failure(path, errno),
        None => WorkspaceError::Io {
            path: path.display().into_owned(),
            source: error,
        },
    }
}
