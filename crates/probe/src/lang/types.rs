//! Types of expressions: which values they have, and what two of them come to.

use std::ops::RangeInclusive;

use prlx_plan::code::Ty;

/// The values of an integer type.
pub fn range(ty: Ty) -> RangeInclusive<i128> {
    match (ty.bits(), ty.signed()) {
        (bits, true) => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
        (bits, false) => 0..=(1 << bits) - 1,
    }
}

/// The type of a whole number that meets none: `s32`, or `s64` or `u64` where that is too small.
pub fn alone(n: i128) -> Ty {
    [Ty::S32, Ty::S64].into_iter().find(|ty| range(*ty).contains(&n)).unwrap_or(Ty::U64)
}

/// The type that arithmetic on a type is done in: integers of 8 and 16 bits are brought to 32.
pub fn promoted(ty: Ty) -> Ty {
    match ty {
        Ty::U8 | Ty::U16 => Ty::U32,
        Ty::S8 | Ty::S16 => Ty::S32,
        ty => ty,
    }
}

/// The type that two are brought to: a float's if there is one, else the wider one's, of two as wide the one
/// without a sign; predicates go with predicates alone.
pub fn common(a: Ty, b: Ty) -> Option<Ty> {
    let (a, b) = (promoted(a), promoted(b));
    match (a == Ty::Bool, b == Ty::Bool) {
        (true, true) => return Some(Ty::Bool),
        (false, false) => {}
        _ => return None,
    }
    Some(match (a.float(), b.float()) {
        (true, false) => a,
        (false, true) => b,
        _ if a.bits() != b.bits() => {
            if a.bits() > b.bits() {
                a
            } else {
                b
            }
        }
        _ if a.signed() => b,
        _ => a,
    })
}

/// Whether a value goes into a type without a cast: integers into as wide or wider ones, and into floats;
/// floats into as wide or wider ones; predicates into predicates.
pub fn fits(from: Ty, into: Ty) -> bool {
    match (from, into) {
        (Ty::Bool, _) | (_, Ty::Bool) => from == into,
        _ if from.float() && !into.float() => false,
        _ if into.float() && !from.float() => true,
        _ => from.bits() <= into.bits(),
    }
}
