//! Exchanges between the lanes of a warp: who is active, votes, matches and reductions.
//!
//! PTX has instructions for these, whose masks of lanes have 32 bits. Routines for machine code of waves have
//! the same text, and masks have as many bits as a wave has lanes. There [`crate::amdgpu`] makes operations
//! on EXEC and loops over lanes of it, and a wave needs no `.sync`.

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
            Output::Wave => {
                s.ptx(&format!("mbcnt.u32 %~b, {};\nsetp.eq.u32 %~lead, %~b, 0;", self.lanes()));
            }
        }
    }

    /// A group of lanes that update the same row: all of [`Lowering::lanes`] if `together`, else this lane.
    pub(super) fn alone(&self, s: &mut Snippet<'_>, together: bool) {
        if !together && self.output == Output::Ptx {
            s.ptx("mov.u32 %~mask, %lanemask_eq;");
        }
    }

    /// `%~lead`: whether this lane writes for its group. Machine code of waves has no groups: there every
    /// lane does.
    pub(super) fn lead_of_group(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx(LEAD),
            Output::Wave => s.ptx("setp.eq.u32 %~lead, 0, 0;"),
        }
    }

    /// `%~amount`: number of lanes of the group.
    pub(super) fn group_size(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx("popc.b32 %~a, %~mask;\ncvt.u64.u32 %~amount, %~a;"),
            Output::Wave => s.ptx("mov.u64 %~amount, 1;"),
        }
    }

    /// Behind [`Lowering::lead`]. `%~a`: number of lanes. `%~b`: number of those below this lane.
    pub(super) fn lane_ranks(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx("popc.b32 %~b, %~b;\npopc.b32 %~a, %~mask;"),
            Output::Wave => s.ptx(&format!("popc.{} %~a, {};", self.mask_type(), self.lanes())),
        }
    }

    /// `to`: the number of the lowest of [`Lowering::lanes`]. Machine code of waves need not know it.
    pub(super) fn find_leader(&self, s: &mut Snippet<'_>, to: &str) {
        if self.output == Output::Ptx {
            s.ptx(&format!("brev.b32 {to}, %~mask;\nclz.b32 {to}, {to};"));
        }
    }

    /// Gives all lanes the 32-bit value of the lowest one, whose number is in `leader`.
    pub(super) fn broadcast(&self, s: &mut Snippet<'_>, value: &str, leader: &str) {
        match self.output {
            Output::Ptx => s.ptx(&format!("shfl.sync.idx.b32 {value}, {value}, {leader}, 31, %~mask;")),
            Output::Wave => s.ptx(&format!("readfirst.b32 {value}, {value};")),
        }
    }

    /// Makes earlier stores of the active lanes visible to each other. In PTX, `%~mask` has these lanes.
    pub(super) fn settle(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx("activemask.b32 %~mask;\nbar.warp.sync %~mask;"),
            Output::Wave => s.ptx("fence;"),
        }
    }

    /// The same for [`Lowering::lanes`].
    pub(super) fn meet(&self, s: &mut Snippet<'_>) {
        match self.output {
            Output::Ptx => s.ptx("bar.warp.sync %~mask;"),
            Output::Wave => s.ptx("fence;"),
        }
    }

    /// [`Lowering::active_lanes`] behind [`Lowering::settle`], which finds them in PTX.
    pub(super) fn active_lanes_again(&self, s: &mut Snippet<'_>) {
        if self.output == Output::Wave {
            self.active_lanes(s);
        }
    }

    /// Whether lanes can combine 32-bit values with one instruction, or what stands for it.
    pub(super) fn reduces(&self) -> bool {
        self.arch >= 80 || self.output == Output::Wave
    }
}
