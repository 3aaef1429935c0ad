//! Comparisons and choices: `setp`, `set`, `selp`, `slct`, `testp` (PTX ISA, Comparison and Selection Instructions).
//!
//! Holds: an ordered comparison with a NaN is false, an unordered one (`equ`, `neu`, `ltu` …) true. A comparison's result
//! is made as one mask; [`Args::imm`] says which mask (swapped, complemented) and how it meets the boolean operand.

use super::half::{Bf16, F16, Half};
use super::int::Int;
use super::lane::{Body, Val, ops};
use super::{AluOp, Args, Asked, Level, Run, run};
use crate::planes::{LANES, Planes};
use prlx_isa::ptx::Op;
use prlx_isa::view::{Operand, Type};

ops! {
    /// `slct.*.s32`: a if c >= 0, else b.
    SlctS32<T: Val>(a: T, b: T, c: i32) -> T { if c >= 0 { a } else { b } }
    /// `slct.*.f32`: a if c >= 0 (also -0), else b (also NaN).
    SlctF32<T: Val>(a: T, b: T, c: f32) -> T { if c >= 0.0 { a } else { b } }
    /// `slct.ftz.*.f32`: likewise, a subnormal counting as zero.
    SlctF32Ftz<T: Val>(a: T, b: T, c: f32) -> T { if c >= 0.0 || c.is_subnormal() { a } else { b } }
}

/// `selp`.
pub struct Selp<T>(std::marker::PhantomData<T>);
impl<T: Int> Body for Selp<T> {
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
pub trait Ordered: Val {
    /// Equal.
    fn eq(self, o: Self) -> bool;
    /// Less.
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
        #[inline(always)] fn flushed(self) -> Self { if self.abs() < Self::MIN_POSITIVE { self * 0.0 } else { self } }
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
        #[inline(always)] fn flushed(self) -> Self { if self.0.abs() < Self::widen(Self::MIN_NORMAL) { $t(0.0) } else { self } }
    }
)* } }
ordered_halves! { F16 Bf16 }

/// The relation tested.
const EQ: u8 = 0;
const LT: u8 = 1;
const LE: u8 = 2;
const LG: u8 = 3;
const NUM: u8 = 4;

