//! Parameter bytes that a kernel never reads.
//!
//! A structure passed by value has padding, which the host does not set. These bytes differ from run to run
//! and have no effect.
//!
//! # Invariants
//! - A byte reported as unread has no effect on the kernel.
//! - A parameter counts as read as a whole if anything but a load at a constant offset names it. Its address
//!   may be in a register that has no other value and is nothing but the base of such loads.
//! - All parameters count as read if an operand is not understood, or a load reaches beyond its parameter.
//!
//! # Limitations
//! A loaded value that is not used counts as read.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::view::{
    Base, Class, Effect, Eval, Function, FunctionKind, Inst, Module, Operand, Reg, Space, SymbolId,
};

/// Bytes of a kernel's parameter buffer that the kernel never reads, padding between parameters included,
/// ascending. Empty for a device function.
pub fn unread_param_bytes(module: &Module, function: &Function) -> Vec<Range<u32>> {
    if function.kind != FunctionKind::Kernel {
        return Vec::new();
    }
    let size = |s: &SymbolId| module.symbols.get(s.index()).and_then(|s| u32::try_from(s.size).ok());
    let places = function.params.iter().zip(&function.param_offsets);
    let Some(params) = places
        .map(|(symbol, at)| Some((*symbol, *at..at.checked_add(size(symbol)?)?)))
        .collect::<Option<Vec<(SymbolId, Range<u32>)>>>()
    else {
        return Vec::new();
    };
    let bases = address_registers(function);
    let mut read = Vec::new();
    for inst in &function.insts {
        if taken(inst).is_some_and(|(reg, _)| bases.contains_key(&reg)) {
            continue;
        }
        let mut known = true;
        let mut whole =
            |symbol: SymbolId| read.extend(params.iter().find(|(s, _)| *s == symbol).map(|p| p.1.clone()));
        match loaded(inst, &bases) {
            Some((symbol, from, bytes)) if params.iter().any(|(s, _)| *s == symbol) => {
                let place = params.iter().find(|(s, _)| *s == symbol).and_then(|(_, place)| {
                    let start = u32::try_from(i64::from(place.start).checked_add(from)?).ok()?;
                    let part = start..start.checked_add(bytes)?;
                    (part.start >= place.start && part.end <= place.end).then_some(part)
                });
                known = place.is_some();
                read.extend(place);
            }
            _ => inst.operands.iter().for_each(|o| known &= named(o, &mut whole)),
        }
        if !known {
            return Vec::new();
        }
    }
    read.sort_unstable_by_key(|r| r.start);
    let end = params.iter().map(|(_, place)| place.end).max().unwrap_or(0);
    let (mut unread, mut at) = (Vec::new(), 0);
    for part in read.into_iter().chain(std::iter::once(end..end)) {
        if part.start > at {
            unread.push(at..part.start);
        }
        at = at.max(part.end);
    }
    unread
}

/// The parameter that a load reads, the offset in it, and the size in bytes; `None` if the instruction does
/// anything else. `bases` are registers that hold addresses of symbols.
fn loaded(inst: &Inst, bases: &BTreeMap<Reg, (SymbolId, i64)>) -> Option<(SymbolId, i64, u32)> {
    let (base, from) = param_load(inst)?;
    let (symbol, start) = match base {
        Base::Symbol(symbol) => (*symbol, 0),
        Base::Reg(reg) => *bases.get(reg)?,
        Base::Absolute => return None,
    };
    let Effect::Access(access) = inst.semantics.effect else { return None };
    Some((symbol, start.checked_add(from)?, access.element? * access.elements))
}

/// The address of a load of parameters.
fn param_load(inst: &Inst) -> Option<(&Base, i64)> {
    let [_, Operand::Address(base, from)] = inst.operands.as_slice() else { return None };
    (inst.class == Class::Load && inst.space == Space::Param).then_some((base, *from))
}

/// The register that an instruction sets to the address of a symbol, and that address.
fn taken(inst: &Inst) -> Option<(Reg, (SymbolId, i64))> {
    let [Operand::Reg(reg), Operand::Symbol(symbol, at)] = inst.operands.as_slice() else { return None };
    let moves = inst.guard.is_none() && inst.eval.is_some_and(|(eval, _)| eval == Eval::Mov);
    moves.then_some((*reg, (*symbol, *at)))
}

/// The registers that hold the address of one symbol wherever they are set, and are used for nothing but as
/// the base of loads of parameters.
fn address_registers(function: &Function) -> BTreeMap<Reg, (SymbolId, i64)> {
    let mut bases: BTreeMap<Reg, Option<(SymbolId, i64)>> = BTreeMap::new();
    for inst in &function.insts {
        if let Some((reg, address)) = taken(inst) {
            let known = bases.entry(reg).or_insert(Some(address));
            *known = known.filter(|k| *k == address);
            continue;
        }
        let base =
            param_load(inst).and_then(|(base, _)| if let Base::Reg(r) = base { Some(*r) } else { None });
        let mut other: Vec<Reg> = inst.defs().chain(inst.uses()).collect();
        if let Some(at) = base.and_then(|base| other.iter().position(|r| *r == base)) {
            other.swap_remove(at);
        }
        bases.extend(other.into_iter().map(|reg| (reg, None)));
    }
    bases.into_iter().filter_map(|(reg, address)| Some((reg, address?))).collect()
}

