//! Finds loops whose iterations are counted, and where the count is written.
//!
//! The lanes of a warp leave a loop in different iterations. Code on the way out runs once for each such
//! group of lanes. The count is therefore written where the lanes have converged again: in the first block
//! after the loop that all of them pass, if nothing on the way there is recorded. The decoder reads the count
//! where the loop is entered, since it is the loop's only recorded decision, so the order is kept. Lanes that
//! did not enter the loop have a counter of 0.
//!
//! # Invariants
//!
//! - Between the entry of a counted loop and the place where its count is written, no other counted loop is
//!   entered. One counter is enough.
//!
//! # Limitations
//!
//! - Loops that a switch enters or leaves are not counted.

use prlx_isa::dataflow::Def;
use prlx_isa::view::{BlockId, Class, Eval, Guard, Inst, InstId, Operand, Type};
use prlx_trace::LoopId;
use prlx_trace::device::COUNT_BITS;
use prlx_trace::kernel::Source;

use crate::choose::choice::{Choice, Counted, Trip};
use crate::function::body::{Body, PartEnd};
use crate::function::spin_loops::polls_barrier;
use crate::plan::At;

/// Turns recorded decisions into trip counts where a loop allows it.
pub(crate) fn count(body: &Body<'_>, choice: &mut Choice) {
    let mut loops = Vec::new();
    for l in 0..body.graph.loops.len() {
        if let Some(trip) = trip(body, choice, l) {
            choice.sources[trip.decision] =
                Source::Trips { of: LoopId(l as u32), stay: trip.stay, bits: COUNT_BITS };
            choice.trips.push(trip);
            loops.push(l);
        }
    }
    for (number, l) in loops.into_iter().enumerate() {
        let trip = &choice.trips[number];
        let meets = meets(body, choice, l, &|_| false);
        let read = meets.and_then(|at| counted(body, l, trip, at));
        let trip = &mut choice.trips[number];
        (trip.meets, trip.read) = (meets, read);
    }
}

/// Loop `l` as a trip-counted one: natural; entered and left by branches alone; the decision of one of those
/// that leave is recorded, made exactly once a trip, and the only recorded one inside; no calls (a callee
/// might record, or end the lane). Where others leave too, by decisions that are computed, it is made right
/// where it branches: then it stays as often as its branch does. Not waits for a barrier's phase: they ask
/// once or twice, which takes less as bits than as a count.
fn trip(body: &Body<'_>, choice: &Choice, l: usize) -> Option<Trip> {
    let this = &body.graph.loops[l];
    let recorded = |d: &usize| matches!(choice.sources[*d], Source::Bits(_));
    let decides = |from: BlockId| {
        let part = &body.parts[from.index()];
        let mut decided =
            part.insts.clone().map(InstId).flat_map(|i| body.decided.get(&i).into_iter().flatten());
        this.exits.len() == 1 || decided.any(recorded)
    };
    let mut deciding = this.exits.iter().map(|e| e.0).filter(|from| decides(*from));
    let (Some(from), None) = (deciding.next(), deciding.next()) else { return None };
    let innermost = |b: BlockId| body.graph.innermost_loop(b);
    if this.irreducible
        || innermost(from) != Some(l)
        || !this.latches.iter().all(|&b| body.graph.dominates(from, b))
    {
        return None;
    }
    let part = &body.parts[from.index()];
    let PartEnd::Branch { guard, taken, .. } = part.end else { return None };
    let branch = InstId(part.insts.clone().next_back()?);
    let [Def::Inst(at)] = *body.defs(branch, guard.reg).as_slice() else { return None };
    let decision = *body.decided.get(&at)?.iter().find(|&&d| body.decisions[d].reg == guard.reg)?;
    let home = body.inst(at).block;
    if polls_barrier(body.inst(at))
        || body.inst(at).guard.is_some()
        || !this.contains(home)
        || innermost(home) != Some(l)
    {
        return None;
    }
    if !recorded(&decision) || this.exits.len() > 1 && home != body.inst(branch).block {
        return None;
    }
    let mut others = Vec::new();
    for &(other, to) in this.exits.iter().filter(|e| e.0 != from) {
        let (at, guard) = way(body, other, to)?;
        let At::Before(branch) = at else { return None };
        others.push((branch, guard?));
    }
    for &b in &this.blocks {
        if choice.records_value_in(body, b) {
            return None;
        }
        for i in body.parts[b.index()].insts.clone().map(InstId) {
            let mut others = body.decided.get(&i).into_iter().flatten();
            if body.inst(i).class == Class::Call
                || others.any(|&d| d != decision && taken_from_lane(choice, d))
            {
                return None;
            }
        }
    }
    let enters = enters(body, l)?;
    // If the guard is true, control goes to `taken`.
    let stay = this.contains(taken) != guard.negate;
    Some(Trip { decision, branch, stay, others, enters, meets: None, read: None })
}

/// Whether a decision's value is among what a lane writes.
fn taken_from_lane(choice: &Choice, d: usize) -> bool {
    let source = choice.sources[d];
    !source.is_derived() && source != Source::None
}

/// The last place in part `from`, and the guard of lanes that go from there to `to`; `None` for a switch.
fn way(body: &Body<'_>, from: BlockId, to: BlockId) -> Option<(At, Option<Guard>)> {
    let part = &body.parts[from.index()];
    let last = InstId(part.insts.clone().next_back()?);
    let at = match body.inst(last).class {
        Class::Branch | Class::Switch | Class::Return | Class::Exit => At::Before(last),
        _ => At::After(last),
    };
    match part.end {
        PartEnd::Jump(_) => Some((at, None)),
        PartEnd::Branch { taken, other, .. } if taken == other => Some((at, None)),
        PartEnd::Branch { guard, taken, .. } => {
            Some((at, Some(Guard { reg: guard.reg, negate: guard.negate != (to != taken) })))
        }
        PartEnd::Switch { .. } | PartEnd::Return | PartEnd::Exit => None,
    }
}

