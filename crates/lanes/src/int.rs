//! Integer arithmetic (PTX ISA, Integer Arithmetic; Extended-Precision Integer Arithmetic).
//!
//! # Invariants
//! Results wrap to the width of the type. PTX leaves division by zero open: quotient and remainder are all
//! ones, as on an H200.

use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::value::{LaneValue, ops};

/// An integer lane type.
pub trait Int: LaneValue + Eq + Ord {
    /// Its bits, zero-extended.
    fn bits(self) -> u64;
    /// From the low bits of a value.
    fn wrap(v: i128) -> Self;
    /// The value in 128 bits.
    fn wide(self) -> i128;
    /// Extended to 64 bits by its own sign.
    fn ext(self) -> i64;
    /// The low bits of a value.
    fn low(v: u64) -> Self;
    /// The width in bits.
    const BITS: u32;
    /// Whether negative values exist.
    const SIGNED: bool;
    /// The sum, wrapped to the width.
    fn add(self, o: Self) -> Self;
    /// The difference, wrapped to the width.
    fn sub(self, o: Self) -> Self;
    /// Low half of the product.
    fn mul(self, o: Self) -> Self;
    /// Quotient; PTX leaves division by zero unspecified, hardware gives all ones.
    fn div(self, o: Self) -> Self;
    /// Remainder; by zero: all ones, as hardware gives.
    fn rem(self, o: Self) -> Self;
    /// Left shift; amounts of the width or more give 0.
    fn shl(self, n: u32) -> Self;
    /// Right shift by sign; amounts clamp to the width.
    fn shr(self, n: u32) -> Self;
    /// High half of the product.
    fn mul_hi(self, o: Self) -> Self;
    /// The sum, clamped to the range of the type.
    fn add_sat(self, o: Self) -> Self;
    /// The difference, clamped to the range of the type.
    fn sub_sat(self, o: Self) -> Self;
    /// The two's complement of the value.
    fn neg(self) -> Self;
    /// Magnitude; the smallest value stays.
    fn abs(self) -> Self;
    /// The bitwise AND of the values.
    fn and(self, o: Self) -> Self;
    /// The bitwise OR of the values.
    fn or(self, o: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, o: Self) -> Self;
    /// The bitwise complement of the value.
    fn not(self) -> Self;
}

macro_rules! ints {
    ($($t:ident $u:ident $w:ident $signed:literal;)*) => { $(
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)] fn ext(self) -> i64 { self as i64 }
            #[inline(always)] fn low(v: u64) -> Self { v as $t }
            const SIGNED: bool = $signed;
            #[inline(always)] fn bits(self) -> u64 { self as $u as u64 }
            #[inline(always)] fn wrap(v: i128) -> Self { v as $t }
            #[inline(always)] fn wide(self) -> i128 { self as i128 }
            #[inline(always)] fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)] fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)] fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)] fn div(self, o: Self) -> Self { if o == 0 { !0 } else { self.wrapping_div(o) } }
            #[inline(always)] fn rem(self, o: Self) -> Self { if o == 0 { !0 } else { self.wrapping_rem(o) } }
            #[inline(always)] fn shl(self, n: u32) -> Self { if n >= Self::BITS { 0 } else { self << n } }
            #[inline(always)] fn shr(self, n: u32) -> Self {
                if n >= Self::BITS { if $signed { self >> (Self::BITS - 1) } else { 0 } } else { self >> n }
            }
            #[inline(always)] fn mul_hi(self, o: Self) -> Self {
                ((self as $w * o as $w) >> Self::BITS) as $t }
            #[inline(always)] fn add_sat(self, o: Self) -> Self { self.saturating_add(o) }
            #[inline(always)] fn sub_sat(self, o: Self) -> Self { self.saturating_sub(o) }
            #[inline(always)] fn neg(self) -> Self { (0 as $t).wrapping_sub(self) }
            #[inline(always)] fn and(self, o: Self) -> Self { self & o }
            #[inline(always)] fn or(self, o: Self) -> Self { self | o }
            #[inline(always)] fn xor(self, o: Self) -> Self { self ^ o }
            #[inline(always)] fn not(self) -> Self { !self }
            #[inline(always)] #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
            fn abs(self) -> Self { if self < 0 { (0 as $t).wrapping_sub(self) } else { self } }
        }
    )* };
}
ints! { u8 u8 u16 false; i8 u8 i16 true; u16 u16 u32 false; i16 u16 i32 true; u32 u32 u64 false;
i32 u32 i64 true; u64 u64 u128 false; i64 u64 i128 true; }

