//! Data flow of one function: which definitions reach a use, and which predicates decide something.
//!
//! A register with one definition that dominates its uses (most of them) costs nothing more than that knowledge. The others
//! get the joins of static single assignment, so memory follows the joins, not blocks times registers; the sets that a
//! query gives are found by walking those joins.
//!
//! Holds: guarded definitions, writes of single elements and what unknown operations may write do not end earlier definitions; [`Def::Entry`] is there when
//! some way from the entry defines nothing. Misses: memory, parameters of calls in `.param` space, the carry flag; in blocks
//! that nothing reaches, only definitions of the same block are seen.

use std::collections::{BTreeMap, HashSet};

use crate::graph::Graph;
use crate::ptx::Op;
use crate::view::{BlockId, Class, Function, Inst, InstId, Operand, Reg};

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

/// A value that a register can have: index into [`Flow::values`].
type Value = u32;

#[derive(Clone, Debug)]
enum Node {
    /// From the function's entry.
    Entry,
    /// What an instruction wrote; for a definition that need not happen, else what was there before.
    Def(InstId, Option<Value>),
    /// One of these, by the way that control came.
    Join(Vec<Value>),
}

/// Def-use chains of a function.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// By register: the one definition that reaches all its uses, where that is so.
    single: Vec<Option<InstId>>,
    /// By register: instructions that name it, ascending; offsets into `mentions`.
    starts: Vec<u32>,
    mentions: Vec<Mention>,
    values: Vec<Node>,
    /// The value that a use sees, for registers without a single definition; sorted.
    seen: Vec<(InstId, Reg, Value)>,
    /// Values by the instruction and register that make them; sorted.
    made: Vec<(InstId, Reg, Value)>,
    /// By value: values that are joins of it or may leave it standing, and instructions that use it.
    onward: Vec<(Vec<Value>, Vec<InstId>)>,
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

