//! The loops of a kernel, and which registers decide whether a lane leaves one.
//!
//! [`Loops::slice`] is a backward slice inside a loop. It begins with what a lane does for others to see: it
//! leaves the loop, comes to the header, writes memory, or meets other lanes. From there it follows guards,
//! the branches on which an instruction depends (control dependence, from post-dominators), registers, and
//! the addresses of loads. A counter that none of these depends on is not in the slice.
//!
//! # Invariants
//! - From the header of a loop on, what a lane does in the slice follows from the registers of the slice and
//!   the memory that the loads of the slice read. If both are the same at two visits of the header, the lane
//!   never leaves the loop until that memory changes.
//! - The addresses of all writes are in the slice. The values that a write stores are in it only on request.
//!
//! # Limitations
//! A loop with a call, with copies or with matrix operations has no slice; all registers count.

use prlx_isa::cfg::Cfg;
use prlx_isa::view::{BlockId, Class, FuncId, Function, Inst, InstId, Module, Reg, Role};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Clock, Code, MbarrierKind, Op, WarpOpKind};
use crate::decode::{PlaneKind, kind};

/// The number of no loop.
const NONE: u32 = u32::MAX;

/// A loop of the kernel, by steps.
#[derive(Clone, Debug)]
pub struct CodeLoop {
    /// The function of the loop.
    pub func: FuncId,
    /// The first step of the header; no step if the loop cannot be followed.
    pub header: u32,
    /// The first and the last step of the loop. Steps of other blocks may lie between them.
    pub range: (u32, u32),
    /// The enclosing loop.
    parent: u32,
    /// Number of the loop in the control-flow graph of its function.
    index: usize,
}

/// The loops of all functions that a kernel can reach.
#[derive(Debug, Default)]
pub struct Loops {
    /// The loops, outer loops before inner ones.
    pub all: Vec<CodeLoop>,
    /// By step: the innermost loop around it.
    innermost: Vec<u32>,
    /// By step: whether it is the first of its block.
    begins: Vec<bool>,
    graphs: FxHashMap<FuncId, Cfg>,
}

/// Which operands of a write decide what it does to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operands {
    /// A compare-and-swap that fails: the value that it compares.
    Compared,
    /// All of them.
    All,
}

/// The registers and the loads that decide whether a lane leaves a loop.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The registers; `None` if all registers count.
    pub registers: Option<SliceRegisters>,
    /// Steps of loads, atomics and tests that are in the slice, ascending.
    pub loads: Vec<u32>,
    /// Whether a clock or the set of active lanes decides too. It changes by itself.
    pub unstable: bool,
}

/// Planes of the registers of a slice.
#[derive(Clone, Debug, Default)]
pub struct SliceRegisters {
    /// Planes of 32 bits.
    pub w32: Vec<u16>,
    /// Planes of 64 bits.
    pub w64: Vec<u16>,
    /// Planes of predicates.
    pub pred: Vec<u16>,
    /// Whether the carry flag counts.
    pub carry: bool,
}

impl Slice {
    /// Whether a step of the loop that reads memory belongs to the slice.
    pub fn decides(&self, step: u32) -> bool {
        self.registers.is_none() || self.loads.binary_search(&step).is_ok()
    }
}

