//! A kernel's decode program for all lanes of a warp.
//!
//! # Invariants
//! - Every index is in range: [`CheckedModule`] has checked the program, and planes are numbered here.
//! - A slot is a predicate (a mask) or a value (a plane of 64 bits), never both.

use std::collections::{BTreeSet, HashMap};

use prlx_lanes::{LaneFn, Simd};
use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::{Alu, Arg, End, Guard, Scalar, Source, Special, Step};
use prlx_trace::{BlockId, FuncId, LoopId};

use super::super::checked_module::{CheckedFunction, CheckedModule, is_decision};
use super::ops;

/// Most slots and constants of a program.
const MOST: usize = 1 << 12;

/// A kernel's decode program.
#[derive(Debug)]
pub(crate) struct Program {
    /// Blocks, in the order in which groups of lanes run: a group waits for those that are before it.
    pub(super) blocks: Vec<Block>,
    /// The loops that are entered where the kernel begins.
    pub(super) start: Edge,
    /// Number of planes of values, with those of `inputs` at the end.
    pub(super) values: usize,
    /// What the last planes hold, on each side.
    pub(super) inputs: Vec<Input>,
    /// Number of predicates.
    pub(super) predicates: usize,
    pub(super) loops: usize,
}

/// What does not change while a lane runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Input {
    Const(u64),
    Special(Special),
    Param { offset: u32, size: u8 },
}

#[derive(Debug)]
pub(super) struct Block {
    pub ops: Vec<Op>,
    pub end: BlockEnd,
    /// Steps of one lane, as its decoder counts them.
    pub steps: u64,
    /// If the block is a whole loop that only counts its iterations: that loop.
    pub counts: Option<usize>,
    /// What this block, and those that can follow it, read.
    pub reads: Vec<Operand>,
}

/// Where control goes.
#[derive(Debug)]
pub(super) enum BlockEnd {
    Jump(Edge),
    Branch { guard: Predicate, taken: Edge, other: Edge },
    Switch { index: u16, targets: Vec<Edge> },
    Leave,
}

/// A way to another block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Which of [`Program::blocks`].
    pub to: usize,
    /// Counted loops that are entered on the way, outermost first: which, and the bits of their counts.
    pub enters: Vec<(usize, u8)>,
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predicate {
    pub slot: u16,
    pub negate: bool,
}

#[derive(Debug)]
pub(super) enum Op {
    /// An operation on planes.
    Lanes { f: LaneFn, args: prlx_lanes::Args, from: Vec<Operand>, guard: Option<Predicate> },
    /// Another operation whose result is a value, lane by lane.
    Value { op: Alu, ty: Scalar, to: u16, from: Vec<Operand>, guard: Option<Predicate> },
    /// An operation whose result is a predicate, lane by lane.
    Predicate { op: Alu, ty: Scalar, to: u16, from: Vec<Operand>, guard: Option<Predicate> },
    /// An operation on predicates alone.
    Logic { op: Alu, to: u16, from: [LogicOperand; 2], guard: Option<Predicate> },
    /// A decision that both sides must agree in.
    Decide { slot: Operand, source: Decision, guard: Option<Predicate> },
    /// A value from the recording.
    Read { to: Operand, bits: u8, guard: Option<Predicate> },
}

