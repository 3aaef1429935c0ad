//! The instructions of a kernel as the data flow names them.

use prlx_isa::amdgpu::Native;
use prlx_isa::ptx::opcode;
use prlx_isa::view::{Base, Class, FuncId, Inst, InstId, Operand as View, Reg, Role, SymbolId, Type};
use prlx_plan::function::body::scalar;
use prlx_trace::check::Space;
use prlx_trace::dataflow::{Action, Address, Instruction, Operand, Operation, Register};
use rustc_hash::FxHashMap;

use super::amd;
use super::results::ResultPlane;
use crate::check::findings::{place, variable};
use crate::code::{Op, Plane};
use crate::decode::{PlaneKind, kind};
use crate::exec::launch::Launch;

/// The instructions, registers and steps of the code.
#[derive(Default)]
pub(super) struct Table {
    pub instructions: Vec<Instruction>,
    pub registers: Vec<Register>,
    /// By step: its instruction; `u32::MAX` for a step around an instruction.
    pub steps: Vec<u32>,
    /// By step: whether it is a further access of the instruction that the step before accesses memory for.
    pub continues: Vec<bool>,
    /// By instruction: the planes of its results.
    pub results: Vec<Vec<ResultPlane>>,
    /// By instruction: whether it is the first of two operations that are one step.
    pub pairs: Vec<bool>,
}

/// Makes the table.
pub(super) fn table(launch: &Launch<'_>) -> Table {
    let mut out = Table::default();
    let (mut registers, mut blocks) = (Vec::new(), Vec::new());
    let mut block_count = 0;
    for f in &launch.module.functions {
        registers.push(out.registers.len() as u32);
        blocks.push(block_count);
        block_count += f.blocks.len() as u32;
        out.registers.extend(f.regs.iter().map(|r| Register { name: r.name.clone(), ty: scalar(r.ty) }));
    }
    let mut seen: FxHashMap<(FuncId, InstId), u32> = FxHashMap::default();
    // The instruction of the step before, if that step was an access.
    let mut accessed = None;
    for (step, (s, &origin)) in launch.code.steps.iter().zip(&launch.code.origin).enumerate() {
        let (func, inst) = origin;
        // An instruction of AMD's that accesses several words has a step for each. What registers hold at the
        // entry is a step without cost.
        let amd = launch.code.exec.is_some();
        let accesses = amd && matches!(s.op, Op::Ld(_) | Op::St(_));
        let counts = s.cost > 0 || accesses || amd && matches!(s.op, Op::Nop);
        let continues = accesses && accessed == Some(origin);
        accessed = accesses.then_some(origin);
        out.continues.push(continues);
        let function = launch.module.functions.get(func.index());
        let found = function.and_then(|f| f.insts.get(inst.index())).filter(|_| counts);
        let Some(i) = found else {
            out.steps.push(u32::MAX);
            continue;
        };
        let next = out.instructions.len() as u32;
        let number = *seen.entry(origin).or_insert(next);
        out.steps.push(number);
        if number == next {
            let reader = Reader { launch, func, first: registers[func.index()] };
            let read = match i.semantics.native.get::<Native>() {
                Some(native) => amd::read(&reader, i, native, step as u32),
                None => vec![reader.instruction(i, step as u32)],
            };
            let count = read.len();
            for (n, (mut instruction, results)) in read.into_iter().enumerate() {
                instruction.block = blocks[func.index()] + i.block.index() as u32;
                out.instructions.push(instruction);
                out.results.push(results);
                out.pairs.push(n + 1 < count);
            }
        }
    }
    out
}

/// Reads the instructions of a function.
pub(super) struct Reader<'a, 'l> {
    launch: &'a Launch<'l>,
    func: FuncId,
    /// Number of the function's first register.
    first: u32,
}

