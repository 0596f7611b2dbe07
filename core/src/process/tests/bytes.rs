//! Output is counted exactly and cut between characters, whatever its bytes and however they arrive.

use super::*;
use crate::process::{Receive, Stream};

/// Gives bytes in pieces of this size.
fn taken(bytes: &[u8], piece: usize, rooms: Rooms) -> Captured {
    let mut receiver = HeadTail::new(rooms, 10_000_000, None);
    for piece in bytes.chunks(piece) {
        assert!(receiver.receive(Stream::Output, piece));
    }
    receiver.finish();
    receiver.captured()
}

fn without_marker(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("[... ")).collect()
}

#[test]
fn a_cut_never_falls_into_a_character() {
    let bytes = "汉".repeat(5000).into_bytes();
    for room in 1..=64 {
        for piece in [1, 2, 7, 4096] {
            let rooms = Rooms {
                head: room,
                tail: 65 - room,
            };
            let captured = taken(&bytes, piece, rooms);
            let shown = without_marker(&captured.text).replace('\n', "");
            assert!(
                shown.chars().all(|character| character == '汉'),
                "{room} {piece}: {shown}"
            );
            assert_eq!(captured.captured_bytes, shown.len() as u64);
            assert_eq!(captured.total_bytes(), bytes.len() as u64);
            assert!(shown.len() >= 65 - 4, "{room} {piece}");
            assert_eq!(captured.whole.as_deref(), Some(&bytes[..]));
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_whole_and_lose_no_neighbour() {
    let noise: Vec<u8> = (0..100_000_u64)
        .map(|n| {
            (n.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(n << 7)
                >> 33) as u8
        })
        .collect();
    for (bytes, expected) in [
        (&b"a\xf0b"[..], Some("a\u{FFFD}b")),
        (b"\xff\xfe", Some("\u{FFFD}\u{FFFD}")),
        (b"nul \0 and \r\n kept", Some("nul \0 and \r\n kept")),
        (b"ends \xe6\xb1", Some("ends \u{FFFD}")),
        (&noise, None),
    ] {
        for piece in [1, 3, 65_536] {
            let captured = taken(bytes, piece, Rooms::within(102_400));
            if let Some(expected) = expected {
                assert_eq!(captured.text, expected, "{piece}");
            }
            assert_eq!(captured.total_bytes(), bytes.len() as u64);
            match std::str::from_utf8(bytes) {
                Ok(text) => assert_eq!((captured.text.as_str(), captured.whole), (text, None)),
                Err(_) => assert_eq!(captured.whole.as_deref(), Some(bytes), "{piece}"),
            }
        }
    }
}

// claims: CTR-09, CTR-10, CTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_streams_share_one_bound_and_are_counted_apart() {
    let line = "head -c 3000000 /dev/zero | tr '\\0' o; head -c 1000001 /dev/zero | tr '\\0' e >&2; echo; echo last >&2";
    let (end, captured) = run(line).await;
    assert_eq!(end, End::Exited(0));
    assert_eq!(
        (captured.stdout_bytes, captured.stderr_bytes),
        (3_000_001, 1_000_006)
    );
    assert!(captured.text.len() <= 102_400 && captured.text.ends_with("last\n"));
    assert!(captured.text.starts_with("ooo"));
    assert_eq!(
        captured.omitted_bytes() + captured.captured_bytes,
        4_000_007
    );
}

// Hazard X9's last milliseconds, for commands in the foreground.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_just_before_the_end_arrives() {
    for _ in 0..50 {
        let (_, captured) = run("head -c 65536 /dev/zero; printf end").await;
        assert_eq!(captured.total_bytes(), 65_539);
    }
}

#[test]
fn the_other_stream_never_lands_inside_a_character() {
    let [first, second, third] = "汉".as_bytes() else {
        unreachable!()
    };
    let mut receiver = receiver();
    receiver.receive(Stream::Output, &[*first]);
    receiver.receive(Stream::Error, b"e");
    receiver.receive(Stream::Output, &[*second]);
    receiver.receive(Stream::Error, b"f");
    receiver.receive(Stream::Output, &[*third]);
    receiver.finish();
    let captured = receiver.captured();
    assert_eq!(captured.text, "ef汉");
    assert_eq!((captured.stdout_bytes, captured.stderr_bytes), (3, 2));
}
