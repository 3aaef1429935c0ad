//! AMD's register operations against a reference that knows only their text: operands and modifiers are
//! read from what `Inst::print` writes, which is compared with LLVM elsewhere, and results are computed
//! one lane at a time, as AMD's guides describe them, with `rustc_apfloat` for floating-point values.

#![allow(clippy::precedence, clippy::too_many_lines, reason = "a table of one-line formulas")]

use std::collections::{BTreeMap, BTreeSet};

use prlx_emu::testing::{EmuError, FloatMode, WaveState, run_alone};
use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Reg};
use prlx_isa::amdgpu::{Family, Target};
use prlx_lanes::Simd;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::amd::Random;
use super::amd_coverage::{each, state};

/// The type of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
enum T {
    B16,
    B32,
    B64,
    F16,
    F32,
    F64,
    /// A mask of lanes.
    M,
}
use T::{B16, B32, B64, F16, F32, F64, M};

/// Results of sources in a mode.
type Function = dyn Fn(&[u64], FloatMode) -> Vec<u64>;

/// What an operation does to one lane: types of results and sources, and the function. With `accumulates`,
/// the old result comes after the sources.
struct Spec {
    dst: Vec<T>,
    src: Vec<T>,
    accumulates: bool,
    f: Box<Function>,
}

fn spec(dst: &[T], src: &[T], f: impl Fn(&[u64]) -> u64 + 'static) -> Option<Spec> {
    let f = move |v: &[u64], _: FloatMode| vec![f(v)];
    Some(Spec { dst: dst.into(), src: src.into(), accumulates: false, f: Box::new(f) })
}

fn two(dst: &[T], src: &[T], f: impl Fn(&[u64]) -> (u64, u64) + 'static) -> Option<Spec> {
    let f = move |v: &[u64], _: FloatMode| {
        let (a, b) = f(v);
        vec![a, b]
    };
    Some(Spec { dst: dst.into(), src: src.into(), accumulates: false, f: Box::new(f) })
}

fn round(mode: FloatMode, ty: T) -> Round {
    match if ty == F32 { mode.round32 } else { mode.round16_64 } {
        0 => Round::NearestTiesToEven,
        1 => Round::TowardPositive,
        2 => Round::TowardNegative,
        _ => Round::TowardZero,
    }
}

fn denorm(mode: FloatMode, ty: T) -> u8 {
    if ty == F32 { mode.denorm32 } else { mode.denorm16_64 }
}

/// Bits of the exponent and of the fraction.
fn layout(ty: T) -> (u32, u32) {
    match ty {
        F16 => (5, 10),
        F32 => (8, 23),
        _ => (11, 52),
    }
}

fn sign(ty: T) -> u64 {
    let (e, f) = layout(ty);
    1 << (e + f)
}

fn is_denormal(v: u64, ty: T) -> bool {
    let (e, f) = layout(ty);
    v >> f & ((1 << e) - 1) == 0
}

fn is_nan(v: u64, ty: T) -> bool {
    let (e, f) = layout(ty);
    v & (sign(ty) - 1) > ((1 << e) - 1) << f
}

fn is_quiet(v: u64, ty: T) -> bool {
    v >> (layout(ty).1 - 1) & 1 == 1
}

fn quiet(v: u64, ty: T) -> u64 {
    v | 1 << (layout(ty).1 - 1)
}

fn flushed(v: u64, ty: T) -> u64 {
    if is_denormal(v, ty) { v & sign(ty) } else { v }
}

/// A function of a format, run by `rustc_apfloat`.
macro_rules! with_format {
    ($ty:expr, $f:ident => $body:expr) => {
        match $ty {
            F16 => {
                type $f = Half;
                $body
            }
            F32 => {
                type $f = Single;
                $body
            }
            _ => {
                type $f = Double;
                $body
            }
        }
    };
}

fn bits<F: Float>(v: F) -> u64 {
    v.to_bits() as u64
}

fn of<F: Float>(v: u64) -> F {
    F::from_bits(u128::from(v))
}

/// An arithmetic operation on a format. It flushes denormals as the mode says.
fn float(ty: T, count: usize, f: impl Fn(&[u64], Round) -> u64 + 'static, results: bool) -> Option<Spec> {
    let f = move |v: &[u64], mode: FloatMode| {
        let keeps = denorm(mode, ty);
        let v: Vec<u64> = v.iter().map(|v| if keeps & 1 == 0 { flushed(*v, ty) } else { *v }).collect();
        let r = f(&v, round(mode, ty));
        vec![if keeps & 2 == 0 && results { flushed(r, ty) } else { r }]
    };
    Some(Spec { dst: vec![ty], src: vec![ty; count], accumulates: false, f: Box::new(f) })
}

fn accumulates(spec: Option<Spec>) -> Option<Spec> {
    spec.map(|s| Spec { src: s.src[..s.src.len() - 1].into(), accumulates: true, ..s })
}

/// Whether the first number is less; -0 is less than +0.
fn less(a: u64, b: u64, ty: T) -> bool {
    let key = |v: u64| {
        let magnitude = (v & (sign(ty) - 1)) as i128;
        if v & sign(ty) != 0 { -magnitude - 1 } else { magnitude }
    };
    key(a) < key(b)
}

/// `v_min_f32` in IEEE mode (RDNA 3 ISA guide), or `v_max_f32`.
fn extreme(a: u64, b: u64, ty: T, max: bool) -> u64 {
    let signaling = |v| is_nan(v, ty) && !is_quiet(v, ty);
    if signaling(a) {
        quiet(a, ty)
    } else if signaling(b) {
        quiet(b, ty)
    } else if is_nan(b, ty) {
        a
    } else if is_nan(a, ty) || less(b, a, ty) != max {
        b
    } else {
        a
    }
}

fn s32(v: u64) -> i64 {
    i64::from(v as u32 as i32)
}

fn s16(v: u64) -> i64 {
    i64::from(v as u16 as i16)
}

fn u24(v: u64) -> u64 {
    v & 0xff_ffff
}

fn s24(v: u64) -> i64 {
    i64::from((v as u32 as i32) << 8 >> 8)
}

/// The reference of a mnemonic; `None` if it has none.
fn reference(name: &str) -> Option<Spec> {
    integers(name)
        .or_else(|| scalars(name))
        .or_else(|| floats(name))
        .or_else(|| conversions(name))
        .or_else(|| comparisons(name))
}

