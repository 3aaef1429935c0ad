//! Which bits of a result are undefined, for operations that move or mask bits, and for arithmetic on pairs.
//!
//! # Invariants
//! A bit that a rule calls defined does not depend on an undefined bit of a source.
//!
//! # Limitations
//! Other operations have no rule: their result is undefined as a whole if a bit of a source is. Bits above
//! the 64th of a register count as undefined if any bit is.

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Function, Inst, Operand, Reg, Type};
use prlx_lanes::Planes;

use crate::code::Plane;
use crate::decode::{PlaneKind, kind};
use crate::mem::access;

/// What an operation does with bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// Each bit is a function of the sources' bits: `lop3`'s table.
    Table(u8),
    /// A copy or a conversion of an integer, from a width in bits; the sign is extended or not.
    Extend(u32, bool),
    /// The sources one after the other, each with so many bits.
    Pack(u32),
    /// Parts of the source, each with so many bits.
    Unpack(u32),
    /// A shift to the left.
    ShiftLeft,
    /// A shift to the right, of the sign or of zeros.
    ShiftRight(bool),
    /// Bits from a position on, without sign.
    Extract,
    /// Bytes of two registers.
    Permute,
    /// The first or the second source, by the third.
    Select,
    /// Arithmetic on pairs of values: each half of the result comes from that half of the sources, of so many
    /// bits.
    Halves(u32),
    /// The upper half comes from the first source, the lower one from the second.
    Join,
}

/// A source of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// A register: its number, its plane or predicate, and its width in bits.
    Register(u32, Result<Plane, u16>, u32),
    Constant(u64),
}

/// The rule of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitRule {
    rule: Rule,
    sources: Vec<Source>,
    /// Width of the operation in bits.
    width: u32,
}

