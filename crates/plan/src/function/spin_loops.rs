//! Finds spin loops: loops in which a thread polls memory, a barrier or the clock until something changes.
//!
//! A spin loop polls, has no visible effect, and carries nothing from one iteration to the next. Each
//! iteration does what the one before did, so only other threads, or time, can end it. The number of
//! iterations, and every value polled but the last, depend on timing and do not repeat. The last value goes
//! on into decisions and stores.
//!
//! A poll is a load, a test of an mbarrier's phase, a read of the clock, or an atomic that changes nothing as
//! long as the loop goes on: a compare-and-swap, an exchange of constants, an addition of 0. Compilers pass
//! what one thread polled to the others through shared memory (Triton does), so stores to shared memory and
//! barriers are no visible effect either.
//!
//! A loop around spin loops that has no effect either, and whose condition depends on what they polled, spins
//! as well. An example is the look-back of a prefix sum: how far it looks back depends on which CTA came
//! first.
//!
//! # Limitations
//!
//! - Waits that count their iterations are recognised for level `fingerprint` alone, and only if they ask a
//!   barrier object or the clock. Waits that poll several words in turn are not recognised.

use std::collections::{HashMap, HashSet};

use prlx_isa::cfg::Loop;
use prlx_isa::dataflow::Def;
use prlx_isa::view::{Atomic, BlockId, Class, Effect, Inst, InstId, Operand, Space};

use crate::function::body::{Body, PartEnd, read};
use crate::function::points;

/// The longest chain of instructions that is followed from what a loop counts.
const CHAIN: usize = 16;

/// By part of the body: whether its innermost loop waits.
pub(crate) fn waiting_parts(body: &Body<'_>) -> Vec<bool> {
    by_part(body, &spin_loops(body))
}

/// By part of the body: whether its innermost loop waits, or counts how often it asked while it waits
/// ([`is_counting_wait`]).
pub(crate) fn asking_parts(body: &Body<'_>) -> Vec<bool> {
    let mut asks = spin_loops(body);
    for (l, asks) in asks.iter_mut().enumerate() {
        *asks = *asks || is_counting_wait(body, l);
    }
    by_part(body, &asks)
}

/// What holds of the innermost loop of each part, by loop; `false` outside of loops.
fn by_part(body: &Body<'_>, loops: &[bool]) -> Vec<bool> {
    let holds = |part: usize| body.graph.innermost_loop(BlockId(part as u32)).is_some_and(|l| loops[l]);
    (0..body.parts.len()).map(holds).collect()
}

/// By part of the body: whether its branch goes around a loop that only asks (`asking`, by part), by what it
/// asked itself. Compilers ask once before such a loop.
pub(crate) fn asks_first(body: &Body<'_>, asking: &[bool]) -> Vec<bool> {
    let loops = &body.graph.loops;
    let headers: HashMap<BlockId, usize> = loops.iter().enumerate().map(|(l, of)| (of.header, l)).collect();
    let around = |into: BlockId, past: BlockId| {
        let only = body.parts[into.index()].end.succs();
        let into = if let ([to], false) = (&only[..], headers.contains_key(&into)) { *to } else { into };
        let exits = |l: &usize| loops[*l].exits.iter().any(|(_, to)| *to == past);
        asking[into.index()] && headers.get(&into).is_some_and(exits)
    };
    let first = |end: &PartEnd| match end {
        PartEnd::Branch { taken, other, .. } => around(*taken, *other) || around(*other, *taken),
        _ => false,
    };
    body.parts.iter().map(|part| first(&part.end)).collect()
}

/// Whether a loop asks a barrier object or the clock, has no effect, and is left by the answer alone,
/// whatever it counts: libcu++ sleeps for longer the more often it has asked.
fn is_counting_wait(body: &Body<'_>, l: usize) -> bool {
    let this = &body.graph.loops[l];
    let insts = || this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    let timed = |i: InstId| polls(body.inst(i)) && body.inst(i).class != Class::Load;
    // Most loops ask nothing, which is quickly seen.
    if this.irreducible
        || !insts().any(timed)
        || this.has_inner
        || !insts().all(|i| changes_nothing(body.inst(i)) || timed(i))
    {
        return false;
    }
    // What the loop carries from one iteration to the next, and all that follows from it.
    let mut carried: HashSet<InstId> = insts().filter(|&i| !afresh(body, this, i)).collect();
    for _ in 0..CHAIN {
        let follows = |i: InstId| {
            let inst = body.inst(i);
            let regs = read(inst).into_iter().chain(inst.guard.map(|g| g.reg));
            let mut defs = regs.flat_map(|reg| body.defs(i, reg));
            defs.any(|def| matches!(def, Def::Inst(def) if carried.contains(&def)))
        };
        let more: Vec<InstId> = insts().filter(|i| !carried.contains(i) && follows(*i)).collect();
        if more.is_empty() {
            let leaves = |(from, _): &(BlockId, BlockId)| body.parts[from.index()].insts.clone().next_back();
            return !this.exits.iter().filter_map(leaves).any(|i| carried.contains(&InstId(i)));
        }
        carried.extend(more);
    }
    false
}

