//! How long regions take: per visit, and in total per track, CTA, SM and launch.
//!
//! # Invariants
//! Every region and role with visits has one row; the longest comes first. `own` is the time of all visits
//! outside nested regions. Asynchronous work counts as its own time entirely.

use std::collections::{BTreeMap, HashMap};

use prlx_trace::Picos;

use crate::model::{Role, Timeline};
use crate::statistics::{add, percentile};

/// The visits of a region by the tracks of one role.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct RegionTimes {
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Name of the region.
    pub name: String,
    /// Role of the tracks.
    pub role: String,
    /// Number of visits, including those that were summed up.
    pub count: u64,
    /// Time of all visits together.
    pub total: Picos,
    /// The part of it outside nested regions.
    pub own: Picos,
    /// Minimum, median, 95th percentile and maximum of a visit. `None` if visits were only summed up.
    pub visits: Option<[Picos; 4]>,
    /// The total divided by track, CTA, SM and launch.
    pub over: [GroupTimes; 4],
}

/// Totals of a region's visits by track, CTA, multiprocessor or launch.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct GroupTimes {
    /// What the groups are: `track`, `cta`, `sm` or `launch`.
    pub of: &'static str,
    /// Number of groups.
    pub count: u64,
    /// Median of the totals of the groups.
    pub median: Picos,
    /// Maximum of the totals.
    pub max: Picos,
    /// Number of the group with the maximum.
    pub worst: u64,
}

#[derive(Default)]
struct Gathered {
    visits: Vec<Picos>,
    count: u64,
    total: Picos,
    own: Picos,
    over: [BTreeMap<(u64, u64), Picos>; 4],
}

/// One row per region and role; the largest total first.
pub fn times(timeline: &Timeline) -> Vec<RegionTimes> {
    let mut all: HashMap<(u32, Role), Gathered> = HashMap::new();
    for (number, track) in timeline.tracks.iter().enumerate() {
        let mut mine: HashMap<u32, [Picos; 2]> = HashMap::new();
        // Of each depth: the region that is open there, and what lay in it so far.
        let mut open: Vec<(u32, Picos, Picos)> = Vec::new();
        for span in &track.spans {
            let of = all.entry((span.region, track.role())).or_default();
            of.visits.push(span.time());
            let sums = mine.entry(span.region).or_default();
            add(&mut sums[0], span.time());
            if span.asynchronous {
                add(&mut sums[1], span.time());
                continue;
            }
            while open.len() > span.depth as usize {
                close(&mut open, &mut mine);
            }
            if let Some((.., inside)) = open.last_mut() {
                add(inside, span.time());
            }
            open.push((span.region, span.time(), Picos(0)));
        }
        while !open.is_empty() {
            close(&mut open, &mut mine);
        }
        for sum in &track.sums {
            add(&mut all.entry((sum.region, track.role())).or_default().count, sum.count);
            let sums = mine.entry(sum.region).or_default();
            add(&mut sums[0], sum.time);
            add(&mut sums[1], sum.time);
        }
        let launch = track.launch as u64;
        for (region, [total, own]) in mine {
            let of = all.entry((region, track.role())).or_default();
            add(&mut of.total, total);
            add(&mut of.own, own);
            let keys = [
                Some((launch, number as u64)),
                Some((launch, track.cta)),
                track.sm.map(|sm| (0, sm.into())),
                Some((launch, launch)),
            ];
            for (over, key) in of.over.iter_mut().zip(keys) {
                if let Some(key) = key {
                    add(over.entry(key).or_default(), total);
                }
            }
        }
    }
    let mut rows: Vec<RegionTimes> =
        all.into_iter().map(|((region, role), of)| row(timeline, region, role, of)).collect();
    rows.sort_by(|a, b| (b.total, a.region, &a.role).cmp(&(a.total, b.region, &b.role)));
    rows
}

fn close(open: &mut Vec<(u32, Picos, Picos)>, mine: &mut HashMap<u32, [Picos; 2]>) {
    if let Some((region, time, inside)) = open.pop() {
        add(&mut mine.entry(region).or_default()[1], time.saturating_sub(inside));
    }
}

fn row(timeline: &Timeline, region: u32, role: Role, mut of: Gathered) -> RegionTimes {
    of.visits.sort_unstable();
    let over = ["track", "cta", "sm", "launch"].into_iter().zip(of.over).map(|(kind, totals)| {
        let mut sorted: Vec<Picos> = totals.values().copied().collect();
        sorted.sort_unstable();
        let worst =
            totals.iter().max_by_key(|((launch, n), total)| (**total, std::cmp::Reverse((*launch, *n))));
        GroupTimes {
            of: kind,
            count: sorted.len() as u64,
            median: percentile(&sorted, 50).unwrap_or_default(),
            max: sorted.last().copied().unwrap_or_default(),
            worst: worst.map_or(0, |((_, n), _)| *n),
        }
    });
    let over: Vec<GroupTimes> = over.collect();
    let visits = || Some([0, 50, 95, 100].map(|p| percentile(&of.visits, p)).map(Option::unwrap_or_default));
    RegionTimes {
        region,
        name: timeline.region_title(region),
        role: role.to_string(),
        count: of.count.saturating_add(of.visits.len() as u64),
        total: of.total,
        own: of.own,
        visits: if of.visits.is_empty() { None } else { visits() },
        over: over.try_into().unwrap_or_default(),
    }
}
