//! Names and comments as Go writes them.

use std::fmt::Write;

/// Words that Go writes in capitals throughout.
const INITIALISMS: &[&str] = &[
    "id", "uri", "url", "ms", "json", "llm", "mcp", "io", "sdk", "ls",
];

/// Beginnings of sentences about methods that say what the method does; others say what it returns.
const VERBS: &[&str] = &[
    "Adds", "Applies", "Calls", "Closes", "Fetches", "Lists", "Opens", "Reads", "Removes",
    "Replaces", "Runs", "Searches", "Tells", "Writes",
];

/// The exported Go name of a wire name: `sessionId` and `session_id` are `SessionID`.
pub(super) fn exported(name: &str) -> String {
    let mut out = String::new();
    for word in words(name) {
        if INITIALISMS.contains(&word.as_str()) {
            out.push_str(&word.to_uppercase());
        } else {
            let mut letters = word.chars();
            out.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
            out.push_str(letters.as_str());
        }
    }
    out
}

/// The name of a parameter, which must not be a word of the language.
pub(super) fn parameter(name: &str) -> String {
    let exported = exported(name);
    let mut out = lower_first(&exported);
    if exported.starts_with("URI") || exported.starts_with("ID") {
        out = exported.to_lowercase();
    }
    match out.as_str() {
        "type" | "func" | "range" | "default" | "interface" | "map" => format!("{out}Value"),
        _ => out,
    }
}

/// A text whose first letter is small.
pub(super) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|letter| letter.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}

/// A comment; nothing for an empty text.
pub(super) fn doc(out: &mut String, indent: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "{indent}// {text}");
    }
}

/// The sentence about a method, beginning with its name.
pub(super) fn sentence(name: &str, text: &str) -> String {
    let mut words = text.split(' ');
    let verb = words.next().is_some_and(|word| VERBS.contains(&word));
    if verb && words.next() != Some("that") {
        format!("{name} {}", lower_first(text))
    } else {
        format!("{name} returns {}", lower_first(text))
    }
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' {
            words.push(String::new());
            continue;
        }
        if letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{exported, parameter, sentence};

    #[test]
    fn names_have_the_form_of_the_language() {
        for (wire, go) in [
            ("sessionId", "SessionID"),
            ("duration_ms", "DurationMS"),
            ("startedAtMs", "StartedAtMS"),
            ("ls", "LS"),
            ("NotFound", "NotFound"),
            ("artifactUri", "ArtifactURI"),
        ] {
            assert_eq!(exported(wire), go);
        }
        assert_eq!(parameter("sessionId"), "sessionID");
        assert_eq!(parameter("uri"), "uri");
    }

    #[test]
    fn sentences_begin_with_the_name() {
        assert_eq!(sentence("Tool", "Calls a tool."), "Tool calls a tool.");
        assert_eq!(
            sentence("ActiveTools", "Calls that are running."),
            "ActiveTools returns calls that are running."
        );
    }
}
