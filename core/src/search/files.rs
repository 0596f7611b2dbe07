//! Reading whole files into a buffer that is used again.

use crate::workspace::{OpenFile, Wait, WorkspaceError};

/// Bytes fetched at once beyond the size the file had when it was opened.
const GROWTH: usize = 4096;

/// Reads a file from its start to its end, or to `max` bytes, replacing what `buffer` held.
pub(super) fn read_whole(
    file: &dyn OpenFile,
    max: u64,
    buffer: &mut Vec<u8>,
    wait: Wait,
) -> Result<(), WorkspaceError> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let expected = usize::try_from(file.metadata().len)
        .unwrap_or(usize::MAX)
        .min(max);
    // One byte more than expected, so that one read also sees the end.
    buffer.resize(expected.saturating_add(1), 0);
    let mut filled = 0;
    loop {
        let count = file.read_at(filled as u64, &mut buffer[filled..], wait)?;
        if count == 0 {
            break;
        }
        filled += count;
        if filled >= max {
            filled = max;
            break;
        }
        if filled == buffer.len() {
            buffer.resize(filled + GROWTH, 0);
        }
    }
    buffer.truncate(filled);
    Ok(())
}
