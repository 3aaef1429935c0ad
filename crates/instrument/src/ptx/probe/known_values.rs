//! What is known of a temporary without running the program.

use prlx_isa::view::Operand;
use prlx_plan::code::{Code, LaneQuery, Op, Stmt, Temp};

/// What a temporary is, if it is a constant of the place.
pub(in crate::ptx) fn constant(code: &Code, temp: Temp) -> Option<u64> {
    match set_by(code, temp) {
        Some(Op::Const(bits)) => Some(*bits),
        _ => None,
    }
}

/// What sets a temporary, if one thing does.
pub(in crate::ptx) fn set_by(code: &Code, temp: Temp) -> Option<&Op> {
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

/// Whether a temporary is made of clocks and the multiprocessor's number: lanes that are together read the same.
pub(in crate::ptx) fn alike(code: &Code, temp: Temp) -> bool {
    let Some(op) = set_by(code, temp) else { return false };
    match op {
        Op::Query(LaneQuery::Clock | LaneQuery::Clock64 | LaneQuery::Time) => true,
        Op::Read(operand) => {
            matches!(code.operands.get(*operand as usize), Some(Operand::Special(name)) if name == "%smid")
        }
        // What they are made of was there before them.
        Op::Copy(a) | Op::Convert(a) if *a < temp => alike(code, *a),
        Op::Binary(_, a, b) if *a < temp && *b < temp => {
            let known = |t: &Temp| alike(code, *t) || constant(code, *t).is_some();
            known(a) && known(b) && (alike(code, *a) || alike(code, *b))
        }
        _ => false,
    }
}
