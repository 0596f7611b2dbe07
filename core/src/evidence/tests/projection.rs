//! The three steps and the markers.

use super::*;

const FOLD: &str = "[a3s repeated-line fold: ";

// claims: PROJ-01, EVID-06, EVID-11, AST-41
#[test]
fn by_default_the_first_100_kib_are_shown_with_a_notice_and_the_artifact() {
    let original = rows(20_000);
    let result = run(&original, &conservative());
    let rest = result
        .text
        .strip_prefix(&original[..102_400])
        .expect("the first 100 KiB");
    let record = result.record();
    assert!(rest.starts_with("\n\n["), "{rest}");
    assert!(rest.contains("102400 of 160000 bytes"), "{rest}");
    assert!(!rest.contains("L0"), "{rest}");
    assert!(rest.ends_with(&format!(
        "\n\n[Full output artifact: {}]",
        record.content_ref
    )));
    assert_eq!(record.loss_mode, LossMode::BoundedPreview);
    assert_eq!(
        record.content_digest,
        "sha256:384d4fec7e6ea2a4f7f0680072675bcb1c88856fd656bc94252444fcba413e21"
    );
    assert_eq!(result.shown_bytes(), 102_400);
    assert_eq!(**result.artifact().content, *original.as_bytes());
    let artifact = &result.metadata[ARTIFACT_KEY];
    assert_eq!(artifact["artifact_uri"], record.content_ref);
    assert_eq!(artifact["original_bytes"], 160_000);
    assert_eq!(artifact["retained"], true);
}

// claims: PROJ-02, EVID-14
#[test]
fn by_default_repeated_lines_and_long_arrays_below_the_bound_are_unchanged() {
    let exact = "x".repeat(102_400);
    let array = format!("[{}]", vec!["1"; 5000].join(","));
    for text in ["again\n".repeat(500), array, exact] {
        let result = run(&text, &conservative());
        assert_eq!(result.text, text);
        assert_eq!(result.loss(), LossMode::None);
        assert!(result.store.is_empty());
    }
    let over = "x".repeat(102_401);
    assert_eq!(run(&over, &conservative()).loss(), LossMode::BoundedPreview);
}

// claims: PROJ-03, PROJ-18, EVID-06
#[test]
fn context_efficient_keeps_64_kib_of_head_and_32_kib_of_tail() {
    let original = rows(20_000);
    let result = run(&original, &efficient());
    assert!(result.text.starts_with(&original[..65_536]));
    assert!(result.text.contains(&original[160_000 - 32_768..]));
    assert!(!result.text.contains("L008193") && !result.text.contains("L015904"));
    assert!(result.text.contains("61696 bytes omitted"));
    assert!(result.text.len() <= 102_400);
    assert_eq!(result.loss(), LossMode::HeadTail);
    assert_eq!(result.shown_bytes(), 98_304);
}

// claims: PROJ-04, EVID-06
#[test]
fn cuts_fall_between_characters() {
    let kana = "あ".repeat(40_000);
    let result = run(&kana, &conservative());
    assert_eq!(result.text.matches('あ').count(), 34_133);
    assert_eq!(result.shown_bytes(), 102_399);
    assert_eq!(result.loss(), LossMode::BoundedPreview);
    assert_eq!(
        result.record().content_digest,
        "sha256:463ce51b1d0c10f9f6d5b15e746f1ce2bacf3054508de684f8c8df306a4c17e0"
    );

    let result = run(&kana, &efficient());
    let (head, rest) = result.text.split_once("\n\n[").expect("a marker");
    assert_eq!(head.len(), 65_535);
    assert_eq!(rest.matches('あ').count() * 3, 32_766);
    assert!(rest.contains("21699 bytes omitted"));
    assert_eq!(result.shown_bytes(), 98_301);
    assert_eq!(result.loss(), LossMode::HeadTail);

    for shift in 0..4 {
        let text = format!("{}{}", "a".repeat(shift), "𝄞".repeat(30_000));
        let result = run(&text, &efficient());
        let shown = result.text.matches('𝄞').count() * 4;
        let ascii = result.text.chars().take_while(|c| *c == 'a').count();
        assert_eq!((shown + ascii) as u64, result.shown_bytes());
        assert!(result.shown_bytes() + 8 > 98_304);
    }
}

// claims: PROJ-05, EVID-06
#[test]
fn three_equal_lines_fold_and_two_do_not() {
    let line = format!("{}\n", "x".repeat(80));
    let result = run(&line.repeat(10), &efficient());
    assert_eq!(result.text.matches(line.trim_end()).count(), 1);
    assert!(result.text.contains(&format!("{FOLD}9 ")));
    assert_eq!(result.loss(), LossMode::DeterministicTransform);
    assert_eq!(result.shown_bytes(), 0);
    assert_eq!(
        result.record().content_digest,
        "sha256:3aac1dd0c9c0e5a957e8e2ba6d0aa827264591c6d3f4f5314cb62ea57184d1d1"
    );
    assert_eq!(
        run(&line.repeat(3), &efficient()).loss(),
        LossMode::DeterministicTransform
    );
    assert_eq!(run(&line.repeat(2), &efficient()).loss(), LossMode::None);
    // The same lines in the default profile.
    let plain = run(&line.repeat(10), &conservative());
    assert_eq!(plain.text, line.repeat(10));
    assert!(
        plain
            .record()
            .content_ref
            .starts_with("inline:sha256:3aac1d")
    );
    // Folding that would make it longer is not used.
    let short = run("a\na\na\na\n", &efficient());
    assert_eq!(
        (short.text.as_str(), short.loss()),
        ("a\na\na\na\n", LossMode::None)
    );
}

