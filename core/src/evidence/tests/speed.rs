//! What accounting costs beside one SHA-256 pass over the same bytes.
//!
//! Run in a release build, alone: `cargo test --release -p a3s-code-core --lib evidence::tests::speed --
//! --ignored --nocapture`.

use super::*;
use sha2::{Digest as _, Sha256};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZE: usize = 10 * 1024 * 1024;

/// The best of many runs; `prepare` is not counted.
fn best<T, R>(prepare: impl Fn() -> T, work: impl Fn(T) -> R) -> Duration {
    (0..30)
        .map(|_| {
            let input = prepare();
            let start = Instant::now();
            let output = black_box(work(black_box(input)));
            let taken = start.elapsed();
            drop(output);
            taken
        })
        .min()
        .unwrap_or_default()
}

fn ratio(name: &str, unit: &str, policy: &PinnedPolicy, target: f64) -> bool {
    let text = unit.repeat(SIZE / unit.len());
    check(name, text, policy, target)
}

fn check(name: &str, text: String, policy: &PinnedPolicy, target: f64) -> bool {
    let floor = best(|| (), |()| Sha256::digest(text.as_bytes()));
    let store = ArtifactStore::new(ArtifactStoreLimits::default());
    let taken = best(
        || text.clone(),
        |text| {
            store.clear();
            account("probe", text, policy, &store, &mut Map::new())
        },
    );
    let ratio = taken.as_secs_f64() / floor.as_secs_f64();
    println!("{name}: {taken:?}, floor {floor:?}, ratio {ratio:.2}, target {target:.2}");
    ratio <= target
}

fn numbered(row: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(SIZE + 256);
    let mut n = 0;
    while text.len() < SIZE {
        text += &row(n);
        n += 1;
    }
    text
}

fn json_array(row: impl Fn(usize) -> String) -> String {
    let mut text = numbered(|n| format!("{}{}", if n == 0 { "[" } else { "," }, row(n)));
    text.push(']');
    text
}

#[test]
#[ignore = "a measurement: needs a release build and a quiet machine"]
fn accounting_costs_little_more_than_one_digest() {
    let (plain, efficient) = (conservative(), efficient());
    let log = |n: usize| {
        format!(
            "2024-05-01T12:00:00Z worker {n} finished step {} in {} ms\n",
            n % 7,
            n % 977
        )
    };
    let object = |n: usize| {
        format!(
            "{{\"id\":{n},\"name\":\"item-{n}\",\"path\":\"src/module_{}/file_{n}.rs\",\"score\":{}.5,\"tags\":[\"a\",\"b\"],\"ok\":true}}",
            n % 50,
            n % 100
        )
    };
    let met = [
        check("first bytes of a log", numbered(log), &plain, 1.15),
        check("head and tail of a log", numbered(log), &efficient, 1.15),
        check(
            "head and tail of short rows",
            numbered(|n| format!("L{n:06}\n")),
            &efficient,
            1.15,
        ),
        ratio(
            "fold of one repeated line",
            "the same line of a log, over and over again\n",
            &efficient,
            1.15,
        ),
        check("JSON array of objects", json_array(object), &efficient, 1.5),
        check(
            "JSON array of long texts",
            json_array(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}", "words ".repeat(40))),
            &efficient,
            1.5,
        ),
        // Each item is one token of a few bytes: the grammar costs more than the bytes.
        check(
            "JSON array of numbers",
            json_array(|n| n.to_string()),
            &efficient,
            2.5,
        ),
    ];
    assert!(
        met.iter().all(|met| *met),
        "a target is missed: see the lines above"
    );
}
