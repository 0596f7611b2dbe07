//! Starts a program in a clean state: in a session of its own, with every signal at its default, none blocked, and
//! no descriptor beside the three it is given.
//!
//! The standard library can do each of these only after a `fork` of the whole host, whose price grows with the
//! host's memory; `posix_spawn` of the C library shares memory until the program starts. It is the one thing the
//! engine needs that has no safe form, so it stands here alone. Descriptor numbers are taken from borrowed handles
//! that outlive the call; strings from `CString`s that do.
//!
//! This crate deliberately does not wait, signal or look anything up: the caller owns the process it gets.
#![deny(unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::BorrowedFd;

/// A program to start and what it sees of the host: nothing else is passed on.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Absolute path of the program.
    pub program: &'a CStr,
    /// Arguments, the program's own name first.
    pub arguments: &'a [CString],
    /// Environment, as `NAME=value`.
    pub environment: &'a [CString],
    /// Folder it starts in.
    pub directory: BorrowedFd<'a>,
    /// Standard input, output and error. None may be 0, 1 or 2 itself.
    pub standard: [BorrowedFd<'a>; 3],
}

/// Starts the program and returns its process id, which is also that of its group and its session. The id stays
/// taken until the caller waits for the process.
///
/// # Errors
/// What the operating system says: a missing program, arguments too long, no room for another process.
/// `Unsupported` where the C library is not that of GNU.
pub fn spawn(launch: &Launch<'_>) -> io::Result<i32> {
    system::spawn(launch)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    use super::Launch;
    use std::ffi::{CString, c_char, c_int, c_short};
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;
    use std::ptr;

    const FLAGS: c_short = libc::POSIX_SPAWN_SETSID
        | libc::POSIX_SPAWN_SETSIGDEF as c_short
        | libc::POSIX_SPAWN_SETSIGMASK as c_short;

    pub(super) fn spawn(launch: &Launch<'_>) -> io::Result<i32> {
        if launch.standard.iter().any(|fd| fd.as_raw_fd() <= 2) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let actions = Actions::new(launch)?;
        let attributes = Attributes::new()?;
        let arguments = pointers(launch.arguments);
        let environment = pointers(launch.environment);
        let mut pid: libc::pid_t = 0;
        // SAFETY: every pointer is to a live, initialised value for the whole call; both arrays end with null and
        // their strings with NUL; the call keeps none of them.
        check(unsafe {
            libc::posix_spawn(
                &raw mut pid,
                launch.program.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        })?;
        Ok(pid)
    }

    /// The strings as the null-terminated array that C expects. Borrows them: they must outlive it.
    fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
        strings
            .iter()
            .map(|string| string.as_ptr().cast_mut())
            .chain([ptr::null_mut()])
            .collect()
    }

    /// These calls return the error instead of setting it.
    fn check(code: c_int) -> io::Result<()> {
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// What is done to descriptors and folder before the program starts.
    struct Actions(libc::posix_spawn_file_actions_t);

    impl Actions {
        fn new(launch: &Launch<'_>) -> io::Result<Self> {
            let mut raw = MaybeUninit::uninit();
            // SAFETY: `raw` is memory of the right type; on success it is initialised.
            check(unsafe { libc::posix_spawn_file_actions_init(raw.as_mut_ptr()) })?;
            // SAFETY: initialised by the call above, which succeeded.
            let mut actions = Self(unsafe { raw.assume_init() });
            let directory = launch.directory.as_raw_fd();
            // SAFETY: `actions` is initialised; the descriptor is only noted here and is open until the spawn.
            check(unsafe {
                libc::posix_spawn_file_actions_addfchdir_np(&raw mut actions.0, directory)
            })?;
            for (target, source) in (0..).zip(launch.standard) {
                // SAFETY: as above.
                check(unsafe {
                    libc::posix_spawn_file_actions_adddup2(
                        &raw mut actions.0,
                        source.as_raw_fd(),
                        target,
                    )
                })?;
            }
            // SAFETY: as above; closes what the host has open without the close-on-exec mark, in the child only.
            check(unsafe {
                libc::posix_spawn_file_actions_addclosefrom_np(&raw mut actions.0, 3)
            })?;
            Ok(actions)
        }
    }

    impl Drop for Actions {
        fn drop(&mut self) {
            // SAFETY: initialised in `new` and destroyed once.
            unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
        }
    }

    /// Session and signals of the new process.
    struct Attributes(libc::posix_spawnattr_t);

    impl Attributes {
        fn new() -> io::Result<Self> {
            let mut raw = MaybeUninit::uninit();
            // SAFETY: `raw` is memory of the right type; on success it is initialised.
            check(unsafe { libc::posix_spawnattr_init(raw.as_mut_ptr()) })?;
            // SAFETY: initialised by the call above, which succeeded.
            let mut attributes = Self(unsafe { raw.assume_init() });
            let (mut all, mut none) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            // SAFETY: both sets are memory of the right type and are initialised here before they are read; the
            // attributes are initialised and copy the sets.
            unsafe {
                libc::sigfillset(all.as_mut_ptr());
                libc::sigdelset(all.as_mut_ptr(), libc::SIGKILL);
                libc::sigdelset(all.as_mut_ptr(), libc::SIGSTOP);
                libc::sigemptyset(none.as_mut_ptr());
                check(libc::posix_spawnattr_setsigdefault(
                    &raw mut attributes.0,
                    all.as_ptr(),
                ))?;
                check(libc::posix_spawnattr_setsigmask(
                    &raw mut attributes.0,
                    none.as_ptr(),
                ))?;
                check(libc::posix_spawnattr_setflags(&raw mut attributes.0, FLAGS))?;
            }
            Ok(attributes)
        }
    }

    impl Drop for Attributes {
        fn drop(&mut self) {
            // SAFETY: initialised in `new` and destroyed once.
            unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod system {
    pub(super) fn spawn(_: &super::Launch<'_>) -> std::io::Result<i32> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
