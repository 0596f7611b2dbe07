//! Python: an environment of the project's own with its tools, the native module inside the package.

use super::{install, require, stamp};
use crate::failure::Result;
use crate::layout::Layout;
use crate::process;
use std::process::Command;

/// Makes the package of the tree usable.
pub(super) fn set_up(layout: &Layout) -> Result<()> {
    require(layout, "bindings-python/requirements-dev.txt")?;
    install(
        &layout.built("liba3s_code_python.so"),
        &layout.path("bindings-python/python/a3s_code/_native.abi3.so"),
    )?;
    let environment = layout.path(".venv");
    let interpreter = environment.join("bin/python");
    let requirements = layout.path("bindings-python/requirements-dev.txt");
    let version = process::check(Command::new("python3").arg("--version"))?;
    stamp::unless_done(
        layout,
        "python-packages",
        std::slice::from_ref(&requirements),
        &version,
        &interpreter,
        || {
            process::check(
                Command::new("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&environment),
            )?;
            let mut pip = Command::new(&interpreter);
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(&requirements);
            process::check(&mut pip).map(|_| ())
        },
    )
}
