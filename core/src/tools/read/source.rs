//! Lines of an open file, found without reading what stands before them more often than needed.
//!
//! Small files are read whole. For large ones a sparse index, the offset of every 256th line, is built by
//! counting newlines once and kept while the file stays as it is, so that a window near the end costs a window.
//! A file that changed within the last two seconds is not remembered: its time of change may not tell the next
//! change.

use super::super::attempt::Attempt;
use super::super::{ToolError, ToolErrorKind};
use crate::event::now_ms;
use crate::workspace::{Metadata, OpenFile, Wait, Workspace, WorkspaceError, WorkspacePath};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest file that is read.
pub(super) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Files up to this size are read whole.
const SMALL_FILE_BYTES: u64 = 256 * 1024;
/// Lines between two points of the index.
const STRIDE: u64 = 256;
/// Bytes fetched at once.
const CHUNK: usize = 256 * 1024;
/// Files whose index is kept; at most 16 MiB / STRIDE entries each.
const KEPT: usize = 16;
/// How long a file must have been unchanged to be remembered.
const SETTLED_NS: i128 = 2_000_000_000;

/// An open file and what is known of its lines.
pub(super) struct Source {
    file: Box<dyn OpenFile>,
    size: u64,
    path: String,
    wait: Wait,
}

/// Lines from a place on.
pub(super) struct Window {
    /// The bytes, from the first line asked for.
    pub(super) bytes: Vec<u8>,
    /// Whether they reach the end of the file.
    pub(super) to_end: bool,
    /// Lines of the whole file, when that is known.
    pub(super) total_lines: Option<u64>,
}

/// Indexes of files that were read before.
#[derive(Default)]
pub(super) struct LineIndexes {
    kept: Mutex<VecDeque<(Metadata, Arc<LineIndex>)>>,
}

struct LineIndex {
    /// Offset of every STRIDE-th line.
    points: Vec<u64>,
    lines: u64,
}

impl Source {
    pub(super) fn open(
        workspace: &dyn Workspace,
        path: &WorkspacePath,
        wait: Wait,
    ) -> Result<Self, Attempt> {
        let file = workspace.file_system().open(path, wait)?;
        let size = file.metadata().len;
        if size > MAX_FILE_BYTES {
            return Err(WorkspaceError::TooLarge {
                path: path.display().into_owned(),
                size,
                max: MAX_FILE_BYTES,
            }
            .into());
        }
        let mut source = Self {
            file,
            size,
            path: path.display().into_owned(),
            wait,
        };
        if size == 0 {
            source.measure()?;
        }
        Ok(source)
    }

    /// Some files, such as those of `/proc`, have content and state no size: it is found by reading.
    fn measure(&mut self) -> Result<(), Attempt> {
        let mut chunk = vec![0; 4096];
        loop {
            let read = self.file.read_at(self.size, &mut chunk, self.wait)?;
            if read == 0 {
                return Ok(());
            }
            self.size += read as u64;
            if self.size > MAX_FILE_BYTES {
                return Err(WorkspaceError::TooLarge {
                    path: self.path.clone(),
                    size: self.size,
                    max: MAX_FILE_BYTES,
                }
                .into());
            }
        }
    }

    /// Bytes from line `offset` on: about `wanted` bytes, or everything to the end.
    pub(super) fn window(
        &self,
        offset: u64,
        wanted: Option<usize>,
        indexes: &LineIndexes,
    ) -> Result<Window, Attempt> {
        if self.size <= SMALL_FILE_BYTES {
            return self.small(offset);
        }
        if wanted.is_none() && self.wait == Wait::Never {
            return Err(Attempt::WouldBlock);
        }
        let (start, skip, total) = if offset == 0 {
            (0, 0, None)
        } else {
            let index = self.index(indexes)?;
            if offset > index.lines {
                return Err(self.beyond(offset, index.lines).into());
            }
            let point = usize::try_from(offset / STRIDE).unwrap_or(usize::MAX);
            let start = index.points.get(point).copied().unwrap_or(self.size);
            (start, offset % STRIDE, Some(index.lines))
        };
        self.from(start, skip, wanted, total)
    }

    fn small(&self, offset: u64) -> Result<Window, Attempt> {
        let mut bytes = Vec::new();
        self.fill(0, &mut bytes, usize::MAX)?;
        let lines = count_lines(&bytes);
        if offset > lines {
            return Err(self.beyond(offset, lines).into());
        }
        let start = skip_lines(&bytes, offset);
        bytes.drain(..start);
        Ok(Window {
            bytes,
            to_end: true,
            total_lines: Some(lines),
        })
    }

