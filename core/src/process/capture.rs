//! What is kept of a command's output: its first and its last bytes, exact counts, and the whole of it when it is
//! small enough to be an artifact.
//!
//! Both streams share one bound, in the order in which their bytes came; a character split between two reads is
//! put together again first, so that the other stream never lands inside it. Bytes are kept as they are; only the
//! text shows U+FFFD for what is not UTF-8. Memory stays within the bound whatever the command writes.

use super::spool::Spool;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Largest text of a result, and what of it is kept free for notes.
const MOST_BYTES: usize = 102_400;
const RESERVED_BYTES: usize = 512;
/// Shares of the beginning and the end of the largest text.
const HEAD_BYTES: usize = 65_536;
const TAIL_BYTES: usize = 36_352;
/// Shortest time between two pieces of live output: below 20 a second with the last one.
const DELTA_PAUSE: Duration = Duration::from_millis(60);

/// One of the two streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Takes output as it comes, on the thread that watches the command.
pub(crate) trait Receive: Send + 'static {
    /// Takes bytes; false stops the command, because it has written more than is wanted.
    fn receive(&mut self, stream: Stream, bytes: &[u8]) -> bool;
    /// Called now and then; says when it wants to be called again.
    fn tick(&mut self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
    /// No more output comes.
    fn finish(&mut self) {}
}

/// How many bytes are kept from the beginning and from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rooms {
    pub(crate) head: usize,
    pub(crate) tail: usize,
}

impl Rooms {
    /// The shares within a result of at most this many bytes.
    pub(crate) fn within(most: usize) -> Self {
        let room = most.min(MOST_BYTES).saturating_sub(RESERVED_BYTES);
        let head = room * HEAD_BYTES / (HEAD_BYTES + TAIL_BYTES);
        Self {
            head,
            tail: room - head,
        }
    }
}

/// Keeps the beginning and the end.
pub(crate) struct HeadTail {
    rooms: Rooms,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Beginning of a character of each stream whose rest has not come.
    split: [Vec<u8>; 2],
    counts: [u64; 2],
    stored: u64,
    spooling: Spooling,
    spool_limit: u64,
    live: Option<Live>,
}

/// Where the whole output is while it is more than memory keeps.
enum Spooling {
    /// In memory.
    NotNeeded,
    /// In a file.
    To(Spool),
    /// Nowhere: too much, or the file failed.
    GivenUp,
}

/// What was kept, once the command has ended.
pub(crate) struct Captured {
    /// Beginning, marker and end, or everything.
    pub(crate) text: String,
    /// Bytes of standard output.
    pub(crate) stdout_bytes: u64,
    /// Bytes of standard error.
    pub(crate) stderr_bytes: u64,
    /// Bytes of both that the text shows.
    pub(crate) captured_bytes: u64,
    /// The exact bytes of both, when the text does not say everything and they are few enough.
    pub(crate) whole: Option<Vec<u8>>,
}

impl Captured {
    /// Bytes of both streams.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.stdout_bytes + self.stderr_bytes
    }

    /// Bytes that the text leaves out.
    pub(crate) fn omitted_bytes(&self) -> u64 {
        self.total_bytes() - self.captured_bytes
    }
}

impl HeadTail {
    /// Keeps as much as `rooms` say, and the whole output while it is within `spool_limit` bytes. Output is shown
    /// live through `live`.
    pub(crate) fn new(
        rooms: Rooms,
        spool_limit: u64,
        live: Option<UnboundedSender<String>>,
    ) -> Self {
        Self {
            rooms,
            head: Vec::new(),
            tail: VecDeque::new(),
            split: [Vec::new(), Vec::new()],
            counts: [0, 0],
            stored: 0,
            spooling: Spooling::NotNeeded,
            spool_limit,
            live: live.map(|sender| Live::new(sender, rooms.head + rooms.tail)),
        }
    }

