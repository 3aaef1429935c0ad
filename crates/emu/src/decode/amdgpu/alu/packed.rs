//! Packed operations and dot products (VOP3P).
//!
//! # Invariants
//! Selections of halves and signs are in the constant of the step, so that these operations are one step,
//! too.

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::table::{Role, Type};
use prlx_isa::amdgpu::inst::{Field, Operand};
use prlx_lanes::amd::dot::{Dot2, Dot4, DotInt, SIGNED, SIGNED_A, SIGNED_B};
use prlx_lanes::amd::float::{self, Binary16};
use prlx_lanes::amd::minmax::*;
use prlx_lanes::amd::packed::*;
use prlx_lanes::fp8::{Bf8, Fp8};
use prlx_lanes::half::Bf16;
use prlx_lanes::{Args, Simd};

use super::super::decoder::Decoder;
use super::super::float_mode::Precision::{Other, Single};
use super::choice::{Choice, floating, plain};
use crate::code::Op;
use crate::error::{EmuError, unsupported};

/// Appends the steps of a packed operation.
pub(super) fn steps(d: &mut Decoder<'_, '_>, name: &str, operands: &[Operand]) -> Result<(), EmuError> {
    let choice =
        select(name, d.simd).ok_or_else(|| unsupported("this packed operation is not implemented"))?;
    let inst = d.inst;
    let (results, sources): (Vec<Operand>, Vec<Operand>) =
        operands.iter().partition(|o| o.slot.role != Role::Source);
    let mut imm = choice.imm;
    if let Some((from, to)) = choice.floats {
        imm |= d.mode.constant(from, to);
        imm |= if inst.target().family() == Family::Gfx9 { float::SECOND_NAN } else { 0 };
        imm |= if inst.target().family() == Family::Gfx12 { float::DX10 } else { 0 };
    }
    if inst.get(Field::Clamp) == 1 {
        imm |= float::CLAMP;
    }
    let high = inst.get(Field::OpSelHi) | inst.get(Field::OpSelHi2) << 2;
    let (neg, neg_high) = (inst.get(Field::Neg), inst.get(Field::NegHi));
    imm |= u64::from(inst.get(Field::OpSel)) << LOW | u64::from(high) << HIGH;
    let mixed = name.starts_with("v_fma_mix");
    if name.ends_with("_iu8") || name.ends_with("_iu4") {
        // Signs say which elements are signed.
        imm |= if neg & 1 != 0 { SIGNED_A } else { 0 } | if neg & 2 != 0 { SIGNED_B } else { 0 };
    } else if choice.floats.is_some() {
        imm |= u64::from(neg) << float::NEG;
        // Products of mixed formats have absolute values there.
        imm |= u64::from(neg_high) << if mixed { float::ABS } else { NEG_HIGH };
    } else if neg | neg_high != 0 {
        return Err(unsupported("signs of packed integers are not implemented"));
    }
    let mut args = Args { imm, ..Args::default() };
    let both = results.iter().filter(|o| o.slot.role == Role::Both);
    let mut all = sources.iter().chain(both).chain(fused(name, &results));
    for (n, (width, to)) in choice.sources.iter().zip(&mut args.src).enumerate() {
        let o = all.next().ok_or_else(|| unsupported("it has too few sources"))?;
        // A source in binary32 among halves has constants of binary32.
        let single = mixed && high >> n & 1 == 0 && o.slot.role == Role::Source;
        *to = d.packed_source(o, *width, single.then_some(Type::F32))?;
    }
    let [result] = results.as_slice() else { return Err(unsupported("it needs one result")) };
    let width = *choice.results.first().ok_or_else(|| unsupported("it has no result"))?;
    let target = d.target(result, width)?;
    args.dst[0] = target.plane;
    d.b.emit_main(Op::Alu(choice.run, args));
    d.finish(&[target]);
    Ok(())
}

/// `v_pk_fmac_f16` reads its result, too.
fn fused<'o>(name: &str, results: &'o [Operand]) -> &'o [Operand] {
    if name == "v_pk_fmac_f16" { results } else { &[] }
}

/// The operation of a mnemonic.
pub(super) fn select(name: &str, l: Simd) -> Option<Choice> {
    integers(name, l).or_else(|| floats(name, l)).or_else(|| dots(name, l))
}

