//! Recordings of PRLX 0.x: one finding for one difference, and never `same` for what was not seen.

use std::collections::HashMap;

use prlx_analyze::report::{Finding, LaunchReport};
use prlx_analyze::{FindingKind, Verdict};
use prlx_legacy::compare::{Compared, Input, Options, SiteTable, compare, digest, pair};
use prlx_legacy::v1::{
    Event, File, Flags, Head, Header, HistoryEntry, Ring, SessionEntry, SiteEntry, Snapshot, Writer,
};
use prlx_trace::Dim3;
use proptest::prelude::*;

const ALL: u32 = u32::MAX;
const ROOM: u32 = 4096;

fn branch(site: u32, dir: u8) -> Event {
    Event { site, dir, mask: ALL, ..Event::default() }
}

fn of_lanes(site: u32, mask: u32) -> Event {
    Event { site, mask, ..Event::default() }
}

/// A file to be, with what tests change.
#[derive(Clone)]
struct Made {
    header: Header,
    warps: Vec<(Head, Vec<Event>)>,
    histories: Vec<Ring<HistoryEntry>>,
    snapshots: Vec<Ring<Snapshot>>,
}

fn made(warps: &[Vec<Event>]) -> Made {
    let mut header = Header {
        warps: warps.len() as u32,
        warps_per_block: 1,
        events_per_warp: ROOM,
        grid: Dim3 { x: warps.len() as u32, y: 1, z: 1 },
        block: Dim3 { x: 32, y: 1, z: 1 },
        arch: 90,
        ..Header::default()
    };
    header.set_kernel("kernel");
    let head = |e: &Vec<Event>| Head { write_idx: e.len() as u32, events: e.len() as u32, ..Head::default() };
    let warps = warps.iter().map(|e| (head(e), e.clone())).collect();
    Made { header, warps, histories: Vec::new(), snapshots: Vec::new() }
}

impl Made {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(Vec::new(), &self.header).unwrap();
        self.warps.iter().for_each(|(head, events)| out.warp(*head, events).unwrap());
        self.histories.iter().for_each(|r| out.history(r).unwrap());
        self.snapshots.iter().for_each(|r| out.snapshots(r).unwrap());
        out.finish().unwrap()
    }
}

fn try_files(a: &Made, b: &Made, options: &Options, tables: [&SiteTable; 2]) -> Result<Compared, String> {
    let (ba, bb) = (a.bytes(), b.bytes());
    let (fa, fb) = (File::open(&ba).unwrap(), File::open(&bb).unwrap());
    let renamed = [HashMap::new(), tables[1].to(tables[0])];
    let input =
        |file, side: usize| Input { file, sites: tables[side], renamed: &renamed[side], done: &|_| () };
    compare([&input(&fa, 0), &input(&fb, 1)], [0, 0], options).map_err(|e| e.to_string())
}

fn files(a: &Made, b: &Made, options: &Options) -> Compared {
    let none = SiteTable::default();
    try_files(a, b, options, [&none, &none]).unwrap()
}

fn diff(a: &[Event], b: &[Event]) -> Compared {
    files(&made(&[a.to_vec()]), &made(&[b.to_vec()]), &Options { listed: 100, ..Options::default() })
}

fn one(c: &Compared) -> &Finding {
    assert_eq!(c.launch.findings.len(), 1, "{:#?}", c.launch.findings);
    &c.launch.findings[0]
}

/// Trips of a loop: a head, a body that differs from trip to trip, an inner loop of 0 to 3 trips, a tail.
fn looped(trips: impl IntoIterator<Item = u32>) -> Vec<Event> {
    let mut out = vec![branch(1, 0)];
    for t in trips {
        out.extend([branch(10, 1), branch(11, (t * 7 % 5 == 0) as u8)]);
        if t * 7 % 5 == 0 {
            out.push(branch(12, 1));
        }
        (0..t % 4).for_each(|i| out.extend([branch(20, 1), branch(21, (i ^ t) as u8 & 1)]));
        out.extend([branch(20, 0), branch(13, 0)]);
    }
    out.extend([branch(10, 0), branch(2, 0)]);
    out
}

