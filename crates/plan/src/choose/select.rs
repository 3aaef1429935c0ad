//! Selects what a recording of a function contains, by level and filter.
//!
//! # Invariants
//!
//! - Everything that a decoder needs to walk the path is selected, whatever the filter says: branches, guards
//!   of calls of recorded functions, guards of selected decisions, and at level `events` guards of
//!   instructions with events.

use prlx_isa::view::{FuncId, InstId};
use prlx_trace::kernel::{Level, SiteClass, Source};

use crate::choose::choice::Choice;
use crate::function::body::Body;
use crate::function::points::{self, Point};
use crate::plan::Filter;

/// By decision: whether it is part of the recording, be it computed or recorded.
pub(crate) fn kept(
    level: Level,
    filter: &Filter,
    body: &Body<'_>,
    points: &[Point],
    taken: &[bool],
    recorded: &dyn Fn(FuncId) -> bool,
) -> Vec<bool> {
    let mut kept = vec![true; body.decisions.len()];
    if matches!(level, Level::Fingerprint | Level::Operands) {
        return kept;
    }
    let visited: std::collections::HashSet<InstId> = match level {
        Level::Events | Level::Values => {
            let visits = points
                .iter()
                .zip(taken)
                .filter(|(p, t)| **t && p.decision.is_none() && wanted(filter, body, p));
            visits.filter_map(|(p, _)| p.at).collect()
        }
        _ => Default::default(),
    };
    for (p, taken) in points.iter().zip(taken) {
        let Some(d) = p.decision else { continue };
        let needed = |at: &InstId| visited.contains(at) || body.callee(*at).is_some_and(recorded);
        // `events` and `values` know every decision that `path` knows, unless the filter names classes.
        let every = level == Level::Path || filter.classes.is_empty();
        let asked = *taken && (every || wanted(filter, body, p));
        kept[d] = asked
            || matches!(p.class, SiteClass::Branch | SiteClass::Switch)
            || body.decisions[d].steers.iter().any(|(at, _)| needed(at));
    }
    loop {
        let guards = |d: usize| {
            let mut at = body.decisions[d].steers.iter().flat_map(|(at, _)| body.decided.get(at)).flatten();
            at.any(|&other| {
                kept[other] && body.decision_guard(other).is_some_and(|g| g.reg == body.decisions[d].reg)
            })
        };
        let more: Vec<usize> = (0..kept.len()).filter(|&d| !kept[d] && guards(d)).collect();
        if more.is_empty() {
            return kept;
        }
        for d in more {
            kept[d] = true;
        }
    }
}

/// By point: whether level `events` writes events for it.
pub(crate) fn events(
    filter: &Filter,
    body: &Body<'_>,
    points: &[Point],
    taken: &[bool],
    kept: &[bool],
    choice: &Choice,
) -> Vec<bool> {
    let event = |(p, taken): (&Point, &bool)| {
        let walked = p.decision.is_some_and(|d| kept[d] && choice.sources[d] != Source::Computed);
        walked || *taken && wanted(filter, body, p)
    };
    points.iter().zip(taken).map(event).collect()
}

/// By point: whether bits of what it stores are asked for at level `values`.
pub(crate) fn values(filter: &Filter, body: &Body<'_>, points: &[Point], taken: &[bool]) -> Vec<bool> {
    points.iter().zip(taken).map(|(p, taken)| *taken && wanted(filter, body, p)).collect()
}

/// Whether level `events` is asked for events of `p`'s kind: branches, switches, atomics, shared and global
/// stores, entry and exit; or the classes that the filter names.
fn wanted(filter: &Filter, body: &Body<'_>, p: &Point) -> bool {
    if !filter.classes.is_empty() {
        return filter.classes.contains(&p.class);
    }
    match p.class {
        SiteClass::Branch | SiteClass::Switch | SiteClass::Atomic | SiteClass::Entry | SiteClass::Exit => {
            true
        }
        SiteClass::Store => p.at.is_some_and(|at| points::shared_memory(body.inst(at))),
        _ => false,
    }
}
