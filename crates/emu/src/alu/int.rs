//! Integers and bits: exact (PTX ISA, Integer Arithmetic, Extended-Precision Integer Arithmetic, Logic and Shift).

use super::lane::{Body, Val, ops};
use super::{Args, Level, Run};
use crate::planes::{LANES, Planes};

/// An integer lane type.
pub trait Int: Val + Eq + Ord {
    /// Its bits, zero-extended.
    fn bits(self) -> u64;
    /// From the low bits of a value.
    fn wrap(v: i128) -> Self;
    /// Its value.
    fn wide(self) -> i128;
    /// Width.
    const BITS: u32;
    /// Whether negative values exist.
    const SIGNED: bool;
    /// Wrapping sum.
    fn add(self, o: Self) -> Self;
    /// Wrapping difference.
    fn sub(self, o: Self) -> Self;
    /// Low half of the product.
    fn mul(self, o: Self) -> Self;
    /// Quotient; PTX leaves division by zero unspecified, hardware gives all ones.
    fn div(self, o: Self) -> Self;
    /// Remainder; by zero: the dividend, as hardware gives.
    fn rem(self, o: Self) -> Self;
    /// Left shift; amounts of the width or more give 0.
    fn shl(self, n: u32) -> Self;
    /// Right shift by sign; amounts clamp to the width.
    fn shr(self, n: u32) -> Self;
    /// High half of the product.
    fn mul_hi(self, o: Self) -> Self;
    /// Saturating sum.
    fn add_sat(self, o: Self) -> Self;
    /// Saturating difference.
    fn sub_sat(self, o: Self) -> Self;
    /// Two's complement.
    fn neg(self) -> Self;
    /// Magnitude; the smallest value stays.
    fn abs(self) -> Self;
}

macro_rules! ints {
    ($($t:ident $u:ident $w:ident $signed:literal;)*) => { $(
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            const SIGNED: bool = $signed;
            #[inline(always)] fn bits(self) -> u64 { self as $u as u64 }
            #[inline(always)] fn wrap(v: i128) -> Self { v as $t }
            #[inline(always)] fn wide(self) -> i128 { self as i128 }
            #[inline(always)] fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)] fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)] fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)] fn div(self, o: Self) -> Self { if o == 0 { !0 } else { self.wrapping_div(o) } }
            #[inline(always)] fn rem(self, o: Self) -> Self { if o == 0 { self } else { self.wrapping_rem(o) } }
            #[inline(always)] fn shl(self, n: u32) -> Self { if n >= Self::BITS { 0 } else { self << n } }
            #[inline(always)] fn shr(self, n: u32) -> Self {
                if n >= Self::BITS { if $signed { self >> (Self::BITS - 1) } else { 0 } } else { self >> n }
            }
            #[inline(always)] fn mul_hi(self, o: Self) -> Self { ((self as $w * o as $w) >> Self::BITS) as $t }
            #[inline(always)] fn add_sat(self, o: Self) -> Self { self.saturating_add(o) }
            #[inline(always)] fn sub_sat(self, o: Self) -> Self { self.saturating_sub(o) }
            #[inline(always)] fn neg(self) -> Self { (0 as $t).wrapping_sub(self) }
            #[inline(always)] #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
            fn abs(self) -> Self { if self < 0 { (0 as $t).wrapping_sub(self) } else { self } }
        }
    )* };
}
ints! { u8 u8 u16 false; i8 u8 i16 true; u16 u16 u32 false; i16 u16 i32 true; u32 u32 u64 false; i32 u32 i64 true; u64 u64 u128 false; i64 u64 i128 true; }

