//! The functions of a code object, and the instructions of each.
//!
//! # Invariants
//! - Functions are in address order and do not overlap, so that all of them together are no longer than the
//!   object.
//! - Vector instructions between `s_set_gpr_idx_on` and `s_set_gpr_idx_off`, in the order of the text, are
//!   marked ([`Inst::indexed`]). The reader refuses functions in which another order is possible.
//! - The instructions of a function follow each other without gaps. Padding behind the last one is none.

use super::semantics::is_trap;
use crate::amdgpu::inst::{IndexMode, Inst};
use crate::amdgpu::object::CodeObject;

/// Bytes of a word of machine code.
pub(super) const WORD: u64 = 4;

/// The machine code of a function.
pub(super) struct Code<'a> {
    /// Its name: that of the kernel, or of the symbol.
    pub(super) name: &'a str,
    /// Its place in [`CodeObject::kernels`], if it is a kernel.
    pub(super) kernel: Option<usize>,
    /// Its instructions with their addresses. Never empty.
    pub(super) insts: Vec<(u64, Inst)>,
}

impl Code<'_> {
    /// Address of the first instruction.
    pub(super) fn entry(&self) -> u64 {
        self.insts.first().map_or(0, |(address, _)| *address)
    }

    /// The instruction that begins at an address.
    pub(super) fn at(&self, address: u64) -> Option<usize> {
        self.insts.binary_search_by_key(&address, |(at, _)| *at).ok()
    }

    /// Where a branch or call by offset goes to.
    pub(super) fn target(&self, at: usize) -> Option<u64> {
        let (address, inst) = self.insts.get(at)?;
        let words = i64::from(inst.branch_offset()?);
        Some((address + length(inst)).wrapping_add_signed(words * WORD.cast_signed()))
    }
}

/// Bytes of an instruction.
pub(super) fn length(inst: &Inst) -> u64 {
    inst.words().len() as u64 * WORD
}

/// Entry, rank among names of the same entry, name, kernel, end.
type Found<'a> = (u64, u8, &'a str, Option<usize>, Option<u64>);

/// The functions of an object whose waves have `lanes` lanes. A kernel's name is preferred to that of another
/// symbol with its address.
pub(super) fn functions<'a>(object: &'a CodeObject<'_>, lanes: u8) -> Vec<Code<'a>> {
    let mut all: Vec<Found<'_>> = Vec::new();
    for (i, kernel) in object.kernels.iter().enumerate() {
        all.push((kernel.code.start, 0, &kernel.name, Some(i), Some(kernel.code.end)));
    }
    for symbol in object.functions() {
        let end = (symbol.size > 0).then(|| symbol.value.saturating_add(symbol.size));
        all.push((symbol.value, 1, symbol.name, None, end));
    }
    all.sort_unstable();
    all.dedup_by_key(|function| function.0);
    let mut out = Vec::with_capacity(all.len());
    for (i, (entry, _, name, kernel, end)) in all.iter().enumerate() {
        let next = all.get(i + 1).map_or(u64::MAX, |next| next.0);
        let size = end.unwrap_or(u64::MAX).min(next).saturating_sub(*entry);
        let bytes = object.at_address(*entry).unwrap_or_default();
        let bytes = bytes.get(..usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len()));
        let insts = instructions(object, lanes, *entry, bytes.unwrap_or_default());
        if !insts.is_empty() {
            out.push(Code { name, kernel: *kernel, insts });
        }
    }
    out
}

fn instructions(object: &CodeObject<'_>, lanes: u8, entry: u64, bytes: &[u8]) -> Vec<(u64, Inst)> {
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (mut rest, mut address, mut insts) = (&words[..], entry, Vec::new());
    let mut mode = IndexMode::default();
    while let Some(inst) = Inst::decode(object.target.target, lanes, rest) {
        let inst = inst.in_mode(mode);
        mode = mode.after(&inst);
        insts.push((address, inst));
        address = address.wrapping_add(length(&inst));
        rest = rest.get(inst.words().len()..).unwrap_or_default();
    }
    let code = insts.iter().rposition(|(_, inst)| !is_padding(inst)).map_or(0, |last| last + 1);
    // Without an end before it, what looks like padding is executed. Functions may end with a call that does
    // not return.
    let last = code.checked_sub(1).and_then(|last| insts.get(last));
    if last.is_some_and(|(_, inst)| ends(inst) || is_call(inst) || is_trap(inst)) {
        insts.truncate(code);
    }
    insts
}

fn is_padding(inst: &Inst) -> bool {
    matches!(inst.name(), "s_nop" | "s_code_end") || inst.words() == [0]
}

/// Whether nothing after the instruction is executed without a branch to it.
pub(super) fn ends(inst: &Inst) -> bool {
    matches!(inst.name(), "s_branch" | "s_setpc_b64" | "s_rfe_b64" | "s_rfe_restore_b64")
        || inst.name().starts_with("s_endpgm")
}

/// Whether an instruction calls a function.
pub(super) fn is_call(inst: &Inst) -> bool {
    matches!(inst.name(), "s_swappc_b64" | "s_call_b64")
}

/// A length as an index of the view. Objects have fewer than 2³² bytes of code.
pub(super) fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