    /// Reads from `start`, leaves out `skip` lines, and goes on until `wanted` bytes follow them.
    fn from(
        &self,
        start: u64,
        skip: u64,
        wanted: Option<usize>,
        total_lines: Option<u64>,
    ) -> Result<Window, Attempt> {
        let mut bytes = Vec::new();
        let mut skipped: Option<usize> = None;
        loop {
            let before = bytes.len();
            let most = match (skipped, wanted) {
                (Some(from), Some(wanted)) => (from + wanted).saturating_sub(before).max(1),
                _ => CHUNK,
            };
            self.fill(start + before as u64, &mut bytes, most)?;
            let to_end = bytes.len() == before || start + bytes.len() as u64 >= self.size;
            if skipped.is_none() {
                let at = skip_lines(&bytes, skip);
                if at < bytes.len() || to_end {
                    skipped = Some(at);
                }
            }
            let enough = match (skipped, wanted) {
                (Some(from), Some(wanted)) => bytes.len() - from >= wanted,
                _ => false,
            };
            if to_end || enough {
                bytes.drain(..skipped.unwrap_or(0));
                return Ok(Window {
                    bytes,
                    to_end,
                    total_lines,
                });
            }
        }
    }

    /// Appends up to `most` bytes of the file from `offset`.
    fn fill(&self, offset: u64, bytes: &mut Vec<u8>, most: usize) -> Result<(), Attempt> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut filled = bytes.len();
        let end = filled + left.min(most);
        bytes.resize(end, 0);
        let begin = filled;
        while filled < end {
            let at = offset + (filled - begin) as u64;
            let read = self.file.read_at(at, &mut bytes[filled..end], self.wait)?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        bytes.truncate(filled);
        Ok(())
    }

    fn index(&self, indexes: &LineIndexes) -> Result<Arc<LineIndex>, Attempt> {
        let facts = self.file.metadata();
        if let Some(known) = indexes.find(&facts) {
            return Ok(known);
        }
        // Counting the lines of a large file takes milliseconds even from memory.
        if self.wait == Wait::Never {
            return Err(Attempt::WouldBlock);
        }
        let index = Arc::new(self.build_index()?);
        let now = i128::from(now_ms()) * 1_000_000;
        let changed = facts.modified_ns.max(facts.changed_ns);
        if changed != 0 && now - changed > SETTLED_NS {
            indexes.keep(facts, Arc::clone(&index));
        }
        Ok(index)
    }

    fn build_index(&self) -> Result<LineIndex, Attempt> {
        let mut points = vec![0];
        let (mut lines, mut at, mut last) = (0, 0_u64, b'\n');
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            self.fill(at, &mut chunk, CHUNK)?;
            let Some(&end) = chunk.last() else { break };
            for newline in memchr::memchr_iter(b'\n', &chunk) {
                lines += 1;
                if lines % STRIDE == 0 {
                    points.push(at + newline as u64 + 1);
                }
            }
            last = end;
            at += chunk.len() as u64;
        }
        Ok(LineIndex {
            points,
            lines: lines + u64::from(last != b'\n'),
        })
    }

    fn beyond(&self, offset: u64, lines: u64) -> ToolError {
        let message = format!(
            "`offset` {offset} is beyond the end of `{}`, which has {lines} lines.",
            self.path
        );
        ToolError::new(
            ToolErrorKind::InvalidArgument {
                message: message.clone(),
                argument: Some("offset".to_owned()),
                bound: Some(lines.to_string()),
            },
            message,
        )
    }

    /// The text of bytes that must be UTF-8 without NUL.
    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, ToolError> {
        match std::str::from_utf8(bytes) {
            Ok(text) if memchr::memchr(0, bytes).is_none() => Ok(text),
            _ => {
                let message = format!("`{}` is not UTF-8 text.", self.path);
                Err(ToolError::new(
                    ToolErrorKind::Unsupported {
                        message: message.clone(),
                    },
                    message,
                ))
            }
        }
    }
}

impl LineIndexes {
    fn find(&self, facts: &Metadata) -> Option<Arc<LineIndex>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .find(|(known, _)| known == facts)
            .map(|(_, index)| Arc::clone(index))
    }

    fn keep(&self, facts: Metadata, index: Arc<LineIndex>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known.identity != facts.identity);
        kept.push_front((facts, index));
        kept.truncate(KEPT);
    }
}

/// Lines of a text; the last one counts without a newline too.
fn count_lines(bytes: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    newlines + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// Where the line after `count` lines begins; the end when there is none.
fn skip_lines(bytes: &[u8], count: u64) -> usize {
    if count == 0 {
        return 0;
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    memchr::memchr_iter(b'\n', bytes)
        .nth(count - 1)
        .map_or(bytes.len(), |newline| newline + 1)
}
