//! Registers for inserted code: numbers that no instruction of the functions names.
//!
//! # Invariants
//! - A register that is live through a function has a number that none of the functions that call each other
//!   uses, so calls pass nothing on.
//!
//! # Limitations
//! Nothing is spilled. Functions that leave too few registers are refused.

use prlx_isa::amdgpu::inst::Value;
use prlx_isa::amdgpu::{Family, Target};
use rustc_hash::FxHashMap;

use super::assembler::{sgprs, vgprs};

/// Registers that functions use: one past the highest number of each bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Used {
    pub(super) vector: u32,
    pub(super) scalar: u32,
}

impl Used {
    /// The higher numbers of both.
    pub(super) fn max(self, other: Used) -> Used {
        Used { vector: self.vector.max(other.vector), scalar: self.scalar.max(other.scalar) }
    }
}

/// A register of inserted code, or a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Number of the first one.
    pub(super) first: u8,
    /// Whether there are two.
    pub(super) wide: bool,
}

impl Place {
    /// The vector register of the low half, or of the high one.
    pub(super) fn half(self, high: bool) -> Value {
        vgprs(self.first + u8::from(high && self.wide), 1)
    }

    /// Both vector registers.
    pub(super) fn whole(self) -> Value {
        vgprs(self.first, 1 + u8::from(self.wide))
    }
}

/// The fixed registers of inserted code.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// Lanes that the wave began with, as a mask.
    pub(super) launched: Value,
    /// Lanes that are where the wave is: the others left it at a branch on EXEC.
    pub(super) present: Value,
    /// EXEC while a routine runs.
    pub(super) exec: Value,
    /// Masks that hold a value for a few instructions.
    pub(super) masks: [Value; 3],
    /// First SGPR of the address of the hidden parameter.
    pub(super) parameters: u8,
    /// SGPR with the number of the warp in the grid.
    pub(super) warp: u8,
    /// SGPR with SCC while a routine runs.
    pub(super) scc: u8,
    /// First SGPR of an address that is jumped to.
    pub(super) jump: u8,
    /// VGPR: where a lane that left the wave waits for it.
    pub(super) away: u8,
    /// VGPR: the label that a lane goes to in a routine.
    pub(super) label: u8,
    /// First of four VGPRs that hold a value for one instruction.
    pub(super) scratch: u8,
    /// Registers that are live through a function, by name.
    pub(super) state: FxHashMap<String, Place>,
    /// VGPRs of routines: the first one, and how many a routine needs at most is known only afterwards.
    pub(super) first_vector: u8,
    /// SGPRs of routines: masks from this one on.
    pub(super) first_mask: u8,
    /// One past the last SGPR that can be used.
    pub(super) sgprs: u8,
}

impl Registers {
    /// Registers above those in use. `state` has the size in bytes of each register that is live through a
    /// function.
    ///
    /// # Errors
    /// Which bank has too few registers left.
    pub(super) fn above(
        used: Used,
        target: Target,
        lanes: u8,
        state: impl Iterator<Item = (String, u64)>,
    ) -> Result<Registers, String> {
        let words = if lanes == 64 { 2 } else { 1 };
        // s102 and up of gfx9 are FLAT_SCRATCH, XNACK_MASK and VCC.
        let sgprs_of_wave = if target.family() == Family::Gfx9 { 102 } else { 106 };
        let mut scalar = Numbers { next: used.scalar.next_multiple_of(2), end: sgprs_of_wave, bank: "scalar" };
        let mut mask = || scalar.take(words).map(|first| sgprs(first, words as u8));
        let (launched, present, exec) = (mask()?, mask()?, mask()?);
        let masks = [mask()?, mask()?, mask()?];
        scalar.next = scalar.next.next_multiple_of(2);
        let parameters = scalar.take(2)?;
        let jump = scalar.take(2)?;
        let (warp, scc) = (scalar.take(1)?, scalar.take(1)?);
        let mut vector = Numbers { next: used.vector.next_multiple_of(2), end: 256, bank: "vector" };
        let scratch = vector.take(4)?;
        let (away, label) = (vector.take(1)?, vector.take(1)?);
        let mut places = FxHashMap::default();
        for (name, size) in state {
            let wide = size == 8;
            if wide {
                vector.next = vector.next.next_multiple_of(2);
            }
            places.insert(name, Place { first: vector.take(1 + u32::from(wide))?, wide });
        }
        let end = scalar.end as u8;
        Ok(Registers {
            launched,
            present,
            exec,
            masks,
            parameters,
            warp,
            scc,
            jump,
            away,
            label,
            scratch,
            state: places,
            first_vector: vector.take(0)?,
            first_mask: scalar.take(0)?,
            sgprs: end,
        })
    }
}

/// Numbers of a bank that are given out in order.
struct Numbers {
    next: u32,
    end: u32,
    bank: &'static str,
}

impl Numbers {
    fn take(&mut self, count: u32) -> Result<u8, String> {
        let first = self.next;
        self.next += count;
        if self.next > self.end {
            return Err(too_few(self.bank));
        }
        Ok(first.min(255) as u8)
    }
}

/// Why a function is refused that leaves too few registers.
pub(super) fn too_few(bank: &str) -> String {
    format!("too few {bank} registers are free")
}
