//! Lanes that run a loop in vain: they will never leave it unless another thread writes memory.
//!
//! This is proved: a lane comes to the header of a loop twice with the same registers, and no memory that
//! decides changed in between. Only the registers and loads of the loop's [`Slice`] count, so that a loop may
//! count its iterations, and write memory that no such loop reads. They are compared at some of the visits,
//! at exponentially growing distances.
//!
//! # Invariants
//! - A write that changes memory which a loop reads resets every lane.
//! - A write to such memory that changes nothing brings its operands into the slice of its loop. The loop
//!   then writes the same again and again.
//! - Every looping lane runs a whole cycle after the last memory was found that a loop reads. All writes of
//!   its cycle are therefore seen.
//! - A loop without a slice depends on all registers and on all memory.
//! - A loop with a warp exchange also depends on the other lanes. It is in vain only if the whole warp
//!   repeats its state in one step.
//! - Waiting lanes count as stuck only if they wait while every looping lane runs a whole cycle.
//!
//! # Limitations
//! These loops are not recognised: a loop whose exit depends on a counter or a clock, or that uses a barrier
//! with a reduction; a loop that writes to a new address, or changes an mbarrier, in each iteration; a loop
//! with a call that counts or changes memory; and loops with exchanges in warps whose lanes have diverged.

use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;

use prlx_isa::view::FuncId;
use prlx_trace::check::Space;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::code::{Atomic, Builtin, Callee, MatrixOp, MbarrierKind, MemAccess, Op, Plane, Rmw, WarpOpKind};
use crate::exec::cta_state::CtaState;
use crate::exec::deadlock::{self, PausedCta, WaitingLanes};
use crate::exec::launch::Launch;
use crate::exec::loops::{Operands, Slice};
use crate::exec::spin::{self, LoopReads, PollTarget};
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::Region;
use crate::mem::access::{self, each};
use prlx_lanes::{LANES, Planes};

use crate::check::accesses::{self, WarpAccess};
use crate::check::findings::WarpStep;

/// Iterations after which the registers of a lane are compared.
const FIRST_VISITS: u32 = 64;

/// The most words of memory that loops read which are kept. A loop that reads more does not poll.
const MOST_POLLED: usize = 1 << 16;

/// A lane in a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// The number of changes of memory at the first iteration.
    changes: u64,
    /// Iterations since memory changed.
    times: u32,
    /// A hash of the registers at an earlier iteration; 0: none.
    before: u64,
    /// When that was, and whether the lane has done a warp exchange since.
    since: u64,
    exchanged: bool,
    /// When the registers were equal again the last two times, the later one last; 0: not yet.
    again: [u64; 2],
    /// Whether it has read global memory.
    global: bool,
}

/// The lanes of a warp in a loop.
#[derive(Debug)]
struct LoopLanes {
    /// Number of the loop.
    number: u32,
    /// The function of the loop.
    func: FuncId,
    /// The lanes that are in the loop.
    lanes: u32,
    cycles: Box<[Cycle; LANES]>,
    /// By step that reads what decides: the lanes that have run it.
    ran: Vec<(u32, u32)>,
}

/// The loops that the lanes of a warp are in.
#[derive(Debug, Default)]
struct WarpLoops {
    loops: Vec<LoopLanes>,
    /// When each lane last arrived at a barrier or an exchange.
    arrived: [u64; LANES],
}

/// The loops of the lanes of running CTAs.
#[derive(Debug, Default)]
pub struct Polling {
    /// By CTA and warp.
    warps: FxHashMap<(u64, u32), WarpLoops>,
    /// By loop: its slice.
    slices: FxHashMap<u32, Slice>,
    /// By step: writes to memory that loops read, with the operands that belong to the slices of their loops.
    values: FxHashMap<u32, Operands>,
    /// The words of memory that slices read: the region, and a number of four bytes in it.
    polled: FxHashSet<(usize, u64)>,
    /// When the last one was added.
    last_polled: u64,
    /// How often memory that loops read was changed.
    changes: u64,
    /// How often any memory was changed, and when last.
    all_changes: u64,
    last_change: u64,
    /// Iterations, arrivals and changes so far.
    now: u64,
    /// The 64-bit planes in which a recording plan counts iterations. They are no registers of the kernel.
    counters: Vec<bool>,
}

