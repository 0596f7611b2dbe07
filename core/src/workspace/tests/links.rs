//! Links and a tree that changes under a reader.

use super::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exchanges of a folder and a link that leads out, while it is read.
const SWAPS: usize = 4000;

#[test]
fn links_that_stay_inside_work_and_stay_links() {
    let scratch = guarded();
    let root = scratch.root();
    scratch.link("relative", "sub/x");
    scratch.link("absolute", format!("{root}/sub/x"));
    scratch.link("to-absolute", "absolute");
    scratch.link("root", &root);
    scratch.link("sub/dots", "../sub/./x/../x");
    for way in WAYS {
        let workspace = open(&root, way);
        for path in [
            "relative/inner.txt",
            "absolute/inner.txt",
            "to-absolute/inner.txt",
            "root/absolute/inner.txt",
            "root/root/relative/../x/inner.txt",
            "sub/dots/inner.txt",
        ] {
            let found =
                content(&workspace, path).unwrap_or_else(|error| panic!("{way} {path}: {error}"));
            assert_eq!(found, b"inner-text\n");
        }
        let entries = workspace
            .file_system()
            .read_dir(&workspace.resolve("absolute").unwrap(), Wait::Allowed)
            .unwrap();
        assert_eq!(entries[0].name, "inner.txt");
    }
    assert!(scratch.inside("absolute").is_symlink());
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let scratch = guarded();
    scratch.link("l1", "a.txt");
    for at in 2..=41 {
        scratch.link(&format!("l{at}"), format!("l{}", at - 1));
    }
    for way in WAYS {
        let workspace = open(&scratch.root(), way);
        assert_eq!(
            content(&workspace, "l40").unwrap(),
            b"inner-text\n",
            "{way}"
        );
        assert!(
            matches!(
                content(&workspace, "l41"),
                Err(WorkspaceError::LinkLoop { .. })
            ),
            "{way}"
        );
    }
}

#[test]
fn failures_are_told_apart_alike_in_both_ways() {
    let scratch = guarded();
    scratch.link("dangling", "nowhere");
    scratch.link("loop", "loop");
    for way in WAYS {
        let workspace = open(&scratch.root(), way);
        for (path, expected) in [
            ("none", "NotFound"),
            ("none/x", "NotFound"),
            ("dangling", "NotFound"),
            ("a.txt/x", "NotDirectory"),
            ("sub", "IsDirectory"),
            (".", "IsDirectory"),
            ("loop", "LinkLoop"),
            ("sub/../../x", "Outside"),
        ] {
            let error = format!("{:?}", content(&workspace, path).unwrap_err());
            assert!(error.starts_with(expected), "{way} {path}: {error}");
        }
        let listed = workspace
            .file_system()
            .read_dir(&workspace.resolve("a.txt").unwrap(), Wait::Allowed);
        assert!(
            matches!(listed, Err(WorkspaceError::NotDirectory { .. })),
            "{way}"
        );
    }
}

// A folder on the way is exchanged with a link that leads out as fast as the kernel can.
#[test]
fn a_folder_that_becomes_a_link_under_a_reader_never_shows_the_outside() {
    for way in WAYS {
        let scratch = guarded();
        scratch.write("dir/secret.txt", "inner-text\n");
        scratch.link("swap", scratch.beside("far"));
        let workspace = open(&scratch.root(), way);
        let (one, other) = (scratch.inside("dir"), scratch.inside("swap"));
        let done = AtomicBool::new(false);
        let (mut inner, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SWAPS {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    std::thread::yield_now();
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                match content(&workspace, "dir/secret.txt") {
                    Ok(bytes) => {
                        assert_eq!(bytes, b"inner-text\n", "{way}: outside bytes were read");
                        inner += 1;
                    }
                    Err(WorkspaceError::Outside { .. } | WorkspaceError::NotFound { .. }) => {
                        refused += 1
                    }
                    Err(error) => panic!("{way}: {error:?}"),
                }
            }
        });
        assert!(
            inner > 0 && refused > 0,
            "{way}: {inner} read, {refused} refused"
        );
    }
}

#[tokio::test]
async fn reading_changes_nothing_about_a_file() {
    let scratch = guarded();
    scratch.link("link.txt", "a.txt");
    let facts = |path: &str| {
        let facts = scratch.inside(path).symlink_metadata().unwrap();
        (
            facts.mode(),
            facts.ino(),
            facts.mtime(),
            facts.mtime_nsec(),
            facts.ctime(),
            facts.ctime_nsec(),
        )
    };
    let before = (facts("a.txt"), facts("link.txt"));
    let (agent, session) = session(&scratch.root(), "kernel").await;
    for (tool, args) in [
        ("read", serde_json::json!({ "file_path": "link.txt" })),
        ("ls", serde_json::json!({})),
        (
            "search",
            serde_json::json!({ "mode": "grep", "query": "inner" }),
        ),
    ] {
        assert_eq!(session.tool(tool, args).await.unwrap().exit_code, 0);
    }
    agent.close().await;
    assert_eq!((facts("a.txt"), facts("link.txt")), before);
}

#[test]
fn what_is_in_memory_is_read_without_waiting_and_the_rest_is_not_waited_for() {
    let scratch = guarded();
    let root = scratch.root();
    scratch.link("absolute", format!("{root}/a.txt"));
    let workspace = open(&root, "kernel");
    assert!(content(&workspace, "a.txt").is_ok());
    let never = |workspace: &LocalWorkspace, path: &str| {
        content_in(workspace.file_system(), workspace, path, Wait::Never)
    };
    assert_eq!(never(&workspace, "a.txt").unwrap(), b"inner-text\n");
    // These need steps that may wait.
    assert!(matches!(
        never(&workspace, "absolute"),
        Err(WorkspaceError::WouldBlock)
    ));
    let listed = workspace
        .file_system()
        .read_dir(&workspace.resolve("sub").unwrap(), Wait::Never);
    assert!(matches!(listed, Err(WorkspaceError::WouldBlock)));
    let stepwise = open(&root, "stepwise");
    assert!(matches!(
        never(&stepwise, "a.txt"),
        Err(WorkspaceError::WouldBlock)
    ));
}
