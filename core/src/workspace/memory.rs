//! Files held in memory: the workspace of a process without a disk, and the stand-in for one that is not
//! local. Folders exist by the files in them. Nothing here ever waits for a device; a write has the one lock
//! for as long as it takes to put a pointer.

use super::path::{invalid, outside};
use super::{
    DirEntry, Expectation, FileKind, FileSystem, Metadata, OpenFile, Replaced, Replacement,
    StagedWrite, Wait, Workspace, WorkspaceError, WorkspacePath, write,
};
use a3s_code_contract::WorkspaceCapability;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Files in memory under a label.
pub struct MemoryWorkspace {
    label: String,
    capabilities: BTreeSet<WorkspaceCapability>,
    files: MemoryFiles,
}

impl MemoryWorkspace {
    /// Takes files by path; `capabilities` are read, write, list and search when not given.
    ///
    /// # Errors
    /// A path that leads out, names a folder, is that of another file in another spelling, lies beneath another
    /// file, or cannot be used.
    pub fn new(
        label: &str,
        files: BTreeMap<String, Vec<u8>>,
        capabilities: Option<BTreeSet<WorkspaceCapability>>,
    ) -> Result<Self, WorkspaceError> {
        let mut held = Shelf::new();
        for (spelled, bytes) in files {
            let path = WorkspacePath::parse(&spelled, label)?;
            path.check_new_file()?;
            let path = normal(&path)?;
            if path.is_empty() {
                return Err(WorkspaceError::IsDirectory {
                    path: ".".to_owned(),
                });
            }
            if held.contains_key(&path) {
                let reason = format!("it is the file `{path}`, which is given already");
                return Err(invalid(&spelled, reason));
            }
            held.insert(path, Arc::<[u8]>::from(bytes));
        }
        if let Some(path) = held.keys().find(|path| crosses_file(&held, path)) {
            return Err(invalid(path, "a part of it is a file".to_owned()));
        }
        let capabilities = capabilities.unwrap_or_else(|| {
            BTreeSet::from([
                WorkspaceCapability::Read,
                WorkspaceCapability::Write,
                WorkspaceCapability::List,
                WorkspaceCapability::Search,
            ])
        });
        Ok(Self {
            label: label.to_owned(),
            files: MemoryFiles {
                held: RwLock::new(held),
                writable: capabilities.contains(&WorkspaceCapability::Write),
            },
            capabilities,
        })
    }
}

impl Workspace for MemoryWorkspace {
    fn root(&self) -> &str {
        &self.label
    }

    fn is_local(&self) -> bool {
        false
    }

    fn capabilities(&self) -> &BTreeSet<WorkspaceCapability> {
        &self.capabilities
    }

    fn file_system(&self) -> &dyn FileSystem {
        &self.files
    }
}

/// Files by normal path.
type Shelf = BTreeMap<String, Arc<[u8]>>;

struct MemoryFiles {
    held: RwLock<Shelf>,
    writable: bool,
}

impl MemoryFiles {
    /// Nothing that can panic runs under the lock half way through a change, so a poisoned shelf is whole.
    fn shelf(&self) -> RwLockReadGuard<'_, Shelf> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files below a folder, with their path inside it.
fn beneath<'a>(held: &'a Shelf, folder: &str) -> impl Iterator<Item = (&'a str, &'a Arc<[u8]>)> {
    let prefix = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let skipped = prefix.len();
    held.range(prefix.clone()..)
        .take_while(move |(path, _)| path.starts_with(&prefix))
        .map(move |(path, bytes)| (&path[skipped..], bytes))
}

fn is_folder(held: &Shelf, path: &str) -> bool {
    path.is_empty() || beneath(held, path).next().is_some()
}

/// True when a file stands where the path needs a folder.
fn crosses_file(held: &Shelf, path: &str) -> bool {
    path.match_indices('/')
        .any(|(at, _)| held.contains_key(&path[..at]))
}

fn missing(held: &Shelf, path: &WorkspacePath, normal: &str) -> WorkspaceError {
    let shown = path.display().into_owned();
    if crosses_file(held, normal) {
        WorkspaceError::NotDirectory { path: shown }
    } else {
        WorkspaceError::NotFound { path: shown }
    }
}

impl FileSystem for MemoryFiles {
    fn open(&self, path: &WorkspacePath, _wait: Wait) -> Result<Box<dyn OpenFile>, WorkspaceError> {
        let normal = normal(path)?;
        let held = self.shelf();
        match held.get(&normal) {
            Some(bytes) => {
                path.check_file()?;
                Ok(Box::new(MemoryFile(Arc::clone(bytes))))
            }
            None if is_folder(&held, &normal) => Err(WorkspaceError::IsDirectory {
                path: path.display().into_owned(),
            }),
            None => Err(missing(&held, path, &normal)),
        }
    }

