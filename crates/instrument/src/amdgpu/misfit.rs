//! Why a group of functions is not copied, or not in one way.

use std::fmt;

/// A bank of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bank {
    Scalar,
    Vector,
}

/// Why a group is not copied.
#[derive(Clone, Debug)]
pub(super) enum Misfit {
    /// A branch does not reach its target.
    Unreached,
    /// Too few registers of a bank are free.
    Registers(Bank),
    /// Nothing that another way of copying would change.
    Other(String),
    /// Inserted code does not do what it must. This is a bug.
    Wrong(String),
}

impl From<String> for Misfit {
    fn from(what: String) -> Misfit {
        Misfit::Other(what)
    }
}

impl From<&str> for Misfit {
    fn from(what: &str) -> Misfit {
        Misfit::Other(what.to_owned())
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Unreached => f.write_str("a branch inside of inserted code is too long"),
            Misfit::Registers(Bank::Scalar) => f.write_str("too few scalar registers are free"),
            Misfit::Registers(Bank::Vector) => f.write_str("too few vector registers are free"),
            Misfit::Other(what) | Misfit::Wrong(what) => f.write_str(what),
        }
    }
}
