//! The operations of all instruction sets, by mnemonic.
//!
//! Probe programs name operations before it is known which module they are for.
//!
//! # Invariants
//! - A mnemonic that two instruction sets share has the same order of operands in both.
//!
//! # Limitations
//! Modifiers are no part of a mnemonic. Whether an opcode with its modifiers exists is not decided here.

use crate::amdgpu::inst::table;
use crate::ptx;
use crate::view::OperandOrder;

/// The mnemonics of PTX: the text of an opcode before its first dot.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    ptx::Op::ALL.iter().map(|op| op.mnemonic())
}

/// Whether an instruction set has an operation whose mnemonic is what `is_it` wants, given `name` and the
/// mnemonic. Suffixes for encodings are no part of one.
pub fn has(name: &str, is_it: impl Fn(&str, &str) -> bool) -> bool {
    let plain = name.trim_end_matches("_e32").trim_end_matches("_e64");
    mnemonics().any(|known| is_it(name, known)) || table::mnemonics().any(|known| is_it(plain, known))
}

/// How the operands of an operation are ordered; `None` if no instruction set has it.
pub fn operand_order(mnemonic: &str) -> Option<OperandOrder> {
    ptx::Op::from_mnemonic(mnemonic).map(ptx::Op::operand_order)
}