impl Loops {
    /// Finds the loops of a kernel.
    pub fn of(code: &Code, module: &Module) -> Loops {
        let n = code.steps.len();
        let mut loops = Loops { innermost: vec![NONE; n], begins: vec![false; n], ..Loops::default() };
        let mut first: FxHashMap<FuncId, usize> = FxHashMap::default();
        let mut before = None;
        let mut begun: FxHashSet<(FuncId, BlockId)> = FxHashSet::default();
        for (step, (s, &(func, inst))) in code.steps.iter().zip(&code.origin).enumerate() {
            let Some(function) = module.functions.get(func.index()) else { continue };
            let Some(i) = function.insts.get(inst.index()) else { continue };
            let first = *first.entry(func).or_insert_with(|| loops.add(func, function));
            let Some(graph) = loops.graphs.get(&func) else { continue };
            if let Some(&Some(l)) = graph.innermost.get(i.block.index()) {
                loops.innermost[step] = (first + l) as u32;
                let mut around = (first + l) as u32;
                while let Some(l) = loops.all.get_mut(around as usize) {
                    l.range = (l.range.0.min(step as u32), l.range.1.max(step as u32));
                    around = l.parent;
                }
            }
            // Hooks run without a look at the step.
            if matches!(s.op, Op::Hook(_)) || before == Some((func, i.block)) {
                continue;
            }
            before = Some((func, i.block));
            begun.insert((func, i.block));
            loops.begins[step] = true;
            if let Some(l) = loops.all.get_mut(loops.innermost[step] as usize)
                && graph.loops.get(l.index).is_some_and(|found| found.header == i.block)
            {
                l.header = step as u32;
            }
        }
        // A lane could leave a loop unseen through a block without steps.
        for l in &mut loops.all {
            let blocks = loops.graphs.get(&l.func).map_or(&[][..], |graph| &graph.order);
            if !blocks.iter().all(|b| begun.contains(&(l.func, *b))) {
                l.header = NONE;
            }
        }
        loops
    }
    /// Adds the loops of a function; returns the number of its first one.
    fn add(&mut self, func: FuncId, function: &Function) -> usize {
        let graph = Cfg::of(function);
        let first = self.all.len();
        self.all.extend(graph.loops.iter().enumerate().map(|(index, l)| CodeLoop {
            func,
            header: NONE,
            range: (NONE, 0),
            parent: l.parent.map_or(NONE, |p| (first + p) as u32),
            index,
        }));
        self.graphs.insert(func, graph);
        first
    }
    /// Whether a step is the first of its block.
    pub fn begins_block(&self, step: u32) -> bool {
        self.begins.get(step as usize).is_some_and(|b| *b)
    }
    /// The innermost loop around a step.
    pub fn innermost(&self, step: u32) -> Option<u32> {
        self.innermost.get(step as usize).copied().filter(|l| *l != NONE)
    }
    /// The loops around a step, the innermost first.
    pub fn around(&self, step: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = |l: &u32| self.all.get(*l as usize).map(|l| l.parent).filter(|p| *p != NONE);
        std::iter::successors(self.innermost(step), parent)
    }
    /// Whether a step belongs to a loop.
    pub fn contains(&self, l: u32, step: u32) -> bool {
        self.around(step).any(|around| around == l)
    }
    /// The slice of a loop. `values`: writes, by step, with the operands that belong to the slice.
    pub fn slice(&self, code: &Code, module: &Module, l: u32, values: &FxHashMap<u32, Operands>) -> Slice {
        let found = self.all.get(l as usize);
        let function = found.and_then(|l| module.functions.get(l.func.index()));
        let graph = found.and_then(|l| self.graphs.get(&l.func));
        let (Some(this), Some(function), Some(graph)) = (found, function, graph) else {
            return Slice { unstable: true, ..Slice::default() };
        };
        let mut ops: FxHashMap<InstId, Vec<(u32, Op)>> = FxHashMap::default();
        let mut whole = false;
        for step in this.range.0..=this.range.1 {
            let (Some(s), true) = (code.steps.get(step as usize), self.contains(l, step)) else { continue };
            whole |= !has_slice(code, &s.op);
            let inst = code.origin.get(step as usize).map(|o| o.1).unwrap_or_default();
            ops.entry(inst).or_default().push((step, s.op));
        }
        if whole {
            let unstable = |step: u32, op: &Op| {
                let elsewhere = code.origin.get(step as usize).is_some_and(|o| o.0 != this.func);
                changes_by_itself(op) && (elsewhere || self.contains(l, step))
            };
            let unstable = code.steps.iter().enumerate().any(|(step, s)| unstable(step as u32, &s.op));
            return Slice { unstable, ..Slice::default() };
        }
        let mut work = Work {
            function,
            blocks: graph.loops.get(this.index).map_or(&[][..], |l| &l.blocks),
            ops: &ops,
            controls: FxHashMap::default(),
            writers: FxHashMap::default(),
            executed: FxHashSet::default(),
            needed: FxHashSet::default(),
            queue: Vec::new(),
            carry: false,
            loads: Vec::new(),
            unstable: false,
        };
        work.prepare(graph);
        work.seed(graph, this.index, code, values);
        while let Some(reg) = work.queue.pop() {
            work.follow(reg);
        }
        let mut registers = SliceRegisters { carry: work.carry, ..SliceRegisters::default() };
        let planes = code.planes_of(this.func);
        for reg in &work.needed {
            let (Some(&plane), Some(r)) = (planes.get(reg.index()), function.regs.get(reg.index())) else {
                continue;
            };
            match kind(r.ty) {
                PlaneKind::Pred => registers.pred.push(plane),
                PlaneKind::W32 => registers.w32.push(plane),
                PlaneKind::W64 => registers.w64.push(plane),
                PlaneKind::W128 => registers.w64.extend([plane, plane.saturating_add(1)]),
            }
        }
        [&mut registers.w32, &mut registers.w64, &mut registers.pred].into_iter().for_each(|p| p.sort());
        work.loads.sort_unstable();
        work.loads.dedup();
        Slice { registers: Some(registers), loads: work.loads, unstable: work.unstable }
    }
}

