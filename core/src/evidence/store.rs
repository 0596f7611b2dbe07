//! The originals of lossy results, kept for a session within limits.
//!
//! Invariants: content is addressed by its digest, so a URI never resolves to other content; whole
//! artifacts are dropped, the oldest first, and never a part of one; what is pinned is not dropped; the
//! limits hold at every moment, so what cannot fit beside pinned artifacts is not kept.

use super::digest::Digest;
use a3s_code_contract::{ArtifactStoreLimits, ToolArtifact};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A complete original. Cloning shares the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// `tool-output:<tool>:<hex>`.
    pub id: String,
    /// `a3s://tool-output/<tool>/<hex>`.
    pub uri: String,
    /// Tool that made it.
    pub tool_name: String,
    /// The bytes.
    pub content: Arc<Vec<u8>>,
    /// Size in bytes.
    pub original_bytes: u64,
    /// Bytes of it that the result showed.
    pub shown_bytes: u64,
}

impl Artifact {
    /// An artifact of these bytes; `tool` is the tool's name, or one with `-before` or `-after` for a
    /// change. Hashes the content.
    #[must_use]
    pub fn new(tool: &str, content: Vec<u8>, shown_bytes: u64) -> Self {
        let digest = Digest::of(&content);
        let (id, uri) = names(tool, &digest);
        Self::named(id, uri, tool, content, shown_bytes)
    }

    /// The same for a digest that is known.
    pub(super) fn named(
        id: String,
        uri: String,
        tool: &str,
        mut content: Vec<u8>,
        shown_bytes: u64,
    ) -> Self {
        // The limits count content, so a builder's spare room must not stay with it.
        if content.capacity() - content.len() > content.len() / 8 {
            content.shrink_to_fit();
        }
        Self {
            id,
            uri,
            tool_name: tool.to_owned(),
            original_bytes: content.len() as u64,
            content: Arc::new(content),
            shown_bytes,
        }
    }
}

impl From<&Artifact> for ToolArtifact {
    fn from(artifact: &Artifact) -> Self {
        Self {
            artifact_id: artifact.id.clone(),
            artifact_uri: artifact.uri.clone(),
            tool_name: artifact.tool_name.clone(),
            content: String::from_utf8_lossy(&artifact.content).into_owned(),
            original_bytes: artifact.original_bytes,
            shown_bytes: artifact.shown_bytes,
        }
    }
}

