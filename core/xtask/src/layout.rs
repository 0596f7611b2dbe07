//! Where things are: the root of the repository, the target folder and the profile that is built.

use crate::failure::{AtPath, Result, fail};
use std::path::{Path, PathBuf};

/// Cargo profile of what is built and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// `dev`, in `target/debug`.
    Dev,
    /// `release`, for measurements.
    Release,
}

/// Paths of the repository.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
    target: PathBuf,
    profile: Profile,
}

impl Layout {
    /// Finds the workspace above this package.
    pub(crate) fn discover(profile: Profile) -> Result<Self> {
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let from_package = package.ancestors().nth(2).map(Path::to_path_buf);
        // A binary that was copied with its target folder still finds the tree it is started in.
        let root = match from_package.filter(|root| root.join("Cargo.toml").is_file()) {
            Some(root) => root,
            None => std::env::current_dir().at(Path::new("."))?,
        };
        if !root.join("core/contract/Cargo.toml").is_file() {
            return Err(fail(format!(
                "{} is not the root of the repository",
                root.display()
            )));
        }
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |path| root.join(path));
        Ok(Self {
            root,
            target,
            profile,
        })
    }

    /// A path beneath the root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path beneath the target folder.
    pub(crate) fn target(&self, relative: &str) -> PathBuf {
        self.target.join(relative)
    }

    /// A file that cargo built.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        let folder = match self.profile {
            Profile::Dev => "debug",
            Profile::Release => "release",
        };
        self.target.join(folder).join(name)
    }

    /// The profile.
    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    /// `path` as seen from the root, with `/`; unchanged when it is elsewhere.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned()
    }
}
