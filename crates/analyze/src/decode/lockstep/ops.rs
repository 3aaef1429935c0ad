//! The operations of the decode program on all lanes of a warp.
//!
//! # Invariants
//! [`value`] and [`comparison`] give what [`alu::eval`](super::super::alu::eval) gives; a test compares them.
//! Values have planes of 64 bits; predicates are masks.

use std::marker::PhantomData;

use prlx_lanes::{Args, LANES, LaneFn, LaneOp, Planes, Simd, V64, entry};
use prlx_trace::kernel::{Alu, Scalar};

/// An integer type of decode programs.
trait Int: Copy {
    const BITS: u32;
    /// The low bits of a plane's element.
    fn of(x: u64) -> Self;
    /// The value, extended with zeros to 64 bits.
    fn bits(self) -> u64;
    /// The value, extended by its sign to 64 bits.
    fn extended(self) -> u64;
    fn shr(self, n: u32) -> Self;
    fn less(self, o: Self) -> bool;
    fn widened(self, o: Self) -> u64;
}

macro_rules! ints { ($($t:ident $unsigned:ident $wide:ident $wide_unsigned:ident),*) => { $(
    impl Int for $t {
        const BITS: u32 = $t::BITS;
        #[inline(always)]
        fn of(x: u64) -> Self { x as $t }
        #[inline(always)]
        fn bits(self) -> u64 { u64::from(self as $unsigned) }
        #[inline(always)]
        fn extended(self) -> u64 { i64::from(self.cast()) as u64 }
        #[inline(always)]
        fn shr(self, n: u32) -> Self { if n >= $t::BITS { self >> ($t::BITS - 1) >> 1 } else { self >> n } }
        #[inline(always)]
        fn less(self, o: Self) -> bool { self < o }
        #[inline(always)]
        fn widened(self, o: Self) -> u64 {
            $wide::from(self).wrapping_mul($wide::from(o)) as $wide_unsigned as u64
        }
    }
)* } }

/// The signed type of the same width, for extension by the sign.
trait Cast {
    type To;
    fn cast(self) -> Self::To;
}
macro_rules! casts { ($($t:ident $to:ident),*) => { $(
    impl Cast for $t {
        type To = $to;
        #[inline(always)]
        fn cast(self) -> $to { self as $to }
    }
)* } }
casts!(u32 i32, i32 i32, u64 i64, i64 i64);
ints!(u32 u32 u64 u64, i32 u32 i64 u64, u64 u64 u64 u64, i64 u64 i64 u64);

/// What an operation does to one lane.
trait Apply {
    fn apply<T: Int>(a: T, b: T, c: T, raw: [u64; 3]) -> u64;
}
macro_rules! operations { ($($name:ident($a:ident, $b:ident, $c:ident, $raw:ident) $body:expr;)*) => { $(
    struct $name;
    impl Apply for $name {
        #[inline(always)]
        fn apply<T: Int>($a: T, $b: T, $c: T, $raw: [u64; 3]) -> u64 {
            let _ = ($b, $c, $raw);
            $body
        }
    }
)* } }
/// The low bits of a result.
#[inline(always)]
fn low<T: Int>(x: u64) -> u64 {
    T::of(x).bits()
}
operations! {
    Copy_(a, b, c, raw) a.bits();
    SignExtend(a, b, c, raw) a.extended();
    Add(a, b, c, raw) low::<T>(a.bits().wrapping_add(b.bits()));
    Sub(a, b, c, raw) low::<T>(a.bits().wrapping_sub(b.bits()));
    Mul(a, b, c, raw) low::<T>(a.bits().wrapping_mul(b.bits()));
    Mad(a, b, c, raw) low::<T>(a.bits().wrapping_mul(b.bits()).wrapping_add(c.bits()));
    MulWide(a, b, c, raw) a.widened(b);
    MadWide(a, b, c, raw) a.widened(b).wrapping_add(raw[2]);
    And(a, b, c, raw) a.bits() & b.bits();
    Or(a, b, c, raw) a.bits() | b.bits();
    Xor(a, b, c, raw) a.bits() ^ b.bits();
    Not(a, b, c, raw) low::<T>(!a.bits());
    Shl(a, b, c, raw) {
        let n = raw[1] as u32;
        if n >= T::BITS { 0 } else { low::<T>(a.bits() << n) }
    };
    Shr(a, b, c, raw) a.shr(raw[1] as u32).bits();
    Min(a, b, c, raw) if b.less(a) { b.bits() } else { a.bits() };
    Max(a, b, c, raw) if a.less(b) { b.bits() } else { a.bits() };
}

