//! Instruction sets of machine code that the device runs, and their objects in its memory.

use std::collections::HashMap;
use std::fmt;

use prlx_driver::Error;
use prlx_isa::InstructionSet;
use prlx_isa::view::Module;

use crate::decode::KernelCode;
use crate::mem::Memory;

/// Loads the objects of an instruction set.
pub trait Machine: fmt::Debug + Sync {
    /// The instruction set.
    fn instruction_set(&self) -> InstructionSet;

    /// Loads an object. `memory` is that of the device, of which `limit` bytes may be in use.
    ///
    /// # Errors
    /// If the object is damaged, needs symbols that it does not have, or memory is short.
    fn load(&self, bytes: &[u8], memory: &mut Memory, limit: u64) -> Result<LoadedObject, Error>;
}

/// An object in the device's memory.
#[derive(Debug)]
pub struct LoadedObject {
    /// The neutral view of its code.
    pub module: Module,
    /// Address of its memory, if it has some.
    pub base: Option<u64>,
    /// By symbol of the view: its address, if it has one.
    pub addresses: Vec<Option<u64>>,
    /// Its kernels by name.
    pub kernels: HashMap<String, Box<dyn KernelCode>>,
}
