//! Writes: whole or not at all, nowhere but inside, and with everything about the file kept.

#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]

use super::*;
use crate::workspace::write::local::TEMPORARY;
use crate::workspace::{Expectation, MemoryWorkspace, Replaced, Replacement};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Exchanges of a folder and a link that leads out, while there are writes into it.
const SWAPS: usize = 4000;

fn put(
    workspace: &dyn Workspace,
    path: &str,
    content: &[u8],
    expectation: Expectation<'_>,
) -> Result<Replaced, WorkspaceError> {
    let path = workspace.resolve(path)?;
    let replacement = Replacement::new(&path, content, expectation);
    workspace.file_system().replace(&replacement, Wait::Allowed)
}

fn bytes(scratch: &Scratch, path: &str) -> Vec<u8> {
    std::fs::read(scratch.inside(path)).unwrap()
}

/// Every path beneath the folder that holds the workspace, to tell what appeared.
fn tree(scratch: &Scratch) -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            found.push(entry.path().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    walk(&scratch.beside(""), &mut found);
    found.sort();
    found
}

#[test]
fn a_new_file_is_made_with_its_folders_and_nothing_else_appears() {
    for way in WAYS {
        let scratch = guarded();
        let workspace = open_writable(&scratch.root(), way);
        let before = tree(&scratch);
        let made = put(&workspace, "n/./m/new.txt", b"new\n", Expectation::Absent).unwrap();
        assert_eq!(
            (made.path.as_str(), made.created, made.written),
            ("n/m/new.txt", true, true),
            "{way}"
        );
        assert_eq!(bytes(&scratch, "n/m/new.txt"), b"new\n");
        assert_eq!(tree(&scratch).len(), before.len() + 3, "{way}");
        let mode = scratch.inside("n/m/new.txt").metadata().unwrap().mode();
        assert_eq!(mode & 0o111, 0, "a text is not made executable");
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_and_is_a_fresh_one() {
    for way in WAYS {
        let scratch = guarded();
        let workspace = open_writable(&scratch.root(), way);
        for mode in [0o755, 0o600, 0o640, 0o666] {
            let file = scratch.inside("a.txt");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let _ = std::fs::remove_file(scratch.inside("other-name"));
            std::fs::hard_link(&file, scratch.inside("other-name")).unwrap();
            let old = bytes(&scratch, "a.txt");
            let new = format!("{mode}\n");
            let done = put(
                &workspace,
                "a.txt",
                new.as_bytes(),
                Expectation::Content(&old),
            );
            assert!(!done.unwrap().created);
            assert_eq!(bytes(&scratch, "a.txt"), new.as_bytes());
            assert_eq!(file.metadata().unwrap().mode() & 0o7777, mode, "{way}");
            assert_eq!(bytes(&scratch, "other-name"), old, "{way}");
        }
    }
}

#[test]
fn writing_the_bytes_that_are_there_touches_nothing() {
    for way in WAYS {
        let scratch = guarded();
        let workspace = open_writable(&scratch.root(), way);
        scratch.age("a.txt", 100);
        let facts = || {
            let facts = scratch.inside("a.txt").metadata().unwrap();
            (
                facts.ino(),
                facts.mtime(),
                facts.ctime(),
                facts.ctime_nsec(),
            )
        };
        let before = facts();
        let same = Expectation::Content(b"inner-text\n");
        let done = put(&workspace, "a.txt", b"inner-text\n", same).unwrap();
        assert!(!done.written && !done.created);
        assert_eq!(facts(), before, "{way}");
    }
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_replaced() {
    for way in WAYS {
        let scratch = guarded();
        let root = scratch.root();
        scratch.link("link", "sub/x/inner.txt");
        scratch.link("absolute", format!("{root}/link"));
        scratch.link("folder", "sub");
        scratch.link("dangling", "sub/made.txt");
        let workspace = open_writable(&root, way);
        for (path, real) in [
            ("link", "sub/x/inner.txt"),
            ("absolute", "sub/x/inner.txt"),
            ("folder/x/../x/inner.txt", "sub/x/inner.txt"),
            ("dangling", "sub/made.txt"),
        ] {
            let done = put(&workspace, path, path.as_bytes(), Expectation::Any).unwrap();
            assert_eq!(done.path.as_str(), real, "{way}");
            assert_eq!(bytes(&scratch, real), path.as_bytes(), "{way}");
        }
        for link in ["link", "absolute", "folder", "dangling"] {
            assert!(scratch.inside(link).is_symlink(), "{way} {link}");
        }
    }
}

#[test]
fn no_write_makes_or_changes_anything_outside() {
    for way in WAYS {
        let scratch = guarded();
        scratch.link("out", scratch.beside("far"));
        scratch.link("out-file", scratch.beside("far/secret.txt"));
        scratch.link("out-dangling", scratch.beside("far/new.txt"));
        scratch.link("up", "../new.txt");
        scratch.link("up-folder", "..");
        scratch.link("loop", "loop");
        let workspace = open_writable(&scratch.root(), way);
        let before = tree(&scratch);
        for (path, expected) in [
            ("out/new.txt", "Outside"),
            ("out/secret.txt", "Outside"),
            ("out/deep/er/new.txt", "Outside"),
            ("out-file", "Outside"),
            ("out-dangling", "Outside"),
            ("up", "Outside"),
            ("up-folder/new.txt", "Outside"),
            ("up-folder/app/new.txt", "Outside"),
            ("sub/../../new.txt", "Outside"),
            ("new/../../../x", "Outside"),
            ("loop", "LinkLoop"),
            ("loop/x", "LinkLoop"),
            ("missing/../new.txt", "NotFound"),
            ("a.txt/new.txt", "NotDirectory"),
            ("sub", "IsDirectory"),
            (".", "IsDirectory"),
        ] {
            let refused = put(&workspace, path, b"x", Expectation::Any);
            let error = format!("{:?}", refused.unwrap_err());
            assert!(error.starts_with(expected), "{way} {path}: {error}");
        }
        assert_eq!(tree(&scratch), before, "{way}");
        for canary in ["far/secret.txt", "secret.txt", "w/secret.txt"] {
            let outside = std::fs::read_to_string(scratch.beside(canary)).unwrap();
            assert_eq!(outside, CANARY, "{way} {canary}");
        }
    }
}

#[test]
fn pipes_are_never_replaced_and_never_waited_for() {
    for way in WAYS {
        let scratch = guarded();
        scratch.fifo("pipe");
        let workspace = open_writable(&scratch.root(), way);
        let refused = put(&workspace, "pipe", b"x", Expectation::Any);
        assert!(
            matches!(refused, Err(WorkspaceError::NotRegular { .. })),
            "{way}"
        );
    }
}

#[test]
fn a_write_that_is_refused_leaves_no_file_and_no_folder() {
    fn all(_: &crate::workspace::WorkspacePath) -> bool {
        true
    }
    for way in WAYS {
        let scratch = guarded();
        let workspace = open_writable(&scratch.root(), way);
        let before = tree(&scratch);
        let files = workspace.file_system();
        for path in ["a.txt", "n/m/new.txt"] {
            let path = workspace.resolve(path).unwrap();
            let plain = Replacement::new(&path, b"x", Expectation::Any);
            let off_limits = Replacement {
                off_limits: Some(all),
                ..plain
            };
            let refused = files.replace(&off_limits, Wait::Allowed);
            assert!(matches!(refused, Err(WorkspaceError::OffLimits { .. })));
            // Called off between staging and the last step.
            let asked = AtomicUsize::new(0);
            let late = || asked.fetch_add(1, Ordering::SeqCst) > 0;
            let stopped = Replacement {
                stopped: Some(&late),
                ..plain
            };
            let refused = files.replace(&stopped, Wait::Allowed);
            assert!(matches!(refused, Err(WorkspaceError::Stopped { .. })));
            assert_eq!(asked.load(Ordering::SeqCst), 2, "{way}");
            let other = Replacement {
                expectation: Expectation::Content(b"other"),
                ..plain
            };
            let refused = files.replace(&other, Wait::Allowed);
            assert!(matches!(
                refused,
                Err(WorkspaceError::VersionConflict { .. })
            ));
            drop(files.stage(&plain, Wait::Allowed).unwrap());
            assert!(matches!(
                files.stage(&plain, Wait::Never),
                Err(WorkspaceError::WouldBlock)
            ));
        }
        assert_eq!(tree(&scratch), before, "{way}");
        assert_eq!(bytes(&scratch, "a.txt"), b"inner-text\n");
        let read_only = super::open(&scratch.root(), way);
        let refused = put(&read_only, "a.txt", b"x", Expectation::Any);
        assert!(matches!(refused, Err(WorkspaceError::Unsupported(_))));
    }
}

#[test]
fn a_file_that_changed_after_it_was_read_or_staged_is_kept_and_the_error_says_what_it_is() {
    let label = "memory";
    for way in ["kernel", "stepwise", label] {
        let scratch = guarded();
        let workspace: Box<dyn Workspace> = if way == label {
            let files = BTreeMap::from([("a.txt".to_owned(), b"inner-text\n".to_vec())]);
            Box::new(MemoryWorkspace::new(label, files, None).unwrap())
        } else {
            Box::new(open_writable(&scratch.root(), way))
        };
        let workspace = &*workspace;
        let path = workspace.resolve("a.txt").unwrap();
        let seen = Expectation::Content(b"inner-text\n");
        let staged = Replacement::new(&path, b"mine\n", seen);
        let staged = workspace
            .file_system()
            .stage(&staged, Wait::Allowed)
            .unwrap();
        // As long, so that only the bytes tell.
        put(workspace, "a.txt", b"OTHER-TEXT\n", Expectation::Any).unwrap();
        let Err(WorkspaceError::VersionConflict {
            expected, actual, ..
        }) = staged.commit()
        else {
            panic!("{way}: the change was lost");
        };
        assert_eq!(expected, crate::workspace::write::version(b"inner-text\n"));
        assert_eq!(
            actual,
            Some(crate::workspace::write::version(b"OTHER-TEXT\n"))
        );
        assert_eq!(content(workspace, "a.txt").unwrap(), b"OTHER-TEXT\n");
        let there = put(workspace, "a.txt", b"x", Expectation::Absent);
        assert!(matches!(there, Err(WorkspaceError::VersionConflict { .. })));
        let gone = put(workspace, "b.txt", b"x", Expectation::Content(b"y"));
        assert!(
            matches!(
                gone,
                Err(WorkspaceError::VersionConflict { actual: None, .. })
            ),
            "{way}"
        );
    }
}

// Two workspaces on one folder, as two sessions or processes have them.
#[test]
fn of_writers_that_expect_the_same_bytes_one_wins_and_no_change_is_lost() {
    const EACH: usize = 60;
    for way in WAYS {
        let scratch = guarded();
        scratch.write("count", "0");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let workspace = open_writable(&scratch.root(), way);
                scope.spawn(move || {
                    let mut done = 0;
                    while done < EACH {
                        let old = content(&workspace, "count").unwrap();
                        let number: usize = std::str::from_utf8(&old).unwrap().parse().unwrap();
                        let new = (number + 1).to_string();
                        match put(
                            &workspace,
                            "count",
                            new.as_bytes(),
                            Expectation::Content(&old),
                        ) {
                            Ok(_) => done += 1,
                            Err(WorkspaceError::VersionConflict { .. }) => {}
                            Err(error) => panic!("{way}: {error:?}"),
                        }
                    }
                });
            }
        });
        assert_eq!(bytes(&scratch, "count"), (3 * EACH).to_string().as_bytes());
    }
}

