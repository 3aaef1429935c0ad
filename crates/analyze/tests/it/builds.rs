//! Two builds of one toy source: equal executions are equal, and a difference is found at its place in the
//! source.

use crate::toy::{Choose, Hashed, Lived, S, live, module, stream, trace};
use prlx_analyze::report::{Finding, Report, Uncompared, WhyUncompared};
use prlx_analyze::view::PathViewOptions;
use prlx_analyze::{DiffOptions, FindingKind, Verdict, attach_operands, diff, operand_window};
use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{LocId, SiteId, Streams, Trace, WarpId, WarpSize};

/// What the source does at each line, by the trips of the loops around it, outermost first. Two builds that
/// make the same decision get the same answer, whatever their sites and loops are.
struct Source<'a> {
    hashed: Hashed,
    /// The source line of each site.
    lines: &'a [u32],
    /// The source's trips, from a site and the trips of the build's own loops.
    trips: &'a dyn Fn(u32, &[u64]) -> Vec<u64>,
    /// The number of trips of each of the build's loops, by the site of its decision and the trips around it.
    shape: &'a dyn Fn(u32, &[u64]) -> u64,
}

impl Choose for Source<'_> {
    fn decide(&mut self, site: SiteId, trips: &[u64]) -> bool {
        let line = self.lines[site.index()];
        self.hashed.decide(SiteId(line), &(self.trips)(site.0, trips))
    }
    fn trips(&mut self, site: SiteId, trips: &[u64]) -> Vec<u64> {
        (0..(self.shape)(site.0, trips)).collect()
    }
}

/// One build: its code, and the source line of each site.
struct Build {
    code: Vec<Vec<S>>,
    lines: Vec<u32>,
}

impl Build {
    fn new(code: Vec<S>, lines: &[u32]) -> Build {
        Build { code: vec![code], lines: lines.to_vec() }
    }
    fn module(&self) -> Module {
        let mut m = module(&self.code);
        assert_eq!(m.sites.len(), self.lines.len());
        m.locs.iter_mut().zip(&self.lines).for_each(|(l, n)| l.line = *n);
        m.files[0].text = None;
        for i in 0..m.sites.len() {
            let same = |j: &usize| self.lines[*j] == self.lines[i] && m.sites[*j].class == m.sites[i].class;
            m.sites[i].nth = (0..i).filter(same).count() as u32;
        }
        m
    }
    /// Records one warp whose lanes do what the source does, except for `edit`.
    fn run(
        &self,
        trips: &dyn Fn(u32, &[u64]) -> Vec<u64>,
        shape: &dyn Fn(u32, &[u64]) -> u64,
        edit: impl Fn(u64, &mut Hashed),
    ) -> Trace {
        let lanes: Vec<Lived> = (0..32)
            .map(|l| {
                let mut hashed = Hashed::new(l, &[]);
                edit(l, &mut hashed);
                live(&self.code, l, &mut Source { hashed, lines: &self.lines, trips, shape })
            })
            .collect();
        trace(self.module(), vec![stream(0, &lanes)])
    }
}

fn compare(a: &Trace, b: &Trace) -> Report {
    diff(a, b, &DiffOptions::default()).unwrap()
}

fn findings(r: &Report) -> &[Finding] {
    &r.launches[0].findings
}

/// `for … { if (line 1) select (line 2) }` (line 3), store (line 4).
fn body() -> S {
    S::If(vec![S::Select], vec![])
}

fn rolled() -> Build {
    Build::new(vec![S::Loop(vec![body()]), S::Store], &[1, 2, 3, 4])
}

fn unrolled() -> Build {
    let code = vec![S::Loop(vec![body(), body(), body(), body()]), S::Loop(vec![body()]), S::Store];
    Build::new(code, &[1, 2, 1, 2, 1, 2, 1, 2, 3, 1, 2, 3, 4])
}

fn run_rolled(n: u64, edit: impl Fn(u64, &mut Hashed)) -> Trace {
    rolled().run(&|_, t| t.to_vec(), &|_, _| n, edit)
}