fn integers(name: &str) -> Option<Spec> {
    let (w1, w2, w3) = ([B32], [B32; 2], [B32; 3]);
    let h2 = [B16; 2];
    let h3 = [B16; 3];
    match name {
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => {
            spec(&w1, &w1, |v| v[0])
        }
        "v_mov_b64" => spec(&[B64], &[B64], |v| v[0]),
        "v_add_u32" | "v_add_nc_u32" | "v_add_i32" | "v_add_nc_i32" => spec(&w1, &w2, |v| v[0] + v[1]),
        "v_sub_u32" | "v_sub_nc_u32" | "v_sub_i32" | "v_sub_nc_i32" => {
            spec(&w1, &w2, |v| v[0].wrapping_sub(v[1]))
        }
        "v_subrev_u32" | "v_subrev_nc_u32" => spec(&w1, &w2, |v| v[1].wrapping_sub(v[0])),
        "v_mul_lo_u32" => spec(&w1, &w2, |v| v[0] * v[1]),
        "v_mul_hi_u32" => spec(&w1, &w2, |v| v[0] * v[1] >> 32),
        "v_mul_hi_i32" => spec(&w1, &w2, |v| (s32(v[0]) * s32(v[1]) >> 32) as u64),
        "v_mul_u32_u24" => spec(&w1, &w2, |v| u24(v[0]) * u24(v[1])),
        "v_mul_i32_i24" => spec(&w1, &w2, |v| (s24(v[0]) * s24(v[1])) as u64),
        "v_mul_hi_u32_u24" => spec(&w1, &w2, |v| u24(v[0]) * u24(v[1]) >> 32),
        "v_mul_hi_i32_i24" => spec(&w1, &w2, |v| (s24(v[0]) * s24(v[1]) >> 32) as u64),
        "v_mad_u32_u24" => spec(&w1, &w3, |v| u24(v[0]) * u24(v[1]) + v[2]),
        "v_mad_i32_i24" => spec(&w1, &w3, |v| (s24(v[0]) * s24(v[1])).wrapping_add(s32(v[2])) as u64),
        "v_mad_u32_u16" => spec(&w1, &[B16, B16, B32], |v| v[0] * v[1] + v[2]),
        "v_mad_i32_i16" => spec(&w1, &[B16, B16, B32], |v| (s16(v[0]) * s16(v[1]) + s32(v[2])) as u64),
        "v_and_b32" => spec(&w1, &w2, |v| v[0] & v[1]),
        "v_or_b32" => spec(&w1, &w2, |v| v[0] | v[1]),
        "v_xor_b32" => spec(&w1, &w2, |v| v[0] ^ v[1]),
        "v_xnor_b32" => spec(&w1, &w2, |v| !(v[0] ^ v[1])),
        "v_not_b32" => spec(&w1, &w1, |v| !v[0]),
        "v_lshlrev_b32" => spec(&w1, &w2, |v| v[1] << (v[0] % 32)),
        "v_lshrrev_b32" => spec(&w1, &w2, |v| v[1] >> (v[0] % 32)),
        "v_ashrrev_i32" => spec(&w1, &w2, |v| (s32(v[1]) >> (v[0] % 32)) as u64),
        "v_lshlrev_b64" => spec(&[B64], &[B32, B64], |v| v[1] << (v[0] % 64)),
        "v_lshrrev_b64" => spec(&[B64], &[B32, B64], |v| v[1] >> (v[0] % 64)),
        "v_ashrrev_i64" => spec(&[B64], &[B32, B64], |v| (v[1] as i64 >> (v[0] % 64)) as u64),
        "v_add3_u32" => spec(&w1, &w3, |v| v[0] + v[1] + v[2]),
        "v_lshl_add_u32" => spec(&w1, &w3, |v| (v[0] << (v[1] % 32)) + v[2]),
        "v_lshl_add_u64" => spec(&[B64], &[B64, B32, B64], |v| (v[0] << (v[1] % 8)).wrapping_add(v[2])),
        "v_add_lshl_u32" => spec(&w1, &w3, |v| (v[0] + v[1] & 0xffff_ffff) << (v[2] % 32)),
        "v_lshl_or_b32" => spec(&w1, &w3, |v| v[0] << (v[1] % 32) | v[2]),
        "v_and_or_b32" => spec(&w1, &w3, |v| v[0] & v[1] | v[2]),
        "v_or3_b32" => spec(&w1, &w3, |v| v[0] | v[1] | v[2]),
        "v_xor3_b32" => spec(&w1, &w3, |v| v[0] ^ v[1] ^ v[2]),
        "v_xad_u32" => spec(&w1, &w3, |v| (v[0] ^ v[1]) + v[2]),
        "v_bfe_u32" => spec(&w1, &w3, |v| v[0] >> (v[1] % 32) & ((1 << (v[2] % 32)) - 1)),
        "v_bfe_i32" => spec(&w1, &w3, |v| {
            let n = v[2] % 32;
            let field = (s32(v[0]) >> (v[1] % 32)) as u64 & ((1 << n) - 1);
            if n > 0 && field >> (n - 1) == 1 { field | u64::MAX << n } else { field }
        }),
        "v_bfi_b32" => spec(&w1, &w3, |v| v[0] & v[1] | !v[0] & v[2]),
        "v_bfm_b32" => spec(&w1, &w2, |v| ((1 << (v[0] % 32)) - 1) << (v[1] % 32)),
        "v_alignbit_b32" => spec(&w1, &w3, |v| (v[0] << 32 | v[1]) >> (v[2] % 32)),
        "v_alignbyte_b32" => spec(&w1, &w3, |v| (v[0] << 32 | v[1]) >> (8 * (v[2] % 4))),
        "v_perm_b32" => spec(&w1, &w3, |v| {
            let all = (v[0] << 32 | v[1]).to_le_bytes();
            (0..4).fold(0, |r, i| {
                let byte = match (v[2] >> (8 * i) & 0xff) as usize {
                    n @ 0..=7 => all[n],
                    n @ 8..=11 => 0u8.wrapping_sub(all[2 * (n - 8) + 1] >> 7),
                    12 => 0,
                    _ => 0xff,
                };
                r | u64::from(byte) << (8 * i)
            })
        }),
        "v_bfrev_b32" => spec(&w1, &w1, |v| (0..32).fold(0, |r, i| r | (v[0] >> i & 1) << (31 - i))),
        "v_bcnt_u32_b32" => spec(&w1, &w2, |v| u64::from(v[0].count_ones()) + v[1]),
        "v_ffbh_u32" | "v_clz_i32_u32" => {
            spec(&w1, &w1, |v| (0..32).find(|i| v[0] >> (31 - i) & 1 == 1).unwrap_or(u64::MAX))
        }
        "v_ffbl_b32" | "v_ctz_i32_b32" => {
            spec(&w1, &w1, |v| (0..32).find(|i| v[0] >> i & 1 == 1).unwrap_or(u64::MAX))
        }
        "v_ffbh_i32" | "v_cls_i32" => {
            spec(&w1, &w1, |v| (1..32).find(|i| v[0] >> (31 - i) & 1 != v[0] >> 31 & 1).unwrap_or(u64::MAX))
        }
        "v_min_u32" => spec(&w1, &w2, |v| v[0].min(v[1])),
        "v_max_u32" => spec(&w1, &w2, |v| v[0].max(v[1])),
        "v_min_i32" => spec(&w1, &w2, |v| s32(v[0]).min(s32(v[1])) as u64),
        "v_max_i32" => spec(&w1, &w2, |v| s32(v[0]).max(s32(v[1])) as u64),
        "v_min3_u32" => spec(&w1, &w3, |v| v[0].min(v[1]).min(v[2])),
        "v_max3_i32" => spec(&w1, &w3, |v| s32(v[0]).max(s32(v[1])).max(s32(v[2])) as u64),
        "v_med3_u32" => spec(&w1, &w3, |v| {
            let mut s = [v[0], v[1], v[2]];
            s.sort_unstable();
            s[1]
        }),
        "v_med3_i32" => spec(&w1, &w3, |v| {
            let mut s = [s32(v[0]), s32(v[1]), s32(v[2])];
            s.sort_unstable();
            s[1] as u64
        }),
        "v_sad_u8" => spec(&w1, &w3, |v| {
            (0..4).map(|i| (v[0] >> (8 * i) & 255).abs_diff(v[1] >> (8 * i) & 255)).sum::<u64>() + v[2]
        }),
        "v_lerp_u8" => spec(&w1, &w3, |v| {
            (0..4)
                .map(|i| 8 * i)
                .fold(0, |r, i| r | ((v[0] >> i & 255) + (v[1] >> i & 255) + (v[2] >> i & 1)) / 2 << i)
        }),
        "v_cvt_pk_u16_u32" => spec(&w1, &w2, |v| v[0].min(65535) | v[1].min(65535) << 16),
        "v_cvt_pk_i16_i32" => spec(&w1, &w2, |v| {
            let one = |v| s32(v).clamp(-32768, 32767) as u64 & 0xffff;
            one(v[0]) | one(v[1]) << 16
        }),
        "v_pack_b32_f16" => spec(&w1, &[F16, F16], |v| v[0] | v[1] << 16),
        "v_add_u16" | "v_add_nc_u16" | "v_add_i16" | "v_add_nc_i16" => spec(&[B16], &h2, |v| v[0] + v[1]),
        "v_sub_u16" | "v_sub_nc_u16" | "v_sub_i16" | "v_sub_nc_i16" => {
            spec(&[B16], &h2, |v| v[0].wrapping_sub(v[1]))
        }
        "v_subrev_u16" => spec(&[B16], &h2, |v| v[1].wrapping_sub(v[0])),
        "v_mul_lo_u16" => spec(&[B16], &h2, |v| v[0] * v[1]),
        "v_mad_u16" | "v_mad_i16" | "v_mad_legacy_u16" | "v_mad_legacy_i16" => {
            spec(&[B16], &h3, |v| v[0] * v[1] + v[2])
        }
        "v_lshlrev_b16" => spec(&[B16], &h2, |v| v[1] << (v[0] % 16)),
        "v_lshrrev_b16" => spec(&[B16], &h2, |v| v[1] >> (v[0] % 16)),
        "v_ashrrev_i16" => spec(&[B16], &h2, |v| (s16(v[1]) >> (v[0] % 16)) as u64),
        "v_min_u16" => spec(&[B16], &h2, |v| v[0].min(v[1])),
        "v_max_i16" => spec(&[B16], &h2, |v| s16(v[0]).max(s16(v[1])) as u64),
        "v_med3_i16" => spec(&[B16], &h3, |v| {
            let mut s = [s16(v[0]), s16(v[1]), s16(v[2])];
            s.sort_unstable();
            s[1] as u64
        }),
        "v_cndmask_b32" => spec(&w1, &[F32, F32, M], |v| if v[2] == 1 { v[1] } else { v[0] }),
        "v_add_co_u32" => two(&[B32, M], &w2, |v| (v[0] + v[1], (v[0] + v[1]) >> 32)),
        "v_sub_co_u32" => two(&[B32, M], &w2, |v| (v[0].wrapping_sub(v[1]), u64::from(v[0] < v[1]))),
        "v_subrev_co_u32" => two(&[B32, M], &w2, |v| (v[1].wrapping_sub(v[0]), u64::from(v[1] < v[0]))),
        "v_addc_co_u32" | "v_add_co_ci_u32" => {
            two(&[B32, M], &[B32, B32, M], |v| (v[0] + v[1] + v[2], (v[0] + v[1] + v[2]) >> 32))
        }
        "v_subb_co_u32" | "v_sub_co_ci_u32" => two(&[B32, M], &[B32, B32, M], |v| {
            (v[0].wrapping_sub(v[1]).wrapping_sub(v[2]), u64::from(v[0] < v[1] + v[2]))
        }),
        "v_subbrev_co_u32" | "v_subrev_co_ci_u32" => two(&[B32, M], &[B32, B32, M], |v| {
            (v[1].wrapping_sub(v[0]).wrapping_sub(v[2]), u64::from(v[1] < v[0] + v[2]))
        }),
        "v_mad_u64_u32" | "v_mad_co_u64_u32" => two(&[B64, M], &[B32, B32, B64], |v| {
            let r = u128::from(v[0]) * u128::from(v[1]) + u128::from(v[2]);
            (r as u64, (r >> 64) as u64)
        }),
        _ => None,
    }
}

