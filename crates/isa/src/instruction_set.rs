//! Instruction sets whose kernels are machine code: what the rest of PRLX asks of one before anything is
//! planned.
//!
//! # Invariants
//! Two instruction sets with the same name are the same.

use std::fmt;
use std::ops::Deref;

use crate::image::Error;
use crate::view::Module;

/// Reads the objects of an instruction set: files of machine code with kernels.
pub trait ObjectReader: Sync {
    /// The name of the instruction set.
    fn name(&self) -> &'static str;

    /// What messages call its code, as `AMD machine code`.
    fn code_name(&self) -> &'static str;

    /// Reads an object into the neutral view.
    ///
    /// # Errors
    /// If the bytes are no object, or hold kernels that no module can.
    fn read(&self, bytes: &[u8]) -> Result<Module, Error>;

    /// Size in bytes of the arguments of a kernel, those included that the runtime fills in.
    ///
    /// # Errors
    /// If the bytes are no object, or the object has no such kernel.
    fn argument_bytes(&self, bytes: &[u8], kernel: &str) -> Result<u64, Error>;
}

/// An instruction set, by its reader.
#[derive(Clone, Copy)]
pub struct InstructionSet(&'static dyn ObjectReader);

impl InstructionSet {
    /// The instruction set that a reader reads.
    pub const fn new(reader: &'static dyn ObjectReader) -> InstructionSet {
        InstructionSet(reader)
    }
}

impl Deref for InstructionSet {
    type Target = dyn ObjectReader;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for InstructionSet {
    fn eq(&self, other: &InstructionSet) -> bool {
        self.name() == other.name()
    }
}

impl Eq for InstructionSet {}

/// The machine code of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineCode {
    /// The instruction set.
    pub set: InstructionSet,
    /// The object as it is loaded, for one target.
    pub bytes: Vec<u8>,
    /// Lanes of the warps that run it: 32 or 64.
    pub warp_lanes: u32,
}

impl fmt::Debug for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
