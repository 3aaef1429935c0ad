//! Runs a cluster: its CTAs take turns on one host thread. They share a barrier and reach each other's shared
//! memory.
//!
//! A launch without clusters runs as clusters of one CTA. Under seed 0 the CTAs take fair turns. Any other
//! seed draws whose turn it is and how long it lasts.
//!
//! An address in `.shared::cluster` is an address in `.shared::cta` with the rank of the CTA plus 1 in the
//! bits from 24 on. A value of 0 there means the CTA itself, so that the window of its own shared memory lies
//! inside the cluster's (PTX ISA, State Spaces: shared; `mapa`, `getctarank`).
//!
//! # Invariants
//! - All CTAs of a cluster run at the same time.
//! - The execution of a cluster depends only on its number, the launch and the seed.
//! - The shared memory of a CTA that has ended cannot be accessed.
//!
//! # Limitations
//! A CTA may access the shared memory of a CTA that has not had its first turn. Hardware starts them
//! together; PTX promises it only after a barrier of the cluster.

use crate::check::SharedChecker;
use crate::mem::peers::{Peers, TENSOR_BYTES};
use std::sync::Arc;

use prlx_driver::Error;
use prlx_plan::ProbeState;
use prlx_trace::launch::WarpStream;
use prlx_trace::{Dim3, LaneMask, WarpId};

use crate::exec::cta::{Cta, CtaProgress};
use crate::exec::deadlock::{self, PausedCta, WaitingLanes};
use crate::exec::grid_shape::{clusters, index_of};
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::Warp;
use crate::hooks::probes::ProbeResults;
use crate::mem::Region;

/// Instructions of a turn of a CTA in a cluster.
const TURN_BUDGET: u64 = 1 << 12;

/// The most turns that a cluster skips one after the other.
const MAX_SKIPPED: u32 = 64;

/// The state of a cluster after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// All its threads have ended.
    Done,
    /// The budget of the turn is used up.
    Paused {
        /// Whether the cluster seems to wait for another cluster.
        waits: bool,
    },
}

/// A cluster of CTAs that takes turns on a host thread.
#[derive(Debug)]
pub struct Cluster {
    /// Number of the cluster in the launch.
    pub index: u64,
    /// Whether the cluster seemed to wait for another cluster at the end of its last turn.
    pub waits: bool,
    /// The phase of the grid barrier at the end of a turn in which the cluster only waited.
    pub waits_in: Option<bool>,
    /// Turns that it has skipped since its last one.
    skipped: u32,
    ctas: Vec<Cta>,
    states: Vec<CtaProgress>,
    peers: Arc<Peers>,
    rng: Rng,
    next: usize,
    recorded_bytes: u64,
}

