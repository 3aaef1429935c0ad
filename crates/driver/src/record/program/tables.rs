//! The tables of probe programs: one set for each module, from its first launch to the end of the recording,
//! for launches from all streams and graphs.
//!
//! The sets lie one behind the other in memory that the recorder allocates at the start. A module that is
//! loaded again, with the same text and plan, gets its old set. Sets are never freed, so they outlive their
//! modules. They are copied to the host at the end, when a thread waits for them, and at intervals.
//!
//! # Invariants
//! Sets do not overlap.
//!
//! # Limitations
//! - If the context faults, everything after the last copy is lost.
//! - A copy that is made while kernels run may hold an older state of one row and a newer state of the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::launch::Launch;
use prlx_trace::{Level, ModuleId, TableContents};

use crate::record::memory::context::ProbeContext;
use crate::record::memory::launches::tables;
use crate::record::program::layout::Layout;

/// Alignment of a set in bytes.
const ALIGNED: u64 = 256;

/// All sets, with the last copy of them.
pub(super) struct Tables {
    sets: Vec<TableSet>,
    /// Bytes in use by sets.
    pub used: u64,
    /// Whether the tables may have changed since the last copy.
    pub stale: bool,
    /// The last copy, from the start up to the end of some set.
    pub copied: Arc<Vec<u8>>,
    /// When that copy was made.
    pub at: Option<Instant>,
    /// Time between two copies if no thread waits for one.
    pub every: Duration,
}

impl Default for Tables {
    fn default() -> Tables {
        let every = Duration::from_secs(1);
        Tables { sets: Vec::new(), used: 0, stale: false, copied: Arc::default(), at: None, every }
    }
}

/// The tables of one module.
#[derive(Clone)]
pub(super) struct TableSet {
    plan: Arc<Plan>,
    module: ModuleId,
    /// Offset from the start of all tables in bytes.
    at: u64,
    /// Numbers of the first and the last launch that may have written to it.
    launches: (u64, u64),
    numbered: bool,
}

impl Tables {
    /// The probe fields of a launch's context. Creates the module's set at its first launch. `base` is the
    /// address of all tables. Returns `None` if there is no room.
    pub fn probe_context(
        &mut self,
        layout: &Layout,
        base: u64,
        plan: &Arc<Plan>,
        launch: &Launch,
    ) -> Option<ProbeContext> {
        if layout.level != Level::Probe {
            return Some(ProbeContext::default());
        }
        let same = |other: &Plan| {
            other.module.digest == plan.module.digest
                && other.probe_state == plan.probe_state
                && other.module.tables == plan.module.tables
        };
        let known = self.sets.iter().position(|s| Arc::ptr_eq(&s.plan, plan));
        let i = match known.or_else(|| self.sets.iter().position(|s| same(&s.plan))) {
            Some(i) => i,
            None => {
                let end = self
                    .used
                    .checked_add(plan.probe_state.table_bytes())?
                    .checked_next_multiple_of(ALIGNED)?;
                if end > layout.tables {
                    return None;
                }
                let (at, numbered, launches) =
                    (self.used, plan.uses_launch_number(), (launch.number, launch.number));
                self.used = end;
                self.sets.push(TableSet {
                    plan: Arc::clone(plan),
                    module: launch.module,
                    at,
                    launches,
                    numbered,
                });
                self.sets.len() - 1
            }
        };
        let set = &mut self.sets[i];
        set.launches = (set.launches.0.min(launch.number), set.launches.1.max(launch.number));
        let number = if set.numbered { launch.number } else { 0 };
        let records = plan.probe_state.records.warp;
        Some(ProbeContext { tables: base + set.at, records, number, ..ProbeContext::default() })
    }

    /// The sets and the last copy, as arguments for [`tallies`].
    pub fn copy(&self) -> (Vec<TableSet>, Arc<Vec<u8>>) {
        (self.sets.clone(), Arc::clone(&self.copied))
    }
}

/// Reads the contents of the sets from the last copy, by module.
pub(super) fn tallies((sets, copied): (Vec<TableSet>, Arc<Vec<u8>>)) -> Vec<(Arc<Plan>, Vec<TableContents>)> {
    let each = sets.into_iter().filter_map(|set| {
        let (at, bytes) = (set.at as usize, set.plan.probe_state.table_bytes() as usize);
        let bytes = copied.get(at..at.checked_add(bytes)?)?;
        let tallies = tables(&set.plan.probe_state, set.module, set.launches, bytes);
        Some((set.plan, tallies))
    });
    each.collect()
}
