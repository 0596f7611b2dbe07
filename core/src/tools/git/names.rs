//! Names that become arguments of git: refused before git runs when they could be taken for anything else.

use super::program::{self, Effect};
use super::{Site, Stop};
use crate::tools::{ToolCall, ToolError};

/// Longest name in bytes.
const MOST_NAME_BYTES: usize = 1024;
/// Longest message of a stash in bytes.
const MOST_TEXT_BYTES: usize = 4096;

/// Refuses what no argument may be: like an option, too long, with control characters.
fn check(argument: &str, text: &str, most: usize) -> Result<(), ToolError> {
    let reason = if text.trim().is_empty() {
        "it is empty".to_owned()
    } else if text.len() > most {
        format!("it has {} bytes; the most is {most}", text.len())
    } else if text.starts_with('-') {
        "it begins with `-`, as an option would".to_owned()
    } else if text.chars().any(char::is_control) {
        "it contains a control character".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(argument, &reason))
}

/// An argument that cannot be used, and why.
pub(super) fn refused(argument: &str, reason: &str) -> ToolError {
    ToolError::invalid(argument, format!("`{argument}` cannot be used: {reason}."))
}

/// Checks the name of one revision: a branch, a tag, an id, `HEAD~2`.
pub(super) fn check_revision(argument: &str, text: &str) -> Result<(), ToolError> {
    check(argument, text, MOST_NAME_BYTES)?;
    if text.contains(':') {
        let reason = "it names something inside a commit; a branch, tag or commit is asked for";
        return Err(refused(argument, reason));
    }
    if text.contains("..") {
        return Err(refused(
            argument,
            "it is a range; one revision is asked for",
        ));
    }
    Ok(())
}

/// Checks the name of a branch, new or old, by the rules of git.
pub(super) fn check_branch(argument: &str, text: &str) -> Result<(), ToolError> {
    check(argument, text, MOST_NAME_BYTES)?;
    let breaks = text == "@"
        || text == "HEAD"
        || text.contains("..")
        || text.contains("@{")
        || text.contains("//")
        || text.ends_with(['/', '.'])
        || text.contains([' ', '~', '^', ':', '?', '*', '[', '\\'])
        || text
            .split('/')
            .any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock"));
    if breaks {
        return Err(refused(argument, "it is not a valid name of a branch"));
    }
    Ok(())
}

/// Checks a path that is given to git.
pub(super) fn check_path(argument: &str, text: &str) -> Result<(), ToolError> {
    check(argument, text, 4096)
}

/// Checks a line of text. It may begin like an option: it is never given as a word of its own.
pub(super) fn check_text(argument: &str, text: &str) -> Result<(), ToolError> {
    check(argument, text.trim_start_matches('-'), MOST_TEXT_BYTES)
}

/// The commit that a revision names.
///
/// # Errors
/// The argument, when there is no such commit.
pub(super) async fn resolve(
    call: &ToolCall,
    site: &Site,
    argument: &str,
    text: &str,
) -> Result<String, Stop> {
    check_revision(argument, text)?;
    match find(call, site, text).await? {
        Some(id) => Ok(id),
        None => Err(refused(
            argument,
            &format!("`{text}` is no commit of this repository"),
        )
        .into()),
    }
}

/// The commit that a checked revision names, if there is one.
pub(super) async fn find(call: &ToolCall, site: &Site, text: &str) -> Result<Option<String>, Stop> {
    let commit = format!("{text}^{{commit}}");
    let question = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &commit,
    ];
    let done = program::run(call, site, Effect::Reads, &question).await?;
    if done.succeeded() {
        return Ok(Some(done.text().trim().to_owned()).filter(|id| is_id(id)));
    }
    if done.message.is_empty() || done.message.contains("unknown revision") {
        return Ok(None);
    }
    match done.failure() {
        // An id that is none, an ambiguous one: no commit, whatever it says.
        Stop::Output(_) => Ok(None),
        stop @ Stop::Error(_) => Err(stop),
    }
}

/// Whether a text is the whole id of an object.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // claims: AST-11
    #[test]
    fn what_could_be_an_option_or_two_lines_is_refused_and_named() {
        for text in [
            "-",
            "--output=x",
            "-b",
            "",
            " ",
            "a\nb",
            "a\0b",
            "\u{1b}[0m",
            "a\u{85}b",
        ] {
            let error = check_revision("ref", text).unwrap_err();
            assert!(error.message.contains("`ref`"), "{text:?}");
            assert!(check_branch("name", text).is_err(), "{text:?}");
            assert!(check_path("path", text).is_err(), "{text:?}");
        }
        for text in ["HEAD:a", "a..b", "a...b", ":/x"] {
            assert!(check_revision("target", text).is_err(), "{text}");
        }
        for text in [
            "main",
            "HEAD~2",
            "stash@{0}",
            "v1.0",
            "feature/x",
            "@{-1}",
            "HEAD^",
        ] {
            assert!(check_revision("ref", text).is_ok(), "{text}");
        }
        for text in [
            "@", "HEAD", "a..b", "a@{1}", "a//b", "a/", "/a", "a.", ".a", "a/.b", "a.lock",
            "a.lock/b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b",
        ] {
            assert!(check_branch("name", text).is_err(), "{text}");
        }
        assert!(check_branch("name", "feature/größe-2").is_ok());
        assert!(
            check_text("message", "--keep-index").is_ok() && check_text("message", "a\nb").is_err()
        );
    }
}
