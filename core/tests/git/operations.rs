//! What each operation does and how it fails.

use super::{Repository, done, facts, git, git_in, refused, session_in};
use a3s_code_core::SessionOptions;
use serde_json::{Value, json};

// claims: AST-11, DIRECT-06
#[tokio::test]
async fn status_says_where_the_repository_stands_and_what_differs() {
    let repository = Repository::new();
    let session = repository.session().await;
    let clean = done(&session, json!({"command": "status"})).await;
    assert_eq!(
        (
            &facts(&clean)["branch"],
            &facts(&clean)["is_dirty"],
            &facts(&clean)["is_worktree"]
        ),
        (&json!("main"), &json!(false), &json!(false))
    );
    repository.write("a.txt", "changed\n");
    repository.write("new\nline", "x");
    repository.write("größe.txt", "x");
    repository.git(&["add", "größe.txt"]);
    let dirty = done(&session, json!({"command": "status"})).await;
    assert_eq!(
        (&facts(&dirty)["dirty_count"], &facts(&dirty)["is_dirty"]),
        (&json!(3), &json!(true))
    );
    for row in [" M a.txt\n", "A  größe.txt\n", "?? new\\x0aline\n"] {
        assert!(dirty.output.contains(row), "{row:?}: {}", dirty.output);
    }
    repository.git(&["checkout", "-q", "--detach"]);
    let detached = done(&session, json!({"command": "status"})).await;
    assert_eq!(facts(&detached)["branch"], Value::Null);
    assert!(!detached.output.contains("HEAD"));
}

// claims: AST-11
#[tokio::test]
async fn a_folder_without_a_repository_offers_git_and_says_that_there_is_none() {
    let repository = Repository::none();
    let session = repository.session().await;
    assert!(session.tool_names().iter().any(|name| name == "git"));
    for args in [
        json!({"command": "status"}),
        json!({"command": "log"}),
        json!({"command": "diff"}),
        json!({"command": "branch"}),
        json!({"command": "stash"}),
        json!({"command": "remote"}),
        json!({"command": "worktree"}),
        json!({"command": "checkout", "ref": "main"}),
    ] {
        let result = git(&session, args.clone()).await;
        assert!(
            result.output.contains("not a git repository"),
            "{args}: {}",
            result.output
        );
        assert_eq!(result.error_kind.unwrap().tag(), "unsupported", "{args}");
    }
    // A `.git` that is none does not give way to a repository above.
    git_in(&repository.0, &["init", "-q"]);
    std::fs::create_dir(repository.path(".git")).unwrap();
    for command in [
        "status", "log", "diff", "branch", "stash", "remote", "worktree",
    ] {
        let result = git(&session, json!({"command": command})).await;
        assert!(
            result.output.contains("not a git repository"),
            "{command}: {}",
            result.output
        );
    }
}

#[tokio::test]
async fn a_repository_without_a_commit_has_an_empty_log_and_no_stash() {
    let repository = Repository::none();
    repository.git(&["init", "-q", "-b", "main"]);
    repository.write("a.txt", "x");
    let session = repository.session().await;
    let log = done(&session, json!({"command": "log"})).await;
    assert_eq!(
        (&facts(&log)["count"], &facts(&log)["page"]["total_items"]),
        (&json!(0), &json!(0))
    );
    let status = done(&session, json!({"command": "status"})).await;
    assert_eq!(
        (&facts(&status)["branch"], &facts(&status)["commit"]),
        (&json!("main"), &Value::Null)
    );
    for command in ["branch", "stash", "remote"] {
        let list = done(&session, json!({"command": command})).await;
        assert_eq!(facts(&list)["page"]["total_items"], 0, "{command}");
    }
    let unborn = refused(&session, json!({"command": "diff", "target": "HEAD"})).await;
    assert_eq!(unborn, ("invalid_argument".into(), "target".into()));
}

