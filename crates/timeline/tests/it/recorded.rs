//! Timelines of recordings: a device with clocks of its own on every multiprocessor writes what it did, and
//! the timeline says when.

use prlx_timeline::{Span, Timeline};
use prlx_trace::ids::{Cycles, Nanos};
use prlx_trace::kernel::{Function, Module};
use prlx_trace::launch::Totals;
use prlx_trace::mark::{Anchor, Mark, MarkKind, Marks, Record, Records, Sum, Track, Via};
use prlx_trace::{Dim3, Launch, Picos, Recording, Streams, Trace, WarpId, WarpSize};
use proptest::prelude::*;

use MarkKind::{Arrive, Begin, Complete, End, Group, Instant, Issue, Switch};

const MARKS: &[(&str, MarkKind, Via)] = &[
    ("outer", Begin, Via::Source),
    ("outer", End, Via::Source),
    ("inner", Begin, Via::Source),
    ("inner", End, Via::Source),
    ("moment", Instant, Via::Source),
    ("load", Switch, Via::Source),
    ("mma", Switch, Via::Source),
    ("copy", Issue, Via::Tma),
    ("full", Complete, Via::Tma),
    ("empty", Arrive, Via::Mbarrier),
    ("me", Group, Via::Source),
    ("product", Issue, Via::Wgmma),
    ("product", Complete, Via::Wgmma),
];

fn timeline(trace: &Trace) -> Timeline {
    prlx_timeline::timeline(trace, |_| 2048)
}

fn mark(name: &str, kind: MarkKind) -> u32 {
    MARKS.iter().position(|m| m.0 == name && m.1 == kind).unwrap() as u32
}

/// A recording of one launch, 4 warps a CTA.
fn trace(tracks: Vec<Track>) -> Trace {
    let marks = MARKS.iter().map(|(name, kind, via)| Mark {
        name: (*name).into(),
        kind: *kind,
        via: *via,
        ..Mark::default()
    });
    let function = Function { name: "_Z4gemmPf".into(), kernel: true, ..Function::default() };
    let launch = Launch {
        grid: Dim3 { x: 64, y: 1, z: 1 },
        block: Dim3 { x: 128, y: 1, z: 1 },
        warp_size: WarpSize::W32,
        number: 5,
        totals: Totals { bare: 900, instrumented: 1000, ..Totals::default() },
        ..Launch::default()
    };
    Trace {
        modules: vec![Module { functions: vec![function], marks: marks.collect(), ..Module::default() }],
        launches: vec![Recording { launch, streams: Streams::default() }],
        marks: vec![Marks { launch: 5, tracks, ..Marks::default() }],
        ..Trace::default()
    }
}

/// A track on a multiprocessor whose clock runs a cycle a nanosecond, and began 1000 before the timer.
fn track(warp: u64, steps: &[(&str, MarkKind, u64, u32)]) -> Track {
    let anchor = |nanos| Some(Anchor { cycles: Cycles(nanos + 1000), nanos: Nanos(nanos), took: None });
    let record = |&(name, kind, at, word): &(&str, MarkKind, u64, u32)| Record {
        mark: mark(name, kind),
        clock: (at + 1000) as u32,
        payload: [word, 0],
    };
    let end = steps.last().map_or(0, |s| s.2) + 10;
    let records = Records(steps.iter().map(record).collect());
    Track { warp: WarpId(warp), sm: 3, begin: anchor(0), end: anchor(end), records, ..Track::default() }
}

type Shown<'a> = (&'a str, u64, u64, u32, bool, [bool; 2]);

fn shown(t: &Timeline, track: usize) -> Vec<Shown<'_>> {
    let one = |s: &Span| {
        let name = t.regions[s.region as usize].name.as_str();
        (name, s.begin.0.div_ceil(1000), s.end.0.div_ceil(1000), s.depth, s.asynchronous, s.open)
    };
    t.tracks[track].spans.iter().map(one).collect()
}

fn notes(t: &Timeline) -> Vec<(&str, u64)> {
    t.notes.iter().map(|n| (n.kind, n.count)).collect()
}

const NO: [bool; 2] = [false; 2];