#[test]
fn a_dropped_trip_is_one_finding() {
    let a = looped(0..200);
    let b = looped((0..200).filter(|t| *t != 57));
    let c = diff(&a, &b);
    let f = one(&c);
    assert_eq!((f.kind, f.side, f.extra_trips), (FindingKind::ExtraEvents, Some(0), [1, 0]));
    assert_eq!((f.trips[0].trip, f.trips[0].trips), ([57, 57], [201, 200]));
    assert_eq!(c.launch.verdict, Verdict::Differs);
    let back = diff(&b, &a);
    assert_eq!((one(&back).side, one(&back).extra_trips), (Some(1), [0, 1]));
}

#[test]
fn after_a_difference_the_rest_is_compared() {
    let a = looped(0..200);
    let mut b = looped((0..200).filter(|t| *t != 57));
    b.last_mut().unwrap().dir = 1;
    b[2].dir ^= 1;
    let c = diff(&a, &b);
    let found: Vec<_> = c.launch.findings.iter().map(|f| (f.kind, f.position)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0].0, FindingKind::Branch);
    assert!(found.contains(&(FindingKind::Branch, a.len() as u64 - 1)));
}

/// Even if so many trips differ that no smallest edit is looked for.
#[test]
fn a_dropped_trip_among_many_flips() {
    let a = looped(0..1000);
    let mut b = looped((0..1000).filter(|t| *t != 570));
    let mut n = 0;
    for e in b.iter_mut().filter(|e| e.site == 13) {
        n += 1;
        e.dir = u8::from(n % 2 == 0);
    }
    let c = files(
        &Made { header: Header { events_per_warp: 16384, ..made(&[vec![]]).header }, ..made(&[a]) },
        &Made { header: Header { events_per_warp: 16384, ..made(&[vec![]]).header }, ..made(&[b]) },
        &Options::default(),
    );
    let kinds: Vec<_> = c.launch.findings.iter().map(|f| (f.kind, f.count, f.extra_trips)).collect();
    assert_eq!(kinds, [(FindingKind::Branch, 499, [0, 0]), (FindingKind::ExtraEvents, 1, [1, 0])]);
}

#[test]
fn what_follows_from_a_decision_is_no_finding() {
    let a = [branch(1, 1), branch(2, 0), branch(3, 0), branch(9, 0), branch(5, 0)];
    let b = [branch(1, 0), branch(7, 0), branch(9, 0), branch(5, 1)];
    let c = diff(&a, &b);
    let found: Vec<_> = c.launch.findings.iter().map(|f| (f.kind, f.position, f.follows)).collect();
    assert_eq!(found, [(FindingKind::Branch, 0, [2, 1]), (FindingKind::Branch, 4, [0, 0])]);
    assert_eq!((c.launch.findings[0].values, c.launch.findings[0].ways), (Some([1, 0]), [1, 0]));
    assert_eq!((c.launch.findings[0].roots, c.launch.findings[1].roots), (32, 0));
}

#[test]
fn a_loop_that_goes_on_is_its_decision() {
    let trips = |n: usize| {
        let mut out: Vec<Event> = (0..n).flat_map(|i| [branch(10, 1), branch(11, i as u8 & 1)]).collect();
        out.extend([branch(10, 0), branch(2, 0)]);
        out
    };
    let c = diff(&trips(5), &trips(8));
    let f = one(&c);
    assert_eq!(
        (f.kind, f.values, f.follows, f.extra_trips),
        (FindingKind::Branch, Some([0, 1]), [0, 6], [0, 3])
    );
    // The same where the decision stands at the loop's end.
    let trips = |n: usize| -> Vec<Event> {
        let mut out: Vec<Event> = (1..=n).flat_map(|i| [branch(11, 0), branch(10, (i < n) as u8)]).collect();
        out.push(branch(2, 0));
        out
    };
    let c = diff(&trips(5), &trips(8));
    assert_eq!((one(&c).kind, one(&c).position, one(&c).extra_trips), (FindingKind::Branch, 9, [0, 3]));
}

