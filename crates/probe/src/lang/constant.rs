//! Operations on whole numbers that meet no value of a type. They are computed when a program is read, as a
//! kernel would compute them.
//!
//! # Invariants
//! The result is that of the same operation on operands of 64 bits in a kernel: signed, or unsigned if an
//! operand is beyond the signed ones. `docs/probes.md` defines division by 0, large shifts and overflow.

use prlx_plan::code::{Binary, Ty, Unary};
use prlx_plan::eval;

/// The result of an operation on whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Constant {
    /// A whole number of 64 bits, signed or not.
    Whole(i128),
    /// The result of a comparison.
    Truth(bool),
}

/// The type in which a number is computed.
fn wide(n: i128) -> Ty {
    if i64::try_from(n).is_ok() { Ty::S64 } else { Ty::U64 }
}

fn whole(bits: u64, ty: Ty) -> i128 {
    if ty.signed() { bits.cast_signed().into() } else { bits.into() }
}

/// Computes an operation on one number. `None` if the result is no such number, or depends on the width.
pub(crate) fn unary(op: Unary, n: i128) -> Option<i128> {
    // The least `s64` is written as the negation of a number that only `u64` holds.
    let ty = if op == Unary::Neg { wide(-n) } else { wide(n) };
    matches!(op, Unary::Neg | Unary::Not | Unary::Abs).then(|| whole(eval::unary(op, ty, n as u64), ty))
}

/// Computes an operation on two numbers. A shift has the type of what is shifted.
pub(crate) fn binary(op: Binary, x: i128, y: i128) -> Constant {
    let shift = matches!(op, Binary::Shl | Binary::Shr);
    let ty = if shift || wide(x) == Ty::U64 { wide(x) } else { wide(y) };
    let y = if shift { u64::from(y as u32) } else { y as u64 };
    let bits = eval::binary(op, ty, x as u64, y);
    if op.compares() { Constant::Truth(bits != 0) } else { Constant::Whole(whole(bits, ty)) }
}
