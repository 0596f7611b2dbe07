//! Go: the static library where cgo looks for it, and the driver built.

use super::{install, require};
use crate::failure::{AtPath, Result};
use crate::layout::Layout;
use crate::process;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "bindings-go/lib/x86_64-unknown-linux-gnu/liba3s_code_capi.a";

/// Makes the module of the tree usable and builds its conformance driver.
pub(super) fn set_up(layout: &Layout) -> Result<()> {
    require(layout, "bindings-go/go.mod")?;
    install(&layout.built("liba3s_code_capi.a"), &layout.path(LIBRARY))?;
    require(layout, "bindings-go/internal/conformance")?;
    build(
        layout,
        "bindings-go",
        "./internal/conformance",
        &layout.built("conformance-go"),
    )
}

/// Builds a Go program.
pub(super) fn build(layout: &Layout, folder: &str, package: &str, to: &Path) -> Result<()> {
    require(layout, folder)?;
    process::check(
        command(layout, folder, "build")?
            .arg("-o")
            .arg(to)
            .arg(package),
    )
    .map(|_| ())
}

/// `go VERB` in a folder. Go's cache does not look into a library named by linker flags; the digest of the library,
/// given as a variable that nothing reads, makes it link again when the library is another.
pub(super) fn command(layout: &Layout, folder: &str, verb: &str) -> Result<Command> {
    let library = layout.path(LIBRARY);
    let bytes = std::fs::read(&library).at(&library)?;
    let digest: String = Sha256::digest(&bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut command = Command::new("go");
    command
        .arg(verb)
        .current_dir(layout.path(folder))
        .env("CGO_ENABLED", "1")
        .env("GOFLAGS", "-mod=readonly");
    if verb != "vet" {
        command.arg(format!("-ldflags=-X=main.nativeLibrary={digest}"));
    }
    Ok(command)
}
