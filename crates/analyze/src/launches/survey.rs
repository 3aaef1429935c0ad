//! What recordings hold, counted by kernel: what was launched, what of it was recorded, and why the rest was not.
//!
//! Holds: `launches` is `recorded` and the sum of `skipped`.

use std::collections::BTreeMap;

use prlx_trace::Trace;

/// A kernel's launches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelCounts {
    /// Its name, as in the module.
    pub name: String,
    /// How often it was launched.
    pub launches: u64,
    /// How many of those were recorded.
    pub recorded: u64,
    /// Elements that were recorded.
    pub elements: u64,
    /// Elements that did not fit.
    pub dropped: u64,
    /// Launches that were not recorded, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// What was counted so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey(BTreeMap<String, KernelCounts>);

impl Survey {
    /// VisitCounts a recording's launches too.
    pub fn add(&mut self, trace: &Trace) {
        for l in trace.launches.iter().map(|r| &r.launch) {
            let function =
                trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
            let name = function.map_or("?", |f| &f.name);
            let row = self.0.entry(name.to_owned()).or_default();
            row.launches += 1;
            row.elements = row.elements.saturating_add(l.totals.recorded);
            row.dropped = row.dropped.saturating_add(l.totals.dropped);
            match &l.skipped {
                None => row.recorded += 1,
                Some(why) => *row.skipped.entry(why.clone()).or_default() += 1,
            }
        }
    }
    /// The kernels, by name.
    pub fn kernels(self) -> Vec<KernelCounts> {
        self.0.into_iter().map(|(name, kernel)| KernelCounts { name, ..kernel }).collect()
    }
}
