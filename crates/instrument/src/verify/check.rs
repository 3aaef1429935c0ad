//! Invariants 2 to 6: places, instructions, registers, memory, branches, masks.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use prlx_isa::ptx::Op;
use prlx_isa::view::{
    Base, Class, Function, FunctionKind, Inst, Module, Operand, Reg, RegInfo, Role, Space, SymbolId,
};
use prlx_plan::{Action, At, Plan};
use prlx_trace::kernel::Level;
use rustc_hash::FxHashSet;

use super::pieces::Piece;
use super::sample::once;
use super::tables::packed;
use super::{run, wrong};
use crate::error::Error;
use crate::text::tokens;

/// What is compared.
pub(super) struct Texts<'a> {
    pub source: &'a str,
    pub rewritten: &'a str,
    pub module: &'a Module,
    /// The view of the rewritten text.
    pub after: &'a Module,
    pub plan: &'a Plan,
    pub prefix: &'a str,
}

/// Inserted instructions at one place of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Inserted {
    /// Of the rewritten function.
    pub insts: Range<usize>,
    /// Where they begin in the rewritten text.
    pub at: usize,
}

pub(super) fn check(texts: &Texts<'_>, pieces: &[Piece]) -> Result<(), Error> {
    let (before, after) = (texts.module, texts.after);
    if before.functions.len() != after.functions.len() {
        return Err(wrong(0, "the functions are not the original's"));
    }
    for (i, part) in texts.plan.kept.records.parts.iter().enumerate() {
        if part.alone() && !once(texts, i) {
            return Err(wrong(
                0,
                format!("a thread may write record {i} more than once, and there is no room to count that"),
            ));
        }
    }
    if !packed(texts) {
        return Err(wrong(0, "counters that share a register may run into each other"));
    }
    labels(texts, pieces)?;
    lists(texts, pieces)?;
    let layout = run::layout(texts)?;
    let statements: Vec<&Piece> = pieces.iter().filter(|p| !p.list).collect();
    for (index, (old, new)) in before.functions.iter().zip(&after.functions).enumerate() {
        let recorded = recorded(texts.plan, index);
        let own: Vec<&Piece> =
            statements.iter().copied().filter(|p| old.body.range().contains(&(p.after.max(1) - 1))).collect();
        let function = Checked::new(texts, index, old, new, recorded)?;
        let places = function.places(&own)?;
        run::run(texts, &function, &layout, &places)?;
    }
    Ok(())
}

fn recorded(plan: &Plan, index: usize) -> bool {
    plan.functions.get(index).is_some_and(|f| f.skipped.is_none())
}

/// Inserted labels are unique.
fn labels(texts: &Texts<'_>, pieces: &[Piece]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for &(start, end) in pieces.iter().flat_map(|p| &p.units) {
        let unit = tokens(texts.rewritten, start, end);
        for pair in unit.windows(2) {
            if pair[1].text == ":" && !seen.insert(pair[0].text) {
                return Err(wrong(pair[0].at, format!("label {} stands twice", pair[0].text)));
            }
        }
    }
    Ok(())
}

/// Parameter lists of recorded functions have one more entry, and only they; arguments likewise.
fn lists(texts: &Texts<'_>, pieces: &[Piece]) -> Result<(), Error> {
    let names: HashMap<&str, usize> =
        texts.module.functions.iter().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect();
    for p in pieces.iter().filter(|p| p.list) {
        let (start, end) = p.units[0];
        // The name before the list, or before its opening bracket, is that of a recorded function.
        let before = tokens(texts.source, p.after.saturating_sub(1 << 16), p.before);
        let mut at = before.len();
        let mut depth = 0i32;
        let name = loop {
            let Some(i) = at.checked_sub(1) else { break None };
            at = i;
            match before[i].text {
                ")" => depth += 1,
                "(" => depth -= 1,
                name if depth <= 0 && names.contains_key(name) => break names.get(name),
                ";" | "{" => break None,
                _ => {}
            }
        };
        if name.is_none_or(|&f| !recorded(texts.plan, f)) || p.units.len() != 1 {
            return Err(wrong(
                start,
                format!("`{}` is not in a recorded function's list", &texts.rewritten[start..end]),
            ));
        }
    }
    for (index, (old, new)) in texts.module.functions.iter().zip(&texts.after.functions).enumerate() {
        let more = usize::from(recorded(texts.plan, index));
        if new.params.len() != old.params.len() + more {
            let what = format!("{}: {} parameters became {}", old.name, old.params.len(), new.params.len());
            return Err(wrong(new.params_span.start as usize, what));
        }
    }
    Ok(())
}

