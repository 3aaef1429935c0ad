//! One function before and after rewriting, and the questions that the checks ask about it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use prlx_isa::view::{Function, FunctionKind, Inst, Module, Operand, Reg, RegInfo, SymbolId};
use prlx_plan::{Action, Plan};
use prlx_trace::Level;

use crate::error::Error;
use crate::verify::fault::wrong;

/// The texts and views that are compared.
pub(super) struct Inputs<'a> {
    pub source: &'a str,
    pub rewritten: &'a str,
    pub module: &'a Module,
    /// View of the rewritten text.
    pub after: &'a Module,
    /// Functions of the rewritten text: those of the original, in order.
    pub functions: &'a [Function],
    /// The inserted function, if there is one.
    pub next_chunk: Option<&'a Function>,
    pub plan: &'a Plan,
    pub prefix: &'a str,
}

/// Inserted instructions at one position of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct InsertedCode {
    /// Indices of the instructions in the rewritten function.
    pub insts: Range<usize>,
    /// Offset of the first one in the rewritten text.
    pub at: usize,
}

pub(super) fn recorded(plan: &Plan, index: usize) -> bool {
    plan.functions.get(index).is_some_and(|f| f.skipped.is_none())
}

/// Whether `inst`, of the original, calls a recorded function by name.
pub(super) fn calls_recorded(texts: &Inputs<'_>, inst: &Inst) -> bool {
    texts.module.callee(inst).is_some_and(|f| recorded(texts.plan, f.index()))
}

/// One function before and after rewriting.
pub(super) struct FunctionPair<'a> {
    pub texts: &'a Inputs<'a>,
    pub index: usize,
    pub old: &'a Function,
    pub new: &'a Function,
    pub recorded: bool,
    /// Register of the rewritten function, by register of the original.
    pub regs: Vec<Reg>,
    /// Nothing in the function or its callees writes elements, so only states without elements can occur.
    pub idle: bool,
    /// Number of visit counters that the plan has for it.
    pub visits: u32,
    /// Distances by which cursors move, in slots, ascending.
    pub(super) steps: Vec<u32>,
    /// Whether each register of the rewritten function was inserted.
    pub(super) ours: Vec<bool>,
    /// State registers of the lane, by name without the prefix.
    kept: HashMap<&'a str, Reg>,
}

