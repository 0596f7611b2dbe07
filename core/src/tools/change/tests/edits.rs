//! `edit`: its dry run, its guards, and what it keeps.

use super::*;
use a3s_code_contract::OutputKind;
use std::os::unix::fs::MetadataExt;

// claims: EDIT-01, EDIT-02, CTR-06
#[tokio::test]
async fn a_dry_run_shows_exactly_the_change_that_the_edit_then_makes() {
    let scratch = Scratch::new();
    scratch.write("small", "port = 1\nport = 2\n");
    scratch.write("large", large());
    let session = open(&scratch.root(), SessionOptions::new()).await;
    for (file, old) in [("small", "port"), ("large", "line")] {
        scratch.age(file, 1000);
        let look = || {
            let facts = scratch.inside(file).metadata().unwrap();
            (
                text(&scratch, file),
                facts.mtime(),
                facts.ino(),
                facts.ctime_nsec(),
            )
        };
        let untouched = look();
        let mut args = json!({ "file_path": file, "old_string": old, "new_string": "gate",
                               "replace_all": true, "dry_run": true });
        let tried = call(&session, "edit", args.clone()).await;
        assert_eq!(look(), untouched);
        args["dry_run"] = false.into();
        let made = call(&session, "edit", args).await;
        assert_eq!(text(&scratch, file), untouched.0.replace(old, "gate"));
        let (tried, made) = (facts(&tried), facts(&made));
        for key in [
            "file_path",
            "before",
            "after",
            "change",
            "replacement_count",
        ] {
            assert!(!tried[key].is_null(), "{file} {key}");
            assert_eq!(tried[key], made[key], "{file} {key}");
        }
        assert_eq!(
            (&tried["dry_run"], &made["dry_run"]),
            (&json!(true), &json!(false))
        );
    }
}

// claims: CTR-06
#[test]
fn what_a_change_promises_depends_on_its_arguments() {
    let tools = crate::tools::builtin(&memory(&[]));
    let of = |name: &str, args: Value| {
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        (tool.capabilities(&args), tool.paths(&args))
    };
    let (dry, paths) = of("edit", json!({ "file_path": "a", "dry_run": true }));
    assert!(dry.read_only && dry.parallel_safe() && dry.max_parallelism == 16);
    assert!(paths.iter().all(|used| !used.write));
    for (name, args) in [
        ("edit", json!({ "file_path": "a" })),
        ("edit", json!({ "file_path": "a", "dry_run": false })),
        ("write", json!({ "file_path": "a" })),
        ("patch", json!({ "file_path": "a" })),
        (
            "patch",
            json!({ "patches": [{ "file_path": "a" }, { "file_path": "b" }] }),
        ),
    ] {
        let (promised, paths) = of(name, args);
        assert!(!promised.read_only && !promised.parallel_safe(), "{name}");
        assert_eq!(promised.output_kind, OutputKind::Diff);
        assert!(
            !paths.is_empty() && paths.iter().all(|used| used.write),
            "{name}"
        );
    }
    assert!(of("write", json!({ "mode": "append" })).0.resumable);
    assert!(!of("write", json!({})).0.resumable);
}

// claims: EDIT-03, EDIT-04
#[tokio::test]
async fn the_guards_of_an_edit_each_keep_the_file() {
    let before = "port = 1\nport = 2\nport = 3\n";
    for (expected, most, all, refused_by) in [
        (Some(2), None, true, Some("expected_replacements")),
        (Some(4), None, true, Some("expected_replacements")),
        (None, Some(2), true, Some("max_replacements")),
        (Some(3), Some(2), true, Some("max_replacements")),
        (None, None, false, Some("old_string")),
        (Some(3), None, false, Some("old_string")),
        (Some(3), Some(3), true, None),
        (None, Some(9), true, None),
    ] {
        let session = on(memory(&[("p", before)])).await;
        let mut args = json!({ "file_path": "p", "old_string": "port", "new_string": "gate",
                               "replace_all": all });
        if let Some(expected) = expected {
            args["expected_replacements"] = json!(expected);
        }
        if let Some(most) = most {
            args["max_replacements"] = json!(most);
        }
        let result = call(&session, "edit", args).await;
        assert_eq!(facts(&result)["replacement_count"], 3);
        let after = session.read_file("p").await.unwrap();
        match refused_by {
            Some(argument) => {
                let kind = serde_json::to_value(&result.error_kind).unwrap();
                assert_eq!(
                    (tag(&result).as_str(), result.exit_code),
                    ("invalid_argument", 1)
                );
                assert_eq!(kind["argument"], argument);
                assert_eq!(facts(&result)["expected_replacements"], json!(expected));
                assert_eq!(facts(&result)["max_replacements"], json!(most));
                assert_eq!(after, before);
            }
            None => assert_eq!(after, before.replace("port", "gate")),
        }
    }
}

