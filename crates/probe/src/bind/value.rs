//! Values of expressions while a clause is compiled for one site.

use prlx_plan::code::Temp;

/// Reason something can't be had at a place.
pub(super) type Reason = String;

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A whole number that takes the type of what it meets.
    Int(i128),
    /// A number with a point, likewise.
    Float(f64),
    Bool(bool),
    Text(String),
    Temp(Temp),
}
