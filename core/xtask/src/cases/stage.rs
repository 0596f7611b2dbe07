//! The folders of one case on disk: the workspace, the folder outside it and the session store.
//!
//! They lie in the system's temporary folder, never beneath the repository: the ignore files above a workspace count,
//! and those of this repository must not.

use super::content;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Why a case could not be set up.
#[derive(Debug)]
pub(crate) enum StageError {
    /// This machine cannot do it.
    Platform(String),
    /// The case is wrong, or the disk failed.
    Broken(String),
}

impl From<std::io::Error> for StageError {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Folders of a case; removed when dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    home: PathBuf,
    workspace: PathBuf,
}

/// State of a file before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    bytes: Option<Vec<u8>>,
    link: Option<PathBuf>,
    mode: u32,
    modified: Option<SystemTime>,
}

impl Stage {
    /// Makes the folders in `home`, which must be new.
    pub(crate) fn create(home: PathBuf) -> Result<Self, StageError> {
        fs::create_dir_all(&home)?;
        let home = home.canonicalize()?;
        let stage = Self {
            workspace: home.join("workspace"),
            home,
        };
        for folder in [&stage.workspace, &stage.outside(), &stage.store()] {
            fs::create_dir_all(folder)?;
        }
        Ok(stage)
    }

    /// Root of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder beside it.
    pub(crate) fn outside(&self) -> PathBuf {
        self.home.join("beside")
    }

