//! Counts what recordings contain, by kernel: launches, recorded launches, and why the others were not
//! recorded.
//!
//! # Invariants
//! For each kernel, `launches` is `recorded` plus the sum of `skipped`.

use std::collections::BTreeMap;

use prlx_trace::Trace;

/// The launches of one kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelCounts {
    /// The kernel's name in its module.
    pub name: String,
    /// The number of launches.
    pub launches: u64,
    /// The number of launches that were recorded.
    pub recorded: u64,
    /// The number of recorded elements.
    pub elements: u64,
    /// The number of elements that were lost because buffers were full.
    pub dropped: u64,
    /// The number of launches that were not recorded, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// The counts of all recordings so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey(BTreeMap<String, KernelCounts>);

impl Survey {
    /// Adds the launches of a recording.
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
    /// The counts, sorted by kernel name.
    pub fn kernels(self) -> Vec<KernelCounts> {
        self.0.into_iter().map(|(name, kernel)| KernelCounts { name, ..kernel }).collect()
    }
}
