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

pub mod accesses;
mod async_work;
mod barriers;
mod bit_rules;
mod bounds;
mod cas_reads;
mod clocks;
mod dropped;
mod facts;
pub mod findings;
mod happens_before;
mod hazards;
mod heap_blocks;
mod init;
mod notes;
mod pending;
mod polling;
mod proxy;
mod race;
mod reach;
mod recent;
mod registers;
mod remedies;
mod shadow;
mod stored;
mod twins;
mod undefined;
mod undefined_uses;
mod values;
mod volatile;
mod waits;
mod wave_facts;
mod wave_init;

use std::str::FromStr;
use std::sync::Mutex;

use prlx_trace::check::{Check, Findings};
use prlx_trace::dataflow::DataFlow;

use crate::code::{MatrixOp, MbarrierKind, Op, Plane, WarpOpKind};
use crate::dataflow::{FlowRecorder, FlowRequest};
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
use hazards::HazardCheck;
use heap_blocks::HeapBlocks;
use init::InitCheck;
use notes::PerformanceNotes;
use polling::Polling;
use race::RaceCheck;
use waits::WaitCheck;
use wave_init::WaveInit;

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
    /// The set with `check` added.
    #[must_use]
    pub fn with(self, check: Check) -> Checks {
        Checks(self.0 | 1 << check as u32)
    }
    /// Whether `check` is in the set.
    pub fn has(self, check: Check) -> bool {
        self.0 >> check as u32 & 1 == 1
    }
    /// Whether the set has any check.
    pub fn any(self) -> bool {
        self != Checks::NONE
    }
}

/// Reads a list of checks with commas; `all` means all of them.
impl FromStr for Checks {
    type Err = String;
    fn from_str(text: &str) -> Result<Checks, String> {
        text.split(',').try_fold(Checks::NONE, |set, word| match word.trim() {
            "all" => Ok(Checks::all()),
            word => Check::ALL.iter().find(|c| c.name() == word).map(|c| set.with(*c)).ok_or_else(|| {
                let names: Vec<&str> = Check::ALL.iter().map(|c| c.name()).collect();
                format!("one of {}, all", names.join(", "))
            }),
        })
    }
}

/// The state of the checks of a launch.
#[derive(Debug)]
pub struct Checker {
    checks: Checks,
    /// Whether it only searches for deadlocks.
    only_polls: bool,
    log: FindingLog,
    facts: Facts,
    blocks: HeapBlocks,
    init: Option<InitCheck>,
    wave_init: Option<WaveInit>,
    barriers: Option<BarrierCheck>,
    polling: Option<Polling>,
    async_work: Option<AsyncCheck>,
    waits: Option<WaitCheck>,
    hazards: Option<HazardCheck>,
    notes: Option<PerformanceNotes>,
    race: Option<RaceCheck>,
    flow: Option<FlowRecorder>,
    /// The step that is checked now, with all its lanes.
    here: WarpStep,
    /// Memory for the accesses of a step; empty between steps.
    accesses: Vec<WarpAccess>,
}

/// The checker while a CTA runs; `None` for a launch without checks.
pub type Checking = Option<Box<Checker>>;

/// The checker of a launch. The CTA that runs takes it out and puts it back.
pub type SharedChecker = Mutex<Checking>;

