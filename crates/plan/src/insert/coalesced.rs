//! Level `events`: coalesces store events into the event of the branch that leads to them.
//!
//! A branch event already records which lanes take the branch. Stores at the start of the target block can
//! therefore share its header, mask and bounds check. Each such store says for which of the deciding lanes it
//! holds. Three conditions must hold: the stored value is known at the branch; no other event lies between
//! the two; and no instruction between them makes lanes wait, converge or diverge. Branch and store must lie
//! in the same innermost loop, because lanes leave a loop once but test its condition in every iteration.
//!
//! # Invariants
//!
//! - Each lane's events of a part come in the order of its sites, as without coalescing.
//!
//! # Limitations
//!
//! - Stores with guards of their own, and stores after switches, are not coalesced.
//! - If a fault between branch and store stops the kernel, the store counts as visited.

use std::collections::BTreeSet;
use std::ops::Range;

use prlx_isa::view::{BlockId, Class, Guard, InstId};
use prlx_trace::kernel::SiteClass;

use crate::choose::choice::Trip;
use crate::function::body::{Body, PartEnd, regs, written};
use crate::function::points::Point;
use crate::function::wgmma::WgmmaHazards;
use crate::insert::event_site::{self, EventPlacement};

/// What an event is written with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BranchEvent {
    /// The decision's point.
    pub point: usize,
    /// Which of the lanes that decide it is of.
    pub of: Guard,
}

/// By point: what its event is written with, if `taken` says that it has one. Where a loop in `trips` is left
/// or behind it met, counts come between.
pub(crate) fn coalesced(
    body: &Body<'_>,
    points: &[Point],
    taken: &[bool],
    trips: &[Trip],
) -> Vec<Option<BranchEvent>> {
    let windows = WgmmaHazards::of(body);
    let mut ways = vec![0usize; body.parts.len()];
    for part in &body.graph.order {
        body.parts[part.index()].end.succs().iter().for_each(|to| ways[to.index()] += 1);
    }
    let counts: BTreeSet<InstId> =
        trips.iter().flat_map(|t| t.meets.into_iter().chain(t.others.iter().map(|o| o.0))).collect();
    let any_in = |these: &BTreeSet<InstId>, insts: Range<u32>| {
        these.range(InstId(insts.start)..InstId(insts.end)).next().is_some()
    };
    let mut told: BTreeSet<InstId> = counts.clone();
    let mut in_part: Vec<Vec<usize>> = vec![Vec::new(); body.parts.len()];
    for (i, p) in points.iter().enumerate().filter(|(i, _)| taken[*i]) {
        told.extend(p.at);
        in_part[p.part.index()].push(i);
    }
    let mut out = vec![None; points.len()];
    for (point, p) in points.iter().enumerate() {
        let (true, Some(d), SiteClass::Branch, Some(at), None) =
            (taken[point], p.decision, p.class, p.at, p.guard)
        else {
            continue;
        };
        let part = &body.parts[p.part.index()];
        let PartEnd::Branch { guard, taken: to, other } = part.end else { continue };
        let between = at.0 + 1..part.insts.end;
        if guard.reg != body.decisions[d].reg
            || to == other
            || !part.insts.contains(&at.0)
            || any_in(&told, between.clone())
        {
            continue;
        }
        let inner = |part: BlockId| body.graph.innermost_loop(part);
        for (to, negate) in [(other, !guard.negate), (to, guard.negate)] {
            if ways[to.index()] != 1 || to == BlockId(0) || inner(to) != inner(p.part) {
                continue;
            }
            let of = Guard { reg: guard.reg, negate };
            let insts = body.parts[to.index()].insts.clone();
            let mut before = insts.start;
            for i in in_part[to.index()].iter().copied() {
                let store = &points[i];
                let Some(here) = store.at.filter(|here| insts.contains(&here.0) && event_site::stores(store))
                else {
                    break;
                };
                let EventPlacement { guard: None, value, .. } = event_site::event_at(body, store, here)
                else {
                    break;
                };
                let way = || between.clone().chain(insts.start..here.0).map(|i| body.inst(InstId(i)));
                let own = regs(value.as_slice());
                let kept = way().all(|inst| {
                    let waits = matches!(inst.class, Class::Call | Class::Sync | Class::Warp | Class::Opaque);
                    !waits && written(inst).iter().all(|reg| !own.contains(reg) && *reg != guard.reg)
                });
                let readable = |at| event_site::unreadable(body, &windows, at, value.as_slice()).is_none();
                if !kept || !readable(at) || !readable(here) || any_in(&counts, before..here.0 + 1) {
                    break;
                }
                out[i] = Some(BranchEvent { point, of });
                before = here.0 + 1;
            }
        }
    }
    out
}