#[test]
fn every_kind_of_marker() {
    let producer = [
        ("me", Group, 0, 7),
        ("copy", Issue, 10, 0x400),
        ("copy", Issue, 12, 0x400),
        ("copy", Issue, 20, 0x408),
        ("load", Switch, 30, 0),
        ("mma", Switch, 40, 0),
        ("moment", Instant, 45, 9),
        ("empty", Arrive, 50, 0x480),
    ];
    let consumer = [
        ("outer", Begin, 5, 1),
        ("inner", Begin, 6, 2),
        ("full", Complete, 60, 0x400),
        ("inner", End, 61, 0),
        ("product", Issue, 70, 1),
        ("outer", End, 80, 0),
        ("product", Complete, 90, 1),
        ("inner", End, 95, 0),
        ("full", Complete, 96, 0x999),
    ];
    let mut first = track(4, &producer);
    first.sums = vec![Sum { mark: 0, count: 3, cycles: Cycles(300) }];
    let t = timeline(&trace(vec![track(6, &consumer), first]));
    assert_eq!(
        shown(&t, 0),
        [
            ("copy", 10, 60, 0, true, NO),
            ("copy", 12, 60, 0, true, NO),
            ("copy", 20, 60, 0, true, [false, true]),
            ("load", 30, 40, 0, false, NO),
            ("mma", 40, 60, 0, false, [false, true]),
        ]
    );
    assert_eq!(
        shown(&t, 1),
        [("outer", 5, 80, 0, false, NO), ("inner", 6, 61, 1, false, NO), ("product", 70, 90, 0, true, NO)]
    );
    let of = &t.tracks[0];
    assert_eq!((of.cta, of.warp, of.group, of.sm), (1, Some(0), Some(7), Some(3)));
    assert_eq!(
        of.moments.iter().map(|m| (m.arrival, m.payload[0])).collect::<Vec<_>>(),
        [(false, 9), (true, 0x480)]
    );
    assert_eq!(of.spans.iter().map(|s| (s.trip, s.cycles.0)).take(2).collect::<Vec<_>>(), [(0, 50), (1, 48)]);
    assert_eq!((of.sums[0].count, of.sums[0].cycles), (3, Cycles(300)));
    assert_eq!(t.tracks[1].spans[1].payload, [2, 0]);
    let l = &t.launches[0];
    assert_eq!((l.number, l.kernel.as_str(), l.took), (5, "gemm", [Some(Nanos(1000)), Some(Nanos(900))]));
    let mut kinds = notes(&t);
    kinds.sort_unstable();
    assert_eq!(kinds, [("open", 1), ("open-work", 1), ("orphan-complete", 1), ("orphan-end", 1)]);
}

/// A CTA copies into the shared memory of another CTA of its cluster, on another SM. The clocks of the two
/// SMs do not compare, so the copy has a time and no cycles.
#[test]
fn a_copy_between_two_clocks_has_no_cycles() {
    const THERE: u32 = 1 << 24 | 0x400;
    let from = track(0, &[("copy", Issue, 10, THERE)]);
    let mut to = track(4, &[("full", Complete, 60, THERE)]);
    to.sm = 4;
    for anchor in [&mut to.begin, &mut to.end].into_iter().flatten() {
        anchor.cycles += Cycles(1_000_000);
    }
    to.records.0.iter_mut().for_each(|r| r.clock += 1_000_000);
    let mut both = trace(vec![from, to]);
    both.launches[0].launch.cluster = Some(Dim3 { x: 2, y: 1, z: 1 });
    let t = timeline(&both);
    assert_eq!(shown(&t, 0), [("copy", 10, 60, 0, true, NO)]);
    assert_eq!(t.tracks[0].spans[0].cycles, Cycles(0));
}

#[test]
fn a_ring_has_the_last_records() {
    let mut ring = track(
        0,
        &[("inner", End, 20, 0), ("outer", End, 30, 0), ("outer", Begin, 40, 0), ("outer", End, 50, 0)],
    );
    (ring.lost, ring.last) = (2, true);
    // The clock's low half turned many times before.
    for anchor in [&mut ring.begin, &mut ring.end].into_iter().flatten() {
        anchor.cycles += Cycles(9 << 32);
    }
    ring.end.as_mut().unwrap().nanos += Nanos(5 << 32);
    ring.end.as_mut().unwrap().cycles += Cycles(5 << 32);
    let t = timeline(&trace(vec![ring]));
    let from = |at: u64| at + (5 << 32);
    let names: Vec<_> = shown(&t, 0).into_iter().map(|s| (s.0, s.3, s.5)).collect();
    assert_eq!(names, [("outer", 0, [true, false]), ("inner", 1, [true, false]), ("outer", 0, NO)]);
    let last = t.tracks[0].spans[2];
    // The axis is as long as the timer says, but for its ticks.
    assert!(last.begin.nanos().0.abs_diff(from(40)) <= 64, "{}", last.begin);
    assert_eq!(notes(&t), [("lost", 2)]);
}

