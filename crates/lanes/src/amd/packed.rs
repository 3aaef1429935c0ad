//! Packed operations of AMD's processors (VOP3P): pairs of 16 bits, pairs of binary32, and products of mixed
//! formats.
//!
//! # Invariants
//! The constant of a step has, beside mode and modifiers ([`super::float`]), which half of each source
//! goes into the low and into the high half of the result. [`NEG`] negates what goes
//! into the low half.

use super::float::{ABS, Binary16, Format, IEEE, Mode, NEG, Operation, SECOND_NAN, finish, modify, seal};
use super::signature::{Signature, Value, Width};
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32, V64};
use crate::round::Round;
use crate::value::LaneValue;

/// First of the bits that select the high half of a source for the low half of the result (`op_sel`).
pub const LOW: u32 = 20;
/// First of the bits that select the high half of a source for the high half of the result (`op_sel_hi`).
pub const HIGH: u32 = 23;
/// First of the bits that negate what goes into the high half of the result (`neg_hi`).
pub const NEG_HIGH: u32 = 26;

fn mode(imm: u64) -> Mode {
    Mode { round: Round::from_imm(imm), ieee: imm & IEEE != 0, second: imm & SECOND_NAN != 0 }
}

/// The constant for one half of the result: its signs are where [`modify`] looks for them.
#[inline(always)]
fn for_half(imm: u64, high: bool) -> u64 {
    let clear = imm & !(7 << ABS | 7 << NEG);
    clear | (imm >> if high { NEG_HIGH } else { NEG } & 7) << NEG
}

/// Whether source `i` gives its high half to that half of the result.
#[inline(always)]
fn selects(imm: u64, high: bool, i: usize) -> bool {
    imm >> (if high { HIGH } else { LOW } + i as u32) & 1 == 1
}

/// A format of which a register, or two, hold a pair.
pub trait Paired: Format {
    /// Both values: the first one in the low half.
    type Pair: Value;
    /// The value in one half.
    fn half(pair: Self::Pair, high: bool) -> Self;
    /// The pair of two values.
    fn pair(low: Self, high: Self) -> Self::Pair;
}
macro_rules! paired {
    ($($t:ty: $bits:ty, $pair:ty;)*) => { $(
        impl Paired for $t {
            type Pair = $pair;
            #[inline(always)]
            fn half(pair: $pair, high: bool) -> Self {
                Self::from_bits((pair >> if high { <$bits>::BITS } else { 0 }) as $bits)
            }
            #[inline(always)]
            fn pair(low: Self, high: Self) -> $pair {
                <$pair>::from(low.to_bits()) | <$pair>::from(high.to_bits()) << <$bits>::BITS
            }
        }
    )* };
}
paired! { Binary16: u16, u32; f32: u32, u64; }

/// An operation on both values of pairs.
pub struct OnPairs<T, O>(std::marker::PhantomData<(T, O)>);
impl<T: Paired, O: Operation<T>> LaneOp for OnPairs<T, O> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [low, high] = [false, true].map(|high| {
            let imm = for_half(args.imm, high);
            let mut v = [[T::ZERO; LANES]; 3];
            for (i, lanes) in v.iter_mut().enumerate().take(O::SOURCES) {
                let from = selects(args.imm, high, i);
                *lanes = T::Pair::load(p, args.src[i]).map(|v| T::half(v, from));
                modify(lanes, imm, i as u32);
            }
            let mut r = v[0];
            for l in 0..LANES {
                r[l] = O::of(v[0][l], v[1][l], v[2][l], mode(imm));
            }
            finish(&mut r, imm);
            r
        });
        let mut out = [T::Pair::default(); LANES];
        for l in 0..LANES {
            out[l] = T::pair(low[l], high[l]);
        }
        T::Pair::store(p, args.dst[0], mask, &out);
    }
}
impl<T: Paired, O: Operation<T>> Signature for OnPairs<T, O> {
    const RESULTS: &'static [Width] = &[T::Pair::WIDTH];
    const SOURCES: &'static [Width] = match O::SOURCES {
        1 => &[T::Pair::WIDTH],
        2 => &[T::Pair::WIDTH; 2],
        _ => &[T::Pair::WIDTH; 3],
    };
}

/// `v_pk_mov_b32`: a word of the first source, and a word of the second.
pub struct PairMove;
impl LaneOp for PairMove {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (p.get64(args.src[0]), p.get64(args.src[1]));
        let by = |i| if selects(args.imm, false, i) { 32 } else { 0 };
        let mut out = V64([0; LANES]);
        for l in 0..LANES {
            out.0[l] = a.0[l] >> by(0) & 0xffff_ffff | b.0[l] >> by(1) << 32;
        }
        p.put64(args.dst[0], mask, out);
    }
}
impl Signature for PairMove {
    const RESULTS: &'static [Width] = &[Width::Double];
    const SOURCES: &'static [Width] = &[Width::Double; 2];
}

/// An operation on integers of 16 bits.
pub trait IntOperation {
    /// How many sources it has.
    const SOURCES: usize;
    /// The result; with `clamp` in the range of the type.
    fn of(a: u16, b: u16, c: u16, clamp: bool) -> u16;
}