impl Checker {
    /// An upper bound of the bytes that these checks take of the free `room`: the shadow memory of the race
    /// check, and one bit for each byte of `used` memory.
    pub fn bytes(checks: Checks, used: u64, room: u64) -> u64 {
        let race = if checks.has(Check::Race) { RaceCheck::room(room) } else { 0 };
        let init = if checks.has(Check::Init) { used / 8 } else { 0 };
        race + init
    }
    /// The checker of a launch when `room` bytes are free; `None` if the set of checks is empty and no data
    /// flow is recorded.
    pub fn of(
        checks: Checks,
        dataflow: Option<FlowRequest>,
        launch: &Launch<'_>,
        room: u64,
    ) -> Option<Box<Checker>> {
        (checks.any() || dataflow.is_some()).then(|| {
            let waves = launch.code.exec.is_some();
            let facts = Facts::of(launch);
            let mut log = FindingLog::default();
            let wave_init =
                (checks.has(Check::Init) && waves).then(|| WaveInit::new(launch, &facts)).flatten();
            if checks.has(Check::Init) && waves && wave_init.is_none() {
                log.unchecked("values that nothing wrote, in machine code");
            }
            Box::new(Checker {
                checks,
                only_polls: false,
                log,
                blocks: HeapBlocks::default(),
                init: (checks.has(Check::Init) && !waves).then(|| InitCheck::new(launch)),
                wave_init,
                facts,
                barriers: checks.has(Check::Sync).then(BarrierCheck::default),
                polling: checks.has(Check::Sync).then(|| Polling::new(launch)),
                async_work: checks.has(Check::Async).then(|| AsyncCheck::new(launch)),
                waits: checks.has(Check::Async).then(WaitCheck::default),
                hazards: if checks.has(Check::Async) { HazardCheck::new(launch) } else { None },
                notes: checks.has(Check::Notes).then(PerformanceNotes::default),
                race: checks.has(Check::Race).then(|| RaceCheck::new(launch, room)),
                flow: dataflow.map(|request| FlowRecorder::new(launch, request)),
                here: WarpStep::default(),
                accesses: Vec::new(),
            })
        })
    }
    /// A checker that only searches for deadlocks.
    pub fn watching(launch: &Launch<'_>) -> Box<Checker> {
        Box::new(Checker {
            checks: Checks::NONE,
            only_polls: true,
            log: FindingLog::default(),
            facts: Facts::of(launch),
            blocks: HeapBlocks::default(),
            init: None,
            wave_init: None,
            barriers: None,
            polling: Some(Polling::new(launch)),
            async_work: None,
            waits: None,
            hazards: None,
            notes: None,
            race: None,
            flow: None,
            here: WarpStep::default(),
            accesses: Vec::new(),
        })
    }
    /// Switches the search for deadlocks on or off, unless it belongs to the sync check. Returns whether the
    /// checker has anything else to do.
    pub fn watch(&mut self, launch: &Launch<'_>, on: bool) -> bool {
        if self.barriers.is_none() {
            self.polling = on.then(|| Polling::new(launch));
        }
        self.checks.any() || self.flow.is_some()
    }
    /// How often memory has changed since the search for deadlocks began; 0 if it does not run.
    pub fn memory_changes(&self) -> u64 {
        self.polling.as_ref().map_or(0, Polling::memory_changes)
    }
    /// A CTA has ended.
    pub fn end(&mut self, launch: &Launch<'_>, cta: &CtaState, warps: &[Warp]) {
        if let Some(init) = &mut self.init {
            init.end(cta, warps);
        }
        if let Some(init) = &mut self.wave_init {
            init.end(launch, cta, warps);
        }
        if let Some(flow) = &mut self.flow {
            flow.end(cta, warps);
        }
        if let Some(barriers) = &mut self.barriers {
            barriers.end(cta.index);
        }
        if let Some(polling) = &mut self.polling {
            polling.end(cta.index);
        }
        if let Some(async_work) = &mut self.async_work {
            async_work.end(launch, &mut self.log, cta.index);
        }
        if let Some(waits) = &mut self.waits {
            waits.end(cta.index);
        }
        if let Some(hazards) = &mut self.hazards {
            hazards.end(cta.index);
        }
        if let Some(race) = &mut self.race {
            race.end(launch, cta);
        }
    }
    /// A wave of AMD's is about to run a step.
    pub fn before_wave(&mut self, launch: &Launch<'_>, cta: &CtaState, halves: &[Warp], step: u32) {
        self.log.step();
        let lanes: Vec<u32> = halves.iter().map(|half| half.alive & !half.away).collect();
        let who = WarpStep { cta: cta.index, step, ..WarpStep::default() }.of_wave(halves, &lanes);
        if let Some(waits) = &mut self.waits
            && let Some(timing) = launch.code.timing.get(&step)
        {
            waits.step(launch, &mut self.log, timing, who);
        }
        if let Some(hazards) = &mut self.hazards {
            hazards.step(launch, &mut self.log, who);
        }
        if let Some(init) = &mut self.wave_init {
            let mut cx = CheckContext { launch, facts: &self.facts, log: &mut self.log, who };
            init.step(&mut cx, halves, cta);
        }
    }
    /// A half of a wave of AMD's is about to run a step that may access memory, in the lanes `m`. Lanes that
    /// are away are among them where the wave has enabled them.
    pub fn before_wave_access(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        half: &Warp,
        step: u32,
        m: u32,
    ) {
        let warp = half.index / launch.halves() * launch.halves();
        if let Some(waits) = self.waits.as_mut().filter(|w| m != 0 && w.loads_to_lds(cta.index, warp)) {
            let here = WarpStep { cta: cta.index, warp: half.index, lanes: m, upper: 0, step };
            let all = accesses::accesses(half, launch.code, &launch.code.steps[step as usize].op, m);
            waits.access(launch, &mut self.log, warp, here, &all);
        }
        if let Some(init) = &mut self.wave_init {
            let lanes = m & half.alive & !half.away;
            let who = WarpStep { cta: cta.index, warp: half.index, lanes, upper: 0, step };
            let mut cx = CheckContext { launch, facts: &self.facts, log: &mut self.log, who };
            init.access(&mut cx, half, cta, m);
        }
    }
    /// A half of a wave of AMD's has run a step that accesses memory or the state of lanes, in the lanes `m`.
    pub fn after_wave_access(&mut self, launch: &Launch<'_>, cta: u64, half: &Warp, step: u32, m: u32) {
        if let Some(init) = &mut self.wave_init {
            init.after(launch, cta, half, step, m);
        }
    }
    /// The barrier of the cluster is complete, and the lanes of this CTA that wait at it are about to
    /// continue.
    pub fn cluster_barrier_complete(&mut self, launch: &Launch<'_>, cta: &CtaState, warps: &[Warp]) {
        if let Some(race) = &mut self.race {
            race.cluster_barrier_complete(launch, cta, warps);
        }
    }
    /// The findings of the launch, and its data flow. `whole`: the launch ran to its end.
    pub fn finish(mut self, launch: &Launch<'_>, whole: bool) -> (Findings, Option<DataFlow>) {
        if whole && self.checks.has(Check::Bounds) {
            self.blocks.leaks(launch, &mut self.log);
        }
        if let Some(notes) = self.notes {
            notes.finish(launch, &mut self.log);
        }
        (self.log.finish(), self.flow.map(FlowRecorder::finish))
    }
    /// Allocates a block of `malloc` for lane `l`; returns 0 if there is no room.
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
    /// Frees a block for lane `l`. With the bounds check, a wrong address becomes a finding.
    ///
    /// # Errors
    /// Without the bounds check: `at` is not the address of a live block.
    pub fn free(&mut self, launch: &Launch<'_>, at: u64, l: usize) -> Result<(), EmuError> {
        if self.checks.has(Check::Bounds) {
            self.blocks.free(launch, &mut self.log, at, WarpStep { lanes: 1 << l, ..self.here });
            return Ok(());
        }
        launch.heap.free(at)
    }
    /// Checks a step that the lanes `m` of the group `mask` are about to run, and records its data flow.
    /// Returns the lanes that may run it.
    fn step(&mut self, warp: &Warp, launch: &Launch<'_>, cta: &CtaState, op: &Op, mask: u32, m: u32) -> u32 {
        let mut accesses = std::mem::take(&mut self.accesses);
        add_step_accesses(warp, launch, cta, op, m, &mut accesses);
        let good = self.check_step(warp, launch, cta, op, (mask, m), &accesses);
        // An exchange is recorded when all its lanes have arrived.
        let exchange = matches!(op, Op::Exchange(_));
        if let Some(flow) = self.flow.as_mut().filter(|_| !exchange || m != 0) {
            if good != m {
                accesses.clear();
                add_step_accesses(warp, launch, cta, op, good, &mut accesses);
            }
            if matches!(op, Op::Call(_) | Op::Ret) {
                accesses.append(&mut accesses::passed(warp, launch, op, good));
            }
            let group = if exchange { m } else { mask };
            flow.step(launch, cta, warp, self.here.step, [group, good], &accesses);
        }
        accesses.clear();
        self.accesses = accesses;
        good
    }
    fn check_step(
        &mut self,
        warp: &Warp,
        launch: &Launch<'_>,
        cta: &CtaState,
        op: &Op,
        (mask, m): (u32, u32),
        accesses: &[WarpAccess],
    ) -> u32 {
        // `before_wave` has counted a step of AMD's code.
        if launch.code.exec.is_none() {
            self.log.step();
        }
        let mut bad = 0;
        if self.checks.has(Check::Bounds) {
            for t in accesses {
                bad |= self.bounds(warp, launch, cta, t);
            }
        }
        let mut good = m & !bad;
        if let (Some(barriers), true) = (&mut self.barriers, good != 0) {
            good = barriers.step(
                launch,
                &mut self.log,
                warp,
                cta,
                accesses,
                WarpStep { lanes: good, ..self.here },
            );
            bad = m & !good;
        }
        let here = WarpStep { lanes: good, ..self.here };
        if let (Some(polling), true) = (&mut self.polling, good != 0) {
            polling.step(launch, warp, cta, accesses, here);
        }
        if let (Some(async_work), true) = (&mut self.async_work, good != 0) {
            async_work.step(launch, (&self.facts, &mut self.log), warp, cta, accesses, here);
        }
        if let (Some(notes), true) = (&mut self.notes, good == m) {
            accesses.iter().for_each(|t| notes.count(launch, op, t, here));
        }
        if let Some(init) = &mut self.init {
            let mut cx = CheckContext { launch, facts: &self.facts, log: &mut self.log, who: self.here };
            init.step(&mut cx, warp, cta, op, mask, good, accesses);
            init.define_results(&cx, bad);
        }
        let unchecked =
            |op: &Op| matches!(op, Op::Alu(..) | Op::Bra(_)) || good == 0 && !matches!(op, Op::St(_));
        if let Some(race) = self.race.as_mut().filter(|_| !unchecked(op)) {
            let mut cx = CheckContext { launch, facts: &self.facts, log: &mut self.log, who: self.here };
            race.step(&mut cx, warp, cta, op, (mask, good), accesses);
        }
        good
    }
    /// Marks the results of some lanes as defined: the cause has been reported already.
    fn define_results(&mut self, launch: &Launch<'_>, lanes: u32) {
        if let Some(init) = &mut self.init {
            let cx = CheckContext { launch, facts: &self.facts, log: &mut self.log, who: self.here };
            init.define_results(&cx, lanes);
        }
    }
    /// A barrier of a CTA is complete, and the lanes that wait at it are about to continue.
    pub fn barrier_complete(&mut self, launch: &Launch<'_>, cta: u64, id: usize, warps: &[Warp]) {
        if let Some(barriers) = &mut self.barriers {
            barriers.barrier_complete(launch, &mut self.log, cta, id, warps);
        }
        if let Some(async_work) = &mut self.async_work {
            for w in warps {
                let mut lanes = 0;
                each(w.at_barrier, |l| lanes |= u32::from(usize::from(w.barrier_id[l]) == id) << l);
                async_work.passed_barrier(WarpStep { cta, warp: w.index, lanes, ..WarpStep::default() });
            }
        }
        if let Some(race) = &mut self.race {
            race.barrier_complete(cta, id, warps);
        }
    }
    /// Asynchronous copies in flight may change memory without a step.
    pub fn memory_may_change(&mut self) {
        if let Some(polling) = &mut self.polling {
            polling.changed();
        }
    }
    /// The waiting threads, if all threads of these CTAs wait or poll forever. `grid`: these are all CTAs of
    /// the grid.
    pub fn polling_deadlock(
        &self,
        launch: &Launch<'_>,
        parts: &[PausedCta<'_>],
        grid: bool,
    ) -> Option<Vec<WaitingLanes>> {
        self.polling.as_ref().and_then(|polling| polling.deadlock(launch, parts, grid))
    }
    /// Reports that no thread of `whole` can continue.
    pub fn report_deadlock(&mut self, launch: &Launch<'_>, whole: &str, waiting: &[WaitingLanes]) {
        if let Some(barriers) = &self.barriers {
            barriers.report_deadlock(launch, &mut self.log, whole, waiting);
        }
    }
    fn bounds(&mut self, warp: &Warp, launch: &Launch<'_>, cta: &CtaState, t: &WarpAccess) -> u32 {
        let r = visible_memory(launch, cta, &warp.local);
        let bad = t.faulting_lanes(&r, &mut warp.allocation_hint.clone());
        let outside = self.blocks.outside_blocks(t, t.lanes & !bad);
        if bad | outside != 0 {
            let planes = &warp.planes;
            bounds::report(launch, &mut self.log, &self.blocks, planes, t, bad, outside, self.here);
        }
        // An access to the heap outside every block has memory, so the lane may run it.
        bad
    }
    /// Checks a step before the lanes `m` of `mask` run it; returns the lanes that may run it.
    ///
    /// The other lanes have done something wrong. Their results are 0 and their stores do nothing.
    pub fn before_step(
        &mut self,
        warp: &mut Warp,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        pc: u32,
        mask: u32,
        m: u32,
    ) -> u32 {
        let op = &launch.code.steps[pc as usize].op;
        // For the search for deadlocks alone, such a step matters only as the first one of a block. Most
        // steps are such steps.
        let passive = matches!(op, Op::Alu(..) | Op::Wave(..) | Op::WaveBranch(_) | Op::Bra(_) | Op::Nop);
        if self.only_polls && passive && !launch.loops().begins_block(pc) {
            return m;
        }
        self.here = WarpStep { cta: cta.index, warp: warp.index, lanes: m, upper: 0, step: pc };
        if let Some(polling) = &mut self.polling {
            polling.arrive(launch, warp, WarpStep { lanes: mask, ..self.here });
        }
        let good = match op {
            // An exchange is checked when all its lanes have arrived, by `before_exchange`.
            Op::Exchange(_) => {
                self.step(warp, launch, cta, op, mask, 0);
                if let Some(polling) = &mut self.polling {
                    polling.arrives(self.here, true);
                }
                let (log, here) = (&mut self.log, self.here);
                let named = self
                    .barriers
                    .as_ref()
                    .map_or(m, |barriers| barriers.arrive_exchange(launch, log, warp, here));
                self.define_results(launch, m & !named);
                named
            }
            _ => self.step(warp, launch, cta, op, mask, m),
        };
        if good != m {
            zero_results(warp, launch, op, m & !good);
            warp.count_skipped_bytes(launch, cta, op, m & !good);
        }
        good
    }
    /// Checks an exchange before the lanes `there` do it; returns whether they may.
    pub fn before_exchange(
        &mut self,
        warp: &mut Warp,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        step: u32,
        there: u32,
    ) -> bool {
        let op = &launch.code.steps[step as usize].op;
        self.here = WarpStep { cta: cta.index, warp: warp.index, lanes: there, upper: 0, step };
        let good = self.step(warp, launch, cta, op, 0, there);
        if let Some(barriers) = &self.barriers {
            let lost = barriers.complete_exchange(launch, &mut self.log, warp, self.here);
            self.define_results(launch, lost);
        }
        if good != there {
            zero_results(warp, launch, op, there);
        }
        good == there
    }
}

/// Adds the memory accesses of a step when the lanes `m` run it.
fn add_step_accesses(
    warp: &Warp,
    launch: &Launch<'_>,
    cta: &CtaState,
    op: &Op,
    m: u32,
    out: &mut Vec<WarpAccess>,
) {
    match *op {
        _ if m == 0 => {}
        Op::TensorCopy(i) => {
            let memory = visible_memory(launch, cta, &warp.local);
            out.append(&mut accesses::tiles(warp, &memory, &launch.code.tensors[i as usize], m));
        }
        _ => accesses::add_accesses(warp, launch.code, op, m, out),
    }
}

/// Sets the results of lanes whose access was skipped: 0, or true for a wait.
fn zero_results(warp: &mut Warp, launch: &Launch<'_>, op: &Op, lanes: u32) {
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
