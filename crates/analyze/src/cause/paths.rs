//! Where two threads take different branches.

use prlx_trace::dataflow::Action;

use super::code_match::CodeMatch;
use super::flow::{At, Flow};

/// The last branch that the threads of both visits came to before they went different ways; `None` if they
/// went the same way.
pub(super) fn diverge(flows: [&Flow<'_>; 2], code: &CodeMatch, threads: [At; 2]) -> Option<[At; 2]> {
    let [a, b] = [0, 1].map(|side| {
        let (flow, at) = (flows[side], threads[side]);
        let visits = flow.data.warps.get(at.warp as usize).map_or(&[][..], |w| &w.visits);
        let came = visits.iter().enumerate().filter(move |(_, v)| v.group >> at.lane & 1 == 1);
        let matched = came.filter(move |(_, v)| code.of(side, v.instruction).is_some());
        matched.map(move |(i, v)| (At { visit: i as u32, ..at }, v.instruction))
    });
    let (mut a, mut b, mut last) = (a, b, None);
    loop {
        match (a.next(), b.next()) {
            (Some((x, i)), Some((y, j))) if code.matches(i, j) => {
                let steers = flows[0]
                    .instruction(x)
                    .is_some_and(|i| matches!(i.action, Action::Branch | Action::Call) && i.guard.is_some());
                if steers {
                    last = Some([x, y]);
                }
            }
            (None, None) => return None,
            _ => return last,
        }
    }
}
