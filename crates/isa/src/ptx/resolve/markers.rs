//! Markers: their payload, and which incoming branches pass them.

use super::builder::Builder;
use super::labels::Label;
use super::scopes::Meaning;
use crate::ptx::opcode::opcode;
use crate::ptx::ops::Op;
use crate::ptx::syntax::tree::span;
use crate::view::{Class, Inst, InstId, Marker, Operand, PassedBy};

/// Registers that hold the payload of a marker.
const PAYLOAD: [&str; 2] = ["$prlx_p0", "$prlx_p1"];

/// Maximum number of branches kept for a marker.
const BRANCHES: usize = 64;
impl<'a> Builder<'_, 'a> {
    /// Payload of a marker that follows `insts`: the values moved to its registers just before it.
    pub(super) fn payload(&mut self, insts: &[Inst]) -> Vec<Operand> {
        let names = PAYLOAD.map(|name| self.names.lookup(name));
        let mut found = [None, None];
        let moved = |inst: &&Inst| {
            opcode(inst).op == Some(Op::Mov) && inst.guard.is_none() && inst.operands.len() == 2
        };
        for inst in insts.iter().rev().take(PAYLOAD.len()).take_while(moved) {
            let [Operand::Reg(to), from] = &inst.operands[..] else { break };
            let own = |meaning: &Option<Meaning>| matches!(meaning, Some(Meaning::Reg(r)) if r == to);
            let Some(i) = names.iter().position(own) else { break };
            found[i].get_or_insert_with(|| from.clone());
        }
        found.into_iter().map_while(|operand| operand).collect()
    }
}

/// Completes the marker that is label `n`; `None` if something branches to that label.
pub(super) fn placed(n: usize, mark: Marker, labels: &[Label], insts: &[Inst]) -> Option<Marker> {
    let target = |l: &Label| l.named && l.table.is_none() && l.at == mark.at.0;
    let here = |l: &&Label| l.at == mark.at.0;
    if labels[n].named {
        return None;
    }
    let first = n - labels[..n].iter().rev().take_while(here).count();
    let before = labels[first..n].iter().any(target);
    let after = labels[n..].iter().take_while(here).any(target);
    let passed_by = match (before, after) {
        (_, false) => PassedBy::All,
        (false, true) => PassedBy::FallThrough,
        (true, true) => PassedBy::Some(branches(first..n, labels, insts)),
    };
    Some(Marker { passed_by, ..mark })
}

/// Branches that name one of some labels; `None` if a switch does, or too many branches do.
fn branches(of: std::ops::Range<usize>, labels: &[Label], insts: &[Inst]) -> Option<Vec<InstId>> {
    let mut all = Vec::new();
    for (i, inst) in insts.iter().enumerate() {
        let mut named = inst
            .operands
            .iter()
            .filter_map(|o| if let Operand::Label(l) = o { Some(l.index()) } else { None });
        let names = named.any(|l| match labels.get(l).map(|l| &l.table) {
            Some(Some(table)) => table.iter().any(|t| of.contains(&(*t as usize))),
            _ => of.contains(&l),
        });
        if names {
            if inst.class != Class::Branch || all.len() == BRANCHES {
                return None;
            }
            all.push(InstId(span(0, i).end));
        }
    }
    Some(all)
}
