//! Analyses of timelines whose answer is known: a warp-specialised kernel is played out, with one thing wrong
//! with it at a time.

use prlx_timeline::{Analysis, Launch, Moment, Region, Span, Timeline, Track, WaitKind, analyze};
use prlx_trace::Picos;
use prlx_trace::mark::Via;

/// A kernel in which a producer copies tiles for a consumer; nanoseconds.
#[derive(Clone, Copy)]
struct Kernel {
    stages: usize,
    trips: usize,
    /// What the producer does before each copy.
    address: u64,
    /// How long a copy flies.
    flight: u64,
    /// What the consumer does with each tile.
    mma: u64,
    /// What it does after them all.
    epilogue: u64,
    /// How far apart copies arrive at least: what memory gives.
    rate: u64,
    /// What a wait takes that need not wait.
    ask: u64,
    ctas: u64,
    /// The CTA whose products take four times as long.
    slow: Option<u64>,
}

const EVEN: Kernel = Kernel {
    stages: 4,
    trips: 16,
    address: 50,
    flight: 400,
    mma: 300,
    epilogue: 200,
    rate: 0,
    ask: 0,
    ctas: 8,
    slow: None,
};

/// How long news of an mbarrier take.
const NEWS: u64 = 5;
const EMPTY: u32 = 0;
const ADDRESS: u32 = 1;
const COPY: u32 = 2;
const FULL: u32 = 3;
const MMA: u32 = 4;
const EPILOGUE: u32 = 5;
const ARRIVE: u32 = 6;

fn play(k: Kernel) -> Timeline {
    let region = |name: &str, via, line| Region {
        name: name.into(),
        via,
        place: Some(("gemm.cu".into(), line)),
        ..Region::default()
    };
    let regions = vec![
        region("mbarrier wait", Via::Mbarrier, 10),
        region("address", Via::Source, 11),
        region("copy", Via::Tma, 12),
        region("mbarrier wait", Via::Mbarrier, 20),
        region("mma", Via::Source, 21),
        region("epilogue", Via::Source, 30),
        region("mbarrier arrive", Via::Mbarrier, 22),
    ];
    let mut out = Timeline {
        regions,
        launches: vec![Launch { kernel: "gemm".into(), ctas: Some(k.ctas), ..Launch::default() }],
        ..Timeline::default()
    };
    for cta in 0..k.ctas {
        let mma = k.mma * if k.slow == Some(cta) { 4 } else { 1 };
        let span = |region, begin: u64, end: u64, word: u32| Span {
            region,
            begin: Picos(begin * 1000),
            end: Picos(end * 1000),
            payload: [word, 0],
            asynchronous: region == COPY,
            ..Span::default()
        };
        let (mut producer, mut consumer) = (Vec::new(), Vec::new());
        let mut arrivals = Vec::new();
        let mut free = vec![0u64; k.stages];
        let (mut p, mut c, mut came) = (0u64, 0u64, 0u64);
        for trip in 0..k.trips {
            let stage = trip % k.stages;
            let (full, empty) = (0x100 + stage as u32 * 8, 0x200 + stage as u32 * 8);
            let room = (p + k.ask).max(free[stage]);
            producer.push(span(EMPTY, p, room, empty));
            producer.push(span(ADDRESS, room, room + k.address, 0));
            p = room + k.address;
            came = (p + k.flight).max(if trip > 0 { came + k.rate } else { 0 });
            let there = (c + k.ask).max(came);
            producer.push(span(COPY, p, there, full));
            consumer.push(span(FULL, c, there, full));
            consumer.push(span(MMA, there, there + mma, 0));
            c = there + mma;
            let arrival = Moment { region: ARRIVE, at: Picos(c * 1000), arrival: true, payload: [empty, 0] };
            arrivals.push(arrival);
            free[stage] = c + NEWS;
        }
        consumer.push(span(EPILOGUE, c, c + k.epilogue, 0));
        for (warp, spans, moments) in [(0, producer, Vec::new()), (4, consumer, arrivals)] {
            let end = spans.iter().filter(|s| !s.asynchronous).map(|s| s.end).max();
            out.tracks.push(Track {
                sm: Some(cta as u32),
                cta,
                warp: Some(warp),
                life: [Some(Picos(0)), end],
                spans,
                moments,
                ..Track::default()
            });
        }
    }
    out
}