impl Polling {
    /// The loops of a launch before its first step.
    pub fn new(launch: &Launch<'_>) -> Polling {
        let mut counters = vec![false; usize::from(launch.code.planes.1)];
        for &(first, n) in launch.code.hooks.iter().map(|hook| &hook.counters) {
            counters.iter_mut().skip(usize::from(first)).take(usize::from(n)).for_each(|c| *c = true);
        }
        Polling { counters, ..Polling::default() }
    }
    /// Lanes come to a step, whether or not its guard holds.
    pub fn arrive(&mut self, launch: &Launch<'_>, warp: &Warp, here: WarpStep) {
        let loops = launch.loops();
        if !loops.begins_block(here.step) {
            return;
        }
        if let Some(w) = self.warps.get_mut(&(here.cta, here.warp)) {
            let func = function(launch, here.step);
            w.leave(here.lanes, |l| l.func == func && !loops.contains(l.number, here.step));
        }
        let header = |l: &u32| loops.all.get(*l as usize).is_some_and(|l| l.header == here.step);
        if let Some(l) = loops.innermost(here.step).filter(header) {
            self.iteration(launch, warp, here, l);
        }
    }
    /// Lanes are about to run a step.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let code = launch.code;
        let op = code.steps[here.step as usize].op;
        if !accesses.is_empty() {
            self.reads(launch, warp, cta, accesses, here);
        }
        match (op, accesses) {
            (Op::Ret, _) => {
                let func = function(launch, here.step);
                if let Some(w) = self.warps.get_mut(&(here.cta, here.warp)) {
                    w.leave(here.lanes, |l| l.func == func);
                }
            }
            // `malloc` and `free` change what others get.
            (Op::Call(i), _)
                if matches!(
                    code.calls[i as usize].callee,
                    Callee::Builtin(Builtin::Malloc | Builtin::Free)
                ) =>
            {
                self.changed();
            }
            (Op::Barrier(i), _) => {
                if code.barriers[i as usize].reduces() {
                    self.changed();
                }
                self.arrives(here, false);
            }
            (Op::Atom(i), [t]) => {
                let atom = &code.atoms[i as usize];
                self.writes(launch, warp, cta, t, here, |region, at, l| {
                    update(&warp.planes, atom, region, at, l)
                });
            }
            (Op::St(i), [t]) => {
                let mem = &code.mems[i as usize];
                self.writes(launch, warp, cta, t, here, |region, at, l| {
                    match store_changes_memory(&warp.planes, mem, region, at, l) {
                        true => Write::Changes,
                        false => Write::Keeps(Operands::All),
                    }
                });
            }
            (Op::Mbarrier(i), _) if matches!(code.mbarriers[i as usize].kind, MbarrierKind::Test { .. }) => {}
            (Op::Exchange(i), _) => match code.warp_ops[i as usize].kind {
                WarpOpKind::Matrix(m) => {
                    if matches!(code.matrix[m as usize], MatrixOp::Store { .. } | MatrixOp::Tile(_)) {
                        self.changed();
                    }
                }
                WarpOpKind::Tensor(_) => self.changed(),
                _ => {}
            },
            (
                Op::St(_)
                | Op::Atom(_)
                | Op::Mbarrier(_)
                | Op::LaneCopy(_)
                | Op::LaneCopyWait(_)
                | Op::BulkCopy(_)
                | Op::BulkWait(..)
                | Op::TensorCopy(_)
                | Op::TensorMap(_)
                | Op::AsyncStore(_)
                | Op::Tensor(_),
                _,
            ) => self.changed(),
            _ => {}
        }
    }
    /// How often any memory has changed.
    pub fn memory_changes(&self) -> u64 {
        self.all_changes
    }
    /// Any memory is about to change, or may have.
    pub fn changed(&mut self) {
        self.count_change();
        self.restart();
    }
    /// Counts a change of memory, which loops with a slice need not read.
    fn count_change(&mut self) {
        self.now += 1;
        self.all_changes += 1;
        self.last_change = self.now;
    }
    /// Forgets what was proved of loops with a slice.
    fn restart(&mut self) {
        self.changes += 1;
        self.polled.clear();
    }
    /// Lanes arrive at a barrier or at a warp exchange.
    pub fn arrives(&mut self, here: WarpStep, exchange: bool) {
        self.now += 1;
        let warp = self.warps.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            warp.arrived[l] = self.now;
            warp.loops.iter_mut().for_each(|of| of.cycles[l].exchanged |= exchange);
        });
    }
    /// Lanes come to the header of a loop.
    fn iteration(&mut self, launch: &Launch<'_>, warp: &Warp, here: WarpStep, number: u32) {
        self.now += 1;
        let slice = slice(&mut self.slices, &self.values, launch, number);
        if slice.unstable {
            return;
        }
        let (changes, since) = match slice.registers {
            Some(_) => (self.changes, self.last_polled),
            None => (self.all_changes, 0),
        };
        let of = self.warps.entry((here.cta, here.warp)).or_default();
        let of = of.enter(number, function(launch, here.step), here.lanes);
        let mut equal = 0u32;
        each(here.lanes, |l| {
            let c = &mut of.cycles[l];
            if c.changes != changes {
                *c = Cycle { changes, ..Cycle::default() };
            }
            c.times = c.times.saturating_add(1);
            let base = 1 << c.times.ilog2();
            // A cycle that was found counts only if the lane runs it once more after the last word was found.
            let repeat = c.again[1] != 0 && c.again[0] < since;
            if c.times < FIRST_VISITS || c.times - base > FIRST_VISITS + base / 8 && !repeat {
                return;
            }
            let registers = registers(warp, slice, &self.counters, l, number);
            if c.times == base && c.again[1] == 0 {
                (c.before, c.since, c.exchanged) = (registers, self.now, false);
            } else if c.before == registers {
                equal |= 1 << l;
            }
        });
        let first = of.cycles[equal.trailing_zeros() as usize & 31].since;
        let mut whole = equal == warp.alive;
        each(equal, |l| whole &= of.cycles[l].since == first);
        each(equal, |l| {
            let c = &mut of.cycles[l];
            if !c.exchanged || whole {
                c.again = [c.again[1], self.now];
            }
        });
    }
    /// Lanes are about to access memory: notes what the slices of their loops read.
    fn reads(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let Some(of) = self.warps.get_mut(&(here.cta, here.warp)) else { return };
        let r = visible_memory(launch, cta, &warp.local);
        let before = self.polled.len();
        for of in &mut of.loops {
            let Some(slice) = self.slices.get(&of.number) else { continue };
            if !slice.decides(here.step) {
                continue;
            }
            match of.ran.iter_mut().find(|(step, _)| *step == here.step) {
                Some((_, ran)) => *ran |= here.lanes,
                None => of.ran.push((here.step, here.lanes)),
            }
            let mut last = None;
            each(here.lanes & of.lanes, |l| {
                let c = &mut of.cycles[l];
                // What a whole cycle reads is known.
                if c.times < FIRST_VISITS || c.again[0] != 0 && c.changes == self.changes {
                    return;
                }
                for t in accesses {
                    c.global |= accesses::space(t.space, t.addr.0[l]) == Space::Global;
                    if slice.registers.is_some()
                        && let Some((region, at)) = t.at(&r, l)
                    {
                        let read = (identity(region), words(at, t.bytes[l]));
                        if last.as_ref() != Some(&read) {
                            self.polled.extend(read.1.clone().map(|word| (read.0, word)));
                        }
                        last = Some(read);
                    }
                }
            });
        }
        if self.polled.len() > MOST_POLLED {
            self.restart();
        } else if self.polled.len() > before {
            self.now += 1;
            self.last_polled = self.now;
        }
    }
    /// Lanes are about to write memory. `write`: what a lane does to the bytes at a place.
    fn writes(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        t: &WarpAccess,
        here: WarpStep,
        write: impl Fn(&Region, u64, usize) -> Write,
    ) {
        let r = visible_memory(launch, cta, &warp.local);
        let (mut changes, mut changes_polled, mut needs) = (false, false, None);
        let mut hint = 0;
        each(here.lanes, |l| {
            let Some((region, at)) = t.near(&r, l, &mut hint) else { return };
            let polled = !self.polled.is_empty()
                && words(at, t.bytes[l]).any(|word| self.polled.contains(&(identity(region), word)));
            match write(region, at, l) {
                Write::Changes => (changes, changes_polled) = (true, changes_polled || polled),
                Write::Keeps(operands) if polled => needs = needs.max(Some(operands)),
                Write::Keeps(_) => {}
            }
        });
        if changes {
            self.count_change();
        }
        if let Some(operands) = needs
            && self.values.get(&here.step).is_none_or(|had| *had < operands)
        {
            self.values.insert(here.step, operands);
            self.slices.retain(|l, _| !launch.loops().contains(*l, here.step));
            changes_polled = true;
        }
        if changes_polled {
            self.restart();
        }
    }
    /// The waiting threads, if all threads of these CTAs wait or loop forever. `grid`: these are all CTAs of
    /// the grid; otherwise other CTAs may still change global memory.
    pub fn deadlock(
        &self,
        launch: &Launch<'_>,
        parts: &[PausedCta<'_>],
        grid: bool,
    ) -> Option<Vec<WaitingLanes>> {
        let mut loops = Vec::new();
        let mut first = u64::MAX;
        let mut last_arrival = 0;
        for part in parts {
            let engines = part.state.transfers.is_empty() && part.state.tensor_work.is_empty();
            if !engines || part.warps.iter().any(|w| w.copies.any()) {
                return None;
            }
            for w in part.warps.iter().filter(|w| w.alive != 0) {
                let Some(of) = self.warps.get(&(part.state.index, w.index)) else {
                    if w.ready() != 0 {
                        return None;
                    }
                    continue;
                };
                let ready = w.ready();
                let (mut in_vain, mut arrival, mut global) = (0, 0, false);
                each(w.alive, |l| match self.proved(of, l) {
                    Some((of, c)) => {
                        in_vain |= 1 << l;
                        first = first.min(c.again[0]);
                        global |= c.global;
                        loops.push((part, w, l, of));
                    }
                    None => arrival = arrival.max(of.arrived[l]),
                });
                if ready & !in_vain != 0 || global && !grid {
                    return None;
                }
                last_arrival = last_arrival.max(arrival);
            }
        }
        let whole = |of: &LoopLanes| self.slices.get(&of.number).is_none_or(|s| s.registers.is_none());
        let change = if loops.iter().any(|(.., of)| whole(of)) { self.last_change } else { 0 };
        let ready = |w: &Warp, l: usize| w.ready() >> l & 1 == 1;
        if !loops.iter().any(|(_, w, l, _)| ready(w, *l))
            || last_arrival.max(self.last_polled).max(change) > first
        {
            return None;
        }
        let mut all = deadlock::waiting(launch, parts);
        // Lanes that can run come first. One that waits at a barrier in its loop is shown if it polls global
        // memory for the others.
        loops.sort_by_key(|(_, w, l, _)| !ready(w, *l));
        let mut shown = FxHashSet::default();
        let polled = |(part, w, l, of): &(&PausedCta<'_>, &Warp, usize, &LoopLanes)| {
            let ran = |step: u32| of.ran.iter().any(|(s, lanes)| *s == step && lanes >> l & 1 == 1);
            spin::reads(launch, part.state, w, of.number, &ran, *l)
        };
        let polled: Vec<LoopReads> = loops.iter().map(polled).collect();
        // A loop beside one that waits can get what that one reads.
        let endless = polled.iter().all(|polled| polled.what.endless());
        for ((part, w, l, _), polled) in loops.into_iter().zip(polled) {
            let global = matches!(polled.what, PollTarget::Memory { space: Space::Global, .. });
            if ready(w, l) || global && !shown.contains(&polled.step) {
                let doing = (polled.what.doing(launch, endless), endless);
                deadlock::add(&mut all, (part.state.index, w.index, l), polled.step, doing);
                shown.insert(polled.step);
            }
        }
        all.sort_by_key(|w| (w.cta, w.warp));
        Some(all)
    }
    /// The loop that a lane runs in vain, and the proof.
    fn proved<'a>(&self, of: &'a WarpLoops, l: usize) -> Option<(&'a LoopLanes, &'a Cycle)> {
        let of = of.loops.iter().filter(|of| of.lanes >> l & 1 == 1);
        let proved = of.filter(|of| {
            let c = &of.cycles[l];
            self.slices.get(&of.number).is_some_and(|slice| {
                let changes = if slice.registers.is_some() { self.changes } else { self.all_changes };
                c.again[0] != 0 && c.changes == changes
            })
        });
        proved.map(|of| (of, &of.cycles[l])).max_by_key(|(_, c)| c.again[0])
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.warps.retain(|k, _| k.0 != cta);
    }
}

