//! Invariants 2 and 3: inserted instructions are where the plan has insertions, and the others are the
//! original's.

use std::ops::Range;

use prlx_isa::view::{Class, Inst, InstId, Operand};
use prlx_plan::At;

use crate::error::Error;
use crate::verify::fault::wrong;
use crate::verify::function::{FunctionPair, InsertedCode, calls_recorded};
use crate::verify::snippets::InsertedSnippet;

impl FunctionPair<'_> {
    /// Assigns inserted instructions to positions, and compares the others with the original's.
    pub(super) fn places(&self, pieces: &[&InsertedSnippet]) -> Result<Vec<(At, InsertedCode)>, Error> {
        let mut units: Vec<(usize, usize, usize)> = Vec::new();
        for (i, p) in pieces.iter().enumerate() {
            units.extend(p.units.iter().map(|&(start, end)| (start, end, i)));
        }
        let snippet_of = |inst: &Inst| {
            let at = inst.span.start as usize;
            let i = units.partition_point(|u| u.1 <= at);
            units.get(i).filter(|u| u.0 <= at).map(|u| u.2)
        };
        let mut by_snippet: Vec<Option<Range<usize>>> = vec![None; pieces.len()];
        let mut original = self.old.insts.iter();
        for (i, inst) in self.new.insts.iter().enumerate() {
            if let Some(snippet) = snippet_of(inst) {
                let range = by_snippet[snippet].get_or_insert(i..i);
                if range.end != i {
                    return Err(self.wrong(inst, "is not next to the rest of its snippet"));
                }
                range.end = i + 1;
                continue;
            }
            let same = original.next().is_some_and(|o| self.same(o, inst));
            if !same {
                return Err(self.wrong(inst, "is not the original's next instruction"));
            }
        }
        if original.next().is_some() {
            return Err(wrong(
                self.new.span.end as usize,
                format!("{}: instructions are missing", self.old.name),
            ));
        }
        let mut places = Vec::new();
        for (p, insts) in pieces.iter().zip(by_snippet) {
            let at = p.units[0].0;
            if let Some(insts) = insts {
                places.extend(self.split(p, InsertedCode { insts, at })?);
            } else if p.after != self.old.body.start as usize + 1 {
                return Err(wrong(at, format!("{}: an inserted snippet has no instruction", self.old.name)));
            }
        }
        Ok(places)
    }

    /// Whether an instruction is the original one. A call of a recorded function has one more argument.
    pub(super) fn same(&self, old: &Inst, new: &Inst) -> bool {
        let arguments = |inst: &Inst| -> usize {
            inst.operands.iter().map(|o| if let Operand::List(l) = o { l.len() } else { 0 }).sum()
        };
        match old.class == Class::Call && calls_recorded(self.texts, old) {
            true => new.class == Class::Call && arguments(new) == arguments(old) + 1,
            false => old.span.of(self.texts.source) == new.span.of(self.texts.rewritten),
        }
    }

    /// The positions that a snippet may be for. Text between two instructions can belong to either, or both.
    pub(super) fn split(
        &self,
        snippet: &InsertedSnippet,
        inserted: InsertedCode,
    ) -> Result<Vec<(At, InsertedCode)>, Error> {
        let insts = &self.old.insts;
        let mut out = Vec::new();
        if snippet.after == self.old.body.start as usize + 1 {
            out.push(At::Entry);
        }
        let i = insts.partition_point(|x| (x.span.end as usize) < snippet.after);
        if insts.get(i).is_some_and(|x| x.span.end as usize == snippet.after) {
            out.push(At::After(InstId(i as u32)));
        }
        let i = insts.partition_point(|x| (x.span.start as usize) < snippet.before);
        if insts.get(i).is_some_and(|x| x.span.start as usize == snippet.before) {
            out.push(At::Before(InstId(i as u32)));
        }
        match out.as_slice() {
            [] => Err(wrong(
                inserted.at,
                format!("{}: an inserted snippet is at no instruction", self.old.name),
            )),
            // `check_behaviour` decides which insertions the snippet implements.
            places => Ok(places.iter().map(|p| (*p, inserted.clone())).collect()),
        }
    }
}
