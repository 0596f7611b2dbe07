//! The header and the static library as C and C++ programs meet them.
//!
//! Each program of `tests/abi` and `examples/c` is compiled twice, as C11 and as C++17, with every warning an
//! error, linked with the library that cargo built for this test, and run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test"
)]

use a3s_code_capi::{a3s_buf, a3s_bytes, a3s_message};
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-pedantic", "-Werror"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The static library beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    [deps, deps.parent().unwrap()]
        .iter()
        .map(|folder| folder.join("liba3s_code_capi.a"))
        .find(|library| library.is_file())
        .expect("cargo builds the static library with this test")
}

/// Compiles a program as `language` and gives its path.
fn compile(language: &str, source: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(language);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("layout.inc"), layout()).unwrap();
    let name = Path::new(source).file_stem().unwrap();
    let program = folder.join(name);
    let (compiler, dialect): (_, &[&str]) = match language {
        "c11" => ("cc", &["-std=c11"]),
        _ => ("c++", &["-x", "c++", "-std=c++17"]),
    };
    let output = Command::new(compiler)
        .args(dialect)
        .args(WARNINGS)
        .args(["-D_POSIX_C_SOURCE=200809L", "-I"])
        .arg(root().join("include"))
        .arg("-I")
        .arg(&folder)
        .arg(root().join(source))
        .args(["-x", "none"])
        .arg(library())
        .args(["-lm", "-lpthread", "-ldl", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{source} as {language}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// Rust's own figures as assertions.
fn layout() -> String {
    let mut text = String::new();
    macro_rules! assert_layout {
        ($kind:ident { $($field:ident),* }) => {
            text += &format!(
                "static_assert(sizeof({0}) == {1}, \"{0}\");\n",
                stringify!($kind), size_of::<$kind>()
            );
            $(text += &format!(
                "static_assert(offsetof({0}, {1}) == {2}, \"{0}.{1}\");\n",
                stringify!($kind), stringify!($field), offset_of!($kind, $field)
            );)*
        };
    }
    assert_layout!(a3s_bytes { ptr, len });
    assert_layout!(a3s_buf { ptr, len });
    assert_layout!(a3s_message {
        struct_size,
        kind,
        status,
        id,
        owner,
        payload,
        data
    });
    text
}

fn run(program: &Path, arguments: &[&Path]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{}: {}\n{}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn workspace(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("workspaces")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("hello.txt"), "hello\n").unwrap();
    folder
}

#[test]
fn the_header_declares_the_layout_of_the_library() {
    for language in ["c11", "c++17"] {
        run(&compile(language, "tests/abi/header.c"), &[]);
    }
}

#[test]
fn null_and_garbage_give_a_status() {
    for language in ["c11", "c++17"] {
        run(&compile(language, "tests/abi/invalid.c"), &[]);
    }
}

#[test]
fn a_program_leaves_nothing_behind() {
    for language in ["c11", "c++17"] {
        let folder = workspace(language);
        run(&compile(language, "tests/abi/lifecycle.c"), &[&folder]);
    }
}

#[test]
fn the_examples_print_what_they_promise() {
    for source in ["examples/c/blocking.c", "examples/c/event_loop.c"] {
        let folder = workspace(Path::new(source).file_stem().unwrap().to_str().unwrap());
        let text = run(&compile("c11", source), &[&folder]);
        assert!(text.contains("hello"), "{source}: {text}");
    }
}

/// The header of the repository and of the Go module are one.
#[test]
fn the_go_module_has_the_same_header() {
    let read = |path| std::fs::read_to_string(root().join(path)).unwrap();
    assert_eq!(read("include/a3s_code.h"), read("bindings-go/a3s_code.h"));
}
