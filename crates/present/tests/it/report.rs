//! Reports as text and JSON, against files: `tests/cases/report/NAME.txt` and `NAME.json`. `BLESS=1` writes
//! them.

use std::path::PathBuf;

use crate::build::{self, trace};
use crate::golden::check;
use crate::toy::{compare, explained, flipped, operands, run, toy};
use prlx_analyze::{DiffOptions, Report, Shard, Verdict, attach_operands, diff, operand_window};
use prlx_present::{Style, json, read_json, text};
use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{SiteId, Streams, Trace, WarpId};

fn as_text(r: &Report, style: Style) -> String {
    let mut out = Vec::new();
    text(&mut out, r, &style).unwrap();
    String::from_utf8(out).unwrap()
}

fn as_json(r: &Report) -> String {
    let mut out = Vec::new();
    json(&mut out, r, prlx_present::Sides::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_flip_with_operands() {
    let (a, b, mut r) = flipped();
    check("report", "flip-bare.txt", &as_text(&r, Style::default()));
    let f = &r.launches[0].findings[0];
    let windows = [0, 1].map(|side| operand_window(f, side).unwrap());
    assert_eq!(windows[0].sites, [SiteId(1), SiteId(12), SiteId(13)]);
    assert_eq!((windows[0].warps, windows[0].visits), ((3, 4), (0, 5)));
    let [wa, wb] = windows;
    attach_operands(&mut r, &operands(&a, wa, 0.75), &operands(&b, wb, 0.7)).unwrap();
    let f = &r.launches[0].findings[0];
    let first: Vec<_> = f.slice.iter().filter(|n| n.first).map(|n| n.text.as_str()).collect();
    assert_eq!(first, ["ld.const.f32 %f2, [limits];"]);
    check("report", "flip.txt", &as_text(&r, Style::default()));
    check("report", "flip-narrow.txt", &as_text(&r, Style { width: 60, ..Style::default() }));
    check("report", "flip-color.txt", &as_text(&r, Style { color: true, width: 100, ..Style::default() }));
    check("report", "flip.json", &as_json(&r));
}

#[test]
fn equal_runs() {
    let (toy, m) = toy();
    let a = run(&m, &toy, 4, |_, _, _| {});
    let r = compare(&a, &a);
    check("report", "same.txt", &as_text(&r, Style::default()));
    check("report", "same.json", &as_json(&r));
}

#[test]
fn more_trips() {
    let (toy, m) = toy();
    let a = run(&m, &toy, 2, |_, _, _| {});
    let b = run(&m, &toy, 2, |_, l, h| h.adds.push((SiteId(6), vec![2], u64::from(l % 3))));
    check("report", "more-trips.txt", &as_text(&compare(&a, &b), Style::default()));
}

#[test]
fn a_dropped_trip() {
    let (toy, m) = toy();
    let a = run(&m, &toy, 2, |_, _, _| {});
    let b = run(&m, &toy, 2, |w, l, h| {
        if (w, l) == (1, 7) {
            h.drops.push((SiteId(8), vec![], 3));
        }
    });
    check("report", "dropped-trip.txt", &as_text(&compare(&a, &b), Style::default()));
}

#[test]
fn many_findings() {
    let (toy, m) = toy();
    let a = run(&m, &toy, 40, |_, _, _| {});
    let b = run(&m, &toy, 40, |w, l, h| match w % 8 {
        1 => h.flips.push((SiteId(1), vec![u64::from(l % 6)])),
        2 => h.flips.push((SiteId(4), vec![u64::from(l % 6), 1])),
        3 if l == 0 => h.drops.push((SiteId(8), vec![], 2)),
        4 => h.flips.push((SiteId(9), vec![])),
        5 => h.adds.push((SiteId(6), vec![5], 1)),
        _ => {}
    });
    check("report", "many.txt", &as_text(&compare(&a, &b), Style::default()));
}

#[test]
fn not_everything_was_seen() {
    let (toy, m) = toy();
    let a = run(&m, &toy, 4, |_, _, _| {});
    let mut b = a.clone();
    let l = &mut b.launches[0].launch;
    (l.totals.dropped, l.totals.filtered_warps) = (1234, 1);
    let mut warps = b.launches[0].streams.frame(0).unwrap();
    warps.truncate(3);
    b.launches[0].streams = Streams::new(warps);
    b.modules[0].sites[3].skipped = Some("left out by the filter".into());
    let r = compare(&a, &b);
    check("report", "unknown.txt", &as_text(&r, Style::default()));
    check("report", "unknown.json", &as_json(&r));
}

#[test]
fn inputs_and_outputs() {
    let (toy, m) = toy();
    let mut a = run(&m, &toy, 2, |_, _, _| {});
    a.modules[0].functions[0].params = vec![
        Param { name: "p0".into(), ty: Scalar::U64, offset: 0, size: 8 },
        Param { name: "p1".into(), ty: Scalar::B32, offset: 8, size: 4 },
    ];
    let l = &mut a.launches[0].launch;
    l.params = [&0x1000u64.to_le_bytes()[..], &0.75f32.to_le_bytes()].concat();
    l.args = vec![
        ArgInfo { name: "signal".into(), ty: Scalar::F32, bytes: Some(64), before: Some(1), after: Some(2) },
        ArgInfo { name: "threshold".into(), ty: Scalar::F32, ..ArgInfo::default() },
    ];
    let mut b = a.clone();
    let l = &mut b.launches[0].launch;
    l.params[8..12].copy_from_slice(&0.7f32.to_le_bytes());
    l.args[0].after = Some(0xfeed);
    let r = compare(&a, &b);
    check("report", "outputs.txt", &as_text(&r, Style::default()));
}

#[test]
fn outputs_as_numbers_and_their_cause() {
    let r = explained();
    let text = as_text(&r, Style::default());
    check("report", "cause.txt", &text);
    assert!(text.contains("`c` differs in 2 of 8 elements; cause: guard at mm.cu:19"), "{text}");
    assert_eq!(read_json(as_json(&r).as_bytes()).unwrap(), r);
}

#[test]
fn fingerprints() {
    let (_, m) = toy();
    let make = |changed: bool| {
        let lanes = Lanes::Fingerprint {
            checkpoints: (0..32 * 8u64)
                .map(|i| i % 8 + 1 + u64::from(changed && (5..8).contains(&i)) * 100)
                .collect(),
            ends: (1..=32).map(|l| l * 8).collect(),
            hashes: (0..32)
                .map(|l| [1, 2 + u64::from(changed && l == 0), 3 + u64::from(changed && l == 0), 4])
                .collect(),
        };
        let warp = WarpStream { warp: WarpId(0), dropped: 0, lanes };
        let mut t = trace(m.clone(), vec![warp]);
        t.launches[0].launch.level = Level::Fingerprint;
        t
    };
    check("report", "fingerprints.txt", &as_text(&compare(&make(false), &make(true)), Style::default()));
}

#[test]
fn many_launches() {
    let (a, mut b, _) = flipped();
    let (mut a2, good) = (a.clone(), a.launches[0].clone());
    a2.launches.extend([good.clone(), good.clone()]);
    b.launches.insert(0, good.clone());
    b.launches.push(good.clone());
    b.launches.push(good);
    check("report", "launches.txt", &as_text(&compare(&a2, &b), Style::default()));
}

#[test]
fn names_can_not_write_to_the_terminal() {
    let (a, b, _) = flipped();
    let evil = |t: &Trace| {
        let mut t = t.clone();
        let m = &mut t.modules[0];
        m.functions[0].name = "kern\x1b[2Jel\u{202e}".into();
        m.files[0].path = "a\x07b.cu".into();
        m.files[0].text = Some("\x1b]0;title\x07\n\tif (\x1b[31mx) {\r\n".into());
        m.sites[1].text = "setp \x1b[0m\n%p1".into();
        t.launches[0].launch.device = "dev\x1bice".into();
        t
    };
    let mut r = compare(&evil(&a), &evil(&b));
    r.names[0] = "\x1b[1mgood".into();
    let got = as_text(&r, Style::default());
    assert!(!got.chars().any(|c| c.is_control() && c != '\n'), "{got}");
    check("report", "escapes.txt", &got);
}

/// Lines nearly fit the requested width: places and values are never clipped. The headline and
/// the head of a finding are one longer sentence each.
#[test]
fn lines_fit() {
    let (_, _, r) = flipped();
    for width in [60, 80, 120] {
        for (i, line) in as_text(&r, Style { color: false, width, ..Style::default() }).lines().enumerate() {
            let extra = if i == 0 || line.starts_with(" 1 Branch") { 30 } else { 20 };
            assert!(line.chars().count() <= width + extra, "{width}: {line}");
        }
    }
}

/// A number below `n`.
fn below(seed: &mut u64, n: usize) -> usize {
    *seed = build::mix(*seed);
    (*seed >> 33) as usize % n.max(1)
}

/// Any split, put together in any order and any nesting, by way of files, gives the bytes of the whole.
#[test]
fn parts_of_a_report() {
    let (mut a, mut b, _) = flipped();
    let (good, bad) = (a.launches[0].clone(), b.launches[0].clone());
    let mut odd = bad.clone();
    odd.launch.fault = Some(Fault { text: "astray".into(), unfinished: None, ..Fault::default() });
    odd.launch.totals = Totals { bare: 3, instrumented: 10, ..odd.launch.totals };
    a.launches =
        vec![good.clone(), good.clone(), bad.clone(), good.clone(), good.clone(), bad.clone(), good.clone()];
    b.launches = vec![good.clone(), bad, good.clone(), odd, good.clone(), good];
    let whole = compare(&a, &b);
    assert_eq!((whole.pairs, whole.launches.len(), whole.unpaired.len()), (6, 6, 1));
    let mut seed = 7;
    for round in 0..60 {
        let of = 1 + below(&mut seed, 8) as u64;
        let part = |index: u64| {
            let options = DiffOptions { shard: Some(Shard { index, of }), ..DiffOptions::default() };
            let mut r = diff(&a, &b, &options).unwrap();
            r.names = whole.names.clone();
            assert!(of == 1 || r.verdict != Verdict::Same);
            r
        };
        let mut parts: Vec<Report> = (0..of).map(part).collect();
        if round % 3 == 0 {
            // The same part twice is no harm.
            parts.push(part(0));
        }
        while parts.len() > 1 {
            let (x, y) = (parts.swap_remove(below(&mut seed, parts.len())), below(&mut seed, parts.len()));
            let y = parts.swap_remove(y);
            let [x, y] = [x, y].map(|r| read_json(as_json(&r).as_bytes()).unwrap());
            parts.push(x.merge(y).unwrap());
        }
        assert_eq!(as_json(&parts[0]), as_json(&whole), "{of} parts");
        assert_eq!(as_text(&parts[0], Style::default()), as_text(&whole, Style::default()));
    }
    let shard = Some(Shard { index: 1, of: 3 });
    let some = diff(&a, &b, &DiffOptions { shard, ..DiffOptions::default() }).unwrap();
    assert_eq!(some.gaps, ["this is a part of a report: 4 of 6 launch pairs are in other parts"]);
    assert!(some.clone().merge(compare(&a, &a)).is_err(), "another comparison");
    let mut other = some.clone();
    other.launches[0].gaps.push("more".into());
    assert!(some.merge(other).unwrap_err().to_string().contains("with different content"));
}

/// Every report that is blessed is read, and written as it was.
#[test]
fn reports_are_read() {
    for name in ["flip", "same", "unknown"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/report").join(name);
        let written = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let read = read_json(written.as_bytes()).unwrap();
        assert_eq!(as_json(&read), written);
        // Numbers that no comparison gives are no harm either.
        let digits = |c: char| c.is_ascii_digit();
        for (at, _) in written.match_indices(' ').filter(|(i, _)| written[i + 1..].starts_with(digits)) {
            let end = written[at + 1..].find(|c| !digits(c)).map_or(written.len(), |n| at + 1 + n);
            for number in ["0", "255", "18446744073709551615"] {
                let bad = format!("{}{number}{}", &written[..at + 1], &written[end..]);
                if let Ok(r) = read_json(bad.as_bytes()) {
                    as_text(&r, Style::default());
                }
            }
        }
    }
    for (text, why) in [
        ("", "EOF"),
        ("{}", "missing field"),
        (r#"{"format":"prlx-schedules","version":1}"#, "missing field"),
        ("[1]", "invalid"),
    ] {
        let e = read_json(text.as_bytes()).unwrap_err();
        assert!(e.contains(why), "{text}: {e}");
    }
    let (_, _, r) = flipped();
    let later = as_json(&r).replace("\"version\": 1", "\"version\": 2");
    assert!(read_json(later.as_bytes()).unwrap_err().contains("version 2"));
    let other = as_json(&r).replace("prlx-report", "prlx-schedules");
    assert!(read_json(other.as_bytes()).unwrap_err().contains("prlx-schedules"));
}
