//! Finding and signalling everything that a command started.
//!
//! A process belongs to a command when it is in the session or group of its leader, descends from one that belongs,
//! carries the command's marker in the environment it started with, or holds the writing end of one of
//! its pipes. What was found once is remembered by number and start time, so that its children are found
//! after their parents are gone. Processes older than the leader, and children of this process, never belong.
//!
//! The leader is not waited for while this is used: its number, and so that of its group and session, stays taken.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Name of the variable by which the processes of a command are found.
pub(super) const MARKER: &str = "A3S_COMMAND_ID";
/// Most process numbers that are tried one by one in the place of a look at all processes.
const MOST_TRIED: i32 = 256;
/// Most bytes of an environment that are looked at.
const MOST_ENVIRONMENT: usize = 1024 * 1024;

/// Most looks at all processes until one finds none and nothing was started meanwhile.
const MOST_LOOKS: usize = 16;
/// Most processes that are being started at one moment, on a machine of any size that matters.
const UNBORN: i32 = 64;
/// How often a process between two programs is looked at, and how long between.
const EXEC_LOOKS: usize = 200;
const EXEC_PAUSE: Duration = Duration::from_millis(1);
/// Flag of a thread of the system itself.
const SYSTEM_THREAD: u64 = 0x0020_0000;

/// A process that cannot be confused with a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pid: i32,
    started: u64,
}

/// What `/proc/<pid>/stat` says.
#[derive(Clone, Copy, Debug)]
struct Status {
    identity: Identity,
    ended: bool,
    /// It has no environment and never will; false while its next program has none yet, and when that cannot be told.
    bare: bool,
    parent: i32,
    group: i32,
    session: i32,
}

/// A command's leader and how its descendants are told from other processes.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Pid,
    /// When the leader started; none when the system tells nothing about processes.
    started: Option<u64>,
    marker: Vec<u8>,
    known: HashSet<Identity>,
    /// Somebody else waited for the leader: its number may be another's.
    lost: bool,
}

impl Tree {
    pub(super) fn new(leader: Pid, marker: &str) -> Self {
        let status = status(leader.as_raw_nonzero().get());
        Self {
            leader,
            started: status.map(|status| status.identity.started),
            marker: format!("{MARKER}={marker}").into_bytes(),
            known: HashSet::new(),
            lost: false,
        }
    }

    /// The leader's number can no longer be relied upon.
    pub(super) fn lose_leader(&mut self) {
        self.lost = true;
    }