/// A loop unrolled by four, three trips, then a remainder loop for the rest of `n`.
fn run_unrolled(n: u64, edit: impl Fn(u64, &mut Hashed)) -> Trace {
    let trips = |site: u32, t: &[u64]| match (site, t) {
        (0..=7, [t]) => vec![t * 4 + u64::from(site / 2)],
        (9 | 10, [t]) => vec![12 + t],
        _ => t.to_vec(),
    };
    unrolled().run(&trips, &|site, _| if site == 8 { 3 } else { n - 12 }, edit)
}

#[test]
fn an_unrolled_loop_is_the_same_loop() {
    let (a, b) = (run_rolled(14, |_, _| {}), run_unrolled(14, |_, _| {}));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
        assert_eq!(r.launches[0].coverage.lanes.compared, 32);
        let stays =
            |side| r.launches[0].uncompared.iter().any(|u| u.side == side && u.why == WhyUncompared::Stays);
        assert!(stays(0) && stays(1), "{:?}", r.launches[0].uncompared);
    }
}

#[test]
fn a_difference_is_in_the_trip_of_the_source() {
    // The seventh trip is the third copy of the second trip; the fourteenth is the second trip of the rest.
    for trip in [6, 13] {
        let flip = |l: u64, h: &mut Hashed| {
            if l == 5 {
                h.flips.push((SiteId(1), vec![trip]));
            }
        };
        let a = run_rolled(14, |_, _| {});
        let (a, b) = (a, run_unrolled(14, flip));
        for (a, b) in [(&a, &b), (&b, &a)] {
            let r = compare(a, b);
            let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
            assert_eq!(
                (r.verdict, f.kind, f.lane, f.lanes_total),
                (Verdict::Differs, FindingKind::Branch, 5, 1)
            );
            assert_eq!((f.trips.len(), f.trips[0].trip, f.trips[0].trips), (1, [trip; 2], [14; 2]));
            assert_eq!(f.location().map(|l| l.line), Some(1));
            assert_eq!(f.follows[0] + f.follows[1], 1, "the select on one side follows");
        }
    }
}

#[test]
fn another_number_of_trips_is_found() {
    let (a, b) = (run_rolled(14, |_, _| {}), run_unrolled(15, |_, _| {}));
    for (a, b, extra) in [(&a, &b, [0, 1]), (&b, &a, [1, 0])] {
        let r = compare(a, b);
        let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
        assert_eq!((f.kind, f.extra_trips, f.lanes_total), (FindingKind::ExtraEvents, extra, 32));
    }
}

#[test]
fn a_loop_that_was_unrolled_whole() {
    let code: Vec<S> = (0..5).map(|_| body()).chain([S::Store]).collect();
    let b = Build::new(code, &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 4]);
    let run = |edit: &dyn Fn(u64, &mut Hashed)| b.run(&|site, _| vec![u64::from(site / 2)], &|_, _| 0, edit);
    let (a, b) = (run_rolled(5, |_, _| {}), run(&|_, _| {}));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    }
    let flipped = run(&|l, h| {
        if l == 3 {
            h.flips.push((SiteId(1), vec![2]));
        }
    });
    let r = compare(&a, &flipped);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, f.lane, f.trips[0].trip), (FindingKind::Branch, 3, [2, 2]));
    // A trip more than there are copies.
    let r = compare(&run_rolled(6, |_, _| {}), &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, f.extra_trips), (FindingKind::ExtraEvents, [1, 0]));
}

#[test]
fn loops_in_unrolled_loops() {
    // for (line 5) { if (line 1) select (line 2); for (line 4) if (line 3) … }
    let inner = || S::Loop(vec![S::If(vec![], vec![])]);
    let a = Build::new(vec![S::Loop(vec![body(), inner()])], &[1, 2, 3, 4, 5]);
    let two = vec![S::Loop(vec![body(), inner(), body(), inner()])];
    let b = Build::new(two, &[1, 2, 3, 4, 1, 2, 3, 4, 5]);
    let shape_a = |site: u32, t: &[u64]| if site == 4 { 6 } else { 2 + t[0] % 3 };
    let trips_b = |site: u32, t: &[u64]| {
        let mut t = t.to_vec();
        t[0] = t[0] * 2 + u64::from(site >= 4);
        t
    };
    let shape_b = |site: u32, t: &[u64]| match site {
        8 => 3,
        _ => 2 + (t[0] * 2 + u64::from(site == 7)) % 3,
    };
    let ra = a.run(&|_, t| t.to_vec(), &shape_a, |_, _| {});
    let rb = b.run(&trips_b, &shape_b, |_, _| {});
    for (a, b) in [(&ra, &rb), (&rb, &ra)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    }
    let flipped = b.run(&trips_b, &shape_b, |l, h| {
        if l == 9 {
            h.flips.push((SiteId(3), vec![3, 1]));
        }
    });
    let r = compare(&ra, &flipped);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, f.lane), (FindingKind::Branch, 9));
    assert_eq!(f.trips.iter().map(|t| t.trip).collect::<Vec<_>>(), [[3, 3], [1, 1]]);
}