/// Operations of the scalar unit, without SCC.
fn scalars(name: &str) -> Option<Spec> {
    match name {
        "s_mov_b32" | "s_mov_b64" => {
            let t = if name.ends_with("64") { B64 } else { B32 };
            spec(&[t], &[t], |v| v[0])
        }
        "s_mul_i32" => spec(&[B32], &[B32; 2], |v| v[0] * v[1]),
        "s_mul_hi_u32" => spec(&[B32], &[B32; 2], |v| v[0] * v[1] >> 32),
        "s_mul_hi_i32" => spec(&[B32], &[B32; 2], |v| (s32(v[0]) * s32(v[1]) >> 32) as u64),
        "s_bfm_b32" => spec(&[B32], &[B32; 2], |v| ((1 << (v[0] % 32)) - 1) << (v[1] % 32)),
        "s_bfm_b64" => spec(&[B64], &[B32; 2], |v| ((1 << (v[0] % 64)) - 1) << (v[1] % 64)),
        "s_brev_b64" => spec(&[B64], &[B64], |v| (0..64).fold(0, |r, i| r | (v[0] >> i & 1) << (63 - i))),
        "s_ff1_i32_b64" | "s_ctz_i32_b64" => {
            spec(&[B32], &[B64], |v| (0..64).find(|i| v[0] >> i & 1 == 1).unwrap_or(u64::MAX))
        }
        "s_ff0_i32_b32" => spec(&[B32], &[B32], |v| (0..32).find(|i| v[0] >> i & 1 == 0).unwrap_or(u64::MAX)),
        "s_flbit_i32_i64" | "s_cls_i32_i64" => {
            spec(&[B32], &[B64], |v| (1..64).find(|i| v[0] >> (63 - i) & 1 != v[0] >> 63).unwrap_or(u64::MAX))
        }
        "s_sext_i32_i8" => spec(&[B32], &[B32], |v| v[0] as i8 as u64),
        "s_sext_i32_i16" => spec(&[B32], &[B32], |v| s16(v[0]) as u64),
        "s_pack_ll_b32_b16" => spec(&[B32], &[B32; 2], |v| v[0] & 0xffff | v[1] << 16),
        "s_pack_lh_b32_b16" => spec(&[B32], &[B32; 2], |v| v[0] & 0xffff | v[1] & 0xffff_0000),
        "s_pack_hh_b32_b16" => spec(&[B32], &[B32; 2], |v| v[0] >> 16 | v[1] & 0xffff_0000),
        "s_pack_hl_b32_b16" => spec(&[B32], &[B32; 2], |v| v[0] >> 16 | v[1] << 16),
        "s_add_nc_u64" => spec(&[B64], &[B64; 2], |v| v[0].wrapping_add(v[1])),
        "s_sub_nc_u64" => spec(&[B64], &[B64; 2], |v| v[0].wrapping_sub(v[1])),
        "s_mul_u64" => spec(&[B64], &[B64; 2], |v| v[0].wrapping_mul(v[1])),
        "s_bitreplicate_b64_b32" => {
            spec(&[B64], &[B32], |v| (0..64).fold(0, |r, i| r | (v[0] >> (i / 2) & 1) << i))
        }
        _ => {
            let (ty, f) = with_scc(name)?;
            two(&[ty.0, M], &[ty.1, ty.2], f)
        }
    }
}

