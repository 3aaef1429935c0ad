//! Chooses which decisions need no recording: the decoder evaluates them again, or counts a loop's
//! iterations.
//!
//! A register is *known* at an instruction if the decoder executes every definition that reaches it: a
//! recorded decision, or an operation on known values under a known guard. This is the greatest fixpoint:
//! assume that all registers are known, and strike out those for which it fails. Loop-carried values are no
//! special case, since the decoder takes the same steps in the same order. A decision whose operation is
//! known is computed. Every other decision is recorded, and so known afterwards.
//!
//! How often a loop that only waits goes round is a matter of timing ([`spin_loops`]). Its decision is
//! computed too: the decoder leaves after one iteration.
//!
//! Only the operations that a computed decision needs become [`Let`](prlx_trace::kernel::Step::Let) steps.
//!
//! # Limitations
//!
//! - Unknown: parameters of device functions, loads from constant memory, results of calls, floating-point
//!   arithmetic, and the second of two predicates whose first is recorded.
//! - A register that nothing wrote is unknown. As the predicate of a branch it counts as false, which is
//!   right for every program with defined behaviour.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::dataflow::Def;
use prlx_isa::view::{InstId, Reg};
use prlx_trace::kernel::{Alu, Scalar, Source};

use crate::choose::choice::Choice;
use crate::choose::lower::{self, DecoderPlace, Operation, Value};
use crate::choose::trips;
use crate::function::body::Body;
use crate::function::spin_loops;

/// Bits that decision `d` takes when it is recorded as it is.
pub(crate) fn width(body: &Body<'_>, d: usize) -> u8 {
    if !body.is_switch(d) {
        return 1;
    }
    let n = crate::function::body::targets(body.inst(body.decisions[d].at)).len();
    (n.max(2).next_power_of_two().trailing_zeros()) as u8
}

/// Chooses for `body`. `kept[d]`: whether decision `d` is wanted at all. `waits`: how often a loop that only
/// waits goes round is recorded as well.
pub(crate) fn choose(body: &Body<'_>, elide: bool, waits: bool, kept: &[bool]) -> Choice {
    let recorded = |d: usize| if kept[d] { Source::Bits(width(body, d)) } else { Source::None };
    let mut choice =
        Choice { sources: (0..body.decisions.len()).map(recorded).collect(), ..Choice::default() };
    if !elide {
        return choice;
    }
    let lowered = known(body, kept);
    let mut needed: Vec<InstId> = Vec::new();
    for (d, decision) in body.decisions.iter().enumerate() {
        if !kept[d] {
            continue;
        }
        let computed = match body.is_switch(d) {
            false => lowered.contains_key(&decision.at),
            true => is_known(body, kept, &lowered, decision.at, decision.reg),
        };
        if computed {
            choice.sources[d] = Source::Computed;
            if body.is_switch(d) {
                needed.extend(body.defs(decision.at, decision.reg).iter().filter_map(inst_of));
            } else {
                needed.push(decision.at);
            }
        }
    }
    let recorded = |d: usize| matches!(choice.sources[d], Source::Bits(_));
    let exits = if waits { Vec::new() } else { spin_loops::wait_exits(body, &recorded) };
    for exit in &exits {
        choice.sources[exit.decision] = Source::Computed;
    }
    choice.lets = slices(body, kept, &choice.sources, lowered, needed);
    for exit in exits {
        // The decoder goes round once.
        let decision = &body.decisions[exit.decision];
        let to = DecoderPlace::Reg(decision.reg);
        let args = vec![Value::Const(exit.leave.into())];
        choice.lets.insert(decision.at, vec![Operation { to, op: Alu::Mov, ty: Scalar::Pred, args }]);
    }
    trips::count(body, &mut choice);
    choice
}

fn inst_of(def: &Def) -> Option<InstId> {
    match def {
        Def::Inst(i) => Some(*i),
        Def::Entry => None,
    }
}

/// Whether `i` makes a wanted decision of `reg`: its value is known then, however it comes.
fn decided(body: &Body<'_>, kept: &[bool], i: InstId, reg: Reg) -> bool {
    body.decided
        .get(&i)
        .into_iter()
        .flatten()
        .any(|&d| kept[d] && body.decisions[d].reg == reg && !body.is_switch(d))
}

/// Whether every definition of `reg` that reaches `at` is known.
fn is_known(
    body: &Body<'_>,
    kept: &[bool],
    lowered: &BTreeMap<InstId, Vec<Operation>>,
    at: InstId,
    reg: Reg,
) -> bool {
    let defs = body.defs(at, reg);
    !defs.is_empty()
        && defs.iter().all(|def| match def {
            Def::Entry => false,
            Def::Inst(i) => decided(body, kept, *i, reg) || lowered.contains_key(i),
        })
}

/// The greatest set of instructions that can be evaluated again.
fn known(body: &Body<'_>, kept: &[bool]) -> BTreeMap<InstId, Vec<Operation>> {
    let ids = (0..body.function.insts.len() as u32).map(InstId);
    let mut lowered: BTreeMap<InstId, Vec<Operation>> =
        ids.filter_map(|i| Some((i, lower::lower(body, body.inst(i))?))).collect();
    // Who reads what an instruction gives: looked at again when it falls.
    let mut users: BTreeMap<InstId, Vec<InstId>> = BTreeMap::new();
    for (&at, operations) in &lowered {
        for reg in inputs(body, at, operations) {
            for def in body.defs(at, reg) {
                if let Def::Inst(i) = def {
                    users.entry(i).or_default().push(at);
                }
            }
        }
    }
    let mut queue: Vec<InstId> = lowered.keys().copied().collect();
    while let Some(at) = queue.pop() {
        let Some(operations) = lowered.get(&at) else { continue };
        let regs = inputs(body, at, operations);
        if !regs.iter().all(|&reg| is_known(body, kept, &lowered, at, reg)) {
            lowered.remove(&at);
            queue.extend(users.get(&at).into_iter().flatten());
        }
    }
    lowered
}

/// Everything that evaluating `at` reads, its guard included.
fn inputs(body: &Body<'_>, at: InstId, operations: &[Operation]) -> Vec<Reg> {
    let mut regs = lower::reads(operations);
    regs.extend(body.inst(at).guard.map(|g| g.reg));
    regs
}

/// Of what can be evaluated, what `needed` needs.
fn slices(
    body: &Body<'_>,
    kept: &[bool],
    sources: &[Source],
    mut lowered: BTreeMap<InstId, Vec<Operation>>,
    mut needed: Vec<InstId>,
) -> BTreeMap<InstId, Vec<Operation>> {
    let mut taken: BTreeSet<InstId> = BTreeSet::new();
    while let Some(at) = needed.pop() {
        let Some(operations) = lowered.get(&at) else { continue };
        if !taken.insert(at) {
            continue;
        }
        for reg in inputs(body, at, operations) {
            for i in body.defs(at, reg).iter().filter_map(inst_of) {
                // A recorded decision is there already; evaluating it too would be wrong only in being idle.
                let recorded = body.decided.get(&i).into_iter().flatten().any(|&d| {
                    kept[d]
                        && body.decisions[d].reg == reg
                        && sources[d] != Source::Computed
                        && !body.is_switch(d)
                });
                if !recorded {
                    needed.push(i);
                }
            }
        }
    }
    lowered.retain(|i, _| taken.contains(i));
    lowered
}
