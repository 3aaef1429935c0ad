//! Decoding of AMD's register operations.
//!
//! The mnemonic chooses an operation of `prlx-lanes` ([`Choice`]), whose signature says what its operands
//! are. A typical instruction is then one step: constants and registers are planes, and floating-point
//! operations take modifiers in the constant of the step. Selections of parts, DPP, SDWA, halves and pairs
//! of registers are steps around it.
//!
//! # Invariants
//! - All sources are read before a result is written.
//! - Exactly one step of an instruction has a cost.
//! - What is not implemented is refused with a sentence, never ignored.
//!
//! # Limitations
//! A change of MODE is followed in the order of the text. The caller checks that no block ends in another
//! mode than it began with.

mod choice;
mod compare;
mod conversions;
mod dpp;
mod floats;
mod indexed;
mod integers;
mod lanes;
mod matrix;
mod operand;
mod packed;
mod products;
mod scalars;

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::table::{Class, Kind, Role};
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Operand, Reg};
use prlx_lanes::Args;
use prlx_lanes::amd::{Width, convert, float};
use prlx_lanes::round::Round;

use self::choice::{Choice, plain};
pub use self::indexed::allocate;
use self::operand::{Source, Target32};
use super::decoder::Decoder;
use crate::code::{NO_GUARD, Op};
use crate::error::{EmuError, unsupported};

/// The lane that each lane of a wave reads as the first source, if that is the same in every execution.
pub fn source_lanes(inst: &Inst) -> Option<Vec<Option<usize>>> {
    dpp::source_lanes(inst).or_else(|| lanes::source_lanes(inst))
}

/// Appends the steps of an instruction that only computes on registers.
///
/// # Errors
/// The device does not support the instruction.
pub fn data(d: &mut Decoder<'_, '_>) -> Result<(), EmuError> {
    let name = d.inst.name();
    let operands = d.inst.operands();
    if d.inst.indexed() != 0 && d.inst.indexes().is_some() && !name.starts_with("v_mov_b32") {
        return Err(unsupported("only `v_mov_b32` is supported behind `s_set_gpr_idx_on`"));
    }
    match d.inst.encoding() {
        Some(Encoding::Vopd) => return pair(d, name, &operands),
        Some(Encoding::Mai | Encoding::Vop3p | Encoding::Vop3pDpp16 | Encoding::Vop3pDpp8)
            if !name.starts_with("v_accvgpr") =>
        {
            if d.inst.class() == Some(Class::Matrix) {
                return match name {
                    _ if name.starts_with("v_mfma_f64") => products::doubles(d, name, &operands),
                    _ if name.starts_with("v_smfmac") => products::sparse(d, name, &operands),
                    _ => matrix::steps(d, name, &operands),
                };
            }
            return packed::steps(d, name, &operands);
        }
        _ => {}
    }
    if matches!(name, "v_nop" | "v_clrexcp" | "v_pipeflush" | "s_version") {
        d.b.emit_main(Op::Nop);
        return Ok(());
    }
    let (results, sources) = split(&operands);
    if let Some(done) = indexed::steps(d, name, &results, &sources) {
        return done;
    }
    if compare::steps(d, name, &results, &sources)?.is_some() {
        return Ok(());
    }
    let across = match d.inst.encoding() {
        Some(Encoding::Ds) => lanes::select_lds(&d.inst)?,
        _ => lanes::select(&d.inst),
    };
    if let Some((run, imm)) = across {
        return lanes::steps(d, run, imm, &results, &sources);
    }
    if name.starts_with("v_s_") {
        // The scalar unit's functions: EXEC does not matter.
        d.b.guard = NO_GUARD;
    }
    if d.inst.class() == Some(Class::Salu) {
        return scalars::steps(d, name, &results, &sources);
    }
    let ready = prepare(d, name, &results, &sources)?;
    emit(d, &ready, &results, true)
}

/// The operands that are written, and those that are only read. VCC, which no field names, is written if it
/// comes before the sources.
fn split(operands: &[Operand]) -> (Vec<Operand>, Vec<Operand>) {
    let mut reads = false;
    operands.iter().partition(|o| {
        let is_result = o.slot.role != Role::Source || (o.slot.kind == Kind::Vcc && !reads);
        reads |= !is_result;
        is_result
    })
}

