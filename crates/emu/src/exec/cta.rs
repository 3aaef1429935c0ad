//! A CTA: its warps, its shared memory, its barriers, and who runs next.
//!
//! Seed 0 is a fair round of the warps. Any other seed draws every choice from a generator that the seed and the CTA's
//! number begin: which warp, which lanes of it, for how many steps. It owes no convergence: PTX promises none.
//!
//! Holds: what a CTA does depends on its number, the launch and the seed, never on host threads (as long as CTAs don't race).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prlx_driver::{Error, ErrorKind, LaunchConfig};
use prlx_isa::view::Module;
use prlx_plan::ProbeState;
use prlx_trace::launch::WarpStream;
use prlx_trace::{Dim3, LaneMask, WarpId};

use crate::check::{Checker, Shelf};
use crate::code::Code;
use crate::copies::bulk::Transfer;
use crate::exec::cluster::Peers;
use crate::exec::deadlock::{self, Part, Waiting};
use crate::exec::fault::{self, Fault};
use crate::exec::host::Host;
use crate::exec::warp::Warp;
use crate::hooks::probes::Gathered;
use crate::hooks::recorder::{Observe, Recorder};
use crate::matrix::wgmma;
use crate::mem::heap::Heap;
use crate::mem::{Memory, Region};
use prlx_lanes::LANES;

/// `%globaltimer` of a CTA's first step.
pub const EPOCH: u64 = 1_000_000_000;
/// Steps that a warp runs before the next has its turn.
const QUANTUM: u32 = 1 << 14;
/// One atomic or volatile access in so many instructions looks like waiting; of a budget it takes as much as they.
const SPIN: u64 = 64;
/// The barrier behind `barrier.cluster`, after the 16 that a CTA can name.
pub const CLUSTER: usize = 16;
/// Barriers of a CTA.
const BARRIERS: usize = CLUSTER + 1;

/// All that CTAs of one launch share.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub code: &'a Code,
    /// Its module.
    pub module: &'a Module,
    /// And text.
    pub source: &'a str,
    /// Global memory.
    pub memory: &'a Memory,
    /// Where `malloc` takes from.
    pub heap: &'a Heap,
    /// Shape and seed.
    pub config: &'a LaunchConfig,
    /// CTAs of a cluster.
    pub cluster: Dim3,
    /// Whether somebody asked for clusters: the launch or the kernel.
    pub explicit: bool,
    /// Parameters.
    pub params: &'a Region,
    /// Bytes of a lane's local memory.
    pub stride: u64,
    /// Warps of a CTA.
    pub warps: u32,
    /// Steps that a CTA may take.
    pub max_steps: u64,
    /// What `%globaltimer` shows at its first.
    pub epoch: u64,
    /// What to write down.
    pub observe: Option<Observe<'a>>,
    /// Hot functions for this host.
    pub host: Host,
    /// The checker, while no CTA runs.
    pub checker: Shelf,
}

/// A generator of choices (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Begun by a seed and a number.
    pub fn new(seed: u64, n: u64) -> Rng {
        let mut r = Rng(seed ^ n.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        r.next();
        r
    }
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "an endless one")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    /// A number below `n`; 0 for 0.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }
}

/// A barrier.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// By warp: lanes that have arrived.
    pub arrived: [u32; LANES],
    /// By warp: lanes whose predicate held.
    pub votes: [u32; LANES],
    /// Threads for which it waits, where that is said.
    pub count: Option<u32>,
    /// Somebody has arrived.
    pub waiting: bool,
}