impl WarpLoops {
    /// The loop `number`, which these lanes are in from now on.
    fn enter(&mut self, number: u32, func: FuncId, lanes: u32) -> &mut LoopLanes {
        let at = self.loops.iter().position(|of| of.number == number).unwrap_or_else(|| {
            self.loops.push(LoopLanes { number, func, lanes: 0, cycles: Box::default(), ran: Vec::new() });
            self.loops.len() - 1
        });
        let of = &mut self.loops[at];
        let new = lanes & !of.lanes;
        each(new, |l| of.cycles[l] = Cycle::default());
        if new != 0 {
            of.ran.iter_mut().for_each(|(_, ran)| *ran &= !new);
        }
        of.lanes |= lanes;
        of
    }
    /// Lanes are in no such loop any more.
    fn leave(&mut self, lanes: u32, from: impl Fn(&LoopLanes) -> bool) {
        self.loops.retain_mut(|of| {
            if of.lanes & lanes != 0 && from(of) {
                of.lanes &= !lanes;
            }
            of.lanes != 0
        });
    }
}

/// What a lane does to memory.
enum Write {
    /// It changes the memory, or may.
    Changes,
    /// It writes what is there. With the same operands it does so again.
    Keeps(Operands),
}

/// The function of a step.
fn function(launch: &Launch<'_>, step: u32) -> FuncId {
    launch.code.origin.get(step as usize).map(|o| o.0).unwrap_or_default()
}

