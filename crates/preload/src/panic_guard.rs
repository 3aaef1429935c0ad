//! Entry guard. Every hook runs its own code through [`guard`], so that a panic or a nested call never
//! reaches the program.
//!
//! # Invariants
//! - Without a session in the environment, nothing happens.
//! - A panic is caught and reported, and disables the library for the rest of the process.
//! - Driver calls that the driver or this library makes while a hook runs are not handled as the program's.
//! - In a child that was forked after the first call, the library is disabled: the driver does not work
//!   there, and another thread may have held a lock that is never released.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::log;
use crate::session_options::options;

/// Set once an internal failure or a fork has disabled the library for this process.
static DISABLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Set while this thread runs a hook's own code.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a hook's own code. Its driver calls then belong to this library.
pub fn inside() -> bool {
    // A thread that is ending has no thread-local variables any more: leave its calls alone.
    INSIDE.try_with(Cell::get).unwrap_or(true)
}

/// Runs `work`. Returns `None` without running it if the library is disabled, inactive or already inside a
/// hook, and after a panic.
pub fn guard<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    static START: Once = Once::new();
    if DISABLED.load(Ordering::Relaxed) || INSIDE.try_with(|i| i.replace(true)).unwrap_or(true) {
        return None;
    }
    let done = catch_unwind(AssertUnwindSafe(|| {
        START.call_once(start);
        options()?;
        work()
    }));
    let _ = INSIDE.try_with(|i| i.set(false));
    done.unwrap_or_else(|_| {
        DISABLED.store(true, Ordering::Relaxed);
        None
    })
}

/// Installs the panic message and the handler that disables the library in forked children.
fn start() {
    set_hook(Box::new(|panic| {
        log::warn_once(&format!(
            "internal error of prlx; recording stops and the program continues without it: {panic}"
        ))
    }));
    extern "C" fn in_child() {
        DISABLED.store(true, Ordering::Relaxed);
    }
    #[expect(unsafe_code, reason = "the C library's function")]
    // SAFETY: `in_child` has the C type that pthread_atfork takes. It only stores to an atomic, which is
    // allowed in a child of a process with several threads.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    }
}
