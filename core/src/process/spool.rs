//! Output that does not fit into memory: a file without a name, gone with its last handle.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, pread, write};
use std::path::Path;

/// An unlinked temporary file that grows at its end.
#[derive(Debug)]
pub(super) struct Spool {
    file: OwnedFd,
    len: u64,
}

impl Spool {
    /// Makes one in the folder for temporary files.
    pub(super) fn create() -> std::io::Result<Self> {
        let folder = std::env::temp_dir();
        let mode = Mode::RUSR | Mode::WUSR;
        let unnamed = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = match openat(CWD, &*folder, unnamed, mode) {
            // A file system that has none: named for a moment, then not.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                named_for_a_moment(&folder, mode)?
            }
            opened => opened?,
        };
        Ok(Self { file, len: 0 })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match write(&self.file, rest) {
                Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Everything that was pushed.
    pub(super) fn read(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX)];
        let mut filled = 0;
        while filled < bytes.len() {
            match pread(&self.file, &mut bytes[filled..], filled as u64) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }
}

fn named_for_a_moment(folder: &Path, mode: Mode) -> std::io::Result<OwnedFd> {
    let name = folder.join(format!("output-{}", uuid::Uuid::new_v4().simple()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(CWD, &name, flags, mode)?;
    unlinkat(CWD, &name, AtFlags::empty())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_read_back_whole() {
        let mut spool = Spool::create().unwrap();
        spool.push(b"abc").unwrap();
        spool.push(&[0, 255]).unwrap();
        assert_eq!(spool.read().unwrap(), [b'a', b'b', b'c', 0, 255]);
        let mode = Mode::RUSR | Mode::WUSR;
        assert!(named_for_a_moment(&std::env::temp_dir(), mode).is_ok());
    }
}