#[test]
fn fragments_in_another_order_are_the_same() {
    let (lo, hi) = (0xffff, 0xffff_0000);
    let a = [branch(1, 1), of_lanes(2, lo), of_lanes(3, lo), of_lanes(4, hi), branch(5, 0)];
    let b = [branch(1, 1), of_lanes(4, hi), of_lanes(2, lo), of_lanes(3, lo), branch(5, 0)];
    assert_eq!(diff(&a, &b).launch.verdict, Verdict::Same);
    // The position of a difference is where it was recorded.
    let mut c = b;
    c[1].dir = 1;
    let d = diff(&a, &c);
    let f = one(&d);
    assert_eq!((f.kind, f.position, f.lanes.0), (FindingKind::Branch, 3, u64::from(hi)));
    // Lanes that do the same in other company are one finding.
    let apart = [of_lanes(1, lo), of_lanes(2, lo), of_lanes(1, hi), of_lanes(2, hi)];
    let together = [of_lanes(1, ALL), of_lanes(2, ALL)];
    assert_eq!(one(&diff(&together, &apart)).kind, FindingKind::ActiveMask);
}

#[test]
fn everything_in_an_event_counts() {
    let base = Event { site: 5, kind: 2, mask: ALL, value: 7, result: 9, dir: 0 };
    let kind_of = |e: Event| -> Vec<FindingKind> {
        diff(&[base], &[e]).launch.findings.iter().map(|f| f.kind).collect()
    };
    assert_eq!(kind_of(Event { site: 6, ..base }), [FindingKind::Path]);
    assert_eq!(kind_of(Event { kind: 6, ..base }), [FindingKind::Path]);
    assert_eq!(kind_of(Event { mask: 0x7fff_ffff, ..base }), [FindingKind::ActiveMask]);
    assert_eq!(kind_of(Event { result: 8, ..base }), [FindingKind::Value]);
    let switch = Event { kind: 5, ..base };
    assert_eq!(one(&diff(&[switch], &[Event { dir: 1, ..switch }])).kind, FindingKind::Branch);
    assert_eq!(one(&diff(&[switch], &[Event { value: 8, ..switch }])).values, Some([7, 8]));
    // Values count only with the option; a gap reports them without it.
    let other = Event { value: 8, ..base };
    let c = diff(&[base], &[other]);
    assert_eq!((c.launch.verdict, c.launch.differences.len()), (Verdict::Same, 1));
    let values = Options { values: true, ..Options::default() };
    assert_eq!(one(&files(&made(&[vec![base]]), &made(&[vec![other]]), &values)).kind, FindingKind::Value);
}

fn verdict(a: &Made, b: &Made) -> (Verdict, Vec<String>) {
    let LaunchReport { verdict, gaps, .. } = files(a, b, &Options::default()).launch;
    (verdict, gaps)
}

