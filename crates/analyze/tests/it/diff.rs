//! Edits a recording in a known way. The comparison must find exactly that edit.

use crate::toy::{Hashed, Lived, S, live, module, stream, trace};
use prlx_analyze::report::{Finding, LaunchPart, Report};
use prlx_analyze::{DiffOptions, Filter, FindingKind, Verdict, diff};
use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{Dim3, Lane, LaneMask, ModuleId, SiteId, Trace, WarpId, WarpSize};
use proptest::prelude::*;

/// The sites. 0: store. Outer loop: 1 if, 2 store, 3 select. Inner loop: 4 guard, 5 its store, 6 the inner
/// decision. Then 7 store, 8 the outer decision, 9 the last if, 10 store, 11 store.
fn toy() -> Vec<Vec<S>> {
    vec![vec![
        S::Store,
        S::Loop(vec![S::If(vec![S::Store], vec![S::Select]), S::Loop(vec![S::Guard]), S::Store]),
        S::If(vec![S::Store], vec![S::Store]),
    ]]
}

const OUTER: SiteId = SiteId(8);
const INNER: SiteId = SiteId(6);

/// A trace of `warps` warps; `edit` changes what a lane does.
fn run(warps: u64, shape: &[u64], edit: impl Fn(u64, u8, &mut Hashed)) -> Trace {
    let toy = toy();
    let streams = (0..warps)
        .map(|w| {
            crate::toy::warp(&toy, w, |lane| {
                let mut h = Hashed::new(w * 32 + u64::from(lane.0), shape);
                edit(w, lane.0, &mut h);
                h
            })
        })
        .collect();
    trace(module(&toy), streams)
}

fn compare(a: &Trace, b: &Trace) -> Report {
    let r = diff(a, b, &DiffOptions::default()).unwrap();
    for l in &r.launches {
        let (w, n) = (&l.coverage.warps, &l.coverage.lanes);
        assert_eq!(w.total, w.equal + w.compared + w.missing + w.failed);
        assert_eq!(
            n.total,
            n.in_equal_warps + n.same_words + n.compared + n.truncated + n.missing + n.failed
        );
    }
    r
}

fn findings(r: &Report) -> &[Finding] {
    &r.launches[0].findings
}

fn id(f: &Finding) -> Option<u32> {
    f.shown().map(|s| s.id.0)
}

#[test]
fn equal_runs_are_the_same() {
    let a = run(4, &[5, 3], |_, _, _| {});
    let r = compare(&a, &a);
    assert_eq!((r.verdict, r.launches[0].coverage.warps.equal), (Verdict::Same, 4));
    // Packed frames are equal by digest, whatever they hold.
    let mut b = a.clone();
    let mut packed = prlx_trace::Streams::default();
    packed.append(&b.launches[0].streams.frame(0).unwrap()).unwrap();
    assert!(packed.same_frame(0, (&packed.clone(), 0)) && !packed.same_frame(0, (&a.launches[0].streams, 0)));
    b.launches[0].streams = packed;
    for r in [compare(&b, &b), compare(&a, &b)] {
        assert_eq!((r.verdict, r.launches[0].coverage.warps.equal), (Verdict::Same, 4));
    }
    // With other parameters for a slice to read, words tell nothing: everything is decoded.
    b.modules[0].functions[0].slots += 1;
    let r = compare(&a, &b);
    assert_eq!((r.verdict, r.launches[0].coverage.lanes.compared), (Verdict::Same, 128));
    assert!(r.launches[0].coverage.visits[0].recorded > 0);
}

/// A truncated recording never proves that nothing differs, nor that a launch is missing.
#[test]
fn one_side_was_cut_off() {
    let a = run(4, &[5, 3], |_, _, _| {});
    let cut = |t: &Trace| {
        let mut file = Vec::new();
        t.write(&mut file).unwrap();
        Trace::read_cut(&file[..file.len() - 1]).unwrap()
    };
    let r = compare(&a, &cut(&a));
    assert_eq!((r.verdict, r.launches[0].verdict), (Verdict::Unknown, Verdict::Same));
    assert!(r.gaps[0].starts_with("B was cut off") && r.processes[0].cut[0].is_none(), "{:?}", r.gaps);
    let mut longer = a.clone();
    longer.launches.extend(a.launches.clone());
    assert_eq!(compare(&longer, &cut(&a)).verdict, Verdict::Unknown);
    assert_eq!(compare(&a, &cut(&longer)).verdict, Verdict::Differs);
}

/// A launch that was not recorded keeps its place, and its content is unknown.
#[test]
fn one_side_was_skipped() {
    let a = run(4, &[5, 3], |_, _, _| {});
    let mut b = a.clone();
    b.modules[0] = Module {
        functions: vec![Function {
            name: a.modules[0].functions[0].name.clone(),
            kernel: true,
            skipped: Some("no PTX".into()),
            ..Function::default()
        }],
        ..Module::default()
    };
    b.launches[0].streams = prlx_trace::Streams::default();
    b.launches[0].launch.skipped = Some("no PTX".into());
    b.launches[0].launch.level = prlx_trace::Level::Fingerprint;
    for (r, name) in [(compare(&a, &b), "B"), (compare(&b, &a), "A")] {
        assert_eq!((r.verdict, findings(&r).len()), (Verdict::Unknown, 0));
        let l = &r.launches[0];
        assert_eq!(l.gaps, [format!("the launch was not recorded in {name}: no PTX")]);
        assert_eq!((l.coverage.percent, l.coverage.lanes.missing), (0.0, l.coverage.lanes.total));
    }
}

/// Hashes of different kinds are not compared.
#[test]
fn values_are_hashed_in_two_ways() {
    let mut a = run(4, &[5, 3], |_, _, _| {});
    a.launches[0].launch.level = prlx_trace::Level::Fingerprint;
    let mut b = a.clone();
    b.modules[0].hashing = prlx_trace::device::hashing(prlx_trace::Level::Fingerprint);
    let r = compare(&a, &b);
    assert_eq!(r.verdict, Verdict::Unknown);
    assert!(
        r.launches[0].gaps.iter().any(|g| g.contains("hashes values differently")),
        "{:?}",
        r.launches[0].gaps
    );
    // What else was not seen comes after the reason for which nothing was compared.
    let fault = Fault { text: "it stops".into(), ..Default::default() };
    for l in [&mut a, &mut b].map(|t| &mut t.launches[0].launch) {
        l.fault = Some(fault.clone());
    }
    let gaps = &compare(&a, &b).launches[0].gaps;
    assert!(gaps.len() == 3 && gaps[0].contains("hashes values differently"), "{gaps:?}");
}

