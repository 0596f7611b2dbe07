//! The artifact store.

use super::*;
use a3s_code_contract::ToolArtifact;

fn store(max_artifacts: u32, max_bytes: u64) -> ArtifactStore {
    ArtifactStore::new(ArtifactStoreLimits {
        max_artifacts,
        max_bytes,
    })
}

fn item(n: u8, len: usize) -> Artifact {
    Artifact::new("probe", vec![n; len], 0)
}

// claims: AST-42
#[test]
fn an_artifact_is_returned_whole_while_it_is_kept() {
    let store = store(4, 100);
    let bytes = vec![0xff, 0, b'a'];
    let artifact = Artifact::new("bash", bytes.clone(), 2);
    assert!(artifact.uri.starts_with("a3s://tool-output/bash/"));
    assert!(artifact.id.starts_with("tool-output:bash:"));
    assert!(store.put(artifact.clone()));
    assert_eq!(store.get(&artifact.uri), Some(artifact.clone()));
    let wire = ToolArtifact::from(&artifact);
    assert_eq!((wire.original_bytes, wire.shown_bytes), (3, 2));
    assert_eq!(wire.content, "\u{fffd}\0a");
    assert_eq!(store.get("a3s://tool-output/bash/0000"), None);
    assert_eq!(store.get(""), None);
}

#[test]
fn a_name_has_no_path_in_it() {
    let artifact = Artifact::new("../a b\0/é", Vec::new(), 0);
    assert!(artifact.uri.starts_with("a3s://tool-output/___a_b___/"));
    assert_eq!(artifact.tool_name, "../a b\0/é");
}

// claims: AST-43
#[test]
fn the_oldest_go_whole_and_are_then_missing() {
    let store = store(3, 100);
    let items: Vec<Artifact> = (0..4).map(|n| item(n, 20)).collect();
    for item in &items {
        assert!(store.put(item.clone()));
    }
    assert_eq!((store.len(), store.total_bytes()), (3, 60));
    assert_eq!(store.get(&items[0].uri), None);
    assert!(
        items[1..]
            .iter()
            .all(|i| store.get(&i.uri).as_ref() == Some(i))
    );
    // By bytes: 90 more need all three to go.
    assert!(store.put(item(9, 90)));
    assert_eq!((store.len(), store.total_bytes()), (1, 90));
}

#[test]
fn what_is_above_the_limit_is_not_kept_and_drops_nothing() {
    let small = store(3, 100);
    assert!(small.put(item(1, 100)));
    assert!(small.accepts(100) && !small.accepts(101));
    assert!(!small.put(item(2, 101)));
    assert_eq!(small.total_bytes(), 100);
    assert!(!store(0, 100).put(item(1, 1)));
    assert!(store(1, 0).put(item(1, 0)));
}

#[test]
fn the_same_content_is_kept_once_and_keeps_its_age() {
    let store = store(2, 100);
    let (one, two, three) = (item(1, 10), item(2, 10), item(3, 10));
    assert!(store.put(one.clone()) && store.put(two.clone()));
    let again = Artifact {
        shown_bytes: 7,
        ..one.clone()
    };
    assert!(store.put(again));
    assert_eq!((store.len(), store.total_bytes()), (2, 20));
    assert_eq!(store.get(&one.uri).map(|a| a.shown_bytes), Some(0));
    assert!(store.put(three));
    assert_eq!(store.get(&one.uri), None);
    assert!(store.get(&two.uri).is_some());
}

#[test]
fn a_pinned_artifact_stays_until_its_last_pin_goes() {
    let store = store(2, 100);
    let (one, two, three) = (item(1, 40), item(2, 40), item(3, 80));
    let pin = store.put_pinned(one.clone()).expect("kept");
    let second = store.pin(&one.uri).expect("there");
    assert_eq!(pin.uri(), one.uri);
    assert!(store.put(two.clone()));
    // Beside the pinned one 80 bytes can never fit: nothing is dropped for them.
    assert!(!store.put(three.clone()));
    assert_eq!(store.len(), 2);
    assert!(store.put(item(4, 60)));
    assert!(store.get(&one.uri).is_some() && store.get(&two.uri).is_none());
    drop(pin);
    assert!(!store.put(three.clone()));
    drop(second);
    assert!(store.put(three));
    assert_eq!(store.get(&one.uri), None);
    assert!(store.pin(&one.uri).is_none());
}

#[test]
fn an_old_pin_does_not_touch_a_new_entry() {
    let store = store(1, 100);
    let old = store.put_pinned(item(1, 10)).expect("kept");
    store.clear();
    assert!(store.is_empty() && store.total_bytes() == 0);
    let new = store.put_pinned(item(1, 10)).expect("kept");
    drop(old);
    assert!(!store.put(item(2, 10)));
    drop(new);
    assert!(store.put(item(2, 10)));
}

// claims: EVID-11, AST-41
#[test]
fn a_lossy_text_above_the_limit_says_that_it_is_not_kept() {
    let limits = ArtifactStoreLimits {
        max_artifacts: 256,
        max_bytes: 159_999,
    };
    let result = run_as("probe", &rows(20_000), &conservative(), limits);
    let record = result.record();
    assert!(record.content_ref.starts_with("a3s://tool-output/probe/"));
    assert_eq!(result.metadata[ARTIFACT_KEY]["retained"], false);
    assert_eq!(
        result.metadata[ARTIFACT_KEY]["artifact_uri"],
        record.content_ref
    );
    assert_eq!(result.store.get(&record.content_ref), None);
    assert!(result.text.contains("too large to be kept"));
    assert!(result.text.ends_with(" (not kept)]"));
}

#[test]
fn threads_share_a_store_within_its_limits() {
    let store = store(8, 1000);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..200_u8 {
                    let artifact = Artifact::new("probe", vec![thread, n, 1], 0);
                    let pin = store.put_pinned(artifact.clone());
                    assert!(store.total_bytes() <= 1000 && store.len() <= 8);
                    if pin.is_some() {
                        assert_eq!(store.get(&artifact.uri), Some(artifact));
                    }
                }
            });
        }
    });
    assert_eq!(store.total_bytes(), store.len() as u64 * 3);
}