#[test]
fn what_was_not_seen_is_unknown() {
    let good = made(&[looped(0..9), looped(0..5)]);
    assert_eq!(verdict(&good, &good), (Verdict::Same, vec![]));
    let check = |change: &dyn Fn(&mut Made), gap: &str| {
        let mut bad = good.clone();
        change(&mut bad);
        for (a, b) in [(&bad, &bad), (&good, &bad), (&bad, &good)] {
            let (verdict, gaps) = verdict(a, b);
            let alike = a.header == b.header && gap.contains("section");
            assert!(alike || verdict == Verdict::Unknown, "{gap}");
            assert!(alike || gaps.iter().any(|g| g.contains(gap)), "{gap}: {gaps:?}");
        }
    };
    check(&|m| m.warps[1].0.overflow = 3, "3 events were lost in ");
    check(&|m| m.warps[1].0.total = m.warps[1].0.events + 1, "1 event was lost");
    check(&|m| m.header.sample_rate = 4, "is sampled: one event in 4");
    check(&|m| m.header.flags.0 |= Flags::SAMPLED, "is sampled");
    let section = |m: &mut Made| {
        m.header.flags.0 |= Flags::HISTORY;
        m.header.history_depth = 1;
        m.histories = vec![Ring::default(); 2];
    };
    check(&section, "has a section of values");
    let empty = made(&[vec![], vec![]]);
    assert_eq!(verdict(&empty, &empty).0, Verdict::Unknown);
    let mut more = good.clone();
    more.header.grid = Dim3::default();
    let mut fewer = more.clone();
    fewer.header.warps = 1;
    fewer.warps.pop();
    assert_eq!(
        verdict(&more, &fewer),
        (Verdict::Unknown, vec!["1 warp was not recorded on both sides".into()])
    );
    // Another grid is a difference; the warps that both have are compared.
    let mut grid = good.clone();
    grid.header.grid = Dim3 { x: 1, y: 2, z: 1 };
    assert_eq!(verdict(&good, &grid).0, Verdict::Differs);
}

#[test]
fn filters_leave_gaps_and_match_something() {
    let (a, mut b) = (made(&[looped(0..9), looped(0..5)]), made(&[looped(0..9), looped(0..5)]));
    b.warps[1].1[3].dir ^= 1;
    let none = SiteTable::default();
    let with = |options: Options| try_files(&a, &b, &options, [&none, &none]);
    let of = |options| with(options).map(|c| c.launch.verdict);
    assert_eq!(of(Options { warps: vec![(0, 0)], ..Options::default() }), Ok(Verdict::Unknown));
    assert_eq!(of(Options { warps: vec![(1, 1)], ..Options::default() }), Ok(Verdict::Differs));
    assert!(
        of(Options { warps: vec![(2, 9)], ..Options::default() }).unwrap_err().contains("matches nothing")
    );
    assert_eq!(of(Options { kinds: vec![FindingKind::Value], ..Options::default() }), Ok(Verdict::Unknown));
    assert_eq!(of(Options { sites: vec![11], ..Options::default() }), Ok(Verdict::Unknown));
    assert!(of(Options { sites: vec![99], ..Options::default() }).unwrap_err().contains("0x00000063"));
    let mut other = a.clone();
    other.header.set_kernel("another");
    assert!(try_files(&a, &other, &Options::default(), [&none, &none]).unwrap_err().contains("--force"));
    let forced = Options { force: true, ..Options::default() };
    let named = files(&a, &other, &forced).launch.verdict;
    assert_eq!(named, Verdict::Same, "--force compares, whatever the names");
    other.warps[0].1[2].kind = 7;
    let refused = try_files(&a, &other, &forced, [&none, &none]).err().unwrap();
    assert!(refused.contains("event 2 of warp 0 in B has kind 7"), "{refused}");
    let partly = files(&a, &b, &Options { warps: vec![(0, 1), (9, 9)], ..Options::default() }).launch;
    assert_eq!(partly.verdict, Verdict::Differs);
    assert!(
        partly.notes.contains(&"--warps names warp 9; the launch has 2".to_owned()),
        "{:?}",
        partly.notes
    );
}

