//! Level `events`: finds events that need no recording because a reader can reconstruct them.
//!
//! Lanes that were converged and took the same branches since are still converged. Convergence is *known* at
//! the kernel's entry, after an event, after a barrier that whole warps pass, and from there along one path.
//! It is lost where paths join, where lanes leave a loop (each after its own number of iterations), and after
//! a call. Around a loop it stays known if one edge enters the loop and one edge goes back.
//!
//! Where convergence is known, three events are reconstructed: a computed branch, the kernel's entry, and an
//! exit. The only recorded decision of a counted loop in which nothing else is written is reconstructed too:
//! each group of lanes with the same count writes one event ([`Action::TripEvent`](crate::Action::TripEvent))
//! instead of one per iteration.
//!
//! An exit that stands alone in its block belongs to the blocks before it: no lane waits for others there.
//!
//! # Limitations
//!
//! - Lanes that leave a loop together because its condition is uniform are not recognised, nor are joins
//!   after a uniform decision.
//! - Shuffles and votes of whole warps also establish convergence; this is not used.

use prlx_isa::view::{BlockId, Class, Effect, FunctionKind, InstId, Operand, Participants};
use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::{SiteClass, Source};

use crate::choose::choice::{Choice, Trip};
use crate::choose::trips;
use crate::function::body::{Body, PartEnd};
use crate::function::points::Point;

/// By point: whether the event that `written` says it has is left to the reader. Of the loops in `choice`,
/// those stay counted that write counts.
pub(crate) fn reconstructed(
    body: &Body<'_>,
    points: &[Point],
    written: &[bool],
    choice: &mut Choice,
) -> Vec<bool> {
    let known = Known::of(body, points, written);
    let kernel = body.function.kind == FunctionKind::Kernel;
    let mut quiet: Vec<bool> = (points.iter().zip(written).zip(&known.before))
        .map(|((p, written), known)| {
            *written
                && match (p.decision, p.class) {
                    (Some(d), SiteClass::Branch) => *known && choice.sources[d] == Source::Computed,
                    (None, SiteClass::Entry) => kernel,
                    (None, SiteClass::Exit) => *known,
                    _ => false,
                }
        })
        .collect();
    for (i, p) in points.iter().enumerate() {
        quiet[i] |= written[i] && p.class == SiteClass::Exit && known.joins(body, p);
    }
    let mut counted: Vec<Trip> = Vec::new();
    for mut trip in std::mem::take(&mut choice.trips) {
        let Source::Trips { of, stay, .. } = choice.sources[trip.decision] else { continue };
        let Some(at) = points.iter().position(|p| p.decision == Some(trip.decision)) else { continue };
        let this = &body.graph.loops[of.index()];
        let busy = |part: BlockId| {
            (0..points.len()).any(|i| i != at && points[i].part == part && written[i] && !quiet[i])
        };
        if !known.before[at] || !written[at] || this.blocks.iter().any(|b| busy(*b)) {
            continue;
        }
        // One place serves one loop: the event names its decision.
        let meets = trips::meets(body, choice, of.index(), &busy);
        trip.meets = meets.filter(|at| counted.iter().all(|other| other.meets != Some(*at)));
        choice.sources[trip.decision] = Source::Trips { of, stay, bits: COUNT_EVENT };
        quiet[at] = true;
        counted.push(trip);
    }
    choice.trips = counted;
    quiet
}

/// Whether a point is a barrier that whole warps pass together: `.aligned`, or one of the warp's.
pub(crate) fn whole_warp(body: &Body<'_>, p: &Point) -> bool {
    p.class == SiteClass::Sync && p.decision.is_none() && p.at.is_some_and(|at| aligned(body, at))
}

fn aligned(body: &Body<'_>, at: InstId) -> bool {
    let inst = body.inst(at);
    let all = |o: &Operand| matches!(o, Operand::Int(i) if *i as u32 == u32::MAX);
    inst.guard.is_none()
        && match inst.semantics.effect {
            Effect::Barrier(barrier) if barrier.participants == Participants::Warp => {
                inst.operands.first().is_some_and(all)
            }
            Effect::Barrier(barrier) => barrier.converged,
            _ => false,
        }
}

/// Where it is known who is together.
struct Known {
    /// By point: right before it.
    before: Vec<bool>,
    /// By part: at its end.
    end: Vec<bool>,
    /// By part: those that lead to it, once for each way.
    from: Vec<Vec<BlockId>>,
}

impl Known {
    /// The greatest fixpoint.
    fn of(body: &Body<'_>, points: &[Point], written: &[bool]) -> Known {
        let parts = body.parts.len();
        let mut of_part: Vec<Vec<usize>> = vec![Vec::new(); parts];
        for (i, p) in points.iter().enumerate() {
            of_part[p.part.index()].push(i);
        }
        let mut known =
            Known { before: vec![true; points.len()], end: vec![true; parts], from: vec![Vec::new(); parts] };
        for &part in &body.graph.order {
            let end = &body.parts[part.index()].end;
            let targets =
                if let PartEnd::Switch { targets, .. } = end { targets.clone() } else { end.succs() };
            targets.iter().for_each(|to| known.from[to.index()].push(part));
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &part in &body.graph.order {
                let mut now = known.begins(body, part);
                let insts = body.parts[part.index()].insts.clone();
                let mut next = insts.start;
                let mut pass = |now: &mut bool, end: u32| {
                    for at in (next..end).map(InstId) {
                        *now = aligned(body, at) || *now && body.inst(at).class != Class::Call;
                    }
                    next = next.max(end);
                };
                for &i in &of_part[part.index()] {
                    let p = &points[i];
                    let end = match p.at {
                        Some(at) if insts.contains(&at.0) => at.0 + 1,
                        None if p.class == SiteClass::Entry => insts.start,
                        _ => insts.end,
                    };
                    pass(&mut now, end);
                    known.before[i] = now;
                    now |= written[i] && p.at.and_then(|at| body.inst(at).guard).or(p.guard).is_none();
                }
                pass(&mut now, insts.end);
                changed |= std::mem::replace(&mut known.end[part.index()], now) != now;
            }
        }
        known
    }

    /// At the beginning of a part.
    fn begins(&self, body: &Body<'_>, part: BlockId) -> bool {
        let from = &self.from[part.index()];
        let first = part == BlockId(0);
        let kernel = body.function.kind == FunctionKind::Kernel;
        let loops = &body.graph.loops;
        // Loops around a loop that has both have both as well.
        let leaves =
            |from: BlockId| body.graph.innermost_loop(from).is_some_and(|l| !loops[l].contains(part));
        let along = |from: &BlockId| self.end[from.index()] && !leaves(*from);
        let ways = from.len() + usize::from(first);
        let one_way = match body.graph.innermost_loop(part).map(|l| &loops[l]).filter(|l| l.header == part) {
            Some(l) => !l.irreducible && ways == 2 && from.iter().filter(|b| l.contains(**b)).count() == 1,
            None => ways == 1,
        };
        one_way && (!first || kernel) && from.iter().all(along)
    }

    /// Whether `p` is an exit alone in its block, and in all blocks before that it is known.
    fn joins(&self, body: &Body<'_>, p: &Point) -> bool {
        let alone = body.parts[p.part.index()].insts.len() <= 1;
        alone && p.part != BlockId(0) && self.from[p.part.index()].iter().all(|b| self.end[b.index()])
    }
}
