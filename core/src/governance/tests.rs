//! Tests of the room, one file a subject.

mod command_tests;
mod deny_tests;
mod gates_tests;
mod permission_tests;
mod security_tests;
