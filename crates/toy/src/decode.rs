//! Runs toy code on the CPU device: its instructions as the device's steps.
//!
//! The view has registers, blocks, labels and guards, so the decoder only says what each operation does to
//! planes. A vector operation is a step that the lanes of `exec` run. An operation on masks, or on all lanes,
//! is a step that runs once for the wave.
//!
//! # Invariants
//! A scalar or a condition is the same in all lanes, also in those that the launch does not have.

use prlx_driver::{Error, ErrorKind};
use prlx_emu::machine::{
    AddrBase, AddrSpace, Atomic, BarrierKind, BarrierOp, Binder, BranchFixup, Clock, EmuError, InstDecoder,
    KernelCode, LoadedObject, Machine, MemAccess, Memory, Op as Step, Plane, PlaneKind, Request, Rmw,
    UnsupportedInst, Wave, WaveBranch, WaveCondition, function, registers, unsupported,
};
use prlx_isa::view::{Base, BlockId, Eval, FuncId, Function, Inst, InstId, Operand, Reg, Type};
use prlx_isa::{InstructionSet, ObjectReader};
use prlx_lanes::{Args, LANES, Planes, V32, V64};

use crate::TOY;
use crate::code::{Instruction, Op};
use crate::reader::Toy;
use crate::semantics::native;

impl Machine for Toy {
    fn instruction_set(&self) -> InstructionSet {
        TOY
    }

    fn load(&self, bytes: &[u8], _: &mut Memory, _: u64) -> Result<LoadedObject, Error> {
        let module = self.read(bytes).map_err(|e| Error::new(ErrorKind::Module, e.to_string()))?;
        let kernel = |f: &Function| -> (String, Box<dyn KernelCode>) { (f.name.clone(), Box::new(Kernel)) };
        let kernels = module.functions.iter().map(kernel).collect();
        Ok(LoadedObject { base: None, addresses: vec![None; module.symbols.len()], kernels, module })
    }
}

/// A kernel. Its code is in the view.
#[derive(Debug)]
struct Kernel;

impl KernelCode for Kernel {
    fn attempt<'a>(&self, r: &Request<'a>, root: FuncId) -> (Binder<'a>, Vec<UnsupportedInst>) {
        let mut b = Binder::for_kernel(r.module, r.addresses, r.constants, root);
        let kernel = &r.module.functions[root.index()];
        b.params.extend(kernel.params.iter().copied().zip(kernel.param_offsets.iter().copied()));
        let shared = kernel.limits.iter().find(|(name, _)| name == "shared");
        b.code.static_shared = shared.and_then(|(_, bytes)| bytes.first().copied()).unwrap_or(0);
        registers(&mut b, r.module, r.plan, root);
        b.func = root;
        let exec = kernel.regs.iter().position(|r| r.name == "exec").unwrap_or(0);
        let exec = b.reg(Reg(exec as u32));
        b.code.exec = Some(exec);
        b.registers = b.count;
        let mut missing = Vec::new();
        function(&mut b, r, root, &mut Decoder { exec, joins: joins(kernel) }, &mut missing);
        b.finish_code();
        (b, missing)
    }
}

fn label(inst: &Inst) -> Option<BlockId> {
    inst.operands.iter().find_map(|o| if let Operand::Label(to) = o { Some(*to) } else { None })
}

/// The blocks at which lanes that left their wave meet it again.
fn joins(kernel: &Function) -> Vec<BlockId> {
    let leaves = |inst: &&Inst| native(inst).is_some_and(|i| matches!(i.op, Op::Skip | Op::Loop));
    let blocks = |inst: &Inst| [label(inst), Some(BlockId(inst.block.0 + 1))];
    kernel.insts.iter().filter(leaves).flat_map(blocks).flatten().collect()
}

struct Decoder {
    exec: u16,
    joins: Vec<BlockId>,
}

impl InstDecoder for Decoder {
    fn block(&mut self, b: &mut Binder<'_>, block: BlockId) {
        if self.joins.contains(&block) {
            b.begin(b.inst, None);
            b.emit(Step::Join);
        }
    }

