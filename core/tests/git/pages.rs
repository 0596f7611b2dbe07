//! Pages: every part once, cursors bound to what they were cut from.

use super::{Repository, done, facts, git, refused};
use serde_json::{Value, json};

/// Follows cursors to the end; the texts of all pages.
async fn follow(repository: &Repository, mut args: Value, take: &str, give: &str) -> Vec<String> {
    let session = repository.session().await;
    let mut pages = Vec::new();
    loop {
        let result = done(&session, args.clone()).await;
        let next = facts(&result).pointer(take).cloned().unwrap();
        pages.push(result.output);
        if next.is_null() {
            return pages;
        }
        args[give] = next;
        assert!(pages.len() < 60, "no end");
    }
}

// claims: CTR-08
#[tokio::test]
async fn the_log_shows_every_commit_once_also_when_new_ones_come_meanwhile() {
    let repository = Repository::new();
    for n in 0..23 {
        repository.git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            &format!("subject-{n:03}|x"),
        ]);
    }
    let pages = follow(
        &repository,
        json!({"command": "log", "limit": 5}),
        "/page/next_cursor",
        "cursor",
    )
    .await;
    assert_eq!(pages.len(), 5);
    for n in 0..23 {
        assert_eq!(
            pages.concat().matches(&format!("subject-{n:03}|x")).count(),
            1
        );
    }
    let session = repository.session().await;
    let first = done(&session, json!({"command": "log", "limit": 5})).await;
    assert_eq!(facts(&first)["page"]["total_items"], Value::Null);
    let cursor = facts(&first)["page"]["next_cursor"].clone();
    repository.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    let second = done(
        &session,
        json!({"command": "log", "limit": 5, "cursor": cursor}),
    )
    .await;
    assert!(second.output.contains("subject-017") && second.output.contains("subject-013"));
    assert!(!second.output.contains("subject-018") && !second.output.contains("later"));
    let all = done(&session, json!({"command": "log", "limit": 200})).await;
    assert_eq!(
        (&facts(&all)["page"]["total_items"], &facts(&all)["count"]),
        (&json!(25), &json!(25))
    );
    for cursor in [
        "5",
        "x",
        "5.0123",
        "5.0123456789abcdef0123456789abcdef01234567",
    ] {
        let kind = refused(&session, json!({"command": "log", "cursor": cursor})).await;
        assert_eq!(
            kind,
            ("invalid_argument".into(), "cursor".into()),
            "{cursor}"
        );
    }
    for limit in [0, 201] {
        assert_eq!(
            refused(&session, json!({"command": "log", "limit": limit}))
                .await
                .0,
            "invalid_argument"
        );
    }
}

// claims: CTR-08
#[tokio::test]
async fn the_lists_show_every_entry_once_and_refuse_a_cursor_of_another_list() {
    let repository = Repository::new();
    for n in 0..7 {
        repository.git(&["branch", &format!("topic-{n}")]);
        repository.git(&[
            "remote",
            "add",
            &format!("remote-{n}"),
            &format!("https://me:CANARY@host/r{n}"),
        ]);
        repository.write("a.txt", format!("{n}\n"));
        repository.git(&["stash", "push", "-q", "-m", &format!("kept-{n}")]);
        repository.git(&[
            "worktree",
            "add",
            "-q",
            &format!("../tree-{n}"),
            &format!("topic-{n}"),
        ]);
    }
    for (args, names) in [
        (json!({"command": "branch", "limit": 3}), "topic-"),
        (json!({"command": "stash", "limit": 3}), "kept-"),
        (json!({"command": "remote", "limit": 3}), "remote-"),
        (json!({"command": "worktree", "limit": 3}), "tree-"),
    ] {
        let pages = follow(&repository, args, "/page/next_cursor", "cursor").await;
        assert!(pages.len() >= 3);
        let all = pages.concat();
        for n in 0..7 {
            assert_eq!(
                all.matches(&format!("{names}{n} ")).count()
                    + all.matches(&format!("{names}{n}\n")).count(),
                1,
                "{names}{n}: {all}"
            );
        }
        assert!(!all.contains("CANARY"));
    }
    let session = repository.session().await;
    let stashes = done(&session, json!({"command": "stash"})).await;
    assert!(stashes.output.contains("stash@{0} ") && stashes.output.contains("stash@{6} "));
    let branches = done(&session, json!({"command": "branch", "limit": 3})).await;
    assert!(branches.output.contains("* main "), "{}", branches.output);
    let cursor = facts(&branches)["page"]["next_cursor"].clone();
    let foreign = refused(&session, json!({"command": "remote", "cursor": cursor})).await;
    assert_eq!(foreign, ("invalid_argument".into(), "cursor".into()));
    repository.git(&["branch", "a-new-one"]);
    let stale = refused(&session, json!({"command": "branch", "cursor": cursor})).await;
    assert_eq!(stale, ("invalid_argument".into(), "cursor".into()));
}

// claims: CTR-08
#[tokio::test]
async fn the_ranges_of_a_diff_put_together_are_the_diff() {
    let repository = Repository::new();
    let lines: String = (0..400)
        .map(|n| format!("größe {n:04} {}\n", "x".repeat(n % 90)))
        .collect();
    repository.write("x b/y.txt", "old\n");
    repository.commit("second");
    repository.write("a.txt", &lines);
    repository.write("x b/y.txt", "new-text\n");
    let whole = repository.git(&["-c", "core.quotePath=false", "diff"]);
    for give in ["byte_offset", "cursor"] {
        let take = if give == "cursor" {
            "/range/next_cursor"
        } else {
            "/range/next_byte_offset"
        };
        let args = json!({"command": "diff", "max_bytes": 1000});
        let pages = follow(&repository, args, take, give).await;
        assert!(pages.len() > 10);
        let joined: String = pages
            .iter()
            .map(|page| page.split("[More: ").next().unwrap())
            .collect();
        assert_eq!(joined, whole, "{give}");
    }
    let session = repository.session().await;
    let first = done(&session, json!({"command": "diff", "max_bytes": 1000})).await;
    assert_eq!(facts(&first)["range"]["total_bytes"], whole.len());
    let cursor = facts(&first)["range"]["next_cursor"].clone();
    repository.write("x b/y.txt", "newer\n");
    let stale = refused(&session, json!({"command": "diff", "cursor": cursor})).await;
    assert_eq!(stale, ("invalid_argument".into(), "cursor".into()));
    for offset in [1_000_000_000, whole.len() + 10_000] {
        let beyond = refused(&session, json!({"command": "diff", "byte_offset": offset})).await;
        assert_eq!(beyond, ("invalid_argument".into(), "byte_offset".into()));
    }
}

#[tokio::test]
async fn a_diff_of_more_than_git_may_write_is_too_large() {
    let repository = Repository::new();
    let line = format!("{}\n", "x".repeat(1023));
    repository.write("a.txt", line.repeat(17 * 1024));
    let session = repository.session().await;
    let result = git(&session, json!({"command": "diff"})).await;
    assert_eq!(result.error_kind.unwrap().tag(), "too_large");
}
