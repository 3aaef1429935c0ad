//! Video instructions, scalar and SIMD (PTX ISA, Scalar Video Instructions, SIMD Video Instructions).
//!
//! # Invariants
//! The first operation is exact. Parts are extended by the sign of their operand's type, and `.sat` clamps to
//! the type and the parts of the destination. In a scalar form the result is cut to 32 bits of the
//! destination's type before the second operation. The code that `ptxas` generates does so too; no hardware
//! since sm_50 has these instructions. The sum of a SIMD form (`.add`) takes the results before they are cut,
//! as `ptxas` does.
//!
//! # Limitations
//! `vmad` does not accept negated operands.

use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};

/// The first operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// The sum of the parts.
    Add,
    /// The difference of the parts.
    Sub,
    /// Absolute value of the difference.
    AbsDiff,
    /// The smaller of the two.
    Min,
    /// The larger of the two.
    Max,
    /// Average, rounded away from zero for sums of at least 0.
    Average,
    /// Shift to the left.
    Shl,
    /// Shift to the right.
    Shr,
    /// Product plus the third source.
    Mad,
    /// 1 where a comparison holds, else 0.
    Set,
}
const FIRST: [First; 10] = {
    use First::*;
    [Add, Sub, AbsDiff, Min, Max, Average, Shl, Shr, Mad, Set]
};
/// PTX names of the second operations, which combine the result with the third source.
pub const SECOND: [&str; 3] = ["add", "min", "max"];
/// PTX names of the comparisons of [`First::Set`].
pub const RELATIONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// A video instruction with all its modifiers. [`Form::pack`] encodes it as an [`Args::imm`].
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The first operation.
    pub first: First,
    /// The second operation: 0 for none, else 1 + its index in [`SECOND`].
    pub second: u32,
    /// Index of the comparison in [`RELATIONS`].
    pub relation: u32,
    /// Whether the types of the destination, of A and of B are signed.
    pub signed: [bool; 3],
    /// Clamp to the range of the destination (`.sat`).
    pub sat: bool,
    /// Use only the low five bits of a shift amount (`.wrap`); else clamp it to 32.
    pub wrap: bool,
    /// Add 1 to the sum of `vmad` (`.po`).
    pub plus_one: bool,
    /// Right shift of the sum of `vmad`, in bits: 0, 7 or 15.
    pub shift: u32,
    /// Width in bits (32, 16 or 8) of the parts of the destination, of A and of B.
    pub bits: [u32; 3],
    /// Which parts of A and B the operation reads: four octal digits each, the first part in the low digit. A
    /// scalar form reads one part.
    pub from: [u32; 2],
    /// Mask of the parts of the destination that are written.
    pub mask: u32,
    /// Whether the instruction works on pairs or quads of parts (SIMD form).
    pub packed: bool,
}

const WIDTHS: [u32; 3] = [32, 16, 8];

impl Form {
    /// The form as an [`Args::imm`].
    pub fn pack(self) -> u64 {
        let width = |b: u32| WIDTHS.iter().position(|w| *w == b).unwrap_or(0) as u64;
        let bit = u64::from;
        let mut imm = FIRST.iter().position(|f| *f == self.first).unwrap_or(0) as u64;
        imm |= u64::from(self.second) << 4 | u64::from(self.relation) << 6;
        imm |= bit(self.signed[0]) << 9 | bit(self.signed[1]) << 10 | bit(self.signed[2]) << 11;
        imm |= bit(self.sat) << 12 | bit(self.wrap) << 13 | bit(self.plus_one) << 14 | bit(self.packed) << 15;
        imm |= u64::from(self.shift) << 16 | u64::from(self.mask) << 20;
        imm |= width(self.bits[0]) << 24 | width(self.bits[1]) << 26 | width(self.bits[2]) << 28;
        imm | u64::from(self.from[0]) << 32 | u64::from(self.from[1]) << 44
    }
    #[inline(always)]
    fn unpack(imm: u64) -> Form {
        let (low, bit) = (imm as u32, |at: u32| imm >> at & 1 == 1);
        let width = |at: u32| WIDTHS[((low >> at & 3) as usize).min(2)];
        Form {
            first: FIRST[((low & 15) as usize).min(FIRST.len() - 1)],
            second: low >> 4 & 3,
            relation: low >> 6 & 7,
            signed: [bit(9), bit(10), bit(11)],
            sat: bit(12),
            wrap: bit(13),
            plus_one: bit(14),
            packed: bit(15),
            shift: low >> 16 & 15,
            mask: low >> 20 & 15,
            bits: [width(24), width(26), width(28)],
            from: [(imm >> 32) as u32 & 0xfff, (imm >> 44) as u32 & 0xfff],
        }
    }
}