/// Whether a loop with this operation has a slice.
fn has_slice(code: &Code, op: &Op) -> bool {
    match op {
        Op::Exchange(i) => !code.warp_ops.get(*i as usize).is_none_or(|w| {
            matches!(w.kind, WarpOpKind::Matrix(_) | WarpOpKind::Wgmma(_) | WarpOpKind::Tensor(_))
        }),
        Op::Call(_)
        | Op::LaneCopy(_)
        | Op::LaneCopyCommit
        | Op::LaneCopyWait(_)
        | Op::BulkCopy(_)
        | Op::TensorCopy(_)
        | Op::BulkCommit
        | Op::BulkWait(..)
        | Op::TensorMap(_)
        | Op::AsyncStore(_)
        | Op::Tensor(_)
        | Op::Alloca(..)
        | Op::StackSave(_)
        | Op::StackRestore(_) => false,
        _ => true,
    }
}

/// Whether the result of an operation changes by itself, or with the schedule. A clock of 64 bits differs at
/// every reading, so that its register shows it; a part of one need not.
fn changes_by_itself(op: &Op) -> bool {
    matches!(op, Op::ActiveMask(_) | Op::Clock(Clock::High | Clock::GlobalHigh, _))
}

/// A slice in the making.
struct Work<'a> {
    function: &'a Function,
    /// The blocks of the loop, sorted.
    blocks: &'a [BlockId],
    /// The steps of each instruction of the loop.
    ops: &'a FxHashMap<InstId, Vec<(u32, Op)>>,
    /// By block: the blocks whose branches decide whether it runs.
    controls: FxHashMap<BlockId, Vec<BlockId>>,
    /// By register: the instructions of the loop that write it.
    writers: FxHashMap<Reg, Vec<InstId>>,
    /// Blocks whose controlling branches are in the slice.
    executed: FxHashSet<BlockId>,
    needed: FxHashSet<Reg>,
    /// Needed registers whose writers are not in the slice yet.
    queue: Vec<Reg>,
    carry: bool,
    loads: Vec<u32>,
    unstable: bool,
}

