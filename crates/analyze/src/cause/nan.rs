//! Where a NaN that one side alone has is made.

use prlx_trace::dataflow::Action;
use prlx_trace::element;

use super::flow::{At, Flow, Source};
use super::walk::{Pair, Walk, name};
use crate::report::CauseClass;

/// The most steps from a NaN to where it is made.
const MAX_STEPS: usize = 100_000;

/// Whether the register of a source holds one floating-point number.
fn is_number(flow: &Flow<'_>, source: &Source) -> bool {
    flow.type_of(source).is_some_and(element::is_float)
}

fn is_nan(flow: &Flow<'_>, source: &Source, user: At) -> bool {
    let value = flow.type_of(source).zip(flow.value(source, user));
    value.is_some_and(|(ty, bits)| element::as_f64(ty, bits).is_nan())
}

/// The instruction that makes the NaN which a source has; `None` if the source has none, or the NaN comes
/// from memory as it was before the launch.
fn birth(flow: &Flow<'_>, mut source: Source) -> Option<At> {
    for _ in 0..MAX_STEPS {
        match source {
            Source::Memory(word) => {
                let writer = flow.writer(&word)?;
                source = flow.written(&writer, &word)?;
            }
            Source::Result(at, n) => {
                let i = flow.instruction(at)?;
                let next = match i.action {
                    Action::Load => Source::Memory(flow.read_word(at, n)?),
                    Action::Exchange => {
                        let user = At { lane: super::lanes::source_lane(flow, at)?, ..at };
                        flow.operand(i.operands.first()?, user)
                    }
                    _ => {
                        let operands = i.operands.iter().map(|o| flow.operand(o, at));
                        let nan = operands
                            .into_iter()
                            .find(|o| is_nan(flow, o, at) || !is_number(flow, o) && i.action == Action::Move);
                        match nan {
                            Some(operand) => operand,
                            None => return Some(at),
                        }
                    }
                };
                source = next;
            }
            _ => return None,
        }
    }
    None
}

impl Walk<'_> {
    /// Of two values of which one is a NaN: notes where it is made.
    pub fn nan(&mut self, pair: usize, p: &Pair, nan: [bool; 2]) {
        if nan[0] == nan[1] {
            return;
        }
        let side = usize::from(nan[1]);
        let Some(at) = birth(self.flows[side], p.sources[side].clone()) else { return };
        let mut places = [None, None];
        places[side] = Some(at);
        let operands = self.flows[side].instruction(at).map(|i| {
            let shown = i.operands.iter().filter_map(|o| {
                let source = self.flows[side].operand(o, at);
                let bits = self.flows[side].value(&source, at)?;
                Some(crate::value::format_value(bits, self.flows[side].type_of(&source).unwrap_or(i.ty)))
            });
            shown.collect::<Vec<_>>().join(", ")
        });
        let what = format!("a NaN is made in {} from {}", name(side), operands.unwrap_or_default());
        self.find(pair, CauseClass::Nan, 1, places, what);
    }
}