/// A write of one element leaves the others.
fn partial(operand: &Operand, list: &mut Vec<(Reg, Mention)>) {
    match operand {
        Operand::Element(reg, _) => {
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
        let mut flow = Flow { single: vec![None; f.regs.len()], ..Flow::default() };
        flow.collect(f);
        let frontiers = frontiers(f, graph);
        let mut scratch = Scratch {
            live: vec![0; f.blocks.len()],
            join: vec![0; f.blocks.len()],
            at_end: vec![(0, 0); f.blocks.len()],
            epoch: 0,
        };
        for r in 0..f.regs.len() {
            let reg = Reg(id(r));
            if !flow.has_single(f, graph, reg) {
                flow.joins(f, graph, &frontiers, &mut scratch, reg);
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

    /// Makes the values of a register that has several, or may have none.
    fn joins(&mut self, f: &Function, graph: &Graph, frontiers: &[Vec<BlockId>], s: &mut Scratch, reg: Reg) {
        let list: Vec<Mention> = self.of_reg(reg).to_vec();
        if list.iter().all(|m| !m.reads) && list.iter().all(|m| m.ends || !m.writes) {
            // Written and never read.
            for m in &list {
                let v = self.value(Node::Def(m.inst, None));
                self.made.push((m.inst, reg, v));
            }
            return;
        }
        s.epoch += 1;
        let place = |i: InstId| f.insts[i.index()].block;
        // Blocks where what comes in matters.
        let mut work = vec![];
        let mut i = 0;
        while i < list.len() {
            let block = place(list[i].inst);
            let mut ended = false;
            while i < list.len() && place(list[i].inst) == block {
                let m = list[i];
                if !ended && (m.reads || m.writes && !m.ends) && s.live[block.index()] != s.epoch {
                    s.live[block.index()] = s.epoch;
                    work.push(block);
                }
                ended |= m.ends;
                i += 1;
            }
            if ended {
                // Says "not through here" to the climb below.
                s.at_end[block.index()] = (s.epoch, u32::MAX);
            }
        }
        while let Some(b) = work.pop() {
            for p in &f.blocks[b.index()].preds {
                let p = p.index();
                if s.live[p] != s.epoch && s.at_end[p] != (s.epoch, u32::MAX) {
                    s.live[p] = s.epoch;
                    work.push(BlockId(id(p)));
                }
            }
        }
        // Joins: where definitions meet and it matters.
        let mut joins = vec![];
        let mut work: Vec<BlockId> = vec![];
        let mut last = None;
        for m in list.iter().filter(|m| m.writes) {
            let block = place(m.inst);
            if last != Some(block) && graph.reaches(block) {
                work.push(block);
                last = Some(block);
            }
        }
        while let Some(b) = work.pop() {
            for j in &frontiers[b.index()] {
                let k = j.index();
                if s.join[k] >> 32 != u64::from(s.epoch) && s.live[k] == s.epoch {
                    let v = self.value(Node::Join(vec![]));
                    s.join[k] = u64::from(s.epoch) << 32 | u64::from(v);
                    joins.push(*j);
                    work.push(*j);
                }
            }
        }
        let entry = self.value(Node::Entry);
        // Values at the ends of blocks with mentions, in order of domination so that what comes in is known.
        let joined = u64::from(s.epoch);
        s.epoch += 1;
        let mut i = 0;
        let mut groups = vec![];
        while i < list.len() {
            let block = place(list[i].inst);
            let from = i;
            while i < list.len() && place(list[i].inst) == block {
                i += 1;
            }
            groups.push((block, from..i));
        }
        // Outer before inner in the dominator tree: what is above a block is known before it.
        groups.sort_unstable_by_key(|(b, _)| graph.entered(*b));
        for (block, range) in groups {
            let mut now = if graph.reaches(block) { Some(self.incoming(graph, s, joined, block, entry)) } else { None };
            for m in &list[range] {
                if m.reads
                    && let Some(v) = now
                {
                    self.seen.push((m.inst, reg, v));
                }
                if m.writes {
                    let v = self.value(Node::Def(m.inst, if m.ends { None } else { now }));
                    self.made.push((m.inst, reg, v));
                    now = Some(v);
                }
            }
            if let Some(v) = now {
                s.at_end[block.index()] = (s.epoch, v);
            }
        }
        for j in joins {
            let mut from = vec![];
            for p in &f.blocks[j.index()].preds {
                if graph.reaches(*p) {
                    from.push(self.outgoing(graph, s, joined, *p, entry));
                }
            }
            if j.0 == 0 {
                from.push(entry);
            }
            from.sort_unstable();
            from.dedup();
            let v = id_of(s.join[j.index()]);
            self.values[v as usize] = Node::Join(from);
        }
    }

    fn value(&mut self, node: Node) -> Value {
        self.values.push(node);
        id(self.values.len() - 1)
    }

    /// The value at a block's end.
    fn outgoing(&self, graph: &Graph, s: &mut Scratch, joined: u64, block: BlockId, entry: Value) -> Value {
        let mut path = vec![];
        let mut b = block;
        let v = loop {
            if s.at_end[b.index()].0 == s.epoch {
                break s.at_end[b.index()].1;
            }
            path.push(b);
            if s.join[b.index()] >> 32 == joined {
                break id_of(s.join[b.index()]);
            }
            match graph.idom[b.index()] {
                Some(up) => b = up,
                None => break entry,
            }
        };
        for b in path {
            s.at_end[b.index()] = (s.epoch, v);
        }
        v
    }

    /// The value at a block's beginning.
    fn incoming(&self, graph: &Graph, s: &mut Scratch, joined: u64, block: BlockId, entry: Value) -> Value {
        if s.join[block.index()] >> 32 == joined {
            return id_of(s.join[block.index()]);
        }
        match graph.idom[block.index()] {
            Some(up) => self.outgoing(graph, s, joined, up, entry),
            None => entry,
        }
    }

    /// Chains from values to what uses them.
    fn link(&mut self) {
        let mut onward = vec![(vec![], vec![]); self.values.len()];
        for (v, node) in self.values.iter().enumerate() {
            match node {
                Node::Entry | Node::Def(_, None) => {}
                Node::Def(_, Some(before)) => onward[*before as usize].0.push(id(v)),
                Node::Join(from) => from.iter().for_each(|p| onward[*p as usize].0.push(id(v))),
            }
        }
        for (inst, _, v) in &self.seen {
            onward[*v as usize].1.push(*inst);
        }
        self.onward = onward;
    }

    /// Which definitions `inst` can see of a register that it reads; sorted. Empty if it does not read it, or nothing
    /// reaches it.
    pub fn defs(&self, inst: InstId, reg: Reg) -> Vec<Def> {
        if let Some(def) = self.single.get(reg.index()).copied().flatten() {
            return vec![Def::Inst(def)];
        }
        let Ok(at) = self.seen.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else { return vec![] };
        let mut defs = vec![];
        let mut done = HashSet::new();
        let mut work = vec![self.seen[at].2];
        while let Some(v) = work.pop() {
            if !done.insert(v) {
                continue;
            }
            match &self.values[v as usize] {
                Node::Entry => defs.push(Def::Entry),
                Node::Def(inst, before) => {
                    defs.push(Def::Inst(*inst));
                    work.extend(before);
                }
                Node::Join(from) => work.extend(from),
            }
        }
        defs.sort_unstable();
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
        let Ok(at) = self.made.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else { return vec![] };
        let mut users = vec![];
        let mut done = HashSet::new();
        let mut work = vec![self.made[at].2];
        while let Some(v) = work.pop() {
            if done.insert(v) {
                let (values, insts) = &self.onward[v as usize];
                work.extend(values);
                users.extend(insts);
            }
        }
        users.sort_unstable();
        users.dedup();
        users
    }
}

/// The value in a join's mark.
fn id_of(mark: u64) -> Value {
    u32::try_from(mark & 0xffff_ffff).unwrap_or(u32::MAX)
}

/// Notes by block, valid where their epoch is the current one.
struct Scratch {
    live: Vec<u32>,
    /// Epoch and value of the join at a block's beginning.
    join: Vec<u64>,
    /// Epoch and value at a block's end.
    at_end: Vec<(u32, Value)>,
    epoch: u32,
}

/// By block: where its domination ends (Cooper, Harvey, Kennedy).
fn frontiers(f: &Function, graph: &Graph) -> Vec<Vec<BlockId>> {
    let mut frontiers: Vec<Vec<BlockId>> = vec![vec![]; f.blocks.len()];
    for b in &graph.order {
        let preds = &f.blocks[b.index()].preds;
        // The entry is a join as soon as anything branches to it.
        if preds.len() < 2 && b.0 != 0 {
            continue;
        }
        for p in preds.iter().filter(|p| graph.reaches(**p)) {
            let mut runner = Some(*p);
            while let Some(r) = runner.filter(|r| Some(*r) != graph.idom[b.index()]) {
                if frontiers[r.index()].last() == Some(b) {
                    break;
                }
                frontiers[r.index()].push(*b);
                runner = graph.idom[r.index()];
            }
        }
    }
    frontiers
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
