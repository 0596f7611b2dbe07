//! One rule: the tools it names and the texts it matches.
//!
//! Matching to allow and matching to refuse differ on purpose. To allow, everything must be spelled as the
//! rule spells it, with boundaries between words and folders. To refuse, the folder of a program, the order
//! of its options and how they are joined do not matter, and `*` crosses folders of a command line.

use super::pattern::{Glob, is_glob};
use super::programs::base_name;
use super::sightings::{Sightings, Token};

/// Longest rule, in bytes.
const MAX_RULE_BYTES: usize = 4096;

/// A compiled rule.
#[derive(Debug)]
pub(super) struct Rule {
    text: String,
    tool: ToolName,
    pattern: Pattern,
}

#[derive(Debug)]
enum ToolName {
    /// One tool, in lower case.
    Exactly(String),
    /// All tools of a server: what their names begin with, in lower case.
    Server(String),
    /// All that fit.
    Fitting(Glob),
}

#[derive(Debug)]
enum Pattern {
    /// Every call.
    Any,
    /// Texts that begin with this one.
    Prefix { text: String, words: Vec<String> },
    /// Exactly this text.
    Exactly { text: String, words: Vec<String> },
    /// Texts that fit.
    Fitting {
        narrow: Glob,
        wide: Glob,
        words: Vec<WordPattern>,
        leading: Vec<String>,
    },
}

#[derive(Debug)]
enum WordPattern {
    Exactly(String),
    Fitting {
        glob: Glob,
        open: bool,
    },
    /// One word or more; within a folder each, or any.
    Some {
        across: bool,
    },
}

impl Rule {
    /// Parses a rule.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_RULE_BYTES {
            return Err(format!("it is longer than {MAX_RULE_BYTES} bytes"));
        }
        let trimmed = text.trim();
        let (name, pattern) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(pattern) => (name, Some(pattern)),
                None => return Err("the parenthesis is not closed".to_owned()),
            },
        };
        let name = name.trim_end();
        let name = name
            .get(..10)
            .filter(|head| head.eq_ignore_ascii_case("functions."))
            .map_or(name, |head| name.get(head.len()..).unwrap_or_default());
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '?');
        if name.is_empty() || !name.chars().all(valid) {
            return Err("it must be `Tool` or `Tool(pattern)`".to_owned());
        }
        if pattern.is_some_and(|pattern| pattern.trim().is_empty()) {
            return Err(
                "the pattern is empty: leave the parentheses out to mean every call".to_owned(),
            );
        }
        let name = name.to_ascii_lowercase();
        // The tools that became modes of one tool.
        let (name, pattern) = match (name.as_str(), pattern) {
            ("grep" | "glob" | "bm25", pattern) => {
                let of_mode = match pattern {
                    None | Some("*" | "**" | ":*") => format!("{name}:*"),
                    Some(pattern) => format!("{name} {pattern}"),
                };
                ("search".to_owned(), Some(of_mode))
            }
            (_, pattern) => (name, pattern.map(str::to_owned)),
        };
        Ok(Self {
            text: trimmed.to_owned(),
            tool: ToolName::parse(name)?,
            pattern: Pattern::parse(pattern.as_deref())?,
        })
    }

    /// The rule as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about a tool.
    pub(super) fn names(&self, tool: &str) -> bool {
        let tool = tool.to_ascii_lowercase();
        let tool = tool.strip_prefix("functions.").unwrap_or(&tool);
        match &self.tool {
            ToolName::Exactly(name) => name == tool,
            ToolName::Server(name) => tool
                .strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("__")),
            ToolName::Fitting(glob) => glob.matches(tool),
        }
    }

    /// Whether it is about every call of the tools it names.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.pattern, Pattern::Any)
    }

    /// Whether it covers every call of a tool.
    pub(super) fn covers_tool(&self, tool: &str) -> bool {
        self.is_bare() && self.names(tool)
    }

    /// Whether it allows a text.
    pub(super) fn covers_text(&self, text: &str, paths: &[String]) -> bool {
        match &self.pattern {
            Pattern::Any => true,
            Pattern::Prefix { text: prefix, .. } => begins_with(text, prefix, paths),
            Pattern::Exactly { text: exact, .. } => text == exact,
            Pattern::Fitting { narrow, .. } => narrow.matches(text),
        }
    }

    /// Whether it refuses a text. A path from elsewhere, absolute or from a folder above, may be any path
    /// that its end spells.
    pub(super) fn fires_on_text(&self, text: &str, paths: &[String]) -> bool {
        if self.covers_text(text, paths) {
            return true;
        }
        let elsewhere = text.starts_with('/') || text.starts_with("..");
        elsewhere
            && paths.iter().any(|path| path == text)
            && text
                .match_indices('/')
                .filter_map(|(place, _)| text.get(place + 1..))
                .take(256)
                .any(|tail| !tail.is_empty() && self.covers_tail(tail))
    }

    fn covers_tail(&self, tail: &str) -> bool {
        let path = [tail.to_owned()];
        self.covers_text(tail, &path)
    }

    /// Whether it allows a command; then how many of its words it spells out.
    pub(super) fn covers_words(&self, words: &[&str]) -> Option<usize> {
        match &self.pattern {
            Pattern::Any => Some(usize::MAX),
            Pattern::Exactly { words: exact, .. } => (exact.len() == words.len()
                && exact.iter().zip(words).all(|(a, b)| a == b))
            .then_some(usize::MAX),
            Pattern::Prefix { words: prefix, .. } => {
                let (last, head) = prefix.split_last()?;
                let same = head.len() < words.len() && head.iter().zip(words).all(|(a, b)| a == b);
                let word = *words.get(head.len())?;
                if same && last == word {
                    return Some(prefix.len());
                }
                // `cat src/:*` covers what lies in the folder, and nothing above it.
                let inside = !head.is_empty()
                    && last.ends_with('/')
                    && word.starts_with(last.as_str())
                    && !word.split('/').any(|part| part == "..");
                (same && inside).then_some(head.len())
            }
            Pattern::Fitting {
                words: patterns, ..
            } => fits(patterns, words).then(|| spelled(patterns)),
        }
    }

    /// Whether it refuses a line.
    pub(super) fn fires_on_line(&self, line: &str, sightings: &Sightings) -> bool {
        let leading = match &self.pattern {
            Pattern::Any => return true,
            Pattern::Prefix { words, .. } | Pattern::Exactly { words, .. } => words,
            Pattern::Fitting { leading, .. } => leading,
        };
        let loosely = !leading.is_empty() && sightings.loose().any(|rest| refuses(leading, rest));
        if loosely {
            return true;
        }
        match &self.pattern {
            Pattern::Any => true,
            Pattern::Prefix { text, words } => {
                begins_with(line.trim(), text, &[])
                    || sightings.commands().any(|command| refuses(words, command))
            }
            Pattern::Exactly { text, words } => {
                line.trim() == text
                    || sightings
                        .commands()
                        .any(|command| command.len() == words.len() && refuses(words, command))
            }
            Pattern::Fitting { wide, .. } => {
                wide.matches(line) || sightings.texts().any(|text| wide.matches(&text))
            }
        }
    }
}

