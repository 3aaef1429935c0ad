//! Why one side alone makes an error: the guard or the branch that let its thread come there, and for threads
//! that wait for ever, what the other side does.

use std::collections::BTreeSet;

use prlx_trace::check::{Finding, Kind};
use prlx_trace::dataflow::Instruction;

use super::checks::{access_place, class, errors_alone, words};
use super::code_match::CodeMatch;
use super::explain::{ExplainedLaunch, cause_of_walk};
use super::flow::{At, Flow};
use super::walk::Walk;
use crate::report::{Cause, CauseClass};

/// Whether [`explain_error`] can explain errors of this kind.
fn explained(kind: Kind) -> bool {
    matches!(class(kind), Some(CauseClass::Address | CauseClass::Stuck))
}

/// The CTAs of the errors that [`explain_error`] looks at.
pub fn error_ctas(launch: &ExplainedLaunch<'_>) -> BTreeSet<u64> {
    let changes = launch.changes();
    let errors = errors_alone(launch.findings, &changes).filter(|(_, f)| explained(f.kind));
    errors
        .filter_map(|(side, finding)| {
            let [x, y, z] = access_place(finding.sides.first()?)?.cta.map(u64::from);
            let grid = launch.flows[side].grid;
            Some((z * u64::from(grid.y) + y) * u64::from(grid.x) + x)
        })
        .collect()
}

/// The cause of an access of one side that is out of bounds or misaligned, and that the same thread does not
/// come to on the other side: the branch or the guard at which they part. Of a deadlock of one side: what its
/// threads wait for. `None` if there is no such error.
pub fn explain_error(launch: &ExplainedLaunch<'_>) -> Option<Cause> {
    let flows = Flow::of_sides(launch.flows);
    let flows = [&flows[0], &flows[1]];
    let code = CodeMatch::new(launch.flows, launch.files);
    let error =
        errors_alone(launch.findings, &code.changes).find_map(|(side, finding)| match class(finding.kind)? {
            CauseClass::Stuck => deadlock(launch, flows, &code, (side, finding)),
            CauseClass::Address => wrong_access(launch, flows, &code, (side, finding)),
            _ => None,
        });
    error.or_else(|| super::stuck::explain_limit(launch, flows, &code))
}

/// The cause of a deadlock of one side.
fn deadlock(
    launch: &ExplainedLaunch<'_>,
    flows: [&Flow<'_>; 2],
    code: &CodeMatch,
    (side, finding): (usize, &Finding),
) -> Option<Cause> {
    // The run that is compared ended at a fault, and never got there.
    let fault = launch.findings[side].list.iter().any(|f| class(f.kind) == Some(CauseClass::Address));
    if fault { None } else { super::stuck::explain(launch, flows, code, (side, finding)) }
}

/// Why the thread of a wrong access comes there on one side alone.
fn wrong_access(
    launch: &ExplainedLaunch<'_>,
    flows: [&Flow<'_>; 2],
    code: &CodeMatch,
    (side, finding): (usize, &Finding),
) -> Option<Cause> {
    let access = finding.sides.first()?;
    access.threads?;
    let error = access_place(access)?;
    let (warp, lane) = flows[side].find_thread(error.cta, error.thread)?;
    let here =
        |i: &Instruction| (&i.place.function, i.place.module_line) == (&error.function, error.module_line);
    let number = u32::try_from(launch.flows[side].instructions.iter().position(here)?).ok()?;
    let visit = *flows[side].visits_of(number, warp, lane).last()?;
    let walk = Walk::of_visit(flows, code, launch.same_geometry(), (side, At { warp, visit, lane }))?;
    let found = walk.best().filter(|f| matches!(f.class, CauseClass::Guard | CauseClass::Input))?;
    let what = format!("{}; {}", words(side, finding), found.what);
    Some(cause_of_walk(&walk, found, what, Some(error)))
}
