//! Line endings of a text: which there are, and text in another ending brought to them.
//!
//! A line ends with LF or CRLF. A CR alone is an ordinary character.

use std::borrow::Cow;

/// The mark that may begin a UTF-8 text.
pub(crate) const BOM: char = '\u{feff}';

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endings {
    /// There is no line ending.
    None,
    /// All with LF.
    Lf,
    /// All with CRLF.
    CrLf,
    /// Some with one, some with the other.
    Mixed,
}

impl Endings {
    /// The endings of a text.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut lf, mut crlf) = (false, false);
        for at in memchr::memchr_iter(b'\n', bytes) {
            if at > 0 && bytes[at - 1] == b'\r' {
                crlf = true;
            } else {
                lf = true;
            }
            if lf && crlf {
                return Self::Mixed;
            }
        }
        match (lf, crlf) {
            (true, _) => Self::Lf,
            (_, true) => Self::CrLf,
            _ => Self::None,
        }
    }

    /// What ends a line; LF where the text does not tell.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::CrLf => "\r\n",
            Self::None | Self::Lf | Self::Mixed => "\n",
        }
    }

    /// The same text with these endings; unchanged where they are none or mixed.
    pub(crate) fn adapt(self, text: &str) -> Cow<'_, str> {
        match (self, Self::of(text)) {
            (Self::None | Self::Mixed, _) | (_, Self::None) => Cow::Borrowed(text),
            (wanted, found) if wanted == found => Cow::Borrowed(text),
            (Self::Lf, _) => Cow::Owned(text.replace("\r\n", "\n")),
            (Self::CrLf, _) => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_apart_and_adapted() {
        for (text, endings) in [
            ("", Endings::None),
            ("a\rb", Endings::None),
            ("\n", Endings::Lf),
            ("\r\n", Endings::CrLf),
            ("a\r\nb\r\n", Endings::CrLf),
            ("a\r\nb\n", Endings::Mixed),
            ("\n\r\n", Endings::Mixed),
            ("a\r\r\n", Endings::CrLf),
        ] {
            assert_eq!(Endings::of(text), endings, "{text:?}");
        }
        for (endings, text, adapted) in [
            (Endings::Lf, "a\r\nb\nc", "a\nb\nc"),
            (Endings::CrLf, "a\r\nb\nc", "a\r\nb\r\nc"),
            (Endings::CrLf, "a\nb", "a\r\nb"),
            (Endings::CrLf, "a\rb", "a\rb"),
            (Endings::None, "a\nb\r\n", "a\nb\r\n"),
        ] {
            assert_eq!(endings.adapt(text), adapted, "{text:?}");
        }
    }
}
