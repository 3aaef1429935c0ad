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
        let why = absence(launch, warp, op, absent, lost);
        let lanes = |m: u32| LaneMask(m.into()).to_string();
        let reads = if lost.count_ones() == 1 { "reads" } else { "read" };
        let what = match &why[..] {
            [(_, why)] => format!("{} {reads} from {}, which {why}", lanes(lost), lanes(absent)),
            all => {
                let parts: Vec<String> = all.iter().map(|(m, why)| format!("{} {why}", lanes(*m))).collect();
                format!("{} {reads} from {}: {}", lanes(lost), lanes(absent), parts.join(", "))
            }
        };
        findings::finding(Kind::InactiveLane, what, vec![findings::side(launch, "this exchange", who)])
    });
    lost
}

/// Why lanes take no part in an exchange: they were never there, have ended, are not in the mask of the lanes
/// `readers`, or are elsewhere.
fn absence(launch: &Launch<'_>, warp: &Warp, op: &WarpOp, absent: u32, readers: u32) -> Vec<(u32, String)> {
    let threads = launch.config.block.volume();
    let here = threads.saturating_sub(u64::from(warp.index) * LANES as u64);
    let exist = if here >= LANES as u64 { u32::MAX } else { (1 << here) - 1 };
    let mask = op.members.map(|p| warp.planes.w32[usize::from(p)].0[readers.trailing_zeros() as usize & 31]);
    let (never, ended) = (absent & !exist, absent & exist & !warp.alive);
    let rest = absent & !never & !ended;
    let unnamed = rest & !mask.unwrap_or(u32::MAX);
    let verb = |m: u32, one: &'static str, many: &'static str| if m.count_ones() == 1 { one } else { many };
    let parts = [
        (never, format!("{} not exist in a CTA of {threads} threads", verb(never, "does", "do"))),
        (ended, format!("{} ended", verb(ended, "has", "have"))),
        (unnamed, format!("the mask {:#010x} does not include", mask.unwrap_or(0))),
        (rest & !unnamed, format!("{} not participate", verb(rest & !unnamed, "does", "do"))),
    ];
    parts.into_iter().filter(|(m, _)| *m != 0).collect()
}
