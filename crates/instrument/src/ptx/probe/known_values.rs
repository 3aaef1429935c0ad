//! What is known about a temporary without running the program.

use prlx_isa::view::Operand;
use prlx_plan::code::{Code, LaneQuery, Op, Stmt, Temp};

/// Value of a temporary that is a constant at its position.
pub(in crate::ptx) fn constant(code: &Code, temp: Temp) -> Option<u64> {
    match definition_of(code, temp) {
        Some(Op::Const(bits)) => Some(*bits),
        _ => None,
    }
}

/// The only operation that sets a temporary, if there is just one.
pub(in crate::ptx) fn definition_of(code: &Code, temp: Temp) -> Option<&Op> {
    fn sets<'c>(body: &'c [Stmt], temp: Temp, found: &mut Vec<Option<&'c Op>>) {
        for stmt in body {
            match stmt {
                Stmt::Set(to, op) if *to == temp => found.push(Some(op)),
                Stmt::Merge { old: Some(old), .. } if *old == temp => found.push(None),
                Stmt::If(_, then, other) => {
                    sets(then, temp, found);
                    sets(other, temp, found);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    sets(&code.body, temp, &mut found);
    match found[..] {
        [one] => one,
        _ => None,
    }
}

/// Whether a temporary is computed only from clocks and the SM's number. Lanes that execute together read the
/// same.
pub(in crate::ptx) fn is_uniform(code: &Code, temp: Temp) -> bool {
    let Some(op) = definition_of(code, temp) else { return false };
    match op {
        Op::Query(LaneQuery::Clock | LaneQuery::Clock64 | LaneQuery::Time) => true,
        Op::Read(operand) => {
            matches!(code.operands.get(*operand as usize), Some(Operand::Special(name)) if name == "%smid")
        }
        // Operands are defined before their results.
        Op::Copy(a) | Op::Convert(a) if *a < temp => is_uniform(code, *a),
        Op::Binary(_, a, b) if *a < temp && *b < temp => {
            let known = |t: &Temp| is_uniform(code, *t) || constant(code, *t).is_some();
            known(a) && known(b) && (is_uniform(code, *a) || is_uniform(code, *b))
        }
        _ => false,
    }
}
