//! Comparisons and selections: `setp`, `set`, `selp`, `slct`, `testp` (PTX ISA, Comparison and Selection
//! Instructions).
//!
//! A comparison computes the mask of lanes where a relation holds. The flags in [`Args::imm`] say whether to
//! swap the operands, complement the mask, and combine it with a predicate.
//!
//! # Invariants
//! With a NaN operand an ordered comparison is false and an unordered one (`equ`, `neu`, `ltu` …) is true.

use crate::half::{Bf16, F16, Half};
use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::value::{LaneValue, ops};

ops! {
    /// `slct.*.s32`: a if c >= 0, else b.
    SlctS32<T: LaneValue>(a: T, b: T, c: i32) -> T { if c >= 0 { a } else { b } }
    /// `slct.*.f32`: a if c >= 0 (also -0), else b (also NaN).
    SlctF32<T: LaneValue>(a: T, b: T, c: f32) -> T { if c >= 0.0 { a } else { b } }
    /// `slct.ftz.*.f32`: likewise, a subnormal counting as zero.
    SlctF32Ftz<T: LaneValue>(a: T, b: T, c: f32) -> T { if c >= 0.0 || c.is_subnormal() { a } else { b } }
}

/// `selp`.
pub struct Selp<T>(std::marker::PhantomData<T>);
impl<T: Int> LaneOp for Selp<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (T::load(p, args.src[0]), T::load(p, args.src[1]));
        let chosen = p.get_pred(args.src[2]);
        let mut out = a;
        for l in 0..LANES {
            if chosen & (1 << l) == 0 {
                out[l] = b[l];
            }
        }
        T::store(p, args.dst[0], mask, &out);
    }
}

/// A type with comparisons.
pub trait Ordered: LaneValue {
    /// Whether the values are equal.
    fn eq(self, o: Self) -> bool;
    /// Whether this value is less.
    fn lt(self, o: Self) -> bool;
    /// Less or equal.
    fn le(self, o: Self) -> bool;
    /// Less or greater: neither equal nor unordered.
    fn lg(self, o: Self) -> bool;
    /// Ordered: neither is NaN.
    fn num(self, o: Self) -> bool;
    /// Zero if subnormal.
    fn flushed(self) -> Self;
}
macro_rules! ordered_ints { ($($t:ty)*) => { $(
    impl Ordered for $t {
        #[inline(always)] fn eq(self, o: Self) -> bool { self == o }
        #[inline(always)] fn lt(self, o: Self) -> bool { self < o }
        #[inline(always)] fn le(self, o: Self) -> bool { self <= o }
        #[inline(always)] fn lg(self, o: Self) -> bool { self != o }
        #[inline(always)] fn num(self, _: Self) -> bool { true }
        #[inline(always)] fn flushed(self) -> Self { self }
    }
)* } }
ordered_ints! { u16 i16 u32 i32 u64 i64 }
macro_rules! ordered_floats { ($($t:ty)*) => { $(
    impl Ordered for $t {
        #[inline(always)] fn eq(self, o: Self) -> bool { self == o }
        #[inline(always)] fn lt(self, o: Self) -> bool { self < o }
        #[inline(always)] fn le(self, o: Self) -> bool { self <= o }
        #[inline(always)] fn lg(self, o: Self) -> bool { self != o && self.num(o) }
        #[inline(always)] fn num(self, o: Self) -> bool { !self.is_nan() && !o.is_nan() }
        #[inline(always)] fn flushed(self) -> Self { if self.abs() < Self::MIN_POSITIVE { self * 0.0 }
            else { self } }
    }
)* } }
ordered_floats! { f32 f64 }
macro_rules! ordered_halves { ($($t:ident)*) => { $(
    impl Ordered for $t {
        #[inline(always)] fn eq(self, o: Self) -> bool { self.0 == o.0 }
        #[inline(always)] fn lt(self, o: Self) -> bool { self.0 < o.0 }
        #[inline(always)] fn le(self, o: Self) -> bool { self.0 <= o.0 }
        #[inline(always)] fn lg(self, o: Self) -> bool { self.0.lg(o.0) }
        #[inline(always)] fn num(self, o: Self) -> bool { self.0.num(o.0) }
        #[inline(always)] fn flushed(self) -> Self { if self.0.abs() < Self::widen(Self::MIN_NORMAL) {
            $t(0.0) } else { self } }
    }
)* } }
ordered_halves! { F16 Bf16 }