/// The register that says at `meets` how often a lane went on in loop `l`: one that begins as the same
/// constant wherever the loop is entered, and that one instruction, executed once a trip by the lanes that
/// are in it, makes larger by one.
fn counted(body: &Body<'_>, l: usize, trip: &Trip, meets: InstId) -> Option<Counted> {
    let this = &body.graph.loops[l];
    let once = |b: BlockId| this.latches.iter().all(|&latch| body.graph.dominates(b, latch));
    let before = |a: InstId, b: InstId| match (body.part_of(a), body.part_of(b)) {
        (p, q) if p == q => a < b,
        (p, q) => body.graph.dominates(p, q),
    };
    let counts = |ty| matches!(ty, Type::U32 | Type::S32 | Type::B32);
    let is = |inst: &Inst, what| inst.eval.is_some_and(|(eval, ty)| eval == what && counts(ty));
    let constant = |def: &Def| {
        let Def::Inst(at) = *def else { return None };
        let inst = body.inst(at);
        let outside = !this.contains(body.part_of(at)) && inst.guard.is_none();
        match inst.operands.as_slice() {
            [_, Operand::Int(n)] if outside && is(inst, Eval::Mov) => Some(*n as u32),
            _ => None,
        }
    };
    let insts = this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone().map(InstId));
    let mut adds = insts.filter(|&i| {
        let inst = body.inst(i);
        is(inst, Eval::Add) && inst.guard.is_none() && !inst.semantics.scalar && once(body.part_of(i))
    });
    adds.find_map(|add| {
        let [Operand::Reg(reg), Operand::Reg(from), Operand::Int(1), ..] = body.inst(add).operands.as_slice()
        else {
            return None;
        };
        let innermost = body.graph.innermost_loop(body.part_of(add));
        if reg != from || innermost != Some(l) {
            return None;
        }
        let defs = body.defs(add, *reg);
        let mut begins = defs.iter().filter(|d| **d != Def::Inst(add)).map(constant);
        let begin = begins.next()??;
        if !begins.all(|other| other == Some(begin)) || !defs.contains(&Def::Inst(add)) {
            return None;
        }
        // What is there of lanes that were not in the loop does not matter; it was there before.
        let earlier = |d: &Def| match d {
            Def::Inst(i) => {
                !this.contains(body.part_of(*i)) && body.graph.dominates(body.part_of(*i), this.header)
            }
            Def::Entry => false,
        };
        if !body.defs(meets, *reg).iter().all(|d| defs.contains(d) || earlier(d)) {
            return None;
        }
        // By how much more often it was executed than the lane went on, wherever it leaves.
        let ahead = |out: InstId| {
            let passed = |i: InstId| match (before(i, out), before(out, i)) {
                (true, false) => Some(1u32),
                (false, true) => Some(0),
                _ => None,
            };
            let went = if out == trip.branch { 0 } else { passed(trip.branch)? };
            Some(passed(add)?.wrapping_sub(went))
        };
        let by = ahead(trip.branch)?;
        let alike = trip.others.iter().all(|(out, _)| ahead(*out) == Some(by));
        alike.then(|| Counted { reg: *reg, less: begin.wrapping_add(by).wrapping_sub(1) })
    })
}

/// Where lanes come into loop `l` from outside.
fn enters(body: &Body<'_>, l: usize) -> Option<Vec<(At, Option<Guard>)>> {
    let this = &body.graph.loops[l];
    let mut out = Vec::new();
    if this.header == BlockId(0) {
        out.push((At::Entry, None));
    }
    for &part in &this.entries {
        out.push(way(body, part, this.header)?);
    }
    Some(out)
}

/// The first instruction of the first block behind loop `l` that all lanes pass which were in it, if none of
/// them writes anything on the way, also not for what makes a block `busy`, and if that block is passed no
/// more often than the loop.
pub(crate) fn meets(
    body: &Body<'_>,
    choice: &Choice,
    l: usize,
    busy: &dyn Fn(BlockId) -> bool,
) -> Option<InstId> {
    let this = &body.graph.loops[l];
    let passed = |b: BlockId| this.exits.iter().all(|&(_, to)| body.graph.post_dominates(b, to));
    let mut at = this.header;
    while this.contains(at) || !passed(at) {
        at = body.graph.ipdom.get(at.index()).copied().flatten()?;
    }
    if body.graph.innermost_loop(at) != this.parent
        || this.parent.is_some_and(|p| body.graph.loops[p].header == at)
    {
        return None;
    }
    let mut between: Vec<BlockId> = Vec::new();
    let mut next: Vec<BlockId> = this.exits.iter().map(|e| e.1).collect();
    while let Some(part) = next.pop() {
        if part == at || between.contains(&part) {
            continue;
        }
        let insts = || body.parts[part.index()].insts.clone().map(InstId);
        let mut decided = insts().flat_map(|i| body.decided.get(&i).into_iter().flatten());
        if busy(part)
            || choice.records_value_in(body, part)
            || insts().any(|i| body.inst(i).class == Class::Call)
            || decided.any(|&d| taken_from_lane(choice, d))
        {
            return None;
        }
        between.push(part);
        next.extend(body.parts[part.index()].end.succs());
    }
    body.parts[at.index()].insts.clone().next().map(InstId)
}