/// Where a decision comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    Bits(u8),
    /// Bits that stand for a stored value.
    Stored(u8),
    Computed,
    Trips {
        of: usize,
        stay: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Operand {
    Value(u16),
    Predicate(u16),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LogicOperand {
    Predicate(u16),
    /// The same in all lanes.
    All(bool),
}

impl Program {
    /// The program of a kernel. `None` if it calls recorded functions, or visits sites that are no decisions,
    /// or has something else that only the decoder of single lanes does.
    pub fn of(module: &CheckedModule<'_>, kernel: FuncId) -> Option<Program> {
        let f = module.functions.get(kernel.index())?;
        let usable = f.function.skipped.is_none() && f.lost.is_none() && !f.function.blocks.is_empty();
        // A count in an event is in no word of level `path`.
        let in_words = f.counted.iter().flatten().all(|(bits, _)| *bits != COUNT_EVENT);
        if !usable || !in_words || f.function.slots as usize > MOST {
            return None;
        }
        let slots = Slots::of(module, f)?;
        let order = order(f);
        let mut rank = vec![usize::MAX; f.blocks.len()];
        for (i, b) in order.iter().enumerate() {
            rank[b.index()] = i;
        }
        let mut maker = Maker { module, f, slots, rank, inputs: HashMap::new(), simd: Simd::detect() };
        let mut blocks = order.iter().map(|b| maker.block(*b)).collect::<Option<Vec<_>>>()?;
        add_reads(&mut blocks);
        let start = maker.edge(None, BlockId(0));
        let mut inputs: Vec<(u16, Input)> = maker.inputs.iter().map(|(input, at)| (*at, *input)).collect();
        inputs.sort_by_key(|(at, _)| *at);
        Some(Program {
            blocks,
            start,
            values: maker.slots.values + inputs.len(),
            inputs: inputs.into_iter().map(|(_, input)| input).collect(),
            predicates: maker.slots.predicates,
            loops: f.function.loops.len(),
        })
    }
}

/// Blocks in reverse post-order, the inside of a loop before what follows it.
fn order(f: &CheckedFunction<'_>) -> Vec<BlockId> {
    let targets = |b: BlockId| -> Vec<BlockId> {
        let mut targets = match &f.function.blocks[b.index()].end {
            End::Jump(to) => vec![*to],
            End::Branch { taken, other, .. } => vec![*other, *taken],
            End::Switch { targets, .. } => targets.clone(),
            End::Return | End::Exit => Vec::new(),
        };
        // What is visited first comes last.
        let inside = f.blocks[b.index()].in_loop;
        targets.sort_by_key(|t| inside.is_some_and(|l| f.encloses(l, f.blocks[t.index()].in_loop)));
        targets
    };
    let mut seen = vec![false; f.blocks.len()];
    let mut post = Vec::with_capacity(f.blocks.len());
    let mut stack = vec![(BlockId(0), targets(BlockId(0)), 0)];
    seen[0] = true;
    while let Some((block, all, next)) = stack.last_mut() {
        match all.get(*next).copied() {
            Some(to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    stack.push((to, targets(to), 0));
                }
            }
            None => {
                post.push(*block);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}

/// Fills in what each block and its successors read.
fn add_reads(blocks: &mut [Block]) {
    let mut reads: Vec<BTreeSet<Operand>> = blocks.iter().map(own_reads).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for i in (0..blocks.len()).rev() {
            for next in blocks[i].end.edges() {
                let more: Vec<Operand> = reads[next.to].difference(&reads[i]).copied().collect();
                changed |= !more.is_empty();
                reads[i].extend(more);
            }
        }
    }
    for (block, reads) in blocks.iter_mut().zip(reads) {
        block.reads = reads.into_iter().collect();
    }
}

/// What a block reads.
fn own_reads(block: &Block) -> BTreeSet<Operand> {
    let mut reads = BTreeSet::new();
    for op in &block.ops {
        let guard = match op {
            Op::Lanes { from, guard, .. }
            | Op::Value { from, guard, .. }
            | Op::Predicate { from, guard, .. } => {
                reads.extend(from);
                guard
            }
            Op::Logic { from, guard, .. } => {
                let predicate = |o: &LogicOperand| match o {
                    LogicOperand::Predicate(p) => Some(Operand::Predicate(*p)),
                    LogicOperand::All(_) => None,
                };
                reads.extend(from.iter().filter_map(predicate));
                guard
            }
            Op::Decide { slot, guard, .. } => {
                reads.insert(*slot);
                guard
            }
            Op::Read { guard, .. } => guard,
        };
        reads.extend(guard.map(|g| Operand::Predicate(g.slot)));
    }
    match &block.end {
        BlockEnd::Branch { guard, .. } => _ = reads.insert(Operand::Predicate(guard.slot)),
        BlockEnd::Switch { index, .. } => _ = reads.insert(Operand::Value(*index)),
        BlockEnd::Jump(_) | BlockEnd::Leave => {}
    }
    reads
}

impl BlockEnd {
    fn edges(&self) -> Vec<&Edge> {
        match self {
            BlockEnd::Jump(to) => vec![to],
            BlockEnd::Branch { taken, other, .. } => vec![taken, other],
            BlockEnd::Switch { targets, .. } => targets.iter().collect(),
            BlockEnd::Leave => Vec::new(),
        }
    }
}

/// Which plane or predicate each slot of the decode program is.
struct Slots {
    of: Vec<Operand>,
    values: usize,
    predicates: usize,
}

impl Slots {
    fn of(module: &CheckedModule<'_>, f: &CheckedFunction<'_>) -> Option<Slots> {
        let count = f.function.slots as usize;
        let (mut predicate, mut value) = (vec![false; count], vec![false; count]);
        for block in &f.function.blocks {
            for step in &block.steps {
                let guard = match step {
                    Step::Let { to, op, ty, args, guard } => {
                        let logic = *ty == Scalar::Pred;
                        let results = if logic || compares(*op) { &mut predicate } else { &mut value };
                        results[to.index()] = true;
                        for (i, arg) in args.iter().enumerate() {
                            if let Arg::Slot(s) = arg {
                                let chooses = *op == Alu::Select && i == 2;
                                let reads = if logic || chooses { &mut predicate } else { &mut value };
                                reads[s.index()] = true;
                            }
                        }
                        guard
                    }
                    Step::Decide { site, slot, guard } => {
                        // An index, or at level `values` bits that stand for a stored value.
                        let wide = !module.module.sites.get(site.index())?.class.is_predicate();
                        let decides = if wide { &mut value } else { &mut predicate };
                        decides[slot.index()] = true;
                        guard
                    }
                    Step::Read { guard, .. } => guard,
                    Step::Visit { .. } => return None,
                    Step::Call { function, guard, .. } => {
                        module.functions.get(function.index())?.function.skipped.as_ref()?;
                        guard
                    }
                };
                if let Some(g) = guard {
                    predicate[g.slot.index()] = true;
                }
            }
            match &block.end {
                End::Branch { guard, .. } => predicate[guard.slot.index()] = true,
                End::Switch { index, .. } => value[index.index()] = true,
                End::Jump(_) | End::Return | End::Exit => {}
            }
        }
        let (mut values, mut predicates) = (0usize, 0usize);
        let mut of = Vec::with_capacity(count);
        for (predicate, value) in predicate.into_iter().zip(value) {
            of.push(match (predicate, value) {
                (true, true) => return None,
                (true, false) => {
                    predicates += 1;
                    Operand::Predicate(predicates as u16 - 1)
                }
                (false, _) => {
                    values += 1;
                    Operand::Value(values as u16 - 1)
                }
            });
        }
        Some(Slots { of, values, predicates })
    }
}

/// The loop of which block `own` is all, and in which nothing but its counted decision happens.
fn counts(ops: &[Op], end: &BlockEnd, own: usize) -> Option<usize> {
    let [Op::Decide { slot: Operand::Predicate(p), source: Decision::Trips { of, stay }, guard: None }] = ops
    else {
        return None;
    };
    let BlockEnd::Branch { guard, taken, other } = end else { return None };
    let (again, out) = if *stay != guard.negate { (taken, other) } else { (other, taken) };
    (guard.slot == *p && again.to == own && out.to != own && again.enters.is_empty()).then_some(*of)
}

fn compares(op: Alu) -> bool {
    matches!(op, Alu::Eq | Alu::Ne | Alu::Lt | Alu::Le | Alu::Gt | Alu::Ge)
}

struct Maker<'m> {
    module: &'m CheckedModule<'m>,
    f: &'m CheckedFunction<'m>,
    slots: Slots,
    /// By block: its place in the order.
    rank: Vec<usize>,
    /// Planes of what does not change.
    inputs: HashMap<Input, u16>,
    simd: Simd,
}

impl Maker<'_> {
    fn block(&mut self, at: BlockId) -> Option<Block> {
        let block = &self.f.function.blocks[at.index()];
        let mut ops = Vec::new();
        for step in &block.steps {
            match step {
                Step::Let { to, op, ty, args, guard } => {
                    let guard = self.guard(*guard)?;
                    let to = self.slots.of[to.index()];
                    ops.push(self.operation(to, *op, *ty, args, guard)?);
                }
                Step::Decide { site, slot, guard } => {
                    if self.f.hides(&self.module.sources, *site, *slot, *guard) {
                        continue;
                    }
                    let source = match self.module.sources[site.index()] {
                        Source::Bits(n) if is_decision(self.module.module, *site) => Decision::Bits(n),
                        Source::Bits(n) => Decision::Stored(n),
                        Source::Computed => Decision::Computed,
                        Source::Trips { of, stay, .. } => {
                            let inside = self.f.blocks[at.index()].in_loop;
                            if !self.f.encloses(of, inside) || self.f.counted[of.index()].is_none() {
                                return None;
                            }
                            Decision::Trips { of: of.index(), stay }
                        }
                        Source::None | Source::Follows => continue,
                    };
                    ops.push(Op::Decide {
                        slot: self.slots.of[slot.index()],
                        source,
                        guard: self.guard(*guard)?,
                    });
                }
                Step::Read { to, bits, guard, .. } => ops.push(Op::Read {
                    to: self.slots.of[to.index()],
                    bits: *bits,
                    guard: self.guard(*guard)?,
                }),
                Step::Call { .. } | Step::Visit { .. } => {}
            }
        }
        let end = match &block.end {
            End::Jump(to) => BlockEnd::Jump(self.edge(Some(at), *to)),
            End::Branch { guard, taken, other } => BlockEnd::Branch {
                guard: self.guard(Some(*guard))??,
                taken: self.edge(Some(at), *taken),
                other: self.edge(Some(at), *other),
            },
            End::Switch { index, targets } => match self.slots.of[index.index()] {
                Operand::Value(index) => {
                    let targets = targets.iter().map(|t| self.edge(Some(at), *t)).collect();
                    BlockEnd::Switch { index, targets }
                }
                Operand::Predicate(_) => return None,
            },
            End::Return | End::Exit => BlockEnd::Leave,
        };
        let counts = counts(&ops, &end, self.rank[at.index()]);
        Some(Block { ops, end, steps: block.steps.len() as u64 + 1, counts, reads: Vec::new() })
    }

    /// The way between two blocks; `from` is `None` where the kernel begins.
    fn edge(&self, from: Option<BlockId>, to: BlockId) -> Edge {
        let loops = |b: Option<BlockId>| {
            let inner = b.and_then(|b| self.f.blocks[b.index()].in_loop);
            let parent = |l: &LoopId| self.f.function.loops[l.index()].parent;
            std::iter::successors(inner, parent).collect::<Vec<_>>()
        };
        let (open, mut entered) = (loops(from), loops(Some(to)));
        entered.retain(|l| !open.contains(l));
        let counted = |l: LoopId| Some((l.index(), self.f.counted[l.index()]?.0));
        Edge { to: self.rank[to.index()], enters: entered.into_iter().rev().filter_map(counted).collect() }
    }

    /// A guard as a predicate. The outer `None`: it is none.
    fn guard(&self, guard: Option<Guard>) -> Option<Option<Predicate>> {
        let Some(guard) = guard else { return Some(None) };
        match self.slots.of[guard.slot.index()] {
            Operand::Predicate(slot) => Some(Some(Predicate { slot, negate: guard.negate })),
            Operand::Value(_) => None,
        }
    }

    fn operation(
        &mut self,
        to: Operand,
        op: Alu,
        ty: Scalar,
        args: &[Arg],
        guard: Option<Predicate>,
    ) -> Option<Op> {
        if ty == Scalar::Pred {
            let Operand::Predicate(to) = to else { return None };
            return self.logic(to, op, args, guard);
        }
        let mut from = Vec::with_capacity(args.len());
        for arg in args {
            from.push(self.operand(arg)?);
        }
        let plane = |i: usize| match from.get(i) {
            Some(Operand::Value(v) | Operand::Predicate(v)) => *v,
            None => 0,
        };
        let src = [plane(0), plane(1), plane(2), 0];
        // A constant in place of the predicate has a plane, which no function reads as a predicate.
        let chooses = op == Alu::Select;
        let odd =
            from.iter().enumerate().any(|(i, o)| matches!(o, Operand::Predicate(_)) != (chooses && i == 2));
        let args = |dst: u16, imm: u64| prlx_lanes::Args { dst: [dst; 4], src, imm };
        Some(match to {
            Operand::Value(to) => match ops::value(op, ty, self.simd).filter(|_| !odd) {
                Some(f) => Op::Lanes { f, args: args(to, 0), from, guard },
                None => Op::Value { op, ty, to, from, guard },
            },
            Operand::Predicate(to) => match ops::comparison(op, ty, self.simd).filter(|_| !odd) {
                Some((f, imm)) => Op::Lanes { f, args: args(to, imm), from, guard },
                None => Op::Predicate { op, ty, to, from, guard },
            },
        })
    }

    fn logic(&self, to: u16, op: Alu, args: &[Arg], guard: Option<Predicate>) -> Option<Op> {
        let operand = |i: usize| match args.get(i) {
            Some(Arg::Slot(s)) => match self.slots.of[s.index()] {
                Operand::Predicate(p) => Some(LogicOperand::Predicate(p)),
                Operand::Value(_) => None,
            },
            Some(Arg::Const(c)) => Some(LogicOperand::All(c & 1 == 1)),
            Some(_) => None,
            None => Some(LogicOperand::All(false)),
        };
        use Alu::{And, Eq, Extend, Mov, Ne, Not, Or, Xor};
        let known = matches!(op, And | Or | Xor | Not | Mov | Extend | Eq | Ne);
        known.then_some(Op::Logic { op, to, from: [operand(0)?, operand(1)?], guard })
    }

    fn operand(&mut self, arg: &Arg) -> Option<Operand> {
        let input = match arg {
            Arg::Slot(s) => return Some(self.slots.of[s.index()]),
            Arg::Const(c) => Input::Const(*c),
            Arg::Special(s) => Input::Special(*s),
            Arg::Param { offset, size } => Input::Param { offset: *offset, size: *size },
        };
        let next = self.slots.values + self.inputs.len();
        if self.inputs.len() >= MOST {
            return None;
        }
        Some(Operand::Value(*self.inputs.entry(input).or_insert(next as u16)))
    }
}
