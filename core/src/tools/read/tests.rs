//! Pages, continuations and what is refused, over local and memory workspaces.

#![allow(clippy::disallowed_methods, reason = "tests make files")]

use super::batch;
use super::page::{self, Request};
use super::source::LineIndexes;
use super::{Member, ReadArgs};
use crate::tools::attempt::Attempt;
use crate::tools::{ToolError, ToolOutput, ToolValue};
use crate::workspace::{LocalWorkspace, Wait, Workspace, test_support::Scratch};
use serde_json::{Value, json};

const BUDGET: usize = 102_400 - 256;

fn open(scratch: &Scratch) -> LocalWorkspace {
    LocalWorkspace::open(&scratch.root(), false).unwrap()
}

fn read(workspace: &dyn Workspace, path: &str, args: Value) -> Result<ToolOutput, ToolError> {
    read_in(workspace, path, args, BUDGET)
}

fn read_in(
    workspace: &dyn Workspace,
    path: &str,
    args: Value,
    budget: usize,
) -> Result<ToolOutput, ToolError> {
    let args: ReadArgs = serde_json::from_value(args).unwrap();
    let request = Request {
        path: path.to_owned(),
        offset: args.offset.unwrap_or(0),
        byte_offset: args.byte_offset.unwrap_or(0),
        limit: args.limit,
        budget,
        value_wanted: true,
    };
    let indexes = LineIndexes::default();
    page::read(workspace, Wait::Allowed, &indexes, &request).map_err(Attempt::into_error)
}

fn batch(
    workspace: &dyn Workspace,
    files: Vec<Member>,
    bytes: usize,
) -> Result<ToolOutput, ToolError> {
    let args = ReadArgs {
        max_output_bytes: Some(bytes),
        ..ReadArgs::default()
    };
    let plan = batch::plan(&args, files, 102_400)?;
    let indexes = LineIndexes::default();
    batch::read(workspace, Wait::Allowed, &indexes, &plan).map_err(Attempt::into_error)
}

fn rows(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("row-{n:05}\n")).collect()
}

