//! Basic blocks as the assembler sees them: without the code that PRLX inserted, and with blocks joined that
//! only follow each other.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{BlockId, Class, Function, Inst};

/// Maximum number of blocks without content on the way from one block to the next.
const EMPTY: usize = 256;

/// A place in the code: the region, and the order in the region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Position {
    /// Number of the region.
    pub region: u32,
    /// Order of the instruction in its region, from 1.
    pub order: u32,
}

/// The position of each instruction. `inserted` says which instructions do not count.
pub(super) fn positions(f: &Function, inserted: &[bool]) -> Vec<Position> {
    let content = |i: u32| {
        let jump = |inst: &Inst| opcode(inst).op == Some(Op::Bra) && inst.guard.is_none();
        inserted.get(i as usize) != Some(&true) && !f.insts.get(i as usize).is_some_and(jump)
    };
    let filled: Vec<bool> = f.blocks.iter().map(|b| b.insts.clone().any(content)).collect();
    let next: Vec<Option<Vec<usize>>> =
        (0..f.blocks.len()).map(|b| reached(f, &filled, &f.blocks[b].succs)).collect();
    // If a way is too long, nothing is joined.
    let known = next.iter().all(Option::is_some);
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); f.blocks.len()];
    // The entry of the function is one more predecessor.
    let entry = f.blocks.len();
    reached(f, &filled, &[BlockId(0)]).into_iter().flatten().for_each(|b| preds[b].push(entry));
    for (b, next) in next.iter().enumerate().filter(|(b, _)| filled[*b]) {
        next.iter().flatten().for_each(|n| preds[*n].push(b));
    }
    let follower = |b: usize| match next[b].as_deref() {
        Some([n]) if known && filled[b] && *n != b && preds[*n] == [b] => Some(*n),
        _ => None,
    };
    let mut out = vec![Position::default(); f.insts.len()];
    let mut region = 0;
    let mut seen = vec![false; f.blocks.len()];
    let heads = (0..f.blocks.len())
        .filter(|b| !matches!(preds[*b][..], [p] if p != entry && follower(p) == Some(*b)));
    for head in heads.chain(0..f.blocks.len()).collect::<Vec<_>>() {
        let (mut at, mut order) = (Some(head), 0);
        region += 1;
        while let Some(b) = at.filter(|b| !std::mem::replace(&mut seen[*b], true)) {
            for i in f.blocks[b].insts.clone() {
                order += 1;
                if let Some(out) = out.get_mut(i as usize) {
                    *out = Position { region, order };
                }
                if f.insts.get(i as usize).is_some_and(|i| i.class == Class::Call) {
                    (region, order) = (region + 1, 0);
                }
            }
            at = follower(b);
        }
    }
    out
}

/// The blocks with content that are reached first from these blocks, sorted; `None` if the way is too long.
fn reached(f: &Function, filled: &[bool], from: &[BlockId]) -> Option<Vec<usize>> {
    let (mut out, mut seen) = (Vec::new(), Vec::new());
    let mut left: Vec<usize> = from.iter().map(|b| b.index()).collect();
    while let Some(b) = left.pop() {
        if filled.get(b) == Some(&true) {
            out.push(b);
        } else if !seen.contains(&b) {
            seen.push(b);
            if seen.len() > EMPTY {
                return None;
            }
            left.extend(f.blocks.get(b)?.succs.iter().map(|b| b.index()));
        }
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}
