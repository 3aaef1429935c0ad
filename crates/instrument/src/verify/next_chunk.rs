//! The inserted function that takes a chunk. Functions with many places call it instead of copying its code.
//!
//! Its instructions obey the same rules as a snippet's. What it does is checked at each place: the sample
//! machine executes the call.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Inst, Operand};
use prlx_plan::At;

use crate::error::Error;
use crate::tokens::tokens;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, Inputs, InsertedCode};

/// Name of the function, after the prefix.
const NAME: &str = "next_chunk";

/// Name of the function in a text with this prefix.
pub(super) fn name(prefix: &str) -> String {
    format!("{prefix}{NAME}")
}

/// Checks the function, if there is one: its header, its instructions, and that it returns at its end only.
pub(super) fn check_next_chunk(texts: &Inputs<'_>) -> Result<(), Error> {
    let Some(f) = texts.next_chunk else { return Ok(()) };
    let prefix = texts.prefix;
    let expected = format!(
        ".func (.reg .b64 %{prefix}next) {prefix}{NAME}(.reg .b64 %{prefix}cursor, .reg .b64 %{prefix}recorder) {{"
    );
    let expected = tokens(&expected, 0, expected.len());
    let (start, end) = (f.span.start as usize, f.body.start as usize + 1);
    let head = tokens(texts.rewritten, start, end);
    if !head.iter().map(|t| t.text).eq(expected.iter().map(|t| t.text)) {
        return Err(wrong(start, format!("{}: its header is not that of the recorder", f.name)));
    }
    let own = FunctionPair::inserted(texts, f);
    match f.insts.split_last() {
        Some((last, _)) if opcode(last).op == Some(Op::Ret) && last.guard.is_none() => {}
        _ => return Err(wrong(end, format!("{}: it does not end in a return", f.name))),
    }
    own.rules(At::Entry, &InsertedCode { insts: 0..f.insts.len() - 1, at: end })
}

impl FunctionPair<'_> {
    /// Whether an inserted instruction calls the function. Lanes may have diverged, so the call is without
    /// `.uni`.
    pub(super) fn calls_next_chunk(&self, inst: &Inst) -> bool {
        let callee = self.texts.after.callee(inst).and_then(|id| self.texts.after.functions.get(id.index()));
        let (Some(callee), Some(f)) = (callee, self.texts.next_chunk) else { return false };
        let form = matches!(&inst.operands[..], [Operand::List(results), _, Operand::List(arguments)]
            if results.len() == 1 && arguments.len() == 2);
        self.recorded && std::ptr::eq(callee, f) && form && inst.semantics.opcode == "call"
    }
}
