//! The built-in search over local and memory files.

use super::*;
use crate::workspace::test_support::Scratch;
use crate::workspace::{DirEntry, LocalWorkspace, MemoryWorkspace, Metadata, OpenFile, Workspace};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn memory(files: &[(&str, &str)]) -> MemoryWorkspace {
    let files: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    MemoryWorkspace::new("memory", files, None).unwrap()
}

fn scope(workspace: &dyn Workspace) -> SearchScope<'_> {
    SearchScope {
        files: workspace.file_system(),
        wait: Wait::Allowed,
        cancelled: &|| false,
        withheld: None,
    }
}

fn glob(workspace: &dyn Workspace, pattern: &str, path: &str) -> Vec<String> {
    let request = GlobRequest {
        pattern: GlobPattern::new(pattern, "query").unwrap(),
        path: workspace.resolve(path).unwrap(),
        order: PathOrder::Path,
    };
    TreeSearch.glob(&request, scope(workspace)).unwrap().paths
}

fn request(workspace: &dyn Workspace, pattern: &str, path: &str) -> GrepRequest {
    GrepRequest {
        pattern: pattern.to_owned(),
        case_sensitive: true,
        path: workspace.resolve(path).unwrap(),
        include: None,
        detail: GrepDetail::Lines {
            context: 0,
            max_bytes: 100_000,
        },
    }
}

fn grep(workspace: &dyn Workspace, request: &GrepRequest) -> GrepResponse {
    TreeSearch.grep(request, scope(workspace)).unwrap()
}

fn hits(response: &GrepResponse) -> Vec<String> {
    let rows = response.files.iter().flat_map(|file| {
        file.rows
            .iter()
            .map(move |row| format!("{}:{}:{}", file.path, row.line, row.text))
    });
    rows.collect()
}