/// A launch that was stopped before these lanes ended.
fn stopped(t: &Trace, unfinished: Option<Vec<(WarpId, LaneMask)>>) -> Trace {
    let mut t = t.clone();
    t.launches[0].launch.fault =
        Some(Fault { text: "a load goes astray".into(), unfinished, ..Fault::default() });
    t
}

#[test]
fn one_side_is_stopped() {
    let a = run(4, &[5, 3], |_, _, _| {});
    let mut b = stopped(&a, Some(vec![(WarpId(2), LaneMask(1 << 9))]));
    // Lane 9 of warp 2 has written one word; the last warp never ran.
    let mut warps = b.launches[0].streams.frame(0).unwrap();
    warps.pop();
    let Lanes::Path { words, ends } = &mut warps[2].lanes else { panic!() };
    let cut = ends[9] - ends[8] - 1;
    assert!(cut > 0);
    words.drain((ends[8] + 1) as usize..ends[9] as usize);
    ends[9..].iter_mut().for_each(|e| *e -= cut);
    b.launches[0].streams = prlx_trace::Streams::new(warps);
    for (r, side) in [(compare(&a, &b), 1), (compare(&b, &a), 0)] {
        assert_eq!((r.verdict, findings(&r).len()), (Verdict::Differs, 0));
        let l = &r.launches[0];
        assert_eq!(l.faults[side].as_ref().map(|f| f.text.as_str()), Some("a load goes astray"));
        assert_eq!(l.faults[1 - side], None);
        let n = &l.coverage.lanes;
        assert_eq!((n.in_equal_warps, n.same_words, n.truncated, n.missing), (64, 31, 1, 32));
        assert!(l.gaps[0].contains("was stopped"), "{:?}", l.gaps);
    }
}

#[test]
fn both_sides_are_stopped() {
    let a = run(2, &[5, 3], |_, _, _| {});
    let b = run(2, &[5, 3], |w, l, h| {
        if (w, l) == (1, 9) {
            h.flips.push((SiteId(1), vec![3]));
        }
    });
    // Whether a device says who had ended or not: never the same.
    for unfinished in [Some(vec![(WarpId(1), LaneMask(1 << 30))]), None] {
        let [a, b] = [&a, &b].map(|t| stopped(t, unfinished.clone()));
        let r = compare(&a, &a);
        assert_eq!((r.verdict, findings(&r).len()), (Verdict::Unknown, 0));
        let n = &r.launches[0].coverage.lanes;
        assert_eq!(n.truncated, if unfinished.is_none() { 64 } else { 1 });
        let r = compare(&a, &b);
        assert_eq!((r.verdict, findings(&r).len()), (Verdict::Differs, 1));
    }
}

#[test]
fn one_flip_in_one_lane() {
    let a = run(3, &[6, 4], |_, _, _| {});
    let b = run(3, &[6, 4], |w, l, h| {
        if (w, l) == (1, 9) {
            h.flips.push((SiteId(1), vec![3]));
        }
    });
    let r = compare(&a, &b);
    assert_eq!(r.verdict, Verdict::Differs);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, id(f)), (FindingKind::Branch, Some(1)));
    assert_eq!((f.warp.warp, f.lanes, f.visit), (1, LaneMask(1 << 9), [Some(3), Some(3)]));
    assert_eq!((f.trips.len(), f.trips[0].trip, f.trips[0].trips), (1, [3, 3], [6, 6]));
    // The store on one side and the select on the other follow from it.
    assert_eq!(f.follows, [1, 1]);
    assert_eq!((f.roots, f.count, f.warps.len()), (1, 1, 1));
    assert_eq!(f.location().map(|l| l.line), Some(2));
}

#[test]
fn a_flipped_guard_takes_its_store_along() {
    let a = run(1, &[6, 4], |_, _, _| {});
    let b = run(1, &[6, 4], |_, l, h| {
        if l == 0 {
            h.flips.push((SiteId(4), vec![3, 2]));
        }
    });
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, id(f), f.follows[0] + f.follows[1]), (FindingKind::Branch, Some(4), 1));
    assert_eq!(f.trips.iter().map(|t| t.trip[0]).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn the_same_flip_in_many_warps_is_one_finding() {
    let a = run(300, &[4, 2], |_, _, _| {});
    let b = run(300, &[4, 2], |w, l, h| {
        if w % 2 == 1 && l < 3 {
            h.flips.push((SiteId(1), vec![u64::from(l > 0)]));
        }
    });
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.warps_total, f.warps.len(), f.lanes_total, f.roots, f.count), (150, 150, 450, 450, 450));
    assert_eq!((f.warp.warp, f.lane, f.lanes), (1, 0, LaneMask(1)));
    assert_eq!(f.warps[0].lanes, LaneMask(7));
    assert_eq!(f.ways[0] + f.ways[1], 450);
    let few = diff(&a, &b, &DiffOptions { warps: 10, ..DiffOptions::default() }).unwrap();
    assert_eq!((few.launches[0].findings[0].warps.len(), few.launches[0].findings[0].warps_total), (10, 150));
}

/// Warps with equal recordings share one comparison only if they read equal special registers.
#[test]
fn warps_are_told_apart_by_what_they_read() {
    let toy = vec![vec![S::Counted(vec![S::Computed(0)]), S::Select]];
    let warp = crate::toy::warp(&toy, 0, |_| Hashed::new(1, &[3]));
    for special in [Special::CtaidX, Special::TidX] {
        let run = |bound: u32| {
            let mut m = module(&toy);
            for step in m.functions[0].blocks.iter_mut().flat_map(|b| &mut b.steps) {
                if let Step::Let { args, .. } = step {
                    *args = vec![Arg::Special(special), Arg::Param { offset: 0, size: 4 }];
                }
            }
            let warps = (0..8).map(|w| WarpStream { warp: WarpId(w), ..warp.clone() }).collect();
            let mut t = trace(m, warps);
            t.launches[0].launch.params = bound.to_le_bytes().to_vec();
            t
        };
        let r = compare(&run(2), &run(5));
        let [f, ..] = findings(&r) else { panic!("nothing found") };
        let found: Vec<(u64, LaneMask)> = f.warps.iter().map(|w| (w.warp, w.lanes)).collect();
        let want: Vec<(u64, LaneMask)> = match special {
            Special::CtaidX => (2..5).map(|w| (w, LaneMask(0xffff_ffff))).collect(),
            _ => (0..8).map(|w| (w, LaneMask(0b11100))).collect(),
        };
        assert_eq!(found, want, "{special:?}");
        assert_eq!(r.launches[0].coverage.lanes.compared, 256);
    }
}