/// The undefined bits and the value of a source.
#[derive(Clone, Copy, Debug, Default)]
struct Bits {
    undefined: u64,
    value: u64,
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl BitRule {
    /// The rule of an instruction, if it has one. Registers have numbers from `first` on and lie in `planes`.
    pub fn of(i: &Inst, function: &Function, first: u32, planes: &[u16]) -> Option<BitRule> {
        let register = |r: Reg| {
            let (ty, at) = (function.regs.get(r.index())?.ty, *planes.get(r.index())?);
            let plane = match kind(ty) {
                PlaneKind::Pred => Err(at),
                PlaneKind::W32 => Ok(Plane::W32(at)),
                PlaneKind::W64 => Ok(Plane::W64(at)),
                PlaneKind::W128 => return None,
            };
            Some(Source::Register(first + r.index() as u32, plane, ty.bits()))
        };
        let source = |o: &Operand| match o {
            Operand::Reg(r) => register(*r),
            Operand::Int(v) => Some(Source::Constant(*v as u64)),
            Operand::F32(v) => Some(Source::Constant((*v).into())),
            Operand::F64(v) => Some(Source::Constant(*v)),
            _ => None,
        };
        let operands = i.operands.get(1..)?;
        let ty = opcode(i).types.first().copied()?;
        let width = ty.bits();
        let mut sources: &[Operand] = operands;
        let parts;
        let rule = match opcode(i).op? {
            Ptx::And => Rule::Table(0xc0),
            Ptx::Or => Rule::Table(0xfc),
            Ptx::Xor => Rule::Table(0x3c),
            Ptx::Not => Rule::Table(0x0f),
            Ptx::Lop3 if i.operands.len() == 5 && !opcode(i).has("and") && !opcode(i).has("or") => {
                let Some(Operand::Int(table)) = operands.get(3) else { return None };
                sources = &operands[..3];
                Rule::Table(*table as u8)
            }
            Ptx::Mov => match (i.operands.first()?, operands.first()?) {
                (Operand::Vector(to), Operand::Reg(_)) => Rule::Unpack(width / to.len().max(1) as u32),
                (Operand::Reg(_), Operand::Vector(from)) => {
                    parts = from.clone();
                    sources = &parts;
                    Rule::Pack(width / from.len().max(1) as u32)
                }
                (Operand::Reg(_), Operand::Reg(_)) => Rule::Extend(width, false),
                _ => return None,
            },
            Ptx::Cvt if !opcode(i).has("sat") && opcode(i).types.iter().all(|t| t.is_integer()) => {
                let from = *opcode(i).types.get(1)?;
                Rule::Extend(from.bits().min(width), from.is_signed() && from.bits() < width)
            }
            Ptx::Cvt if ty.is_pair() && operands.len() == 2 => Rule::Join,
            Ptx::Cvt if ty.is_pair() => {
                Rule::Halves(opcode(i).types.get(1).filter(|from| from.is_pair())?.bits() / 2)
            }
            Ptx::Add | Ptx::Sub | Ptx::Mul | Ptx::Fma | Ptx::Min | Ptx::Max if ty.is_pair() => {
                Rule::Halves(width / 2)
            }
            Ptx::Neg | Ptx::Abs | Ptx::Ex2 | Ptx::Tanh if ty.is_pair() => Rule::Halves(width / 2),
            Ptx::Shl => Rule::ShiftLeft,
            Ptx::Shr => Rule::ShiftRight(ty.is_signed()),
            Ptx::Bfe if matches!(ty, Type::U32 | Type::U64) => Rule::Extract,
            Ptx::Prmt
                if width == 32
                    && opcode(i).one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]).is_none() =>
            {
                Rule::Permute
            }
            Ptx::Selp => Rule::Select,
            _ => return None,
        };
        let sources = sources.iter().map(source).collect::<Option<Vec<Source>>>()?;
        let enough = match rule {
            Rule::Table(_) => (1..=3).contains(&sources.len()),
            Rule::Extend(..) | Rule::Unpack(_) => sources.len() == 1,
            Rule::Pack(_) => !sources.is_empty() && width <= 64,
            Rule::ShiftLeft | Rule::ShiftRight(_) | Rule::Join => sources.len() == 2,
            Rule::Halves(_) => (1..=3).contains(&sources.len()),
            Rule::Extract | Rule::Permute | Rule::Select => sources.len() == 3,
        };
        enough.then_some(BitRule { rule, sources, width })
    }
    /// The undefined bits of result `n` in a lane. `undefined` gives those of a register.
    pub fn result(&self, n: usize, planes: &Planes, l: usize, undefined: &impl Fn(u32) -> u64) -> u64 {
        let of = |source: &Source| match *source {
            Source::Register(r, plane, width) => Bits {
                undefined: undefined(r) & mask(width),
                value: match plane {
                    Ok(plane) => access::value(planes, plane, l),
                    Err(pred) => u64::from(planes.get_pred(pred) >> l & 1),
                },
            },
            Source::Constant(value) => Bits { undefined: 0, value },
        };
        let mut all = [Bits::default(); 3];
        let whole = mask(self.width);
        if let Rule::Pack(part) = self.rule {
            let parts = self.sources.iter().map(of).enumerate();
            return parts.fold(0, |v, (i, b)| v | (b.undefined & mask(part)) << (i as u32 * part));
        }
        for (bits, source) in all.iter_mut().zip(&self.sources) {
            *bits = of(source);
        }
        let [a, b, c] = all;
        match self.rule {
            Rule::Table(table) => table_result(table, self.sources.len(), all) & whole,
            Rule::Extend(from, false) => a.undefined & mask(from),
            Rule::Extend(from, true) => {
                let low = a.undefined & mask(from);
                if low >> (from - 1) & 1 == 1 { low | whole & !mask(from) } else { low }
            }
            Rule::Halves(from) => {
                let all = all.iter().fold(0, |all, bits| all | bits.undefined);
                self.halves(all >> from.min(63) & mask(from), all & mask(from))
            }
            Rule::Join => self.halves(a.undefined, b.undefined),
            Rule::Unpack(part) => a.undefined >> (n as u32 * part).min(63) & mask(part),
            Rule::Select | Rule::Permute if c.undefined != 0 => whole,
            Rule::Select => {
                if c.value & 1 == 1 {
                    a.undefined
                } else {
                    b.undefined
                }
            }
            Rule::Permute => permuted(a.undefined & mask(32) | b.undefined << 32, c.value),
            _ if b.undefined | c.undefined != 0 => whole,
            Rule::ShiftLeft => shifted(a.undefined, b.value, |v, n| v << n) & whole,
            Rule::ShiftRight(false) => shifted(a.undefined & whole, b.value, |v, n| v >> n),
            Rule::ShiftRight(true) => {
                let by = b.value.min(u64::from(self.width) - 1);
                let low = (a.undefined & whole) >> by;
                let sign = a.undefined >> (self.width - 1) & 1 == 1;
                if sign { low | whole & !(whole >> by) } else { low }
            }
            Rule::Extract => {
                shifted(a.undefined, b.value & 0xff, |v, n| v >> n) & mask((c.value & 0xff) as u32)
            }
            Rule::Pack(_) => whole,
        }
    }

    /// The undefined bits of a result whose halves depend on these bits.
    fn halves(&self, upper: u64, lower: u64) -> u64 {
        let half = mask(self.width / 2);
        let of = |undefined: u64| if undefined != 0 { half } else { 0 };
        of(upper) << (self.width / 2) | of(lower)
    }
}

/// The bits whose value the table gives as 0 or as 1, depending on undefined bits of the sources.
fn table_result(table: u8, sources: usize, all: [Bits; 3]) -> u64 {
    let (mut zero, mut one) = (0, 0);
    for row in 0..8u32 {
        let possible = all.iter().enumerate().fold(u64::MAX, |possible, (i, bits)| {
            let wanted = row >> (2 - i) & 1 == 1;
            let value = if i < sources { bits.value } else { 0 };
            possible & (if wanted { value } else { !value } | bits.undefined)
        });
        if table >> row & 1 == 1 { one |= possible } else { zero |= possible }
    }
    zero & one
}

fn shifted(v: u64, by: u64, shift: impl Fn(u64, u64) -> u64) -> u64 {
    if by >= 64 { 0 } else { shift(v, by) }
}

/// `prmt`: bytes of eight, or copies of their sign bit.
fn permuted(bytes: u64, selector: u64) -> u64 {
    (0..4).fold(0, |v, i| {
        let nibble = selector >> (4 * i) & 15;
        let byte = bytes >> (8 * (nibble & 7)) & 0xff;
        let byte = if nibble & 8 == 0 {
            byte
        } else if byte >> 7 == 1 {
            0xff
        } else {
            0
        };
        v | byte << (8 * i)
    })
}
