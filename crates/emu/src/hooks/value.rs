//! What hooks read: registers, and the state of the CTA at the hook.

use std::sync::atomic::AtomicU64;

use prlx_lanes::Planes;

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

/// The value that a hook reads in one lane.
pub fn value(planes: &Planes, value: HookValue, l: usize) -> u64 {
    match value {
        HookValue::Plane(plane) => access::value(planes, plane, l),
        HookValue::Pred(i) => u64::from(planes.get_pred(i) >> l & 1),
    }
}
