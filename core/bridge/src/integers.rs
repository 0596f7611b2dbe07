//! Whole numbers in JSON text: which one cannot be kept, and where it stands.
//!
//! A number is looked at as it is spelled, before a parser has made another one of it. The text may be any text; what
//! is found in text that is not JSON means nothing, and whoever parses it refuses it.

/// Largest magnitude of a whole number that every language keeps: 2^53 - 1.
pub(crate) const MAX_INTEGER: u64 = 9_007_199_254_740_991;

/// Where the text holds a whole number beyond 2^53 - 1, as a path such as `metadata.rows[0].n`.
pub(crate) fn oversized(text: &str) -> Option<String> {
    search(text, |_, token| {
        is_whole(token)
            && token
                .trim_start_matches('-')
                .parse::<u64>()
                .map_or(true, |value| value > MAX_INTEGER)
    })
}

/// The path of the number that begins at a byte of the text.
pub(crate) fn path_of(text: &str, offset: usize) -> Option<String> {
    search(text, |at, _| at == offset)
}

fn is_whole(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// One step of a path: into an object by its last key, or into a list.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn search(text: &str, wanted: impl Fn(usize, &str) -> bool) -> Option<String> {
    let bytes = text.as_bytes();
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut key_next = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'{' => {
                steps.push(Step::Key(""));
                key_next = true;
            }
            b'[' => {
                steps.push(Step::Index(0));
                key_next = false;
            }
            b'}' | b']' => {
                steps.pop();
                key_next = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                _ => key_next = true,
            },
            b':' => key_next = false,
            b'"' => {
                while let Some(byte) = bytes.get(at) {
                    at += 1;
                    match byte {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                }
                if key_next && let Some(Step::Key(key)) = steps.last_mut() {
                    *key = text.get(begin..at).unwrap_or_default();
                }
            }
            b'-' | b'0'..=b'9' => {
                while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = bytes.get(at) {
                    at += 1;
                }
                if wanted(begin, text.get(begin..at).unwrap_or_default()) {
                    return Some(spelled(&steps));
                }
            }
            _ => {}
        }
    }
    None
}

fn spelled(steps: &[Step<'_>]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key(quoted) => {
                let key: String = serde_json::from_str(quoted).unwrap_or_default();
                if !path.is_empty() {
                    path.push('.');
                }
                path.extend(key.chars().take(128));
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_bounded_as_they_are_spelled() {
        for fine in [
            r#"{"n":9007199254740991}"#,
            r#"{"n":-9007199254740991}"#,
            r#"{"n":1e300,"m":9007199254740992.0}"#,
            r#"{"n":"9007199254740992","9007199254740992":1}"#,
            r#"{"n":"\"9007199254740992"}"#,
        ] {
            assert_eq!(oversized(fine), None, "{fine}");
        }
        for (wrong, place) in [
            (r#"{"n":9007199254740992}"#, "n"),
            (r#"{"a":{"b":[1,[2,-9007199254740992]]}}"#, "a.b[1][1]"),
            (r#"{"a":[{},{"x":1,"y":1180591620717411303424}]}"#, "a[1].y"),
            (r#"{"a":[1,2],"\u0062":18446744073709551616}"#, "b"),
        ] {
            assert_eq!(oversized(wrong).as_deref(), Some(place), "{wrong}");
        }
    }

    #[test]
    fn a_number_is_found_by_its_first_byte() {
        let text = r#"{"options":{"limits":{"maxBytes":1e999}}}"#;
        assert_eq!(
            path_of(text, 33).as_deref(),
            Some("options.limits.maxBytes")
        );
        assert_eq!(path_of(text, 34), None);
    }

    #[test]
    fn text_that_is_not_json_is_searched_without_harm() {
        for odd in ["", "]]]}}", "{{{", "\"", "\"\\", "[,,,1", "{1:2,", "-"] {
            let _ = oversized(odd);
        }
    }
}
