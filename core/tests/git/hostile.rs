//! Repositories that plant a program. Each test shows first that plain git runs it, where this git can: otherwise
//! a canary that never sings would prove nothing.

use super::{Repository, done, facts, git, git_in};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Every operation, those that change something last.
fn operations() -> Vec<Value> {
    vec![
        json!({"command": "status"}),
        json!({"command": "diff"}),
        json!({"command": "diff", "target": "HEAD"}),
        json!({"command": "log"}),
        json!({"command": "branch"}),
        json!({"command": "stash"}),
        json!({"command": "remote"}),
        json!({"command": "worktree"}),
        json!({"command": "branch", "name": "made"}),
        json!({"command": "stash", "message": "kept"}),
        json!({"command": "checkout", "ref": "other"}),
        json!({"command": "checkout", "ref": "main"}),
        json!({"command": "worktree", "subcommand": "create", "name": "tree", "path": "tree"}),
        json!({"command": "worktree", "subcommand": "remove", "path": "tree", "force": true}),
        json!({"command": "checkout", "ref": "other", "force": true}),
    ]
}

/// A repository with two branches that differ, a changed file, and a program that leaves a mark.
struct Trap {
    repository: Repository,
    program: PathBuf,
    mark: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let repository = Repository::new();
        repository.git(&["checkout", "-q", "-b", "other"]);
        repository.write("a.txt", "other\n");
        repository.write("c.txt", "other\n");
        repository.commit("other");
        repository.git(&["checkout", "-q", "main"]);
        repository.git(&["remote", "add", "origin", "https://host/r"]);
        let mark = repository.0.join("CANARY");
        let program = repository.0.join("planted");
        std::fs::write(
            &program,
            format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display()),
        )
        .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        Self {
            repository,
            program,
            mark,
        }
    }

    fn config(&self, key: &str, value: &str) {
        self.repository.git(&["config", key, value]);
    }

    fn plant(&self, key: &str) {
        self.config(key, self.program.to_str().unwrap());
    }

    fn attribute(&self, line: &str) {
        let path = self.repository.path(".git/info/attributes");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{line}\n")).unwrap();
    }

    /// Plain git runs the program with one of these.
    fn works_with(&self, attempts: &[&[&str]]) {
        for attempt in attempts {
            let _ = Command::new("git")
                .args(*attempt)
                .current_dir(self.repository.root())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .stdin(std::process::Stdio::null())
                .output();
        }
        assert!(self.mark.exists(), "the trap does not work: {attempts:?}");
        std::fs::remove_file(&self.mark).unwrap();
    }

    /// No operation runs it, and each does its work.
    async fn is_harmless(&self, what: &str) {
        let session = self.repository.session().await;
        for args in operations() {
            // Made newer than the index, so that its content is looked at.
            if args["command"] != "checkout" {
                self.repository.write("a.txt", format!("changed {what}\n"));
            }
            if args["command"] == "checkout" && args["force"] != true {
                std::fs::write(self.repository.path("a.txt"), self.committed()).unwrap();
            }
            done(&session, args.clone()).await;
            assert!(!self.mark.exists(), "{what}: {args}");
        }
        assert_eq!(self.repository.read("c.txt"), "other\n");
    }

    fn committed(&self) -> String {
        let output = Command::new("git")
            .args(["cat-file", "blob", "HEAD:a.txt"])
            .current_dir(self.repository.root())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

// claims: AST-11
#[tokio::test]
async fn no_program_behind_a_fixed_key_runs() {
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "sequence.editor",
        "diff.external",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "interactive.diffFilter",
        "pager.log",
        "pager.diff",
        "pager.branch",
        "pager.stash",
        "uploadpack.packObjectsHook",
        "alias.status",
        "alias.for-each-ref",
        "trailer.x.command",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
    ] {
        let trap = Trap::new();
        trap.plant(key);
        trap.config("commit.gpgSign", "true");
        trap.config("log.showSignature", "true");
        trap.config("color.ui", "always");
        trap.repository.write("a.txt", "changed\n");
        match key {
            "core.fsmonitor" => trap.works_with(&[&["status"]]),
            "diff.external" => trap.works_with(&[&["diff"]]),
            _ => {}
        }
        trap.is_harmless(key).await;
    }
}

// claims: AST-11
#[tokio::test]
async fn no_signature_is_checked_by_a_program_of_the_repository() {
    let trap = Trap::new();
    let signed = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\
        gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n";
    trap.repository.write("signed", signed);
    let id = trap
        .repository
        .git(&["hash-object", "-t", "commit", "-w", "signed"]);
    std::fs::remove_file(trap.repository.path("signed")).unwrap();
    trap.repository.git(&["branch", "signed", id.trim()]);
    trap.repository
        .git(&["symbolic-ref", "HEAD", "refs/heads/signed"]);
    trap.plant("gpg.program");
    trap.config("log.showSignature", "true");
    trap.works_with(&[&["log", "-1"]]);
    let session = trap.repository.session().await;
    let log = done(&session, json!({"command": "log"})).await;
    assert!(
        log.output.contains("    signed\n") && !trap.mark.exists(),
        "{}",
        log.output
    );
}

