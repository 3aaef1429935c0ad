//! What routines read: registers of their own and of the function, special registers, and constants.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Bank, Encoding, Reg, Value};

use super::allocation::Special;
use super::assembler::{EXEC, sgpr, sgprs, vgpr, vgprs};
use super::compile::Compiler;
use super::numbers::Place;
use crate::ptx::{GRID_WARP, KEPT_SPECIALS};
use crate::routines::{Arg, own};

impl Compiler<'_> {
    /// The registers of a result.
    pub(super) fn place(&self, arg: &Arg<'_>) -> Result<Place, String> {
        match arg {
            Arg::Name(name) => self.place_of(name),
            _ => Err(format!("a routine writes to {arg:?}")),
        }
    }

    pub(super) fn place_of(&self, name: &str) -> Result<Place, String> {
        let found = own(name)
            .and_then(|own| self.registers.state.get(own).or_else(|| self.allocation.places.get(own)));
        found.copied().ok_or_else(|| format!("a routine writes to `{name}`"))
    }

    /// The first of so many scratch registers of this instruction.
    pub(super) fn take_scratch(&mut self, count: u8) -> Result<u8, String> {
        let first = if count > 1 { self.scratch.next_multiple_of(2) } else { self.scratch };
        self.scratch = first + count;
        if self.scratch > 4 {
            return Err("a routine's instruction needs too many scratch registers".to_owned());
        }
        Ok(self.registers.scratch + first)
    }

    /// The low 32 bits of a constant in a scratch register, or all of them in two.
    pub(super) fn in_scratch(&mut self, bits: u64, count: u8) -> Result<Value, String> {
        let first = self.take_scratch(count)?;
        self.set(vgpr(first), bits as u32);
        if count == 2 {
            self.set(vgpr(first + 1), (bits >> 32) as u32);
        }
        Ok(vgprs(first, count))
    }

    pub(super) fn set(&mut self, to: Value, bits: u32) {
        let from = if inline(bits) { Value::Integer(bits.cast_signed()) } else { Value::Literal(bits) };
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]);
    }

    /// A constant as an operand; large ones are in a scratch register.
    pub(super) fn constant(&mut self, bits: u32) -> Value {
        if inline(bits) {
            return Value::Integer(bits.cast_signed());
        }
        // The last scratch register is kept for this: an instruction has one large constant.
        let scratch = vgpr(self.registers.scratch + 3);
        self.set(scratch, bits);
        scratch
    }

    /// The low 32 bits of an operand, or the high ones.
    pub(super) fn half(&mut self, arg: &Arg<'_>, high: bool) -> Result<Value, String> {
        match arg {
            Arg::Int(n) => Ok(self.constant(if high { (n >> 32) as u32 } else { *n as u32 })),
            Arg::Name(name) => match self.place_of(name) {
                Ok(place) if high && !place.wide => Ok(Value::Integer(0)),
                Ok(place) => Ok(place.half(high)),
                Err(_) => self.outside(name),
            },
            _ => Err(format!("a routine reads {arg:?}")),
        }
    }

    /// A register of the function, or a special one.
    pub(super) fn outside(&mut self, name: &str) -> Result<Value, String> {
        if let Some(special) = self.names.specials.get(name) {
            return self.special(*special);
        }
        let lane = name == "%laneid";
        let register = self.names.function.get(&(name.to_owned(), false));
        let from = match (lane, register) {
            (true, _) => {
                let (to, all, zero) = (vgpr(self.take_scratch(1)?), Value::Integer(-1), Value::Integer(0));
                self.asm.emit(Encoding::Vop3, "v_mbcnt_lo_u32_b32", &[to, all, zero]);
                if self.asm.lanes == 64 {
                    self.asm.emit(Encoding::Vop3, "v_mbcnt_hi_u32_b32", &[to, all, to]);
                }
                return Ok(to);
            }
            (_, None) if name == GRID_WARP => {
                let to = vgpr(self.take_scratch(1)?);
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, sgpr(self.registers.warp)]);
                return Ok(to);
            }
            (_, Some(Register::Word(reg))) => *reg,
            _ => {
                let kept = KEPT_SPECIALS.iter().find(|(special, _)| *special == name);
                let kept = kept.and_then(|(_, kept)| self.registers.state.get(*kept));
                return kept.map(|place| place.whole()).ok_or_else(|| format!("a routine reads `{name}`"));
            }
        };
        let exec = |high: bool| match self.registers.exec {
            Value::Registers { first, .. } => sgpr(first + u8::from(high)),
            other => other,
        };
        let value = match from {
            Reg::V(n) => return Ok(vgpr(n)),
            Reg::A(n) => {
                let to = vgpr(self.take_scratch(1)?);
                let from = Value::Registers { bank: Bank::Accumulation, first: n, count: 1 };
                self.asm.emit(Encoding::Vop3p, "v_accvgpr_read_b32", &[to, from]);
                return Ok(to);
            }
            Reg::S(n) => sgpr(n),
            Reg::Ttmp(n) => Value::Registers { bank: Bank::Trap, first: n, count: 1 },
            Reg::VccLo => Value::Named("vcc_lo", &[]),
            Reg::VccHi => Value::Named("vcc_hi", &[]),
            Reg::M0 => Value::Named("m0", &[]),
            Reg::ExecLo => exec(false),
            Reg::ExecHi => exec(true),
            Reg::Scc
            | Reg::Mode
            | Reg::FlatScratchLo
            | Reg::FlatScratchHi
            | Reg::XnackMaskLo
            | Reg::XnackMaskHi => {
                return Err(format!("a routine reads `{name}`"));
            }
        };
        // An instruction may read one scalar register, and predicates are some.
        let to = vgpr(self.take_scratch(1)?);
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, value]);
        Ok(to)
    }

    pub(super) fn special(&mut self, special: Special) -> Result<Value, String> {
        let to = vgpr(self.take_scratch(1)?);
        match special {
            Special::Bits(from, 0, 32) => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]),
            Special::Bits(from, low, count) => {
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]);
                let [low, count] = [low, count].map(|n| Value::Integer(n.into()));
                self.asm.emit(Encoding::Vop3, "v_bfe_u32", &[to, to, low, count]);
            }
            Special::Parameter(offset) => {
                self.load_parameter(to, i64::from(offset), "global_load_dword")?;
            }
        }
        Ok(to)
    }

    /// The lanes for which a predicate holds, and perhaps lanes outside EXEC.
    pub(super) fn predicate(&mut self, name: &str) -> Result<Value, String> {
        if let Some(mask) = own(name).and_then(|own| self.allocation.masks.get(own)) {
            return Ok(*mask);
        }
        let register = self.names.function.get(&(name.to_owned(), true));
        let count = self.asm.lanes / 32;
        let tested = match register {
            Some(Register::Mask(Reg::ExecLo)) => return Ok(self.registers.exec),
            Some(Register::Mask(Reg::VccLo)) => return Ok(Value::Named("vcc", &[])),
            Some(Register::Mask(Reg::S(n))) => return Ok(sgprs(*n, count)),
            Some(Register::Mask(Reg::Ttmp(n))) => {
                return Ok(Value::Registers { bank: Bank::Trap, first: *n, count });
            }
            Some(Register::Mask(Reg::VccHi)) => return Ok(Value::Named("vcc_hi", &[])),
            Some(Register::Mask(Reg::M0)) => return Ok(Value::Named("m0", &[])),
            Some(Register::Word(Reg::Scc)) => None,
            Some(Register::AnyVcc) => Some(Value::Named("vcc", &[])),
            Some(Register::AnyExec) => Some(self.registers.exec),
            _ => return Err(format!("a routine reads the predicate `{name}`")),
        };
        let (zero, all) = (Value::Integer(0), Value::Integer(-1));
        let (of, name) = match tested {
            None => (sgpr(self.registers.scc), "s_cmp_lg_u32"),
            Some(of) => (of, if count == 2 { "s_cmp_lg_u64" } else { "s_cmp_lg_u32" }),
        };
        let mask = self.registers.masks[1];
        self.asm.emit(Encoding::Sopc, name, &[of, zero]);
        let select = if count == 2 { "s_cselect_b64" } else { "s_cselect_b32" };
        self.asm.emit(Encoding::Sop2, select, &[mask, all, zero]);
        Ok(mask)
    }

    /// Writes a predicate for the lanes in EXEC. `value` has no other lanes' bits.
    pub(super) fn define(&mut self, to: &Arg<'_>, value: Value) -> Result<(), String> {
        let Arg::Name(name) = to else { return Err(format!("a routine writes to {to:?}")) };
        let name = own(name).unwrap_or(name);
        let mask = *self.allocation.masks.get(name).ok_or_else(|| format!("a routine writes to `{name}`"))?;
        // Other lanes have a value of their own, if one of them reads it at the label that it goes to.
        if self.pending.iter().any(|label| *label > self.at && self.live[*label].contains(name)) {
            self.asm.mask2("s_andn2", mask, mask, EXEC);
            self.asm.mask2("s_or", mask, mask, value);
        } else {
            self.asm.mask1("s_mov", mask, value);
        }
        Ok(())
    }
}

/// Whether an instruction can hold a constant without a literal.
fn inline(bits: u32) -> bool {
    (-16..=64).contains(&bits.cast_signed())
}
