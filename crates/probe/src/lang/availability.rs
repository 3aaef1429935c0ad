//! What a tracepoint certainly does not have: known without code.

use super::ast::{Side, Tracepoint, What};
use super::builtin::Builtin;

pub(super) fn at_inst(point: &Tracepoint) -> bool {
    matches!(point.what, What::Inst(_) | What::Branch | What::Decision)
}

pub(super) fn output_unavailable(point: &Tracepoint) -> Option<&'static str> {
    match (&point.what, point.side) {
        (What::Inst(_) | What::Decision, Side::End) => None,
        (What::Inst(_) | What::Decision, Side::Begin) => Some("it is written by `:end`"),
        (What::Branch, _) => Some("a branch writes nothing"),
        _ => Some("there is no instruction"),
    }
}

/// Why a point can't have a builtin, if that is certain.
pub(super) fn unavailable(point: &Tracepoint, builtin: Builtin) -> Option<&'static str> {
    use Builtin::*;
    match builtin {
        Taken => match (&point.what, point.side) {
            (What::Branch, _) | (What::Decision, Side::End) => None,
            (What::Decision, Side::Begin) => Some("nothing is decided yet"),
            _ => Some("nothing is decided there"),
        },
        Opcode | Type | Reads | Writes => (!at_inst(point)).then_some("there is no instruction"),
        Space | Volatile | Width | Elements | Size | Flops | Address | Source | Mbarrier => {
            match point.what {
                What::Inst(_) | What::Decision => None,
                What::Branch => Some("a branch does not access memory or compute"),
                _ => Some("there is no instruction"),
            }
        }
        _ => None,
    }
}
