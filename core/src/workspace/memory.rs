//! Files held in memory: the workspace of a process without a disk, and the stand-in for one that is not
//! local. Folders exist by the files in them. Nothing here ever waits.

use super::path::outside;
use super::{
    DirEntry, FileKind, FileSystem, Metadata, OpenFile, Wait, Workspace, WorkspaceError,
    WorkspacePath,
};
use a3s_code_contract::WorkspaceCapability;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// A path that leads out, names a folder, or cannot be used.
    pub fn new(
        label: &str,
        files: BTreeMap<String, Vec<u8>>,
        capabilities: Option<BTreeSet<WorkspaceCapability>>,
    ) -> Result<Self, WorkspaceError> {
        let mut held = BTreeMap::new();
        for (path, bytes) in files {
            let path = normal(&WorkspacePath::parse(&path, label)?)?;
            if path.is_empty() {
                return Err(WorkspaceError::IsDirectory {
                    path: ".".to_owned(),
                });
            }
            held.insert(path, Arc::<[u8]>::from(bytes));
        }
        Ok(Self {
            label: label.to_owned(),
            capabilities: capabilities.unwrap_or_else(|| {
                BTreeSet::from([
                    WorkspaceCapability::Read,
                    WorkspaceCapability::Write,
                    WorkspaceCapability::List,
                    WorkspaceCapability::Search,
                ])
            }),
            files: MemoryFiles { held },
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

struct MemoryFiles {
    held: BTreeMap<String, Arc<[u8]>>,
}

impl MemoryFiles {
    fn is_folder(&self, path: &str) -> bool {
        path.is_empty() || self.beneath(path).next().is_some()
    }

    /// The files below a folder, with their path inside it.
    fn beneath<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a Arc<[u8]>)> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let skipped = prefix.len();
        self.held
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(move |(path, bytes)| (&path[skipped..], bytes))
    }

    /// True when a file stands where the path needs a folder.
    fn crosses_file(&self, path: &str) -> bool {
        path.match_indices('/')
            .any(|(at, _)| self.held.contains_key(&path[..at]))
    }

    fn missing(&self, path: &WorkspacePath, normal: &str) -> WorkspaceError {
        let shown = path.display().into_owned();
        if self.crosses_file(normal) {
            WorkspaceError::NotDirectory { path: shown }
        } else {
            WorkspaceError::NotFound { path: shown }
        }
    }
}

impl FileSystem for MemoryFiles {
    fn open(&self, path: &WorkspacePath, _wait: Wait) -> Result<Box<dyn OpenFile>, WorkspaceError> {
        let normal = normal(path)?;
        match self.held.get(&normal) {
            Some(bytes) => Ok(Box::new(MemoryFile(Arc::clone(bytes)))),
            None if self.is_folder(&normal) => Err(WorkspaceError::IsDirectory {
                path: path.display().into_owned(),
            }),
            None => Err(self.missing(path, &normal)),
        }
    }

    fn metadata(&self, path: &WorkspacePath, _wait: Wait) -> Result<Metadata, WorkspaceError> {
        let normal = normal(path)?;
        match self.held.get(&normal) {
            Some(bytes) => Ok(file_facts(bytes)),
            None if self.is_folder(&normal) => Ok(Metadata {
                kind: FileKind::Directory,
                len: 0,
                modified_ns: 0,
                changed_ns: 0,
                identity: 0,
            }),
            None => Err(self.missing(path, &normal)),
        }
    }

    fn read_dir(&self, path: &WorkspacePath, _wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        let normal = normal(path)?;
        if self.held.contains_key(&normal) {
            return Err(WorkspaceError::NotDirectory {
                path: path.display().into_owned(),
            });
        }
        if !self.is_folder(&normal) {
            return Err(self.missing(path, &normal));
        }
        let mut entries: BTreeMap<&str, DirEntry> = BTreeMap::new();
        for (inner, bytes) in self.beneath(&normal) {
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
