//! The only way into our own code: it can fail, and the program does not notice.
//!
//! # Invariants
//! A process that was not asked to be recorded is left alone; a panic is caught, said, and turns everything
//! off; calls that the driver makes while we work on one of the program's are not taken for the program's; a
//! child that was forked after the first call here is left alone, for the driver does not work there, and a
//! lock may be held that nobody will release.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::log;
use crate::session_options::options;

/// Whether we do anything at all.
static OFF: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is in our code.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in our code: what it asks for is for us.
pub fn inside() -> bool {
    // When a thread ends its variables are gone.
    INSIDE.try_with(Cell::get).unwrap_or(true)
}

/// Does `work`; `None` if nothing is to be done here, or it failed.
pub fn guard<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    static START: Once = Once::new();
    if OFF.load(Ordering::Relaxed) || INSIDE.try_with(|i| i.replace(true)).unwrap_or(true) {
        return None;
    }
    let done = catch_unwind(AssertUnwindSafe(|| {
        START.call_once(start);
        options()?;
        work()
    }));
    let _ = INSIDE.try_with(|i| i.set(false));
    done.unwrap_or_else(|_| {
        OFF.store(true, Ordering::Relaxed);
        None
    })
}

fn start() {
    set_hook(Box::new(|panic| {
        log::warn_once(&format!("a fault of prlx; the program goes on without it: {panic}"))
    }));
    extern "C" fn forked() {
        OFF.store(true, Ordering::Relaxed);
    }
    #[expect(unsafe_code, reason = "the C library's call")]
    // SAFETY: the function only sets a flag.
    unsafe {
        libc::pthread_atfork(None, None, Some(forked));
    }
}
