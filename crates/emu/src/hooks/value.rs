//! What hooks read: registers, and the state of the CTA at the hook.

use std::sync::atomic::AtomicU64;

use prlx_lanes::Planes;

use crate::code::HookValue;
use crate::mem::Region;
use crate::mem::access;

/// What a probe can ask.
#[derive(Clone, Copy, Debug)]
pub struct HookContext<'a> {
    /// Instructions of the CTA so far.
    pub clock: u64,
    /// The parameter buffer.
    pub params: &'a Region,
    /// The CTA's number in its cluster.
    pub rank: u32,
    /// Number of the SM.
    pub sm: u32,
    /// The CTA's variables, by number in [`Kept::held`].
    pub cta_variables: &'a [AtomicU64],
    /// Where constants lie: first address, and bytes.
    pub constants: (u64, u64),
}

/// What a hook reads in one lane.
pub fn value(planes: &Planes, value: HookValue, l: usize) -> u64 {
    match value {
        HookValue::Plane(plane) => access::value(planes, plane, l),
        HookValue::Pred(i) => u64::from(planes.get_pred(i) >> l & 1),
    }
}
