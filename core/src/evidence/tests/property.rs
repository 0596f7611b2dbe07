//! Random texts under random policies: the promises that hold for all of them.

use super::*;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

/// A text made of words, runs of equal lines, wide characters or JSON, decided by `seed`.
fn text_of(seed: u64, shape: u8, pieces: usize) -> String {
    let mut state = seed | 1;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let words = [
        "alpha",
        "é",
        "あい",
        "𝄞",
        "\n",
        " ",
        "\r\n",
        "{",
        "\"",
        "0",
        "\u{0}",
        "the quick brown fox",
    ];
    let mut text = String::new();
    if shape == 3 {
        text.push('[');
    }
    for piece in 0..pieces {
        match shape {
            0 => text += words[next(words.len())],
            1 => {
                let line = format!("{}{}\n", words[next(4)], "-".repeat(next(40)));
                text += &line.repeat(1 + next(6) * next(2));
            }
            2 => text.extend(std::iter::repeat_n(
                ['あ', '𝄞', 'é', 'x'][next(4)],
                next(30),
            )),
            _ => {
                if piece > 0 {
                    text.push(',');
                }
                text += &format!(
                    "{{\"n\": {}, \"s\":\"{}\"}}",
                    next(1000),
                    words[1 + next(3)].repeat(next(12))
                );
            }
        }
    }
    if shape == 3 && next(8) > 0 {
        text.push(']');
    }
    text
}

fn policies() -> impl Strategy<Value = ToolResultTransformPolicyV1> {
    (
        1024_u32..3000,
        0_u32..=100,
        0_u32..=100,
        any::<bool>(),
        2_u32..6,
        0_u32..20,
        0..8,
    )
        .prop_map(|(max, head, tail, fold, threshold, items, compatible)| {
            let room = max - 512;
            let head_bytes = 1.max(room * head / 100);
            let (head_bytes, tail_bytes) = match compatible {
                0 => (max, 0),
                _ => (head_bytes, (room - head_bytes) * tail / 100),
            };
            ToolResultTransformPolicyV1 {
                max_output_bytes: max,
                head_bytes,
                tail_bytes,
                fold_repeated_lines: fold,
                repeated_line_threshold: threshold,
                structured_sample_items: items,
                ..ToolResultTransformPolicyV1::conservative()
            }
        })
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    // claims: EVID-03, EVID-06, EVID-07, EVID-08, EVID-10, EVID-11, PROJ-04, PROJ-11, PROJ-18
    #[test]
    fn every_text_is_bounded_and_accounted_for(
        seed: u64, shape in 0_u8..4, pieces in 0_usize..160, policy in policies(), name in "[A-Za-z0-9_-]{1,64}",
    ) {
        let text = text_of(seed, shape, pieces);
        let policy = pinned(policy);
        let result = run_as(&name, &text, &policy, ArtifactStoreLimits::default());
        let (record, max) = (result.record(), policy.policy().max_output_bytes as usize);
        let outside = policy.policy().head_bytes as usize == max;

        let bound = max + usize::from(outside) * 512;
        prop_assert!(result.text.len() <= bound);
        prop_assert_eq!(record.original_bytes, text.len() as u64);
        prop_assert_eq!(record.projected_bytes, result.text.len() as u64);
        prop_assert_eq!(&record.content_digest, &hex(text.as_bytes()));
        prop_assert_eq!(&record.projected_digest, &hex(result.text.as_bytes()));
        prop_assert_eq!(record.verify(&result.text), Ok(()));
        prop_assert_eq!(record.loss_mode == LossMode::None, result.text == text);
        prop_assert!(text.len() <= max || record.loss_mode != LossMode::None);
        if record.loss_mode == LossMode::None {
            prop_assert_eq!(record.content_ref, format!("inline:{}", record.content_digest));
            prop_assert!(result.store.is_empty() && !result.metadata.contains_key(ARTIFACT_KEY));
        } else {
            prop_assert_eq!(&**result.artifact().content, text.as_bytes());
            let line = format!("\n\n[Full output artifact: {}]", record.content_ref);
            prop_assert!(result.text.ends_with(&line));
            if matches!(record.loss_mode, LossMode::BoundedPreview | LossMode::HeadTail) {
                let head = text.floor_char_boundary(policy.policy().head_bytes as usize);
                let tail = text.ceil_char_boundary(text.len() - policy.policy().tail_bytes as usize);
                prop_assert_eq!(result.shown_bytes(), (head + text.len() - tail) as u64);
                prop_assert!(result.text.starts_with(&text[..head]));
                let body = result.text.strip_suffix(&line).unwrap_or_default();
                prop_assert!(body.ends_with(&text[tail..]));
            } else {
                prop_assert_eq!(result.shown_bytes(), 0);
            }
        }
        let again = run_as(&name, &text, &policy, ArtifactStoreLimits::default());
        prop_assert_eq!((again.text, again.metadata), (result.text, result.metadata));
    }
}
