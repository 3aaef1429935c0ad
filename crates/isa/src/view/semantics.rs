//! What an opcode says of an instruction, in words that hold for every instruction set.
//!
//! The reader of an instruction set fills it in once for each opcode. Everything else asks here what an
//! instruction does, and looks at no opcode.
//!
//! # Invariants
//! - [`Semantics::effect`] repeats nothing that the class, the operands and their roles say already.
//! - What an instruction set knows beyond this is in [`Semantics::native`]. Only the code of that instruction
//!   set and the emulator read it.
//!
//! # Limitations
//! Cache hints are not described.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::class::{Class, Eval};
use super::types::{Space, Type};

/// What an opcode says of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Semantics {
    /// The opcode as the instruction set writes it: `ld.global.nc.v4.f32`.
    pub opcode: String,
    /// Other names by which probe programs know the instruction: a mnemonic without what is no part of it,
    /// and what PTX calls the same operation, as `ld.global`.
    pub names: Vec<String>,
    /// What the instruction does, in one word.
    pub class: Class,
    /// State space that a memory operation names.
    pub space: Space,
    /// What the instruction does beyond its class.
    pub effect: Effect,
    /// Type of the results, if the opcode names one.
    pub result: Option<Type>,
    /// Type in which the inputs are read, if the opcode names one.
    pub input: Option<Type>,
    /// How it orders accesses to memory.
    pub order: Order,
    /// The product of two matrices that it computes.
    pub product: Option<Product>,
    /// Whether predicates that it writes are 0 in lanes for which its guard is false. Otherwise these lanes
    /// keep what was there, as in all other registers.
    pub clears: bool,
    /// Whether it runs once for the whole warp, also while its lanes wait for others. What it writes goes on
    /// changing in lanes that have left a loop, until the last one leaves.
    pub scalar: bool,
    /// Results that a decoder can evaluate again, where [`Inst::eval`](super::Inst::eval) cannot say it: of
    /// several results, or by several operations. Either this says all, or it is empty.
    pub results: Vec<Derived>,
    /// The opcode of the instruction set.
    pub native: Native,
}

/// A result of an instruction as a function of what it reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Derived {
    /// Position of the operand that is written.
    pub operand: usize,
    /// Position in it, if the operand is a vector.
    pub element: usize,
    /// What is written to it.
    pub value: Expr,
}

/// A value, by operands as they are before the instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// The operand at this position; of a vector the element at the second one.
    Operand(usize, usize),
    /// A constant, of which an operation takes as many low bits as its type has.
    Int(i64),
    /// An operation on values. Its type is that of [`Inst::eval`](super::Inst::eval).
    Of(Eval, Type, Vec<Expr>),
}

/// What an instruction does beyond its [`Class`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effect {
    /// The class says it all.
    #[default]
    Plain,
    /// Compares two values.
    Compare(Comparison),
    /// Returns the value that the first input has in another lane.
    Exchange,
    /// Reads or writes memory.
    Access(Access),
    /// A barrier of threads.
    Barrier(Barrier),
    /// An operation on a barrier that is an object in memory (PTX: `mbarrier`).
    BarrierObject {
        /// Whether it counts as an arrival.
        arrives: bool,
        /// Whether it asks if the phase is complete.
        polls: bool,
    },
    /// Orders accesses to memory, and waits for no thread.
    Fence,
    /// A part of asynchronous work.
    Async(Async),
    /// Lets time pass.
    Sleep,
    /// Ends the whole launch with an error.
    Trap,
}

/// The threads that observe the effect of an operation in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Scope {
    /// Threads of the CTA.
    #[default]
    Cta,
    /// Threads of the cluster.
    Cluster,
    /// The device and beyond.
    Gpu,
}

/// How an access or a fence orders others (PTX ISA, Memory Consistency Model).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// The access is strong: atomic, volatile, relaxed or stronger. Two strong accesses do not race.
    pub strong: bool,
    /// The operation releases what came before it.
    pub release: bool,
    /// The operation acquires what was released with the value that it reads.
    pub acquire: bool,
    /// The threads that observe the order.
    pub scope: Scope,
}

