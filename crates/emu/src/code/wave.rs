//! Waves of AMD's: the operations that need all lanes at once, and the branches that a wave takes as a whole.
//!
//! # Invariants
//! - A scalar register is a 32-bit plane that has the same value in all lanes of all halves.
//! - SCC is a predicate plane that is 0 or all ones in all halves.

use prlx_lanes::{Args, LANES, Planes, V32};

/// Runs an operation once for a wave: `f(registers, operands, lanes that execute it)`.
pub type WaveFn = fn(&mut Wave<'_, '_>, &Args, u64);

/// The registers of a wave: the planes of its 32 lanes, or of both its halves.
#[derive(Debug)]
pub struct Wave<'a, 'b>(pub &'a mut [&'b mut Planes]);

impl Wave<'_, '_> {
    /// Lanes of the wave: 32 or 64.
    pub fn lanes(&self) -> usize {
        self.0.len() * LANES
    }
    /// The value of a 32-bit plane in a lane; 0 in a lane that the wave does not have.
    pub fn word(&self, plane: u16, lane: usize) -> u32 {
        self.0.get(lane / LANES).map_or(0, |half| half.w32[usize::from(plane)].0[lane % LANES])
    }
    /// Writes a 32-bit plane in a lane, if the wave has that lane.
    pub fn set_word(&mut self, plane: u16, lane: usize, value: u32) {
        if let Some(half) = self.0.get_mut(lane / LANES) {
            half.w32[usize::from(plane)].0[lane % LANES] = value;
        }
    }
    /// The value of a 64-bit plane in a lane; 0 in a lane that the wave does not have.
    pub fn wide(&self, plane: u16, lane: usize) -> u64 {
        self.0.get(lane / LANES).map_or(0, |half| half.w64[usize::from(plane)].0[lane % LANES])
    }
    /// Writes a 64-bit plane in a lane, if the wave has that lane.
    pub fn set_wide(&mut self, plane: u16, lane: usize, value: u64) {
        if let Some(half) = self.0.get_mut(lane / LANES) {
            half.w64[usize::from(plane)].0[lane % LANES] = value;
        }
    }
    /// The value of a scalar register.
    pub fn scalar(&self, plane: u16) -> u32 {
        self.word(plane, 0)
    }
    /// Writes a scalar register.
    pub fn set_scalar(&mut self, plane: u16, value: u32) {
        for half in &mut *self.0 {
            half.w32[usize::from(plane)] = V32([value; LANES]);
        }
    }
    /// The lanes in which a predicate is true.
    pub fn mask(&self, plane: u16) -> u64 {
        self.0.iter().rev().fold(0, |lanes, half| lanes << LANES | u64::from(half.get_pred(plane)))
    }
    /// Writes a predicate in all lanes.
    pub fn set_mask(&mut self, plane: u16, mut lanes: u64) {
        for half in &mut *self.0 {
            half.pred[usize::from(plane)] = lanes as u32;
            lanes >>= LANES;
        }
    }
    /// Writes SCC, or another predicate that is the same in all lanes.
    pub fn set_condition(&mut self, plane: u16, value: bool) {
        self.set_mask(plane, if value { u64::MAX } else { 0 });
    }
}

/// A branch of a wave.
#[derive(Clone, Copy, Debug)]
pub struct WaveBranch {
    /// Predicate plane of the condition.
    pub of: u16,
    /// When the wave takes it.
    pub when: WaveCondition,
    /// The step that it goes to.
    pub to: u32,
}

/// How a wave jumps to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// Within its function, or to another function that returns to the caller of this one.
    Within,
    /// To a function that returns behind the jump.
    Call,
    /// A return, if a caller waits at that address.
    Return,
}

/// When a wave takes a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveCondition {
    /// The predicate is true in some lane.
    Any,
    /// The predicate is true in no lane.
    None,
    /// EXEC has a lane. In the view, the lanes of EXEC take the branch, and the others do not.
    Active,
    /// EXEC has no lane. In the view, the lanes that EXEC leaves out take the branch.
    Inactive,
}