type Scalar = ((T, T, T), fn(&[u64]) -> (u64, u64));

/// Operations whose second result is SCC.
fn with_scc(name: &str) -> Option<Scalar> {
    let w = (B32, B32, B32);
    fn low(v: u64) -> u64 {
        v & 0xffff_ffff
    }
    Some(match name {
        "s_add_u32" | "s_add_co_u32" => (w, |v| (v[0] + v[1], (v[0] + v[1]) >> 32)),
        "s_sub_u32" | "s_sub_co_u32" => (w, |v| (v[0].wrapping_sub(v[1]), u64::from(v[1] > v[0]))),
        "s_add_i32" | "s_add_co_i32" => (w, |v| {
            let r = s32(v[0]) + s32(v[1]);
            (r as u64, u64::from(r != s32(r as u64)))
        }),
        "s_sub_i32" | "s_sub_co_i32" => (w, |v| {
            let r = s32(v[0]) - s32(v[1]);
            (r as u64, u64::from(r != s32(r as u64)))
        }),
        "s_min_i32" => (w, |v| (s32(v[0]).min(s32(v[1])) as u64, u64::from(s32(v[0]) < s32(v[1])))),
        "s_max_u32" => (w, |v| (v[0].max(v[1]), u64::from(v[0] >= v[1]))),
        "s_and_b32" => (w, |v| (v[0] & v[1], u64::from(v[0] & v[1] != 0))),
        "s_or_b64" => ((B64, B64, B64), |v| (v[0] | v[1], u64::from(v[0] | v[1] != 0))),
        "s_andn2_b64" | "s_and_not1_b64" => {
            ((B64, B64, B64), |v| (v[0] & !v[1], u64::from(v[0] & !v[1] != 0)))
        }
        "s_nand_b32" => (w, |v| (!(v[0] & v[1]), u64::from(low(!(v[0] & v[1])) != 0))),
        "s_xnor_b64" => ((B64, B64, B64), |v| (!(v[0] ^ v[1]), u64::from(!(v[0] ^ v[1]) != 0))),
        "s_lshl_b32" => (w, |v| {
            let r = low(v[0] << (v[1] % 32));
            (r, u64::from(r != 0))
        }),
        "s_lshr_b64" => ((B64, B64, B32), |v| (v[0] >> (v[1] % 64), u64::from(v[0] >> (v[1] % 64) != 0))),
        "s_ashr_i32" => (w, |v| {
            let r = low((s32(v[0]) >> (v[1] % 32)) as u64);
            (r, u64::from(r != 0))
        }),
        "s_bfe_u32" => (w, |v| {
            let r = v[0] >> (v[1] % 32) & ((1u128 << (v[1] >> 16 & 127)) - 1) as u64;
            (r, u64::from(r != 0))
        }),
        "s_bfe_i64" => ((B64, B64, B32), |v| {
            let (at, n) = (v[1] % 64, v[1] >> 16 & 127);
            let mut r = (v[0] as i64 >> at) as i128;
            if n < 64 {
                r &= (1 << n) - 1;
                if n > 0 && r >> (n - 1) & 1 == 1 {
                    r |= -1 << n;
                }
            }
            (r as u64, u64::from(r as u64 != 0))
        }),
        "s_lshl3_add_u32" => (w, |v| ((v[0] << 3) + v[1], u64::from(((v[0] << 3) + v[1]) >> 32 != 0))),
        "s_absdiff_i32" => (w, |v| {
            let r = low(s32(low(v[0].wrapping_sub(v[1]))).unsigned_abs());
            (r, u64::from(r != 0))
        }),
        _ => return None,
    })
}