// claims: AST-11
#[tokio::test]
async fn branches_are_made_and_switched_to_and_local_changes_are_kept() {
    let repository = Repository::new();
    let session = repository.session().await;
    let made = done(
        &session,
        json!({"command": "branch", "name": "feature/größe"}),
    )
    .await;
    assert_eq!(
        (&facts(&made)["branch"], &facts(&made)["switched"]),
        (&json!("feature/größe"), &json!(false))
    );
    assert_eq!(
        repository.git(&["symbolic-ref", "--short", "HEAD"]),
        "main\n"
    );
    let again = refused(
        &session,
        json!({"command": "branch", "name": "feature/größe"}),
    )
    .await;
    assert_eq!(again, ("invalid_argument".into(), "name".into()));
    let nowhere = refused(
        &session,
        json!({"command": "branch", "name": "x", "base": "nope"}),
    )
    .await;
    assert_eq!(nowhere, ("invalid_argument".into(), "base".into()));
    repository.write("a.txt", "main\n");
    repository.write("b/c.txt", "x\n");
    repository.commit("second");
    let switched = done(
        &session,
        json!({"command": "checkout", "ref": "feature/größe"}),
    )
    .await;
    assert_eq!(
        facts(&switched)["changed_paths"],
        json!(["a.txt", "b/c.txt"])
    );
    assert_eq!(repository.read("a.txt"), "start\n");
    repository.write("a.txt", "mine\n");
    let blocked = git(&session, json!({"command": "checkout", "ref": "main"})).await;
    let kind = serde_json::to_value(blocked.error_kind).unwrap();
    assert_eq!(
        (&kind["type"], &kind["path"]),
        (&json!("version_conflict"), &json!("a.txt"))
    );
    assert_eq!(repository.read("a.txt"), "mine\n");
    let forced = done(
        &session,
        json!({"command": "checkout", "ref": "main", "force": true}),
    )
    .await;
    assert_eq!(facts(&forced)["changed_paths"], json!(["a.txt", "b/c.txt"]));
    assert_eq!(repository.read("a.txt"), "main\n");
    let unknown = refused(&session, json!({"command": "checkout", "ref": "nope"})).await;
    assert_eq!(unknown, ("invalid_argument".into(), "ref".into()));
    // A file is no revision.
    let file = refused(&session, json!({"command": "checkout", "ref": "a.txt"})).await;
    assert_eq!(file, ("invalid_argument".into(), "ref".into()));
    let target = done(
        &session,
        json!({"command": "diff", "target": "feature/größe"}),
    )
    .await;
    assert!(
        target.output.contains("-start\n+main\n"),
        "{}",
        target.output
    );
}

// claims: AST-11
#[tokio::test]
async fn a_stash_takes_what_it_is_told_to_take() {
    let repository = Repository::new();
    let session = repository.session().await;
    let nothing = done(&session, json!({"command": "stash", "message": "none"})).await;
    assert_eq!(facts(&nothing)["stashed"], false);
    repository.write("a.txt", "mine\n");
    repository.write("new.txt", "mine\n");
    done(&session, json!({"command": "stash"})).await;
    assert_eq!(repository.read("a.txt"), "mine\n");
    let stashed = done(
        &session,
        json!({"command": "stash", "message": "--keep-index"}),
    )
    .await;
    assert_eq!(facts(&stashed)["stashed"], true);
    assert_eq!(
        (repository.read("a.txt"), repository.read("new.txt")),
        ("start\n".into(), "mine\n".into())
    );
    done(
        &session,
        json!({"command": "stash", "include_untracked": true}),
    )
    .await;
    assert!(!repository.path("new.txt").exists());
    let list = done(&session, json!({"command": "stash"})).await;
    assert!(
        list.output.contains("On main: --keep-index"),
        "{}",
        list.output
    );
    assert_eq!(facts(&list)["page"]["total_items"], 2);
}

