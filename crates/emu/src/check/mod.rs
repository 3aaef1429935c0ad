//! Checks of a running kernel (`--check`): report errors with both sides while the kernel continues.
//!
//! A launch with checks runs on one host thread. The CTA that runs holds the [`Checker`]. The interpreter
//! calls it before every step and before every completed exchange of a warp, and where CTAs and blocks of
//! memory begin and end. Without checks the cost is one test of a flag per step.
//!
//! # Invariants
//! - Checks never change what a correct kernel does, neither its results nor its schedule.
//! - After a bad access the kernel continues: loads return 0, and everything else is dropped. One run
//!   therefore shows several findings. An error after which the kernel cannot continue is still a fault.
//! - The same launch and seed give the same findings.
//!
//! # Limitations
//! `wmma.load` and `wmma.store` out of bounds are faults, with or without checks.

mod accesses;
mod async_work;
mod barriers;
mod bounds;
mod facts;
mod findings;
mod happens_before;
mod heap_blocks;
mod init;
mod notes;
mod proxy;
mod race;
mod shadow;
mod undefined;

use std::sync::Mutex;

use prlx_trace::check::{Check, Findings};

use crate::code::{MatrixOp, MbarrierKind, Op, Plane, WarpOpKind};
use crate::error::EmuError;
use crate::exec::cta_state::CtaState;
use crate::exec::deadlock::{PausedCta, WaitingLanes};
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::each;

use accesses::WarpAccess;
use async_work::AsyncCheck;
use barriers::BarrierCheck;
use facts::Facts;
use findings::{CheckContext, FindingLog, WarpStep};
use heap_blocks::HeapBlocks;
use init::InitCheck;
use notes::PerformanceNotes;
use race::RaceCheck;

/// The set of checks that a launch runs with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checks(u32);

impl Checks {
    /// The empty set: the launch runs without checks.
    pub const NONE: Checks = Checks(0);
    /// The set of all checks.
    pub fn all() -> Checks {
        Check::ALL.iter().fold(Checks::NONE, |all, &c| all.with(c))
    }
    /// And this one.
    #[must_use]
    pub fn with(self, check: Check) -> Checks {
        Checks(self.0 | 1 << check as u32)
    }
    /// Whether this one is among them.
    pub fn has(self, check: Check) -> bool {
        self.0 >> check as u32 & 1 == 1
    }
    /// Whether there are any.
    pub fn any(self) -> bool {
        self != Checks::NONE
    }
}

/// All that checks know of a launch.
#[derive(Debug)]
pub struct Checker {
    checks: Checks,
    found: FindingLog,
    facts: Facts,
    blocks: HeapBlocks,
    init: Option<InitCheck>,
    meet: Option<BarrierCheck>,
    flight: Option<AsyncCheck>,
    notes: Option<PerformanceNotes>,
    race: Option<RaceCheck>,
    /// What runs now: all lanes of the step.
    here: WarpStep,
}

/// The checker while a CTA runs; `None` for a launch without checks.
pub type Checking = Option<Box<Checker>>;

/// The checker of a launch. The CTA that runs takes it out and puts it back.
pub type SharedChecker = Mutex<Checking>;

