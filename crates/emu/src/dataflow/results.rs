//! Where the results of instructions lie.

use prlx_lanes::{LANES, Planes};

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
    /// The values in all lanes; a predicate is 0 or 1.
    pub fn values(self, planes: &Planes) -> [u64; LANES] {
        match self {
            ResultPlane::Pred(plane) => {
                let lanes = planes.get_pred(plane);
                std::array::from_fn(|lane| u64::from(lanes >> lane & 1))
            }
            ResultPlane::Value(Plane::W32(plane)) => planes.w32[usize::from(plane)].0.map(u64::from),
            ResultPlane::Value(Plane::W64(plane)) => planes.w64[usize::from(plane)].0,
            ResultPlane::Value(plane) => std::array::from_fn(|lane| access::value(planes, plane, lane)),
        }
    }
}
