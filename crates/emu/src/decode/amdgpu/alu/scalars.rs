//! Operations of the scalar unit.
//!
//! # Invariants
//! A scalar step has no guard. It reads the first lane, as all lanes have the same value, and writes all.

use prlx_isa::amdgpu::HardwareField;
use prlx_isa::amdgpu::inst::table::Role;
use prlx_isa::amdgpu::inst::{Field, Operand, Reg, Value};
use prlx_isa::view;
use prlx_lanes::amd::convert::FromHigh;
use prlx_lanes::amd::int::{self, scalar::*};
use prlx_lanes::amd::{Width, float};
use prlx_lanes::pack::Mov;
use prlx_lanes::round::Round;
use prlx_lanes::{Args, Simd, bits, int as ints};

use super::super::decoder::Decoder;
use super::super::float_mode::Precision;
use super::choice::{Choice, floating, uniform};
use super::{conversions, floats};
use crate::code::Op;
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// Appends the steps of an operation of the scalar unit.
pub(super) fn steps(
    d: &mut Decoder<'_, '_>,
    name: &str,
    results: &[Operand],
    sources: &[Operand],
) -> Result<(), EmuError> {
    if let Some((operation, saves)) = exec_operation(name) {
        return exec(d, operation, saves, results, sources);
    }
    match name {
        "s_getreg_b32" => return get_register(d, results),
        "s_setreg_imm32_b32" => return set_mode(d, sources),
        _ => {}
    }
    let choice = select(name, d.simd).or_else(|| floats(d, name));
    let choice = choice.ok_or_else(|| unsupported("this scalar operation is not implemented"))?;
    let mut args = Args { imm: choice.imm, ..Args::default() };
    if let Some((from, to)) = choice.floats {
        args.imm |= d.mode.constant(from, to) | float::DX10;
        if let Some(round) = choice.round {
            args.imm = args.imm & !7 | u64::from(round == Round::Zero);
        }
    }
    let both = results.iter().filter(|o| o.slot.role == Role::Both);
    let mut all = sources.iter().chain(both);
    for (width, to) in choice.sources.iter().zip(&mut args.src) {
        if *width == Width::Mask {
            *to = d.scc();
            continue;
        }
        let o = all.next().ok_or_else(|| unsupported("it has too few sources"))?;
        *to = match o.value {
            // 16 bits, with a sign.
            Value::Immediate(v) if o.slot.field == Field::Simm16 => d.b.const32(v as u16 as i16 as u32),
            _ => d.source(o, *width)?.plane,
        };
    }
    let mut targets = Vec::new();
    let mut written = results.iter();
    for (width, to) in choice.results.iter().zip(&mut args.dst) {
        if *width == Width::Mask {
            *to = d.scc();
            continue;
        }
        let o = written.next().ok_or_else(|| unsupported("it has too few results"))?;
        let target = d.target(o, *width)?;
        *to = target.plane;
        targets.push(target);
    }
    d.b.emit_main(Op::Alu(choice.run, args));
    d.finish(&targets);
    let regs: Vec<Reg> = results.iter().flat_map(|o| o.value.registers()).collect();
    d.wrote(&regs);
    Ok(())
}

/// Operations on floating-point values, which are those of vectors.
fn floats(d: &Decoder<'_, '_>, name: &str) -> Option<Choice> {
    let vector = format!("v_{}", name.strip_prefix("s_")?);
    match name {
        "s_cvt_hi_f32_f16" => Some(floating::<FromHigh>(d.simd, Precision::Other, Precision::Single)),
        _ => {
            floats::select(&vector, d.simd).or_else(|| conversions::select(&vector, d.simd, d.inst.target()))
        }
    }
}

/// The operation of a mnemonic.
fn select(name: &str, l: Simd) -> Option<Choice> {
    logic(name, l).or_else(|| arithmetic(name, l)).or_else(|| fields(name, l))
}