ops! {
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
    Mad24LoU(a: u32, b: u32, c: u32) -> u32 {
        ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32).wrapping_add(c) }
    /// `mad24.lo.s32`.
    Mad24LoS(a: i32, b: i32, c: i32) -> i32 {
        ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) as i32).wrapping_add(c) }
    /// `mad24.hi.u32`.
    Mad24HiU(a: u32, b: u32, c: u32) -> u32 {
        (((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 16) as u32).wrapping_add(c) }
    /// `mad24.hi.s32`.
    Mad24HiS(a: i32, b: i32, c: i32) -> i32 {
        ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16).wrapping_add(i64::from(c)) as i32 }
    /// `mad24.hi.sat.s32`.
    Mad24HiSat(a: i32, b: i32, c: i32) -> i32 {
        (((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32).saturating_add(c) }
    /// `sad`: c + |a - b|.
    Sad<T: Int>(a: T, b: T, c: T) -> T { c.add(if a < b { b.sub(a) } else { a.sub(b) }) }
    /// `div`.
    Div<T: Int>(a: T, b: T) -> T { a.div(b) }
    /// `rem`.
    Rem<T: Int>(a: T, b: T) -> T { a.rem(b) }
    /// `div.u32`, in vectors.
    DivU32(a: u32, b: u32) -> u32 { quotient(f64::from(a), f64::from(b)) | if b == 0 { u32::MAX } else { 0 } }
    /// `div.s32`, in vectors.
    DivS32(a: i32, b: i32) -> i32 { quotient(f64::from(a), f64::from(b)) as i32 | if b == 0 { -1 } else {
        0 } }
    /// `rem.u32`, in vectors.
    RemU32(a: u32, b: u32) -> u32 {
        let q = quotient(f64::from(a), f64::from(b));
        a.wrapping_sub(q.wrapping_mul(b)) | if b == 0 { !0 } else { 0 }
    }
    /// `rem.s32`, in vectors.
    RemS32(a: i32, b: i32) -> i32 {
        let q = quotient(f64::from(a), f64::from(b)) as i32;
        a.wrapping_sub(q.wrapping_mul(b)) | if b == 0 { !0 } else { 0 }
    }
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
    /// `add.u16x2`, `add.s16x2`.
    Add16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| a.wrapping_add(b)) }
    /// `min.u16x2`.
    MinU16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| if b < a { b } else { a }) }
    /// `max.u16x2`.
    MaxU16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| if b > a { b } else { a }) }
    /// `min.s16x2`.
    MinS16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).min(b as i16) as u16) }
    /// `max.s16x2`.
    MaxS16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).max(b as i16) as u16) }
    /// `min.relu.s16x2`.
    MinReluS16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) }
    /// `max.relu.s16x2`.
    MaxReluS16x2(a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) }
}

/// The low 32 bits of a quotient of 32-bit integers, rounded towards zero. binary64 has bits enough that a
/// quotient which is not an integer does not round to one.
#[inline(always)]
fn quotient(a: f64, b: f64) -> u32 {
    // Adding 1.5 * 2^52 rounds to an integer, which then lies in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let q = a / b;
    let magnitude = q.abs();
    let near = (magnitude + MAGIC) - MAGIC;
    let down = if near > magnitude { near - 1.0 } else { near };
    (down.copysign(q) + MAGIC).to_bits() as u32
}