    fn metadata(&self, path: &WorkspacePath, _wait: Wait) -> Result<Metadata, WorkspaceError> {
        let normal = normal(path)?;
        let held = self.shelf();
        match held.get(&normal) {
            Some(bytes) => {
                path.check_file()?;
                Ok(file_facts(bytes))
            }
            None if is_folder(&held, &normal) => Ok(Metadata {
                kind: FileKind::Directory,
                len: 0,
                modified_ns: 0,
                changed_ns: 0,
                identity: 0,
            }),
            None => Err(missing(&held, path, &normal)),
        }
    }

    fn read_dir(&self, path: &WorkspacePath, _wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        let normal = normal(path)?;
        let held = self.shelf();
        if held.contains_key(&normal) {
            return Err(WorkspaceError::NotDirectory {
                path: path.display().into_owned(),
            });
        }
        if !is_folder(&held, &normal) {
            return Err(missing(&held, path, &normal));
        }
        let mut entries: BTreeMap<&str, DirEntry> = BTreeMap::new();
        for (inner, bytes) in beneath(&held, &normal) {
            let (name, kind, len) = match inner.split_once('/') {
                Some((folder, _)) => (folder, FileKind::Directory, 0),
                None => (inner, FileKind::File, bytes.len() as u64),
            };
            entries.entry(name).or_insert_with(|| DirEntry {
                name: name.to_owned(),
                kind,
                len,
            });
        }
        Ok(entries.into_values().collect())
    }

    fn locate(&self, path: &WorkspacePath, _wait: Wait) -> Result<WorkspacePath, WorkspaceError> {
        Ok(WorkspacePath::from_spelled(normal(path)?))
    }

    fn stage<'a>(
        &'a self,
        replacement: &Replacement<'a>,
        wait: Wait,
    ) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
        // The same everywhere: a write is never made on the thread of a caller.
        if wait == Wait::Never {
            return Err(WorkspaceError::WouldBlock);
        }
        if !self.writable {
            return Err(WorkspaceError::Unsupported(
                "this workspace is read-only".to_owned(),
            ));
        }
        replacement.path.check_new_file()?;
        let staged = MemoryStaged {
            files: self,
            replacement: *replacement,
            normal: normal(replacement.path)?,
            content: replacement.content.into(),
        };
        replacement.check_limits(&WorkspacePath::from_spelled(staged.normal.clone()))?;
        staged.check(&self.shelf())?;
        Ok(Box::new(staged))
    }
}

struct MemoryStaged<'a> {
    files: &'a MemoryFiles,
    replacement: Replacement<'a>,
    normal: String,
    content: Arc<[u8]>,
}

impl MemoryStaged<'_> {
    /// Fails when the file cannot be there, or is not the one expected.
    fn check(&self, held: &Shelf) -> Result<(), WorkspaceError> {
        if is_folder(held, &self.normal) {
            return Err(WorkspaceError::IsDirectory {
                path: self.replacement.path.display().into_owned(),
            });
        }
        if crosses_file(held, &self.normal) {
            return Err(missing(held, self.replacement.path, &self.normal));
        }
        let current = held.get(&self.normal).map(|bytes| &**bytes);
        let as_expected = match self.replacement.expectation {
            Expectation::Any => true,
            Expectation::Absent => current.is_none(),
            Expectation::Content(bytes) => current == Some(bytes),
        };
        if as_expected {
            self.replacement.check_stopped()
        } else {
            Err(self.replacement.conflict(current.map(write::version)))
        }
    }
}

impl StagedWrite for MemoryStaged<'_> {
    fn commit(self: Box<Self>) -> Result<Replaced, WorkspaceError> {
        let mut held = self
            .files
            .held
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        self.check(&held)?;
        let Self {
            replacement,
            normal,
            content,
            ..
        } = *self;
        let created = !held.contains_key(&normal);
        let written = !replacement.changes_nothing();
        if written {
            held.insert(normal.clone(), content);
        }
        Ok(Replaced {
            path: WorkspacePath::from_spelled(normal),
            created,
            written,
        })
    }
}

struct MemoryFile(Arc<[u8]>);

impl OpenFile for MemoryFile {
    fn metadata(&self) -> Metadata {
        file_facts(&self.0)
    }

    fn read_at(
        &self,
        offset: u64,
        buffer: &mut [u8],
        _wait: Wait,
    ) -> Result<usize, WorkspaceError> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

fn file_facts(bytes: &Arc<[u8]>) -> Metadata {
    Metadata {
        kind: FileKind::File,
        len: bytes.len() as u64,
        modified_ns: 0,
        changed_ns: 0,
        identity: 0,
    }
}

/// The path without `..`: there are no links in memory, so the text decides.
fn normal(path: &WorkspacePath) -> Result<String, WorkspaceError> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.as_str().split('/').filter(|part| !part.is_empty()) {
        if part == ".." {
            parts.pop().ok_or_else(|| outside(path.as_str()))?;
        } else {
            parts.push(part);
        }
    }
    Ok(parts.join("/"))
}