#[test]
fn code_that_one_build_has_alone_is_listed() {
    let a = Build::new(vec![S::Loop(vec![body()]), S::Store], &[1, 2, 3, 4]);
    let b = Build::new(vec![S::Loop(vec![body(), S::Select]), S::Store], &[1, 2, 9, 3, 4]);
    let plain = |_: u32, t: &[u64]| t.to_vec();
    let ra = a.run(&plain, &|_, _| 6, |_, _| {});
    let rb = b.run(&plain, &|_, _| 6, |_, _| {});
    for (a, b, side) in [(&ra, &rb, 1), (&rb, &ra, 0)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
        let l = &r.launches[0];
        let [u] = &l.uncompared[..] else { panic!("{:?}", l.uncompared) };
        assert_eq!(
            (u.side, u.why, u.sites, u.visits, u.hides),
            (side, WhyUncompared::Alone, 1, 6 * 32, true)
        );
        assert_eq!(u.site.location.as_ref().map(|l| l.line), Some(9));
        assert_eq!(l.coverage.sites.each_ref().map(|s| s.unmatched), [1 - u64::from(side), u64::from(side)]);
        assert!(
            l.gaps.iter().any(|g| g.contains(["only A has was", "only B has was"][usize::from(side)])),
            "{:?}",
            l.gaps
        );
    }
    // What both have is compared still.
    let flipped = b.run(&plain, &|_, _| 6, |l, h| {
        if l == 7 {
            h.flips.push((SiteId(1), vec![4]));
        }
    });
    let r = compare(&ra, &flipped);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!(
        (r.verdict, f.kind, f.lane, f.trips[0].trip),
        (Verdict::Differs, FindingKind::Branch, 7, [4, 4])
    );
}

#[test]
fn code_that_never_ran_hides_nothing() {
    // B has a select in a way that no lane takes.
    let a = Build::new(vec![S::If(vec![S::Store], vec![]), S::Store], &[1, 2, 4]);
    let b = Build::new(vec![S::If(vec![S::Store, S::Select], vec![]), S::Store], &[1, 2, 3, 4]);
    let never = |l: u64, h: &mut Hashed| {
        let mut at = Hashed::new(l, &[]);
        if at.decide(SiteId(1), &[]) {
            h.flips.push((SiteId(1), vec![]));
        }
    };
    let plain = |_: u32, t: &[u64]| t.to_vec();
    let r = compare(&a.run(&plain, &|_, _| 0, never), &b.run(&plain, &|_, _| 0, never));
    assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    let [u] = &r.launches[0].uncompared[..] else { panic!("{:?}", r.launches[0].uncompared) };
    assert_eq!((u.visits, u.hides), (0, false));
}

/// A build whose decision at line 1 is inverted: its targets are swapped.
fn turned(proved: bool, edit: impl Fn(u64, &mut Hashed)) -> Trace {
    let way = if proved { vec![S::Select] } else { vec![] };
    let lines: &[u32] = if proved { &[1, 2, 3, 4] } else { &[1, 3, 4] };
    let b = Build::new(vec![S::Loop(vec![S::If(vec![], way)]), S::Store], lines);
    let mut t = b.run(&|_, t| t.to_vec(), &|_, _| 6, |l, h| {
        // Whatever the source's decision is, the build's is not.
        h.flips.extend((0..6).map(|t| (SiteId(1), vec![t])));
        edit(l, h);
    });
    t.modules[0].sites[0].text = "setp.ge.s32 %p0, %r1, %r2;".into();
    t
}