#[test]
fn a_dropped_trip_of_a_long_lane_is_one_finding() {
    // About 100 000 visits in a lane: 4000 outer trips of 4 inner ones.
    let a = run(1, &[4000, 8], |_, _, _| {});
    let b = run(1, &[4000, 8], |_, l, h| {
        if l == 5 {
            h.drops.push((OUTER, vec![], 1234));
        }
    });
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{} findings", findings(&r).len()) };
    assert_eq!((f.kind, f.side, f.extra_trips), (FindingKind::ExtraEvents, Some(0), [1, 0]));
    assert_eq!((f.trips[0].trip, f.trips[0].trips), ([1234, 1234], [4000, 3999]));
    assert!(r.launches[0].coverage.visits[0].recorded > 50_000);
    let back = compare(&b, &a);
    assert_eq!((findings(&back)[0].side, findings(&back)[0].extra_trips), (Some(1), [0, 1]));
}

#[test]
fn more_trips_at_the_end_are_the_decision_to_stay() {
    let a = run(1, &[6, 3], |_, _, _| {});
    let b = run(1, &[6, 3], |_, l, h| {
        if l < 2 {
            h.adds.push((INNER, vec![2], 5));
        }
    });
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!(
        (f.kind, id(f), f.values, f.lanes),
        (FindingKind::Branch, Some(INNER.0), Some([0, 1]), LaneMask(3))
    );
    assert_eq!((f.trips[1].trip, f.trips[1].trips), ([2, 2], [3, 8]));
    assert_eq!(f.visit, [Some(8), Some(8)]);
    assert!(f.follows[1] >= 10);
}

#[test]
fn counted_loops_say_the_same() {
    let toy = vec![vec![S::Counted(vec![S::Guard]), S::Store]];
    let lane = |more: u64| {
        let mut h = Hashed::new(4, &[100]);
        if more > 0 {
            h.adds.push((SiteId(2), vec![], more));
        }
        live(&toy, 0, &mut h)
    };
    let a = trace(module(&toy), vec![stream(0, &[lane(0)])]);
    let b = trace(module(&toy), vec![stream(0, &[lane(100_000)])]);
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!(
        (f.kind, id(f), f.values, f.visit),
        (FindingKind::Branch, Some(2), Some([0, 1]), [Some(99), Some(99)])
    );
}

#[test]
fn early_returns_take_all_that_follows() {
    let toy = vec![vec![S::Loop(vec![S::Leave, S::Store, S::Call(1)]), S::Store], vec![S::Select]];
    let lane = |leave: u64| {
        let mut h = Hashed::new(4, &[50]);
        // All stay, but for one.
        h.flips = (0..50).map(|t| (SiteId(0), vec![t])).filter(|(s, t)| decide(4, *s, t)).collect();
        if leave < 50 {
            h.flips.retain(|(_, t)| t[0] != leave);
            if !decide(4, SiteId(0), &[leave]) {
                h.flips.push((SiteId(0), vec![leave]));
            }
        }
        live(&toy, 0, &mut h)
    };
    let a = trace(module(&toy), vec![stream(0, &[lane(99)])]);
    let b = trace(module(&toy), vec![stream(0, &[lane(20)])]);
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, id(f), f.visit), (FindingKind::Branch, Some(0), [Some(20), Some(20)]));
    assert_eq!(f.trips[0].trips, [50, 21]);
}

fn decide(seed: u64, site: SiteId, trips: &[u64]) -> bool {
    use crate::toy::Choose;
    Hashed::new(seed, &[]).decide(site, trips)
}

#[test]
fn what_is_cut_from_the_list_counts() {
    let a = run(4, &[8, 3], |_, _, _| {});
    let b = run(4, &[8, 3], |w, lane, h| match (w, lane) {
        (1, 3) => h.flips.push((SiteId(1), vec![2])),
        (1 | 3, 9) => h.flips.push((SiteId(9), vec![])),
        _ => {}
    });
    let all = compare(&a, &b);
    let short = diff(&a, &b, &DiffOptions { findings: 1, ..DiffOptions::default() }).unwrap();
    let [all, short] = [&all.launches[0], &short.launches[0]];
    assert_eq!((all.findings.len(), short.findings.len(), short.findings_total), (2, 1, 2));
    assert_eq!((all.differing.lanes, all.differing.warps, all.differing.kinds), (3, 2, [3, 0, 0, 0, 0]));
    assert_eq!(all.differing, short.differing);
}

#[test]
fn what_a_filter_leaves_out_is_a_gap() {
    let a = run(4, &[8, 3], |_, _, _| {});
    let b = run(4, &[8, 3], |w, lane, h| {
        if w == 1 && lane == 3 {
            h.flips.push((SiteId(9), vec![]));
        }
    });
    let with = |filter: Filter| diff(&a, &b, &DiffOptions { filter, ..DiffOptions::default() }).unwrap();
    let warps = with(Filter { warps: vec![(0, 0), (2, 9)], ..Filter::default() });
    let [gap] = &warps.launches[0].gaps[..] else { panic!("{:?}", warps.launches[0].gaps) };
    assert_eq!((warps.verdict, &gap[..]), (Verdict::Unknown, "1 warp was excluded by a filter"));
    assert_eq!(warps.launches[0].coverage.lanes.missing, 32);
    let other = with(Filter { kinds: vec![FindingKind::Value], ..Filter::default() });
    assert_eq!((other.verdict, findings(&other)), (Verdict::Unknown, &[][..]));
    assert_eq!(other.launches[0].gaps, ["1 difference was excluded by a filter"]);
    assert_eq!(other.launches[0].differing.kinds, [0; 5]);
    for filter in [
        Filter { warps: vec![(1, 1)], ..Filter::default() },
        Filter { kinds: vec![FindingKind::Branch], ..Filter::default() },
        Filter { sites: vec![9], ..Filter::default() },
    ] {
        let r = with(filter);
        assert_eq!((r.verdict, findings(&r).len()), (Verdict::Differs, 1));
    }
    assert_eq!(with(Filter { sites: vec![8], ..Filter::default() }).verdict, Verdict::Unknown);
}

#[test]
fn a_later_difference_stands_after_the_first() {
    let a = run(2, &[6, 3], |_, _, _| {});
    let b = run(2, &[6, 3], |w, l, h| {
        if (w, l) == (0, 4) {
            h.flips.push((SiteId(4), vec![1, 0]));
            h.flips.push((SiteId(9), vec![]));
        }
        if (w, l) == (1, 4) {
            h.flips.push((SiteId(1), vec![5]));
        }
    });
    let r = compare(&a, &b);
    let got: Vec<_> = findings(&r).iter().map(|f| (id(f), f.roots)).collect();
    assert_eq!(got, [(Some(4), 1), (Some(1), 1), (Some(9), 0)]);
}