    fn store(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(live) = &mut self.live {
            live.push(bytes);
        }
        self.stored += bytes.len() as u64;
        if self.stored > (self.rooms.head + self.rooms.tail) as u64 {
            self.spool(bytes);
        }
        let first = bytes.len().min(self.rooms.head - self.head.len());
        self.head.extend_from_slice(&bytes[..first]);
        let rest = &bytes[first..];
        let rest = &rest[rest.len().saturating_sub(self.rooms.tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.rooms.tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Writes to the file; everything before it first, when it is the first time.
    fn spool(&mut self, bytes: &[u8]) {
        if self.stored > self.spool_limit {
            self.spooling = Spooling::GivenUp;
        }
        let done = match &mut self.spooling {
            Spooling::GivenUp => return,
            Spooling::To(spool) => spool.push(bytes),
            Spooling::NotNeeded => Spool::create().and_then(|mut spool| {
                spool.push(&self.head)?;
                let (front, back) = self.tail.as_slices();
                spool.push(front)?;
                spool.push(back)?;
                spool.push(bytes)?;
                self.spooling = Spooling::To(spool);
                Ok(())
            }),
        };
        if done.is_err() {
            self.spooling = Spooling::GivenUp;
        }
    }

    /// Whether the text may leave something out, so that making it may read and keep the whole.
    pub(crate) fn is_cut(&self) -> bool {
        !matches!(self.spooling, Spooling::NotNeeded)
            || std::str::from_utf8(&self.head).is_err()
            || !self.tail.is_empty()
    }

    /// The text and its account.
    pub(crate) fn captured(mut self) -> Captured {
        let in_memory = self.stored <= (self.rooms.head + self.rooms.tail) as u64;
        let (mut head, tail) = (std::mem::take(&mut self.head), Vec::from(self.tail));
        let (mut text, end, captured, exact);
        if in_memory {
            head.extend_from_slice(&tail);
            let (beginning, consumed) = lossy_prefix(&head, self.rooms.head + self.rooms.tail);
            if consumed == head.len() {
                exact = std::str::from_utf8(&head).is_ok();
                (text, end, captured) = (beginning, String::new(), consumed);
            } else {
                // What is not UTF-8 takes more room as text than as bytes.
                let (beginning, first) = lossy_prefix(&head, self.rooms.head);
                let (ending, last) = lossy_suffix(&head[first..], self.rooms.tail);
                (text, end, captured, exact) = (beginning, ending, first + last, false);
            }
        } else {
            head.truncate(head.len() - incomplete(&head));
            let torn = tail
                .iter()
                .take(3)
                .take_while(|byte| (**byte & 0xC0) == 0x80);
            let torn = torn.count();
            let (beginning, first) = lossy_prefix(&head, self.rooms.head);
            let (ending, last) = lossy_suffix(&tail[torn..], self.rooms.tail);
            (text, end, captured, exact) = (beginning, ending, first + last, false);
        }
        let whole = match self.spooling {
            _ if exact => None,
            Spooling::NotNeeded => (head.len() as u64 <= self.spool_limit).then_some(head),
            Spooling::To(spool) => spool.read().ok(),
            Spooling::GivenUp => None,
        };
        let omitted = self.stored - captured as u64;
        if omitted > 0 {
            end_line(&mut text);
            text.push_str(&format!(
                "[... {omitted} of {} bytes left out; the first and the last are shown ...]\n",
                self.stored
            ));
        }
        text.push_str(&end);
        Captured {
            text,
            stdout_bytes: self.counts[0],
            stderr_bytes: self.counts[1],
            captured_bytes: captured as u64,
            whole,
        }
    }
}

/// Ends the last line, when there is one that has not ended.
pub(crate) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

impl Receive for HeadTail {
    fn receive(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        let at = usize::from(stream == Stream::Error);
        self.counts[at] += bytes.len() as u64;
        let mut split = std::mem::take(&mut self.split[at]);
        if split.is_empty() {
            let whole = bytes.len() - incomplete(bytes);
            self.store(&bytes[..whole]);
            split.extend_from_slice(&bytes[whole..]);
        } else {
            split.extend_from_slice(bytes);
            let whole = split.len() - incomplete(&split);
            self.store(&split[..whole]);
            split.drain(..whole);
            split.shrink_to(16);
        }
        self.split[at] = split;
        true
    }

    fn tick(&mut self, now: Instant) -> Option<Instant> {
        self.live.as_mut().and_then(|live| live.tick(now))
    }

    fn finish(&mut self) {
        for at in 0..2 {
            let split = std::mem::take(&mut self.split[at]);
            self.store(&split);
        }
        if let Some(live) = &mut self.live {
            live.send();
        }
    }
}

/// Length of an unfinished character at the end, 0 to 3.
fn incomplete(bytes: &[u8]) -> usize {
    let window = &bytes[bytes.len().saturating_sub(3)..];
    let Some(at) = window.iter().rposition(|byte| (*byte & 0xC0) != 0x80) else {
        return 0;
    };
    match std::str::from_utf8(&window[at..]) {
        Err(error) if error.error_len().is_none() => window.len() - at,
        _ => 0,
    }
}

/// As much of the beginning as fits into `room` bytes of text, and how many bytes that was.
fn lossy_prefix(bytes: &[u8], room: usize) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len().min(room));
    let mut consumed = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let fits = valid.floor_char_boundary(room - text.len());
        text.push_str(&valid[..fits]);
        consumed += fits;
        if fits < valid.len() {
            break;
        }
        if !chunk.invalid().is_empty() {
            if text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > room {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            consumed += chunk.invalid().len();
        }
    }
    (text, consumed)
}

/// As much of the end as fits into `room` bytes of text, and how many bytes that was.
fn lossy_suffix(bytes: &[u8], room: usize) -> (String, usize) {
    let chunks: Vec<_> = bytes.utf8_chunks().collect();
    let (mut pieces, mut left, mut consumed) = (Vec::new(), room, 0);
    for chunk in chunks.iter().rev() {
        if !chunk.invalid().is_empty() {
            if left < char::REPLACEMENT_CHARACTER.len_utf8() {
                break;
            }
            pieces.push("\u{FFFD}");
            left -= char::REPLACEMENT_CHARACTER.len_utf8();
            consumed += chunk.invalid().len();
        }
        let valid = chunk.valid();
        let from = valid.ceil_char_boundary(valid.len().saturating_sub(left));
        pieces.push(&valid[from..]);
        left -= valid.len() - from;
        consumed += valid.len() - from;
        if from > 0 {
            break;
        }
    }
    (pieces.into_iter().rev().collect(), consumed)
}

/// Output shown while the command runs: in few pieces, and no more than the result may hold.
struct Live {
    sender: UnboundedSender<String>,
    pending: String,
    left: usize,
    next: Option<Instant>,
}

impl Live {
    fn new(sender: UnboundedSender<String>, most: usize) -> Self {
        Self {
            sender,
            pending: String::new(),
            left: most,
            next: None,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.left == 0 {
            return;
        }
        let (piece, consumed) = lossy_prefix(bytes, self.left);
        self.left -= piece.len();
        self.pending.push_str(&piece);
        if consumed < bytes.len() {
            self.left = 0;
            self.pending
                .push_str("\n[... no more is shown while the command runs ...]\n");
        }
    }

    fn tick(&mut self, now: Instant) -> Option<Instant> {
        if self.pending.is_empty() {
            return None;
        }
        match self.next {
            Some(next) if now < next => Some(next),
            _ => {
                self.send();
                self.next = Some(now + DELTA_PAUSE);
                None
            }
        }
    }

    fn send(&mut self) {
        if !self.pending.is_empty() {
            // A receiver that is gone wants nothing more.
            let _ = self.sender.send(std::mem::take(&mut self.pending));
        }
    }
}