/// What is found first, and all of it.
fn first(k: Kernel) -> (&'static str, String, String, Analysis) {
    let a = analyze(&play(k));
    let whole: Picos = a.tails.iter().map(|t| t.time).sum();
    assert_eq!(a.path.iter().map(|p| p.time).sum::<Picos>(), whole, "the path's parts add up");
    let cause = a.causes.first().cloned().unwrap_or_default();
    (cause.kind, cause.who, cause.region, a)
}

#[test]
fn a_late_producer() {
    let (kind, who, region, a) = first(Kernel { address: 900, ..EVEN });
    assert_eq!((kind, who.as_str(), region.as_str()), ("late-producer", "warp 0", "address"));
    // The path is the producer's: a tenth less of its work is nearly a tenth less of all.
    let on = a.path.iter().find(|p| p.name == "address").unwrap();
    assert!(on.share > 0.9 && on.what_if.is_some_and(|w| (9.0..10.0).contains(&w)), "{on:?}");
    let mma = a.path.iter().find(|p| p.name == "mma").unwrap();
    assert!(mma.what_if.is_some_and(|w| w < 1.0), "{mma:?}");
}

#[test]
fn too_few_stages() {
    let (kind, who, _, a) = first(Kernel { stages: 1, ..EVEN });
    assert_eq!((kind, who.as_str()), ("few-stages", "warp 4"));
    let sides: Vec<WaitKind> = a.waits.iter().map(|w| w.side).collect();
    assert!(sides.contains(&WaitKind::Starved) && sides.contains(&WaitKind::Blocked), "{sides:?}");
    // Two stages cover the way, and it is gone.
    assert_ne!(first(Kernel { stages: 3, ..EVEN }).0, "few-stages");
}

#[test]
fn asking_and_filling_are_no_waiting() {
    // A fifth of the consumer's time, and the flight of the first copy: it is held up by its products.
    let (kind, _, region, a) = first(Kernel { ask: 90, flight: 2000, stages: 8, trips: 32, ..EVEN });
    assert_eq!((kind, region.as_str()), ("exposed", "mma"));
    let full = a.waits.iter().find(|w| w.side == WaitKind::Starved).unwrap();
    assert!(full.share > 0.3 && full.held == Picos(0), "{full:?}");
}

#[test]
fn data_that_come_no_faster() {
    for stages in [4, 8] {
        let (kind, who, _, a) = first(Kernel { stages, rate: 900, trips: 40, ..EVEN });
        assert_eq!((kind, who.as_str()), ("slow-data", "warp 4"), "{stages} stages");
        let full = a.waits.iter().find(|w| w.side == WaitKind::Starved).unwrap();
        // The first flies alone; then each waits for those before it.
        assert_eq!(full.flight.map(|[quick, _]| quick), Some(Picos(400_000)));
        assert!(full.flight.is_some_and(|[_, usual]| usual > Picos(2 * 400_000)), "{full:?}");
    }
    // One stage never queues, however far apart copies would come: a second one is of use.
    assert_eq!(first(Kernel { stages: 1, rate: 500, ..EVEN }).0, "few-stages");
}

#[test]
fn a_slow_epilogue() {
    let (kind, who, region, _) = first(Kernel { epilogue: 6000, ..EVEN });
    assert_eq!((kind, who.as_str(), region.as_str()), ("epilogue", "warp 4", "epilogue"));
}

#[test]
fn one_slow_cta() {
    let (kind, who, region, a) = first(Kernel { slow: Some(5), ..EVEN });
    assert_eq!((kind, who.as_str(), region.as_str()), ("slow-cta", "CTA 5", "mma"));
    assert_eq!(a.tails[0].slow_ctas.iter().map(|c| (c.0, c.1)).collect::<Vec<_>>(), [(5, Some(5))]);
}

