//! Operands: from the bits of a field to registers and constants, as the "Scalar Operands" and "Vector
//! Operands" tables of the RDNA and CDNA manuals number them.

use super::names::{Encoding, Field};
use super::raw::Inst;
use super::table::{Allows, Immediate, Kind, Slot};
use crate::amdgpu::{Family, Target};

/// A 32-bit register, or one that has no number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the registers'")]
pub enum Reg {
    S(u8),
    Ttmp(u8),
    V(u8),
    A(u8),
    VccLo,
    VccHi,
    ExecLo,
    ExecHi,
    M0,
    Scc,
    Mode,
    FlatScratchLo,
    FlatScratchHi,
    XnackMaskLo,
    XnackMaskHi,
}

impl Reg {
    /// The register after one of the same bank, if masks and 64-bit values can have it as their second.
    pub fn next(self) -> Option<Reg> {
        Some(match self {
            Reg::S(n) => Reg::S(n.checked_add(1)?),
            Reg::Ttmp(n) => Reg::Ttmp(n.checked_add(1)?),
            Reg::V(n) => Reg::V(n.checked_add(1)?),
            Reg::A(n) => Reg::A(n.checked_add(1)?),
            Reg::VccLo => Reg::VccHi,
            Reg::ExecLo => Reg::ExecHi,
            Reg::FlatScratchLo => Reg::FlatScratchHi,
            Reg::XnackMaskLo => Reg::XnackMaskHi,
            Reg::VccHi
            | Reg::ExecHi
            | Reg::M0
            | Reg::Scc
            | Reg::Mode
            | Reg::FlatScratchHi
            | Reg::XnackMaskHi => return None,
        })
    }

    /// The first register of the mask that a scalar register is in, in waves of so many lanes.
    pub fn first_of_mask(self, lanes: u8) -> Reg {
        match self {
            _ if lanes == 32 => self,
            Reg::S(n) => Reg::S(n & !1),
            Reg::Ttmp(n) => Reg::Ttmp(n & !1),
            Reg::VccHi => Reg::VccLo,
            Reg::ExecHi => Reg::ExecLo,
            other => other,
        }
    }

    /// The registers of a mask that begins with this one: one in waves of 32 lanes, else two.
    pub fn mask_words(self, lanes: u8) -> Vec<Reg> {
        let second = if lanes == 64 { self.next() } else { None };
        std::iter::once(self).chain(second).collect()
    }
}

/// A bank of numbered registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Bank {
    Scalar,
    Trap,
    Vector,
    Accumulation,
}

impl Bank {
    /// The register of that number in the bank.
    pub fn reg(self, index: u8) -> Reg {
        match self {
            Bank::Scalar => Reg::S(index),
            Bank::Trap => Reg::Ttmp(index),
            Bank::Vector => Reg::V(index),
            Bank::Accumulation => Reg::A(index),
        }
    }

    /// The prefix in the text.
    pub fn prefix(self) -> &'static str {
        match self {
            Bank::Scalar => "s",
            Bank::Trap => "ttmp",
            Bank::Vector => "v",
            Bank::Accumulation => "a",
        }
    }
}

/// What an operand is in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Registers with numbers.
    Registers {
        /// Bank that all of them are in.
        bank: Bank,
        /// Number of the first register.
        first: u8,
        /// Number of registers, at least 1.
        count: u8,
    },
    /// Half a vector register.
    Half {
        /// Number of the register that has the half.
        index: u8,
        /// Whether it is the high half.
        high: bool,
    },
    /// A register or source with a name.
    Named(&'static str, &'static [Reg]),
    /// An integer constant.
    Integer(i32),
    /// A floating-point constant, by its code.
    Float(u8),
    /// The word after the instruction.
    Literal(u32),
    /// The bits of an immediate field.
    Immediate(u32),
}

impl Value {
    /// The registers of 32 bits that it is, or has a half of.
    pub fn registers(self) -> Vec<Reg> {
        match self {
            Value::Registers { bank, first, count } => {
                (0..count).map(|at| bank.reg(first.saturating_add(at))).collect()
            }
            Value::Half { index, .. } => vec![Reg::V(index)],
            Value::Named(_, regs) => regs.to_vec(),
            _ => Vec::new(),
        }
    }
}

/// The code of a source that says that a literal follows.
const LITERAL: u32 = 255;

/// The code of a source that reads LDS, which vector instructions have.
const LDS_DIRECT: u32 = 254;

