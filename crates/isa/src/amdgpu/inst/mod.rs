//! Machine instructions of AMD, read losslessly.
//!
//! [`Inst::decode`] reads one instruction. It keeps the words, so [`Inst::words`] gives back what was read;
//! [`Inst::set`] changes a field. Operations, operands and implicit registers come from tables, one for each
//! target ([`table`]); [`Inst::print`] writes what `llvm-objdump` writes.
//!
//! # Invariants
//! - Any words are accepted. What the tables do not have is [`Inst::is_opaque`], one word long, and survives.
//! - An instruction that is not opaque has an operation, and every operand has a meaning.
//!
//! # Limitations
//! - Operands of image instructions are not read: such an instruction has a name and a length only.
//! - Not read, so opaque: scaled matrix products of gfx950, interpolation in VOP3 of gfx1030, and high halves
//!   of registers in VOP1, VOP2 and VOPC of gfx1201, which LLVM 22 does not write either.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

mod address;
mod assemble;
mod decode;
mod effects;
mod immediate;
mod indexed;
mod memory;
mod names;
mod operand;
mod print;
mod printer;
mod raw;
mod registers;
pub mod table;

pub use self::address::Address;
pub use self::indexed::{INDEX_RESULT, INDEX_SOURCE, IndexMode};
pub use self::names::{Encoding, Field};
pub use self::operand::{Bank, Operand, Reg, Value};
pub use self::printer::Labels;
pub use self::raw::{Inst, MOST_WORDS};
pub use self::registers::Registers;