#[test]
fn nothing_is_wrong() {
    let (kind, _, region, a) = first(EVEN);
    assert_eq!((kind, region.as_str()), ("exposed", "mma"));
    let of = a.loops.iter().find(|l| l.role == "warp 4").unwrap();
    // The consumer's trips follow each other; the first waits for its copy.
    assert_eq!(
        (of.name.as_str(), of.trips, of.interval, of.fill, of.drain),
        ("mma", 128, [Picos(300_000); 2], Picos(450_000), Picos(200_000))
    );
    let mma = a.regions.iter().find(|r| r.name == "mma").unwrap();
    assert_eq!((mma.count, mma.total, mma.visits), (128, Picos(128 * 300_000), Some([Picos(300_000); 4])));
    assert_eq!(
        mma.over.each_ref().map(|o| (o.of, o.count)),
        [("track", 8), ("cta", 8), ("sm", 8), ("launch", 1)]
    );
    let beside = a.overlaps.iter().find(|o| o.region == Some(COPY)).unwrap();
    assert_eq!(beside.name, "copy gemm.cu:12");
    // But for the first, copies fly while products run.
    assert!(beside.alone <= Picos(8 * 400_000), "{beside:?}");
    let full = a.waits.iter().find(|w| w.side == WaitKind::Starved).unwrap();
    assert_eq!((full.late, full.after), (Picos(8 * 50_000), Picos(8 * 400_000)));
    assert_eq!(a.stages.iter().filter(|s| s.side == WaitKind::Starved).count(), 4);
}

#[test]
fn who_is_late_at_a_barrier() {
    let regions = vec![
        Region { name: "barrier".into(), via: Via::Barrier, ..Region::default() },
        Region { name: "work".into(), ..Region::default() },
    ];
    let span = |region, begin, end, trip| Span {
        region,
        begin: Picos(begin),
        end: Picos(end),
        trip,
        ..Span::default()
    };
    // Warp 2 comes last to the first barrier, warp 0 to the second.
    let arrive = [[100, 700], [120, 500], [400, 600]];
    let tracks = arrive.iter().enumerate().map(|(warp, [one, two])| Track {
        warp: Some(warp as u32),
        spans: vec![span(1, 0, *one, 0), span(0, *one, 410, 0), span(1, 410, *two, 1), span(0, *two, 710, 1)],
        ..Track::default()
    });
    let a = analyze(&Timeline { regions, tracks: tracks.collect(), ..Timeline::default() });
    let late = |role: &str| {
        let row = a.waits.iter().find(|w| w.role == role).unwrap();
        row.by.iter().map(|b| (b.role.clone(), b.region.clone(), b.late.0, b.worst.2)).collect::<Vec<_>>()
    };
    let by = |role: &str, late, trip| (role.to_owned(), "work".to_owned(), late, trip);
    assert_eq!(late("warp 0"), [by("warp 2", 300, 0)]);
    assert_eq!(late("warp 1"), [by("warp 2", 280, 0), by("warp 0", 200, 1)]);
    assert_eq!(late("warp 2"), [by("warp 0", 100, 1)]);
    // Back from the end: warp 0's work, and before the first barrier warp 2's.
    let path: Vec<_> = a.path.iter().map(|p| (p.name.as_str(), p.role.as_str(), p.time.0)).collect();
    assert_eq!(path, [("work", "warp 2", 400), ("work", "warp 0", 290), ("barrier", "warp 0", 20)]);
}

#[test]
fn what_is_cut_is_said() {
    let mut t = play(EVEN);
    let spans = |t: &Timeline| t.tracks.iter().map(|t| t.spans.len() as u64).sum::<u64>();
    let all = spans(&t);
    let cut = prlx_timeline::Selection {
        ctas: vec![(2, 4)],
        from: Some(Picos(1_000_000)),
        to: Some(Picos(2_000_000)),
        ..Default::default()
    };
    cut.apply(&mut t);
    assert!(t.tracks.iter().all(|t| (2..4).contains(&t.cta)));
    let said: Vec<_> = t.notes.iter().map(|n| (n.kind, n.count)).collect();
    assert_eq!((said[0], said[1]), (("cut", 12), ("cut", all - spans(&t))));
    // Nothing, and nothing at all, are analysed too.
    analyze(&t);
    analyze(&Timeline::default());
}

