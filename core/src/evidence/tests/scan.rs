//! The JSON scan against `serde_json`, and the fold against its plain reading.

use crate::evidence::fold::fold_repeated_lines;
use crate::evidence::json::{push_compact, skip_space, skip_value};
use crate::evidence::sample::sample_json_array;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

fn scans(text: &str) -> bool {
    let bytes = text.as_bytes();
    let end = skip_value(bytes, 0, &mut Vec::new());
    end.is_some_and(|end| skip_space(bytes, end) == bytes.len())
}

fn parses(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[test]
fn the_grammar_is_that_of_json() {
    let good = [
        "0",
        "-0",
        "10",
        "1.5",
        "1e9",
        "-1.25E-7",
        "1E+2",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "[[],[{}]]",
        "{\"a\":1,\"b\":[1,2]}",
        "\"\\u12aF\\n\\\"\\\\\\/\"",
        "\"é𝄞\"",
        "\t\r\n1 ",
        "[1,\"a\",null,{\"k\":{}}]",
        "\"12345678\"",
        "\"1234567\\\"\"",
        "\"\u{7f}\"",
    ];
    let bad = [
        "",
        " ",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "tru",
        "nul",
        "True",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "\"1234567\t\"",
        "\"a",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "}",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{,}",
        "[}",
        "{]",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[] []",
        "\u{feff}[]",
        "\u{a0}1",
        "'a'",
        "\"\\",
        "\"\\u",
    ];
    for text in good {
        assert!(scans(text) && parses(text), "{text:?}");
    }
    for text in bad {
        assert!(!scans(text) && !parses(text), "{text:?}");
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = 2_000_000;
    let nested = format!("[{}{},1,2]", "[".repeat(deep), "]".repeat(deep));
    assert!(sample_json_array(&nested, 2).is_some_and(|sample| sample.ends_with(",2]}")));
    assert!(sample_json_array(&format!("{}1]", "[".repeat(deep)), 2).is_none());
    assert!(!scans(&"{\"a\":".repeat(deep)));
}

#[test]
fn a_scan_stops_at_the_end_of_a_value() {
    let mut open = Vec::new();
    assert_eq!(skip_value(b" {\"a\":[1]} ,x", 0, &mut open), Some(10));
    assert!(open.is_empty());
}

#[test]
fn kept_items_lose_white_space_between_tokens_only() {
    let mut out = String::new();
    push_compact(
        &mut out,
        " { \"b b\" : [ 1.50 , \"x \\\" \\\\\" , 1e400 ] ,\n\"a\":\t12345678901234567890123 }",
    );
    assert_eq!(
        out,
        "{\"b b\":[1.50,\"x \\\" \\\\\",1e400],\"a\":12345678901234567890123}"
    );
}

/// The contract's words, line by line.
fn fold_plainly(text: &str, threshold: usize) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut folded = String::new();
    for run in lines.chunk_by(|a, b| a == b) {
        if run.len() >= threshold {
            folded += run[0];
            folded += &format!("[a3s repeated-line fold: {} more copies]\n", run.len() - 1);
        } else {
            folded.extend(run.iter().copied());
        }
    }
    (folded.len() < text.len()).then_some(folded)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ \\\\\"a-z\\n\\té𝄞]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[ \"a-c]{0,3}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scan_and_parser_agree_on_near_json(text in "[\\[\\]{},:\"0-2eE.\\-+ \\\\untrfalse]{0,12}") {
        prop_assert_eq!(scans(&text), parses(&text), "{}", text);
    }

    #[test]
    fn scan_and_parser_agree_on_damaged_json(value in json(), pretty: bool, cut in 0_usize..200, put in "[\\]},:\"\\\\ 0\\n]{0,1}") {
        let mut text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.expect("JSON");
        prop_assert!(scans(&text), "{}", text);
        let mut compact = String::new();
        push_compact(&mut compact, &text);
        prop_assert_eq!(compact, serde_json::to_string(&value).expect("JSON"));
        let at = text.floor_char_boundary(cut.min(text.len()));
        let end = text.ceil_char_boundary((at + 1).min(text.len()));
        text.replace_range(at..end, &put);
        prop_assert_eq!(scans(&text), parses(&text), "{}", text);
    }

    #[test]
    fn samples_are_the_ends_of_the_array(values in prop::collection::vec(json(), 0..12), wanted in 1_usize..8) {
        let text = serde_json::to_string_pretty(&values).expect("JSON");
        let sample = sample_json_array(&text, wanted);
        prop_assert_eq!(sample.is_some(), values.len() > wanted);
        if let Some(sample) = sample {
            let kept: Vec<&Value> = values[..wanted.div_ceil(2)].iter().chain(&values[values.len() - wanted / 2..]).collect();
            let items = serde_json::to_string(&kept).expect("JSON");
            let ends = format!("\"items\":{items}}}");
            prop_assert!(sample.ends_with(&ends), "{}", sample);
        }
    }

    // claims: PROJ-05, PROJ-06
    #[test]
    fn folding_is_the_plain_reading(lines in prop::collection::vec((0_usize..4, 1_usize..6), 0..8), open: bool, threshold in 2_usize..5) {
        let kinds = ["\n", "a line that is worth folding away when it repeats itself\n", "a line that is worth folding away when it repeats itselF\n", "b\r\n"];
        let mut text: String = lines.iter().map(|(kind, times)| kinds[*kind].repeat(*times)).collect();
        if open {
            text.pop();
        }
        prop_assert_eq!(fold_repeated_lines(&text, threshold), fold_plainly(&text, threshold));
    }
}
