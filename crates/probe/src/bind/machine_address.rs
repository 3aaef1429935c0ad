//! Addresses that AMD's machine instructions access: sums of registers and an offset.
//!
//! # Limitations
//! Addresses of buffer instructions, and of LDS instructions with two addresses, are not available.

use prlx_isa::amdgpu::inst::{Address, Encoding, Reg, Value as Place};
use prlx_isa::amdgpu::{Native, Register, RegisterMap};
use prlx_isa::view::{InstId, Operand};
use prlx_plan::code::{Binary, Op, Temp, Ty};

use super::compile::ClauseCompiler;
use super::value::{Reason, Value};

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
                let by = self.emit(Ty::U32, Op::Const(32));
                let high = self.emit(Ty::U64, Op::Binary(Binary::Shl, high, by));
                Ok(self.emit(Ty::U64, Op::Binary(Binary::Or, low, high)))
            }
            ([], Place::Integer(n)) => Ok(self.emit(Ty::U64, Op::Const(i64::from(n).cast_unsigned()))),
            _ => Err("a program cannot read this form of address".to_owned()),
        }
    }
}