impl Reader<'_, '_> {
    /// The instruction of a step, and where its results lie.
    pub fn instruction(&self, i: &Inst, step: u32) -> (Instruction, Vec<ResultPlane>) {
        let ty = opcode(i).types.first().copied().unwrap_or(Type::B32);
        let compares = i.class == Class::Compare;
        let ty = if compares { opcode(i).types.last().copied().unwrap_or(ty) } else { ty };
        let mut out = Instruction {
            place: place(self.launch, step).unwrap_or_default(),
            opcode: i.semantics.opcode.clone(),
            action: action(i),
            operation: operation(&i.semantics.opcode),
            ty: scalar(ty),
            space: space(i),
            guard: i.guard.map(|g| (self.number(g.reg), g.negate)),
            ..Instruction::default()
        };
        for (operand, &role) in i.operands.iter().zip(&i.roles) {
            self.operand(operand, role, ty, &mut out);
        }
        // What a load writes besides is another form of the same registers.
        let written = if i.class == Class::Load { 1 } else { i.operands.len() };
        let (registers, results) = self.results(i.operands.iter().zip(i.roles.iter().copied()).take(written));
        out.results = registers;
        (out, results)
    }
    /// The registers that operands write, and where they lie.
    pub fn results<'o>(
        &self,
        operands: impl Iterator<Item = (&'o View, Role)>,
    ) -> (Vec<u32>, Vec<ResultPlane>) {
        let (mut registers, mut results) = (Vec::new(), Vec::new());
        for (operand, role) in operands {
            operand.for_each_reg(role, &mut |r, _, written| {
                if written && let Some(result) = self.plane(r) {
                    registers.push(self.number(r));
                    results.push(result);
                }
            });
        }
        (registers, results)
    }
    fn number(&self, r: Reg) -> u32 {
        self.first + r.index() as u32
    }
    fn plane(&self, r: Reg) -> Option<ResultPlane> {
        let plane = *self.launch.code.planes_of(self.func).get(r.index())?;
        let ty = self.launch.module.functions.get(self.func.index())?.regs.get(r.index())?.ty;
        Some(match kind(ty) {
            PlaneKind::Pred => ResultPlane::Pred(plane),
            PlaneKind::W32 => ResultPlane::Value(Plane::W32(plane)),
            PlaneKind::W64 => ResultPlane::Value(Plane::W64(plane)),
            PlaneKind::W128 => ResultPlane::Value(Plane::W64(plane)),
        })
    }
    /// Adds what an operand reads.
    pub fn operand(&self, operand: &View, role: Role, ty: Type, out: &mut Instruction) {
        match operand {
            View::Address(base, offset) => {
                let (base, offset) = match base {
                    Base::Reg(r) => (Operand::Register(self.number(*r)), *offset),
                    Base::Symbol(s) => (Operand::Symbol(self.symbol(*s), 0), *offset),
                    Base::Absolute => (Operand::Constant(0), *offset),
                };
                out.addresses.push(Address { base, offset });
            }
            View::Tensor(map, coordinates) => {
                self.operand(map, Role::Addr, ty, out);
                coordinates.iter().for_each(|o| self.operand(o, Role::Use, Type::S32, out));
            }
            // An address in several registers: its low word names it.
            View::Vector(list) if role == Role::Addr => {
                list.first().iter().for_each(|low| self.operand(low, role, ty, out));
            }
            View::Reg(r) if role == Role::Addr => {
                out.addresses.push(Address { base: Operand::Register(self.number(*r)), offset: 0 });
            }
            View::Vector(list) | View::List(list) => {
                list.iter().for_each(|o| self.operand(o, role, ty, out));
            }
            View::Pair(a, b) => {
                self.operand(a, role, ty, out);
                self.operand(b, role, ty, out);
            }
            _ if matches!(role, Role::Def | Role::Target) => {}
            View::Reg(r) | View::Element(r, _) => out.operands.push(Operand::Register(self.number(*r))),
            View::Not(r) => out.operands.push(Operand::Not(self.number(*r))),
            View::Int(n) => {
                let bits = ty.bits();
                let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                out.operands.push(Operand::Constant(*n as u64 & mask));
            }
            View::F32(bits) => out.operands.push(Operand::Constant(u64::from(*bits))),
            View::F64(bits) if ty == Type::F64 => out.operands.push(Operand::Constant(*bits)),
            View::F64(bits) => {
                let narrow = (f64::from_bits(*bits) as f32).to_bits();
                out.operands.push(Operand::Constant(narrow.into()));
            }
            View::Special(name) => out.operands.push(Operand::Special(name.clone())),
            View::Symbol(s, offset) => out.operands.push(Operand::Symbol(self.symbol(*s), *offset)),
            View::Sink | View::Label(_) | View::Targets(_) | View::Text(_) => {}
        }
    }
    fn symbol(&self, s: SymbolId) -> String {
        self.launch.module.symbols.get(s.index()).map_or_else(String::new, |s| variable(&s.name))
    }
}

/// What an instruction of PTX computes.
fn operation(opcode: &str) -> Operation {
    let mut words = opcode.split('.');
    match words.next().unwrap_or_default() {
        "add" => Operation::Add,
        "sub" => Operation::Subtract,
        "mul" => Operation::Multiply,
        "fma" | "mad" => Operation::MultiplyAdd,
        "min" | "max" | "and" | "or" | "xor" => Operation::Symmetric,
        "shfl" => Operation::Shuffle,
        "atom" | "red" | "multimem" if words.any(|word| word == "add") => Operation::Add,
        _ => Operation::Other,
    }
}

fn space(i: &Inst) -> Space {
    use prlx_isa::view::Space as View;
    match i.space {
        View::Shared | View::SharedCluster => Space::Shared,
        View::Local => Space::Local,
        View::Param => Space::Params,
        _ => Space::Global,
    }
}

fn action(i: &Inst) -> Action {
    let name = i.semantics.opcode.split('.').next().unwrap_or_default();
    match i.class {
        _ if name == "ldmatrix" => Action::Load,
        _ if name == "stmatrix" => Action::Store,
        _ if matches!(name, "cvta" | "mov") => Action::Move,
        Class::Move => Action::Move,
        Class::Integer | Class::Float => Action::Compute,
        Class::Convert => Action::Convert,
        Class::Compare => Action::Compare,
        Class::Select => Action::Select,
        Class::Load => Action::Load,
        Class::Store => Action::Store,
        Class::Atomic => Action::Atomic,
        Class::AsyncCopy => Action::Copy,
        Class::Matrix => Action::Matrix,
        Class::Warp => Action::Exchange,
        Class::Sync => Action::Sync,
        Class::Branch | Class::Switch => Action::Branch,
        Class::Call | Class::Return | Class::Exit => Action::Call,
        Class::Opaque | Class::Texture | Class::Hint => Action::Other,
    }
}