fn logic(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "s_mov_b32" | "s_movk_i32" => uniform::<Mov<u32>>(l),
        "s_mov_b64" => uniform::<Mov<u64>>(l),
        "s_cmov_b32" | "s_cmovk_i32" => uniform::<Cmov>(l),
        "s_cmov_b64" => uniform::<Cmov64>(l),
        "s_cselect_b32" => uniform::<prlx_lanes::compare::Selp<u32>>(l),
        "s_cselect_b64" => uniform::<prlx_lanes::compare::Selp<u64>>(l),
        "s_not_b32" => uniform::<Not>(l),
        "s_not_b64" => uniform::<Not64>(l),
        "s_and_b32" => uniform::<And>(l),
        "s_and_b64" => uniform::<And64>(l),
        "s_or_b32" => uniform::<Or>(l),
        "s_or_b64" => uniform::<Or64>(l),
        "s_xor_b32" => uniform::<Xor>(l),
        "s_xor_b64" => uniform::<Xor64>(l),
        "s_andn2_b32" | "s_and_not1_b32" => uniform::<AndNot>(l),
        "s_andn2_b64" | "s_and_not1_b64" => uniform::<AndNot64>(l),
        "s_orn2_b32" | "s_or_not1_b32" => uniform::<OrNot>(l),
        "s_orn2_b64" | "s_or_not1_b64" => uniform::<OrNot64>(l),
        "s_nand_b32" => uniform::<Nand>(l),
        "s_nand_b64" => uniform::<Nand64>(l),
        "s_nor_b32" => uniform::<Nor>(l),
        "s_nor_b64" => uniform::<Nor64>(l),
        "s_xnor_b32" => uniform::<Xnor>(l),
        "s_xnor_b64" => uniform::<Xnor64>(l),
        "s_lshl_b32" => uniform::<Lshl>(l),
        "s_lshl_b64" => uniform::<Lshl64>(l),
        "s_lshr_b32" => uniform::<Lshr>(l),
        "s_lshr_b64" => uniform::<Lshr64>(l),
        "s_ashr_i32" => uniform::<Ashr>(l),
        "s_ashr_i64" => uniform::<Ashr64>(l),
        "s_brev_b32" => uniform::<bits::Brev32>(l),
        "s_brev_b64" => uniform::<bits::Brev64>(l),
        "s_pack_ll_b32_b16" => uniform::<int::Pack>(l),
        "s_pack_lh_b32_b16" => uniform::<PackLh>(l),
        "s_pack_hh_b32_b16" => uniform::<PackHh>(l),
        "s_pack_hl_b32_b16" => uniform::<PackHl>(l),
        _ => return None,
    })
}

fn arithmetic(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "s_add_u32" | "s_add_co_u32" => uniform::<Add>(l),
        "s_sub_u32" | "s_sub_co_u32" => uniform::<Sub>(l),
        "s_add_i32" | "s_add_co_i32" | "s_addk_i32" | "s_addk_co_i32" => uniform::<AddI>(l),
        "s_sub_i32" | "s_sub_co_i32" => uniform::<SubI>(l),
        "s_addc_u32" | "s_add_co_ci_u32" => uniform::<int::Addc>(l),
        "s_subb_u32" | "s_sub_co_ci_u32" => uniform::<int::Subb>(l),
        "s_add_nc_u64" => uniform::<ints::Add<u64>>(l),
        "s_sub_nc_u64" => uniform::<ints::Sub<u64>>(l),
        "s_mul_u64" => uniform::<ints::Mul<u64>>(l),
        "s_mul_i32" | "s_mulk_i32" => uniform::<ints::Mul<u32>>(l),
        "s_mul_hi_u32" => uniform::<ints::MulHi<u32>>(l),
        "s_mul_hi_i32" => uniform::<ints::MulHi<i32>>(l),
        "s_min_i32" => uniform::<MinI>(l),
        "s_min_u32" => uniform::<MinU>(l),
        "s_max_i32" => uniform::<MaxI>(l),
        "s_max_u32" => uniform::<MaxU>(l),
        "s_abs_i32" => uniform::<Abs>(l),
        "s_absdiff_i32" => uniform::<AbsDiff>(l),
        "s_lshl1_add_u32" => uniform::<Lshl1Add>(l),
        "s_lshl2_add_u32" => uniform::<Lshl2Add>(l),
        "s_lshl3_add_u32" => uniform::<Lshl3Add>(l),
        "s_lshl4_add_u32" => uniform::<Lshl4Add>(l),
        _ => return None,
    })
}

