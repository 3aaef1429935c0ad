//! Which scalar registers are read as masks of lanes, and which as numbers.
//!
//! The answer is the same in all functions that call each other. It is found from the reads: a carry is read
//! as a mask, an address as numbers. Operations that treat each bit alone read their sources in the forms in
//! which their results are read, which is iterated until nothing changes.
//!
//! # Invariants
//! - EXEC is a mask. SCC is always there.
//! - Words that are written otherwise than as a mask are there, whether something reads them or not.
//!
//! # Limitations
//! - The order of instructions does not count: a pair that is a mask in one place and an address in another
//!   has both forms everywhere.

use rustc_hash::FxHashSet;

use super::code::Code;
use super::pieces::{Piece, are_vectors, is_transparent, is_vote, pieces};
use crate::amdgpu::inst::Reg;
use crate::view::Role;

/// The forms of scalar registers that a group of functions has.
#[derive(Debug, Default)]
pub(super) struct Forms {
    masks: FxHashSet<Reg>,
    words: FxHashSet<Reg>,
    lanes: u8,
}

impl Forms {
    /// The forms of these functions, in which markers read the registers `marked` as numbers.
    pub(super) fn of<'c, 'a: 'c>(
        functions: impl Iterator<Item = &'c Code<'a>>,
        marked: impl Iterator<Item = Reg>,
        lanes: u8,
    ) -> Forms {
        let mut forms = Forms { lanes, ..Forms::default() };
        forms.masks.insert(Reg::ExecLo);
        forms.words.insert(Reg::Scc);
        forms.words.extend(marked);
        let mut transparent: Vec<Vec<(Piece, Role)>> = Vec::new();
        for (_, inst) in functions.flat_map(|code| &code.insts) {
            let all = pieces(inst);
            for (piece, role) in &all {
                match piece {
                    Piece::Words(regs) => forms.words.extend(regs),
                    Piece::Mask(low) if *role != Role::Def => {
                        forms.masks.insert(*low);
                    }
                    Piece::Mask(_) | Piece::Either(_) | Piece::Constant(_) | Piece::Target => {}
                }
            }
            if is_vote(inst) {
                forms.masks.insert(Reg::VccLo);
            }
            if is_transparent(inst) {
                transparent.push(all);
            }
        }
        // Masks flow back from their readers.
        while transparent.iter().rev().filter(|all| forms.pass_on(all)).count() > 0 {}
        forms
    }

    /// Reads the sources of a transparent operation in the forms of its results. Returns whether a form is
    /// new.
    fn pass_on(&mut self, all: &[(Piece, Role)]) -> bool {
        let either = |wanted: fn(&Role) -> bool| {
            all.iter().filter_map(move |(piece, role)| match piece {
                Piece::Either(regs) if wanted(role) => Some(regs),
                _ => None,
            })
        };
        let written = |role: &Role| matches!(role, Role::Def | Role::UseDef);
        let as_mask = either(written).any(|regs| self.mask(regs).is_some());
        let as_words = either(written).any(|regs| self.has_words(regs));
        let before = self.masks.len() + self.words.len();
        for regs in either(|role| !matches!(role, Role::Def)) {
            if as_mask {
                self.masks.extend(regs.first());
            }
            if as_words {
                self.words.extend(regs);
            }
        }
        self.masks.len() + self.words.len() > before
    }

    /// The mask that begins at the first of these registers, if there is one.
    pub(super) fn mask(&self, regs: &[Reg]) -> Option<Reg> {
        regs.first().copied().filter(|low| self.masks.contains(low))
    }

    /// Whether one of these registers is there as a number.
    pub(super) fn has_words(&self, regs: &[Reg]) -> bool {
        are_vectors(regs) || regs.iter().any(|reg| self.words.contains(reg))
    }

    /// The masks that a write of these registers changes, and whether it changes them as a whole.
    pub(super) fn masks_in(&self, regs: &[Reg]) -> Vec<(Reg, bool)> {
        let mut out: Vec<(Reg, bool)> = Vec::new();
        for reg in regs {
            let low = reg.first_of_mask(self.lanes);
            if self.masks.contains(&low) && !out.iter().any(|(mask, _)| *mask == low) {
                let whole = low.mask_words(self.lanes).iter().all(|part| regs.contains(part));
                out.push((low, whole));
            }
        }
        out
    }
}
