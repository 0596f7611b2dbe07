//! Commands that fit the project in a workspace, by what stands in its root.

use crate::workspace::{FileKind, OpenFile, Wait, Workspace};
use a3s_code_contract::{VerificationCommand, VerificationPreset, WorkspaceCapability};
use serde_json::Value;

/// Most bytes of a `package.json` that is looked into.
const MOST_MANIFEST_BYTES: u64 = 1024 * 1024;
/// Time limit of a preset's command in milliseconds: tests of a whole project.
const TIMEOUT_MS: u32 = 600_000;

/// What may be asked of the root of a workspace.
struct Root<'a>(&'a dyn Workspace);

impl Root<'_> {
    fn has(&self, name: &str) -> bool {
        let Ok(path) = self.0.resolve(name) else {
            return false;
        };
        let facts = self.0.file_system().metadata(&path, Wait::Allowed);
        facts.is_ok_and(|facts| facts.kind == FileKind::File)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The scripts of `package.json`; none when there is no such file or it cannot be read.
    fn scripts(&self) -> Option<Vec<String>> {
        let path = self.0.resolve("package.json").ok()?;
        let file = self.0.file_system().open(&path, Wait::Allowed).ok()?;
        let manifest: Value = serde_json::from_slice(&whole(&*file)?).ok()?;
        let scripts = manifest.get("scripts").and_then(Value::as_object);
        Some(scripts.map_or_else(Vec::new, |scripts| scripts.keys().cloned().collect()))
    }
}

fn whole(file: &dyn OpenFile) -> Option<Vec<u8>> {
    let size = file.metadata().len;
    if size > MOST_MANIFEST_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(filled as u64, &mut bytes[filled..], Wait::Allowed) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(_) => return None,
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

/// A check of a preset: its id, what it does, its command, and whether it is required.
type Row<'a> = (&'a str, &'a str, &'a str, bool);

fn preset(kind: &str, description: &str, rows: &[Row<'_>]) -> VerificationPreset {
    let commands = rows
        .iter()
        .map(|(id, description, command, required)| VerificationCommand {
            id: format!("{kind}:{id}"),
            kind: (*id).to_owned(),
            description: (*description).to_owned(),
            command: (*command).to_owned(),
            required: *required,
            timeout_ms: Some(TIMEOUT_MS),
            expect_exit: None,
        });
    VerificationPreset {
        id: kind.to_owned(),
        project_kind: kind.to_owned(),
        description: description.to_owned(),
        commands: commands.collect(),
    }
}

/// The presets that fit, in the order Rust, Node, Python, Go. May wait for the file system.
pub(crate) fn presets(workspace: &dyn Workspace) -> Vec<VerificationPreset> {
    if !workspace.can(WorkspaceCapability::Read) {
        return Vec::new();
    }
    let root = Root(workspace);
    [rust(&root), node(&root), python(&root), go(&root)]
        .into_iter()
        .flatten()
        .collect()
}

fn rust(root: &Root<'_>) -> Option<VerificationPreset> {
    root.has("Cargo.toml").then(|| {
        let rows: [Row<'_>; 4] = [
            (
                "fmt",
                "Sources are formatted",
                "cargo fmt --all -- --check",
                true,
            ),
            (
                "check",
                "Everything compiles",
                "cargo check --workspace --all-targets",
                true,
            ),
            ("test", "Tests pass", "cargo test --workspace", true),
            (
                "clippy",
                "The linter finds nothing",
                "cargo clippy --workspace --all-targets -- -D warnings",
                false,
            ),
        ];
        preset("rust", "Checks of a Cargo workspace", &rows)
    })
}

fn node(root: &Root<'_>) -> Option<VerificationPreset> {
    if !root.has("package.json") {
        return None;
    }
    let managers: [(&[&str], &str); 3] = [
        (&["pnpm-lock.yaml"], "pnpm"),
        (&["yarn.lock"], "yarn"),
        (&["bun.lock", "bun.lockb"], "bun"),
    ];
    let manager = managers
        .iter()
        .find(|(locks, _)| root.has_any(locks))
        .map_or("npm", |(_, manager)| *manager);
    let scripts = root.scripts().unwrap_or_default();
    let run = |script: &str| format!("{manager} run {script}");
    let (test, typecheck, lint) = (run("test"), run("typecheck"), run("lint"));
    let mut rows: Vec<Row<'_>> = vec![("test", "Tests pass", &test, true)];
    for (id, description, command) in [
        ("typecheck", "Types are right", &typecheck),
        ("lint", "The linter finds nothing", &lint),
    ] {
        if scripts.iter().any(|script| script == id) {
            rows.push((id, description, command, false));
        }
    }
    Some(preset("node", "Checks of a package of Node", &rows))
}

fn python(root: &Root<'_>) -> Option<VerificationPreset> {
    let signs = [
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "pytest.ini",
        "requirements.txt",
    ];
    root.has_any(&signs).then(|| {
        let rows: [Row<'_>; 3] = [
            ("pytest", "Tests pass", "python3 -m pytest", true),
            (
                "ruff",
                "The linter finds nothing",
                "python3 -m ruff check .",
                false,
            ),
            ("mypy", "Types are right", "python3 -m mypy .", false),
        ];
        preset("python", "Checks of a Python project", &rows)
    })
}

fn go(root: &Root<'_>) -> Option<VerificationPreset> {
    root.has("go.mod").then(|| {
        let rows: [Row<'_>; 2] = [
            ("test", "Tests pass", "go test ./...", true),
            ("vet", "The vet tool finds nothing", "go vet ./...", false),
        ];
        preset("go", "Checks of a Go module", &rows)
    })
}
