//! Merges equal findings of many lanes and warps: one representative, counts, and the warps that have it.
//!
//! # Invariants
//! Warps are added in ascending order, so the result does not depend on threads. The representative is the
//! warp that diverges here earliest (by the clock of events, else by the number of visits before), then the
//! lowest.

use std::collections::BTreeMap;

use prlx_trace::kernel::Module;
use prlx_trace::{Lane, LaneMask, SiteId, WarpId};

use crate::align::difference::{Difference, FindingKey, LaneFinding};
use crate::launches::filter::Filter;
use crate::launches::gaps::{Gaps, plural};
use crate::report::describe;
use crate::report::{
    Coverage, Differing, Finding, FindingKind, HashInfo, LaneAt, Mask, TripInfo, WarpHit, WarpPlace,
};

use super::context::Context;
use super::options::DiffOptions;
use super::warp_diff::{WarpDiff, WarpFinding};

/// All findings of a launch.
pub(crate) struct FindingClusters<'a> {
    by_key: BTreeMap<FindingKey, Cluster>,
    /// The largest number of warps listed for a finding.
    warps: usize,
    /// The number of warps that have findings.
    differing: u64,
    /// Whether lane masks that differ are findings.
    strict: bool,
    /// Lanes, and their warps, that ran with other active lanes only because of the schedule.
    regrouped: [u64; 2],
    /// The user's selection.
    pub filter: &'a Filter,
}

struct Cluster {
    /// Whether only lanes that had diverged before have it; its clock, or else the visits before it; the
    /// warp.
    rank: (bool, u64, u64),
    difference: Difference,
    lane: Lane,
    lanes: LaneMask,
    at: Vec<LaneAt>,
    hashes: Option<HashInfo>,
    roots: u64,
    lanes_total: u64,
    count: u64,
    ways: [u64; 2],
    follows: [u64; 2],
    warps: Vec<WarpHit>,
    warps_total: u64,
}

impl FindingClusters<'_> {
    pub fn new(options: &DiffOptions) -> FindingClusters<'_> {
        let DiffOptions { warps, filter, strict, .. } = options;
        FindingClusters {
            by_key: BTreeMap::new(),
            warps: *warps,
            differing: 0,
            strict: *strict,
            regrouped: [0; 2],
            filter,
        }
    }

    /// A sentence about lanes that ran with other active lanes, although all of them took the same path.
    pub fn note(&self) -> Option<String> {
        let [lanes, warps] = self.regrouped;
        (lanes > 0).then(|| {
            format!(
                "{lanes} {} in {warps} {} ran with other active lanes: the schedule decides which lanes \
                 execute an instruction together (--strict counts it)",
                plural(lanes, "thread", "threads"),
                plural(warps, "warp", "warps"),
            )
        })
    }

    /// Removes what the filter rejects, and adds the gaps that this makes.
    pub fn apply_filter(&mut self, coverage: &Coverage, gaps: &mut Gaps) {
        let mut removed = 0;
        let before = self.by_key.len();
        self.by_key.retain(|key, c| {
            let selected = self.filter.selects(key.0, c.difference.sites);
            removed += if selected { 0 } else { c.count };
            selected
        });
        if self.by_key.is_empty() && before > 0 {
            self.differing = 0;
        }
        self.filter.gaps(coverage, removed, gaps);
    }

    /// The sums over all findings.
    pub fn totals(&self) -> Differing {
        let mut out = Differing { warps: self.differing, ..Differing::default() };
        for (key, c) in &self.by_key {
            out.lanes += c.roots;
            out.kinds[key.0 as usize] += c.count;
        }
        out
    }

    /// Adds one warp's findings. Warps must ascend.
    pub fn add(&mut self, cx: &Context<'_>, mut warp: WarpDiff) {
        if !self.strict {
            let mut lanes = LaneMask(0);
            let masks = warp.found.extract_if(.., |key, _| key.0 == FindingKind::ActiveMask);
            masks.flat_map(|(_, found)| found.lanes).for_each(|(lane, _)| lanes.insert(lane));
            self.regrouped[0] += u64::from(lanes.count());
            self.regrouped[1] += u64::from(lanes.0 != 0);
        }
        self.differing += u64::from(!warp.found.is_empty());
        for (key, found) in warp.found {
            let Some(mut new) = cluster(cx, warp.warp, &found) else { continue };
            match self.by_key.get_mut(&key) {
                None => {
                    self.by_key.insert(key, new);
                }
                Some(old) => {
                    old.roots += new.roots;
                    old.lanes_total += new.lanes_total;
                    old.count += new.count;
                    for side in 0..2 {
                        old.ways[side] += new.ways[side];
                        old.follows[side] += new.follows[side];
                    }
                    old.warps_total += 1;
                    if old.warps.len() < self.warps {
                        old.warps.append(&mut new.warps);
                    }
                    if new.rank < old.rank {
                        (old.rank, old.difference, old.lane, old.lanes) =
                            (new.rank, new.difference, new.lane, new.lanes);
                        (old.at, old.hashes) = (new.at, new.hashes);
                    }
                }
            }
        }
    }

    /// The findings as the report lists them, the most important first.
    pub fn findings(self, cx: &Context<'_>, modules: [&Module; 2]) -> Vec<Finding> {
        let mut all: Vec<(FindingKey, Cluster)> = self.by_key.into_iter().collect();
        // A mask that differs is an effect: lanes that differ come first.
        all.sort_by_key(|(k, c)| (c.rank.0, k.0 == FindingKind::ActiveMask, c.rank.1, *k));
        // B's site for each common number.
        let mut theirs: BTreeMap<u32, SiteId> = BTreeMap::new();
        for (i, name) in cx.sides.names[1].sites.iter().enumerate().rev() {
            theirs.insert(*name, SiteId(i as u32));
        }
        all.into_iter().map(|(key, c)| finding(cx, modules, key, c, &theirs)).collect()
    }
}

