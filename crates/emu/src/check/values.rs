//! Where the values of registers come from, in any instruction set.
//!
//! A write under a guard keeps the value before it in the lanes that the guard leaves out. AMD's vector
//! registers have EXEC as their guard. The value before such a write is gone for an instruction behind it
//! which the same lanes run, or some of them: EXEC only became narrower in between.
//!
//! # Invariants
//! A definition that an instruction may see is never left out.
//!
//! # Limitations
//! EXEC becomes narrower by `v_cmpx`, by an AND, and by copies of its own AND. What restores it from before
//! does not count.

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{Def, DefUse};
use prlx_isa::view::{Class, Function, Inst, InstId, Operand, Reg, Role};
use rustc_hash::FxHashSet;

/// Moves of a value, one after the other, that are followed.
const MOVES: usize = 8;

/// The value that an instruction reads in a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    pub at: InstId,
    pub reg: Reg,
    /// What may have written it.
    pub defs: Vec<Def>,
}

/// What a search does where a value is read.
pub enum Step {
    /// Follows the results of the instruction as well.
    Follow,
    /// Leaves them out.
    Pass,
    /// Ends the search.
    End,
}

/// The values of a function's registers.
pub struct Values<'f> {
    pub function: &'f Function,
    graph: &'f Cfg,
    flow: DefUse,
}

impl<'f> Values<'f> {
    pub fn of(function: &'f Function, graph: &'f Cfg) -> Values<'f> {
        Values { function, graph, flow: DefUse::of(function, graph) }
    }

    pub fn inst(&self, at: InstId) -> &'f Inst {
        &self.function.insts[at.index()]
    }

    /// The definitions of a register that an instruction may see.
    pub fn defs(&self, at: InstId, reg: Reg) -> Vec<Def> {
        let all = self.flow.defs(at, reg);
        if all.len() < 2 {
            return all;
        }
        let last = |def: &Def| match def {
            Def::Inst(def) => self.dominates(*def, at) && self.ends(*def, at),
            Def::Entry => false,
        };
        let ends: Vec<InstId> =
            all.iter().filter(|def| last(def)).filter_map(|def| instruction(*def)).collect();
        // All ways lead by the last one. A way to an earlier one need not, so the rest of that way must.
        let gone = |def: &Def| match def {
            Def::Entry => !ends.is_empty(),
            Def::Inst(def) => ends.iter().any(|end| end != def && !self.dominates(*end, *def)),
        };
        all.iter().copied().filter(|def| !gone(def)).collect()
    }

    /// Whether every way to an instruction leads by another one.
    fn dominates(&self, first: InstId, then: InstId) -> bool {
        let (a, b) = (self.inst(first).block, self.inst(then).block);
        if a == b { first < then } else { self.graph.reaches(b) && self.graph.dominates(a, b) }
    }

    /// Whether a write leaves nothing of the value before it that an instruction behind it could read.
    fn ends(&self, def: InstId, at: InstId) -> bool {
        let (write, read) = (self.inst(def), self.inst(at));
        let Some(guard) = write.guard else { return true };
        let own_lane = !matches!(read.class, Class::Warp | Class::Matrix | Class::Call);
        read.guard == write.guard && own_lane && !guard.negate && self.narrower(guard.reg, def, at)
    }

    /// Whether a mask at one instruction is that at another one before it, or a part of it.
    fn narrower(&self, mask: Reg, before: InstId, at: InstId) -> bool {
        let first = self.flow.defs(before, mask);
        let is_first = |def: &Def| match def {
            Def::Entry => first.contains(def),
            Def::Inst(at) => first.contains(def) && !self.dominates(before, *at),
        };
        let mut all = self.flow.defs(at, mask);
        let mut next = 0;
        while let Some(def) = all.get(next).copied() {
            next += 1;
            if is_first(&def) {
                continue;
            }
            let source = instruction(def).and_then(|def| self.narrows(mask, def));
            let Some(source) = source.filter(|source| self.dominates(before, *source)) else { return false };
            for def in self.flow.defs(source, mask) {
                if !all.contains(&def) {
                    all.push(def);
                }
            }
        }
        true
    }

    /// The instruction whose mask a write of the mask makes narrower, if it does that.
    fn narrows(&self, mask: Reg, write: InstId) -> Option<InstId> {
        let i = self.inst(write);
        if let Some(Operand::Reg(from)) = moved(i, mask) {
            return match self.flow.defs(write, *from)[..] {
                [Def::Inst(def)] if is_part(self.inst(def), mask) => Some(def),
                _ => None,
            };
        }
        let compares = i.class == Class::Compare && i.guard.is_some_and(|guard| guard.reg == mask);
        (compares || is_part(i, mask)).then_some(write)
    }

    /// The value that an instruction reads in a register, before it was moved.
    pub fn value(&self, at: InstId, reg: Reg) -> Value {
        let mut value = Value { at, reg, defs: self.defs(at, reg) };
        for _ in 0..MOVES {
            let [Def::Inst(def)] = value.defs[..] else { break };
            let Some(Operand::Reg(from)) = moved(self.inst(def), value.reg) else { break };
            value = Value { at: def, reg: *from, defs: self.defs(def, *from) };
        }
        value
    }

    /// Whether two values are the same. Of several definitions, that is known in one block only.
    pub fn same(&self, a: &Value, b: &Value) -> bool {
        let unchanged = || {
            let between = a.at.min(b.at).index()..a.at.max(b.at).index();
            self.inst(a.at).block == self.inst(b.at).block
                && self.function.insts[between].iter().all(|i| i.defs().all(|def| def != a.reg))
        };
        a.reg == b.reg && a.defs == b.defs && (a.defs.len() == 1 || unchanged())
    }

    /// Follows the results of an instruction: asks about each instruction that may read one, and its
    /// register. Returns whether one ends the search.
    pub fn follow(&self, from: InstId, ask: impl Fn(InstId, Reg) -> Step) -> bool {
        let mut all: Vec<(InstId, Reg)> = self.inst(from).defs().map(|reg| (from, reg)).collect();
        let mut known: FxHashSet<(InstId, Reg)> = all.iter().copied().collect();
        while let Some((def, reg)) = all.pop() {
            let users = self.flow.uses(def, reg).into_iter();
            for user in users.filter(|user| self.defs(*user, reg).contains(&Def::Inst(def))) {
                match ask(user, reg) {
                    Step::End => return true,
                    Step::Pass => {}
                    Step::Follow => {
                        let results = self.inst(user).defs().map(|reg| (user, reg));
                        all.extend(results.filter(|result| known.insert(*result)));
                    }
                }
            }
        }
        false
    }
}

