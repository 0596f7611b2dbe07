//! `git` with what changes something: branches, checkout, stashes, worktrees. Names and places are checked before
//! git runs; a start is given to git as the id it was resolved to.

use super::names::{self, refused};
use super::place::Place;
use super::program::{self, Done, Effect};
use super::{GitArgs, Operation, Site, Stop, Subcommand, missing};
use crate::tools::{ToolCall, ToolError, ToolErrorKind, ToolOutput};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most paths that a result names.
const MOST_PATHS: usize = 200;

/// Checks the arguments as far as that can be done without the repository.
pub(super) fn check(args: &GitArgs) -> Result<(), ToolError> {
    if let Some(name) = &args.name {
        names::check_branch("name", name)?;
    }
    for (argument, text) in [
        ("ref", &args.reference),
        ("target", &args.target),
        ("base", &args.base),
    ] {
        if let Some(text) = text {
            names::check_revision(argument, text)?;
        }
    }
    if let Some(path) = &args.path {
        names::check_path("path", path)?;
    }
    if let Some(message) = &args.message {
        names::check_text("message", message)?;
    }
    match (args.command, args.subcommand()) {
        (Operation::Checkout, _) if args.reference.is_none() => Err(missing("ref", "`checkout`")),
        (Operation::Worktree, Subcommand::Create) if args.name.is_none() => {
            Err(missing("name", "`worktree` with `create`"))
        }
        (Operation::Worktree, Subcommand::Remove) if args.path.is_none() => {
            Err(missing("path", "`worktree` with `remove`"))
        }
        _ => Ok(()),
    }
}

pub(super) async fn create_branch(
    call: &ToolCall,
    site: &Site,
    name: &str,
    base: &str,
) -> Result<ToolOutput, Stop> {
    let id = names::resolve(call, site, "base", base).await?;
    let arguments = ["branch", "--no-track", "--end-of-options", name, &id];
    let done = program::run(call, site, Effect::Writes, &arguments).await?;
    if !done.succeeded() {
        return Err(blame(&done, "name", &NAME_COMPLAINTS));
    }
    let text =
        format!("Created branch {name} at {id}. It is not switched to: `checkout` does that.\n");
    Ok(ToolOutput::success(text)
        .with("branch", name)
        .with("base", base)
        .with("commit", id)
        .with("switched", false)
        .with("changed_paths", Vec::<String>::new()))
}

pub(super) async fn checkout(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let reference = args.reference.as_deref().unwrap_or_default();
    let before = names::find(call, site, "HEAD").await?;
    let mut changed = BTreeSet::new();
    if args.force() && before.is_some() {
        changed = differing(call, site, &["HEAD"]).await?;
    }
    let mut arguments = vec!["checkout", "--quiet", "--no-recurse-submodules", "--guess"];
    if args.force() {
        arguments.push("--force");
    }
    arguments.extend([reference, "--"]);
    let done = program::run(call, site, Effect::Writes, &arguments).await?;
    if !done.succeeded() {
        if let Some(path) = overwritten(&done.message) {
            return Err(conflict(&path, "no local changes", &done.message).into());
        }
        let failure = done.failure();
        let unknown = matches!(failure, Stop::Output(_))
            && names::find(call, site, reference).await?.is_none();
        if unknown {
            let reason = format!("`{reference}` is no branch, tag or commit of this repository");
            return Err(refused("ref", &reason).into());
        }
        let held = ["already checked out", "already used by worktree"];
        return Err(blame(&done, "ref", &held));
    }
    let after = names::find(call, site, "HEAD").await?;
    if let (Some(before), Some(after)) = (&before, &after)
        && before != after
    {
        changed.extend(differing(call, site, &[before, after]).await?);
    }
    let commit = after.map_or(Value::Null, Value::from);
    let mut text = format!(
        "Switched to {reference}; {} files changed.\n",
        changed.len()
    );
    let shown: Vec<String> = changed.iter().take(MOST_PATHS).cloned().collect();
    for path in shown.iter().take(20) {
        let _ = writeln!(
            text,
            "{}",
            super::shortened(&crate::workspace::name::printable(path), 256)
        );
    }
    Ok(ToolOutput::success(text)
        .with("ref", reference)
        .with("commit", commit)
        .with("changed_count", changed.len())
        .with("changed_paths", shown))
}

/// The paths in which two commits, or one and the files, differ.
async fn differing(call: &ToolCall, site: &Site, sides: &[&str]) -> Result<BTreeSet<String>, Stop> {
    let mut arguments = vec![
        "diff",
        "--name-only",
        "-z",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--ignore-submodules=dirty",
    ];
    arguments.extend(sides);
    arguments.push("--");
    let done = program::run(call, site, Effect::Reads, &arguments).await?;
    let done = done.or_failure()?;
    let paths = done.out.split(|byte| *byte == 0);
    Ok(paths
        .filter(|path| !path.is_empty())
        .map(|path| site.own_path(path))
        .collect())
}