#[test]
fn what_takes_longer_is_found_and_chance_is_not() {
    use prlx_timeline::diff;
    use prlx_timeline::{Change, Diff, Pace};
    // CTAs that differ among each other, the same in both.
    let noisy = |k: Kernel, seed: u64| {
        let mut t = play(Kernel { ctas: 32, ..k });
        let mut state = seed;
        for span in t.tracks.iter_mut().flat_map(|t| &mut t.spans).filter(|s| s.region == MMA) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            span.end += Picos((state >> 33) % 40_000);
        }
        t
    };
    let a = noisy(EVEN, 1);
    let same = diff(&a, &a, 0.0);
    assert_eq!(same.verdict, Pace::Same, "{:?}", same.gaps);
    let chance = diff(&a, &noisy(EVEN, 2), 0.01);
    assert_eq!(chance.verdict, Pace::Same, "{chance:?}");
    let slower = diff(&a, &noisy(Kernel { mma: 330, ..EVEN }, 2), 0.01);
    assert_eq!(slower.verdict, Pace::Slower);
    assert_eq!(diff(&noisy(Kernel { mma: 330, ..EVEN }, 2), &a, 0.01).verdict, Pace::Faster);
    // Slower by less than what counts.
    assert_eq!(diff(&a, &noisy(Kernel { mma: 330, ..EVEN }, 2), 0.5).verdict, Pace::Same);
    // Copies take longer too: they are done as their tile is waited for.
    let worst = slower.regions.iter().find(|r| r.name == "mma").unwrap();
    let [low, high] = worst.total.interval.unwrap();
    assert_eq!((worst.name.as_str(), worst.role.as_str(), worst.visits), ("mma", "warp 4", [512; 2]));
    let of = |c: &Change<Picos>| (c.differs, c.interval.unwrap());
    let count = &worst.count;
    assert_eq!((count.differs, count.interval, count.medians), (false, Some([0.0; 2]), [16; 2]));
    assert!(worst.median.differs && of(&worst.median).1[0] > 0.05, "{worst:?}");
    assert!(low < worst.total.change && worst.total.change < high && low > 0.05 && high < 0.15, "{worst:?}");
    assert_eq!(slower, diff(&a, &noisy(Kernel { mma: 330, ..EVEN }, 2), 0.01));
    // Two CTAs tell nothing of chance; lost records may hide anything.
    let few = play(Kernel { ctas: 2, ..EVEN });
    assert_eq!(diff(&few, &few, 0.01).verdict, Pace::Unknown);
    let mut lost = a.clone();
    lost.tracks[0].lost = 1;
    assert_eq!(diff(&lost, &a, 0.01).verdict, Pace::Unknown);
    // A region that only one side has.
    let mut other = a.clone();
    other.regions[EPILOGUE as usize].name = "store".into();
    let differs =
        |d: &Diff| d.regions.iter().filter(|r| r.total.differs).map(|r| r.name.clone()).collect::<Vec<_>>();
    let found = diff(&a, &other, 0.01);
    assert_eq!((found.verdict, differs(&found)), (Pace::Slower, vec!["epilogue".to_owned(), "store".into()]));
    // Of two kernels each has its own pair; one that has none is said.
    let mut two = a.clone();
    two.launches.push(Launch { kernel: "other".into(), ..two.launches[0].clone() });
    let tracks = two.tracks.clone();
    two.tracks.extend(tracks.into_iter().map(|t| Track { launch: 1, ..t }));
    let found = diff(&two, &two, 0.01);
    assert_eq!(
        (found.verdict, found.kernels.len(), found.regions.len()),
        (Pace::Same, 2, 2 * same.regions.len())
    );
    let found = diff(&two, &a, 0.01);
    assert_eq!(found.verdict, Pace::Faster);
    assert!(found.gaps.iter().any(|g| g == "only one side has launches of other"), "{:?}", found.gaps);
}
