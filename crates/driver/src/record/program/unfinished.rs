//! Reads what the markers of running launches have written, in memory that is the host's.
//!
//! # Invariants
//! - A result belongs to one launch.
//! - Neither the device nor the program waits.
//!
//! # Limitations
//! A lane may write at the same time, so some of its stores may be missing. Entries show whether they are
//! complete.

use std::sync::Arc;

use prlx_plan::Plan;
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::{Fault, Launch};

use crate::queue::HostMemory;
use crate::record::memory::context::Slot;
use crate::record::memory::launches::marks;
use crate::record::program::launch::Running;
use crate::record::program::shared::Shared;
use crate::record::program::state::{Ownership, PlacedLaunch, Progress, State};

/// Position of a launch: generation, round, index.
type Position = (usize, u64, usize);

fn there(placed: &PlacedLaunch) -> bool {
    placed.counts() && placed.ownership == Ownership::Exclusive && placed.plan.probe_state.tracks.is_some()
}

fn still(state: &State, (generation, round, place): Position) -> bool {
    let g = &state.generations[generation];
    g.round == round && g.launches.get(place).is_some_and(there)
}

impl Shared {
    /// As [`Recorder::running`](super::Recorder::running), with the memory that markers write to.
    pub(super) fn running(&self, memory: &dyn HostMemory) -> Vec<Running> {
        let mut found = Vec::new();
        for (i, g) in self.lock().generations.iter().enumerate() {
            let all = g.launches.iter().enumerate().filter(|(_, placed)| there(placed));
            found.extend(all.map(|(place, placed)| {
                let mut launch = placed.launch.clone();
                let text = "it had not ended when its process was killed".to_owned();
                launch.fault = (placed.progress != Progress::Done).then_some(Fault {
                    kind: FaultKind::Stuck,
                    text,
                    unfinished: None,
                });
                ((i, g.round, place), Arc::clone(&placed.plan), launch, placed.slot)
            }));
        }
        // This reads without the lock, because launches wait for it. Launches that are delivered meanwhile
        // are dropped below, because their memory may be in use again.
        let read = |(at, plan, launch, slot): (Position, Arc<Plan>, Launch, Slot)| {
            let bytes = memory.copy(slot.tracks, slot.track_bytes())?;
            let marks = marks(&plan, &launch, slot.regions(), &bytes)?;
            Some((at, Running { plan, launch, marks }))
        };
        let read: Vec<_> = found.into_iter().filter_map(read).collect();
        let state = self.lock();
        read.into_iter().filter(|(at, _)| still(&state, *at)).map(|(_, running)| running).collect()
    }
}