/// What is shown is what was compared at the visit that differs, not at the site's last one.
#[test]
fn evidence_is_of_the_visit_that_differs() {
    let run = |flip: Option<u32>, first: u32| {
        let mut m = made(&[(0..40).map(|i| branch(7, (Some(i) == flip) as u8)).collect()]);
        m.header.flags.0 |= Flags::SNAPSHOT | Flags::HISTORY;
        (m.header.snapshot_depth, m.header.history_depth) = (32, 32);
        let kept = first..40;
        let shot = |seq: u32| {
            let value = if Some(seq) == flip { 1000 } else { seq };
            Snapshot { site: 7, mask: ALL, seq, predicate: 40, lhs: [value; 32], rhs: [500; 32] }
        };
        m.snapshots =
            vec![Ring { written: 40, entries: kept.clone().map(shot).collect(), ..Ring::default() }];
        let value = |seq| HistoryEntry { site: 7, value: seq * 2, seq };
        m.histories = vec![Ring { written: 40, entries: kept.map(value).collect(), ..Ring::default() }];
        m
    };
    let c = files(&run(None, 8), &run(Some(20), 8), &Options::default());
    let f = one(&c);
    assert_eq!((f.kind, f.visit, f.position), (FindingKind::Branch, [Some(20), Some(20)], 20));
    let operands = f.operands.as_ref().unwrap();
    assert_eq!(operands.columns[0].name[0], "left of slt");
    let cell = &operands.rows[3].cells[0];
    assert_eq!((cell.bits, cell.shown[1].as_deref()), ([Some(20), Some(1000)], Some("1000")));
    assert_eq!(c.histories[0][0].last().map(|h| h.value), Some(40));
    assert_eq!(c.histories[0][0].len(), 8);
    // A ring whose head does not fit its entries is no evidence, and the gap names its offset.
    let mut lies = run(Some(20), 8);
    lies.snapshots[0].written = 41;
    let c = files(&run(None, 8), &lies, &Options::default());
    let bits = &one(&c).operands.as_ref().unwrap().rows[3].cells[0].bits;
    assert_eq!((bits, c.histories[0][1].len()), (&[Some(20), None], 8));
    let head = File::open(&lies.bytes()).unwrap().layout.snapshots.unwrap().at;
    assert_eq!(
        c.launch.gaps,
        [format!(
            "B's operands are not shown of 1 warp: at byte {}, snapshots[0].total_writes: 41, but its last entry has number 39",
            head + 8
        )]
    );
    assert_eq!(c.launch.verdict, Verdict::Differs);
    // A visit that the ring has forgotten has no evidence but its own event's.
    let c = files(&run(None, 8), &run(Some(3), 8), &Options::default());
    assert_eq!(one(&c).operands, None);
}

#[test]
fn packed_and_compact_files_compare_as_plain_ones() {
    let sites = |e: &Event| Event { site: e.site, ..*e };
    let (a, b) = (looped(0..50), looped((0..50).filter(|t| *t != 20)));
    let plain = |events: &[Event]| made(&[events.iter().map(sites).collect()]);
    let with = |mut m: Made, flag: u32| {
        m.header.flags.0 |= flag;
        m
    };
    let want = files(&plain(&a), &plain(&b), &Options::default()).launch.findings;
    for flag in [Flags::PACKED, Flags::COMPACT, Flags::PACKED | Flags::COMPACT] {
        let got = files(&with(plain(&a), flag), &with(plain(&b), flag), &Options::default());
        assert_eq!(got.launch.findings, want);
        assert_eq!(got.launch.verdict, Verdict::Differs);
        let mixed = files(&with(plain(&a), flag), &plain(&a), &Options::default());
        let sure = flag & Flags::COMPACT == 0;
        assert_eq!(mixed.launch.verdict, if sure { Verdict::Same } else { Verdict::Unknown });
    }
}

#[test]
fn sites_of_another_build_are_found_by_their_place() {
    let row = |site_id, line| SiteEntry {
        site_id,
        filename: "k.cu".into(),
        function: "k".into(),
        line,
        column: 3,
        event_type: 0,
        ordinal: 0,
    };
    let a = made(&[vec![branch(1, 0), branch(2, 0)]]);
    let b = made(&[vec![branch(101, 0), branch(102, 1)]]);
    let tables =
        [SiteTable::new(vec![row(1, 10), row(2, 11)]), SiteTable::new(vec![row(101, 10), row(102, 11)])];
    let c = try_files(&a, &b, &Options::default(), [&tables[0], &tables[1]]).unwrap();
    let f = one(&c);
    assert_eq!((f.kind, f.location().map(|l| l.line)), (FindingKind::Branch, Some(11)));
    let line = |side: usize| f.site[side].as_ref().unwrap().location.as_ref().map(|l| l.line);
    assert_eq!([line(0), line(1)], [Some(11), Some(11)]);
    // Compiled in another folder; but not where two places may be meant.
    let named = |id, line, filename: &str| SiteEntry { filename: filename.into(), ..row(id, line) };
    let table = |rows: &[SiteEntry]| SiteTable::new(rows.to_vec());
    let ours = table(&[named(1, 10, "/here/k.cu"), named(2, 11, "/here/k.cu"), named(3, 11, "/here/m/k.cu")]);
    let theirs = table(&[named(101, 10, "/there/k.cu"), named(102, 11, "/there/k.cu")]);
    assert_eq!(theirs.to(&ours), HashMap::from([(101, 1)]));
    assert!(ours.apart(&theirs) && !ours.apart(&ours) && !ours.apart(&SiteTable::default()));
}

