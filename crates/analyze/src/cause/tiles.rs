//! What products of tiles read: words in shared memory, and what went to tensor memory.
//!
//! # Limitations
//! Places in tensor memory are not distinguished: what was stored and multiplied first, and differs, counts.

use std::collections::HashMap;

use prlx_trace::dataflow::Operand;

use super::flow::{At, Flow, Source, Word, lanes};
use super::value::Canonical;
use super::walk::Walk;

/// The most words of a tile that are followed.
const MAX_TILE_WORDS: usize = 8;

/// The instructions that write tensor memory: stores by warp of the CTA, and those of the tensor core.
fn tensor_writes(flow: &Flow<'_>, at: At) -> Vec<(Option<u32>, At)> {
    let per = flow.data.warps_per_cta.max(1) as u32;
    let (first, end) = (at.warp / per * per, flow.order(at));
    let mut out = Vec::new();
    for warp in first..(first + per).min(flow.data.warps.len() as u32) {
        for (visit, v) in (0..).zip(&flow.data.warps[warp as usize].visits) {
            let Some(i) = flow.data.instructions.get(v.instruction as usize) else { continue };
            let key = match i.opcode.split('.').nth(1) {
                Some("st") => Some(warp - first),
                Some("mma" | "cp") => None,
                _ => continue,
            };
            let here = At { warp, visit, lane: v.lanes.trailing_zeros() };
            if i.opcode.starts_with("tcgen05") && v.lanes != 0 && flow.order(here) < end {
                out.push((key, here));
            }
        }
    }
    out.sort_by_key(|(_, at)| flow.order(*at));
    out
}

impl Walk<'_> {
    /// Follows what a load from tensor memory can depend on: the registers of stores, the operands of
    /// products, and the words in shared memory that products and copies read. Returns whether something
    /// differs.
    pub fn tensor_memory(&mut self, pair: usize, at: [At; 2]) -> bool {
        let [a, b] = [0, 1].map(|s| tensor_writes(self.flows[s], at[s]));
        let mut others: HashMap<Option<u32>, Vec<At>> = HashMap::new();
        b.into_iter().rev().for_each(|(key, at)| others.entry(key).or_default().push(at));
        let mut after = [0; 2];
        for (key, x) in a {
            let Some(y) = others.get_mut(&key).and_then(Vec::pop) else {
                return false;
            };
            if self.written_operands(pair, [x, y]) || key.is_none() && self.tiles(pair, [x, y], after) {
                return true;
            }
            if key.is_none() {
                after = [self.flows[0].order(x), self.flows[1].order(y)];
            }
        }
        false
    }
    /// Follows the operands of two instructions that differ, but descriptors, which are addresses.
    fn written_operands(&mut self, pair: usize, at: [At; 2]) -> bool {
        let Some([a, b]) = self.instructions(at) else { return false };
        let active = self.flows[0].data.warps[at[0].warp as usize].visits[at[0].visit as usize].lanes;
        let registers = &self.flows[0].data.registers;
        for (x, y) in a.operands.iter().zip(&b.operands) {
            let wide = |r: &u32| registers.get(*r as usize).is_some_and(|r| r.ty.bits() == 64);
            if matches!(x, Operand::Register(r) if wide(r)) {
                continue;
            }
            for lane in lanes(active) {
                let users = at.map(|at| At { lane, ..at });
                let sources = [self.flows[0].operand(x, users[0]), self.flows[1].operand(y, users[1])];
                if self.differ(&sources, users, 32) {
                    self.push(pair, sources, users, None);
                    return true;
                }
            }
        }
        false
    }
    /// Follows words in shared memory that differ when a product of tiles begins, and that were written after
    /// two points in the order. Returns whether there are any.
    pub fn tiles(&mut self, pair: usize, at: [At; 2], after: [u64; 2]) -> bool {
        let orders = [0, 1].map(|s| self.flows[s].order(at[s]));
        let owners = at.map(|at| u64::from(at.warp) / self.flows[0].data.warps_per_cta.max(1));
        let words = self.flows[0].shared_words(owners[0], after[0]..orders[0]);
        let mut pushed = 0;
        for word in words {
            let both = [word, Word { owner: owners[1], before: orders[1], ..word }];
            let values = [0, 1].map(|s| {
                let writer = self.flows[s].writer(&both[s])?;
                let source = self.flows[s].written(&writer, &both[s])?;
                match &source {
                    Source::Memory(from) => {
                        Some(Canonical::of_address(self.flows[s], from.space, from.address))
                    }
                    _ => self.canonical(s, &source, writer.at, 64),
                }
            });
            if values[0] != values[1] {
                self.push(pair, both.map(Source::Memory), at, None);
                pushed += 1;
            }
            if pushed == MAX_TILE_WORDS {
                break;
            }
        }
        pushed > 0
    }
}
