//! How evenly a launch fills the device: waves, idle SMs, slow CTAs and slow SMs.
//!
//! # Limitations
//! SMs that ran no recorded CTA are not seen. Idle time counts the SMs that were seen.

use std::collections::BTreeMap;

use prlx_trace::Picos;

use crate::model::Timeline;
use crate::statistics::{add, median, total};

/// A CTA or multiprocessor is slow when it takes so many times the median.
const SLOW: f64 = 1.3;
/// Slow ones that are listed.
const LISTED: usize = 10;

/// How evenly a launch filled the device.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct LaunchTail {
    /// Number of the launch in its process.
    pub launch: u64,
    /// Time from the first record to the last.
    pub time: Picos,
    /// Number of CTAs with records.
    pub ctas: u64,
    /// Number of SMs on which they ran; 0 if it is not known.
    pub sms: u64,
    /// Maximum number of CTAs that ran on one SM at the same time.
    pub beside: u64,
    /// Number of waves: CTAs divided by the CTAs that all SMs hold.
    pub waves: f64,
    /// Total time in which SMs had no CTA.
    pub idle: Picos,
    /// Time from the end of the first idle SM's last CTA to the end of the launch.
    pub tail: Picos,
    /// Busy time of the busiest SM divided by the mean; 0 if it is not known.
    pub imbalance: f64,
    /// Time of a CTA: median and maximum.
    pub cta: [Picos; 2],
    /// Time for which the launch waits only for slow CTAs.
    pub waited: Picos,
    /// Slow CTAs with number, SM and time; the slowest first.
    pub slow_ctas: Vec<(u64, Option<u32>, Picos)>,
    /// SMs whose CTAs are slow, with their time divided by the median.
    pub slow_sms: Vec<(u32, f64)>,
}

/// CTAs by number: when they began and ended, and where they were.
type Ctas = BTreeMap<u64, ([Picos; 2], Option<u32>)>;

/// One row a launch.
pub(crate) fn tails(timeline: &Timeline) -> Vec<LaunchTail> {
    let mut launches: BTreeMap<usize, Ctas> = BTreeMap::new();
    for t in &timeline.tracks {
        let Some([begin, end]) = t.range() else { continue };
        let ([from, to], _) =
            launches.entry(t.launch).or_default().entry(t.cta).or_insert(([begin, end], t.sm));
        (*from, *to) = ((*from).min(begin), (*to).max(end));
    }
    launches.into_iter().map(|(launch, ctas)| tail(timeline, launch, &ctas)).collect()
}

fn tail(timeline: &Timeline, launch: usize, ctas: &Ctas) -> LaunchTail {
    let begin = ctas.values().map(|c| c.0[0]).min().unwrap_or_default();
    let end = ctas.values().map(|c| c.0[1]).max().unwrap_or_default();
    let length = |range: &[Picos; 2]| range[1] - range[0];
    let middle = median(ctas.values().map(|c| length(&c.0)).collect());
    let slow = |time: Picos| time.as_f64() > middle.as_f64() * SLOW;
    let mut slow_ctas: Vec<(u64, Option<u32>, Picos)> =
        ctas.iter().filter(|(_, c)| slow(length(&c.0))).map(|(n, c)| (*n, c.1, length(&c.0))).collect();
    slow_ctas.sort_by_key(|(n, _, time)| (std::cmp::Reverse(*time), *n));
    // Many slow ones are no exception: then nothing waits for them alone.
    let few = slow_ctas.len() * 10 <= ctas.len() || slow_ctas.len() == 1 && ctas.len() > 2;
    let others = ctas.values().filter(|c| !slow(length(&c.0))).map(|c| c.0[1]).max().unwrap_or(end);
    let mut out = LaunchTail {
        launch: timeline.launches.get(launch).map_or(0, |l| l.number),
        time: end - begin,
        ctas: ctas.len() as u64,
        cta: [middle, ctas.values().map(|c| length(&c.0)).max().unwrap_or_default()],
        waited: if few { end - others } else { Picos(0) },
        ..LaunchTail::default()
    };
    slow_ctas.truncate(LISTED);
    out.slow_ctas = slow_ctas;
    let mut sms: BTreeMap<u32, Vec<[Picos; 2]>> = BTreeMap::new();
    for (range, sm) in ctas.values() {
        if let Some(sm) = sm {
            sms.entry(*sm).or_default().push(*range);
        }
    }
    if sms.is_empty() {
        return out;
    }
    let mut busy = Vec::new();
    let mut first = end;
    for (sm, ranges) in &mut sms {
        ranges.sort_unstable();
        let (mut covered, mut to) = (Picos(0), Picos(0));
        for [a, b] in ranges.iter() {
            add(&mut covered, b.saturating_sub(to.max(*a)));
            to = to.max(*b);
        }
        busy.push(covered);
        first = first.min(to);
        let mut edges: Vec<(Picos, i64)> = ranges.iter().flat_map(|r| [(r[0], 1), (r[1], -1)]).collect();
        edges.sort_unstable();
        let most = edges
            .iter()
            .scan(0, |n, e| {
                *n += e.1;
                Some(*n)
            })
            .max()
            .unwrap_or(0);
        out.beside = out.beside.max(most.unsigned_abs());
        let own = median(ranges.iter().map(length).collect());
        if slow(own) {
            out.slow_sms.push((*sm, own.as_f64() / middle.max(Picos(1)).as_f64()));
        }
    }
    out.slow_sms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    out.slow_sms.truncate(LISTED);
    out.sms = sms.len() as u64;
    out.waves = out.ctas as f64 / (out.sms * out.beside.max(1)) as f64;
    out.idle = total(busy.iter().map(|b| out.time - *b));
    out.tail = end - first;
    let mean = busy.iter().map(|b| b.as_f64()).sum::<f64>() / busy.len() as f64;
    out.imbalance = busy.iter().max().map_or(0.0, |m| m.as_f64() / mean.max(1.0));
    out
}