#[test]
fn many_warps_are_one_finding() {
    let a: Vec<_> = (0..100).map(|_| looped(0..9)).collect();
    let b: Vec<_> = (0..100)
        .map(|w| {
            let mut e = looped(0..9);
            e[2].dir ^= u8::from(w % 3 == 0);
            e
        })
        .collect();
    let c = files(&made(&a), &made(&b), &Options { listed: 10, ..Options::default() });
    let f = one(&c);
    assert_eq!((f.warps_total, f.warp.warp, c.kinds, c.warps), (34, 0, [34, 0, 0, 0, 0], 34));
    assert_eq!(
        c.listed.iter().map(|d| d.warp).collect::<Vec<_>>(),
        (0..10).map(|i| i * 3).collect::<Vec<_>>()
    );
    let warps = &c.launch.coverage.warps;
    assert_eq!((warps.total, warps.equal, warps.compared), (100, 66, 34));
}

/// A trace without any event says nothing of what ran; a warp without one, in a trace that has some, did
/// nothing.
#[test]
fn nothing_recorded_is_unknown_and_a_warp_without_events_is_not() {
    let full = made(&[looped(0..9), looped(0..5)]);
    let empty = made(&[vec![], vec![]]);
    for (a, b, side) in [(&empty, &full, "A"), (&full, &empty, "B")] {
        let c = files(a, b, &Options { listed: 100, ..Options::default() });
        let l = &c.launch;
        assert_eq!((l.verdict, l.findings_total, c.kinds, c.listed.len()), (Verdict::Unknown, 0, [0; 5], 0));
        assert_eq!(l.gaps, [format!("{side} recorded no event: what it did is not known")]);
        assert_eq!((l.coverage.percent, l.coverage.warps.missing, l.coverage.warps.total), (0.0, 2, 2));
    }
    assert_eq!(verdict(&empty, &empty), (Verdict::Unknown, vec!["neither side recorded an event".into()]));
    // Where other warps have events, one without is one that did nothing; whatever a filter leaves of them.
    let half = made(&[looped(0..9), vec![]]);
    let c = files(&full, &half, &Options::default());
    assert_eq!((c.launch.verdict, c.launch.gaps.len(), c.warps), (Verdict::Differs, 0, 1));
    let only = Options { warps: vec![(1, 1)], ..Options::default() };
    assert_eq!(files(&full, &half, &only).launch.verdict, Verdict::Differs);
    assert_eq!(files(&full, &empty, &only).launch.verdict, Verdict::Unknown);
    // What was lost is not the same as what was not.
    let mut lost = empty.clone();
    lost.warps[0].0.overflow = 7;
    let gaps = verdict(&full, &lost).1;
    assert!(gaps[0].contains("B recorded no event") && gaps[1].contains("7 events were lost"), "{gaps:?}");
}

/// Findings beyond the limit are counted, and a gap says so.
#[test]
fn findings_beyond_the_room_are_said() {
    let warp = |from: u32, dir: u8| (from..from + 1100).map(|site| branch(site, dir)).collect::<Vec<_>>();
    let run = |dir: u8| made(&(0..5).map(|w| warp(w * 1100, dir)).collect::<Vec<_>>());
    let c = files(&run(0), &run(1), &Options { findings: usize::MAX, ..Options::default() });
    assert_eq!((c.launch.findings.len(), c.launch.findings_total, c.kinds[0]), (4096, 4096, 5500));
    let gap = "1404 differences are in findings beyond the limit: they are counted, but not listed";
    assert_eq!(c.launch.gaps, [gap]);
}

