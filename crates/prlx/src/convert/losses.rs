//! Counts what a conversion loses.

use std::collections::BTreeMap;

use prlx_legacy::v1::Event;

use crate::Monitor;

/// Number of events by what the new file does not hold of them.
#[derive(Default)]
pub(super) struct Losses(BTreeMap<&'static str, u64>);

impl Losses {
    /// Counts an event.
    pub(super) fn add(&mut self, why: &'static str) {
        *self.0.entry(why).or_default() += 1;
    }
    /// Reduces an event to what a compact file holds.
    pub(super) fn narrow(&mut self, e: Event) -> Event {
        if e.site > 0xffff {
            self.add("keep half of their site id");
        }
        if e.value != 0 {
            self.add("lose their value");
        }
        if e.result != 0 {
            self.add("lose their atomic result");
        }
        if e.dir > 1 || e.kind > 15 {
            self.add("lose their target, or change their kind");
        }
        Event { site: e.site & 0xffff, kind: e.kind & 15, dir: e.dir & 1, value: 0, result: 0, ..e }
    }
    /// Warns about every loss.
    pub(super) fn warn(&self, monitor: &Monitor<'_>) {
        for (why, n) in &self.0 {
            monitor.warn(&format!("{n} events {why}: the new file cannot store it"));
        }
    }
}
