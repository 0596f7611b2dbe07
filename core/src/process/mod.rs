//! Programs of this machine: started clean, watched by one thread each, and ended with everything they started.
//!
//! A command has its own session and group, no terminal, nothing on its input, default signals, an environment made
//! from an allow-list, and no descriptor of the host (crate `a3s-code-spawn`). One thread (module `run`) reads its
//! output as it comes, obeys its time limit, and ends it when it is stopped; the thread ends when the last process
//! of the command has ended. The session's [`Ledger`] knows every command that is alive, what a command left
//! running included, and ends them all when the session closes.
//!
//! Invariants: a process is signalled only through a handle on it or while its group's number cannot be another's,
//! because its leader is not waited for until everything it started has ended; whatever happens to the
//! future of a command, dropping it ends the command. What cleaned its environment, left the session, lost its
//! parent and closed its output before anybody looked cannot be found; nothing here claims otherwise.
//!
//! The room knows no tool and keeps nothing of the process it runs in: no signal handler, no subreaper.

mod capture;
mod environment;
mod ledger;
mod run;
mod spool;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use capture::{Captured, HeadTail, Receive, Rooms, Stream, end_line};
pub(crate) use environment::{Environment, check_name};
pub(crate) use ledger::Ledger;
pub(crate) use run::{Command, End, Outcome, StartError, real_path, start};
