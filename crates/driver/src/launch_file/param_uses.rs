//! Guesses which parameters of a kernel are pointers, and what lies behind them.
//!
//! A parameter is a pointer if its declaration says so (`.ptr`), if the kernel converts it to an
//! address of global memory (`cvta.to.global`), or if it flows into the address of a memory access. The
//! accesses, and the instructions that use the loaded values, give the type of the elements.
//!
//! # Limitations
//! - Addresses that pass through memory or through a call are not followed.
//! - An access to integers or bits (`.u32`, `.b32`) gets the type of the first use of its value as a
//!   floating-point number, if there is one within a few copies.

use prlx_isa::ptx::opcode;
use std::collections::BTreeSet;

use prlx_isa::view::{Base, Class, Eval, Function, Inst, Module, Operand, Reg, Role, Space, Type};
use prlx_trace::kernel::Scalar;

/// How often a value is followed from register to register, for the type of an untyped access.
const COPIES: usize = 4;

/// What a kernel does with one of its parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParamUse {
    /// The parameter is an address.
    pub pointer: bool,
    /// Type of the elements behind it, if an access tells.
    pub element: Option<Scalar>,
    /// The kernel reads there, or updates what is there.
    pub read: bool,
    /// The kernel writes there.
    pub written: bool,
    /// The kernel reads there, and cannot write there: each of its writes goes through another parameter.
    pub only_read: bool,
}

/// How the kernel `function` uses each of its parameters.
pub fn param_uses(module: &Module, function: &Function, text: &str) -> Vec<ParamUse> {
    let flow = Flow::of(function);
    // By register: the instructions that read or write it.
    let mut touching = vec![Vec::new(); function.regs.len()];
    for (i, inst) in function.insts.iter().enumerate() {
        inst.for_each_reg(&mut |reg, _, _| touching[reg.index()].push(i));
    }
    let mut uses = vec![ParamUse::default(); function.params.len()];
    let mut evidence = vec![Evidence::None; uses.len()];
    let declared = |i: usize| {
        let symbol = module.symbols.get(function.params[i].index());
        symbol.is_some_and(|s| s.span.of(text).contains(".ptr"))
    };
    let any_declared = (0..uses.len()).any(declared);
    for inst in &function.insts {
        for (address, written) in addresses(inst) {
            let reaching = &flow.params[address.index()];
            // A scalar that is added to a pointer flows into the address, too. It is not converted.
            let any_converted = reaching.iter().any(|i| flow.converted.contains(i));
            for &i in reaching.iter().filter(|i| !any_converted || flow.converted.contains(i)) {
                let used = &mut uses[i];
                used.pointer |= !any_declared;
                used.written |= written;
                used.read |= !written || inst.class == Class::Atomic;
                if let Some(found) = element(function, inst, &touching)
                    .filter(|f| used.element.is_none() || f.evidence > evidence[i])
                {
                    used.element = Some(found.ty);
                    evidence[i] = found.evidence;
                }
            }
        }
    }
    let followed = function.insts.iter().all(|inst| flow.follows_writes(inst));
    for (i, used) in uses.iter_mut().enumerate() {
        used.pointer |= declared(i) || !any_declared && flow.converted.contains(&i);
        used.only_read = used.read && !used.written && followed;
    }
    uses
}

/// Which parameters flow into which registers, without being scaled.
struct Flow {
    /// By register: positions of parameters.
    params: Vec<BTreeSet<usize>>,
    /// Parameters that the kernel converts to addresses of global memory.
    converted: BTreeSet<usize>,
}

impl Flow {
    fn of(function: &Function) -> Flow {
        let mut flow =
            Flow { params: vec![BTreeSet::new(); function.regs.len()], converted: BTreeSet::new() };
        // Loops carry addresses around, so a pass may find more than the one before it.
        let mut more = true;
        while more {
            more = false;
            for inst in &function.insts {
                more |= flow.step(function, inst);
            }
        }
        flow
    }