fn floats(name: &str) -> Option<Spec> {
    let (head, ty) = name.rsplit_once('_')?;
    let ty = match ty {
        "f16" => F16,
        "f32" => F32,
        "f64" => F64,
        _ => return None,
    };
    let add = move |a: u64, b: u64, r: Round| with_format!(ty, F => bits(of::<F>(a).add_r(of(b), r).value));
    let fma = move |v: &[u64], r: Round| {
        with_format!(ty, F => {
            let r = of::<F>(v[0]).mul_add_r(of(v[1]), of(v[2]), r);
            bits(r.value)
        })
    };
    let integral =
        move |v: &[u64], r: Round| with_format!(ty, F => bits(of::<F>(v[0]).round_to_integral(r).value));
    match head {
        "v_add" => float(ty, 2, move |v, r| add(v[0], v[1], r), true),
        "v_sub" => float(ty, 2, move |v, r| add(v[0], v[1] ^ sign(ty), r), true),
        "v_subrev" => float(ty, 2, move |v, r| add(v[1], v[0] ^ sign(ty), r), true),
        "v_mul" => float(
            ty,
            2,
            move |v, r| with_format!(ty, F => bits(of::<F>(v[0]).mul_r(of(v[1]), r).value)),
            true,
        ),
        "v_fma" | "v_fmaak" | "v_fmamk" => float(ty, 3, fma, true),
        "v_fmac" => accumulates(float(ty, 3, fma, true)),
        "v_min" => float(ty, 2, move |v, _| extreme(v[0], v[1], ty, false), false),
        "v_max" => float(ty, 2, move |v, _| extreme(v[0], v[1], ty, true), false),
        "v_min3" => float(ty, 3, move |v, _| extreme(extreme(v[0], v[1], ty, false), v[2], ty, false), false),
        "v_max3" => float(ty, 3, move |v, _| extreme(extreme(v[0], v[1], ty, true), v[2], ty, true), false),
        "v_trunc" => float(ty, 1, move |v, _| integral(v, Round::TowardZero), true),
        "v_ceil" => float(ty, 1, move |v, _| integral(v, Round::TowardPositive), true),
        "v_floor" => float(ty, 1, move |v, _| integral(v, Round::TowardNegative), true),
        "v_rndne" => float(ty, 1, move |v, _| integral(v, Round::NearestTiesToEven), true),
        "v_ldexp" => {
            let by = if ty == F16 { B16 } else { B32 };
            let f = move |v: &[u64], mode: FloatMode| {
                let keeps = denorm(mode, ty);
                let x = if keeps & 1 == 0 { flushed(v[0], ty) } else { v[0] };
                let by = (if ty == F16 { s16(v[1]) } else { s32(v[1]) }).clamp(-5000, 5000) as i32;
                let r = with_format!(ty, F => bits(of::<F>(x).scalbn_r(by, round(mode, ty))));
                vec![if keeps & 2 == 0 { flushed(r, ty) } else { r }]
            };
            Some(Spec { dst: vec![ty], src: vec![ty, by], accumulates: false, f: Box::new(f) })
        }
        _ => None,
    }
}

fn conversions(name: &str) -> Option<Spec> {
    fn to_int(ty: T, width: usize, signed: bool) -> impl Fn(&[u64]) -> u64 {
        move |v: &[u64]| {
            let mut exact = false;
            with_format!(ty, F => {
                let x: F = of(v[0]);
                if x.is_nan() { 0 } else if signed {
                    x.to_i128_r(width, Round::TowardZero, &mut exact).value as u64
                } else {
                    x.to_u128_r(width, Round::TowardZero, &mut exact).value as u64
                }
            })
        }
    }
    fn from_int(from: T, ty: T, signed: bool) -> Spec {
        let f = move |v: &[u64], mode: FloatMode| {
            let x = match (from, signed) {
                (B16, true) => i128::from(s16(v[0])),
                (B32, true) => i128::from(s32(v[0])),
                _ => i128::from(v[0]),
            };
            vec![with_format!(ty, F => bits(F::from_i128_r(x, round(mode, ty)).value))]
        };
        Spec { dst: vec![ty], src: vec![from], accumulates: false, f: Box::new(f) }
    }
    fn convert(from: T, to: T) -> Spec {
        let f = move |v: &[u64], mode: FloatMode| {
            let x = if denorm(mode, from) & 1 == 0 { flushed(v[0], from) } else { v[0] };
            let (r, mut exact) = (round(mode, to), false);
            let y = with_format!(from, A => with_format!(to, B => {
                let y: B = FloatConvert::<B>::convert_r(of::<A>(x), r, &mut exact).value;
                bits(y)
            }));
            vec![if denorm(mode, to) & 2 == 0 { flushed(y, to) } else { y }]
        };
        Spec { dst: vec![to], src: vec![from], accumulates: false, f: Box::new(f) }
    }
    match name {
        "v_cvt_i32_f32" => spec(&[B32], &[F32], to_int(F32, 32, true)),
        "v_cvt_u32_f32" => spec(&[B32], &[F32], to_int(F32, 32, false)),
        "v_cvt_i32_f64" => spec(&[B32], &[F64], to_int(F64, 32, true)),
        "v_cvt_u32_f64" => spec(&[B32], &[F64], to_int(F64, 32, false)),
        "v_cvt_i16_f16" => spec(&[B16], &[F16], to_int(F16, 16, true)),
        "v_cvt_u16_f16" => spec(&[B16], &[F16], to_int(F16, 16, false)),
        "v_cvt_f32_i32" => Some(from_int(B32, F32, true)),
        "v_cvt_f32_u32" => Some(from_int(B32, F32, false)),
        "v_cvt_f64_i32" => Some(from_int(B32, F64, true)),
        "v_cvt_f64_u32" => Some(from_int(B32, F64, false)),
        "v_cvt_f16_i16" => Some(from_int(B16, F16, true)),
        "v_cvt_f16_u16" => Some(from_int(B16, F16, false)),
        "v_cvt_f16_f32" => Some(convert(F32, F16)),
        "v_cvt_f32_f16" => Some(convert(F16, F32)),
        "v_cvt_f64_f32" => Some(convert(F32, F64)),
        "v_cvt_f32_f64" => Some(convert(F64, F32)),
        "v_cvt_f32_ubyte0" => spec(&[F32], &[B32], |v| u64::from(((v[0] & 255) as f32).to_bits())),
        "v_cvt_f32_ubyte3" => spec(&[F32], &[B32], |v| u64::from(((v[0] >> 24) as f32).to_bits())),
        _ => None,
    }
}