/// A comparison of two values. Two destinations are the result and its negation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// `Eval::Eq` to `Eval::Ge`. What it says of NaN is not described.
    pub relation: Eval,
    /// Type in which the values are compared; its sign is the comparison's.
    pub ty: Type,
    /// `Eval::And`, `Eval::Or` or `Eval::Xor`: how the third input, a predicate, changes the results.
    pub join: Option<Eval>,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Whether it reads memory.
    pub reads: bool,
    /// Whether it writes memory.
    pub writes: bool,
    /// The read-modify-write that it does, if it is atomic.
    pub atomic: Option<Atomic>,
    /// Whether the compiler must do it as written.
    pub volatile: bool,
    /// Size in bytes of an element, if the opcode names its type.
    pub element: Option<u32>,
    /// Elements that a lane moves.
    pub elements: u32,
    /// Whether the lanes of a warp move a matrix together, with several elements in a register.
    pub tile: bool,
    /// Whether its completion counts at a barrier object, whose address is the last one.
    pub completes: bool,
}

/// What an atomic operation does with the old value and its operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are the operations'")]
#[rustfmt::skip]
pub enum Atomic { Exchange, CompareExchange, Add, Min, Max, And, Or, Xor, Increment, Decrement, Other }

/// Which threads take part in a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Participants {
    /// Lanes of one warp, by a mask.
    Warp,
    /// Threads of one CTA.
    Cta,
    /// All CTAs of a cluster.
    Cluster,
}

/// A barrier of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Barrier {
    /// Who takes part.
    pub participants: Participants,
    /// Whether it counts as an arrival.
    pub arrives: bool,
    /// Whether the thread stays until all have arrived.
    pub waits: bool,
    /// Whether the active lanes of a warp must execute it together.
    pub converged: bool,
}

/// A part of asynchronous work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Async {
    /// What does the work. Groups of one queue complete in order.
    pub queue: Queue,
    /// What this instruction contributes.
    pub step: AsyncStep,
    /// Whether its completion counts at a barrier object, whose address is the last one.
    pub completes: bool,
    /// Whether it writes to several CTAs of the cluster, which the operand after the last address names.
    pub multicast: bool,
    /// Where the number of bytes is.
    pub bytes: CopiedBytes,
}

/// What does asynchronous work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// Copies of single elements by lanes.
    Copies,
    /// Copies of blocks and tensors.
    Bulk,
    /// Products of matrices whose results are registers.
    Products,
}

/// What an instruction contributes to asynchronous work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsyncStep {
    /// It starts work.
    Issue,
    /// It makes a group of all that was started.
    Commit,
    /// It waits until at most as many groups are left as the first operand says, or none.
    Wait,
    /// It orders registers and memory before work that starts later.
    Fence,
}

/// Where the number of bytes of a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopiedBytes {
    /// The instruction copies nothing.
    None,
    /// The tensor map says it.
    TensorMap,
    /// The first of these operands that is a number of 32 bits.
    Operand(&'static [usize]),
}

/// A product of two matrices, added to a third.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Rows of the result, columns of the result, and length of the sums.
    pub shape: [u32; 3],
    /// Lanes that compute it together.
    pub lanes: u32,
}

/// How the operands of an operation are ordered, as tools for text see them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandOrder {
    /// A result, an address, inputs.
    ResultAddress,
    /// An address, inputs.
    Address,
    /// Two addresses, inputs.
    TwoAddresses,
    /// A result, inputs.
    Result,
    /// Lists of registers, or no operands that have one value.
    Lists,
    /// A place in the code.
    Target,
}

/// The opcode of an instruction set, of which the view knows nothing.
#[derive(Clone, Default)]
pub struct Native(Option<Arc<dyn Any + Send + Sync>>);

impl Native {
    /// Keeps an opcode.
    pub fn new<T: Any + Send + Sync>(opcode: Arc<T>) -> Native {
        Native(Some(opcode))
    }
    /// Whether there is none: the reader added the instruction to the view.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
    /// The opcode, if it is one of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Native")
    }
}