    /// Whether every address of global memory at which an instruction writes comes from a parameter.
    fn follows_writes(&self, inst: &Inst) -> bool {
        match inst.class {
            Class::Opaque | Class::Call | Class::Texture => false,
            // A tensor map is a parameter of its own. Other copies to global memory name both spaces.
            Class::AsyncCopy
                if opcode(inst).has("tensor") || !inst.semantics.opcode.contains(".global.shared") =>
            {
                true
            }
            _ => addresses(inst).iter().all(|(r, written)| !written || !self.params[r.index()].is_empty()),
        }
    }

    /// Follows one instruction. Returns whether something new was found.
    fn step(&mut self, function: &Function, inst: &Inst) -> bool {
        let wide = opcode(inst).has("wide") || opcode(inst).types.iter().any(|t| t.bits() == 64);
        if !wide {
            return false;
        }
        let mut from = BTreeSet::new();
        if let Some((Eval::LoadParam, _)) = inst.eval {
            let source = inst.operands.iter().find_map(|o| match o {
                Operand::Address(Base::Symbol(s), _) => function.params.iter().position(|p| p == s),
                _ => None,
            });
            from.extend(source);
        } else {
            for operand in sources(inst) {
                if let Operand::Reg(r) = operand {
                    from.extend(&self.params[r.index()]);
                }
            }
        }
        let before = self.converted.len();
        if from.len() == 1 && inst.semantics.opcode.starts_with("cvta.to.") {
            self.converted.extend(&from);
        }
        let mut more = self.converted.len() > before;
        for reg in inst.defs() {
            let known = &mut self.params[reg.index()];
            let before = known.len();
            known.extend(&from);
            more |= known.len() > before;
        }
        more
    }
}

/// The operands whose value the result has, but for an offset.
fn sources(inst: &Inst) -> &[Operand] {
    let all = inst.operands.get(1..).unwrap_or_default();
    match inst.eval {
        Some((Eval::Mad | Eval::MadWide, _)) => all.last().map_or(&[], std::slice::from_ref),
        Some((Eval::Mov | Eval::Add | Eval::Sub | Eval::Select, _)) => all,
        // Conversions between generic and global addresses.
        _ if inst.semantics.opcode.starts_with("cvta.") => all,
        _ => &[],
    }
}

/// The registers with addresses of an access to global memory, and whether the access writes there.
fn addresses(inst: &Inst) -> Vec<(Reg, bool)> {
    let global = matches!(inst.space, Space::Global | Space::Generic);
    let writes = matches!(inst.class, Class::Store | Class::Atomic);
    let copies = inst.class == Class::AsyncCopy;
    if !copies && !(global && (writes || inst.class == Class::Load)) {
        return Vec::new();
    }
    let registers = inst.operands.iter().zip(&inst.roles).filter(|(_, role)| **role == Role::Addr);
    let registers = registers.enumerate().filter_map(|(i, (o, _))| match o {
        // An asynchronous copy names its destination first, and then its source.
        Operand::Address(Base::Reg(r), _) => Some((*r, writes || copies && i == 0)),
        _ => None,
    });
    registers.collect()
}

/// What tells a type. Of several accesses, the one with the best evidence counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// Nothing: the usual type for the width.
    None,
    /// An access as integers, which may only move bits, or an integer operation.
    Integer,
    /// An operation on floating-point numbers.
    Float,
}

/// The type of the elements that an access moves.
struct Found {
    ty: Scalar,
    evidence: Evidence,
}

impl Found {
    fn new(ty: Scalar) -> Found {
        let float = is_float_within(ty, ty.bits());
        Found { ty, evidence: if float { Evidence::Float } else { Evidence::Integer } }
    }
}

