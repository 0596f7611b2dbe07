//! A scan over JSON text that checks its grammar and finds where each value ends, building nothing.
//!
//! It accepts what RFC 8259 calls JSON. Nesting is kept on a heap stack, so depth cannot exhaust the
//! thread's stack. It exists beside `serde_json` for speed only: sampling reads every byte of a large
//! output and must not cost much more than its digest. Every step takes a position and gives the one
//! after what it skipped, or nothing where the text is not JSON.

/// One in each byte of a word, and the top bit of each.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The position after the white space here.
#[inline(always)]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        // One comparison settles most bytes.
        if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            break;
        }
        at += 1;
    }
    at
}

/// The position after white space and this byte.
#[inline(always)]
fn skip_byte(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = skip_space(bytes, at);
    (bytes.get(at) == Some(&byte)).then_some(at + 1)
}

/// The position after white space and one whole value.
///
/// `open` is room for the closing bytes of what is open; it comes back empty when the value ends.
#[inline(always)]
pub(super) fn skip_value(bytes: &[u8], mut at: usize, open: &mut Vec<u8>) -> Option<usize> {
    // The closing byte of the innermost open value, 0 outside all.
    let mut close = 0_u8;
    at = skip_space(bytes, at);
    loop {
        match bytes.get(at)? {
            b'"' => at = skip_string(bytes, at)?,
            b'-' | b'0'..=b'9' => at = skip_number(bytes, at)?,
            b'{' => {
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&b'}') {
                    at += 1;
                } else {
                    at = skip_space(bytes, skip_key(bytes, at)?);
                    open.push(close);
                    close = b'}';
                    continue;
                }
            }
            b'[' => {
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                } else {
                    open.push(close);
                    close = b']';
                    continue;
                }
            }
            b't' => at = skip_word(bytes, at, b"true")?,
            b'f' => at = skip_word(bytes, at, b"false")?,
            b'n' => at = skip_word(bytes, at, b"null")?,
            _ => return None,
        }
        // A value has ended: close what it ends, or go on to the next one.
        loop {
            if close == 0 {
                return Some(at);
            }
            at = skip_space(bytes, at);
            let next = *bytes.get(at)?;
            at += 1;
            if next == b',' {
                if close == b'}' {
                    at = skip_key(bytes, at)?;
                }
                at = skip_space(bytes, at);
                break;
            }
            if next != close {
                return None;
            }
            close = open.pop()?;
        }
    }
}

/// The position after a key and its colon.
#[inline(always)]
fn skip_key(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_space(bytes, at);
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    skip_byte(bytes, skip_string(bytes, at)?, b':')
}

/// The position after a string whose opening quote is here.
#[inline(always)]
fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += plain_len(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = skip_escape(bytes, at)?,
            _ => return None,
        }
    }
}

/// The position after an escape whose backslash is here.
fn skip_escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = bytes.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// The position after a number that begins here.
#[inline(always)]
fn skip_number(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    if bytes.get(at) == Some(&b'0') {
        at += 1;
    } else {
        at = skip_digits(bytes, at)?;
    }
    if bytes.get(at) == Some(&b'.') {
        at = skip_digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = skip_digits(bytes, at)?;
    }
    Some(at)
}

/// The position after one digit or more.
#[inline(always)]
fn skip_digits(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    (at > start).then_some(at)
}

fn skip_word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    let end = at + word.len();
    (bytes.get(at..end)? == word).then_some(end)
}

/// How many bytes come before the first quote, backslash or control character; all when there is none.
///
/// Eight bytes are looked at in one go. A borrow of the subtraction can mark a byte wrongly only above a
/// byte that is marked rightly, and only the lowest mark is used.
#[inline(always)]
fn plain_len(bytes: &[u8]) -> usize {
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = zero_in(word ^ (ONES * u64::from(b'"')))
            | zero_in(word ^ (ONES * u64::from(b'\\')))
            | (word.wrapping_sub(ONES * 0x20) & !word & HIGH);
        if marks != 0 {
            return bytes.len() - rest.len() + (marks.trailing_zeros() / 8) as usize;
        }
        rest = after;
    }
    let plain = rest
        .iter()
        .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
    bytes.len() - rest.len() + plain.unwrap_or(rest.len())
}

/// Appends a JSON value without the white space between its tokens; numbers, keys and their order stay
/// as they are written.
pub(super) fn push_compact(out: &mut String, value: &str) {
    let bytes = value.as_bytes();
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            // The value was scanned, so its strings end.
            b'"' => at = skip_string(bytes, at).unwrap_or(bytes.len()),
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(&value[copied..at]);
                at += 1;
                copied = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(&value[copied..]);
}
