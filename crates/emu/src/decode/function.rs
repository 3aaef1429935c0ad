//! Decoding of one function, whatever its instruction set: blocks, hooks and branches. An [`InstDecoder`]
//! decodes the instructions.

use std::fmt;
use std::sync::Arc;

use prlx_driver::LaunchConfig;
use prlx_isa::view::{BlockId, FuncId, Inst, InstId, Module};
use prlx_lanes::Simd;
use prlx_plan::{At, Insertion, Plan};
use rustc_hash::FxHashMap;

use super::binder::{Binder, BranchFixup};
use super::hooks;
use crate::calibration::Calibration;
use crate::code::Op;
use crate::error::{EmuError, unsupported};

/// The input of decoding.
pub struct Request<'a> {
    /// The module of the kernel.
    pub module: &'a Module,
    /// The text of the module.
    pub source: &'a str,
    /// By symbol: address of global and constant variables.
    pub addresses: &'a [Option<u64>],
    /// The address range of the module's constant variables.
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
    /// How the kernel's machine code is decoded; `None` for PTX.
    pub machine: Option<&'a dyn KernelCode>,
}

/// The machine code of a kernel: how it is decoded, and what it finds when it begins.
pub trait KernelCode: fmt::Debug + Send + Sync {
    /// Decodes the kernel, which is `root`, and all that it can reach. Returns the code and the instructions
    /// that the device does not support; the code has no steps for those.
    fn attempt<'a>(&self, r: &Request<'a>, root: FuncId) -> (Binder<'a>, Vec<UnsupportedInst>);

    /// What the code finds at its arguments, if that is more than the arguments of a launch.
    fn arguments(&self, _config: &LaunchConfig, _params: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// An instruction that the device does not support.
#[derive(Debug)]
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
    fn begin(&mut self, _b: &mut Binder<'_>) {}
    /// Appends what stands before the first instruction of a block.
    fn block(&mut self, _b: &mut Binder<'_>, _block: BlockId) {}
    /// Called before the steps of an instruction and of its hooks.
    fn before(&mut self, _b: &mut Binder<'_>, _inst: &Inst) {}
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