/// The type of the elements that an access moves.
fn element(function: &Function, inst: &Inst, touching: &[Vec<usize>]) -> Option<Found> {
    let ty = *opcode(inst).types.last()?;
    let typed = scalar(ty);
    let whole_number = typed.is_none_or(|s| !is_float_within(s, s.bits()));
    if inst.class == Class::AsyncCopy || !whole_number {
        return typed.map(Found::new);
    }
    // Compilers load halves and packed halves as integers, so the first use tells.
    let mut values: BTreeSet<Reg> = BTreeSet::new();
    for (operand, role) in inst.operands.iter().zip(&inst.roles).filter(|(_, role)| **role != Role::Addr) {
        operand.for_each_reg(*role, &mut |reg, _, _| {
            values.insert(reg);
        });
    }
    // Locks and flags are integers.
    let mut integer = inst.class == Class::Atomic;
    for _ in 0..COPIES {
        let mut copies = BTreeSet::new();
        let others: BTreeSet<usize> = values.iter().flat_map(|r| &touching[r.index()]).copied().collect();
        for other in others.into_iter().map(|i| &function.insts[i]).filter(|other| other.span != inst.span) {
            let reads = other.uses().any(|r| values.contains(&r));
            if let Some(float) = float_of(other, reads, ty.bits()) {
                return Some(Found::new(float));
            }
            integer |= matches!(other.class, Class::Integer | Class::Compare | Class::Convert);
            if other.class == Class::Move {
                copies.extend(other.defs().chain(other.uses()));
            }
        }
        values.extend(copies);
    }
    let usual = || {
        let evidence = if integer { Evidence::Integer } else { Evidence::None };
        Some(Found { ty: untyped(ty.bits(), integer)?, evidence })
    };
    typed.map(Found::new).or_else(usual)
}

/// The floating-point type in which an instruction reads or writes a value of at most `bits` bits.
fn float_of(inst: &Inst, reads: bool, bits: u32) -> Option<Scalar> {
    let types = &opcode(inst).types;
    // A conversion names the type of its result first, and that of its source last.
    let types = match (inst.class, reads) {
        (Class::Convert, true) => types.last().into_iter().collect::<Vec<_>>(),
        (Class::Convert, false) => types.first().into_iter().collect(),
        _ => types.iter().collect(),
    };
    types.into_iter().filter_map(|t| scalar(*t)).find(|s| is_float_within(*s, bits))
}

/// The usual type of elements that are never used in a typed way.
pub(super) fn untyped(bits: u32, integer: bool) -> Option<Scalar> {
    Some(match (bits, integer) {
        (8, _) => Scalar::U8,
        (16, true) => Scalar::U16,
        (16, false) => Scalar::F16,
        (32, true) => Scalar::S32,
        (32, false) => Scalar::F32,
        (64, _) => Scalar::S64,
        _ => return None,
    })
}

/// Whether a type is a floating-point type of at most `bits` bits.
pub(super) fn is_float_within(ty: Scalar, bits: u32) -> bool {
    matches!(ty, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64) && ty.bits() <= bits
}

/// The type of elements for a type that has a meaning; `None` for bits.
pub(super) fn scalar(ty: Type) -> Option<Scalar> {
    Some(match ty.name() {
        "u8" => Scalar::U8,
        "u16" => Scalar::U16,
        "u32" => Scalar::U32,
        "u64" => Scalar::U64,
        "s8" => Scalar::S8,
        "s16" => Scalar::S16,
        "s32" => Scalar::S32,
        "s64" => Scalar::S64,
        "f16" | "f16x2" => Scalar::F16,
        "bf16" | "bf16x2" => Scalar::Bf16,
        "f32" => Scalar::F32,
        "f64" => Scalar::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type behind the only parameter of a kernel with this body.
    fn element_behind(body: &str) -> Option<Scalar> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global p) {{\n\
             .reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %rd<2>;\n\
             ld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
        );
        let module = prlx_isa::ptx::view(&prlx_isa::ptx::parse(&text).0).0;
        param_uses(&module, &module.functions[0], &text)[0].element
    }

    #[test]
    fn the_access_with_the_best_evidence_gives_the_type() {
        // Nothing says what the second store writes.
        let index = "ld.shared.b32 %r1, [0];\nst.global.b32 [%rd1], %r1;\nsetp.eq.b32 %p1, %r1, 3;\n";
        let unknown = "ld.shared.b32 %r2, [4];\nst.global.b32 [%rd1+4], %r2;\n";
        let number = "ld.global.b32 %r3, [%rd1+8];\nadd.f32 %f1, %r3, %r3;\n";
        assert_eq!(element_behind(unknown), Some(Scalar::F32));
        assert_eq!(element_behind(&format!("{index}{unknown}")), Some(Scalar::S32));
        assert_eq!(element_behind(&format!("{unknown}{index}")), Some(Scalar::S32));
        assert_eq!(element_behind(&format!("{index}{unknown}{number}")), Some(Scalar::F32));
    }
}