fn comparisons(name: &str) -> Option<Spec> {
    let (head, ty) = name.strip_prefix("v_cmp_")?.rsplit_once('_')?;
    let ty = match ty {
        "f16" => F16,
        "f32" => F32,
        "f64" => F64,
        "i16" | "u16" => B16,
        "i32" | "u32" => B32,
        "i64" | "u64" => B64,
        _ => return None,
    };
    let signed = name.contains("_i");
    let head = head.to_owned();
    if head == "class" {
        return None;
    }
    let f = move |v: &[u64], mode: FloatMode| {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = match ty {
            F16 | F32 | F64 => {
                let keeps = denorm(mode, ty) & 1 == 1;
                let v: Vec<u64> = v.iter().map(|v| if keeps { *v } else { flushed(*v, ty) }).collect();
                with_format!(ty, F => of::<F>(v[0]).partial_cmp(&of::<F>(v[1])))
            }
            B16 if signed => Some(s16(v[0]).cmp(&s16(v[1]))),
            B32 if signed => Some(s32(v[0]).cmp(&s32(v[1]))),
            B64 if signed => Some((v[0] as i64).cmp(&(v[1] as i64))),
            _ => Some(v[0].cmp(&v[1])),
        };
        let holds = match head.as_str() {
            "f" => false,
            "t" | "tru" => true,
            "eq" => order == Some(Equal),
            "lt" => order == Some(Less),
            "gt" => order == Some(Greater),
            "le" => matches!(order, Some(Less | Equal)),
            "ge" => matches!(order, Some(Greater | Equal)),
            "ne" | "neq" => order != Some(Equal),
            "lg" => matches!(order, Some(Less | Greater)),
            "nlg" => !matches!(order, Some(Less | Greater)),
            "nlt" => order != Some(Less),
            "ngt" => order != Some(Greater),
            "nle" => !matches!(order, Some(Less | Equal)),
            "nge" => !matches!(order, Some(Greater | Equal)),
            "o" => order.is_some(),
            "u" => order.is_none(),
            other => panic!("relation {other}"),
        };
        vec![u64::from(holds)]
    };
    Some(Spec { dst: vec![M], src: vec![ty; 2], accumulates: false, f: Box::new(f) })
}

/// An operand in the text: registers or a constant, and its signs.
#[derive(Clone, Debug)]
struct Token {
    regs: Vec<Reg>,
    constant: Option<String>,
    abs: bool,
    neg: bool,
    sext: bool,
    high: bool,
}

/// Reads an operand; `None` for those that the reference does not know.
fn token(text: &str) -> Option<Token> {
    let mut t = Token { regs: vec![], constant: None, abs: false, neg: false, sext: false, high: false };
    let mut s = text.trim();
    if let Some(inner) = s.strip_prefix("sext(").and_then(|s| s.strip_suffix(')')) {
        t.sext = true;
        s = inner;
    }
    if let Some(inner) = s.strip_prefix("neg(").and_then(|s| s.strip_suffix(')')) {
        t.neg = true;
        s = inner;
    }
    if s.starts_with('-') && !s[1..].starts_with(|c: char| c.is_ascii_digit()) {
        t.neg = true;
        s = &s[1..];
    }
    if let Some(inner) = s.strip_prefix('|').and_then(|s| s.strip_suffix('|')) {
        t.abs = true;
        s = inner;
    }
    if let Some(inner) = s.strip_suffix(".h") {
        t.high = true;
        s = inner;
    } else if let Some(inner) = s.strip_suffix(".l") {
        s = inner;
    }
    let named: &[Reg] = match s {
        "vcc" => &[Reg::VccLo, Reg::VccHi],
        "vcc_lo" => &[Reg::VccLo],
        "vcc_hi" => &[Reg::VccHi],
        "exec" => &[Reg::ExecLo, Reg::ExecHi],
        "exec_lo" => &[Reg::ExecLo],
        "exec_hi" => &[Reg::ExecHi],
        "m0" => &[Reg::M0],
        _ => &[],
    };
    if !named.is_empty() {
        t.regs = named.into();
        return Some(t);
    }
    type Bank<'a> = Option<(fn(u8) -> Reg, &'a str)>;
    let bank: Bank<'_> = if let Some(rest) = s.strip_prefix("ttmp") {
        Some((Reg::Ttmp, rest))
    } else if let Some(rest) = s.strip_prefix('v') {
        Some((Reg::V, rest))
    } else if let Some(rest) = s.strip_prefix('a') {
        Some((Reg::A, rest))
    } else {
        s.strip_prefix('s').map(|rest| (Reg::S as fn(u8) -> Reg, rest))
    };
    if let Some((make, rest)) = bank {
        let range = rest.strip_prefix('[').and_then(|r| r.strip_suffix(']'));
        let (first, last) = match range {
            Some(range) => range.split_once(':')?,
            None => (rest, rest),
        };
        let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
        t.regs = (first..=last).map(make).collect();
        return Some(t);
    }
    let number = s.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    number.then(|| Token { constant: Some(s.into()), ..t })
}

/// The value of a constant of a type, as the text has it.
fn constant(text: &str, ty: T) -> Option<u64> {
    if text.contains('.') {
        let v: f64 = text.parse().ok()?;
        let inverse = text.starts_with("0.15915");
        return Some(match ty {
            F16 if inverse => 0x3118,
            F16 => bits(FloatConvert::<Half>::convert(of::<Double>(v.to_bits()), &mut false).value),
            F32 | B32 | M if inverse => 0x3e22_f983,
            F32 | B32 | M => u64::from((v as f32).to_bits()),
            // Integers of 16 bits see the low half of a binary32, which is 0, or that of 1/(2 pi).
            B16 if inverse => 0xf983,
            B16 => 0,
            F64 | B64 if inverse => 0x3fc4_5f30_6dc9_c882,
            F64 | B64 => v.to_bits(),
        });
    }
    let literal = text.starts_with("0x");
    let v: i64 = match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    // Literals of 64 bits are compared elsewhere: their extension depends on the type.
    if literal && matches!(ty, F64 | B64) {
        return None;
    }
    Some(match ty {
        F64 | B64 => v as u64,
        B16 | F16 => v as u64 & 0xffff,
        _ => v as u64 & 0xffff_ffff,
    })
}

