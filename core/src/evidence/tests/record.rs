//! The evidence record.

use super::*;

// claims: EVID-01, EVID-03, EVID-04, EVID-07, EVID-08, EVID-09, EVID-10, EVID-14
#[test]
fn figures_of_small_texts_are_exact() {
    let table = [
        (
            "",
            0,
            0,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            "hello\n",
            6,
            2,
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        ),
        (
            "héllo",
            6,
            2,
            "3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179",
        ),
    ];
    for (text, bytes, tokens, hex) in table {
        for policy in [conservative(), efficient()] {
            let result = run(text, &policy);
            assert_eq!(result.text, text);
            let digest = format!("sha256:{hex}");
            let expected = serde_json::json!({
                "schema": "a3s.code.tool-result-evidence.v1",
                "original_bytes": bytes, "projected_bytes": bytes,
                "original_estimated_tokens": tokens, "projected_estimated_tokens": tokens,
                "token_estimator": "utf8-bytes-ceil-div-4/v1",
                "transform_algorithm": "a3s.code.tool-result-transform.v1",
                "content_digest": digest, "projected_digest": digest, "repeat_key": digest,
                "content_ref": format!("inline:{digest}"), "loss_mode": "none",
                "byte_delta": 0, "estimated_token_delta": 0,
            });
            assert_eq!(result.metadata[EVIDENCE_KEY], expected);
            assert_eq!(result.metadata[BINDING_KEY], *policy.binding());
            assert!(!result.metadata.contains_key(ARTIFACT_KEY));
        }
    }
}

// claims: EVID-04
#[test]
fn tokens_are_a_quarter_of_the_bytes_rounded_up() {
    for (text, tokens) in [("1", 1), ("1234", 1), ("12345", 2), ("あ", 1), ("ああ", 2)] {
        let record = run(text, &conservative()).record();
        assert_eq!(record.original_estimated_tokens, tokens, "{text}");
        assert_eq!(record.projected_estimated_tokens, tokens, "{text}");
    }
    let record = run(&"あ".repeat(40_000), &conservative()).record();
    assert_eq!(record.original_estimated_tokens, 30_000);
}

// claims: EVID-03, EVID-07, EVID-08, EVID-11, AST-44
#[test]
fn figures_of_a_lossy_text_tie_what_is_shown_to_the_original() {
    for policy in [conservative(), efficient()] {
        for text in [rows(20_000), array(100, 1500), array(100, 3600)] {
            let result = run(&text, &policy);
            let record = result.record();
            assert_eq!(record.verify(&result.text), Ok(()));
            assert_eq!(record.original_bytes, text.len() as u64);
            assert_eq!(record.projected_bytes, result.text.len() as u64);
            let delta = result.text.len() as i64 - text.len() as i64;
            assert_eq!(record.byte_delta, delta);
            let tokens = |len: usize| len.div_ceil(4) as i64;
            assert_eq!(
                record.estimated_token_delta,
                tokens(result.text.len()) - tokens(text.len())
            );
            assert_ne!(record.content_digest, record.projected_digest);
            let again = Artifact::new("probe", text.clone().into_bytes(), 0);
            assert_eq!(record.content_ref, again.uri);
            assert_eq!(
                record.content_digest,
                format!("sha256:{}", &again.uri[24..])
            );
            assert_eq!(**result.artifact().content, *text.as_bytes());
        }
    }
}

// claims: EVID-05
#[test]
fn the_repeat_key_follows_the_exact_text() {
    let key = |text: &str| run(text, &conservative()).record().repeat_key;
    assert_eq!(
        key("same text\n"),
        "sha256:a051202c1b7d3dfefe39e5cbbade83449fcacdedc0f2fca5314ea136595a0874"
    );
    assert_eq!(
        key("same text\n "),
        "sha256:2ed047cca00d7cf54e350e64266bfb15ae03930c1c07289e933dfcb62956e69b"
    );
    let (big, mut other) = (rows(200_000), rows(200_000));
    assert_eq!(key(&big), key(&big));
    other.replace_range(1_000_000..1_000_001, "!");
    assert_ne!(key(&big), key(&other));
    // A large text is hashed beside its scan; the digest is the same.
    let beside = |text: &str| run(text, &efficient()).record().repeat_key;
    assert_eq!(beside(&big), key(&big));
    assert_eq!(beside(&other), key(&other));
}

// claims: EVID-06
#[test]
fn there_are_five_loss_modes() {
    let rows = rows(20_000);
    let cases = [
        (run("fits", &efficient()), "none"),
        (run(&rows, &conservative()), "bounded_preview"),
        (run(&rows, &efficient()), "head_tail"),
        (
            run(&"fold this line please\n".repeat(90), &efficient()),
            "deterministic_transform",
        ),
        (run(&array(100, 3600), &efficient()), "composite"),
    ];
    for (result, word) in cases {
        assert_eq!(result.metadata[EVIDENCE_KEY]["loss_mode"], word);
        assert_eq!(result.loss().as_str(), word);
    }
}

// claims: EVID-12
#[test]
fn a_reference_keeps_what_it_referred_to() {
    let store = ArtifactStore::new(ArtifactStoreLimits::default());
    let policy = conservative();
    let first = rows(20_000);
    let mut metadata = Map::new();
    let _ = account("probe", first.clone(), &policy, &store, &mut metadata);
    let uri = metadata[ARTIFACT_KEY]["artifact_uri"]
        .as_str()
        .expect("a URI")
        .to_owned();
    for n in 0..20 {
        let other = format!("{n}{first}");
        let _ = account("probe", other, &policy, &store, &mut Map::new());
        assert_eq!(**store.get(&uri).expect("kept").content, *first.as_bytes());
    }
    assert_eq!(store.len(), 21);
}

#[test]
fn what_a_tool_puts_under_the_keys_of_the_runtime_is_removed() {
    for text in ["short".to_owned(), rows(20_000)] {
        let store = ArtifactStore::new(ArtifactStoreLimits::default());
        let mut metadata = Map::new();
        for key in [EVIDENCE_KEY, BINDING_KEY, ARTIFACT_KEY, "own"] {
            metadata.insert(key.to_owned(), "forged".into());
        }
        let shown = account(
            "probe",
            text.clone(),
            &conservative(),
            &store,
            &mut metadata,
        );
        assert_eq!(metadata["own"], "forged");
        assert!(metadata[EVIDENCE_KEY].is_object() && metadata[BINDING_KEY].is_object());
        assert_eq!(metadata.contains_key(ARTIFACT_KEY), shown != text);
        assert_ne!(metadata.get(ARTIFACT_KEY), Some(&"forged".into()));
    }
}

#[test]
fn a_record_is_closed_and_disagreement_is_found() {
    let result = run(&rows(20_000), &efficient());
    let record = result.record();
    assert_eq!(
        record.verify(&result.text[1..]).map_err(|e| e.field),
        Err("projected_bytes")
    );
    let mut stored = result.metadata[EVIDENCE_KEY].clone();
    stored["extra"] = 1.into();
    assert!(serde_json::from_value::<ToolResultEvidenceV1>(stored).is_err());
    let keys = result.metadata[EVIDENCE_KEY]
        .as_object()
        .expect("an object");
    for key in keys.keys() {
        for forged in [
            Value::from("sha256:00"),
            7.into(),
            u64::MAX.into(),
            "none".into(),
        ] {
            let mut stored = result.metadata[EVIDENCE_KEY].clone();
            stored[key] = forged;
            if let Ok(record) = serde_json::from_value::<ToolResultEvidenceV1>(stored) {
                assert!(record.verify(&result.text).is_err(), "{key}");
            }
        }
    }
}
