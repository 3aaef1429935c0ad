//! Integer arithmetic, logic, shifts and bit fields of AMD's processors.
//!
//! # Invariants
//! Shift amounts and positions use the low bits that the width needs. A scalar operation's second result is
//! SCC; a vector operation's is its carry.

use super::signature::{amd_ops, signatures};
use crate::{bits, compare, int, pack};

signatures! {
    pack::Mov<u32>: (u32) -> u32;
    pack::Mov<u64>: (u64) -> u64;
    int::Add<u32>: (u32, u32) -> u32;
    int::Sub<u32>: (u32, u32) -> u32;
    int::Mul<u32>: (u32, u32) -> u32;
    int::MulHi<u32>: (u32, u32) -> u32;
    int::MulHi<i32>: (i32, i32) -> i32;
    int::AddSat<u32>: (u32, u32) -> u32;
    int::AddSat<i32>: (i32, i32) -> i32;
    int::SubSat<u32>: (u32, u32) -> u32;
    int::SubSat<i32>: (i32, i32) -> i32;
    int::Min<u32>: (u32, u32) -> u32;
    int::Max<u32>: (u32, u32) -> u32;
    int::Min<i32>: (i32, i32) -> i32;
    int::Max<i32>: (i32, i32) -> i32;
    int::Add<u16>: (u16, u16) -> u16;
    int::Sub<u16>: (u16, u16) -> u16;
    int::Mul<u16>: (u16, u16) -> u16;
    int::Mad<u16>: (u16, u16, u16) -> u16;
    int::AddSat<u16>: (u16, u16) -> u16;
    int::AddSat<i16>: (i16, i16) -> i16;
    int::SubSat<u16>: (u16, u16) -> u16;
    int::SubSat<i16>: (i16, i16) -> i16;
    int::Min<u16>: (u16, u16) -> u16;
    int::Max<u16>: (u16, u16) -> u16;
    int::Min<i16>: (i16, i16) -> i16;
    int::Max<i16>: (i16, i16) -> i16;
    int::Add<u64>: (u64, u64) -> u64;
    int::Sub<u64>: (u64, u64) -> u64;
    int::Mul<u64>: (u64, u64) -> u64;
    int::Sad<u32>: (u32, u32, u32) -> u32;
    int::Mul24LoU: (u32, u32) -> u32;
    int::Mul24LoS: (i32, i32) -> i32;
    int::Mad24LoU: (u32, u32, u32) -> u32;
    int::Mad24LoS: (i32, i32, i32) -> i32;
    int::MadWideU16: (u16, u16, u32) -> u32;
    int::MadWideS16: (i16, i16, i32) -> i32;
    bits::And<u32>: (u32, u32) -> u32;
    bits::Or<u32>: (u32, u32) -> u32;
    bits::Xor<u32>: (u32, u32) -> u32;
    bits::Not<u32>: (u32) -> u32;
    bits::And<u16>: (u16, u16) -> u16;
    bits::Or<u16>: (u16, u16) -> u16;
    bits::Xor<u16>: (u16, u16) -> u16;
    bits::Not<u16>: (u16) -> u16;
    bits::Brev32: (u32) -> u32;
    bits::Brev64: (u64) -> u64;
    compare::Selp<u32>: (u32, u32, bool) -> u32;
    compare::Selp<u64>: (u64, u64, bool) -> u64;
}

