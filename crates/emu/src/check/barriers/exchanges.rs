//! Check of warp exchanges: the lanes that take part must be the lanes that the mask names.

use prlx_trace::LaneMask;
use prlx_trace::check::Kind;

use crate::code::{WarpOp, WarpOpKind};
use crate::exec::exchange;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use prlx_lanes::LANES;

use crate::check::findings::{self, FindingLog, WarpStep};

/// Reports lanes that run an exchange whose mask does not name them; returns the other lanes.
pub fn named(launch: &Launch<'_>, log: &mut FindingLog, warp: &Warp, op: &WarpOp, here: WarpStep) -> u32 {
    let Some(members) = op.members else { return here.lanes };
    let members = &warp.planes.w32[usize::from(members)].0;
    let mut outside = 0;
    each(here.lanes, |l| outside |= u32::from(members[l] >> l & 1 == 0) << l);
    if outside != 0 {
        let who = WarpStep { lanes: outside, ..here };
        log.add(launch, Kind::MaskWithoutSelf, who, None, 0, || {
            let mask = members[outside.trailing_zeros() as usize];
            let what = format!(
                "is executed by {}, which its mask {mask:#010x} does not include",
                LaneMask(outside.into())
            );
            findings::finding(Kind::MaskWithoutSelf, what, vec![findings::side(launch, "this exchange", who)])
        });
    }
    here.lanes & !outside
}

/// Reports lanes that read a lane which takes no part, whose result is undefined; returns those lanes.
pub fn shuffled(launch: &Launch<'_>, log: &mut FindingLog, warp: &Warp, op: &WarpOp, here: WarpStep) -> u32 {
    if !matches!(op.kind, WarpOpKind::Up | WarpOpKind::Down | WarpOpKind::Bfly | WarpOpKind::Idx) {
        return 0;
    }
    let (from, inside) = exchange::shuffled(&warp.planes, op);
    let (mut lost, mut absent) = (0, 0);
    for l in (0..LANES).filter(|&l| here.lanes >> l & 1 == 1 && inside[l]) {
        if here.lanes >> from[l] & 1 == 0 {
            lost |= 1 << l;
            absent |= 1 << from[l];
        }
    }
    if lost == 0 {
        return 0;
    }
    let who = WarpStep { lanes: lost, ..here };
    log.add(launch, Kind::InactiveLane, who, None, 0, || {
        let ended = absent & !warp.alive;
        let why = match (ended == absent, ended == 0) {
            (true, _) => "which have ended",
            (_, true) => "which do not participate",
            _ => "which do not participate or have ended",
        };
        let what = format!("{} read from {}, {why}", LaneMask(lost.into()), LaneMask(absent.into()));
        findings::finding(Kind::InactiveLane, what, vec![findings::side(launch, "this exchange", who)])
    });
    lost
}