#[test]
fn what_is_lost_makes_it_unknown() {
    let a = run(2, &[6, 3], |_, _, _| {});
    let verdict = |f: &dyn Fn(&mut Trace)| {
        let mut b = a.clone();
        f(&mut b);
        let r = compare(&a, &b);
        (r.verdict, r.launches.first().map(|l| l.gaps.join("; ")).unwrap_or_default())
    };
    let edit = |b: &mut Trace, f: &dyn Fn(&mut Vec<WarpStream>)| {
        let mut warps = b.launches[0].streams.frame(0).unwrap();
        f(&mut warps);
        b.launches[0].streams = prlx_trace::Streams::new(warps);
    };
    type Case<'a> = (&'a dyn Fn(&mut Trace), &'a str);
    let cases: [Case<'_>; 7] = [
        (&|b| b.launches[0].launch.totals.dropped = 3, "3 elements were lost"),
        (&|b| b.launches[0].launch.totals.filtered_warps = 1, "1 warp was excluded by a filter"),
        (&|b| edit(b, &|w| w.truncate(1)), "1 warp was not recorded on both sides"),
        (&|b| b.modules[0].functions[0].skipped = Some("too odd".into()), "too odd"),
        (
            &|b| b.modules[0].sites[3].skipped = Some("left out".into()),
            "1 site was not recorded in B: left out",
        ),
        (
            &|b| {
                edit(b, &|w| {
                    let Lanes::Path { words, ends } = &mut w[1].lanes else { panic!() };
                    words.pop();
                    *ends.last_mut().unwrap() -= 1;
                })
            },
            "1 lane's recording ends before the lane does",
        ),
        (
            &|b| {
                edit(b, &|w| {
                    let Lanes::Path { words, ends } = &mut w[1].lanes else { panic!() };
                    words.push(3);
                    *ends.last_mut().unwrap() += 1;
                })
            },
            "its recording continues",
        ),
    ];
    for (f, want) in cases {
        let (verdict, gaps) = verdict(f);
        assert_eq!(verdict, Verdict::Unknown, "{want}");
        assert!(gaps.contains(want), "{gaps}");
    }
    // Nothing recorded is nothing known.
    let none = Trace::default();
    assert_eq!(diff(&none, &none, &DiffOptions::default()).unwrap().verdict, Verdict::Unknown);
}

#[test]
fn cut_recordings_do_not_make_findings() {
    let a = run(1, &[6, 3], |_, _, _| {});
    for keep in 0..40 {
        let mut b = a.clone();
        let mut warps = b.launches[0].streams.frame(0).unwrap();
        let Lanes::Path { words, ends } = &warps[0].lanes else { panic!() };
        // Lane 31 keeps some of its bits.
        let first = ends[30] as usize;
        let bits: Vec<bool> =
            words[first..].iter().flat_map(|w| (0..w.ilog2()).rev().map(move |i| w >> i & 1 == 1)).collect();
        let cut = Lived { bits: bits[..keep.min(bits.len())].to_vec(), ..Lived::default() }.words();
        let mut words = words[..first].to_vec();
        words.extend(cut);
        let mut ends = ends.clone();
        ends[31] = words.len() as u32;
        warps[0].lanes = Lanes::Path { words, ends };
        b.launches[0].streams = prlx_trace::Streams::new(warps);
        for (x, y) in [(&a, &b), (&b, &a)] {
            let r = compare(x, y);
            assert!(findings(&r).is_empty(), "{keep}: {:#?}", findings(&r));
            assert_eq!(r.verdict, if keep < bits.len() { Verdict::Unknown } else { Verdict::Same });
        }
    }
}

#[test]
fn launches_pair_by_kernel_and_order() {
    let a = run(1, &[3, 2], |_, _, _| {});
    let mut b = a.clone();
    b.launches.push(b.launches[0].clone());
    let r = compare(&a, &b);
    assert_eq!((r.verdict, r.launches.len(), r.unpaired.len()), (Verdict::Differs, 1, 1));
    assert_eq!((r.unpaired[0].side, r.unpaired[0].launch), (1, 1));
    let only = |k: &str| diff(&a, &b, &DiffOptions { kernels: vec![k.into()], ..DiffOptions::default() });
    assert_eq!(only("t?y").unwrap().launches.len(), 1);
    assert!(only("nothing*").unwrap_err().what.contains("nothing*"));
}

#[test]
fn arguments_and_outputs_are_compared() {
    let mut a = run(1, &[3, 2], |_, _, _| {});
    let m = &mut a.modules[0];
    m.functions[0].params = vec![
        Param { name: "x".into(), ty: Scalar::U64, offset: 0, size: 8 },
        Param { name: "t".into(), ty: Scalar::F32, offset: 8, size: 4 },
    ];
    let l = &mut a.launches[0].launch;
    l.params = [&0x1000u64.to_le_bytes()[..], &0.75f32.to_le_bytes()].concat();
    l.args = vec![
        ArgInfo { name: "x".into(), ty: Scalar::F32, bytes: Some(64), before: Some(1), after: Some(2) },
        ArgInfo { name: "threshold".into(), ty: Scalar::F32, ..ArgInfo::default() },
    ];
    let mut b = a.clone();
    b.launches[0].launch.params = [&0x2000u64.to_le_bytes()[..], &0.7f32.to_le_bytes()].concat();
    let r = compare(&a, &b);
    // Addresses are no inputs; a scalar is. The same path from another input is still the same path.
    assert_eq!(r.verdict, Verdict::Same);
    let d = &r.launches[0].differences;
    assert_eq!(
        (d.len(), d[0].name.as_str(), d[0].values.clone()),
        (1, "threshold", ["0.75".into(), "0.7".into()])
    );
    b.launches[0].launch.args[0].after = Some(3);
    assert_eq!(compare(&a, &b).verdict, Verdict::Differs);
    b.launches[0].launch.block.x = 16;
    assert_eq!(compare(&a, &b).verdict, Verdict::Differs);
    // Another block is no difference if all memory is known and equal.
    b.launches[0].launch.args[0].after = Some(2);
    let r = compare(&a, &b);
    assert_eq!((r.verdict, r.launches[0].digests_agree), (Verdict::Same, true));
    assert!(r.launches[0].notes[0].contains("other grid or block"), "{:?}", r.launches[0].notes);
    b.launches[0].launch.args[0].after = None;
    assert_eq!(compare(&a, &b).verdict, Verdict::Differs);
}

