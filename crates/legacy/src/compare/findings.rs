//! Merges equal differences of many warps into findings.
//!
//! # Invariants
//! Warps arrive in ascending order, so the result does not depend on threads. Memory is bounded by
//! [`FINDINGS`] and [`WARPS`]. The representative is the warp with the earliest occurrence, then the lowest
//! warp.

use std::collections::HashMap;

use crate::v1::EventKind;
use prlx_trace::kernel::{Scalar, SiteClass};
use prlx_trace::{LaneMask, SiteId};

use prlx_analyze::report::{
    Finding, FindingKind, Location, Mask, OperandCell, OperandColumn, OperandRow, Operands, SiteInfo,
    TripInfo, WarpHit, WarpPlace,
};
use prlx_analyze::value;

use super::differences::{self, FindingKey, First, KnownFinding, Rank};
use super::fast_hash::FastHash;
use super::input::{LaunchShape, SiteTable};

/// Maximum number of findings of a launch.
const FINDINGS: usize = 4096;
/// Warps of a finding that are listed.
pub(super) const WARPS: usize = 64;

/// Merges the findings of warps into clusters with one representative each.
#[derive(Default)]
pub(super) struct Gathered {
    pub known: HashMap<FindingKey, KnownFinding, FastHash>,
    ids: HashMap<FindingKey, usize, FastHash>,
    all: Vec<(FindingKey, Cluster)>,
}

pub(super) struct Cluster {
    rank: Rank,
    /// The occurrence that the report shows.
    warp: u32,
    pub first: First,
    roots: u64,
    lanes_total: u64,
    count: u64,
    ways: [u64; 2],
    follows: [u64; 2],
    warps: Vec<WarpHit>,
    warps_total: u64,
}

impl Cluster {
    pub fn warp(&self) -> u32 {
        self.warp
    }
}

impl Gathered {
    /// Adds a warp's findings; warps must ascend.
    pub fn add(&mut self, warp: u32, shape: &LaunchShape, found: Vec<(FindingKey, differences::Finding)>) {
        for (key, f) in found {
            let rank = (f.roots == 0, f.first.place.at[0]);
            let (cta, in_cta) = shape.place(warp);
            let hit = WarpHit {
                warp: warp.into(),
                cta,
                in_cta,
                lanes: LaneMask(f.lanes.into()),
                roots: LaneMask(f.roots.into()),
                visit: f.first.visits[0].or(f.first.visits[1]).map(|(before, _)| before.into()),
                count: f.count,
            };
            let id = match self.ids.get(&key) {
                Some(&id) => id,
                None if self.all.len() == FINDINGS => continue,
                None => {
                    let id = self.all.len();
                    self.ids.insert(key, id);
                    let new = Cluster {
                        rank,
                        warp,
                        first: f.first.clone(),
                        roots: 0,
                        lanes_total: 0,
                        count: 0,
                        ways: [0; 2],
                        follows: [0; 2],
                        warps: Vec::new(),
                        warps_total: 0,
                    };
                    self.all.push((key, new));
                    id
                }
            };
            let c = &mut self.all[id].1;
            c.roots += u64::from(f.roots.count_ones());
            c.lanes_total += u64::from(f.lanes.count_ones());
            c.count += f.count;
            for side in 0..2 {
                c.ways[side] += f.ways[side];
                c.follows[side] += f.follows[side];
            }
            c.warps_total += 1;
            if c.warps.len() < WARPS {
                c.warps.push(hit);
            }
            if rank < c.rank {
                (c.rank, c.warp, c.first) = (rank, warp, f.first);
            }
            self.known.insert(key, KnownFinding { rank: c.rank, full: c.warps.len() >= WARPS });
        }
    }

    /// Lanes that part.
    pub fn lanes(&self) -> u64 {
        self.all.iter().map(|(_, c)| c.roots).sum()
    }