/// The plane of a source.
#[inline(always)]
fn source<'p>(p: &'p Planes, args: &Args, i: usize) -> &'p [u64; LANES] {
    &p.w64[usize::from(args.src[i])].0
}

/// An operation with values as sources and result.
struct Value<A, T>(PhantomData<(A, T)>);
impl<A: Apply, T: Int> LaneOp for Value<A, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        // Copies of planes would be calls.
        let (x, y, z) = (source(p, args, 0), source(p, args, 1), source(p, args, 2));
        let mut out = V64([0; LANES]);
        for l in 0..LANES {
            let raw = [x[l], y[l], z[l]];
            out.0[l] = A::apply(T::of(raw[0]), T::of(raw[1]), T::of(raw[2]), raw);
        }
        p.put64(args.dst[0], mask, out);
    }
}

/// `src[2] ? src[0] : src[1]`, the third a predicate.
struct Select<T>(PhantomData<T>);
impl<T: Int> LaneOp for Select<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (x, y) = (source(p, args, 0), source(p, args, 1));
        let chosen = p.get_pred(args.src[2]);
        let mut out = V64([0; LANES]);
        for l in 0..LANES {
            let keep = 0u64.wrapping_sub(u64::from(chosen >> l & 1));
            out.0[l] = low::<T>((x[l] & keep) | (y[l] & !keep));
        }
        p.put64(args.dst[0], mask, out);
    }
}

/// A comparison whose result is a predicate: whether a < b (`REL` 0), or whether a = b. Bit 0 of the constant
/// swaps the operands, bit 1 negates.
struct Compare<T, const REL: u8>(PhantomData<T>);
impl<T: Int, const REL: u8> LaneOp for Compare<T, REL> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let swap = usize::from(args.imm & 1 != 0);
        let (x, y) = (source(p, args, swap), source(p, args, 1 - swap));
        let mut yes = [0u8; LANES];
        for l in 0..LANES {
            let (a, b) = (T::of(x[l]), T::of(y[l]));
            yes[l] = u8::from(if REL == 0 { a.less(b) } else { a.bits() == b.bits() });
        }
        let mut result = 0;
        for (l, yes) in yes.into_iter().enumerate() {
            result |= u32::from(yes) << l;
        }
        let negate = 0u32.wrapping_sub(u32::from(args.imm & 2 != 0));
        p.put_pred(args.dst[0], mask, result ^ negate);
    }
}

/// The width and the sign of a type that has functions here.
fn kind(ty: Scalar) -> Option<(u32, bool)> {
    matches!(ty.bits(), 32 | 64).then_some((ty.bits(), ty.signed()))
}

/// The function of an operation on values; `None` if it has none.
pub(super) fn value(op: Alu, ty: Scalar, simd: Simd) -> Option<LaneFn> {
    let (bits, signed) = kind(ty)?;
    macro_rules! of {
        ($t:ty, $u:ty) => {
            match op {
                Alu::Mov | Alu::Extend if signed => entry::<Value<SignExtend, $t>>(simd),
                Alu::Mov | Alu::Extend => entry::<Value<Copy_, $u>>(simd),
                Alu::Add => entry::<Value<Add, $u>>(simd),
                Alu::Sub => entry::<Value<Sub, $u>>(simd),
                Alu::Mul => entry::<Value<Mul, $u>>(simd),
                Alu::Mad => entry::<Value<Mad, $u>>(simd),
                Alu::And => entry::<Value<And, $u>>(simd),
                Alu::Or => entry::<Value<Or, $u>>(simd),
                Alu::Xor => entry::<Value<Xor, $u>>(simd),
                Alu::Not => entry::<Value<Not, $u>>(simd),
                Alu::Shl => entry::<Value<Shl, $u>>(simd),
                Alu::Select => entry::<Select<$u>>(simd),
                Alu::Shr if signed => entry::<Value<Shr, $t>>(simd),
                Alu::Shr => entry::<Value<Shr, $u>>(simd),
                Alu::Min if signed => entry::<Value<Min, $t>>(simd),
                Alu::Min => entry::<Value<Min, $u>>(simd),
                Alu::Max if signed => entry::<Value<Max, $t>>(simd),
                Alu::Max => entry::<Value<Max, $u>>(simd),
                Alu::MulWide if signed => entry::<Value<MulWide, $t>>(simd),
                Alu::MulWide => entry::<Value<MulWide, $u>>(simd),
                Alu::MadWide if signed => entry::<Value<MadWide, $t>>(simd),
                Alu::MadWide => entry::<Value<MadWide, $u>>(simd),
                _ => return None,
            }
        };
    }
    Some(if bits == 32 { of!(i32, u32) } else { of!(i64, u64) })
}

