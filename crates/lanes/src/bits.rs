//! Logic, shifts and bit fields (PTX ISA, Logic and Shift Instructions; Integer Arithmetic: `popc`, `clz`,
//! `bfe` …).
//!
//! # Limitations
//! `bfe` and `bfi` use the low byte of position and length. PTX forbids larger values; for them an H200 uses
//! all bits in the 64-bit forms.

use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::value::ops;

ops! {
    /// `and`.
    And<T: Int>(a: T, b: T) -> T { a.and(b) }
    /// `or`.
    Or<T: Int>(a: T, b: T) -> T { a.or(b) }
    /// `xor`.
    Xor<T: Int>(a: T, b: T) -> T { a.xor(b) }
    /// `not`.
    Not<T: Int>(a: T) -> T { a.not() }
    /// `cnot`: 1 if zero, else 0.
    Cnot<T: Int>(a: T) -> T { T::wrap(i128::from(a.bits() == 0)) }
    /// `shl`.
    Shl<T: Int>(a: T, n: u32) -> T { a.shl(n) }
    /// `shr`.
    Shr<T: Int>(a: T, n: u32) -> T { a.shr(n) }
    /// `shf.l.wrap`: the high word of (b:a) << (c mod 32).
    ShfLWrap(a: u32, b: u32, c: u32) -> u32 { shf_l(a, b, c & 31) }
    /// `shf.l.clamp`.
    ShfLClamp(a: u32, b: u32, c: u32) -> u32 { shf_l(a, b, c.min(32)) }
    /// `shf.r.wrap`: the low word of (b:a) >> (c mod 32).
    ShfRWrap(a: u32, b: u32, c: u32) -> u32 { shf_r(a, b, c & 31) }
    /// `shf.r.clamp`.
    ShfRClamp(a: u32, b: u32, c: u32) -> u32 { shf_r(a, b, c.min(32)) }
    /// `popc.b32`.
    Popc32(a: u32) -> u32 { a.count_ones() }
    /// `popc.b64`.
    Popc64(a: u64) -> u32 { a.count_ones() }
    /// `clz.b32`.
    Clz32(a: u32) -> u32 { a.leading_zeros() }
    /// `clz.b64`.
    Clz64(a: u64) -> u32 { a.leading_zeros() }
    /// `brev.b32`.
    Brev32(a: u32) -> u32 { a.reverse_bits() }
    /// `brev.b64`.
    Brev64(a: u64) -> u64 { a.reverse_bits() }
    /// `bfind`: position of the highest bit that differs from the sign; all ones if there is none.
    Bfind<T: Int>(a: T) -> u32 { bfind(a, false) }
    /// `bfind.shiftamt`: by how much to shift left to bring it to the top.
    BfindShift<T: Int>(a: T) -> u32 { bfind(a, true) }
    /// `fns.b32`: the n-th set bit from a base.
    Fns(mask: u32, base: u32, n: i32) -> u32 { fns(mask, base, n) }
    /// `bfe`.
    Bfe<T: Int>(a: T, b: u32, c: u32) -> T { bfe(a, b, c) }
    /// `bfi.b32`: the low d bits of a go to b at c.
    Bfi32(a: u32, b: u32, c: u32, d: u32) -> u32 { bfi(u64::from(a), u64::from(b), c, d, 32) as u32 }
    /// `bfi.b64`.
    Bfi64(a: u64, b: u64, c: u32, d: u32) -> u64 { bfi(a, b, c, d, 64) }
    /// `bmsk.clamp`: b ones from bit a.
    BmskClamp(a: u32, b: u32) -> u32 { bmsk(a, b) }
    /// `bmsk.wrap`.
    BmskWrap(a: u32, b: u32) -> u32 { bmsk(a & 31, b & 31) }
    /// `szext.clamp.u32`.
    ZextClamp(a: u32, b: u32) -> u32 { if b >= 32 { a } else { a & ((1 << b) - 1) } }
    /// `szext.wrap.u32`.
    ZextWrap(a: u32, b: u32) -> u32 { a & ((1 << (b & 31)) - 1) }
    /// `szext.clamp.s32`.
    SextClamp(a: i32, b: u32) -> i32 { if b >= 32 { a } else if b == 0 { 0 } else {
        a << (32 - b) >> (32 - b) } }
    /// `szext.wrap.s32`.
    SextWrap(a: i32, b: u32) -> i32 { let b = b & 31; if b == 0 { 0 } else { a << (32 - b) >> (32 - b) } }
}