/// Splits the text: mnemonic, operands, modifiers. `None` for texts that the reference does not read.
fn parse(text: &str) -> Option<(String, Vec<Token>, Vec<String>)> {
    let (name, rest) = text.split_once(' ')?;
    let name = ["_e32", "_e64", "_sdwa"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let mut operands = Vec::new();
    let mut modifiers = Vec::new();
    let parts: Vec<&str> = rest.split(", ").collect();
    for (n, part) in parts.iter().enumerate() {
        let mut words = part.split(' ');
        operands.push(token(words.next()?)?);
        if n + 1 == parts.len() {
            modifiers.extend(words.map(str::to_owned));
        } else if words.next().is_some() {
            return None;
        }
    }
    Some((name.into(), operands, modifiers))
}

/// A byte or word that SDWA selects: first bit, bits.
fn part(select: &str) -> (u32, u32) {
    match select {
        "BYTE_0" => (0, 8),
        "BYTE_1" => (8, 8),
        "BYTE_2" => (16, 8),
        "BYTE_3" => (24, 8),
        "WORD_0" => (0, 16),
        "WORD_1" => (16, 16),
        _ => (0, 32),
    }
}

/// Where operations of 16 bits of CDNA leave the upper half as it is.
fn keeps_upper(target: Target, name: &str) -> bool {
    target.family() != Family::Gfx9
        || ["v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_add_i16", "v_sub_i16"].contains(&name)
        || ["v_min3", "v_max3", "v_med3"].iter().any(|p| name.starts_with(p))
}

/// Words of interesting values.
fn interesting(random: &mut Random) -> u32 {
    const VALUES: [u32; 24] = [
        0,
        1,
        0x8000_0000,
        0xffff_ffff,
        0x7fff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x7f80_0001,
        0xffa0_0000,
        0x0080_0000,
        0x007f_ffff,
        0x8000_0001,
        0x7f7f_ffff,
        0x4f00_0000,
        0xcf00_0000,
        0x3c00_7c00,
        0x0001_83ff,
        0x7e00_fc01,
        0x7bff_0400,
        0x3555_3800,
        0x4248_c248,
    ];
    match random.below(4) {
        0 => VALUES[random.below(VALUES.len())],
        // Exponents near 1, so that sums do not vanish.
        1 => (random.next() as u32 & 0x81ff_ffff) + 0x3e00_0000,
        _ => random.next() as u32,
    }
}

/// Compares one instruction. Returns whether it was compared.
fn compare(
    inst: &Inst,
    target: Target,
    lanes: u32,
    mode: FloatMode,
    random: &mut Random,
) -> Option<(String, Option<String>)> {
    let text = inst.print();
    let (name, tokens, modifiers) = parse(&text)?;
    let spec = reference(&name)?;
    let scalar = name.starts_with("s_");
    let is_float = |t: &T| matches!(t, F16 | F32 | F64);
    // The destination of SCC is not in the text.
    let results = spec.dst.len() - usize::from(scalar && spec.dst.len() > 1);
    if tokens.len() != results + spec.src.len() {
        return None;
    }
    let has = |m: &str| modifiers.iter().any(|x| x.starts_with(m));
    let clamp = has("clamp");
    if has("mul:") || has("div:") || (clamp && !spec.dst.iter().all(is_float)) || has("quad") || has("row") {
        return None;
    }
    let value_of = |key: &str| modifiers.iter().find_map(|m| m.strip_prefix(key));
    let op_sel: Vec<bool> = value_of("op_sel:[")
        .map_or(vec![], |list| list.trim_end_matches(']').split(',').map(|b| b == "1").collect());
    let vop3 = inst.encoding() == Some(Encoding::Vop3);
    // What LLVM does not print is not compared: selections that an operation does not have.
    if vop3 && op_sel.is_empty() && inst.get(Field::OpSel) != 0 && !text.contains(".h") {
        return None;
    }
    // Its third source has 16 bits on some targets.
    if name.starts_with("v_align") && !op_sel.is_empty() {
        return None;
    }
    let mut before = state(inst, lanes, random);
    for (reg, values) in &mut before.words {
        if matches!(reg, Reg::V(_) | Reg::A(_)) {
            values.iter_mut().for_each(|v| *v = interesting(random));
        }
    }
    let exec = before.masks[&Reg::ExecLo];
    let mut expected = before.clone();
    let word = |s: &WaveState, reg: Reg, lane: usize| s.words.get(&reg).map_or(0, |v| v[lane]);
    let mut masks: Vec<(Reg, u64)> = Vec::new();
    let mut nans = BTreeSet::new();
    for lane in 0..lanes as usize {
        if !scalar && exec >> lane & 1 == 0 {
            continue;
        }
        let mut inputs = Vec::new();
        for (n, ty) in spec.src.iter().enumerate() {
            let t = &tokens[results + n];
            if *ty == M {
                let low = *t.regs.first()?;
                inputs.push(before.masks.get(&low)? >> lane & 1);
                continue;
            }
            let mut v = match &t.constant {
                // LLVM prints constants of 16-bit integers as if they were binary16. What halves and bytes
                // of constants are is left open.
                Some(text) if *ty == B16 && text.starts_with("0x") => return None,
                Some(_) if op_sel.get(n) == Some(&true) || value_of("src0_sel:").is_some() => return None,
                Some(text) => constant(text, *ty)?,
                None => {
                    let high = t.regs.get(1).map_or(0, |r| word(&before, *r, lane));
                    u64::from(word(&before, *t.regs.first()?, lane)) | u64::from(high) << 32
                }
            };
            if let Some(select) = value_of(&format!("src{n}_sel:")) {
                let (low, count) = part(select);
                v = v >> low & ((1 << count) - 1);
                if t.sext && v >> (count - 1) & 1 == 1 {
                    v |= u64::MAX << count;
                }
            }
            let sixteen = matches!(ty, B16 | F16);
            if t.high || (sixteen && t.constant.is_none() && op_sel.get(n) == Some(&true)) {
                v >>= 16;
            } else if sixteen && op_sel.get(n) == Some(&true) {
                // The high half of a constant.
                v = 0;
            }
            v &= if sixteen {
                0xffff
            } else if matches!(ty, B64 | F64) {
                u64::MAX
            } else {
                0xffff_ffff
            };
            if t.abs {
                v &= !sign(*ty);
            }
            if t.neg {
                v ^= sign(*ty);
            }
            inputs.push(v);
        }
        if spec.accumulates {
            let regs = &tokens[0].regs;
            let high = regs.get(1).map_or(0, |r| word(&before, *r, lane));
            let v = u64::from(word(&before, *regs.first()?, lane)) | u64::from(high) << 32;
            let half = tokens[0].high || op_sel.get(spec.src.len()) == Some(&true);
            let v = if half { v >> 16 } else { v };
            inputs.push(if spec.dst[0] == F16 { v & 0xffff } else { v });
        }
        let outputs = (spec.f)(&inputs, mode);
        for (n, (ty, mut v)) in spec.dst.iter().zip(outputs).enumerate() {
            if *ty == M && scalar {
                expected.scc = v & 1 == 1;
                continue;
            }
            let t = &tokens[n];
            let first = *t.regs.first()?;
            if *ty == M {
                match masks.iter_mut().find(|(r, _)| *r == first) {
                    Some((_, lanes)) => *lanes |= (v & 1) << lane,
                    None => masks.push((first, (v & 1) << lane)),
                }
                continue;
            }
            if clamp {
                let one = with_format!(*ty, F => bits(F::from_u128(1).value));
                v = if is_nan(v, *ty) || v & sign(*ty) != 0 { 0 } else { v.min(one) };
            }
            if is_float(ty) && is_nan(v, *ty) {
                nans.insert(lane);
            }
            let old = word(&before, first, lane);
            let sixteen = matches!(ty, B16 | F16);
            let high = t.high || (sixteen && op_sel.len() > spec.src.len() && op_sel[spec.src.len()]);
            let new = if let Some(select) = value_of("dst_sel:").filter(|s| *s != "DWORD") {
                let (low, count) = part(select);
                let field = ((1u64 << count) - 1 << low) as u32;
                let placed = ((v as u32) << low) & field;
                let negative = v >> (count - 1) & 1 == 1;
                placed
                    | match value_of("dst_unused:")? {
                        "UNUSED_PRESERVE" => old & !field,
                        "UNUSED_SEXT" if negative => !field & !((1u32 << low) - 1),
                        _ => 0,
                    }
            } else if sixteen && high {
                (v as u32) << 16 | old & 0xffff
            } else if sixteen && keeps_upper(target, &name) && !scalar {
                v as u32 & 0xffff | old & 0xffff_0000
            } else if sixteen {
                v as u32 & 0xffff
            } else {
                v as u32
            };
            let mut put = |reg: Reg, v: u32| {
                if let Some(values) = expected.words.get_mut(&reg) {
                    values[lane] = v;
                }
            };
            put(first, new);
            if let Some(second) = t.regs.get(1) {
                put(*second, (v >> 32) as u32);
            }
        }
    }
    for (n, ty) in spec.dst.iter().enumerate().take(results) {
        // Where no lane runs, a mask becomes 0.
        if let (T::M, Some(first)) = (*ty, tokens[n].regs.first()) {
            let lanes = masks.iter().find(|(r, _)| r == first).map_or(0, |(_, lanes)| *lanes);
            set_mask(&mut expected, *first, lanes);
        }
    }
    if scalar {
        // Masks follow the words that are beside them.
        let lows: Vec<Reg> = expected.masks.keys().copied().collect();
        for low in lows.into_iter().filter(|low| expected.words.contains_key(low)) {
            let high = match low {
                Reg::S(n) => Reg::S(n + 1),
                Reg::Ttmp(n) => Reg::Ttmp(n + 1),
                Reg::ExecLo => Reg::ExecHi,
                _ => Reg::VccHi,
            };
            let mask = u64::from(word(&expected, high, 0)) << 32 | u64::from(word(&expected, low, 0));
            expected.masks.insert(low, mask);
        }
    }
    let mut after = before.clone();
    match run_alone(*inst, lanes, mode, Simd::detect(), &mut after) {
        Ok(_) => {}
        Err(EmuError::Unsupported(_)) => return None,
        Err(other) => panic!("{target} {text}: {other}"),
    }
    // All NaNs are one. In a part of a register they are not looked at.
    let nan = |reg: &Reg, lane: usize| {
        let regs = &tokens[0].regs;
        let high = regs.get(1).map_or(0, |r| word(&after, *r, lane));
        let v = u64::from(word(&after, regs[0], lane)) | u64::from(high) << 32;
        let ty = spec.dst[0];
        let part = ty == F16 || has("dst_sel");
        regs.contains(reg) && nans.contains(&lane) && (part || is_nan(v, ty))
    };
    for (reg, values) in &expected.words {
        for (lane, want) in values.iter().enumerate() {
            let got = after.words[reg][lane];
            if got != *want && !nan(reg, lane) {
                let registers: Vec<_> = before.words.iter().map(|(r, v)| (*r, v[lane])).collect();
                let what = format!("{reg:?} in lane {lane} is {got:#x}, not {want:#x}");
                return Some((name, Some(format!("{target} {text}: {what}; {mode:?}; {registers:x?}"))));
            }
        }
    }
    let differs = after.masks != expected.masks || (scalar && after.scc != expected.scc);
    let why = differs.then(|| format!("{target} {text}: {:x?}, not {:x?}", after.masks, expected.masks));
    Some((name, why))
}

/// Writes a mask, and its words if the state has them.
fn set_mask(state: &mut WaveState, low: Reg, lanes: u64) {
    state.masks.insert(low, lanes);
    let high = match low {
        Reg::S(n) => Reg::S(n + 1),
        Reg::Ttmp(n) => Reg::Ttmp(n + 1),
        Reg::ExecLo => Reg::ExecHi,
        _ => Reg::VccHi,
    };
    for (reg, word) in [(low, lanes as u32), (high, (lanes >> 32) as u32)] {
        if let Some(values) = state.words.get_mut(&reg) {
            values.iter_mut().for_each(|v| *v = word);
        }
    }
}

#[test]
fn operations_are_those_of_the_guides() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut names = BTreeSet::new();
    let mut compared = 0;
    let mut wrong: BTreeMap<String, String> = BTreeMap::new();
    each(|target, layout, _, samples| {
        let dpp = layout.encoding.name().contains("dpp");
        if dpp || layout.encoding == Encoding::Vopd {
            return;
        }
        for inst in samples {
            for n in 0..3 {
                let mut pick = |k: u64| (random.next() >> 40) as u8 % k as u8;
                let mode = if n == 0 {
                    FloatMode::default()
                } else {
                    FloatMode {
                        round32: pick(4),
                        round16_64: pick(4),
                        denorm32: pick(4),
                        denorm16_64: pick(4),
                        ..FloatMode::default()
                    }
                };
                let Some((name, why)) = compare(inst, target, 64, mode, &mut random) else { continue };
                compared += 1;
                if let Some(why) = why {
                    wrong.entry(name.clone()).or_insert(why);
                }
                names.insert(name);
            }
        }
    });
    let list: Vec<&String> = wrong.values().collect();
    assert!(wrong.is_empty(), "{} operations differ:\n{list:#?}", wrong.len());
    assert!(names.len() > 230 && compared > 15_000, "{} operations, {compared} runs", names.len());
}
