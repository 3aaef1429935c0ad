//! Reads any words as a buffer of another profiler, and any bytes as a recording with markers. The result is
//! a timeline or an error, never a panic.

use prlx_legacy::cudaprofiler::{self, Format, Given, read, write};
use prlx_timeline::{Pace, Timeline};
use prlx_trace::Trace;

/// Runs the target on one input. The first byte says whose buffer it is.
pub fn run(data: &[u8]) {
    if let Ok(trace) = Trace::read_cut(data) {
        holds(&prlx_timeline::timeline(&trace, |_| 2048));
    }
    let Some((&first, rest)) = data.split_first() else { return };
    let words: Vec<u64> =
        rest.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default())).collect();
    let format = if first & 1 == 0 { Format::CudaProfiler } else { Format::FlashInfer };
    let given =
        Given { blocks: (first & 2 != 0).then_some(4), groups: (first & 2 != 0).then_some(2), events: None };
    let Ok(made) = read(&words, format, given) else { return };
    let mut timeline = cudaprofiler::to_timeline(&made, &[]);
    holds(&timeline);
    // Only a small grid is written: a buffer has a slot for every lane of it.
    if u64::from(made.blocks) * u64::from(made.groups) < 1 << 10
        && let Ok((again, names)) = cudaprofiler::from_timeline(&mut timeline)
        && let Ok(words) = write(&again)
    {
        let read = read(&words, Format::CudaProfiler, Given::default());
        holds(&cudaprofiler::to_timeline(&read.expect("what was written is read"), &names));
    }
}

/// What every timeline holds.
pub fn holds(timeline: &Timeline) {
    for track in &timeline.tracks {
        assert!(track.spans.windows(2).all(|s| s[0].begin <= s[1].begin));
        assert!(track.spans.iter().all(|s| (s.region as usize) < timeline.regions.len()));
        let mut open = 0u32;
        let walked: Result<(), ()> = track.walk(|_, span| {
            match span {
                Some(span) => {
                    assert_eq!(span.depth, open);
                    open += 1;
                }
                None => open -= 1,
            }
            Ok(())
        });
        assert!(walked.is_ok() && open == 0);
    }
    let found = prlx_timeline::analyze(timeline);
    let whole: u128 = found.tails.iter().map(|t| u128::from(t.time.0)).sum();
    assert!(
        found.path.iter().map(|p| u128::from(p.time.0)).sum::<u128>() <= whole,
        "the path is longer than its launch"
    );
    for gap in found.host.iter().flat_map(|h| &h.gaps) {
        let prlx_timeline::GapCauses { waited, host, recording, launched } = gap.why;
        let parts = [waited, host, recording, launched].map(|part| u128::from(part.0));
        assert_eq!(parts.iter().sum::<u128>(), u128::from(gap.time.0), "{gap:?}");
    }
    // Intervals are drawn many times: what is large would take the time of many inputs.
    if timeline.tracks.iter().map(|t| t.spans.len()).sum::<usize>() < 1 << 8 {
        let pace = prlx_timeline::diff(timeline, timeline, 0.0).verdict;
        assert!(matches!(pace, Pace::Same | Pace::Unknown), "a timeline differs from itself: {pace:?}");
    }
}