/// The slice of a loop.
fn slice<'a>(
    slices: &'a mut FxHashMap<u32, Slice>,
    values: &FxHashMap<u32, Operands>,
    launch: &Launch<'_>,
    l: u32,
) -> &'a Slice {
    slices.entry(l).or_insert_with(|| launch.loops().slice(launch.code, launch.module, l, values))
}

/// What tells regions of memory apart.
fn identity(region: &Region) -> usize {
    std::ptr::from_ref(region) as usize
}

/// The numbers of the words of four bytes that an access touches.
fn words(at: u64, bytes: u32) -> RangeInclusive<u64> {
    at / 4..=at.saturating_add(u64::from(bytes).saturating_sub(1)) / 4
}

/// Whether the store of a lane changes memory.
fn store_changes_memory(planes: &Planes, mem: &MemAccess, region: &Region, at: u64, l: usize) -> bool {
    mem.planes.iter().enumerate().any(|(k, &plane)| {
        let keep = u64::MAX >> (64 - 8 * u32::from(mem.size.clamp(1, 8)));
        let at = at + k as u64 * u64::from(mem.size);
        matches!(plane, Plane::W128(_)) || region.load(at, mem.size) != access::value(planes, plane, l) & keep
    })
}

/// What the atomic of a lane does to memory.
fn update(planes: &Planes, atom: &Atomic, region: &Region, at: u64, l: usize) -> Write {
    let [value] = atom.values[..] else { return Write::Changes };
    if matches!(value, Plane::W128(_)) {
        return Write::Changes;
    }
    let size = atom.mem.size;
    let old = region.load(at, size);
    let value = access::value(planes, value, l);
    let swap = atom.swap.map_or(0, |s| access::value(planes, s, l));
    let keep = u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)));
    match access::rmw(atom.rmw, size, old, value, swap) == old {
        false => Write::Changes,
        true if atom.rmw == Rmw::Cas && value & keep != old & keep => Write::Keeps(Operands::Compared),
        true => Write::Keeps(Operands::All),
    }
}

