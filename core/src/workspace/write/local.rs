//! Writes on this machine.
//!
//! The new bytes go into a file without a name in the target's folder where the file system has such files, so
//! that a process that dies leaves nothing; else into one whose name begins with [`TEMPORARY`]. They are synced
//! before the file gets its name and the folder is synced after. Checking what is there and putting the new
//! file in its place happen under a lock on the folder, which keeps apart all writers that go through here, in
//! this process or another; a writer that does not can be overtaken only between those two calls.

use super::super::beneath::{Beneath, Purpose, failure, open_step};
use super::super::place::Place;
use super::super::{WorkspaceError, WorkspacePath};
use super::{Expectation, Replaced, Replacement, StagedWrite, version};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Stat, Uid, accessat,
    fchmod, fchown, flock, fstat, fsync, linkat, mkdirat, openat, renameat, renameat_with,
    unlinkat,
};
use rustix::io::Errno;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// How the name of a file begins that has not got its own name yet.
pub(in super::super) const TEMPORARY: &str = ".a3s-write-";
/// How long another writer is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// Largest content whose digest a conflict tells.
const MAX_DIGESTED: u64 = 16 * 1024 * 1024;
/// Mode bits that a file keeps: set-id bits go, as they do when a file is written in place.
const KEPT_MODE: u32 = 0o1777;

/// Checks a write and prepares everything but its last step; `named` leaves files without a name unused.
pub(in super::super) fn stage<'a>(
    beneath: &Beneath,
    replacement: &Replacement<'a>,
    named: bool,
) -> Result<Box<dyn StagedWrite + 'a>, WorkspaceError> {
    let place = beneath.place(replacement.path)?;
    let staging = Staging {
        replacement: *replacement,
        shown: replacement.path.clone(),
    };
    replacement.check_limits(&place.real)?;
    replacement.check_stopped()?;
    if !place.exists && matches!(replacement.expectation, Expectation::Content(_)) {
        return Err(replacement.conflict(None));
    }
    if place.exists && replacement.expectation == Expectation::Absent {
        return Err(replacement.conflict(staging.current(&place)?.map(|current| current.version())));
    }
    if place.exists {
        // A file that says it must not be written is not written, though its folder would allow it.
        accessat(
            &place.folder,
            &*place.name,
            Access::WRITE_OK,
            AtFlags::EACCESS,
        )
        .map_err(|error| staging.failed(error))?;
    }
    let (folder, made) = staging.make_folders(&place)?;
    let place = Place {
        folder,
        missing: Vec::new(),
        ..place
    };
    let temporary = if replacement.changes_nothing() {
        None
    } else {
        let mut temporary = staging.write_aside(&place, named)?;
        if place.exists
            && let Some(current) = staging.current(&place)?
        {
            staging.keep_identity(&mut temporary, &current.facts)?;
        }
        fsync(&temporary.file).map_err(|error| staging.failed(error))?;
        Some(temporary)
    };
    Ok(Box::new(LocalStaged {
        staging,
        temporary,
        made,
        place,
    }))
}

/// What belongs to one write from its first step to its last.
struct Staging<'a> {
    replacement: Replacement<'a>,
    shown: WorkspacePath,
}

struct LocalStaged<'a> {
    staging: Staging<'a>,
    /// Dropped before the folders that were made for it.
    temporary: Option<Temporary>,
    made: MadeFolders,
    place: Place,
}

/// The new file before it has its name.
struct Temporary {
    file: OwnedFd,
    /// The name it has until then, in which folder; removed when dropped.
    named: Option<(OwnedFd, String)>,
    /// Mode it was given, if any.
    mode: Option<u32>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some((folder, name)) = self.named.take() {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// Folders that were made for a file; removed when dropped, as far as they are empty.
#[derive(Default)]
struct MadeFolders(Vec<(OwnedFd, Vec<u8>)>);

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for (folder, name) in self.0.drain(..).rev() {
            let _ = unlinkat(folder, &*name, AtFlags::REMOVEDIR);
        }
    }
}

