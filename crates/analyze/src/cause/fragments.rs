//! Where the elements of fragments lie in memory that `ldmatrix`, `stmatrix` and `wmma.load` access.
//!
//! # Limitations
//! - PTX leaves the layout of `wmma` fragments open. This is the layout of the CPU device.
//! - `ldmatrix` and `stmatrix` of elements of 8 bits or less, and `wmma` of elements below a byte, are not
//!   divided.

use prlx_trace::dataflow::{Access, Instruction};

use super::flow::{At, Flow, Source, Word, Writer, owner};
use super::walk::Walk;

/// An element of a register that a fragment was loaded into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// Its lowest bit in the register.
    shift: u32,
    /// Number of bits.
    bits: u32,
    /// Where it was loaded from.
    word: Word,
    /// The lane that gave the address.
    from: u32,
}

impl Flow<'_> {
    /// The elements of result `n` of a load of a fragment; `None` for other instructions.
    pub(super) fn elements(&self, at: At, n: usize) -> Option<Vec<Element>> {
        let instruction = self.instruction(at)?;
        let accesses = self.data.warps.get(at.warp as usize)?.accesses_of(at.visit);
        if instruction.opcode.starts_with("wmma.load") {
            let own: Vec<&Access> = accesses.iter().filter(|a| a.lanes >> at.lane & 1 == 1).collect();
            let bytes = own.first()?.bytes.clamp(1, 8);
            let per = (4 / bytes as usize).max(1);
            let element = |i: usize| {
                let word = self.word(own.get((n * per + i) % own.len())?, at, at.lane, 0, bytes)?;
                Some(Element { shift: i as u32 * bytes * 8, bits: bytes * 8, word, from: at.lane })
            };
            return (0..per).map(element).collect();
        }
        let transposed = rows_of_halves(instruction, "ldmatrix")?;
        let element = |i: u32| {
            let (row, column) = (at.lane / 4, at.lane % 4 * 2 + i);
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            let from = n as u32 * 8 + row;
            let access = accesses.iter().find(|a| from < 64 && a.lanes >> from & 1 == 1)?;
            let word = self.word(access, at, from, u64::from(column) * 2, 2)?;
            Some(Element { shift: i * 16, bits: 16, word, from })
        };
        (0..2).map(element).collect()
    }
    /// The register of which lane `stmatrix` stored to a word.
    pub(super) fn stored_element(&self, writer: &Writer, word: &Word) -> Option<Source> {
        let instruction = self.instruction(writer.at)?;
        let transposed = rows_of_halves(instruction, "stmatrix")?;
        let (row, column) = (writer.at.lane % 8, word.address.checked_sub(writer.address)? as u32 / 2 % 8);
        let (row, column) = if transposed { (column, row) } else { (row, column) };
        let operand = instruction.operands.get(writer.at.lane as usize / 8)?;
        Some(self.operand(operand, At { lane: row * 4 + column / 2, ..writer.at }))
    }
    fn word(&self, access: &Access, at: At, lane: u32, offset: u64, bytes: u32) -> Option<Word> {
        let flow = self.data.warps.get(at.warp as usize)?;
        Some(Word {
            space: access.space,
            owner: owner(access, lane),
            address: flow.address(access, lane)? + offset,
            bytes,
            before: self.order(at),
        })
    }
}

/// Whether a load or store of 8×8 tiles with elements of 16 bits transposes them; `None` for others.
fn rows_of_halves(instruction: &Instruction, name: &str) -> Option<bool> {
    let mut words = instruction.opcode.split('.');
    let halves = words.next() == Some(name) && instruction.opcode.contains(".m8n8.");
    halves.then(|| words.any(|word| word == "trans"))
}

impl Walk<'_> {
    /// Follows the elements that differ in two results of loads of fragments. Returns false for other loads.
    pub(super) fn fragments(&mut self, pair: usize, at: [At; 2], n: [usize; 2]) -> bool {
        let elements = [0, 1].map(|s| self.flows[s].elements(at[s], n[s]));
        let [Some(a), Some(b)] = elements else { return false };
        let values = [0, 1].map(|s| self.flows[s].value(&Source::Result(at[s], n[s]), at[s]));
        for (x, y) in a.iter().zip(&b) {
            let part = |s: usize, e: &Element| values[s].map(|v| v >> e.shift & (u64::MAX >> (64 - e.bits)));
            let [p, q] = [part(0, x), part(1, y)];
            if p.is_some() && p == q {
                continue;
            }
            let words = [x.word, y.word];
            let users = [At { lane: x.from, ..at[0] }, At { lane: y.from, ..at[1] }];
            self.loaded(pair, words, at, users);
        }
        true
    }
}