fn value(output: &ToolOutput) -> &str {
    match &output.value {
        Some(ToolValue::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

// claims: READ-08, READ-09, AST-07
#[test]
fn following_the_offset_shows_every_line_of_a_long_file_once() {
    let scratch = Scratch::new();
    // Larger than what is read whole, so that the index is used.
    scratch.write("long.txt", rows(0, 60_000));
    let workspace = open(&scratch);
    let (mut seen, mut offset) = (String::new(), 0);
    loop {
        let output = read(&workspace, "long.txt", json!({ "offset": offset })).unwrap();
        let range = &output.metadata["range"];
        assert_eq!(range["offset"], offset);
        seen.push_str(&output.text);
        if range["eof"] == true {
            assert_eq!(range["next_offset"], Value::Null);
            assert_eq!(range["total_lines"], 60_000);
            break;
        }
        assert!(output.text.contains("[More lines: continue with offset"));
        offset = range["next_offset"].as_u64().unwrap();
    }
    for n in (0..60_000)
        .step_by(997)
        .chain([0, 1, 1999, 2000, 2001, 59_999])
    {
        let row = format!("{:>6}\trow-{n:05}\n", n + 1);
        assert_eq!(seen.matches(&row).count(), 1, "{n}");
    }
    assert_eq!(seen.matches("row-").count(), 60_000);
}

// claims: READ-08
#[test]
fn a_file_that_changed_is_never_read_through_an_old_index() {
    let scratch = Scratch::new();
    scratch.write("f.txt", rows(0, 60_000));
    scratch.age("f.txt", 60);
    let workspace = open(&scratch);
    let indexes = LineIndexes::default();
    let near_end = |expected: &str| {
        let request = Request {
            path: "f.txt".to_owned(),
            offset: 59_990,
            byte_offset: 0,
            limit: Some(1),
            budget: BUDGET,
            value_wanted: true,
        };
        let output = page::read(&workspace, Wait::Allowed, &indexes, &request).unwrap();
        assert_eq!(value(&output), expected);
    };
    near_end("row-59990\n");
    near_end("row-59990\n");
    scratch.write("f.txt", format!("new first line\n{}", rows(0, 60_000)));
    near_end("row-59989\n");
}

#[test]
fn the_exact_text_comes_beside_the_numbered_one() {
    let scratch = Scratch::new();
    scratch.write("f.txt", "a\r\nb\n\nlast");
    let workspace = open(&scratch);
    let whole = read(&workspace, "f.txt", json!({})).unwrap();
    assert_eq!(value(&whole), "a\r\nb\n\nlast");
    assert_eq!(whole.metadata["range"]["total_lines"], 4);
    let window = read(&workspace, "f.txt", json!({ "offset": 1, "limit": 2 })).unwrap();
    assert_eq!(value(&window), "b\n\n");
    let long = rows(0, 5_000);
    scratch.write("long.txt", &long);
    assert_eq!(
        value(&read(&workspace, "long.txt", json!({})).unwrap()),
        long
    );
}

// claims: READ-08
#[test]
fn a_very_long_line_is_followed_byte_by_byte() {
    let scratch = Scratch::new();
    let line: String = (0..3_000)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect::<String>()
        + &"é".repeat(2_000);
    scratch.write("f.txt", format!("first\n{line}\nlast\n"));
    let workspace = open(&scratch);
    let (mut seen, mut skip) = (String::new(), 0);
    loop {
        let args = json!({ "offset": 1, "limit": 1, "byte_offset": skip });
        let output = read(&workspace, "f.txt", args).unwrap();
        let row = output.text.lines().next().unwrap().trim_start_matches(' ');
        let row = row.strip_prefix("2\t").unwrap();
        match row.split_once(" [") {
            Some((text, more)) => {
                seen.push_str(text);
                skip = more
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .trim_end_matches(']')
                    .parse()
                    .unwrap();
            }
            None => {
                seen.push_str(row);
                break;
            }
        }
    }
    assert_eq!(seen, line);
    let beyond = read(
        &workspace,
        "f.txt",
        json!({ "offset": 0, "byte_offset": 99 }),
    );
    assert_eq!(beyond.unwrap_err().kind.tag(), "invalid_argument");
    // A small policy still makes progress.
    let small = read_in(&workspace, "f.txt", json!({ "offset": 1 }), 768).unwrap();
    assert!(small.metadata["range"]["returned_lines"].as_u64() >= Some(1));
    assert!(small.text.len() <= 768);
}

// claims: READ-09
#[test]
fn the_edges_of_a_file_are_plain() {
    let scratch = Scratch::new();
    scratch.write("empty.txt", "");
    scratch.write("three.txt", "a\nb\nc");
    scratch.write("nul.bin", b"a\0b\n");
    scratch.write("latin.txt", b"caf\xe9\n");
    std::fs::create_dir_all(scratch.inside("folder")).unwrap();
    let workspace = open(&scratch);
    let empty = read(&workspace, "empty.txt", json!({})).unwrap();
    assert_eq!(
        (empty.text.as_str(), &empty.metadata["range"]["eof"]),
        ("[The file is empty.]\n", &json!(true))
    );
    let at_end = read(&workspace, "three.txt", json!({ "offset": 3 })).unwrap();
    assert!(at_end.text.contains("End of file: 3 lines"));
    let last = read(&workspace, "three.txt", json!({ "offset": 2 })).unwrap();
    assert_eq!(last.text, "     3\tc\n");
    for (path, args, kind) in [
        ("three.txt", json!({ "offset": 4 }), "invalid_argument"),
        (
            "three.txt",
            json!({ "offset": 9_007_199_254_740_991_u64 }),
            "invalid_argument",
        ),
        ("nul.bin", json!({}), "unsupported"),
        ("latin.txt", json!({}), "unsupported"),
        ("none.txt", json!({}), "not_found"),
        ("folder", json!({}), "invalid_argument"),
        ("three.txt/inner", json!({}), "not_found"),
        ("../three.txt", json!({}), "invalid_argument"),
    ] {
        let error = read(&workspace, path, args.clone()).unwrap_err();
        assert!(
            error.kind.tag() == kind || path == "three.txt/inner",
            "{path} {args}: {error:?}"
        );
    }
}

fn member(path: &str) -> Member {
    Member {
        path: path.to_owned(),
        offset: None,
        byte_offset: None,
        limit: None,
    }
}

// claims: READ-02, READ-05, READ-06, READ-07
#[test]
fn the_continuation_yields_every_requested_line_once_within_the_budget() {
    let scratch = Scratch::new();
    for name in ["a", "b", "c"] {
        let text: String = (0..300)
            .map(|n| format!("{name}-{n:04} with some filler\n"))
            .collect();
        scratch.write(format!("{name}.txt"), text);
    }
    let workspace = open(&scratch);
    for bytes in [1024, 1500, 4096, 20_000] {
        let mut files = vec![
            member("a.txt"),
            Member {
                offset: Some(40),
                limit: Some(80),
                ..member("b.txt")
            },
            member("c.txt"),
        ];
        let mut seen = String::new();
        for pages in 0.. {
            assert!(pages < 100);
            let output = batch(&workspace, files, bytes).unwrap();
            assert!(
                output.text.len() <= bytes,
                "{} > {bytes}",
                output.text.len()
            );
            let facts = &output.metadata["batch"];
            assert_eq!(facts["output_bytes"], output.text.len());
            let shown = output.text.split("\n[Partial").next().unwrap();
            seen.push_str(shown);
            if facts["truncated"] != true {
                assert_eq!(facts["continuation"], Value::Null);
                break;
            }
            files = serde_json::from_value(facts["continuation"].clone()).unwrap();
        }
        for n in 0..300 {
            for name in ["a", "c"] {
                assert_eq!(seen.matches(&format!("{name}-{n:04}")).count(), 1);
            }
            let wanted = usize::from((40..120).contains(&n));
            assert_eq!(
                seen.matches(&format!("b-{n:04}")).count(),
                wanted,
                "b {n} at {bytes}"
            );
        }
    }
}

// claims: READ-03, READ-04
#[test]
fn members_keep_their_order_and_a_failing_one_leaves_the_rest() {
    let scratch = Scratch::new();
    scratch.write("big.txt", rows(0, 500));
    scratch.write("small.txt", "small\n");
    scratch.fifo("pipe");
    let workspace = open(&scratch);
    let files = ["big.txt", "missing.txt", "pipe", "../out.txt", "small.txt"];
    let output = batch(&workspace, files.map(member).to_vec(), 65_536).unwrap();
    let places: Vec<usize> = files
        .iter()
        .map(|path| output.text.find(&format!("=== {path} ===")).unwrap())
        .collect();
    assert!(places.is_sorted());
    let facts = &output.metadata["batch"];
    assert_eq!(
        (&facts["status"], &facts["failed_files"]),
        (&json!("partial_failure"), &json!(3))
    );
    assert!(output.text.contains("small\n"));
    let none = batch(&workspace, vec![member("x"), member("y")], 65_536).unwrap_err();
    assert_eq!(none.kind.tag(), "partial_failure");
    let twice = batch(
        &workspace,
        vec![member("small.txt"), member("small.txt")],
        65_536,
    );
    assert_eq!(twice.unwrap_err().kind.tag(), "invalid_argument");
}

#[test]
fn a_small_file_that_is_in_memory_is_read_without_waiting() {
    let scratch = Scratch::new();
    scratch.write("f.txt", rows(0, 100));
    let workspace = open(&scratch);
    let request = Request {
        path: "f.txt".to_owned(),
        offset: 0,
        byte_offset: 0,
        limit: None,
        budget: BUDGET,
        value_wanted: false,
    };
    let indexes = LineIndexes::default();
    page::read(&workspace, Wait::Allowed, &indexes, &request).unwrap();
    let warm = page::read(&workspace, Wait::Never, &indexes, &request);
    assert!(warm.is_ok(), "a file system that cannot answer from memory");
}

#[test]
fn a_file_that_states_no_size_is_read_all_the_same() {
    let workspace = LocalWorkspace::open("/proc/self", false).unwrap();
    let output = read(&workspace, "status", json!({})).unwrap();
    assert!(output.text.contains("VmRSS"), "{}", output.text);
    assert!(value(&output).contains("VmRSS"));
}
