//! Runs library functions without the GIL: Ctrl-C cancels them, notes and progress go to a Python callback.
//!
//! The work runs on a thread of its own. The calling thread waits for it, calls the callback, and looks for
//! signals: Python runs signal handlers on its main thread alone.
//!
//! # Invariants
//! The first exception of the callback or of a signal handler cancels the work, and is what the call raises.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use prlx::{Event, Monitor};
use pyo3::prelude::*;

use crate::errors;

/// How often a call that waits looks for signals.
pub const SIGNALS: Duration = Duration::from_millis(20);

/// Stack of a thread that works for a call: that of the main thread on Linux.
const STACK: usize = 8 << 20;

/// An activity that runs: what it is, and how many of its steps are done.
struct Activity {
    what: String,
    steps: u64,
    done: u64,
}

impl Activity {
    /// Counts a step. Returns the text to show if the share in per cent changed.
    fn step(&mut self) -> Option<String> {
        let share = |done: u64| (done * 100).checked_div(self.steps);
        let before = share(self.done);
        self.done += 1;
        let now = share(self.done).filter(|now| Some(*now) != before)?;
        Some(format!("{} {now} %", self.what))
    }
}

/// A call of the progress callback: its kind and its text.
type Call = (&'static str, String);

/// Turns the events of the library into calls of the callback.
#[derive(Default)]
struct Progress {
    running: Mutex<HashMap<u64, Activity>>,
}

impl Progress {
    fn call(&self, event: Event<'_>) -> Option<Call> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Begin { activity, what, steps } => {
                let steps = steps.unwrap_or(0);
                running.insert(activity, Activity { what: what.to_owned(), steps, done: 0 });
                Some(("begin", what.to_owned()))
            }
            Event::Step { activity } => Some(("begin", running.get_mut(&activity)?.step()?)),
            Event::End { activity } => {
                running.remove(&activity);
                Some(("end", String::new()))
            }
            Event::Note(text) => Some(("note", text.to_owned())),
            Event::Warning(text) => Some(("warning", text.to_owned())),
            Event::Recorded(_) => None,
        }
    }
}

/// Runs `work` without the GIL. `progress` is called on this thread with a kind and a text: `begin` (also
/// with the share that is done), `end`, `note`, `warning`. `cancel` is set as soon as an
/// exception ends the call.
///
/// # Errors
/// The exception of the callback or of a signal handler, or else the error of `work`.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    cancel: &Arc<AtomicBool>,
    work: impl FnOnce(&Monitor<'_>) -> prlx::Result<T> + Send,
) -> PyResult<T> {
    let (sender, calls) = mpsc::channel();
    // Without the GIL, this thread may use only what threads can share.
    let calls = Mutex::new(calls);
    let next = || calls.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS);
    let worker = || supervised(sender, cancel, work);
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker)?;
        let mut raised = None;
        loop {
            let step = match &py.detach(next) {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Ok(call) if raised.is_none() => tell(py, progress.as_ref(), call),
                Ok(_) => Ok(()),
            };
            raised = raised.or_else(|| step.and_then(|()| py.check_signals()).err());
            cancel.store(raised.is_some(), Relaxed);
        }
        let done = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
        // A signal that came with the end of the work is no less of an exception.
        match raised.or_else(|| py.check_signals().err()) {
            Some(e) => Err(e),
            None => done.map_err(|e| errors::of_library(&e)),
        }
    })
}

/// Does the work with a monitor whose calls go through `sender`, which this drops at the end.
fn supervised<T>(
    sender: Sender<Call>,
    cancel: &AtomicBool,
    work: impl FnOnce(&Monitor<'_>) -> prlx::Result<T>,
) -> prlx::Result<T> {
    let events = Progress::default();
    let report = |event: Event<'_>| {
        if let Some(call) = events.call(event) {
            // The receiver lives until the work has ended.
            let _ = sender.send(call);
        }
    };
    work(&Monitor::new(&report, &|| cancel.load(Relaxed)))
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, (kind, text): &Call) -> PyResult<()> {
    progress.map_or(Ok(()), |callback| callback.call1(py, (*kind, text)).map(drop))
}
