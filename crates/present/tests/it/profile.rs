//! What is printed of a kernel's timeline, and of two: the files of `tests/cases/profile`. `BLESS=1` writes
//! them.

use crate::golden::check;
use prlx_present::{Style, profile};
use prlx_timeline::{Axis, Launch, Moment, Region, Span, Timeline, Track, analyze, diff};
use prlx_trace::mark::Via;
use prlx_trace::{Cycles, Picos};

/// A producer that takes its time for each copy, a consumer that waits for them, in three CTAs; nanoseconds
/// of one trip.
fn kernel(address: u64) -> Timeline {
    let region = |name: &str, via| Region { name: name.into(), via, ..Region::default() };
    let regions = vec![
        region("wait empty", Via::Mbarrier),
        region("address\u{1b}[31m", Via::Source),
        region("copy", Via::Tma),
        region("wait full", Via::Mbarrier),
        region("mma", Via::Source),
    ];
    let mut tracks = Vec::new();
    for cta in 0..3u64 {
        let span = |region, trip: u64, begin: u64, end: u64, word: u64| Span {
            region,
            begin: Picos(begin * 1000),
            end: Picos(end * 1000),
            trip: trip as u32,
            payload: [word as u32, 0],
            asynchronous: region == 2,
            cycles: Cycles((end - begin) * 7 / 4),
            ..Span::default()
        };
        let (mut producer, mut consumer, mut moments) = (Vec::new(), Vec::new(), Vec::new());
        let (mut p, mut c, mut free) = (0, 0, [0; 2]);
        for trip in 0..6 {
            let stage = trip % 2;
            let room = p.max(free[stage as usize]);
            producer.push(span(0, trip, p, room, 0x80 + stage * 8));
            producer.push(span(1, trip, room, room + address + cta, 0));
            p = room + address + cta;
            let there = c.max(p + 120);
            producer.push(span(2, trip, p, there, 0x40 + stage * 8));
            consumer.push(span(3, trip, c, there, 0x40 + stage * 8));
            consumer.push(span(4, trip, there, there + 100, 0));
            c = there + 100;
            moments.push(Moment {
                region: 0,
                at: Picos(c * 1000),
                arrival: true,
                payload: [0x80 + stage as u32 * 8, 0],
            });
            free[stage as usize] = c + 4;
        }
        for (group, spans, moments) in [(0, producer, Vec::new()), (1, consumer, moments)] {
            tracks.push(Track {
                sm: Some(cta as u32),
                cta,
                group: Some(group),
                spans,
                moments,
                ..Track::default()
            });
        }
    }
    let mut out = Timeline {
        regions,
        tracks,
        launches: vec![Launch { number: 3, kernel: "gemm".into(), ctas: Some(3), ..Launch::default() }],
        axis: Axis {
            simulated: false,
            mhz: 1750.0,
            single: Picos(1900),
            residual: Picos(2600),
            between: Picos(2600),
            tick: Picos(32_000),
        },
        ..Timeline::default()
    };
    out.note("lost", 7, "last records of tracks found no room");
    out
}

fn holds(name: &str, text: &[u8]) {
    check("profile", name, &String::from_utf8_lossy(text));
}

#[test]
fn a_kernel() {
    let timeline = kernel(300);
    let analysis = analyze(&timeline);
    let mut text = Vec::new();
    profile::profile(
        &mut text,
        &timeline,
        &analysis,
        12,
        &Style { color: false, width: 150, ..Style::default() },
    )
    .unwrap();
    holds("kernel.txt", &text);
    let mut json = Vec::new();
    profile::profile_json(&mut json, &timeline, &analysis, &[], None).unwrap();
    holds("kernel.json", &json);
}

/// On a narrow terminal, the late participant is printed below its row.
#[test]
fn the_late_participant_is_not_cut_off() {
    let timeline = kernel(300);
    let analysis = analyze(&timeline);
    let text = |width| {
        let mut text = Vec::new();
        profile::profile(
            &mut text,
            &timeline,
            &analysis,
            12,
            &Style { color: false, width, ..Style::default() },
        )
        .unwrap();
        String::from_utf8(text).unwrap()
    };
    let late = "(worst 302 ns, CTA 2, iteration 0)";
    assert!(text(150).lines().any(|l| l.starts_with("  wait full   group 1  starved") && l.ends_with(late)));
    let narrow = text(80);
    let mut waits = narrow.lines().skip_while(|l| !l.starts_with("Waits")).skip(1);
    assert!(
        waits.next().unwrap().ends_with("late    after") && waits.next() == Some("      waited for"),
        "{narrow}"
    );
    assert!(waits.next().unwrap().starts_with("  wait full   group 1  starved"), "{narrow}");
    let below: Vec<&str> = waits.take_while(|l| l.starts_with("      ")).map(str::trim).collect();
    assert!(below.join(" ").ends_with(late) && below[0].starts_with("group 0 in "), "{narrow}");
}

#[test]
fn two_kernels() {
    let found = diff(&kernel(300), &kernel(330), 0.01);
    let mut text = Vec::new();
    profile::profile_diff(
        &mut text,
        ["old.prlx", "new.prlx"],
        &found,
        12,
        &Style { color: false, width: 150, ..Style::default() },
    )
    .unwrap();
    holds("two.txt", &text);
    let mut json = Vec::new();
    profile::profile_diff_json(&mut json, ["old.prlx", "new.prlx"], &found).unwrap();
    holds("two.json", &json);
}