#[test]
fn a_reader_sees_the_old_bytes_or_the_new_ones() {
    for way in WAYS {
        let scratch = guarded();
        scratch.write("f", "a".repeat(4096));
        let workspace = open_writable(&scratch.root(), way);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0..200 {
                    let letter = [b'a', b'b'][at % 2];
                    put(&workspace, "f", &[letter; 4096], Expectation::Any).unwrap();
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                let seen = bytes(&scratch, "f");
                assert_eq!(seen.len(), 4096, "{way}: part of a file was seen");
                assert!(seen.iter().all(|byte| *byte == seen[0]), "{way}");
            }
        });
        let names = tree(&scratch);
        assert!(!names.iter().any(|name| name.contains(TEMPORARY)), "{way}");
    }
}

// A folder on the way is exchanged with a link that leads out as fast as the kernel can.
#[test]
fn a_folder_that_becomes_a_link_under_a_writer_never_lets_a_write_out() {
    for way in WAYS {
        let scratch = guarded();
        scratch.write("dir/secret.txt", "inner-text\n");
        scratch.link("swap", scratch.beside("far"));
        let workspace = open_writable(&scratch.root(), way);
        let (one, other) = (scratch.inside("dir"), scratch.inside("swap"));
        let done = AtomicBool::new(false);
        let (mut written, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SWAPS {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    std::thread::yield_now();
                }
                done.store(true, Ordering::Release);
            });
            for at in 0.. {
                if done.load(Ordering::Acquire) && written > 0 && refused > 0 {
                    break;
                }
                assert!(
                    at < 1_000_000,
                    "{way}: {written} written, {refused} refused"
                );
                let path = ["dir/secret.txt", "dir/new.txt", "dir/deep/new.txt"][at % 3];
                match put(&workspace, path, b"written\n", Expectation::Any) {
                    Ok(_) => written += 1,
                    Err(WorkspaceError::Outside { .. }) => refused += 1,
                    Err(error) => panic!("{way}: {error:?}"),
                }
                if done.load(Ordering::Acquire) && refused == 0 {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let far: Vec<_> = std::fs::read_dir(scratch.beside("far")).unwrap().collect();
        assert_eq!(far.len(), 1, "{way}: something was made outside");
        let outside = std::fs::read_to_string(scratch.beside("far/secret.txt")).unwrap();
        assert_eq!(outside, CANARY, "{way}");
    }
}

#[test]
fn a_memory_workspace_writes_like_a_local_one() {
    let files = BTreeMap::from([("d/a.txt".to_owned(), b"old".to_vec())]);
    let workspace = MemoryWorkspace::new("memory", files, None).unwrap();
    let made = put(&workspace, "d/e/../f/b.txt", b"new", Expectation::Absent).unwrap();
    assert_eq!(
        (made.path.as_str(), made.created, made.written),
        ("d/f/b.txt", true, true)
    );
    assert_eq!(content(&workspace, "d/f/b.txt").unwrap(), b"new");
    let same = put(&workspace, "d/a.txt", b"old", Expectation::Content(b"old")).unwrap();
    assert!(!same.written && !same.created);
    for (path, expected) in [
        ("d", "IsDirectory"),
        ("d/a.txt/x", "NotDirectory"),
        ("x/../../y", "Outside"),
    ] {
        let refused = put(&workspace, path, b"x", Expectation::Any);
        let error = format!("{:?}", refused.unwrap_err());
        assert!(error.starts_with(expected), "{path}: {error}");
    }
}