#[test]
fn threads_do_not_matter() {
    let a = run(64, &[5, 3], |_, _, _| {});
    let b = run(64, &[5, 3], |w, l, h| {
        if crate::toy::mix(w * 32 + u64::from(l)).is_multiple_of(5) {
            h.flips.push((SiteId(1 + (l % 2) as u32 * 8), if l % 2 == 0 { vec![w % 5] } else { vec![] }));
            h.adds.push((INNER, vec![4], u64::from(l)));
        }
    });
    let first = compare(&a, &b);
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| compare(&a, &b)), first);
    }
}

/// Frames are unpacked in parallel, and the first damaged frame is reported.
#[test]
fn frames_of_a_file() {
    let a = run(1500, &[5, 3], |_, _, _| {});
    let b = run(1500, &[5, 3], |w, l, h| {
        if w % 97 == 0 && l == 4 {
            h.flips.push((SiteId(1), vec![1]));
        }
    });
    let file = |t: &Trace| {
        let mut bytes = Vec::new();
        t.write(&mut bytes).unwrap();
        bytes
    };
    let (fa, mut fb) = (file(&a), file(&b));
    assert_eq!(compare(&Trace::read(&fa).unwrap(), &Trace::read(&fb).unwrap()), compare(&a, &b));
    for at in [fb.len() * 9 / 10, fb.len() / 2] {
        fb[at] ^= 1;
    }
    let (fa, fb) = (Trace::read(&fa).unwrap(), Trace::read(&fb).unwrap());
    let damaged = |i: usize| fb.launches[0].streams.frame(i).is_err();
    assert_eq!((0..6).filter(|i| damaged(*i)).count(), 2, "two frames are damaged");
    let first = (0..6).find(|i| damaged(*i)).unwrap() * 256;
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let e = pool.install(|| diff(&fa, &fb, &DiffOptions::default())).unwrap_err();
        assert!(e.to_string().contains(&format!("frame of warp{first}:")), "{e}");
    }
}

/// A second version of the source with one more line at the top and another file name. Sites keep their keys.
fn edited(m: &Module) -> Module {
    let mut m = m.clone();
    m.name = "edited".into();
    m.files[0].path = "edited.cu".into();
    let text = m.files[0].text.take().unwrap();
    m.files[0].text = Some(format!("// a new line\n{text}"));
    m.locs.iter_mut().for_each(|l| l.line += 1);
    // Something that decoding does not see, but that makes the programs unequal.
    m.functions[0].slots += 1;
    m
}

#[test]
fn an_edited_source_still_matches() {
    let a = run(2, &[5, 3], |_, _, _| {});
    let mut b = run(2, &[5, 3], |w, l, h| {
        if (w, l) == (1, 2) {
            h.flips.push((SiteId(1), vec![2]));
        }
    });
    b.modules[0] = edited(&b.modules[0]);
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, id(f), f.warp.warp), (FindingKind::Branch, Some(1), 1));
    let lines = f.site.clone().map(|s| s.and_then(|s| s.location).map(|l| (l.file, l.line)));
    assert_eq!(lines, [Some(("toy.cu".into(), 2)), Some(("edited.cu".into(), 3))]);
    assert_eq!(r.launches[0].coverage.sites[0].unmatched, 0);
}

/// A kernel with another template argument still matches. Its name is reported and decides nothing.
#[test]
fn a_kernel_with_other_template_arguments_still_matches() {
    let called = |name: &str, flip: bool| {
        let mut t = run(2, &[5, 3], |w, l, h| {
            if flip && (w, l) == (1, 2) {
                h.flips.push((SiteId(1), vec![2]));
            }
        });
        t.modules[0].functions[0].name = name.into();
        t
    };
    let (float, double) = ("_Z5scaleIfEvPT_", "_Z5scaleIdEvPT_");
    let r = compare(&called(float, false), &called(double, false));
    assert_eq!((r.verdict, r.launches.len(), r.unpaired.len()), (Verdict::Same, 1, 0));
    let [d] = &r.launches[0].differences[..] else { panic!("{:?}", r.launches[0].differences) };
    assert_eq!((d.what, &d.name[..]), (LaunchPart::Code, "kernel"));
    assert_eq!(d.values, ["scale<float>", "scale<double>"]);
    let r = compare(&called(float, false), &called(double, true));
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((r.verdict, f.kind, id(f), f.warp.warp), (Verdict::Differs, FindingKind::Branch, Some(1), 1));
    // Another kernel is another kernel; and one of several may be any.
    let r = compare(&called(float, false), &called("_Z6reduceIfEvPT_", false));
    assert_eq!((r.verdict, r.launches.len(), r.unpaired.len()), (Verdict::Differs, 0, 2));
    let mut both = called(double, false);
    both.modules.extend(called("_Z5scaleIiEvPT_", false).modules);
    both.launches.extend(both.launches.clone());
    both.launches[1].launch.module = ModuleId(1);
    let r = compare(&called(float, false), &both);
    assert_eq!((r.launches.len(), r.unpaired.len()), (0, 3));
}

/// Level `path` does not tell what a kernel stores.
#[test]
fn memory_that_nothing_tells_is_a_gap() {
    let [known, mut unknown] = [(); 2].map(|()| run(4, &[5, 3], |_, _, _| {}));
    unknown.launches[0].launch.args.clear();
    assert_eq!(compare(&known, &known).verdict, Verdict::Same);
    let mut report = compare(&unknown, &unknown);
    let launch = &mut report.launches[0];
    assert_eq!(launch.verdict, Verdict::Unknown);
    assert!(launch.gaps[0].contains("what the kernel stored was not compared"), "{:?}", launch.gaps);
    launch.memory_was_compared();
    launch.conclude();
    assert_eq!(launch.verdict, Verdict::Same);
    // A kernel that stores nothing leaves nothing.
    for site in unknown.modules[0].sites.iter_mut().filter(|s| s.class == SiteClass::Store) {
        site.class = SiteClass::Load;
    }
    assert_eq!(compare(&unknown, &unknown).verdict, Verdict::Same);
}

