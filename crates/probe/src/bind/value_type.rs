//! Infers the type of values in untyped registers: Triton's compiler declares all registers so, nvcc those of
//! halves, and AMD's code has no others.
//!
//! The search goes back from a value to the instructions that may have computed it: through moves, selects,
//! shuffles and shared memory. A typed instruction decides. A value that was loaded has no such instruction.
//! It counts as a float if an instruction reads it as one.
//!
//! # Invariants
//! A type is returned only if all instructions that may have computed the value agree on it.
//!
//! # Limitations
//! - A value in shared memory may come from any store of that width to shared memory in the function. If a
//!   function stores integers and floats of one width there, loads of that width have no type.
//! - The search does not follow calls, matrix operations and asynchronous copies.

use prlx_isa::dataflow::Def;
use prlx_isa::view::{Class, Effect, Inst, InstId, Operand, Reg, Role, Space, Type};
use prlx_plan::function::body::{self, Body};

use super::machine_code::is_undefined;

/// Maximum number of instructions that a search visits.
const VISITED: usize = 256;

/// Whether a type gives only the width of a value.
pub(super) fn is_untyped(ty: Type) -> bool {
    matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128)
}

/// Whether a type gives only the width of the value of an instruction. `nvcc` also loads and stores halves,
/// and pairs of them, as unsigned integers.
pub(super) fn names_width(inst: &Inst, ty: Type) -> bool {
    let memory = matches!(inst.class, Class::Load | Class::Store);
    is_untyped(ty) || memory && matches!(ty, Type::U16 | Type::U32)
}

/// The type of the value of `reg` that instruction `at` reads: the declared type, or if the declaration is
/// untyped, the type in which the value was computed. An element of a vector that has none has the type of
/// the other elements.
pub(super) fn type_read(body: &Body<'_>, at: InstId, reg: Reg) -> Type {
    of_vector(body, at, reg, &[Role::Use], |search, reg| search.read(at, reg))
}

/// The type of the value that instruction `at` writes to `reg`, likewise.
pub(super) fn type_written(body: &Body<'_>, at: InstId, reg: Reg) -> Type {
    of_vector(body, at, reg, &[Role::Def], |search, reg| {
        search.written(at, reg);
        Some(())
    })
}

/// The 64-bit type of the values whose halves are the registers of a load or store of AMD's, two by two from
/// the first; `None` if they are not known to be halves.
pub(super) fn type_of_pairs(body: &Body<'_>, at: InstId) -> Option<Type> {
    let inst = body.inst(at);
    let load = inst.class == Class::Load;
    let role = if load { Role::Def } else { Role::Use };
    let mut found = None;
    for (i, operand) in body::in_role(inst, &[role]).into_iter().enumerate() {
        let reg = match operand {
            Operand::Reg(reg) if declared(body, reg).bits() == 32 => reg,
            // A constant goes with any type.
            Operand::Int(_) => continue,
            _ => return None,
        };
        let mut search = Search { half: Some(i % 2), ..Search::new(body, reg) };
        let known = match load {
            true => {
                search.written(at, reg);
                search.run()
            }
            false => search.read(at, reg).and_then(|()| search.run()),
        };
        match (known, found) {
            (Some(known), Some(found)) if known != found => return None,
            (Some(known), _) => found = Some(known),
            // The other half, or another element, may say it.
            (None, _) if search.disagrees => return None,
            (None, _) => {}
        }
    }
    found
}

/// The type of an element, or else of another element of the same vector.
fn of_vector(
    body: &Body<'_>,
    at: InstId,
    reg: Reg,
    roles: &[Role],
    begin: impl Fn(&mut Search<'_>, Reg) -> Option<()>,
) -> Type {
    let known = |reg: Reg| {
        let mut search = Search::new(body, reg);
        begin(&mut search, reg).and_then(|()| search.run())
    };
    let inst = body.inst(at);
    let vector = matches!(inst.class, Class::Load | Class::Store);
    let others = || body::regs(&body::in_role(inst, roles)).into_iter().filter(|r| vector && *r != reg);
    known(reg).or_else(|| others().find_map(known)).unwrap_or(declared(body, reg))
}

/// A search for the instructions that compute a value. Methods return `None` where its type is not known.
struct Search<'a> {
    body: &'a Body<'a>,
    declared: Type,
    /// Instructions that may have computed the value, with the register that they write.
    seen: Vec<(InstId, Reg)>,
    /// Those of `seen` that are still to visit.
    left: Vec<(InstId, Reg)>,
    /// The type that the visited instructions agree on.
    found: Option<Type>,
    /// Whether the stores to shared memory are in `seen`.
    shared: bool,
    /// Of a value of 64 bits in two registers: which half `reg` is, 0 or 1.
    half: Option<usize>,
    /// Whether two instructions computed it in different types, or one in another width.
    disagrees: bool,
}