#[test]
fn tracks_without_anchors_are_left_out() {
    let mut lone = track(0, &[("moment", Instant, 5, 0)]);
    (lone.begin, lone.end, lone.sm) = (None, None, 9);
    let other = track(1, &[("moment", Instant, 5, 0)]);
    let t = timeline(&trace(vec![lone, other]));
    assert_eq!((t.tracks.len(), notes(&t)), (1, vec![("no-anchor", 1)]));
}

/// Numbers from a seed.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below.max(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// 132 multiprocessors that began to count at any time, a timer of 32 ns: every span is where it was, but
    /// for what is stated, and as long as it was.
    #[test]
    fn spans_are_where_they_were(seed: u64, mhz in 900.0..2000.0f64, ctas in 132..600u64) {
        let mut state = seed;
        let sms = 132;
        let clocks: Vec<u64> = (0..sms).map(|_| random(&mut state, 1 << 31) << 12).collect();
        let origin = 1 << 50;
        let mut truth = Vec::new();
        let mut tracks = Vec::new();
        let mut free = vec![0.0f64; sms];
        for cta in 0..ctas {
            let sm = (cta as usize * 7) % sms;
            let clock = |nanos: f64| clocks[sm] + (nanos * mhz / 1000.0) as u64;
            // A moment by both clocks: its cycle's first instant.
            let exact = |nanos: f64| (clock(nanos) - clocks[sm]) as f64 * 1000.0 / mhz;
            let anchor = |nanos: f64| {
                let ticks = (origin + exact(nanos) as u64) / 32;
                Anchor { cycles: Cycles(clock(nanos)), nanos: Nanos(ticks * 32), took: None }
            };
            let mut now = free[sm] + random(&mut state, 5000) as f64;
            let begin = anchor(now);
            let mut records = Vec::new();
            for _ in 0..random(&mut state, 9) {
                let mark = 2 * random(&mut state, 2) as u32;
                let times = [now, now + random(&mut state, 90_000) as f64];
                for (i, at) in (0..).zip(times) {
                    records.push(Record { mark: mark + i, clock: clock(at) as u32, payload: [0; 2] });
                }
                truth.push((cta, mark, exact(times[0]), clock(times[1]) - clock(times[0])));
                now = times[1] + 10.0;
            }
            free[sm] = now + 50.0;
            tracks.push(Track {
                warp: WarpId(cta * 4),
                sm: sm as u32,
                begin: Some(begin),
                end: Some(anchor(now)),
                records: Records(records),
                ..Track::default()
            });
        }
        let t = timeline(&trace(tracks));
        prop_assert_eq!(t.axis.tick, Picos(32_000));
        prop_assert_eq!(&t.notes, &[]);
        let spans: Vec<_> = t.tracks.iter().flat_map(|t| t.spans.iter().map(move |s| (t.cta, *s))).collect();
        prop_assert_eq!(spans.len(), truth.len());
        let mut off = Vec::new();
        for ((cta, span), (of, mark, begin, cycles)) in spans.iter().zip(&truth) {
            prop_assert_eq!((cta, span.region, span.cycles), (of, mark / 2, Cycles(*cycles)));
            off.push(span.begin.as_f64() / 1000.0 - begin);
        }
        off.sort_by(f64::total_cmp);
        let [residual, between] = [t.axis.residual, t.axis.between].map(|t| t.as_f64() / 1000.0);
        // Between two: 95 of 100 are within what is stated, and none is far beyond.
        let apart = |skip: usize| off.get(skip).map_or(0.0, |low| off[off.len() - 1 - skip] - low);
        prop_assert!(apart(off.len() / 40) <= 1.5 * between + 0.01, "{:?}, stated {between}", off);
        prop_assert!(apart(0) <= 3.0 * between + 0.01, "{:?}, stated {between}", off);
        prop_assert!(residual <= 64.0 + 0.01 || ctas < 264, "{residual}");
    }
}