    /// The same folder as seen from the workspace.
    pub(crate) fn outside_relative(&self) -> &'static str {
        "../beside"
    }

    /// Folder for saved sessions.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.join("store")
    }

    /// Where a path of the case lies.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        match path.strip_prefix("outside/") {
            Some(rest) => self.outside().join(rest),
            None => self.workspace.join(path),
        }
    }

    /// Writes the files of the case and, when asked, commits them.
    pub(crate) fn fill(&self, files: Option<&Value>, git: bool) -> Result<(), StageError> {
        for (path, content) in files.and_then(Value::as_object).into_iter().flatten() {
            self.place(path, content)?;
        }
        if git {
            self.commit()?;
        }
        Ok(())
    }

    fn place(&self, path: &str, content: &Value) -> Result<(), StageError> {
        let place = self.locate(path);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        if let Some(target) = content.get("symlink").and_then(Value::as_str) {
            symlink(target, &place)?;
            return Ok(());
        }
        if content.get("dir").is_some() {
            fs::create_dir_all(&place)?;
        } else if content.get("fifo").is_some() {
            let made = Command::new("mkfifo").arg(&place).status();
            if !made.is_ok_and(|status| status.success()) {
                return Err(StageError::Platform("cannot make a named pipe".to_owned()));
            }
        } else {
            let bytes = content::expand(content)
                .map_err(|error| StageError::Broken(format!("{path}: {error}")))?;
            fs::write(&place, bytes)?;
        }
        if let Some(mode) = content.get("mode") {
            let mode = parse_mode(mode).map_err(StageError::Broken)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    fn commit(&self) -> Result<(), StageError> {
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all", "--force"],
            &["commit", "--quiet", "--allow-empty", "--message=first"],
        ] {
            let output = Command::new("git")
                .args(arguments)
                .current_dir(&self.workspace)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_AUTHOR_NAME", "case")
                .env("GIT_AUTHOR_EMAIL", "case@example.com")
                .env("GIT_COMMITTER_NAME", "case")
                .env("GIT_COMMITTER_EMAIL", "case@example.com")
                .output()
                .map_err(|error| StageError::Platform(format!("git: {error}")))?;
            if !output.status.success() {
                return Err(StageError::Broken(format!(
                    "git {arguments:?}: {}",
                    String::from_utf8_lossy(&output.stderr)
                )));
            }
        }
        Ok(())
    }

    /// State of a path of the case, none when nothing is there.
    pub(crate) fn snapshot(&self, path: &str) -> Option<Snapshot> {
        let place = self.locate(path);
        let metadata = fs::symlink_metadata(&place).ok()?;
        Some(Snapshot {
            bytes: metadata.is_file().then(|| fs::read(&place).ok()).flatten(),
            link: fs::read_link(&place).ok(),
            mode: metadata.mode(),
            modified: metadata.modified().ok(),
        })
    }

    /// Compares a path with what a case expects; `before` is its state before the step.
    pub(crate) fn check_file(
        &self,
        path: &str,
        expected: &Value,
        before: Option<&Snapshot>,
    ) -> Result<(), String> {
        let place = self.locate(path);
        let fields = expected
            .as_object()
            .ok_or_else(|| format!("{path}: not an expectation: {expected}"))?;
        for (key, wanted) in fields {
            self.check_file_key(path, &place, key, wanted, before)?;
        }
        Ok(())
    }

    fn check_file_key(
        &self,
        path: &str,
        place: &Path,
        key: &str,
        wanted: &Value,
        before: Option<&Snapshot>,
    ) -> Result<(), String> {
        let bytes = || fs::read(place).map_err(|error| format!("{path}: {error}"));
        match key {
            "text" | "base64" => {
                let wanted = content::expand(&serde_json::json!({ key: wanted }))?;
                let found = bytes()?;
                if found != wanted {
                    return Err(format!(
                        "{path} holds {}, not {}",
                        super::forms::quote(&String::from_utf8_lossy(&found)),
                        super::forms::quote(&String::from_utf8_lossy(&wanted))
                    ));
                }
            }
            "sha256" => {
                let found = content::sha256(&bytes()?);
                if wanted.as_str() != Some(found.as_str()) {
                    return Err(format!("{path} has sha256 {found}, not {wanted}"));
                }
            }
            "absent" => {
                if fs::symlink_metadata(place).is_ok() {
                    return Err(format!("{path} exists"));
                }
            }
            "symlink" => {
                let found =
                    fs::read_link(place).map_err(|error| format!("{path} is no link: {error}"))?;
                if found.to_str() != wanted.as_str() {
                    return Err(format!("{path} leads to {}, not {wanted}", found.display()));
                }
            }
            "mode" => {
                let found = fs::metadata(place)
                    .map_err(|error| format!("{path}: {error}"))?
                    .mode()
                    & 0o7777;
                if found != parse_mode(wanted)? {
                    return Err(format!("{path} has mode {found:04o}, not {wanted}"));
                }
            }
            "unchanged" => {
                let now = self.snapshot(path);
                if now.is_none() || now.as_ref() != before {
                    return Err(format!(
                        "{path} changed{}",
                        difference(before, now.as_ref())
                    ));
                }
            }
            other => return Err(format!("{path}: unknown expectation {other}")),
        }
        Ok(())
    }

    /// Files and links of the workspace, without `.git` and top-level folders of the product's own.
    pub(crate) fn list_files(&self) -> Result<BTreeSet<String>, String> {
        let mut found = BTreeSet::new();
        let mut folders = vec![(self.workspace.clone(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|error| format!("{prefix}: {error}"))? {
                let entry = entry.map_err(|error| error.to_string())?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_folder = entry
                    .file_type()
                    .map_err(|error| error.to_string())?
                    .is_dir();
                if name == ".git" || (is_folder && prefix.is_empty() && name.starts_with(".a3s")) {
                    continue;
                }
                let path = format!("{prefix}{name}");
                if is_folder {
                    folders.push((entry.path(), format!("{path}/")));
                } else {
                    found.insert(path);
                }
            }
        }
        Ok(found)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What a step made unreadable stays behind in the temporary folder; that is no fault of the case.
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn difference(before: Option<&Snapshot>, now: Option<&Snapshot>) -> &'static str {
    match (before, now) {
        (None, _) => " (was not there before the step)",
        (_, None) => " (is gone)",
        (Some(before), Some(now)) if before.bytes != now.bytes || before.link != now.link => {
            " in content"
        }
        (Some(before), Some(now)) if before.mode != now.mode => " in mode",
        _ => " in modification time",
    }
}

fn parse_mode(value: &Value) -> Result<u32, String> {
    value
        .as_str()
        .and_then(|text| u32::from_str_radix(text, 8).ok())
        .ok_or_else(|| format!("not a mode: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stage(name: &str) -> Stage {
        Stage::create(std::env::temp_dir().join(format!("a3s-stage-{}-{name}", std::process::id())))
            .unwrap()
    }

    #[test]
    fn files_are_placed_and_checked() {
        let stage = stage("files");
        let files = json!({
            "a/b.txt": {"text": "x\n", "mode": "0755"}, "l": {"symlink": "a/b.txt"}, "outside/o": {"text": "o"},
            "d": {"dir": true}, "p": {"fifo": true}, ".a3s/x": {"text": ""},
        });
        stage.fill(Some(&files), false).unwrap();
        let before = stage.snapshot("a/b.txt");
        let holds = [
            ("a/b.txt", json!({"text": "x\n"})),
            ("a/b.txt", json!({"mode": "0755"})),
            ("a/b.txt", json!({"unchanged": true})),
            ("l", json!({"symlink": "a/b.txt"})),
            ("gone", json!({"absent": true})),
            ("outside/o", json!({"text": "o"})),
            ("a/b.txt", json!({"base64": "eAo="})),
            ("a/b.txt", json!({"sha256": content::sha256(b"x\n")})),
        ];
        for (path, expected) in &holds {
            assert_eq!(
                stage.check_file(path, expected, before.as_ref()),
                Ok(()),
                "{path} {expected}"
            );
        }
        let fails = [
            ("a/b.txt", json!({"text": "y"})),
            ("a/b.txt", json!({"mode": "0644"})),
            ("l", json!({"symlink": "b"})),
            ("a/b.txt", json!({"absent": true})),
            ("a/b.txt", json!({"sha256": "00"})),
            ("a/b.txt", json!({"other": 1})),
        ];
        for (path, expected) in &fails {
            assert!(
                stage.check_file(path, expected, before.as_ref()).is_err(),
                "{path} {expected}"
            );
        }
        assert_eq!(
            stage.list_files().unwrap(),
            ["a/b.txt", "l", "p"].map(str::to_owned).into()
        );
        let place = stage.locate("a/b.txt");
        let file = fs::File::options().write(true).open(&place).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(
            stage
                .check_file("a/b.txt", &json!({"unchanged": true}), before.as_ref())
                .is_err()
        );
    }

    #[test]
    fn a_repository_has_one_commit_of_all_files() {
        let stage = stage("git");
        stage
            .fill(
                Some(&json!({".gitignore": {"text": "x"}, "x": {"text": "1"}})),
                true,
            )
            .unwrap();
        let output = Command::new("git")
            .args(["ls-files"])
            .current_dir(stage.workspace())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), ".gitignore\nx\n");
    }
}
