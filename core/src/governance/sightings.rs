//! Every place of a command line at which a program may begin, for rules that refuse or ask.
//!
//! Here it is better to see one too many: behind a program that runs others every word may be a program,
//! text that goes to a shell is a script, and what cannot be read is looked at token by token. The work
//! stays in proportion to the line.

use super::command::{CommandLine, SPLIT, Word};
use super::programs::{INTERPRETERS, SHELLS, WRAPPERS, base_name, hazard};

/// Places of one command up to which all of its words are looked at.
const NEAR_PLACES: usize = 64;
/// Most words that are looked at from later places on, so that the work stays in proportion.
const FAR_WORDS: usize = 128;
/// Deepest script inside a script that is looked at.
const MAX_SCRIPTS: usize = 8;

/// One word as rules that refuse see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its text.
    pub(super) text: String,
    /// Whether it stands for whatever file names fit it.
    pub(super) glob: bool,
}

/// What a command makes of what is written to it.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    /// Command lines.
    commands: bool,
    /// Code in another language.
    code: bool,
}

/// Every place of a line at which a program may begin.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    commands: Vec<Vec<Token>>,
    /// Which command, and at which of its words.
    places: Vec<(usize, usize)>,
    /// What could only be looked at token by token.
    loose: Vec<Vec<Token>>,
}

impl Sightings {
    /// Looks through a line.
    pub(super) fn of(line: &str) -> Self {
        let mut found = Self::default();
        found.look(line, 0);
        found
    }

    /// The words from each place on at which a program may begin.
    pub(super) fn commands(&self) -> impl Iterator<Item = &[Token]> {
        self.places.iter().filter_map(|&(command, word)| {
            let tokens = self.commands.get(command)?;
            let end = if word < NEAR_PLACES {
                tokens.len()
            } else {
                tokens.len().min(word + FAR_WORDS)
            };
            tokens.get(word..end)
        })
    }

    /// The words from each place on that could only be looked at token by token.
    pub(super) fn loose(&self) -> impl Iterator<Item = &[Token]> {
        self.loose.iter().flat_map(|tokens| {
            (0..tokens.len())
                .filter_map(|place| tokens.get(place..tokens.len().min(place + NEAR_PLACES)))
        })
    }