#[inline(always)]
fn shf_l(a: u32, b: u32, c: u32) -> u32 {
    ((((u64::from(b) << 32) | u64::from(a)) << c) >> 32) as u32
}

#[inline(always)]
fn shf_r(a: u32, b: u32, c: u32) -> u32 {
    (((u64::from(b) << 32) | u64::from(a)) >> c) as u32
}

#[inline(always)]
fn bfind<T: Int>(a: T, shift: bool) -> u32 {
    let v = a.wide();
    // The highest bit that differs from the sign: of !a for negative values.
    let magnitude = if v < 0 { !v as u64 } else { v as u64 };
    if magnitude == 0 {
        return u32::MAX;
    }
    let position = 63 - magnitude.leading_zeros();
    if shift { T::BITS - 1 - position } else { position }
}

#[inline(always)]
fn fns(mask: u32, base: u32, n: i32) -> u32 {
    let base = base & 31;
    if n == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let (mut left, mut at) = (n.unsigned_abs(), i64::from(base));
    let step = i64::from(n.signum());
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// PTX ISA, bfe: position and length are the low byte; past the top the sign bit (or 0) repeats.
#[inline(always)]
fn bfe<T: Int>(a: T, b: u32, c: u32) -> T {
    let (pos, len, msb) = (b & 0xff, c & 0xff, T::BITS - 1);
    if len == 0 {
        return T::wrap(0);
    }
    let bits = a.bits();
    let sign = if T::SIGNED { bits >> (pos + len - 1).min(msb) & 1 } else { 0 };
    let field = if pos > msb { 0 } else { bits >> pos };
    let valid = len.min((msb + 1).saturating_sub(pos));
    let keep = if valid >= 64 { u64::MAX } else { (1u64 << valid) - 1 };
    let fill = if sign == 1 { !keep } else { 0 };
    T::wrap(((field & keep) | fill) as i128)
}

#[inline(always)]
fn bfi(a: u64, b: u64, c: u32, d: u32, width: u32) -> u64 {
    let (pos, len) = (c & 0xff, d & 0xff);
    if pos >= width || len == 0 {
        return b;
    }
    let len = len.min(width - pos);
    let field = if len >= 64 { u64::MAX } else { ((1u64 << len) - 1) << pos };
    (b & !field) | ((a << pos) & field)
}

#[inline(always)]
fn bmsk(a: u32, b: u32) -> u32 {
    let ones = if b >= 32 { u64::from(u32::MAX) } else { (1u64 << b) - 1 };
    if a >= 32 { 0 } else { (ones << a) as u32 }
}

/// `lop3`: [`Args::imm`] is the table.
pub struct Lop3;
impl LaneOp for Lop3 {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b, c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        let bit = |i: u32| 0u32.wrapping_sub((args.imm >> i) as u32 & 1);
        // For each a and b, the value as a function of c: `c & and ^ xor`.
        let (x0, x1, x2, x3) = (bit(0), bit(2), bit(4), bit(6));
        let (n0, n1, n2, n3) = (x0 ^ bit(1), x1 ^ bit(3), x2 ^ bit(5), x3 ^ bit(7));
        let mut out = V32([0; LANES]);
        for l in 0..LANES {
            let (a, b, c) = (a.0[l], b.0[l], c.0[l]);
            let (f0, f1, f2, f3) = ((c & n0) ^ x0, (c & n1) ^ x1, (c & n2) ^ x2, (c & n3) ^ x3);
            let (low, high) = (f0 ^ (b & (f0 ^ f1)), f2 ^ (b & (f2 ^ f3)));
            out.0[l] = low ^ (a & (low ^ high));
        }
        p.put32(args.dst[0], mask, out);
    }
}

