//! Node: its packages by lock file, the native file beside the package, the TypeScript compiled.

use super::{install, require, stamp};
use crate::failure::{Result, fail};
use crate::layout::Layout;
use crate::process;
use std::process::Command;

const FOLDER: &str = "bindings-node";

/// Makes the package of the tree usable.
pub(super) fn set_up(layout: &Layout) -> Result<()> {
    require(layout, "bindings-node/package-lock.json")?;
    let folder = layout.path(FOLDER);
    let platform = process::stdout(
        Command::new("node").args(["-p", "`${process.platform}-${process.arch}`"]),
    )?;
    let platform = match platform.trim() {
        "linux-x64" => "linux-x64-gnu",
        other => return Err(fail(format!("no native file is built for {other} yet"))),
    };
    install(
        &layout.built("liba3s_code_node.so"),
        &folder.join(format!("a3s-code.{platform}.node")),
    )?;
    let version = process::stdout(Command::new("node").arg("--version"))?;
    let lists = [
        folder.join("package.json"),
        folder.join("package-lock.json"),
    ];
    stamp::unless_done(
        layout,
        "node-packages",
        &lists,
        &version,
        &folder.join("node_modules"),
        || {
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(&folder)
                .env_remove("NODE_ENV");
            process::check(&mut npm).map(|_| ())
        },
    )?;
    let mut sources = vec![folder.join("src"), folder.join("package.json")];
    sources.extend(
        ["tsconfig.json", "tsconfig.cjs.json"]
            .map(|name| folder.join(name))
            .into_iter()
            .filter(|path| path.exists()),
    );
    stamp::unless_done(
        layout,
        "node-build",
        &sources,
        &version,
        &folder.join("dist"),
        || {
            process::check(
                Command::new("npm")
                    .args(["run", "--silent", "build"])
                    .current_dir(&folder),
            )
            .map(|_| ())
        },
    )
}
