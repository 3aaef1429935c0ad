//! One instruction of the neutral view, with its operands and results as the data flow names them.

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Base, Class, FuncId, Inst, Operand as View, Reg, Role, SymbolId, Type};
use prlx_plan::function::body::scalar;
use prlx_trace::check::Space;
use prlx_trace::dataflow::{Action, Address, Instruction, Operand, Operation};

use super::results::ResultPlane;
use crate::check::findings::{place, variable};
use crate::code::Plane;
use crate::decode::{PlaneKind, kind};
use crate::exec::launch::Launch;

/// Reads the instructions of a function.
pub(super) struct Reader<'a, 'l> {
    /// The launch, whose code has the planes of registers.
    pub launch: &'a Launch<'l>,
    /// The function whose instructions it reads.
    pub func: FuncId,
    /// By register of the function: its number in the table.
    pub registers: &'a [u32],
}

impl Reader<'_, '_> {
    /// The instruction of a step, and where its results lie.
    pub fn instruction(&self, i: &Inst, step: u32) -> (Instruction, Vec<ResultPlane>) {
        // An opcode that is not PTX's has no types here. Its meaning has.
        let (types, says) = (&opcode(i).types, &i.semantics);
        let ty = types.first().copied().or(says.result).unwrap_or(Type::B32);
        let compares = i.class == Class::Compare;
        let ty = if compares { types.last().copied().or(says.input).unwrap_or(ty) } else { ty };
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
        self.registers[r.index()]
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
            View::Reg(r) if matches!(role, Role::Addr | Role::Target) => {
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
        _ if name == "ldmatrix" || i.semantics.opcode.starts_with("wmma.load") => Action::Load,
        _ if name == "stmatrix" || i.semantics.opcode.starts_with("wmma.store") => Action::Store,
        _ if i.reads_clock() => Action::Clock,
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