ops! {
    /// `mov`.
    Mov<T: Val>(a: T) -> T { a }
    /// `add`.
    Add<T: Int>(a: T, b: T) -> T { a.add(b) }
    /// `sub`.
    Sub<T: Int>(a: T, b: T) -> T { a.sub(b) }
    /// `add.sat`.
    AddSat<T: Int>(a: T, b: T) -> T { a.add_sat(b) }
    /// `sub.sat`.
    SubSat<T: Int>(a: T, b: T) -> T { a.sub_sat(b) }
    /// `mul.lo`.
    Mul<T: Int>(a: T, b: T) -> T { a.mul(b) }
    /// `mul.hi`.
    MulHi<T: Int>(a: T, b: T) -> T { a.mul_hi(b) }
    /// `mul.wide.u16`.
    MulWideU16(a: u16, b: u16) -> u32 { u32::from(a) * u32::from(b) }
    /// `mul.wide.s16`.
    MulWideS16(a: i16, b: i16) -> i32 { i32::from(a) * i32::from(b) }
    /// `mul.wide.u32`.
    MulWideU32(a: u32, b: u32) -> u64 { u64::from(a) * u64::from(b) }
    /// `mul.wide.s32`.
    MulWideS32(a: i32, b: i32) -> i64 { i64::from(a) * i64::from(b) }
    /// `mad.lo`.
    Mad<T: Int>(a: T, b: T, c: T) -> T { a.mul(b).add(c) }
    /// `mad.hi`.
    MadHi<T: Int>(a: T, b: T, c: T) -> T { a.mul_hi(b).add(c) }
    /// `mad.hi.sat.s32`.
    MadHiSat(a: i32, b: i32, c: i32) -> i32 { a.mul_hi(b).saturating_add(c) }
    /// `mad.wide.u16`.
    MadWideU16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    /// `mad.wide.s16`.
    MadWideS16(a: i16, b: i16, c: i32) -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }
    /// `mad.wide.u32`.
    MadWideU32(a: u32, b: u32, c: u64) -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }
    /// `mad.wide.s32`.
    MadWideS32(a: i32, b: i32, c: i64) -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }
    /// `mul24.lo.u32`: the low 32 bits of the 48-bit product.
    Mul24LoU(a: u32, b: u32) -> u32 { ((u64::from(a & 0xff_ffff)) * u64::from(b & 0xff_ffff)) as u32 }
    /// `mul24.lo.s32`.
    Mul24LoS(a: i32, b: i32) -> i32 { (i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) as i32 }
    /// `mul24.hi.u32`: bits 16..48 of the 48-bit product.
    Mul24HiU(a: u32, b: u32) -> u32 { ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 16) as u32 }
    /// `mul24.hi.s32`.
    Mul24HiS(a: i32, b: i32) -> i32 { ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32 }
    /// `mad24.lo.u32`.
    Mad24LoU(a: u32, b: u32, c: u32) -> u32 { ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32).wrapping_add(c) }
    /// `mad24.lo.s32`.
    Mad24LoS(a: i32, b: i32, c: i32) -> i32 { ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) as i32).wrapping_add(c) }
    /// `sad`: c + |a - b|.
    Sad<T: Int>(a: T, b: T, c: T) -> T { c.add(if a < b { b.sub(a) } else { a.sub(b) }) }
    /// `div`.
    Div<T: Int>(a: T, b: T) -> T { a.div(b) }
    /// `rem`.
    Rem<T: Int>(a: T, b: T) -> T { a.rem(b) }
    /// `neg`.
    Neg<T: Int>(a: T) -> T { a.neg() }
    /// `abs`.
    Abs<T: Int>(a: T) -> T { a.abs() }
    /// `min`.
    Min<T: Int>(a: T, b: T) -> T { if b < a { b } else { a } }
    /// `max`.
    Max<T: Int>(a: T, b: T) -> T { if b > a { b } else { a } }
    /// `min.relu`.
    MinRelu(a: i32, b: i32) -> i32 { a.min(b).max(0) }
    /// `max.relu`.
    MaxRelu(a: i32, b: i32) -> i32 { a.max(b).max(0) }
    /// `and`.
    And<T: Int>(a: T, b: T) -> T { T::wrap((a.bits() & b.bits()) as i128) }
    /// `or`.
    Or<T: Int>(a: T, b: T) -> T { T::wrap((a.bits() | b.bits()) as i128) }
    /// `xor`.
    Xor<T: Int>(a: T, b: T) -> T { T::wrap((a.bits() ^ b.bits()) as i128) }
    /// `not`.
    Not<T: Int>(a: T) -> T { T::wrap(!a.bits() as i128) }
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
    /// `slct.*.s32`: a if c >= 0, else b.
    SlctS32<T: Val>(a: T, b: T, c: i32) -> T { if c >= 0 { a } else { b } }
    /// `slct.*.f32`: a if c >= 0 (also -0), else b (also NaN).
    SlctF32<T: Val>(a: T, b: T, c: f32) -> T { if c >= 0.0 { a } else { b } }
    /// `slct.ftz.*.f32`: likewise, a subnormal counting as zero.
    SlctF32Ftz<T: Val>(a: T, b: T, c: f32) -> T { if c >= 0.0 || c.is_subnormal() { a } else { b } }
    /// `selp`.
    Selp<T: Val>(a: T, b: T, c: bool) -> T { if c { a } else { b } }
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
        let [a, b, c] = [0, 1, 2].map(|i| p.get32(args.src[i]).0);
        let term = |i: u32| if args.imm >> i & 1 == 1 { u32::MAX } else { 0 };
        let t = [0, 1, 2, 3, 4, 5, 6, 7].map(term);
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            let (a, b, c) = (a[l], b[l], c[l]);
            out[l] = (t[0] & !a & !b & !c) | (t[1] & !a & !b & c) | (t[2] & !a & b & !c) | (t[3] & !a & b & c);
            out[l] |= (t[4] & a & !b & !c) | (t[5] & a & !b & c) | (t[6] & a & b & !c) | (t[7] & a & b & c);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// `prmt`: [`Args::imm`] is the mode, an index into [`PRMT_MODES`].
