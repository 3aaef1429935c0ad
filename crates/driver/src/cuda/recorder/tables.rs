//! A probe program's tables: one set for each module, from its first launch to the end, whatever streams and
//! graphs its launches come from.
//!
//! They lie in memory that the recorder has from the start, one behind the other; a module that is loaded
//! again, as others of the same text, has those that it had. They are never given back, so they outlive their
//! modules, and are copied to the host beside the program's work: at the end, when somebody waits, and now
//! and then.
//!
//! # Invariants
//! A set is no other's. Misses: what came after the last copy, of a context that faults; a copy that is made
//! while kernels run may have of one row what came before and of the next what came later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::launch::Launch;
use prlx_trace::{Level, ModuleId, TableContents};

use super::layout::{Layout, ProbeContext};
use crate::record;

/// Sets start at multiples of this.
const ALIGNED: u64 = 256;

/// All sets.
pub(super) struct Tables {
    sets: Vec<TableSet>,
    /// Bytes that are some set's.
    pub used: u64,
    /// Something may have been added since they were last copied.
    pub stale: bool,
    /// The last copy of all, up to some set's end.
    pub copied: Arc<Vec<u8>>,
    /// When that was made.
    pub at: Option<Instant>,
    /// When they are copied again, if nobody waits.
    pub every: Duration,
}

impl Default for Tables {
    fn default() -> Tables {
        let every = Duration::from_secs(1);
        Tables { sets: Vec::new(), used: 0, stale: false, copied: Arc::default(), at: None, every }
    }
}

/// A module's.
#[derive(Clone)]
pub(super) struct TableSet {
    plan: Arc<Plan>,
    module: ModuleId,
    /// Its first byte, from that of all.
    at: u64,
    /// The first and the last of the launches that may have written there.
    launches: (u64, u64),
    numbered: bool,
}

impl Tables {
    /// What the contexts of a launch say, whose module's tables are made if it is the first; all tables begin
    /// at `base`. `None`: there is no room.
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

    /// The sets and the last copy, for [`tallies`].
    pub fn copy(&self) -> (Vec<TableSet>, Arc<Vec<u8>>) {
        (self.sets.clone(), Arc::clone(&self.copied))
    }
}

/// What was in sets when they were copied, by module.
pub(super) fn tallies((sets, copied): (Vec<TableSet>, Arc<Vec<u8>>)) -> Vec<(Arc<Plan>, Vec<TableContents>)> {
    let each = sets.into_iter().filter_map(|set| {
        let (at, bytes) = (set.at as usize, set.plan.probe_state.table_bytes() as usize);
        let bytes = copied.get(at..at.checked_add(bytes)?)?;
        let tallies = record::tables(&set.plan.probe_state, set.module, set.launches, bytes);
        Some((set.plan, tallies))
    });
    each.collect()
}
