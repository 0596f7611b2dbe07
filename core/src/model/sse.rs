//! Server-sent events out of bytes as they come.
//!
//! Any split of the bytes gives the same events. Lines end with LF, CR or CRLF; a byte order mark at the start and
//! comments are passed over; the lines of an event and all of it are bounded. Beyond the standard: a field `error`,
//! which some local servers send, is an event of that name, and an event without its closing blank line counts at
//! the end of the stream.

/// Most bytes of a line.
const MOST_LINE_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of the data of an event.
const MOST_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its name; empty when it has none.
    pub(super) name: String,
    /// Its lines, joined by LF.
    pub(super) data: String,
}

/// More bytes than a line or an event may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has more than {bound} bytes")]
pub(super) struct SseTooLong {
    what: &'static str,
    bound: usize,
}

/// Reads events out of pieces.
#[derive(Debug)]
pub(super) struct SseParser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The byte before was CR: an LF that follows belongs to it.
    after_return: bool,
    first_line: bool,
    most_line: usize,
    most_event: usize,
}

impl SseParser {
    pub(super) fn new() -> Self {
        Self::with_bounds(MOST_LINE_BYTES, MOST_EVENT_BYTES)
    }

    fn with_bounds(most_line: usize, most_event: usize) -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            first_line: true,
            most_line,
            most_event,
        }
    }

    /// Takes a piece and adds the events that it completes.
    ///
    /// # Errors
    /// [`SseTooLong`]; nothing may be pushed after it.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), SseTooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > self.most_line {
                return Err(SseTooLong {
                    what: "a line of the stream",
                    bound: self.most_line,
                });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else {
                return Ok(());
            };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(())
    }

    /// The event that the end of the stream left open.
    ///
    /// # Errors
    /// [`SseTooLong`].
    pub(super) fn finish(mut self) -> Result<Option<SseEvent>, SseTooLong> {
        if !self.line.is_empty() {
            let ended = self.end_line()?;
            if ended.is_some() {
                return Ok(ended);
            }
        }
        Ok(self.end_event())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseTooLong> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.first_line) {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        if bytes.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = match memchr::memchr(b':', bytes) {
            Some(colon) => (&bytes[..colon], &bytes[colon + 1..]),
            None => (bytes, &bytes[bytes.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add(value)?,
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"error" => {
                self.name = "error".to_owned();
                self.add(value)?;
            }
            // Comments, `id`, `retry`, and fields of the future.
            _ => {}
        }
        // The line's room is used again.
        self.line = line;
        self.line.clear();
        Ok(None)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), SseTooLong> {
        if self.data.len() + value.len() + 1 > self.most_event {
            return Err(SseTooLong {
                what: "an event of the stream",
                bound: self.most_event,
            });
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then(|| SseEvent {
            name,
            data: String::from_utf8(data)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> Vec<(String, String)> {
        pieces(&[bytes])
    }

    fn pieces(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = SseParser::new();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events).unwrap();
        }
        events.extend(parser.finish().unwrap());
        events.into_iter().map(|e| (e.name, e.data)).collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_read_in_every_form() {
        for (text, expected) in [
            ("data: a\n\n", vec![event("", "a")]),
            ("data:a\r\rdata:b\r\r", vec![event("", "a"), event("", "b")]),
            ("data: a\r\ndata:  b\r\n\r\n", vec![event("", "a\n b")]),
            ("\u{feff}event: x\ndata: 1\n\n", vec![event("x", "1")]),
            ("data: a\u{feff}\n\n", vec![event("", "a\u{feff}")]),
            (": hello\n\nid: 4\nretry: 5\n\n", vec![]),
            ("event: x\n\ndata: 1\n\n", vec![event("", "1")]),
            ("data\n\n", vec![event("", "")]),
            ("data: a:b: c\nother: x\n\n", vec![event("", "a:b: c")]),
            (
                "error: {\"code\":500}\n\n",
                vec![event("error", "{\"code\":500}")],
            ),
            ("data: [DONE]", vec![event("", "[DONE]")]),
            ("data: 1\n\ndata: 2\n", vec![event("", "1"), event("", "2")]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(whole(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(whole(b"data: \xff\n\n"), [event("", "\u{fffd}")]);
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let mut parser = SseParser::with_bounds(10, 12);
        let mut events = Vec::new();
        parser.push(b"data: 1234\n\n", &mut events).unwrap();
        assert_eq!(events.len(), 1);
        let long = parser.push(b"data: 12345", &mut events).unwrap_err();
        assert_eq!(
            long.to_string(),
            "a line of the stream has more than 10 bytes"
        );
        // A line that grows by pieces without an end is no way around it.
        let mut parser = SseParser::with_bounds(10, 12);
        let grown = (0..20).find_map(|_| parser.push(b"x", &mut events).err());
        assert!(grown.is_some());
        let mut parser = SseParser::with_bounds(10, 12);
        let many = (0..20).find_map(|_| parser.push(b"data: 12\n", &mut events).err());
        assert_eq!(
            many.map(|error| error.to_string()).as_deref(),
            Some("an event of the stream has more than 12 bytes")
        );
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just("data: ".to_owned()),
            Just("event: ".to_owned()),
            Just("data".to_owned()),
            Just(":".to_owned()),
            Just("\n".to_owned()),
            Just("\r".to_owned()),
            Just("\r\n".to_owned()),
            Just("\n\n".to_owned()),
            Just("\u{feff}".to_owned()),
            "[a-zé€😀{}\"]{0,6}",
        ];
        proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(bytes in stream(), cuts in proptest::collection::vec(0usize..200, 0..20)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.push(0);
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let split: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(pieces(&split), whole(&bytes));
            prop_assert_eq!(pieces(&single), whole(&bytes));
        }

        #[test]
        fn what_was_written_is_read(events in proptest::collection::vec(("[a-z]{0,5}", "[a-zé😀:  \n]{0,30}"), 0..10), ending in 0usize..3) {
            let ending = ["\n", "\r", "\r\n"][ending];
            let mut text = String::new();
            for (name, data) in &events {
                text.push_str(&format!("event:{name}{ending}: comment{ending}"));
                for line in data.split('\n') {
                    text.push_str(&format!("data: {line}{ending}"));
                }
                text.push_str(ending);
            }
            prop_assert_eq!(whole(text.as_bytes()), events);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            whole(&bytes);
        }
    }
}
