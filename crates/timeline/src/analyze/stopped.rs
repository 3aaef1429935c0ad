//! Where tracks stopped in a launch that hung or faulted.
//!
//! Tracks of one launch and role that stopped in the same regions, after the same last marker, form one row.
//!
//! # Invariants
//! Every track of such a launch that began and did not end is in exactly one row.
//!
//! # Limitations
//! What a warp did after its last marker is not known.

use std::collections::BTreeMap;

use prlx_trace::Picos;

use crate::model::{Timeline, Track};

/// Tracks of one role that stopped in the same regions after the same marker.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct StoppedTracks {
    /// The launch's number.
    pub launch: u64,
    /// What they do in their CTA, as users call it.
    pub role: String,
    /// The regions that were open, the outermost first: names.
    pub inside: Vec<String>,
    /// Words of the innermost one's begin, of the first of the tracks.
    pub words: [u32; 2],
    /// Whether the others have the same words.
    pub same_words: bool,
    /// The last marker's name; none: they came to none, or none is left.
    pub last: Option<String>,
    /// Where the innermost region, or else the last marker, stands in the source: file, line.
    pub place: Option<(String, u32)>,
    /// How many tracks.
    pub tracks: u64,
    /// The first of them: CTA, and warp in it if known.
    pub first: (u64, Option<u32>),
    /// Their last markers lie so long before the last of all: the shortest and the longest time.
    pub ago: [Picos; 2],
}

/// What a track was in: the numbers of regions, and the last one passed.
type Where = (Vec<u32>, Option<u32>);

/// Where tracks stopped, the longest ago first.
pub(crate) fn stops(timeline: &Timeline) -> Vec<StoppedTracks> {
    let stopped = |t: &&Track| {
        let launch = timeline.launches.get(t.launch).is_some_and(|l| l.stopped);
        let inside = || t.spans.iter().any(|s| s.open[1] && !s.asynchronous);
        launch && t.life[0].is_some() && (t.life[1].is_none() || inside())
    };
    let latest = timeline.tracks.iter().filter_map(|t| last(t).map(|(at, _)| at)).max().unwrap_or_default();
    let mut all: BTreeMap<(usize, crate::model::Role, Where), StoppedTracks> = BTreeMap::new();
    for track in timeline.tracks.iter().filter(stopped) {
        let mut open: Vec<_> = track.spans.iter().filter(|s| s.open[1] && !s.asynchronous).collect();
        open.sort_by_key(|s| s.depth);
        let (at, marker) =
            last(track).map_or((track.life[0].unwrap_or_default(), None), |(at, region)| (at, Some(region)));
        let inside: Vec<u32> = open.iter().map(|s| s.region).collect();
        let words = open.last().map(|s| s.payload).unwrap_or_default();
        let ago = latest.saturating_sub(at);
        let region = |r: u32| &timeline.regions[r as usize];
        let first = || StoppedTracks {
            launch: timeline.launches.get(track.launch).map_or(0, |l| l.number),
            role: track.role().to_string(),
            inside: inside.iter().map(|r| region(*r).name.clone()).collect(),
            words,
            same_words: true,
            last: marker.map(|r| region(r).name.clone()),
            place: inside.last().copied().or(marker).and_then(|r| region(r).place.clone()),
            tracks: 0,
            first: (track.cta, track.warp),
            ago: [Picos::MAX, Picos(0)],
        };
        let stop = all.entry((track.launch, track.role(), (inside.clone(), marker))).or_insert_with(first);
        stop.tracks += 1;
        stop.same_words &= stop.words == words;
        stop.ago = [stop.ago[0].min(ago), stop.ago[1].max(ago)];
    }
    let mut stops: Vec<StoppedTracks> = all.into_values().collect();
    stops.sort_by_key(|s| (s.launch, std::cmp::Reverse(s.ago[1])));
    stops
}

/// The last that a track recorded: when, and of which region.
fn last(track: &Track) -> Option<(Picos, u32)> {
    let begins = track.spans.iter().filter(|s| !s.open[0]).map(|s| (s.begin, s.region));
    let ends = track.spans.iter().filter(|s| !s.open[1]).map(|s| (s.end, s.region));
    let moments = track.moments.iter().map(|m| (m.at, m.region));
    begins.chain(ends).chain(moments).max_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Launch, Region, Span};

    fn track(warp: u32, end: Option<u64>, spans: Vec<Span>) -> Track {
        Track {
            warp: Some(warp),
            group: Some(3),
            life: [Some(5), end].map(|at| at.map(Picos)),
            spans,
            ..Track::default()
        }
    }

    #[test]
    fn what_never_ended_is_told_by_what_it_was_in() {
        let region =
            |name: &str| Region { name: name.into(), place: Some(("a.cu".into(), 7)), ..Region::default() };
        let span = |region, begin, end, depth, open, word| Span {
            region,
            begin: Picos(begin),
            end: Picos(end),
            depth,
            open: [false, open],
            payload: [word, 0],
            ..Span::default()
        };
        let stuck = |word| {
            vec![span(0, 10, 90, 0, true, 0), span(1, 20, 30, 1, false, 0), span(1, 40, 90, 1, true, word)]
        };
        let timeline = Timeline {
            launches: vec![Launch { number: 4, stopped: true, ..Launch::default() }],
            regions: vec![region("loop"), region("wait")],
            tracks: vec![
                track(0, Some(90), vec![span(0, 10, 90, 0, false, 0)]),
                track(1, None, stuck(8)),
                track(2, None, stuck(9)),
                track(3, None, vec![]),
            ],
            ..Timeline::default()
        };
        let stops = stops(&timeline);
        let said: Vec<_> = stops
            .iter()
            .map(|s| (s.inside.len(), s.last.as_deref(), s.tracks, s.ago.map(|ago| ago.0)))
            .collect();
        assert_eq!(said, [(0, None, 1, [85, 85]), (2, Some("wait"), 2, [50, 50])]);
        let StoppedTracks { launch, role, words, same_words, place, first, .. } = &stops[1];
        assert_eq!(
            (*launch, role.as_str(), *words, *same_words, *first),
            (4, "group 3", [8, 0], false, (0, Some(1)))
        );
        assert_eq!(place.as_ref().map(|(file, line)| (file.as_str(), *line)), Some(("a.cu", 7)));
    }
}