#[test]
fn ignore_files_hold_in_their_folder_and_outside_a_repository() {
    let scratch = Scratch::new();
    for (path, text) in [
        (
            ".gitignore",
            "build/\n*.log\n!keep.log\n/only-root\nsub/exact\ncaf\\351\n",
        ),
        (".git/info/exclude", "excluded.txt\n*.swp\n"),
        (".git/config", ""),
        (".ignore", "!revived.log\n"),
        ("build/out", ""),
        ("sub/build/out", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("revived.log", ""),
        ("only-root", ""),
        ("sub/only-root", ""),
        ("sub/exact", ""),
        ("exact", ""),
        ("excluded.txt", ""),
        ("x.swp", ""),
        ("sub/.gitignore", "!a.log\n*.txt\n"),
        ("sub/a.log", ""),
        ("sub/b.txt", ""),
        ("sub/deep/c.txt", ""),
        ("b.txt", ""),
        (".hidden/file", ""),
        ("node_modules/m/index.js", ""),
        (".a3s/state", ""),
        (".a3s-code/grep-trigram/stamp.txt", ""),
        ("sub/.git/HEAD", ""),
    ] {
        scratch.write(path, text);
    }
    let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
    assert_eq!(
        glob(&workspace, "**", "."),
        [
            ".gitignore",
            ".hidden/file",
            ".ignore",
            "b.txt",
            "exact",
            "keep.log",
            "node_modules/m/index.js",
            "revived.log",
            "sub/.gitignore",
            "sub/a.log",
            "sub/only-root",
        ]
    );
}

#[test]
fn an_explicit_path_is_searched_even_where_a_walk_would_not_go() {
    let scratch = Scratch::new();
    for (path, text) in [
        (".gitignore", "build/\nall/*\n*.log\n"),
        ("build/out.log", "needle\n"),
        ("build/inner/x", "needle\n"),
        ("all/one/x", "needle\n"),
        (".git/hooks/pre-commit", "needle\n"),
        (".git/config", "needle\n"),
        ("src/x", "needle\n"),
        ("src/x.log", "needle\n"),
        ("src/target/y", "needle\n"),
    ] {
        scratch.write(path, text);
    }
    let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
    for (path, expected) in [
        (".", vec!["src/target/y", "src/x"]),
        ("build", vec!["build/inner/x", "build/out.log"]),
        ("build/inner", vec!["build/inner/x"]),
        ("build/out.log", vec!["build/out.log"]),
        ("all/one", vec!["all/one/x"]),
        (".git", vec![".git/config", ".git/hooks/pre-commit"]),
        (".git/hooks", vec![".git/hooks/pre-commit"]),
        // The rules of the folders above hold in a folder that they do not exclude.
        ("src", vec!["src/target/y", "src/x"]),
    ] {
        let found = grep(&workspace, &request(&workspace, "needle", path));
        let paths: Vec<&str> = found.files.iter().map(|file| &*file.path).collect();
        assert_eq!(paths, expected, "{path}");
    }
}

// claims: SRCH-07
#[test]
fn a_path_limits_glob_and_grep_to_its_folder() {
    let workspace = memory(&[
        ("in/hit.txt", "a beacon\n"),
        ("in/deep/hit.txt", "a beacon\n"),
        ("inner/other.txt", "a beacon\n"),
        ("out/other.txt", "a beacon\n"),
    ]);
    assert_eq!(
        glob(&workspace, "**/*.txt", "in"),
        ["in/deep/hit.txt", "in/hit.txt"]
    );
    assert_eq!(glob(&workspace, "*.txt", "in"), ["in/hit.txt"]);
    assert_eq!(glob(&workspace, "in/*.txt", "in"), ["in/hit.txt"]);
    assert_eq!(glob(&workspace, "*.txt", "in/hit.txt"), ["in/hit.txt"]);
    let found = grep(&workspace, &request(&workspace, "beacon", "in"));
    assert_eq!(
        hits(&found),
        ["in/deep/hit.txt:1:a beacon", "in/hit.txt:1:a beacon"]
    );
    let found = grep(&workspace, &request(&workspace, "beacon", "in/hit.txt"));
    assert_eq!(hits(&found), ["in/hit.txt:1:a beacon"]);
}

#[test]
fn links_are_not_followed_and_a_loop_or_dangling_link_hurts_nothing() {
    let scratch = Scratch::new();
    scratch.write("a/keep.txt", "guarded-text\n");
    scratch.write("../private.txt", "guarded-text\n");
    scratch.link("a/loop", ".");
    scratch.link("a/up", "..");
    scratch.link("out", scratch.beside("w"));
    scratch.link("dangling.txt", "missing");
    let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
    assert_eq!(glob(&workspace, "**", "."), ["a/keep.txt"]);
    let found = grep(&workspace, &request(&workspace, "guarded", "."));
    assert_eq!(hits(&found), ["a/keep.txt:1:guarded-text"]);
    // An explicit path may go through a link that stays inside.
    assert_eq!(glob(&workspace, "**", "a/loop"), ["a/loop/keep.txt"]);
}

// claims: SRCH-09
#[test]
fn a_query_is_a_regular_expression_for_one_line() {
    let workspace = memory(&[
        (
            "a.txt",
            "temp -77 --pdf-engine -> x\r\nCall (fn) now\n\nend\r\n",
        ),
        ("b.txt", "ÄPFEL\nlast"),
    ]);
    for (pattern, case_sensitive, expected) in [
        ("-77", true, vec!["a.txt:1:temp -77 --pdf-engine -> x"]),
        ("--", true, vec!["a.txt:1:temp -77 --pdf-engine -> x"]),
        ("\\(fn\\)", true, vec!["a.txt:2:Call (fn) now"]),
        ("x$", true, vec!["a.txt:1:temp -77 --pdf-engine -> x"]),
        ("^end$", true, vec!["a.txt:4:end"]),
        ("^$", true, vec!["a.txt:3:"]),
        ("^last$", true, vec!["b.txt:2:last"]),
        ("call", true, vec![]),
        ("call", false, vec!["a.txt:2:Call (fn) now"]),
        ("äpfel", false, vec!["b.txt:1:ÄPFEL"]),
        ("now\\s+end", true, vec![]),
    ] {
        let request = GrepRequest {
            case_sensitive,
            ..request(&workspace, pattern, ".")
        };
        assert_eq!(hits(&grep(&workspace, &request)), expected, "{pattern}");
    }
    for pattern in [
        "(",
        "[a",
        "a{2,1}",
        "\\p{Foo}",
        "*a",
        "a\\nb",
        "(?:a{1000}){1000}",
    ] {
        let refused = TreeSearch.grep(&request(&workspace, pattern, "."), scope(&workspace));
        assert!(
            matches!(
                refused,
                Err(SearchError::InvalidPattern {
                    argument: "query",
                    ..
                })
            ),
            "{pattern}"
        );
    }
}

// claims: SRCH-10
#[test]
fn context_stands_around_each_match_and_groups_are_apart() {
    let text: String = (1..=12).map(|n| format!("line {n}\n")).collect();
    let workspace = memory(&[("a.txt", &text)]);
    let request = GrepRequest {
        detail: GrepDetail::Lines {
            context: 1,
            max_bytes: 100_000,
        },
        ..request(&workspace, "line (1|6|8)$", ".")
    };
    let rows: Vec<(RowKind, u64)> = grep(&workspace, &request).files[0]
        .rows
        .iter()
        .map(|row| (row.kind, row.line))
        .collect();
    use RowKind::{Break, Context, Match};
    assert_eq!(
        rows,
        [
            (Match, 1),
            (Context, 2),
            (Break, 0),
            (Context, 5),
            (Match, 6),
            (Context, 7),
            (Match, 8),
            (Context, 9),
        ]
    );
}

#[test]
fn a_long_line_is_shortened_around_the_match() {
    let long = format!("{}stats{}", "é".repeat(320_000), "y".repeat(9000));
    let workspace = memory(&[
        ("big.js", &long),
        ("bin", "\0stats"),
        ("sub/\u{1}", "stats"),
    ]);
    let found = grep(&workspace, &request(&workspace, "stats", "."));
    assert_eq!(found.files.len(), 2, "a file with NUL is not text");
    let row = &found.files[0].rows[0];
    assert!(
        row.text.len() < 700 && row.text.contains("éstatsy"),
        "{}",
        row.text
    );
    assert!(!row.text.contains('\u{fffd}'));
    assert!(
        row.text.starts_with("[6398") && row.text.ends_with(" bytes]"),
        "{}",
        row.text
    );
}

#[test]
fn bytes_that_are_not_utf8_are_searched_and_shown_replaced() {
    let files = BTreeMap::from([("latin.txt".to_owned(), b"caf\xe9 stats\n".to_vec())]);
    let workspace = MemoryWorkspace::new("memory", files, None).unwrap();
    let found = grep(&workspace, &request(&workspace, "stats", "."));
    assert_eq!(hits(&found), ["latin.txt:1:caf\u{fffd} stats"]);
}

#[test]
fn include_looks_at_the_name_or_at_the_whole_path() {
    let workspace = memory(&[
        ("a.rs", "x\n"),
        ("src/b.rs", "x\n"),
        ("src/c.ts", "x\n"),
        ("src/in/d.tsx", "x\n"),
    ]);
    for (include, expected) in [
        ("*.rs", vec!["a.rs", "src/b.rs"]),
        ("*.{ts,tsx}", vec!["src/c.ts", "src/in/d.tsx"]),
        ("src/*", vec!["src/b.rs", "src/c.ts"]),
        ("src/**", vec!["src/b.rs", "src/c.ts", "src/in/d.tsx"]),
        ("*.py", vec![]),
    ] {
        let request = GrepRequest {
            include: Some(GlobPattern::new(include, "include").unwrap()),
            ..request(&workspace, "x", ".")
        };
        let found = grep(&workspace, &request);
        let paths: Vec<&str> = found.files.iter().map(|file| &*file.path).collect();
        assert_eq!(paths, expected, "{include}");
        // Files that are left out are not opened either.
        assert_eq!(found.work.opened_files, expected.len() as u64);
    }
}

// claims: SRCH-14
#[test]
fn numbers_are_counted_without_building_the_text_of_any_line() {
    let workspace = memory(&[("a.txt", "TODO\nx\nTODO TODO\n"), ("b.txt", "a TODO\n")]);
    let counts = GrepRequest {
        detail: GrepDetail::Counts,
        ..request(&workspace, "TODO", ".")
    };
    let found = grep(&workspace, &counts);
    assert_eq!((found.matching_lines(), found.files.len()), (3, 2));
    assert_eq!((found.work.lines_built, found.text.len()), (0, 0));
    assert!(found.files.iter().all(|file| file.rows.is_empty()));
    let lines = grep(&workspace, &request(&workspace, "TODO", "."));
    assert_eq!(lines.work.lines_built, 3, "the counter counts");
}

#[test]
fn text_stops_at_its_bound_and_everything_fails_beyond_it() {
    let text = "some matching line\n".repeat(200);
    let workspace = memory(&[("a.txt", &text), ("b.txt", &text)]);
    let lines = |max_bytes| GrepRequest {
        detail: GrepDetail::Lines {
            context: 0,
            max_bytes,
        },
        ..request(&workspace, "matching", ".")
    };
    let found = grep(&workspace, &lines(2000));
    assert!(found.truncated && found.matching_lines() < 200);
    assert_eq!(found.matching_lines() as usize, found.files[0].rows.len());
    assert!(!grep(&workspace, &lines(100_000)).truncated);
    let everything = |max_bytes| GrepRequest {
        detail: GrepDetail::Everything { max_bytes },
        ..request(&workspace, "matching", ".")
    };
    let all = grep(&workspace, &everything(100_000)).text;
    assert_eq!(all.lines().count(), 400);
    assert!(all.starts_with("a.txt:1:some matching line\na.txt:2:"));
    let refused = TreeSearch.grep(&everything(1000), scope(&workspace));
    assert!(matches!(
        refused,
        Err(SearchError::TooLarge { max: 1000, .. })
    ));
}

#[test]
fn what_changed_last_comes_first_and_the_rest_is_lexical() {
    let scratch = Scratch::new();
    for n in 0..200 {
        let path = format!("f{n:03}.txt");
        scratch.write(&path, "");
        scratch.age(&path, 1000 + n);
    }
    scratch.age("f150.txt", 10);
    scratch.age("f199.txt", 5);
    let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
    let request = GlobRequest {
        pattern: GlobPattern::new("*.txt", "query").unwrap(),
        path: WorkspacePath::root(),
        order: PathOrder::Backend,
    };
    let paths = TreeSearch.glob(&request, scope(&workspace)).unwrap().paths;
    assert_eq!(paths.len(), 200);
    assert_eq!(paths[..3], ["f199.txt", "f150.txt", "f000.txt"]);
    assert_eq!(paths[127..129], ["f125.txt", "f126.txt"]);
    assert!(paths[128..].is_sorted());
}

#[test]
fn oversized_and_unreadable_files_are_named_and_the_rest_is_searched() {
    struct Odd<'a>(&'a dyn FileSystem);
    struct Huge;
    impl OpenFile for Huge {
        fn metadata(&self) -> Metadata {
            Metadata {
                kind: crate::workspace::FileKind::File,
                len: MAX_FILE_BYTES + 1,
                modified_ns: 0,
                changed_ns: 0,
                identity: 0,
            }
        }
        fn read_at(&self, _: u64, _: &mut [u8], _: Wait) -> Result<usize, WorkspaceError> {
            panic!("a file that is too large is not read")
        }
    }
    impl FileSystem for Odd<'_> {
        fn open(
            &self,
            path: &WorkspacePath,
            wait: Wait,
        ) -> Result<Box<dyn OpenFile>, WorkspaceError> {
            match path.as_str() {
                "huge" => Ok(Box::new(Huge)),
                "locked" => Err(WorkspaceError::Io {
                    path: "locked".to_owned(),
                    source: std::io::ErrorKind::PermissionDenied.into(),
                }),
                "gone" => Err(WorkspaceError::NotFound {
                    path: "gone".to_owned(),
                }),
                _ => self.0.open(path, wait),
            }
        }
        fn metadata(&self, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError> {
            self.0.metadata(path, wait)
        }
        fn read_dir(
            &self,
            path: &WorkspacePath,
            wait: Wait,
        ) -> Result<Vec<DirEntry>, WorkspaceError> {
            self.0.read_dir(path, wait)
        }
    }
    let workspace = memory(&[
        ("gone", "x"),
        ("huge", "x"),
        ("locked", "x"),
        ("plain", "x"),
    ]);
    let files = Odd(workspace.file_system());
    let scope = SearchScope {
        files: &files,
        ..scope(&workspace)
    };
    let found = TreeSearch
        .grep(&request(&workspace, "x", "."), scope)
        .unwrap();
    assert_eq!(hits(&found), ["plain:1:x"]);
    assert_eq!((found.skipped_oversize, found.failed_reads), (1, 1));
    assert_eq!(found.oversized[0].path, "huge");
}

