//! The events of lanes: which words belong to this launch, when they were written, and which are missing.

use std::collections::BTreeMap;

use prlx_trace::Nanos;
use prlx_trace::narrow::low32;

use super::buffer::{Buffer, Event, Kind, Lane, Repair, add};
use super::tag::Word;

/// The stride of lanes: the most frequent distance from a lane's first slot to its second. `None` if most
/// words do not fit it.
pub fn stride(found: &BTreeMap<u32, Vec<Word>>) -> Option<u64> {
    let mut votes: BTreeMap<u64, u64> = BTreeMap::new();
    for (lane, words) in found {
        if let [first, second, ..] = &words[..]
            && first.slot == 1 + u64::from(*lane)
        {
            *votes.entry(second.slot - first.slot).or_default() += 1;
        }
    }
    let (&stride, _) = votes.iter().max_by_key(|(stride, n)| (**n, std::cmp::Reverse(**stride)))?;
    let fits = |lane: u32, w: &Word| {
        w.slot > u64::from(lane) && (w.slot - 1 - u64::from(lane)).is_multiple_of(stride)
    };
    let (mut fit, mut all) = (0, 0);
    for (lane, words) in found {
        fit += words.iter().filter(|w| fits(*lane, w)).count();
        all += words.len();
    }
    (fit * 2 > all).then_some(stride)
}

/// Where the words of a lane may lie.
pub struct Places {
    /// Slots from one word of a lane to its next; `None` if that is not known.
    pub stride: Option<u64>,
    /// Number of slots of the buffer.
    pub slots: u64,
    /// Whether lanes write a last word when they end.
    pub finalizes: bool,
}

/// The events of one lane. Times lack a multiple of 2^32 ns, which [`align`] adds.
pub fn lane(number: u32, words: Vec<Word>, places: &Places, repairs: &mut BTreeMap<Repair, u64>) -> Lane {
    let mut lane = Lane { number, ..Lane::default() };
    let mut now: Option<u64> = None;
    let mut next = 1 + u64::from(number);
    let mut last = 0;
    for w in words {
        if lane.end.is_some() {
            add(repairs, Repair::Stale, 1);
            continue;
        }
        // Later by as little as can be; where that is more than half a turn after going back, it is older.
        let since = now.map_or(0, |n| w.raw.wrapping_sub(low32(n)));
        let back = now.is_some_and(|n| w.raw < low32(n));
        if back && since > u32::MAX / 2 {
            add(repairs, Repair::Stale, 1);
            continue;
        }
        if let Some(stride) = places.stride.filter(|_| w.slot > next) {
            let holes = (w.slot - next) / stride;
            // The one begin whose word is 0: of lane 0, event 0, at 0 of the timer's low half.
            let zero = number == 0 && holes == 1 && (w.kind != 0 || w.id != 0) && (back || now.is_none());
            if zero {
                let nanos = Nanos(now.map_or(0, |n| ((n >> 32) + 1) << 32));
                lane.events.push(Event { nanos, id: 0, kind: Kind::Begin });
                add(repairs, Repair::ZeroWord, 1);
            } else {
                lane.lost += holes;
                add(repairs, Repair::Hole, holes);
            }
        }
        add(repairs, Repair::Wrap, back.into());
        let nanos = now.map_or(w.raw.into(), |n| n + u64::from(since));
        now = Some(nanos);
        let nanos = Nanos(nanos);
        last = w.slot;
        next = places.stride.map_or(0, |s| w.slot + s);
        lane.sm = lane.sm.or(w.sm);
        let kind = match w.kind {
            0 => Kind::Begin,
            1 => Kind::End,
            2 => Kind::Instant,
            _ => {
                lane.end = Some(nanos);
                continue;
            }
        };
        lane.events.push(Event { nanos, id: w.id, kind });
    }
    if lane.end.is_none() && last > 0 {
        let over = places.stride.is_some_and(|s| last + s >= places.slots);
        if over {
            lane.lost += 1;
            add(repairs, Repair::Truncated, 1);
        } else if places.finalizes {
            add(repairs, Repair::Unfinished, 1);
        }
    }
    lane
}

/// Adds a wrap of the timer to lanes that began after it, so that all lanes begin within the shortest time.
pub fn align(buffer: &mut Buffer) {
    let begin = |l: &Lane| l.events.first().map_or(l.end, |e| Some(e.nanos)).unwrap_or_default();
    let mut begins: Vec<Nanos> = buffer.lanes.iter().map(begin).collect();
    begins.sort_unstable();
    begins.dedup();
    let around =
        begins.first().zip(begins.last()).map_or(Nanos(0), |(first, last)| Nanos(1 << 32) + *first - *last);
    let gap = begins
        .iter()
        .zip(begins.iter().skip(1))
        .map(|(a, b)| (*b - *a, *b))
        .max_by_key(|(gap, at)| (*gap, std::cmp::Reverse(*at)));
    let Some((_, cut)) = gap.filter(|(gap, _)| *gap > around) else { return };
    let mut turned = 0;
    for lane in buffer.lanes.iter_mut().filter(|l| begin(l) < cut) {
        turned += 1;
        lane.events
            .iter_mut()
            .map(|e| &mut e.nanos)
            .chain(&mut lane.end)
            .for_each(|nanos| *nanos += Nanos(1 << 32));
    }
    add(&mut buffer.repairs, Repair::Wrap, turned);
}
