//! Basic blocks: cuts the instructions of a function into blocks and connects them.

use super::builder::Builder;
use super::labels::Label;
use crate::ptx::syntax::tree::span;
use crate::view::{self, Block, BlockId, Class, Inst, Operand, Span};

/// Maximum edges of switches per byte of the function's text. A table can be named many times.
const EDGES_PER_BYTE: usize = 4;
impl<'a> Builder<'_, 'a> {
    /// Cuts the instructions into basic blocks and connects them.
    pub(super) fn blocks(&mut self, f: &mut view::Function, labels: &[Label], whole: Span) {
        let n = f.insts.len();
        let mut begins = vec![false; n + 1];
        begins[0] = true;
        for l in labels.iter().filter(|l| l.named && l.table.is_none()) {
            begins[l.at as usize] = true;
        }
        for (i, inst) in f.insts.iter().enumerate() {
            if ends_block(inst) && i + 1 < n {
                begins[i + 1] = true;
            }
        }
        let mut of = vec![BlockId(0); n + 1];
        for i in 0..=n {
            if begins[i] {
                let at = span(i, i);
                f.blocks.push(Block { insts: at.start..at.start, ..Block::default() });
            }
            let last = span(0, f.blocks.len() - 1).end;
            of[i] = BlockId(last);
            if i < n {
                f.insts[i].block = BlockId(last);
                f.blocks[last as usize].insts.end += 1;
            }
        }
        let mut edges = (whole.end - whole.start) as usize * EDGES_PER_BYTE;
        for inst in &mut f.insts {
            for operand in &mut inst.operands {
                if let Operand::Label(label) = operand {
                    let label = &labels[label.index()];
                    *operand = match &label.table {
                        None => Operand::Label(of[label.at as usize]),
                        Some(table) => match edges.checked_sub(table.len()) {
                            Some(left) => {
                                edges = left;
                                Operand::Targets(
                                    table.iter().map(|t| of[labels[*t as usize].at as usize]).collect(),
                                )
                            }
                            None => Operand::Text(inst.span),
                        },
                    };
                }
            }
        }
        let count = f.blocks.len();
        for i in 0..count {
            let next = (i + 1 < count).then(|| BlockId(span(0, i + 1).end));
            let last = f.blocks[i].insts.clone().last().and_then(|l| f.insts.get(l as usize));
            let succs = match last {
                None => vec![],
                Some(inst) => {
                    let mut succs = targets(inst);
                    if !ends_block(inst) || inst.guard.is_some() || inst.class == Class::Opaque {
                        succs.extend(next);
                    }
                    succs
                }
            };
            f.blocks[i].succs = succs;
        }
        for i in 0..count {
            let id = BlockId(span(0, i).end);
            for k in 0..f.blocks[i].succs.len() {
                let to = f.blocks[i].succs[k].index();
                if f.blocks[to].preds.last() != Some(&id) {
                    f.blocks[to].preds.push(id);
                }
            }
        }
    }
}

/// Whether control can go anywhere but to the next instruction. An unknown operation that names a label may
/// branch there.
fn ends_block(inst: &Inst) -> bool {
    match inst.class {
        Class::Branch | Class::Switch | Class::Return | Class::Exit => true,
        Class::Opaque => inst.operands.iter().any(|o| matches!(o, Operand::Label(_) | Operand::Targets(_))),
        _ => false,
    }
}

/// Targets of a taken branch or switch.
fn targets(inst: &Inst) -> Vec<BlockId> {
    if !ends_block(inst) {
        return vec![];
    }
    let mut targets = vec![];
    for operand in &inst.operands {
        match operand {
            Operand::Label(b) => targets.push(*b),
            Operand::Targets(list) => targets.extend(list),
            _ => {}
        }
    }
    targets
}
