//! The table of PTX operations: everything that is one row per operation is derived from it.
//!
//! Adding an operation is one row here; the emulator's decoder then does not compile until the operation has a meaning or
//! a refusal there, and `docs/ops.md` is stale until it is generated again.

use crate::view::{Class, Role};

/// The rows: `mnemonic = Variant Class (roles of the operands in order)`. A role list's last entry repeats for further
/// operands. `Arith` classes become `Integer` or `Float` by the instruction's type.
#[macro_export]
macro_rules! for_each_ptx_op {
    ($m:ident) => {
        $m! {
            /// Sum (PTX ISA, Integer Arithmetic and Floating-Point Instructions: add).
            add = Add Arith (Def, Use, Use);
            /// Branch to a label.
            bra = Bra Branch (Target);
            /// Load.
            ld = Ld Load (Def, Addr, Use);
        }
    };
}

/// A class, or "by type".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableClass {
    /// Always this class.
    Is(Class),
    /// `Integer` or `Float`, by the type.
    Arith,
}

macro_rules! class {
    (Arith) => {
        TableClass::Arith
    };
    ($c:ident) => {
        TableClass::Is(Class::$c)
    };
}

macro_rules! define { ($($(#[doc = $d:literal])* $mnemonic:ident = $name:ident $class:ident ($($role:ident),*);)*) => {
    /// A PTX operation.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Op { $($(#[doc = $d])* $name,)* }
    impl Op {
        /// Every operation, in the table's order.
        pub const ALL: &[Op] = &[$(Op::$name,)*];
        /// From the text before the first dot.
        pub fn from_mnemonic(s: &str) -> Option<Op> { match s { $(stringify!($mnemonic) => Some(Op::$name),)* _ => None } }
        /// The text before the first dot.
        pub const fn mnemonic(self) -> &'static str { match self { $(Op::$name => stringify!($mnemonic),)* } }
        /// What kind it is.
        pub const fn class(self) -> TableClass { match self { $(Op::$name => class!($class),)* } }
        /// What its operands are; the last role repeats.
        pub const fn roles(self) -> &'static [Role] { match self { $(Op::$name => &[$(Role::$role),*],)* } }
        /// One line of documentation.
        pub const fn doc(self) -> &'static str { match self { $(Op::$name => concat!($($d),*),)* } }
    }
} }
for_each_ptx_op!(define);
