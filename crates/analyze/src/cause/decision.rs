//! Why a thread makes another decision, where all outputs agree.
//!
//! # Limitations
//! Threads correspond by their position, so both sides need equal launch dimensions and warps. Code of which
//! large parts have no counterpart is not explained.

use prlx_trace::dataflow::{Action, Operand};

use super::code_match::CodeMatch;
use super::explain::{ExplainedLaunch, cause_of_walk, place, steps};
use super::flow::{At, Flow, Source};
use super::walk::{Context, Walk};
use crate::report::Cause;

/// The cause of the first decision in which the thread at a lane of a warp of the grid differs: of its
/// branches, guards and selects. `None` if there is none, or nothing explains it.
pub fn explain_decision(launch: &ExplainedLaunch<'_>, warp: u64, lane: u8) -> Option<Cause> {
    let flows = Flow::of_sides(launch.flows);
    let flows = [&flows[0], &flows[1]];
    let code = CodeMatch::new(launch.flows, launch.files);
    let warps = launch.flows.map(|flow| flow.warp_size);
    if !launch.same_geometry() || warps[0] != warps[1] || !code.similar {
        return None;
    }
    let thread = At { warp: u32::try_from(warp).ok()?, visit: 0, lane: lane.into() };
    let (walk, decision) = first_decision(flows, &code, thread)?;
    let found = walk.best()?;
    let what = format!("a thread makes another decision; {}", found.what);
    let mut cause = cause_of_walk(&walk, found, what, place(flows[0], decision));
    if cause.places.contains(&cause.other) {
        cause.other = None;
    }
    cause.steps = steps(&walk, &walk.chain(found.pair));
    Some(cause)
}

/// The walk from the first decision of a thread whose predicate differs, and that decision's visit of A.
fn first_decision<'a>(flows: [&'a Flow<'a>; 2], code: &'a CodeMatch, thread: At) -> Option<(Walk<'a>, At)> {
    let visits = &flows[0].data.warps.get(thread.warp as usize)?.visits;
    let own = (0..).zip(visits).filter(|(_, visit)| visit.group >> thread.lane & 1 == 1);
    own.map(|(visit, _)| At { visit, ..thread }).find_map(|at| {
        let own = predicate(flows[0], at)?;
        let partner = code.of(0, flows[0].number(at))?;
        let others = flows[1].visits_of(partner, thread.warp, thread.lane);
        let users = [at, At { visit: *others.get(flows[0].trip(at) as usize)?, ..thread }];
        let sources = [own, predicate(flows[1], users[1])?];
        let mut walk = Walk::at(flows, code, true, [Source::Nothing, Source::Nothing], users);
        walk.differ(&sources, users, 1).then(|| {
            walk.push(0, sources, users, Some(Context::Guard));
            walk.follow(1);
            (walk, at)
        })
    })
}

/// Where the predicate comes from that a visit decides by, if it decides.
fn predicate(flow: &Flow<'_>, at: At) -> Option<Source> {
    let code = flow.instruction(at)?;
    match (code.guard, code.action) {
        (Some((register, _)), _) => Some(flow.operand(&Operand::Register(register), at)),
        (None, Action::Select) => Some(flow.operand(code.operands.last()?, at)),
        _ => None,
    }
}
