//! Lowers a plan to edits of the PTX text, and verifies the result.
//!
//! [`ptx`] turns a [`Plan`] into [`Edit`]s, [`apply`] inserts them, and [`verify`] checks the rewritten text
//! independently. [`rewrite`] does all three. [`reordering`] reports which instructions the assembler moved
//! across the markers of a profile.
//!
//! # Invariants
//! Code that the plan does not touch stays byte-identical.

mod amdgpu;
mod edit;
mod error;
mod object_target;
mod ptx;
pub mod reordering;
pub mod routines;
mod tokens;
mod verify;
pub use amdgpu::AmdGpu;
pub use edit::{Edit, apply};
pub use error::{Error, ErrorKind};
pub use object_target::{LoweredObject, ObjectTarget};
pub use ptx::ptx;
pub use verify::{inserted_code, verify};

use prlx_isa::view::Module;
use prlx_isa::{InstructionSet, MachineCode};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::WarpSize;

/// A module with a program inserted into it.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The plan: what was inserted where, and the static part of the trace.
    pub plan: Plan,
    /// Text of the rewritten module; of machine code, the disassembly of the original.
    pub text: String,
    /// View of the original module.
    pub module: Module,
    /// Machine code: the object with an instrumented kernel `k.prlx` for each kernel `k`.
    pub object: Option<MachineCode>,
}

/// What lowers plans to machine code of an instruction set; `None` if PRLX cannot.
pub fn target(set: InstructionSet) -> Option<&'static dyn ObjectTarget> {
    let targets: [&'static dyn ObjectTarget; 1] = [&AmdGpu];
    targets.into_iter().find(|target| target.instruction_set() == set)
}

/// Reads `source`, resolves `program` against it, lowers the plan and verifies the result.
///
/// `name` is the user's name for the module. `sources` returns the text of a source file by its path in the
/// debug information, if it is available.
///
/// # Errors
/// If the module cannot carry the recorder, or the result breaks an invariant of [`verify`]. The latter is a
/// bug in PRLX.
pub fn rewrite(
    source: &str,
    name: &str,
    program: &RecordingRequest,
    sources: &dyn Fn(&str) -> Option<String>,
) -> Result<Rewrite, Error> {
    rewrite_for(WarpSize::W32, source, name, program, sources)
}

/// [`rewrite`] for warps of this size. 64 lanes are a test mode of the CPU device, with the levels whose code
/// exchanges nothing between lanes.
///
/// # Errors
/// As [`rewrite`].
pub fn rewrite_for(
    size: WarpSize,
    source: &str,
    name: &str,
    program: &RecordingRequest,
    sources: &dyn Fn(&str) -> Option<String>,
) -> Result<Rewrite, Error> {
    let (mut module, _) = prlx_isa::ptx::read(source);
    module.warp_lanes = size.lanes() as u32;
    let plan = Plan::resolve(program, &module, name, sources);
    let edits = ptx(source, &module, &plan)?;
    let text = apply(source, &edits);
    verify(source, &text, &module, &plan)?;
    if let Some(text) = prlx_isa::ptx::with_optional_lines(&text) {
        verify(source, &text, &module, &plan)?;
    }
    Ok(Rewrite { plan, text, module, object: None })
}

/// [`rewrite`] of an object of machine code. A kernel that cannot be instrumented is skipped in the plan,
/// with the reason.
///
/// # Errors
/// If the object cannot be read, or the level cannot be inserted into code of the instruction set.
pub fn rewrite_object(
    target: &dyn ObjectTarget,
    bytes: &[u8],
    name: &str,
    program: &RecordingRequest,
    sources: &dyn Fn(&str) -> Option<String>,
) -> Result<Rewrite, Error> {
    let set = target.instruction_set();
    let module =
        set.read(bytes).map_err(|e| Error::new(ErrorKind::Unsupported, tokens::span(0, 0), e.what))?;
    let mut plan = Plan::resolve(program, &module, name, sources);
    ptx::fits(&module, &plan)?;
    let LoweredObject { bytes, refused } = target.lower(bytes, &module, &plan)?;
    for (kernel, why) in refused {
        let functions = plan.functions.iter_mut().zip(&module.functions);
        for (of_plan, _) in functions.filter(|(_, function)| function.name == kernel) {
            of_plan.skipped.get_or_insert_with(|| why.clone());
            of_plan.insertions.clear();
        }
    }
    let object = MachineCode { set, bytes, warp_lanes: module.warp_lanes };
    Ok(Rewrite { plan, text: module.text.to_string(), module, object: Some(object) })
}