impl Checker {
    /// Bytes of `room` that these checks need beside the launch, at most: the race check's, which does with
    /// less, and one bit a byte of `used` memory.
    pub fn bytes(checks: Checks, used: u64, room: u64) -> u64 {
        let race = if checks.has(Check::Race) { RaceCheck::room(room) } else { 0 };
        let init = if checks.has(Check::Init) { used / 8 } else { 0 };
        race + init
    }
    /// For a launch with these checks, where `room` bytes are left; `None` if there are none.
    pub fn of(checks: Checks, launch: &Launch<'_>, room: u64) -> Option<Box<Checker>> {
        checks.any().then(|| {
            Box::new(Checker {
                checks,
                found: FindingLog::default(),
                facts: Facts::of(launch),
                blocks: HeapBlocks::default(),
                init: checks.has(Check::Init).then(|| InitCheck::new(launch)),
                meet: checks.has(Check::Sync).then(BarrierCheck::default),
                flight: checks.has(Check::Async).then(|| AsyncCheck::new(launch)),
                notes: checks.has(Check::Notes).then(PerformanceNotes::default),
                race: checks.has(Check::Race).then(|| RaceCheck::new(room)),
                here: WarpStep::default(),
            })
        })
    }
    /// A CTA is over.
    pub fn end(&mut self, launch: &Launch<'_>, block: &CtaState, warps: &[Warp]) {
        if let Some(init) = &mut self.init {
            init.end(block, warps);
        }
        if let Some(meet) = &mut self.meet {
            meet.end(block.index);
        }
        if let Some(flight) = &mut self.flight {
            flight.end(launch, &mut self.found, block.index);
        }
        if let Some(race) = &mut self.race {
            race.end(launch, block);
        }
    }
    /// The barrier of the cluster is complete, and those of this CTA who wait for it are about to go on.
    pub fn meet(&mut self, launch: &Launch<'_>, block: &CtaState, warps: &[Warp]) {
        if let Some(race) = &mut self.race {
            race.meet(launch, block, warps);
        }
    }
    /// What was found, when the launch is over; `whole`: it came to its end.
    pub fn finish(mut self, launch: &Launch<'_>, whole: bool) -> Findings {
        if whole && self.checks.has(Check::Bounds) {
            self.blocks.leaks(launch, &mut self.found);
        }
        if let Some(notes) = self.notes {
            notes.finish(launch, &mut self.found);
        }
        self.found.finish()
    }
    /// A block of `malloc` for a lane.
    pub fn malloc(&mut self, launch: &Launch<'_>, bytes: u64, l: usize) -> u64 {
        let at = match self.checks.has(Check::Bounds) {
            true => self.blocks.malloc(launch, bytes, WarpStep { lanes: 1 << l, ..self.here }),
            false => launch.heap.malloc(bytes),
        };
        if let Some(init) = &mut self.init {
            init.malloc(launch, at, bytes);
        }
        at
    }
    /// Gives a lane's block back.
    ///
    /// # Errors
    /// When it is none and nobody checks it.
    pub fn free(&mut self, launch: &Launch<'_>, at: u64, l: usize) -> Result<(), EmuError> {
        if self.checks.has(Check::Bounds) {
            self.blocks.free(launch, &mut self.found, at, WarpStep { lanes: 1 << l, ..self.here });
            return Ok(());
        }
        launch.heap.free(at)
    }
    /// Looks at a step that the lanes `m` of `mask` are about to run; those that may.
    fn step(
        &mut self,
        warp: &Warp,
        launch: &Launch<'_>,
        block: &CtaState,
        op: &Op,
        mask: u32,
        m: u32,
    ) -> u32 {
        self.found.step();
        let accesses = match *op {
            _ if m == 0 => Vec::new(),
            Op::TensorCopy(i) => accesses::tiles(
                warp,
                &visible_memory(launch, block, &warp.local),
                &launch.code.tensors[i as usize],
                m,
            ),
            _ => accesses::accesses(warp, launch.code, op, m),
        };
        let mut bad = 0;
        if self.checks.has(Check::Bounds) {
            for t in &accesses {
                bad |= self.bounds(warp, launch, block, t);
            }
        }
        let mut good = m & !bad;
        if let (Some(meet), true) = (&mut self.meet, good != 0) {
            good = meet.step(
                launch,
                &mut self.found,
                warp,
                block,
                &accesses,
                WarpStep { lanes: good, ..self.here },
            );
            bad = m & !good;
        }
        let here = WarpStep { lanes: good, ..self.here };
        if let (Some(flight), true) = (&mut self.flight, good != 0) {
            flight.step(launch, (&self.facts, &mut self.found), warp, block, &accesses, here);
        }
        if let (Some(notes), true) = (&mut self.notes, good == m) {
            accesses.iter().for_each(|t| notes.count(op, t, here));
        }
        if let Some(init) = &mut self.init {
            let mut look =
                CheckContext { launch, facts: &self.facts, found: &mut self.found, who: self.here };
            init.step(&mut look, warp, block, op, mask, good, &accesses);
            init.blank(&look, bad);
        }
        if let Some(race) =
            self.race.as_mut().filter(|_| good != 0 && !matches!(op, Op::Alu(..) | Op::Bra(_)))
        {
            let mut look =
                CheckContext { launch, facts: &self.facts, found: &mut self.found, who: self.here };
            race.step(&mut look, warp, block, op, good, &accesses);
        }
        good
    }
    /// What these lanes get is no finding: why is one already.
    fn forgive(&mut self, launch: &Launch<'_>, lanes: u32) {
        if let Some(init) = &mut self.init {
            let look = CheckContext { launch, facts: &self.facts, found: &mut self.found, who: self.here };
            init.blank(&look, lanes);
        }
    }
    /// A barrier of a CTA is complete, and those who wait for it are about to go on.
    pub fn completed(&mut self, launch: &Launch<'_>, cta: u64, id: usize, warps: &[Warp]) {
        if let Some(meet) = &mut self.meet {
            meet.completed(launch, &mut self.found, cta, id, warps);
        }
        if let Some(flight) = &mut self.flight {
            for w in warps {
                let mut lanes = 0;
                each(w.at_bar, |l| lanes |= u32::from(usize::from(w.bar[l]) == id) << l);
                flight.passed(WarpStep { cta, warp: w.index, lanes, step: 0 });
            }
        }
        if let Some(race) = &mut self.race {
            race.barrier(cta, id, warps);
        }
    }
    /// Copies are under way, which change memory without a step.
    pub fn moved(&mut self) {
        if let Some(meet) = &mut self.meet {
            meet.moved();
        }
    }
    /// The waiting threads, if the check finds that all threads of these CTAs poll in vain. `grid`: they
    /// are all that there are.
    pub fn waits(
        &self,
        launch: &Launch<'_>,
        parts: &[PausedCta<'_>],
        grid: bool,
    ) -> Option<Vec<WaitingLanes>> {
        self.meet.as_ref().and_then(|meet| meet.waits(launch, parts, grid))
    }
    /// Nobody of `whole` can go on.
    pub fn stuck(&mut self, launch: &Launch<'_>, whole: &str, waiting: &[WaitingLanes]) {
        if let Some(meet) = &self.meet {
            meet.stuck(launch, &mut self.found, whole, waiting);
        }
    }
    fn bounds(&mut self, warp: &Warp, launch: &Launch<'_>, block: &CtaState, t: &WarpAccess) -> u32 {
        let r = visible_memory(launch, block, &warp.local);
        let bad = t.bad(&r, &mut warp.hint.clone());
        let foreign = self.blocks.foreign(t, t.lanes & !bad);
        if bad | foreign != 0 {
            bounds::report(launch, &mut self.found, &self.blocks, t, bad, foreign, self.here);
        }
        // A stray access inside the heap can go on.
        bad
    }
    /// Checks a step before the lanes `m` of `mask` run it; returns the lanes that may run it.
    ///
    /// The other lanes have done something wrong. Their results are 0 and their stores do nothing.
    pub fn before_step(
        &mut self,
        warp: &mut Warp,
        launch: &Launch<'_>,
        block: &mut CtaState,
        pc: u32,
        mask: u32,
        m: u32,
    ) -> u32 {
        let op = &launch.code.steps[pc as usize].op;
        self.here = WarpStep { cta: block.index, warp: warp.index, lanes: m, step: pc };
        let good = match op {
            // An exchange is checked when all its lanes have arrived, by `before_exchange`.
            Op::Exchange(_) => {
                self.step(warp, launch, block, op, mask, 0);
                let (found, here) = (&mut self.found, self.here);
                let named = self.meet.as_ref().map_or(m, |meet| meet.comes(launch, found, warp, here));
                self.forgive(launch, m & !named);
                named
            }
            _ => self.step(warp, launch, block, op, mask, m),
        };
        if good != m {
            blank(warp, launch, op, m & !good);
            warp.forgo(launch, block, op, m & !good);
        }
        good
    }
    /// Checks an exchange before the lanes `there` do it; returns whether they may.
    pub fn before_exchange(
        &mut self,
        warp: &mut Warp,
        launch: &Launch<'_>,
        block: &mut CtaState,
        step: u32,
        there: u32,
    ) -> bool {
        let op = &launch.code.steps[step as usize].op;
        self.here = WarpStep { cta: block.index, warp: warp.index, lanes: there, step };
        let good = self.step(warp, launch, block, op, 0, there);
        if let Some(meet) = &self.meet {
            let lost = meet.exchange(launch, &mut self.found, warp, self.here);
            self.forgive(launch, lost);
        }
        if good != there {
            blank(warp, launch, op, there);
        }
        good == there
    }
}

/// Results of lanes whose access was left out: 0, and `done` for those who wait.
fn blank(warp: &mut Warp, launch: &Launch<'_>, op: &Op, lanes: u32) {
    let code = launch.code;
    let results: &[Plane] = match *op {
        Op::Ld(i) => &code.mems[i as usize].planes,
        Op::Atom(i) => &code.atoms[i as usize].mem.planes,
        Op::Exchange(i) => match code.warp_ops[i as usize].kind {
            WarpOpKind::Matrix(t) => match &code.matrix[t as usize] {
                MatrixOp::Load { mem, .. } => &mem.planes,
                _ => &[],
            },
            _ => &[],
        },
        Op::Mbarrier(i) => {
            let bar = &code.mbarriers[i as usize];
            match (bar.kind, bar.result) {
                (MbarrierKind::Test { .. }, Some(p)) => warp.planes.put_pred(p, lanes, lanes),
                (_, Some(p)) => each(lanes, |l| warp.planes.w64[usize::from(p)].0[l] = 0),
                _ => {}
            }
            &[]
        }
        _ => &[],
    };
    for &plane in results {
        each(lanes, |l| crate::mem::access::set(&mut warp.planes, plane, l, 0));
    }
}
