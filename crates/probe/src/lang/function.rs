//! Functions and aggregates of programs: declared once.

use prlx_plan::code::{Binary, Reduce, Unary};

/// A function of the probe language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// Of one value.
    Unary(Unary),
    /// Of two.
    Binary(Binary),
    /// A float's bits.
    Bits,
    /// The high half of an operand.
    High,
    /// The active lanes for which a predicate holds.
    Ballot,
    /// The active lanes that have the same.
    Same,
    /// Over the active lanes.
    Reduce(Reduce),
}

/// All of them: name, function, what it takes, what it gives.
pub const FUNCTIONS: &[(&str, Function, &[&str], &str)] = &[
    ("abs", Function::Unary(Unary::Abs), &["x"], "The absolute value of a number."),
    ("popc", Function::Unary(Unary::Popc), &["x"], "How many bits of an integer are set."),
    (
        "clz",
        Function::Unary(Unary::Clz),
        &["x"],
        "How many bits of an integer are clear above the highest that is set.",
    ),
    ("finite", Function::Unary(Unary::Finite), &["x"], "Whether a float is neither infinite nor NaN."),
    ("min", Function::Binary(Binary::Min), &["a", "b"], "The lesser of two numbers."),
    ("max", Function::Binary(Binary::Max), &["a", "b"], "The greater of two numbers."),
    ("bits", Function::Bits, &["x"], "A float's bits, as an unsigned integer of its width."),
    (
        "high_half",
        Function::High,
        &["x"],
        "Of an operand (`in0`, `out`) that is a packed pair (`f16x2`, `bf16x2`) the high half; the operand alone is the low one.",
    ),
    ("ballot", Function::Ballot, &["p"], "The active lanes for which a predicate holds, a bit each."),
    ("lanes_same", Function::Same, &["x"], "The active lanes in which an integer is the same, a bit each."),
    ("lanes_sum", Function::Reduce(Reduce::Sum), &["x"], "The sum of an integer over the active lanes."),
    ("lanes_min", Function::Reduce(Reduce::Min), &["x"], "Its least value."),
    ("lanes_max", Function::Reduce(Reduce::Max), &["x"], "Its greatest value."),
    ("lanes_and", Function::Reduce(Reduce::And), &["x"], "The bits that it has in all of them."),
    ("lanes_or", Function::Reduce(Reduce::Or), &["x"], "The bits that it has in any."),
    ("lanes_xor", Function::Reduce(Reduce::Xor), &["x"], "The bits that it has in an odd number of them."),
];

impl Function {
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|f| f.1 == self).map_or("", |f| f.0)
    }
}

/// Aggregates: name, what it takes, what a row then holds.
pub const AGGREGATES: &[(&str, &[&str], &str)] = &[
    ("count", &[], "How often."),
    ("sum", &["x"], "The sum, in 64 bits: integers wrap."),
    ("min", &["x"], "The least value, and how often there was one."),
    ("max", &["x"], "The greatest value, and how often there was one."),
    ("avg", &["x"], "The mean, and how often there was a value."),
    ("hist", &["x"], "How often an integer lay in each power of two."),
    (
        "lhist",
        &["x", "low", "high", "step"],
        "How often it lay in each step from low to high, below and above.",
    ),
];
