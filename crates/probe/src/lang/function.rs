//! The functions and aggregates of the probe language, each in one table.

use prlx_plan::code::{Binary, Reduce, Unary};

/// A function of the probe language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// A function of one value.
    Unary(Unary),
    /// A function of two values.
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
    ("popc", Function::Unary(Unary::Popc), &["x"], "Number of bits that are set in an integer."),
    ("clz", Function::Unary(Unary::Clz), &["x"], "Number of leading zero bits of an integer."),
    ("finite", Function::Unary(Unary::Finite), &["x"], "Whether a float is neither infinite nor NaN."),
    ("min", Function::Binary(Binary::Min), &["a", "b"], "The smaller of two numbers."),
    ("max", Function::Binary(Binary::Max), &["a", "b"], "The greater of two numbers."),
    ("bits", Function::Bits, &["x"], "A float's bits, as an unsigned integer of its width."),
    (
        "high_half",
        Function::High,
        &["x"],
        "The high half of an operand (`in0`, `out`) that is a packed pair (`f16x2`, `bf16x2`). The operand by itself is the low half.",
    ),
    ("ballot", Function::Ballot, &["p"], "Mask of the active lanes where a predicate is true."),
    (
        "lanes_same",
        Function::Same,
        &["x"],
        "Mask of the active lanes where an integer has the same value as in this lane.",
    ),
    ("lanes_sum", Function::Reduce(Reduce::Sum), &["x"], "The sum of an integer over the active lanes."),
    (
        "lanes_min",
        Function::Reduce(Reduce::Min),
        &["x"],
        "The smallest value of an integer over the active lanes.",
    ),
    (
        "lanes_max",
        Function::Reduce(Reduce::Max),
        &["x"],
        "The largest value of an integer over the active lanes.",
    ),
    (
        "lanes_and",
        Function::Reduce(Reduce::And),
        &["x"],
        "The bitwise and of an integer over the active lanes.",
    ),
    ("lanes_or", Function::Reduce(Reduce::Or), &["x"], "The bitwise or of an integer over the active lanes."),
    (
        "lanes_xor",
        Function::Reduce(Reduce::Xor),
        &["x"],
        "The bitwise exclusive or of an integer over the active lanes.",
    ),
];

impl Function {
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|f| f.1 == self).map_or("", |f| f.0)
    }
}

/// Aggregates: name, what it takes, what a row then holds.
pub const AGGREGATES: &[(&str, &[&str], &str)] = &[
    ("count", &[], "The number of updates."),
    ("sum", &["x"], "The sum in 64 bits; integers wrap."),
    ("min", &["x"], "The smallest value, and the number of values."),
    ("max", &["x"], "The largest value, and the number of values."),
    ("avg", &["x"], "The mean, and the number of values."),
    ("hist", &["x"], "A histogram of an integer with one bucket for each power of two."),
    (
        "lhist",
        &["x", "low", "high", "step"],
        "A histogram of an integer with equal buckets from low to high, and one below and one above.",
    ),
];
