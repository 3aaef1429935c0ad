//! The special registers of one lane: thread and CTA indices, lane masks.

use prlx_trace::kernel::Special;
use prlx_trace::{Lane, Launch, WarpId};

/// The values of one lane's special registers, by [`Special`].
#[derive(Clone, Debug)]
pub(super) struct SpecialRegisters(pub [u64; Special::ALL.len()]);

impl SpecialRegisters {
    pub fn new(launch: &Launch, warp: WarpId, lane: Lane) -> SpecialRegisters {
        let (per_cta, size) = (launch.warps_per_cta().max(1), launch.warp_size.lanes());
        let tid = launch.block.position((warp.0 % per_cta) * size + u64::from(lane.0));
        let cta = launch.grid.position(warp.0 / per_cta);
        let eq = 1u64.checked_shl(u32::from(lane.0)).unwrap_or(0);
        let all = launch.warp_size.full_mask().0;
        let (lt, le) = (eq.wrapping_sub(1), eq.wrapping_sub(1) | eq);
        let mut values = [0; Special::ALL.len()];
        for (value, special) in values.iter_mut().zip(Special::ALL) {
            *value = match special {
                Special::TidX => tid.x.into(),
                Special::TidY => tid.y.into(),
                Special::TidZ => tid.z.into(),
                Special::NtidX => launch.block.x.into(),
                Special::NtidY => launch.block.y.into(),
                Special::NtidZ => launch.block.z.into(),
                Special::CtaidX => cta.x.into(),
                Special::CtaidY => cta.y.into(),
                Special::CtaidZ => cta.z.into(),
                Special::NctaidX => launch.grid.x.into(),
                Special::NctaidY => launch.grid.y.into(),
                Special::NctaidZ => launch.grid.z.into(),
                Special::LaneId => lane.0.into(),
                Special::WarpSize => size,
                Special::LanemaskEq => eq,
                Special::LanemaskLt => lt,
                Special::LanemaskLe => le,
                Special::LanemaskGt => all & !le,
                Special::LanemaskGe => all & !lt,
            };
        }
        SpecialRegisters(values)
    }
}
