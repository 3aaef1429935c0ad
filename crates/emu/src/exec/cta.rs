//! Runs a CTA: schedules its warps, completes its barriers, and advances asynchronous work.
//!
//! Seed 0 gives the warps fair turns. Any other seed draws every choice from a generator seeded with the seed
//! and the CTA's number: which warp runs, which lanes of it, and for how many steps. Such a schedule does not
//! reconverge lanes, because PTX does not promise it.
//!
//! # Invariants
//! The execution of a CTA depends only on its number, the launch and the seed, never on the host's threads,
//! as long as CTAs do not race.

use crate::check::Checking;
use crate::exec::cta_state::Barrier;
use crate::exec::cta_state::CLUSTER;
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prlx_driver::Error;
use prlx_plan::ProbeState;
use prlx_trace::launch::WarpStream;
use prlx_trace::{Dim3, LaneMask, WarpId};

use crate::check::SharedChecker;
use crate::code::Code;
use crate::exec::deadlock::{self, PausedCta, WaitingLanes};
use crate::exec::fault::{self, Fault};
use crate::exec::pointer;
use crate::exec::warp_state::Warp;
use crate::exec::{wave, wide};
use crate::hooks::probes::ProbeResults;
use crate::hooks::recorder::Recorder;
use crate::matrix::tensor_state::TensorAllocations;
use crate::matrix::wgmma_state::WARPS;
use crate::mem::Region;
use crate::mem::peers::Peers;
use prlx_lanes::LANES;

/// Instructions that an atomic or volatile access counts for in a budget: a CTA with many of them probably
/// waits for another.
const SPIN_COST: u64 = 64;

/// Instructions for each atomic or volatile access of a loop that polls.
const POLL_STEPS: u64 = 16;

/// The state of a CTA after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CtaProgress {
    /// Some lanes can run.
    Ready {
        /// Whether the CTA seems to wait for another CTA.
        waits: bool,
    },
    /// All remaining threads wait, some of them at the barrier of the cluster.
    Blocked,
    /// All its threads have ended.
    Done,
}

/// A CTA: its warps and their shared state.
#[derive(Debug)]
pub struct Cta {
    /// The state that the warps share.
    pub state: CtaState,
    /// The warps of the CTA, or the halves of its warps.
    pub warps: Vec<Warp>,
    /// Entries of `warps` that are one warp ([`Launch::halves`]).
    halves: usize,
    /// By half of a warp: the steps that it ran alone (see [`wide`]).
    alone: Vec<u32>,
    rng: Rng,
    next: usize,
}

