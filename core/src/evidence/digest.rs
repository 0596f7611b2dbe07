//! SHA-256 values and their written form, `sha256:` and 64 lowercase hex digits.
//!
//! Large texts are hashed beside the scan that shortens them, since both read every byte once and
//! neither needs the other.

use sha2::{Digest as _, Sha256};
use std::thread;

/// Below this many bytes a second thread costs more than it saves.
const PARALLEL_FROM: usize = 1024 * 1024;

/// A SHA-256 value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    /// Digest of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digest of a domain, one zero byte and a content: the recipe of policy and binding digests.
    pub(super) fn with_domain(domain: &str, content: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(domain.as_bytes());
        hasher.update([0]);
        hasher.update(content.as_bytes());
        Self(hasher.finalize().into())
    }

    /// 64 lowercase hex digits.
    pub(super) fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
            .collect()
    }

    /// `sha256:` and the hex digits.
    pub(super) fn prefixed(&self) -> String {
        format!("sha256:{}", self.hex())
    }
}

/// The digest of a text and the outcome of a scan over it, side by side for a large text.
pub(super) fn digest_beside<T>(text: &str, scan: impl FnOnce(&str) -> T) -> (Digest, T) {
    if text.len() < PARALLEL_FROM {
        return (Digest::of(text.as_bytes()), scan(text));
    }
    thread::scope(|scope| {
        let hashing = thread::Builder::new()
            .name("a3s-digest".to_owned())
            .spawn_scoped(scope, || Digest::of(text.as_bytes()));
        let outcome = scan(text);
        // No thread to be had, or it died: the digest is still owed.
        let digest = match hashing.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(digest)) => digest,
            Ok(Err(_)) | Err(_) => Digest::of(text.as_bytes()),
        };
        (digest, outcome)
    })
}
