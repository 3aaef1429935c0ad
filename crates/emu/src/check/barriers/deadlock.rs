//! Deadlocks as findings: which threads wait, where, and for what.

use prlx_trace::check::{Kind, Side};

use crate::exec::deadlock::{self, WaitingLanes};
use crate::exec::launch::Launch;

use crate::check::findings::{self, FindingLog, WarpStep};

/// Groups of lanes that are shown.
const SHOWN: usize = 8;

/// Reports that no thread of `whole` can continue.
pub fn report(launch: &Launch<'_>, log: &mut FindingLog, whole: &str, waiting: &[WaitingLanes]) {
    let who = |w: &WaitingLanes| WarpStep { cta: w.cta, warp: w.warp, lanes: w.lanes, step: w.step };
    let groups = deadlock::alike(launch, waiting);
    let Some(&(first, _)) = groups.first() else { return };
    let other = groups.get(1).map(|g| g.0.step).filter(|&s| s != first.step);
    log.add(launch, Kind::Deadlock, who(first), other, 0, || {
        let side = |&(w, n): &(&WaitingLanes, usize)| {
            let more = match n - 1 {
                0 => String::new(),
                1 => ", as does one more group of lanes".into(),
                n => format!(", as do {n} more groups of lanes"),
            };
            findings::side(launch, format!("{}{more}", w.what), who(w))
        };
        let sides: Vec<Side> = groups.iter().take(SHOWN).map(side).collect();
        let groups = match waiting.len() {
            1 => "1 group of lanes waits".to_owned(),
            n => format!("{n} groups of lanes wait"),
        };
        let what = format!("no thread of {whole} can continue: {groups} for an event that never comes");
        findings::finding(Kind::Deadlock, what, sides)
    });
}
