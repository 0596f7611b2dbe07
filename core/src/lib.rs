//! A3S Code: an embeddable coding-agent runtime.
#![forbid(unsafe_code)]

pub mod evidence;
pub mod kernel;
pub mod search;
pub mod tools;
pub mod workspace;
