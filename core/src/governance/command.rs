//! A command line taken apart: every command that can be seen in it, wherever it stands.
//!
//! This reads the grammar of bash to find commands, not to run them. Commands inside groups, conditions,
//! loops, functions, substitutions, here-documents and quoted scripts are all found. What the reader is not
//! sure of it says ([`CommandLine::doubt`]), and such a line is never covered by a rule that allows.
//!
//! Invariants: reading is linear in the line; recursion is bounded; a word is literal only when the shell
//! would pass exactly this text on.

mod words;

use std::collections::VecDeque;

/// Longest line that a rule may allow, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 10_000;
/// Most commands in a line that a rule may allow.
pub(super) const MAX_PARTS: usize = 64;
/// Deepest nesting of a line that a rule may allow.
pub(super) const MAX_NESTING: usize = 8;
/// Longest line that is taken apart at all.
const MAX_READ_BYTES: usize = 256 * 1024;
/// Most stretches of a line that are read a second time, as commands.
const MAX_REREADS: usize = 32;
/// Deepest nesting that is read at all.
const MAX_RECURSION: usize = 24;

/// Stands for what `$IFS` becomes: a place where the shell splits a word.
pub(super) const SPLIT: char = '\u{1}';

/// One word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text, quotes removed; what is only known when it runs is left out.
    pub(super) text: String,
    /// Whether the shell passes exactly this text on.
    pub(super) literal: bool,
    /// Whether it is written without quotes and escapes.
    pub(super) plain: bool,
    /// Whether the shell would look for file names that fit it.
    pub(super) glob: bool,
    /// Whether the shell would write it out into several words.
    pub(super) brace: bool,
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    /// What variables are set to, for it or instead of it.
    pub(super) assigned: Vec<String>,
    /// Whether a file is opened for it, other than `/dev/null`.
    pub(super) redirects: bool,
}

/// A line taken apart.
#[derive(Debug, Default)]
pub(super) struct CommandLine {
    /// The commands, in the order in which they are found.
    pub(super) parts: Vec<Part>,
    /// Bodies of here-documents and texts of here-strings.
    pub(super) documents: Vec<String>,
    /// Why no rule may allow the line as it is; none when all of it is plain commands.
    pub(super) doubt: Option<&'static str>,
    obscured: bool,
    rereads: usize,
    /// Whether part of the line could not be read, so that its tokens have to be looked at one by one.
    pub(super) unread: bool,
}

impl CommandLine {
    /// Takes a line apart.
    pub(super) fn read(line: &str) -> Self {
        Self::read_nested(line, 0)
    }

    /// Takes apart a line that stands inside another one, `depth` levels down.
    pub(super) fn read_nested(line: &str, depth: usize) -> Self {
        let mut found = Self::default();
        if line.len() > MAX_READ_BYTES || depth > MAX_RECURSION {
            found.unread = true;
            found.doubt("it is too long or nested too deeply");
            return found;
        }
        if line.len() > MAX_LINE_BYTES {
            found.obscure("it is longer than 10,000 bytes");
        }
        if line.chars().any(is_deceptive) {
            found.obscure("it holds characters that cannot be seen");
        }
        let chars: Vec<char> = line.chars().collect();
        read_into(&chars, depth, &mut found);
        if found.parts.len() > MAX_PARTS {
            found.obscure("it holds more than 64 commands");
        }
        found
    }

    /// Whether the line is too long, too deep or too strange for all of it to have been looked at.
    pub(super) fn obscured(&self) -> bool {
        self.unread || self.obscured
    }

    fn obscure(&mut self, reason: &'static str) {
        self.obscured = true;
        self.doubt = Some(reason);
    }

    fn doubt(&mut self, reason: &'static str) {
        self.doubt.get_or_insert(reason);
    }
}

