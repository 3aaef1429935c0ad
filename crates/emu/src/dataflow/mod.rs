//! Records the data flow of a launch: every instruction that each warp executes, with the values of its
//! results and the addresses of its memory accesses.
//!
//! The checker calls the recorder before each step. The results of a step are known only after it, so the
//! last visit of each warp is pending until the warp's next instruction, or the end of its CTA.
//!
//! # Invariants
//! - Recording changes nothing in what the kernel does.
//! - Over the limit of memory recording stops, and [`DataFlow::complete`] is false.
//! - A write of global memory is either in a recorded visit or in [`DataFlow::unrecorded`], up to the limit.
//! - A CTA of a complete launch that is not in [`Survey::dependent`] does the same in a launch in which other
//!   clusters do not run, under seed 0.
//!
//! # Limitations
//! Products of `wgmma` are read when the warp waits for them: of several products into the same registers,
//! each shows the last sum.

mod amd;
mod instructions;
mod lane_words;
mod live_ranges;
mod reader;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use prlx_lanes::LANES;

use prlx_trace::check::Space;
use prlx_trace::dataflow::{Access, AccessKind, CtaWrites, DataFlow, Survey, Visit, WarpFlow};

use crate::check::accesses::{self, WarpAccess};
use crate::check::findings::{self, shared_variables};
use crate::code::{AddrSpace, Builtin, Callee, Op};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;

use results::ResultPlane;

/// The most warps of a launch whose data flow is recorded.
const MAX_WARPS: u64 = 1 << 24;

/// Bytes that notes on writes whose visits are not recorded may take.
const NOTED_BYTES: u64 = 1 << 30;

/// What to record of a launch's data flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRequest {
    /// Bytes that it may take.
    pub bytes: u64,
    /// The CTAs whose visits are recorded; `None`: all.
    pub ctas: Option<BTreeSet<u64>>,
    /// What becomes of visits that are not recorded.
    pub others: Others,
}

/// What becomes of visits that are not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Others {
    /// What they write to global memory is noted.
    #[default]
    Noted,
    /// The same, and which CTAs depend on others. A recording over the limit is dropped.
    Surveyed,
    /// Clusters without a chosen CTA do not run. For CTAs that depend on no others, in launches with seed 0
    /// and without launches before.
    Skipped,
}

/// The visits of a warp whose results are not known yet.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// The last visit.
    last: Option<u32>,
    /// Visits that began products of `wgmma`, which the warp has not waited for.
    products: Vec<u32>,
}

/// Where the data flow of a warp, or of a half of one, is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The warp in the grid.
    warp: usize,
    /// Its entry among those whose results are pending.
    half: usize,
    /// The lane of the warp that is the first here.
    first: usize,
    /// Whether the step continues the access of the step before.
    continues: bool,
}

/// Records the data flow of a launch.
#[derive(Debug)]
pub struct FlowRecorder {
    flow: DataFlow,
    /// By step: its instruction; `u32::MAX` for a step around an instruction.
    steps: Vec<u32>,
    /// By step: whether it belongs to the visit of the step before.
    continues: Vec<bool>,
    /// By instruction: the planes of its results.
    results: Vec<Vec<ResultPlane>>,
    /// By instruction: whether it is the first of two operations that are one step.
    pairs: Vec<bool>,
    /// Whether the registers are the hardware's.
    hardware: bool,
    /// By warp, or by half of a warp.
    pending: Vec<Pending>,
    /// Halves of a warp ([`Launch::halves`]).
    halves: usize,
    order: u64,
    bytes: u64,
    /// Visits of a survey, recorded or not.
    visits: u64,
    /// Visits of a survey whose recording was dropped.
    dropped: u64,
    survey: Option<Survey>,
    request: FlowRequest,
}