/// Two builds with other CTA sizes or grids distribute the work differently: lanes are not compared, and the
/// report says why.
#[test]
fn lanes_with_other_shares_do_not_compare() {
    let mut a = run(4, &[5, 3], |_, _, _| {});
    // Equal memory would make them the same.
    a.launches[0].launch.args.clear();
    let flipped = |w: u64, l: u8, h: &mut Hashed| {
        if (w, l) == (1, 2) {
            h.flips.push((SiteId(1), vec![2]));
        }
    };
    let launched = |built: bool, warps: u64, grid: u32, block: u32| {
        let mut b = run(warps, &[5, 3], flipped);
        if built {
            b.modules[0] = edited(&b.modules[0]);
        }
        (b.launches[0].launch.grid.x, b.launches[0].launch.block.x) = (grid, block);
        b
    };
    let (grid, block) = (a.launches[0].launch.grid.x, a.launches[0].launch.block.x);
    let check = |b: &Trace, findings: usize, why: &str| {
        let r = compare(&a, b);
        let l = &r.launches[0];
        assert_eq!((r.verdict, l.findings.len()), (Verdict::Differs, findings), "{why}");
        assert_eq!(
            l.gaps.iter().any(|g| g.contains("so their threads do not correspond")),
            findings == 0,
            "{:?}",
            l.gaps
        );
        assert!(l.gaps.iter().any(|g| g.contains(why)) == (findings == 0), "{why}: {:?}", l.gaps);
        assert_eq!(l.coverage.warps.missing == l.coverage.warps.total, findings == 0);
    };
    // One build, as many threads in all: by their number.
    check(&launched(false, 4, grid / 2, block * 2), 1, "nothing");
    check(
        &launched(true, 4, grid / 2, block * 2),
        0,
        &format!("CTAs have {block} threads in A and {} in B", block * 2),
    );
    check(
        &launched(false, 8, grid, block * 2),
        0,
        &format!("CTAs have {block} threads in A and {} in B", block * 2),
    );
    check(&launched(true, 4, grid, block), 1, "nothing");
    // How much shared memory a build wants is part of how it was built.
    let known = run(4, &[5, 3], |_, _, _| {});
    let shared = |a: &Trace, digest: u128| {
        let mut b = run(4, &[5, 3], |_, _, _| {});
        b.modules[0].digest = digest;
        b.launches[0].launch.shared = 4096;
        let r = compare(a, &b);
        (r.verdict, r.launches[0].differences[0].what)
    };
    let digest = known.modules[0].digest;
    assert_eq!(shared(&a, digest), (Verdict::Differs, LaunchPart::Geometry));
    assert_eq!(shared(&known, digest + 1), (Verdict::Same, LaunchPart::Code));
}

/// A launch of a kernel with this name, of which one lane takes another branch if `flip`.
fn called(name: &str, flip: bool) -> Trace {
    let mut t = run(2, &[5, 3], |w, l, h| {
        if flip && (w, l) == (1, 2) {
            h.flips.push((SiteId(1), vec![2]));
        }
    });
    t.modules[0].functions[0].name = name.into();
    t
}

/// Launches of kernels with these names, of which one may take another branch.
fn all_called(names: &[&str], flip: Option<usize>) -> Trace {
    let mut all = called(names[0], flip == Some(0));
    for (i, name) in names.iter().enumerate().skip(1) {
        let mut one = called(name, flip == Some(i));
        one.launches[0].launch.module = ModuleId(i as u32);
        all.modules.extend(one.modules);
        all.launches.extend(one.launches);
    }
    all
}

/// Kernels with different names match if the user forces it. The verdict is then never `same`.
#[test]
fn kernels_of_other_names_compare_by_force() {
    let force =
        |a: &Trace, b: &Trace| diff(a, b, &DiffOptions { force: true, ..DiffOptions::default() }).unwrap();
    let a = called("before", false);
    for edit in [false, true] {
        let other = |flip: bool| {
            let mut b = called("after", flip);
            if edit {
                b.modules[0] = edited(&b.modules[0]);
            }
            b
        };
        let r = force(&a, &other(false));
        assert_eq!((r.verdict, r.launches.len(), r.unpaired.len()), (Verdict::Unknown, 1, 0));
        let gap = "`before` and `after` have different names, and are compared as one kernel";
        assert_eq!(
            (&r.launches[0].gaps[..], &r.launches[0].differences[0].values),
            (&[gap.to_owned()][..], &["before".into(), "after".into()])
        );
        assert_eq!(r.launches[0].coverage.sites[0].unmatched, 0);
        let r = force(&a, &other(true));
        let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
        assert_eq!(
            (r.verdict, f.kind, id(f), f.warp.warp),
            (Verdict::Differs, FindingKind::Branch, Some(1), 1)
        );
    }
    // Names that pair are not torn apart; what is left pairs in the order of launching.
    let r = force(&all_called(&["x", "y", "z"], None), &all_called(&["z", "v", "w"], None));
    let pairs: Vec<_> = r.launches.iter().map(|l| (&l.kernel[..], l.launch)).collect();
    assert_eq!((pairs, r.unpaired.len()), (vec![("x", [0, 1]), ("y", [1, 2]), ("z", [2, 0])], 0));
    assert_eq!(r.launches[2].verdict, Verdict::Same);
}

/// Libraries choose kernels by time. Other kernels in one place are no difference if none of the later
/// launches, of which there are some, differs.
#[test]
fn other_kernels_in_one_place_are_no_difference_yet() {
    let verdict = |b: &str, flip, strict| {
        let options = DiffOptions { strict, ..DiffOptions::default() };
        let [a, b] = [("xgyhz", None), (b, flip)].map(|(names, flip)| {
            let names: Vec<String> = names.chars().map(String::from).collect();
            all_called(&names.iter().map(String::as_str).collect::<Vec<_>>(), flip)
        });
        let [r, back] = [[&a, &b], [&b, &a]].map(|[a, b]| diff(a, b, &options).unwrap());
        assert_eq!(r.verdict, back.verdict);
        (r.verdict, r.gaps.len(), r.unpaired.iter().filter(|u| u.replaced).count())
    };
    assert_eq!(verdict("xgyhz", None, false), (Verdict::Same, 0, 0));
    assert_eq!(verdict("xpyqz", None, false), (Verdict::Unknown, 1, 4));
    assert_eq!(verdict("xpqyhz", None, false), (Verdict::Unknown, 1, 3));
    assert_eq!(verdict("xpyqz", None, true), (Verdict::Differs, 0, 0));
    // A later launch that was not recorded.
    let [a, mut b] = [&["x", "g", "z"], &["x", "p", "z"]].map(|names| all_called(names, None));
    b.launches[2].launch.skipped = Some("no room".into());
    assert_eq!(compare(&a, &b).verdict, Verdict::Unknown);
    // Nothing is in its place, a later launch differs, and no launch is later.
    assert_eq!(verdict("xyhz", None, false), (Verdict::Differs, 0, 0));
    assert_eq!(verdict("xpyhz", Some(4), false), (Verdict::Differs, 0, 2));
    assert_eq!(verdict("xgyhp", None, false), (Verdict::Differs, 0, 2));
}

