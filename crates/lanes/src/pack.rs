//! Copies, and packing of several values into a wider one (PTX ISA, Data Movement: `mov`).
//!
//! # Invariants
//! The first element of a vector is the least significant. An operation reads all sources before it writes a
//! destination.

use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::value::{LaneValue, ops};

ops! {
    /// `mov`.
    Mov<T: LaneValue>(a: T) -> T { a }
}

/// `mov.b128` between two registers.
pub struct Mov128;
impl LaneOp for Mov128 {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (lo, hi) = (p.get64(args.src[0]), p.get64(args.src[0] + 1));
        p.put64(args.dst[0], mask, lo);
        p.put64(args.dst[0] + 1, mask, hi);
    }
}

macro_rules! packs {
    ($($pack:ident $unpack:ident $part:ty, $n:literal, $whole:ty;)*) => { $(
        #[doc = concat!("Packs ", $n, " of `", stringify!($part), "`.")]
        pub struct $pack;
        impl LaneOp for $pack {
            #[inline(always)]
            fn run(p: &mut Planes, args: &Args, mask: u32) {
                let mut out = [0 as $whole; LANES];
                for i in 0..$n {
                    let part = <$part>::load(p, args.src[i]);
                    for l in 0..LANES {
                        out[l] |= (part[l] as $whole) << (i as u32 * <$part>::BITS);
                    }
                }
                <$whole>::store(p, args.dst[0], mask, &out);
            }
        }
        #[doc = concat!("Unpacks ", $n, " of `", stringify!($part), "`.")]
        pub struct $unpack;
        impl LaneOp for $unpack {
            #[inline(always)]
            fn run(p: &mut Planes, args: &Args, mask: u32) {
                let whole = <$whole>::load(p, args.src[0]);
                for i in 0..$n {
                    let mut out = [0 as $part; LANES];
                    for l in 0..LANES {
                        out[l] = (whole[l] >> (i as u32 * <$part>::BITS)) as $part;
                    }
                    <$part>::store(p, args.dst[i], mask, &out);
                }
            }
        }
    )* };
}
packs! {
    Pack2x8 Unpack2x8 u8, 2, u16;
    Pack4x8 Unpack4x8 u8, 4, u32;
    Pack2x16 Unpack2x16 u16, 2, u32;
    Pack4x16 Unpack4x16 u16, 4, u64;
    Pack2x32 Unpack2x32 u32, 2, u64;
}

/// 128 bits from [`Args::imm`] parts: two of 64 or four of 32.
pub struct Pack128;
impl LaneOp for Pack128 {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (lo, hi) = if args.imm == 2 {
            (p.get64(args.src[0]), p.get64(args.src[1]))
        } else {
            let [a, b, c, d] = args.src.map(|s| p.get32(s));
            let join = |x: crate::planes::V32, y: crate::planes::V32| {
                crate::planes::V64(std::array::from_fn(|l| u64::from(x.0[l]) | u64::from(y.0[l]) << 32))
            };
            (join(a, b), join(c, d))
        };
        p.put64(args.dst[0], mask, lo);
        p.put64(args.dst[0] + 1, mask, hi);
    }
}

/// Splits 128 bits into [`Args::imm`] parts: two of 64 or four of 32.
pub struct Unpack128;
impl LaneOp for Unpack128 {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (lo, hi) = (p.get64(args.src[0]), p.get64(args.src[0] + 1));
        if args.imm == 2 {
            p.put64(args.dst[0], mask, lo);
            p.put64(args.dst[1], mask, hi);
        } else {
            for (i, half) in [lo, lo, hi, hi].iter().enumerate() {
                let part = std::array::from_fn(|l| (half.0[l] >> (32 * (i as u32 & 1))) as u32);
                p.put32(args.dst[i], mask, crate::planes::V32(part));
            }
        }
    }
}
