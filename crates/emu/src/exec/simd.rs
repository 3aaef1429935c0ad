//! The hot functions of the interpreter, compiled once for each vector instruction set ([`Simd`]) of the
//! host.

#![allow(
    unsafe_code,
    reason = "calling functions that are compiled for features which the caller has checked"
)]

use crate::code::{MemAccess, Mma, WarpOp, Wgmma};
use crate::exec::exchange;
use crate::matrix::product::{self, MOST, ROWS, WIDE};
use crate::mem::access::{self, AccessError, VisibleMemory};
use prlx_lanes::Simd;
use prlx_lanes::{LANES, Planes, V32};

/// One value for each lane.
pub type LaneValues = [u32; LANES];

type Load = fn(&mut Planes, &VisibleMemory<'_>, &mut usize, &MemAccess, u32) -> Result<(), Box<AccessError>>;
type Product = fn(&Wgmma, bool, &[product::Row; ROWS], &[product::Row], &mut [V32]);
/// `c += a·b` for 16 rows and 8 columns.
type Sums<T> = fn(&[[T; MOST]; ROWS], &[[T; WIDE]; MOST], &mut [[T; WIDE]; ROWS]);
type Store = fn(&Planes, &VisibleMemory<'_>, &mut usize, &MemAccess, u32) -> Result<(), Box<AccessError>>;

/// The hot functions for one instruction set.
#[derive(Clone, Copy, Debug)]
pub struct SimdFunctions {
    /// Returns the lowest value, the lanes that have it, and the lowest of the other values.
    pub lowest: fn(&LaneValues) -> (u32, u32, u32),
    /// Writes a value to the lanes of a mask.
    pub put: fn(&mut LaneValues, u32, u32),
    /// Loads the elements of an access.
    pub load: Load,
    /// Stores the elements of an access.
    pub store: Store,
    /// Runs an exchange of a warp.
    pub exchange: fn(&mut Planes, &WarpOp, u32),
    /// Multiplies tiles (`mma`, `wmma`).
    pub mma: fn(&mut Planes, &Mma),
    /// The part of one warp in the product of a warpgroup.
    pub product: Product,
    /// Products of `tcgen05.mma` in binary32.
    pub float_sums: Sums<f32>,
    /// Products of `tcgen05.mma` in integers.
    pub integer_sums: Sums<i32>,
}

#[inline(always)]
fn lowest(v: &LaneValues) -> (u32, u32, u32) {
    let mut low = [u32::MAX; 8];
    for c in 0..LANES / 8 {
        for i in 0..8 {
            low[i] = low[i].min(v[c * 8 + i]);
        }
    }
    let low = low.iter().fold(u32::MAX, |m, &x| m.min(x));
    let (mut mask, mut next) = ([0u32; 8], [u32::MAX; 8]);
    for c in 0..LANES / 8 {
        for i in 0..8 {
            let x = v[c * 8 + i];
            mask[i] |= if x == low { 1 << (c * 8 + i) } else { 0 };
            next[i] = next[i].min(if x == low { u32::MAX } else { x });
        }
    }
    (low, mask.iter().fold(0, |m, x| m | x), next.iter().fold(u32::MAX, |m, &x| m.min(x)))
}

#[inline(always)]
fn put(row: &mut LaneValues, mask: u32, v: u32) {
    for (l, r) in row.iter_mut().enumerate() {
        let keep = 0u32.wrapping_sub(mask >> l & 1);
        *r = (v & keep) | (*r & !keep);
    }
}

/// Functions for one level, behind a module that only `SimdFunctions::of` enters.
macro_rules! level {
    ($name:ident $(#[$f:meta])?) => {
        mod $name {
            use super::*;
            $(#[$f])?
            fn lowest(v: &LaneValues) -> (u32, u32, u32) {
                super::lowest(v)
            }
            $(#[$f])?
            fn put(row: &mut LaneValues, mask: u32, v: u32) {
                super::put(row, mask, v);
            }
            $(#[$f])?
            fn load(p: &mut Planes, r: &VisibleMemory<'_>, hint: &mut usize, mem: &MemAccess,
                mask: u32) -> Result<(), Box<AccessError>> {
                access::load(p, r, hint, mem, mask)
            }
            $(#[$f])?
            fn store(p: &Planes, r: &VisibleMemory<'_>, hint: &mut usize, mem: &MemAccess,
                mask: u32) -> Result<(), Box<AccessError>> {
                access::store(p, r, hint, mem, mask)
            }
            $(#[$f])?
            fn exchange(p: &mut Planes, s: &WarpOp, mask: u32) {
                exchange::exchange(p, s, mask);
            }
            $(#[$f])?
            fn mma(p: &mut Planes, op: &Mma) {
                crate::matrix::mma::mma(p, op);
            }
            $(#[$f])?
            fn product(op: &Wgmma, add: bool, a: &[product::Row; ROWS], b: &[product::Row], d: &mut [V32]) {
                product::multiply(op, add, a, b, d);
            }
            $(#[$f])?
            fn float_sums(a: &[[f32; MOST]; ROWS], b: &[[f32; WIDE]; MOST], c: &mut [[f32; WIDE]; ROWS]) {
                product::sums(a, b, c, |c, a, b| c + a * b);
            }
            $(#[$f])?
            fn integer_sums(a: &[[i32; MOST]; ROWS], b: &[[i32; WIDE]; MOST], c: &mut [[i32; WIDE]; ROWS]) {
                product::sums(a, b, c, |c: i32, a, b| c.wrapping_add(a * b));
            }
            $(#[$f])?
            pub fn host() -> SimdFunctions {
                SimdFunctions { lowest, put, load, store, exchange, mma, product, float_sums, integer_sums }
            }
        }
    };
}
level!(base);
#[cfg(target_arch = "x86_64")]
level!(avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,popcnt,lzcnt")]);
#[cfg(target_arch = "x86_64")]
level!(avx512 #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]);

impl SimdFunctions {
    /// The functions for an instruction set, or for the best one below it that the processor has.
    pub fn of(simd: Simd) -> SimdFunctions {
        #[cfg(target_arch = "x86_64")]
        {
            let simd = simd.min(Simd::detect());
            if simd >= Simd::Avx512 {
                // SAFETY: `host` needs the features of its `target_feature` attribute. `simd` is at most the
                // level that `detect` found on this processor, and every processor with AVX2 has `popcnt`,
                // `lzcnt` and `bmi1`.
                return unsafe { avx512::host() };
            }
            if simd >= Simd::Avx2 {
                // SAFETY: as above, for the features of the AVX2 level.
                return unsafe { avx2::host() };
            }
        }
        let _ = simd;
        base::host()
    }
}
