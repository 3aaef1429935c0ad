//! Operations on floating-point values, by mnemonic.

use prlx_lanes::Simd;
use prlx_lanes::amd::float::*;
use prlx_lanes::amd::functions::*;
use prlx_lanes::amd::minmax::*;

use super::super::float_mode::Precision;
use super::choice::{Choice, floating};

/// The operation of a format.
macro_rules! by_format {
    ($op:ty, $format:expr, $l:expr) => {
        match $format {
            "f16" => floating::<Float<$op, Binary16>>($l, Precision::Other, Precision::Other),
            "f32" => floating::<Float<$op, f32>>($l, Precision::Single, Precision::Single),
            "f64" => floating::<Float<$op, f64>>($l, Precision::Other, Precision::Other),
            _ => return None,
        }
    };
}
macro_rules! table {
    ($name:expr, $format:expr, $l:expr; $($($n:literal)|+ => $op:ty,)*) => {
        Some(match $name { $($($n)|+ => by_format!($op, $format, $l),)* _ => return None })
    };
}

/// The operation of a mnemonic, as `v_add_f32`.
pub fn select(name: &str, l: Simd) -> Option<Choice> {
    let (head, format) = name.rsplit_once('_')?;
    if name == "v_fma_legacy_f16" {
        return others(name, l);
    }
    let usual = arithmetic(head, format, l).or_else(|| extremes(head, format, l));
    usual.or_else(|| functions(head, format, l)).or_else(|| others(name, l))
}

/// Operations that not all formats have, or with sources of several kinds.
fn others(name: &str, l: Simd) -> Option<Choice> {
    use Precision::{Other, Single};
    Some(match name {
        "v_mac_f16" | "v_mad_f16" | "v_madak_f16" | "v_madmk_f16" | "v_mad_legacy_f16" => {
            floating::<Float<Mad, Binary16>>(l, Other, Other)
        }
        "v_mac_f32" | "v_mad_f32" | "v_madak_f32" | "v_madmk_f32" => {
            floating::<Float<MadFlush, f32>>(l, Single, Single)
        }
        "v_mad_legacy_f32" => floating::<Float<MadZero, f32>>(l, Single, Single),
        "v_fma_legacy_f16" => floating::<Float<Fma, Binary16>>(l, Other, Other),
        "v_ldexp_f16" => floating::<Ldexp<Binary16, i16>>(l, Other, Other),
        "v_ldexp_f32" => floating::<Ldexp<f32, i32>>(l, Single, Single),
        "v_ldexp_f64" => floating::<Ldexp<f64, i32>>(l, Other, Other),
        "v_frexp_exp_i16_f16" => floating::<FrexpExp<Binary16, i16>>(l, Other, Other),
        "v_frexp_exp_i32_f32" => floating::<FrexpExp<f32, i32>>(l, Single, Single),
        "v_frexp_exp_i32_f64" => floating::<FrexpExp<f64, i32>>(l, Other, Other),
        "v_div_scale_f32" => floating::<DivScale<f32>>(l, Single, Single),
        "v_div_scale_f64" => floating::<DivScale<f64>>(l, Other, Other),
        "v_div_fmas_f32" => floating::<DivFmas<f32>>(l, Single, Single),
        "v_div_fmas_f64" => floating::<DivFmas<f64>>(l, Other, Other),
        "v_trig_preop_f64" => floating::<TrigPreop>(l, Other, Other),
        _ => return None,
    })
}

fn arithmetic(head: &str, format: &str, l: Simd) -> Option<Choice> {
    table! { head, format, l;
        "v_add" => Add,
        "v_sub" => Sub,
        "v_subrev" => SubRev,
        "v_mul" => Mul,
        "v_mul_legacy" | "v_mul_dx9_zero" => MulZero,
        "v_fma" | "v_fmac" | "v_fmaak" | "v_fmamk" => Fma,
        "v_fma_legacy" | "v_fmac_legacy" | "v_fma_dx9_zero" | "v_fmac_dx9_zero" => FmaZero,
    }
}

fn extremes(head: &str, format: &str, l: Simd) -> Option<Choice> {
    table! { head, format, l;
        "v_min" => Min,
        "v_max" => Max,
        "v_min3" => Min3,
        "v_max3" => Max3,
        "v_med3" => Med3,
        "v_minmax" => MinMax,
        "v_maxmin" => MaxMin,
        "v_min_num" => MinNum,
        "v_max_num" => MaxNum,
        "v_min3_num" => Min3Num,
        "v_max3_num" => Max3Num,
        "v_med3_num" => Med3Num,
        "v_minmax_num" => MinMaxNum,
        "v_maxmin_num" => MaxMinNum,
        "v_minimum" => Minimum,
        "v_maximum" => Maximum,
        "v_minimum3" => Minimum3,
        "v_maximum3" => Maximum3,
        "v_minimummaximum" => MinimumMaximum,
        "v_maximumminimum" => MaximumMinimum,
    }
}

fn functions(head: &str, format: &str, l: Simd) -> Option<Choice> {
    table! { head, format, l;
        "v_trunc" => Trunc,
        "v_ceil" => Ceil,
        "v_floor" => Floor,
        "v_rndne" => Rndne,
        "v_fract" => Fract,
        "v_frexp_mant" => FrexpMant,
        "v_div_fixup" | "v_div_fixup_legacy" => DivFixup,
        "v_rcp" | "v_rcp_iflag" | "v_s_rcp" => Rcp,
        "v_rsq" | "v_s_rsq" => Rsq,
        "v_sqrt" | "v_s_sqrt" => Sqrt,
        "v_exp" | "v_exp_legacy" | "v_s_exp" => Exp,
        "v_log" | "v_log_legacy" | "v_s_log" => Log,
        "v_sin" => Sin,
        "v_cos" => Cos,
        "v_cubeid" => CubeId,
        "v_cubesc" => CubeSc,
        "v_cubetc" => CubeTc,
        "v_cubema" => CubeMa,
    }
}
