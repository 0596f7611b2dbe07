//! Stamps: a piece of set-up is skipped while the digest of its inputs is the one it was last done with.

use crate::failure::{AtPath, Result};
use crate::layout::Layout;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Does `work` unless it was done with the same `inputs` (files or folders) and `salt`, and `product` is there.
pub(super) fn unless_done(
    layout: &Layout,
    name: &str,
    inputs: &[PathBuf],
    salt: &str,
    product: &Path,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = layout.target(&format!("stamps/{name}"));
    let digest = digest(inputs, salt)?;
    if product.exists() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == digest) {
        return Ok(());
    }
    // A failure half way must not look done.
    if stamp.exists() {
        std::fs::remove_file(&stamp).at(&stamp)?;
    }
    work()?;
    if let Some(folder) = stamp.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    std::fs::write(&stamp, digest).at(&stamp)
}

fn digest(inputs: &[PathBuf], salt: &str) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(salt.as_bytes());
    for input in inputs {
        add(&mut hash, input)?;
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn add(hash: &mut Sha256, path: &Path) -> Result<()> {
    hash.update(path.as_os_str().as_encoded_bytes());
    if path.is_dir() {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).at(path)? {
            entries.push(entry.at(path)?.path());
        }
        entries.sort();
        for entry in entries {
            add(hash, &entry)?;
        }
        return Ok(());
    }
    let bytes = std::fs::read(path).at(path)?;
    hash.update(bytes.len().to_le_bytes());
    hash.update(&bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_changes_with_content_and_names() {
        let folder = std::env::temp_dir().join(format!("a3s-stamp-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let inputs = [folder.clone()];
        std::fs::write(folder.join("a"), "1").unwrap();
        let first = digest(&inputs, "").unwrap();
        assert_eq!(digest(&inputs, "").unwrap(), first);
        assert_ne!(digest(&inputs, "v2").unwrap(), first);
        std::fs::write(folder.join("a"), "2").unwrap();
        assert_ne!(digest(&inputs, "").unwrap(), first);
        std::fs::write(folder.join("a"), "1").unwrap();
        std::fs::rename(folder.join("a"), folder.join("b")).unwrap();
        assert_ne!(digest(&inputs, "").unwrap(), first);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
