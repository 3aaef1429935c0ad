//! The end of the program: completes the file.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use prlx_trace::Writer;

use crate::log;
use crate::panic_guard::guard;
use crate::recording::contexts::bring_in;
use crate::recording::lock::lock;
use crate::recording::session::SESSION;

/// The longest that it waits where a handler of signals may be what ends it, which may have stopped anything.
const LEAVE: Duration = Duration::from_secs(3);

/// The program's end, by `exit`: the file is whole.
fn end() {
    bring_in(|_| true);
    let Some(Some(session)) = SESSION.get() else { return };
    log::debug(&format!("{} launches", session.launches.load(Ordering::Relaxed)));
    let ended = lock(&session.file).take().map(Writer::finish).transpose();
    if let Err(e) = ended {
        log::warn_once(&format!("the recording: {e}"));
    }
}

pub(super) extern "C" fn at_exit() {
    guard(|| {
        end();
        Some(())
    });
}

/// The thread that ends the recording where the program leaves by `_exit`: that may be from a handler of
/// signals, in which nothing may be locked or allocated.
pub(super) struct Ender {
    pid: u32,
    thread: Thread,
    asked: AtomicBool,
    done: AtomicBool,
}

/// The program's handlers are not for this thread, which is ours.
pub(super) fn no_signals() {
    // SAFETY: a set of all signals, for this thread.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
    }
}

static ENDER: OnceLock<Ender> = OnceLock::new();

impl Ender {
    pub(super) fn start() {
        let run = || {
            no_signals();
            let ender = loop {
                std::thread::park();
                if let Some(ender) = ENDER.get().filter(|e| e.asked.load(Ordering::Acquire)) {
                    break ender;
                }
            };
            guard(|| {
                end();
                Some(())
            });
            ender.done.store(true, Ordering::Release);
        };
        if let Ok(thread) = std::thread::Builder::new().name("prlx-end".into()).spawn(run) {
            let (asked, done) = (AtomicBool::new(false), AtomicBool::new(false));
            let _ =
                ENDER.set(Ender { pid: std::process::id(), thread: thread.thread().clone(), asked, done });
        }
    }
}

/// The program leaves, and nothing that it has registered is done. May be called anywhere, of a child that
/// shares the program's memory too.
pub fn leave() {
    let Some(ender) = ENDER.get().filter(|e| e.pid == std::process::id()) else { return };
    let start = Instant::now();
    ender.asked.store(true, Ordering::Release);
    ender.thread.unpark();
    while !ender.done.load(Ordering::Acquire) && start.elapsed() < LEAVE {
        std::thread::sleep(Duration::from_micros(200));
    }
}
