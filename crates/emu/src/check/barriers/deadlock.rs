//! Deadlocks as findings: which threads wait, where, and for what.

use prlx_trace::check::{Kind, Side};

use crate::code::Op;
use crate::exec::deadlock::WaitingLanes;
use crate::exec::launch::Launch;

use crate::check::findings::{self, FindingLog, WarpStep};

/// Groups of lanes that are shown.
const SHOWN: usize = 8;

/// Reports that no thread of `whole` can continue.
pub fn report(launch: &Launch<'_>, log: &mut FindingLog, whole: &str, waiting: &[WaitingLanes]) {
    let who = |w: &WaitingLanes| WarpStep { cta: w.cta, warp: w.warp, lanes: w.lanes, step: w.step };
    let mut groups: Vec<&WaitingLanes> = waiting.iter().collect();
    // A wait inside a warp explains more than a wait at a barrier, so it comes first.
    groups.sort_by_key(|w| {
        matches!(launch.code.steps.get(w.step as usize).map(|s| s.op), Some(Op::Barrier(_)))
    });
    // One group for each place, then the same places in other CTAs.
    let Some(&first) = groups.first() else { return };
    let mut sides: Vec<&WaitingLanes> = Vec::new();
    for same in [
        |a: &WaitingLanes, b: &WaitingLanes| a.step == b.step,
        |a: &WaitingLanes, b: &WaitingLanes| (a.step, a.cta) == (b.step, b.cta),
    ] {
        for w in &groups {
            if sides.len() < SHOWN && !sides.iter().any(|s| same(s, w)) {
                sides.push(w);
            }
        }
    }
    let other = sides.get(1).map(|w| w.step).filter(|&s| s != first.step);
    log.add(launch, Kind::Deadlock, who(first), other, 0, || {
        let sides: Vec<Side> =
            sides.iter().map(|w| findings::side(launch, format!("waits for {}", w.what), who(w))).collect();
        let groups = match groups.len() {
            1 => "1 group of lanes waits".to_owned(),
            n => format!("{n} groups of lanes wait"),
        };
        let what = format!("no thread of {whole} can continue: {groups} for an event that never comes");
        findings::finding(Kind::Deadlock, what, sides)
    });
}
