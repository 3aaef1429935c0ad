//! What an instruction does, what its operands are to it, and which arithmetic can be evaluated again.

use super::types::Type;

/// What kind of thing an instruction does: the word that tracepoints use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Class {
    /// Not in the table; kept as text.
    #[default]
    Opaque,
    /// Copies a value or reads a special register.
    Move,
    /// Computes on integers or bits.
    Integer,
    /// Computes on floating-point values.
    Float,
    /// Converts.
    Convert,
    /// Compares: gives predicates (or a 0/1 value).
    Compare,
    /// Chooses by a predicate.
    Select,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Read-modify-write on memory, with (`atom`) or without (`red`) a result.
    Atomic,
    /// Asynchronous copy, or its commit or wait.
    AsyncCopy,
    /// Tensor-core work.
    Matrix,
    /// Exchange or vote in a warp.
    Warp,
    /// Barrier, fence, mbarrier, warp synchronisation.
    Sync,
    /// Branch to a label.
    Branch,
    /// Branch by index.
    Switch,
    /// Call.
    Call,
    /// Back to the caller.
    Return,
    /// Ends the lane: `exit`, `trap`.
    Exit,
    /// Texture or surface.
    Texture,
    /// Hints and markers without effect on values: prefetch, nanosleep, setmaxnreg, griddepcontrol, pmevent …
    Hint,
}

/// What an operand is to its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Written.
    Def,
    /// Read.
    Use,
    /// Read and written.
    UseDef,
    /// An address: its registers are read.
    Addr,
    /// A branch target or function.
    Target,
    /// Something else (barrier names, prototypes, masks as text).
    Other,
}

/// Arithmetic that can be evaluated again from operands alone; results wrap to the type's width, as PTX defines them. The
/// first operand is the result, the others are in the instruction's order.
///
/// The type beside it in [`Inst::eval`] is the one that the opcode names first: for `MulWide` and `MadWide` that of the
/// factors (the result is twice as wide), for `Popc` and `Clz` that of the source (the result has 32 bits), for comparisons
/// that of what is compared. Its sign says how to compare, divide, extend and shift right; shifts by the width or more
/// give 0 or the sign. `Mov` can be of a special register or a symbol's address: whether those are known is not said here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations'; PTX ISA defines each")]
#[rustfmt::skip]
pub enum Eval {
    Mov, Add, Sub, Mul, MulHi, MulWide, Mad, MadWide, Div, Rem, And, Or, Xor, Not, Shl, Shr, Neg, Abs, Min, Max,
    Select, Eq, Ne, Lt, Le, Gt, Ge, Popc, Clz, Bfe, Lop3,
    /// `cvt` between integers: from the given type to the destination's.
    Convert(Type),
    /// A load of a kernel parameter at a constant address.
    LoadParam,
}
