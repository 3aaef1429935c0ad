//! Moves between registers that M0 chooses: `v_movrel*`, `s_movrel*`, and `v_mov_b32` behind
//! `s_set_gpr_idx_on` (CDNA 3 ISA, "Relative GPR Addressing"; RDNA 3 ISA, "VGPR Indexing").
//!
//! # Invariants
//! - The planes of the bank are in the order of its registers ([`allocate`]).
//! - An index behind the bank reads its first register, and writes none.
//!
//! # Limitations
//! - The bank has all registers that the target can have, not those that the kernel owns.
//! - Behind `s_set_gpr_idx_on`, no other vector instruction than `v_mov_b32` is supported.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Bank, Encoding, INDEX_RESULT, INDEX_SOURCE, Inst, Operand, Reg, Value};
use prlx_lanes::amd::Width;
use prlx_lanes::{Args, Planes};
use rustc_hash::FxHashMap;

use super::super::decoder::Decoder;
use crate::code::{NO_GUARD, Op};
use crate::decode::binder::{Binder, PlaneKind};
use crate::error::{EmuError, unsupported};

/// Registers of a bank: vector registers, and scalar ones without VCC and those behind it.
fn registers(bank: Bank) -> Vec<Reg> {
    match bank {
        Bank::Scalar => (0..=105).map(Reg::S).collect(),
        _ => (0..=255).map(Reg::V).collect(),
    }
}

/// Gives the banks that these instructions index planes in the order of their registers.
pub fn allocate(
    b: &mut Binder<'_>,
    insts: impl Iterator<Item = Inst>,
    planes: &mut FxHashMap<Register, u16>,
) {
    let mut banks = [false; 2];
    for inst in insts {
        match inst.indexes() {
            Some(Bank::Scalar) => banks[1] = true,
            Some(_) => banks[0] = true,
            None => {}
        }
    }
    for (bank, _) in [Bank::Vector, Bank::Scalar].into_iter().zip(banks).filter(|(_, is)| *is) {
        for reg in registers(bank).into_iter().chain([Reg::M0]) {
            let register = Register::Word(reg);
            let plane = *planes.entry(register).or_insert_with(|| b.plane(PlaneKind::W32));
            b.code.indexed.push((register, plane));
        }
    }
}

/// How M0 gives an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Index {
    /// All of M0.
    Whole,
    /// Bits 0 to 9 (`v_movrelsd_2`).
    Low,
    /// Bits 16 to 25.
    High,
    /// Bits 0 to 7 (`s_set_gpr_idx_on`).
    Byte,
}

/// The constant of a step: the first plane of the bank, its registers, the register that is named, and the
/// index.
fn constant(d: &mut Decoder<'_, '_>, bank: Bank, named: Reg, index: Index) -> Result<u64, EmuError> {
    let all = registers(bank);
    let base = all.iter().position(|r| *r == named);
    let base = base.ok_or_else(|| unsupported("M0 cannot index this register"))?;
    let (first, last) = (d.word(all[0]), d.word(all[all.len() - 1]));
    if usize::from(last) != usize::from(first) + all.len() - 1 {
        return Err(unsupported("the registers that M0 chooses from are not known"));
    }
    Ok(u64::from(first) | (all.len() as u64) << 16 | (base as u64) << 32 | (index as u64) << 48)
}

/// The plane that M0 chooses; `None` if the index is behind the bank.
fn chosen(p: &Planes, m0: u16, imm: u64) -> Option<u16> {
    let (first, count, base) = (imm as u16, (imm >> 16) as u16, (imm >> 32) as u16);
    let m0 = p.get32(m0).0[0];
    let index = match imm >> 48 {
        0 => m0,
        1 => m0 & 0x3ff,
        2 => m0 >> 16 & 0x3ff,
        _ => m0 & 0xff,
    };
    let at = u32::from(base).wrapping_add(index);
    (at < u32::from(count)).then(|| first + at as u16)
}

/// Reads the register that M0 (the first source) chooses.
fn gather(p: &mut Planes, a: &Args, m: u32) {
    let from = chosen(p, a.src[0], a.imm).unwrap_or(a.imm as u16);
    let v = p.get32(from);
    p.put32(a.dst[0], m, v);
}

/// Writes the second source to the register that M0 (the first source) chooses.
fn scatter(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[1]);
    if let Some(to) = chosen(p, a.src[0], a.imm) {
        p.put32(to, m, v);
    }
}

/// M0 after `s_set_gpr_idx_on` and its like: `imm` has the bits that are kept, those of the source that are
/// taken, and those that are set, 16 bits each.
fn set_m0(p: &mut Planes, a: &Args, m: u32) {
    let (mut out, source) = (p.get32(a.src[0]), p.get32(a.src[1]));
    let [kept, taken, set] = [0, 16, 32].map(|at| (a.imm >> at) as u32 & 0xffff);
    for (to, from) in out.0.iter_mut().zip(source.0) {
        *to = *to & (0xffff_0000 | kept) | from & taken | set;
    }
    p.put32(a.dst[0], m, out);
}