amd_ops! {
    /// `v_subrev_u32`
    SubRev(a: u32, b: u32) -> u32 { b.wrapping_sub(a) }
    /// `v_subrev_u32` with `clamp`
    SubRevSat(a: u32, b: u32) -> u32 { b.saturating_sub(a) }
    /// `v_subrev_u16`
    SubRev16(a: u16, b: u16) -> u16 { b.wrapping_sub(a) }
    /// `v_xnor_b32`
    Xnor(a: u32, b: u32) -> u32 { !(a ^ b) }
    /// `v_lshlrev_b32`
    LshlRev(n: u32, a: u32) -> u32 { a << (n & 31) }
    /// `v_lshrrev_b32`
    LshrRev(n: u32, a: u32) -> u32 { a >> (n & 31) }
    /// `v_ashrrev_i32`
    AshrRev(n: u32, a: i32) -> i32 { a >> (n & 31) }
    /// `v_lshlrev_b16`
    LshlRev16(n: u16, a: u16) -> u16 { a << (n & 15) }
    /// `v_lshrrev_b16`
    LshrRev16(n: u16, a: u16) -> u16 { a >> (n & 15) }
    /// `v_ashrrev_i16`
    AshrRev16(n: u16, a: i16) -> i16 { a >> (n & 15) }
    /// `v_lshlrev_b64`
    LshlRev64(n: u32, a: u64) -> u64 { a << (n & 63) }
    /// `v_lshrrev_b64`
    LshrRev64(n: u32, a: u64) -> u64 { a >> (n & 63) }
    /// `v_ashrrev_i64`
    AshrRev64(n: u32, a: i64) -> i64 { a >> (n & 63) }
    /// `v_add3_u32`
    Add3(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }
    /// `v_lshl_add_u32`
    LshlAdd(a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)).wrapping_add(c) }
    /// `v_lshl_add_u64`: the amount has three bits.
    LshlAdd64(a: u64, b: u32, c: u64) -> u64 { (a << (b & 7)).wrapping_add(c) }
    /// `v_add_lshl_u32`
    AddLshl(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b) << (c & 31) }
    /// `v_lshl_or_b32`
    LshlOr(a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)) | c }
    /// `v_and_or_b32`
    AndOr(a: u32, b: u32, c: u32) -> u32 { (a & b) | c }
    /// `v_or3_b32`
    Or3(a: u32, b: u32, c: u32) -> u32 { a | b | c }
    /// `v_xor3_b32`
    Xor3(a: u32, b: u32, c: u32) -> u32 { a ^ b ^ c }
    /// `v_xad_u32`
    Xad(a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) }
    /// `v_bfe_u32`
    BfeU(a: u32, b: u32, c: u32) -> u32 { (a >> (b & 31)) & ((1 << (c & 31)) - 1) }
    /// `v_bfe_i32`
    BfeI(a: i32, b: u32, c: u32) -> i32 {
        let n = c & 31;
        if n == 0 { 0 } else { (a >> (b & 31)) << (32 - n) >> (32 - n) }
    }
    /// `v_bfi_b32`: the second where the first has ones, else the third.
    Bfi(a: u32, b: u32, c: u32) -> u32 { (a & b) | (!a & c) }
    /// `v_bfm_b32`
    Bfm(a: u32, b: u32) -> u32 { ((1 << (a & 31)) - 1) << (b & 31) }
    /// `v_alignbit_b32`
    AlignBit(a: u32, b: u32, c: u32) -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32 }
    /// `v_alignbyte_b32`
    AlignByte(a: u32, b: u32, c: u32) -> u32 {
        ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32 }
    /// `v_perm_b32`: bytes 0 to 7 are those of the second source, then of the first; 8 to 11 repeat a sign,
    /// 12 is 0, and greater ones are `0xff`.
    Perm(a: u32, b: u32, c: u32) -> u32 {
        let bytes = u64::from(a) << 32 | u64::from(b);
        let mut r = 0;
        for i in 0..4 {
            let n = c >> (8 * i) & 0xff;
            let sign = 0u32.wrapping_sub((bytes >> (16 * (n & 3) + 15)) as u32 & 1) & 0xff;
            let constant = if n == 12 { 0 } else { 0xff };
            let other = if n < 12 { sign } else { constant };
            r |= (if n < 8 { (bytes >> (8 * (n & 7))) as u32 & 0xff } else { other }) << (8 * i);
        }
        r
    }
    /// `v_bcnt_u32_b32`
    Bcnt(a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) }
    /// `v_ffbh_u32`, `v_clz_i32_u32`, `s_flbit_i32_b32`: -1 if there is no bit.
    Ffbh(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    /// `s_flbit_i32_b64`, `s_clz_i32_u64`
    Ffbh64(a: u64) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    /// `v_ffbl_b32`, `v_ctz_i32_b32`, `s_ff1_i32_b32`: -1 if there is no bit.
    Ffbl(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    /// `s_ff1_i32_b64`
    Ffbl64(a: u64) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    /// `s_ff0_i32_b32`
    Ff0(a: u32) -> u32 { if a == u32::MAX { u32::MAX } else { a.trailing_ones() } }
    /// `s_ff0_i32_b64`
    Ff064(a: u64) -> u32 { if a == u64::MAX { u32::MAX } else { a.trailing_ones() } }
    /// `v_ffbh_i32`, `v_cls_i32`, `s_flbit_i32`: how many bits at the top are as the sign; -1 if all are.
    Cls(a: i32) -> u32 { let n = (a ^ a >> 31).leading_zeros(); if n == 32 { u32::MAX } else { n } }
    /// `s_flbit_i32_i64`
    Cls64(a: i64) -> u32 { let n = (a ^ a >> 63).leading_zeros(); if n == 64 { u32::MAX } else { n } }
    /// `v_mul_hi_u32_u24`
    MulHi24U(a: u32, b: u32) -> u32 { ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32 }
    /// `v_mul_hi_i32_i24`
    MulHi24S(a: i32, b: i32) -> i32 { ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 32) as i32 }
    /// `v_mad_u32_u24` with `clamp`
    Mad24SatU(a: u32, b: u32, c: u32) -> u32 {
        let v = u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) + u64::from(c);
        v.min(u64::from(u32::MAX)) as u32
    }
    /// `v_mad_i32_i24` with `clamp`
    Mad24SatS(a: i32, b: i32, c: i32) -> i32 {
        let v = i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8) + i64::from(c);
        v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
    /// `v_mad_u16` with `clamp`
    MadSatU16(a: u16, b: u16, c: u16) -> u16 {
        (u64::from(a) * u64::from(b) + u64::from(c)).min(0xffff) as u16 }
    /// `v_mad_i16` with `clamp`
    MadSatI16(a: i16, b: i16, c: i16) -> i16 {
        (i64::from(a) * i64::from(b) + i64::from(c)).clamp(-0x8000, 0x7fff) as i16 }
    /// `v_add_co_u32`
    AddCo(a: u32, b: u32) -> (u32, bool) { a.overflowing_add(b) }
    /// `v_sub_co_u32`
    SubCo(a: u32, b: u32) -> (u32, bool) { a.overflowing_sub(b) }
    /// `v_subrev_co_u32`
    SubRevCo(a: u32, b: u32) -> (u32, bool) { b.overflowing_sub(a) }
    /// `v_addc_co_u32`, `s_addc_u32`
    Addc(a: u32, b: u32, c: bool) -> (u32, bool) {
        let v = u64::from(a) + u64::from(b) + u64::from(c); (v as u32, v >> 32 != 0) }
    /// `v_subb_co_u32`, `s_subb_u32`
    Subb(a: u32, b: u32, c: bool) -> (u32, bool) { subb(a, b, c) }
    /// `v_subbrev_co_u32`
    SubbRev(a: u32, b: u32, c: bool) -> (u32, bool) { subb(b, a, c) }
    /// `v_mad_u64_u32`
    MadU64(a: u32, b: u32, c: u64) -> (u64, bool) { (u64::from(a) * u64::from(b)).overflowing_add(c) }
    /// `v_mad_i64_i32`: the carry is that of the signed sum.
    MadI64(a: i32, b: i32, c: i64) -> (i64, bool) { (i64::from(a) * i64::from(b)).overflowing_add(c) }
    /// `v_min3_u32`
    Min3U(a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) }
    /// `v_max3_u32`
    Max3U(a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) }
    /// `v_med3_u32`
    Med3U(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) }
    /// `v_min3_i32`
    Min3I(a: i32, b: i32, c: i32) -> i32 { a.min(b).min(c) }
    /// `v_max3_i32`
    Max3I(a: i32, b: i32, c: i32) -> i32 { a.max(b).max(c) }
    /// `v_med3_i32`
    Med3I(a: i32, b: i32, c: i32) -> i32 { a.min(b).max(a.max(b).min(c)) }
    /// `v_min3_u16`
    Min3U16(a: u16, b: u16, c: u16) -> u16 { a.min(b).min(c) }
    /// `v_max3_u16`
    Max3U16(a: u16, b: u16, c: u16) -> u16 { a.max(b).max(c) }
    /// `v_med3_u16`
    Med3U16(a: u16, b: u16, c: u16) -> u16 { a.min(b).max(a.max(b).min(c)) }
    /// `v_min3_i16`
    Min3I16(a: i16, b: i16, c: i16) -> i16 { a.min(b).min(c) }
    /// `v_max3_i16`
    Max3I16(a: i16, b: i16, c: i16) -> i16 { a.max(b).max(c) }
    /// `v_med3_i16`
    Med3I16(a: i16, b: i16, c: i16) -> i16 { a.min(b).max(a.max(b).min(c)) }
    /// `v_minmax_u32`
    MinMaxU(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(c) }
    /// `v_maxmin_u32`
    MaxMinU(a: u32, b: u32, c: u32) -> u32 { a.max(b).min(c) }
    /// `v_minmax_i32`
    MinMaxI(a: i32, b: i32, c: i32) -> i32 { a.min(b).max(c) }
    /// `v_maxmin_i32`
    MaxMinI(a: i32, b: i32, c: i32) -> i32 { a.max(b).min(c) }
    /// `v_lerp_u8`
    Lerp(a: u32, b: u32, c: u32) -> u32 {
        let mut r = 0;
        for i in [0, 8, 16, 24] { r |= (((a >> i & 0xff) + (b >> i & 0xff) + (c >> i & 1)) >> 1) << i; }
        r
    }
    /// `v_sad_u8`
    Sad8(a: u32, b: u32, c: u32) -> u32 { sad8(a, b).wrapping_add(c) }
    /// `v_sad_hi_u8`
    SadHi8(a: u32, b: u32, c: u32) -> u32 { (sad8(a, b) << 16).wrapping_add(c) }
    /// `v_msad_u8`
    Msad8(a: u32, b: u32, c: u32) -> u32 { msad8(a, b).wrapping_add(c) }
    /// `v_sad_u16`
    Sad16(a: u32, b: u32, c: u32) -> u32 {
        c.wrapping_add((a & 0xffff).abs_diff(b & 0xffff)).wrapping_add((a >> 16).abs_diff(b >> 16)) }
    /// `v_qsad_pk_u16_u8`
    Qsad(a: u64, b: u32, c: u64) -> u64 { quad(c, |i| sad8((a >> (8 * i)) as u32, b)) }
    /// `v_mqsad_pk_u16_u8`
    Mqsad(a: u64, b: u32, c: u64) -> u64 { quad(c, |i| msad8((a >> (8 * i)) as u32, b)) }
    /// `v_sat_pk_u8_i16`
    SatPk(a: u32) -> u16 {
        let one = |v: u32| (v as i16).clamp(0, 255) as u16; one(a) | one(a >> 16) << 8 }
    /// `v_ashr_pk_i8_i32`
    AshrPkI8(a: i32, b: i32, c: u32) -> u16 {
        let one = |v: i32| (v >> (c & 31)).clamp(-128, 127) as u8 as u16; one(a) | one(b) << 8 }
    /// `v_ashr_pk_u8_i32`
    AshrPkU8(a: i32, b: i32, c: u32) -> u16 {
        let one = |v: i32| (v >> (c & 31)).clamp(0, 255) as u16; one(a) | one(b) << 8 }
    /// `v_bitop3_b32`: bit `4a + 2b + c` of the constant is the result's bit.
    Bitop3[table](a: u32, b: u32, c: u32) -> u32 { bitop3(table, a, b, c) }
    /// `v_bitop3_b16`
    Bitop316[table](a: u16, b: u16, c: u16) -> u16 {
        bitop3(table, u32::from(a), u32::from(b), u32::from(c)) as u16 }
    /// `v_prng_b32`: one step of a linear feedback shift register.
    Prng(a: u32) -> u32 { (a << 1) ^ if a >> 31 == 1 { 197 } else { 0 } }
    /// `v_pack_b32_f16`, and `s_pack_ll_b32_b16`
    Pack(a: u16, b: u16) -> u32 { u32::from(a) | u32::from(b) << 16 }
    /// `v_cvt_i32_i16`
    FromI16(a: i16) -> i32 { i32::from(a) }
    /// `v_cvt_u32_u16`
    FromU16(a: u16) -> u32 { u32::from(a) }
    /// `v_cvt_pk_i16_i32`
    PackI16(a: i32, b: i32) -> u32 {
        let one = |v: i32| v.clamp(-0x8000, 0x7fff) as u32 & 0xffff; one(a) | one(b) << 16 }
    /// `v_cvt_pk_u16_u32`
    PackU16(a: u32, b: u32) -> u32 { a.min(0xffff) | b.min(0xffff) << 16 }
    /// `v_cndmask_b16`
    Select16(a: u16, b: u16, c: bool) -> u16 { if c { b } else { a } }
    /// `v_cndmask_b32`
    Select(a: u32, b: u32, c: bool) -> u32 { if c { b } else { a } }
    /// `v_mov_b16`
    Mov16(a: u16) -> u16 { a }
    /// `v_swap_b32`
    Swap(a: u32, b: u32) -> (u32, u32) { (b, a) }
}