/// By loop of the body: whether it waits.
fn spin_loops(body: &Body<'_>) -> Vec<bool> {
    let loops = &body.graph.loops;
    let asks: Vec<bool> = (0..loops.len()).map(|l| is_wait(body, l)).collect();
    let walks: Vec<bool> = (0..loops.len()).map(|l| is_walk(body, l, &asks)).collect();
    let around = |l: usize| std::iter::successors(Some(l), |l| loops[*l].parent);
    (0..loops.len()).map(|l| asks[l] || around(l).any(|l| walks[l])).collect()
}

fn is_wait(body: &Body<'_>, l: usize) -> bool {
    let this = &body.graph.loops[l];
    let insts = || this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    !this.irreducible
        && !this.has_inner
        && insts().any(|i| polls(body.inst(i)))
        && insts().all(|i| {
            let inst = body.inst(i);
            (changes_nothing(inst) || polls(inst) || passes_on(inst)) && afresh(body, this, i)
        })
}

/// Whether an instruction asks for something that other threads or time change.
fn polls(inst: &Inst) -> bool {
    match inst.class {
        Class::Load => points::shared_memory(inst),
        Class::Atomic => {
            let nothing = inst.operands.last() == Some(&Operand::Int(0));
            match inst.semantics.effect {
                Effect::Access(access) => match access.atomic {
                    Some(Atomic::CompareExchange | Atomic::Exchange) => true,
                    Some(Atomic::Add | Atomic::Or) => nothing,
                    _ => false,
                },
                _ => false,
            }
        }
        Class::Move => inst.reads_clock(),
        _ => polls_barrier(inst),
    }
}

/// Whether an instruction may hand a polled value to other threads of the CTA.
fn passes_on(inst: &Inst) -> bool {
    match inst.class {
        Class::Store => inst.space == Space::Shared,
        Class::Sync => matches!(inst.semantics.effect, Effect::Barrier(_)),
        _ => false,
    }
}

/// A decision of a loop that only waits, and the value with which the loop is left.
pub(crate) struct WaitExit {
    /// The decision, an index into the body's decisions.
    pub decision: usize,
    /// Its predicate's value when the lane leaves.
    pub leave: bool,
}

/// The decisions that need no recording because they only say how often a lane waits. `recorded`: whether a
/// decision would be recorded. A loop counts if it has one exit and would record only that decision and
/// what tests of mbarriers answer. A branch around such a loop, by what it polled before, is the loop's
/// first test.
pub(crate) fn wait_exits(body: &Body<'_>, recorded: &dyn Fn(usize) -> bool) -> Vec<WaitExit> {
    let mut out = Vec::new();
    for l in 0..body.graph.loops.len() {
        let Some(mut exits) = wait(body, l, recorded) else { continue };
        exits.extend(first_test(body, l).filter(|exit| recorded(exit.decision)));
        out.append(&mut exits);
    }
    out
}

fn wait(body: &Body<'_>, l: usize, recorded: &dyn Fn(usize) -> bool) -> Option<Vec<WaitExit>> {
    let this = &body.graph.loops[l];
    if !is_wait(body, l) {
        return None;
    }
    let [(from, _)] = this.exits[..] else { return None };
    let (at, exit) = branch_decision(body, from)?;
    if !this.contains(body.part_of(at)) || body.inst(at).guard.is_some() {
        return None;
    }
    let PartEnd::Branch { guard, taken, .. } = body.parts[from.index()].end else { return None };
    // If the guard holds, control goes to `taken`.
    let mut exits = vec![WaitExit { decision: exit, leave: this.contains(taken) == guard.negate }];
    let insts = this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    for (i, &d) in insts.flat_map(|i| body.decided.get(&i).into_iter().flatten().map(move |d| (i, d))) {
        if d == exit || !recorded(d) {
            continue;
        }
        if !polls_barrier(body.inst(i)) || body.inst(i).guard.is_some() {
            return None;
        }
        // The phase is over.
        exits.push(WaitExit { decision: d, leave: true });
    }
    (recorded(exit) || exits.len() > 1).then_some(exits)
}

