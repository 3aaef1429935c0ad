//! Operands with resolved names.

use std::fmt;

use super::class::Role;
use super::ids::{BlockId, Reg, SymbolId};
use super::span::Span;

/// An operand of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A register by itself.
    Reg(Reg),
    /// `!p`: a negated predicate.
    Not(Reg),
    /// Integer constant, sign-extended to 64 bits.
    Int(i64),
    /// `0f…`: bits of a binary32.
    F32(u32),
    /// `0d…`, or a decimal with a point: bits of a binary64.
    F64(u64),
    /// A special register with its component, or the named constant `WARP_SZ`. What all instruction sets have
    /// is called as PTX calls it (`%tid.x`, `%ctaid.y`, `%laneid`, `%smid`), in every view and in routines; a
    /// register of one instruction set alone keeps its own name (`exec`).
    Special(String),
    /// Address of a symbol plus an offset (`name`, `name+4`); in a call the name of a function.
    Symbol(SymbolId, i64),
    /// `[base + offset]`: an address.
    Address(Base, i64),
    /// Address of a tensor map with coordinates: `[map, {x, y}]`.
    Tensor(Box<Operand>, Vec<Operand>),
    /// `{a, b, …}`: a vector.
    Vector(Vec<Operand>),
    /// `d|p`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: the result is discarded.
    Sink,
    /// A label of the function, as the block that it begins.
    Label(BlockId),
    /// `(a, b)`: results or arguments of a call.
    List(Vec<Operand>),
    /// A table of labels declared by `.branchtargets`. Empty for `.calltargets` and `.callprototype`.
    Targets(Vec<BlockId>),
    /// In video instructions: parts of a register, as [`VideoSelector::code`] numbers them. The elements of a
    /// vector register are registers of their own: `%v.x` is a [`Operand::Reg`], and `%v` a
    /// [`Operand::Vector`].
    Element(Reg, u16),
    /// Text that the reader did not understand.
    Text(Span),
}

impl Operand {
    /// Calls `f` for every register of the operand in the role `role`, with whether it is read and whether it
    /// is written.
    pub fn for_each_reg(&self, role: Role, f: &mut impl FnMut(Reg, bool, bool)) {
        let (read, written) = match role {
            Role::Def => (false, true),
            Role::UseDef => (true, true),
            Role::Use | Role::Addr | Role::Target | Role::Other => (true, false),
        };
        match self {
            Operand::Reg(r) => f(*r, read, written),
            Operand::Not(r) => f(*r, true, false),
            // A write of one vector element keeps the other elements. A video instruction takes the rest of
            // the destination from another operand.
            Operand::Element(r, code) => {
                f(*r, !written || VideoSelector::from_code(*code).is_none(), written)
            }
            Operand::Address(Base::Reg(r), _) => f(*r, true, false),
            Operand::Tensor(map, coordinates) => {
                map.for_each_reg(Role::Addr, f);
                coordinates.iter().for_each(|o| o.for_each_reg(Role::Use, f));
            }
            Operand::Vector(list) | Operand::List(list) => list.iter().for_each(|o| o.for_each_reg(role, f)),
            Operand::Pair(a, b) => {
                a.for_each_reg(role, f);
                b.for_each_reg(role, f);
            }
            _ => {}
        }
    }
}

/// What an address is based on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The address in a register.
    Reg(Reg),
    /// The address of a variable.
    Symbol(SymbolId),
    /// No base: the offset is the address.
    Absolute,
}

/// Parts of a register that a video instruction selects: `.b0`, `.h1`, `.h32`, `.b7654` (PTX ISA, Video
/// Instructions).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoSelector {
    /// Width of a part in bits: 8 or 16.
    pub bits: u8,
    /// Number of parts, 1 to 4.
    pub count: u8,
    /// Indices of the parts, 0 to 7; the last one written comes first.
    pub which: [u8; 4],
}

impl VideoSelector {
    /// Reads the text after the dot.
    pub fn parse(text: &[u8]) -> Option<VideoSelector> {
        let (bits, digits) = match text {
            [b'b', digits @ ..] => (8, digits),
            [b'h', digits @ ..] => (16, digits),
            _ => return None,
        };
        let mut which = [0; 4];
        for (w, d) in which.iter_mut().zip(digits.iter().rev()) {
            *w = d.checked_sub(b'0').filter(|w| *w < 8)?;
        }
        (1..=4).contains(&digits.len()).then_some(VideoSelector { bits, count: digits.len() as u8, which })
    }
    /// The selector as a number above those of vector elements.
    pub fn code(self) -> u16 {
        let digits = self.which.iter().rev().fold(0, |code, w| code << 3 | u16::from(*w));
        1 << 15 | u16::from(self.bits == 16) << 14 | u16::from(self.count - 1) << 12 | digits
    }
    /// The selector that [`VideoSelector::code`] encoded; `None` for a vector element.
    pub fn from_code(code: u16) -> Option<VideoSelector> {
        let which = [0, 3, 6, 9].map(|at| (code >> at & 7) as u8);
        let (bits, count) = (if code >> 14 & 1 == 1 { 16 } else { 8 }, (code >> 12 & 3) as u8 + 1);
        (code >> 15 == 1).then_some(VideoSelector { bits, count, which })
    }
}

impl fmt::Display for VideoSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.bits == 16 { "h" } else { "b" })?;
        self.which.iter().take(self.count.into()).rev().try_for_each(|w| write!(f, "{w}"))
    }
}