#[test]
fn an_opposite_comparison_is_the_same_decision() {
    let a = rolled().run(&|_, t| t.to_vec(), &|_, _| 6, |_, _| {});
    let b = turned(true, |_, _| {});
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    }
    let r = compare(&a, &turned(true, |l, h| h.flips.retain(|f| (l, f.1[0]) != (4, 2))));
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, f.lane, f.trips[0].trip), (FindingKind::Branch, 4, [2, 2]));
    // Values are shown as A has them.
    let values = f.values.unwrap();
    assert_ne!(values[0], values[1]);
}

#[test]
fn what_may_be_opposite_is_not_compared() {
    let a = Build::new(vec![S::Loop(vec![S::If(vec![], vec![])]), S::Store], &[1, 3, 4]);
    let a = a.run(&|_, t| t.to_vec(), &|_, _| 6, |_, _| {});
    let b = turned(false, |_, _| {});
    let r = compare(&a, &b);
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    let whys: Vec<_> = r.launches[0].uncompared.iter().map(|u| (u.side, u.why, u.hides)).collect();
    assert_eq!(whys, [(0, WhyUncompared::Opposite, true), (1, WhyUncompared::Opposite, true)]);
    assert!(r.launches[0].gaps[0].contains("may test the opposite condition"), "{:?}", r.launches[0].gaps);
}

#[test]
fn hashes_of_two_builds_say_nothing() {
    let print = |t: &Trace| {
        let mut t = t.clone();
        t.launches[0].launch.level = Level::Fingerprint;
        let hashes = vec![[1; 4]; 32];
        let lanes = Lanes::Fingerprint { checkpoints: vec![], ends: vec![0; 32], hashes };
        t.launches[0].streams = Streams::new(vec![WarpStream { warp: WarpId(0), dropped: 0, lanes }]);
        t
    };
    let (a, b) = (print(&run_rolled(14, |_, _| {})), print(&run_unrolled(14, |_, _| {})));
    assert_eq!(compare(&a, &a).verdict, Verdict::Same);
    let r = compare(&a, &b);
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    assert!(r.launches[0].gaps[0].ends_with("record both at level path"), "{:?}", r.launches[0].gaps);
}

/// One CTA of 96 threads, in warps of 32 lanes or of 64.
fn sized(b: &Build, size: WarpSize, edit: impl Fn(u64, &mut Hashed)) -> Trace {
    let lane = |l: u64| {
        let mut hashed = Hashed::new(l, &[]);
        edit(l, &mut hashed);
        let (trips, shape) = (|_: u32, t: &[u64]| t.to_vec(), |_: u32, _: &[u64]| 6);
        live(&b.code, l, &mut Source { hashed, lines: &b.lines, trips: &trips, shape: &shape })
    };
    let lanes: Vec<Lived> = (0..96).map(lane).collect();
    let warps = lanes.chunks(size.lanes() as usize).enumerate().map(|(i, l)| stream(i as u64, l)).collect();
    let mut t = trace(b.module(), warps);
    let l = &mut t.launches[0].launch;
    (l.grid.x, l.block.x, l.warp_size) = (1, 96, size);
    t
}

/// Records every visit of a window; the operands are the thread's number and the visit's.
fn again(t: &Trace, w: &Window, base: u64) -> Trace {
    let size = t.launches[0].launch.warp_size.lanes();
    let warp = |warp: u64| {
        let (mut records, mut ends) = (Vec::new(), Vec::new());
        for thread in (warp * size..(warp + 1) * size).take_while(|t| *t < 96) {
            for visit in w.visits.0..w.visits.1 {
                let record = |site: &SiteId| OperandRecord {
                    site: *site,
                    visit: visit as u32,
                    values: [base + thread, visit],
                };
                records.extend(w.sites.iter().map(record));
            }
            ends.push(records.len() as u32);
        }
        WarpStream { warp: WarpId(warp), lanes: Lanes::Operands { records, ends }, ..WarpStream::default() }
    };
    let mut t = t.clone();
    let r = &mut t.launches[0];
    (r.launch.level, r.launch.window) = (Level::Operands, Some(w.clone()));
    r.streams = Streams::new((w.warps.0..w.warps.1).map(warp).collect());
    t
}

