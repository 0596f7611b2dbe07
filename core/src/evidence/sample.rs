//! Sampling of a text that is one top-level JSON array: its first and last items.
//!
//! The array is read as a stream; at most the wanted number of items is remembered, each as a range of
//! the text. Kept items lose the white space between tokens and nothing else.

use super::json::{push_compact, skip_space, skip_value};
use super::policy::TRANSFORM_ALGORITHM;
use std::ops::Range;

/// The first and last items of an array, and how many there are.
struct Ends {
    first: Vec<Range<usize>>,
    last: Vec<Range<usize>>,
    items: usize,
}

/// The sample, or nothing when the text is not one JSON array with more than `wanted` items.
///
/// `wanted` is at least 1; the first half, rounded up, comes from the beginning.
pub(super) fn sample_json_array(text: &str, wanted: usize) -> Option<String> {
    // Most large outputs are not arrays; one look at each end settles it.
    let trimmed = text.trim_matches([' ', '\n', '\r', '\t']);
    if !(trimmed.starts_with('[') && trimmed.ends_with(']')) {
        return None;
    }
    let ends = array_ends(text.as_bytes(), wanted)?;
    if ends.items <= wanted {
        return None;
    }
    let retained = ends.first.len() + ends.last.len();
    let mut sample = format!(
        "{{\"$a3s_sample\":{{\"schema\":\"{TRANSFORM_ALGORITHM}\",\"kind\":\"json_array\",\
         \"original_items\":{},\"retained_items\":{retained},\"omitted_items\":{}}},\"items\":[",
        ends.items,
        ends.items - retained,
    );
    for (index, item) in ends.first.into_iter().chain(ends.last).enumerate() {
        if index > 0 {
            sample.push(',');
        }
        push_compact(&mut sample, &text[item]);
    }
    sample.push_str("]}");
    Some(sample)
}

fn array_ends(bytes: &[u8], wanted: usize) -> Option<Ends> {
    let (head, tail) = (wanted.div_ceil(2), wanted / 2);
    let mut first = Vec::with_capacity(head);
    // The last items, at their number modulo the length; a power of two makes that one step.
    let mut ring = vec![0..0; tail.next_power_of_two()];
    let mask = ring.len() - 1;
    let mut items = 0;
    let mut open = Vec::new();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    at = skip_space(bytes, at + 1);
    if bytes.get(at) != Some(&b']') {
        loop {
            let start = skip_space(bytes, at);
            at = skip_value(bytes, start, &mut open)?;
            if items < head {
                first.push(start..at);
            }
            if let Some(slot) = ring.get_mut(items & mask) {
                *slot = start..at;
            }
            items += 1;
            at = skip_space(bytes, at);
            if bytes.get(at) != Some(&b',') {
                break;
            }
            at += 1;
        }
    }
    if bytes.get(at) != Some(&b']') || skip_space(bytes, at + 1) != bytes.len() {
        return None;
    }
    let last = items.saturating_sub(tail).max(first.len())..items;
    let last = last.filter_map(|item| ring.get(item & mask).cloned());
    Some(Ends {
        last: last.collect(),
        first,
        items,
    })
}
