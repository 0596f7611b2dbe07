//! Everything that is generated from the contract: types and stubs of the languages, the C header, the
//! reference and the schema. One list of files, written or compared.
//!
//! Each generator is a function without side effects that returns paths below the root of the repository and
//! their text. A generated file is never edited: `cargo xtask gen` writes it again, `gen --check` fails on it.

mod docs;
mod go;
mod header;
mod ir;
mod node;
mod python;
mod schema;

use crate::failure::{AtPath, Result, fail};
use std::path::{Path, PathBuf};

/// Files of one generator: paths below the root of the repository, and their text.
type Files = Vec<(PathBuf, String)>;

/// Writes every generated file; with `check`, compares them and fails where they differ.
pub(crate) fn run(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut stale = Vec::new();
    for (path, text) in files(&root).map_err(fail)? {
        let target = root.join(&path);
        if std::fs::read(&target).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        stale.push(path.display().to_string());
        if !check {
            write(&target, &text).at(&path)?;
        }
    }
    match (stale.is_empty(), check) {
        (true, _) => println!("generated files are up to date"),
        (false, true) => {
            return Err(fail(format!(
                "generated files differ from the contract: {}\nrun `cargo xtask gen` and commit the result",
                stale.join(", ")
            )));
        }
        (false, false) => stale.iter().for_each(|path| println!("wrote {path}")),
    }
    Ok(())
}

/// Every generated file of the repository.
fn files(root: &Path) -> std::result::Result<Files, String> {
    let types = ir::load()?;
    let mut files = schema::files()?;
    files.extend(node::files()?.into_iter().map(owned));
    files.extend(python::files()?.into_iter().map(owned));
    files.extend(go::files(&types)?);
    files.extend(docs::files(&types)?);
    files.extend(header::files(root)?);
    Ok(files)
}

fn owned((path, text): (String, String)) -> (PathBuf, String) {
    (PathBuf::from(path), text)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}