/// The operands of both sides belong to the same threads, and so does the path view.
fn threads_seen_again(a: &Trace, b: &Trace) {
    let mut r = compare(a, b);
    let windows = [0, 1].map(|side| operand_window(&r.launches[0].findings[0], side).unwrap());
    attach_operands(&mut r, &again(a, &windows[0], 1000), &again(b, &windows[1], 2000)).unwrap();
    let f = &r.launches[0].findings[0];
    let rows = &f.operands.as_ref().unwrap().rows;
    assert!(rows.len() >= 32);
    let size = a.launches[0].launch.warp_size.lanes();
    for row in rows {
        let thread = f.warp.warp * size + u64::from(row.lane);
        assert_eq!(row.cells[0].bits, [Some(1000 + thread), Some(2000 + thread)]);
        assert_eq!(row.differs, thread == 37);
    }
    let look =
        prlx_analyze::path_view([a, b], &r.launches[0], f, &PathViewOptions::default()).unwrap().unwrap();
    assert_eq!(look.lanes.len(), rows.len());
    assert!(look.lanes.iter().all(|l| l.cells.contains('#') == (l.lane == f.lane)), "{:?}", look.lanes);
}

#[test]
fn warps_of_32_and_64_lanes_compare_by_thread() {
    // What is computed follows from the thread, whatever its lane.
    let b = Build::new(vec![S::Computed(50), S::Loop(vec![body()]), S::Store], &[5, 1, 2, 3, 4]);
    let odd =
        Build::new(vec![S::Computed(50), S::Loop(vec![body(), S::Select]), S::Store], &[5, 1, 2, 9, 3, 4]);
    let flip = |l: u64, h: &mut Hashed| {
        if l == 37 {
            h.flips.push((SiteId(1), vec![4]));
        }
    };
    for (x, y, warp, lane) in [(WarpSize::W32, WarpSize::W64, 1, 5), (WarpSize::W64, WarpSize::W32, 0, 37)] {
        let a = sized(&b, x, |_, _| {});
        let r = compare(&a, &sized(&b, y, |_, _| {}));
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
        let l = &r.launches[0];
        assert_eq!((l.coverage.lanes.compared, l.coverage.lanes.total, l.coverage.percent), (96, 96, 100.0));
        assert_eq!(l.differences[0].values, [x.to_string(), y.to_string()]);
        // The same in another build.
        for other in [&b, &odd] {
            let r = compare(&a, &sized(other, y, flip));
            let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
            assert_eq!(
                (f.kind, f.warp.warp, f.lane, f.lanes.0),
                (FindingKind::Branch, warp, lane, 1 << lane)
            );
            assert_eq!(f.trips[0].trip, [4, 4]);
            threads_seen_again(&a, &sized(other, y, flip));
        }
        // A warp that is missing is threads that are missing.
        let mut cut = sized(&b, y, |_, _| {});
        let mut warps = cut.launches[0].streams.frame(0).unwrap();
        warps.pop();
        cut.launches[0].streams = Streams::new(warps);
        let r = compare(&a, &cut);
        assert_eq!(r.verdict, Verdict::Unknown);
        assert_eq!(r.launches[0].coverage.lanes.missing, 32);
    }
}

#[test]
fn a_load_that_is_there_twice_is_no_unrolled_loop() {
    // A makes a store twice in a trip where B makes it once; nothing else is in the loop.
    let a = Build::new(vec![S::Loop(vec![S::Store, S::Store]), S::Select], &[1, 1, 3, 4]);
    let b = Build::new(vec![S::Loop(vec![S::Store]), S::Select], &[1, 3, 4]);
    let run = |b: &Build| b.run(&|_, t| t.to_vec(), &|_, _| 6, |_, _| {});
    let (a, b) = (run(&a), run(&b));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!(findings(&r), &[][..]);
        assert_eq!(r.verdict, Verdict::Unknown);
    }
}

/// `while (line 3) { if (line 1) select (line 2) }`, store (line 4), with the test at the beginning.
fn run_while(n: u64, edit: impl Fn(u64, &mut Hashed)) -> Trace {
    let b = Build::new(vec![S::While(vec![body()]), S::Store], &[3, 1, 2, 4]);
    b.run(&|_, t| t.to_vec(), &|_, _| n, edit)
}

