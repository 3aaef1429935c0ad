//! What hooks read: registers, and the state of the CTA at the hook.

use std::sync::atomic::AtomicU64;

use prlx_lanes::{LANES, Planes};

use crate::code::HookValue;
use crate::mem::Region;
use crate::mem::access;

/// The state that a hook can read.
#[derive(Clone, Copy, Debug)]
pub struct HookContext<'a> {
    /// Instructions of the CTA so far.
    pub clock: u64,
    /// The parameter buffer.
    pub params: &'a Region,
    /// The rank of the CTA in its cluster.
    pub rank: u32,
    /// The number of the SM.
    pub sm: u32,
    /// The CTA variables, by index in `ProbeState::shared_variables`.
    pub cta_variables: &'a [AtomicU64],
    /// The constant variables: first address and bytes.
    pub constants: (u64, u64),
}

/// The registers of all lanes of a warp: the planes of its 32 lanes, or of both its halves.
#[derive(Debug)]
pub struct Registers<'a, 'b>(pub &'a mut [&'b mut Planes]);

impl Registers<'_, '_> {
    /// The value that a hook reads in one lane.
    pub fn value(&self, value: HookValue, l: usize) -> u64 {
        let Some(planes) = self.0.get(l / LANES) else { return 0 };
        match value {
            HookValue::Plane(plane) => access::value(planes, plane, l % LANES),
            HookValue::Pred(i) => u64::from(planes.get_pred(i) >> (l % LANES) & 1),
        }
    }
    /// The lanes where a predicate is true.
    pub fn pred(&self, i: u16) -> u64 {
        self.0.iter().rev().fold(0, |lanes, planes| lanes << LANES | u64::from(planes.get_pred(i)))
    }
    /// The counter of one lane in a plane.
    pub fn counter(&mut self, plane: u16, l: usize) -> Option<&mut u64> {
        self.0.get_mut(l / LANES)?.w64.get_mut(usize::from(plane))?.0.get_mut(l % LANES)
    }
}

/// Calls `f` for each lane of a warp's mask, in order.
#[inline(always)]
pub fn each_lane(mut mask: u64, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}
