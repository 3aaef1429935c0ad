//! Conversions between number formats, by mnemonic.

use prlx_lanes::Simd;
use prlx_lanes::amd::convert::*;
use prlx_lanes::amd::float::Binary16;

use super::super::float_mode::Precision::{Other, Single};
use super::choice::{Choice, floating};

/// The operation of a mnemonic.
pub fn select(name: &str, l: Simd) -> Option<Choice> {
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
        _ => return None,
    })
}
