//! Ordinary reads whose value a compare-and-swap checks, as at the begin of a loop that computes an atomic
//! operation which the hardware does not have. If another thread changes the word between the two, the swap
//! fails, and the value that was read is lost.
//!
//! Values are followed by def-use chains ([`super::values`]), so that a register may be reused.
//!
//! # Limitations
//! A loop that also compares the value with something else, as one that ends early at a maximum, does not
//! count. Neither does a variable that the address names.

use prlx_isa::amdgpu::Native;
use prlx_isa::cfg::{Cfg, Loop};
use prlx_isa::dataflow::Def;
use prlx_isa::view::{
    Access, Atomic, Base, Class, Effect, Eval, Function, Inst, InstId, Operand, Reg, Role, Space,
};

use super::values::{Step, Value, Values, moved};

/// The loads of a function whose values only go to a compare-and-swap of the same word that is repeated until
/// it succeeds.
pub fn checked(f: &Function) -> Vec<InstId> {
    if !f.insts.iter().any(is_swap) {
        return Vec::new();
    }
    let graph = Cfg::of(f);
    let swaps = Swaps { values: Values::of(f, &graph) };
    let retries: Vec<Retry<'_>> = all(f, is_swap).filter_map(|swap| swaps.retry(&graph, swap)).collect();
    let loads = all(f, |i| i.class == Class::Load);
    loads.filter(|load| swaps.only_retried(*load, &retries)).collect()
}

fn all(f: &Function, is: impl Fn(&Inst) -> bool) -> impl Iterator<Item = InstId> {
    (0..).map(InstId).zip(&f.insts).filter(move |(_, i)| is(i)).map(|(at, _)| at)
}

fn is_swap(i: &Inst) -> bool {
    matches!(i.semantics.effect, Effect::Access(Access { atomic: Some(Atomic::CompareExchange), .. }))
}

/// The address of an access: values that are added up, and bytes.
struct Word {
    space: Space,
    terms: Vec<Value>,
    bytes: i64,
}

impl Word {
    fn is(&self, other: &Word, values: &Values<'_>) -> bool {
        let global = |space| if space == Space::Generic { Space::Global } else { space };
        global(self.space) == global(other.space)
            && self.bytes == other.bytes
            && self.terms.len() == other.terms.len()
            && self.terms.iter().all(|a| other.terms.iter().any(|b| values.same(a, b)))
    }
}

/// A compare-and-swap that a loop repeats until it succeeds.
struct Retry<'g> {
    swap: InstId,
    /// The comparison that says whether it succeeded.
    test: InstId,
    word: Word,
    around: &'g Loop,
}

/// The compare-and-swaps of a function.
struct Swaps<'f> {
    values: Values<'f>,
}