/// Calls `symbol` for every symbol that an operand names. Returns whether the operand is fully understood.
fn named(operand: &Operand, symbol: &mut impl FnMut(SymbolId)) -> bool {
    match operand {
        Operand::Symbol(s, _) | Operand::Address(Base::Symbol(s), _) => symbol(*s),
        Operand::Tensor(map, more) => return named(map, symbol) & more.iter().all(|o| named(o, symbol)),
        Operand::Vector(all) | Operand::List(all) => return all.iter().all(|o| named(o, symbol)),
        Operand::Pair(a, b) => return named(a, symbol) & named(b, symbol),
        Operand::Text(_) => return false,
        _ => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unread ranges of a kernel with a structure and two more parameters.
    fn of(body: &str) -> Vec<(u32, u32)> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .align 8 .b8 s[24], \
             .param .b8 flag, .param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .b16 %rs<9>;\n\
             .reg .pred %p<9>;\n{body}\nret;\n}}\n"
        );
        let (module, diagnostics) = crate::ptx::read(&text);
        assert!(diagnostics.is_empty() || body.contains('?'), "{diagnostics:?}");
        unread_param_bytes(&module, &module.functions[0]).into_iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn only_loads_at_constant_offsets_distinguish_bytes() {
        let all = "ld.param.u32 %r1, [s]; ld.param.v2.u64 {%rd1, %rd2}, [s+8]; ld.param.u8 %rs1, [flag]; \
                   ld.param.u64 %rd3, [p];";
        let gaps = vec![(4, 8), (25, 32)];
        assert_eq!(of(all), gaps);
        assert_eq!(of(""), [(0, 40)]);
        assert_eq!(of("ld.param.u64 %rd3, [p];"), [(0, 32)]);
        assert_eq!(of("ld.param.v4.b32 {%r1, %r2, _, %r3}, [s+4];"), [(0, 4), (20, 40)]);
        // A guarded load and an unreachable load both count as loads.
        assert_eq!(
            of("@%p1 ld.param.u64 %rd3, [p]; ret; ld.param::entry.u64 %rd1, [s+16];"),
            [(0, 16), (24, 32)]
        );
        // A register may hold the address, as nvcc writes it for a structure.
        let base = "mov.b64 %rd1, s+4; ld.param.u8 %rs1, [%rd1+-4]; @%p1 ld.param.u64 %rd2, [%rd1+4];";
        assert_eq!(of(base), [(1, 8), (16, 40)]);
        // Otherwise, however the address is taken, the whole parameter counts as read.
        for taken in [
            "mov.b64 %rd1, s; st.global.u64 [%rd2], %rd1;",
            "mov.u64 %rd1, s+8; add.u64 %rd1, %rd1, %rd2; ld.param.u32 %r1, [%rd1];",
            "mov.b64 %rd1, s; mov.b64 %rd1, s+8; ld.param.u64 %rd2, [%rd1];",
            "@%p1 mov.b64 %rd1, s; ld.param.u64 %rd2, [%rd1];",
            "mov.b64 %rd1, s; ld.param.u64 %rd1, [%rd1];",
            "cvta.param.u64 %rd1, s;",
            "mov.b64 %rd1, s; cvta.param.u64 %rd1, %rd1; ld.global.u32 %r1, [%rd1+4];",
            "mov.b64 {%r1, %r2}, s;",
            "ld.u32 %r1, [s];",
            "prefetch.tensormap [s];",
            "nothing.known.u32 %r1, [s];",
        ] {
            assert_eq!(of(taken), [(24, 40)], "{taken}");
        }
        // A load beyond the parameter, or an operand that is not understood, may read anything.
        for any in ["ld.param.u64 %rd1, [s+20];", "ld.param.u32 %r1, [s+-4];", "nothing.known %r1, ?what;"] {
            assert_eq!(of(any), [], "{any}");
        }
    }

    #[test]
    fn call_parameters_are_not_kernel_parameters() {
        let call = "{ .param .b64 given; st.param.b64 [given], %rd1; .param .b64 got; call (got), f, (given); \
                    ld.param.b64 %rd2, [got]; }";
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func (.param .b64 r) f(.param .b64 a)\n{{\n.reg .b64 %rd<3>;\n\
             ld.param.b64 %rd1, [a];\nst.param.b64 [r], %rd1;\nret;\n}}\n\
             .entry k(.param .b64 x, .param .b64 y)\n{{\n\
             .reg .b64 %rd<9>;\nld.param.b64 %rd1, [y];\n{call}\nret;\n}}\n"
        );
        let (module, diagnostics) = crate::ptx::read(&text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let of = |name: &str| unread_param_bytes(&module, module.function(name).unwrap());
        assert_eq!((of("f").len(), of("k").first()), (0, Some(&(0..8))));
    }
}
