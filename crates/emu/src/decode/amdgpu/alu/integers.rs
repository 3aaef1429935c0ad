//! Operations on integers and bits, by mnemonic.

use prlx_lanes::amd::int::*;
use prlx_lanes::pack::Mov;
use prlx_lanes::{Simd, bits, int};

use super::choice::{Choice, plain};

/// Whether `clamp` has an operation of its own.
pub fn clamps(name: &str) -> bool {
    saturating(name, Simd::Base).is_some()
}

/// The operation with `clamp`, which keeps results in the range of their type.
fn saturating(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "v_add_u32" | "v_add_nc_u32" => plain::<int::AddSat<u32>>(l),
        "v_sub_u32" | "v_sub_nc_u32" => plain::<int::SubSat<u32>>(l),
        "v_subrev_u32" | "v_subrev_nc_u32" => plain::<SubRevSat>(l),
        "v_add_i32" | "v_add_nc_i32" => plain::<int::AddSat<i32>>(l),
        "v_sub_i32" | "v_sub_nc_i32" => plain::<int::SubSat<i32>>(l),
        "v_add_u16" | "v_add_nc_u16" => plain::<int::AddSat<u16>>(l),
        "v_sub_u16" | "v_sub_nc_u16" => plain::<int::SubSat<u16>>(l),
        "v_add_i16" | "v_add_nc_i16" => plain::<int::AddSat<i16>>(l),
        "v_sub_i16" | "v_sub_nc_i16" => plain::<int::SubSat<i16>>(l),
        "v_mad_u32_u24" => plain::<Mad24SatU>(l),
        "v_mad_i32_i24" => plain::<Mad24SatS>(l),
        "v_mad_u16" => plain::<MadSatU16>(l),
        "v_mad_i16" => plain::<MadSatI16>(l),
        _ => return None,
    })
}

/// The operation of a mnemonic.
pub fn select(name: &str, l: Simd, clamp: bool) -> Option<Choice> {
    if clamp && let Some(choice) = saturating(name, l) {
        return Some(choice);
    }
    words(name, l).or_else(|| halves(name, l)).or_else(|| carries(name, l))
}

/// Operations on 32 and 64 bits.
fn words(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => {
            plain::<Mov<u32>>(l)
        }
        "v_mov_b64" => plain::<Mov<u64>>(l),
        "v_swap_b32" => plain::<Swap>(l),
        "v_cndmask_b32" => plain::<Select>(l),
        "v_add_u32" | "v_add_nc_u32" | "v_add_i32" | "v_add_nc_i32" => plain::<int::Add<u32>>(l),
        "v_sub_u32" | "v_sub_nc_u32" | "v_sub_i32" | "v_sub_nc_i32" => plain::<int::Sub<u32>>(l),
        "v_subrev_u32" | "v_subrev_nc_u32" => plain::<SubRev>(l),
        "v_mul_lo_u32" => plain::<int::Mul<u32>>(l),
        "v_mul_hi_u32" => plain::<int::MulHi<u32>>(l),
        "v_mul_hi_i32" => plain::<int::MulHi<i32>>(l),
        "v_mul_u32_u24" => plain::<int::Mul24LoU>(l),
        "v_mul_i32_i24" => plain::<int::Mul24LoS>(l),
        "v_mul_hi_u32_u24" => plain::<MulHi24U>(l),
        "v_mul_hi_i32_i24" => plain::<MulHi24S>(l),
        "v_mad_u32_u24" => plain::<int::Mad24LoU>(l),
        "v_mad_i32_i24" => plain::<int::Mad24LoS>(l),
        "v_mad_u32_u16" => plain::<int::MadWideU16>(l),
        "v_mad_i32_i16" => plain::<int::MadWideS16>(l),
        "v_and_b32" => plain::<bits::And<u32>>(l),
        "v_or_b32" => plain::<bits::Or<u32>>(l),
        "v_xor_b32" => plain::<bits::Xor<u32>>(l),
        "v_xnor_b32" => plain::<Xnor>(l),
        "v_not_b32" => plain::<bits::Not<u32>>(l),
        "v_lshlrev_b32" => plain::<LshlRev>(l),
        "v_lshrrev_b32" => plain::<LshrRev>(l),
        "v_ashrrev_i32" => plain::<AshrRev>(l),
        "v_lshlrev_b64" => plain::<LshlRev64>(l),
        "v_lshrrev_b64" => plain::<LshrRev64>(l),
        "v_ashrrev_i64" => plain::<AshrRev64>(l),
        "v_add3_u32" => plain::<Add3>(l),
        "v_lshl_add_u32" => plain::<LshlAdd>(l),
        "v_lshl_add_u64" => plain::<LshlAdd64>(l),
        "v_add_lshl_u32" => plain::<AddLshl>(l),
        "v_lshl_or_b32" => plain::<LshlOr>(l),
        "v_and_or_b32" => plain::<AndOr>(l),
        "v_or3_b32" => plain::<Or3>(l),
        "v_xor3_b32" => plain::<Xor3>(l),
        "v_xad_u32" => plain::<Xad>(l),
        "v_bfe_u32" => plain::<BfeU>(l),
        "v_bfe_i32" => plain::<BfeI>(l),
        "v_bfi_b32" => plain::<Bfi>(l),
        "v_bfm_b32" => plain::<Bfm>(l),
        "v_alignbit_b32" => plain::<AlignBit>(l),
        "v_alignbyte_b32" => plain::<AlignByte>(l),
        "v_perm_b32" => plain::<Perm>(l),
        "v_bfrev_b32" => plain::<bits::Brev32>(l),
        "v_bcnt_u32_b32" => plain::<Bcnt>(l),
        "v_ffbh_u32" | "v_clz_i32_u32" => plain::<Ffbh>(l),
        "v_ffbl_b32" | "v_ctz_i32_b32" => plain::<Ffbl>(l),
        "v_ffbh_i32" | "v_cls_i32" => plain::<Cls>(l),
        "v_min_u32" => plain::<int::Min<u32>>(l),
        "v_max_u32" => plain::<int::Max<u32>>(l),
        "v_min_i32" => plain::<int::Min<i32>>(l),
        "v_max_i32" => plain::<int::Max<i32>>(l),
        "v_min3_u32" => plain::<Min3U>(l),
        "v_max3_u32" => plain::<Max3U>(l),
        "v_med3_u32" => plain::<Med3U>(l),
        "v_min3_i32" => plain::<Min3I>(l),
        "v_max3_i32" => plain::<Max3I>(l),
        "v_med3_i32" => plain::<Med3I>(l),
        "v_minmax_u32" => plain::<MinMaxU>(l),
        "v_maxmin_u32" => plain::<MaxMinU>(l),
        "v_minmax_i32" => plain::<MinMaxI>(l),
        "v_maxmin_i32" => plain::<MaxMinI>(l),
        "v_lerp_u8" => plain::<Lerp>(l),
        "v_sad_u8" => plain::<Sad8>(l),
        "v_sad_hi_u8" => plain::<SadHi8>(l),
        "v_msad_u8" => plain::<Msad8>(l),
        "v_sad_u16" => plain::<Sad16>(l),
        "v_sad_u32" => plain::<int::Sad<u32>>(l),
        "v_qsad_pk_u16_u8" => plain::<Qsad>(l),
        "v_mqsad_pk_u16_u8" => plain::<Mqsad>(l),
        "v_bitop3_b32" => plain::<Bitop3>(l),
        "v_prng_b32" => plain::<Prng>(l),
        "v_cvt_pk_i16_i32" => plain::<PackI16>(l),
        "v_cvt_pk_u16_u32" => plain::<PackU16>(l),
        "v_cvt_i32_i16" => plain::<FromI16>(l),
        "v_cvt_u32_u16" => plain::<FromU16>(l),
        "v_pack_b32_f16" => plain::<Pack>(l),
        _ => return None,
    })
}