impl Swaps<'_> {
    fn inst(&self, at: InstId) -> &Inst {
        self.values.inst(at)
    }

    /// The address of a load or swap; `None` if it names a variable or has two addresses.
    fn word(&self, at: InstId) -> Option<Word> {
        let i = self.inst(at);
        let mut word = Word { space: i.space, terms: Vec::new(), bytes: 0 };
        if let Some(native) = i.semantics.native.get::<Native>() {
            word.bytes = native.inst.address().filter(|_| native.inst.two_offsets().is_none())?.offset;
        }
        let is_zero = |value: &Value| match value.defs[..] {
            [Def::Inst(def)] => moved(self.inst(def), value.reg) == Some(&Operand::Int(0)),
            _ => false,
        };
        let mut add =
            |reg| word.terms.extend(Some(self.values.value(at, reg)).filter(|value| !is_zero(value)));
        for (operand, role) in i.operands.iter().zip(&i.roles) {
            match operand {
                Operand::Address(Base::Reg(reg), offset) => {
                    add(*reg);
                    word.bytes += offset;
                }
                Operand::Address(..) => return None,
                _ if *role == Role::Addr => operand.for_each_reg(*role, &mut |reg, _, _| add(reg)),
                _ => {}
            }
        }
        Some(word)
    }

    /// How a compare-and-swap is repeated, if it is.
    fn retry<'g>(&self, graph: &'g Cfg, swap: InstId) -> Option<Retry<'g>> {
        let word = self.word(swap)?;
        let compares = |i: &Inst| match i.semantics.effect {
            Effect::Compare(c) => matches!(c.relation, Eval::Eq | Eval::Ne) && c.join.is_none(),
            _ => false,
        };
        let tests = all(self.values.function, compares).filter(|test| self.tells_success(*test, swap));
        let mut rings = tests.flat_map(|test| graph.loops.iter().map(move |l| (test, l)));
        let (test, around) =
            rings.find(|(test, l)| l.contains(self.inst(swap).block) && self.decides(*test, l))?;
        Some(Retry { swap, test, word, around })
    }

    /// Whether a comparison is one of a swap's result with the value that it expected.
    fn tells_success(&self, test: InstId, swap: InstId) -> bool {
        let [a, b] = &sources(self.inst(test))[..] else { return false };
        let values = &self.values;
        let expected = expected(self.inst(swap));
        let is_result = |regs: &[Reg]| {
            let results = self.inst(swap).defs().take(expected.len());
            regs.len() == expected.len()
                && regs.iter().zip(results).all(|(reg, result)| {
                    let value = values.value(test, *reg);
                    value.reg == result && value.defs == [Def::Inst(swap)]
                })
        };
        let is_expected = |regs: &[Reg]| {
            let mut pairs = regs.iter().zip(&expected);
            regs.len() == expected.len()
                && pairs.all(|(reg, word)| values.same(&values.value(test, *reg), &values.value(swap, *word)))
        };
        !expected.is_empty() && (is_result(a) && is_expected(b) || is_result(b) && is_expected(a))
    }

    /// Whether the result of an instruction decides if a loop goes on.
    fn decides(&self, test: InstId, around: &Loop) -> bool {
        self.values.follow(test, |user, reg| {
            let i = self.inst(user);
            let leaves = || around.exits.iter().any(|(from, _)| *from == i.block);
            match i.class {
                _ if !around.contains(i.block) => Step::Pass,
                Class::Branch if i.guard.is_some_and(|guard| guard.reg == reg) && leaves() => Step::End,
                _ if is_plain(i) => Step::Follow,
                _ => Step::Pass,
            }
        })
    }

    /// Whether the value of a load goes nowhere but to retried swaps of the same word and to their tests.
    fn only_retried(&self, load: InstId, retries: &[Retry<'_>]) -> bool {
        let Some(word) = self.word(load) else { return false };
        let own: Vec<&Retry<'_>> =
            retries.iter().filter(|r| r.word.is(&word, &self.values) && self.is_expected(load, r)).collect();
        let leaks = || {
            self.values.follow(load, |user, reg| {
                let i = self.inst(user);
                match own.iter().any(|r| r.swap == user || r.test == user) {
                    _ if i.guard.is_some_and(|guard| guard.reg == reg) => Step::End,
                    true if sources(i).concat().contains(&reg) => Step::Pass,
                    false if is_plain(i) => Step::Follow,
                    _ => Step::End,
                }
            })
        };
        !own.is_empty() && !leaks()
    }

    /// Whether a swap expects the value of a load, and has its address from before the loop.
    fn is_expected(&self, load: InstId, retry: &Retry<'_>) -> bool {
        let in_loop = |def: &Def| matches!(def, Def::Inst(at) if retry.around.contains(self.inst(*at).block));
        let words = expected(self.inst(retry.swap));
        let read_here = words.iter().all(|reg| self.values.value(retry.swap, *reg).defs == [Def::Inst(load)]);
        let fixed = read_here || !retry.word.terms.iter().any(|term| term.defs.iter().any(in_loop));
        fixed && words.iter().all(|reg| self.may_be(retry.swap, *reg, load))
    }

    /// Whether an instruction may read the result of a load in a register, moved or not.
    fn may_be(&self, at: InstId, reg: Reg, load: InstId) -> bool {
        let mut all = vec![(at, reg)];
        let mut next = 0;
        while let Some((at, reg)) = all.get(next).copied() {
            next += 1;
            for def in self.values.defs(at, reg) {
                let Def::Inst(def) = def else { continue };
                if def == load {
                    return true;
                }
                if let Some(Operand::Reg(from)) = moved(self.inst(def), reg)
                    && !all.contains(&(def, *from))
                {
                    all.push((def, *from));
                }
            }
        }
        false
    }
}

/// Whether an instruction computes its results from registers alone.
fn is_plain(i: &Inst) -> bool {
    use Class::{Convert, Float, Integer, Move, Select};
    i.semantics.effect == Effect::Plain && matches!(i.class, Move | Integer | Float | Convert | Select)
}

/// The registers of each source but addresses.
fn sources(i: &Inst) -> Vec<Vec<Reg>> {
    let values = i.operands.iter().zip(&i.roles).filter(|(operand, role)| {
        matches!(role, Role::Use | Role::UseDef) && !matches!(operand, Operand::Address(..))
    });
    let registers = values.map(|(operand, role)| {
        let mut all = Vec::new();
        operand.for_each_reg(*role, &mut |reg, read, _| all.extend(read.then_some(reg)));
        all
    });
    registers.collect()
}

/// The registers of the value that a compare-and-swap expects.
fn expected(i: &Inst) -> Vec<Reg> {
    let mut sources = sources(i);
    match &mut sources[..] {
        // AMD's global memory: the new value and the expected one are one operand.
        [both] => both.split_off(both.len() / 2),
        // LDS of gfx11 and gfx12: likewise in two.
        [_, expected] if i.semantics.opcode.starts_with("ds_cmpstore") => std::mem::take(expected),
        [expected, ..] => std::mem::take(expected),
        [] => Vec::new(),
    }
}
