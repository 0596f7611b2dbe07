//! The kernel, driven from inside: every stage over every origin, and what nested calls may and may not do.

mod batch;
mod links;
mod nested;
mod one_door;
mod origins;
mod parity;
mod registration;
mod support;