impl Cluster {
    /// Storage for the clusters of a launch, which use it one after the other.
    pub fn new(launch: &Launch<'_>) -> Cluster {
        let n = launch.cluster.volume() as usize;
        let bytes = u64::from(launch.code.static_shared) + u64::from(launch.config.shared);
        let shared = (0..n).map(|_| Arc::new(Region::new(bytes))).collect();
        let peers = Arc::new(Peers::new(shared, launch.code.uses_tensor_memory()));
        let ctas = (0..n).map(|rank| Cta::new(launch, rank as u32, &peers, &peers.shared[rank])).collect();
        Cluster {
            index: 0,
            waits: false,
            waits_in: None,
            skipped: 0,
            ctas,
            states: vec![CtaProgress::Done; n],
            peers,
            rng: Rng::new(0, 0),
            next: 0,
            recorded_bytes: 0,
        }
    }
    /// Starts cluster number `index`.
    pub fn start(&mut self, launch: &Launch<'_>, index: u64) {
        let (grid, size) = (launch.config.grid, launch.cluster);
        let at = clusters(grid, size).position(index);
        for (rank, cta) in self.ctas.iter_mut().enumerate() {
            let inside = size.position(rank as u64);
            let place = Dim3 {
                x: at.x * size.x + inside.x,
                y: at.y * size.y + inside.y,
                z: at.z * size.z + inside.z,
            };
            cta.start(launch, place, index_of(grid, place));
        }
        (self.index, self.waits, self.waits_in) = (index, false, None);
        self.states.fill(CtaProgress::Ready { waits: false });
        self.peers.begin();
        // A seed other than those of the CTAs.
        self.rng = Rng::new(!launch.config.seed, index);
        (self.next, self.recorded_bytes) = (0, 0);
    }
    /// Whether the cluster need not run now, since it most likely waits for the grid barrier, which is still
    /// in the same phase. It runs all the same after [`MAX_SKIPPED`] turns: it may wait for something else.
    pub fn skips(&mut self, phase: Option<bool>) -> bool {
        let skips = phase.is_some() && self.waits_in == phase && self.skipped < MAX_SKIPPED;
        self.skipped = if skips { self.skipped + 1 } else { 0 };
        skips
    }
    /// The bytes of host memory that a cluster takes.
    pub fn bytes(launch: &Launch<'_>) -> u64 {
        let shared = u64::from(launch.code.static_shared) + u64::from(launch.config.shared);
        let warps = Warp::bytes(launch.code, launch.stride).saturating_mul(launch.warps.into());
        let tensor = if launch.code.uses_tensor_memory() { TENSOR_BYTES } else { 0 };
        warps.saturating_add(shared + tensor).saturating_mul(launch.cluster.volume())
    }
    /// Bytes that the cluster has recorded since the last call.
    pub fn new_recorded_bytes(&mut self) -> u64 {
        let now = self.ctas.iter().map(Cta::recorded_bytes).sum::<u64>();
        now.saturating_sub(std::mem::replace(&mut self.recorded_bytes, now))
    }
    /// Instructions so far.
    pub fn instructions(&self) -> u64 {
        self.ctas.iter().map(|c| c.state.clock).sum()
    }
    /// The budget used so far: instructions, and more for those that look like waiting.
    pub fn budget_used(&self) -> u64 {
        self.ctas.iter().map(Cta::budget_used).sum()
    }
    /// Runs for about `budget` instructions.
    ///
    /// # Errors
    /// When the code faults, its threads wait for each other, or a CTA takes too many steps.
    pub fn run(
        &mut self,
        launch: &Launch<'_>,
        check: &SharedChecker,
        budget: u64,
    ) -> Result<Progress, Error> {
        let begun = self.budget_used();
        let (alone, hostile) = (self.ctas.len() == 1, launch.config.seed != 0);
        loop {
            let Some(at) = self.turn(hostile) else {
                if self.states.iter().all(|&s| s == CtaProgress::Done) {
                    return Ok(Progress::Done);
                }
                if !self.complete_barrier(launch, check) {
                    return Err(self.deadlock_error(
                        launch,
                        check,
                        &deadlock::waiting(launch, &self.paused_ctas()),
                    ));
                }
                continue;
            };
            let share = match (alone, hostile) {
                (true, _) => budget,
                (_, false) => TURN_BUDGET,
                (_, true) => 1u64 << self.rng.below(15),
            };
            self.states[at] = self.ctas[at].run(launch, check, share)?;
            if self.states[at] == CtaProgress::Done {
                self.peers.end(at);
            }
            self.complete_barrier(launch, check);
            if !alone && let Some(waiting) = self.polling_deadlock(launch, check) {
                return Err(self.deadlock_error(launch, check, &waiting));
            }
            // Blocked CTAs wait for the CTAs that seem to wait.
            let waits = self.states.iter().all(|&s| s != CtaProgress::Ready { waits: false });
            let polls = waits
                && !hostile
                && launch.grid_workspace.is_some()
                && self.states.contains(&CtaProgress::Ready { waits: true });
            if polls || self.budget_used() - begun > budget {
                return Ok(Progress::Paused { waits });
            }
        }
    }
    /// The CTA whose turn it is; `None` if no CTA can run.
    fn turn(&mut self, hostile: bool) -> Option<usize> {
        let ready = |at: &usize| matches!(self.states[*at], CtaProgress::Ready { .. });
        let n = self.ctas.len();
        if hostile && n > 1 {
            let ready: Vec<usize> = (0..n).filter(ready).collect();
            return ready.get(self.rng.below(ready.len() as u32) as usize).copied();
        }
        let at = (self.next..n).chain(0..self.next).find(ready)?;
        self.next = (at + 1) % n;
        Some(at)
    }
    /// Completes the barrier of the cluster if all threads have arrived; returns whether they had.
    fn complete_barrier(&mut self, launch: &Launch<'_>, check: &SharedChecker) -> bool {
        if !self.ctas.iter().any(Cta::at_cluster_barrier)
            || self.ctas.iter().any(|c| c.missing_at_cluster_barrier().is_some())
        {
            return false;
        }
        for (cta, state) in self.ctas.iter_mut().zip(&mut self.states) {
            if let Some(c) = check.lock().ok().as_mut().and_then(|shelf| shelf.as_mut()) {
                c.cluster_barrier_complete(launch, &cta.state, &cta.warps);
            }
            cta.complete_cluster_barrier(launch.code);
            if *state == CtaProgress::Blocked {
                *state = CtaProgress::Ready { waits: false };
            }
        }
        true
    }
    /// Its CTAs that have not ended.
    pub fn paused_ctas(&self) -> Vec<PausedCta<'_>> {
        self.ctas
            .iter()
            .zip(&self.states)
            .filter(|(_, s)| **s != CtaProgress::Done)
            .map(|(c, _)| c.paused())
            .collect()
    }
    /// The error that the threads of the cluster wait for each other.
    fn deadlock_error(&self, launch: &Launch<'_>, check: &SharedChecker, waiting: &[WaitingLanes]) -> Error {
        let name = match &self.ctas[..] {
            [cta] => format!("CTA {}", cta.state.position),
            _ => format!("cluster {}", clusters(launch.config.grid, launch.cluster).position(self.index)),
        };
        if let Some(c) = check.lock().ok().as_mut().and_then(|shelf| shelf.as_mut()) {
            c.report_deadlock(launch, &name, waiting);
        }
        deadlock::error(launch, &name, &self.paused_ctas(), waiting)
    }
    /// The waiting threads, if a check finds that all threads wait forever.
    fn polling_deadlock(&self, launch: &Launch<'_>, check: &SharedChecker) -> Option<Vec<WaitingLanes>> {
        let shelf = check.lock().ok()?;
        shelf.as_ref()?.polling_deadlock(launch, &self.paused_ctas(), false)
    }
    /// The recorded warps with lanes that have not ended, ascending, and these lanes.
    pub fn unfinished(&self) -> Vec<(WarpId, LaneMask)> {
        let mut all: Vec<_> = self.ctas.iter().flat_map(Cta::unfinished).collect();
        all.sort_unstable();
        all
    }
    /// The probe results of its warps.
    pub fn probe_results(&mut self, probe_state: &ProbeState) -> ProbeResults {
        let mut all = ProbeResults::new(probe_state);
        self.ctas.iter_mut().for_each(|c| all.merge(probe_state, c.probe_results(probe_state)));
        all
    }
    /// The recorded streams of its warps.
    pub fn streams(&mut self) -> impl Iterator<Item = WarpStream> {
        self.ctas.iter_mut().flat_map(Cta::streams)
    }
}