/// The file that is in the place now.
struct Current {
    file: std::fs::File,
    facts: Stat,
}

impl Current {
    fn len(&self) -> u64 {
        u64::try_from(self.facts.st_size).unwrap_or(0)
    }

    /// Whether it holds exactly these bytes.
    fn holds(&mut self, expected: &[u8]) -> std::io::Result<bool> {
        if self.len() != expected.len() as u64 {
            return Ok(false);
        }
        let mut rest = expected;
        let mut chunk = vec![0; expected.len().clamp(1, 64 * 1024)];
        loop {
            let read = match self.file.read(&mut chunk) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read == 0 {
                return Ok(rest.is_empty());
            }
            if !rest.starts_with(&chunk[..read]) {
                return Ok(false);
            }
            rest = &rest[read..];
        }
    }

    /// How a conflict names it.
    fn version(mut self) -> String {
        let len = self.len();
        let mut bytes = Vec::new();
        let whole = len <= MAX_DIGESTED
            && std::io::Seek::rewind(&mut self.file).is_ok()
            && self.file.take(MAX_DIGESTED).read_to_end(&mut bytes).is_ok();
        if whole {
            version(&bytes)
        } else {
            format!("{len} bytes")
        }
    }
}

impl StagedWrite for LocalStaged<'_> {
    fn commit(mut self: Box<Self>) -> Result<Replaced, WorkspaceError> {
        let staging = &self.staging;
        let replacement = &staging.replacement;
        let synced = openat(
            &self.place.folder,
            ".",
            Purpose::List.flags(),
            Mode::empty(),
        );
        let written;
        let existed;
        {
            let _lock = match &synced {
                Ok(folder) => staging.lock(folder)?,
                // A folder that may be written but not read can be neither locked nor synced.
                Err(_) => None,
            };
            let mut current = staging.current(&self.place)?;
            existed = current.is_some();
            let as_expected = match (replacement.expectation, &mut current) {
                (Expectation::Any, _) | (Expectation::Absent, None) => true,
                (Expectation::Content(bytes), Some(current)) => current
                    .holds(bytes)
                    .map_err(|error| staging.failed_io(error))?,
                (Expectation::Content(_), None) | (Expectation::Absent, Some(_)) => false,
            };
            if !as_expected {
                return Err(replacement.conflict(current.map(Current::version)));
            }
            replacement.check_stopped()?;
            written = match self.temporary.take() {
                None => false,
                Some(temporary) => {
                    staging.put(&self.place, temporary, current.as_ref())?;
                    true
                }
            };
        }
        let made = std::mem::take(&mut self.made.0);
        if written {
            // From here on the file is in place; a folder that cannot be synced does not change that.
            for folder in made
                .iter()
                .map(|(folder, _)| openat(folder, ".", Purpose::List.flags(), Mode::empty()))
                .chain([synced])
                .flatten()
            {
                let _ = fsync(folder);
            }
        }
        Ok(Replaced {
            path: self.place.real.clone(),
            created: !existed,
            written,
        })
    }
}

