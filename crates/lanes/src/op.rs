//! Operations as types, compiled once for each vector instruction set of the host.
//!
//! An operation is a zero-sized type with a [`LaneOp`] implementation. [`entry`] returns its function for a
//! [`Simd`] level. The body is inlined into one function per level. That function enables the level's
//! instruction set, so that the compiler turns the loop over lanes into vector code of that set.

use crate::planes::Planes;

/// Runs an operation on the lanes of a mask: `f(registers, operands, mask)`.
pub type LaneFn = fn(&mut Planes, &Args, u32);

/// The planes that an operation reads and writes. The operation's operand types say which kind of plane an
/// index means.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args {
    /// Planes of the results, in order.
    pub dst: [u16; 4],
    /// Planes of the sources, in order.
    pub src: [u16; 4],
    /// A constant of the operation: flags, a table or a rounding mode. Each operation documents its own.
    pub imm: u64,
}

/// The vector instruction set of the host for which an operation is compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Simd {
    /// Instructions that every processor of the architecture has.
    Base,
    /// x86-64 with AVX2, FMA, BMI2 and F16C.
    Avx2,
    /// [`Simd::Avx2`] and AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Simd {
    /// The best instruction set of the processor that runs this code.
    pub fn detect() -> Simd {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("bmi2") && has!("f16c") {
                if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
                    return Simd::Avx512;
                }
                return Simd::Avx2;
            }
        }
        Simd::Base
    }
}

/// An operation on all lanes. `run` must be `#[inline(always)]`: only then is it compiled for a [`Simd`]
/// level.
pub trait LaneOp {
    /// Computes the operation and writes the lanes of `mask`.
    fn run(p: &mut Planes, a: &Args, mask: u32);
}

/// The function of operation `B` for an instruction set, which the host must have ([`Simd::detect`]).
pub fn entry<B: LaneOp>(simd: Simd) -> LaneFn {
    #[cfg(target_arch = "x86_64")]
    match simd {
        Simd::Base => {}
        Simd::Avx2 => return x86::avx2::<B>,
        Simd::Avx512 => return x86::avx512::<B>,
    }
    let _ = simd;
    B::run
}

#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "a call of code compiled for an instruction set is only sound on a processor that has the set"
)]
mod x86 {
    use super::{Args, LaneOp, Planes};

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn in_avx2<B: LaneOp>(p: &mut Planes, a: &Args, mask: u32) {
        B::run(p, a, mask);
    }
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    fn in_avx512<B: LaneOp>(p: &mut Planes, a: &Args, mask: u32) {
        B::run(p, a, mask);
    }
    pub fn avx2<B: LaneOp>(p: &mut Planes, a: &Args, mask: u32) {
        // SAFETY: `in_avx2` needs a processor with the features that it enables. `entry` returns this
        // function for `Simd::Avx2` only, and `Simd::detect` returns that only where the processor reports
        // AVX2, FMA, BMI2 and F16C. Every processor with BMI2 has BMI1, LZCNT and POPCNT too.
        unsafe { in_avx2::<B>(p, a, mask) }
    }
    pub fn avx512<B: LaneOp>(p: &mut Planes, a: &Args, mask: u32) {
        // SAFETY: `in_avx512` needs the features of `in_avx2` and AVX-512 F, BW, DQ and VL. `entry` returns
        // this function for `Simd::Avx512` only, and `Simd::detect` returns that only where the processor
        // reports all of them.
        unsafe { in_avx512::<B>(p, a, mask) }
    }
}