pub struct Prmt;
/// Modes of `prmt`; the default, without a name, is 0.
pub const PRMT_MODES: &[&str] = &["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
impl Body for Prmt {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [a, b, c] = [0, 1, 2].map(|i| p.get32(args.src[i]).0);
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = prmt(a[l], b[l], c[l], args.imm);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// PTX ISA, prmt: each nibble of the selector names a byte of `b:a`; its top bit replicates that byte's sign.
fn prmt(a: u32, b: u32, c: u32, mode: u64) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let s = c & 3;
    let chosen: [u32; 4] = match mode {
        0 => [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15],
        1 => [s, s + 1, s + 2, s + 3],
        2 => [s, s + 7 & 7, s + 6 & 7, s + 5 & 7],
        3 => [s; 4],
        4 => [s, s.max(1), s.max(2), 3],
        5 => [0, s.min(1), s.min(2), s],
        _ => [s & 1, s & 1, s & 1, s & 1].map(|h| h * 2),
    };
    let mut out = [0u8; 4];
    for (i, o) in out.iter_mut().enumerate() {
        let n = chosen[i];
        // rc16 repeats a half word: its odd bytes are the upper ones.
        let byte = bytes[(n & 7) as usize + usize::from(mode == 6) * (i & 1)];
        *o = if mode == 0 && n & 8 != 0 { if byte & 0x80 != 0 { 0xff } else { 0 } } else { byte };
    }
    u32::from_le_bytes(out)
}

/// Carry chains: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`. [`Args::imm`]: [`CARRY_IN`], [`CARRY_OUT`].
pub struct Chain<T, const KIND: u8>(std::marker::PhantomData<T>);
/// Takes the carry flag.
pub const CARRY_IN: u64 = 1;
/// Sets the carry flag.
pub const CARRY_OUT: u64 = 2;
impl<T: Int, const KIND: u8> Body for Chain<T, KIND> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (T::load(p, args.src[0]), T::load(p, args.src[1]));
        let c = if KIND >= 2 { T::load(p, args.src[2]) } else { a };
        let carry = if args.imm & CARRY_IN != 0 { p.carry } else { 0 };
        let (mut out, mut flags) = (a, 0u32);
        for l in 0..LANES {
            let cin = u128::from(carry >> l & 1);
            let (x, y) = (u128::from(a[l].bits()), u128::from(b[l].bits()));
            // Sum, difference (the flag is a borrow), low and high half of the product plus c.
            let (r, flag) = match KIND {
                0 => { let r = x + y + cin; (r, r >> T::BITS & 1 == 1) }
                1 => (x.wrapping_sub(y).wrapping_sub(cin), x < y + cin),
                2 => { let r = u128::from(a[l].mul(b[l]).bits()) + u128::from(c[l].bits()) + cin; (r, r >> T::BITS & 1 == 1) }
                _ => { let r = u128::from(a[l].mul_hi(b[l]).bits()) + u128::from(c[l].bits()) + cin; (r, r >> T::BITS & 1 == 1) }
            };
            out[l] = T::wrap(r as i128);
            flags |= u32::from(flag) << l;
        }
        T::store(p, args.dst[0], mask, &out);
        if args.imm & CARRY_OUT != 0 {
            p.put_carry(mask, flags);
        }
    }
}