// claims: SRCH-05
#[test]
fn grep_opens_nothing_but_the_files_it_searches() {
    struct Watched<'a>(&'a dyn FileSystem, Mutex<Vec<String>>);
    impl FileSystem for Watched<'_> {
        fn open(
            &self,
            path: &WorkspacePath,
            wait: Wait,
        ) -> Result<Box<dyn OpenFile>, WorkspaceError> {
            self.1.lock().unwrap().push(path.as_str().to_owned());
            self.0.open(path, wait)
        }
        fn metadata(&self, path: &WorkspacePath, wait: Wait) -> Result<Metadata, WorkspaceError> {
            self.0.metadata(path, wait)
        }
        fn read_dir(
            &self,
            path: &WorkspacePath,
            wait: Wait,
        ) -> Result<Vec<DirEntry>, WorkspaceError> {
            self.1.lock().unwrap().push(format!("{}/", path.as_str()));
            self.0.read_dir(path, wait)
        }
    }
    let scratch = Scratch::new();
    scratch.write("deep/a.txt", "the lantern\n");
    let without = {
        let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
        hits(&grep(&workspace, &request(&workspace, "lantern", ".")))
    };
    scratch.write(".a3s-code/zvec/index", "junk lantern");
    scratch.write(".a3s-code/grep-trigram/stamp.txt", "junk lantern");
    let workspace = LocalWorkspace::open(&scratch.root(), true).unwrap();
    let files = Watched(workspace.file_system(), Mutex::default());
    let scope = SearchScope {
        files: &files,
        ..scope(&workspace)
    };
    let with = TreeSearch
        .grep(&request(&workspace, "lantern", "."), scope)
        .unwrap();
    assert_eq!(hits(&with), without);
    let touched = files.1.into_inner().unwrap();
    assert_eq!(touched, ["/", "deep/", "deep/a.txt"]);
}

#[test]
fn a_cancelled_search_ends_between_files() {
    let files: Vec<(String, String)> = (0..100)
        .map(|n| (format!("f{n:02}"), "x\n".to_owned()))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let workspace = memory(&files);
    let asked = AtomicUsize::new(0);
    let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 5;
    let scope = SearchScope {
        cancelled: &cancelled,
        withheld: None,
        ..scope(&workspace)
    };
    let stopped = TreeSearch.grep(&request(&workspace, "x", "."), scope);
    assert!(matches!(stopped, Err(SearchError::Cancelled)));
    assert_eq!(asked.load(Ordering::Relaxed), 6);
}

#[test]
fn a_wrong_path_is_an_error_and_no_match_is_not() {
    let workspace = memory(&[("a.txt", "x")]);
    let missing = TreeSearch.grep(&request(&workspace, "x", "none"), scope(&workspace));
    assert!(matches!(
        missing,
        Err(SearchError::Workspace(WorkspaceError::NotFound { .. }))
    ));
    assert!(hits(&grep(&workspace, &request(&workspace, "y", "."))).is_empty());
    assert!(glob(&workspace, "*.none", ".").is_empty());
}
