//! Files that change, wait or break while a change is made.

use super::*;
use crate::workspace::{
    DirEntry, FileSystem, Metadata, OpenFile, Replacement, StagedWrite, Wait, WorkspaceError,
    WorkspacePath,
};
use a3s_code_contract::WorkspaceCapability as Can;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// A workspace that does something before it lets a file be opened or written.
struct Meddling {
    inner: MemoryWorkspace,
    before_open: Box<dyn Fn(&MemoryWorkspace, &str) + Send + Sync>,
    /// Fails the commit of this file.
    broken: Option<&'static str>,
}

impl Meddling {
    fn new(inner: MemoryWorkspace) -> Self {
        Self {
            inner,
            before_open: Box::new(|_, _| {}),
            broken: None,
        }
    }
}

impl Workspace for Meddling {
    fn root(&self) -> &str {
        self.inner.root()
    }
    fn is_local(&self) -> bool {
        false
    }
    fn capabilities(&self) -> &BTreeSet<Can> {
        self.inner.capabilities()
    }
    fn file_system(&self) -> &dyn FileSystem {
        self
    }
}

impl FileSystem for Meddling {
    fn open(&self, path: &WorkspacePath, wait: Wait) -> Result<Box<dyn OpenFile>, WorkspaceError> {
        let opened = self.inner.file_system().open(path, wait);
        // What the caller got is already old.
        (self.before_open)(&self.inner, path.as_str());
        opened
    }
    fn metadata(&self, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError> {
        self.inner.file_system().metadata(path, wait)
    }
    fn read_dir(&self, path: &WorkspacePath, wait: Wait) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.inner.file_system().read_dir(path, wait)
    }
    fn locate(&self, path: &WorkspacePath, wait: Wait) -> Result<WorkspacePath, WorkspaceError> {
        self.inner.file_system().locate(path, wait)
    }
    fn stage<'a>(
        &'a self,
        replacement: &Replacement<'a>,
        wait: Wait,
    ) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
        let staged = self.inner.file_system().stage(replacement, wait)?;
        if self.broken == Some(replacement.path.as_str()) {
            return Ok(Box::new(Broken));
        }
        Ok(staged)
    }
}

struct Broken;

impl StagedWrite for Broken {
    fn commit(self: Box<Self>) -> Result<crate::workspace::Replaced, WorkspaceError> {
        Err(WorkspaceError::Io {
            path: "c".to_owned(),
            source: std::io::Error::from(std::io::ErrorKind::StorageFull),
        })
    }
}

fn overwrite(workspace: &MemoryWorkspace, path: &str, content: &[u8]) {
    let path = workspace.resolve(path).unwrap();
    let any = Replacement::new(&path, content, crate::workspace::Expectation::Any);
    let files = workspace.file_system();
    files.replace(&any, Wait::Allowed).unwrap();
}

// claims: AST-09
#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_never_overwritten() {
    for (tool, args) in [
        (
            "edit",
            json!({ "file_path": "f", "old_string": "old", "new_string": "new" }),
        ),
        (
            "patch",
            json!({ "file_path": "f", "diff": "@@ -1 +1 @@\n-old\n+new\n" }),
        ),
        (
            "write",
            json!({ "file_path": "f", "mode": "append", "content": "new\n",
                          "expected_offset": 4 }),
        ),
    ] {
        let session = on(Meddling {
            before_open: Box::new(|files, path| overwrite(files, path, b"theirs\n")),
            ..Meddling::new(memory(&[("f", "old\n")]))
        })
        .await;
        let result = call(&session, tool, args).await;
        assert_eq!(
            (tag(&result).as_str(), result.exit_code),
            ("version_conflict", 1),
            "{tool}"
        );
        assert_eq!(session.read_file("f").await.unwrap(), "theirs\n", "{tool}");
    }
}

#[tokio::test]
async fn the_receipt_of_an_overwrite_shows_what_it_replaced() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let session = on(Meddling {
        before_open: Box::new(move |files, path| {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            if number < 3 {
                overwrite(files, path, format!("theirs {number}\n").as_bytes());
            }
        }),
        ..Meddling::new(memory(&[("f", "old\n")]))
    })
    .await;
    let result = session.write_file("f", "mine\n").await.unwrap();
    assert_eq!(facts(&result)["before"], "theirs 2\n", "{}", result.output);
    assert_eq!(tries.load(Ordering::SeqCst), 4);
    assert_eq!(session.read_file("f").await.unwrap(), "mine\n");
}

// claims: EDIT-06
#[tokio::test]
async fn dry_runs_of_a_batch_run_at_the_same_time() {
    let waiting = Arc::new((Mutex::new(0), Condvar::new()));
    let session = on(Meddling {
        before_open: Box::new(move |_, _| {
            let (count, all_here) = &*waiting;
            let mut count = count.lock().unwrap();
            *count += 1;
            all_here.notify_all();
            // Goes on only when all three are inside at once.
            let patience = Duration::from_secs(20);
            let (count, _) = all_here
                .wait_timeout_while(count, patience, |count| *count < 3)
                .unwrap();
            assert!(*count >= 3, "a dry run waited for another to end");
        }),
        ..Meddling::new(memory(&[("a", "x"), ("b", "x"), ("c", "x")]))
    })
    .await;
    let child = |file: &str| {
        json!({ "tool": "edit", "args": { "file_path": file, "old_string": "x",
                                          "new_string": "y", "dry_run": true } })
    };
    let args = json!({ "invocations": [child("a"), child("b"), child("c")] });
    let result = call(&session, "batch", args).await;
    assert_eq!(result.exit_code, 0, "{}", result.output);
    assert_eq!(facts(&result)["execution_mode"], "parallel");
}

// claims: AST-08
#[tokio::test]
async fn several_files_are_patched_all_or_none() {
    let diff = |old: &str| format!("@@ -1 +1 @@\n-{old}\n+new {old}\n");
    let member = |file: &str, old: &str| json!({ "file_path": file, "diff": diff(old) });
    let files = [("a", "a\n"), ("b", "b\n"), ("c", "c\n")];
    let all = json!({ "patches": [member("a", "a"), member("b", "b"), member("c", "c")] });
    for (args, broken, kind) in [
        (all.clone(), None, "none"),
        // The last cannot be put in its place: the others are put back.
        (all.clone(), Some("c"), "transport"),
        (
            json!({ "patches": [member("a", "a"), member("b", "x")] }),
            None,
            "version_conflict",
        ),
        (
            json!({ "patches": [member("a", "a"), member("d", "x")] }),
            None,
            "not_found",
        ),
        (
            json!({ "patches": [member("a", "a"), member("./x/../a", "a")] }),
            None,
            "invalid_argument",
        ),
        (json!({ "patches": [] }), None, "invalid_argument"),
    ] {
        let session = on(Meddling {
            broken,
            ..Meddling::new(memory(&files))
        })
        .await;
        let result = call(&session, "patch", args.clone()).await;
        assert_eq!(tag(&result), kind, "{args}: {}", result.output);
        for (file, old) in files {
            let now = session.read_file(file).await.unwrap();
            let expected = if kind == "none" {
                format!("new {old}")
            } else {
                old.to_owned()
            };
            assert_eq!(now, expected, "{args}");
        }
        if kind == "none" {
            let shown = &facts(&result)["files"];
            assert_eq!(shown.as_array().unwrap().len(), 3);
            assert_eq!(
                (&shown[1]["file_path"], &shown[1]["after"]),
                (&json!("b"), &json!("new b\n"))
            );
        }
    }
}
