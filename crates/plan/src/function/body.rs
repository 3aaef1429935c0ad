//! One function, prepared for the stages of [`crate::Plan::resolve`]: control flow, decisions and data flow.
//!
//! # Invariants
//!
//! - Parts `0..function.blocks.len()` are the function's basic blocks. Further parts are empty. They stand
//!   for control flow inside a block: a guarded return or exit, a guarded `brx.idx`, running off the end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{self, Decision, Def, DefUse, Seen, SteerKind, ValueNode};
use prlx_isa::view::{
    Block, BlockId, Class, FuncId, Function, Guard, Inst, InstId, LocId, Module, Operand, Reg, Role, Space,
    Type,
};
use prlx_trace::WarpSize;
use prlx_trace::kernel::{Scalar, SiteClass};

use crate::plan::insertion::At;

/// A basic block, or a piece of one.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its instructions; empty for a synthetic part.
    pub insts: Range<u32>,
    /// Where it goes.
    pub end: PartEnd,
    /// The instruction that ends it, when that is not in `insts`: a synthetic part's return, exit or switch.
    pub of: Option<InstId>,
}

/// How a part ends.
#[derive(Clone, Debug)]
pub enum PartEnd {
    /// Control always goes to this part.
    Jump(BlockId),
    /// A conditional branch.
    Branch {
        /// The branch's guard.
        guard: Guard,
        /// Where lanes go for which the guard holds.
        taken: BlockId,
        /// Where the other lanes go.
        other: BlockId,
    },
    /// A switch (`brx.idx`).
    Switch {
        /// The register that holds the index, if it is one.
        index: Option<Reg>,
        /// Targets by index, repeats included.
        targets: Vec<BlockId>,
    },
    /// To the caller.
    Return,
    /// The lane ends.
    Exit,
}

impl PartEnd {
    /// Where control can go.
    pub fn succs(&self) -> Vec<BlockId> {
        match self {
            PartEnd::Jump(b) => vec![*b],
            PartEnd::Branch { taken, other, .. } if taken == other => vec![*taken],
            PartEnd::Branch { taken, other, .. } => vec![*taken, *other],
            PartEnd::Switch { targets, .. } => {
                let mut out: Vec<BlockId> = Vec::new();
                for t in targets {
                    if !out.contains(t) {
                        out.push(*t);
                    }
                }
                out
            }
            PartEnd::Return | PartEnd::Exit => Vec::new(),
        }
    }
}

/// A function and what is known about it before any level is chosen.
pub struct Body<'a> {
    /// The module that the function belongs to.
    pub module: &'a Module,
    /// Which function of the module.
    pub id: FuncId,
    /// The function as the view has it.
    pub function: &'a Function,
    /// Basic blocks of the view, then synthetic parts.
    pub parts: Vec<Part>,
    /// The control-flow graph over `parts`.
    pub graph: Cfg,
    /// Which definitions reach which use.
    pub flow: DefUse,
    /// Predicates and indices that steer branches, guards, selects and switches, in the order of the text.
    pub decisions: Vec<Decision>,
    /// By instruction: decisions that it makes, indices into `decisions`.
    pub decided: BTreeMap<InstId, Vec<usize>>,
    /// By instruction that a synthetic part stands for: that part.
    behind: HashMap<InstId, BlockId>,
    /// By part: its place in the graph's order.
    rank: Vec<usize>,
}

/// Size of the warps that run the code of a module.
pub fn warp_size(module: &Module) -> WarpSize {
    WarpSize::of(module.warp_lanes.into()).unwrap_or_default()
}

