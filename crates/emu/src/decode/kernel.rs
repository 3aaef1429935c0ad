//! Decodes one kernel and all that it can reach, once, into [`Code`].
//!
//! Names are resolved to planes and addresses, and operations to function pointers. An instruction that the
//! device cannot run is refused here, with all others of the kernel, before anything runs. What only other
//! kernels of the module use does not matter.
//!
//! # Invariants
//! Blocks keep their order in the source. The rule "the lowest step runs first" relies on it to reconverge
//! lanes.
//!
//! # Limitations
//! Registers are not shared between values whose lifetimes do not overlap.

use prlx_driver::{Error, ErrorKind};
use prlx_isa::ptx;
use prlx_isa::view::{FuncId, FunctionKind, Inst, InstId, Module};

use super::binder::{Binder, BranchFixup, PlaneCounts};
use super::call_graph::reachable;
use super::contract::{Contraction, contraction};
use super::function::{InstDecoder, Request, UnsupportedInst, function};
use super::fused::Fused;
use super::{instruction, layout, warp_width};
use crate::code::Code;
use crate::error::EmuError;
use crate::exec::fault;
use prlx_lanes::Simd;

/// The most bytes of local memory of a thread.
const MAX_LOCAL: u32 = 512 << 10;

/// Decodes a kernel.
///
/// # Errors
/// The module has no such kernel, or the kernel has instructions that the device does not support.
pub fn decode(r: &Request<'_>) -> Result<Code, Error> {
    let module = r.module;
    let found = module.functions.iter().position(|f| f.kind == FunctionKind::Kernel && f.name == r.kernel);
    let Some(kernel) = found.map(|i| FuncId(i as u32)) else {
        let names: Vec<&str> = module
            .functions
            .iter()
            .filter(|f| f.kind == FunctionKind::Kernel)
            .map(|f| f.name.as_str())
            .collect();
        let help = if names.is_empty() {
            "the module has no kernels".into()
        } else {
            format!("there is: {}", names.join(", "))
        };
        return Err(
            Error::new(ErrorKind::NotFound, format!("the module has no kernel `{}`", r.kernel)).help(help)
        );
    };
    let (b, missing) = attempt(r, kernel);
    if !missing.is_empty() {
        return Err(refuse(&b, r, &missing));
    }
    limits(&b).map_err(|why| Error::new(ErrorKind::Unsupported, why))?;
    Ok(b.code)
}

/// Decodes a function and all that it can reach. Returns the code and the instructions that the device does
/// not support; the code has no steps for those.
pub fn attempt<'a>(r: &Request<'a>, root: FuncId) -> (Binder<'a>, Vec<UnsupportedInst>) {
    let module = r.module;
    if let Some(code) = r.machine {
        return code.attempt(r, root);
    }
    let mut b = Binder::for_kernel(module, r.addresses, r.constants, root);
    b.code.calibrations = r.calibrations.to_vec();
    let calls = reachable(module, root);
    let recursive = layout::memory(&mut b, module, root, &calls, r.stack);
    let mut missing = Vec::new();
    for &f in calls.keys() {
        let before = b.count;
        b.func = f;
        layout::registers(&mut b, module, r.plan, f);
        let after = b.count;
        if recursive.contains(&f) {
            layout::save(&mut b, f, before, after);
        }
    }
    b.registers = b.count;
    for &f in calls.keys() {
        let contracted = r.contract && !module.debug;
        let contraction =
            if contracted { contraction(&module.functions[f.index()]) } else { Contraction::default() };
        let mut ptx = PtxDecoder { module, simd: r.simd, fused: Fused::new(contraction) };
        function(&mut b, r, f, &mut ptx, &mut missing);
    }
    b.finish_code();
    b.code.recursive = !recursive.is_empty();
    (b, missing)
}

/// Checks the decoded code against the limits of the device.
///
/// # Errors
/// [`EmuError::Limit`] if the code needs too many registers, steps or bytes of local memory.
pub fn limits(b: &Binder<'_>) -> Result<(), EmuError> {
    let name = &b.code.name;
    let PlaneCounts { w32, w64, pred } = b.count;
    if w32.max(w64) > u32::from(u16::MAX) || pred >= u32::from(u16::MAX >> 1) {
        let n = w32 + w64 + pred;
        let text = format!("`{name}` and what it calls use {n} registers, more than the CPU device has");
        return Err(EmuError::Limit(text));
    }
    if b.code.steps.len() as u64 >= 1 << crate::exec::warp_state::STEP_BITS {
        let text = format!("`{name}` and what it calls are longer than the CPU device can run");
        return Err(EmuError::Limit(text));
    }
    let local = b.code.local_bytes;
    if local > MAX_LOCAL {
        let text = format!("`{name}` needs {local} bytes of local memory a thread; there are {MAX_LOCAL}");
        return Err(EmuError::Limit(text));
    }
    Ok(())
}

struct PtxDecoder<'a> {
    module: &'a Module,
    simd: Simd,
    fused: Fused,
}

impl InstDecoder for PtxDecoder<'_> {
    fn instruction(
        &mut self,
        b: &mut Binder<'_>,
        id: InstId,
        inst: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError> {
        b.begin(id, inst.guard);
        if let Some(why) = ptx::refusal(self.module, b.function(), inst) {
            return Err(EmuError::InvalidCode(why));
        }
        warp_width::supported(self.module, inst)?;
        match self.fused.fusion(id) {
            Some(fusion) => self.fused.emit(b, inst, fusion, self.simd),
            None => {
                self.fused.keep_factors(b, id, inst)?;
                instruction::instruction(b, inst, self.simd, fixes)
            }
        }
    }
}

/// The error that names the first unsupported instructions.
fn refuse(b: &Binder<'_>, r: &Request<'_>, missing: &[UnsupportedInst]) -> Error {
    let is_invalid = |m: &&UnsupportedInst| matches!(m.why, EmuError::InvalidCode(_));
    let invalid: Vec<&UnsupportedInst> = missing.iter().filter(is_invalid).collect();
    let missing = if invalid.is_empty() { missing.iter().collect() } else { invalid.clone() };
    let mut lines = Vec::new();
    for m in missing.iter().take(5) {
        let place = fault::place(r.module, r.source, m.function, m.inst);
        lines.push(match &m.why {
            EmuError::InvalidCode(why) => format!("{place}: {why}"),
            why => format!("{place}: {why}"),
        });
    }
    if missing.len() > lines.len() {
        lines.push(format!("and {} more", missing.len() - lines.len()));
    }
    if !invalid.is_empty() {
        let what = format!("`{}` is not valid PTX:\n  {}", b.code.name, lines.join("\n  "));
        return Error::new(ErrorKind::Module, what);
    }
    let what = if missing.len() == 1 { "an instruction" } else { "instructions" };
    Error::new(
        ErrorKind::Unsupported,
        format!("`{}` has {what} that the CPU device can't do:\n  {}", b.code.name, lines.join("\n  ")),
    )
}
