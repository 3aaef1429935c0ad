//! Runs library functions without the GIL: Ctrl-C cancels them, notes and progress go to a Python callback.

use prlx::{Event, Monitor};
use pyo3::prelude::*;

use crate::errors;

/// Runs `work` without the GIL. `progress` is called with a kind and a text: `begin`, `end`, `note`,
/// `warning`.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Monitor<'_>) -> prlx::Result<T> + Send,
) -> PyResult<T> {
    let report = |event: Event<'_>| {
        let Some(callback) = &progress else { return };
        let (kind, text) = match event {
            Event::Begin { what, .. } => ("begin", what.to_owned()),
            Event::End { .. } => ("end", String::new()),
            Event::Note(text) => ("note", text.to_owned()),
            Event::Warning(text) => ("warning", text.to_owned()),
            Event::Step { .. } | Event::Recorded(_) => return,
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