/// `lop3.or`, `lop3.and`: [`Args::imm`] is the table, and bit 8 for `and`. The predicate is whether the
/// result has a bit, joined with the fourth source.
pub struct Lop3Pred;
impl LaneOp for Lop3Pred {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let with = p.get_pred(args.src[3]);
        Lop3::run(p, args, mask);
        let mut some = 0u32;
        for l in 0..LANES {
            some |= if p.w32[usize::from(args.dst[0])].0[l] != 0 { 1 << l } else { 0 };
        }
        let joined = if args.imm >> 8 & 1 == 1 { some & with } else { some | with };
        p.put_pred(args.dst[1], mask, joined);
    }
}

/// `prmt`: each nibble of the selector names a byte of `b:a`; its top bit repeats that byte's sign instead.
/// The other modes are ways to make such a selector from two bits: [`Args::imm`] is an index into
/// [`PRMT_MODES`].
pub struct Prmt;
/// Modes of `prmt`, and the selectors that they mean by the two low bits; the default, without a name, is 0.
pub const PRMT_MODES: &[(&str, [u32; 4])] = &[
    ("", [0; 4]),
    ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
    ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
    ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
    ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
    ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
    ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
];
impl LaneOp for Prmt {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b, mut c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        if args.imm != 0 {
            let (_, selectors) = PRMT_MODES[args.imm as usize % PRMT_MODES.len()];
            for l in 0..LANES {
                c.0[l] = selectors[(c.0[l] & 3) as usize];
            }
        }
        let mut out = V32([0; LANES]);
        for l in 0..LANES {
            let bytes = u64::from(b.0[l]) << 32 | u64::from(a.0[l]);
            let mut r = 0;
            for i in 0..4 {
                let n = u64::from(c.0[l] >> (4 * i));
                let byte = (bytes >> ((n & 7) * 8)) as u32 & 0xff;
                let sign = 0u32.wrapping_sub(byte >> 7) & 0xff;
                r |= (if n & 8 != 0 { sign } else { byte }) << (8 * i);
            }
            out.0[l] = r;
        }
        p.put32(args.dst[0], mask, out);
    }
}

/// `prmt` by a constant selector, [`Args::imm`].
pub struct PrmtConst;
impl LaneOp for PrmtConst {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (p.get32(args.src[0]), p.get32(args.src[1]));
        let mut out = V32([0; LANES]);
        for i in 0..4 {
            let n = (args.imm >> (4 * i)) as u32;
            let from = if n & 4 != 0 { &b } else { &a };
            let (down, up, sign) = (8 * (n & 3), 8 * i, n & 8 != 0);
            for l in 0..LANES {
                let byte = from.0[l] >> down & 0xff;
                let byte = if sign { 0u32.wrapping_sub(byte >> 7) & 0xff } else { byte };
                out.0[l] |= byte << up;
            }
        }
        p.put32(args.dst[0], mask, out);
    }
}

/// Predicates as whole masks: [`Args::imm`] is 0 for `and`, 1 `or`, 2 `xor`, 3 `not`, 4 `mov`.
pub struct Pred;
impl LaneOp for Pred {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = p.get_pred(args.src[0]);
        let b = if args.imm < 3 { p.get_pred(args.src[1]) } else { 0 };
        let r = match args.imm {
            0 => a & b,
            1 => a | b,
            2 => a ^ b,
            3 => !a,
            _ => a,
        };
        p.put_pred(args.dst[0], mask, r);
    }
}