impl Staging<'_> {
    fn failed(&self, error: Errno) -> WorkspaceError {
        failure(&self.shown, error)
    }

    fn failed_io(&self, error: std::io::Error) -> WorkspaceError {
        match Errno::from_io_error(&error) {
            Some(errno) => self.failed(errno),
            None => WorkspaceError::Io {
                path: self.shown.display().into_owned(),
                source: error,
            },
        }
    }

    /// Opens the file that is in the place now, if any.
    fn current(&self, place: &Place) -> Result<Option<Current>, WorkspaceError> {
        let file = match open_step(place.folder.as_fd(), &place.name, Purpose::Read.flags()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            // It has become a link since the way was walked.
            Err(Errno::LOOP) => return Err(self.replacement.conflict(Some("a link".to_owned()))),
            Err(error) => return Err(self.failed(error)),
        };
        let facts = fstat(&file).map_err(|error| self.failed(error))?;
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::RegularFile => Ok(Some(Current {
                file: file.into(),
                facts,
            })),
            FileType::Directory => Err(self.failed(Errno::ISDIR)),
            _ => Err(self.failed(Errno::NODEV)),
        }
    }

    /// Makes the missing folders and opens the last one.
    fn make_folders(&self, place: &Place) -> Result<(OwnedFd, MadeFolders), WorkspaceError> {
        let again = |folder: &OwnedFd| {
            openat(folder, ".", Purpose::Inspect.flags(), Mode::empty())
                .map_err(|error| self.failed(error))
        };
        let mut made = MadeFolders::default();
        let mut here = again(&place.folder)?;
        for name in &place.missing {
            match mkdirat(&here, name.as_slice(), Mode::from_raw_mode(0o777)) {
                Ok(()) => made.0.push((again(&here)?, name.clone())),
                // Somebody was faster.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(self.failed(error)),
            }
            here = open_step(
                here.as_fd(),
                name,
                Purpose::Inspect.flags() | OFlags::DIRECTORY,
            )
            .map_err(|error| self.failed(error))?;
        }
        Ok((here, made))
    }

    /// Writes the bytes into a file that does not have its name yet.
    fn write_aside(&self, place: &Place, named: bool) -> Result<Temporary, WorkspaceError> {
        let temporary = if named {
            self.named(place)
        } else {
            self.unnamed(place)
        };
        let temporary = temporary.or_else(|error| match error {
            Errno::OPNOTSUPP
            | Errno::ISDIR
            | Errno::INVAL
            | Errno::NOENT
            | Errno::NOSYS
            | Errno::PERM
                if !named =>
            {
                self.named(place)
            }
            error => Err(error),
        });
        let temporary = temporary.map_err(|error| self.failed(error))?;
        self.fill(&temporary)?;
        Ok(temporary)
    }

    fn fill(&self, temporary: &Temporary) -> Result<(), WorkspaceError> {
        let file = temporary
            .file
            .try_clone()
            .map_err(|error| self.failed_io(error))?;
        std::fs::File::from(file)
            .write_all(self.replacement.content)
            .map_err(|error| self.failed_io(error))
    }

    /// Until it has its mode, what replaces a file is nobody else's to read.
    fn first_mode(place: &Place) -> Mode {
        Mode::from_raw_mode(if place.exists { 0o600 } else { 0o666 })
    }

    fn unnamed(&self, place: &Place) -> Result<Temporary, Errno> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(Temporary {
            file: openat(&place.folder, ".", flags, Self::first_mode(place))?,
            named: None,
            mode: None,
        })
    }

    fn named(&self, place: &Place) -> Result<Temporary, Errno> {
        let name = temporary_name();
        let folder = openat(&place.folder, ".", Purpose::Inspect.flags(), Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&folder, &*name, flags, Self::first_mode(place))?;
        Ok(Temporary {
            file,
            named: Some((folder, name)),
            mode: None,
        })
    }

    /// Gives the new file the owner and mode of the old one.
    fn keep_identity(&self, temporary: &mut Temporary, old: &Stat) -> Result<(), WorkspaceError> {
        let mode = old.st_mode & KEPT_MODE;
        if temporary.mode == Some(mode) {
            return Ok(());
        }
        let new = fstat(&temporary.file).map_err(|error| self.failed(error))?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            // Only the superuser may give a file away; for others the new file is theirs.
            let owner = Uid::from_raw(old.st_uid);
            let group = Gid::from_raw(old.st_gid);
            let _ = fchown(&temporary.file, Some(owner), Some(group))
                .or_else(|_| fchown(&temporary.file, None, Some(group)));
        }
        fchmod(&temporary.file, Mode::from_raw_mode(mode)).map_err(|error| self.failed(error))?;
        temporary.mode = Some(mode);
        Ok(())
    }

    /// Waits, within bounds, until no other writer is between its check and its last step in this folder.
    fn lock<'f>(&self, folder: &'f OwnedFd) -> Result<Option<Locked<'f>>, WorkspaceError> {
        let since = Instant::now();
        loop {
            match flock(folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Locked(folder))),
                Err(Errno::AGAIN) if since.elapsed() < LOCK_PATIENCE => {
                    self.replacement.check_stopped()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Errno::AGAIN) => {
                    return Err(WorkspaceError::Io {
                        path: self.shown.display().into_owned(),
                        source: std::io::Error::new(
                            std::io::ErrorKind::TimedOut,
                            "another program keeps its folder locked",
                        ),
                    });
                }
                Err(Errno::INTR) => {}
                // A file system without locks.
                Err(_) => return Ok(None),
            }
        }
    }

    /// The last step.
    fn put(
        &self,
        place: &Place,
        mut temporary: Temporary,
        current: Option<&Current>,
    ) -> Result<(), WorkspaceError> {
        if let Some(current) = current {
            self.keep_identity(&mut temporary, &current.facts)?;
        }
        // Where nothing is expected, what appears meanwhile is replaced too.
        let over = current.is_some() || self.replacement.expectation == Expectation::Any;
        let step = self.put_step(place, &mut temporary, over);
        match step {
            // What was absent a moment ago is there.
            Err(Errno::EXIST) => {
                let there = self.current(place)?.map(Current::version);
                Err(self.replacement.conflict(there))
            }
            Err(error) => Err(self.failed(error)),
            Ok(()) => Ok(()),
        }
    }

    fn put_step(&self, place: &Place, temporary: &mut Temporary, over: bool) -> Result<(), Errno> {
        if temporary.named.is_none() {
            if !over {
                match give_name(&temporary.file, place, &place.name) {
                    Ok(()) => return Ok(()),
                    Err(Errno::EXIST) => return Err(Errno::EXIST),
                    Err(_) => {}
                }
            }
            self.name_temporary(place, temporary)?;
        }
        let Some((folder, name)) = &temporary.named else {
            return Err(Errno::NOENT);
        };
        if over {
            renameat(folder, name.as_bytes(), folder, &*place.name)?;
        } else {
            match renameat_with(
                folder,
                name.as_bytes(),
                folder,
                &*place.name,
                RenameFlags::NOREPLACE,
            ) {
                Ok(()) => {}
                // A file system that cannot rename so can still refuse a second link.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    linkat(
                        folder,
                        name.as_bytes(),
                        folder,
                        &*place.name,
                        AtFlags::empty(),
                    )?;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        temporary.named = None;
        Ok(())
    }

    /// Gives a file without a name a temporary one; where that cannot be, writes another that has one.
    fn name_temporary(&self, place: &Place, temporary: &mut Temporary) -> Result<(), Errno> {
        let name = temporary_name();
        if give_name(&temporary.file, place, name.as_bytes()).is_ok() {
            let folder = openat(&place.folder, ".", Purpose::Inspect.flags(), Mode::empty());
            match folder {
                Ok(folder) => temporary.named = Some((folder, name)),
                Err(error) => {
                    let _ = unlinkat(&place.folder, name, AtFlags::empty());
                    return Err(error);
                }
            }
            return Ok(());
        }
        let mut other = self.named(place)?;
        self.fill(&other).map_err(|_| Errno::IO)?;
        if let Some(mode) = temporary.mode {
            fchmod(&other.file, Mode::from_raw_mode(mode))?;
            other.mode = Some(mode);
        }
        fsync(&other.file)?;
        *temporary = other;
        Ok(())
    }
}

/// A folder that no other writer of ours is in; given back when dropped.
struct Locked<'f>(&'f OwnedFd);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// Gives a file without a name one; fails when the name is taken.
fn give_name(file: &OwnedFd, place: &Place, name: &[u8]) -> Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(
        rustix::fs::CWD,
        own,
        &place.folder,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )
}

fn temporary_name() -> String {
    format!("{TEMPORARY}{}", uuid::Uuid::new_v4().simple())
}