#[inline(always)]
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Carry chains: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`. [`Args::imm`]: [`CARRY_IN`],
/// [`CARRY_OUT`].
///
/// The machine has one flag, the carry of an addition. A difference is the sum of `x`, the complement of `y`
/// and a one: without a borrow it carries. ptxas compiles `addc` after `sub.cc`, and `subc` after `add.cc`,
/// to that flag (seen in its machine code for sm_80), so a mixed chain gives what it gives on a GPU.
///
/// `KIND`: 0 sum, 1 difference, 2 low half of the product plus c, 3 high half, 4 high
/// half signed.
pub struct Chain<T, const KIND: u8>(std::marker::PhantomData<T>);
/// Takes the carry flag.
pub const CARRY_IN: u64 = 1;
/// Sets the carry flag.
pub const CARRY_OUT: u64 = 2;
macro_rules! chains { ($($t:ident $signed:ident)*) => { $(
    impl<const KIND: u8> LaneOp for Chain<$t, KIND> {
        #[inline(always)]
        fn run(p: &mut Planes, args: &Args, mask: u32) {
            let (a, b) = (<$t>::load(p, args.src[0]), <$t>::load(p, args.src[1]));
            let c = if KIND >= 2 { <$t>::load(p, args.src[2]) } else { b };
            let carry = match KIND {
                _ if args.imm & CARRY_IN != 0 => p.carry,
                1 => u32::MAX,
                _ => 0,
            };
            let (mut out, mut flags) = (a, 0u32);
            for l in 0..LANES {
                let cin = $t::from(carry & (1 << l) != 0);
                let (x, y) = match KIND {
                    0 => (a[l], b[l]),
                    1 => (a[l], !b[l]),
                    2 => (a[l].wrapping_mul(b[l]), c[l]),
                    3 => (a[l].mul_hi(b[l]), c[l]),
                    _ => ((a[l] as $signed).mul_hi(b[l] as $signed) as $t, c[l]),
                };
                let (sum, all) = (x.wrapping_add(y), x.wrapping_add(y).wrapping_add(cin));
                out[l] = all;
                flags |= if sum < x || all < sum { 1 << l } else { 0 };
            }
            <$t>::store(p, args.dst[0], mask, &out);
            if args.imm & CARRY_OUT != 0 {
                p.put_carry(mask, flags);
            }
        }
    }
)* } }
chains! { u32 i32 u64 i64 }

/// `dp4a` and `dp2a`: [`Args::imm`] has bit 0 for signed a, bit 1 for signed b, bit 2 for `dp2a`, bit 3 for
/// its `.hi`.
pub struct Dot;
impl LaneOp for Dot {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b, c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        let mut out = V32([0; LANES]);
        let (sa, sb) = (args.imm & 1 != 0, args.imm & 2 != 0);
        // Elements come down from the top, by sign or by zero.
        let part = |v: u32, left: u32, right: u32, signed: bool| {
            if signed { ((v << left) as i32 >> right) as u32 } else { (v << left) >> right }
        };
        for l in 0..LANES {
            let (a, b) = (a.0[l], b.0[l]);
            let mut sum = c.0[l];
            if args.imm & 4 != 0 {
                let first = if args.imm & 8 != 0 { 0 } else { 16 };
                sum = sum.wrapping_add(part(a, 16, 16, sa).wrapping_mul(part(b, first + 8, 24, sb)));
                sum = sum.wrapping_add(part(a, 0, 16, sa).wrapping_mul(part(b, first, 24, sb)));
            } else {
                for i in 0..4 {
                    sum = sum.wrapping_add(part(a, 8 * i, 24, sa).wrapping_mul(part(b, 8 * i, 24, sb)));
                }
            }
            out.0[l] = sum;
        }
        p.put32(args.dst[0], mask, out);
    }
}