/// One function, before and after.
pub(super) struct Checked<'a> {
    pub texts: &'a Texts<'a>,
    pub index: usize,
    pub old: &'a Function,
    pub new: &'a Function,
    pub recorded: bool,
    /// Register of the original to that of the rewritten function.
    pub regs: Vec<Reg>,
    /// Nothing in it, or in what it calls, writes elements: only states without any can come up.
    pub idle: bool,
    /// How many visit counters the plan has for it.
    pub visits: u32,
    /// Registers of the rewritten function that were inserted.
    ours: Vec<bool>,
    /// Those that keep the lane's state, by their name without the prefix.
    kept: HashMap<&'a str, Reg>,
}

impl<'a> Checked<'a> {
    fn new(
        texts: &'a Texts<'a>,
        index: usize,
        old: &'a Function,
        new: &'a Function,
        recorded: bool,
    ) -> Result<Checked<'a>, Error> {
        let ours: Vec<bool> = new.regs.iter().map(|r| r.name.contains(texts.prefix)).collect();
        // The reader numbers registers by first use, which insertions change: pair them by name and scope.
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
        let prefixed = |name: &'a str| name.strip_prefix('%').and_then(|n| n.strip_prefix(texts.prefix));
        let whole = new.regs.iter().enumerate().filter(|(_, r)| r.scope.end + 1 >= new.body.end);
        let kept = whole.filter_map(|(i, r)| Some((prefixed(&r.name)?, Reg(i as u32)))).collect();
        let insertions = texts.plan.functions.get(index).map_or(&[][..], |p| &p.insertions);
        let counters = insertions.iter().filter_map(|i| match i.action {
            Action::Operands { counter, .. } => Some(counter.saturating_add(1)),
            _ => None,
        });
        let visits = counters.max().unwrap_or(0);
        let silent = |a: &Action| {
            matches!(
                a,
                Action::Begin
                    | Action::End { .. }
                    | Action::Fold { .. }
                    | Action::TripFold { .. }
                    | Action::TripBegin { .. }
                    | Action::TripAdd { .. }
                    | Action::TripRead { .. }
                    | Action::Reserve { bits: 0 }
            )
        };
        let idle = old.kind == FunctionKind::Kernel && insertions.iter().all(|i| silent(&i.action));
        Ok(Checked { texts, index, old, new, recorded, regs, idle, visits, ours, kept })
    }

    fn wrong(&self, inst: &Inst, what: impl std::fmt::Display) -> Error {
        let text = inst.span.of(self.texts.rewritten);
        wrong(inst.span.start as usize, format!("{}: `{text}` {what}", self.old.name))
    }

    /// Assigns inserted instructions to places, and compares the others with the original's.
    fn places(&self, pieces: &[&Piece]) -> Result<Vec<(At, Inserted)>, Error> {
        let mut units: Vec<(usize, usize, usize)> = Vec::new();
        for (i, p) in pieces.iter().enumerate() {
            units.extend(p.units.iter().map(|&(start, end)| (start, end, i)));
        }
        let piece_of = |inst: &Inst| {
            let at = inst.span.start as usize;
            let i = units.partition_point(|u| u.1 <= at);
            units.get(i).filter(|u| u.0 <= at).map(|u| u.2)
        };
        let mut by_piece: Vec<Option<Range<usize>>> = vec![None; pieces.len()];
        let mut original = self.old.insts.iter();
        for (i, inst) in self.new.insts.iter().enumerate() {
            if let Some(piece) = piece_of(inst) {
                let range = by_piece[piece].get_or_insert(i..i);
                if range.end != i {
                    return Err(self.wrong(inst, "stands apart from its piece"));
                }
                range.end = i + 1;
                continue;
            }
            let same = original.next().is_some_and(|o| self.same(o, inst));
            if !same {
                return Err(self.wrong(inst, "is not the original's next instruction"));
            }
        }
        if original.next().is_some() {
            return Err(wrong(
                self.new.span.end as usize,
                format!("{}: instructions are missing", self.old.name),
            ));
        }
        let mut places = Vec::new();
        for (p, insts) in pieces.iter().zip(by_piece) {
            let at = p.units[0].0;
            if let Some(insts) = insts {
                places.extend(self.split(p, Inserted { insts, at })?);
            } else if p.after != self.old.body.start as usize + 1 {
                return Err(wrong(at, format!("{}: an inserted piece has no instruction", self.old.name)));
            }
        }
        Ok(places)
    }

    /// Whether an instruction is the original one; a call of a recorded function has one argument more.
    fn same(&self, old: &Inst, new: &Inst) -> bool {
        let arguments = |inst: &Inst| -> usize {
            inst.operands.iter().map(|o| if let Operand::List(l) = o { l.len() } else { 0 }).sum()
        };
        match old.class == Class::Call && calls_recorded(self.texts, self.texts.module, old) {
            true => new.class == Class::Call && arguments(new) == arguments(old) + 1,
            false => old.span.of(self.texts.source) == new.span.of(self.texts.rewritten),
        }
    }

    /// Which place a piece is for. Text after one instruction and before the next can be for either, or both.
    fn split(&self, piece: &Piece, inserted: Inserted) -> Result<Vec<(At, Inserted)>, Error> {
        let insts = &self.old.insts;
        let mut out = Vec::new();
        if piece.after == self.old.body.start as usize + 1 {
            out.push(At::Entry);
        }
        let i = insts.partition_point(|x| (x.span.end as usize) < piece.after);
        if insts.get(i).is_some_and(|x| x.span.end as usize == piece.after) {
            out.push(At::After(prlx_isa::view::InstId(i as u32)));
        }
        let i = insts.partition_point(|x| (x.span.start as usize) < piece.before);
        if insts.get(i).is_some_and(|x| x.span.start as usize == piece.before) {
            out.push(At::Before(prlx_isa::view::InstId(i as u32)));
        }
        match out.as_slice() {
            [] => Err(wrong(
                inserted.at,
                format!("{}: an inserted piece stands at no instruction", self.old.name),
            )),
            // The run decides which insertions it has to be: see `run`.
            places => Ok(places.iter().map(|p| (*p, inserted.clone())).collect()),
        }
    }

    fn is_ours(&self, reg: Reg) -> bool {
        self.ours.get(reg.index()).copied().unwrap_or_default()
    }

    /// Whether a register is one of a piece's own, not of the lane's state.
    fn temporary(&self, reg: Reg) -> bool {
        let scope = self.new.regs[reg.index()].scope;
        self.is_ours(reg) && scope.end < self.new.body.end.saturating_sub(1)
    }

    /// The rules for one piece.
    pub fn rules(&self, place: At, inserted: &Inserted) -> Result<(), Error> {
        let insts = &self.new.insts[inserted.insts.clone()];
        let mut written: FxHashSet<Reg> = FxHashSet::default();
        let mut masks: FxHashSet<Reg> = FxHashSet::default();
        let mut addresses: FxHashSet<Reg> = FxHashSet::default();
        addresses.extend(["cursor", "at", "records"].into_iter().filter_map(|name| self.state(name)));
        if place != At::Entry {
            addresses.extend(self.state("state"));
        }
        for (i, inst) in insts.iter().enumerate() {
            let known =
                allowed(inst).ok_or_else(|| self.wrong(inst, "is no instruction that recording needs"))?;
            for reg in inst.uses() {
                let read_early = self.temporary(reg) && !written.contains(&reg);
                // An operand that was not understood as a register would be missing here.
                if read_early {
                    return Err(self.wrong(inst, "reads a register before it was written"));
                }
            }
            for reg in inst.defs() {
                if !self.is_ours(reg) {
                    return Err(self.wrong(inst, "writes a register of the original"));
                }
            }
            if inst.operands.iter().any(|o| matches!(o, Operand::Text(_))) {
                return Err(self.wrong(inst, "has an operand that means nothing here"));
            }
            self.memory(inst, &addresses)?;
            if known == Kind::Lanes {
                let mask = inst.operands.last();
                let fine = matches!(mask, Some(Operand::Reg(r)) if masks.contains(r));
                if !fine {
                    return Err(self.wrong(inst, "waits for lanes that may not come"));
                }
            }
            if known == Kind::Branch {
                self.branch(inst, inserted.insts.start + i, inserted.insts.end)?;
            }
            let from_address = self.reads_address(inst, &addresses);
            for reg in inst.defs() {
                written.insert(reg);
                masks.remove(&reg);
                // The lanes that are here; or those of them that have the same value, each of which is told the same.
                if matches!(inst.form.op, Some(Op::Activemask | Op::Match)) {
                    masks.insert(reg);
                }
                if from_address {
                    addresses.insert(reg);
                }
            }
        }
        Ok(())
    }

    /// Where memory may be touched.
    fn memory(&self, inst: &Inst, addresses: &FxHashSet<Reg>) -> Result<(), Error> {
        let address = inst.operands.iter().zip(&inst.roles).find(|(_, r)| **r == Role::Addr).map(|(o, _)| o);
        let Some(address) = address else { return Ok(()) };
        let symbol = |id: SymbolId| self.texts.after.symbols.get(id.index()).map_or("", |s| s.name.as_str());
        let fine = match (address, inst.space) {
            // A probe may ask for the kernel's own arguments.
            (Operand::Address(Base::Symbol(_), _), Space::Param)
                if self.kernel()
                    && inst.class == Class::Load
                    && self.texts.plan.request.level == Level::Probe =>
            {
                true
            }
            (Operand::Address(Base::Symbol(id), _), Space::Param | Space::Local) => {
                symbol(*id).starts_with(self.texts.prefix)
            }
            (Operand::Address(Base::Reg(r), _), Space::Local) => Some(*r) == self.state("state"),
            (Operand::Address(Base::Reg(r), _), Space::Global) => addresses.contains(r),
            _ => false,
        };
        if fine { Ok(()) } else { Err(self.wrong(inst, "touches memory that is not the recorder's")) }
    }

    /// Whether what an instruction gives is, or leads to, an address of the recorder.
    fn reads_address(&self, inst: &Inst, addresses: &FxHashSet<Reg>) -> bool {
        match inst.class {
            Class::Load | Class::Atomic => true,
            Class::Compare => false,
            _ => inst.uses().any(|r| addresses.contains(&r)),
        }
    }

    fn branch(&self, inst: &Inst, at: usize, end: usize) -> Result<(), Error> {
        let Some(Operand::Label(target)) = inst.operands.first() else {
            return Err(self.wrong(inst, "goes nowhere"));
        };
        let target = self.new.blocks.get(target.index()).map_or(0, |b| b.insts.start as usize);
        match target > at && target <= end {
            true => Ok(()),
            false => Err(self.wrong(inst, "leaves its piece, or goes back")),
        }
    }

    /// The register parameter by which a function of the old kind gets its caller's state.
    pub fn state_parameter(&self) -> Option<Reg> {
        let name = format!("{}state", self.texts.prefix);
        Some(Reg(self.new.regs.iter().position(|r| r.name == name)? as u32))
    }

    /// The register that keeps a part of the lane's state, by its name without the prefix.
    pub fn state(&self, name: &str) -> Option<Reg> {
        self.kept.get(name).copied()
    }

    /// Whether it can be launched.
    pub fn kernel(&self) -> bool {
        self.old.kind == FunctionKind::Kernel
    }
}

