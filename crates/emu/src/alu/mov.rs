//! `mov`: copies, packs and unpacks (PTX ISA, Data Movement and Conversion Instructions: mov).
//!
//! Holds: the first element of a vector is the least significant. All sources are read before a destination is written.

use super::bits::Pred;
use super::lane::{Body, Val, ops, pick};
use super::{AluOp, Args, Asked, Run, run};
use crate::planes::{LANES, Planes};
use prlx_isa::view::{Operand, Type};

ops! {
    /// `mov`.
    Mov<T: Val>(a: T) -> T { a }
}

/// `mov.b128` between two registers.
pub struct Mov128;
impl Body for Mov128 {
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
        impl Body for $pack {
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
        impl Body for $unpack {
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
impl Body for Pack128 {
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

/// And back.
pub struct Unpack128;
impl Body for Unpack128 {
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

/// Chooses a `mov`.
pub(super) fn select(x: &Asked) -> Result<AluOp, String> {
    x.only(&[])?;
    let (t, l) = (x.ty, x.level);
    let vector = |i: usize| match x.inst.operands.get(i) {
        Some(Operand::Vector(v)) => Some(v.len()),
        _ => None,
    };
    let (parts, unpack) = match (vector(0), vector(1)) {
        (None, None) => return plain(x),
        (Some(n), None) => (n, true),
        (None, Some(n)) => (n, false),
        (Some(_), Some(_)) => return Err("`mov` between two vectors is not implemented".to_owned()),
    };
    let bits = match t {
        Type::B16 => 16,
        Type::B32 => 32,
        Type::B64 => 64,
        Type::B128 => 128,
        _ => return Err(x.untyped()),
    };
    let part = match bits / parts.max(1) {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => return Err(format!("`mov` of {parts} parts of {bits} bits is not implemented")),
    };
    macro_rules! either {
        ($pack:ident $unpack:ident) => {
            if unpack { pick::<$unpack>(l) } else { pick::<$pack>(l) }
        };
    }
    let run: Run = match (bits, parts) {
        (16, 2) => either!(Pack2x8 Unpack2x8),
        (32, 4) => either!(Pack4x8 Unpack4x8),
        (32, 2) => either!(Pack2x16 Unpack2x16),
        (64, 4) => either!(Pack4x16 Unpack4x16),
        (64, 2) => either!(Pack2x32 Unpack2x32),
        (128, 2 | 4) => either!(Pack128 Unpack128),
        _ => return Err(format!("`mov` of {parts} parts of {bits} bits is not implemented")),
    };
    let (whole, parts) = (vec![t], vec![part; parts]);
    let imm = parts.len() as u64;
    Ok(if unpack {
        AluOp { run, dst: parts, src: whole, imm }
    } else {
        AluOp { run, dst: whole, src: parts, imm }
    })
}

fn plain(x: &Asked) -> Result<AluOp, String> {
    if x.ty == Type::Pred {
        // The fifth of its operations: a copy.
        return x.op(Some(pick::<Pred>(x.level)), x.ty, &[x.ty], 4);
    }
    let run = run!(x.level, x.ty; B8 | U8 | S8 => Mov<u8>, B16 | U16 | S16 | F16 | Bf16 => Mov<u16>, B32 | U32 | S32 | F32 => Mov<u32>,
        F16x2 | Bf16x2 => Mov<u32>, B64 | U64 | S64 | F64 => Mov<u64>, B128 => Mov128);
    x.op(run, x.ty, &[x.ty], 0)
}