/// The one instruction that makes the predicate of the branch which ends a part, and that decision.
fn branch_decision(body: &Body<'_>, part: BlockId) -> Option<(InstId, usize)> {
    let part = &body.parts[part.index()];
    let PartEnd::Branch { guard, .. } = part.end else { return None };
    let branch = InstId(part.insts.clone().next_back()?);
    let [Def::Inst(at)] = *body.defs(branch, guard.reg).as_slice() else { return None };
    let decisions = body.decided.get(&at)?;
    let decision = decisions.iter().copied().find(|&d| body.decisions[d].reg == guard.reg)?;
    Some((at, decision))
}

/// The branch of a compiler that polls once before loop `l` and goes around it on success. It compares a
/// value that its own part polled, and either goes to where the loop exits or enters the loop.
fn first_test(body: &Body<'_>, l: usize) -> Option<WaitExit> {
    let this = &body.graph.loops[l];
    let [(_, exit)] = this.exits[..] else { return None };
    let mut entries = body
        .graph
        .order
        .iter()
        .copied()
        .filter(|b| !this.contains(*b) && body.parts[b.index()].end.succs().contains(&this.header));
    let (Some(from), None) = (entries.next(), entries.next()) else { return None };
    let PartEnd::Branch { guard, taken, other } = body.parts[from.index()].end else { return None };
    let around = if taken == this.header { other } else { taken };
    let (at, decision) = branch_decision(body, from)?;
    let inst = body.inst(at);
    let polled = |reg| {
        let defs = body.defs(at, reg);
        matches!(defs[..], [Def::Inst(i)] if body.part_of(i) == from && polls(body.inst(i)))
    };
    let own = body.part_of(at) == from && inst.guard.is_none() && inst.class == Class::Compare;
    (own && around == exit && read(inst).into_iter().any(polled))
        .then_some(WaitExit { decision, leave: (around == taken) != guard.negate })
}

/// Whether loop `l` changes nothing, and is left by a decision that loops inside which ask (`asks`, by loop)
/// were told.
fn is_walk(body: &Body<'_>, l: usize, asks: &[bool]) -> bool {
    let this = &body.graph.loops[l];
    let insts = || this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    if this.irreducible || asks[l] || !insts().all(|i| changes_nothing(body.inst(i))) {
        return false;
    }
    let told = |i: InstId| {
        let inst = body.inst(i);
        let innermost = body.graph.innermost_loop(inst.block);
        inst.class == Class::Load && points::shared_memory(inst) && innermost.is_some_and(|l| asks[l])
    };
    let branches =
        this.exits.iter().filter_map(|(from, _)| body.parts[from.index()].insts.clone().next_back());
    let mut ways: Vec<InstId> =
        branches.map(InstId).filter(|i| body.inst(*i).class == Class::Branch).collect();
    let mut seen: HashSet<InstId> = ways.iter().copied().collect();
    while let Some(at) = ways.pop() {
        if told(at) {
            return true;
        }
        let inst = body.inst(at);
        let regs = read(inst).into_iter().chain(inst.guard.map(|g| g.reg));
        for def in regs.flat_map(|reg| body.defs(at, reg)) {
            if let Def::Inst(def) = def
                && this.contains(body.inst(def).block)
                && seen.insert(def)
            {
                ways.push(def);
            }
        }
    }
    false
}

/// Whether an instruction changes nothing but registers and who goes where.
fn changes_nothing(inst: &Inst) -> bool {
    match inst.class {
        Class::Move
        | Class::Integer
        | Class::Float
        | Class::Convert
        | Class::Compare
        | Class::Select
        | Class::Load
        | Class::Warp
        | Class::Branch => true,
        Class::Sync => inst.semantics.effect == Effect::Fence,
        _ => inst.semantics.effect == Effect::Sleep,
    }
}

/// Whether all that an instruction reads comes from before the loop or from earlier in the same trip.
fn afresh(body: &Body<'_>, this: &Loop, at: InstId) -> bool {
    let inst = body.inst(at);
    let mut read = read(inst);
    read.extend(inst.guard.map(|g| g.reg));
    read.iter().all(|&reg| {
        let defs = body.defs(at, reg).into_iter().filter_map(|def| match def {
            Def::Inst(def) => Some(def),
            Def::Entry => None,
        });
        let inside: Vec<InstId> = defs.filter(|def| this.contains(body.inst(*def).block)).collect();
        let earlier = |def: &InstId| match body.inst(*def).block == inst.block {
            true => *def < at,
            false => body.graph.dominates(body.inst(*def).block, inst.block),
        };
        // A guard may leave what was there: from earlier in the trip, or else from the trip before.
        let whole = inside.is_empty() || inside.iter().any(|def| body.inst(*def).guard.is_none());
        whole && inside.iter().all(earlier)
    })
}

/// Whether an instruction asks if a barrier's phase is over: how often is a matter of timing.
pub(crate) fn polls_barrier(inst: &Inst) -> bool {
    matches!(inst.semantics.effect, Effect::BarrierObject { polls: true, .. })
}
