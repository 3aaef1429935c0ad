//! Functions, calls and indexed branches.

use prlx_isa::view::FuncId;

use super::memory::Plane;

/// An indexed branch (PTX ISA, `brx.idx`).
#[derive(Clone, Debug)]
pub struct BranchTable {
    /// The plane of the index.
    pub index: u16,
    /// The target steps.
    pub targets: Vec<u32>,
}

/// Where an argument or a result of a call lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Bytes of the lane's parameter space: offset and size.
    Bytes(u32, u32),
    /// A register of up to 128 bits.
    Plane(Plane),
    /// A predicate register.
    Pred(u16),
}

/// The function that a call runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function of the module.
    Direct(FuncId),
    /// The function at the address in a 64-bit plane.
    Indirect(u16),
    /// A function that the device provides.
    Builtin(Builtin),
}

/// Functions that the device provides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Builtin {
    /// `vprintf(format, arguments)`
    Vprintf,
    /// `__assertfail(message, file, line, function, size)`
    AssertFail,
    /// `malloc(size)`
    Malloc,
    /// `free(address)`
    Free,
}

/// A call instruction.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function that is called.
    pub callee: Callee,
    /// Where the caller passes the arguments.
    pub args: Vec<Slot>,
    /// Where the caller receives the results.
    pub rets: Vec<Slot>,
    /// Bytes of the caller's stack frame.
    pub frame: u32,
}

/// A function of the decoded code.
#[derive(Clone, Debug, Default)]
pub struct FunctionEntry {
    /// The first step.
    pub start: u32,
    /// Where the function receives its parameters.
    pub params: Vec<Slot>,
    /// Where the function leaves its results.
    pub returns: Vec<Slot>,
    /// Bytes of the stack frame.
    pub frame: u32,
    /// What a call saves, for a function that can be active twice in a lane.
    pub saved: Option<SavedRegisters>,
}

/// What a recursive call saves: everything that the callee may write. Each range is first and one past the
/// last.
#[derive(Clone, Debug, Default)]
pub struct SavedRegisters {
    /// Planes of up to 32 bits.
    pub w32: (u16, u16),
    /// Planes of 64 bits.
    pub w64: (u16, u16),
    /// Range of predicate planes.
    pub pred: (u16, u16),
    /// Bytes of the parameter space.
    pub bytes: (u32, u32),
}