    fn instruction(
        &mut self,
        b: &mut Binder<'_>,
        id: InstId,
        view: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError> {
        let Some(inst) = native(view) else {
            b.begin(id, None);
            b.emit(Step::Nop);
            return Ok(());
        };
        b.begin(id, view.guard);
        match inst.op {
            Op::Branch | Op::Skip | Op::Loop => self.branch(b, inst, view, fixes),
            Op::Arg | Op::Load | Op::Store | Op::Atom => memory(b, inst, view),
            Op::Barrier => {
                let id = b.const32(0);
                let barrier = BarrierOp { kind: BarrierKind::Sync, id, count: None, dst: 0, src: 0 };
                b.code.barriers.push(barrier);
                b.emit_main(Step::Barrier(b.code.barriers.len() as u32 - 1));
                Ok(())
            }
            Op::End => {
                b.emit_main(Step::Exit);
                Ok(())
            }
            _ if inst.ty == Type::Pred => masks(b, inst, view),
            Op::Ballot | Op::First => self.lanes(b, inst, view),
            _ => self.arithmetic(b, inst, view),
        }
    }
}

impl Decoder {
    fn branch(
        &self,
        b: &mut Binder<'_>,
        inst: &Instruction,
        view: &Inst,
        fixes: &mut Vec<BranchFixup>,
    ) -> Result<(), EmuError> {
        let to = label(view).ok_or_else(|| unsupported("it has no label"))?;
        let at = b.code.steps.len();
        let Some(guard) = view.guard else {
            fixes.push(BranchFixup::Branch(at, to));
            b.emit_main(Step::Bra(u32::MAX));
            return Ok(());
        };
        let when = match (inst.op, guard.negate) {
            (Op::Skip, _) => WaveCondition::Inactive,
            (Op::Loop, _) => WaveCondition::Active,
            (_, true) => WaveCondition::None,
            (_, false) => WaveCondition::Any,
        };
        let of = b.reg(guard.reg);
        fixes.push(BranchFixup::Wave(at, b.code.wave_branches.len(), to));
        b.code.wave_branches.push(WaveBranch { of, when, to: u32::MAX });
        // The wave takes the branch or not, whatever the bit of a lane is.
        b.begin(b.inst, None);
        b.emit_main(Step::WaveBranch(b.code.wave_branches.len() as u32 - 1));
        Ok(())
    }

    fn lanes(&self, b: &mut Binder<'_>, inst: &Instruction, view: &Inst) -> Result<(), EmuError> {
        let ballots = inst.op == Op::Ballot;
        let to = register(b, view, 0, if ballots { 64 } else { 32 })?;
        let from = register(b, view, 1, if ballots { 1 } else { 32 })?;
        let run = if ballots { ballot } else { first };
        b.emit_main(Step::Wave(run, Args { dst: [to, 0, 0, 0], src: [from, self.exec, 0, 0], imm: 0 }));
        Ok(())
    }