impl FlowRecorder {
    /// A recorder of what is asked for.
    pub fn new(launch: &Launch<'_>, request: FlowRequest) -> FlowRecorder {
        let table = instructions::table(launch);
        let function = launch.module.functions.get(launch.code.kernel.index());
        let mut params = vec![0; launch.params.len() as usize];
        launch.params.read(0, &mut params);
        let buffers = launch
            .memory
            .all()
            .flat_map(|a| std::iter::once(findings::buffer(a)).chain(findings::variables(a)));
        let complete = launch.config.grid.volume().saturating_mul(launch.warps.into()) <= MAX_WARPS;
        let flow = DataFlow {
            kernel: launch.code.name.clone(),
            grid: launch.config.grid,
            block: launch.config.block,
            warps_per_cta: (launch.warps / launch.halves()).into(),
            warp_size: launch.warp_size,
            params: function.map_or_else(Vec::new, |f| prlx_plan::kernel_params(launch.module, f)),
            param_bytes: params,
            buffers: buffers.collect(),
            arrays: BTreeMap::new(),
            shared: shared_variables(launch),
            registers: table.registers,
            instructions: table.instructions,
            warps: Vec::new(),
            complete,
            unrecorded: CtaWrites::default(),
            survey: None,
        };
        FlowRecorder {
            flow,
            steps: table.steps,
            continues: table.continues,
            results: table.results,
            pairs: table.pairs,
            hardware: launch.code.exec.is_some(),
            pending: Vec::new(),
            halves: launch.halves() as usize,
            order: 0,
            bytes: 0,
            visits: 0,
            dropped: 0,
            survey: (request.others == Others::Surveyed && complete).then(Survey::default),
            request,
        }
    }
    /// What was recorded of the launch.
    pub fn finish(mut self) -> DataFlow {
        if self.hardware {
            live_ranges::split(&mut self.flow);
            lane_words::find(&mut self.flow);
        }
        match self.flow.complete {
            true if self.survey.is_some() => self.flow.unrecorded = CtaWrites::default(),
            true => {}
            false => self.flow.survey = self.survey,
        }
        self.flow
    }
    /// A warp is about to run a step: the lanes `group` came to it, and `lanes` of them run it, with these
    /// accesses.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        warp: &Warp,
        step: u32,
        [group, lanes]: [u32; 2],
        accesses: &[WarpAccess],
    ) {
        let instruction = self.steps.get(step as usize).copied().unwrap_or(u32::MAX);
        if instruction == u32::MAX {
            return;
        }
        if self.survey.is_some() {
            self.look_at(launch, cta, step, accesses);
        }
        let chosen = self.request.ctas.as_ref().is_none_or(|ctas| ctas.contains(&cta.index));
        if !self.flow.complete || !chosen {
            self.note_writes(cta, accesses);
            return;
        }
        let mut at = self.place(cta, warp);
        if at.warp >= self.flow.warps.len() {
            self.flow.warps.resize_with(at.warp + 1, WarpFlow::default);
            self.pending.resize_with((at.warp + 1) * self.halves, Pending::default);
        }
        let continued =
            self.pending[at.half].last.filter(|_| self.continues.get(step as usize) == Some(&true));
        at.continues = continued.is_some();
        let visit = match continued {
            Some(visit) => visit,
            None => {
                self.settle(warp, at);
                let flow = &self.flow.warps[at.warp];
                let (visit, Ok(values)) = (flow.visits.len() as u32, u32::try_from(flow.values.len())) else {
                    return;
                };
                let order = match launch.code.steps[step as usize].op {
                    Op::Ld(_) | Op::St(_) | Op::Atom(_) => self.order,
                    _ if self.other_half(instruction, at) => self.order.saturating_sub(1),
                    _ => self.order,
                };
                for instruction in instruction..=self.last_operation(instruction) {
                    self.flow.warps[at.warp].visits.push(Visit {
                        order,
                        instruction,
                        group: u64::from(group) << at.first,
                        lanes: u64::from(lanes) << at.first,
                        values,
                        uniform: 0,
                    });
                    self.bytes += size_of::<Visit>() as u64;
                }
                self.order = order + 1;
                self.pending[at.half].last = Some(visit);
                visit
            }
        };
        accesses.iter().for_each(|access| self.access(launch, cta, warp, at, visit, access));
        if self.bytes > self.request.bytes || flow_is_full(&self.flow.warps[at.warp]) {
            self.flow.complete = false;
            if self.survey.is_some() {
                self.drop_visits();
            }
        }
    }
    /// Drops what was recorded. Its writes are noted already.
    fn drop_visits(&mut self) {
        (self.flow.warps, self.pending) = (Vec::new(), Vec::new());
        self.dropped = self.visits;
    }
    /// Notes what a survey asks for of a step.
    fn look_at(&mut self, launch: &Launch<'_>, cta: &CtaState, step: u32, accesses: &[WarpAccess]) {
        self.visits += 1;
        let Some(survey) = &mut self.survey else { return };
        if !self.flow.complete {
            survey.bytes = (self.bytes / self.dropped.max(1)).saturating_mul(self.visits);
        }
        if let Op::Call(i) = launch.code.steps[step as usize].op
            && matches!(
                launch.code.calls[i as usize].callee,
                Callee::Builtin(Builtin::Malloc | Builtin::Free)
            )
        {
            survey.dependent.insert(cta.index);
        }
        let mut depends = launch.cluster.volume() > 1;
        for t in accesses.iter().filter(|t| t.kind != accesses::AccessKind::Write) {
            each_global(t, |at, bytes| {
                depends |= self.flow.unrecorded.by_others(at, bytes, cta.index);
            });
        }
        if depends {
            survey.dependent.insert(cta.index);
        }
        if self.flow.complete {
            self.note_writes(cta, accesses);
        }
    }
    /// Notes what a step writes to global memory.
    fn note_writes(&mut self, cta: &CtaState, accesses: &[WarpAccess]) {
        for t in accesses.iter().filter(|t| t.kind != accesses::AccessKind::Read) {
            if self.flow.unrecorded.bytes() > NOTED_BYTES {
                self.survey = None;
                return;
            }
            each_global(t, |at, bytes| self.flow.unrecorded.add(at, bytes, cta.index));
        }
    }
    /// A CTA has ended: its last results are known.
    pub fn end(&mut self, cta: &CtaState, warps: &[Warp]) {
        for warp in warps {
            let at = self.place(cta, warp);
            if at.warp < self.flow.warps.len() {
                self.settle(warp, at);
            }
        }
    }
    /// The last operation of the step whose first one is `instruction`.
    fn last_operation(&self, instruction: u32) -> u32 {
        instruction + u32::from(self.pairs[instruction as usize])
    }
    /// Whether the visit before is one of the same instruction by the other half of the warp. All lanes read
    /// their operands before one writes.
    fn other_half(&self, instruction: u32, at: Place) -> bool {
        let last = self.flow.warps[at.warp].visits.last();
        last.is_some_and(|v| {
            let own = v.group >> at.first << (u64::BITS as usize - LANES);
            self.halves > 1
                && v.order + 1 == self.order
                && v.instruction == self.last_operation(instruction)
                && own == 0
        })
    }
    /// Where the data flow of a warp, or of a half of one, is.
    fn place(&self, cta: &CtaState, warp: &Warp) -> Place {
        let (index, halves) = (warp.index as usize, self.halves);
        let ctas = cta.index as usize * self.flow.warps_per_cta as usize;
        Place {
            warp: ctas + index / halves,
            half: ctas * halves + index,
            first: index % halves * LANES,
            continues: false,
        }
    }
    /// Reads the results of a warp's last visit.
    fn settle(&mut self, warp: &Warp, at: Place) {
        let Some(visit) = self.pending[at.half].last.take() else { return };
        let instruction = self.flow.warps[at.warp].visits[visit as usize].instruction;
        let opcode = &self.flow.instructions[instruction as usize].opcode;
        if opcode.starts_with("wgmma.mma_async") {
            self.pending[at.half].products.push(visit);
            return;
        }
        let mut visits: Vec<u32> =
            (visit..).take(1 + usize::from(self.pairs[instruction as usize])).collect();
        if opcode.starts_with("wgmma.wait_group") {
            visits.append(&mut self.pending[at.half].products);
        }
        for visit in visits {
            self.read_results(warp, at, visit);
        }
    }
    fn read_results(&mut self, warp: &Warp, at: Place, visit: u32) {
        let flow = &mut self.flow.warps[at.warp];
        let Some(v) = flow.visits.get_mut(visit as usize) else { return };
        let Ok(first) = u32::try_from(flow.values.len()) else { return };
        (v.values, v.uniform) = (first, 0);
        let lanes = (v.lanes >> at.first) as u32;
        if lanes == 0 {
            return;
        }
        for (n, result) in self.results[v.instruction as usize].iter().enumerate() {
            let values = result.values(&warp.planes);
            let first = values[lanes.trailing_zeros() as usize];
            let mut uniform = n < 32;
            each(lanes, |l| uniform &= values[l] == first);
            match uniform {
                true => {
                    v.uniform |= 1 << n;
                    flow.values.push(first);
                }
                false if lanes == u32::MAX => flow.values.extend_from_slice(&values),
                false => each(lanes, |l| flow.values.push(values[l])),
            }
        }
        self.bytes += 8 * (flow.values.len() as u64 - u64::from(first));
    }
    fn access(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        warp: &Warp,
        at: Place,
        visit: u32,
        t: &WarpAccess,
    ) {
        let threads = launch.config.block.volume();
        // Lanes that access the same memory with the same width are one access.
        let mut rest = t.lanes;
        while rest != 0 {
            let key = |l: usize| {
                let space = accesses::space(t.space, t.addr.0[l]);
                let owner = match space {
                    Space::Shared => accesses::owner(launch, cta, t, l),
                    _ => 0,
                };
                (space, owner, t.bytes[l])
            };
            let (space, owner, bytes) = key(rest.trailing_zeros() as usize);
            let mut lanes = 0;
            each(rest, |l| lanes |= u32::from(key(l) == (space, owner, bytes)) << l);
            rest &= !lanes;
            let first = lanes.trailing_zeros();
            let owner = match space {
                Space::Local => {
                    let thread = u64::from(warp.index) * LANES as u64 + u64::from(first);
                    cta.index * threads + thread
                }
                _ => owner,
            };
            let kind = match t.kind {
                accesses::AccessKind::Read => AccessKind::Read,
                accesses::AccessKind::Write => AccessKind::Write,
                accesses::AccessKind::Update => AccessKind::Update,
            };
            let flow = &mut self.flow.warps[at.warp];
            let Ok(addresses) = u32::try_from(flow.addresses.len()) else { return };
            let lanes_of_warp = u64::from(lanes) << at.first;
            // The next word of the same access.
            if let Some(last) = flow.accesses.last_mut().filter(|a| {
                at.continues
                    && (a.visit, a.kind, a.space, a.lanes, a.owner)
                        == (visit, kind, space, lanes_of_warp, owner)
            }) {
                let before = flow.addresses.get(last.addresses as usize..).unwrap_or_default();
                let mut follows = before.len() == lanes.count_ones() as usize;
                let mut at_lane = before.iter();
                each(lanes, |l| {
                    let begin = at_lane.next().map(|at| at.wrapping_add(last.bytes.into()));
                    follows &= begin == Some(accesses::within(t.space, t.addr.0[l]));
                });
                if follows {
                    last.bytes += bytes;
                    continue;
                }
            }
            each(lanes, |l| flow.addresses.push(accesses::within(t.space, t.addr.0[l])));
            flow.accesses.push(Access { visit, kind, space, lanes: lanes_of_warp, bytes, owner, addresses });
            self.bytes += size_of::<Access>() as u64 + 8 * u64::from(lanes.count_ones());
        }
    }
}

/// The addresses and widths of the lanes of an access to global memory.
fn each_global(t: &WarpAccess, mut f: impl FnMut(u64, u32)) {
    if matches!(t.space, AddrSpace::Shared | AddrSpace::Cluster | AddrSpace::Local | AddrSpace::Params) {
        return;
    }
    each(t.lanes, |l| {
        if accesses::space(t.space, t.addr.0[l]) == Space::Global {
            f(accesses::within(t.space, t.addr.0[l]), t.bytes[l]);
        }
    });
}

/// Whether indices of 32 bits do not reach further.
fn flow_is_full(flow: &WarpFlow) -> bool {
    let most = flow.visits.len().max(flow.values.len()).max(flow.addresses.len());
    most as u64 > u64::from(u32::MAX) - 0x1_0000
}