impl<'a> Work<'a> {
    fn insts(&self) -> impl Iterator<Item = (InstId, &'a Inst)> + use<'a> {
        let (blocks, function) = (self.blocks, self.function);
        let ids = blocks.iter().flat_map(|b| function.blocks.get(b.index()).map(|b| b.insts.clone()));
        ids.flatten().filter_map(|i| Some((InstId(i), function.insts.get(i as usize)?)))
    }
    fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
    /// Finds what controls each block, and what writes each register.
    fn prepare(&mut self, graph: &Cfg) {
        for &p in self.blocks {
            let stop = graph.ipdom.get(p.index()).copied().flatten();
            for &succ in self.function.blocks.get(p.index()).map_or(&[][..], |b| &b.succs) {
                let mut at = Some(succ);
                while let Some(b) = at.filter(|b| Some(*b) != stop) {
                    let by = self.controls.entry(b).or_default();
                    if by.last() == Some(&p) {
                        break;
                    }
                    by.push(p);
                    at = graph.ipdom.get(b.index()).copied().flatten();
                }
            }
        }
        for (id, inst) in self.insts() {
            inst.defs().for_each(|reg| self.writers.entry(reg).or_default().push(id));
        }
    }
    /// Adds what a lane does for others to see.
    fn seed(&mut self, graph: &Cfg, index: usize, code: &Code, values: &FxHashMap<u32, Operands>) {
        let Some(this) = graph.loops.get(index) else { return };
        self.runs(this.header);
        for &(from, _) in &this.exits {
            self.runs(from);
            self.branches(from);
        }
        for (id, inst) in self.insts() {
            let ops = self.ops;
            for (step, op) in ops.get(&id).into_iter().flatten() {
                match op {
                    Op::St(_) | Op::Atom(_) => {
                        self.executes(inst);
                        self.reads(inst, |_, role| role == Role::Addr);
                        match values.get(step) {
                            Some(Operands::All) => self.reads(inst, |_, _| true),
                            Some(Operands::Compared) => {
                                let last = inst.operands.len().saturating_sub(1);
                                self.reads(inst, |at, _| at != last);
                            }
                            None => {}
                        }
                    }
                    Op::Mbarrier(i)
                        if code
                            .mbarriers
                            .get(*i as usize)
                            .is_some_and(|m| matches!(m.kind, MbarrierKind::Test { .. })) => {}
                    Op::Mbarrier(_) | Op::Exchange(_) | Op::Barrier(_) => {
                        self.executes(inst);
                        self.reads(inst, |_, _| true);
                    }
                    _ => {}
                }
            }
        }
    }
    /// Adds what decides whether an instruction runs.
    fn executes(&mut self, inst: &Inst) {
        self.runs(inst.block);
        if let Some(guard) = inst.guard {
            self.need(guard.reg);
        }
    }
    /// Adds what decides whether a block runs.
    fn runs(&mut self, block: BlockId) {
        let mut todo = vec![block];
        while let Some(block) = todo.pop() {
            if !self.executed.insert(block) {
                continue;
            }
            for by in self.controls.get(&block).cloned().unwrap_or_default() {
                self.branches(by);
                todo.push(by);
            }
        }
    }
    /// Adds what decides where control goes from a block.
    fn branches(&mut self, block: BlockId) {
        let control =
            |i: &&Inst| matches!(i.class, Class::Branch | Class::Switch | Class::Return | Class::Exit);
        if !self.contains(block) {
            return;
        }
        for inst in self.function.block(block).iter().filter(control) {
            inst.uses().for_each(|reg| self.need(reg));
        }
    }
    /// Adds operands that an instruction reads, by number and role.
    fn reads(&mut self, inst: &Inst, which: impl Fn(usize, Role) -> bool) {
        for (at, (operand, role)) in inst.operands.iter().zip(&inst.roles).enumerate() {
            if which(at, *role) {
                operand.for_each_reg(*role, &mut |reg, read, _| {
                    if read {
                        self.need(reg);
                    }
                });
            }
        }
    }
    fn need(&mut self, reg: Reg) {
        if self.needed.insert(reg) {
            self.queue.push(reg);
        }
    }
    /// Adds the instructions that write a register.
    fn follow(&mut self, reg: Reg) {
        for id in self.writers.get(&reg).cloned().unwrap_or_default() {
            if let Some(inst) = self.function.insts.get(id.index()) {
                self.computes(id, inst);
            }
        }
    }
    /// Adds what decides what an instruction computes.
    fn computes(&mut self, id: InstId, inst: &Inst) {
        self.executes(inst);
        let ops = self.ops;
        let mut loads = false;
        for (step, op) in ops.get(&id).into_iter().flatten() {
            loads |= matches!(op, Op::Ld(_) | Op::Atom(_));
            if matches!(op, Op::Ld(_) | Op::Atom(_) | Op::Mbarrier(_)) {
                self.loads.push(*step);
            }
            self.unstable |= matches!(op, Op::ActiveMask(_) | Op::Clock(..));
        }
        self.reads(inst, |_, role| !loads || role == Role::Addr);
        if reads_carry(inst) && !self.carry {
            self.carry = true;
            let writers: Vec<_> = self.insts().filter(|(_, i)| writes_carry(i)).collect();
            writers.into_iter().for_each(|(id, inst)| self.computes(id, inst));
        }
    }
}

/// Whether an instruction adds the carry flag (PTX ISA, Extended-Precision Arithmetic).
fn reads_carry(inst: &Inst) -> bool {
    ["addc", "subc", "madc"].iter().any(|name| inst.semantics.opcode.starts_with(name))
}

/// Whether an instruction writes the carry flag.
fn writes_carry(inst: &Inst) -> bool {
    inst.semantics.opcode.split('.').any(|part| part == "cc")
}
