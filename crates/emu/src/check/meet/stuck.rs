//! Threads that wait for each other, as a finding: who waits where, for whom.

use prlx_trace::check::{Kind, Side};

use crate::code::Op;
use crate::cta::{self, Block, CLUSTER, Launch};
use crate::planes::LANES;
use crate::warp::Warp;

use super::super::found::{self, Found, Who};
use super::mbarriers::Waiting;

/// Groups of lanes that are shown.
const SHOWN: usize = 8;

/// Reports that nobody can go on: those at barriers and exchanges, and those at mbarriers.
pub fn report(launch: &Launch<'_>, found: &mut Found, block: &Block, warps: &[Warp], asking: &[Waiting]) {
    let mut groups: Vec<(Who, String)> = Vec::new();
    for w in warps {
        let mut rest = w.alive & (w.at_bar | w.at_sync);
        while rest != 0 {
            let l = rest.trailing_zeros() as usize;
            let same = (0..LANES).fold(0, |m, i| {
                m | u32::from(rest >> i & 1 == 1 && w.at[i] == w.at[l] && w.members[i] == w.members[l]) << i
            });
            rest &= !same;
            let who = Who { cta: block.index, warp: w.index, lanes: same, step: Warp::step_of(w.at[l]) };
            groups.push((who, waits_for(launch, block, warps, w, l, same)));
        }
        let here = asking.iter().filter(|a| a.who.warp == w.index);
        groups.extend(here.map(|a| (a.who, format!("waits for {}", a.what))));
    }
    // What a warp waits for inside itself says more than a barrier: that comes first.
    groups.sort_by_key(|(who, _)| matches!(launch.code.steps.get(who.step as usize).map(|s| s.op), Some(Op::Bar(_))));
    // The first place is the finding's; then those at other places.
    let Some(&(first, _)) = groups.first() else { return };
    let (count, mut sides, mut seen): (usize, Vec<Side>, Vec<u32>) = (groups.len(), Vec::new(), Vec::new());
    for (who, what) in &groups {
        if !seen.contains(&who.step) && sides.len() < SHOWN {
            seen.push(who.step);
            sides.push(found::side(launch, what.as_str(), *who));
        }
    }
    found.add(launch, Kind::Deadlock, first, seen.get(1).copied(), 0, || {
        let place = launch.config.grid.position(block.index);
        let groups =
            if count == 1 { "1 group of lanes waits".to_owned() } else { format!("{count} groups of lanes wait") };
        let what = format!("no thread of CTA {place} can go on: {groups} for what does not come");
        found::finding(Kind::Deadlock, what, sides)
    });
}

/// For whom lane `l` of a warp waits, in words.
fn waits_for(launch: &Launch<'_>, block: &Block, warps: &[Warp], w: &Warp, l: usize, same: u32) -> String {
    let step = Warp::step_of(w.at[l]);
    if w.flight.waits() {
        return format!("waits for {}", w.flight.missing(w.index, &block.warpgroups));
    }
    if !matches!(launch.code.steps.get(step as usize).map(|s| s.op), Some(Op::Bar(_))) {
        let missing = w.members[l] & w.alive & !same;
        return format!("waits for {} of its warp", cta::lanes(missing));
    }
    let id = usize::from(w.bar[l]);
    if id == CLUSTER {
        return "waits for the cluster".into();
    }
    let there: u32 = block.barriers[id].arrived.iter().map(|a| a.count_ones()).sum();
    match block.barriers[id].count {
        Some(n) => format!("waits for {n} threads at barrier {id}, where {there} have come"),
        None => {
            let left: u32 = warps.iter().map(|w| w.alive.count_ones()).sum();
            format!("waits for all {left} threads at barrier {id}, where {there} have come")
        }
    }
}
