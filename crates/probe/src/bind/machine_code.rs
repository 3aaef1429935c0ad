//! What a probe program sees of AMD's machine code: the words that tracepoints name instructions by, and
//! addresses.
//!
//! Tracepoints name operations of PTX. An instruction of AMD's has its own opcode, which tracepoints can name
//! too (`inst:global_load_dword`), and [`words`]: what PTX calls the same operation. So one program runs on both.
//!
//! # Limitations
//! - Addresses of buffer instructions, and of LDS instructions with two addresses, are not available.
//! - A FLAT instruction may access global, LDS or scratch memory; it matches no tracepoint that names a space.

use prlx_isa::amdgpu::inst::{Address, Encoding, Reg, Value as Place};
use prlx_isa::amdgpu::{Native, Register, RegisterMap};
use prlx_isa::view::{Class, Effect, Inst, InstId, Operand, Role, Space};
use prlx_plan::code::{Binary, Op, Temp, Ty};

use super::compile::ClauseCompiler;
use super::value::{Reason, Value};

/// The instruction of the machine, if the code is AMD's.
pub(super) fn native(inst: &Inst) -> Option<&Native> {
    inst.semantics.native.get::<Native>()
}

/// Whether an instruction of the view stands for none of the machine, as those for registers at the entry.
pub(super) fn is_added(inst: &Inst) -> bool {
    matches!(
        inst.semantics.opcode.as_str(),
        "entry" | "return" | "vccnz" | "execnz" | prlx_isa::amdgpu::UNREACHABLE
    ) && native(inst).is_none()
}

/// Whether an instruction of the view stands for the registers that nothing has written at a kernel's entry.
pub(super) fn is_undefined(inst: &Inst) -> bool {
    is_added(inst) && inst.semantics.opcode == "entry" && !inst.roles.contains(&Role::Use)
}

/// What PTX calls the operation of an AMD instruction, with its state space or type: `ld.global.b32`. `None`
/// for PTX, and for operations that no tracepoint needs by another name than their own.
pub(super) fn words(inst: &Inst) -> Option<String> {
    let native = native(inst)?;
    let space = match inst.space {
        Space::Global => Some("global"),
        Space::Shared => Some("shared"),
        Space::Local => Some("local"),
        Space::Param => Some("param"),
        _ => None,
    };
    let of_memory = |operation: &str| match space {
        Some(space) => format!("{operation}.{space}"),
        None => operation.to_owned(),
    };
    match inst.class {
        Class::Load => Some(of_memory("ld")),
        Class::Store => Some(of_memory("st")),
        Class::Atomic => {
            let returns = inst.roles.iter().any(|role| matches!(role, Role::Def | Role::UseDef));
            Some(of_memory(if returns { "atom" } else { "red" }))
        }
        Class::Matrix => Some("mma.sync".to_owned()),
        _ if matches!(inst.semantics.effect, Effect::Barrier(_)) => Some("bar.sync".to_owned()),
        _ => arithmetic(native.inst.name()),
    }
}

/// PTX's name of a floating-point operation: `v_fma_f32` is `fma.f32`.
fn arithmetic(name: &str) -> Option<String> {
    let name = name.trim_end_matches("_e32").trim_end_matches("_e64");
    let (operation, ty) = name.strip_prefix("v_")?.rsplit_once('_')?;
    if !matches!(ty, "f16" | "f32" | "f64") {
        return None;
    }
    let operation = match operation {
        "add" | "sub" | "mul" | "fma" | "min" | "max" | "sqrt" | "rcp" | "sin" | "cos" => operation,
        "rsq" => "rsqrt",
        "log" => "lg2",
        "exp" => "ex2",
        _ => return None,
    };
    Some(format!("{operation}.{ty}"))
}

impl ClauseCompiler<'_> {
    /// The address that an AMD instruction accesses: in LDS and scratch memory, the offset there.
    pub(super) fn machine_address(&mut self, at: InstId, native: &Native) -> Result<Value, Reason> {
        let inst = &native.inst;
        let Some(Address { vector, base, register, offset }) = inst.address() else {
            return Err("PRLX does not read the address of this instruction".to_owned());
        };
        match inst.encoding() {
            Some(Encoding::Mubuf | Encoding::Mtbuf) => {
                return Err("the address is in the descriptor of a buffer".to_owned());
            }
            Some(Encoding::Ds) if inst.two_offsets().is_some() => {
                return Err("the instruction has two addresses".to_owned());
            }
            _ => {}
        }
        let mut sum: Option<Temp> = None;
        for place in [vector, base, register].into_iter().flatten() {
            let value = self.machine_value(at, place)?;
            sum = Some(match sum {
                None => value,
                Some(sum) => self.emit(Ty::U64, Op::Binary(Binary::Add, sum, value)),
            });
        }
        let Some(sum) = sum else { return Ok(Value::Int(offset.into())) };
        let offset = self.emit(Ty::U64, Op::Const(offset.cast_unsigned()));
        Ok(Value::Temp(self.emit(Ty::U64, Op::Binary(Binary::Add, sum, offset))))
    }

    /// One or two registers as a number of 64 bits.
    fn machine_value(&mut self, at: InstId, place: Place) -> Result<Temp, Reason> {
        let registers = place.registers();
        let mut word = |reg: Reg| {
            let body = self.facts.body;
            let map = RegisterMap::of(body.function, body.module.warp_lanes);
            let own = map.get(Register::Word(reg));
            let own = own.ok_or("the address is in a register that a program cannot read")?;
            self.facts.intact(at, own)?;
            let operand = self.operand(&Operand::Reg(own));
            let narrow = self.emit(Ty::U32, Op::Read(operand));
            Ok::<Temp, Reason>(self.emit(Ty::U64, Op::Convert(narrow)))
        };
        match (registers.as_slice(), place) {
            ([low], _) => word(*low),
            ([low, high], _) => {
                let (low, high) = (word(*low)?, word(*high)?);
                let by = self.emit(Ty::U64, Op::Const(32));
                let high = self.emit(Ty::U64, Op::Binary(Binary::Shl, high, by));
                Ok(self.emit(Ty::U64, Op::Binary(Binary::Or, low, high)))
            }
            ([], Place::Integer(n)) => Ok(self.emit(Ty::U64, Op::Const(i64::from(n).cast_unsigned()))),
            _ => Err("a program cannot read this form of address".to_owned()),
        }
    }
}
