//! Performance notes: accesses that take more passes or sectors than necessary, counted by line.
//!
//! Shared memory has 32 banks of 4 bytes. An access of a warp with up to 4 bytes per lane takes one pass if
//! no two lanes access different words of one bank. With 8 bytes per lane it takes two passes of 16 lanes,
//! with 16 bytes four passes of 8 lanes. Global memory is accessed in sectors of 32 bytes.
//!
//! # Invariants
//! The counts follow from the addresses alone. Lanes that access the same word or sector share it.
//!
//! # Limitations
//! Atomics, which serialise for other reasons, caches, adjacent sectors and asynchronous copies are not
//! modelled.

use std::collections::BTreeMap;

use prlx_trace::check::{Kind, Space};

use crate::code::{Code, MatrixOp, Op, WarpOpKind};
use crate::exec::launch::Launch;
use crate::mem::access::each;
use prlx_lanes::LANES;

use super::accesses::{self, WarpAccess};
use super::findings::{self, FindingLog, WarpStep};

/// Banks of shared memory.
const BANKS: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;
/// Bytes of a sector.
const SECTOR: u64 = 32;

/// The counts of a step.
#[derive(Clone, Copy, Debug)]
struct Tally {
    /// The first visit that took more passes or sectors than necessary.
    first: Option<WarpStep>,
    visits: u64,
    lanes: u64,
    /// Passes or sectors that were taken.
    taken: u64,
    /// The fewest that would do.
    least: u64,
}

/// The counts of all steps, by kind and step.
#[derive(Debug, Default)]
pub struct PerformanceNotes {
    tallies: BTreeMap<(Kind, u32), Tally>,
}

impl PerformanceNotes {
    /// Counts an access. Those of `wmma` do not count: PTX leaves open which lane accesses which element of a
    /// fragment.
    pub fn count(&mut self, code: &Code, op: &Op, t: &WarpAccess, here: WarpStep) {
        let counts = match *op {
            Op::Ld(_) | Op::St(_) => true,
            Op::Exchange(i) => match code.warp_ops[i as usize].kind {
                WarpOpKind::Matrix(t) => !matches!(code.matrix[t as usize], MatrixOp::Tile(_)),
                _ => true,
            },
            _ => false,
        };
        if !counts || t.lanes == 0 {
            return;
        }
        let space = |l: usize| accesses::space(t.space, t.addr.0[l]);
        let (mut shared, mut global) = (0, 0);
        each(t.lanes, |l| match space(l) {
            Space::Shared => shared |= 1 << l,
            Space::Global => global |= 1 << l,
            _ => {}
        });
        for (kind, lanes) in [(Kind::BankConflict, shared), (Kind::Uncoalesced, global)] {
            if lanes == 0 {
                continue;
            }
            let (taken, least) =
                if kind == Kind::BankConflict { passes(t, lanes) } else { sectors(t, lanes) };
            let none = Tally { first: None, visits: 0, lanes: 0, taken: 0, least: 0 };
            let tally = self.tallies.entry((kind, here.step)).or_insert(none);
            tally.visits += 1;
            tally.lanes += u64::from(lanes.count_ones());
            tally.taken += taken;
            tally.least += least;
            if taken > least {
                tally.first.get_or_insert(WarpStep { lanes, ..here });
            }
        }
    }
    /// Reports the counts by line: any bank conflict, and accesses with at least twice the sectors needed.
    pub fn finish(self, launch: &Launch<'_>, log: &mut FindingLog) {
        // The steps of one line become one note.
        let mut lines: Vec<(Kind, findings::Spot, Tally)> = Vec::new();
        for ((kind, step), tally) in self.tallies {
            let spot = findings::spot(launch, step);
            match lines.iter_mut().find(|l| (l.0, l.1) == (kind, spot)) {
                Some((.., sum)) => {
                    sum.first = sum.first.or(tally.first);
                    sum.visits += tally.visits;
                    sum.lanes += tally.lanes;
                    sum.taken += tally.taken;
                    sum.least += tally.least;
                }
                None => lines.push((kind, spot, tally)),
            }
        }
        for (kind, _, t) in lines {
            let Some(first) = t.first else { continue };
            let times = t.taken as f64 / t.least.max(1) as f64;
            let what = match kind {
                Kind::Uncoalesced if t.taken < 2 * t.least => continue,
                Kind::Uncoalesced => {
                    format!(
                        "accesses {} sectors of 32 bytes where {} would do ({times:.1} times)",
                        t.taken, t.least
                    )
                }
                _ => format!(
                    "takes {} passes over the banks where {} would do ({times:.1} times)",
                    t.taken, t.least
                ),
            };
            let mut f = findings::finding(kind, what, vec![findings::side(launch, "this access", first)]);
            (f.visits, f.lanes) = (t.visits, t.lanes);
            log.put(f);
        }
    }
}