// claims: PROJ-05
#[test]
fn runs_fold_each_for_itself_at_the_start_the_middle_and_the_end() {
    let (a, b) = ("a".repeat(60), "b".repeat(60));
    let text = format!("{a}\n{a}\n{a}\nmiddle\n{b}\n{b}\n{b}\n{b}\n");
    let result = run(&text, &efficient());
    let (folded, _) = result.text.split_once("\n\n[Full output").expect("a line");
    assert_eq!(
        folded,
        format!("{a}\n{FOLD}2 more copies]\nmiddle\n{b}\n{FOLD}3 more copies]\n")
    );
    // A last line without newline is another line.
    let open = format!("{a}\n{a}\n{a}");
    assert_eq!(run(&open, &efficient()).loss(), LossMode::None);
    let open = format!("{a}\n{a}\n{a}\n{a}");
    let result = run(&open, &efficient());
    assert!(
        result
            .text
            .starts_with(&format!("{a}\n{FOLD}2 more copies]\n{a}\n\n[Full"))
    );
}

// claims: PROJ-06
#[test]
fn lines_that_differ_in_one_byte_are_not_equal() {
    let base = "the very same line of text, long enough that folding it would be shorter";
    for other in [
        format!("{base} "),
        format!("{base}\t"),
        format!("{base}\r"),
        format!(" {}", &base[1..]),
        format!("{}r", &base[..base.len() - 1].replace("shorte", "Shorte")),
        base.replacen("very", "verY", 1),
    ] {
        let text = format!("{base}\n{other}\n").repeat(6);
        let result = run(&text, &efficient());
        assert_eq!(result.text, text, "{other:?}");
        assert_eq!(result.loss(), LossMode::None);
    }
}

// claims: PROJ-07, PROJ-09, EVID-06
#[test]
fn an_oversized_array_keeps_its_first_and_last_items() {
    let original = array(100, 1500);
    let result = run(&original, &efficient());
    assert_eq!(result.loss(), LossMode::DeterministicTransform);
    assert_eq!(result.shown_bytes(), 0);
    let (json, _) = result.text.split_once("\n\n[").expect("an artifact line");
    let sample: Value = serde_json::from_str(json).expect("JSON");
    let head: Value = serde_json::json!({
        "schema": "a3s.code.tool-result-transform.v1", "kind": "json_array",
        "original_items": 100, "retained_items": 32, "omitted_items": 68,
    });
    assert_eq!(sample["$a3s_sample"], head);
    let whole: Vec<Value> = serde_json::from_str(&original).expect("JSON");
    let kept: Vec<Value> = whole[..16].iter().chain(&whole[84..]).cloned().collect();
    assert_eq!(sample["items"], Value::Array(kept));
}

// claims: PROJ-07
#[test]
fn odd_and_single_samples_favour_the_beginning() {
    for (wanted, expected) in [
        (5, vec![0, 1, 2, 98, 99]),
        (1, vec![0]),
        (2, vec![0, 99]),
        (99, (0..50).chain(51..100).collect()),
    ] {
        let policy = pinned(ToolResultTransformPolicyV1 {
            structured_sample_items: wanted,
            ..ToolResultTransformPolicyV1::context_efficient()
        });
        let padded: Vec<String> = (0..100)
            .map(|n| format!("{}{n}", " ".repeat(1100)))
            .collect();
        let result = run(&format!(" [{} ]\n", padded.join(" ,")), &policy);
        let (json, _) = result.text.split_once("\n\n[").expect("an artifact line");
        let sample: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(sample["items"], serde_json::json!(expected));
        assert_eq!(sample["$a3s_sample"]["retained_items"], wanted);
        assert_eq!(result.loss(), LossMode::DeterministicTransform);
    }
}

// claims: PROJ-08
#[test]
fn only_an_oversized_top_level_array_is_sampled() {
    let fits = array(100, 800);
    let result = run(&fits, &efficient());
    assert_eq!(
        (result.text.as_str(), result.loss()),
        (fits.as_str(), LossMode::None)
    );
    let big = array(100, 1500);
    for text in [
        format!("{{\"rows\":{big}}}"),
        format!("{big} trailing"),
        format!("{big}{big}"),
        format!("{}]", &big[..big.len() - 3]),
        array(32, 4000),
    ] {
        let result = run(&text, &efficient());
        assert_eq!(result.loss(), LossMode::HeadTail);
        assert!(!result.text.contains("$a3s_sample"));
    }
}

