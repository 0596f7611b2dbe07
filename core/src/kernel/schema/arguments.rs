//! Argument text to a value: strict JSON, in linear time.
//!
//! What a lenient parser would repair or drop is refused, because two readers of one text must never see
//! two different calls: a key that occurs twice, half of a surrogate pair, a number that does not fit,
//! nesting that would exhaust a stack.

use serde_json::{Map, Number, Value};

/// Deepest nesting of arrays and objects.
pub(crate) const MAX_DEPTH: usize = 128;
/// Most bytes of argument text.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 64 * 1024 * 1024;

/// Why argument text or a value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Not JSON.
    #[error("the arguments are not valid JSON at byte {offset}: {message}")]
    Syntax {
        /// Byte at which reading stopped.
        offset: usize,
        /// What was expected.
        message: &'static str,
    },
    /// A key occurs twice in one object.
    #[error("the arguments hold a key twice in one object, the second time at byte {offset}")]
    DuplicateKey {
        /// Byte at which the second one begins.
        offset: usize,
    },
    /// Nested too deeply.
    #[error("the arguments are nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// Half of a surrogate pair.
    #[error("the arguments hold half of a surrogate pair at byte {offset}")]
    LoneSurrogate {
        /// Byte at which the escape begins.
        offset: usize,
    },
    /// A number that cannot be kept.
    #[error("the arguments hold a number that does not fit at byte {offset}")]
    NumberRange {
        /// Byte at which the number begins.
        offset: usize,
    },
    /// Too many bytes.
    #[error("the arguments are larger than {MAX_ARGUMENT_BYTES} bytes")]
    TooLarge,
}

/// Parses argument text: at most 64 MiB, nested at most 128 deep, every key once.
///
/// # Errors
/// By kind: not JSON, a key twice, too deep, a lone surrogate, a number that does not fit, too large.
pub fn parse_arguments(text: &str) -> Result<Value, ArgumentError> {
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(ArgumentError::TooLarge);
    }
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return Err(reader.expected("the end"));
    }
    Ok(value)
}

/// Checks that a value is nested at most 128 deep.
///
/// # Errors
/// [`ArgumentError::TooDeep`].
pub fn check_depth(value: &Value) -> Result<(), ArgumentError> {
    if depth(value) > MAX_DEPTH {
        return Err(ArgumentError::TooDeep);
    }
    Ok(())
}

/// Number of values, without recursion; 1 for a scalar.
pub(super) fn values(value: &Value) -> u64 {
    let mut count = 0_u64;
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        count += 1;
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(map) => stack.extend(map.values()),
            _ => {}
        }
    }
    count
}

/// Nesting of arrays and objects, without recursion; 0 for a scalar.
pub(super) fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut stack = vec![(value, 0_usize)];
    while let Some((value, level)) = stack.pop() {
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => {
                deepest = deepest.max(level + 1);
                stack.extend(
                    items
                        .iter()
                        .filter(|item| item.is_array() || item.is_object())
                        .map(|item| (item, level + 1)),
                );
            }
            Value::Object(map) => {
                deepest = deepest.max(level + 1);
                stack.extend(
                    map.values()
                        .filter(|item| item.is_array() || item.is_object())
                        .map(|item| (item, level + 1)),
                );
            }
            _ => {}
        }
    }
    deepest
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, message: &'static str) -> ArgumentError {
        ArgumentError::Syntax {
            offset: self.at,
            message,
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, level: usize) -> Result<Value, ArgumentError> {
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.object(level + 1),
            Some(b'[') => self.array(level + 1),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.expected("expected a value")),
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, ArgumentError> {
        if self.rest().starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.expected("expected a value"))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn object(&mut self, level: usize) -> Result<Value, ArgumentError> {
        if level > MAX_DEPTH {
            return Err(ArgumentError::TooDeep);
        }
        self.at += 1;
        let mut map = Map::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_blanks();
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.expected("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.expected("expected `:`"));
            }
            let value = self.value(level)?;
            if map.insert(key, value).is_some() {
                return Err(ArgumentError::DuplicateKey { offset });
            }
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.take(b',') {
                return Err(self.expected("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self, level: usize) -> Result<Value, ArgumentError> {
        if level > MAX_DEPTH {
            return Err(ArgumentError::TooDeep);
        }
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(level)?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.expected("expected `,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, ArgumentError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest
                .bytes()
                .position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)
                .ok_or_else(|| self.expected("a string does not end"))?;
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.expected("a control character inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ArgumentError> {
        let offset = self.at;
        self.at += 1;
        let kind = self.peek();
        self.at += 1;
        Ok(match kind {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.four_digits(offset)?;
                let code = if (0xD800..0xDC00).contains(&first) {
                    if !self.rest().starts_with("\\u") {
                        return Err(ArgumentError::LoneSurrogate { offset });
                    }
                    self.at += 2;
                    let second = self.four_digits(offset)?;
                    if !(0xDC00..0xE000).contains(&second) {
                        return Err(ArgumentError::LoneSurrogate { offset });
                    }
                    0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                } else {
                    first
                };
                char::from_u32(code).ok_or(ArgumentError::LoneSurrogate { offset })?
            }
            _ => {
                return Err(ArgumentError::Syntax {
                    offset,
                    message: "an escape that JSON does not have",
                });
            }
        })
    }

    fn four_digits(&mut self, offset: usize) -> Result<u32, ArgumentError> {
        let digits = self.text.get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or(ArgumentError::Syntax {
                offset,
                message: "`\\u` needs four hexadecimal digits",
            })?;
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, ArgumentError> {
        let offset = self.at;
        let length = self
            .rest()
            .bytes()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(self.rest().len());
        let token = self.rest().get(..length).unwrap_or_default();
        let (whole, well_formed) = shape_of(token);
        if !well_formed {
            return Err(self.expected("a number that JSON does not have"));
        }
        self.at += length;
        let out_of_range = ArgumentError::NumberRange { offset };
        if whole && token != "-0" {
            let number = token
                .parse::<u64>()
                .map(Number::from)
                .or_else(|_| token.parse::<i64>().map(Number::from));
            return number.map(Value::Number).map_err(|_| out_of_range);
        }
        let value: f64 = token.parse().map_err(|_| out_of_range.clone())?;
        let mantissa = token.split(['e', 'E']).next().unwrap_or_default();
        // A value that rounds to nothing is lost as surely as one that overflows.
        if value == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
            return Err(out_of_range);
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or(out_of_range)
    }
}

/// Whether a token is a whole number and whether JSON allows it.
fn shape_of(token: &str) -> (bool, bool) {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = token.strip_prefix('-').unwrap_or(token);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let exponent_ok =
        exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    let well_formed = digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent_ok;
    (fraction.is_none() && exponent.is_none(), well_formed)
}
