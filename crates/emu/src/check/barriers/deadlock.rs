//! Deadlocks as findings: which threads wait, where, and for what.

use prlx_trace::check::{Kind, Side};

use crate::exec::deadlock::{self, WaitingLanes};
use crate::exec::launch::Launch;

use crate::check::findings::{self, FindingLog, WarpStep};

/// Groups of lanes that are shown.
const SHOWN: usize = 8;

/// Reports that no thread of `whole` can continue.
pub fn report(launch: &Launch<'_>, log: &mut FindingLog, whole: &str, waiting: &[WaitingLanes]) {
    let who =
        |w: &WaitingLanes| WarpStep { cta: w.cta, warp: w.warp, lanes: w.lanes, upper: 0, step: w.step };
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
        let groups = |n: usize, [one, many]: [&str; 2]| match n {
            1 => format!("1 group of lanes {one}"),
            n => format!("{n} groups of lanes {many}"),
        };
        let why = match waiting.iter().filter(|w| w.endless).count() {
            0 => format!("{} for an event that never comes", groups(waiting.len(), ["waits", "wait"])),
            n => format!("{} in a loop that never ends", groups(n, ["is", "are"])),
        };
        let what = format!("no thread of {whole} can continue: {why}");
        findings::finding(Kind::Deadlock, what, sides)
    });
}
