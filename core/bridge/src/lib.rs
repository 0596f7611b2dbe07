//! One narrow waist between the engine and every language.
//!
//! Node and Python use this crate directly, C and Go through `a3s-code-capi`. There is one generic [`call`];
//! what cannot be answered at once becomes an operation whose one terminal message arrives in the caller's
//! mailbox. Threads of this crate never run code of the application: tools of the application are messages in
//! a mailbox too, which the application drains from a thread or loop of its own.
//!
//! Invariants: handles, operation and host-call ids are integers below 2^53 that are never used again in the
//! process; every operation has exactly one terminal message, also when it is cancelled; every entry catches
//! panics; no entry blocks except [`mailbox_next`]; after a fork old handles answer `FORK_DETECTED`.
#![forbid(unsafe_code)]

mod debug;
mod direct;
mod dispatch;
mod entry;
mod guard;
mod handle;
mod host;
mod integers;
mod mailbox;
mod message;
mod operation;
mod refusal;
mod runtime;
mod state;

pub use a3s_code_contract as contract;
pub use a3s_code_contract::{ABI_VERSION, ErrorCode, ErrorPayload};
pub use entry::{
    build_info, call, cancel, debug_counts, host_progress, host_reply, mailbox_close, mailbox_next,
    mailbox_open, release, runtime_close, runtime_open,
};
pub use guard::guard;
pub use mailbox::Notify;
pub use message::{CallOutcome, Message, MessageKind, Next, ReplyStatus};
pub use state::Counts;