/// An operation with its sources.
struct Ready {
    choice: Choice,
    args: Args,
}

/// The operation of a vector instruction.
fn choose(d: &Decoder<'_, '_>, name: &str) -> Result<Choice, EmuError> {
    let clamp = d.inst.get(Field::Clamp) == 1;
    let choice = integers::select(name, d.simd, clamp)
        .or_else(|| floats::select(name, d.simd))
        .or_else(|| packed::accumulating(name, d.simd))
        .or_else(|| conversions::select(name, d.simd, d.inst.target()));
    let choice = choice.ok_or_else(|| unsupported("this operation is not implemented"))?;
    if let Some(bits) = bits_of_table(d, name) {
        return Ok(Choice { imm: bits, ..choice });
    }
    if clamp && choice.floats.is_none() && !integers::clamps(name) {
        return Err(unsupported("`clamp` is not implemented here"));
    }
    Ok(choice)
}

/// The truth table of `v_bitop3_b32`, which stands where others have signs.
fn bits_of_table(d: &Decoder<'_, '_>, name: &str) -> Option<u64> {
    let field = |field| u64::from(d.inst.get(field));
    let table = || field(Field::Omod) << 6 | field(Field::Abs) << 3 | field(Field::Neg);
    name.starts_with("v_bitop3").then(table)
}

/// Chooses the operation of a vector instruction, and reads its sources.
fn prepare(
    d: &mut Decoder<'_, '_>,
    name: &str,
    results: &[Operand],
    sources: &[Operand],
) -> Result<Ready, EmuError> {
    let choice = choose(d, name)?;
    let mut args = Args { imm: choice.imm, ..Args::default() };
    if let Some((from, to)) = choice.floats {
        args.imm |= d.mode.constant(from, to) | modifiers(d, name);
        if let Some(round) = choice.round {
            args.imm = args.imm & !7 | u64::from(round == Round::Zero);
        }
    }
    // An operand that is also written comes after the others.
    let both = results.iter().filter(|o| o.slot.role == Role::Both || name == "v_pk_fmac_f16");
    let mut all = sources.iter().chain(both);
    for (n, width) in choice.sources.iter().enumerate() {
        let source = match all.next() {
            Some(o) if !(o.slot.role == Role::Both && *width == Width::Mask) => d.source(o, *width)?,
            // Pairs read VCC without naming it.
            _ if *width == Width::Mask => {
                Source { plane: d.mask_source(Reg::VccLo)?, abs: false, neg: false }
            }
            _ => return Err(unsupported("it has too few sources")),
        };
        let source =
            if name.starts_with("v_bitop3") { Source { abs: false, neg: false, ..source } } else { source };
        if (source.abs || source.neg) && packed::accumulating(name, d.simd).is_some() {
            return Err(unsupported("signs of pairs are not implemented here"));
        }
        let at = args.src.get_mut(n).ok_or_else(|| unsupported("it has too many sources"))?;
        *at = match choice.floats {
            Some(_) => {
                args.imm |= u64::from(source.abs) << (float::ABS + n as u32);
                args.imm |= u64::from(source.neg) << (float::NEG + n as u32);
                source.plane
            }
            None => d.with_signs(source, *width),
        };
    }
    Ok(Ready { choice, args })
}

/// `clamp`, `omod`, and what depends on the target, in the constant of a floating-point operation.
fn modifiers(d: &Decoder<'_, '_>, name: &str) -> u64 {
    let inst = &d.inst;
    let cdna = inst.target().family() == Family::Gfx9;
    let vop3 = operand::is_vop3(inst.encoding());
    let mut imm = if cdna { float::SECOND_NAN } else { 0 };
    if inst.get(Field::Clamp) == 1 {
        imm |= float::CLAMP;
    }
    if inst.target().family() == Family::Gfx12 {
        imm |= float::DX10;
    }
    let omod = inst.get(Field::Omod);
    if omod != 0 && !name.starts_with("v_bitop3") {
        imm |= u64::from(omod) << float::OMOD;
    }
    // A place in a register that `op_sel` selects.
    if vop3 && name.starts_with("v_cvt_pk_") && name.ends_with("8_f32") && inst.get(Field::OpSel) & 8 != 0 {
        imm |= convert::UPPER;
    }
    if vop3 && inst.target().family() == Family::Gfx12 && matches!(name, "v_cvt_f32_fp8" | "v_cvt_f32_bf8") {
        let select = inst.get(Field::OpSel);
        imm |= u64::from(8 * ((select & 1) << 1 | select >> 1 & 1)) << convert::BYTE;
    }
    imm
}

