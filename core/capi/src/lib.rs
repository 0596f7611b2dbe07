//! The C ABI: `extern "C"` functions over the bridge, and nothing else.
//!
//! This crate translates: pointers to slices, results to status codes, owned bytes to [`a3s_buf`]. What a
//! call means is the bridge's business. Unsafe code of the project's C boundary lives here only, each block
//! with its reason. Every entry point writes its out parameters first, then runs guarded, so that a panic
//! leaves defined values behind and never crosses into C.
//!
//! The documentation of public items is written for readers of the generated header; what they state about
//! pointers is the safety contract of the function.
#![allow(non_camel_case_types, reason = "the names are those of the C header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the rules of the header's preamble are the contract of every function"
)]

mod call;
mod debug;
mod entry;
mod host;
mod mailbox;
mod memory;
mod runtime;
mod types;

pub use call::{a3s_call, a3s_cancel, a3s_release};
pub use debug::{a3s_abi_version, a3s_build_info, a3s_debug_counts};
pub use host::{a3s_host_progress, a3s_host_reply};
pub use mailbox::{a3s_mailbox_close, a3s_mailbox_next, a3s_mailbox_open};
pub use memory::a3s_buf_free;
pub use runtime::{a3s_runtime_close, a3s_runtime_open};
pub use types::{
    A3S_ABI_VERSION, a3s_buf, a3s_bytes, a3s_handle, a3s_message, a3s_message_kind, a3s_notify,
    a3s_status,
};
