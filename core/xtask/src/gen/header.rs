//! `a3s_code.h` from the sources of the C ABI: once for C programs, once inside the Go module, whose users
//! have only that folder.

use super::Files;
use std::path::{Path, PathBuf};

/// Sources in the order in which a reader of the header meets them.
const SOURCES: &[&str] = &[
    "types", "memory", "debug", "runtime", "mailbox", "call", "host",
];

/// Where the header goes.
const HEADERS: &[&str] = &["include/a3s_code.h", "bindings-go/a3s_code.h"];

/// The header files.
///
/// # Errors
/// When the sources or the settings cannot be read as what they should be.
pub(super) fn files(root: &Path) -> Result<Files, String> {
    let package = root.join("core/capi");
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml"))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(package.join("src").join(source).with_extension("rs"));
    }
    let bindings = builder
        .generate()
        .map_err(|error| format!("core/capi: {error}"))?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    let header = String::from_utf8(header).map_err(|error| error.to_string())?;
    Ok(HEADERS
        .iter()
        .map(|path| (PathBuf::from(path), header.clone()))
        .collect())
}
