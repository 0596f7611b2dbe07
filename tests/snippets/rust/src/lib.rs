//! The snippets are in `tests/`; this library is empty.
