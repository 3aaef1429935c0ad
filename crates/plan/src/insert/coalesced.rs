//! Level `events`: stores that are told of with the decision which leads to them.
//!
//! Who takes a branch, the branch's event says; so events of stores that begin the block behind it can be written with it, under the same head:
//! one leader, one look for room, and chunks of the lanes that lead decisions alone. Each says for itself which of the lanes that decide it is
//! of. That goes where what is stored is known when the branch is decided, nothing is told of between the two, and nothing there makes
//! lanes wait, come or go; and only within one loop, for lanes that leave a loop do so once, and ask whether to all the time.
//!
//! Holds: for each lane the events of a part come in the order of its points, as without this.
//!
//! Misses: stores under guards of their own, and behind switches. Of a kernel that is stopped by a fault in what stands between the
//! two, such stores count as visited.

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

/// By point: what its event is written with, if `taken` says that it has one. Where a loop in `trips` is left or behind it met, counts come between.
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
    let counts: Vec<InstId> =
        trips.iter().flat_map(|t| t.meets.into_iter().chain(t.others.iter().map(|o| o.0))).collect();
    let told = |insts: std::ops::Range<u32>| {
        let at = |p: &Point| p.at.is_some_and(|at| insts.contains(&at.0));
        let point = points.iter().zip(taken).any(|(p, taken)| *taken && at(p));
        point || counts.iter().any(|at| insts.contains(&at.0))
    };
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
            || told(between.clone())
        {
            continue;
        }
        let inner = |part: BlockId| body.graph.innermost.get(part.index()).copied().flatten();
        for (to, negate) in [(other, !guard.negate), (to, guard.negate)] {
            if ways[to.index()] != 1 || to == BlockId(0) || inner(to) != inner(p.part) {
                continue;
            }
            let of = Guard { reg: guard.reg, negate };
            let insts = body.parts[to.index()].insts.clone();
            let mut before = insts.start;
            for (i, store) in points.iter().enumerate().filter(|(i, p)| taken[*i] && p.part == to) {
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
                if !kept
                    || !readable(at)
                    || !readable(here)
                    || counts.iter().any(|at| (before..here.0 + 1).contains(&at.0))
                {
                    break;
                }
                out[i] = Some(BranchEvent { point, of });
                before = here.0 + 1;
            }
        }
    }
    out
}