/// Appends the steps of a move by M0, or of an instruction that sets how M0 indexes; `None` if the
/// instruction is neither.
pub(super) fn steps(
    d: &mut Decoder<'_, '_>,
    name: &str,
    results: &[Operand],
    sources: &[Operand],
) -> Option<Result<(), EmuError>> {
    if let Some(rest) = name.strip_prefix("s_set_gpr_idx_") {
        return Some(mode(d, rest, sources));
    }
    let bank = d.inst.indexes()?;
    Some(moves(d, name, bank, results, sources))
}

fn mode(d: &mut Decoder<'_, '_>, what: &str, sources: &[Operand]) -> Result<(), EmuError> {
    let immediate = sources.iter().find_map(|o| match o.value {
        Value::Immediate(n) => Some(u64::from(n) & 15),
        _ => None,
    });
    let flags = immediate.unwrap_or(0) << (32 + 12);
    let (imm, source) = match what {
        "off" => {
            d.b.emit_main(Op::Nop);
            return Ok(());
        }
        "mode" => (0x0fff | flags, None),
        "idx" => (0xff00 | 0xff << 16, sources.first()),
        _ => (0x0f00 | 0xff << 16 | flags, sources.first()),
    };
    let source = match source {
        Some(o) => d.source(o, Width::Word)?.plane,
        None => d.b.const32(0),
    };
    let m0 = d.word(Reg::M0);
    d.b.guard = NO_GUARD;
    d.b.emit_main(Op::Alu(set_m0, Args { dst: [m0, 0, 0, 0], src: [m0, source, 0, 0], imm }));
    d.wrote(&[Reg::M0]);
    Ok(())
}

/// Which operands M0 indexes, and how.
fn indexes(d: &Decoder<'_, '_>, name: &str) -> Result<[Option<Index>; 2], EmuError> {
    let stem = name.split_once('_').map_or("", |(_, rest)| rest);
    let whole = Some(Index::Whole);
    Ok(match stem.trim_end_matches("_b32").trim_end_matches("_b64") {
        "movrels" => [whole, None],
        "movreld" => [None, whole],
        "movrelsd" => [whole, whole],
        "movrelsd_2" => [Some(Index::Low), Some(Index::High)],
        "mov" if d.inst.indexed() & !(INDEX_SOURCE | INDEX_RESULT) == 0 => {
            let of = |flag| (d.inst.indexed() & flag != 0).then_some(Index::Byte);
            [of(INDEX_SOURCE), of(INDEX_RESULT)]
        }
        _ => return Err(unsupported("only `v_mov_b32` is supported behind `s_set_gpr_idx_on`")),
    })
}

fn moves(
    d: &mut Decoder<'_, '_>,
    name: &str,
    bank: Bank,
    results: &[Operand],
    sources: &[Operand],
) -> Result<(), EmuError> {
    if !matches!(d.inst.encoding(), Some(Encoding::Vop1 | Encoding::Vop3 | Encoding::Sop1)) {
        return Err(unsupported("indexed registers are not supported in DPP and SDWA"));
    }
    let [read, write] = indexes(d, name)?;
    // Results of `movreld` are named as sources in the tables: nothing else is written by name.
    let all: Vec<&Operand> = results.iter().chain(sources).collect();
    let [result, source] = all[..] else { return Err(unsupported("it needs one result and one source")) };
    let to = result.value.registers();
    let from = source.value.registers();
    d.b.guard = if bank == Bank::Scalar { NO_GUARD } else { d.exec() };
    let m0 = d.word(Reg::M0);
    let mut values = Vec::new();
    // A constant or a register of the other bank is not indexed.
    let is_bank = |r: &Reg| matches!((r, bank), (Reg::V(_), Bank::Vector) | (Reg::S(_), Bank::Scalar));
    match read.filter(|_| from.first().is_some_and(is_bank)) {
        Some(index) => {
            for named in from {
                let imm = constant(d, bank, named, index)?;
                let value = d.b.temp(PlaneKind::W32);
                d.alu(gather, Args { dst: [value, 0, 0, 0], src: [m0, 0, 0, 0], imm });
                values.push(value);
            }
        }
        None if to.len() == 1 => values.push(d.source(source, Width::Word)?.plane),
        None if from.is_empty() => {
            let (low, high) = (d.b.temp(PlaneKind::W32), d.b.temp(PlaneKind::W32));
            let pair = d.source(source, Width::Double)?.plane;
            d.split(pair, low, high);
            values.extend([low, high]);
        }
        None => values.extend(from.iter().map(|r| d.word(*r)).collect::<Vec<_>>()),
    }
    for (at, (named, value)) in to.iter().zip(values).enumerate() {
        let (run, args): (prlx_lanes::LaneFn, Args) = match write {
            Some(index) => {
                let imm = constant(d, bank, *named, index)?;
                (scatter, Args { dst: [0; 4], src: [m0, value, 0, 0], imm })
            }
            None => {
                let to = d.word(*named);
                (copy, Args { dst: [to, 0, 0, 0], src: [value, 0, 0, 0], imm: 0 })
            }
        };
        if at == 0 {
            d.b.emit_main(Op::Alu(run, args));
        } else {
            d.b.emit(Op::Alu(run, args));
        }
    }
    match (bank, write) {
        (Bank::Scalar, Some(_)) => d.wrote(&registers(Bank::Scalar)),
        (Bank::Scalar, None) => d.wrote(&to),
        _ => {}
    }
    Ok(())
}

fn copy(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get32(a.src[0]);
    p.put32(a.dst[0], m, v);
}