/// `dp4a` and `dp2a`: [`Args::imm`] has bit 0 for signed a, bit 1 for signed b, bit 2 for `dp2a`, bit 3 for its `.hi`.
pub struct Dot;
impl Body for Dot {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [a, b, c] = [0, 1, 2].map(|i| p.get32(args.src[i]).0);
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = dot(a[l], b[l], c[l], args.imm);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

fn dot(a: u32, b: u32, c: u32, how: u64) -> u32 {
    let byte = |v: u32, i: u32, signed: bool| { let x = (v >> (8 * i)) as u8; if signed { i64::from(x as i8) } else { i64::from(x) } };
    let half = |v: u32, i: u32, signed: bool| { let x = (v >> (16 * i)) as u16; if signed { i64::from(x as i16) } else { i64::from(x) } };
    let (sa, sb) = (how & 1 != 0, how & 2 != 0);
    let sum: i64 = if how & 4 != 0 {
        let first = if how & 8 != 0 { 2 } else { 0 };
        (0..2).map(|i| half(a, i, sa) * byte(b, first + i, sb)).sum()
    } else {
        (0..4).map(|i| byte(a, i, sa) * byte(b, i, sb)).sum()
    };
    c.wrapping_add(sum as u32)
}

/// `and`, `or`, `xor`, `not`, `mov`, `selp` on predicates, as whole masks: [`Args::imm`] is an index into [`PRED_OPS`].
pub struct Pred;
/// The predicate operations that [`Pred`] knows.
pub const PRED_OPS: &[&str] = &["and", "or", "xor", "not", "mov"];
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

/// An integer type by number, for [`with_int`].
#[rustfmt::skip]
macro_rules! with_int {
    ($ty:expr, $level:expr, $name:ident) => {
        match $ty {
            Type::U8 | Type::B8 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<u8>>($level)),
            Type::S8 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<i8>>($level)),
            Type::U16 | Type::B16 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<u16>>($level)),
            Type::S16 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<i16>>($level)),
            Type::U32 | Type::B32 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<u32>>($level)),
            Type::S32 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<i32>>($level)),
            Type::U64 | Type::B64 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<u64>>($level)),
            Type::S64 => Some($crate::alu::lane::pick::<$crate::alu::int::$name<i64>>($level)),
            _ => None,
        }
    };
}
pub(crate) use with_int;

/// The entry of a carry operation: 0 sum, 1 difference, 2 `mad.lo`, 3 `mad.hi`.
pub fn chain(ty: prlx_isa::view::Type, kind: u8, level: Level) -> Option<Run> {
    use prlx_isa::view::Type::{B32, B64, S32, S64, U32, U64};
    macro_rules! by_kind {
        ($t:ty) => {
            match kind {
                0 => super::lane::pick::<Chain<$t, 0>>(level),
                1 => super::lane::pick::<Chain<$t, 1>>(level),
                2 => super::lane::pick::<Chain<$t, 2>>(level),
                _ => super::lane::pick::<Chain<$t, 3>>(level),
            }
        };
    }
    Some(match ty {
        U32 | B32 => by_kind!(u32),
        S32 => by_kind!(i32),
        U64 | B64 => by_kind!(u64),
        S64 => by_kind!(i64),
        _ => return None,
    })
}