impl<'a> Search<'a> {
    fn new(body: &'a Body<'a>, reg: Reg) -> Search<'a> {
        let declared = declared(body, reg);
        Search {
            body,
            declared,
            seen: Vec::new(),
            left: Vec::new(),
            found: None,
            shared: false,
            half: None,
            disagrees: false,
        }
    }

    fn written(&mut self, at: InstId, reg: Reg) {
        if !self.seen.contains(&(at, reg)) {
            self.seen.push((at, reg));
            self.left.push((at, reg));
        }
    }

    /// Adds what may have written a register that `at` reads.
    fn read(&mut self, at: InstId, reg: Reg) -> Option<()> {
        if let Some(by) = self.same_lanes(at, reg) {
            self.written(by, reg);
            return Some(());
        }
        let defs = self.body.defs(at, reg);
        if defs.is_empty() || defs.contains(&Def::Entry) {
            return None;
        }
        for def in defs {
            if let Def::Inst(by) = def {
                self.written(by, reg);
            }
        }
        Some(())
    }

    /// The instruction of the same basic block that writes the register for the lanes for which `at` reads
    /// it: both have the same guard, and nothing between them writes that. Every vector instruction of AMD's
    /// has one, so that earlier values seem to be there, too.
    fn same_lanes(&self, at: InstId, reg: Reg) -> Option<InstId> {
        let guard = self.body.inst(at).guard?;
        let first = self.body.function.blocks.get(self.body.inst(at).block.index())?.insts.start;
        for by in (first..at.0).rev().map(InstId) {
            let inst = self.body.inst(by);
            let writes = body::written(inst);
            if writes.contains(&guard.reg) {
                return None;
            }
            if writes.contains(&reg) {
                return (inst.guard == Some(guard)).then_some(by);
            }
        }
        None
    }

    fn agree(&mut self, ty: Type) -> Option<()> {
        let bits = if self.half.is_some() { 64 } else { self.declared.bits() };
        let same = ty.bits() == bits && self.found.is_none_or(|found| found == ty);
        self.found = same.then_some(ty);
        self.disagrees |= !same;
        self.found.map(drop)
    }

    /// Whether an instruction writes the half that is looked for to `reg`.
    fn writes_half(&self, inst: &Inst, reg: Reg) -> bool {
        let written = body::in_role(inst, &[Role::Def, Role::UseDef]);
        self.half.is_none_or(|half| {
            let at = written.iter().position(|o| *o == Operand::Reg(reg));
            at.is_some_and(|at| at % 2 == half)
        })
    }

    fn run(&mut self) -> Option<Type> {
        if !is_untyped(self.declared) {
            return Some(self.declared);
        }
        while let Some((by, reg)) = self.left.pop() {
            if self.seen.len() > VISITED {
                return None;
            }
            let inst = self.body.inst(by);
            // Registers of AMD's code that nothing wrote: a value that no program depends on.
            if is_undefined(inst) {
                continue;
            }
            let first = inst.semantics.result.unwrap_or_default();
            if let Some(packed) = self.packed(by, inst) {
                self.agree(packed)?;
            } else if copies(inst) {
                for input in self.copied(inst, first) {
                    match input {
                        Operand::Reg(r) if declared(self.body, r) == Type::Pred => {}
                        Operand::Reg(r) if declared(self.body, r).bits() == self.declared.bits() => {
                            self.read(by, r)?;
                        }
                        // A constant goes with any type.
                        Operand::Int(_) => {}
                        _ => return None,
                    }
                }
            } else if inst.class == Class::Load && names_width(inst, first) {
                let used = if self.writes_half(inst, reg) {
                    used_as_float(self.body, by, reg, self.half)
                } else {
                    None
                };
                match used {
                    Some(ty) => self.agree(ty)?,
                    None if self.half.is_some() => return None,
                    None if inst.space == Space::Shared => self.stored_to_shared(first)?,
                    None if is_untyped(first) => return None,
                    None => self.agree(first)?,
                }
            } else if is_untyped(first) || !self.writes_half(inst, reg) {
                return None;
            } else {
                self.agree(first)?;
            }
        }
        self.found
    }

    /// The operands that a copy may take the value from: of a copy of 64 bits, the halves that are searched.
    fn copied(&self, inst: &Inst, first: Type) -> Vec<Operand> {
        let Some(half) = self.half.filter(|_| first.bits() == 64) else { return copied(inst) };
        let all = inst.operands.iter().zip(&inst.roles);
        let inputs = all.filter(|(_, role)| matches!(role, Role::Use | Role::UseDef));
        let of = |(operand, _): (&Operand, &Role)| match operand {
            Operand::Vector(words) => words.get(half).cloned(),
            other => Some(other.clone()),
        };
        inputs.filter_map(of).collect()
    }

    /// The type of a pair of halves that a move puts together, if both are floats of one type.
    fn packed(&self, by: InstId, inst: &Inst) -> Option<Type> {
        let inputs = body::in_role(inst, &[Role::Use]);
        let [first, second] = inputs.as_slice() else { return None };
        if inst.class != Class::Move || self.declared.bits() != 32 {
            return None;
        }
        let of = |operand: &Operand| match operand {
            Operand::Reg(r) if declared(self.body, *r).bits() == 16 => {
                let mut search = Search::new(self.body, *r);
                search.read(by, *r).and_then(|()| search.run())
            }
            _ => None,
        };
        match (of(first)?, of(second)?) {
            (Type::F16, Type::F16) => Some(Type::F16x2),
            (Type::Bf16, Type::Bf16) => Some(Type::Bf16x2),
            _ => None,
        }
    }

    /// Adds the values of this width that the function stores to shared memory.
    fn stored_to_shared(&mut self, width: Type) -> Option<()> {
        if std::mem::replace(&mut self.shared, true) {
            return Some(());
        }
        for at in (0..self.body.function.insts.len() as u32).map(InstId) {
            let inst = self.body.inst(at);
            let ty = inst.semantics.input.unwrap_or_default();
            if !matches!(inst.space, Space::Shared) || ty.bits() != width.bits() {
                continue;
            }
            match inst.class {
                Class::Store if !is_untyped(ty) => self.agree(ty)?,
                Class::Store if !matches!(inst.semantics.effect, Effect::Access(access) if access.tile) => {
                    for value in body::in_role(inst, &[Role::Use]) {
                        match value {
                            Operand::Reg(r) if !is_untyped(declared(self.body, r)) => {
                                self.agree(declared(self.body, r))?;
                            }
                            Operand::Reg(r) => self.read(at, r)?,
                            Operand::Int(_) => {}
                            _ => return None,
                        }
                    }
                }
                Class::Store | Class::Atomic | Class::AsyncCopy => return None,
                _ => {}
            }
        }
        Some(())
    }
}

