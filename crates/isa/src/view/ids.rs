//! Dense indices into the tables of a module and of a function.

use std::fmt;

/// Declares dense index types with a short `Debug` form.
macro_rules! ids {
    ($($(#[$m:meta])* $name:ident = $prefix:literal;)*) => { $(
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);
        impl $name {
            /// The value as an index into the table.
            pub const fn index(self) -> usize { self.0 as usize }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
    )* };
}

ids! {
    /// Index into `Module::functions`.
    FuncId = "func";
    /// Index into `Function::insts`.
    InstId = "inst";
    /// Index into `Function::blocks`.
    BlockId = "block";
    /// Index into `Function::regs`.
    Reg = "reg";
    /// Index into `Module::symbols`.
    SymbolId = "symbol";
    /// Index into `Module::locs`.
    LocId = "loc";
}
