//! Performance notes: accesses that take more passes or sectors than necessary, counted by line.
//!
//! Shared memory has 32 banks of 4 bytes. An access of a warp with up to 4 bytes per lane takes one pass if
//! no two lanes access different words of one bank. With 8 bytes per lane it takes two passes of 16 lanes,
//! with 16 bytes four passes of 8 lanes. Global memory is accessed in sectors of 32 bytes.
//!
//! # Invariants
//! The counts follow from the addresses alone. An instruction of AMD's that moves several words is one access
//! of the whole wave, though the device runs it word by word and half by half. Lanes that access the same
//! word or sector share it.
//!
//! # Limitations
//! Atomics, which serialise for other reasons, caches, adjacent sectors and asynchronous copies are not
//! modelled.

use std::collections::BTreeMap;

use prlx_isa::view::{FuncId, InstId};
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
    /// In AMD's code: the visit of an instruction, of which more accesses may follow.
    open: Option<WaveVisit>,
}

/// The accesses of one visit of an instruction by a wave.
#[derive(Debug)]
struct WaveVisit {
    /// The CTA, the wave in it, and the instruction.
    of: (u64, u32, (FuncId, InstId)),
    /// The first access.
    first: WarpStep,
    /// Each with its half of the wave and its step.
    accesses: Vec<(WarpStep, WarpAccess)>,
}

impl PerformanceNotes {
    /// Counts an access. Those of `wmma` do not count: PTX leaves open which lane accesses which element of a
    /// fragment.
    pub fn count(&mut self, launch: &Launch<'_>, op: &Op, t: &WarpAccess, here: WarpStep) {
        let code: &Code = launch.code;
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
        if code.exec.is_none() {
            self.visit(here, std::slice::from_ref(t));
            return;
        }
        let halves = (launch.warp_size.lanes() / LANES as u64).max(1) as u32;
        let inst = code.origin.get(here.step as usize).copied().unwrap_or_default();
        let of = (here.cta, here.warp / halves, inst);
        let same = |v: &WaveVisit| {
            let again = |(at, _): &(WarpStep, WarpAccess)| (at.warp, at.step) == (here.warp, here.step);
            v.of == of && !v.accesses.iter().any(again)
        };
        if !self.open.as_ref().is_some_and(same) {
            self.close();
        }
        let visit = self.open.get_or_insert_with(|| WaveVisit { of, first: here, accesses: Vec::new() });
        visit.accesses.push((here, t.clone()));
    }
    /// Counts the visit of AMD's that is open, if there is one.
    fn close(&mut self) {
        let Some(visit) = self.open.take() else { return };
        let mut joined: Vec<(u32, WarpAccess)> = Vec::new();
        for (here, t) in visit.accesses {
            match joined.iter_mut().find(|(warp, before)| *warp == here.warp && continues(before, &t)) {
                Some((_, before)) => each(t.lanes, |l| before.bytes[l] += t.bytes[l]),
                None => joined.push((here.warp, t)),
            }
        }
        let accesses: Vec<WarpAccess> = joined.into_iter().map(|(_, t)| t).collect();
        self.visit(visit.first, &accesses);
    }
    /// Counts the accesses of one visit.
    fn visit(&mut self, here: WarpStep, all: &[WarpAccess]) {
        let (mut shared, mut global) = (Vec::new(), Vec::new());
        for t in all {
            let (mut in_shared, mut in_global) = (0, 0);
            each(t.lanes, |l| match accesses::space(t.space, t.addr.0[l]) {
                Space::Shared => in_shared |= 1 << l,
                Space::Global => in_global |= 1 << l,
                _ => {}
            });
            shared.extend((in_shared != 0).then_some((t, in_shared)));
            global.extend((in_global != 0).then_some((t, in_global)));
        }
        for (kind, parts) in [(Kind::BankConflict, shared), (Kind::Uncoalesced, global)] {
            let Some(&(_, lanes)) = parts.first() else { continue };
            let (taken, least) = match kind {
                Kind::BankConflict => parts.iter().fold((0, 0), |(taken, least), (t, lanes)| {
                    let (more, needed) = passes(t, *lanes);
                    (taken + more, least + needed)
                }),
                _ => sectors(&parts),
            };
            let none = Tally { first: None, visits: 0, lanes: 0, taken: 0, least: 0 };
            let tally = self.tallies.entry((kind, here.step)).or_insert(none);
            tally.visits += 1;
            tally.lanes += parts.iter().map(|(_, lanes)| u64::from(lanes.count_ones())).sum::<u64>();
            tally.taken += taken;
            tally.least += least;
            if taken > least {
                tally.first.get_or_insert(WarpStep { lanes, ..here });
            }
        }
    }
    /// Reports the counts by line: any bank conflict, and accesses with at least twice the sectors needed.
    pub fn finish(mut self, launch: &Launch<'_>, log: &mut FindingLog) {
        self.close();
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

/// Whether an access goes on in every lane where another one ends.
fn continues(before: &WarpAccess, t: &WarpAccess) -> bool {
    let mut goes_on = before.lanes == t.lanes && before.space == t.space;
    each(t.lanes, |l| goes_on &= before.addr.0[l].checked_add(before.bytes[l].into()) == Some(t.addr.0[l]));
    goes_on
}

/// Sectors of accesses to global memory by some lanes each, and the least number that would hold the bytes.
fn sectors(all: &[(&WarpAccess, u32)]) -> (u64, u64) {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (t, lanes) in all {
        each(*lanes, |l| spans.push((t.addr.0[l], t.addr.0[l].saturating_add(t.bytes[l].into()))));
    }
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
        let of = |t: WarpAccess, lanes| sectors(&[(&t, lanes)]);
        assert_eq!(of(touch(4, |l| 4 * l), u32::MAX), (4, 4));
        assert_eq!(of(touch(4, |l| 4 * l + 4), u32::MAX), (5, 4));
        assert_eq!(of(touch(4, |l| 128 * l), u32::MAX), (32, 4));
        assert_eq!(of(touch(4, |_| 128), u32::MAX), (1, 1));
        assert_eq!(of(touch(16, |l| 16 * (31 - l)), u32::MAX), (16, 16));
        assert_eq!(of(touch(4, |l| 4 * l), 1), (1, 1));
    }

    #[test]
    fn the_words_and_halves_of_a_wave_are_one_visit() {
        let mut notes = PerformanceNotes::default();
        let of = (0, 0, <(FuncId, InstId)>::default());
        let at = |warp, step| WarpStep { cta: 0, warp, lanes: u32::MAX, upper: 0, step };
        let mut accesses = Vec::new();
        for (half, word) in (0..2u32).flat_map(|half| (0..4u32).map(move |word| (half, word))) {
            let mut t = touch(4, |l| 512 * u64::from(half) + 16 * l + 4 * u64::from(word));
            t.space = AddrSpace::Global;
            accesses.push((at(half, word), t));
        }
        notes.open = Some(WaveVisit { of, first: at(0, 0), accesses });
        notes.close();
        let tally = notes.tallies[&(Kind::Uncoalesced, 0)];
        assert_eq!((tally.visits, tally.lanes, tally.taken, tally.least), (1, 64, 32, 32));
    }
}