/// Registers and sources with names: code, width in registers (0: any), families that have it, name, what it
/// reads.
fn named(target: Target, code: u32, count: u8) -> Option<(&'static str, &'static [Reg])> {
    use Reg::{
        ExecHi, ExecLo, FlatScratchHi, FlatScratchLo, M0, Scc, VccHi, VccLo, XnackMaskHi, XnackMaskLo,
    };
    let gfx9 = target.family() == Family::Gfx9;
    // From RDNA 3 on, M0 and null have each other's codes.
    let (m0, null) = if target.family() >= Family::Gfx11 { (125, 124) } else { (124, 125) };
    let single = count == 1;
    let pair = count == 2;
    Some(match code {
        102 if gfx9 && single => ("flat_scratch_lo", &[FlatScratchLo]),
        103 if gfx9 && single => ("flat_scratch_hi", &[FlatScratchHi]),
        102 if gfx9 && pair => ("flat_scratch", &[FlatScratchLo, FlatScratchHi]),
        104 if gfx9 && single => ("xnack_mask_lo", &[XnackMaskLo]),
        105 if gfx9 && single => ("xnack_mask_hi", &[XnackMaskHi]),
        104 if gfx9 && pair => ("xnack_mask", &[XnackMaskLo, XnackMaskHi]),
        106 if single => ("vcc_lo", &[VccLo]),
        107 if single => ("vcc_hi", &[VccHi]),
        106 if pair => ("vcc", &[VccLo, VccHi]),
        126 if single => ("exec_lo", &[ExecLo]),
        127 if single => ("exec_hi", &[ExecHi]),
        126 if pair => ("exec", &[ExecLo, ExecHi]),
        _ if code == m0 && single => ("m0", &[M0]),
        _ if code == null => ("null", &[]),
        230 if count <= 2 => ("src_flat_scratch_base_lo", &[]),
        231 if single => ("src_flat_scratch_base_hi", &[]),
        235 if count <= 2 => ("src_shared_base", &[]),
        236 if count <= 2 => ("src_shared_limit", &[]),
        237 if count <= 2 => ("src_private_base", &[]),
        238 if count <= 2 => ("src_private_limit", &[]),
        239 if count <= 2 => ("src_pops_exiting_wave_id", &[]),
        251 if count <= 2 => ("src_vccz", &[VccLo, VccHi]),
        252 if count <= 2 => ("src_execz", &[ExecLo, ExecHi]),
        253 if count <= 2 => ("src_scc", &[Scc]),
        254 if single => ("src_lds_direct", &[M0]),
        _ => return None,
    })
}

/// Scalar registers by code. Pairs start at an even register, longer ranges at a multiple of four.
pub fn scalar(target: Target, code: u32, count: u8) -> Option<Value> {
    if let Some((name, regs)) = named(target, code, count).filter(|_| code < 128) {
        return Some(Value::Named(name, regs));
    }
    let align: u32 = match count {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let (bank, base, last) = match code {
        108..=123 if count == 3 => return None,
        108..=123 => (Bank::Trap, 108, 15),
        _ if count > 2 => (Bank::Scalar, 0, 103),
        _ if target.family() == Family::Gfx9 => (Bank::Scalar, 0, 101),
        _ => (Bank::Scalar, 0, 105),
    };
    let most = if bank == Bank::Scalar && target.family() == Family::Gfx9 { 101 } else { last };
    let index = code - base;
    let first = index / align * align;
    if index > most || first + u32::from(count) > last + 1 {
        return None;
    }
    Some(Value::Registers { bank, first: u8::try_from(first).ok()?, count })
}

fn scalar_or_named(target: Target, code: u32, count: u8) -> Option<Value> {
    if code < 128 {
        return scalar(target, code, count);
    }
    named(target, code, count).map(|(name, regs)| Value::Named(name, regs))
}

/// Whether the value is a source that is no register of its own: null, apertures, and conditions.
fn is_read_only(value: Value) -> bool {
    matches!(value, Value::Named(name, _) if name == "null" || (name.starts_with("src_") && name != "src_lds_direct"))
}

/// Vector registers. CDNA from gfx90a on wants ranges to begin at an even register.
fn vector(target: Target, bank: Bank, index: u32, count: u8) -> Option<Value> {
    let odd = count > 1 && index % 2 == 1 && target.family() == Family::Gfx9;
    if odd || index + u32::from(count) > 256 {
        return None;
    }
    Some(Value::Registers { bank, first: u8::try_from(index).ok()?, count })
}

/// A constant, a literal or a register, by a source's code of at most nine bits.
fn source(inst: &Inst, code: u32, regs: u8, literal: bool) -> Option<Value> {
    match code {
        0..128 => scalar(inst.target, code, regs),
        128..=192 => Some(Value::Integer(i32::try_from(code).ok()? - 128)),
        193..=208 => Some(Value::Integer(192 - i32::try_from(code).ok()?)),
        240..=248 => Some(Value::Float(u8::try_from(code).ok()?)),
        LITERAL if literal => Some(Value::Literal(inst.word(usize::from(inst.base_words())))),
        256.. => vector(inst.target, Bank::Vector, code - 256, regs),
        _ => named(inst.target, code, regs).map(|(name, regs)| Value::Named(name, regs)),
    }
}

/// An operand of an instruction: where it stands and what may be there, and what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// What the tables say of it.
    pub slot: &'static Slot,
    /// What it is in this instruction.
    pub value: Value,
}

