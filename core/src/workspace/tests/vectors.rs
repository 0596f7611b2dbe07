//! Static vectors: one path, three tools, two resolvers; nothing escapes and nothing hangs.

use super::*;
use crate::workspace::WorkspacePath;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Longest time of one call.
const BOUND: Duration = Duration::from_millis(100);

/// Paths that name nothing inside: refused as invalid.
fn outside(root: &str, parent: &str) -> Vec<String> {
    let mut paths: Vec<String> = [
        "..",
        "../",
        "../.",
        "./..",
        "../..",
        "../../..",
        "../secret.txt",
        "./../secret.txt",
        ".//../secret.txt",
        "../../secret.txt",
        "a/../../secret.txt",
        "sub/../../secret.txt",
        "sub/x/../../../secret.txt",
        "sub//..//..//secret.txt",
        "sub/./.././../secret.txt",
        "../app/a.txt",
        "../app-secret/secret.txt",
        "sub/../../app-secret/secret.txt",
        "/",
        "//",
        "/.",
        "/..",
        "/../..",
        "/etc",
        "/etc/passwd",
        "//etc/passwd",
        "///etc//passwd",
        "/./etc/passwd",
        "/etc/../etc/passwd",
        "/proc/self/environ",
        "/proc/self/root",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd",
        "/proc/self/cwd/Cargo.toml",
        "/proc/self/exe",
        "/proc/self/fd",
        "/proc/self/fd/0",
        "/proc/self/fd/3",
        "/proc/thread-self/root/etc/passwd",
        "/proc/1/root",
        "/proc/kmsg",
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/zero",
        "/dev/null",
        "/dev/tty",
        "/dev/random",
        "/dev/full",
        "/sys/kernel",
        "/tmp",
        "/var/tmp",
        "/root/.ssh/id_rsa",
        "/home",
        "/run",
        // Links planted in the workspace.
        "out-file",
        "out-rel",
        "out-dir",
        "out-dir/secret.txt",
        "out-dir/",
        "up",
        "up/secret.txt",
        "up/app/a.txt",
        "sub/up3",
        "sub/up3/secret.txt",
        "etc",
        "etc/passwd",
        "slash",
        "slash/etc/passwd",
        "proc-root",
        "proc-root/etc/passwd",
        "proc-cwd",
        "proc-fd/0",
        "dev-zero",
        "dev-tty",
        "via/secret.txt",
        "sibling",
        "sibling/secret.txt",
        "out-and-in",
        "sub/../out-dir/secret.txt",
        "loop",
        "loop/x",
        "ring-a",
        "ring-b/x",
    ]
    .map(str::to_owned)
    .to_vec();
    for tail in [
        "/../secret.txt",
        "/..",
        "-secret/secret.txt",
        "-secret",
        "/sub/../../secret.txt",
        "secret",
    ] {
        paths.push(format!("{root}{tail}"));
    }
    for tail in [
        "",
        "/",
        "/secret.txt",
        "/app-secret/secret.txt",
        "/./app/../secret.txt",
        "/ap",
        "/APP/a.txt",
    ] {
        paths.push(format!("{parent}{tail}"));
    }
    paths
}

/// Paths that are no paths: refused as invalid.
fn unusable() -> Vec<String> {
    let deep = format!("{}a", "d/".repeat(2047));
    vec![
        "\0".to_owned(),
        "a\0b".to_owned(),
        "a.txt\0".to_owned(),
        "a.txt\0.png".to_owned(),
        "../\0".to_owned(),
        "n".repeat(256),
        format!("sub/{}", "n".repeat(256)),
        "é".repeat(128),
        format!("{deep}b"),
        "n".repeat(4096),
        "d/".repeat(50_000),
        "../".repeat(40_000),
        "x".repeat(1_000_000),
    ]
}

