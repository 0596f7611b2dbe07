//! A value that is never shown: keys, header values, passwords of proxies.
//!
//! A secret has no `Display` and its `Debug` holds none of it. It leaves through [`Secret::expose`] alone, which only
//! this crate can call. Where a provider repeats a secret in what it answers, [`Masking`] takes it out again.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use std::sync::Arc;

/// Shorter values stand in ordinary texts by chance and are not taken out of them.
const SHORTEST_MASKED: usize = 6;
/// What stands in the place of a secret.
const MASK: &str = "[secret]";

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a value.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(Arc::from(value.into()))
    }

    /// The value, for the request that needs it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

/// Takes secrets out of texts.
#[derive(Clone, Default)]
pub(super) struct Masking {
    /// Every form in which a secret may come back, longest first.
    forms: Vec<String>,
}

impl Masking {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets {
            // `Bearer key` comes back as the key alone.
            for part in std::iter::once(secret).chain(secret.split_whitespace()) {
                if part.len() >= SHORTEST_MASKED && !is_scheme(part) {
                    forms.extend(forms_of(part));
                }
            }
        }
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self { forms }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for form in &self.forms {
            if text.contains(form.as_str()) {
                text = text.replace(form.as_str(), MASK);
            }
        }
        text
    }
}

impl std::fmt::Debug for Masking {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Masking")
    }
}

fn is_scheme(part: &str) -> bool {
    ["bearer", "digest", "apikey"]
        .iter()
        .any(|scheme| part.eq_ignore_ascii_case(scheme))
}

fn forms_of(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = secret
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    vec![
        secret.to_owned(),
        json.trim_matches('"').to_owned(),
        percent,
        hex,
        STANDARD.encode(secret),
        STANDARD_NO_PAD.encode(secret),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_in_its_debug_form() {
        let secret = Secret::from("sk-canary-1234");
        assert_eq!(
            format!("{secret:?} {:?}", Some(&secret)),
            "Secret Some(Secret)"
        );
    }

    #[test]
    fn a_secret_is_taken_out_in_every_form() {
        let key = "sk/can\"ary+1234";
        let masking = Masking::new([key, "Bearer other-key-77", "ab"]);
        for form in forms_of(key) {
            let masked = masking.apply(&format!("before {form} after"));
            assert_eq!(masked, "before [secret] after", "{form}");
        }
        assert_eq!(
            masking.apply("ab other-key-77 Bearer"),
            "ab [secret] Bearer"
        );
        assert!(!format!("{masking:?}").contains("can"));
    }
}