// claims: AST-11
#[tokio::test]
async fn worktrees_lie_in_the_workspace_or_beside_it() {
    let repository = Repository::new();
    let session = repository.session().await;
    let made = done(
        &session,
        json!({"command": "worktree", "subcommand": "create", "name": "a/topic"}),
    )
    .await;
    let beside = repository.0.join("w-a-topic");
    assert_eq!(facts(&made)["path"], beside.to_str().unwrap());
    assert!(beside.join("a.txt").exists());
    let args =
        json!({"command": "worktree", "subcommand": "create", "name": "two", "path": "trees/two"});
    let inside = done(&session, args).await;
    assert_eq!(facts(&inside)["path"], "trees/two");
    let in_it = session_in(&repository.path("trees/two"), SessionOptions::new()).await;
    let status = done(&in_it, json!({"command": "status"})).await;
    assert_eq!(
        (&facts(&status)["is_worktree"], &facts(&status)["branch"]),
        (&json!(true), &json!("two"))
    );
    let list = done(&session, json!({"command": "worktree"})).await;
    assert!(list.output.contains("w-a-topic a/topic\n") && list.output.contains("trees/two two\n"));
    std::os::unix::fs::symlink(&repository.0, repository.path("out")).unwrap();
    std::fs::create_dir_all(repository.0.join("sibling")).unwrap();
    for path in [
        "../../x",
        "/tmp/x-worktree",
        "../a/b",
        ".",
        "..",
        "out/x",
        ".git/x",
        "trees",
        "../sibling",
        "-x",
        "a\nb",
    ] {
        let args =
            json!({"command": "worktree", "subcommand": "create", "name": "three", "path": path});
        let result = git(&session, args).await;
        assert_ne!(result.exit_code, 0, "{path}");
        assert!(result.error_kind.is_some(), "{path}: {}", result.output);
    }
    assert!(!repository.0.join("x").exists());
    let exists = json!({"command": "worktree", "subcommand": "create", "name": "two", "path": "trees/three"});
    assert_eq!(
        refused(&session, exists).await,
        ("invalid_argument".into(), "name".into())
    );
    let none =
        json!({"command": "worktree", "subcommand": "create", "name": "four", "new_branch": false});
    assert_eq!(
        refused(&session, none).await,
        ("invalid_argument".into(), "name".into())
    );
    repository.write("trees/two/new.txt", "mine");
    let remove = json!({"command": "worktree", "subcommand": "remove", "path": "trees/two"});
    assert_eq!(
        refused(&session, remove.clone()).await.0,
        "version_conflict"
    );
    let mut forced = remove;
    forced["force"] = json!(true);
    done(&session, forced).await;
    assert!(!repository.path("trees/two").exists());
    let other = json!({"command": "worktree", "subcommand": "remove", "path": "../sibling"});
    assert_eq!(
        refused(&session, other).await,
        ("invalid_argument".into(), "path".into())
    );
    let back = json!({"command": "worktree", "subcommand": "create", "name": "two", "path": "again", "new_branch": false});
    done(&session, back).await;
    assert!(repository.path("again/a.txt").exists());
}

// claims: AST-11
#[tokio::test]
async fn a_workspace_in_a_larger_repository_sees_only_itself_and_changes_nothing() {
    let repository = Repository::new();
    repository.write("sub/b.txt", "start\n");
    repository.commit("in-sub");
    repository.write("secret.txt", "x\n");
    repository.commit("above");
    repository.write("sub/b.txt", "CHANGED\n");
    repository.write("a.txt", "SECRET\n");
    let session = session_in(&repository.path("sub"), SessionOptions::new()).await;
    let status = done(&session, json!({"command": "status"})).await;
    assert_eq!(facts(&status)["dirty_count"], 1);
    assert!(status.output.contains(" M b.txt\n"), "{}", status.output);
    let diff = done(&session, json!({"command": "diff"})).await;
    assert!(diff.output.contains("+CHANGED") && !diff.output.contains("SECRET"));
    assert!(diff.output.starts_with("diff --git a/b.txt b/b.txt\n"));
    let log = done(&session, json!({"command": "log"})).await;
    assert!(log.output.contains("in-sub") && !log.output.contains("above"));
    for args in [
        json!({"command": "checkout", "ref": "main", "force": true}),
        json!({"command": "stash", "message": "x"}),
        json!({"command": "branch", "name": "x"}),
        json!({"command": "worktree", "subcommand": "create", "name": "x"}),
    ] {
        assert_eq!(refused(&session, args).await.0, "unsupported");
    }
    assert_eq!(repository.read("a.txt"), "SECRET\n");
}

