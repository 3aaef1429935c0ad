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

use std::sync::Arc;

use prlx_driver::{Error, ErrorKind};
use prlx_isa::view::{BlockId, FuncId, FunctionKind, Inst, InstId, Module};
use prlx_plan::{At, Insertion, Plan};
use rustc_hash::FxHashMap;

use super::binder::{Binder, BranchFixup, PlaneCounts};
use super::call_graph::reachable;
use super::contract::{Contraction, contraction};
use super::fused::Fused;
use super::amdgpu::{self, LaunchState};
use super::{hooks, instruction, layout, warp_width};
use crate::calibration::Calibration;
use crate::code::{Code, Op};
use crate::error::{EmuError, unsupported};
use crate::exec::fault;
use prlx_lanes::Simd;

/// The input of decoding.
pub struct Request<'a> {
    /// The module of the kernel.
    pub module: &'a Module,
    /// The text of the module.
    pub source: &'a str,
    /// By symbol: address of global and constant variables.
    pub addresses: &'a [Option<u64>],
    /// The address range of the module's constant variables, from [`constants`].
    pub constants: (u64, u64),
    /// The kernel's name.
    pub kernel: &'a str,
    /// Actions to run as hooks.
    pub plan: Option<&'a Plan>,
    /// Bytes of stack for a lane when calls recurse.
    pub stack: u32,
    /// The instruction set that operations are compiled for.
    pub simd: Simd,
    /// Whether multiplications and additions are fused as the assembler does.
    pub contract: bool,
    /// Corrections of approximate operations.
    pub calibrations: &'a [Arc<Calibration>],
    /// What AMD's code needs to know of the kernel and of where it is loaded; `None` for PTX.
    pub amd: Option<&'a LaunchState>,
}

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
    if let Some(state) = r.amd {
        return amdgpu::attempt(r, state, root);
    }
    let mut b = Binder::new(module, r.addresses);
    b.code.name = module.functions[root.index()].name.clone();
    b.code.kernel = root;
    b.code.calibrations = r.calibrations.to_vec();
    b.code.constants = r.constants;
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
    // All registers lie before everything else.
    let PlaneCounts { w32, w64, pred } = b.registers;
    b.code.variable = [w32, w64, pred].map(|n| vec![(0, n as u16)]);
    let PlaneCounts { w32, w64, pred } = b.count;
    b.code.planes = (w32 as u16, w64 as u16, pred as u16);
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

/// An instruction that the device does not support.
pub struct UnsupportedInst {
    /// The function that contains the instruction.
    pub function: FuncId,
    /// The instruction in that function.
    pub inst: InstId,
    /// What is missing.
    pub why: EmuError,
}

