//! Elements that one side adds to an atomic sum more often than the other: finds the instruction that gives
//! two threads the same element.
//!
//! Two addends come from the same element because their addresses are equal. From the address back, the
//! nearest instruction whose results agree although its operands do not is where two threads become one: a
//! remainder that wraps row numbers, a clamp, or an index that overlaps with the next CTA's.
//!
//! # Limitations
//! An element is known by the load of global memory that an addend comes from, or else by the load that its
//! destination comes from. Elements that the kernel wrote itself are not followed.

use std::collections::VecDeque;

use prlx_trace::check::Space;
use prlx_trace::dataflow::Action;
use prlx_trace::element;

use super::flow::{At, Flow, Source};
use super::lanes::source_lane;
use super::value::Canonical;

/// The most instructions of a slice that are looked at.
const MAX_STEPS: usize = 128;

/// Two visits of an instruction that give the same result for other operands.
pub(super) struct Collapse {
    /// The visits, of the two threads.
    pub at: [At; 2],
    /// What they do, in words: `` `rem.s32 %r1, %r2, %r3;` gives 5 for 5 and for 205``.
    pub what: String,
}

/// The access of an element of global memory that nothing in the kernel wrote, from which one of the sources
/// of `user` comes: a load, or a copy to shared memory.
pub(super) fn loaded_element(flow: &Flow<'_>, sources: Vec<Source>, user: At) -> Option<(At, Canonical)> {
    let mut work: Vec<(Source, At)> = sources.into_iter().map(|source| (source, user)).collect();
    for _ in 0..MAX_STEPS {
        let (at, n) = match work.pop()? {
            (Source::Result(at, n), _) => (at, n),
            (Source::Memory(word), user) => {
                match flow.writer(&word) {
                    None if word.space == Space::Global => {
                        return Some((user, Canonical::of_address(flow, word.space, word.address)));
                    }
                    None => {}
                    Some(writer) => {
                        work.extend(flow.written(&writer, &word).map(|source| (source, writer.at)));
                    }
                }
                continue;
            }
            _ => continue,
        };
        let instruction = flow.instruction(at)?;
        match instruction.action {
            Action::Load => work.extend(flow.read_word(at, n).map(|word| (Source::Memory(word), at))),
            Action::Exchange => {
                if let (Some(lane), Some(o)) = (source_lane(flow, at), instruction.operands.first()) {
                    let user = At { lane, ..at };
                    work.push((flow.operand(o, user), user));
                }
            }
            Action::Compute | Action::Move | Action::Convert | Action::Select => {
                work.extend(instruction.operands.iter().map(|o| (flow.operand(o, at), at)));
            }
            _ => {}
        }
    }
    None
}

/// The nearest instruction, from the addresses of two accesses back, whose results agree although its
/// operands do not.
pub(super) fn collapse(flow: &Flow<'_>, loads: [At; 2]) -> Option<Collapse> {
    let addresses = &flow.instruction(loads[0])?.addresses;
    let sources = addresses.iter().map(|a| loads.map(|at| flow.operand(&a.base, at)));
    // A copy has another destination in each thread.
    let mut work: VecDeque<[Source; 2]> =
        sources.filter(|pair| flow.value(&pair[0], loads[0]) == flow.value(&pair[1], loads[1])).collect();
    for _ in 0..MAX_STEPS {
        let [Source::Result(x, n), Source::Result(y, m)] = work.pop_front()? else { continue };
        let instruction = flow.instruction(x)?;
        if flow.number(x) != flow.number(y) || n != m {
            continue;
        }
        let operands = instruction.operands.iter().map(|o| [x, y].map(|at| flow.operand(o, at)));
        let mut differ = None;
        for pair in operands {
            let values = [flow.value(&pair[0], x), flow.value(&pair[1], y)];
            match values {
                [Some(a), Some(b)] if a == b => work.push_back(pair),
                [Some(a), Some(b)] => differ = differ.or(Some([a, b])),
                _ => {}
            }
        }
        if let Some(values) = differ {
            let result = flow.value(&Source::Result(x, n), x)?;
            let show = |bits| element::show(instruction.ty, bits);
            let [a, b] = values.map(show);
            let text = &instruction.place.instruction;
            let what = format!("`{text}` gives {} for {a} and for {b}", show(result));
            return Some(Collapse { at: [x, y], what });
        }
    }
    None
}
