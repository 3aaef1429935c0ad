//! Which builtins and operands a tracepoint can never have, whatever the module.

use super::ast::{Side, Tracepoint, What};
use super::builtin::Builtin;

/// The reason for everything that is about an instruction.
pub(super) const NO_INSTRUCTION: &str = "this tracepoint has no instruction";

/// Whether the tracepoint stands at an instruction.
pub(super) fn at_inst(point: &Tracepoint) -> bool {
    matches!(point.what, What::Inst(_) | What::Branch | What::Decision)
}

/// Why `out` is never available at a tracepoint.
pub(super) fn output_unavailable(point: &Tracepoint) -> Option<&'static str> {
    match (&point.what, point.side) {
        (What::Inst(_) | What::Decision, Side::End) => None,
        (What::Inst(_) | What::Decision, Side::Begin) => {
            Some("the instruction has not written it yet; use `:end`")
        }
        (What::Branch, _) => Some("a branch has no result"),
        _ => Some(NO_INSTRUCTION),
    }
}

/// Why a builtin is never available at a tracepoint.
pub(super) fn unavailable(point: &Tracepoint, builtin: Builtin) -> Option<&'static str> {
    use Builtin::*;
    match builtin {
        Taken => match (&point.what, point.side) {
            (What::Branch, _) | (What::Decision, Side::End) => None,
            (What::Decision, Side::Begin) => Some("the predicate is not computed yet; use `decision`"),
            _ => Some("only `branch` and `decision` have it"),
        },
        Opcode | Type | Reads | Writes => (!at_inst(point)).then_some(NO_INSTRUCTION),
        Space | Volatile | Width | Elements | Size | Flops | Address | Source | Mbarrier => {
            match point.what {
                What::Inst(_) | What::Decision => None,
                What::Branch => Some("a branch does not access memory or compute a value"),
                _ => Some(NO_INSTRUCTION),
            }
        }
        _ => None,
    }
}