/// Whether `inst`, of the original, calls a recorded function by name.
pub(super) fn calls_recorded(texts: &Texts<'_>, module: &Module, inst: &Inst) -> bool {
    inst.class == Class::Call
        && inst.operands.iter().zip(&inst.roles).any(|(operand, role)| match operand {
            Operand::Symbol(id, _) if *role == Role::Target => {
                let name = module.symbols.get(id.index()).map_or("", |s| s.name.as_str());
                module.functions.iter().position(|f| f.name == name).is_some_and(|f| recorded(texts.plan, f))
            }
            _ => false,
        })
}

/// What kinds of instructions recording needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    Lanes,
    Branch,
}

fn allowed(inst: &Inst) -> Option<Kind> {
    use Op::*;
    let form = &inst.form;
    Some(match form.op? {
        Mov | Cvt | Add | Sub | Mul | Mad | Div | Rem | And | Or | Xor | Not | Neg | Abs | Shl | Shr
        | Min | Max | Brev | Clz | Popc | Setp | Selp | Isspacep | Activemask => Kind::Plain,
        Ld | St | Red => Kind::Plain,
        Atom if ["add", "cas", "exch", "min", "max", "and", "or", "xor"].iter().any(|op| form.has(op)) => {
            Kind::Plain
        }
        Match | Shfl | Vote | Redux if form.has("sync") => Kind::Lanes,
        Bar if form.has("warp") => Kind::Lanes,
        Bra => Kind::Branch,
        _ => return None,
    })
}