/// Pairs sessions of launches `k1`: of kernel `k`, with content 1. Gives how many were read, too.
fn paired(a: &str, b: &str) -> (Vec<[usize; 2]>, Vec<(u8, u64)>, usize) {
    let sides = [a, b].map(|text| {
        let entry = |(launch, word): (usize, &str)| SessionEntry {
            launch: launch as u32,
            kernel: word[..1].into(),
            file: word.into(),
            grid: [1; 3],
            block: [1; 3],
        };
        text.split_whitespace().enumerate().map(entry).collect::<Vec<_>>()
    });
    let mut read = 0;
    let digest = |side: usize, i: usize| {
        read += 1;
        let dir = sides[side][i].file[1..].parse::<u8>().unwrap();
        let bytes = made(&[vec![branch(1, dir)]]).bytes();
        digest(&File::open(&bytes).unwrap())
    };
    let (pairs, alone) = pair([&sides[0], &sides[1]], digest).unwrap();
    (pairs, alone.iter().map(|u| (u.side, u.launch)).collect(), read)
}

#[test]
fn launches_of_sessions_pair_by_the_smallest_edit() {
    assert_eq!(paired("x1 y1 x1", "y1 x1 z1"), (vec![[1, 0], [2, 1]], vec![(0, 0), (1, 2)], 3));
    // The second of four is the one that is not there: what was recorded of them tells.
    assert_eq!(paired("x1 x0 x1 x0", "x1 x1 x0"), (vec![[0, 0], [2, 1], [3, 2]], vec![(0, 1)], 7));
    // As many of each: nothing is read.
    assert_eq!(paired("x1 y0 x0", "x0 y1 x1"), (vec![[0, 0], [1, 1], [2, 2]], vec![], 0));
}

/// Streams of a few sites, in full or in parts of the warp.
fn stream() -> impl Strategy<Value = Vec<Event>> {
    let event = (0u32..5, 0u8..2, 0usize..4).prop_map(|(site, dir, m)| Event {
        site,
        dir,
        mask: [ALL, 0xff, 0xff00, 0xffff][m],
        ..Event::default()
    });
    prop::collection::vec(event, 0..60)
}

/// What lane `lane` did.
fn lane(events: &[Event], lane: u32) -> Vec<Event> {
    events.iter().filter(|e| e.mask >> lane & 1 == 1).copied().collect()
}

proptest! {
    #[test]
    fn streams_are_the_same_if_all_lanes_are(a in stream(), b in stream(), legal: u64) {
        // B is A in another legal order as often as something else.
        let mut b = if legal % 2 == 0 { a.clone() } else { b };
        let mut seed = legal;
        for _ in 0..100 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let i = (seed >> 33) as usize % b.len().max(1);
            if i + 1 < b.len() && b[i].mask & b[i + 1].mask == 0 {
                b.swap(i, i + 1);
            }
        }
        let c = diff(&a, &b);
        if a.is_empty() != b.is_empty() {
            prop_assert_eq!(c.launch.verdict, Verdict::Unknown);
            return Ok(());
        }
        let same = (0..32).all(|l| lane(&a, l) == lane(&b, l));
        let all = |c: &Compared| c.kinds.iter().sum::<u64>();
        prop_assert_eq!(all(&c) == 0, same);
        let back = diff(&b, &a);
        prop_assert_eq!(all(&back) == 0, same);
        let again = diff(&a, &b);
        prop_assert_eq!(&again.launch, &c.launch);
        let (seen, listed) = (c.launch.findings.iter().map(|f| f.count).sum::<u64>(), c.listed.len() as u64);
        prop_assert_eq!((seen, listed.min(100)), (all(&c), all(&c).min(100)));
    }
}