fn declared(body: &Body<'_>, reg: Reg) -> Type {
    body.function.regs.get(reg.index()).map_or(Type::B32, |r| r.ty)
}

/// Whether an instruction only passes a value on. `mov.u32` says nothing of the value: compilers write it for
/// floats, too.
fn copies(inst: &Inst) -> bool {
    let first = inst.semantics.result.unwrap_or_default();
    match inst.class {
        Class::Move | Class::Select => !first.is_float() && !copied(inst).is_empty(),
        _ => inst.semantics.effect == Effect::Exchange,
    }
}

/// The operands that a copy may take its value from.
fn copied(inst: &Inst) -> Vec<Operand> {
    let mut inputs = body::in_role(inst, &[Role::Use, Role::UseDef]);
    if inst.semantics.effect == Effect::Exchange {
        inputs.truncate(1);
    }
    inputs
}

/// The float type in which instructions read a value, if one does and all that do agree. `half`: which half
/// of a value of 64 bits the register is.
fn used_as_float(body: &Body<'_>, by: InstId, reg: Reg, half: Option<usize>) -> Option<Type> {
    let bits = declared(body, reg).bits();
    let wanted = if half.is_some() { 64 } else { bits };
    let (mut seen, mut left, mut found) = (vec![(by, reg)], vec![(by, reg)], None);
    while let Some((by, reg)) = left.pop() {
        for at in body.uses(by, reg) {
            let inst = body.inst(at);
            let reads = copied(inst).contains(&Operand::Reg(reg));
            let ty = inst.semantics.input.unwrap_or_default();
            if !reads || seen.len() > VISITED || matches!(inst.class, Class::Matrix | Class::Call) {
                continue;
            }
            if copies(inst) {
                let results = body::written(inst).into_iter().filter(|r| declared(body, *r).bits() == bits);
                for result in results.map(|r| (at, r)) {
                    if !seen.contains(&result) {
                        seen.push(result);
                        left.push(result);
                    }
                }
            }
            let ty = match copies(inst) {
                true if half.is_some() => None,
                true => halves(body, at, bits),
                false if half.is_some() => Some(ty).filter(|t| t.is_float() && reads_half(inst, reg, half)),
                false => Some(ty).filter(|t| t.is_float()),
            };
            match (ty.filter(|t| t.bits() == wanted), found) {
                (Some(ty), Some(found)) if ty != found => return None,
                (Some(ty), _) => found = Some(ty),
                (None, _) => {}
            }
        }
    }
    found
}

/// Whether an instruction reads a register as this half of a pair.
fn reads_half(inst: &Inst, reg: Reg, half: Option<usize>) -> bool {
    let pairs = inst.operands.iter().zip(&inst.roles).filter(|(_, role)| **role != Role::Def);
    let is_half = |operand: &Operand| match operand {
        Operand::Vector(words) => half.and_then(|half| words.get(half)) == Some(&Operand::Reg(reg)),
        _ => false,
    };
    pairs.map(|(operand, _)| operand).any(is_half)
}

/// The packed type of a value whose halves a move takes apart, if they are used as floats.
fn halves(body: &Body<'_>, at: InstId, bits: u32) -> Option<Type> {
    let parts = body::written(body.inst(at));
    if bits != 32 || parts.len() != 2 || parts.iter().any(|r| declared(body, *r).bits() != 16) {
        return None;
    }
    match parts.iter().find_map(|r| used_as_float(body, at, *r, None))? {
        Type::F16 => Some(Type::F16x2),
        Type::Bf16 => Some(Type::Bf16x2),
        _ => None,
    }
}