impl Inst {
    /// The operands that the instruction has, in the order of the text. Registers that the text does not name
    /// are in [`Inst::registers`] only.
    pub fn operands(&self) -> Vec<Operand> {
        let slots = self.meaning.map_or(&[][..], |(_, row)| row.form.slots.as_slice());
        let there = slots.iter().filter(|slot| self.has(slot));
        there.filter_map(|slot| Some(Operand { slot, value: self.value(slot)? })).collect()
    }

    /// Registers of a mask of lanes.
    fn mask_registers(&self) -> u8 {
        if self.lanes == 64 { 2 } else { 1 }
    }

    fn by_lanes(&self, counts: (u8, u8)) -> u8 {
        if self.lanes == 64 { counts.1 } else { counts.0 }
    }

    /// The accumulation bank if the instruction says so for that operand.
    fn bank(&self, field: Field) -> Bank {
        let bit = match (self.encoding(), field) {
            (Some(Encoding::Mai), Field::Src0) => self.get(Field::Acc) & 1,
            (Some(Encoding::Mai), Field::Src1) => self.get(Field::Acc) >> 1,
            (Some(Encoding::Mai), _) => self.get(Field::AccCd),
            _ => self.get(Field::Acc),
        };
        if bit == 1 { Bank::Accumulation } else { Bank::Vector }
    }

    /// The bit of `op_sel` of an operand.
    pub(super) fn op_sel_of(&self, field: Field) -> bool {
        let at = match field {
            Field::Src0 => 0,
            Field::Src1 => 1,
            Field::Src2 => 2,
            _ => 3,
        };
        self.get(Field::OpSel) >> at & 1 == 1
    }

    /// The operand of a slot; `None` if the code means nothing there.
    pub(super) fn value(&self, slot: &Slot) -> Option<Value> {
        if slot.field == Field::VdstY {
            // The results of a pair have numbers of different parity, so one bit is not stored.
            let index = self.get(Field::VdstY) << 1 | !self.get(Field::VdstX) & 1;
            return vector(self.target, Bank::Vector, index, 1);
        }
        let code = self.get(slot.field);
        let wide = self.width(slot.field) == 9;
        match slot.kind {
            // With a scalar address, the vector address is an offset.
            Kind::Vector(..) if slot.field == Field::Addr && self.has_scalar_base() => {
                self.vector_value(Bank::Vector, slot.field, 1)
            }
            Kind::Vector(a, b) => self.vector_value(Bank::Vector, slot.field, self.by_lanes((a, b))),
            Kind::VectorOrAcc(a, b) => {
                self.vector_value(self.bank(slot.field), slot.field, self.by_lanes((a, b)))
            }
            Kind::Accumulation(a) => self.vector_value(Bank::Accumulation, slot.field, a),
            Kind::Half if self.width(Field::OpSel) > 0 => {
                Some(Value::Half { index: u8::try_from(code).ok()?, high: self.op_sel_of(slot.field) })
            }
            Kind::Half => {
                let code = if wide { code.checked_sub(256)? } else { code };
                Some(Value::Half { index: u8::try_from(code & 127).ok()?, high: code & 128 != 0 })
            }
            Kind::HalfByOpSel => {
                // Interpolation does not look at the ninth bit here.
                let named = self.encoding() != Some(Encoding::Vinterp) && wide;
                let code = if named { code.checked_sub(256)? } else { code & 255 };
                Some(Value::Half { index: u8::try_from(code).ok()?, high: self.op_sel_of(slot.field) })
            }
            Kind::Scalar(count) => match slot.field {
                // Scalar memory writes neither M0 nor EXEC.
                Field::Sdata => scalar(self.target, code, count)
                    .filter(|value| !matches!(value, Value::Named("m0" | "exec" | "exec_lo" | "exec_hi", _))),
                Field::Sbase => scalar(self.target, code * 2, count),
                Field::Srsrc if self.width(Field::Srsrc) == 5 => scalar(self.target, code * 4, count),
                _ if code == LDS_DIRECT => None,
                _ => scalar_or_named(self.target, code, count),
            },
            // SDWA comparisons name their result only if `sd` is set.
            Kind::Mask if self.width(Field::Sd) == 1 && self.get(Field::Sd) == 0 => {
                scalar(self.target, 106, self.mask_registers())
            }
            Kind::Mask => scalar_or_named(self.target, code, self.mask_registers()),
            Kind::LowVector(_) if code & 128 != 0 => None,
            Kind::LowVector(a) => self.vector_value(Bank::Vector, slot.field, a),
            Kind::Source { allows: Allows::Scalar, .. } if code == LDS_DIRECT || code >= 256 => None,
            Kind::Source { allows: Allows::Vector, .. } if code < 124 || matches!(code, 126 | 127) => None,
            Kind::Source { allows: Allows::LowVector, .. } if code >= 384 => None,
            Kind::Source { regs, regs64, literal, half, .. } => {
                let regs = self.by_lanes((regs, regs64));
                self.source_value(slot.field, code, regs, literal, half)
            }
            Kind::Immediate(Immediate::Literal | Immediate::Constant) => {
                Some(Value::Literal(self.word(usize::from(self.base_words()))))
            }
            Kind::Immediate(_) => Some(Value::Immediate(code)),
            Kind::Vcc => scalar(self.target, 106, self.mask_registers()),
            Kind::Exec => scalar(self.target, 126, self.mask_registers()),
        }
    }