/// In a warp of 64 lanes, the hashes of the warp say what differs, and two entries of signatures say where.
#[test]
fn fingerprints_of_wide_warps_name_their_lanes() {
    let m = module(&toy());
    let make = |lanes: &[usize]| {
        let mut signatures = [1u8; 64];
        lanes.iter().for_each(|l| signatures[*l] = 2);
        let words: Vec<u64> = signatures.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        let loaded = if lanes.is_empty() { 3 } else { 9 };
        let hashes = [vec![[1, loaded, 3, 0]], words.as_chunks().0.to_vec()].concat();
        let lanes = Lanes::Fingerprint { checkpoints: vec![], ends: vec![0; 64], hashes };
        let warp = WarpStream { warp: WarpId(0), dropped: 0, lanes };
        let mut t = trace(m.clone(), vec![warp]);
        let launch = &mut t.launches[0].launch;
        (launch.level, launch.warp_size) = (Level::Fingerprint, WarpSize::W64);
        (launch.grid, launch.block) = (Dim3::default(), Dim3 { x: 64, ..Dim3::default() });
        t
    };
    let (a, b) = (make(&[]), make(&[3, 40, 63]));
    assert_eq!(compare(&a, &a).verdict, Verdict::Same);
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, f.lanes), (FindingKind::Value, LaneMask(1 << 3 | 1 << 40 | 1 << 63)));
    assert_eq!(f.hashes.as_ref().unwrap().differ, [false, true, false, false]);
    assert_eq!(r.launches[0].warp_size, WarpSize::W64);
    assert_eq!(r.launches[0].coverage.lanes.total, 64);
}

#[test]
fn fingerprints_are_searched() {
    let m = module(&toy());
    let warp = |changed: bool| WarpStream {
        warp: WarpId(0),
        dropped: 0,
        lanes: Lanes::Fingerprint {
            checkpoints: (0..64u64).map(|i| if changed && i >= 41 { i + 1000 } else { i + 1 }).collect(),
            ends: (1..=32).map(|_| 64).collect(),
            hashes: (0..32).map(|l| [l + 1, 2, if changed && l == 0 { 9 } else { 3 }, 4]).collect(),
        },
    };
    let make = |changed| {
        let mut t = trace(m.clone(), vec![warp(changed)]);
        t.launches[0].launch.level = Level::Fingerprint;
        t
    };
    let (a, b) = (make(false), make(true));
    assert_eq!(compare(&a, &a).verdict, Verdict::Same);
    let r = compare(&a, &b);
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    let h = f.hashes.as_ref().unwrap();
    assert_eq!((f.kind, f.lanes, h.checkpoint), (FindingKind::Value, LaneMask(1), Some(41)));
    assert_eq!(h.differ, [false, false, true, false]);
}

/// Equal hashes say nothing of decisions by arithmetic that another device may round otherwise.
#[test]
fn decisions_that_follow_from_hashes_do_so_on_one_device() {
    let m = module(&toy());
    let make = |device: &str, source| {
        let hashes = (1..=32).map(|l| [l, 2, 3, 4]).collect();
        let lanes = Lanes::Fingerprint { checkpoints: vec![], ends: vec![0; 32], hashes };
        let mut t = trace(m.clone(), vec![WarpStream { warp: WarpId(0), dropped: 0, lanes }]);
        let decision = t.modules[0].sites.iter_mut().find(|s| s.source != Source::None).unwrap();
        decision.source = source;
        let launch = &mut t.launches[0].launch;
        (launch.level, launch.device) = (Level::Fingerprint, device.to_owned());
        t
    };
    let verdict = |of: [&str; 2], source| compare(&make(of[0], source), &make(of[1], source)).verdict;
    assert_eq!(verdict(["H100", "H100"], Source::Follows), Verdict::Same);
    assert_eq!(verdict(["H100", "H200"], Source::Computed), Verdict::Same);
    assert_eq!(verdict(["H100", "H200"], Source::Follows), Verdict::Unknown);
}

/// The events of a warp in lockstep, from its lanes' runs, which must have equal lengths.
fn events(lanes: &[Lived], m: &Module) -> WarpStream {
    let mut out: Vec<Event> = Vec::new();
    let longest = lanes.iter().map(|l| l.visits.len()).max().unwrap_or(0);
    for i in 0..longest {
        let mut by_site: std::collections::BTreeMap<SiteId, Event> = Default::default();
        for (l, lane) in lanes.iter().enumerate() {
            let Some((site, value)) = lane.visits.get(i) else { continue };
            let e = by_site.entry(*site).or_insert(Event { site: *site, ..Event::default() });
            e.mask.insert(Lane(l as u8));
            if m.sites[site.index()].class != SiteClass::Store {
                e.value |= value << l;
            }
        }
        out.extend(by_site.into_values());
    }
    WarpStream { warp: WarpId(0), dropped: 0, lanes: Lanes::Events(out) }
}

/// A warp that stays converged is compared by one lane. Lanes that are looked at one by one, since one event
/// was split on both sides, must give the same.
#[test]
fn a_converged_warp_is_compared_as_its_lanes_are() {
    let toy = toy();
    let m = module(&toy);
    let run = |flips: &[(u32, u64)], stored: Option<usize>| {
        let lane = |l| {
            let mut h = Hashed::new(1, &[9, 3]);
            h.flips.extend(flips.iter().map(|(site, visit)| (SiteId(*site), vec![*visit])));
            live(&toy, l, &mut h)
        };
        let mut warp = events(&(0..32).map(lane).collect::<Vec<_>>(), &m);
        let Lanes::Events(all) = &mut warp.lanes else { panic!() };
        all.iter_mut().enumerate().for_each(|(i, e)| e.clock = 10 + i as u32);
        let stores = all.iter_mut().filter(|e| m.sites[e.site.index()].class == SiteClass::Store);
        stored.and_then(|n| stores.into_iter().nth(n)).into_iter().for_each(|e| e.value = 77);
        warp
    };
    let make = |mut warp: WarpStream, split: bool| {
        let Lanes::Events(all) = &mut warp.lanes else { panic!() };
        if split {
            let last = all.pop().unwrap();
            let half = |mask: u64| Event { mask: LaneMask(mask), value: last.value & mask, ..last };
            all.extend([half(0xffff), half(0xffff_0000)]);
        }
        let mut t = trace(m.clone(), vec![warp]);
        t.launches[0].launch.level = Level::Events;
        t
    };
    for (flips, stored) in
        [(&[][..], Some(3)), (&[(1, 2)], None), (&[(1, 2), (1, 5)], Some(0)), (&[(1, 7)], Some(5))]
    {
        let pair = |split| compare(&make(run(&[], None), split), &make(run(flips, stored), split));
        let (whole, lanes) = (pair(false), pair(true));
        assert!(!findings(&whole).is_empty());
        assert_eq!(format!("{:#?}", findings(&whole)), format!("{:#?}", findings(&lanes)));
        assert_eq!(whole.launches[0].coverage.lanes, lanes.launches[0].coverage.lanes);
    }
}

