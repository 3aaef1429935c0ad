//! Vector instructions of inserted code.

use prlx_isa::amdgpu::inst::Value;

use super::float;
use super::wave::{Operation, Step, Wave, has_carry};

impl Wave {
    pub(super) fn vector_step(&mut self, Step { inst, values, negated, .. }: &Step) -> Result<(), String> {
        let name = inst.name();
        match (name, &values[..]) {
            ("v_readfirstlane_b32", [to, from]) => {
                let lane = self.exec.trailing_zeros() as usize % 64;
                let value = self.lane(*from, lane, false)?;
                return self.set_scalar(*to, value, false);
            }
            ("v_readlane_b32", [to, from, lane]) => {
                let lane = self.scalar(*lane, false)? as usize % self.lanes as usize;
                let value = self.lane(*from, lane, false)?;
                return self.set_scalar(*to, value, false);
            }
            ("v_writelane_b32", [to, from, lane]) => {
                let lane = self.scalar(*lane, false)? as usize % self.lanes as usize;
                let value = self.scalar(*from, false)?;
                return self.set_lane(*to, lane, value, false);
            }
            _ => {}
        }
        if let Some(rest) = name.strip_prefix("v_cmp_") {
            return self.compare(rest, values);
        }
        let mut carries = 0;
        let mut results: Vec<(usize, u64)> = Vec::new();
        let (to, sources) = values.split_first().ok_or("it has no operands")?;
        let (carry_to, sources) = if has_carry(name) { sources.split_at(1) } else { (&[][..], sources) };
        let shape = Shape::of(name);
        let known = operation(name).ok_or("the verifier knows no such instruction")?;
        let mask = match sources.get(2) {
            Some(mask) if shape.mask => self.mask(*mask)?,
            _ => self.vcc,
        };
        for lane in self.active() {
            let mut operands = [0u64; 3];
            for (at, (value, wide)) in sources.iter().zip(shape.wide).enumerate().take(3) {
                operands[at] = self.lane(*value, lane, wide)?;
            }
            let (value, carry) = match negated {
                0 => known(operands, mask >> lane & 1 == 1, lane),
                _ => (float::fused(operands, *negated), false),
            };
            carries |= u64::from(carry) << lane;
            results.push((lane, value));
        }
        for (lane, value) in results {
            self.set_lane(*to, lane, value, shape.result)?;
        }
        match carry_to {
            [to] => self.set_mask(*to, carries),
            _ => Ok(()),
        }
    }

    fn compare(&mut self, rest: &str, values: &[Value]) -> Result<(), String> {
        let (relation, ty) = rest.split_once('_').ok_or("the verifier knows no such comparison")?;
        let [to, a, b] = values else { return Err("it has not three operands".to_owned()) };
        let wide = ty.ends_with("64");
        let mut holds = 0;
        for lane in self.active() {
            let (a, b) = (self.lane(*a, lane, wide)?, self.lane(*b, lane, wide)?);
            let held =
                super::compare::compare(relation, ty, a, b).ok_or("the verifier knows no such comparison")?;
            holds |= u64::from(held) << lane;
        }
        self.set_mask(*to, holds)
    }
}

/// Which sources and results have 64 bits, and whether the third source is a mask of lanes.
struct Shape {
    wide: [bool; 3],
    result: bool,
    mask: bool,
}

impl Shape {
    fn of(name: &str) -> Shape {
        let none = [false; 3];
        let (wide, result, mask) = match name {
            "v_cndmask_b32" | "v_addc_co_u32" | "v_add_co_ci_u32" | "v_subb_co_u32" | "v_sub_co_ci_u32" => {
                (none, false, true)
            }
            "v_lshlrev_b64" | "v_lshrrev_b64" | "v_ashrrev_i64" => ([false, true, false], true, false),
            "v_mad_u64_u32" | "v_mad_co_u64_u32" => ([false, false, true], true, false),
            "v_add_f64" | "v_mul_f64" => ([true, true, false], true, false),
            _ if name.starts_with("v_cvt_f64") => (none, true, false),
            _ if name.starts_with("v_cvt_") && name.ends_with("f64") => ([true, false, false], false, false),
            _ => (none, false, false),
        };
        Shape { wide, result, mask }
    }
}

