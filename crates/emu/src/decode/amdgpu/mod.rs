//! Decoding of AMD's machine code.
//!
//! All functions of a kernel share the hardware's registers, so a register has one plane in all of them. The
//! neutral view gives blocks, labels and guards; what an instruction does comes from the machine instruction
//! that it keeps.
//!
//! # Limitations
//! - Waits for counters do nothing, as every instruction completes before the next one begins. The check of
//!   asynchronous work finds registers that are read too early.
//! - A change of the floating-point mode must end in the basic block in which it begins.

pub mod alone;
mod alu;
mod control;
mod decoder;
mod float_mode;
pub mod launch_state;
mod masks;
mod memory;
mod timing;

use std::collections::BTreeSet;

use prlx_driver::LaunchConfig;
use prlx_isa::amdgpu::inst::Reg;
use prlx_isa::amdgpu::{Family, Native, Register, RegisterMap};
use prlx_isa::view::{BlockId, Class, FuncId, FunctionKind, Inst, InstId, Operand};
use prlx_lanes::{Args, Simd};
use rustc_hash::FxHashMap;

pub use self::alu::source_lanes;
pub use self::float_mode::FloatMode;
use self::launch_state::LaunchState;
use super::binder::{Binder, BranchFixup, PlaneKind, kind};
use super::call_graph::reachable;
use super::function::{InstDecoder, KernelCode, Request, UnsupportedInst, function};
use crate::code::{FunctionEntry, Op, Wave};
use crate::error::{EmuError, unsupported};
use decoder::Decoder;

impl KernelCode for LaunchState {
    fn attempt<'a>(&self, r: &Request<'a>, root: FuncId) -> (Binder<'a>, Vec<UnsupportedInst>) {
        attempt(r, self, root)
    }

    fn arguments(&self, config: &LaunchConfig, params: &[u8]) -> Option<Vec<u8>> {
        Some(self.with_packet(config, params))
    }
}

fn attempt<'a>(r: &Request<'a>, state: &LaunchState, root: FuncId) -> (Binder<'a>, Vec<UnsupportedInst>) {
    let module = r.module;
    let mut b = Binder::for_kernel(module, r.addresses, r.constants, root);
    b.code.static_shared = state.lds_bytes();
    // What a kernel with recursive calls needs is not known.
    let stack = if state.has_dynamic_stack() { r.stack } else { 0 };
    b.code.local_bytes = state.scratch_bytes().saturating_add(stack);
    let functions = functions(r, root);
    let mut planes: FxHashMap<Register, u16> = FxHashMap::default();
    let insts = functions.iter().flat_map(|f| &module.functions[f.index()].insts);
    let machine = insts.filter_map(|i| i.semantics.native.get::<Native>()).map(|native| native.inst);
    alu::allocate(&mut b, machine, &mut planes);
    for &f in &functions {
        let view = &module.functions[f.index()];
        let mut of = vec![0; view.regs.len()];
        let mut known: Vec<_> = RegisterMap::of(view, module.warp_lanes).iter().collect();
        known.sort_unstable();
        for (register, reg) in known {
            of[reg.index()] = *planes.entry(register).or_insert_with(|| b.plane(kind(register.ty())));
        }
        b.code.registers.insert(f, of);
        b.code.entries.insert(f, FunctionEntry::default());
    }
    let first_counter = b.count.w64 as u16;
    for &f in &functions {
        let n = r.plan.and_then(|p| p.functions.get(f.index())).map_or(0, |p| p.trip_counters);
        b.counters.insert(f, (b.count.w64 as u16, n as u16));
        b.count.w64 += n;
    }
    // A function that runs again before it returns has the same planes.
    b.code.kept_counters = (first_counter, b.count.w64 as u16);
    let exec = *planes.entry(Register::Mask(Reg::ExecLo)).or_insert_with(|| b.plane(PlaneKind::Pred));
    b.code.exec = Some(exec);
    b.registers = b.count;
    let initial = state.set_registers(&mut b, &planes);
    let mut missing = Vec::new();
    for &f in &functions {
        let mut decoder = AmdDecoder {
            planes: &planes,
            simd: r.simd,
            lanes: module.warp_lanes,
            base: state.base,
            first_mode: state.float_mode(),
            mode: state.float_mode(),
            mode_leaks: false,
            family: state.descriptor.target().family(),
            joins: joins(&r.module.functions[f.index()]),
            jump_to: None,
            begins_block: false,
            entry: (f == root).then(|| initial.clone()),
        };
        function(&mut b, r, f, &mut decoder, &mut missing);
    }
    b.finish_code();
    (b, missing)
}

/// The functions that a kernel may run, the kernel first. A call through a register may reach all.
fn functions(r: &Request<'_>, root: FuncId) -> Vec<FuncId> {
    let module = r.module;
    let mut all: BTreeSet<FuncId> = reachable(module, root).into_keys().collect();
    let unknown = |f: &FuncId| {
        module.functions[f.index()].insts.iter().any(|i| i.class == Class::Call && module.callee(i).is_none())
    };
    if all.iter().any(unknown) {
        let functions = module.functions.iter().zip(0..);
        let device = functions.filter(|(f, _)| f.kind == FunctionKind::Device);
        all.extend(device.map(|(_, at)| FuncId(at)));
    }
    all.remove(&root);
    std::iter::once(root).chain(all).collect()
}

