//! Where the results of instructions lie.

use prlx_lanes::Planes;

use crate::code::Plane;
use crate::mem::access;

/// The plane that holds a result.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResultPlane {
    /// A predicate plane.
    Pred(u16),
    /// A plane of values.
    Value(Plane),
}

impl ResultPlane {
    /// The value in one lane; a predicate is 0 or 1.
    pub fn value(self, planes: &Planes, lane: usize) -> u64 {
        match self {
            ResultPlane::Pred(plane) => u64::from(planes.get_pred(plane) >> lane & 1),
            ResultPlane::Value(plane) => access::value(planes, plane, lane),
        }
    }
}
