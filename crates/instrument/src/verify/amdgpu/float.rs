//! Floating-point instructions of inserted code, which probe programs have.
//!
//! # Limitations
//! The steps of a division do not scale. Where they would have to, the last step gives the quotient, whatever
//! the steps before it have computed.

use super::convert::convert;
use super::wave::Operation;
use crate::verify::inserted_code::{double, single};

/// The operation of a name.
pub(super) fn operation(name: &str) -> Option<Operation> {
    /// An operation on binary32 values.
    macro_rules! single {
        (|$x:pat_param, $y:pat_param, $z:pat_param| $value:expr) => {
            |[x, y, z], _, _| {
                let ($x, $y, $z) = (float(x), float(y), float(z));
                (single($value), false)
            }
        };
    }
    Some(match name {
        "v_add_f32" => single!(|x, y, _| x + y),
        "v_sub_f32" => single!(|x, y, _| x - y),
        "v_mul_f32" => single!(|x, y, _| x * y),
        "v_fma_f32" | "v_div_fmas_f32" => single!(|x, y, z| x.mul_add(y, z)),
        "v_rcp_f32" => single!(|x, _, _| 1.0 / x),
        "v_div_scale_f32" => single!(|x, _, _| x),
        "v_div_fixup_f32" => single!(|x, y, z| if usual(y) && usual(z) { x } else { z / y }),
        "v_add_f64" => |[a, b, _], _, _| (double(f64::from_bits(a) + f64::from_bits(b)), false),
        "v_mul_f64" => |[a, b, _], _, _| (double(f64::from_bits(a) * f64::from_bits(b)), false),
        "v_cvt_f32_u32" => |[a, ..], _, _| converted("f32", "u32", a),
        "v_cvt_f32_i32" => |[a, ..], _, _| converted("f32", "i32", a),
        "v_cvt_f32_f64" => |[a, ..], _, _| converted("f32", "f64", a),
        "v_cvt_f32_f16" => |[a, ..], _, _| converted("f32", "f16", a),
        "v_cvt_f64_u32" => |[a, ..], _, _| converted("f64", "u32", a),
        "v_cvt_f64_i32" => |[a, ..], _, _| converted("f64", "i32", a),
        "v_cvt_f64_f32" => |[a, ..], _, _| converted("f64", "f32", a),
        "v_cvt_u32_f32" => |[a, ..], _, _| converted("u32", "f32", a),
        "v_cvt_u32_f64" => |[a, ..], _, _| converted("u32", "f64", a),
        "v_cvt_i32_f32" => |[a, ..], _, _| converted("i32", "f32", a),
        "v_cvt_i32_f64" => |[a, ..], _, _| converted("i32", "f64", a),
        _ => return None,
    })
}

/// `v_fma_f32` with negated operands.
pub(super) fn fused([a, b, c]: [u64; 3], negated: u32) -> u64 {
    let value = |bits: u64, at: u32| if negated >> at & 1 == 1 { -float(bits) } else { float(bits) };
    single(value(a, 0).mul_add(value(b, 1), value(c, 2)))
}

/// Whether the steps of a division need no scale.
fn usual(value: f32) -> bool {
    (1e-15..1e15).contains(&value.abs())
}

fn converted(into: &str, of: &str, a: u64) -> (u64, bool) {
    // Both types are known.
    (convert(into, of, a).unwrap_or(0), false)
}

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}