pub(super) async fn create_stash(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let message = args
        .message
        .as_ref()
        .map(|message| format!("--message={message}"));
    let mut arguments = vec!["stash", "push"];
    if args.include_untracked == Some(true) {
        arguments.push("--include-untracked");
    }
    arguments.extend(message.as_deref());
    let site = site.without_submodules(call).await?;
    let done = program::run(call, &site, Effect::Writes, &arguments).await?;
    let done = done.or_failure()?;
    let stashed = !done.text().contains("No local changes to save");
    let text = match stashed {
        true => "Stashed the local changes as stash@{0}.\n",
        false => "There are no local changes to stash.\n",
    };
    Ok(ToolOutput::success(text).with("stashed", stashed))
}

pub(super) async fn create_worktree(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let name = args.name.as_deref().unwrap_or_default();
    let place = match &args.path {
        Some(path) => Place::named(call, site, path).await?,
        None => Place::beside(site, name),
    };
    place.must_be_free(call).await?;
    let mut arguments: Vec<&[u8]> = vec![b"worktree", b"add", b"--quiet", b"--no-guess-remote"];
    let start;
    if args.new_branch == Some(false) {
        let branch = format!("refs/heads/{name}");
        if names::find(call, site, &branch).await?.is_none() {
            let reason = format!("there is no branch `{name}`");
            return Err(refused("name", &reason).into());
        }
        arguments.extend([&b"--"[..], &place.path, name.as_bytes()]);
    } else {
        start = names::resolve(call, site, "base", args.base()).await?;
        arguments.extend([
            &b"-b"[..],
            name.as_bytes(),
            b"--",
            &place.path,
            start.as_bytes(),
        ]);
    }
    let done = program::run(call, site, Effect::Writes, &arguments).await?;
    if !done.succeeded() {
        return Err(blame(&done, "name", &NAME_COMPLAINTS));
    }
    let path = place.shown();
    let shown = crate::workspace::name::printable(&path).into_owned();
    Ok(
        ToolOutput::success(format!("Created worktree {shown} on branch {name}.\n"))
            .with("path", path)
            .with("branch", name),
    )
}

pub(super) async fn remove_worktree(
    call: &ToolCall,
    site: &Site,
    args: &GitArgs,
) -> Result<ToolOutput, Stop> {
    let path = args.path.as_deref().unwrap_or_default();
    let place = Place::named(call, site, path).await?;
    let mut arguments: Vec<&[u8]> = vec![b"worktree", b"remove"];
    if args.force() {
        arguments.push(b"--force");
    }
    arguments.extend([&b"--"[..], &place.path]);
    let done = program::run(call, site, Effect::Writes, &arguments).await?;
    let path = place.shown();
    if !done.succeeded() {
        if done
            .message
            .contains("contains modified or untracked files")
        {
            return Err(conflict(&path, "a clean worktree", &done.message).into());
        }
        let complaints = ["is not a working tree", "is a main working tree"];
        return Err(blame(&done, "path", &complaints));
    }
    let shown = crate::workspace::name::printable(&path).into_owned();
    Ok(ToolOutput::success(format!("Removed worktree {shown}.\n")).with("path", path))
}

/// What git says when it is the name that cannot be had.
const NAME_COMPLAINTS: [&str; 6] = [
    "already exists",
    "not a valid branch name",
    "cannot lock ref",
    "unable to create",
    "already checked out",
    "already used by worktree",
];

/// The failure, as that of an argument when git complains of it.
fn blame(done: &Done, argument: &str, complaints: &[&str]) -> Stop {
    match done.failure() {
        Stop::Output(_) if complaints.iter().any(|part| done.message.contains(part)) => {
            refused(argument, done.message.trim_end()).into()
        }
        stop => stop,
    }
}

fn conflict(path: &str, expected: &str, message: &str) -> ToolError {
    let kind = ToolErrorKind::VersionConflict {
        path: path.to_owned(),
        expected: expected.to_owned(),
        actual: Some("local changes".to_owned()),
    };
    ToolError::new(kind, message)
}

/// The first file that git would have overwritten.
fn overwritten(message: &str) -> Option<String> {
    let (_, after) = message.split_once("would be overwritten by checkout")?;
    // A tab begins the line of a path; it was made printable with the rest.
    let line = after.lines().nth(1)?;
    Some(line.trim_start_matches("\\x09").trim().to_owned())
}