/// What the warps of a CTA share.
#[derive(Debug)]
pub struct Block {
    /// Its place in the grid.
    pub cta: Dim3,
    /// And number.
    pub index: u64,
    /// Its shared memory.
    pub shared: Arc<Region>,
    /// That of its cluster.
    pub peers: Arc<Peers>,
    /// Its number in the cluster.
    pub rank: u32,
    /// Its barriers.
    pub barriers: [Barrier; BARRIERS],
    /// What the warps of each warpgroup have begun; empty until one does.
    pub warpgroups: Vec<wgmma::Group>,
    /// Bulk copies under way.
    pub transfers: Vec<Transfer>,
    /// Instructions so far.
    pub clock: u64,
    /// What `%globaltimer` showed before the first.
    pub epoch: u64,
    /// Atomics and volatile accesses so far.
    pub spins: u64,
    /// What it printed.
    pub output: Vec<u8>,
    /// Variables of a probe program, by number in [`ProbeState::held`]: atomic, for its warps only borrow them.
    pub held: Vec<AtomicU64>,
    /// The launch's checker, while this CTA runs.
    pub check: Option<Box<Checker>>,
}

/// Where a CTA came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It can go on.
    Ready {
        /// It looks as if it waits for another CTA.
        waits: bool,
    },
    /// All its threads that are left wait, some of them for the cluster's barrier.
    Blocked,
    /// All its threads have ended.
    Done,
}

/// A CTA.
#[derive(Debug)]
pub struct Cta {
    /// What its warps share.
    pub block: Block,
    /// Them.
    pub warps: Vec<Warp>,
    rng: Rng,
    next: usize,
}

