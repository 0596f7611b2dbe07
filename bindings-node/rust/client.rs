//! What one Node environment holds: its mailbox and its share of the process's runtime.
//!
//! The runtime is opened by the first client and released with the last, so that worker threads share its
//! threads. A client is closed by the cleanup hook of its environment, before JavaScript is gone; the
//! thread-safe function is weak, so it never keeps the process alive.

use crate::message::{NativeMessage, fault};
use a3s_code_bridge as bridge;
use bridge::contract::ErrorPayload;
use napi::Env;
use napi::bindgen_prelude::{Either, Function};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Handles of a client.
#[napi(object, object_from_js = false)]
pub struct NativeClient {
    /// The runtime it shares.
    pub runtime: f64,
    /// Its own mailbox.
    pub mailbox: f64,
}

/// A runtime and how many environments use it.
#[derive(Clone, Copy, Default)]
struct Shared {
    runtime: u64,
    users: usize,
}

/// The two runtimes a process may have: the one for applications and the one with `debug`.
struct Runtimes {
    plain: Shared,
    debug: Shared,
}

impl Runtimes {
    fn slot(&mut self, debug: bool) -> &mut Shared {
        if debug {
            &mut self.debug
        } else {
            &mut self.plain
        }
    }
}

static RUNTIMES: Mutex<Runtimes> = Mutex::new(Runtimes {
    plain: Shared {
        runtime: 0,
        users: 0,
    },
    debug: Shared {
        runtime: 0,
        users: 0,
    },
});

fn runtimes() -> MutexGuard<'static, Runtimes> {
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the client of this environment. `notify` is called, without arguments and at most once between
/// drains, when the mailbox has messages. An error is a message with status 1.
#[napi(catch_unwind)]
pub fn open_client(
    env: Env,
    debug: bool,
    notify: Function<'_, (), ()>,
) -> Either<NativeClient, NativeMessage> {
    match open(env, debug, &notify) {
        Ok(client) => Either::A(client),
        Err(error) => Either::B(NativeMessage::failed(&error)),
    }
}

fn open(
    env: Env,
    debug: bool,
    notify: &Function<'_, (), ()>,
) -> Result<NativeClient, ErrorPayload> {
    let wake = notify
        .build_threadsafe_function::<()>()
        .weak::<true>()
        .max_queue_size::<0>()
        .build()
        .map_err(|error| fault(error.reason.clone()))?;
    let runtime = acquire(debug)?;
    let mailbox = bridge::mailbox_open(
        runtime,
        Some(Box::new(move || {
            // A refusal means that the environment is ending; its mailbox is about to be closed.
            let _ = wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        })),
    )
    .inspect_err(|_| give_back(debug))?;
    env.add_env_cleanup_hook((mailbox, debug), |(mailbox, debug)| close(mailbox, debug))
        .map_err(|error| {
            close(mailbox, debug);
            fault(error.reason.clone())
        })?;
    Ok(NativeClient {
        runtime: runtime as f64,
        mailbox: mailbox as f64,
    })
}

/// Objects that environments hold, by mailbox: a worker that is terminated runs no finalizers.
static HELD: Mutex<BTreeMap<u64, BTreeSet<u64>>> = Mutex::new(BTreeMap::new());

fn held() -> MutexGuard<'static, BTreeMap<u64, BTreeSet<u64>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The environment of `mailbox` holds `object` from now on.
pub(crate) fn hold(mailbox: u64, object: u64) {
    held().entry(mailbox).or_default().insert(object);
}

/// It no longer does, and the reference is dropped.
pub(crate) fn let_go(mailbox: u64, object: u64) {
    if let Some(objects) = held().get_mut(&mailbox) {
        objects.remove(&object);
    }
    bridge::release(object);
}

fn close(mailbox: u64, debug: bool) {
    bridge::mailbox_close(mailbox);
    let objects = held().remove(&mailbox).unwrap_or_default();
    // Sessions were opened after their agent.
    for object in objects.into_iter().rev() {
        bridge::release(object);
    }
    give_back(debug);
}

fn acquire(debug: bool) -> Result<u64, ErrorPayload> {
    let mut runtimes = runtimes();
    let shared = runtimes.slot(debug);
    if shared.users == 0 {
        let options: &[u8] = if debug { br#"{"debug":true}"# } else { b"" };
        shared.runtime = bridge::runtime_open(options)?;
    }
    shared.users += 1;
    Ok(shared.runtime)
}

fn give_back(debug: bool) {
    let mut runtimes = runtimes();
    let shared = runtimes.slot(debug);
    shared.users = shared.users.saturating_sub(1);
    if shared.users == 0 {
        bridge::release(std::mem::take(&mut shared.runtime));
    }
}