/// The relation `a == b`.
pub const EQ: u8 = 0;
/// The relation `a < b`.
pub const LT: u8 = 1;
/// The relation `a <= b`.
pub const LE: u8 = 2;
/// The relation `a < b or a > b`, false for a NaN.
pub const LG: u8 = 3;
/// Neither operand is a NaN.
pub const NUM: u8 = 4;

/// Flag: swap the two operands.
pub const SWAP: u64 = 1;
/// Flag: complement the result.
pub const NOT: u64 = 2;
/// Flag: treat subnormal operands as zero (`.ftz`).
pub const FTZ: u64 = 4;
/// Flag: write the complement, combined with the boolean operand, to a second destination.
pub const BOTH: u64 = 8;
/// First of the two bits that say how the result combines with the third source, a predicate: 0 not at all, 1
/// `and`, 2 `or`, 3 `xor`.
pub const JOIN: u32 = 4;
/// First of the 32 bits with the value that `set` writes to a lane where the relation holds.
pub const YES: u32 = 32;

/// Whether the relation holds.
#[inline(always)]
fn holds<T: Ordered, const REL: u8>(a: T, b: T) -> bool {
    match REL {
        EQ => a.eq(b),
        LT => a.lt(b),
        LE => a.le(b),
        LG => a.lg(b),
        _ => a.num(b),
    }
}

/// The mask of lanes where the relation holds.
#[inline(always)]
fn relate<T: Ordered, const REL: u8>(mut a: [T; LANES], mut b: [T; LANES], imm: u64) -> u32 {
    if imm & FTZ != 0 {
        for l in 0..LANES {
            a[l] = a[l].flushed();
            b[l] = b[l].flushed();
        }
    }
    let mut m = 0u32;
    for l in 0..LANES {
        m |= if holds::<T, REL>(a[l], b[l]) { 1 << l } else { 0 };
    }
    if imm & NOT != 0 { !m } else { m }
}

/// Likewise, of an instruction's operands.
#[inline(always)]
fn compare<T: Ordered, const REL: u8>(p: &Planes, args: &Args) -> u32 {
    let swap = usize::from(args.imm & SWAP != 0);
    relate::<T, REL>(T::load(p, args.src[swap]), T::load(p, args.src[1 - swap]), args.imm)
}

/// Likewise, of packed pairs: the lower halves, the upper halves.
#[inline(always)]
fn compare_pairs<H: Half + Ordered, const REL: u8>(p: &Planes, args: &Args) -> [u32; 2] {
    let swap = usize::from(args.imm & SWAP != 0);
    let (a, b) = (u32::load(p, args.src[swap]), u32::load(p, args.src[1 - swap]));
    [0, 16].map(|by| {
        let half = |v: [u32; LANES]| v.map(|x| H::new(H::widen((x >> by) as u16)));
        relate::<H, REL>(half(a), half(b), args.imm)
    })
}

/// With the boolean operand.
#[inline(always)]
fn join(p: &Planes, args: &Args, m: u32) -> u32 {
    match args.imm >> JOIN & 3 {
        0 => m,
        1 => m & p.get_pred(args.src[2]),
        2 => m | p.get_pred(args.src[2]),
        _ => m ^ p.get_pred(args.src[2]),
    }
}