#[inline(always)]
fn subb(a: u32, b: u32, c: bool) -> (u32, bool) {
    let take = u64::from(b) + u64::from(c);
    (a.wrapping_sub(take as u32), take > u64::from(a))
}

#[inline(always)]
fn sad8(a: u32, b: u32) -> u32 {
    [0, 8, 16, 24].iter().map(|i| (a >> i & 0xff).abs_diff(b >> i & 0xff)).sum()
}

/// Without the bytes where `b` is 0.
#[inline(always)]
fn msad8(a: u32, b: u32) -> u32 {
    let one = |i: u32| if b >> i & 0xff == 0 { 0 } else { (a >> i & 0xff).abs_diff(b >> i & 0xff) };
    one(0) + one(8) + one(16) + one(24)
}

/// Four sums of 16 bits.
#[inline(always)]
fn quad(c: u64, sum: impl Fn(u32) -> u32) -> u64 {
    let one = |i: u32| u64::from((sum(i) as u16).wrapping_add((c >> (16 * i)) as u16)) << (16 * i);
    one(0) | one(1) | one(2) | one(3)
}

#[inline(always)]
fn bitop3(table: u64, a: u32, b: u32, c: u32) -> u32 {
    let mut r = 0;
    for i in 0..8 {
        let on = 0u32.wrapping_sub((table >> i) as u32 & 1);
        let term = |v: u32, one: bool| if one { v } else { !v };
        r |= on & term(a, i & 4 != 0) & term(b, i & 2 != 0) & term(c, i & 1 != 0);
    }
    r
}