/// Passes of an access to shared memory, and the least that its width needs.
fn passes(t: &WarpAccess, lanes: u32) -> (u64, u64) {
    let width = t.bytes[lanes.trailing_zeros() as usize & 31].max(1);
    let at_once = LANES * WORD as usize / (width as usize).clamp(WORD as usize, LANES);
    let (mut taken, mut least) = (0, 0);
    for first in (0..LANES).step_by(at_once) {
        let mut words = Vec::new();
        each(lanes, |l| {
            if (first..first + at_once).contains(&l) {
                let at = accesses::within(t.space, t.addr.0[l]);
                words.extend(at / WORD..=(at + u64::from(t.bytes[l].max(1)) - 1) / WORD);
            }
        });
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u64; BANKS as usize];
        words.iter().for_each(|w| banks[(w % BANKS) as usize] += 1);
        taken += banks.iter().max().copied().unwrap_or(0);
        least += u64::from(!words.is_empty());
    }
    (taken, least)
}

/// Sectors of an access to global memory, and the least number that would hold its bytes.
fn sectors(t: &WarpAccess, lanes: u32) -> (u64, u64) {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    each(lanes, |l| spans.push((t.addr.0[l], t.addr.0[l].saturating_add(t.bytes[l].into()))));
    spans.sort_unstable();
    let (mut bytes, mut taken, mut end, mut next) = (0, 0, 0, 0);
    for (from, to) in spans {
        bytes += to.saturating_sub(from.max(end));
        end = end.max(to);
        let (first, last) = ((from / SECTOR).max(next), to.saturating_sub(1) / SECTOR);
        if to > from && last >= first {
            taken += last - first + 1;
            next = last + 1;
        }
    }
    (taken, bytes.div_ceil(SECTOR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::AddrSpace;
    use prlx_lanes::V64;

    fn touch(bytes: u32, at: impl Fn(u64) -> u64) -> WarpAccess {
        let addr = V64(std::array::from_fn(|l| at(l as u64)));
        let (kind, place) = (accesses::AccessKind::Read, AddrSpace::Shared);
        WarpAccess { kind, space: place, addr, bytes: [bytes; LANES], align: bytes.into(), lanes: u32::MAX }
    }

    #[test]
    fn banks() {
        assert_eq!(passes(&touch(4, |l| 4 * l), u32::MAX), (1, 1));
        assert_eq!(passes(&touch(4, |_| 64), u32::MAX), (1, 1));
        assert_eq!(passes(&touch(4, |l| 8 * l), u32::MAX), (2, 1));
        assert_eq!(passes(&touch(4, |l| 128 * l), u32::MAX), (32, 1));
        assert_eq!(passes(&touch(4, |l| 132 * l), u32::MAX), (1, 1));
        assert_eq!(passes(&touch(1, |l| l), u32::MAX), (1, 1));
        assert_eq!(passes(&touch(8, |l| 8 * l), u32::MAX), (2, 2));
        assert_eq!(passes(&touch(16, |l| 16 * l), u32::MAX), (4, 4));
        assert_eq!(passes(&touch(16, |l| 32 * l), u32::MAX), (8, 4));
        assert_eq!(passes(&touch(16, |l| 16 * l), 0xff), (1, 1));
    }

    #[test]
    fn sectors_of_a_warp() {
        assert_eq!(sectors(&touch(4, |l| 4 * l), u32::MAX), (4, 4));
        assert_eq!(sectors(&touch(4, |l| 4 * l + 4), u32::MAX), (5, 4));
        assert_eq!(sectors(&touch(4, |l| 128 * l), u32::MAX), (32, 4));
        assert_eq!(sectors(&touch(4, |_| 128), u32::MAX), (1, 1));
        assert_eq!(sectors(&touch(16, |l| 16 * (31 - l)), u32::MAX), (16, 16));
        assert_eq!(sectors(&touch(4, |l| 4 * l), 1), (1, 1));
    }
}
