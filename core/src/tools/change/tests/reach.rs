//! Where a change may go, which backends offer it, and appending.

use super::*;
use crate::{PermissionDecision, PermissionPolicy};
use a3s_code_contract::WorkspaceCapability as Can;
use std::collections::BTreeSet;

#[tokio::test]
async fn a_governed_call_changes_no_control_file_by_any_way() {
    let scratch = Scratch::new();
    scratch.write(".git/config", "[core]\n");
    scratch.link("link", ".git/config");
    scratch.link("folder", ".git");
    scratch.link("new", ".git/hooks/pre-commit");
    let allow = PermissionPolicy {
        default_decision: PermissionDecision::Allow,
        ..PermissionPolicy::default()
    };
    let options = SessionOptions::new().with_permission_policy(allow);
    let session = open(&scratch.root(), options).await;
    for path in [
        ".git/config",
        "link",
        "folder/config",
        "folder/new",
        "new",
        "./x/../.GIT/config",
    ] {
        for (tool, args) in [
            ("write", json!({ "file_path": path, "content": "x" })),
            (
                "edit",
                json!({ "file_path": path, "old_string": "core", "new_string": "x" }),
            ),
            (
                "edit",
                json!({ "file_path": path, "old_string": "core", "new_string": "x",
                             "dry_run": true }),
            ),
            (
                "patch",
                json!({ "file_path": path, "diff": "@@ -1 +1 @@\n-[core]\n+x\n" }),
            ),
            (
                "patch",
                json!({ "patches": [{ "file_path": path,
                                            "diff": "@@ -1 +1 @@\n-[core]\n+x\n" }] }),
            ),
        ] {
            let refused = session.governed_tool(tool, args).await.unwrap();
            assert_eq!(
                tag(&refused),
                "permission_denied",
                "{tool} {path}: {}",
                refused.output
            );
            assert!(
                !facts(&refused).to_string().contains("[core]"),
                "{tool} {path}"
            );
        }
    }
    assert_eq!(text(&scratch, ".git/config"), "[core]\n");
    assert_eq!(
        std::fs::read_dir(scratch.inside(".git")).unwrap().count(),
        1
    );
    // The application may.
    let direct = session
        .edit_file("link", "core", "user", false)
        .await
        .unwrap();
    assert_eq!(direct.exit_code, 0, "{}", direct.output);
    assert_eq!(text(&scratch, ".git/config"), "[user]\n");
}

// claims: SURF-04
#[tokio::test]
async fn a_backend_offers_the_changes_it_can_make() {
    for can in [
        vec![],
        vec![Can::Read],
        vec![Can::Write],
        vec![Can::Read, Can::Write],
    ] {
        let capabilities = BTreeSet::from_iter(can.iter().copied());
        let files = BTreeMap::from([("f".to_owned(), b"secret".to_vec())]);
        let session = on(MemoryWorkspace::new("stub", files, Some(capabilities)).unwrap()).await;
        let names = session.tool_names();
        let offered = |name: &str| names.iter().any(|offered| offered == name);
        assert_eq!(offered("write"), can.contains(&Can::Write), "{can:?}");
        assert_eq!(offered("edit"), can.len() == 2, "{can:?}");
        assert_eq!(offered("patch"), can.len() == 2, "{can:?}");
        if can == [Can::Write] {
            let written = session.write_file("f", "new").await.unwrap();
            assert_eq!(
                (facts(&written)["created"].clone(), written.exit_code),
                (json!(false), 0)
            );
            assert!(
                !facts(&written).to_string().contains("secret"),
                "it cannot read"
            );
        }
    }
}

#[tokio::test]
async fn appending_is_compare_and_set_on_the_size() {
    let session = on(memory(&[("f", "one\n")])).await;
    for (content, offset, tag_wanted, already) in [
        ("two\n", json!(4), "none", json!(false)),
        ("two\n", json!(4), "none", json!(true)),
        ("xxx\n", json!(4), "version_conflict", Value::Null),
        ("x", json!(7), "version_conflict", Value::Null),
        ("x", Value::Null, "invalid_argument", Value::Null),
        ("", json!(8), "none", json!(true)),
    ] {
        let mut args = json!({ "file_path": "f", "content": content, "mode": "append" });
        if !offset.is_null() {
            args["expected_offset"] = offset.clone();
        }
        let result = call(&session, "write", args).await;
        assert_eq!(
            tag(&result),
            tag_wanted,
            "{content:?} {offset}: {}",
            result.output
        );
        let facts = facts(&result);
        assert_eq!(
            facts.get("already_applied").unwrap_or(&Value::Null),
            &already
        );
        if tag_wanted == "none" {
            assert_eq!(facts["resulting_size"], 8);
        }
    }
    assert_eq!(session.read_file("f").await.unwrap(), "one\ntwo\n");
    let args = json!({ "file_path": "g", "content": "x", "mode": "append", "expected_offset": 0 });
    assert_eq!(call(&session, "write", args).await.exit_code, 0);
    assert_eq!(session.read_file("g").await.unwrap(), "x");
    let args = json!({ "file_path": "f", "content": "x", "expected_offset": 8 });
    assert_eq!(
        tag(&call(&session, "write", args).await),
        "invalid_argument"
    );
}
