//! The registers of one warp, one plane per register.
//!
//! A plane holds one register of all 32 lanes, so that the compiler turns a loop over lanes into vector
//! instructions. Registers of up to 32 bits, and packed halves, have a plane of `u32`. Registers of 64 bits
//! have a plane of `u64`. Registers of 128 bits have two adjacent planes of `u64`, low half first. A
//! predicate is one mask.
//!
//! # Invariants
//! A register narrower than 32 bits is stored zero-extended. Constants and special registers are planes too,
//! written when the warp starts, so that an operand is always an index.
//!
//! # Limitations
//! A plane has 32 lanes. The CPU device runs a warp of 64 lanes as two halves.

/// Lanes of a plane.
pub const LANES: usize = 32;

/// One 32-bit value per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct V32(pub [u32; LANES]);

/// One 64-bit value per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct V64(pub [u64; LANES]);

/// The registers of one warp.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    /// Planes of the registers of up to 32 bits.
    pub w32: Vec<V32>,
    /// Planes of the registers of 64 bits; a register of 128 bits takes two.
    pub w64: Vec<V64>,
    /// Predicates: bit `l` belongs to lane `l`.
    pub pred: Vec<u32>,
    /// The carry flag `CC.CF`: bit `l` belongs to lane `l`.
    pub carry: u32,
}

impl Planes {
    /// A copy of a 32-bit plane. It is a copy because a result may go to the register of an operand.
    #[inline(always)]
    pub fn get32(&self, i: u16) -> V32 {
        self.w32[usize::from(i)]
    }
    /// A copy of a 64-bit plane.
    #[inline(always)]
    pub fn get64(&self, i: u16) -> V64 {
        self.w64[usize::from(i)]
    }
    /// The lanes where a predicate is true.
    #[inline(always)]
    pub fn get_pred(&self, i: u16) -> u32 {
        self.pred[usize::from(i)]
    }
    /// Writes the lanes of `mask` of a 32-bit plane. The other lanes keep their values.
    #[inline(always)]
    pub fn put32(&mut self, i: u16, mask: u32, v: V32) {
        let out = &mut self.w32[usize::from(i)];
        if mask == u32::MAX {
            *out = v;
        } else {
            for l in 0..LANES {
                let keep = 0u32.wrapping_sub(mask >> l & 1);
                out.0[l] = (v.0[l] & keep) | (out.0[l] & !keep);
            }
        }
    }
    /// Writes the lanes of `mask` of a 64-bit plane. The other lanes keep their values.
    #[inline(always)]
    pub fn put64(&mut self, i: u16, mask: u32, v: V64) {
        let out = &mut self.w64[usize::from(i)];
        if mask == u32::MAX {
            *out = v;
        } else {
            for l in 0..LANES {
                let keep = 0u64.wrapping_sub(u64::from(mask >> l & 1));
                out.0[l] = (v.0[l] & keep) | (out.0[l] & !keep);
            }
        }
    }
    /// Writes the lanes of `mask` of a predicate; bit `l` of `v` is the new value of lane `l`.
    #[inline(always)]
    pub fn put_pred(&mut self, i: u16, mask: u32, v: u32) {
        let out = &mut self.pred[usize::from(i)];
        *out = (v & mask) | (*out & !mask);
    }
    /// Writes the lanes of `mask` of the carry flag; bit `l` of `v` is the new value of lane `l`.
    #[inline(always)]
    pub fn put_carry(&mut self, mask: u32, v: u32) {
        self.carry = (v & mask) | (self.carry & !mask);
    }
}