// claims: AST-11, CTR-01
#[tokio::test]
async fn what_an_operation_would_ignore_is_refused_and_named() {
    let repository = Repository::new();
    let session = repository.session().await;
    for (args, argument) in [
        (json!({"command": "log", "ref": "main"}), "ref"),
        (json!({"command": "diff", "ref": "main"}), "ref"),
        (
            json!({"command": "checkout", "ref": "main", "name": "x"}),
            "name",
        ),
        (json!({"command": "status", "force": true}), "force"),
        (json!({"command": "status", "cursor": "1"}), "cursor"),
        (
            json!({"command": "branch", "subcommand": "remove"}),
            "subcommand",
        ),
        (json!({"command": "branch", "base": "x"}), "base"),
        (json!({"command": "checkout"}), "ref"),
        (
            json!({"command": "worktree", "subcommand": "create"}),
            "name",
        ),
        (
            json!({"command": "worktree", "subcommand": "remove"}),
            "path",
        ),
        (json!({"command": "diff", "target": "--output=x"}), "target"),
        (json!({"command": "checkout", "ref": "-"}), "ref"),
        (json!({"command": "branch", "name": "-D"}), "name"),
        (
            json!({"command": "branch", "name": "x", "base": "--output=x"}),
            "base",
        ),
        (json!({"command": "stash", "message": "a\nb"}), "message"),
        (json!({"command": "diff", "target": "main\u{0}"}), "target"),
    ] {
        let (kind, named) = refused(&session, args.clone()).await;
        assert_eq!(
            (kind.as_str(), named.as_str()),
            ("invalid_argument", argument),
            "{args}"
        );
    }
    // What only repeats the defaults is taken.
    let filled = json!({"command": "status", "subcommand": "list", "force": false, "base": "HEAD", "new_branch": true,
        "include_untracked": false, "cursor": "", "byte_offset": 0});
    done(&session, filled).await;
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn the_application_says_who_commits_but_not_where() {
    let repository = Repository::new();
    let other = Repository::new();
    let git_dir = other.path(".git");
    let options = SessionOptions::new()
        .with_command_env("GIT_COMMITTER_NAME", "Given Name")
        .with_command_env("GIT_COMMITTER_EMAIL", "given@example.com")
        .with_command_env("GIT_DIR", git_dir.to_str().unwrap())
        .with_command_env("GIT_INDEX_FILE", "/dev/null");
    let session = session_in(&repository.root(), options).await;
    repository.write("a.txt", "mine\n");
    done(&session, json!({"command": "stash", "message": "x"})).await;
    assert_eq!(
        repository.git(&["log", "-1", "--format=%cn", "refs/stash"]),
        "Given Name\n"
    );
    assert_eq!(other.git(&["for-each-ref", "refs/stash"]), "");
}

#[tokio::test]
async fn a_git_of_the_workspace_is_not_run() {
    let repository = Repository::new();
    repository.write("bin/git", "#!/bin/sh\ntouch \"$PWD/CANARY\"\n");
    let program = repository.path("bin/git");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).unwrap();
    let bin = repository.path("bin");
    let options = SessionOptions::new().with_command_env("PATH", bin.to_str().unwrap());
    let session = session_in(&repository.root(), options).await;
    assert_eq!(
        refused(&session, json!({"command": "status"})).await.0,
        "unsupported"
    );
    assert!(!repository.path("CANARY").exists());
    let none = SessionOptions::new().with_command_env("PATH", "/nonexistent");
    let session = session_in(&repository.root(), none).await;
    let missing = git(&session, json!({"command": "status"})).await;
    assert!(
        missing.output.contains("no program `git`"),
        "{}",
        missing.output
    );
    assert_eq!(missing.error_kind.unwrap().tag(), "unsupported");
}