#[test]
fn a_test_before_each_trip_is_the_test_after_the_last() {
    let (a, b) = (run_rolled(14, |_, _| {}), run_while(14, |_, _| {}));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
        assert!(r.launches[0].uncompared.is_empty(), "{:?}", r.launches[0].uncompared);
    }
    let flipped = run_while(14, |l, h| {
        if l == 5 {
            h.flips.push((SiteId(1), vec![13]));
        }
    });
    let fewer = run_while(13, |_, _| {});
    // Which of the trips that are alike is the one too many, nothing says.
    for (other, kinds) in
        [(&flipped, &[FindingKind::Branch][..]), (&fewer, &[FindingKind::Branch, FindingKind::ExtraEvents])]
    {
        for (a, b) in [(&a, other), (other, &a)] {
            let r = compare(a, b);
            let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
            assert_eq!(r.verdict, Verdict::Differs);
            assert!(kinds.contains(&f.kind), "{f:#?}");
            assert!(f.trips[0].trip.contains(&13), "{:?}", f.trips);
        }
    }
}

/// Moves the loop test out of the header, into a block that the header jumps to (as after a call), or that
/// another decision leads to.
fn test_behind(mut t: Trace, decided: bool) -> Trace {
    let f = &mut t.modules[0].functions[0];
    let header = f.loops[0].header;
    let new = prlx_trace::BlockId(f.blocks.len() as u32);
    let own = &mut f.blocks[header.index()];
    let behind = own.clone();
    own.steps.clear();
    own.ipdom = Some(new);
    own.end = match (decided, &behind.end) {
        (true, End::Branch { guard, .. }) => End::Branch { guard: *guard, taken: new, other: new },
        _ => End::Jump(new),
    };
    f.blocks.push(behind);
    f.loops[0].blocks.push(new);
    t.modules[0].sites[0].block = new;
    t
}

#[test]
fn a_test_is_asked_first_if_nothing_is_decided_before_it() {
    let a = run_rolled(14, |_, _| {});
    let b = test_behind(run_while(14, |_, _| {}), false);
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    }
    // What stands before it may leave out the last test, or the first: nobody knows.
    let b = test_behind(run_while(14, |_, _| {}), true);
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
        assert!(r.launches[0].uncompared.iter().any(|u| u.why == WhyUncompared::Doubtful && u.hides));
    }
}

#[test]
fn a_test_that_the_compiler_made_is_no_copy() {
    // Before B's loop the compiler asks on the line of the loop's decision whether there are trips enough.
    let a = rolled();
    let b = Build::new(vec![S::If(vec![], vec![]), S::Loop(vec![body()]), S::Store], &[1, 1, 2, 3, 4]);
    let run = |b: &Build| {
        b.run(&|s, t| if t.is_empty() { vec![99, s.into()] } else { t.to_vec() }, &|_, _| 6, |_, _| {})
    };
    let (a, b) = (run(&a), run(&b));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
        assert!(
            r.launches[0]
                .uncompared
                .iter()
                .any(|u| u.hides && u.site.location.as_ref().is_some_and(|l| l.line == 1))
        );
    }
}

#[test]
fn a_loop_that_only_its_test_tells_of_may_count_in_other_steps() {
    let one = |code: S, step: u32, trips: u64| {
        let b = Build::new(vec![code, S::Store], &[3, 4]);
        let mut t = b.run(&|_, t| t.to_vec(), &|_, _| trips, |_, _| {});
        let site = &mut t.modules[0].sites[0];
        let from = Node { text: format!("add.s32 %r1, %r1, {step};"), ..site.slice[1].clone() };
        site.slice[1] = Node { kind: NodeKind::Op, ..from };
        t
    };
    let a = one(S::While(vec![]), 1, 12);
    let r = compare(&a, &one(S::Loop(vec![]), 4, 3));
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    assert!(r.launches[0].uncompared.iter().all(|u| u.why == WhyUncompared::Copies && u.hides));
    // In the same steps they are the same trips.
    assert_eq!(compare(&a, &one(S::Loop(vec![]), 1, 12)).verdict, Verdict::Same);
    assert_eq!(compare(&a, &one(S::Loop(vec![]), 1, 11)).verdict, Verdict::Differs);
}

