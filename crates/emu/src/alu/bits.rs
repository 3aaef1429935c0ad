//! Bits: exact (PTX ISA, Logic and Shift, and the bit-field part of Integer Arithmetic).
//!
//! Misses: positions above 255 in `bfe` and `bfi`, which PTX does not allow: the low byte counts here, an H200 takes all bits
//! in the 64-bit forms.

use super::int::Int;
use super::lane::{Body, ops, pick};
use super::{AluOp, Args, Asked, Run, run};
use crate::planes::{LANES, Planes, V32};
use prlx_isa::ptx::Op;
use prlx_isa::view::{Operand, Type};

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
    SextClamp(a: i32, b: u32) -> i32 { if b >= 32 { a } else if b == 0 { 0 } else { a << (32 - b) >> (32 - b) } }
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
impl Body for Lop3 {
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

/// `lop3.or`, `lop3.and`: [`Args::imm`] is the table, and bit 8 for `and`. The predicate is whether the result has a bit, joined
/// with the fourth source.
pub struct Lop3Pred;
impl Body for Lop3Pred {
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

/// `prmt`: each nibble of the selector names a byte of `b:a`; its top bit repeats that byte's sign instead. The other
/// modes are ways to make such a selector from two bits: [`Args::imm`] is an index into [`PRMT_MODES`].
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
impl Body for Prmt {
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
impl Body for PrmtConst {
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
impl Body for Pred {
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

/// Chooses an operation on bits.
#[rustfmt::skip]
pub(super) fn select(op: Op, x: &Asked) -> Result<AluOp, String> {
    let (t, l) = (x.ty, x.level);
    let u = Type::U32;
    let logic = |kind: u64, run: Option<Run>, n: usize| match t {
        Type::Pred => x.op(Some(pick::<Pred>(l)), t, &[t; 2][..n], kind),
        _ => x.op(run, t, &[t; 2][..n], 0),
    };
    match op {
        Op::And => { x.only(&[])?; logic(0, run!(l, t; B16 => And<u16>, B32 => And<u32>, B64 => And<u64>), 2) }
        Op::Or => { x.only(&[])?; logic(1, run!(l, t; B16 => Or<u16>, B32 => Or<u32>, B64 => Or<u64>), 2) }
        Op::Xor => { x.only(&[])?; logic(2, run!(l, t; B16 => Xor<u16>, B32 => Xor<u32>, B64 => Xor<u64>), 2) }
        Op::Not => { x.only(&[])?; logic(3, run!(l, t; B16 => Not<u16>, B32 => Not<u32>, B64 => Not<u64>), 1) }
        Op::Cnot => { x.only(&[])?; x.op(run!(l, t; B16 => Cnot<u16>, B32 => Cnot<u32>, B64 => Cnot<u64>), t, &[t], 0) }
        Op::Shl => { x.only(&[])?; x.op(run!(l, t; B16 => Shl<u16>, B32 => Shl<u32>, B64 => Shl<u64>), t, &[t, u], 0) }
        Op::Shr => {
            x.only(&[])?;
            let run = run!(l, t; B16 | U16 => Shr<u16>, S16 => Shr<i16>, B32 | U32 => Shr<u32>, S32 => Shr<i32>, B64 | U64 => Shr<u64>, S64 => Shr<i64>);
            x.op(run, t, &[t, u], 0)
        }
        Op::Shf => {
            x.only(&["l", "r", "wrap", "clamp"])?;
            let run = match (x.has("l"), x.has("wrap")) {
                (true, true) => run!(l, t; B32 => ShfLWrap),
                (true, false) => run!(l, t; B32 => ShfLClamp),
                (false, true) => run!(l, t; B32 => ShfRWrap),
                (false, false) => run!(l, t; B32 => ShfRClamp),
            };
            x.op(run, t, &[t, t, u], 0)
        }
        Op::Lop3 => {
            x.only(&["and", "or"])?;
            let Some(&Operand::Int(table)) = x.inst.operands.get(4) else {
                return Err("the table of `lop3` must be a constant".to_owned());
            };
            let table = table as u64 & 0xff;
            if t != Type::B32 || !(x.has("and") || x.has("or")) {
                return x.op(run!(l, t; B32 => Lop3), t, &[t; 3], table);
            }
            let imm = table | u64::from(x.has("and")) << 8;
            Ok(AluOp { run: pick::<Lop3Pred>(l), dst: vec![t, Type::Pred], src: vec![t, t, t, Type::Pred], imm })
        }
        Op::Prmt => {
            let mode = match x.inst.form.mods.as_slice() {
                [] => 0,
                [m] => PRMT_MODES.iter().position(|(n, _)| n == m).ok_or_else(|| format!("`prmt` has no mode `.{m}`"))?,
                _ => return Err("`prmt` takes one mode".to_owned()),
            };
            match x.inst.operands.get(3) {
                Some(&Operand::Int(selector)) if mode == 0 => {
                    x.op(run!(l, t; B32 => PrmtConst), t, &[t; 2], selector as u64 & 0xffff)
                }
                _ => x.op(run!(l, t; B32 => Prmt), t, &[t; 3], mode as u64),
            }
        }
        Op::Popc => { x.only(&[])?; x.op(run!(l, t; B32 => Popc32, B64 => Popc64), u, &[t], 0) }
        Op::Clz => { x.only(&[])?; x.op(run!(l, t; B32 => Clz32, B64 => Clz64), u, &[t], 0) }
        Op::Brev => { x.only(&[])?; x.op(run!(l, t; B32 => Brev32, B64 => Brev64), t, &[t], 0) }
        Op::Bfind if x.has("shiftamt") => {
            x.only(&["shiftamt"])?;
            x.op(run!(l, t; U32 => BfindShift<u32>, S32 => BfindShift<i32>, U64 => BfindShift<u64>, S64 => BfindShift<i64>), u, &[t], 0)
        }
        Op::Bfind => { x.only(&[])?; x.op(run!(l, t; U32 => Bfind<u32>, S32 => Bfind<i32>, U64 => Bfind<u64>, S64 => Bfind<i64>), u, &[t], 0) }
        Op::Fns => { x.only(&[])?; x.op(run!(l, t; B32 => Fns), u, &[u, u, Type::S32], 0) }
        Op::Bfe => { x.only(&[])?; x.op(run!(l, t; U32 => Bfe<u32>, S32 => Bfe<i32>, U64 => Bfe<u64>, S64 => Bfe<i64>), t, &[t, u, u], 0) }
        Op::Bfi => { x.only(&[])?; x.op(run!(l, t; B32 => Bfi32, B64 => Bfi64), t, &[t, t, u, u], 0) }
        Op::Bmsk => {
            x.only(&["clamp", "wrap"])?;
            x.op(if x.has("wrap") { run!(l, t; B32 => BmskWrap) } else { run!(l, t; B32 => BmskClamp) }, t, &[u; 2], 0)
        }
        Op::Szext => {
            x.only(&["clamp", "wrap"])?;
            let run = if x.has("wrap") { run!(l, t; U32 => ZextWrap, S32 => SextWrap) } else { run!(l, t; U32 => ZextClamp, S32 => SextClamp) };
            x.op(run, t, &[t, u], 0)
        }
        _ => Err(format!("`{}` is not an operation on bits", op.mnemonic())),
    }
}
