//! Runs library functions without the GIL: Ctrl-C cancels them, notes and progress go to a Python callback.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use prlx::{Event, Monitor};
use pyo3::prelude::*;

use crate::errors;

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

/// Runs `work` without the GIL. `progress` is called with a kind and a text: `begin` (also with the share
/// that is done), `end`, `note`, `warning`.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Monitor<'_>) -> prlx::Result<T> + Send,
) -> PyResult<T> {
    let running: Mutex<HashMap<u64, Activity>> = Mutex::default();
    let report = |event: Event<'_>| {
        let Some(callback) = &progress else { return };
        let lock = || running.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, text) = match event {
            Event::Begin { activity, what, steps } => {
                let steps = steps.unwrap_or(0);
                lock().insert(activity, Activity { what: what.to_owned(), steps, done: 0 });
                ("begin", what.to_owned())
            }
            Event::Step { activity } => match lock().get_mut(&activity).and_then(Activity::step) {
                Some(text) => ("begin", text),
                None => return,
            },
            Event::End { activity } => {
                lock().remove(&activity);
                ("end", String::new())
            }
            Event::Note(text) => ("note", text.to_owned()),
            Event::Warning(text) => ("warning", text.to_owned()),
            Event::Recorded(_) => return,
        };
        // A callback that fails must not end the work: its error is shown as Python shows lost errors.
        Python::attach(|py| {
            if let Err(e) = callback.call1(py, (kind, text)) {
                e.write_unraisable(py, None);
            }
        });
    };
    let cancelled = || Python::attach(|py| py.check_signals().is_err());
    let done = py.detach(|| work(&Monitor::new(&report, &cancelled)));
    done.map_err(|e| errors::of_library(&e))
}