/// Operations on 16 bits.
fn halves(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "v_mov_b16" => plain::<Mov16>(l),
        "v_cndmask_b16" => plain::<Select16>(l),
        "v_add_u16" | "v_add_nc_u16" | "v_add_i16" | "v_add_nc_i16" => plain::<int::Add<u16>>(l),
        "v_sub_u16" | "v_sub_nc_u16" | "v_sub_i16" | "v_sub_nc_i16" => plain::<int::Sub<u16>>(l),
        "v_subrev_u16" => plain::<SubRev16>(l),
        "v_mul_lo_u16" => plain::<int::Mul<u16>>(l),
        "v_mad_u16" | "v_mad_i16" | "v_mad_legacy_u16" | "v_mad_legacy_i16" => plain::<int::Mad<u16>>(l),
        "v_and_b16" => plain::<bits::And<u16>>(l),
        "v_or_b16" => plain::<bits::Or<u16>>(l),
        "v_xor_b16" => plain::<bits::Xor<u16>>(l),
        "v_not_b16" => plain::<bits::Not<u16>>(l),
        "v_lshlrev_b16" => plain::<LshlRev16>(l),
        "v_lshrrev_b16" => plain::<LshrRev16>(l),
        "v_ashrrev_i16" => plain::<AshrRev16>(l),
        "v_min_u16" => plain::<int::Min<u16>>(l),
        "v_max_u16" => plain::<int::Max<u16>>(l),
        "v_min_i16" => plain::<int::Min<i16>>(l),
        "v_max_i16" => plain::<int::Max<i16>>(l),
        "v_min3_u16" => plain::<Min3U16>(l),
        "v_max3_u16" => plain::<Max3U16>(l),
        "v_med3_u16" => plain::<Med3U16>(l),
        "v_min3_i16" => plain::<Min3I16>(l),
        "v_max3_i16" => plain::<Max3I16>(l),
        "v_med3_i16" => plain::<Med3I16>(l),
        "v_bitop3_b16" => plain::<Bitop316>(l),
        "v_sat_pk_u8_i16" => plain::<SatPk>(l),
        "v_ashr_pk_i8_i32" => plain::<AshrPkI8>(l),
        "v_ashr_pk_u8_i32" => plain::<AshrPkU8>(l),
        _ => return None,
    })
}

/// Operations whose second result is a carry.
fn carries(name: &str, l: Simd) -> Option<Choice> {
    Some(match name {
        "v_add_co_u32" => plain::<AddCo>(l),
        "v_sub_co_u32" => plain::<SubCo>(l),
        "v_subrev_co_u32" => plain::<SubRevCo>(l),
        "v_addc_co_u32" | "v_add_co_ci_u32" => plain::<Addc>(l),
        "v_subb_co_u32" | "v_sub_co_ci_u32" => plain::<Subb>(l),
        "v_subbrev_co_u32" | "v_subrev_co_ci_u32" => plain::<SubbRev>(l),
        "v_mad_u64_u32" | "v_mad_co_u64_u32" => plain::<MadU64>(l),
        "v_mad_i64_i32" | "v_mad_co_i64_i32" => plain::<MadI64>(l),
        _ => return None,
    })
}