impl<'a> FunctionPair<'a> {
    pub(super) fn new(
        texts: &'a Inputs<'a>,
        index: usize,
        old: &'a Function,
        new: &'a Function,
        recorded: bool,
    ) -> Result<FunctionPair<'a>, Error> {
        let ours: Vec<bool> = new.regs.iter().map(|r| r.name.contains(texts.prefix)).collect();
        // The reader numbers registers by first use, which insertions change. Registers are therefore paired
        // by name and scope.
        let sorted = |f: &'a Function, ours: &[bool]| {
            let mut regs: Vec<(usize, &RegInfo)> = f
                .regs
                .iter()
                .enumerate()
                .filter(|(i, _)| !ours.get(*i).copied().unwrap_or_default())
                .collect();
            regs.sort_by_key(|(_, r)| (r.name.as_str(), r.scope.start));
            regs
        };
        let (was, is) = (sorted(old, &[]), sorted(new, &ours));
        let same = is.iter().map(|(_, r)| (&r.name, r.ty)).eq(was.iter().map(|(_, r)| (&r.name, r.ty)));
        if old.name != new.name || !same {
            return Err(wrong(
                new.span.start as usize,
                format!("{}: its registers are not the original's", old.name),
            ));
        }
        let mut regs = vec![Reg(0); old.regs.len()];
        for ((i, _), (j, _)) in was.iter().zip(&is) {
            regs[*i] = Reg(*j as u32);
        }
        let kept = state_registers(new, texts.prefix);
        let insertions = texts.plan.functions.get(index).map_or(&[][..], |p| &p.insertions);
        let counters = insertions.iter().filter_map(|i| match i.action {
            Action::Operands { counter, .. } => Some(counter.saturating_add(1)),
            _ => None,
        });
        let visits = counters.max().unwrap_or(0);
        let steps: BTreeSet<u32> = insertions
            .iter()
            .filter_map(|i| match i.action {
                Action::Room { slots } => Some(slots),
                _ => None,
            })
            .collect();
        let gathers = texts.plan.request.level == Level::Fingerprint;
        let silent = |a: &Action| {
            gathers && matches!(a, Action::Bits { .. })
                || matches!(
                    a,
                    Action::Begin
                        | Action::End { .. }
                        | Action::Fold { .. }
                        | Action::TripFold { .. }
                        | Action::TripBegin { .. }
                        | Action::TripAdd { .. }
                        | Action::TripRead { .. }
                        | Action::StartCursor
                        | Action::FoldWord
                        | Action::Reserve { bits: 0 }
                )
        };
        let idle = old.kind == FunctionKind::Kernel && insertions.iter().all(|i| silent(&i.action));
        let steps = steps.into_iter().collect();
        Ok(FunctionPair { texts, index, old, new, recorded, regs, idle, visits, steps, ours, kept })
    }

    /// An inserted function. It stands for itself in the original.
    pub(super) fn inserted(texts: &'a Inputs<'a>, f: &'a Function) -> FunctionPair<'a> {
        FunctionPair {
            texts,
            index: usize::MAX,
            old: f,
            new: f,
            recorded: false,
            regs: Vec::new(),
            idle: false,
            visits: 0,
            steps: Vec::new(),
            ours: f.regs.iter().map(|r| r.name.contains(texts.prefix)).collect(),
            kept: state_registers(f, texts.prefix),
        }
    }

    pub(super) fn wrong(&self, inst: &Inst, what: impl std::fmt::Display) -> Error {
        let text = inst.span.of(self.texts.rewritten);
        wrong(inst.span.start as usize, format!("{}: `{text}` {what}", self.old.name))
    }

    pub(super) fn is_ours(&self, reg: Reg) -> bool {
        self.ours.get(reg.index()).copied().unwrap_or_default()
    }

    /// Whether a register is a temporary of a snippet, not part of the lane's state.
    pub(super) fn temporary(&self, reg: Reg) -> bool {
        let scope = self.new.regs[reg.index()].scope;
        self.is_ours(reg) && scope.end < self.new.body.end.saturating_sub(1)
    }

    /// Register parameter that passes the caller's state in a function without the ABI.
    pub fn state_parameter(&self) -> Option<Reg> {
        let name = format!("{}state", self.texts.prefix);
        Some(Reg(self.new.regs.iter().position(|r| r.name == name)? as u32))
    }

    /// State register of this name (without the prefix).
    pub fn state(&self, name: &str) -> Option<Reg> {
        self.kept.get(name).copied()
    }

    /// Whether the function is a kernel.
    pub fn kernel(&self) -> bool {
        self.old.kind == FunctionKind::Kernel
    }
}

/// Inserted registers that are declared for a whole function, by name without the prefix.
fn state_registers<'a>(f: &'a Function, prefix: &str) -> HashMap<&'a str, Reg> {
    let prefixed = |name: &'a str| name.strip_prefix('%').and_then(|n| n.strip_prefix(prefix));
    let whole = f.regs.iter().enumerate().filter(|(_, r)| r.scope.end + 1 >= f.body.end);
    whole.filter_map(|(i, r)| Some((prefixed(&r.name)?, Reg(i as u32)))).collect()
}

/// An operand of the original, in registers and symbols of the rewritten function.
pub(super) fn translated(f: &FunctionPair<'_>, operand: &Operand) -> Operand {
    let reg = |r: Reg| f.regs[r.index()];
    match operand {
        Operand::Reg(r) => Operand::Reg(reg(*r)),
        Operand::Not(r) => Operand::Not(reg(*r)),
        Operand::Element(r, i) => Operand::Element(reg(*r), *i),
        Operand::Vector(parts) => Operand::Vector(parts.iter().map(|p| translated(f, p)).collect()),
        Operand::Pair(a, b) => Operand::Pair(Box::new(translated(f, a)), Box::new(translated(f, b))),
        Operand::Symbol(id, offset) => {
            let name = f.texts.module.symbols.get(id.index()).map(|s| &s.name);
            let new = f.texts.after.symbols.iter().position(|s| Some(&s.name) == name).unwrap_or(usize::MAX);
            Operand::Symbol(SymbolId(new as u32), *offset)
        }
        other => other.clone(),
    }
}
