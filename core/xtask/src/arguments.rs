//! Words of the command line: `--flag`, `--key value` or `--key=value`, and the rest. Unknown ones are refused.

use crate::failure::{Result, fail};
use crate::languages::Language;
use std::collections::{BTreeMap, BTreeSet};

/// Parsed words.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    positional: Vec<String>,
    flags: BTreeSet<String>,
    values: BTreeMap<String, String>,
}

impl Arguments {
    /// Splits `words` by the names that a verb knows.
    pub(crate) fn parse(words: Vec<String>, flags: &[&str], keys: &[&str]) -> Result<Self> {
        let mut parsed = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                parsed.positional.push(word);
                continue;
            };
            let (name, inline) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            if flags.contains(&name) && inline.is_none() {
                parsed.flags.insert(name.to_owned());
            } else if keys.contains(&name) {
                let value = inline
                    .or_else(|| words.next())
                    .ok_or_else(|| fail(format!("--{name} needs a value")))?;
                parsed.values.insert(name.to_owned(), value);
            } else {
                return Err(fail(format!("unknown option --{option}")));
            }
        }
        Ok(parsed)
    }

    /// Words without a dash.
    pub(crate) fn positional(&self) -> &[String] {
        &self.positional
    }

    /// Fails when there are words without a dash.
    pub(crate) fn expect_no_positional(&self) -> Result<()> {
        match self.positional.first() {
            Some(word) => Err(fail(format!("unexpected word {word}"))),
            None => Ok(()),
        }
    }

    /// Whether a flag was given.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    /// Value of a key.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The languages asked for by `--lang`; all when it was not given.
    pub(crate) fn languages(&self) -> Result<Vec<Language>> {
        match self.value("lang") {
            None => Ok(Language::ALL.to_vec()),
            Some(name) => Language::parse(name)
                .map(|language| vec![language])
                .ok_or_else(|| fail(format!("--lang is rust, node, python or go, not {name}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_told_from_words() {
        let parsed = Arguments::parse(
            words("a --json --prefix=EVID b --lang go"),
            &["json"],
            &["prefix", "lang"],
        )
        .unwrap();
        assert_eq!(parsed.positional(), ["a", "b"]);
        assert!(parsed.flag("json"));
        assert_eq!(parsed.value("prefix"), Some("EVID"));
        assert_eq!(parsed.languages().unwrap(), [Language::Go]);
    }

    #[test]
    fn an_unknown_or_unfinished_option_is_refused() {
        assert!(Arguments::parse(words("--nope"), &[], &[]).is_err());
        assert!(Arguments::parse(words("--lang"), &[], &["lang"]).is_err());
        assert!(Arguments::parse(words("--json=1"), &["json"], &[]).is_err());
    }
}
