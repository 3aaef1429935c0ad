//! Data flow of one function: which definitions reach a use, and which predicates decide something.
//!
//! A register with one definition that dominates its uses (most of them) costs nothing more than that knowledge. The others
//! get the joins of static single assignment, one register after the other; of those only what tells definitions apart is
//! kept: joins that can see each other (around loops) are one, and joins of one value are none. A query walks what is left.
//!
//! Holds: guarded definitions, writes of single elements and what unknown operations may write do not end earlier definitions; [`Def::Entry`] is there when
//! some way from the entry defines nothing. Misses: memory, parameters of calls in `.param` space, the carry flag; in blocks
//! that nothing reaches, only definitions of the same block are seen.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::graph::Graph;
use crate::ptx::Op;
use crate::view::{Class, Function, Inst, InstId, Operand, Parts, Reg};

mod joins;

/// Where a register's value can come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Def {
    /// The function's entry: a register parameter, or nothing wrote it.
    Entry,
    /// An instruction. A guarded one does not end the life of earlier definitions.
    Inst(InstId),
}

/// Why a predicate matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SteerKind {
    /// It guards a branch.
    Branch,
    /// It guards another instruction (returns and exits count as branches).
    Guard,
    /// It chooses in a select.
    Select,
    /// It is the index of a `brx.idx`.
    Switch,
}

/// A predicate (or index) that steers something: recorded where it is defined, so that its operands are at hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The instruction after which its value is known. For a switch: the `brx.idx` itself, before it.
    pub at: InstId,
    /// The predicate or index.
    pub reg: Reg,
    /// What it steers, in source order; never empty.
    pub steers: Vec<(InstId, SteerKind)>,
}

/// Something a register can hold: the definitions that may have made it. An index into [`Flow::values`].
type Value = u32;

/// The value that comes from the function's entry, for all registers.
const ENTRY: Value = 0;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Definitions, as a range of [`Flow::own`] from here to where the next node's begin.
    own: u32,
    /// Values whose definitions count too, likewise of [`Flow::others`].
    others: u32,
}

/// Def-use chains of a function.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// By register: the one definition that reaches all its uses, where that is so.
    single: Vec<Option<InstId>>,
    /// By register: instructions that name it, ascending; offsets into `mentions`.
    starts: Vec<u32>,
    mentions: Vec<Mention>,
    /// Values, and one node more than there are, which ends the last.
    values: Vec<Node>,
    own: Vec<InstId>,
    others: Vec<Value>,
    /// The value that a use sees, for registers without a single definition; sorted.
    seen: Vec<(InstId, Reg, Value)>,
    /// Values by the instruction and register that make them; sorted.
    made: Vec<(InstId, Reg, Value)>,
    /// The other way: by value, offsets into `onward` (values that count its definitions too) and `users`.
    back: Vec<Node>,
    onward: Vec<Value>,
    users: Vec<InstId>,
}

/// An instruction that names a register.
#[derive(Clone, Copy, Debug)]
struct Mention {
    inst: InstId,
    reads: bool,
    writes: bool,
    /// It writes all of the register whenever it runs at all.
    ends: bool,
}

/// Every register that an instruction names, once each.
fn mentions(id: InstId, inst: &Inst, list: &mut Vec<(Reg, Mention)>) {
    list.clear();
    inst.for_each_reg(&mut |reg, reads, writes| {
        // An element of a vector is read and written: the rest stays.
        let ends = writes && inst.guard.is_none() && inst.class != Class::Opaque;
        match list.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, m)) => {
                m.reads |= reads;
                m.writes |= writes;
                m.ends |= ends;
            }
            None => list.push((reg, Mention { inst: id, reads, writes, ends })),
        }
    });
    for operand in &inst.operands {
        partial(operand, list);
    }
}

/// A write of one element of a vector leaves the others.
fn partial(operand: &Operand, list: &mut Vec<(Reg, Mention)>) {
    match operand {
        Operand::Element(reg, code) if Parts::from_code(*code).is_none() => {
            for (_, m) in list.iter_mut().filter(|(r, _)| r == reg) {
                m.ends = false;
            }
        }
        Operand::Vector(l) | Operand::List(l) => l.iter().for_each(|o| partial(o, list)),
        Operand::Pair(a, b) => {
            partial(a, list);
            partial(b, list);
        }
        _ => {}
    }
}