impl Cta {
    /// Storage for the CTAs of a launch, one after the other, that have this rank in their clusters.
    pub fn new(launch: &Launch<'_>, rank: u32, peers: &Arc<Peers>, shared: &Arc<Region>) -> Cta {
        Cta {
            block: Block {
                cta: Dim3::default(),
                index: 0,
                shared: shared.clone(),
                peers: peers.clone(),
                rank,
                barriers: Default::default(),
                warpgroups: Vec::new(),
                transfers: Vec::new(),
                clock: 0,
                epoch: launch.epoch,
                spins: 0,
                output: Vec::new(),
                held: Vec::new(),
                check: None,
            },
            warps: (0..launch.warps).map(|w| Warp::new(w, launch.code, launch.stride)).collect(),
            rng: Rng::new(0, 0),
            next: 0,
        }
    }
    /// Begins CTA number `index`, at its place in the grid.
    pub fn start(&mut self, launch: &Launch<'_>, place: Dim3, index: u64) {
        let b = &mut self.block;
        b.cta = place;
        b.index = index;
        (b.clock, b.spins) = (0, 0);
        b.barriers = Default::default();
        b.warpgroups.clear();
        b.transfers.clear();
        let held = launch.observe.as_ref().map_or(0, |o| o.plan.probe_state.shared_variables.len());
        b.held = std::iter::repeat_with(AtomicU64::default).take(held).collect();
        self.rng = Rng::new(launch.config.seed, index);
        self.next = 0;
        if launch.config.seed == 0 {
            b.shared.fill_words(|| 0);
        } else {
            // Nothing promises zeros.
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
            if let Some(o) = &launch.observe {
                let warp = WarpId(index * u64::from(launch.warps) + u64::from(w.index));
                w.recorder = o.wants(warp).then(|| Box::new(Recorder::new(o, warp)));
            }
        }
    }
    /// Runs for about `budget` instructions.
    ///
    /// # Errors
    /// When the code faults, waits for itself, or takes too many steps.
    pub fn run(&mut self, launch: &Launch<'_>, budget: u64) -> Result<State, Error> {
        self.block.check = launch.checker.lock().ok().and_then(|mut c| c.take());
        let state = self.go(launch, budget);
        if let (Some(mut c), Ok(mut shelf)) = (self.block.check.take(), launch.checker.lock()) {
            if matches!(state, Ok(State::Done)) {
                c.end(launch, &self.block, &self.warps);
            }
            *shelf = Some(c);
        }
        state
    }
    fn go(&mut self, launch: &Launch<'_>, budget: u64) -> Result<State, Error> {
        let (begun, clock) = (self.spent(), self.block.clock);
        let mut idle = 0;
        let mut steps = 0u64;
        loop {
            let hostile = launch.config.seed != 0;
            if hostile {
                let ready: Vec<usize> =
                    (0..self.warps.len()).filter(|&w| self.warps[w].ready() != 0).collect();
                match ready.get(self.rng.below(ready.len() as u32) as usize) {
                    Some(&w) => self.next = w,
                    None => idle = self.warps.len(),
                }
            }
            if idle >= self.warps.len() {
                // Nobody is left to wait for them here, but another CTA of the cluster may.
                self.block.bulk_end(launch).map_err(|f| self.error(launch, f))?;
                if self.warps.iter().all(|w| w.alive == 0) {
                    return Ok(State::Done);
                }
                if self.at_cluster() {
                    return Ok(State::Blocked);
                }
                let waiting = deadlock::waiting(launch, &[Part::of(self)]);
                return Err(self.stuck(launch, &waiting));
            }
            // Another CTA of a cluster may do what is waited for.
            let checker = self.block.check.as_ref().filter(|_| launch.cluster.volume() == 1);
            if let Some(waiting) = checker.and_then(|c| c.waits(launch, &[Part::of(self)], false)) {
                return Err(self.stuck(launch, &waiting));
            }
            let at = self.next;
            self.next = (at + 1) % self.warps.len();
            let warp = &mut self.warps[at];
            if warp.ready() == 0 {
                idle += 1;
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
                QUANTUM
            };
            let rng = if hostile { Some(&mut self.rng) } else { None };
            let ran = warp.run(launch, &mut self.block, burst, rng).map_err(|f| (at, f));
            ran.and_then(|_| self.aside(launch)).map_err(|f| self.error(launch, f))?;
            steps += 1;
            self.poll(launch);
            if self.block.clock > launch.max_steps || steps > launch.max_steps {
                return Err(self.endless(launch, at));
            }
            let used = self.spent() - begun;
            if used > budget || self.at_cluster() && self.absent().is_none() {
                return Ok(State::Ready { waits: used > 2 * (self.block.clock - clock) });
            }
        }
    }
    /// The error of a fault in a warp.
    fn error(&self, launch: &Launch<'_>, (warp, f): (usize, Box<Fault>)) -> Error {
        let (cta, block) = (self.block.cta, launch.config.block);
        fault::error(&f, launch.module, launch.source, launch.code, cta, block, warp as u32)
    }
    /// What goes on beside the warps' own steps: copies, products of warpgroups and the waits for them. An error has its warp.
    fn aside(&mut self, launch: &Launch<'_>) -> Result<(), (usize, Box<Fault>)> {
        if launch.config.seed != 0 {
            let under_way = !self.block.transfers.is_empty() || self.warps.iter().any(|w| w.copies.any());
            if let Some(c) = self.block.check.as_mut().filter(|_| under_way) {
                c.moved();
            }
            self.block.bulk_turn(launch, &mut self.rng)?;
            for (at, w) in self.warps.iter_mut().enumerate() {
                w.copies_turn(launch, &self.block, &mut self.rng).map_err(|f| (at, f))?;
                if w.flight.busy() {
                    w.products_turn(launch, &mut self.block, &mut self.rng).map_err(|f| (at, f))?;
                }
            }
        }
        if self.block.warpgroups.is_empty() {
            return Ok(());
        }
        for at in 0..self.warps.len() {
            if let Some((first, due)) = self.warps[at].flight.ready(at, &self.block.warpgroups) {
                for (i, w) in self.warps.iter_mut().enumerate().skip(first).take(wgmma::WARPS) {
                    w.products_until(launch, &mut self.block, due).map_err(|f| (i, f))?;
                }
                self.warps[at].poll_sync(launch, &mut self.block).map_err(|f| (at, f))?;
            }
        }
        Ok(())
    }
    /// Completes barriers for which everybody is there, but the cluster's.
    fn poll(&mut self, launch: &Launch<'_>) {
        for id in 0..CLUSTER {
            let b = &self.block.barriers[id];
            if !b.waiting {
                continue;
            }
            let complete = match b.count {
                // Lanes that have ended, or never were, are not waited for.
                None => self.warps.iter().all(|w| w.alive & !b.arrived[w.index as usize] == 0),
                Some(n) => {
                    let there = |w: &Warp| match b.arrived[w.index as usize] {
                        0 => 0,
                        arrived => (arrived | !w.alive).count_ones(),
                    };
                    self.warps.iter().map(there).sum::<u32>() >= n
                }
            };
            if !complete {
                continue;
            }
            if let Some(c) = &mut self.block.check {
                c.completed(launch, self.block.index, id, &self.warps);
            }
            let b = std::mem::take(&mut self.block.barriers[id]);
            let count = b.votes.iter().map(|v| v.count_ones()).sum();
            let all = b.votes.iter().zip(&b.arrived).all(|(v, a)| v & a == *a);
            for w in &mut self.warps {
                w.release(launch.code, id as u8, (count, all, count > 0));
            }
        }
    }
    /// What it has taken of budgets so far: instructions, and more for those that look like waiting.
    pub fn spent(&self) -> u64 {
        self.block.clock + self.block.spins * SPIN
    }
    /// Whether threads have arrived at the cluster's barrier.
    pub fn at_cluster(&self) -> bool {
        self.block.barriers[CLUSTER].waiting
    }
    /// The first threads that have not arrived at the cluster's barrier: a warp, and which of its lanes.
    pub fn absent(&self) -> Option<(u32, u32)> {
        let missing = |w: &Warp| w.alive & !self.block.barriers[CLUSTER].arrived[w.index as usize];
        self.warps.iter().map(|w| (w.index, missing(w))).find(|m| m.1 != 0)
    }
    /// Completes the cluster's barrier.
    pub fn meet(&mut self, code: &Code) {
        self.block.barriers[CLUSTER] = Barrier::default();
        for w in &mut self.warps {
            w.release(code, CLUSTER as u8, (0, false, false));
        }
    }
    fn endless(&self, launch: &Launch<'_>, warp: usize) -> Error {
        let w = &self.warps[warp];
        let lane = (0..LANES).find(|&l| w.key[l] != crate::exec::warp::PARKED).unwrap_or(0);
        let f = Fault {
            kind: ErrorKind::Stuck,
            step: Warp::step_of(w.key[lane].min(w.at[lane])).min(launch.code.origin.len() as u32 - 1),
            lane: Some(lane as u32),
            text: format!("is where the kernel was when its CTA had done {} instructions", launch.max_steps),
        };
        fault::error(
            &f,
            launch.module,
            launch.source,
            launch.code,
            self.block.cta,
            launch.config.block,
            warp as u32,
        )
        .help("raise the step limit if the kernel is only long")
    }
    /// That its threads wait for each other.
    fn stuck(&mut self, launch: &Launch<'_>, waiting: &[Waiting]) -> Error {
        let rank =
            if launch.cluster.volume() > 1 { format!(" (rank {})", self.block.rank) } else { String::new() };
        let name = format!("CTA {}{rank}", self.block.cta);
        if let Some(c) = &mut self.block.check {
            c.stuck(launch, &name, waiting);
        }
        deadlock::error(launch, &name, &[Part::of(self)], waiting)
    }
    /// The warps that are recorded and have lanes that have not ended, and which.
    pub fn unfinished(&self) -> impl Iterator<Item = (WarpId, LaneMask)> {
        let open = self.warps.iter().filter(|w| w.alive != 0);
        open.filter_map(|w| w.recorder.as_ref().map(|r| (r.warp(), LaneMask(w.alive.into()))))
    }
    /// Bytes that it has printed and written down.
    pub fn kept(&self) -> u64 {
        let recorded = self.warps.iter().filter_map(|w| w.recorder.as_ref()).map(|r| r.bytes());
        self.block.output.len() as u64 + recorded.sum::<u64>()
    }
    /// What its warps wrote down.
    pub fn streams(&mut self) -> Vec<WarpStream> {
        self.warps.iter_mut().filter_map(|w| w.recorder.take()).map(|r| r.finish()).collect()
    }
    /// What a probe program kept in its warps.
    pub fn gathered(&mut self, kept: &ProbeState) -> Gathered {
        let mut all = Gathered::new(kept);
        self.warps
            .iter_mut()
            .filter_map(|w| w.recorder.take())
            .for_each(|r| all.merge(kept, r.gathered(kept)));
        all
    }
}
