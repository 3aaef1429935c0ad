//! Data flow of one function: which definitions reach a use, and which predicates decide something.
//!
//! A register with one definition that dominates its uses (most of them) costs nothing more than that knowledge. The others
//! get the joins of static single assignment, one register after the other; of those only what tells definitions apart is
//! kept: joins that can see each other (around loops) are one, and joins of one value are none. A query walks what is left.
//!
//! Holds: guarded definitions, writes of single elements and what unknown operations may write do not end earlier definitions; [`Def::Entry`] is there when
//! some way from the entry defines nothing. Misses: memory, parameters of calls in `.param` space, the carry flag; in blocks
//! that nothing reaches, only definitions of the same block are seen.

use super::mentions::{Mention, mentions};
use super::phi;
use super::values::{ENTRY, Values, id, walk};
use crate::cfg::Cfg;
use crate::view::{Function, InstId, Reg};

/// Where a register's value can come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Def {
    /// The function's entry: a register parameter, or nothing wrote it.
    Entry,
    /// An instruction. A guarded one does not end the life of earlier definitions.
    Inst(InstId),
}
/// Def-use chains of a function.
#[derive(Clone, Debug, Default)]
pub struct DefUse {
    /// By register: the one definition that reaches all its uses, where that is so.
    single: Vec<Option<InstId>>,
    /// By register: instructions that name it, ascending; offsets into `mentions`.
    starts: Vec<u32>,
    mentions: Vec<Mention>,
    /// Values of the other registers.
    values: Values,
}

impl DefUse {
    /// The data flow of a function.
    pub fn of(f: &Function, graph: &Cfg) -> DefUse {
        let mut flow =
            DefUse { single: vec![None; f.regs.len()], values: Values::new(), ..DefUse::default() };
        flow.collect(f);
        let mut builder = phi::Builder::new(f, graph);
        for r in 0..f.regs.len() {
            let reg = Reg(id(r));
            if !flow.has_single(f, graph, reg) {
                let list = flow.of_reg(reg).to_vec();
                builder.register(&mut flow.values, reg, &list);
            }
        }
        flow.values.link();
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
    fn has_single(&mut self, f: &Function, graph: &Cfg, reg: Reg) -> bool {
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

    /// Which definitions `inst` can see of a register that it reads; sorted. Empty if it does not read it, or nothing
    /// reaches it.
    pub fn defs(&self, inst: InstId, reg: Reg) -> Vec<Def> {
        if let Some(def) = self.single(reg) {
            return vec![Def::Inst(def)];
        }
        let Ok(at) = self.values.seen.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else {
            return vec![];
        };
        let mut defs = vec![];
        walk(self.values.seen[at].2, |v| {
            let (own, others) = self.values.node(v);
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
        let Ok(at) = self.values.made.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) else {
            return vec![];
        };
        let mut users = vec![];
        walk(self.values.made[at].2, |v| {
            let (own, onward) = self.values.users(v);
            users.extend(own);
            onward
        });
        users.sort_unstable();
        users.dedup();
        users
    }
}
