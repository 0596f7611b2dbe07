//! Scratch folders for tests.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder with an inner workspace `w/app` and room beside it; removed when dropped.
pub(crate) struct Scratch(PathBuf);

#[allow(clippy::disallowed_methods)]
impl Scratch {
    pub(crate) fn new() -> Self {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("scratch-{}-{id}", std::process::id()));
        std::fs::create_dir_all(folder.join("w/app")).unwrap();
        Self(std::fs::canonicalize(folder).unwrap())
    }

    pub(crate) fn root(&self) -> String {
        self.0.join("w/app").to_str().unwrap().to_owned()
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub(crate) fn inside(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join("w/app").join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.inside(path)).unwrap();
    }

    /// Sets a file's modification time to some seconds ago.
    pub(crate) fn age(&self, path: &str, seconds: u64) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(self.inside(path))
            .unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        file.set_modified(then).unwrap();
    }

    pub(crate) fn fifo(&self, path: &str) {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            self.inside(path),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