    fn arithmetic(&self, b: &mut Binder<'_>, inst: &Instruction, view: &Inst) -> Result<(), EmuError> {
        let wide = inst.ty.bits() == 64;
        let result = match inst.op {
            Op::Cmp => PREDICATE,
            _ if wide && inst.op != Op::Popc => WIDE,
            _ => WORD,
        };
        let to = register(b, view, 0, [32, 64, 1][result as usize])?;
        if view.operands.get(1) == Some(&Operand::Special("%clock64".to_owned())) {
            b.emit_main(Step::Clock(Clock::Wide, to));
            return Ok(());
        }
        // A source that is not there is the first one. The third one is the predicate of `sel`.
        let source = |at: usize| view.operands.get(at).or(view.operands.get(1));
        let mut src = [0; 4];
        for (at, ty) in [(1, inst.ty), (2, inst.ty), (3, Type::Pred)] {
            if let Some(operand) = source(at).filter(|_| at < 3 || inst.op == Op::Sel) {
                src[at - 1] = b.source(operand, ty)?;
            }
        }
        let number = inst.eval().and_then(|eval| EVALS.iter().position(|known| *known == eval));
        let number = number.ok_or_else(|| unsupported("it is no arithmetic"))?;
        let imm = number as u64 | u64::from(inst.ty.is_signed()) << 5 | u64::from(wide) << 6 | result << 7;
        if result != PREDICATE {
            b.emit_main(Step::Alu(arithmetic, Args { dst: [to, 0, 0, 0], src, imm }));
            return Ok(());
        }
        let (guard, holds) = (view.guard, b.temp(PlaneKind::Pred));
        b.guard = b.guard_bits(None);
        b.emit(Step::Alu(arithmetic, Args { dst: [holds, 0, 0, 0], src, imm }));
        // Lanes out of `exec` are 0 in a mask.
        let lanes = if guard.is_some() { self.exec } else { holds };
        let args = Args { dst: [to, 0, 0, 0], src: [holds, lanes, 0, 0], imm: 0 };
        b.emit_main(Step::Wave(both, args));
        Ok(())
    }
}

/// The plane of an operand that is a register with so many bits.
fn register(b: &Binder<'_>, view: &Inst, at: usize, bits: u32) -> Result<u16, EmuError> {
    match view.operands.get(at) {
        Some(Operand::Reg(r)) if b.reg_type(*r).bits() == bits => Ok(b.reg(*r)),
        _ => Err(unsupported(format!("operand {} of it is no register of {bits} bits", at + 1))),
    }
}

/// Loads, stores and atomic operations.
fn memory(b: &mut Binder<'_>, inst: &Instruction, view: &Inst) -> Result<(), EmuError> {
    let place = if inst.op == Op::Store { 0 } else { 1 };
    let (space, base, offset) = match view.operands.get(place) {
        Some(Operand::Address(Base::Symbol(param), offset)) => {
            let (at, _) = b.address(*param)?;
            (AddrSpace::Params, AddrBase::None, at.unwrap_or(0).cast_signed() + offset)
        }
        Some(Operand::Address(Base::Reg(r), offset)) => {
            let base = if b.reg_type(*r) == Type::B64 { AddrBase::W64 } else { AddrBase::W32 };
            let space = if inst.has("shared") { AddrSpace::Shared } else { AddrSpace::Global };
            (space, base(b.reg(*r)), *offset)
        }
        _ => return Err(unsupported("it has no address")),
    };
    let mut values = Vec::new();
    for (at, operand) in view.operands.iter().enumerate().filter(|(at, _)| *at != place) {
        values.push((at, b.element(operand, inst.ty)?));
    }
    let value = |n: usize| values.get(n).map_or(Plane::None, |(_, plane)| *plane);
    let size = inst.ty.bytes() as u8;
    let strong = inst.op == Op::Atom;
    let mem = MemAccess { space, base, offset, size, strong, planes: vec![value(0)] };
    let step = match inst.op {
        Op::Atom => {
            let signed = inst.ty.is_signed();
            let rmw = match inst.words.last().map(String::as_str) {
                Some("add") => Rmw::Add,
                Some("xor") => Rmw::Xor,
                Some("and") => Rmw::And,
                Some("or") => Rmw::Or,
                Some("exch") => Rmw::Exch,
                Some("min") if signed => Rmw::MinS,
                Some("min") => Rmw::MinU,
                Some("max") if signed => Rmw::MaxS,
                Some("max") => Rmw::MaxU,
                Some("cas") => Rmw::Cas,
                _ => return Err(unsupported("this atomic operation is not implemented")),
            };
            let swap = (rmw == Rmw::Cas).then(|| value(2));
            b.code.atoms.push(Atomic { mem, rmw, values: vec![value(1)], swap });
            Step::Atom(b.code.atoms.len() as u32 - 1)
        }
        op => {
            b.code.mems.push(mem);
            let at = b.code.mems.len() as u32 - 1;
            if op == Op::Store { Step::St(at) } else { Step::Ld(at) }
        }
    };
    b.emit_main(step);
    Ok(())
}

pub type OfMasks = fn(u64, u64) -> u64;

/// How operations make a mask of two masks.
pub const MASKS: [(Op, OfMasks); 6] = [
    (Op::Mov, |x, _| x),
    (Op::And, |x, y| x & y),
    (Op::AndNot, |x, y| x & !y),
    (Op::Or, |x, y| x | y),
    (Op::Xor, |x, y| x ^ y),
    (Op::Any, |x, _| if x == 0 { 0 } else { u64::MAX }),
];

/// Operations on masks.
fn masks(b: &mut Binder<'_>, inst: &Instruction, view: &Inst) -> Result<(), EmuError> {
    let to = register(b, view, 0, 1)?;
    let mut src = [0; 4];
    for (plane, operand) in src.iter_mut().zip(view.operands.get(1..).unwrap_or_default()) {
        *plane = b.source(operand, Type::Pred)?;
    }
    if inst.op == Op::Save {
        // The sources are the mask, and `exec`.
        b.emit_main(Step::Wave(save, Args { dst: [to, src[1], 0, 0], src, imm: 0 }));
        return Ok(());
    }
    let how = MASKS.iter().position(|(op, _)| *op == inst.op);
    let how = how.ok_or_else(|| unsupported("it is no operation on masks"))?;
    b.emit_main(Step::Wave(combine, Args { dst: [to, 0, 0, 0], src, imm: how as u64 }));
    Ok(())
}

fn combine(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let result = MASKS[a.imm as usize].1(w.mask(a.src[0]), w.mask(a.src[1]));
    w.set_mask(a.dst[0], result);
}

fn both(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let result = w.mask(a.src[0]) & w.mask(a.src[1]);
    w.set_mask(a.dst[0], result);
}

fn save(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let (mask, exec) = (w.mask(a.src[0]), w.mask(a.src[1]));
    w.set_mask(a.dst[0], exec);
    w.set_mask(a.dst[1], exec & mask);
}

fn lanes_of(mask: u64) -> impl Iterator<Item = usize> {
    (0..2 * LANES).filter(move |lane| mask >> lane & 1 == 1)
}

fn ballot(w: &mut Wave<'_, '_>, a: &Args, lanes: u64) {
    let mask = w.mask(a.src[0]);
    lanes_of(lanes).for_each(|l| w.0[l / LANES].w64[usize::from(a.dst[0])].0[l % LANES] = mask);
}

fn first(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let lowest = lanes_of(w.mask(a.src[1])).next().unwrap_or(0);
    let value = w.word(a.src[0], lowest);
    w.set_scalar(a.dst[0], value);
}

/// The operations that [`compute`] knows. Bits 0 to 4 of a step's number are a position here, bit 5 says
/// whether the type has a sign, bit 6 whether it has 64 bits, and the others are the kind of the result.
#[rustfmt::skip]
const EVALS: [Eval; 19] = [
    Eval::Mov, Eval::Add, Eval::Sub, Eval::Mul, Eval::Div, Eval::Rem, Eval::And, Eval::Or, Eval::Xor,
    Eval::Shl, Eval::Shr, Eval::Select, Eval::Popc, Eval::Eq, Eval::Ne, Eval::Lt, Eval::Le, Eval::Gt,
    Eval::Ge,
];

/// Kinds of results: 32 bits, 64 bits, a predicate.
const WORD: u64 = 0;
const WIDE: u64 = 1;
const PREDICATE: u64 = 2;

/// Computes in 128 bits, of which the result has as many low ones as its type. Division by 0 gives all ones,
/// as on NVIDIA's hardware.
pub fn compute(eval: Eval, (a, b): (i128, i128), by: u32, select: bool) -> i128 {
    match eval {
        Eval::Add => a + b,
        Eval::Sub => a - b,
        Eval::Mul => a.wrapping_mul(b),
        Eval::Div => a.checked_div(b).unwrap_or(-1),
        Eval::Rem => a.checked_rem(b).unwrap_or(-1),
        Eval::And => a & b,
        Eval::Or => a | b,
        Eval::Xor => a ^ b,
        Eval::Shl => a << by,
        Eval::Shr => a >> by,
        Eval::Select if !select => b,
        Eval::Popc => a.count_ones().into(),
        Eval::Eq => (a == b).into(),
        Eval::Ne => (a != b).into(),
        Eval::Lt => (a < b).into(),
        Eval::Le => (a <= b).into(),
        Eval::Gt => (a > b).into(),
        Eval::Ge => (a >= b).into(),
        _ => a,
    }
}

/// A source of [`compute`]: the low 32 bits, or all 64, with or without a sign.
pub fn extended(v: u64, signed: bool, wide: bool) -> i128 {
    match (signed, wide) {
        (true, false) => i128::from(v as i32),
        (true, true) => i128::from(v as i64),
        (false, false) => i128::from(v as u32),
        (false, true) => i128::from(v),
    }
}

fn arithmetic(p: &mut Planes, a: &Args, m: u32) {
    let (eval, signed, wide) = (EVALS[(a.imm & 31) as usize], a.imm >> 5 & 1 == 1, a.imm >> 6 & 1 == 1);
    let read = |plane| if wide { p.get64(plane).0 } else { p.get32(plane).0.map(u64::from) };
    let extend = |v: u64| extended(v, signed, wide);
    let (x, y, s) = (read(a.src[0]), read(a.src[1]), p.get_pred(a.src[2]));
    let value: [u64; LANES] = std::array::from_fn(|l| {
        let by = y[l].min(if wide { 64 } else { 32 }) as u32;
        compute(eval, (extend(x[l]), extend(y[l])), by, s >> l & 1 == 1) as u64
    });
    match a.imm >> 7 {
        WORD => p.put32(a.dst[0], m, V32(value.map(|v| v as u32))),
        WIDE => p.put64(a.dst[0], m, V64(value)),
        _ => p.put_pred(a.dst[0], m, (0..LANES).fold(0, |bits, l| bits | (value[l] as u32) << l)),
    }
}