    /// Vector registers of a field. A field that may also name scalar registers names only special ones here.
    fn vector_value(&self, bank: Bank, field: Field, count: u8) -> Option<Value> {
        let code = self.get(field);
        let count = self.by_format(field).unwrap_or(count);
        // With `tfe`, a status comes after the data.
        let count = if field == Field::Vdata { count + u8::from(self.get(Field::Tfe) == 1) } else { count };
        if self.width(field) < 9 {
            return vector(self.target, bank, code, count);
        }
        match code.checked_sub(256) {
            Some(index) => vector(self.target, bank, index, count),
            None => scalar_or_named(self.target, code, count).filter(|value| is_read_only(*value)),
        }
    }

    /// Registers of a matrix whose elements have 8, 6 or 4 bits, as `cbsz` and `blgp` say.
    fn by_format(&self, field: Field) -> Option<u8> {
        if !self.name().ends_with("_f8f6f4") {
            return None;
        }
        let format = match field {
            Field::Src0 => self.get(Field::Cbsz),
            Field::Src1 => self.get(Field::Blgp),
            _ => return None,
        };
        match format {
            0 | 1 => Some(8),
            2 | 3 => Some(6),
            4 => Some(4),
            _ => Some(8),
        }
    }

    fn source_value(&self, field: Field, code: u32, regs: u8, literal: bool, half: bool) -> Option<Value> {
        let sdwa_scalar = match field {
            Field::Src0 if self.width(Field::Src0S) == 1 => Some(self.get(Field::Src0S)),
            Field::Src1 if self.width(Field::Src1S) == 1 => Some(self.get(Field::Src1S)),
            _ => None,
        };
        if let Some(scalar) = sdwa_scalar {
            return source(self, if scalar == 1 { code } else { code | 256 }, regs, false);
        }
        // Scalar encodings have no LDS source.
        if self.width(field) == 8 && code == LDS_DIRECT {
            return None;
        }
        match code.checked_sub(256) {
            Some(index) if half => {
                let by_op_sel = self.width(Field::OpSel) > 0;
                let (index, high) =
                    if by_op_sel { (index, self.op_sel_of(field)) } else { (index & 127, index & 128 != 0) };
                Some(Value::Half { index: u8::try_from(index).ok()?, high })
            }
            Some(index) if self.encoding() == Some(Encoding::Mai) => {
                vector(self.target, self.bank(field), index, regs)
            }
            // Matrix instructions take constants and vector registers only.
            None if self.encoding() == Some(Encoding::Mai) && (code < 124 || matches!(code, 126 | 127)) => {
                None
            }
            _ => source(self, code, regs, literal),
        }
    }

    /// The vector address of a buffer instruction: an index, an offset, or both; `None` if out of range.
    pub(super) fn buffer_address(&self) -> Option<Option<Value>> {
        let count = u8::try_from(self.get(Field::Idxen) + self.get(Field::Offen)).ok()?;
        let first = self.get(Field::Vaddr);
        // LLVM checks the pair of untyped instructions only.
        let checked = self.target.family() == Family::Gfx9 && self.encoding() == Some(Encoding::Mubuf);
        let odd = count == 2 && first % 2 == 1 && checked;
        if odd || first + u32::from(count) > 256 {
            return None;
        }
        let first = u8::try_from(first).ok()?;
        Some((count > 0).then_some(Value::Registers { bank: Bank::Vector, first, count }))
    }
}