// claims: AST-11
#[tokio::test]
async fn no_hook_runs() {
    for place in ["hooks", "configured"] {
        let trap = Trap::new();
        let folder = match place {
            "hooks" => trap.repository.path(".git/hooks"),
            _ => trap.repository.0.join("hooks"),
        };
        std::fs::create_dir_all(&folder).unwrap();
        for hook in [
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-commit",
            "post-commit",
            "commit-msg",
            "prepare-commit-msg",
            "pre-auto-gc",
            "post-rewrite",
            "fsmonitor-watchman",
        ] {
            std::fs::copy(&trap.program, folder.join(hook)).unwrap();
        }
        if place == "configured" {
            trap.config("core.hooksPath", folder.to_str().unwrap());
        }
        trap.works_with(&[&["checkout", "-q", "other"], &["checkout", "-q", "main"]]);
        trap.is_harmless(place).await;
    }
}

// claims: AST-11
#[tokio::test]
async fn no_filter_runs_whatever_its_name_and_wherever_it_is_said() {
    for name in ["x", "a=b.c", "GrÖße"] {
        for key in ["clean", "smudge", "process"] {
            let places: &[&str] = match name {
                "x" => &["config", "include", "worktree"],
                _ => &["config"],
            };
            for place in places.iter().copied() {
                let trap = Trap::new();
                let program = trap.program.to_str().unwrap().to_owned();
                let section =
                    format!("[FILTER \"{name}\"]\n\t{key} = {program}\n\trequired = true\n");
                trap.attribute(&format!("* filter={name}"));
                let config = trap.repository.path(".git/config");
                let mut text = std::fs::read_to_string(&config).unwrap();
                match place {
                    "config" => text.push_str(&section),
                    "include" => {
                        trap.repository.write(".git/more", &section);
                        text.push_str("[inCLUDE]\n\tpath = more\n");
                    }
                    _ => {
                        trap.repository.write(".git/config.worktree", &section);
                        text.push_str("[extensions]\n\tworktreeConfig = true\n");
                    }
                }
                std::fs::write(config, text).unwrap();
                if name == "x" {
                    trap.repository.write("a.txt", "changed\n");
                    trap.works_with(&[
                        &["diff"],
                        &["checkout", "-q", "-f", "other"],
                        &["checkout", "-q", "-f", "main"],
                    ]);
                    let _ = std::fs::remove_file(trap.repository.path(".git/index.lock"));
                    trap.restore();
                }
                trap.is_harmless(&format!("{name} {key} {place}")).await;
            }
        }
    }
}

impl Trap {
    /// Back to `main`, without anything that the repository says about itself.
    fn restore(&self) {
        let output = Command::new("git")
            .args([
                "-c",
                "filter.x.clean=",
                "-c",
                "filter.x.smudge=",
                "-c",
                "filter.x.process=",
            ])
            .args([
                "-c",
                "filter.x.required=false",
                "checkout",
                "-q",
                "-f",
                "main",
            ])
            .current_dir(self.repository.root())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let _ = std::fs::remove_file(&self.mark);
    }
}

// claims: AST-11
#[tokio::test]
async fn no_driver_of_an_attribute_runs() {
    for (attribute, key) in [
        ("* diff=x", "diff.x.command"),
        ("* diff=x", "diff.x.textconv"),
        ("* merge=x", "merge.x.driver"),
    ] {
        let trap = Trap::new();
        trap.attribute(attribute);
        trap.plant(key);
        trap.repository.write("a.txt", "changed\n");
        if key.starts_with("diff") {
            trap.works_with(&[&["diff"]]);
        }
        trap.is_harmless(key).await;
    }
}

// claims: AST-11
#[tokio::test]
async fn a_submodule_runs_nothing_either() {
    for place in ["config", ".gitmodules", "commit"] {
        submodule(place).await;
    }
}