/// Bits and bit fields.
fn fields(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "s_bfm_b32" => uniform::<int::Bfm>(l),
        "s_bfm_b64" => uniform::<Bfm64>(l),
        "s_bfe_u32" => uniform::<BfeU>(l),
        "s_bfe_i32" => uniform::<BfeI>(l),
        "s_bfe_u64" => uniform::<BfeU64>(l),
        "s_bfe_i64" => uniform::<BfeI64>(l),
        "s_bcnt0_i32_b32" => uniform::<Bcnt0>(l),
        "s_bcnt0_i32_b64" => uniform::<Bcnt064>(l),
        "s_bcnt1_i32_b32" => uniform::<Bcnt1>(l),
        "s_bcnt1_i32_b64" => uniform::<Bcnt164>(l),
        "s_ff0_i32_b32" => uniform::<int::Ff0>(l),
        "s_ff0_i32_b64" => uniform::<int::Ff064>(l),
        "s_ff1_i32_b32" | "s_ctz_i32_b32" => uniform::<int::Ffbl>(l),
        "s_ff1_i32_b64" | "s_ctz_i32_b64" => uniform::<int::Ffbl64>(l),
        "s_flbit_i32_b32" | "s_clz_i32_u32" => uniform::<int::Ffbh>(l),
        "s_flbit_i32_b64" | "s_clz_i32_u64" => uniform::<int::Ffbh64>(l),
        "s_flbit_i32" | "s_cls_i32" => uniform::<int::Cls>(l),
        "s_flbit_i32_i64" | "s_cls_i32_i64" => uniform::<int::Cls64>(l),
        "s_sext_i32_i8" => uniform::<Sext8>(l),
        "s_sext_i32_i16" => uniform::<int::FromI16>(l),
        "s_bitset0_b32" => uniform::<Bitset0>(l),
        "s_bitset0_b64" => uniform::<Bitset064>(l),
        "s_bitset1_b32" => uniform::<Bitset1>(l),
        "s_bitset1_b64" => uniform::<Bitset164>(l),
        "s_bitcmp0_b32" => uniform::<Bitcmp0>(l),
        "s_bitcmp0_b64" => uniform::<Bitcmp064>(l),
        "s_bitcmp1_b32" => uniform::<Bitcmp1>(l),
        "s_bitcmp1_b64" => uniform::<Bitcmp164>(l),
        "s_bitreplicate_b64_b32" => uniform::<BitReplicate>(l),
        "s_quadmask_b32" => uniform::<QuadMask>(l),
        "s_quadmask_b64" => uniform::<QuadMask64>(l),
        "s_wqm_b32" => uniform::<Wqm>(l),
        "s_wqm_b64" => uniform::<Wqm64>(l),
        _ => return None,
    })
}

/// The operation that computes EXEC, and whether the result is the old EXEC (`saveexec`), not the new one
/// (`wrexec`). The sources of `n1` operations are in the other order.
fn exec_operation(name: &str) -> Option<(&'static str, bool)> {
    let (operation, saves) = match name.split_once("_saveexec_") {
        Some((operation, _)) => (operation, true),
        None => (name.split_once("_wrexec_")?.0, false),
    };
    let operation = match operation {
        "s_and" => "and",
        "s_or" => "or",
        "s_xor" => "xor",
        "s_nand" => "nand",
        "s_nor" => "nor",
        "s_xnor" => "xnor",
        "s_andn2" | "s_and_not1" => "andn2",
        "s_orn2" | "s_or_not1" => "orn2",
        "s_andn1" | "s_and_not0" => "andn1",
        "s_orn1" | "s_or_not0" => "orn1",
        _ => return None,
    };
    Some((operation, saves))
}