fn instruction(def: Def) -> Option<InstId> {
    match def {
        Def::Inst(at) => Some(at),
        Def::Entry => None,
    }
}

/// Whether an instruction computes a part of a mask of lanes that it reads.
fn is_part(i: &Inst, mask: Reg) -> bool {
    let reads = |n: usize| {
        let mut sources = i.operands.iter().zip(&i.roles).filter(|(_, role)| **role == Role::Use);
        sources.nth(n).is_some_and(|(operand, _)| *operand == Operand::Reg(mask))
    };
    let opcode = i.semantics.opcode.as_str();
    let is = |stems: &[&str]| stems.iter().any(|stem| opcode.starts_with(stem));
    is(&["s_and_b", "s_and_saveexec"]) && (reads(0) || reads(1))
        || is(&["s_andn2_b", "s_and_not1_b"]) && reads(0)
}

/// What a move, or a conversion of an address between state spaces, writes to a register.
pub fn moved(i: &Inst, reg: Reg) -> Option<&Operand> {
    fn words(operand: &Operand) -> &[Operand] {
        if let Operand::Vector(all) = operand { all } else { std::slice::from_ref(operand) }
    }
    if i.class != Class::Move && !i.semantics.opcode.starts_with("cvta") {
        return None;
    }
    // Operations in pairs have a result and a source each.
    let pairs = (1..i.operands.len()).filter(|at| i.roles[at - 1..=*at] == [Role::Def, Role::Use]);
    pairs.into_iter().find_map(|at| {
        let (to, from) = (words(&i.operands[at - 1]), words(&i.operands[at]));
        let n = to.iter().position(|word| *word == Operand::Reg(reg))?;
        from.get(n).filter(|_| to.len() == from.len())
    })
}