impl ToolName {
    fn parse(name: String) -> Result<Self, String> {
        if is_glob(&name) {
            return Ok(Self::Fitting(Glob::wide(&name)?));
        }
        let is_server = name
            .strip_prefix("mcp__")
            .is_some_and(|server| !server.is_empty() && !server.contains("__"));
        Ok(if is_server {
            Self::Server(name)
        } else {
            Self::Exactly(name)
        })
    }
}

impl Pattern {
    fn parse(pattern: Option<&str>) -> Result<Self, String> {
        let Some(pattern) = pattern else {
            return Ok(Self::Any);
        };
        let trimmed = pattern.trim();
        if matches!(trimmed, "*" | "**" | ":*") {
            return Ok(Self::Any);
        }
        if let Some(prefix) = trimmed.strip_suffix(":*") {
            return Ok(Self::Prefix {
                text: prefix.to_owned(),
                words: words_of(prefix),
            });
        }
        if !is_glob(trimmed) {
            return Ok(Self::Exactly {
                text: trimmed.to_owned(),
                words: words_of(trimmed),
            });
        }
        let words: Vec<WordPattern> = trimmed
            .split_whitespace()
            .map(WordPattern::parse)
            .collect::<Result<_, _>>()?;
        let leading = trimmed
            .split_whitespace()
            .take_while(|word| !is_glob(word))
            .map(str::to_owned)
            .collect();
        Ok(Self::Fitting {
            narrow: Glob::new(trimmed)?,
            wide: Glob::wide(trimmed)?,
            words,
            leading,
        })
    }
}