// claims: PROJ-09
#[test]
fn folding_that_makes_it_fit_saves_the_cut() {
    let line = format!("{}\n", "same ".repeat(20));
    let text = format!("start\n{}end\n", line.repeat(5000));
    let result = run(&text, &efficient());
    assert_eq!(result.loss(), LossMode::DeterministicTransform);
    assert!(result.text.starts_with("start\nsame "));
    assert!(result.text.contains("end\n"));
    assert!(!result.text.contains("omitted"));
}

// claims: PROJ-10, PROJ-18, EVID-06
#[test]
fn what_is_still_too_large_after_sampling_or_folding_is_cut() {
    let original = array(100, 3600);
    let result = run(&original, &efficient());
    assert_eq!(result.loss(), LossMode::Composite);
    assert!(result.text.starts_with("{\"$a3s_sample\""));
    assert!(result.text.contains("item-000") && result.text.contains("item-099"));
    assert!(!result.text.contains("item-050") && result.text.len() <= 102_400);
    assert_eq!(result.shown_bytes(), 0);
    assert_eq!(**result.artifact().content, *original.as_bytes());

    let folded = format!("{}{}", "again and again\n".repeat(99), rows(20_000));
    let result = run(&folded, &efficient());
    assert_eq!(result.loss(), LossMode::Composite);
    assert!(result.text.contains("[a3s repeated-line fold: 98 "));
}

// claims: PROJ-18
#[test]
fn a_transformed_text_that_only_its_artifact_line_pushes_over_is_cut() {
    let run_of = "again\n".repeat(99);
    let policy = efficient();
    let marked = |filler: usize| run(&format!("{run_of}{}", "z".repeat(filler)), &policy);
    let mut modes = Vec::new();
    for filler in 102_000..102_400 {
        let result = marked(filler);
        assert!(result.text.len() <= 102_400, "{filler}");
        modes.push(result.loss());
    }
    let cut = modes.iter().position(|mode| *mode == LossMode::Composite);
    assert!(cut.is_some_and(|cut| cut > 0 && modes[cut..].iter().all(|m| *m == modes[cut])));
    assert!(
        marked(102_399 - cut.unwrap_or(0))
            .text
            .contains("[Full output artifact: ")
    );
}

// claims: PROJ-18
#[test]
fn markers_fit_in_the_reserve_for_the_longest_name_and_any_number() {
    let policy = small(1024, 300, 200);
    let result = run(&rows(20_000), &policy);
    assert!(result.text.contains("L000037\n") && !result.text.contains("L000038"));
    assert!(result.text.contains("L019976\n") && !result.text.contains("L019975"));
    assert_eq!(result.shown_bytes(), 500);

    for (head, tail) in [(300, 212), (512, 0), (1, 511), (511, 1)] {
        let policy = small(1024, head, tail);
        for len in [1025, 2000, 3_000_000] {
            for limits in [
                ArtifactStoreLimits::default(),
                ArtifactStoreLimits {
                    max_artifacts: 0,
                    max_bytes: 0,
                },
            ] {
                let name = "n".repeat(64);
                let result = run_as(&name, &"y".repeat(len), &policy, limits);
                assert!(result.text.len() <= 1024);
                assert_eq!(
                    result.text.matches('y').count() as u64 - ends(&result),
                    result.shown_bytes()
                );
                assert_eq!(result.shown_bytes(), u64::from(head + tail));
                assert!(
                    result
                        .text
                        .contains("[Full output artifact: a3s://tool-output/nnn")
                );
            }
        }
    }
    // A name beyond what tools may have costs the artifact line, never the bound.
    let result = run_as(
        &"m".repeat(900),
        &"y".repeat(2000),
        &small(1024, 300, 212),
        ArtifactStoreLimits::default(),
    );
    assert!(result.text.len() <= 1024 && !result.text.contains("Full output"));
    assert_eq!(result.artifact().original_bytes, 2000);
}

/// How often the filler letter stands in the words of the markers.
fn ends(result: &Accounted) -> u64 {
    let words = result.text.trim_matches('y');
    let marker = words
        .rsplit_once("\n\n[Full")
        .map_or(words, |(marker, _)| marker);
    let marker = marker
        .split_once("]\n\n")
        .map_or(marker, |(marker, _)| marker);
    marker.matches('y').count() as u64
}

// claims: PROJ-11
#[test]
fn the_same_text_gives_the_same_bytes_and_digests() {
    for policy in [conservative(), efficient()] {
        for text in [
            rows(20_000),
            array(100, 3600),
            "a line of some length\n".repeat(20_000),
        ] {
            let (one, two) = (run(&text, &policy), run(&text, &policy));
            assert_eq!(one.text, two.text);
            assert_eq!(one.metadata, two.metadata);
        }
    }
}

// claims: PROJ-18
#[test]
fn the_bound_holds_at_the_edges_of_the_reserve() {
    for reserve in [512, 513, 600] {
        for len in 1020..1540 {
            let policy = small(1024, 1024 - reserve - 100, 100);
            let result = run(&"e".repeat(len), &policy);
            assert_eq!(result.loss() == LossMode::None, len <= 1024);
            assert!(result.text.len() <= 1024);
        }
    }
}