/// The blocks at which lanes that took a branch on EXEC join the wave again.
fn joins(function: &prlx_isa::view::Function) -> BTreeSet<BlockId> {
    let mut all = BTreeSet::new();
    for (block, at) in function.blocks.iter().zip(0..) {
        let Some(last) = block.insts.clone().last().and_then(|i| function.insts.get(i as usize)) else {
            continue;
        };
        let native = last.semantics.native.get::<Native>();
        if native.is_some_and(|n| matches!(n.inst.name(), "s_cbranch_execz" | "s_cbranch_execnz")) {
            all.insert(BlockId(at + 1));
            all.extend(last.operands.iter().filter_map(|o| match o {
                Operand::Label(to) => Some(*to),
                _ => None,
            }));
        }
    }
    all
}

struct AmdDecoder<'p> {
    planes: &'p FxHashMap<Register, u16>,
    simd: Simd,
    lanes: u32,
    base: u64,
    family: Family,
    /// The floating-point mode in which the kernel and every block begin.
    first_mode: FloatMode,
    /// The floating-point mode at this place of the text.
    mode: FloatMode,
    /// A block has ended in another mode than it began with.
    mode_leaks: bool,
    joins: BTreeSet<BlockId>,
    /// The next machine instruction is the first one of its block.
    begins_block: bool,
    /// Where a jump to the next machine instruction goes: the first step of its function or block.
    jump_to: Option<u32>,
    /// At the kernel's entry: registers with an initial value, which their masks must have, too.
    entry: Option<Vec<Reg>>,
}

impl InstDecoder for AmdDecoder<'_> {
    fn begin(&mut self, b: &mut Binder<'_>) {
        self.jump_to = Some(b.code.steps.len() as u32);
    }

    fn block(&mut self, b: &mut Binder<'_>, block: BlockId) {
        self.jump_to.get_or_insert(b.code.steps.len() as u32);
        self.begins_block = true;
        self.mode_leaks |= self.mode != self.first_mode;
        self.mode = self.first_mode;
        if self.joins.contains(&block) {
            b.begin(b.inst, None);
            b.emit(Op::Join);
        }
    }

    fn before(&mut self, b: &mut Binder<'_>, inst: &Inst) {
        // What the view adds before a machine instruction belongs to it, as do the hooks there.
        if let Some(native) = inst.semantics.native.get::<Native>() {
            let at = self.jump_to.take().unwrap_or(b.code.steps.len() as u32);
            b.code.addresses.insert(self.base.wrapping_add(native.address), at);
        }
    }

    fn instruction(
        &mut self,
        b: &mut Binder<'_>,
        id: InstId,
        view: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError> {
        let Some(native) = view.semantics.native.get::<Native>() else {
            b.begin(id, None);
            // The view adds instructions: what registers hold at the entry, which they do here already, and
            // whether a mask has a lane, before a branch on that.
            let (Class::Warp, [Operand::Reg(to), Operand::Reg(mask)]) =
                (view.class, view.operands.as_slice())
            else {
                b.emit(Op::Nop);
                return Ok(());
            };
            let (to, mask) = (b.reg(*to), b.reg(*mask));
            b.emit_main(Op::Wave(any, Args { dst: [to, 0, 0, 0], src: [mask, 0, 0, 0], imm: 0 }));
            return Ok(());
        };
        b.begin(id, view.guard);
        b.code.natives.push(b.code.steps.len() as u32);
        if let Some(timing) = timing::timing(&native.inst, self.family) {
            b.code.timing.insert(b.code.steps.len() as u32, timing);
        }
        let (planes, simd, lanes, base) = (self.planes, self.simd, self.lanes, self.base);
        let mode = self.mode;
        let mut d = Decoder { b, planes, simd, lanes, base, mode, inst: native.inst };
        if let Some(initial) = self.entry.take() {
            d.set_mask(Reg::ExecLo, d.exec());
            d.wrote(&initial);
        }
        let (indexed, begins) = (d.inst.indexed() != 0, std::mem::take(&mut self.begins_block));
        if indexed && (begins || matches!(view.class, Class::Branch | Class::Call | Class::Return)) {
            return Err(unsupported("`s_set_gpr_idx_on` is in effect where control branches"));
        }
        if let Some(done) = control::control(&mut d, view, native, fixes) {
            return done;
        }
        if let Some(done) = memory::memory(&mut d) {
            return done;
        }
        if masks::mask(&mut d)? {
            return Ok(());
        }
        if d.inst.is_opaque() {
            return Err(unsupported("it is not an instruction that PRLX knows"));
        }
        if d.inst.name() == "v_readfirstlane_b32" {
            // It runs whatever EXEC says, and reads the first lane of it.
            d.b.guard = d.exec();
        }
        if std::mem::take(&mut self.mode_leaks) {
            let what = "the basic block before it ends in another floating-point mode than it begins with";
            return Err(unsupported(what));
        }
        let done = alu::data(&mut d);
        self.mode = d.mode;
        done
    }
}

/// Whether a mask has a lane.
fn any(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let holds = w.mask(a.src[0]) != 0;
    w.set_condition(a.dst[0], holds);
}