/// The lanes of one warp that have the same finding.
fn cluster(cx: &Context<'_>, warp: u64, found: &WarpFinding) -> Option<Cluster> {
    let launch = cx.launches[0];
    let rank = |f: &LaneFinding| (!f.root, f.first.clock.map_or(f.first.position, u64::from));
    let (lane, shown) = found.lanes.iter().min_by_key(|(l, f)| (rank(f), *l))?;
    let (mut lanes, mut all, mut roots) = (LaneMask(0), LaneMask(0), LaneMask(0));
    let same = |r: &Difference| (r.nth, r.trips.iter().map(|t| t.trip).collect::<Vec<_>>());
    let place = same(&shown.first);
    for (l, f) in &found.lanes {
        all.insert(*l);
        if f.root {
            roots.insert(*l);
        }
        if same(&f.first) == place {
            lanes.insert(*l);
        }
    }
    let visit = |r: &Difference| r.nth.map(|n| u64::from(n.unwrap_or(0)));
    let at = launch
        .lanes(WarpId(warp))
        .lanes()
        .map(|l| {
            let own = found.lanes.iter().find(|(m, _)| *m == l);
            let thread = cx.by_thread().then(|| cx.partner(WarpId(warp), l)).map(|(w, l)| [w.0, l.0.into()]);
            let visit = visit(&own.unwrap_or(&(l, shown.clone())).1.first);
            LaneAt { lane: l.0, visit, differs: own.is_some(), thread }
        })
        .collect();
    let nth = found
        .lanes
        .iter()
        .filter(|(_, f)| f.root || roots.0 == 0)
        .filter_map(|(_, f)| f.first.nth[0].or(f.first.nth[1]).map(u64::from));
    let per_cta = launch.warps_per_cta().max(1);
    let sum = |pick: fn(&LaneFinding) -> u64| found.lanes.iter().map(|(_, f)| pick(f)).sum::<u64>();
    let hit = WarpHit {
        warp,
        cta: warp / per_cta,
        in_cta: warp % per_cta,
        lanes: all,
        roots,
        visit: nth.min(),
        count: sum(|f| f.count),
    };
    Some(Cluster {
        rank: (rank(shown).0, rank(shown).1, warp),
        difference: shown.first.clone(),
        lane: *lane,
        lanes,
        at,
        hashes: found.hashes.clone(),
        roots: u64::from(roots.count()),
        lanes_total: u64::from(all.count()),
        count: hit.count,
        ways: [sum(|f| f.ways[0]), sum(|f| f.ways[1])],
        follows: [sum(|f| f.follows[0]), sum(|f| f.follows[1])],
        warps: vec![hit],
        warps_total: 1,
    })
}