/// Characters that hide what a line does from whoever reads it.
fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\t' && c != '\n')
        || matches!(c,
            '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

fn read_into(chars: &[char], depth: usize, found: &mut CommandLine) {
    let mut reader = Reader {
        chars,
        at: 0,
        depth,
        found,
        documents: VecDeque::new(),
        cases: 0,
    };
    if reader.list(None).is_err() || !reader.documents.is_empty() {
        reader.found.unread = true;
        reader.found.doubt("it cannot be read");
    }
}

/// A line that cannot be read to its end.
struct Unreadable;

type Read<T> = Result<T, Unreadable>;

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    found: &'a mut CommandLine,
    /// Here-documents whose bodies begin on the next line: the end, whether tabs go, whether it is quoted.
    documents: VecDeque<(String, bool, bool)>,
    cases: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn ahead(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(offset, c)| self.ahead(offset) == Some(c))
    }

    fn compound(&mut self) {
        self.found.doubt("it is more than plain commands");
    }

    fn deeper(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            self.found.obscure("it is nested more than 8 deep");
        }
        if self.depth > MAX_RECURSION {
            return Err(Unreadable);
        }
        Ok(())
    }

    /// Commands up to the end, or up to and with `close`.
    fn list(&mut self, close: Option<char>) -> Read<()> {
        loop {
            let Some(c) = self.peek() else {
                return if close.is_none() {
                    Ok(())
                } else {
                    Err(Unreadable)
                };
            };
            match c {
                ' ' | '\t' | ';' | '|' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.document_bodies()?;
                }
                '&' if !self.looking_at("&>") => self.at += 1,
                // The end of a pattern in `case`.
                ')' if self.cases > 0 => self.at += 1,
                ')' if close == Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                ')' => return Err(Unreadable),
                '(' => {
                    self.compound();
                    self.parentheses()?;
                }
                _ => self.command()?,
            }
        }
    }

    /// A subshell, or arithmetic, which is then also read as commands: `((` may be either.
    fn parentheses(&mut self) -> Read<()> {
        self.at += 1;
        if self.peek() == Some('(') {
            return self.arithmetic();
        }
        self.deeper()?;
        let cases = std::mem::take(&mut self.cases);
        self.list(Some(')'))?;
        self.cases = cases;
        self.depth -= 1;
        Ok(())
    }

    /// From the second of two opening parentheses to after the last that closes them.
    fn arithmetic(&mut self) -> Read<()> {
        self.deeper()?;
        let start = self.at;
        let mut level = 1;
        let mut ignored = Word::default();
        while level > 0 {
            match self.peek().ok_or(Unreadable)? {
                '(' => {
                    level += 1;
                    self.at += 1;
                }
                ')' => {
                    level -= 1;
                    self.at += 1;
                }
                '$' | '`' => self.expansion(&mut ignored)?,
                '\'' => self.single_quoted(&mut ignored)?,
                '"' => self.double_quoted(&mut ignored)?,
                '\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let inside = self
            .chars
            .get(start..self.at.saturating_sub(1))
            .unwrap_or_default();
        self.script(inside);
        self.depth -= 1;
        Ok(())
    }

    /// Reads text as commands too: what looks like arithmetic may be commands in parentheses.
    fn script(&mut self, text: &[char]) {
        self.compound();
        self.found.rereads += 1;
        if self.found.rereads > MAX_REREADS {
            self.found.unread = true;
            self.found.obscure("it is nested more than 8 deep");
            return;
        }
        let depth = self.depth;
        read_into(text, depth, self.found);
    }

    /// One command with its assignments and redirections.
    fn command(&mut self) -> Read<()> {
        let mut part = Part::default();
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.ahead(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                Some('<' | '>') if !matches!(self.ahead(1), Some('(')) => {
                    self.redirection(&mut part)?;
                }
                Some('&') if self.ahead(1) == Some('>') => self.redirection(&mut part)?,
                Some('(') if part.words.len() == 1 && self.is_function() => {
                    self.compound();
                    part.words.clear();
                    break;
                }
                Some('(') => return Err(Unreadable),
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some(_) => {
                    if !self.next_word(&mut part)? {
                        break;
                    }
                }
            }
        }
        self.add(part);
        Ok(())
    }

    fn add(&mut self, part: Part) {
        if !part.assigned.is_empty() || part.redirects || !part.words.is_empty() {
            self.found.parts.push(part);
        }
    }

    /// Steps over `()` behind a name.
    fn is_function(&mut self) -> bool {
        let mut offset = 1;
        while matches!(self.ahead(offset), Some(' ' | '\t')) {
            offset += 1;
        }
        if self.ahead(offset) == Some(')') {
            self.at += offset + 1;
            return true;
        }
        false
    }

    /// Takes a word into a command. False when it was a word of the grammar that ends what came before.
    fn next_word(&mut self, part: &mut Part) -> Read<bool> {
        let start = self.at;
        let word = self.word()?;
        let raw = self.chars.get(start..self.at).unwrap_or_default();
        if matches!(self.peek(), Some('<' | '>')) && is_descriptor(raw) {
            if raw.first() == Some(&'{') {
                part.redirects = true;
            }
            return Ok(true);
        }
        if part.words.is_empty() {
            if is_assignment(raw) {
                let value = word.text.split_once('=').map_or("", |(_, value)| value);
                part.assigned.push(value.to_owned());
                if self.peek() == Some('(') && raw.last() == Some(&'=') {
                    self.compound();
                    self.parentheses()?;
                }
                return Ok(true);
            }
            if word.plain && part.assigned.is_empty() {
                return self.grammar(word, part);
            }
        }
        part.words.push(word);
        Ok(true)
    }

    /// A first word that may belong to the grammar.
    fn grammar(&mut self, word: Word, part: &mut Part) -> Read<bool> {
        match word.text.as_str() {
            "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "{" | "!" | "fi"
            | "done" | "esac" | "}" => {
                if word.text == "esac" {
                    self.cases = self.cases.saturating_sub(1);
                }
                self.compound();
                Ok(false)
            }
            "for" | "select" | "case" | "function" => {
                self.compound();
                self.cases += usize::from(word.text == "case");
                // What follows is a name and words, up to `in`, `do`, a parenthesis or a separator.
                let header = word.text;
                loop {
                    match self.peek() {
                        Some(' ' | '\t') => self.at += 1,
                        None | Some('\n' | ';' | '&' | '|' | '<' | '>' | ')') => break,
                        Some('(') => {
                            if header == "function" {
                                self.is_function();
                            } else {
                                self.parentheses()?;
                            }
                            break;
                        }
                        Some(_) => {
                            let word = self.word()?;
                            let ends = match header.as_str() {
                                "function" => true,
                                "case" => word.text == "in",
                                _ => word.text == "do",
                            };
                            if ends {
                                break;
                            }
                        }
                    }
                }
                Ok(false)
            }
            "[[" => {
                self.compound();
                self.condition()?;
                Ok(false)
            }
            _ => {
                part.words.push(word);
                Ok(true)
            }
        }
    }

    /// From after `[[` to `]]`: operators mean something else there.
    fn condition(&mut self) -> Read<()> {
        loop {
            match self.peek().ok_or(Unreadable)? {
                ' ' | '\t' | '\n' | '(' | ')' | '<' | '>' | '&' | '|' | ';' => self.at += 1,
                _ => {
                    if self.word()?.text == "]]" {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn redirection(&mut self, part: &mut Part) -> Read<()> {
        const OPERATORS: &[&str] = &[
            "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">",
        ];
        let operator = OPERATORS
            .iter()
            .find(|operator| self.looking_at(operator))
            .ok_or(Unreadable)?;
        self.at += operator.len();
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')')) {
            return Err(Unreadable);
        }
        let target = self.word()?;
        match *operator {
            "<<" | "<<-" => {
                part.redirects = true;
                self.documents
                    .push_back((target.text, *operator == "<<-", !target.plain));
            }
            "<<<" => {
                part.redirects = true;
                self.found.documents.push(target.text);
            }
            "<&" | ">&" if target.plain && is_stream(&target.text) => {}
            _ if target.plain && target.literal && target.text == "/dev/null" => {}
            _ => part.redirects = true,
        }
        Ok(())
    }

    /// The bodies of the here-documents of the line that has just ended.
    fn document_bodies(&mut self) -> Read<()> {
        while let Some((end, tabs, quoted)) = self.documents.pop_front() {
            let mut body: Vec<char> = Vec::new();
            loop {
                let rest = self.chars.get(self.at..).unwrap_or_default();
                if rest.is_empty() {
                    return Err(Unreadable);
                }
                let length = rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
                let line = rest.get(..length).unwrap_or_default();
                self.at += (length + 1).min(rest.len());
                let text: String = line.iter().collect();
                let compared = if tabs {
                    text.trim_start_matches('\t')
                } else {
                    &text
                };
                if compared == end {
                    break;
                }
                body.extend(line);
                body.push('\n');
            }
            self.found.documents.push(body.iter().collect());
            if !quoted {
                self.document_expansions(&body)?;
            }
        }
        Ok(())
    }

    fn document_expansions(&mut self, body: &[char]) -> Read<()> {
        let mut inside = Reader {
            chars: body,
            at: 0,
            depth: self.depth,
            found: &mut *self.found,
            documents: VecDeque::new(),
            cases: 0,
        };
        let mut ignored = Word::default();
        while let Some(c) = inside.peek() {
            match c {
                '\\' => inside.at += 2,
                '$' | '`' => inside.expansion(&mut ignored)?,
                _ => inside.at += 1,
            }
        }
        Ok(())
    }
}

/// A number, or a name in braces, right before a redirection.
fn is_descriptor(raw: &[char]) -> bool {
    match raw {
        ['{', name @ .., '}'] => {
            !name.is_empty() && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_')
        }
        _ => !raw.is_empty() && raw.iter().all(char::is_ascii_digit),
    }
}

fn is_stream(target: &str) -> bool {
    let number = target.strip_suffix('-').unwrap_or(target);
    number.bytes().all(|byte| byte.is_ascii_digit())
}

/// `NAME=`, `NAME+=` or `NAME[...]=` at the beginning of a word.
fn is_assignment(raw: &[char]) -> bool {
    let name = raw
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
        .count();
    if name == 0 || raw.first().is_some_and(char::is_ascii_digit) {
        return false;
    }
    let mut rest = raw.get(name..).unwrap_or_default();
    if rest.first() == Some(&'[') {
        let Some(close) = rest.iter().position(|&c| c == ']') else {
            return false;
        };
        rest = rest.get(close + 1..).unwrap_or_default();
    }
    matches!(rest, ['=', ..] | ['+', '=', ..])
}
