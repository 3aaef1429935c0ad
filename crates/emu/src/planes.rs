//! The registers of one warp, lane by lane next to each other: one plane a register.
//!
//! A plane holds one register of all 32 lanes, so that an operation is a loop over lanes that the compiler turns into
//! vector instructions. Registers of 8, 16 and 32 bits (and packed halves) have a plane of `u32`, those of 64 bits a plane
//! of `u64`, those of 128 bits two planes of `u64` next to each other, low half first; a predicate is one mask.
//!
//! Holds: a register narrower than 32 bits is stored zero-extended. Constants and special registers are planes too, set
//! when the warp starts, so that an operand is always an index.
//!
//! Misses: 64-lane waves.

/// Lanes in a warp.
pub const LANES: usize = 32;

/// One 32-bit value a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct V32(pub [u32; LANES]);

/// One 64-bit value a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct V64(pub [u64; LANES]);

/// The registers of one warp.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    /// Registers of up to 32 bits.
    pub w32: Vec<V32>,
    /// Registers of 64 bits, and halves of 128.
    pub w64: Vec<V64>,
    /// Predicates: bit `l` is lane `l`'s.
    pub pred: Vec<u32>,
    /// The carry flag `CC.CF`: bit `l` is lane `l`'s.
    pub carry: u32,
}

impl Planes {
    /// A plane by value: results may go to the same register as an operand.
    #[inline(always)]
    pub fn get32(&self, i: u16) -> V32 {
        self.w32[usize::from(i)]
    }
    /// Likewise, 64 bits.
    #[inline(always)]
    pub fn get64(&self, i: u16) -> V64 {
        self.w64[usize::from(i)]
    }
    /// A predicate's mask.
    #[inline(always)]
    pub fn get_pred(&self, i: u16) -> u32 {
        self.pred[usize::from(i)]
    }
    /// Writes the lanes of `mask`; the others keep their values.
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
    /// Likewise, 64 bits.
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
    /// Likewise, a predicate: `v` has the new values as a mask.
    #[inline(always)]
    pub fn put_pred(&mut self, i: u16, mask: u32, v: u32) {
        let out = &mut self.pred[usize::from(i)];
        *out = (v & mask) | (*out & !mask);
    }
    /// Likewise, the carry flag.
    #[inline(always)]
    pub fn put_carry(&mut self, mask: u32, v: u32) {
        self.carry = (v & mask) | (self.carry & !mask);
    }
}