/// Decodes the instructions of an instruction set.
pub trait InstDecoder {
    /// Called before everything of a function.
    fn begin(&mut self, b: &mut Binder<'_>);
    /// Appends what stands before the first instruction of a block.
    fn block(&mut self, b: &mut Binder<'_>, block: BlockId);
    /// Called before the steps of an instruction and of its hooks.
    fn before(&mut self, b: &mut Binder<'_>, inst: &Inst);
    /// Appends the steps of an instruction.
    ///
    /// # Errors
    /// The device does not support the instruction.
    fn instruction(
        &mut self,
        b: &mut Binder<'_>,
        id: InstId,
        inst: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError>;
}

struct PtxDecoder<'a> {
    module: &'a Module,
    simd: Simd,
    fused: Fused,
}

impl InstDecoder for PtxDecoder<'_> {
    fn begin(&mut self, _: &mut Binder<'_>) {}

    fn block(&mut self, _: &mut Binder<'_>, _: BlockId) {}

    fn before(&mut self, _: &mut Binder<'_>, _: &Inst) {}

    fn instruction(
        &mut self,
        b: &mut Binder<'_>,
        id: InstId,
        inst: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError> {
        b.begin(id, inst.guard);
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

/// Decodes the blocks of function `f`, with the actions of the plan as hooks.
pub fn function(
    b: &mut Binder<'_>,
    r: &Request<'_>,
    f: FuncId,
    decoder: &mut dyn InstDecoder,
    missing: &mut Vec<UnsupportedInst>,
) {
    let function = &r.module.functions[f.index()];
    b.func = f;
    let start = b.code.steps.len() as u32;
    b.code.entries.entry(f).or_default().start = start;
    let plan = r.plan.and_then(|p| p.functions.get(f.index())).filter(|p| p.skipped.is_none());
    let counters = b.counters.get(&f).copied().unwrap_or_default();
    let mut actions: FxHashMap<At, Vec<&Insertion>> = FxHashMap::default();
    for insertion in plan.iter().flat_map(|p| &p.insertions) {
        actions.entry(insertion.at).or_default().push(insertion);
    }
    let mut hook = |b: &mut Binder<'_>, at: At, inst: InstId| {
        for ins in actions.get(&at).into_iter().flatten() {
            if let Err(why) = hooks::action(b, function, inst, ins, counters) {
                let why = unsupported(format!("it can't be observed: {why}"));
                missing.push(UnsupportedInst { function: f, inst, why });
            }
        }
    };
    decoder.begin(b);
    hook(b, At::Entry, InstId(0));
    let mut fixes = Vec::new();
    let mut starts = Vec::with_capacity(function.blocks.len());
    let mut refused = Vec::new();
    for block in &function.blocks {
        starts.push(b.code.steps.len() as u32);
        decoder.block(b, BlockId(starts.len() as u32 - 1));
        for i in block.insts.clone() {
            let id = InstId(i);
            let Some(inst) = function.insts.get(id.index()) else { continue };
            decoder.before(b, inst);
            hook(b, At::Before(id), id);
            let decoded = decoder.instruction(b, id, inst, &mut fixes);
            if let Err(why) = decoded {
                refused.push(UnsupportedInst { function: f, inst: id, why });
            }
            hook(b, At::After(id), id);
        }
    }
    b.begin(InstId(function.insts.len().saturating_sub(1) as u32), None);
    b.emit(Op::End);
    let start = |t: BlockId| starts.get(t.index()).copied();
    for fix in fixes {
        let (step, known) = match fix {
            BranchFixup::Branch(step, to) => {
                let to = start(to);
                b.code.steps[step].op = to.map_or(Op::End, Op::Bra);
                (step, to.is_some())
            }
            BranchFixup::Wave(step, branch, to) => {
                let to = start(to);
                b.code.wave_branches[branch].to = to.unwrap_or(u32::MAX);
                (step, to.is_some())
            }
            BranchFixup::Table(step, table, to) => {
                let to: Vec<u32> = to.into_iter().filter_map(start).collect();
                let all = to.len() == b.code.branch_tables[table].targets.len();
                b.code.branch_tables[table].targets = to;
                (step, all)
            }
        };
        if !known {
            let why = unsupported("its target is not a block of this function");
            refused.push(UnsupportedInst { function: f, inst: b.code.origin[step].1, why });
        }
    }
    missing.extend(refused);
}

/// The error that names the first unsupported instructions.
fn refuse(b: &Binder<'_>, r: &Request<'_>, missing: &[UnsupportedInst]) -> Error {
    let mut lines = Vec::new();
    for m in missing.iter().take(5) {
        lines.push(format!("{}: {}", fault::place(r.module, r.source, m.function, m.inst), m.why));
    }
    if missing.len() > lines.len() {
        lines.push(format!("and {} more", missing.len() - lines.len()));
    }
    let what = if missing.len() == 1 { "an instruction" } else { "instructions" };
    Error::new(
        ErrorKind::Unsupported,
        format!("`{}` has {what} that the CPU device can't do:\n  {}", b.code.name, lines.join("\n  ")),
    )
}