// claims: EDIT-05
#[tokio::test]
async fn no_character_of_an_edit_has_a_meaning() {
    let special = r"a.b*c+?^$|()[]{}\d \1 $1 $& %s";
    let session = on(memory(&[("f", &format!("axb\n{special}\naab\n"))])).await;
    let edit = |old: &str, new: &str| {
        let args = json!({ "file_path": "f", "old_string": old, "new_string": new });
        let session = &session;
        async move { call(session, "edit", args).await }
    };
    for pattern in ["a.b\n", "a+b", "^a", "b$", "[ab]", r"\w", "(a)", "a|b\n"] {
        assert_eq!(
            tag(&edit(pattern, "x").await),
            "invalid_argument",
            "{pattern}"
        );
    }
    assert_eq!(edit(special, r"$0 \0 $&$`$' ${x}").await.exit_code, 0);
    assert_eq!(
        session.read_file("f").await.unwrap(),
        "axb\n$0 \\0 $&$`$' ${x}\naab\n"
    );
}

#[tokio::test]
async fn an_edit_keeps_line_endings_and_the_mark_at_the_beginning() {
    for (before, old, new, after) in [
        (
            "a\r\nb\r\nc\r\n",
            "a\nb",
            "x\ny\nz",
            Some("x\r\ny\r\nz\r\nc\r\n"),
        ),
        ("a\nb\n", "a\r\nb", "x\r\ny", Some("x\ny\n")),
        ("a\r\nb\r\n", "b", "x\ny", Some("a\r\nx\r\ny\r\n")),
        ("a\r\nb\r\n", "\nb", "", Some("a\r\n")),
        ("one", "one", "x\r\ny", Some("x\r\ny")),
        ("a\r\nb\nc", "c", "d", Some("a\r\nb\nd")),
        ("a\r\nb\nc", "b\nc", "d", None),
        ("a\r\nb\nc", "c", "d\ne", None),
        ("a\r\nb\r\n", "b\r", "x", None),
        ("a\nb\n", "b", "x\r", None),
        ("a\r\nb\r\n", "a\r\n", "a\n", None),
        ("\u{feff}a\nb", "a", "x", Some("\u{feff}x\nb")),
        ("\u{feff}a\nb", "\u{feff}a", "x", Some("\u{feff}x\nb")),
        (
            "\u{feff}a\nb",
            "\u{feff}a",
            "\u{feff}x",
            Some("\u{feff}x\nb"),
        ),
        ("\u{feff}a\nb", "\u{feff}", "", None),
    ] {
        let session = on(memory(&[("f", before)])).await;
        let args = json!({ "file_path": "f", "old_string": old, "new_string": new });
        let result = call(&session, "edit", args).await;
        let now = session.read_file("f").await.unwrap();
        assert_eq!(now, after.unwrap_or(before), "{before:?} {old:?} {new:?}");
        assert_eq!(
            result.exit_code == 0,
            after.is_some(),
            "{before:?} {old:?} {new:?}"
        );
    }
}

#[tokio::test]
async fn what_is_no_text_or_too_large_is_refused_and_kept() {
    let scratch = Scratch::new();
    scratch.write("latin", b"caf\xe9\ndebug\n");
    scratch.write("nul", b"a\0debug\n");
    scratch.write("big", "debug".to_owned() + &"x".repeat(17 << 20));
    scratch.write("grows", "x".repeat(1 << 20));
    let session = open(&scratch.root(), SessionOptions::new()).await;
    for (file, old, new, kind) in [
        ("latin", "debug", "x".to_owned(), "unsupported"),
        ("nul", "debug", "x".to_owned(), "unsupported"),
        ("big", "debug", "x".to_owned(), "too_large"),
        ("grows", "x", "y".repeat(100), "too_large"),
        ("none", "x", "y".to_owned(), "not_found"),
        ("", "x", "y".to_owned(), "invalid_argument"),
        (".", "x", "y".to_owned(), "invalid_argument"),
    ] {
        let before = std::fs::read(scratch.inside(file)).ok();
        let args = json!({ "file_path": file, "old_string": old, "new_string": new,
                           "replace_all": true });
        let result = call(&session, "edit", args).await;
        assert_eq!(tag(&result), kind, "{file}: {}", result.output);
        assert_eq!(std::fs::read(scratch.inside(file)).ok(), before, "{file}");
    }
    // Overwriting bytes that are no text is honest about them.
    let args = json!({ "file_path": "latin", "content": "new\n" });
    let written = facts(&call(&session, "write", args).await);
    assert_eq!(written["created"], false);
    assert!(written["before"].is_null());
    assert_eq!(
        written["change"]["before"]["sha256"],
        sha256(b"caf\xe9\ndebug\n")
    );
    let uri = written["change"]["before"]["artifact"]["artifact_uri"]
        .as_str()
        .unwrap();
    let (_, bytes) = session.get_artifact_bytes(uri).unwrap();
    assert_eq!(bytes, b"caf\xe9\ndebug\n");
}
