//! The end of the program: completes the file.
//!
//! # Invariants
//! - `exit` completes the file in the thread that exits, by an exit handler.
//! - `_exit` may be called in a signal handler, where nothing may be locked or allocated. A thread of this
//!   library, the flusher, completes the file then, and the exiting thread waits for a bounded time.
#![allow(unsafe_code, reason = "the C library's functions for signals")]

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use prlx_trace::Writer;

use crate::log;
use crate::panic_guard::guard;
use crate::recording::contexts::finish_contexts;
use crate::recording::lock::lock;
use crate::recording::session::SESSION;

/// Maximum time that `_exit` waits for the flusher. A signal handler may have interrupted a thread that holds
/// a lock, so the flusher may never be done.
const MAX_FLUSH_WAIT: Duration = Duration::from_secs(3);

/// Completes the file.
fn complete() {
    finish_contexts(|_| true);
    let Some(Some(session)) = SESSION.get() else { return };
    log::debug(&format!("{} launches", session.launches.load(Ordering::Relaxed)));
    let written = lock(&session.file).take().map(Writer::finish).transpose();
    if let Err(e) = written {
        log::warn_once(&format!("the recording: {e}"));
    }
}

/// Exit handler: completes the file when the program ends by `exit`.
pub(super) extern "C" fn at_exit() {
    guard(|| {
        complete();
        Some(())
    });
}

/// The flusher's thread, and how far it is.
pub(super) struct Flusher {
    /// The process that has the thread. A forked child does not have it.
    pid: u32,
    thread: Thread,
    requested: AtomicBool,
    done: AtomicBool,
}

static FLUSHER: OnceLock<Flusher> = OnceLock::new();

/// Blocks all signals in this thread, so that the program's signal handlers do not run in it.
pub(super) fn block_signals() {
    // SAFETY: `sigset_t` is plain data for which zeros are valid; `sigfillset` then fills it. Both calls use
    // it only until they return. The mask is this thread's own.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
    }
}

impl Flusher {
    /// Starts the flusher. Without it, `_exit` leaves an incomplete but readable file.
    pub(super) fn start() {
        let run = || {
            block_signals();
            let flusher = loop {
                std::thread::park();
                if let Some(flusher) = FLUSHER.get().filter(|f| f.requested.load(Ordering::Acquire)) {
                    break flusher;
                }
            };
            guard(|| {
                complete();
                Some(())
            });
            flusher.done.store(true, Ordering::Release);
        };
        if let Ok(thread) = std::thread::Builder::new().name("prlx-end".into()).spawn(run) {
            let _ = FLUSHER.set(Flusher {
                pid: std::process::id(),
                thread: thread.thread().clone(),
                requested: AtomicBool::new(false),
                done: AtomicBool::new(false),
            });
        }
    }
}

/// Completes the file before an exit that runs no exit handlers. May be called anywhere: in a signal handler,
/// and in a child that shares the program's memory (`vfork`).
pub fn flush_at_exit() {
    let Some(flusher) = FLUSHER.get().filter(|f| f.pid == std::process::id()) else { return };
    let start = Instant::now();
    flusher.requested.store(true, Ordering::Release);
    flusher.thread.unpark();
    while !flusher.done.load(Ordering::Acquire) && start.elapsed() < MAX_FLUSH_WAIT {
        std::thread::sleep(Duration::from_micros(200));
    }
}
