//! Conversions between number formats, by mnemonic.

use prlx_isa::amdgpu::Target;
use prlx_lanes::Simd;
use prlx_lanes::amd::convert::*;
use prlx_lanes::amd::float::Binary16;
use prlx_lanes::fp8::{Bf8, Bf8Fnuz, Fp8, Fp8Fnuz};
use prlx_lanes::round::Round;

use super::super::float_mode::Precision::{Other, Single};
use super::choice::{Choice, floating};

/// The operation of a mnemonic.
pub fn select(name: &str, l: Simd, target: Target) -> Option<Choice> {
    Some(match name {
        "v_cvt_i32_f32" => floating::<ToInt<f32, i32, TRUNC>>(l, Single, Single),
        "v_cvt_u32_f32" => floating::<ToInt<f32, u32, TRUNC>>(l, Single, Single),
        "v_cvt_i32_f64" => floating::<ToInt<f64, i32, TRUNC>>(l, Other, Single),
        "v_cvt_u32_f64" => floating::<ToInt<f64, u32, TRUNC>>(l, Other, Single),
        "v_cvt_i16_f16" => floating::<ToInt<Binary16, i16, TRUNC>>(l, Other, Other),
        "v_cvt_u16_f16" => floating::<ToInt<Binary16, u16, TRUNC>>(l, Other, Other),
        "v_cvt_rpi_i32_f32" | "v_cvt_nearest_i32_f32" => {
            floating::<ToInt<f32, i32, NEAREST>>(l, Single, Single)
        }
        "v_cvt_flr_i32_f32" | "v_cvt_floor_i32_f32" => floating::<ToInt<f32, i32, FLOOR>>(l, Single, Single),
        "v_cvt_f32_i32" => floating::<FromInt<i32, f32>>(l, Single, Single),
        "v_cvt_f32_u32" => floating::<FromInt<u32, f32>>(l, Single, Single),
        "v_cvt_f64_i32" => floating::<FromInt<i32, f64>>(l, Other, Other),
        "v_cvt_f64_u32" => floating::<FromInt<u32, f64>>(l, Other, Other),
        "v_cvt_f16_i16" => floating::<FromInt<i16, Binary16>>(l, Other, Other),
        "v_cvt_f16_u16" => floating::<FromInt<u16, Binary16>>(l, Other, Other),
        "v_cvt_f16_f32" => floating::<Convert<f32, Binary16>>(l, Single, Other),
        "v_cvt_f32_f16" => floating::<Convert<Binary16, f32>>(l, Other, Single),
        "v_cvt_f64_f32" => floating::<Convert<f32, f64>>(l, Single, Other),
        "v_cvt_f32_f64" => floating::<Convert<f64, f32>>(l, Other, Single),
        _ => return packing(name, l).or_else(|| bytes(name, l, target)),
    })
}

/// Conversions to and from parts of a register.
fn packing(name: &str, l: Simd) -> Option<Choice> {
    let byte = |n: u64| Choice { imm: (8 * n) << BYTE, ..floating::<FromByte>(l, Single, Single) };
    Some(match name {
        "v_cvt_f32_ubyte0" => byte(0),
        "v_cvt_f32_ubyte1" => byte(1),
        "v_cvt_f32_ubyte2" => byte(2),
        "v_cvt_f32_ubyte3" => byte(3),
        "v_cvt_off_f32_i4" => floating::<OffsetI4>(l, Single, Single),
        // The rounding is the operation's, not the mode's.
        "v_cvt_pkrtz_f16_f32" | "v_cvt_pk_rtz_f16_f32" => {
            Choice { round: Some(Round::Zero), ..floating::<PackHalf>(l, Single, Other) }
        }
        "v_cvt_pk_f16_f32" => Choice { round: Some(Round::Near), ..floating::<PackHalf>(l, Single, Other) },
        "v_cvt_pk_bf16_f32" => floating::<PackBf16>(l, Single, Single),
        "v_cvt_f32_bf16" => floating::<FromBf16>(l, Single, Single),
        "v_cvt_pk_i16_f32" => floating::<PackIntI16>(l, Single, Single),
        "v_cvt_pk_u16_f32" => floating::<PackIntU16>(l, Single, Single),
        "v_cvt_pk_u8_f32" => floating::<PackU8>(l, Single, Single),
        "v_cvt_pknorm_i16_f32" | "v_cvt_pk_norm_i16_f32" => floating::<PackNormI<f32>>(l, Single, Single),
        "v_cvt_pknorm_u16_f32" | "v_cvt_pk_norm_u16_f32" => floating::<PackNormU<f32>>(l, Single, Single),
        "v_cvt_pknorm_i16_f16" | "v_cvt_pk_norm_i16_f16" => floating::<PackNormI<Binary16>>(l, Other, Other),
        "v_cvt_pknorm_u16_f16" | "v_cvt_pk_norm_u16_f16" => floating::<PackNormU<Binary16>>(l, Other, Other),
        "v_cvt_norm_i16_f16" => floating::<NormI>(l, Other, Other),
        "v_cvt_norm_u16_f16" => floating::<NormU>(l, Other, Other),
        _ => return None,
    })
}

/// Conversions to and from 8-bit formats, which CDNA 3 has of its own.
fn bytes(name: &str, l: Simd, target: Target) -> Option<Choice> {
    macro_rules! by_format {
        ($op:ident, $format:expr, $to:expr) => {
            match ($format, target) {
                ("fp8", Target::Gfx942) => floating::<$op<Fp8Fnuz>>(l, Single, $to),
                ("bf8", Target::Gfx942) => floating::<$op<Bf8Fnuz>>(l, Single, $to),
                ("fp8", _) => floating::<$op<Fp8>>(l, Single, $to),
                ("bf8", _) => floating::<$op<Bf8>>(l, Single, $to),
                _ => return None,
            }
        };
    }
    Some(match name {
        "v_cvt_f32_fp8" => by_format!(From8, "fp8", Single),
        "v_cvt_f32_bf8" => by_format!(From8, "bf8", Single),
        "v_cvt_pk_f32_fp8" => by_format!(Pair8, "fp8", Single),
        "v_cvt_pk_f32_bf8" => by_format!(Pair8, "bf8", Single),
        "v_cvt_pk_fp8_f32" => by_format!(Pack8, "fp8", Single),
        "v_cvt_pk_bf8_f32" => by_format!(Pack8, "bf8", Single),
        _ => return None,
    })
}
