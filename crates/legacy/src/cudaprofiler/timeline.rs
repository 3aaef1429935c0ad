//! Converts buffers of other profilers to timelines and back.
//!
//! # Invariants
//! Repairs of a buffer appear in the notes. A timeline in whole nanoseconds whose regions do not overlap
//! themselves survives the round trip.
//!
//! # Limitations
//! Buffers have no payloads, no cycles and no names. Asynchronous work keeps only its begin and end.

use super::buffer::{Buffer, Event, Kind, Lane};

use prlx_timeline::read::pairing::{Pairing, PairingFaults};
use prlx_timeline::{Axis, Launch, Moment, Region, Timeline, Track};
use prlx_trace::{Cycles, Nanos, Picos};

/// Converts a buffer to a timeline. Events without a name are called by their number.
pub fn to_timeline(buffer: &Buffer, names: &[String]) -> Timeline {
    let events = || buffer.lanes.iter().flat_map(|l| &l.events);
    let most = events().map(|e| usize::from(e.id) + 1).max().unwrap_or(0).max(names.len());
    let name = |id: usize| names.get(id).cloned().unwrap_or_else(|| format!("event {id}"));
    let mut out = Timeline {
        regions: (0..most).map(|id| Region { name: name(id), ..Region::default() }).collect(),
        launches: vec![Launch { ctas: Some(buffer.blocks.into()), ..Launch::default() }],
        ..Timeline::default()
    };
    for (repair, count) in &buffer.repairs {
        let (kind, text) = repair.words();
        out.note(kind, *count, text);
    }
    let first =
        events().map(|e| e.nanos).chain(buffer.lanes.iter().filter_map(|l| l.end)).min().unwrap_or_default();
    let tick: Picos = prlx_timeline::clock::tick(events().map(|e| e.nanos - first)).into();
    out.axis = Axis { single: tick, residual: tick, between: tick, tick, ..Axis::default() };
    let mut all = PairingFaults::default();
    for lane in &buffer.lanes {
        let (track, found) = track(lane, buffer.groups, first);
        all += found;
        out.tracks.push(track);
    }
    all.notes(&mut out);
    out.settle();
    out
}

fn track(lane: &Lane, groups: u32, first: Nanos) -> (Track, PairingFaults) {
    let at = |nanos: Nanos| Picos::from(nanos - first);
    let mut spans = Pairing::default();
    let mut moments = Vec::new();
    for e in &lane.events {
        let (region, at) = (u32::from(e.id), at(e.nanos));
        match e.kind {
            Kind::Begin => spans.begin(region, at, Cycles(0), [0; 2]),
            Kind::End => spans.end(|r| r == region, region, at, Cycles(0)),
            Kind::Instant => moments.push(Moment { region, at, ..Moment::default() }),
        }
    }
    let begin = lane.events.first().map(|e| e.nanos).or(lane.end).map(at);
    let end = lane.end.or(lane.events.last().map(|e| e.nanos)).map(at);
    let (spans, found) = spans.finish([begin, end].map(Option::unwrap_or_default), false);
    let track = Track {
        sm: lane.sm,
        cta: u64::from(lane.number / groups),
        group: Some(lane.number % groups),
        life: [begin, lane.end.map(at)],
        spans,
        moments,
        lost: lane.lost,
        ..Track::default()
    };
    (track, found)
}

/// Converts a timeline to a buffer in TVM's format, and returns the names of its events. Notes are added to
/// the timeline for what the buffer cannot hold.
///
/// # Errors
/// If the timeline has several launches, or more CTAs, groups or regions than the format can number.
pub fn from_timeline(timeline: &mut Timeline) -> Result<(Buffer, Vec<String>), String> {
    if timeline.launches.len() > 1 {
        return Err(format!("a buffer holds one launch, and there are {}", timeline.launches.len()));
    }
    let known = timeline.tracks.iter().all(|t| t.group.is_some());
    let mut lanes: Vec<(u64, u64, &Track)> = Vec::new();
    for track in &timeline.tracks {
        let before = lanes.iter().rev().take_while(|(cta, ..)| *cta == track.cta).count() as u64;
        lanes.push((track.cta, track.group.filter(|_| known).map_or(before, u64::from), track));
    }
    let groups = lanes.iter().map(|(_, group, _)| group + 1).max().unwrap_or(1);
    let blocks = lanes.iter().map(|(cta, ..)| cta + 1).max().unwrap_or(1);
    let blocks = timeline.launches.first().and_then(|l| l.ctas).unwrap_or(0).max(blocks);
    let small =
        |n: u64, what: &str| u32::try_from(n).map_err(|_| format!("{n} {what} have no room in a buffer"));
    let mut buffer =
        Buffer { blocks: small(blocks, "CTAs")?, groups: small(groups, "groups")?, ..Buffer::default() };
    // Time 0 of lane 0's first event would be an empty slot.
    let shift = timeline.axis.tick.max(Nanos(1).into());
    let nanos = |at: Picos| (at + shift).nanos();
    let (mut alike, mut payloads) = (0, 0);
    for (cta, group, track) in lanes {
        let mut edges: Vec<(Picos, u32, Kind)> = Vec::new();
        let mut open = Vec::new();
        let walked: Result<(), std::convert::Infallible> = track.walk(|at, span| {
            match span {
                Some(span) => {
                    open.push(span.region);
                    edges.push((at, span.region, Kind::Begin));
                }
                None => edges.push((at, open.pop().unwrap_or_default(), Kind::End)),
            }
            Ok(())
        });
        let Ok(()) = walked;
        for span in track.spans.iter().filter(|s| s.asynchronous) {
            edges.push((span.begin, span.region, Kind::Begin));
            edges.push((span.end, span.region, Kind::End));
        }
        edges.extend(track.moments.iter().map(|m| (m.at, m.region, Kind::Instant)));
        edges.sort_by_key(|e| e.0);
        alike += overlaps(track);
        payloads += track.spans.iter().filter(|s| s.payload != [0; 2]).count() as u64;
        let events: Result<Vec<Event>, String> = edges
            .into_iter()
            .map(|(at, region, kind)| {
                let id =
                    u16::try_from(region).map_err(|_| format!("region {region} has no room in a buffer"))?;
                Ok(Event { nanos: nanos(at), id, kind })
            })
            .collect();
        let number = small(cta * groups + group, "lanes")?;
        let end = track.range().map(|[_, end]| nanos(end));
        buffer.lanes.push(Lane { number, events: events?, end, ..Lane::default() });
    }
    buffer.lanes.sort_by_key(|l| l.number);
    let mut pairs = buffer.lanes.iter().zip(buffer.lanes.iter().skip(1));
    if let Some((lane, _)) = pairs.find(|(lane, next)| lane.number == next.number) {
        let number = u64::from(lane.number);
        return Err(format!(
            "two tracks are of group {} of CTA {}: a buffer tells them not apart",
            number % groups,
            number / groups
        ));
    }
    let names = timeline.regions.iter().map(|r| r.name.clone()).collect();
    timeline.note(
        "alike",
        alike,
        "spans overlap others of their region: a buffer tells their ends not apart",
    );
    timeline.note("payload", payloads, "spans have words, for which a buffer has no room");
    Ok((buffer, names))
}

/// Number of asynchronous spans that begin while another span of their region runs.
fn overlaps(track: &Track) -> u64 {
    let mut ends: std::collections::HashMap<u32, Picos> = std::collections::HashMap::new();
    let mut found = 0;
    for span in &track.spans {
        let end = ends.entry(span.region).or_default();
        found += u64::from(span.asynchronous && span.begin < *end);
        *end = span.end.max(*end);
    }
    found
}