fn id(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

impl Flow {
    /// The data flow of a function.
    pub fn of(f: &Function, graph: &Graph) -> Flow {
        // The entry's value has no definition of its own.
        let mut flow =
            Flow { single: vec![None; f.regs.len()], values: vec![Node::default(); 2], ..Flow::default() };
        flow.collect(f);
        let mut builder = joins::Builder::new(f, graph);
        for r in 0..f.regs.len() {
            let reg = Reg(id(r));
            if !flow.has_single(f, graph, reg) {
                builder.register(&mut flow, reg);
            }
        }
        flow.seen.sort_unstable();
        flow.made.sort_unstable();
        flow.link();
        flow
    }

    /// Lists, by register, the instructions that name it.
    fn collect(&mut self, f: &Function) {
        let mut counts = vec![0u32; f.regs.len() + 1];
        let mut list = vec![];
        let mut all = vec![];
        for (i, inst) in f.insts.iter().enumerate() {
            mentions(InstId(id(i)), inst, &mut list);
            for (reg, m) in &list {
                if let Some(c) = counts.get_mut(reg.index() + 1) {
                    *c += 1;
                    all.push((*reg, *m));
                }
            }
        }
        for r in 1..counts.len() {
            counts[r] += counts[r - 1];
        }
        // Stable, so that each register's stay in source order.
        all.sort_by_key(|(reg, _)| *reg);
        self.mentions = all.into_iter().map(|(_, m)| m).collect();
        self.starts = counts;
    }

    fn of_reg(&self, reg: Reg) -> &[Mention] {
        match (self.starts.get(reg.index()), self.starts.get(reg.index() + 1)) {
            (Some(a), Some(b)) => &self.mentions[*a as usize..*b as usize],
            _ => &[],
        }
    }

    /// Whether one definition is all that any use can see.
    fn has_single(&mut self, f: &Function, graph: &Graph, reg: Reg) -> bool {
        let list = self.of_reg(reg);
        let mut defs = list.iter().filter(|m| m.writes);
        let (Some(def), None) = (defs.next(), defs.next()) else { return false };
        if !def.ends {
            return false;
        }
        let place = |i: InstId| f.insts[i.index()].block;
        let (at, block) = (def.inst, place(def.inst));
        let covers = list.iter().filter(|m| m.reads).all(|m| {
            let there = place(m.inst);
            if there == block { m.inst > at } else { graph.reaches(there) && graph.dominates(block, there) }
        });
        if covers {
            self.single[reg.index()] = Some(at);
        }
        covers
    }

    /// Adds a value.
    fn value(&mut self, own: &[InstId], others: &[Value]) -> Value {
        self.own.extend(own);
        self.others.extend(others);
        self.values.push(Node { own: id(self.own.len()), others: id(self.others.len()) });
        id(self.values.len() - 2)
    }

    /// Definitions of a value, and the values whose definitions count too.
    fn node(&self, v: Value) -> (&[InstId], &[Value]) {
        split(&self.values, v, &self.own, &self.others)
    }

    /// Chains from values to what uses them.
    fn link(&mut self) {
        let n = self.values.len() - 1;
        let mut back = vec![Node::default(); n + 1];
        for v in &self.others {
            back[*v as usize + 1].others += 1;
        }
        for (_, _, v) in &self.seen {
            back[*v as usize + 1].own += 1;
        }
        for i in 0..n {
            back[i + 1].own += back[i].own;
            back[i + 1].others += back[i].others;
        }
        let mut next = back.clone();
        self.onward = vec![0; self.others.len()];
        self.users = vec![InstId(0); self.seen.len()];
        for v in 0..n {
            for k in self.values[v].others..self.values[v + 1].others {
                let at = &mut next[self.others[k as usize] as usize].others;
                self.onward[*at as usize] = id(v);
                *at += 1;
            }
        }
        for (inst, _, v) in &self.seen {
            let at = &mut next[*v as usize].own;
            self.users[*at as usize] = *inst;
            *at += 1;
        }
        self.back = back;
    }

    /// Which definitions `inst` can see of a register that it reads; sorted. Empty if it does not read it, or nothing
    /// reaches it.
    pub fn defs(&self, inst: InstId, reg: Reg) -> Vec<Def> {
        if let Some(def) = self.single(reg) {
            return vec![Def::Inst(def)];
        }
        let Ok(at) = self.seen.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else {
            return vec![];
        };
        let mut defs = vec![];
        walk(self.seen[at].2, |v| {
            let (own, others) = self.node(v);
            defs.extend((v == ENTRY).then_some(Def::Entry));
            defs.extend(own.iter().map(|i| Def::Inst(*i)));
            others
        });
        defs.sort_unstable();
        defs.dedup();
        defs
    }

    /// The definition of a register that is all that any of its uses sees.
    pub fn single(&self, reg: Reg) -> Option<InstId> {
        self.single.get(reg.index()).copied().flatten()
    }

    /// Which instructions can see what `inst` writes to a register; sorted.
    pub fn uses(&self, inst: InstId, reg: Reg) -> Vec<InstId> {
        if let Some(def) = self.single(reg) {
            let readers = self.of_reg(reg).iter().filter(|m| m.reads && def == inst);
            return readers.map(|m| m.inst).collect();
        }
        let Ok(at) = self.made.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else {
            return vec![];
        };
        let mut users = vec![];
        walk(self.made[at].2, |v| {
            let (own, onward) = split(&self.back, v, &self.users, &self.onward);
            users.extend(own);
            onward
        });
        users.sort_unstable();
        users.dedup();
        users
    }
}

/// What belongs to a node: up to where the next one's begins.
fn split<'s, T>(nodes: &[Node], v: Value, own: &'s [T], others: &'s [Value]) -> (&'s [T], &'s [Value]) {
    let (a, b) = (nodes[v as usize], nodes[v as usize + 1]);
    (&own[a.own as usize..b.own as usize], &others[a.others as usize..b.others as usize])
}

