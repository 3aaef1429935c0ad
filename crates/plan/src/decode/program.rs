//! The decode program: what a decoder does in each block.
//!
//! At every level it is what level `path` needs. At level `values`, bits that stand for a stored value are
//! read as a decision is ([`Step::Decide`]). [`Step::Visit`]s are added at level `events` only, for the
//! points that have events there and are no decisions, and for barriers at which whole warps meet: decoding
//! paths stays fast, and nothing else reads them.

use std::collections::HashMap;

use prlx_isa::view::{self, BlockId, InstId};
use prlx_trace::kernel::{Alu, Arg, Block, End, Guard, Scalar, SiteClass, Source, Step};
use prlx_trace::{FuncId, LocId, LoopId, Slot};

use crate::choose::choice::Choice;
use crate::choose::lower::{DecoderPlace, Value, gives};
use crate::function::body::{Body, PartEnd, written};
use crate::function::points::Point;
use crate::plan::At;

/// Decoder registers, given out as they are met.
#[derive(Default)]
struct Slots(HashMap<DecoderPlace, Slot>);

impl Slots {
    fn of(&mut self, place: DecoderPlace) -> Slot {
        let next = Slot(self.0.len() as u32);
        *self.0.entry(place).or_insert(next)
    }
    fn guard(&mut self, guard: view::Guard) -> Guard {
        Guard { slot: self.of(DecoderPlace::Reg(guard.reg)), negate: guard.negate }
    }
    fn arg(&mut self, value: Value) -> Arg {
        match value {
            Value::At(place) => Arg::Slot(self.of(place)),
            Value::Const(c) => Arg::Const(c),
            Value::Special(s) => Arg::Special(s),
            Value::Param { offset, size } => Arg::Param { offset, size },
        }
    }
}

/// The temporary that keeps a guard which its own instruction overwrites; lowered operations use lower
/// numbers.
const KEPT_GUARD: DecoderPlace = DecoderPlace::Temp(u32::MAX);

/// The temporary that takes bits which stand for a stored value. Nothing reads it.
const STORED: DecoderPlace = DecoderPlace::Temp(u32::MAX - 1);

/// Blocks with their steps, and how many decoder registers they use. `visits`: the points that get a
/// [`Step::Visit`].
pub(crate) fn blocks(
    body: &Body<'_>,
    points: &[Point],
    choice: &Choice,
    visits: impl Fn(&Point) -> bool,
) -> (Vec<Block>, u32) {
    let mut slots = Slots::default();
    let mut out = Vec::with_capacity(body.parts.len());
    let mut by_inst: HashMap<Option<InstId>, Vec<&Point>> = HashMap::new();
    for p in points {
        by_inst.entry(p.at).or_default().push(p);
    }
    for (i, part) in body.parts.iter().enumerate() {
        let this = BlockId(i as u32);
        let mut steps = Vec::new();
        let visit = |p: &Point, slots: &mut Slots, steps: &mut Vec<Step>| {
            let guard = p.guard.map(|g| slots.guard(g));
            match p.decision {
                Some(d) if choice.sources[d] != Source::None => {
                    let slot = slots.of(DecoderPlace::Reg(body.decisions[d].reg));
                    steps.push(Step::Decide { site: p.site, slot, guard });
                }
                None if visits(p) => steps.push(Step::Visit { site: p.site, guard }),
                _ => {}
            }
        };
        let here = |at: Option<InstId>| by_inst.get(&at).into_iter().flatten().filter(|p| p.part == this);
        for p in here(None).filter(|p| p.class == SiteClass::Entry) {
            visit(p, &mut slots, &mut steps);
        }
        for at in part.insts.clone().map(InstId) {
            read(body, choice, At::Before(at), &mut slots, &mut steps);
            lets(body, choice, at, &mut slots, &mut steps);
            let stored_at = |place: At, slots: &mut Slots, steps: &mut Vec<Step>| {
                if let Some(hash) = choice.stored.get(&at).filter(|hash| hash.place == place) {
                    let guard = hash.guard.map(|g| slots.guard(g));
                    steps.push(Step::Decide { site: hash.site, slot: slots.of(STORED), guard });
                }
            };
            stored_at(At::Before(at), &mut slots, &mut steps);
            read(body, choice, At::After(at), &mut slots, &mut steps);
            stored_at(At::After(at), &mut slots, &mut steps);
            if let Some(callee) = body.callee(at) {
                let guard = body.inst(at).guard.map(|g| slots.guard(g));
                let loc = body.loc(at).map(|l| LocId(l.0));
                steps.push(Step::Call { function: FuncId(callee.0), guard, loc });
            }
            for p in here(Some(at)) {
                visit(p, &mut slots, &mut steps);
            }
            clear(body, choice, at, &mut slots, &mut steps);
        }
        if part.of.is_some() {
            for p in here(part.of) {
                visit(p, &mut slots, &mut steps);
            }
        }
        for p in here(None).filter(|p| p.class == SiteClass::Exit) {
            visit(p, &mut slots, &mut steps);
        }
        let end = match &part.end {
            PartEnd::Jump(b) => End::Jump(to(*b)),
            PartEnd::Branch { guard, taken, other } => {
                End::Branch { guard: slots.guard(*guard), taken: to(*taken), other: to(*other) }
            }
            PartEnd::Switch { index: Some(index), targets } => End::Switch {
                index: slots.of(DecoderPlace::Reg(*index)),
                targets: targets.iter().map(|t| to(*t)).collect(),
            },
            PartEnd::Switch { index: None, .. } | PartEnd::Exit => End::Exit,
            PartEnd::Return => End::Return,
        };
        out.push(Block {
            loc: part.insts.clone().map(InstId).chain(part.of).find_map(|i| body.loc(i)).map(|l| LocId(l.0)),
            steps,
            end,
            ipdom: body.graph.ipdom.get(i).copied().flatten().map(to),
            in_loop: body.graph.innermost.get(i).copied().flatten().map(|l| LoopId(l as u32)),
        });
    }
    (out, slots.0.len() as u32)
}