/// The operation of a name.
fn operation(name: &str) -> Option<Operation> {
    /// An operation on 32 bits.
    macro_rules! small {
        (|$x:pat_param, $y:pat_param, $z:pat_param| $value:expr) => {
            |[x, y, z], _, _| {
                let ($x, $y, $z) = (x as u32, y as u32, z as u32);
                (u64::from($value), false)
            }
        };
    }
    Some(match name {
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" => small!(|x, _, _| x),
        "v_not_b32" => small!(|x, _, _| !x),
        "v_and_b32" => small!(|x, y, _| x & y),
        "v_or_b32" => small!(|x, y, _| x | y),
        "v_xor_b32" => small!(|x, y, _| x ^ y),
        "v_add_u32" | "v_add_nc_u32" => small!(|x, y, _| x.wrapping_add(y)),
        "v_sub_u32" | "v_sub_nc_u32" => small!(|x, y, _| x.wrapping_sub(y)),
        "v_mul_lo_u32" => small!(|x, y, _| x.wrapping_mul(y)),
        "v_mul_hi_u32" => small!(|x, y, _| ((u64::from(x) * u64::from(y)) >> 32) as u32),
        "v_min_u32" => small!(|x, y, _| x.min(y)),
        "v_max_u32" => small!(|x, y, _| x.max(y)),
        "v_min_i32" => small!(|x, y, _| x.cast_signed().min(y.cast_signed()).cast_unsigned()),
        "v_max_i32" => small!(|x, y, _| x.cast_signed().max(y.cast_signed()).cast_unsigned()),
        "v_lshlrev_b32" => small!(|x, y, _| y << (x & 31)),
        "v_lshrrev_b32" => small!(|x, y, _| y >> (x & 31)),
        "v_ashrrev_i32" => small!(|x, y, _| (y.cast_signed() >> (x & 31)).cast_unsigned()),
        "v_alignbit_b32" => small!(|x, y, z| ((u64::from(x) << 32 | u64::from(y)) >> (z & 31)) as u32),
        "v_lshl_or_b32" => small!(|x, y, z| x << (y & 31) | z),
        "v_bfe_u32" => small!(|x, y, z| field(x, y, z)),
        "v_bfe_i32" => small!(|x, y, z| match z & 31 {
            0 => 0,
            width => (field(x, y, z).cast_signed() << (32 - width) >> (32 - width)).cast_unsigned(),
        }),
        "v_bcnt_u32_b32" => small!(|x, y, _| x.count_ones().wrapping_add(y)),
        "v_ffbh_u32" | "v_clz_i32_u32" => small!(|x, _, _| if x == 0 { u32::MAX } else { x.leading_zeros() }),
        "v_cndmask_b32" => |[a, b, _], bit, _| (if bit { b } else { a }, false),
        "v_mbcnt_lo_u32_b32" => |[a, b, _], _, lane| {
            let below = if lane < 32 { (1u32 << lane) - 1 } else { u32::MAX };
            (u64::from((a as u32 & below).count_ones().wrapping_add(b as u32)), false)
        },
        "v_mbcnt_hi_u32_b32" => |[a, b, _], _, lane| {
            let below = if lane < 32 { 0 } else { (1u32 << (lane - 32)) - 1 };
            (u64::from((a as u32 & below).count_ones().wrapping_add(b as u32)), false)
        },
        "v_add_co_u32" => |[a, b, _], _, _| sum(a, b, false),
        "v_addc_co_u32" | "v_add_co_ci_u32" => |[a, b, _], bit, _| sum(a, b, bit),
        "v_sub_co_u32" => |[a, b, _], _, _| difference(a, b, false),
        "v_subb_co_u32" | "v_sub_co_ci_u32" => |[a, b, _], bit, _| difference(a, b, bit),
        "v_mad_u64_u32" | "v_mad_co_u64_u32" => {
            |[a, b, c], _, _| (u64::from(a as u32) * u64::from(b as u32)).overflowing_add(c)
        }
        "v_lshlrev_b64" => |[a, b, _], _, _| (b << (a & 63), false),
        "v_lshrrev_b64" => |[a, b, _], _, _| (b >> (a & 63), false),
        "v_ashrrev_i64" => |[a, b, _], _, _| ((b.cast_signed() >> (a & 63)).cast_unsigned(), false),
        _ => return float::operation(name),
    })
}

fn sum(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u64::from(a as u32) + u64::from(b as u32) + u64::from(carry);
    (sum & 0xffff_ffff, sum >> 32 != 0)
}

fn difference(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (a, b) = (u64::from(a as u32), u64::from(b as u32) + u64::from(borrow));
    (a.wrapping_sub(b) & 0xffff_ffff, a < b)
}

/// Bits of a number: from one on, so many.
fn field(value: u32, from: u32, width: u32) -> u32 {
    let width = width & 31;
    value >> (from & 31) & ((1u32 << width) - 1)
}