    /// What is said of differences that are in no finding, where there are so many in all.
    pub fn gap(&self, differences: u64) -> Option<String> {
        let told: u64 = self.all.iter().map(|(_, c)| c.count).sum();
        let left = differences.saturating_sub(told);
        let what = "are in findings beyond the limit: they are counted, but not listed";
        (left > 0).then(|| format!("{left} differences {what}"))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// First things first, at most so many.
    pub fn sorted(self, most: usize) -> Vec<(FindingKey, Cluster)> {
        let mut all = self.all;
        // Masks are observations: what differs in lanes comes first.
        all.sort_by_key(|(k, c)| (c.rank.0, k.kind == FindingKind::ActiveMask, c.rank.1, c.warp, *k));
        all.truncate(most);
        all
    }
}

/// Makes a cluster a finding of the report: names its site and source line, and shows its operands.
pub(super) fn finding(key: FindingKey, c: Cluster, shape: &LaunchShape, tables: [&SiteTable; 2]) -> Finding {
    let first = &c.first;
    let events = first.events;
    // A site of B that has another id in A goes by A's, which B's table may not know.
    let of = |s: usize, id: u32| if tables[s].row(id).is_some() { tables[s] } else { tables[1 - s] };
    let site = [0, 1].map(|s| events[s].map(|e| of(s, e.site).info(e.site, e.kind)));
    let (cta, in_cta) = shape.place(c.warp);
    let at = shape.grid.position(cta);
    let trips = first.trips.iter().map(|t| {
        let location = tables[0].location(t.site).or_else(|| tables[1].location(t.site));
        TripInfo { location, trip: t.trip, trips: t.trips }
    });
    let switch = events[0].is_some_and(|e| e.kind == EventKind::Switch as u8);
    let values = match (key.kind, events) {
        (FindingKind::Branch, [Some(a), Some(b)]) if switch && a.dir == b.dir => {
            Some([a.value.into(), b.value.into()])
        }
        (FindingKind::Branch, [Some(a), Some(b)]) => Some([a.dir.into(), b.dir.into()]),
        (FindingKind::Value, [Some(a), Some(b)]) if a.value != b.value => {
            Some([a.value.into(), b.value.into()])
        }
        (FindingKind::Value, [Some(a), Some(b)]) => Some([a.result.into(), b.result.into()]),
        _ => None,
    };
    let masks = match events {
        [Some(a), Some(b)] => Some([a, b].map(|e| Mask { lanes: LaneMask(e.mask.into()) })),
        _ => None,
    };
    Finding {
        kind: key.kind,
        site,
        side: match (key.kind, key.sites) {
            (FindingKind::ExtraEvents, [Some(_), _]) => Some(0),
            (FindingKind::ExtraEvents, _) => Some(1),
            _ => None,
        },
        values,
        ways: c.ways,
        warp: WarpPlace { warp: c.warp.into(), cta, at, in_cta },
        lanes: LaneMask(first.lanes.into()),
        lane: first.lanes.trailing_zeros().min(31) as u8,
        visit: first.visits.map(|v| v.map(|(before, _)| before.into())),
        position: first.place.at[0].into(),
        trips: trips.collect(),
        extra_trips: first.place.extra_trips,
        extra_visits: first.place.extra_visits,
        masks,
        roots: c.roots,
        lanes_total: c.lanes_total,
        count: c.count,
        follows: c.follows,
        warps: c.warps,
        warps_total: c.warps_total,
        operands: recorded_value(key.kind, first),
        ..Finding::default()
    }
}

/// What the two events themselves say of values: those of the lane that wrote them.
fn recorded_value(kind: FindingKind, first: &First) -> Option<Operands> {
    let [Some(a), Some(b)] = first.events else { return None };
    if !matches!(kind, FindingKind::Branch | FindingKind::Value)
        || (a.value, b.value, a.result, b.result) == (0, 0, 0, 0)
    {
        return None;
    }
    let mut columns = Vec::new();
    let mut cells = Vec::new();
    let mut put = |name: &str, bits: [u32; 2]| {
        columns.push(OperandColumn { name: [name.into(), name.into()], ty: Scalar::B32 });
        cells.push(cell(bits.map(Some), Scalar::B32));
    };
    put(if a.kind == EventKind::Branch as u8 { "left" } else { "value" }, [a.value, b.value]);
    if (a.result, b.result) != (0, 0) {
        put("old, low half", [a.result.into(), b.result.into()]);
    }
    let lane = (a.mask & b.mask).trailing_zeros().min(31) as u8;
    Some(Operands { columns, rows: vec![OperandRow { lane, differs: true, cells }] })
}

/// One operand of one lane on both sides.
pub(super) fn cell(bits: [Option<u32>; 2], ty: Scalar) -> OperandCell {
    OperandCell {
        bits: bits.map(|b| b.map(u64::from)),
        shown: bits.map(|b| b.map(|b| value::format_value(b.into(), ty))),
        differs: bits[0].is_some() && bits[1].is_some() && bits[0] != bits[1],
    }
}

impl SiteTable {
    fn info(&self, id: u32, kind: u8) -> SiteInfo {
        let kind = EventKind::of(kind);
        let class = match kind {
            Some(EventKind::Branch) => SiteClass::Branch,
            Some(EventKind::Switch) => SiteClass::Switch,
            Some(EventKind::SharedStore | EventKind::GlobalStore) => SiteClass::Store,
            Some(EventKind::Atomic) => SiteClass::Atomic,
            Some(EventKind::FuncEntry) => SiteClass::Entry,
            Some(EventKind::FuncExit) => SiteClass::Exit,
            None => SiteClass::Sync,
        };
        let row = self.row(id);
        SiteInfo {
            id: SiteId(id),
            class,
            function: row.map_or_else(String::new, |r| r.function.clone()),
            text: match kind {
                Some(k) => format!("{} {id:#010x}", k.name()),
                None => format!("event of an unknown kind {id:#010x}"),
            },
            location: self.location(id),
            steers: Vec::new(),
        }
    }

    /// Where a site is, if the table says.
    pub fn location(&self, id: u32) -> Option<Location> {
        let row = self.row(id).filter(|r| r.line > 0)?;
        Some(Location {
            file: row.filename.clone(),
            line: row.line,
            column: row.column,
            function: row.function.clone(),
            code: None,
            inlined: Vec::new(),
        })
    }
}
