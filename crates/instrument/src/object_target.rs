//! Lowering of plans to machine code: what an instruction set gives.

use prlx_isa::InstructionSet;
use prlx_isa::view::Module;
use prlx_plan::Plan;

use crate::error::Error;

/// Inserts plans into the objects of an instruction set.
pub trait ObjectTarget: Sync {
    /// The instruction set.
    fn instruction_set(&self) -> InstructionSet;

    /// Lowers a plan for the object in `bytes`, whose view is `module`.
    ///
    /// # Errors
    /// If the level cannot be inserted into code of the instruction set, or the object is damaged.
    fn lower(&self, bytes: &[u8], module: &Module, plan: &Plan) -> Result<LoweredObject, Error>;
}

/// An object with a plan inserted.
#[derive(Clone, Debug)]
pub struct LoweredObject {
    /// The object: the original kernels, and an instrumented kernel `k.prlx` for each kernel `k`. That takes
    /// the arguments of `k`, then at the next multiple of 8 bytes a
    /// [`HiddenParameter`](prlx_trace::device::HiddenParameter) and a
    /// [`LaunchSize`](prlx_trace::device::LaunchSize).
    pub bytes: Vec<u8>,
    /// Kernels that are not instrumented, with the reason.
    pub refused: Vec<(String, String)>,
}