#[test]
fn events_show_masks_that_differ_on_their_own() {
    let toy = toy();
    let m = module(&toy);
    let lanes: Vec<_> = (0..32).map(|l| live(&toy, l, &mut Hashed::new(l, &[4, 2]))).collect();
    let make = |w: WarpStream| {
        let mut t = trace(m.clone(), vec![w]);
        t.launches[0].launch.level = Level::Events;
        t
    };
    let a = make(events(&lanes, &m));
    assert_eq!(compare(&a, &a).verdict, Verdict::Same);
    // One visit of all lanes becomes two of half of them.
    let mut split = events(&lanes, &m);
    let Lanes::Events(e) = &mut split.lanes else { panic!() };
    let (mut x, mut y) = (e[0], e[0]);
    (x.mask, y.mask) = (LaneMask(0xffff), LaneMask(0xffff_0000));
    e.splice(0..1, [x, y]);
    let split = make(split);
    // The schedule decides it: a note, unless asked for.
    let r = compare(&a, &split);
    assert_eq!((r.verdict, findings(&r).len()), (Verdict::Same, 0));
    let notes = &r.launches[0].notes;
    assert!(
        notes.iter().any(|n| n.contains("32 threads in 1 warp ran with other active lanes")),
        "{notes:?}"
    );
    let r = diff(&a, &split, &DiffOptions { strict: true, ..DiffOptions::default() }).unwrap();
    let [f] = findings(&r) else { panic!("{:#?}", findings(&r)) };
    assert_eq!((f.kind, id(f), f.lanes_total), (FindingKind::ActiveMask, Some(0), 32));
    // A lane that parts is a branch; the masks that lack it elsewhere follow.
    let mut flipped = lanes.clone();
    let mut h = Hashed::new(3, &[4, 2]);
    h.flips.push((SiteId(1), vec![1]));
    flipped[3] = live(&toy, 3, &mut h);
    let r = compare(&a, &make(events(&flipped, &m)));
    let got: Vec<_> = findings(&r).iter().map(|f| (f.kind, id(f), f.lanes)).collect();
    assert_eq!(got, [(FindingKind::Branch, Some(1), LaneMask(8))]);
}

proptest! {
    /// A few edits of one lane in different outer trips: each is found, and nothing else.
    #[test]
    fn edits_come_back(seed in 0u64..1000, edits in prop::collection::btree_map(0u64..30, 0u8..4, 1..4)) {
        let toy = toy();
        // Long inner loops, so that no two trips are alike by chance.
        let shape = [30, 20];
        let a = live(&toy, 0, &mut Hashed::new(seed, &shape));
        let mut h = Hashed::new(seed, &shape);
        let mut want = std::collections::BTreeMap::new();
        let mut last = 30;
        for (&trip, &what) in &edits {
            // Edits next to each other could be read in more than one way.
            if trip.abs_diff(last) < 3 && last < 30 || trip == 29 {
                continue;
            }
            last = trip;
            let key = match what {
                0 => { h.flips.push((SiteId(1), vec![trip])); (FindingKind::Branch, 1) }
                1 => { h.flips.push((SiteId(4), vec![trip, 1])); (FindingKind::Branch, 4) }
                2 => { h.adds.push((INNER, vec![trip], 2)); (FindingKind::Branch, INNER.0) }
                _ => { h.drops.push((OUTER, vec![], trip)); (FindingKind::ExtraEvents, 1) }
            };
            *want.entry(key).or_insert(0u64) += 1;
        }
        let b = live(&toy, 0, &mut h);
        let m = module(&toy);
        let r = compare(&trace(m.clone(), vec![stream(0, &[a])]), &trace(m, vec![stream(0, &[b])]));
        let got: std::collections::BTreeMap<_, _> =
            findings(&r).iter().map(|f| ((f.kind, f.shown().unwrap().id.0), f.count)).collect();
        prop_assert_eq!(got, want);
    }

    /// Damaged streams give an error or a verdict, never a panic.
    #[test]
    fn damage_does_not_panic(at in 0usize..400, with in any::<u32>(), cut in 0usize..40) {
        let a = run(2, &[4, 2], |_, _, _| {});
        let mut b = a.clone();
        let mut warps = b.launches[0].streams.frame(0).unwrap();
        let Lanes::Path { words, ends } = &mut warps[0].lanes else { panic!() };
        let n = words.len();
        words[at % n] = with;
        words.truncate(n - cut.min(n));
        ends[at % 32] ^= with & 7;
        b.launches[0].streams = prlx_trace::Streams::new(warps);
        let limits = prlx_analyze::DecodeLimits { steps: 1 << 20, ..Default::default() };
        let _ = diff(&a, &b, &DiffOptions { limits, ..DiffOptions::default() });
    }

    /// Damaged modules give an error or a verdict, never a panic.
    #[test]
    fn damaged_modules_do_not_panic(seed in any::<u64>()) {
        let a = run(1, &[3, 2], |_, l, h| if l == 1 { h.flips.push((SiteId(1), vec![1])) });
        let mut b = run(1, &[3, 2], |_, _, _| {});
        let mut n = seed;
        let mut random = |below: u64| {
            n = crate::toy::mix(n.wrapping_add(0x9e37_79b9));
            n % below
        };
        let m = &mut b.modules[0];
        for _ in 0..random(4) + 1 {
            let f = &mut m.functions[0];
            let block = random(f.blocks.len() as u64 + 1) as usize;
            let blocks = f.blocks.len() as u64;
            let to = prlx_trace::BlockId(random(blocks + 1) as u32);
            let at = block.min(f.blocks.len() - 1);
            match random(9) {
                0 => f.blocks[at].ipdom = Some(to),
                1 => f.blocks[at].in_loop = Some(prlx_trace::LoopId(random(4) as u32)),
                2 => f.blocks[at].end = End::Jump(to),
                3 => f.blocks[at].steps.clear(),
                4 => f.loops.truncate(random(3) as usize),
                5 => f.loops.iter_mut().skip(random(2) as usize).for_each(|l| l.header = to),
                6 => {
                    let sources = [Source::None, Source::Computed, Source::Bits(7)];
                    m.sites[random(8) as usize].source = sources[random(3) as usize]
                }
                7 => m.locs.truncate(random(4) as usize),
                _ => m.sites.iter_mut().for_each(|s| s.loc = Some(prlx_trace::LocId(77))),
            }
        }
        let limits = prlx_analyze::DecodeLimits { steps: 1 << 16, ..Default::default() };
        for (x, y) in [(&a, &b), (&b, &a), (&b, &b)] {
            let _ = diff(x, y, &DiffOptions { limits, ..DiffOptions::default() });
        }
    }
}
