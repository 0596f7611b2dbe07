//! The files that are measured: made anew for a run in the system's temporary folder, gone after it.
//!
//! The same bytes in every run, so that runs can be compared.

use crate::failure::{AtPath, Result};
use crate::process;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const BIG_BYTES: usize = 10_000_000;
const MID_FILES: usize = 1_000;
const MID_FILE_BYTES: usize = 20_000;
const MID_FOLDERS: usize = 40;
const SMALL_FILES: usize = 104;
/// Files of the large repository: as many as a kernel has, and fewer in a quick run.
const LARGE_FILES: usize = 80_000;
const LARGE_FILES_QUICK: usize = 8_000;
const FILES_OF_A_FOLDER: usize = 40;

/// The folder; removed when dropped.
#[derive(Debug)]
pub(crate) struct Corpus(PathBuf);

impl Corpus {
    /// Writes it: `hundred.txt`, `big.txt`, `many/`, `fifty/`, `empty/`, `mid/`, `waits.txt`, and the repositories
    /// `small/` and `large/`.
    pub(crate) fn create(quick: bool) -> Result<Self> {
        let temporary = std::env::temp_dir();
        let temporary = std::fs::canonicalize(&temporary).at(&temporary)?;
        let corpus = Self(temporary.join(format!("a3s-code-bench-{}", std::process::id())));
        let root = corpus.path();
        for folder in ["many", "fifty", "empty", "mid"] {
            let folder = root.join(folder);
            std::fs::create_dir_all(&folder).at(&folder)?;
        }
        write(&root.join("hundred.txt"), &lines(100))?;
        write(&root.join("big.txt"), &lines_of(BIG_BYTES))?;
        for at in 0..32 {
            write(&root.join(format!("many/{at:02}.txt")), &lines(24))?;
        }
        for at in 0..50 {
            write(&root.join(format!("fifty/entry_{at:02}.txt")), &lines(at))?;
        }
        for at in 0..MID_FILES {
            let folder = root.join(format!("mid/part_{:02}", at % MID_FOLDERS));
            std::fs::create_dir_all(&folder).at(&folder)?;
            write(&folder.join(format!("file_{at:04}.rs")), &source(at))?;
        }
        // An absolute link cannot be opened without a chance to wait, so a read of it goes to another thread although
        // its few bytes are in memory.
        let (target, link) = (root.join("hundred.txt"), root.join("waits.txt"));
        std::os::unix::fs::symlink(&target, &link).at(&link)?;
        let large = if quick {
            LARGE_FILES_QUICK
        } else {
            LARGE_FILES
        };
        repository(&root.join("small"), SMALL_FILES)?;
        repository(&root.join("large"), large)?;
        Ok(corpus)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Corpus {
    fn drop(&mut self) {
        // What is left behind is in the temporary folder, and there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A repository of small files with one commit, and three more files that it does not know.
fn repository(root: &Path, files: usize) -> Result<()> {
    for at in 0..files {
        let folder = root.join(format!("part_{:04}", at / FILES_OF_A_FOLDER));
        if at % FILES_OF_A_FOLDER == 0 {
            std::fs::create_dir_all(&folder).at(&folder)?;
        }
        write(&folder.join(format!("file_{at:05}.txt")), &lines(3))?;
    }
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["commit", "--quiet", "--message", "All files"],
    ] {
        let mut git = Command::new("git");
        git.current_dir(root)
            .envs([
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ])
            .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
            .args(["-c", "gc.auto=0"])
            .args(words);
        process::check(&mut git)?;
    }
    for at in 0..3 {
        write(&root.join(format!("new_{at}.txt")), &lines(1))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).at(path)
}

fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = writeln!(
            text,
            "{at:06} a line of text as it stands in a file, not too long"
        );
        text
    })
}

fn lines_of(bytes: usize) -> String {
    let one = lines(1).len();
    lines(bytes.div_ceil(one))
}

fn source(file: usize) -> String {
    let mut text = String::with_capacity(MID_FILE_BYTES + 200);
    let mut at = 0;
    while text.len() < MID_FILE_BYTES {
        let _ = writeln!(
            text,
            "/// Step {at} of part {file}.\npub fn part_{file}_{at}(input: u64) -> u64 {{\n    input.rotate_left({}) ^ {at}\n}}\n",
            at % 63
        );
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_as_large_as_the_rows_say_and_goes_with_its_owner() {
        let corpus = Corpus::create(true).unwrap();
        let root = corpus.path().to_owned();
        let count = |folder: &str| std::fs::read_dir(root.join(folder)).unwrap().count();
        assert_eq!(
            (count("many"), count("fifty"), count("empty"), count("mid")),
            (32, 50, 0, MID_FOLDERS)
        );
        let big = std::fs::metadata(root.join("big.txt")).unwrap().len();
        assert!((10_000_000..10_001_000).contains(&big));
        assert_eq!(
            std::fs::read_to_string(root.join("waits.txt"))
                .unwrap()
                .lines()
                .count(),
            100
        );
        let mid: u64 = std::fs::read_dir(root.join("mid/part_00"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!((500_000..520_000).contains(&mid), "{mid}");
        drop(corpus);
        assert!(!root.exists());
    }
}