    /// The same as texts, for globs, with and without the folder of the program.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.places
            .iter()
            .filter(|(_, word)| *word < NEAR_PLACES)
            .filter_map(|&(command, word)| {
                let tokens = self.commands.get(command)?;
                let end = if word == 0 {
                    tokens.len()
                } else {
                    tokens.len().min(word + FAR_WORDS)
                };
                tokens.get(word..end)
            })
            .flat_map(|tokens| {
                let full = joined(tokens.iter().map(|token| token.text.as_str()));
                let program = tokens.first().map_or("", |token| base_name(&token.text));
                let rest = tokens.iter().skip(1).map(|token| token.text.as_str());
                let short = joined(std::iter::once(program).chain(rest));
                [full, short]
            })
    }

    fn look(&mut self, line: &str, depth: usize) {
        let read = CommandLine::read_nested(line, depth);
        if read.unread {
            self.look_loosely(line);
        }
        let first = self.commands.len();
        let mut reads = Reads::default();
        for part in &read.parts {
            let seen = self.look_at(tokens_of(&part.words), depth);
            reads.commands |= seen.commands;
            reads.code |= seen.code;
        }
        if depth >= MAX_SCRIPTS {
            return;
        }
        for part in &read.parts {
            // `PAGER='rm x' man y`
            for value in part
                .assigned
                .iter()
                .filter(|value| value.len() < line.len())
            {
                self.look(value, depth + 1);
            }
        }
        // What is written to a shell or an interpreter on the same line is a script for it.
        if reads.commands || reads.code {
            let written: Vec<String> = self
                .commands
                .get(first..)
                .unwrap_or_default()
                .iter()
                .map(|tokens| joined(tokens.iter().skip(1).map(|token| token.text.as_str())))
                .collect();
            for text in written.iter().chain(&read.documents) {
                if reads.commands && text.len() < line.len() {
                    self.look(text, depth + 1);
                }
                if reads.code {
                    self.look_loosely(text);
                }
            }
        }
    }

    /// Looks at one command, and says what it makes of its input.
    fn look_at(&mut self, mut tokens: Vec<Token>, depth: usize) -> Reads {
        // A word that is known to be nothing, or may be, is not the program.
        let empty = tokens
            .iter()
            .take_while(|token| token.text.is_empty())
            .count();
        tokens.drain(..empty);
        let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        let Some(program) = texts.first().map(|program| base_name(program).to_owned()) else {
            return Reads::default();
        };
        let mut places = vec![0];
        let mut scripts: Vec<String> = Vec::new();
        let mut loose: Vec<String> = Vec::new();
        let mut reads = Reads::default();
        let is_shell = SHELLS.contains(&program.as_str());
        let looks_up = program == "command" && matches!(texts.get(1), Some(&("-v" | "-V")));
        if (is_shell || WRAPPERS.contains(&program.as_str())) && !looks_up {
            places.extend(1..texts.len());
            reads.commands = texts.iter().any(|text| {
                matches!(*text, "eval" | "source" | ".") || SHELLS.contains(&base_name(text))
            });
            scripts.extend(
                texts
                    .iter()
                    .skip(1)
                    .filter(|text| is_script(text))
                    .map(|text| (*text).to_owned()),
            );
            // `NAME=script` for aliases, `--option=script` for the rest.
            scripts.extend(
                texts
                    .iter()
                    .skip(1)
                    .filter_map(|text| text.split_once('='))
                    .map(|(_, value)| value.to_owned()),
            );
            if program == "eval" {
                scripts.push(texts.get(1..).unwrap_or_default().join(" "));
            }
        }
        if let Some(place) = hazard(&texts) {
            places.extend(place..texts.len());
            loose.extend(texts.iter().skip(place).map(|text| (*text).to_owned()));
        }
        let interpreter = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if INTERPRETERS.contains(&program.as_str()) || INTERPRETERS.contains(&interpreter) {
            reads.code = true;
            loose.extend(texts.iter().skip(1).map(|text| (*text).to_owned()));
        }
        let without_options = (program == "git")
            .then(|| git_without_options(&tokens))
            .flatten();
        places.sort_unstable();
        places.dedup();
        let command = self.commands.len();
        self.places
            .extend(places.into_iter().map(|word| (command, word)));
        self.commands.push(tokens);
        if let Some(tokens) = without_options {
            self.places.push((self.commands.len(), 0));
            self.commands.push(tokens);
        }
        for text in loose {
            self.look_loosely(&text);
        }
        if depth < MAX_SCRIPTS {
            for script in scripts {
                self.look(&script, depth + 1);
            }
        }
        reads
    }

    /// Looks at every token of a text: once with quotes taken as nothing, once as ends of words.
    fn look_loosely(&mut self, text: &str) {
        const QUOTES: &[char] = &['"', '\'', '\\'];
        let closed: String = text.replace(QUOTES, "");
        for variant in [closed, text.replace(QUOTES, " ")] {
            let tokens = variant
                .split(|c: char| {
                    !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | ':' | '@'))
                })
                .filter(|token| !token.is_empty())
                .map(|token| Token {
                    text: token.to_owned(),
                    glob: false,
                })
                .collect();
            self.loose.push(tokens);
        }
    }
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn is_script(text: &str) -> bool {
    text.contains([' ', '\t', '\n', ';', '|', '&', '$', '`', '<', '>', '('])
}

/// The words as the shell may write them out: split where it splits, braces as lists.
fn tokens_of(words: &[Word]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for word in words {
        let text = if word.brace {
            word.text
                .chars()
                .filter(|c| !matches!(c, '{' | '}'))
                .map(|c| if c == ',' { SPLIT } else { c })
                .collect()
        } else {
            word.text.clone()
        };
        tokens.extend(text.split(SPLIT).map(|text| Token {
            text: text.to_owned(),
            glob: word.glob,
        }));
    }
    tokens
}

/// `git -C dir -c a=b push` as `git push`.
fn git_without_options(tokens: &[Token]) -> Option<Vec<Token>> {
    const TAKES_VALUE: &[&str] = &[
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--super-prefix",
        "--config-env",
        "--exec-path",
        "--attr-source",
    ];
    let mut place = 1;
    while let Some(option) = tokens
        .get(place)
        .filter(|token| token.text.starts_with('-'))
    {
        place += 1 + usize::from(TAKES_VALUE.contains(&option.text.as_str()));
    }
    if place == 1 {
        return None;
    }
    let program = tokens.first()?.clone();
    Some(
        std::iter::once(program)
            .chain(tokens.get(place..)?.iter().cloned())
            .collect(),
    )
}