/// The function of a comparison, and its constant; `None` if it has none.
pub(super) fn comparison(op: Alu, ty: Scalar, simd: Simd) -> Option<(LaneFn, u64)> {
    let (bits, signed) = kind(ty)?;
    let (equal, imm) = match op {
        Alu::Eq => (true, 0),
        Alu::Ne => (true, 2),
        Alu::Lt => (false, 0),
        Alu::Gt => (false, 1),
        Alu::Le => (false, 3),
        Alu::Ge => (false, 2),
        _ => return None,
    };
    let f = match (equal, bits, signed) {
        (true, 32, _) => entry::<Compare<u32, 1>>(simd),
        (true, _, _) => entry::<Compare<u64, 1>>(simd),
        (false, 32, true) => entry::<Compare<i32, 0>>(simd),
        (false, 32, false) => entry::<Compare<u32, 0>>(simd),
        (false, _, true) => entry::<Compare<i64, 0>>(simd),
        (false, _, false) => entry::<Compare<u64, 0>>(simd),
    };
    Some((f, imm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::alu;

    #[test]
    fn lanes_agree_with_the_decoder_of_single_lanes() {
        let mut state = 5u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Often small, or near a power of two.
            match state >> 60 {
                0..=4 => state >> 32 & 7,
                5..=7 => (1u64 << (state >> 20 & 63)).wrapping_sub(state >> 40 & 1),
                _ => state ^ state << 29,
            }
        };
        let mut tried = 0;
        for simd in [Simd::Base, Simd::detect()] {
            for (op, ty) in Alu::ALL.iter().flat_map(|op| Scalar::ALL.iter().map(move |ty| (*op, *ty))) {
                if !alu::defined(op, ty) {
                    continue;
                }
                let (function, imm, pred) = match (value(op, ty, simd), comparison(op, ty, simd)) {
                    (Some(f), _) => (f, 0, false),
                    (None, Some((f, imm))) => (f, imm, true),
                    (None, None) => continue,
                };
                tried += 1;
                for mask in [u32::MAX, 0x1234_ff0f] {
                    let mut planes = Planes { pred: vec![0x0f0f_3355, 0], ..Planes::default() };
                    for _ in 0..4 {
                        planes.w64.push(V64(std::array::from_fn(|_| random())));
                    }
                    let before = planes.clone();
                    let third = if op == Alu::Select { 0 } else { 2 };
                    let args = Args { dst: [if pred { 1 } else { 3 }; 4], src: [0, 1, third, 0], imm };
                    function(&mut planes, &args, mask);
                    for l in 0..LANES {
                        let mut raw = [0, 1, 2].map(|i| before.w64[i].0[l]);
                        if op == Alu::Select {
                            raw[2] = u64::from(before.pred[0] >> l & 1);
                        }
                        let want = alu::eval(op, ty, &raw).unwrap();
                        let got = if pred { u64::from(planes.pred[1] >> l & 1) } else { planes.w64[3].0[l] };
                        let old = if pred { 0 } else { before.w64[3].0[l] };
                        let want = if mask >> l & 1 == 1 { want } else { old };
                        assert_eq!(got, want, "{op:?}.{ty:?} of {raw:x?}");
                    }
                }
            }
        }
        assert!(tried > 2 * 100, "{tried}");
    }
}