/// The operands change places.
const SWAP: u64 = 1;
/// The result is complemented.
const NOT: u64 = 2;
/// Subnormal operands count as zero.
const FTZ: u64 = 4;
/// A second destination gets the complement, before the boolean operand.
const BOTH: u64 = 8;
/// Bits 4 and 5: how the boolean operand, the third source, joins: 0 not, 1 and, 2 or, 3 xor.
const JOIN: u32 = 4;
/// From this bit on, in `set`: what a lane gets where the relation holds.
const YES: u32 = 32;

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
        let holds = match REL {
            EQ => a[l].eq(b[l]),
            LT => a[l].lt(b[l]),
            LE => a[l].le(b[l]),
            LG => a[l].lg(b[l]),
            _ => a[l].num(b[l]),
        };
        m |= if holds { 1 << l } else { 0 };
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
impl<T: Ordered, const REL: u8> Body for Setp<T, REL> {
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

/// `set`: all ones, or `1.0`, where the relation holds.
pub struct Set<T, const REL: u8>(std::marker::PhantomData<T>);
impl<T: Ordered, const REL: u8> Body for Set<T, REL> {
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
impl<H: Half + Ordered, const REL: u8> Body for SetpPair<H, REL> {
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
impl<H: Half + Ordered, const REL: u8> Body for SetPair<H, REL> {
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
    impl Body for Testp<$t> {
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

/// Comparison operators: name, relation, flags; the second half only for floating-point values.
#[rustfmt::skip]
const RELATIONS: &[(&str, u8, u64)] = &[
    ("eq", EQ, 0), ("ne", LG, 0), ("lt", LT, 0), ("le", LE, 0), ("gt", LT, SWAP), ("ge", LE, SWAP),
    ("lo", LT, 0), ("ls", LE, 0), ("hi", LT, SWAP), ("hs", LE, SWAP),
    ("equ", LG, NOT), ("neu", EQ, NOT), ("ltu", LE, SWAP | NOT), ("leu", LT, SWAP | NOT), ("gtu", LE, NOT), ("geu", LT, NOT),
    ("num", NUM, 0), ("nan", NUM, NOT),
];

/// Chooses a comparison or a choice.
pub(super) fn select(op: Op, x: &Asked) -> Result<AluOp, String> {
    match op {
        Op::Selp => {
            x.only(&[])?;
            let run = run!(x.level, x.ty; B16 | U16 | S16 => Selp<u16>, B32 | U32 | S32 | F32 => Selp<u32>,
                B64 | U64 | S64 | F64 => Selp<u64>);
            x.op(run, x.ty, &[x.ty, x.ty, Type::Pred], 0)
        }
        Op::Slct => slct(x),
        Op::Testp => {
            let property = match x.inst.form.mods.as_slice() {
                [m] => PROPERTIES
                    .iter()
                    .position(|p| p == m)
                    .ok_or_else(|| format!("`testp` has no property `.{m}`"))?,
                _ => return Err("`testp` takes one property".to_owned()),
            };
            x.op(
                run!(x.level, x.ty; F32 => Testp<f32>, F64 => Testp<f64>),
                Type::Pred,
                &[x.ty],
                property as u64,
            )
        }
        Op::Setp => setp(x),
        Op::Set => set(x),
        _ => Err(format!("`{}` is not a comparison", op.mnemonic())),
    }
}

fn slct(x: &Asked) -> Result<AluOp, String> {
    x.only(&["ftz"])?;
    let &[t, by] = x.inst.form.types.as_slice() else { return Err(x.untyped()) };
    macro_rules! all {
        ($op:ident) => {
            run!(x.level, t; B16 | U16 | S16 => $op<u16>, B32 | U32 | S32 | F32 => $op<u32>, B64 | U64 | S64 | F64 => $op<u64>)
        };
    }
    let run = match (by, x.has("ftz")) {
        (Type::S32, _) => all!(SlctS32),
        (Type::F32, false) => all!(SlctF32),
        (Type::F32, true) => all!(SlctF32Ftz),
        _ => None,
    };
    x.op(run, t, &[t, t, by], 0)
}

/// The relation named, its flags, and those of the boolean operand and `.ftz`.
fn relation(x: &Asked) -> Result<(u8, u64), String> {
    let mods = &x.inst.form.mods;
    let mut found = None;
    let mut flags = 0;
    for m in mods {
        match m.as_str() {
            "ftz" => flags |= FTZ,
            "and" => flags |= 1 << JOIN,
            "or" => flags |= 2 << JOIN,
            "xor" => flags |= 3 << JOIN,
            name => match RELATIONS.iter().position(|(n, ..)| *n == name) {
                Some(i) if found.is_none() => found = Some(i),
                Some(_) => return Err("it names two comparisons".to_owned()),
                None => return Err(format!("modifier `.{name}` is not implemented here")),
            },
        }
    }
    let i = found.ok_or("it names no comparison")?;
    let unordered_kind = i >= 10;
    if unordered_kind && !x.is_float() {
        return Err(format!("comparison `.{}` needs floating-point values", RELATIONS[i].0));
    }
    Ok((RELATIONS[i].1, RELATIONS[i].2 | flags))
}

/// The entry for a type and a relation; the second operation is for packed pairs.
macro_rules! by_relation {
    ($op:ident, $pair:ident, $x:expr, $rel:expr) => {{
        // AVX-512's compare masks become bits of one word slowly as LLVM does it: AVX2's vectors are five times faster.
        let (l, t) = ($x.level.min(Level::Avx2), $x.ty);
        macro_rules! floats {
            ($r:ident) => {
                run!(l, t; F32 => $op<f32, $r>, F64 => $op<f64, $r>, F16 => $op<F16, $r>, Bf16 => $op<Bf16, $r>,
                    F16x2 => $pair<F16, $r>, Bf16x2 => $pair<Bf16, $r>)
            };
        }
        macro_rules! all {
            ($r:ident) => {
                run!(l, t; B16 | U16 => $op<u16, $r>, S16 => $op<i16, $r>, B32 | U32 => $op<u32, $r>, S32 => $op<i32, $r>,
                    B64 | U64 => $op<u64, $r>, S64 => $op<i64, $r>)
                .or_else(|| floats!($r))
            };
        }
        let run: Option<Run> = match $rel {
            EQ => all!(EQ),
            LT => all!(LT),
            LE => all!(LE),
            LG => all!(LG),
            _ => floats!(NUM),
        };
        run
    }};
}

fn setp(x: &Asked) -> Result<AluOp, String> {
    let (rel, mut imm) = relation(x)?;
    let run = by_relation!(Setp, SetpPair, x, rel).ok_or_else(|| x.untyped())?;
    let mut dst = vec![Type::Pred];
    let mut src = vec![x.ty; 2];
    if let Some(Operand::Pair(..)) = x.inst.operands.first() {
        imm |= BOTH;
        dst.push(Type::Pred);
    }
    if imm >> JOIN & 3 != 0 {
        src.push(Type::Pred);
    }
    Ok(AluOp { run, dst, src, imm })
}

fn set(x: &Asked) -> Result<AluOp, String> {
    let (rel, imm) = relation(x)?;
    let d = x.inst.form.ty(0).unwrap_or_default();
    let pair = matches!(x.ty, Type::F16x2 | Type::Bf16x2);
    // What is written where the relation holds: all ones, or 1.
    let yes: u64 = match (d, pair) {
        (Type::U32 | Type::S32, false) => 0xffff_ffff,
        (Type::U32 | Type::S32, true) | (Type::U16 | Type::S16, false) => 0xffff,
        (Type::F32, false) => u64::from(1f32.to_bits()),
        (Type::F16, false) | (Type::F16x2, true) => u64::from(F16::ONE),
        (Type::Bf16, false) | (Type::Bf16x2, true) => u64::from(Bf16::ONE),
        _ => return Err(x.untyped()),
    };
    let mut src = vec![x.ty; 2];
    if imm >> JOIN & 3 != 0 {
        src.push(Type::Pred);
    }
    x.op(by_relation!(Set, SetPair, x, rel), d, &src, imm | yes << YES)
}