/// With a submodule that is said at this place to be looked into.
async fn submodule(place: &str) {
    let trap = Trap::new();
    let inner = Repository::new();
    let inner_path = inner.root();
    trap.repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        inner_path.to_str().unwrap(),
        "sub",
    ]);
    if place == "commit" {
        trap.repository.git(&[
            "config",
            "-f",
            ".gitmodules",
            "submodule.sub.ignore",
            "none",
        ]);
    }
    trap.repository.commit("with a submodule");
    trap.repository.git(&["branch", "-f", "other2", "main~1"]);
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge"] {
        let program = trap.program.to_str().unwrap();
        git_in(&trap.repository.path("sub"), &["config", key, program]);
    }
    let attributes = ".git/modules/sub/info/attributes";
    trap.repository.write(attributes, "* filter=x\n");
    trap.config("submodule.recurse", "true");
    match place {
        "config" => trap.config("submodule.sub.ignore", "none"),
        ".gitmodules" => {
            trap.repository.git(&[
                "config",
                "-f",
                ".gitmodules",
                "submodule.sub.ignore",
                "none",
            ]);
        }
        _ => std::fs::remove_file(trap.repository.path(".gitmodules")).unwrap(),
    }
    trap.config("diff.submodule", "diff");
    trap.config("status.submoduleSummary", "true");
    trap.works_with(&[&["status"]]);
    let session = trap.repository.session().await;
    // As long as before: its content has to be looked at.
    trap.repository.write("sub/a.txt", "START\n");
    trap.repository.write("a.txt", "changed\n");
    for args in [
        json!({"command": "status"}),
        json!({"command": "diff"}),
        json!({"command": "diff", "target": "main~1"}),
        json!({"command": "stash", "message": "kept"}),
        json!({"command": "checkout", "ref": "main"}),
        json!({"command": "checkout", "ref": "other2"}),
        json!({"command": "checkout", "ref": "main", "force": true}),
        json!({"command": "worktree", "subcommand": "create", "name": "tree", "path": "tree"}),
        json!({"command": "worktree", "subcommand": "remove", "path": "tree", "force": true}),
    ] {
        let result = git(&session, args.clone()).await;
        assert!(!trap.mark.exists(), "{place} {args}: {}", result.output);
    }
}

// claims: AST-11
#[tokio::test]
async fn a_missing_object_is_not_fetched() {
    let trap = Trap::new();
    trap.config("extensions.partialClone", "origin");
    trap.config("remote.origin.promisor", "true");
    trap.config("core.repositoryFormatVersion", "1");
    trap.config("protocol.ext.allow", "always");
    trap.config("protocol.file.allow", "always");
    let planted = trap.program.display().to_string();
    // As a transport it must end by itself.
    let script = format!("#!/bin/sh\ntouch '{}'\n", trap.mark.display());
    std::fs::write(&trap.program, script).unwrap();
    let object = trap.repository.git(&["rev-parse", "other:c.txt"]);
    let (folder, file) = object.trim().split_at(2);
    std::fs::remove_file(
        trap.repository
            .path(&format!(".git/objects/{folder}/{file}")),
    )
    .unwrap();
    for url in [
        format!("ext::{planted}"),
        "/srv/none".to_owned(),
        "ssh://host/x".to_owned(),
    ] {
        trap.config("remote.origin.url", &url);
        trap.plant("remote.origin.uploadpack");
        trap.plant("core.sshCommand");
        trap.works_with(&[
            &["checkout", "-q", "other"],
            &["fetch", "-q"],
            &["ls-remote", "."],
            &["ls-remote", "origin"],
        ]);
        let session = trap.repository.session().await;
        for args in [
            json!({"command": "diff", "target": "other"}),
            json!({"command": "checkout", "ref": "other"}),
            json!({"command": "log"}),
        ] {
            git(&session, args.clone()).await;
            assert!(!trap.mark.exists(), "{url}: {args}");
        }
    }
}

// claims: AST-11
#[tokio::test]
async fn the_files_are_those_of_the_workspace_whatever_the_repository_says() {
    let trap = Trap::new();
    let outside = trap.repository.0.join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("a.txt"), "SECRET\n").unwrap();
    trap.config("core.worktree", outside.to_str().unwrap());
    let session = trap.repository.session().await;
    let diff = done(&session, json!({"command": "diff"})).await;
    assert!(!diff.output.contains("SECRET"));
    done(
        &session,
        json!({"command": "checkout", "ref": "other", "force": true}),
    )
    .await;
    assert_eq!(
        std::fs::read_to_string(outside.join("a.txt")).unwrap(),
        "SECRET\n"
    );
    assert_eq!(trap.repository.read("a.txt"), "other\n");
}

// claims: AST-11
#[tokio::test]
async fn a_bare_repository_in_the_workspace_is_not_taken_for_the_workspace() {
    let repository = Repository::none();
    repository.git(&["init", "-q", "--bare", "."]);
    let session = repository.session().await;
    for command in ["status", "log", "branch"] {
        let result = git(&session, json!({"command": command})).await;
        assert_eq!(
            result.error_kind.unwrap().tag(),
            "unsupported",
            "{command}: {}",
            result.output
        );
    }
}

// claims: AST-11
#[tokio::test]
async fn reading_changes_nothing_in_the_repository() {
    let trap = Trap::new();
    trap.config("core.untrackedCache", "true");
    trap.config("core.splitIndex", "true");
    let session = trap.repository.session().await;
    trap.repository.write("a.txt", "start\n");
    let index = || std::fs::read(trap.repository.path(".git/index")).unwrap();
    let before = index();
    for args in operations().into_iter().take(8) {
        let result = done(&session, args).await;
        assert!(facts(&result).is_object());
    }
    assert_eq!(index(), before);
}
