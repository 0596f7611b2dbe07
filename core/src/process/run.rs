//! One command and the thread that watches it.
//!
//! The thread starts the program, takes its output, ends it at its time limit or when it is told to, hands over
//! what came of it, and stays while the command left something running: it reads and drops what that writes,
//! so that it can go on, and ends it when the session closes. It waits in one `poll` for output, the end of the
//! leader, and its own wake-up; nothing is looked up on a timer while a command runs undisturbed.

use super::capture::{Receive, Stream};
use super::environment::Environment;
use super::ledger::{Entry, Ledger};
use super::tree::{self, MARKER, Tree};
use a3s_code_spawn::{Launch, spawn};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid,
};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long output is read after the leader has ended while something else holds a pipe.
const PIPE_GRACE: Duration = Duration::from_millis(250);
/// How long a command may tidy up after it was asked to end.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long killing is tried before what cannot be killed is left.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// Pause between two looks at what is left while a command is being ended.
const LOOK_PAUSE: Duration = Duration::from_millis(15);
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// Most reads of a stream once a command has been ended, so that a stream that never ends cannot hold it up.
const LAST_READS: usize = 32;
/// Stack of the thread.
const STACK_BYTES: usize = 256 * 1024;

/// A program and how it is run.
#[derive(Debug)]
pub(crate) struct Command {
    /// Name of the program on the search path of `environment`.
    pub(crate) program: &'static str,
    /// Folder of which the program may not be a part.
    pub(crate) untrusted: Option<Vec<u8>>,
    /// Arguments after the name.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// All it sees of the host.
    pub(crate) environment: Environment,
    /// Folder it starts in.
    pub(crate) directory: Vec<u8>,
    /// How long it may run, its output included.
    pub(crate) time_limit: Duration,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal, from elsewhere.
    Killed(i32),
    /// At its time limit.
    TimedOut,
    /// Because it was told to, or wrote more than was wanted.
    Stopped,
    /// By itself; the host took its status away, as with an ignored SIGCHLD.
    Unknown,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Outcome<R> {
    /// How it ended.
    pub(crate) end: End,
    /// What took its output.
    pub(crate) received: R,
    /// How long it took.
    pub(crate) duration: Duration,
    /// Whether something held a pipe open when the result was handed over.
    pub(crate) pipe_held: bool,
    /// Processes of the command that have not ended.
    pub(crate) survivors: usize,
    /// How far ending it reaches: `descendants`, or only its `group`.
    pub(crate) reach: &'static str,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// There is no such program.
    #[error("there is no program `{0}` on the search path")]
    Missing(&'static str),
    /// The program stands where the work to be done may have put it.
    #[error("the program `{0}` lies inside the workspace")]
    Untrusted(&'static str),
    /// An argument or variable contains NUL.
    #[error("an argument or a variable contains NUL")]
    Nul,
    /// The session is closing.
    #[error("the session is closed")]
    Closed,
    /// The operating system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
}

fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> StartError {
    move |source| StartError::System {
        what,
        source: source.into(),
    }
}

/// Tells the thread of a command to end it.
#[derive(Debug)]
pub(super) struct Control {
    stopped: AtomicBool,
    wake: OwnedFd,
}

impl Control {
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        // Fails only when a wake-up is already there.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// A command that runs. Dropping it ends the command and everything it started.
pub(crate) struct Running<R> {
    control: Arc<Control>,
    outcome: oneshot::Receiver<Result<Outcome<R>, StartError>>,
    settled: bool,
}

impl<R> Running<R> {
    /// Asks the command to end; its outcome comes when it has.
    pub(crate) fn stop(&self) {
        self.control.stop();
    }

    /// Waits until the command has ended. May be dropped and called again.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) async fn outcome(&mut self) -> Result<Outcome<R>, StartError> {
        let outcome = (&mut self.outcome).await;
        self.settled = true;
        outcome.unwrap_or_else(|_| {
            Err(StartError::System {
                what: "the watching thread failed",
                source: std::io::ErrorKind::Other.into(),
            })
        })
    }
}

impl<R> Drop for Running<R> {
    fn drop(&mut self) {
        // What a command left running after it ended by itself lives until the session closes.
        if !self.settled {
            self.control.stop();
        }
    }
}

/// Starts a command on a thread of its own; `receiver` takes its output there.
///
/// # Errors
/// There is no thread to be had, or the session is closed. Other failures to start are its outcome.
pub(crate) fn start<R: Receive>(
    command: Command,
    receiver: R,
    ledger: &Ledger,
) -> Result<Running<R>, StartError> {
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(system("no event could be made"))?;
    let control = Arc::new(Control {
        stopped: AtomicBool::new(false),
        wake,
    });
    let entry = ledger.enter(&control).ok_or(StartError::Closed)?;
    let (sender, outcome) = oneshot::channel();
    let watched = Arc::clone(&control);
    std::thread::Builder::new()
        .name("a3s-command".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || watch(&command, receiver, watched, entry, sender))
        .map_err(system("no thread could be started"))?;
    Ok(Running {
        control,
        outcome,
        settled: false,
    })
}

fn watch<R: Receive>(
    command: &Command,
    receiver: R,
    control: Arc<Control>,
    entry: Entry,
    sender: oneshot::Sender<Result<Outcome<R>, StartError>>,
) {
    let begun = Instant::now();
    let mut watched = match Watched::launch(command, control) {
        Ok(watched) => watched,
        Err(error) => {
            drop(entry);
            let _ = sender.send(Err(error));
            return;
        }
    };
    let mut receiver = receiver;
    let limit = begun.checked_add(command.time_limit);
    let (end, survivors) = watched.attend(&mut receiver, limit);
    receiver.finish();
    let outcome = Outcome {
        end,
        received: receiver,
        duration: begun.elapsed(),
        pipe_held: watched.pipes.iter().any(|pipe| pipe.is_open()),
        survivors,
        reach: watched.tree.reach(),
    };
    let left_over = survivors > 0 || outcome.pipe_held;
    if !left_over {
        watched.reap();
        // Before the outcome: whoever has it finds the ledger without this command.
        drop(entry);
        let _ = sender.send(Ok(outcome));
        return;
    }
    let stopped = matches!(outcome.end, End::TimedOut | End::Stopped);
    if sender.send(Ok(outcome)).is_err() {
        watched.control.stop();
    }
    if !stopped {
        watched.linger();
    }
    watched.reap();
    drop(entry);
}

/// One stream's reading end, until it has ended.
struct Pipe {
    end: Option<OwnedFd>,
    stream: Stream,
    inode: u64,
}

impl Pipe {
    fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Reads once; true when there was something.
    fn read(&mut self, buffer: &mut [u8], take: &mut dyn FnMut(Stream, &[u8])) -> bool {
        let Some(end) = &self.end else {
            return false;
        };
        match rustix::io::read(end, &mut *buffer) {
            Ok(0) => self.end = None,
            Ok(count) => {
                take(self.stream, &buffer[..count]);
                return true;
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.end = None,
        }
        false
    }
}

/// A command's processes and pipes, owned by its thread.
struct Watched {
    tree: Tree,
    leader: OwnedFd,
    leader_ended: bool,
    pipes: [Pipe; 2],
    control: Arc<Control>,
    buffer: Vec<u8>,
}

impl Watched {
    fn launch(command: &Command, control: Arc<Control>) -> Result<Self, StartError> {
        let program = command
            .environment
            .find_program(command.program)
            .ok_or(StartError::Missing(command.program))?;
        if let Some(folder) = &command.untrusted
            && lies_inside(&program, folder)
        {
            return Err(StartError::Untrusted(command.program));
        }
        let marker = uuid::Uuid::new_v4().simple().to_string();
        let mut environment = command.environment.clone();
        environment.set(MARKER, &marker);
        let environment = environment.entries().ok_or(StartError::Nul)?;
        let arguments = std::iter::once(command.program.as_bytes().to_vec())
            .chain(command.arguments.iter().cloned())
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| StartError::Nul)?;
        let program = CString::new(program).map_err(|_| StartError::Nul)?;
        let directory = openat(
            CWD,
            OsStr::from_bytes(&command.directory),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(system("the workspace could not be opened"))?;
        let (output, output_end) = pipe(Stream::Output)?;
        let (error, error_end) = pipe(Stream::Error)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let nothing = openat(CWD, "/dev/null", flags, Mode::empty())
            .map_err(system("`/dev/null` could not be opened"))?;
        let standard = [above_standard(nothing)?, output_end, error_end];
        let pid = spawn(&Launch {
            program: &program,
            arguments: &arguments,
            environment: &environment,
            directory: directory.as_fd(),
            standard: [
                standard[0].as_fd(),
                standard[1].as_fd(),
                standard[2].as_fd(),
            ],
        })
        .map_err(system("the program could not be started"))?;
        drop(standard);
        let leader = Pid::from_raw(pid).ok_or(StartError::Closed)?;
        let tree = Tree::new(leader, &marker);
        let handle = match pidfd_open(leader, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(error) => {
                // Without a handle it cannot be watched; it is our child and not waited for, so the number is its.
                tree.signal_group(Signal::KILL);
                let _ = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED);
                return Err(system("no handle on the process could be had")(error));
            }
        };
        Ok(Self {
            tree,
            leader: handle,
            leader_ended: false,
            pipes: [output, error],
            control,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Watches the command until it has ended or has been ended; how, and what of it is left.
    fn attend<R: Receive>(&mut self, receiver: &mut R, limit: Option<Instant>) -> (End, usize) {
        let mut wanted = true;
        let mut drained_by = None;
        loop {
            let now = Instant::now();
            let tick = receiver.tick(now);
            if drained_by.is_none() && self.leader_ended {
                drained_by = Some(limit.map_or(now + PIPE_GRACE, |at| at.min(now + PIPE_GRACE)));
            }
            if self.control.is_stopped() || !wanted {
                return (End::Stopped, self.end(receiver));
            }
            match drained_by {
                Some(by) if now >= by || !self.pipes.iter().any(Pipe::is_open) => break,
                None if limit.is_some_and(|limit| now >= limit) => {
                    return (End::TimedOut, self.end(receiver));
                }
                Some(_) | None => {}
            }
            let until = [tick, drained_by.or(limit)].into_iter().flatten().min();
            self.wait(until, &mut |stream, bytes| {
                wanted &= receiver.receive(stream, bytes);
            });
        }
        self.read_rest(&mut |stream, bytes| {
            receiver.receive(stream, bytes);
        });
        let alone = !self.pipes.iter().any(Pipe::is_open) && self.tree.surely_alone();
        let survivors = if alone { 0 } else { self.living().len() };
        (self.how_it_ended(), survivors)
    }

    /// Waits once for output, the leader's end, a wake-up or the time, and takes what is there.
    fn wait(&mut self, until: Option<Instant>, take: &mut dyn FnMut(Stream, &[u8])) {
        let ready = {
            let mut watched: Vec<BorrowedFd<'_>> = vec![self.control.wake.as_fd()];
            if !self.leader_ended {
                watched.push(self.leader.as_fd());
            }
            watched.extend(
                self.pipes
                    .iter()
                    .filter_map(|pipe| pipe.end.as_ref())
                    .map(AsFd::as_fd),
            );
            wait_for(&watched, until)
        };
        if !ready {
            return;
        }
        for pipe in &mut self.pipes {
            pipe.read(&mut self.buffer, take);
        }
        let mut count = [0_u8; 8];
        let _ = rustix::io::read(&self.control.wake, &mut count);
        self.look_at_leader();
    }

    fn look_at_leader(&mut self) {
        if self.leader_ended {
            return;
        }
        match self.peek() {
            Ok(None) | Err(Errno::INTR) => {}
            Ok(Some(_)) => self.leader_ended = true,
            Err(_) => {
                self.leader_ended = true;
                self.tree.lose_leader();
            }
        }
    }

    /// How the leader ended, without taking the status away.
    fn peek(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::PidFd(self.leader.as_fd()), options)
    }

    fn how_it_ended(&self) -> End {
        match self.peek() {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => End::Exited(code),
                (None, Some(signal)) => End::Killed(signal),
                (None, None) => End::Unknown,
            },
            _ => End::Unknown,
        }
    }

    fn living(&mut self) -> Vec<tree::Identity> {
        let pipes: Vec<u64> = self
            .pipes
            .iter()
            .filter(|pipe| pipe.is_open())
            .map(|pipe| pipe.inode)
            .collect();
        self.tree.living(&pipes)
    }

    /// Ends the command and everything it started: asks, waits, kills. How many could not be ended.
    fn end<R: Receive>(&mut self, receiver: &mut R) -> usize {
        let mut take = |stream, bytes: &[u8]| {
            receiver.receive(stream, bytes);
        };
        let left = self.end_with(&mut take);
        self.read_rest(&mut take);
        left
    }

    /// Takes what stands in the pipes.
    fn read_rest(&mut self, take: &mut dyn FnMut(Stream, &[u8])) {
        for pipe in &mut self.pipes {
            for _ in 0..LAST_READS {
                if !pipe.read(&mut self.buffer, take) {
                    break;
                }
            }
        }
    }

    fn end_with(&mut self, take: &mut dyn FnMut(Stream, &[u8])) -> usize {
        let asked = Instant::now();
        let living = self.living();
        self.tree.signal_group(Signal::TERM);
        Tree::signal(&living, Signal::TERM);
        // What is stopped must go on to notice.
        self.tree.signal_group(Signal::CONT);
        Tree::signal(&living, Signal::CONT);
        loop {
            // Looked for before the wait is over: who is known now is found when its parent is gone.
            let mut living = self.living();
            if living.is_empty() && self.leader_ended {
                return 0;
            }
            let passed = asked.elapsed();
            if passed >= TERM_GRACE {
                self.tree.signal_group(Signal::KILL);
                Tree::signal(&living, Signal::KILL);
                if passed >= TERM_GRACE + KILL_LIMIT {
                    living = self.living();
                    return living.len() + usize::from(!self.leader_ended);
                }
            }
            let pause = Instant::now() + LOOK_PAUSE;
            while Instant::now() < pause {
                let before = self.leader_ended;
                self.wait(Some(pause), take);
                if self.leader_ended && !before {
                    break;
                }
            }
        }
    }

    fn handles(&mut self) -> Vec<OwnedFd> {
        self.living().into_iter().filter_map(tree::handle).collect()
    }

    /// Stays with what a command left running: until it has ended, or until it is to be ended.
    fn linger(&mut self) {
        let mut handles: Vec<OwnedFd> = self.handles();
        while !self.control.is_stopped() {
            let before = handles.len();
            handles.retain(|handle| !wait_for(&[handle.as_fd()], Some(Instant::now())));
            if handles.is_empty() && before > 0 {
                // What they had started meanwhile.
                handles = self.handles();
            }
            if handles.is_empty() && !self.pipes.iter().any(Pipe::is_open) {
                return;
            }
            let mut watched: Vec<BorrowedFd<'_>> = vec![self.control.wake.as_fd()];
            watched.extend(handles.iter().map(AsFd::as_fd));
            watched.extend(
                self.pipes
                    .iter()
                    .filter_map(|pipe| pipe.end.as_ref())
                    .map(AsFd::as_fd),
            );
            wait_for(&watched, None);
            for pipe in &mut self.pipes {
                pipe.read(&mut self.buffer, &mut |_, _| {});
            }
        }
        self.end_with(&mut |_, _| {});
    }

    /// Waits for the leader, so that nothing of it is left in the table of processes.
    fn reap(&mut self) {
        loop {
            match waitid(WaitId::PidFd(self.leader.as_fd()), WaitIdOptions::EXITED) {
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

/// A pipe whose reading end never waits, and its writing end.
fn pipe(stream: Stream) -> Result<(Pipe, OwnedFd), StartError> {
    let failed = "a pipe could not be made";
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).map_err(system(failed))?;
    rustix::fs::fcntl_setfl(&reading, OFlags::NONBLOCK).map_err(system(failed))?;
    let inode = fstat(&reading).map_err(system(failed))?.st_ino;
    let pipe = Pipe {
        end: Some(reading),
        stream,
        inode,
    };
    Ok((pipe, above_standard(writing)?))
}

/// The same with a number above those of the standard streams, which the host may have closed.
fn above_standard(handle: OwnedFd) -> Result<OwnedFd, StartError> {
    use std::os::fd::AsRawFd;
    if handle.as_raw_fd() > 2 {
        return Ok(handle);
    }
    fcntl_dupfd_cloexec(&handle, 3).map_err(system("a handle could not be copied"))
}

/// Waits until one of these is ready or the time has come; true when one is ready.
fn wait_for(watched: &[BorrowedFd<'_>], until: Option<Instant>) -> bool {
    let mut polled: Vec<PollFd<'_>> = watched
        .iter()
        .map(|handle| PollFd::from_borrowed_fd(*handle, PollFlags::IN))
        .collect();
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    });
    matches!(poll(&mut polled, timeout.as_ref()), Ok(ready) if ready > 0)
}

/// Whether a program of the host lies in a folder, links followed; also when that cannot be told.
fn lies_inside(program: &[u8], folder: &[u8]) -> bool {
    match (real_path(program), real_path(folder)) {
        (Some(program), Some(folder)) => {
            Path::new(OsStr::from_bytes(&program)).starts_with(OsStr::from_bytes(&folder))
        }
        _ => true,
    }
}

/// What the operating system calls a file or folder, links followed.
pub(crate) fn real_path(path: &[u8]) -> Option<Vec<u8>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = openat(CWD, OsStr::from_bytes(path), flags, Mode::empty()).ok()?;
    let own = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let real = readlinkat(CWD, own, Vec::new()).ok()?;
    Some(real.into_bytes())
}