impl WordPattern {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "*" => Self::Some { across: false },
            "**" => Self::Some { across: true },
            _ if is_glob(word) => Self::Fitting {
                glob: Glob::new(word)?,
                open: word.ends_with('*'),
            },
            _ => Self::Exactly(word.to_owned()),
        })
    }

    fn fits_one(&self, word: &str) -> bool {
        match self {
            Self::Exactly(text) => text == word,
            Self::Fitting { glob, .. } => glob.matches(word),
            Self::Some { across } => *across || !word.contains('/'),
        }
    }
}

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether the words fit the patterns; a last pattern that ends in `*` takes whatever words follow.
fn fits(patterns: &[WordPattern], words: &[&str]) -> bool {
    // Which numbers of words the patterns so far can take.
    let mut reached = vec![false; words.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for (place, pattern) in patterns.iter().enumerate() {
        let mut next = vec![false; words.len() + 1];
        let repeats = matches!(pattern, WordPattern::Some { .. });
        for (taken, word) in words.iter().enumerate() {
            let from = reached.get(taken).copied().unwrap_or(false)
                || (repeats && next.get(taken).copied().unwrap_or(false));
            if from
                && pattern.fits_one(word)
                && let Some(slot) = next.get_mut(taken + 1)
            {
                *slot = true;
            }
        }
        let open = matches!(pattern, WordPattern::Fitting { open: true, .. });
        if open && place + 1 == patterns.len() {
            return next.contains(&true);
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

fn spelled(patterns: &[WordPattern]) -> usize {
    patterns
        .iter()
        .take_while(|pattern| matches!(pattern, WordPattern::Exactly(_)))
        .count()
}

/// Whether a text begins with another one and something new begins behind it.
fn begins_with(text: &str, prefix: &str, paths: &[String]) -> bool {
    let Some(rest) = text.strip_prefix(prefix) else {
        return false;
    };
    let Some(next) = rest.chars().next() else {
        return true;
    };
    if paths.iter().any(|path| path == text) {
        return next == '/' || prefix.ends_with('/');
    }
    prefix.ends_with(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        || !(next.is_alphanumeric() || matches!(next, '_' | '-' | '.'))
}

/// Whether a rule that refuses fires on a command: word by word, or whatever the order of its options.
fn refuses(rule: &[String], command: &[Token]) -> bool {
    let (Some((program, arguments)), Some((first, given))) =
        (rule.split_first(), command.split_first())
    else {
        return false;
    };
    if !is_program(program, first) {
        return false;
    }
    let word_by_word = arguments.len() <= given.len()
        && arguments
            .iter()
            .zip(given)
            .enumerate()
            .all(|(place, (expected, token))| {
                let last = place + 1 == arguments.len();
                *expected == token.text
                    || (last
                        && expected.ends_with(|c: char| !c.is_alphanumeric())
                        && token.text.starts_with(expected.as_str()))
            });
    word_by_word || refuses_in_any_order(arguments, given)
}

fn is_program(expected: &str, token: &Token) -> bool {
    let matches = |text: &str| {
        if token.glob {
            glob_may_be(text, expected)
        } else {
            text == expected
        }
    };
    matches(&token.text) || (!expected.contains('/') && matches(base_name(&token.text)))
}

/// Whether a file name pattern of the shell fits a name: brackets count as any one character.
fn glob_may_be(pattern: &str, name: &str) -> bool {
    let mut simple = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c == '[' {
            simple.push('?');
            rest.by_ref().take_while(|c| *c != ']').for_each(drop);
        } else {
            simple.push(c);
        }
    }
    Glob::wide(&simple).is_ok_and(|glob| glob.matches(name))
}

/// `rm -rf` also means `rm -r -f`, `rm -fr` and `rm x -rf`.
fn refuses_in_any_order(arguments: &[String], given: &[Token]) -> bool {
    if !arguments.iter().any(|argument| is_option(argument)) {
        return false;
    }
    let options = || given.iter().filter(|token| is_option(&token.text));
    let has_letter = |letter: char| {
        options().any(|token| is_cluster(&token.text) && token.text.contains(letter))
    };
    let all_options = arguments
        .iter()
        .filter(|argument| is_option(argument))
        .all(|argument| {
            if is_cluster(argument) {
                argument.chars().skip(1).all(has_letter)
            } else {
                options().any(|token| {
                    token.text == *argument
                        || token
                            .text
                            .strip_prefix(argument.as_str())
                            .is_some_and(|rest| rest.starts_with('='))
                })
            }
        });
    let mut operands = given.iter().filter(|token| !is_option(&token.text));
    all_options
        && arguments
            .iter()
            .filter(|argument| !is_option(argument))
            .all(|argument| operands.next().is_some_and(|token| token.text == *argument))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn is_cluster(word: &str) -> bool {
    is_option(word)
        && !word.starts_with("--")
        && word.chars().skip(1).all(|c| c.is_ascii_alphabetic())
}