#[test]
fn what_is_called_from_other_places_is_not_compared() {
    // B calls the function once more; each call does something else.
    let code = |calls: usize| {
        vec![vec![S::Call(1); calls].into_iter().chain([S::Select]).collect(), vec![S::If(vec![], vec![])]]
    };
    let run = |calls: usize, seed: u64| {
        let b = Build { code: code(calls), lines: vec![1, 2] };
        b.run(&|_, t| t.to_vec(), &|_, _| 1, |l, h| {
            if h.seed == l && seed == 1 {
                h.flips.push((SiteId(2), vec![]));
            }
        })
    };
    let r = compare(&run(1, 0), &run(2, 1));
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    assert!(r.launches[0].uncompared.iter().all(|u| u.why == WhyUncompared::Doubtful && u.hides));
    // As many calls are the same ones.
    assert_eq!(compare(&run(2, 0), &run(2, 1)).verdict, Verdict::Differs);
    assert_eq!(compare(&run(2, 0), &run(2, 0)).verdict, Verdict::Same);
}

#[test]
fn a_branch_stands_where_it_branches() {
    // B's branch on line 5 uses the comparison of line 1.
    let a = Build::new(vec![S::If(vec![S::Select], vec![]), S::If(vec![S::Store], vec![])], &[1, 2, 5, 4]);
    let run = |flip: bool| {
        a.run(&|_, t| t.to_vec(), &|_, _| 1, |l, h| {
            if flip && l == 9 {
                h.flips.push((SiteId(5), vec![]));
            }
        })
    };
    let shared = |mut t: Trace| {
        t.modules[0].sites[2].loc = t.modules[0].sites[0].loc;
        t
    };
    let r = compare(&run(false), &shared(run(false)));
    assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    let r = compare(&run(false), &shared(run(true)));
    assert_eq!((r.verdict, findings(&r)[0].lane), (Verdict::Differs, 9));
}

#[test]
fn what_compares_something_else_must_do_the_same() {
    // Signed in A, unsigned in B, on the same line.
    let a = Build::new(vec![S::Loop(vec![S::If(vec![], vec![]), S::Select]), S::Store], &[1, 2, 3, 4]);
    let unsigned = |edit: &dyn Fn(u64, &mut Hashed)| {
        let mut t = a.run(&|_, t| t.to_vec(), &|_, _| 6, edit);
        let site = &mut t.modules[0].sites[0];
        site.text = site.text.replace("s32", "u32");
        t
    };
    let one = a.run(&|_, t| t.to_vec(), &|_, _| 6, |_, _| {});
    let r = compare(&one, &unsigned(&|_, _| {}));
    assert_eq!((r.verdict, findings(&r)), (Verdict::Same, &[][..]), "{:?}", r.launches[0].gaps);
    let r = compare(
        &one,
        &unsigned(&|l, h| {
            if l == 3 {
                h.flips.push((SiteId(1), vec![2]))
            }
        }),
    );
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    let told: Vec<_> = r.launches[0].uncompared.iter().map(|u| (u.side, u.why, u.visits, u.hides)).collect();
    assert_eq!(told, [(0, WhyUncompared::Doubtful, 1, true), (1, WhyUncompared::Doubtful, 1, true)]);
    // Neither recording has the source: it may have been edited.
    assert!(
        r.launches[0].gaps.iter().any(|g| g.contains("not available when A and B were")),
        "{:?}",
        r.launches[0].gaps
    );
}