fn finding(
    cx: &Context<'_>,
    modules: [&Module; 2],
    key: FindingKey,
    c: Cluster,
    theirs: &BTreeMap<u32, SiteId>,
) -> Finding {
    let difference = &c.difference;
    let site = [0, 1].map(|side| difference.sites[side].and_then(|s| describe::site_info(modules[side], s)));
    let side = (difference.kind == FindingKind::ExtraEvents).then_some(key.2);
    let place = difference.block.and_then(|(side, f, b)| {
        let function = modules[side].functions.get(f.index())?;
        describe::location(modules[side], function.blocks.get(b.index())?.loc)
    });
    let trips = difference
        .trips
        .iter()
        .map(|t| TripInfo {
            location: describe::loop_location(modules[t.side], t.function, t.of),
            trip: t.trip,
            trips: t.trips,
        })
        .collect();
    let from = if difference.sites[0].is_some() { 0 } else { 1 };
    let mut slice = difference.sites[from].map(|s| describe::slice(modules[from], s)).unwrap_or_default();
    if let Some(s) = difference.sites[from].and_then(|s| modules[from].sites.get(s.index())) {
        // Of several copies of a load, take the one in the slice of B's decision.
        let other = difference.sites[1].and_then(|s| modules[1].sites.get(s.index())).filter(|_| from == 0);
        let near = other.map(|s| describe::loads(modules[1], s)).unwrap_or_default();
        let partner = |load: SiteId| {
            let name = cx.sides.names[0].site(load);
            let own = near.iter().map(|(_, l)| *l).find(|l| cx.sides.names[1].site(*l) == name);
            own.or_else(|| theirs.get(&name).copied())
        };
        for (node, load) in describe::loads(modules[from], s) {
            for n in slice.iter_mut().filter(|n| n.node == node) {
                n.site = if from == 0 { [Some(load), partner(load)] } else { [None, Some(load)] };
            }
        }
    }
    describe::parameters(modules, cx.launches, &mut slice);
    let launch = cx.launches[0];
    let per_cta = launch.warps_per_cta().max(1);
    let warp = c.rank.2;
    let decided = difference.kind == FindingKind::Branch && difference.sites[0].is_some()
        || difference.kind == FindingKind::Value;
    Finding {
        kind: difference.kind,
        site,
        place,
        side,
        values: decided.then_some(difference.values),
        ways: c.ways,
        warp: WarpPlace {
            warp,
            cta: warp / per_cta,
            at: launch.grid.position(warp / per_cta),
            in_cta: warp % per_cta,
        },
        lanes: c.lanes,
        lane: c.lane.0,
        visit: difference.nth.map(|n| n.map(u64::from)),
        position: difference.position,
        trips,
        extra_trips: difference.extra_trips,
        extra_visits: difference.extra_visits,
        masks: (difference.masks != [LaneMask(0); 2]).then(|| difference.masks.map(|lanes| Mask { lanes })),
        hashes: c.hashes,
        roots: c.roots,
        lanes_total: c.lanes_total,
        count: c.count,
        follows: c.follows,
        warps: c.warps,
        warps_total: c.warps_total,
        operands: None,
        slice,
        at: c.at,
    }
}