/// Pairs of integers of 16 bits.
pub struct PairInt<O>(std::marker::PhantomData<O>);
impl<O: IntOperation> LaneOp for PairInt<O> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = [0, 1, 2].map(|i| if i < O::SOURCES { p.get32(args.src[i]) } else { V32([0; LANES]) });
        let clamp = args.imm & super::float::CLAMP != 0;
        let mut out = V32([0; LANES]);
        for high in [false, true] {
            let by = [0, 1, 2].map(|i| if selects(args.imm, high, i) { 16 } else { 0 });
            for l in 0..LANES {
                let part = |i: usize| (v[i].0[l] >> by[i]) as u16;
                let r = O::of(part(0), part(1), part(2), clamp);
                out.0[l] |= u32::from(r) << if high { 16 } else { 0 };
            }
        }
        p.put32(args.dst[0], mask, out);
    }
}
impl<O: IntOperation> Signature for PairInt<O> {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = if O::SOURCES == 2 { &[Width::Word; 2] } else { &[Width::Word; 3] };
}

macro_rules! int_operations {
    ($($(#[$m:meta])* $name:ident: $n:literal ($a:ident, $b:ident, $c:ident, $clamp:ident)
        $body:block)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl IntOperation for $name {
            const SOURCES: usize = $n;
            #[inline(always)]
            #[allow(unused_variables, reason = "one signature for two and three operands")]
            fn of($a: u16, $b: u16, $c: u16, $clamp: bool) -> u16 { $body }
        }
    )* };
}
int_operations! {
    /// `v_pk_add_u16`
    AddU16: 2 (a, b, c, clamp) { if clamp { a.saturating_add(b) } else { a.wrapping_add(b) } }
    /// `v_pk_sub_u16`
    SubU16: 2 (a, b, c, clamp) { if clamp { a.saturating_sub(b) } else { a.wrapping_sub(b) } }
    /// `v_pk_add_i16`
    AddI16: 2 (a, b, c, clamp) {
        if clamp { (a as i16).saturating_add(b as i16) as u16 } else { a.wrapping_add(b) } }
    /// `v_pk_sub_i16`
    SubI16: 2 (a, b, c, clamp) {
        if clamp { (a as i16).saturating_sub(b as i16) as u16 } else { a.wrapping_sub(b) } }
    /// `v_pk_mul_lo_u16`
    MulLo: 2 (a, b, c, clamp) { a.wrapping_mul(b) }
    /// `v_pk_mad_u16`
    MadU16: 3 (a, b, c, clamp) {
        let v = u64::from(a) * u64::from(b) + u64::from(c);
        if clamp { v.min(0xffff) as u16 } else { v as u16 }
    }
    /// `v_pk_mad_i16`
    MadI16: 3 (a, b, c, clamp) {
        let v = i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i16);
        if clamp { v.clamp(-0x8000, 0x7fff) as u16 } else { v as u16 }
    }
    /// `v_pk_min_u16`
    MinU16: 2 (a, b, c, clamp) { a.min(b) }
    /// `v_pk_max_u16`
    MaxU16: 2 (a, b, c, clamp) { a.max(b) }
    /// `v_pk_min_i16`
    MinI16: 2 (a, b, c, clamp) { (a as i16).min(b as i16) as u16 }
    /// `v_pk_max_i16`
    MaxI16: 2 (a, b, c, clamp) { (a as i16).max(b as i16) as u16 }
    /// `v_pk_lshlrev_b16`
    LshlRev: 2 (a, b, c, clamp) { b << (a & 15) }
    /// `v_pk_lshrrev_b16`
    LshrRev: 2 (a, b, c, clamp) { b >> (a & 15) }
    /// `v_pk_ashrrev_i16`
    AshrRev: 2 (a, b, c, clamp) { (b as i16 >> (a & 15)) as u16 }
}

/// `v_fma_mix_f32`: a fused product and sum in binary32. Sources with a bit of [`HIGH`] are halves in
/// binary16, selected by [`LOW`]. The bits of [`ABS`] and [`NEG`] are signs.
pub struct Mix;
/// The values of a step of [`Mix`].
#[inline(always)]
fn mixed(p: &Planes, args: &Args) -> [f32; LANES] {
    let v = [0, 1, 2].map(|i| {
        let by = if selects(args.imm, false, i) { 16 } else { 0 };
        let half = selects(args.imm, true, i);
        let mut lanes = p
            .get32(args.src[i])
            .0
            .map(|v| if half { Binary16::from_bits((v >> by) as u16).0 } else { f32::from_bits(v) });
        modify(&mut lanes, args.imm, i as u32);
        lanes
    });
    let round = Round::from_imm(args.imm);
    let mut r = v[0];
    for l in 0..LANES {
        r[l] = seal(v[0][l].fma(v[1][l], v[2][l], round), v[0][l], v[1][l], v[2][l]);
    }
    r
}
impl LaneOp for Mix {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let mut r = mixed(p, args);
        finish(&mut r, args.imm);
        p.put32(args.dst[0], mask, V32(r.map(f32::to_bits)));
    }
}
impl Signature for Mix {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = &[Width::Word; 3];
}

/// `v_fma_mixlo_f16`, `v_fma_mixhi_f16`: the result in binary16, as the low or high half of the last source.
pub struct MixHalf<const UPPER: bool>;
impl<const UPPER: bool> LaneOp for MixHalf<UPPER> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let round = Round::from_imm(args.imm);
        let mut r = mixed(p, args).map(|v| super::convert::convert::<f32, Binary16>(v, round));
        finish(&mut r, args.imm);
        let mut out = p.get32(args.src[3]);
        for l in 0..LANES {
            let bits = u32::from(r[l].to_bits());
            let old = out.0[l];
            out.0[l] = if UPPER { bits << 16 | old & 0xffff } else { bits | old & 0xffff_0000 };
        }
        p.put32(args.dst[0], mask, out);
    }
}
impl<const UPPER: bool> Signature for MixHalf<UPPER> {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = &[Width::Word; 4];
}