/// Paths whose every component is a plain name that is not there.
fn plain(root: &str) -> Vec<String> {
    let mut paths: Vec<String> = [
        "~",
        "~/secret.txt",
        "~root",
        "~root/.ssh/id_rsa",
        "$HOME",
        "$HOME/secret.txt",
        "${HOME}",
        "$(pwd)",
        "`pwd`",
        "%2e%2e",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "..%2fsecret.txt",
        "..%c0%afsecret.txt",
        "%00",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "http://127.0.0.1/",
        "C:\\Windows\\win.ini",
        "\\\\server\\share",
        "..\\secret.txt",
        "..\\..\\secret.txt",
        "...",
        "....",
        "....//secret.txt",
        "..;/secret.txt",
        ".. /secret.txt",
        " ../secret.txt",
        ".. ",
        "..\u{200b}/secret.txt",
        "\u{ff0e}\u{ff0e}/secret.txt",
        "\u{2024}\u{2024}/secret.txt",
        "..\n/secret.txt",
        "-rf",
        "--help",
        "*",
        "?",
        "[a]",
        "{a,b}",
        "\\x2e\\x2e/secret.txt",
        "\\x2e\\x2e\\x2fsecret.txt",
        "\\x00",
        "NUL",
        "con",
        "sub/~",
        "sub/x/..x",
        "dangling",
        "dangling/x",
        "sub/none/../../a.txt",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(format!("file://{root}/a.txt"));
    paths.push("n".repeat(255));
    paths.push(format!("{}a", "d/".repeat(2047)));
    paths
}

/// Spellings of a file that is there.
fn inside(root: &str) -> Vec<String> {
    let mut paths: Vec<String> = [
        "a.txt",
        "./a.txt",
        ".//a.txt",
        "././a.txt",
        "sub/../a.txt",
        "sub/x/../../a.txt",
        "sub//x/inner.txt",
        "in-abs",
        "in-rel",
        "in-dir/x/inner.txt",
        "in-dir/../a.txt",
        "in-chain",
        "sub/x/back/a.txt",
        "caf\\xe9.txt",
        "li\nne.txt",
        "back\\slash.txt",
    ]
    .map(str::to_owned)
    .to_vec();
    for tail in ["/a.txt", "//a.txt", "/./a.txt", "/sub/../a.txt", "/in-abs"] {
        paths.push(format!("{root}{tail}"));
    }
    paths.push(format!("/{root}/a.txt"));
    paths
}

fn planted() -> Scratch {
    let scratch = guarded();
    let root = scratch.root();
    scratch.write("li\nne.txt", "inner-text\n");
    scratch.write("back\\slash.txt", "inner-text\n");
    scratch.write(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"), "inner-text\n");
    for (link, target) in [
        ("out-file", scratch.beside("secret.txt").to_str().unwrap()),
        ("out-rel", "../secret.txt"),
        ("out-dir", scratch.beside("far").to_str().unwrap()),
        ("up", ".."),
        ("sub/up3", "../../.."),
        ("etc", "/etc"),
        ("slash", "/"),
        ("proc-root", "/proc/self/root"),
        ("proc-cwd", "/proc/self/cwd"),
        ("proc-fd", "/proc/self/fd"),
        ("dev-zero", "/dev/zero"),
        ("dev-tty", "/dev/tty"),
        ("via", "in-dir/../../../far"),
        ("sibling", &format!("{root}-secret")),
        ("out-and-in", "../app/a.txt"),
        ("loop", "loop"),
        ("ring-a", "ring-b"),
        ("ring-b", "ring-a"),
        ("dangling", "nowhere"),
        ("in-abs", &format!("{root}/a.txt")),
        ("in-rel", "sub/../a.txt"),
        ("in-dir", &format!("{root}/sub")),
        ("in-chain", "in-rel"),
        ("sub/x/back", "../.."),
    ] {
        scratch.link(link, target);
    }
    scratch
}

async fn call(session: &AgentSession, tool: &str, path: &str) -> (bool, String, String) {
    let args = match tool {
        "read" => json!({ "file_path": path }),
        "ls" => json!({ "path": path }),
        _ => json!({ "mode": "grep", "query": "canary|inner-text", "path": path }),
    };
    // The bound is on the call, not on a machine that was busy for a moment.
    for _ in 0..4 {
        let start = Instant::now();
        let result = session.tool(tool, args.clone()).await.unwrap();
        if start.elapsed() <= BOUND {
            let kind = result.error_kind.as_ref().map_or("", |kind| kind.tag());
            let all = format!("{} {:?}", result.output, result.metadata);
            return (result.exit_code == 0, kind.to_owned(), all);
        }
    }
    panic!("{tool} {path:.80} takes longer than {BOUND:?}");
}

// claims: ORIG-05
#[tokio::test]
async fn no_spelling_of_a_path_leads_out_and_none_hangs() {
    let scratch = planted();
    let root = scratch.root();
    let parent = root.strip_suffix("/app").unwrap();
    for way in WAYS {
        let (agent, session) = session(&root, way).await;
        let mut vectors = 0;
        for (paths, expected) in [
            (outside(&root, parent), "invalid_argument"),
            (unusable(), "invalid_argument"),
            (plain(&root), "not_found"),
        ] {
            for path in paths {
                for tool in ["read", "ls", "search"] {
                    let (success, kind, all) = call(&session, tool, &path).await;
                    assert!(!success, "{way} {tool} {path:.80}");
                    assert_eq!(kind, expected, "{way} {tool} {path:.80}: {all:.300}");
                    assert!(!all.contains(CANARY), "{way} {tool} {path:.80}: {all:.300}");
                }
                vectors += 1;
            }
        }
        for path in inside(&root) {
            for (tool, works) in [("read", true), ("ls", false), ("search", true)] {
                let (success, _, all) = call(&session, tool, &path).await;
                assert_eq!(success, works, "{way} {tool} {path}: {all:.300}");
                assert_eq!(
                    all.contains("inner-text"),
                    works,
                    "{way} {tool} {path}: {all:.300}"
                );
            }
            vectors += 1;
        }
        assert!(vectors >= 120, "only {vectors} vectors");
        agent.close().await;
    }
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_at_once() {
    let scratch = guarded();
    scratch.fifo("pipe");
    scratch.link("pipe-link", "pipe");
    let _socket = std::os::unix::net::UnixListener::bind(scratch.inside("socket")).unwrap();
    let mut names = vec!["pipe", "pipe-link", "socket"];
    // Only a privileged process can make a device.
    if rustix::fs::mknodat(
        rustix::fs::CWD,
        scratch.inside("zero"),
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::RUSR,
        rustix::fs::makedev(1, 5),
    )
    .is_ok()
    {
        names.push("zero");
    }
    for way in WAYS {
        let workspace = open(&scratch.root(), way);
        for name in &names {
            let error = content(&workspace, name).unwrap_err();
            // A device node may also be forbidden by how the folder is mounted.
            assert!(
                matches!(error, WorkspaceError::NotRegular { .. })
                    || (*name == "zero" && matches!(error, WorkspaceError::Io { .. })),
                "{way} {name}: {error:?}"
            );
        }
        let (agent, session) = session(&scratch.root(), way).await;
        for name in &names {
            for tool in ["read", "ls", "search"] {
                let (success, _, _) = call(&session, tool, name).await;
                assert!(!success, "{way} {tool} {name}");
            }
        }
        // A walk passes them by.
        let (success, _, all) = call(&session, "search", ".").await;
        assert!(success && all.contains("a.txt:1: inner-text"), "{all}");
        agent.close().await;
    }
}

#[test]
fn names_that_are_not_utf8_are_listed_and_found_again() {
    let scratch = guarded();
    let names: [&[u8]; 4] = [b"caf\xe9.txt", b"\xff\xfe", b"a\\xe9b", b"tab\there"];
    for (at, name) in names.iter().enumerate() {
        scratch.write(
            std::path::Path::new("odd").join(std::ffi::OsStr::from_bytes(name)),
            format!("content-{at}"),
        );
    }
    for way in WAYS {
        let workspace = open(&scratch.root(), way);
        let folder = workspace.resolve("odd").unwrap();
        let listed = workspace
            .file_system()
            .read_dir(&folder, Wait::Allowed)
            .unwrap();
        assert_eq!(listed.len(), names.len());
        for entry in listed {
            let path = folder.join(&entry.name);
            let name = path.bytes().strip_prefix(b"odd/").unwrap().to_vec();
            let at = names.iter().position(|known| **known == name).unwrap();
            let again = workspace.resolve(path.as_str()).unwrap();
            assert_eq!(again, path);
            let shown = workspace.resolve(&path.display()).unwrap();
            assert_eq!(shown, WorkspacePath::from_spelled(path.as_str().to_owned()));
            assert_eq!(
                content(&workspace, path.as_str()).unwrap(),
                format!("content-{at}").into_bytes()
            );
        }
    }
}

#[test]
fn a_root_is_opened_once_under_any_spelling_of_its_name() {
    let scratch = guarded();
    std::os::unix::fs::symlink("app", scratch.beside("w/alias")).unwrap();
    let alias = scratch.beside("w/alias").to_str().unwrap().to_owned();
    let workspace = LocalWorkspace::open(&format!("{alias}/"), true).unwrap();
    assert!(!workspace.can(a3s_code_contract::WorkspaceCapability::Write));
    assert!(workspace.is_local());
    for spelling in [alias.as_str(), &scratch.root()] {
        assert!(content(&workspace, &format!("{spelling}/a.txt")).is_ok());
    }
    // What the name leads to later does not matter.
    let (from, to) = (scratch.beside("w/app"), scratch.beside("w/moved"));
    #[allow(clippy::disallowed_methods)]
    std::fs::rename(from, to).unwrap();
    assert!(content(&workspace, "a.txt").is_ok());
    for root in [alias.as_str(), "", "/none/such", "a\0b"] {
        assert!(LocalWorkspace::open(root, true).is_err(), "{root}");
    }
}