/// `setp`.
pub struct Setp<T, const REL: u8>(std::marker::PhantomData<T>);
impl<T: Ordered, const REL: u8> LaneOp for Setp<T, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let m = compare::<T, REL>(p, args);
        let (first, second) = (join(p, args, m), join(p, args, !m));
        p.put_pred(args.dst[0], mask, first);
        if args.imm & BOTH != 0 {
            p.put_pred(args.dst[1], mask, second);
        }
    }
}

/// A comparison whose operands have one value in all lanes, as those of AMD's scalar unit have: it compares
/// one lane. There is no boolean operand.
pub struct UniformSetp<T, const REL: u8>(std::marker::PhantomData<T>);
impl<T: Ordered, const REL: u8> LaneOp for UniformSetp<T, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let swap = usize::from(args.imm & SWAP != 0);
        let (mut a, mut b) = (T::first(p, args.src[swap]), T::first(p, args.src[1 - swap]));
        if args.imm & FTZ != 0 {
            (a, b) = (a.flushed(), b.flushed());
        }
        let holds = holds::<T, REL>(a, b) != (args.imm & NOT != 0);
        p.put_pred(args.dst[0], mask, if holds { u32::MAX } else { 0 });
    }
}

/// `set`: all ones, or `1.0`, where the relation holds.
pub struct Set<T, const REL: u8>(std::marker::PhantomData<T>);
impl<T: Ordered, const REL: u8> LaneOp for Set<T, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let m = compare::<T, REL>(p, args);
        let m = join(p, args, m);
        let yes = (args.imm >> YES) as u32;
        let mut out = [0u32; LANES];
        for (l, o) in out.iter_mut().enumerate() {
            if m & (1 << l) != 0 {
                *o = yes;
            }
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// `setp` of packed pairs: the second destination is the upper halves'.
pub struct SetpPair<H, const REL: u8>(std::marker::PhantomData<H>);
impl<H: Half + Ordered, const REL: u8> LaneOp for SetpPair<H, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [lower, upper] = compare_pairs::<H, REL>(p, args).map(|m| join(p, args, m));
        p.put_pred(args.dst[0], mask, lower);
        if args.imm & BOTH != 0 {
            p.put_pred(args.dst[1], mask, upper);
        }
    }
}

/// `set` of packed pairs.
pub struct SetPair<H, const REL: u8>(std::marker::PhantomData<H>);
impl<H: Half + Ordered, const REL: u8> LaneOp for SetPair<H, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [lower, upper] = compare_pairs::<H, REL>(p, args).map(|m| join(p, args, m));
        let yes = (args.imm >> YES) as u32;
        let mut out = [0u32; LANES];
        for (l, o) in out.iter_mut().enumerate() {
            *o = if lower & (1 << l) != 0 { yes } else { 0 }
                | if upper & (1 << l) != 0 { yes << 16 } else { 0 };
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// `testp`: [`Args::imm`] is an index into [`PROPERTIES`].
pub struct Testp<T>(std::marker::PhantomData<T>);
/// The properties that `testp` tests.
pub const PROPERTIES: &[&str] = &["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
macro_rules! testp { ($($t:ty)*) => { $(
    impl LaneOp for Testp<$t> {
        #[inline(always)]
        fn run(p: &mut Planes, args: &Args, mask: u32) {
            let a = <$t>::load(p, args.src[0]);
            let mut m = 0u32;
            for l in 0..LANES {
                let x = a[l];
                let holds = match args.imm {
                    0 => x.is_finite(),
                    1 => x.is_infinite(),
                    2 => !x.is_nan(),
                    3 => x.is_nan(),
                    // PTX counts zeros as normal.
                    4 => x.is_normal() || x == 0.0,
                    _ => x.is_subnormal(),
                };
                m |= if holds { 1 << l } else { 0 };
            }
            p.put_pred(args.dst[0], mask, m);
        }
    }
)* } }
testp! { f32 f64 }