/// Size of the warps that run these functions, which are of one module.
pub fn warp_size_of(bodies: &[&Body<'_>]) -> WarpSize {
    bodies.first().map(|b| warp_size(b.module)).unwrap_or_default()
}

impl<'a> Body<'a> {
    /// Prepares function `id` of `module`.
    pub fn of(module: &'a Module, id: FuncId) -> Body<'a> {
        let function = &module.functions[id.index()];
        let parts = parts(function);
        let graph = Cfg::of(&whole(&parts));
        let flow = DefUse::of(function, &Cfg::of(function));
        let decisions = dataflow::decisions(function, &flow);
        let mut decided: BTreeMap<InstId, Vec<usize>> = BTreeMap::new();
        for (i, d) in decisions.iter().enumerate() {
            decided.entry(d.at).or_default().push(i);
        }
        let behind = parts.iter().enumerate().filter_map(|(i, p)| Some((p.of?, BlockId(i as u32)))).collect();
        let mut rank = vec![usize::MAX; parts.len()];
        for (i, b) in graph.order.iter().enumerate() {
            rank[b.index()] = i;
        }
        Body { module, id, function, parts, graph, flow, decisions, decided, behind, rank }
    }

    /// Instruction number `id` of the function.
    pub fn inst(&self, id: InstId) -> &'a Inst {
        &self.function.insts[id.index()]
    }
    /// The instruction as written, on one line, without `;`.
    pub fn text(&self, id: InstId) -> String {
        let raw = self.inst(id).span.of(&self.module.text);
        raw.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ")
    }
    /// The source location of an instruction, if it has one.
    pub fn loc(&self, id: InstId) -> Option<LocId> {
        self.inst(id).loc
    }
    /// Definitions of `reg` that reach `at`.
    pub fn defs(&self, at: InstId, reg: Reg) -> Vec<Def> {
        self.flow.defs(at, reg)
    }
    /// Instructions that can read the value that `at` writes to a register, sorted.
    pub fn uses(&self, at: InstId, reg: Reg) -> Vec<InstId> {
        self.flow.uses(at, reg)
    }
    /// Where control leaves the function: the part whose end it is, and the instruction, if there is one.
    pub fn leaves(&self) -> impl Iterator<Item = (BlockId, Option<InstId>, &PartEnd)> {
        self.parts.iter().enumerate().filter_map(|(i, p)| match p.end {
            PartEnd::Return | PartEnd::Exit => {
                let last =
                    p.of.or_else(|| p.insts.clone().next_back().map(InstId).filter(|&l| self.is_leave(l)));
                Some((BlockId(i as u32), last, &p.end))
            }
            _ => None,
        })
    }
    fn is_leave(&self, id: InstId) -> bool {
        matches!(self.inst(id).class, Class::Return | Class::Exit)
    }
    /// The decision's class, by what matters most of what it steers.
    pub fn class(&self, d: usize) -> SiteClass {
        let kinds = &self.decisions[d].steers;
        let has = |k: SteerKind| kinds.iter().any(|s| s.1 == k);
        match () {
            () if has(SteerKind::Switch) => SiteClass::Switch,
            () if has(SteerKind::Branch) => SiteClass::Branch,
            () if has(SteerKind::Guard) => SiteClass::Guard,
            () => SiteClass::Select,
        }
    }
    /// The decision that `at` makes by writing `reg`.
    pub fn decision_of(&self, at: InstId, reg: Reg) -> Option<usize> {
        let mut made = self.decided.get(&at).into_iter().flatten().copied();
        made.find(|&d| self.decisions[d].reg == reg && !self.is_switch(d))
    }
    /// Whether decoders know the guard of `at`: recorded or computed decisions give it. `kept`: by decision,
    /// whether it is one of these.
    pub fn knows_guard(&self, kept: &[bool], at: InstId, guard: Guard) -> bool {
        const MOST: usize = 8;
        let made = |def: &Def| match def {
            Def::Inst(i) => self.decision_of(*i, guard.reg).is_some_and(|d| kept[d]),
            Def::Entry => false,
        };
        let defs = self.flow.some_defs(at, guard.reg, MOST);
        defs.len() < MOST && defs.iter().all(made)
    }
    /// Bits that decision `d` takes when it is recorded as it is.
    pub fn decision_bits(&self, d: usize) -> u8 {
        if !self.is_switch(d) {
            return 1;
        }
        let n = targets(self.inst(self.decisions[d].at)).len();
        (n.max(2).next_power_of_two().trailing_zeros()) as u8
    }
    /// Whether decision `d` is the index of a switch.
    pub fn is_switch(&self, d: usize) -> bool {
        self.class(d) == SiteClass::Switch
    }
    /// Under which guard decision `d` is made: its instruction's, unless that instruction overwrites the
    /// guard; then every lane decides (the predicate keeps its value where the guard fails).
    pub fn decision_guard(&self, d: usize) -> Option<Guard> {
        self.guard_after(self.decisions[d].at)
    }
    /// The guard of an instruction as code after it can repeat it.
    pub fn guard_after(&self, at: InstId) -> Option<Guard> {
        let inst = self.inst(at);
        inst.guard.filter(|g| !written(inst).contains(&g.reg))
    }
    /// The part in which an instruction's effect lies: its block, or for a guarded switch the part behind the
    /// guard.
    pub fn part_of(&self, at: InstId) -> BlockId {
        self.behind.get(&at).copied().unwrap_or(self.inst(at).block)
    }
    /// The direct callee with a body here, if `at` is such a call.
    pub fn callee(&self, at: InstId) -> Option<FuncId> {
        self.module.callee(self.inst(at))
    }
    /// The parts that can follow a part.
    pub fn succs(&self, part: BlockId) -> impl Iterator<Item = BlockId> {
        self.parts[part.index()].end.succs().into_iter()
    }
    /// The parts of loop `l` in reverse post-order.
    pub fn in_order(&self, l: usize) -> Vec<BlockId> {
        let mut blocks = self.graph.loops[l].blocks.clone();
        blocks.sort_unstable_by_key(|b| self.rank[b.index()]);
        blocks
    }
    /// By part: whether the entry reaches it.
    pub fn reachable(&self) -> Vec<bool> {
        let mut out = vec![false; self.parts.len()];
        for b in &self.graph.order {
            out[b.index()] = true;
        }
        out
    }
}

/// The view's function with the synthetic parts as blocks, for the graph.
fn whole(parts: &[Part]) -> Function {
    let mut blocks: Vec<Block> = parts
        .iter()
        .map(|p| Block { insts: p.insts.clone(), succs: p.end.succs(), preds: Vec::new() })
        .collect();
    for i in 0..blocks.len() {
        for s in blocks[i].succs.clone() {
            blocks[s.index()].preds.push(BlockId(i as u32));
        }
    }
    // Without instructions the graph takes edges alone at their word; a last block without any must be a way
    // out.
    blocks.push(Block::default());
    Function { blocks, ..Function::default() }
}

/// Splits the view's blocks where control splits.
fn parts(function: &Function) -> Vec<Part> {
    let count = function.blocks.len() as u32;
    let mut extra: Vec<Part> = Vec::new();
    let end_of_text = function.insts.len() as u32;
    let mut synthetic = |end: PartEnd, of: Option<InstId>| {
        extra.push(Part { insts: end_of_text..end_of_text, end, of });
        BlockId(count + extra.len() as u32 - 1)
    };
    let mut parts = Vec::with_capacity(function.blocks.len());
    for (i, block) in function.blocks.iter().enumerate() {
        let next = (i as u32 + 1 < count).then_some(BlockId(i as u32 + 1));
        let last = block.insts.clone().next_back().map(InstId);
        let inst = last.and_then(|l| function.insts.get(l.index()));
        let end = match (inst, last) {
            (Some(inst), Some(at)) => {
                let whole = match inst.class {
                    Class::Branch => inst.operands.iter().find_map(|o| match o {
                        Operand::Label(b) => Some(PartEnd::Jump(*b)),
                        _ => None,
                    }),
                    Class::Switch => Some(PartEnd::Switch { index: index(inst), targets: targets(inst) }),
                    Class::Return => Some(PartEnd::Return),
                    Class::Exit => Some(PartEnd::Exit),
                    _ => None,
                };
                match (whole, inst.guard) {
                    (None, _) => fall(next, &mut synthetic),
                    (Some(end), None) => end,
                    (Some(PartEnd::Jump(taken)), Some(guard)) => {
                        let other = next.unwrap_or_else(|| synthetic(PartEnd::Return, None));
                        PartEnd::Branch { guard, taken, other }
                    }
                    (Some(end), Some(guard)) => {
                        let taken = synthetic(end, Some(at));
                        let other = next.unwrap_or_else(|| synthetic(PartEnd::Return, None));
                        PartEnd::Branch { guard, taken, other }
                    }
                }
            }
            _ => fall(next, &mut synthetic),
        };
        parts.push(Part { insts: block.insts.clone(), end, of: None });
    }
    parts.extend(extra);
    if parts.is_empty() {
        parts.push(Part { insts: 0..0, end: PartEnd::Return, of: None });
    }
    parts
}

/// Falling out of a block: into the next, or off the end.
fn fall(next: Option<BlockId>, synthetic: &mut impl FnMut(PartEnd, Option<InstId>) -> BlockId) -> PartEnd {
    match next {
        Some(next) => PartEnd::Jump(next),
        None => PartEnd::Jump(synthetic(PartEnd::Return, None)),
    }
}

fn index(inst: &Inst) -> Option<Reg> {
    inst.operands.iter().find_map(|o| match o {
        Operand::Reg(r) => Some(*r),
        _ => None,
    })
}

/// The targets of a switch, in order, repeats included.
pub fn targets(inst: &Inst) -> Vec<BlockId> {
    let table = inst.operands.iter().find_map(|o| match o {
        Operand::Targets(t) => Some(t.clone()),
        _ => None,
    });
    table.unwrap_or_default()
}

/// Calls `f` with every operand inside `operand`, itself included when it is a leaf.
pub fn leaves(operand: &Operand, f: &mut impl FnMut(&Operand)) {
    match operand {
        Operand::Vector(v) | Operand::List(v) => v.iter().for_each(|o| leaves(o, f)),
        Operand::Pair(a, b) => {
            leaves(a, f);
            leaves(b, f);
        }
        Operand::Tensor(map, at) => {
            leaves(map, f);
            at.iter().for_each(|o| leaves(o, f));
        }
        leaf => f(leaf),
    }
}

/// Leaf operands in any of the given roles, in order.
pub fn in_role(inst: &Inst, roles: &[Role]) -> Vec<Operand> {
    let mut out = Vec::new();
    for (operand, role) in inst.operands.iter().zip(&inst.roles) {
        if roles.contains(role) {
            leaves(operand, &mut |o| out.push(o.clone()));
        }
    }
    out
}

/// The place of what runs when the function is left; without an instruction, after the last one.
pub fn end_place(body: &Body<'_>, at: Option<InstId>) -> At {
    match (at, body.function.insts.len()) {
        (Some(at), _) => At::Before(at),
        (None, 0) => At::Entry,
        (None, n) => At::After(InstId(n as u32 - 1)),
    }
}

/// Registers that an instruction writes.
pub fn written(inst: &Inst) -> Vec<Reg> {
    regs(&in_role(inst, &[Role::Def, Role::UseDef]))
}

/// Definitions that instructions see, or uses of definitions, each value of the data flow looked at once: in
/// all that is linear in the data flow, where lists of definitions by use can be its square. One search asks
/// for definitions or for uses, not for both.
pub struct SeenOnce(Vec<bool>);

impl SeenOnce {
    /// Of `body`, of which nothing was looked at.
    pub fn new(body: &Body<'_>) -> SeenOnce {
        SeenOnce(vec![false; body.flow.value_count()])
    }
    /// The definitions of `reg` that `at` sees, but those in values that were looked at before.
    pub fn defs(&mut self, body: &Body<'_>, at: InstId, reg: Reg) -> Vec<InstId> {
        match body.flow.seen(at, reg) {
            Seen::Nothing => Vec::new(),
            Seen::Inst(def) => vec![def],
            Seen::Value(seen) => self.walk(body, seen, |node| (node.defs, node.from)),
        }
    }

    /// The instructions that see what `at` writes to `reg`, but those that see it in values that were looked
    /// at before.
    pub fn uses(&mut self, body: &Body<'_>, at: InstId, reg: Reg) -> Vec<InstId> {
        match body.flow.made_by(at, reg) {
            None => body.uses(at, reg),
            Some(made) => self.walk(body, made, |node| (node.users, node.onward)),
        }
    }

    /// The instructions of a value and of all that follow from it, by what `of` gives: the instructions of
    /// one, and the values behind it.
    fn walk<'b>(
        &mut self,
        body: &'b Body<'_>,
        from: u32,
        of: impl Fn(ValueNode<'b>) -> (&'b [InstId], &'b [u32]),
    ) -> Vec<InstId> {
        let (mut found, mut work) = (Vec::new(), vec![from]);
        while let Some(v) = work.pop() {
            if !std::mem::replace(&mut self.0[v as usize], true) {
                let (insts, onward) = of(body.flow.value(v));
                found.extend(insts);
                work.extend(onward);
            }
        }
        found
    }
}

/// Registers that an instruction reads, its guard not among them.
pub fn read(inst: &Inst) -> Vec<Reg> {
    let mut out = regs(&in_role(inst, &[Role::Use, Role::UseDef, Role::Addr, Role::Target]));
    out.dedup();
    out
}

/// The registers among leaf operands.
pub fn regs(operands: &[Operand]) -> Vec<Reg> {
    use prlx_isa::view::Base;
    let reg = |o: &Operand| match o {
        Operand::Reg(r) | Operand::Not(r) | Operand::Element(r, _) | Operand::Address(Base::Reg(r), _) => {
            Some(*r)
        }
        _ => None,
    };
    operands.iter().filter_map(reg).collect()
}

/// Whether a memory instruction touches only what parameters are made of.
pub fn is_param(inst: &Inst) -> bool {
    inst.space == Space::Param
}

/// The trace's name for a type.
pub fn scalar(ty: Type) -> Scalar {
    match ty {
        Type::Pred => Scalar::Pred,
        Type::U8 => Scalar::U8,
        Type::U16 => Scalar::U16,
        Type::U32 => Scalar::U32,
        Type::U64 => Scalar::U64,
        Type::S8 => Scalar::S8,
        Type::S16 => Scalar::S16,
        Type::S32 => Scalar::S32,
        Type::S64 => Scalar::S64,
        Type::F16 => Scalar::F16,
        Type::F16x2 => Scalar::F16x2,
        Type::Bf16 => Scalar::Bf16,
        Type::Bf16x2 => Scalar::Bf16x2,
        Type::F32 => Scalar::F32,
        Type::F64 => Scalar::F64,
        // The rest is bits of some width.
        other => match other.bits() {
            ..=8 => Scalar::B8,
            9..=16 => Scalar::B16,
            17..=32 => Scalar::B32,
            33..=64 => Scalar::B64,
            _ => Scalar::B128,
        },
    }
}
