//! Where two threads take different branches.

use prlx_trace::dataflow::{Action, Instruction};

use super::code_match::CodeMatch;
use super::flow::{At, Flow};

/// The last branches of the threads of both visits before they went different ways; `None` if they went the
/// same way. They correspond, or are both the last since the threads were at the same place: two builds may
/// write the condition of one loop in different ways.
pub(super) fn diverge(flows: [&Flow<'_>; 2], code: &CodeMatch, threads: [At; 2]) -> Option<[At; 2]> {
    // Two builds may have other instructions in another order.
    let in_order = [Action::Branch, Action::Call, Action::Store, Action::Atomic, Action::Sync].as_slice();
    let found = if code.same { None } else { diverge_at(flows, code, threads, Some(in_order)) };
    found.or_else(|| diverge_at(flows, code, threads, None))
}

/// [`diverge`], by the instructions of `kinds`; of all kinds if there are none.
fn diverge_at(
    flows: [&Flow<'_>; 2],
    code: &CodeMatch,
    threads: [At; 2],
    kinds: Option<&[Action]>,
) -> Option<[At; 2]> {
    let steers = |side: usize, at: At| {
        let instruction = flows[side].instruction(at);
        let pointer = |i: &Instruction| i.action == Action::Call && !i.addresses.is_empty();
        let guarded =
            |i: &Instruction| matches!(i.action, Action::Branch | Action::Call) && i.guard.is_some();
        instruction.is_some_and(|i| guarded(i) || pointer(i))
    };
    let counts = |side: usize, at: At| {
        let action = flows[side].instruction(at).map(|i| i.action);
        kinds.is_none_or(|kinds| action.is_some_and(|action| kinds.contains(&action)))
    };
    let mut visits = [0, 1].map(|side| {
        let (flow, at): (&Flow<'_>, At) = (flows[side], threads[side]);
        let visits = flow.data.warps.get(at.warp as usize).map_or(&[][..], |w| &w.visits);
        let came = visits.iter().enumerate().filter(move |(_, v)| v.group >> at.lane & 1 == 1);
        came.map(move |(i, v)| (At { visit: i as u32, ..at }, v.instruction))
    });
    let mut last = None;
    loop {
        let mut own = [None; 2];
        let [a, b] = [0, 1].map(|side| {
            visits[side].find(|(at, number)| {
                let matched = code.of(side, *number).is_some() && counts(side, *at);
                if !matched && steers(side, *at) {
                    own[side] = Some(*at);
                }
                matched
            })
        });
        match (a, b) {
            (Some((x, i)), Some((y, j))) if code.matches(i, j) => {
                if steers(0, x) {
                    last = Some([x, y]);
                }
            }
            (None, None) => return None,
            _ => {
                return match own {
                    [Some(x), Some(y)] => Some([x, y]),
                    _ => last,
                };
            }
        }
    }
}