/// Visits a value and all that follow from it, each once.
fn walk<'s>(from: Value, mut visit: impl FnMut(Value) -> &'s [Value]) {
    let first = visit(from);
    if first.is_empty() {
        return;
    }
    let mut done = FxHashSet::from_iter([from]);
    let mut work = first.to_vec();
    while let Some(v) = work.pop() {
        if done.insert(v) {
            work.extend(visit(v));
        }
    }
}

/// Every predicate and index that steers something, by the instruction that defines it: sorted by `at`, then `reg`.
///
/// A predicate that comes from the entry (a register parameter, or never written) has no defining instruction and is in no
/// decision.
pub fn decisions(f: &Function, flow: &Flow) -> Vec<Decision> {
    let mut found: BTreeMap<(InstId, Reg), Vec<(InstId, SteerKind)>> = BTreeMap::new();
    for (i, inst) in f.insts.iter().enumerate() {
        let at = InstId(id(i));
        let mut steer = |reg: Reg, kind: SteerKind| {
            for def in flow.defs(at, reg) {
                if let Def::Inst(def) = def {
                    found.entry((def, reg)).or_default().push((at, kind));
                }
            }
        };
        if let Some(guard) = inst.guard {
            let branches = matches!(inst.class, Class::Branch | Class::Switch | Class::Return | Class::Exit);
            steer(guard.reg, if branches { SteerKind::Branch } else { SteerKind::Guard });
        }
        match (inst.form.op, inst.operands.first(), inst.operands.last()) {
            (Some(Op::Selp), _, Some(Operand::Reg(p) | Operand::Not(p))) => steer(*p, SteerKind::Select),
            (Some(Op::Brx), Some(Operand::Reg(index)), _) => {
                found.entry((at, *index)).or_default().push((at, SteerKind::Switch));
            }
            _ => {}
        }
    }
    found.into_iter().map(|((at, reg), steers)| Decision { at, reg, steers }).collect()
}
