//! What the result and the event of a change say, small and large.

use super::*;
use crate::event::EventObserver;
use a3s_code_contract::EventEnvelope;
use std::sync::Mutex;

#[derive(Default)]
struct Seen(Mutex<Vec<EventEnvelope>>);

impl EventObserver for Seen {
    fn observe(&self, event: &EventEnvelope) {
        self.0.lock().unwrap().push(event.clone());
    }
}

// claims: CTR-17, CTR-18, CTR-19, AST-08
#[tokio::test]
async fn the_event_of_a_change_is_bounded_and_a_large_one_points_to_both_sides() {
    let scratch = Scratch::new();
    scratch.write("small", "a\nb\n");
    scratch.write("large", large());
    scratch.write("lines", large());
    let seen = Arc::new(Seen::default());
    let session = open(
        &scratch.root(),
        SessionOptions::new().with_event_observer(seen.clone()),
    )
    .await;
    let after = large().replace("line 02000 ", "LINE 02000 ");
    let diff = "@@ -2001,1 +2001,1 @@\n-line 02000 of a large file\n+LINE 02000 of a large file\n";
    let mut artifacts = Vec::new();
    for (tool, args) in [
        (
            "edit",
            json!({ "file_path": "small", "old_string": "b", "new_string": "c" }),
        ),
        (
            "edit",
            json!({ "file_path": "large", "old_string": "line 02000 ",
                         "new_string": "LINE 02000 " }),
        ),
        ("patch", json!({ "file_path": "lines", "diff": diff })),
        ("write", json!({ "file_path": "large", "content": large() })),
    ] {
        let file = args["file_path"].as_str().unwrap().to_owned();
        let before = text(&scratch, &file);
        assert_eq!(call(&session, tool, args).await.exit_code, 0);
        let now = text(&scratch, &file);
        let events = seen.0.lock().unwrap().clone();
        let end = events.iter().rfind(|event| event.event_type == "tool_end");
        let metadata = &end.unwrap().payload["metadata"];
        let change = &metadata["change"];
        assert_eq!(change["before"]["sha256"], sha256(before.as_bytes()));
        assert_eq!(change["after"]["sha256"], sha256(now.as_bytes()));
        assert_eq!(change["before"]["bytes"], before.len());
        assert_eq!(change["diff_omitted"], false);
        if file == "small" {
            assert_eq!(
                (&metadata["before"], &metadata["after"]),
                (&json!(before), &json!(now))
            );
            assert_eq!(change["compacted"], false);
            assert!(change["unified_diff"].is_null() && change["before"]["artifact"].is_null());
            continue;
        }
        assert_eq!(change["compacted"], true);
        for (side, whole) in [("before", &before), ("after", &now)] {
            let shown = metadata[side].as_str().unwrap();
            assert!(
                shown.len() < 8300 && shown.contains("bytes left out"),
                "{tool}"
            );
            assert!(
                shown.starts_with(&whole[..4000]) && shown.ends_with(&whole[whole.len() - 4000..])
            );
            let uri = change[side]["artifact"]["artifact_uri"].as_str().unwrap();
            assert!(
                uri.starts_with(&format!("a3s://tool-output/{tool}-{side}/")),
                "{uri}"
            );
            artifacts.push((uri.to_owned(), whole.clone()));
        }
        let shown = change["unified_diff"].as_str().unwrap();
        let (minus, plus) = if tool == "write" {
            ("LINE", "line")
        } else {
            ("line", "LINE")
        };
        assert!(
            shown.contains(&format!("-{minus} 02000 of"))
                && shown.contains(&format!("+{plus} 02000 of"))
        );
        assert_eq!(shown.lines().count(), 11, "{shown}");
    }
    assert_eq!(text(&scratch, "lines"), after);
    for (uri, whole) in artifacts {
        let (artifact, bytes) = session.get_artifact_bytes(&uri).unwrap();
        assert!(artifact.artifact_uri.ends_with(&sha256(&bytes)));
        assert_eq!(bytes, whole.as_bytes());
    }
}

#[tokio::test]
async fn where_there_is_no_room_for_artifacts_a_large_change_says_so() {
    let limits = a3s_code_contract::ArtifactStoreLimits {
        max_artifacts: 4,
        max_bytes: 150_000,
    };
    let options = SessionOptions::new()
        .with_artifact_store_limits(limits)
        .with_workspace_backend(Arc::new(memory(&[("f", &large())])));
    let session = open("stub", options).await;
    let args = json!({ "file_path": "f", "old_string": "line 00001 ", "new_string": "L" });
    let change = facts(&call(&session, "edit", args).await)["change"].clone();
    let uri = change["before"]["artifact"]["artifact_uri"]
        .as_str()
        .unwrap();
    assert!(
        session.get_artifact(uri).is_some(),
        "a reference leads nowhere"
    );
    assert!(change["after"]["artifact"].is_null());
    assert_eq!(change["after"]["bytes"], large().len() - 10);
}

// claims: AST-08
#[tokio::test]
async fn the_helpers_change_the_file_and_give_the_receipt() {
    let scratch = Scratch::new();
    let session = open(&scratch.root(), SessionOptions::new()).await;
    let written = session.write_file("d/f.txt", "one\ntwo\n").await.unwrap();
    assert_eq!((written.name.as_str(), written.exit_code), ("write", 0));
    assert_eq!(facts(&written)["created"], true);
    assert!(facts(&written).get("before").is_none());
    assert_eq!(text(&scratch, "d/f.txt"), "one\ntwo\n");
    let edited = session.edit_file("d/f.txt", "o", "0", true).await.unwrap();
    assert_eq!((edited.name.as_str(), edited.exit_code), ("edit", 0));
    assert_eq!(text(&scratch, "d/f.txt"), "0ne\ntw0\n");
    let diff = "--- a/d/f.txt\n+++ b/d/f.txt\n@@ -1,2 +1,2 @@\n 0ne\n-tw0\n+two\n";
    let patched = session.patch_file("d/f.txt", diff).await.unwrap();
    assert_eq!((patched.name.as_str(), patched.exit_code), ("patch", 0));
    assert_eq!(text(&scratch, "d/f.txt"), "0ne\ntwo\n");
    assert_eq!(facts(&patched)["before"], "0ne\ntw0\n");
    assert_eq!(facts(&patched)["after"], "0ne\ntwo\n");
    // What the result shows is a diff that leads from one to the other.
    assert!(
        patched
            .output
            .contains("@@ -1,2 +1,2 @@\n 0ne\n-tw0\n+two\n"),
        "{}",
        patched.output
    );
}