    /// How far ending the command reaches: `descendants`, or only its `group`.
    pub(super) fn reach(&self) -> &'static str {
        match self.started {
            Some(_) => "descendants",
            None => "group",
        }
    }

    /// True when no process that was started since the leader belongs: a cheap answer for most commands.
    pub(super) fn surely_alone(&self) -> bool {
        self.started.is_some() && self.none_after(self.leader.as_raw_nonzero().get(), &[])
    }

    /// Whether no process with a number above this one belongs, those included that are started during the look.
    /// False also when that cannot be told.
    fn none_after(&self, number: i32, pipes: &[u64]) -> bool {
        let mut from = number;
        loop {
            let Some(last) = last_started() else {
                return false;
            };
            if last == from {
                return true;
            }
            if last < from || last - number > MOST_TRIED {
                return false;
            }
            // From the lowest up: who is seen ended has started all it ever will, with higher numbers.
            let mut all = (from + 1..=last).filter_map(status);
            let young = |status: &Status| self.started <= Some(status.identity.started);
            if all.any(|status| young(&status) && self.belongs(&status, pipes)) {
                return false;
            }
            from = last;
        }
    }

    /// The processes of the command beside its leader that have not ended. `pipes` are those that may still be held.
    pub(super) fn living(&mut self, pipes: &[u64]) -> Vec<Identity> {
        // One that starts another and ends during a look is seen ended, and the other is not seen at all: that
        // there is none is believed only when none was started meanwhile.
        let leader = self.leader.as_raw_nonzero().get();
        for _ in 0..MOST_LOOKS {
            let before = last_started();
            let living = self.look(pipes);
            // A number that was given away may still have been without a process.
            let from = before.map(|before| before.saturating_sub(UNBORN).max(leader));
            if !living.is_empty() || from.is_none_or(|from| self.none_after(from, pipes)) {
                return living;
            }
        }
        Vec::new()
    }

    fn look(&mut self, pipes: &[u64]) -> Vec<Identity> {
        let Some(started) = self.started else {
            return Vec::new();
        };
        let leader = self.leader.as_raw_nonzero().get();
        let all: Vec<Status> = pids()
            .into_iter()
            .filter(|pid| *pid != leader)
            .filter_map(status)
            .filter(|status| !status.ended && status.identity.started >= started)
            .collect();
        let mut members: HashMap<i32, Identity> = HashMap::new();
        let mut others = Vec::new();
        for status in all {
            if self.belongs(&status, pipes) {
                members.insert(status.identity.pid, status.identity);
            } else {
                others.push(status);
            }
        }
        // Children of members, children of theirs, and so on.
        loop {
            let before = members.len();
            others.retain(|status| {
                let child =
                    (status.parent == leader && !self.lost) || members.contains_key(&status.parent);
                if child {
                    members.insert(status.identity.pid, status.identity);
                }
                !child
            });
            if members.len() == before {
                break;
            }
        }
        let living: Vec<Identity> = members.into_values().collect();
        self.known = living.iter().copied().collect();
        living
    }

    fn belongs(&self, status: &Status, pipes: &[u64]) -> bool {
        let leader = self.leader.as_raw_nonzero().get();
        let pid = status.identity.pid;
        let together = status.session == leader || status.group == leader;
        if (together && !self.lost) || self.known.contains(&status.identity) {
            return true;
        }
        // A child of the host that was forked at this moment holds what the host holds.
        let host = i32::try_from(std::process::id()).unwrap_or_default();
        if pid == host || status.parent == host {
            return false;
        }
        carries(pid, &self.marker) || (!pipes.is_empty() && writes_to(pid, pipes))
    }

    /// Signals the group of the leader.
    pub(super) fn signal_group(&self, signal: Signal) {
        if !self.lost {
            // The only failure is that nobody is left.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Signals these processes, each through a handle on it.
    pub(super) fn signal(living: &[Identity], signal: Signal) {
        for identity in living {
            if let Some(handle) = handle(*identity) {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
    }
}

/// A handle on a process; none when it has ended.
pub(super) fn handle(identity: Identity) -> Option<OwnedFd> {
    let handle = pidfd_open(Pid::from_raw(identity.pid)?, PidfdFlags::empty()).ok()?;
    // Looked at after the handle was taken: what has this start time now is what the handle is on.
    let now = status(identity.pid)?;
    (now.identity == identity && !now.ended).then_some(handle)
}

/// The processes of this machine that this one can see.
fn pids() -> Vec<i32> {
    let mut found = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, "/proc", flags, Mode::empty()) else {
        return found;
    };
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(&folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if let Ok(name) = entry.file_name().to_str()
            && let Ok(pid) = name.parse()
        {
            found.push(pid);
        }
    }
    found
}

/// Number of the process or thread that was started last.
fn last_started() -> Option<i32> {
    let line = read("/proc/loadavg", 256)?;
    let line = String::from_utf8(line).ok()?;
    line.split_whitespace().nth(4)?.parse().ok()
}

fn status(pid: i32) -> Option<Status> {
    let line = read(&format!("/proc/{pid}/stat"), 4096)?;
    parse(pid, &line)
}

fn parse(pid: i32, line: &[u8]) -> Option<Status> {
    // The name stands in parentheses and may contain any byte, a parenthesis too.
    let after = line.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&line[after..]).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
    let ended = matches!(fields.first(), Some(&("Z" | "X" | "x")));
    let flags: u64 = fields.get(6)?.parse().ok()?;
    // Where its environment begins and ends: both 0 between two programs.
    let (from, to) = (fields.get(47), fields.get(48));
    let empty = from == to && to != Some(&"0");
    Some(Status {
        identity: Identity {
            pid,
            started: fields.get(19)?.parse().ok()?,
        },
        ended,
        bare: empty || ended || flags & SYSTEM_THREAD != 0,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
    })
}

/// Whether a process started with this entry in its environment. One that changes from one program to the next has
/// none for a moment, and is looked at again until it has.
fn carries(pid: i32, marker: &[u8]) -> bool {
    for _ in 0..EXEC_LOOKS {
        let Some(environment) = read(&format!("/proc/{pid}/environ"), MOST_ENVIRONMENT) else {
            return false;
        };
        if !environment.is_empty() {
            return environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == marker);
        }
        if status(pid).is_none_or(|status| status.bare) {
            return false;
        }
        std::thread::sleep(EXEC_PAUSE);
    }
    false
}

/// Whether a process has one of these pipes open for writing.
fn writes_to(pid: i32, pipes: &[u64]) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, format!("/proc/{pid}/fd"), flags, Mode::empty()) else {
        return false;
    };
    let names: Vec<String> = pipes.iter().map(|pipe| format!("pipe:[{pipe}]")).collect();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let Ok(target) = readlinkat(folder.as_fd(), entry.file_name(), Vec::new()) else {
            continue;
        };
        if !names
            .iter()
            .any(|name| name.as_bytes() == target.as_bytes())
        {
            continue;
        }
        let number = entry.file_name().to_string_lossy();
        let facts = read(&format!("/proc/{pid}/fdinfo/{number}"), 4096).unwrap_or_default();
        if opened_for_writing(&String::from_utf8_lossy(&facts)) {
            return true;
        }
    }
    false
}

fn opened_for_writing(facts: &str) -> bool {
    facts
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & 0b11 != 0)
}

/// The first bytes of a file that the system makes up, at most this many.
fn read(path: &str, most: usize) -> Option<Vec<u8>> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = vec![0; most.min(4096)];
    let mut filled = 0;
    loop {
        match rustix::io::read(&file, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => continue,
            Err(_) => return None,
        }
        if filled == bytes.len() {
            if filled >= most {
                break;
            }
            bytes.resize(most.min(filled * 4), 0);
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"7 (a) b (c) S 3 7 5 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4242 9 9";
        let status = parse(7, line).unwrap();
        assert_eq!((status.parent, status.group, status.session), (3, 7, 5));
        assert_eq!((status.identity.started, status.ended), (4242, false));
        assert!(parse(7, b"7 (x) Z 3").is_none());
    }

    #[test]
    fn only_a_writing_end_holds_a_pipe() {
        assert!(opened_for_writing(
            "pos:\t0\nflags:\t0100001\nmnt_id:\t15\n"
        ));
        assert!(!opened_for_writing("pos:\t0\nflags:\t0100000\n"));
        assert!(!opened_for_writing(""));
    }
}
