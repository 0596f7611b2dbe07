//! The threads that the engine runs on: ours, named, started at the first call that needs them.

use a3s_code_contract::{ErrorCode, ErrorPayload};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime as Tokio};

/// Stack of a worker: room for deep state machines, whatever the host's default is.
const STACK_BYTES: usize = 4 * 1024 * 1024;
/// Idle blocking threads end soon, so that a quiet process has few.
const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Most blocking threads: file work waits in line beyond them.
const MAX_BLOCKING: usize = 32;

/// Options of a runtime.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct RuntimeOptions {
    /// Worker threads, 1 to 64; the smaller of 4 and the processors when left out.
    pub(crate) threads: Option<u32>,
    /// Adds what tests and benchmarks need.
    pub(crate) debug: bool,
}

/// A runtime of the application.
pub(crate) struct Runtime {
    options: RuntimeOptions,
    tokio: Mutex<Threads>,
}

enum Threads {
    NotStarted,
    Running(Tokio),
    Closed,
}

impl Runtime {
    pub(crate) fn open(options: RuntimeOptions) -> Result<Self, ErrorPayload> {
        if options.threads.is_some_and(|n| !(1..=64).contains(&n)) {
            return Err(ErrorPayload::new(
                ErrorCode::InvalidArgument,
                "argument `threads`: must be within 1 to 64",
            ));
        }
        Ok(Self {
            options,
            tokio: Mutex::new(Threads::NotStarted),
        })
    }

    pub(crate) fn debug(&self) -> bool {
        self.options.debug
    }

    /// The threads, started when they are not yet.
    pub(crate) fn handle(&self) -> Result<Handle, ErrorPayload> {
        let mut threads = self.tokio.lock().unwrap_or_else(PoisonError::into_inner);
        match &*threads {
            Threads::Running(tokio) => Ok(tokio.handle().clone()),
            Threads::Closed => Err(ErrorPayload::new(
                ErrorCode::HandleClosed,
                "the runtime is closed",
            )),
            Threads::NotStarted => {
                let workers = self.options.threads.map_or_else(
                    || {
                        std::thread::available_parallelism()
                            .map_or(1, usize::from)
                            .min(4)
                    },
                    |n| n as usize,
                );
                let tokio = Builder::new_multi_thread()
                    .worker_threads(workers)
                    .max_blocking_threads(MAX_BLOCKING)
                    .thread_keep_alive(BLOCKING_KEEP_ALIVE)
                    .thread_name("a3s-code")
                    .thread_stack_size(STACK_BYTES)
                    .enable_time()
                    .enable_io()
                    .build()
                    .map_err(|error| {
                        ErrorPayload::new(
                            ErrorCode::Io,
                            format!("the runtime's threads could not be started: {error}"),
                        )
                    })?;
                let handle = tokio.handle().clone();
                *threads = Threads::Running(tokio);
                Ok(handle)
            }
        }
    }

    /// Ends the threads within `deadline`; must not be called on one of them.
    pub(crate) fn close(&self, deadline: Duration) {
        if let Some(tokio) = self.take() {
            tokio.shutdown_timeout(deadline);
        }
    }

    fn take(&self) -> Option<Tokio> {
        let mut threads = self.tokio.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *threads, Threads::Closed) {
            Threads::Running(tokio) => Some(tokio),
            Threads::NotStarted | Threads::Closed => None,
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(tokio) = self.take() {
            tokio.shutdown_background();
        }
    }
}
