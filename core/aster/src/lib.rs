//! The engine of A3S Code under its second name: re-exports, nothing else.
#![forbid(unsafe_code)]

pub use a3s_code_core::*;