/// Appends an operation and the writing of its results.
fn emit(d: &mut Decoder<'_, '_>, ready: &Ready, results: &[Operand], main: bool) -> Result<(), EmuError> {
    let mut args = ready.args;
    let mut targets: Vec<Target32> = Vec::new();
    let mut written = results.iter();
    for (n, width) in ready.choice.results.iter().enumerate() {
        let Some(o) = written.next() else { return Err(unsupported("it has too few results")) };
        let target = d.target(o, *width)?;
        let at = args.dst.get_mut(n).ok_or_else(|| unsupported("it has too many results"))?;
        *at = target.plane;
        targets.push(target);
    }
    if written.next().is_some() {
        return Err(unsupported("it has more results than its operation"));
    }
    let op = Op::Alu(ready.choice.run, args);
    if main {
        d.b.emit_main(op)
    } else {
        d.b.emit(op)
    };
    d.finish(&targets);
    let scalar: Vec<Reg> = results
        .iter()
        .flat_map(|o| o.value.registers())
        .filter(|r| !matches!(r, Reg::V(_) | Reg::A(_)))
        .collect();
    if ready.choice.results.iter().all(|w| *w != Width::Mask) {
        d.wrote(&scalar);
    }
    Ok(())
}

/// Appends the two operations of a VOPD instruction. Both read their sources before one writes.
fn pair(d: &mut Decoder<'_, '_>, names: &str, operands: &[Operand]) -> Result<(), EmuError> {
    let (first, second) = names.split_once("::").ok_or_else(|| unsupported("it is no pair of operations"))?;
    let at = operands.iter().position(|o| o.slot.field == Field::VdstY);
    let at = at.ok_or_else(|| unsupported("its second operation has no result"))?;
    let (x, y) = operands.split_at(at);
    let single = |name: &str| name.replace("v_dual_", "v_");
    let ((xr, xs), (yr, ys)) = (split(x), split(y));
    let one = prepare(d, &single(first), &xr, &xs)?;
    let two = prepare(d, &single(second), &yr, &ys)?;
    let reads = ys.iter().chain(yr.iter().filter(|o| o.slot.role == Role::Both));
    let overlaps =
        reads.flat_map(|o| o.value.registers()).any(|r| xr.iter().any(|o| o.value.registers().contains(&r)));
    if overlaps {
        // The second first: the first does not read its result, or the same holds the other way round.
        let reads = xs.iter().chain(xr.iter().filter(|o| o.slot.role == Role::Both));
        let circle = reads
            .flat_map(|o| o.value.registers())
            .any(|r| yr.iter().any(|o| o.value.registers().contains(&r)));
        if circle {
            return circular(d, &one, &two, &xr, &yr);
        }
        emit(d, &two, &yr, true)?;
        return emit(d, &one, &xr, false);
    }
    emit(d, &one, &xr, true)?;
    emit(d, &two, &yr, false)
}

/// A pair in which each operation reads what the other one writes.
fn circular(
    d: &mut Decoder<'_, '_>,
    one: &Ready,
    two: &Ready,
    xr: &[Operand],
    yr: &[Operand],
) -> Result<(), EmuError> {
    let to = d.b.temp(crate::decode::binder::PlaneKind::W32);
    let mut args = one.args;
    args.dst[0] = to;
    d.b.emit_main(Op::Alu(one.choice.run, args));
    emit(d, two, yr, false)?;
    let copy = plain::<prlx_lanes::pack::Mov<u32>>(d.simd);
    let ready = Ready { choice: copy, args: Args { src: [to, 0, 0, 0], ..Args::default() } };
    emit(d, &ready, xr, false)
}
