//! How long each region runs at the same time as other work of its CTA, and how long alone.
//!
//! A track is in its innermost region; asynchronous work runs beside it. Waits do not count as work.
//!
//! # Invariants
//! `alone` is part of `time`. Both sum over the lifetimes of all CTAs.

use std::collections::{BTreeMap, HashMap};

use prlx_trace::Picos;
use prlx_trace::mark::Via;

use crate::analyze::segments::segments;
use crate::analyze::waits::is_wait;
use crate::model::{Region, Timeline};
use crate::statistics::add;

/// Time in a region, or in a kind of regions, and how much of it overlaps with others.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Overlap {
    /// Name of the region, or `tensor work`, `asynchronous work`, `nothing`.
    pub name: String,
    /// Index in [`Timeline::regions`]; `None` for a kind of regions.
    pub region: Option<u32>,
    /// Time in which a CTA is in the region, summed over the CTAs.
    pub time: Picos,
    /// The part of it in which the CTA is in no other region.
    pub alone: Picos,
}

/// Whether a region is work of tensor cores.
pub(crate) fn is_tensor(region: &Region) -> bool {
    let name = region.name.to_ascii_lowercase();
    region.via == Via::Wgmma || ["mma", "gemm", "tensor", "product"].iter().any(|w| name.contains(w))
}

/// What is counted together, after the regions: tensor work, and asynchronous work.
const KINDS: [&str; 2] = ["tensor work", "asynchronous work"];

/// All rows; the most alone first.
pub(crate) fn overlaps(timeline: &Timeline) -> Vec<Overlap> {
    let regions = timeline.regions.len();
    let wait: Vec<bool> = (0..regions).map(|r| is_wait(timeline, r as u32)).collect();
    let tensor: Vec<bool> = timeline.regions.iter().map(is_tensor).collect();
    let mut ctas: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for (i, t) in timeline.tracks.iter().enumerate() {
        ctas.entry((t.launch, t.cta)).or_default().push(i);
    }
    let mut rows = vec![[Picos(0); 2]; regions + KINDS.len()];
    let mut idle = Picos(0);
    for tracks in ctas.values() {
        // When, whether something begins, what: the region, and whether it is asynchronous.
        let mut edges: Vec<(Picos, bool, u32, bool)> = Vec::new();
        let mut add = |begin: Picos, end: Picos, region: u32, asynchronous: bool| {
            if end > begin && !wait[region as usize] {
                edges.extend([(begin, true, region, asynchronous), (end, false, region, asynchronous)]);
            }
        };
        let mut range = [Picos::MAX, Picos(0)];
        for t in tracks.iter().map(|t| &timeline.tracks[*t]) {
            for s in segments(t) {
                range = [range[0].min(s.begin), range[1].max(s.end)];
                if let Some(span) = s.span {
                    add(s.begin, s.end, t.spans[span as usize].region, false);
                }
            }
            t.spans.iter().filter(|s| s.asynchronous).for_each(|s| add(s.begin, s.end, s.region, true));
        }
        edges.sort_unstable();
        let mut active: HashMap<(u32, bool), u64> = HashMap::new();
        let mut now = range[0];
        for (at, begins, region, asynchronous) in edges.into_iter().chain([(range[1], true, u32::MAX, false)])
        {
            let step = at.saturating_sub(now);
            now = now.max(at);
            if step > Picos(0) {
                count(&active, &tensor, step, &mut rows, &mut idle);
            }
            let n = active.entry((region, asynchronous)).or_default();
            *n = if begins { *n + 1 } else { n.saturating_sub(1) };
            if *n == 0 {
                active.remove(&(region, asynchronous));
            }
        }
    }
    let mut out: Vec<Overlap> = rows
        .into_iter()
        .enumerate()
        .filter(|(_, [time, _])| *time > Picos(0))
        .map(|(i, [time, alone])| match timeline.regions.get(i) {
            Some(region) => Overlap { name: region.title(), region: Some(i as u32), time, alone },
            None => Overlap { name: KINDS[i - regions].into(), region: None, time, alone },
        })
        .collect();
    out.push(Overlap { name: "nothing".into(), region: None, time: idle, alone: idle });
    out.sort_by(|a, b| (b.alone, b.time, &a.name).cmp(&(a.alone, a.time, &b.name)));
    out
}

/// Counts a time in which the same things run.
fn count(
    active: &HashMap<(u32, bool), u64>,
    tensor: &[bool],
    step: Picos,
    rows: &mut [[Picos; 2]],
    idle: &mut Picos,
) {
    let mut one: Option<u32> = None;
    let mut several = false;
    let mut kinds = [[false; 2]; KINDS.len()];
    for (region, asynchronous) in active.keys() {
        several |= one.is_some_and(|o| o != *region);
        one = Some(*region);
        let is = [tensor[*region as usize], *asynchronous];
        kinds.iter_mut().zip(is).for_each(|(kind, is)| kind[usize::from(!is)] = true);
        let (first, row) = (active.contains_key(&(*region, false)), &mut rows[*region as usize]);
        // A region that is both is one.
        if !(*asynchronous && first) {
            add(&mut row[0], step);
        }
    }
    match one {
        None => add(idle, step),
        Some(region) if !several => add(&mut rows[region as usize][1], step),
        Some(_) => {}
    }
    let at = rows.len() - KINDS.len();
    for (row, [is, others]) in rows[at..].iter_mut().zip(kinds) {
        add(&mut row[0], if is { step } else { Picos(0) });
        add(&mut row[1], if is && !others { step } else { Picos(0) });
    }
}
