//! What an instruction does, what its operands are to it, and which arithmetic can be evaluated again.

use super::types::Type;

/// What an instruction does, in the words that tracepoints use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Class {
    /// The operation is not in the table. The instruction is kept as text.
    #[default]
    Opaque,
    /// Copies a value, or reads a special register.
    Move,
    /// Integer or bitwise arithmetic.
    Integer,
    /// Arithmetic on floating-point values.
    Float,
    /// Converts between types.
    Convert,
    /// Compares two values; the result is a predicate, or 0 or 1.
    Compare,
    /// Selects one of two values by a predicate.
    Select,
    /// Loads from memory.
    Load,
    /// Stores to memory.
    Store,
    /// Atomic read-modify-write, with a result (`atom`) or without (`red`).
    Atomic,
    /// Asynchronous copy or reduction, its commit or its wait.
    AsyncCopy,
    /// Matrix operation of the tensor cores.
    Matrix,
    /// Exchange, vote or reduction over the lanes of a warp.
    Warp,
    /// Barrier, fence, mbarrier operation or warp synchronisation.
    Sync,
    /// Branch to one label.
    Branch,
    /// Branch to a label of a table, by index.
    Switch,
    /// Call of a function.
    Call,
    /// Return to the caller; in a kernel it ends the thread.
    Return,
    /// Ends the thread: `exit`, `trap`.
    Exit,
    /// Access to a texture or surface.
    Texture,
    /// No effect on values: `prefetch`, `nanosleep`, `setmaxnreg`, `griddepcontrol`, `pmevent` and the like.
    Hint,
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The instruction writes it.
    Def,
    /// The instruction reads it.
    Use,
    /// The instruction reads and writes it.
    UseDef,
    /// It is an address: the instruction reads its registers.
    Addr,
    /// It is a branch target or a called function.
    Target,
    /// Anything else: barrier names, call prototypes, masks as text.
    Other,
}

/// Arithmetic that a decoder can evaluate again from the operands alone. Results wrap to the type's width, as
/// PTX defines them. The first operand is the result; the others follow in the instruction's order.
///
/// The type beside it in [`super::Inst::eval`] is the first one that the opcode names. For `MulWide` and
/// `MadWide` that is the type of the factors (the result is twice as wide). For `Popc` and `Clz` it is the
/// type of the source (the result has 32 bits). For comparisons it is the type of the compared values. Its
/// sign decides how to compare, divide, extend and shift right. A shift by the width or more gives 0, or the
/// sign. `Mov` may read a special register or the address of a symbol. Whether that value is known is not
/// stated here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations'; PTX ISA defines each")]
#[rustfmt::skip]
pub enum Eval {
    Mov, Add, Sub, Mul, MulHi, MulWide, Mad, MadWide, Div, Rem,
    And, Or, Xor, Not, Shl, Shr, Neg, Abs, Min, Max,
    Select, Eq, Ne, Lt, Le, Gt, Ge, Popc, Clz, Bfe, Lop3,
    /// `cvt` between integers: from the contained type to the destination's.
    Convert(Type),
    /// A load of a kernel parameter at a constant address.
    LoadParam,
}