/// A hash of the state that decides what a lane does next; never 0.
fn registers(warp: &Warp, slice: &Slice, counters: &[bool], l: usize, number: u32) -> u64 {
    let mut h = FxHasher::default();
    let planes = &warp.planes;
    let carry = planes.carry >> l & 1;
    match &slice.registers {
        Some(of) => {
            (number, of.carry && carry == 1).hash(&mut h);
            of.w32.iter().filter_map(|p| planes.w32.get(usize::from(*p))).for_each(|p| h.write_u32(p.0[l]));
            of.w64.iter().filter_map(|p| planes.w64.get(usize::from(*p))).for_each(|p| h.write_u64(p.0[l]));
            let pred = of.pred.iter().filter_map(|p| planes.pred.get(usize::from(*p)));
            pred.for_each(|p| h.write_u32(p >> l & 1));
        }
        None => {
            (number, warp.frames[l].len(), warp.stack_pointer[l], warp.alloca_bytes[l], carry).hash(&mut h);
            planes.w32.iter().for_each(|p| h.write_u32(p.0[l]));
            for (p, counter) in planes.w64.iter().zip(counters) {
                h.write_u64(if *counter { 0 } else { p.0[l] });
            }
            planes.pred.iter().for_each(|p| h.write_u32(p >> l & 1));
        }
    }
    h.finish() | 1
}
