//! Sizes of what is installed (P29): the native part of each package, stripped as it is shipped.

use super::row::Row;
use crate::failure::{AtPath, Result};
use crate::languages::Language;
use crate::layout::Layout;
use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

const MOST_MEGABYTES: f64 = 12.0;

/// Measures what the last build made for `languages`.
pub(crate) fn measure(layout: &Layout, languages: &[Language]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for language in languages {
        let (case, path) = match language {
            Language::Rust => continue,
            Language::Node => (
                "native library of the npm package",
                layout.built("liba3s_code_node.so"),
            ),
            Language::Python => (
                "native library of the wheel",
                layout.built("liba3s_code_python.so"),
            ),
            Language::Go => ("Go archive", stripped(layout)?),
        };
        rows.push(Row::at_most(
            "P29",
            case,
            "MB",
            megabytes(&path)?,
            MOST_MEGABYTES,
        ));
    }
    Ok(rows)
}

/// A copy of the archive without what only a debugger reads. Libraries that are loaded lose that in the build.
fn stripped(layout: &Layout) -> Result<PathBuf> {
    let archive = layout.target("bench/liba3s_code_capi.a");
    if let Some(folder) = archive.parent() {
        std::fs::create_dir_all(folder).at(folder)?;
    }
    let built = layout.built("liba3s_code_capi.a");
    std::fs::copy(&built, &archive).at(&built)?;
    process::check(Command::new("strip").arg("--strip-debug").arg(&archive))?;
    Ok(archive)
}

fn megabytes(path: &Path) -> Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    Ok(std::fs::metadata(path).at(path)?.len() as f64 / 1e6)
}