/// Part number `n` of width `bits`, sign- or zero-extended.
#[inline(always)]
fn part(v: u64, n: u32, bits: u32, signed: bool) -> i64 {
    let up = v << (64 - bits - (n * bits).min(64 - bits));
    if signed { up as i64 >> (64 - bits) } else { (up >> (64 - bits)) as i64 }
}

/// The least and the greatest value of a type.
#[inline(always)]
fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

#[inline(always)]
fn first(f: &Form, a: i64, b: i64) -> i64 {
    match f.first {
        First::Add => a + b,
        First::Sub => a - b,
        First::AbsDiff => (a - b).abs(),
        First::Min => a.min(b),
        First::Max => a.max(b),
        First::Average => (a + b + i64::from(a + b >= 0)) >> 1,
        First::Shl | First::Shr => {
            let by = if f.wrap { b & 31 } else { b.min(32) };
            if f.first == First::Shl { a << by } else { a >> by }
        }
        First::Mad => a * b,
        First::Set => i64::from(match f.relation {
            0 => a == b,
            1 => a != b,
            2 => a < b,
            3 => a <= b,
            4 => a > b,
            _ => a >= b,
        }),
    }
}

/// The result of a scalar form for one lane.
#[inline(always)]
fn scalar(f: &Form, a: u32, b: u32, c: u32) -> u32 {
    let x = part(a.into(), f.from[0] & 7, f.bits[1], f.signed[1]);
    let y = part(b.into(), f.from[1] & 7, f.bits[2], f.signed[2]);
    let extended = part(c.into(), 0, 32, f.signed[0]);
    let mut r = if f.first == First::Mad {
        // 66 bits: exact in 128.
        let signed = f.signed[1] || f.signed[2];
        let c = i128::from(part(c.into(), 0, 32, signed));
        let sum = (i128::from(x) * i128::from(y) + c + i128::from(f.plus_one)) >> f.shift;
        let (least, greatest) = range(32, signed);
        return if f.sat { sum.clamp(least.into(), greatest.into()) } else { sum } as u32;
    } else {
        first(f, x, y)
    };
    if f.sat {
        let (least, greatest) = range(f.bits[0], f.signed[0]);
        r = r.clamp(least, greatest);
    }
    let cut = part(r as u64, 0, 32, f.signed[0]);
    match f.second {
        1 => (cut + extended) as u32,
        2 => cut.min(extended) as u32,
        3 => cut.max(extended) as u32,
        _ if f.bits[0] == 32 => r as u32,
        _ => merge(f, [r; 4], c),
    }
}

/// Merges the results into `c`: parts outside the form's mask keep the bits of `c`.
#[inline(always)]
fn merge(f: &Form, r: [i64; 4], c: u32) -> u32 {
    let (bits, mut out) = (f.bits[0], c);
    for i in 0..32 / bits {
        if f.mask >> i & 1 == 1 {
            let keep = (((1u64 << bits) - 1) as u32) << (i * bits);
            out = out & !keep | (r[i as usize] as u32) << (i * bits) & keep;
        }
    }
    out
}

/// The result of a SIMD form (pairs or quads of parts) for one lane.
#[inline(always)]
fn packed(f: &Form, a: u32, b: u32, c: u32) -> u32 {
    let (bits, both) = (f.bits[0], u64::from(b) << 32 | u64::from(a));
    let (least, greatest) = range(bits, f.signed[0]);
    let (mut r, mut sum) = ([0; 4], i64::from(c));
    for i in 0..32 / bits {
        let x = part(both, f.from[0] >> (3 * i) & 7, bits, f.signed[1]);
        let y = part(both, f.from[1] >> (3 * i) & 7, bits, f.signed[2]);
        let v = first(f, x, y);
        r[i as usize] = if f.sat { v.clamp(least, greatest) } else { v };
        sum += if f.mask >> i & 1 == 1 { r[i as usize] } else { 0 };
    }
    if f.second == 1 { sum as u32 } else { merge(f, r, c) }
}

/// Every video instruction. [`Args::imm`] is the packed [`Form`].
pub struct Video;
impl LaneOp for Video {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let f = Form::unpack(args.imm);
        let (a, b, c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        let mut out = V32([0; LANES]);
        for l in 0..LANES {
            let (a, b, c) = (a.0[l], b.0[l], c.0[l]);
            out.0[l] = if f.packed { packed(&f, a, b, c) } else { scalar(&f, a, b, c) };
        }
        p.put32(args.dst[0], mask, out);
    }
}