/// A kernel that calls a function at lines 10 and 11, and the same kernel with both calls inlined. The
/// function has lines 1 to 4; lines 20 and 21 are between the calls. Its loops make `trips` trips, and `edit`
/// changes what lanes do.
fn called_and_inlined(trips: u64, edit: impl Fn(u64, &mut Hashed)) -> [Trace; 2] {
    let function = || vec![S::Loop(vec![body()]), S::Store];
    let between = || S::If(vec![S::Store], vec![]);
    let a = Build {
        code: vec![vec![S::Call(1), between(), S::Call(1)], function()],
        lines: vec![20, 21, 1, 2, 3, 4],
    };
    let b = Build::new([function(), vec![between()], function()].concat(), &[1, 2, 3, 4, 20, 21, 1, 2, 3, 4]);
    let mut a = a.run(&|_, t| t.to_vec(), &|_, _| 5, |_, _| {});
    let mut b = b.run(&|_, t| t.to_vec(), &|_, _| trips, edit);
    let at = |m: &mut Module, line: u32| {
        m.locs.push(Loc { line, ..m.locs[0].clone() });
        Some(LocId(m.locs.len() as u32 - 1))
    };
    let lines = [10, 11].map(|line| at(&mut a.modules[0], line));
    let steps = a.modules[0].functions[0].blocks.iter_mut().flat_map(|b| &mut b.steps);
    let calls = steps.filter_map(|s| if let Step::Call { loc, .. } = s { Some(loc) } else { None });
    calls.zip(lines).for_each(|(loc, line)| *loc = line);
    for (locs, line) in [(0..4, 10), (6..10, 11)] {
        let inlined_at = at(&mut b.modules[0], line);
        for l in &mut b.modules[0].locs[locs] {
            (l.inlined_at, l.function) = (inlined_at, "helper1".into());
        }
    }
    [a, b]
}

/// By side: the lines of uncertain sites, with the line of the call.
fn doubted(r: &Report) -> [Vec<[u32; 2]>; 2] {
    [0, 1].map(|side| {
        let doubted = |u: &&Uncompared| u.why == WhyUncompared::Doubtful && u.side == side && u.hides;
        let places = r.launches[0].uncompared.iter().filter(doubted).filter_map(|u| u.site.location.as_ref());
        places.map(|l| [l.line, l.inlined.first().map_or(0, |l| l.line)]).collect()
    })
}

#[test]
fn a_function_is_called_in_one_build_and_inlined_in_the_other() {
    let [a, b] = called_and_inlined(5, |_, _| {});
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        let l = &r.launches[0];
        assert_eq!(
            (r.verdict, findings(&r), &l.uncompared[..]),
            (Verdict::Same, &[][..], &[][..]),
            "{:?}",
            l.gaps
        );
        assert_eq!((l.coverage.sites[0].unmatched, l.coverage.sites[1].unmatched), (0, 0));
        assert_eq!(l.coverage.sites.each_ref().map(|s| s.total), [a, b].map(|t| decisions(&t.modules[0])));
    }
    // Without the calls' places nothing says which of the inlined ones each is.
    let mut old = a.clone();
    for s in old.modules[0].functions[0].blocks.iter_mut().flat_map(|b| &mut b.steps) {
        if let Step::Call { loc, .. } = s {
            *loc = None;
        }
    }
    let r = compare(&old, &b);
    assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
    assert!(r.launches[0].uncompared.iter().any(|u| u.hides && u.why == WhyUncompared::Alone));
}

fn decisions(m: &Module) -> u64 {
    m.sites.iter().filter(|s| s.class != SiteClass::Store).count() as u64
}

#[test]
fn what_differs_in_a_function_that_one_build_inlined_is_listed() {
    // One lane takes the other branch in the third trip, in both calls.
    let [a, b] = called_and_inlined(5, |l, h| {
        if l == 5 {
            h.flips.push((SiteId(1), vec![2]));
        }
    });
    for (a, b) in [(&a, &b), (&b, &a)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
        assert_eq!(doubted(&r), [[[1, 10], [1, 11]], [[1, 10], [1, 11]]]);
    }
    // The inlined loops make a trip more.
    let [a, b] = called_and_inlined(6, |_, _| {});
    for (a, b, more) in [(&a, &b, 1), (&b, &a, 0)] {
        let r = compare(a, b);
        assert_eq!((r.verdict, findings(&r)), (Verdict::Unknown, &[][..]));
        assert!(!doubted(&r)[more].is_empty(), "{:?}", r.launches[0].uncompared);
    }
    // What both builds have outside of the function is as sure as ever.
    let [a, b] = called_and_inlined(5, |l, h| {
        if l == 5 {
            h.flips.push((SiteId(20), vec![]));
        }
    });
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!(
        (r.verdict, f.kind, f.lane, f.location().map(|l| l.line)),
        (Verdict::Differs, FindingKind::Branch, 5, Some(20))
    );
}
