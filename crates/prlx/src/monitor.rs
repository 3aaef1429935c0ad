//! How long work reports to its caller: progress, notes, warnings; and how the caller cancels it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::summary::SessionSummary;

/// Something that happened during a call, as the caller's callback receives it.
#[derive(Debug)]
pub enum Event<'a> {
    /// An activity begins. `steps` is the number of [`Event::Step`]s to come, if it is known.
    Begin {
        /// Identifies the activity in later events.
        activity: u64,
        /// What is being done, as "recording norm at level path".
        what: &'a str,
        /// Number of steps, if it is known.
        steps: Option<u64>,
    },
    /// One step of an activity is done.
    Step {
        /// The activity, as in its [`Event::Begin`].
        activity: u64,
    },
    /// An activity has ended, well or not.
    End {
        /// The activity, as in its [`Event::Begin`].
        activity: u64,
    },
    /// Information that the user may want to read.
    Note(&'a str),
    /// Something the user should know: part of the work was not done, or its result is weaker than it looks.
    Warning(&'a str),
    /// A program has ended, and its recording is complete.
    Recorded(&'a SessionSummary),
}

/// The caller's callbacks.
#[derive(Clone, Copy)]
pub struct Monitor<'a> {
    report: &'a (dyn Fn(Event<'_>) + Sync),
    cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Monitor<'static> {
    /// A monitor that ignores every event and never cancels.
    pub const SILENT: Monitor<'static> = Monitor { report: &|_| {}, cancelled: &|| false };
}

impl<'a> Monitor<'a> {
    /// `report` receives every event, from any thread; `cancelled` is asked between two steps.
    pub fn new(
        report: &'a (dyn Fn(Event<'_>) + Sync),
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Monitor<'a> {
        Monitor { report, cancelled }
    }

    /// Fails with [`Cancelled`] if the caller wants the work to end.
    pub fn check(&self) -> crate::Result<()> {
        if (self.cancelled)() { Err(Cancelled.into()) } else { Ok(()) }
    }

    /// Begins an activity of unknown length; it ends when the value is dropped.
    pub fn activity(&self, what: &str) -> Activity<'a> {
        self.begin(what, None)
    }

    /// Begins an activity of so many steps; it ends when the value is dropped.
    pub fn steps(&self, steps: u64, what: &str) -> Activity<'a> {
        self.begin(what, Some(steps))
    }

    /// Passes on a note.
    pub fn note(&self, text: &str) {
        self.send(Event::Note(text));
    }

    /// Passes on a warning.
    pub fn warn(&self, text: &str) {
        self.send(Event::Warning(text));
    }

    pub(crate) fn send(&self, event: Event<'_>) {
        (self.report)(event);
    }

    fn begin(&self, what: &str, steps: Option<u64>) -> Activity<'a> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.send(Event::Begin { activity: id, what, steps });
        Activity { monitor: *self, id }
    }
}

impl fmt::Debug for Monitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Monitor")
    }
}

/// Work in progress. Dropping it reports [`Event::End`].
#[derive(Debug)]
pub struct Activity<'a> {
    monitor: Monitor<'a>,
    id: u64,
}

impl Activity<'_> {
    /// Reports that one step is done.
    pub fn step(&self) {
        self.monitor.send(Event::Step { activity: self.id });
    }
}

impl Drop for Activity<'_> {
    fn drop(&mut self) {
        self.monitor.send(Event::End { activity: self.id });
    }
}

/// The error of work that the caller cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}
