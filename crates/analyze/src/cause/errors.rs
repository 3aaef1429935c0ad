//! Why one side alone makes an error: the guard or the branch that let its thread come there.

use prlx_trace::Dim3;
use prlx_trace::dataflow::Instruction;

use super::checks::{ByCheck, class, errors_alone, fill_in};
use super::code_match::CodeMatch;
use super::explain::{ExplainedLaunch, found_places};
use super::flow::{At, Flow};
use super::walk::Walk;
use crate::report::{Cause, CauseClass};

/// The cause of an access of one side that is out of bounds or misaligned, and that the same thread does not
/// come to on the other side: the branch or the guard at which they part. `None` if there is no such error.
pub fn explain_error(launch: &ExplainedLaunch<'_>) -> Option<Cause> {
    let flows = launch.flows.map(Flow::new);
    let flows = [&flows[0], &flows[1]];
    let code = CodeMatch::new(launch.flows, launch.files);
    let [a, b] = launch.flows;
    let same_geometry = a.grid == b.grid && a.block == b.block;
    errors_alone(launch.findings).find_map(|(side, finding)| {
        let class = class(finding.kind).filter(|class| *class == CauseClass::Address)?;
        let check = ByCheck { side, finding, class };
        let access = finding.sides.first()?;
        let (place, threads) = (access.place.as_ref()?, access.threads?);
        let position = |d: Dim3| [d.x, d.y, d.z];
        let (warp, lane) = flows[side].find_thread(position(threads.cta), position(threads.first))?;
        let here = |i: &Instruction| {
            (i.place.function.as_str(), i.place.module_line) == (place.function.as_str(), place.module_line)
        };
        let number = u32::try_from(launch.flows[side].instructions.iter().position(here)?).ok()?;
        let visit = *flows[side].visits_of(number, warp, lane).last()?;
        let walk = Walk::of_visit(flows, &code, same_geometry, (side, At { warp, visit, lane }))?;
        let found = walk.best().filter(|f| matches!(f.class, CauseClass::Guard | CauseClass::Input))?;
        let mut cause = Cause::default();
        fill_in(&mut cause, check, &walk.code.changes);
        let error = cause.places[side].take();
        cause.class = found.class;
        found.class.advice().clone_into(&mut cause.advice);
        cause.places = found_places(&walk, found);
        cause.other = error;
        cause.what = format!("{}; {}", cause.what, found.what);
        super::relocate::to_change(&walk, found, &mut cause);
        Some(cause)
    })
}