fn integers(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "v_pk_mov_b32" => plain::<PairMove>(l),
        "v_pk_add_u16" => plain::<PairInt<AddU16>>(l),
        "v_pk_sub_u16" => plain::<PairInt<SubU16>>(l),
        "v_pk_add_i16" => plain::<PairInt<AddI16>>(l),
        "v_pk_sub_i16" => plain::<PairInt<SubI16>>(l),
        "v_pk_mul_lo_u16" => plain::<PairInt<MulLo>>(l),
        "v_pk_mad_u16" => plain::<PairInt<MadU16>>(l),
        "v_pk_mad_i16" => plain::<PairInt<MadI16>>(l),
        "v_pk_min_u16" => plain::<PairInt<MinU16>>(l),
        "v_pk_max_u16" => plain::<PairInt<MaxU16>>(l),
        "v_pk_min_i16" => plain::<PairInt<MinI16>>(l),
        "v_pk_max_i16" => plain::<PairInt<MaxI16>>(l),
        "v_pk_lshlrev_b16" => plain::<PairInt<LshlRev>>(l),
        "v_pk_lshrrev_b16" => plain::<PairInt<LshrRev>>(l),
        "v_pk_ashrrev_i16" => plain::<PairInt<AshrRev>>(l),
        _ => return None,
    })
}

fn floats(name: &str, l: Simd) -> Option<Choice> {
    macro_rules! half {
        ($op:ty) => {
            floating::<OnPairs<Binary16, $op>>(l, Other, Other)
        };
    }
    Some(match name {
        "v_pk_add_f16" => half!(float::Add),
        "v_pk_mul_f16" => half!(float::Mul),
        "v_pk_fma_f16" | "v_pk_fmac_f16" => half!(float::Fma),
        "v_pk_min_f16" => half!(Min),
        "v_pk_max_f16" => half!(Max),
        "v_pk_min_num_f16" => half!(MinNum),
        "v_pk_max_num_f16" => half!(MaxNum),
        "v_pk_minimum_f16" => half!(Minimum),
        "v_pk_maximum_f16" => half!(Maximum),
        "v_pk_minimum3_f16" => half!(Minimum3),
        "v_pk_maximum3_f16" => half!(Maximum3),
        "v_pk_add_f32" => floating::<OnPairs<f32, float::Add>>(l, Single, Single),
        "v_pk_mul_f32" => floating::<OnPairs<f32, float::Mul>>(l, Single, Single),
        "v_pk_fma_f32" => floating::<OnPairs<f32, float::Fma>>(l, Single, Single),
        "v_fma_mix_f32" => floating::<Mix>(l, Single, Single),
        "v_fma_mixlo_f16" => floating::<MixHalf<false>>(l, Single, Other),
        "v_fma_mixhi_f16" => floating::<MixHalf<true>>(l, Single, Other),
        _ => return None,
    })
}

fn dots(name: &str, l: Simd) -> Option<Choice> {
    let signed = SIGNED | SIGNED_A | SIGNED_B;
    Some(match name {
        "v_dot2_f32_f16" => floating::<Dot2<Binary16>>(l, Other, Single),
        "v_dot2_f32_bf16" => floating::<Dot2<Bf16>>(l, Single, Single),
        "v_dot2_i32_i16" => Choice { imm: signed, ..plain::<DotInt<16>>(l) },
        "v_dot2_u32_u16" => plain::<DotInt<16>>(l),
        "v_dot4_i32_i8" => Choice { imm: signed, ..plain::<DotInt<8>>(l) },
        "v_dot4_u32_u8" => plain::<DotInt<8>>(l),
        "v_dot4_i32_iu8" => Choice { imm: SIGNED, ..plain::<DotInt<8>>(l) },
        "v_dot8_i32_i4" => Choice { imm: signed, ..plain::<DotInt<4>>(l) },
        "v_dot8_u32_u4" => plain::<DotInt<4>>(l),
        "v_dot8_i32_iu4" => Choice { imm: SIGNED, ..plain::<DotInt<4>>(l) },
        "v_dot4_f32_fp8_fp8" => floating::<Dot4<Fp8, Fp8>>(l, Single, Single),
        "v_dot4_f32_fp8_bf8" => floating::<Dot4<Fp8, Bf8>>(l, Single, Single),
        "v_dot4_f32_bf8_fp8" => floating::<Dot4<Bf8, Fp8>>(l, Single, Single),
        "v_dot4_f32_bf8_bf8" => floating::<Dot4<Bf8, Bf8>>(l, Single, Single),
        _ => return None,
    })
}

/// The accumulating forms of VOP2, whose pairs are as they are in the registers.
pub(super) fn accumulating(name: &str, l: Simd) -> Option<Choice> {
    let whole = 7 << HIGH;
    let choice = match name {
        "v_dot2c_f32_f16" | "v_dot2acc_f32_f16" => dots("v_dot2_f32_f16", l),
        "v_dot2c_f32_bf16" | "v_dot2acc_f32_bf16" => dots("v_dot2_f32_bf16", l),
        "v_dot2c_i32_i16" => dots("v_dot2_i32_i16", l),
        "v_dot4c_i32_i8" => dots("v_dot4_i32_i8", l),
        "v_dot8c_i32_i4" => dots("v_dot8_i32_i4", l),
        "v_pk_fmac_f16" => floats(name, l),
        _ => None,
    }?;
    Some(Choice { imm: choice.imm | whole, ..choice })
}