/// Operations of the scalar unit. The second result is SCC.
pub mod scalar {
    use super::{amd_ops, subb};

    amd_ops! {
        /// `s_add_u32`
        Add(a: u32, b: u32) -> (u32, bool) { a.overflowing_add(b) }
        /// `s_sub_u32`
        Sub(a: u32, b: u32) -> (u32, bool) { subb(a, b, false) }
        /// `s_add_i32`: SCC is signed overflow.
        AddI(a: i32, b: i32) -> (i32, bool) { a.overflowing_add(b) }
        /// `s_sub_i32`: SCC is signed overflow.
        SubI(a: i32, b: i32) -> (i32, bool) { a.overflowing_sub(b) }
        /// `s_min_i32`
        MinI(a: i32, b: i32) -> (i32, bool) { (a.min(b), a < b) }
        /// `s_min_u32`
        MinU(a: u32, b: u32) -> (u32, bool) { (a.min(b), a < b) }
        /// `s_max_i32`
        MaxI(a: i32, b: i32) -> (i32, bool) { (a.max(b), a >= b) }
        /// `s_max_u32`
        MaxU(a: u32, b: u32) -> (u32, bool) { (a.max(b), a >= b) }
        /// `s_and_b32`
        And(a: u32, b: u32) -> (u32, bool) { (a & b, a & b != 0) }
        /// `s_and_b64`
        And64(a: u64, b: u64) -> (u64, bool) { (a & b, a & b != 0) }
        /// `s_or_b32`
        Or(a: u32, b: u32) -> (u32, bool) { (a | b, a | b != 0) }
        /// `s_or_b64`
        Or64(a: u64, b: u64) -> (u64, bool) { (a | b, a | b != 0) }
        /// `s_xor_b32`
        Xor(a: u32, b: u32) -> (u32, bool) { (a ^ b, a ^ b != 0) }
        /// `s_xor_b64`
        Xor64(a: u64, b: u64) -> (u64, bool) { (a ^ b, a ^ b != 0) }
        /// `s_andn2_b32`, `s_and_not1_b32`
        AndNot(a: u32, b: u32) -> (u32, bool) { (a & !b, a & !b != 0) }
        /// `s_andn2_b64`
        AndNot64(a: u64, b: u64) -> (u64, bool) { (a & !b, a & !b != 0) }
        /// `s_orn2_b32`, `s_or_not1_b32`
        OrNot(a: u32, b: u32) -> (u32, bool) { (a | !b, a | !b != 0) }
        /// `s_orn2_b64`
        OrNot64(a: u64, b: u64) -> (u64, bool) { (a | !b, a | !b != 0) }
        /// `s_nand_b32`
        Nand(a: u32, b: u32) -> (u32, bool) { (!(a & b), !(a & b) != 0) }
        /// `s_nand_b64`
        Nand64(a: u64, b: u64) -> (u64, bool) { (!(a & b), !(a & b) != 0) }
        /// `s_nor_b32`
        Nor(a: u32, b: u32) -> (u32, bool) { (!(a | b), !(a | b) != 0) }
        /// `s_nor_b64`
        Nor64(a: u64, b: u64) -> (u64, bool) { (!(a | b), !(a | b) != 0) }
        /// `s_xnor_b32`
        Xnor(a: u32, b: u32) -> (u32, bool) { (!(a ^ b), !(a ^ b) != 0) }
        /// `s_xnor_b64`
        Xnor64(a: u64, b: u64) -> (u64, bool) { (!(a ^ b), !(a ^ b) != 0) }
        /// `s_not_b32`
        Not(a: u32) -> (u32, bool) { (!a, !a != 0) }
        /// `s_not_b64`
        Not64(a: u64) -> (u64, bool) { (!a, !a != 0) }
        /// `s_lshl_b32`
        Lshl(a: u32, b: u32) -> (u32, bool) { let r = a << (b & 31); (r, r != 0) }
        /// `s_lshl_b64`
        Lshl64(a: u64, b: u32) -> (u64, bool) { let r = a << (b & 63); (r, r != 0) }
        /// `s_lshr_b32`
        Lshr(a: u32, b: u32) -> (u32, bool) { let r = a >> (b & 31); (r, r != 0) }
        /// `s_lshr_b64`
        Lshr64(a: u64, b: u32) -> (u64, bool) { let r = a >> (b & 63); (r, r != 0) }
        /// `s_ashr_i32`
        Ashr(a: i32, b: u32) -> (i32, bool) { let r = a >> (b & 31); (r, r != 0) }
        /// `s_ashr_i64`
        Ashr64(a: i64, b: u32) -> (i64, bool) { let r = a >> (b & 63); (r, r != 0) }
        /// `s_bfm_b64`
        Bfm64(a: u32, b: u32) -> u64 { ((1u64 << (a & 63)) - 1) << (b & 63) }
        /// `s_bfe_u32`: bits 4:0 of the second source are the position, bits 22:16 the length.
        BfeU(a: u32, b: u32) -> (u32, bool) {
            let (v, n) = (a >> (b & 31), b >> 16 & 127);
            let r = if n >= 32 { v } else { v & ((1 << n) - 1) };
            (r, r != 0)
        }
        /// `s_bfe_i32`
        BfeI(a: i32, b: u32) -> (i32, bool) {
            let (v, n) = (a >> (b & 31), b >> 16 & 127);
            let r = if n >= 32 { v } else if n == 0 { 0 } else { v << (32 - n) >> (32 - n) };
            (r, r != 0)
        }
        /// `s_bfe_u64`
        BfeU64(a: u64, b: u32) -> (u64, bool) {
            let (v, n) = (a >> (b & 63), b >> 16 & 127);
            let r = if n >= 64 { v } else { v & ((1 << n) - 1) };
            (r, r != 0)
        }
        /// `s_bfe_i64`
        BfeI64(a: i64, b: u32) -> (i64, bool) {
            let (v, n) = (a >> (b & 63), b >> 16 & 127);
            let r = if n >= 64 { v } else if n == 0 { 0 } else { v << (64 - n) >> (64 - n) };
            (r, r != 0)
        }
        /// `s_lshl1_add_u32`
        Lshl1Add(a: u32, b: u32) -> (u32, bool) { lshl_add(a, b, 1) }
        /// `s_lshl2_add_u32`
        Lshl2Add(a: u32, b: u32) -> (u32, bool) { lshl_add(a, b, 2) }
        /// `s_lshl3_add_u32`
        Lshl3Add(a: u32, b: u32) -> (u32, bool) { lshl_add(a, b, 3) }
        /// `s_lshl4_add_u32`
        Lshl4Add(a: u32, b: u32) -> (u32, bool) { lshl_add(a, b, 4) }
        /// `s_absdiff_i32`
        AbsDiff(a: i32, b: i32) -> (i32, bool) { let r = a.wrapping_sub(b).wrapping_abs(); (r, r != 0) }
        /// `s_abs_i32`
        Abs(a: i32) -> (i32, bool) { let r = a.wrapping_abs(); (r, r != 0) }
        /// `s_bcnt1_i32_b32`
        Bcnt1(a: u32) -> (u32, bool) { (a.count_ones(), a != 0) }
        /// `s_bcnt1_i32_b64`
        Bcnt164(a: u64) -> (u32, bool) { (a.count_ones(), a != 0) }
        /// `s_bcnt0_i32_b32`
        Bcnt0(a: u32) -> (u32, bool) { (a.count_zeros(), a != u32::MAX) }
        /// `s_bcnt0_i32_b64`
        Bcnt064(a: u64) -> (u32, bool) { (a.count_zeros(), a != u64::MAX) }
        /// `s_sext_i32_i8`
        Sext8(a: i8) -> i32 { i32::from(a) }
        /// `s_bitset0_b32`: the second source is what the result had.
        Bitset0(a: u32, d: u32) -> u32 { d & !(1 << (a & 31)) }
        /// `s_bitset1_b32`
        Bitset1(a: u32, d: u32) -> u32 { d | 1 << (a & 31) }
        /// `s_bitset0_b64`
        Bitset064(a: u32, d: u64) -> u64 { d & !(1 << (a & 63)) }
        /// `s_bitset1_b64`
        Bitset164(a: u32, d: u64) -> u64 { d | 1 << (a & 63) }
        /// `s_bitcmp0_b32`
        Bitcmp0(a: u32, b: u32) -> bool { a >> (b & 31) & 1 == 0 }
        /// `s_bitcmp1_b32`
        Bitcmp1(a: u32, b: u32) -> bool { a >> (b & 31) & 1 == 1 }
        /// `s_bitcmp0_b64`
        Bitcmp064(a: u64, b: u32) -> bool { a >> (b & 63) & 1 == 0 }
        /// `s_bitcmp1_b64`
        Bitcmp164(a: u64, b: u32) -> bool { a >> (b & 63) & 1 == 1 }
        /// `s_bitreplicate_b64_b32`: each bit twice.
        BitReplicate(a: u32) -> u64 {
            let mut v = u64::from(a);
            for (by, keep) in [(16, 0x0000_ffff_0000_ffffu64), (8, 0x00ff_00ff_00ff_00ff),
                (4, 0x0f0f_0f0f_0f0f_0f0f), (2, 0x3333_3333_3333_3333), (1, 0x5555_5555_5555_5555)] {
                v = (v | v << by) & keep;
            }
            v | v << 1
        }
        /// `s_quadmask_b32`: whether each group of four bits has one.
        QuadMask(a: u32) -> (u32, bool) { let r = quadmask(u64::from(a)) as u32; (r, r != 0) }
        /// `s_quadmask_b64`
        QuadMask64(a: u64) -> (u64, bool) { let r = quadmask(a); (r, r != 0) }
        /// `s_wqm_b32`: all of a group of four bits that has one.
        Wqm(a: u32) -> (u32, bool) { let r = wqm(u64::from(a)) as u32; (r, r != 0) }
        /// `s_wqm_b64`
        Wqm64(a: u64) -> (u64, bool) { let r = wqm(a); (r, r != 0) }
        /// `s_pack_lh_b32_b16`
        PackLh(a: u32, b: u32) -> u32 { a & 0xffff | b & 0xffff_0000 }
        /// `s_pack_hh_b32_b16`
        PackHh(a: u32, b: u32) -> u32 { a >> 16 | b & 0xffff_0000 }
        /// `s_pack_hl_b32_b16`
        PackHl(a: u32, b: u32) -> u32 { a >> 16 | b << 16 }
        /// `s_cmov_b32`: the last source is what the result had.
        Cmov(a: u32, c: bool, d: u32) -> u32 { if c { a } else { d } }
        /// `s_cmov_b64`
        Cmov64(a: u64, c: bool, d: u64) -> u64 { if c { a } else { d } }
    }

    #[inline(always)]
    fn lshl_add(a: u32, b: u32, n: u32) -> (u32, bool) {
        let v = (u64::from(a) << n) + u64::from(b);
        (v as u32, v >> 32 != 0)
    }

    /// Bit 0 of each group of four that has a bit.
    #[inline(always)]
    fn groups(a: u64) -> u64 {
        (a | a >> 1 | a >> 2 | a >> 3) & 0x1111_1111_1111_1111
    }

    #[inline(always)]
    fn wqm(a: u64) -> u64 {
        groups(a) * 15
    }

    #[inline(always)]
    fn quadmask(a: u64) -> u64 {
        let mut v = groups(a);
        for (by, keep) in [
            (3, 0x0303_0303_0303_0303u64),
            (6, 0x000f_000f_000f_000f),
            (12, 0x0000_00ff_0000_00ff),
            (24, 0xffff),
        ] {
            v = (v | v >> by) & keep;
        }
        v
    }
}
