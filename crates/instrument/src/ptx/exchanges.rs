//! Exchanges between the lanes of a warp: who is active, votes, matches and reductions.
//!
//! PTX has instructions for these, whose masks of lanes have 32 bits. Routines for AMD code have the same
//! text, and masks have as many bits as a wave has lanes. There [`crate::amdgpu`] makes operations on EXEC
//! and loops over lanes of it, and a wave needs no `.sync`.

use crate::ptx::addressing::LEAD;
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Suffix of the type of a mask of lanes, as in `and.b32`.
    pub(super) fn mask_type(&self) -> &'static str {
        if self.wide_masks() { "b64" } else { "b32" }
    }

    /// Whether a mask of lanes has 64 bits.
    pub(super) fn wide_masks(&self) -> bool {
        self.lane_bits() == 6
    }

    /// The register with the lanes that execute together.
    pub(super) fn lanes(&self) -> &'static str {
        if self.wide_masks() { "%~lanes" } else { "%~mask" }
    }

    /// [`Lowering::lanes`] are the active ones from here on.
    pub(super) fn active_lanes(&self, s: &mut Snippet<'_>) {
        s.ptx(&format!("activemask.{} {};", self.mask_type(), self.lanes()));
    }

    /// `to`: the lanes for which a predicate holds.
    pub(super) fn ballot(&self, s: &mut Snippet<'_>, to: &str, predicate: &str) {
        s.ptx(&format!("vote.sync.ballot.{} {to}, {predicate}, {};", self.mask_type(), self.lanes()));
    }

    /// [`Lowering::lanes`] are those with the same 32-bit value from here on.
    pub(super) fn lanes_alike(&self, s: &mut Snippet<'_>, value: &str) {
        match self.wide_masks() {
            true => s.ptx(&format!("match.any.sync.b32 %~lanes, {value}, %~lanes;")),
            false => s.ptx(&format!("match.any.sync.b32 %~a, {value}, %~mask;\nmov.b32 %~mask, %~a;")),
        }
    }

    /// `%~lead`: whether this lane is the lowest of [`Lowering::lanes`].
    pub(super) fn lead(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx(LEAD),
            Output::AmdGpu => {
                s.ptx(&format!("mbcnt.u32 %~b, {};\nsetp.eq.u32 %~lead, %~b, 0;", self.lanes()));
            }
        }
    }

    /// Whether lanes can combine 32-bit values with one instruction, or what stands for it.
    pub(super) fn reduces(&self) -> bool {
        self.arch >= 80 || self.output == Output::AmdGpu
    }
}