/// Id and URI of a tool's content with this digest.
pub(super) fn names(tool: &str, digest: &Digest) -> (String, String) {
    let tool: String = tool
        .chars()
        .map(|c| match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .collect();
    let hex = digest.hex();
    (
        format!("tool-output:{tool}:{hex}"),
        format!("a3s://tool-output/{tool}/{hex}"),
    )
}

/// The artifacts of one session; safe to share between threads. A clone is the same store.
#[derive(Clone, Debug)]
pub struct ArtifactStore {
    limits: ArtifactStoreLimits,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    entries: HashMap<String, Entry>,
    /// URIs by the order they came in.
    order: BTreeMap<u64, String>,
    next: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    artifact: Artifact,
    number: u64,
    pins: usize,
}

impl Shelf {
    /// Drops the oldest unpinned artifacts until this many bytes more fit; drops nothing and says false
    /// when that cannot be had.
    fn make_room(&mut self, limits: &ArtifactStoreLimits, bytes: u64) -> bool {
        let mut left_bytes = self.bytes;
        let mut left = self.entries.len() as u64;
        let mut dropped = Vec::new();
        let fits = |left: u64, left_bytes: u64| {
            left < u64::from(limits.max_artifacts)
                && left_bytes.saturating_add(bytes) <= limits.max_bytes
        };
        for (number, uri) in &self.order {
            if fits(left, left_bytes) {
                break;
            }
            if let Some(entry) = self.entries.get(uri)
                && entry.pins == 0
            {
                left -= 1;
                left_bytes -= entry.artifact.original_bytes;
                dropped.push(*number);
            }
        }
        if !fits(left, left_bytes) {
            return false;
        }
        for number in dropped {
            if let Some(uri) = self.order.remove(&number) {
                self.entries.remove(&uri);
            }
        }
        self.bytes = left_bytes;
        true
    }
}

impl ArtifactStore {
    /// An empty store with these limits.
    #[must_use]
    pub fn new(limits: ArtifactStoreLimits) -> Self {
        Self {
            limits,
            shelf: Arc::default(),
        }
    }

    /// Most bytes that one artifact may have to be kept.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        match self.limits.max_artifacts {
            0 => 0,
            _ => self.limits.max_bytes,
        }
    }

    /// Whether content of this many bytes can ever be kept under the limits.
    #[must_use]
    pub fn accepts(&self, bytes: u64) -> bool {
        self.limits.max_artifacts > 0 && bytes <= self.limits.max_bytes
    }

    /// Keeps an artifact, dropping the oldest where room is needed, and says whether it is kept.
    ///
    /// One that is there already stays as it is, with its age. One above the limits, or that does not fit
    /// beside pinned ones, is not kept and nothing is dropped for it.
    pub fn put(&self, artifact: Artifact) -> bool {
        self.lock().put(&self.limits, artifact).is_some()
    }

    /// The same, kept until the pin is dropped: for content that an unfinished call refers to.
    #[must_use]
    pub fn put_pinned(&self, artifact: Artifact) -> Option<ArtifactPin> {
        let uri = artifact.uri.clone();
        let mut shelf = self.lock();
        shelf.put(&self.limits, artifact)?;
        self.pin_on(&mut shelf, &uri)
    }

    /// Holds an artifact until the pin is dropped; none when it is not there.
    #[must_use]
    pub fn pin(&self, uri: &str) -> Option<ArtifactPin> {
        self.pin_on(&mut self.lock(), uri)
    }

    /// The artifact with this URI, while it is kept.
    #[must_use]
    pub fn get(&self, uri: &str) -> Option<Artifact> {
        let shelf = self.lock();
        shelf.entries.get(uri).map(|entry| entry.artifact.clone())
    }

    /// Drops everything, pinned or not.
    pub fn clear(&self) {
        // Numbers go on, so that an old pin never meets a new entry.
        let mut shelf = self.lock();
        let next = shelf.next;
        *shelf = Shelf {
            next,
            ..Shelf::default()
        };
    }

    /// How many artifacts are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// True when none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all content kept.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn pin_on(&self, shelf: &mut Shelf, uri: &str) -> Option<ArtifactPin> {
        let entry = shelf.entries.get_mut(uri)?;
        entry.pins += 1;
        Some(ArtifactPin {
            shelf: Arc::clone(&self.shelf),
            uri: uri.to_owned(),
            number: entry.number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        lock(&self.shelf)
    }
}

impl Shelf {
    /// Some when the artifact is kept.
    fn put(&mut self, limits: &ArtifactStoreLimits, artifact: Artifact) -> Option<()> {
        if self.entries.contains_key(&artifact.uri) {
            return Some(());
        }
        if !self.make_room(limits, artifact.original_bytes) {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.bytes += artifact.original_bytes;
        self.order.insert(number, artifact.uri.clone());
        self.entries.insert(
            artifact.uri.clone(),
            Entry {
                artifact,
                number,
                pins: 0,
            },
        );
        Some(())
    }
}

/// Keeps one artifact from being dropped for as long as it lives.
#[derive(Debug)]
pub struct ArtifactPin {
    shelf: Arc<Mutex<Shelf>>,
    uri: String,
    number: u64,
}

impl ArtifactPin {
    /// URI of the artifact.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }
}

impl Drop for ArtifactPin {
    fn drop(&mut self) {
        let mut shelf = lock(&self.shelf);
        if let Some(entry) = shelf.entries.get_mut(&self.uri)
            && entry.number == self.number
        {
            entry.pins = entry.pins.saturating_sub(1);
        }
    }
}

/// No code that can panic runs under the lock half way through a change, so a poisoned shelf is whole.
fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}