impl Cta {
    /// Storage for the CTAs of a launch that have this rank in their clusters. They use it one after the
    /// other.
    pub fn new(launch: &Launch<'_>, rank: u32, peers: &Arc<Peers>, shared: &Arc<Region>) -> Cta {
        Cta {
            state: CtaState {
                position: Dim3::default(),
                index: 0,
                shared: shared.clone(),
                peers: peers.clone(),
                rank,
                barriers: Default::default(),
                warpgroups: Vec::new(),
                tensor_columns: TensorAllocations::default(),
                tensor_work: VecDeque::new(),
                transfers: Vec::new(),
                clock: 0,
                epoch: launch.epoch,
                spins: 0,
                probe_variables: Vec::new(),
            },
            warps: (0..launch.warps).map(|w| Warp::new(w, launch.code, launch.stride)).collect(),
            halves: launch.halves() as usize,
            alone: vec![0; launch.warps as usize],
            rng: Rng::new(0, 0),
            next: 0,
        }
    }
    /// Starts CTA number `index` at a position in the grid.
    pub fn start(&mut self, launch: &Launch<'_>, place: Dim3, index: u64) {
        let b = &mut self.state;
        b.position = place;
        b.index = index;
        (b.clock, b.spins) = (0, 0);
        b.barriers = Default::default();
        b.warpgroups.clear();
        b.tensor_columns = TensorAllocations::default();
        b.tensor_work.clear();
        b.transfers.clear();
        let variables = launch.observe.as_ref().map_or(0, |o| o.plan.probe_state.shared_variables.len());
        b.probe_variables = std::iter::repeat_with(AtomicU64::default).take(variables).collect();
        self.rng = Rng::new(launch.config.seed, index);
        self.next = 0;
        self.alone.fill(0);
        if launch.config.seed == 0 {
            b.shared.fill_words(|| 0);
        } else {
            // PTX does not define the initial contents.
            b.shared.fill_words(|| self.rng.next());
        }
        let threads = launch.config.block.volume();
        for w in &mut self.warps {
            let first = u64::from(w.index) * LANES as u64;
            let n = threads.saturating_sub(first).min(LANES as u64) as u32;
            let alive = if n == 32 { u32::MAX } else { (1 << n) - 1 };
            w.reset(launch.code);
            if launch.config.seed == 0 {
                w.local.fill_words(|| 0);
            } else {
                w.local.fill_words(|| self.rng.next());
            }
            w.start(launch, b, alive);
            let halves = launch.halves();
            if let Some(o) = launch.observe.filter(|_| w.index % halves == 0) {
                let warp = WarpId((index * u64::from(launch.warps) + u64::from(w.index)) / u64::from(halves));
                w.recorder = o.wants(warp).then(|| Box::new(Recorder::new(&o, warp)));
            }
        }
    }
    /// Runs for about `budget` instructions.
    ///
    /// # Errors
    /// When the code faults, waits for itself, or takes too many steps.
    pub fn run(
        &mut self,
        launch: &Launch<'_>,
        shared: &SharedChecker,
        budget: u64,
    ) -> Result<CtaProgress, Error> {
        let mut check = shared.lock().ok().and_then(|mut c| c.take());
        let state = self.run_warps(launch, &mut check, budget);
        if let (Some(mut c), Ok(mut shared)) = (check, shared.lock()) {
            if matches!(state, Ok(CtaProgress::Done)) {
                c.end(launch, &self.state, &self.warps);
            }
            *shared = Some(c);
        }
        state
    }
    fn run_warps(
        &mut self,
        launch: &Launch<'_>,
        check: &mut Checking,
        budget: u64,
    ) -> Result<CtaProgress, Error> {
        let (begun, clock) = (self.budget_used(), self.state.clock);
        let mut idle = 0;
        let mut steps = 0u64;
        let halves = self.halves;
        loop {
            let hostile = launch.config.seed != 0;
            if hostile {
                let ready: Vec<usize> =
                    (0..self.warps.len()).filter(|&w| self.warps[w].ready() != 0).collect();
                match ready.get(self.rng.below(ready.len() as u32) as usize) {
                    Some(&w) => self.next = w - w % halves,
                    None => idle = self.warps.len(),
                }
            }
            if idle >= self.warps.len() {
                // No thread of this CTA waits for these copies, but another CTA of the cluster may.
                self.state.finish_transfers(launch).map_err(|f| self.error(launch, f))?;
                self.state.run_tensor_work(launch, usize::MAX).map_err(|f| self.error(launch, f))?;
                if self.warps.iter().all(|w| w.alive == 0) {
                    if let Some(a) = self.state.tensor_columns.live.first() {
                        let text = format!(
                            "allocates {} columns of tensor memory that are not freed when the CTA ends",
                            a.columns
                        );
                        return Err(self.error(launch, (a.warp as usize, Fault::new(a.step, 0, text))));
                    }
                    return Ok(CtaProgress::Done);
                }
                if self.at_cluster_barrier() {
                    return Ok(CtaProgress::Blocked);
                }
                let waiting = deadlock::waiting(launch, &[self.paused()]);
                return Err(self.deadlock_error(launch, check, &waiting));
            }
            // In a cluster another CTA may end the wait.
            let checker = check.as_ref().filter(|_| launch.cluster.volume() == 1);
            if let Some(waiting) = checker.and_then(|c| c.polling_deadlock(launch, &[self.paused()], false)) {
                return Err(self.deadlock_error(launch, check, &waiting));
            }
            let at = self.next;
            self.next = (at + halves) % self.warps.len();
            let warp = &mut self.warps[at..at + halves];
            if warp.iter().all(|half| half.ready() == 0) {
                idle += halves;
                continue;
            }
            idle = 0;
            let burst = if hostile {
                match self.rng.below(4) {
                    0 => 1 + self.rng.below(4),
                    1 => 1 + self.rng.below(32),
                    2 => 1 + self.rng.below(256),
                    _ => 1 + self.rng.below(4096),
                }
            } else {
                launch.turn
            };
            let rng = hostile.then_some(&mut self.rng);
            let (before, spins) = (self.state.clock, self.state.spins);
            let ran = match warp {
                wave if launch.code.exec.is_some() => {
                    wave::run(wave, launch, &mut self.state, check, burst).map_err(|(half, f)| (at + half, f))
                }
                [warp] => warp.run(launch, &mut self.state, check, burst, rng).map_err(|f| (at, f)),
                halves => {
                    let alone = &mut self.alone[at..at + halves.len()];
                    wide::run(halves, alone, launch, &mut self.state, check, burst, rng)
                        .map_err(|(half, f)| (at + half, f))
                }
            };
            ran.and_then(|_| self.advance_async(launch, check)).map_err(|f| self.error(launch, f))?;
            steps += 1;
            self.complete_barriers(launch, check);
            let waited_long = self.budget_used() > launch.max_wait();
            if launch.exceeds_limit(self.state.clock - before) {
                return Err(deadlock::step_limit(
                    launch,
                    "the launch",
                    launch.max_launch_steps,
                    &[self.paused()],
                ));
            }
            if self.state.clock > launch.max_steps || steps > launch.max_steps || waited_long {
                let whole = format!("CTA {}", self.state.position);
                return Err(deadlock::step_limit(launch, &whole, launch.max_steps, &[self.paused()]));
            }
            let polls = !hostile
                && launch.grid_workspace.is_some()
                && (self.state.spins - spins) * POLL_STEPS > self.state.clock - before
                && self.warps.iter().filter(|w| w.ready() != 0).count() <= halves;
            if polls {
                return Ok(CtaProgress::Ready { waits: true });
            }
            let used = self.budget_used() - begun;
            if used > budget || self.at_cluster_barrier() && self.missing_at_cluster_barrier().is_none() {
                return Ok(CtaProgress::Ready { waits: used > 2 * (self.state.clock - clock) });
            }
        }
    }
    /// The CTA as the search for deadlocks examines it.
    pub fn paused(&self) -> PausedCta<'_> {
        PausedCta { state: &self.state, warps: &self.warps }
    }
    /// The error of a fault in a warp.
    fn error(&self, launch: &Launch<'_>, (warp, mut f): (usize, Box<Fault>)) -> Error {
        let (cta, block) = (self.state.position, launch.config.block);
        if let Some(text) = pointer::explained(launch, &self.warps[warp].planes, &f) {
            f.text = text;
        }
        fault::error(&f, launch, cta, block, warp as u32)
    }
    /// Advances asynchronous work: copies, products of warpgroups, and the waits for them.
    ///
    /// # Errors
    /// A fault, with the number of its warp.
    fn advance_async(
        &mut self,
        launch: &Launch<'_>,
        check: &mut Checking,
    ) -> Result<(), (usize, Box<Fault>)> {
        if launch.config.seed != 0 {
            let under_way = !self.state.transfers.is_empty() || self.warps.iter().any(|w| w.copies.any());
            if let Some(c) = check.as_mut().filter(|_| under_way) {
                c.memory_may_change();
            }
            self.state.advance_transfers(launch, &mut self.rng)?;
            self.state.advance_tensor_work(launch, &mut self.rng)?;
            for (at, w) in self.warps.iter_mut().enumerate() {
                w.advance_copies(launch, &self.state, &mut self.rng).map_err(|f| (at, f))?;
                if w.wgmma.any_hidden() {
                    w.advance_products(launch, &mut self.state, &mut self.rng).map_err(|f| (at, f))?;
                }
            }
        }
        if self.state.warpgroups.is_empty() {
            return Ok(());
        }
        for at in 0..self.warps.len() {
            if let Some((first, due)) = self.warps[at].wgmma.ready(at, &self.state.warpgroups) {
                for (i, w) in self.warps.iter_mut().enumerate().skip(first).take(WARPS) {
                    w.run_products(launch, &mut self.state, due).map_err(|f| (i, f))?;
                }
                self.warps[at].complete_exchanges(launch, &mut self.state, check).map_err(|f| (at, f))?;
            }
        }
        Ok(())
    }
    /// Completes the barriers of the CTA at which all threads have arrived.
    fn complete_barriers(&mut self, launch: &Launch<'_>, check: &mut Checking) {
        for id in 0..CLUSTER {
            let b = &self.state.barriers[id];
            if !b.waiting {
                continue;
            }
            let complete = match b.count {
                // Barriers do not wait for lanes that have ended or never existed.
                None => self.warps.iter().all(|w| w.alive & !b.arrived[w.index as usize] == 0),
                Some(n) => {
                    // A warp counts with all its lanes, once any has arrived.
                    let there = |warp: &[Warp]| match warp.iter().any(|w| b.arrived[w.index as usize] != 0) {
                        false => 0,
                        true => {
                            let lanes = |w: &Warp| b.arrived[w.index as usize] | !w.alive;
                            warp.iter().map(|w| lanes(w).count_ones()).sum::<u32>()
                        }
                    };
                    self.warps.chunks(self.halves).map(there).sum::<u32>() >= n
                }
            };
            if !complete {
                continue;
            }
            if let Some(c) = check {
                c.barrier_complete(launch, self.state.index, id, &self.warps);
            }
            let b = std::mem::take(&mut self.state.barriers[id]);
            let count = b.votes.iter().map(|v| v.count_ones()).sum();
            let all = b.votes.iter().zip(&b.arrived).all(|(v, a)| v & a == *a);
            for w in &mut self.warps {
                w.release_barrier(launch.code, id as u8, (count, all, count > 0));
            }
        }
    }
    /// The budget used so far: instructions, and more for those that look like waiting.
    pub fn budget_used(&self) -> u64 {
        self.state.clock + self.state.spins * SPIN_COST
    }
    /// Whether some threads have arrived at the barrier of the cluster.
    pub fn at_cluster_barrier(&self) -> bool {
        self.state.barriers[CLUSTER].waiting
    }
    /// The first warp with lanes that have not arrived at the barrier of the cluster, and these lanes.
    pub fn missing_at_cluster_barrier(&self) -> Option<(u32, u32)> {
        let missing = |w: &Warp| w.alive & !self.state.barriers[CLUSTER].arrived[w.index as usize];
        self.warps.iter().map(|w| (w.index, missing(w))).find(|m| m.1 != 0)
    }
    /// Completes the barrier of the cluster.
    pub fn complete_cluster_barrier(&mut self, code: &Code) {
        self.state.barriers[CLUSTER] = Barrier::default();
        for w in &mut self.warps {
            w.release_barrier(code, CLUSTER as u8, (0, false, false));
        }
    }
    /// The error that the threads of the CTA wait for each other.
    fn deadlock_error(
        &mut self,
        launch: &Launch<'_>,
        check: &mut Checking,
        waiting: &[WaitingLanes],
    ) -> Error {
        let rank =
            if launch.cluster.volume() > 1 { format!(" (rank {})", self.state.rank) } else { String::new() };
        let name = format!("CTA {}{rank}", self.state.position);
        if let Some(c) = check {
            c.report_deadlock(launch, &name, waiting);
        }
        deadlock::error(launch, &name, &[self.paused()], waiting)
    }
    /// The recorded warps with lanes that have not ended, and these lanes.
    pub fn unfinished(&self) -> impl Iterator<Item = (WarpId, LaneMask)> {
        let open = |halves: &[Warp]| {
            let alive = halves.iter().rev().fold(0, |all, half| all << LANES | u64::from(half.alive));
            let recorder = halves.first()?.recorder.as_ref().filter(|_| alive != 0)?;
            Some((recorder.warp(), LaneMask(alive)))
        };
        self.warps.chunks(self.halves).filter_map(open)
    }
    /// Bytes that the CTA has recorded.
    pub fn recorded_bytes(&self) -> u64 {
        self.warps.iter().filter_map(|w| w.recorder.as_ref()).map(|r| r.bytes()).sum()
    }
    /// The recorded streams of its warps.
    pub fn streams(&mut self) -> Vec<WarpStream> {
        self.warps.iter_mut().filter_map(|w| w.recorder.take()).map(|r| r.finish()).collect()
    }
    /// The probe results of its warps.
    pub fn probe_results(&mut self, probe_state: &ProbeState) -> ProbeResults {
        let mut all = ProbeResults::new(probe_state);
        self.warps
            .iter_mut()
            .filter_map(|w| w.recorder.take())
            .for_each(|r| all.merge(probe_state, r.probe_results(probe_state)));
        all
    }
}
