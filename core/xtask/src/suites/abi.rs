//! Tests of the C interface: every `tests/abi/*.c` as C11 and every `tests/abi/*.cpp` as C++17, without a warning,
//! linked with the static library and run. Status 0 is a pass.

use super::Report;
use crate::failure::{AtPath, Result};
use crate::layout::Layout;
use crate::process;
use crate::results::{Status, TestResult};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles and runs them.
pub(crate) fn run(layout: &Layout) -> Result<Report> {
    let folder = layout.path("tests/abi");
    let sources = sources(&folder)?;
    if sources.is_empty() {
        return Ok(Report::broken("tests/abi holds no test"));
    }
    let mut results = Vec::new();
    for source in sources {
        let id = layout.relative(&source);
        let status = match compile_and_run(layout, &source) {
            Ok(()) => Status::Passed,
            Err(failure) => {
                println!("    {id}: {failure}");
                Status::Failed
            }
        };
        results.push(TestResult::new("c", "abi", format!("{id}::main"), status));
    }
    Ok(Report { results, trouble: None })
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if matches!(path.extension().and_then(|extension| extension.to_str()), Some("c" | "cpp")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn compile_and_run(layout: &Layout, source: &Path) -> Result<()> {
    let plus = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if plus { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let name = source.file_name().map(|name| name.to_string_lossy().replace('.', "-")).unwrap_or_default();
    let program = layout.target(&format!("abi/{name}"));
    if let Some(folder) = program.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    let mut compile = Command::new(compiler);
    compile.args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-g"]).arg("-I").arg(layout.path("include"));
    compile.arg(source).arg("-o").arg(&program).arg(layout.built("liba3s_code_capi.a")).args(["-lpthread", "-ldl", "-lm"]);
    process::check(&mut compile)?;
    // A test that hangs is ended; coreutils are part of every system the library is built on.
    process::check(Command::new("timeout").arg("120").arg(&program).current_dir(layout.root())).map(|_| ())
}
