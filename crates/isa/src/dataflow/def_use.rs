//! Def-use chains of one function: which definitions reach a use, and which uses see a definition.
//!
//! Most registers have one definition that dominates all uses; nothing more is stored for them. The others
//! get the phi nodes of static single assignment, one register after the other. Only phi nodes that
//! distinguish definitions are kept: phi nodes that reach each other (around loops) become one, and a phi
//! node of one value is dropped. A query walks the rest.
//!
//! # Invariants
//! - These do not end earlier definitions: guarded definitions (but of predicates that the instruction
//!   [clears](crate::view::Semantics::clears)), writes of single elements, and what unknown
//!   operations may write.
//! - [`Def::Entry`] is present when some path from the entry defines nothing.
//!
//! # Limitations
//! - Memory, call parameters in `.param` space and the carry flag are not tracked.
//! - In unreachable blocks, only definitions of the same block are seen.

use super::mentions::{Mention, mentions};
use super::phi;
use super::values::{ENTRY, Value, Values, id, walk};
use crate::cfg::Cfg;
use crate::view::{Function, InstId, Reg};

/// Where the value of a register can come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Def {
    /// The entry of the function: a register parameter, or a register that nothing wrote.
    Entry,
    /// An instruction. A guarded one does not end earlier definitions.
    Inst(InstId),
}

/// What an instruction sees of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Seen {
    /// Nothing reaches it, or the instruction does not read the register.
    Nothing,
    /// What one instruction wrote.
    Inst(InstId),
    /// A value of [`DefUse::value`].
    Value(u32),
}

/// A value that several definitions may give, and what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct ValueNode<'a> {
    /// Whether the entry of the function may give it.
    pub entry: bool,
    /// Its own definitions.
    pub defs: &'a [InstId],
    /// Values whose definitions count too. They have lower numbers.
    pub from: &'a [u32],
    /// Instructions that see it.
    pub users: &'a [InstId],
    /// Values that include its definitions. They have higher numbers.
    pub onward: &'a [u32],
}

/// Def-use chains of a function.
#[derive(Clone, Debug, Default)]
pub struct DefUse {
    /// The definition of each register that reaches all its uses, if there is one.
    single: Vec<Option<InstId>>,
    /// Offsets into `mentions`, by register.
    starts: Vec<u32>,
    mentions: Vec<Mention>,
    /// Values of the registers without a single definition.
    values: Values,
}

impl DefUse {
    /// Builds the def-use chains of a function.
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
            mentions(InstId(id(i)), inst, &f.regs, &mut list);
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
        // A stable sort keeps the mentions of each register in source order.
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

    /// Whether one definition reaches every use.
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

    /// Definitions that `inst` can see of a register that it reads, sorted. Empty if it does not read the
    /// register, or if nothing reaches it.
    ///
    /// The list can be as long as the function. Where many instructions are asked for, take
    /// [`DefUse::seen`].
    pub fn defs(&self, inst: InstId, reg: Reg) -> Vec<Def> {
        self.some_defs(inst, reg, usize::MAX)
    }

    /// The same as [`DefUse::defs`], but only `most` of the definitions if there are more.
    pub fn some_defs(&self, inst: InstId, reg: Reg, most: usize) -> Vec<Def> {
        let value = match self.seen(inst, reg) {
            Seen::Nothing => return vec![],
            Seen::Inst(def) => return vec![Def::Inst(def)],
            Seen::Value(value) => value,
        };
        let mut defs = vec![];
        walk(value, |v| {
            if defs.len() >= most {
                return &[];
            }
            let (own, others) = self.values.node(v);
            defs.extend((v == ENTRY).then_some(Def::Entry));
            defs.extend(own.iter().map(|i| Def::Inst(*i)));
            others
        });
        if (1..defs.len()).contains(&most) {
            // A list can be as long as the function. Only the first ones are sorted.
            defs.select_nth_unstable(most - 1);
            let mut first = defs[..most].to_vec();
            first.sort_unstable();
            first.dedup();
            if first.len() == most {
                return first;
            }
        }
        defs.sort_unstable();
        defs.dedup();
        defs.truncate(most);
        defs
    }

    /// What `inst` sees of a register.
    pub fn seen(&self, inst: InstId, reg: Reg) -> Seen {
        if let Some(def) = self.single(reg) {
            return Seen::Inst(def);
        }
        match self.values.seen.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)) {
            Ok(at) => Seen::Value(self.values.seen[at].2),
            Err(_) => Seen::Nothing,
        }
    }

    /// How many values there are. The graph of all values has a size that is linear in the function's, while
    /// the lists of definitions by use can be its square.
    pub fn value_count(&self) -> usize {
        self.values.count()
    }

    /// Value number `value`, below [`DefUse::value_count`].
    pub fn value(&self, value: u32) -> ValueNode<'_> {
        let (defs, from) = self.values.node(value);
        let (users, onward) = self.values.users(value);
        ValueNode { entry: value == ENTRY, defs, from, users, onward }
    }

    /// The definitions that belong to values, sorted by instruction: instruction, register, value.
    pub fn made(&self) -> &[(InstId, Reg, Value)] {
        &self.values.made
    }

    /// Instructions that read a register which has a single definition.
    pub fn readers(&self, reg: Reg) -> impl Iterator<Item = InstId> {
        self.of_reg(reg).iter().filter(|m| m.reads).map(|m| m.inst)
    }

    /// The only definition that any use of the register sees, if there is one.
    pub fn single(&self, reg: Reg) -> Option<InstId> {
        self.single.get(reg.index()).copied().flatten()
    }

    /// Whether an instruction may see the value that `inst` writes to a register.
    pub fn is_used(&self, inst: InstId, reg: Reg) -> bool {
        if let Some(def) = self.single(reg) {
            return def == inst && self.readers(reg).next().is_some();
        }
        self.made_by(inst, reg).is_some_and(|value| {
            let (own, onward) = self.values.users(value);
            !own.is_empty() || !onward.is_empty()
        })
    }

    /// The value that `inst` writes to a register without a single definition.
    pub fn made_by(&self, inst: InstId, reg: Reg) -> Option<u32> {
        let at = self.values.made.binary_search_by_key(&(inst, reg), |(i, r, _)| (*i, *r)).ok()?;
        Some(self.values.made[at].2)
    }

    /// Instructions that can see the value that `inst` writes to a register, sorted. The list can be as long
    /// as the function.
    pub fn uses(&self, inst: InstId, reg: Reg) -> Vec<InstId> {
        if let Some(def) = self.single(reg) {
            return if def == inst { self.readers(reg).collect() } else { vec![] };
        }
        let Some(value) = self.made_by(inst, reg) else { return vec![] };
        let mut users = vec![];
        walk(value, |v| {
            let (own, onward) = self.values.users(v);
            users.extend(own);
            onward
        });
        users.sort_unstable();
        users.dedup();
        users
    }
}
