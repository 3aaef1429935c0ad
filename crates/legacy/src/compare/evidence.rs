//! Operands and earlier values at the differing visit, from the rings of a version 1 file.
//!
//! A ring keeps the last entries of a warp. A visit with `n` later visits of its site matches the ring entry
//! with `n` later entries of that site.
//!
//! # Invariants
//! An entry counts only if the ring still holds it and its lanes are those of the event. If nothing was
//! overwritten, the site must also have as many entries as visits. Otherwise there is no evidence, rather
//! than evidence of another visit.

use crate::v1::{Cursor, Event, File, HistoryEntry, Ring, Snapshot};
use prlx_trace::kernel::Scalar;

use prlx_analyze::Error;
use prlx_analyze::report::{OperandColumn, OperandRow, Operands};

use super::findings::cell;
use super::input::Input;

/// Values before the visit that are kept.
const VALUES: usize = 8;

/// A visit of one side whose entries are wanted.
pub(super) struct Wanted {
    /// Index of the finding in the report.
    pub finding: usize,
    pub warp: u32,
    pub event: Event,
    /// Visits of its site before and after it.
    pub visits: (u32, u32),
}

/// What the rings have of it.
#[derive(Clone, Default)]
pub(super) struct Evidence {
    pub snapshot: Option<Snapshot>,
    /// Up to that of the visit.
    pub history: Vec<HistoryEntry>,
}

/// Rings that are not believed: of how many warps, and the first reason.
#[derive(Default)]
pub(super) struct Lies {
    warps: u64,
    first: Option<prlx_trace::Error>,
}

impl Lies {
    fn tell<T>(&mut self, ring: &Ring<T>) -> bool {
        if let Some(wrong) = &ring.wrong {
            self.warps += 1;
            self.first.get_or_insert_with(|| wrong.clone());
        }
        ring.wrong.is_some()
    }
    /// In words; `what` is what they would show.
    pub fn gap(&self, side: &str, what: &str) -> Option<String> {
        let warps = if self.warps == 1 { "warp" } else { "warps" };
        let first = self.first.as_ref()?;
        Some(format!("{side}'s {what} are not shown of {} {warps}: {first}", self.warps))
    }
}

/// Reads one side's rings, for `findings` findings. With what is not believed of values and of operands.
pub(super) fn read(
    input: &Input<'_>,
    cursor: &mut Cursor<'_>,
    mut wanted: Vec<Wanted>,
    findings: usize,
) -> Result<(Vec<Evidence>, [Lies; 2]), Error> {
    let mut lies = [const { Lies { warps: 0, first: None } }; 2];
    let mut out = vec![Evidence::default(); findings];
    wanted.sort_by_key(|w| (w.warp, w.finding));
    let File { layout, .. } = input.file;
    let swapped = matches!((layout.history, layout.snapshots), (Some(h), Some(s)) if s.at < h.at);
    for histories in [!swapped, swapped] {
        // A ring is read once, as a packed file has it only once.
        for same in wanted.chunk_by(|a, b| a.warp == b.warp) {
            let warp = same[0].warp;
            if histories {
                let Some(ring) = cursor.history(warp)? else { break };
                if lies[0].tell(&ring) {
                    continue;
                }
                for w in same {
                    let found = nth(&ring, |e| input.site(e.site) == w.event.site, w.visits);
                    out[w.finding].history = found.map_or_else(Vec::new, |i| before(&ring, i));
                }
            } else {
                let Some(ring) = cursor.snapshots(warp)? else { break };
                if lies[1].tell(&ring) {
                    continue;
                }
                for w in same {
                    let found = nth(&ring, |e| input.site(e.site) == w.event.site, w.visits);
                    let entry = found.map(|i| ring.entries[i]).filter(|s| s.mask == w.event.mask);
                    out[w.finding].snapshot = entry;
                }
            }
        }
    }
    Ok((out, lies))
}

/// Where a ring has the entry of the visit with so many visits before and after it.
fn nth<T>(ring: &Ring<T>, of_site: impl Fn(&T) -> bool, (before, after): (u32, u32)) -> Option<usize> {
    let kept: Vec<usize> = (0..ring.entries.len()).filter(|&i| of_site(&ring.entries[i])).collect();
    let whole = ring.written as usize == ring.entries.len();
    let visits = u64::from(before) + u64::from(after) + 1;
    if whole && kept.len() as u64 != visits {
        return None;
    }
    kept.len().checked_sub(after as usize).and_then(|n| n.checked_sub(1)).map(|i| kept[i])
}

fn before(ring: &Ring<HistoryEntry>, i: usize) -> Vec<HistoryEntry> {
    ring.entries[(i + 1).saturating_sub(VALUES)..=i].to_vec()
}

/// Both sides' snapshots as a table; `float`: numbers are shown as floating point whatever the comparison
/// says.
pub(super) fn operands(sides: [Option<Snapshot>; 2], differ: u32, float: bool) -> Option<Operands> {
    let any = sides[0].or(sides[1])?;
    let ty = if float { Scalar::F32 } else { any.scalar() };
    let names = sides.map(|s| s.map_or_else(String::new, |s| s.comparison().to_owned()));
    let column = |name: &str| OperandColumn { name: [name.into(), name.into()], ty };
    let columns = vec![column(&format!("left of {}", names[0])), column(&format!("right of {}", names[1]))];
    let masks = sides.map(|s| s.map_or(0, |s| s.mask));
    let row = |lane: u8| {
        let get = |pick: fn(&Snapshot) -> &[u32; 32]| {
            let of = |s: &Option<Snapshot>| {
                s.as_ref().filter(|s| s.mask >> lane & 1 == 1).map(|s| pick(s)[usize::from(lane)])
            };
            cell([of(&sides[0]), of(&sides[1])], ty)
        };
        let cells = vec![get(|s| &s.lhs), get(|s| &s.rhs)];
        let differs = differ >> lane & 1 == 1 && cells.iter().any(|c| c.bits[0] != c.bits[1]);
        OperandRow { lane, differs, cells }
    };
    let rows = (0..32u8).filter(|l| (masks[0] | masks[1]) >> l & 1 == 1).map(row).collect();
    Some(Operands { columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_that_of_the_visit() {
        let entry = |site: u32, seq: u32| HistoryEntry { site, value: seq, seq };
        // Six were written, four are left: of site 1 the visits 1 and 2 of three.
        let ring = Ring {
            written: 6,
            entries: vec![entry(1, 2), entry(2, 3), entry(1, 4), entry(2, 5)],
            wrong: None,
        };
        let of = |visits| nth(&ring, |e: &HistoryEntry| e.site == 1, visits);
        assert_eq!(of((2, 0)), Some(2));
        assert_eq!(of((1, 1)), Some(0));
        assert_eq!(of((0, 2)), None, "it was overwritten");
        let whole = Ring { written: 2, entries: vec![entry(1, 0), entry(1, 1)], wrong: None };
        assert_eq!(nth(&whole, |_| true, (1, 0)), Some(1));
        assert_eq!(nth(&whole, |_| true, (2, 0)), None, "the ring holds fewer than there were visits");
    }
}
