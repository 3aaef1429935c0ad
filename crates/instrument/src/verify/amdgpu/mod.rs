//! Verifies what is inserted into AMD machine code: every piece is decoded from its words and executed.
//!
//! [`super::inserted_code`] runs the routines that pieces were compiled from, and compares. This module gives
//! it a machine for AMD's instructions (`wave`), and looks at all that must not change (`piece`).
//!
//! # Invariants
//! For each piece of inserted code, in each sample state:
//!
//! 1. The invariants of [`super::inserted_code`] hold. Unchanged are EXEC, VCC, M0, SCC where it is live,
//!    registers that hold something, and scratch memory.
//! 2. No register is used that a load may still write, and no load is under way when the piece ends.
//! 3. Control stays inside the piece, and it ends.
//!
//! # Limitations
//! - What is copied from the original is not looked at, nor the few instructions at a kernel's entry, nor
//!   computed addresses of branches and calls. The corpus executes those (`cargo xtask amd-corpus`).
//! - Waits between instructions, other than for loads, are checked where they are inserted
//!   (`crate::amdgpu::waits`).
//! - Which registers hold something, and whether SCC is live, is taken from the analysis of the original
//!   (`crate::amdgpu::liveness`).

mod access;
mod compare;
mod convert;
mod float;
mod piece;
mod scalar;
#[cfg(test)]
mod tests;
mod vector;
mod wave;

use prlx_isa::amdgpu::inst::Inst;
use prlx_isa::amdgpu::{RegisterMap, Target};
use prlx_isa::view::Module;
use rustc_hash::FxHashMap;

use crate::amdgpu::{Piece, names};
use crate::verify::inserted_code::Samples;
use piece::Executable;
use wave::Step;
pub(crate) use wave::Wave;

/// Finished code with the pieces that were inserted into it.
pub(crate) struct InsertedPieces<'a> {
    pub target: Target,
    pub lanes: u8,
    /// View of the original.
    pub module: &'a Module,
    pub words: &'a [u32],
    pub pieces: &'a [Piece],
}

/// The samples for waves with so many lanes.
pub(crate) fn samples(lanes: u32) -> Samples<Wave> {
    Samples::of(lanes, |seed, memory| wave::sample(lanes, seed, memory))
}

/// Checks all pieces in these samples, which are for waves with as many lanes.
///
/// # Errors
/// The first invariant of this module that does not hold, with the place. This is a bug.
pub(crate) fn verify(samples: &Samples<Wave>, code: &InsertedPieces<'_>) -> Result<(), String> {
    let mut all_names = FxHashMap::default();
    for piece in code.pieces {
        let Some(function) = code.module.functions.get(piece.function) else { continue };
        let names = all_names
            .entry(piece.function)
            .or_insert_with(|| names(&RegisterMap::of(function, code.lanes.into()), code.lanes.into()));
        let words = code.words.get(piece.words.clone()).unwrap_or_default();
        let checked = decode(code, words)
            .and_then(|insts| samples.check(&Executable { target: code.target, piece, names, code: &insts }));
        checked.map_err(|what| {
            format!("{}: {what}, in the code at word {}", function.name, piece.words.start)
        })?;
    }
    Ok(())
}

fn decode(code: &InsertedPieces<'_>, words: &[u32]) -> Result<Vec<Step>, String> {
    let (mut at, mut out) = (0, Vec::new());
    while at < words.len() {
        let inst =
            Inst::decode(code.target, code.lanes, &words[at..]).ok_or("its words are no instruction")?;
        at += inst.words().len();
        out.push(Step::of(inst)?);
    }
    Ok(out)
}