/// Predicates of an instruction that are 0 where its guard is false. One that is the guard itself is 0 there
/// already.
fn clear(body: &Body<'_>, choice: &Choice, at: InstId, slots: &mut Slots, steps: &mut Vec<Step>) {
    let inst = body.inst(at);
    let Some(guard) = body.guard_after(at).filter(|_| inst.semantics.clears) else { return };
    for reg in written(inst) {
        let is_pred = body.function.regs.get(reg.index()).is_some_and(|r| r.ty == view::Type::Pred);
        let computed = choice.lets.get(&at).is_some_and(|operations| gives(operations, reg));
        let decided = body.decision_of(at, reg).is_some_and(|d| choice.sources[d] != Source::None);
        let read = choice.values.iter().any(|v| v.at == at && v.reg == reg);
        if is_pred && (computed || decided || read) {
            let (place, guard) = (slots.of(DecoderPlace::Reg(reg)), slots.guard(guard));
            let zero = Arg::Const(0);
            let args = match guard.negate {
                false => vec![Arg::Slot(place), zero, Arg::Slot(guard.slot)],
                true => vec![zero, Arg::Slot(place), Arg::Slot(guard.slot)],
            };
            steps.push(Step::Let { to: place, op: Alu::Select, ty: Scalar::Pred, args, guard: None });
        }
    }
}

fn to(b: BlockId) -> prlx_trace::BlockId {
    prlx_trace::BlockId(b.0)
}

/// The values that are recorded at a place.
fn read(body: &Body<'_>, choice: &Choice, place: At, slots: &mut Slots, steps: &mut Vec<Step>) {
    for value in choice.values.iter().filter(|v| v.place == place) {
        let to = slots.of(DecoderPlace::Reg(value.reg));
        let guard = body.inst(value.at).guard.map(|g| slots.guard(g));
        let loc = body.loc(value.at).map(|l| LocId(l.0));
        steps.push(Step::Read { to, bits: value.bits, guard, text: body.text(value.at), loc });
        if let Some(ty) = value.extend {
            steps.push(Step::Let { to, op: Alu::Extend, ty, args: vec![Arg::Slot(to)], guard });
        }
    }
}

fn lets(body: &Body<'_>, choice: &Choice, at: InstId, slots: &mut Slots, steps: &mut Vec<Step>) {
    let Some(operations) = choice.lets.get(&at) else { return };
    let guard = body.inst(at).guard.map(|g| {
        if !operations.iter().any(|o| o.to == DecoderPlace::Reg(g.reg)) {
            return slots.guard(g);
        }
        // The instruction overwrites its own guard: its later operations must see the old one.
        let kept = slots.of(KEPT_GUARD);
        let args = vec![Arg::Slot(slots.of(DecoderPlace::Reg(g.reg)))];
        steps.push(Step::Let { to: kept, op: Alu::Mov, ty: Scalar::Pred, args, guard: None });
        Guard { slot: kept, negate: g.negate }
    });
    for o in operations {
        let args = o.args.iter().map(|v| slots.arg(*v)).collect();
        steps.push(Step::Let { to: slots.of(o.to), op: o.op, ty: o.ty, args, guard });
    }
}
