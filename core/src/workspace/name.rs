//! Spelling of file names that are not UTF-8, and of names inside a line of text.
//!
//! A byte that is not part of UTF-8 is spelled `\xNN` with two lower-case hex digits. Decoding takes
//! `\x80` to `\xff`, the control characters `\x01` to `\x1f` and `\x7f`, and `\x5c`; a backslash that
//! would begin one of these by chance is itself spelled `\x5c`. So every name has one spelling that finds
//! it again, an ordinary name (with ordinary backslashes too) is spelled as it is, and neither `/`, NUL nor
//! any other ASCII character has a second spelling. Control characters stay as they are in a spelled name
//! and are escaped only by [`printable`], for text where one row is one name.

use std::borrow::Cow;

/// Length of an escape, `\xNN`.
const ESCAPE: usize = 4;

/// The byte that an escape at the start of `bytes` stands for.
fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = bytes else {
        return None;
    };
    let byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
    (matches!(byte, 0x01..=0x1f | 0x7f | b'\\') || byte >= 0x80).then_some(byte)
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn push_escape(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str("\\x");
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Spells bytes as text that [`decode`] turns back into the same bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    if !bytes.contains(&b'\\')
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '\\' && escaped(&bytes[at..]).is_some() {
                push_escape(&mut out, b'\\');
            } else {
                out.push(character);
            }
            at += character.len_utf8();
        }
        for byte in chunk.invalid() {
            push_escape(&mut out, *byte);
            at += 1;
        }
    }
    out
}

/// The bytes that a spelling stands for.
pub(crate) fn decode(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !text.contains("\\x") {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if let Some(byte) = escaped(&bytes[at..]) {
            out.push(byte);
            at += ESCAPE;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    Cow::Owned(out)
}

/// A spelled name for a line of text: control characters escaped, so that a name cannot forge a row.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match u8::try_from(character) {
            Ok(byte) if (0x01..0x20).contains(&byte) || byte == 0x7f => push_escape(&mut out, byte),
            _ => out.push(character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_names_are_spelled_as_they_are() {
        for name in [
            "a.txt",
            "ünï 文档",
            "back\\slash",
            "\\x",
            "\\xZZ",
            "\\x2f",
            "\\x00",
            "C:\\x41",
        ] {
            assert_eq!(encode(name.as_bytes()), name);
            assert_eq!(&*decode(name), name.as_bytes());
        }
    }

    #[test]
    fn other_names_have_one_spelling() {
        assert_eq!(encode(b"caf\xe9"), "caf\\xe9");
        assert_eq!(encode(b"\\xe9"), "\\x5cxe9");
        assert_eq!(encode(b"\\x5c"), "\\x5cx5c");
        assert_eq!(printable("a\nb"), "a\\x0ab");
        assert_eq!(&*decode("a\\x0ab"), b"a\nb");
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let encoded = encode(&bytes);
            prop_assert_eq!(&*decode(&encoded), &bytes[..]);
        }

        #[test]
        fn hostile_spellings_come_back(text in "[\\\\x0-9a-f\u{e9}]{0,24}") {
            let spelled = encode(text.as_bytes());
            prop_assert_eq!(&*decode(&spelled), text.as_bytes());
            let shown = printable(&spelled);
            prop_assert_eq!(&*decode(&shown), text.as_bytes());
        }
    }
}
