//! Words of a command line: quotes, escapes, expansions and the substitutions inside them.
//!
//! Invariant: whatever the shell would run while it builds a word is read as commands; whatever it would
//! only know then makes the word not literal.

use super::{Read, Reader, SPLIT, Unreadable, Word, read_into};

impl Reader<'_> {
    /// One word, up to a blank or an operator.
    pub(super) fn word(&mut self) -> Read<Word> {
        let start = self.at;
        let mut word = Word {
            literal: true,
            plain: true,
            ..Word::default()
        };
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.ahead(1) == Some('(') => {
                    word.literal = false;
                    self.at += 1;
                    self.substitution()?;
                }
                '(' | '<' | '>' => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => self.escaped(&mut word),
                '$' | '`' => self.expansion(&mut word)?,
                _ => {
                    match c {
                        '*' | '?' | '[' => word.glob = true,
                        '{' | '}' => word.brace = true,
                        _ => {}
                    }
                    if c == '~' && (self.at == start || word.text.ends_with(['=', ':'])) {
                        word.literal = false;
                    }
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        // Alone, these are grammar, a test or a placeholder, and pass as they are.
        if matches!(word.text.as_str(), "{" | "}" | "{}" | "[") && word.plain {
            word.glob = false;
            word.brace = false;
        }
        word.literal &= !word.glob && !word.brace;
        if self.at == start {
            return Err(Unreadable);
        }
        Ok(word)
    }

    fn escaped(&mut self, word: &mut Word) {
        word.plain = false;
        match self.ahead(1) {
            // A line that goes on in the middle of a word hides the word.
            Some('\n') | None => word.literal = false,
            Some(c) => word.text.push(c),
        }
        self.at = (self.at + 2).min(self.chars.len());
    }

    pub(super) fn single_quoted(&mut self, word: &mut Word) -> Read<()> {
        word.plain = false;
        self.at += 1;
        loop {
            let c = self.peek().ok_or(Unreadable)?;
            self.at += 1;
            if c == '\'' {
                return Ok(());
            }
            word.text.push(c);
        }
    }

    pub(super) fn double_quoted(&mut self, word: &mut Word) -> Read<()> {
        word.plain = false;
        self.at += 1;
        loop {
            match self.peek().ok_or(Unreadable)? {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' | '`' => self.expansion(word)?,
                '\\' => match self.ahead(1).ok_or(Unreadable)? {
                    '\n' => {
                        word.literal = false;
                        self.at += 2;
                    }
                    c @ ('$' | '`' | '"' | '\\') => {
                        word.text.push(c);
                        self.at += 2;
                    }
                    _ => {
                        word.text.push('\\');
                        self.at += 1;
                    }
                },
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// What begins with `$` or a backtick.
    pub(super) fn expansion(&mut self, word: &mut Word) -> Read<()> {
        word.plain = false;
        if self.peek() == Some('`') {
            word.literal = false;
            return self.backticks();
        }
        self.at += 1;
        match self.peek() {
            Some('(') => {
                word.literal = false;
                if self.ahead(1) == Some('(') {
                    self.at += 1;
                    return self.arithmetic();
                }
                self.substitution()
            }
            Some('{') => {
                word.literal = false;
                self.parameter(word)
            }
            Some('\'') => {
                word.literal = false;
                self.ansi_quoted(word)
            }
            Some('"') => {
                word.literal = false;
                self.double_quoted(word)
            }
            Some('[') => {
                word.literal = false;
                self.at += 1;
                Ok(())
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                word.literal = false;
                let start = self.at;
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                let name = self.chars.get(start..self.at).unwrap_or_default();
                if name == ['I', 'F', 'S'] {
                    word.text.push(SPLIT);
                }
                Ok(())
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
                word.literal = false;
                self.at += 1;
                Ok(())
            }
            _ => {
                word.text.push('$');
                Ok(())
            }
        }
    }

    /// From the opening parenthesis of a substitution to after its end.
    fn substitution(&mut self) -> Read<()> {
        self.at += 1;
        self.deeper()?;
        let cases = std::mem::take(&mut self.cases);
        let documents = std::mem::take(&mut self.documents);
        self.list(Some(')'))?;
        self.cases = cases;
        let inner = std::mem::replace(&mut self.documents, documents);
        self.depth -= 1;
        if inner.is_empty() {
            Ok(())
        } else {
            Err(Unreadable)
        }
    }

    fn backticks(&mut self) -> Read<()> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let c = self.peek().ok_or(Unreadable)?;
            self.at += 1;
            match (c, self.peek()) {
                ('`', _) => break,
                ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        self.deeper()?;
        let depth = self.depth;
        read_into(&text, depth, self.found);
        self.depth -= 1;
        Ok(())
    }

    /// From `{` behind `$` to after its end. What stands there in place of an unset name is kept.
    fn parameter(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.at += 1;
        }
        if name == "IFS" {
            word.text.push(SPLIT);
        }
        self.deeper()?;
        let mut instead = Word::default();
        let mut level = 1;
        loop {
            match self.peek().ok_or(Unreadable)? {
                '}' => {
                    self.at += 1;
                    level -= 1;
                    if level == 0 {
                        break;
                    }
                }
                '{' => {
                    level += 1;
                    self.at += 1;
                }
                '\'' => self.single_quoted(&mut instead)?,
                '"' => self.double_quoted(&mut instead)?,
                '$' | '`' => self.expansion(&mut instead)?,
                '\\' => self.escaped(&mut instead),
                c => {
                    instead.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.depth -= 1;
        if let Some(text) = [":-", ":=", ":+", "-", "=", "+"]
            .iter()
            .find_map(|operator| instead.text.strip_prefix(operator))
        {
            word.text.push_str(&text.replace([' ', '\t'], "\u{1}"));
        }
        Ok(())
    }

    fn ansi_quoted(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        loop {
            let c = self.peek().ok_or(Unreadable)?;
            self.at += 1;
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    let kind = self.peek().ok_or(Unreadable)?;
                    self.at += 1;
                    let code = match kind {
                        'x' => self.digits(16, 2),
                        'u' => self.digits(16, 4),
                        'U' => self.digits(16, 8),
                        '0'..='7' => {
                            self.at -= 1;
                            self.digits(8, 3)
                        }
                        'n' => Some(10),
                        't' => Some(9),
                        'c' => {
                            self.at += 1;
                            None
                        }
                        'a' | 'b' | 'e' | 'E' | 'f' | 'r' | 'v' => None,
                        other => Some(u32::from(other)),
                    };
                    word.text.extend(code.and_then(char::from_u32));
                }
                _ => word.text.push(c),
            }
        }
    }

    fn digits(&mut self, base: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(base)) else {
                break;
            };
            value = Some(
                value
                    .unwrap_or(0_u32)
                    .wrapping_mul(base)
                    .wrapping_add(digit),
            );
            self.at += 1;
        }
        value
    }
}