/// `s_and_saveexec_b64` and its like, on the words of EXEC.
fn exec(
    d: &mut Decoder<'_, '_>,
    operation: &str,
    saves: bool,
    results: &[Operand],
    sources: &[Operand],
) -> Result<(), EmuError> {
    let ([result], [source]) = (results, sources) else {
        return Err(unsupported("it needs one result and one source"));
    };
    let wide = result.value.registers().len() == 2;
    let l = d.simd;
    let (choice, swapped) = match (operation, wide) {
        ("and", true) => (uniform::<And64>(l), false),
        ("or", true) => (uniform::<Or64>(l), false),
        ("xor", true) => (uniform::<Xor64>(l), false),
        ("nand", true) => (uniform::<Nand64>(l), false),
        ("nor", true) => (uniform::<Nor64>(l), false),
        ("xnor", true) => (uniform::<Xnor64>(l), false),
        ("andn2" | "andn1", true) => (uniform::<AndNot64>(l), operation == "andn1"),
        (_, true) => (uniform::<OrNot64>(l), operation == "orn1"),
        ("and", _) => (uniform::<And>(l), false),
        ("or", _) => (uniform::<Or>(l), false),
        ("xor", _) => (uniform::<Xor>(l), false),
        ("nand", _) => (uniform::<Nand>(l), false),
        ("nor", _) => (uniform::<Nor>(l), false),
        ("xnor", _) => (uniform::<Xnor>(l), false),
        ("andn2" | "andn1", _) => (uniform::<AndNot>(l), operation == "andn1"),
        _ => (uniform::<OrNot>(l), operation == "orn1"),
    };
    let (width, kind) = if wide { (Width::Double, PlaneKind::W64) } else { (Width::Word, PlaneKind::W32) };
    let from = d.source(source, width)?.plane;
    let (low, high) = (d.word(Reg::ExecLo), d.word(Reg::ExecHi));
    let old = if wide {
        d.pair(low, high)
    } else {
        d.temporary(PlaneKind::W32, uniform::<Mov<u32>>(l).run, [low, 0, 0, 0], 0)
    };
    let new = d.b.temp(kind);
    let scc = d.scc();
    let src = if swapped { [old, from, 0, 0] } else { [from, old, 0, 0] };
    d.b.emit_main(Op::Alu(choice.run, Args { dst: [new, scc, 0, 0], src, imm: 0 }));
    let kept = if saves { old } else { new };
    let write = |d: &mut Decoder<'_, '_>, from: u16, regs: &[Reg]| match *regs {
        [a, b] => {
            let (a, b) = (d.word(a), d.word(b));
            d.split(from, a, b);
        }
        [a] => {
            let a = d.word(a);
            d.alu_all(uniform::<Mov<u32>>(l).run, Args { dst: [a, 0, 0, 0], src: [from, 0, 0, 0], imm: 0 });
        }
        _ => {}
    };
    let regs = result.value.registers();
    write(d, kept, &regs);
    let exec = [Reg::ExecLo, Reg::ExecHi];
    let exec = if wide { &exec[..] } else { &exec[..1] };
    write(d, new, exec);
    d.wrote(&regs);
    d.wrote(exec);
    Ok(())
}

/// Number of MODE among the hardware registers.
const MODE: u32 = 1;

/// `s_getreg_b32` of MODE, and of the number of the multiprocessor.
fn get_register(d: &mut Decoder<'_, '_>, results: &[Operand]) -> Result<(), EmuError> {
    let field = HardwareField::of(d.inst.get(Field::Simm16));
    let place = d.inst.target().multiprocessor().iter().position(|part| *part == field);
    let from = match place {
        // The device has no more multiprocessors than the first field can number.
        Some(0) => d.b.source(&view::Operand::Special("%smid".to_owned()), view::Type::B32)?,
        Some(_) => d.b.const32(0),
        None if field.register == MODE && field.first + field.bits <= 10 => {
            d.b.const32(d.mode.bits() >> field.first & ((1 << field.bits) - 1))
        }
        None => return Err(unsupported("this hardware register is not simulated")),
    };
    let [result] = results else { return Err(unsupported("it needs one result")) };
    let target = d.target(result, Width::Word)?;
    let args = Args { dst: [target.plane, 0, 0, 0], src: [from, 0, 0, 0], imm: 0 };
    d.b.emit_main(Op::Alu(uniform::<Mov<u32>>(d.simd).run, args));
    d.wrote(&result.value.registers());
    Ok(())
}

/// `s_setreg_imm32_b32` of MODE.
fn set_mode(d: &mut Decoder<'_, '_>, sources: &[Operand]) -> Result<(), EmuError> {
    let HardwareField { register, first, bits } = HardwareField::of(d.inst.get(Field::Simm16));
    let value = sources.iter().find_map(|o| match o.value {
        Value::Literal(v) => Some(v),
        _ => None,
    });
    let mode = value.filter(|_| register == MODE).and_then(|v| d.mode.set(first, bits, v));
    d.mode = mode.ok_or_else(|| unsupported("only rounding and denormals of MODE can be set"))?;
    d.b.emit_main(Op::Nop);
    Ok(())
}
