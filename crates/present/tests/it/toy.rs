//! Recordings of a toy kernel with a source that reads like one.

use crate::build::{Hashed, S, module, trace};
use prlx_analyze::outputs::{Tolerance, add_outputs, compare_output};
use prlx_analyze::report::{Cause, CauseClass, CausePlace, CauseStep, Location};
use prlx_analyze::{DiffOptions, Report, diff};
use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{FileId, LocId, SiteId, Streams, Trace, WarpId};

const SOURCE: &str = "\
    count += 1;
    if (fabsf(sample) > threshold) {
        energy += sample * sample;
        mark = sample > 0 ? 1 : -1;
    for (int k = 0; k < 4; ++k)
        if (k < limit) table[k] = sample;
    } while (++k < 4);
    total[i] = energy;
} while ((i += stride) < length);
    if (count > 1)
        hits[i] = count;
    else misses[i] = 1;
";

/// A toy kernel with a source that reads like one.
pub fn toy() -> (Vec<Vec<S>>, Module) {
    let toy = vec![vec![
        S::Store,
        S::Loop(vec![S::If(vec![S::Store], vec![S::Select]), S::Loop(vec![S::Guard]), S::Store]),
        S::If(vec![S::Store], vec![S::Store]),
    ]];
    let mut m = module(&toy);
    m.functions[0].name = "find_beats".into();
    m.files[0] = SourceFile { path: "src/beats.cu".into(), text: Some(SOURCE.into()) };
    let lines = [1, 2, 3, 4, 6, 6, 7, 8, 9, 10, 11, 12];
    m.locs.iter_mut().zip(lines).for_each(|(l, n)| l.line = n);
    m.locs.push(Loc { line: 9, column: 1, ..Loc::default() });
    let outer = LocId(m.locs.len() as u32 - 1);
    // The decision was inlined into the loop.
    (m.locs[1].function, m.locs[1].inlined_at, m.locs[1].column) = ("take_beat".into(), Some(outer), 9);
    let at = m.sites[1].loc;
    let s = &mut m.sites[1];
    s.text = "setp.gt.f32 %p1, %f5, %f2;".into();
    s.operands = ["%f5", "%f2"].iter().map(|n| Operand { name: (*n).into(), ty: Scalar::F32 }).collect();
    let node = |kind, text: &str, loc, inputs: &[u32]| Node {
        kind,
        text: text.into(),
        loc,
        inputs: inputs.to_vec(),
    };
    s.slice = vec![
        node(NodeKind::Op, "setp.gt.f32 %p1, %f5, %f2;", at, &[1, 3]),
        node(NodeKind::Op, "abs.f32 %f5, %f4;", at, &[2]),
        node(NodeKind::Load, "ld.global.f32 %f4, [%rd3];", Some(outer), &[]),
        node(NodeKind::Load, "ld.const.f32 %f2, [limits];", Some(outer), &[]),
    ];
    for (text, reg) in [("ld.global.f32 %f4, [%rd3];", "%f4"), ("ld.const.f32 %f2, [limits];", "%f2")] {
        m.sites.push(Site {
            block: m.sites[1].block,
            loc: Some(outer),
            class: SiteClass::Load,
            text: text.into(),
            operands: vec![Operand { name: reg.into(), ty: Scalar::F32 }],
            ..Site::default()
        });
    }
    (toy, m)
}

pub fn run(m: &Module, toy: &[Vec<S>], warps: u64, edit: impl Fn(u64, u8, &mut Hashed)) -> Trace {
    let streams = (0..warps)
        .map(|w| {
            crate::build::warp(toy, w, |lane| {
                let mut h = Hashed::new(w * 32 + u64::from(lane.0), &[6, 4]);
                edit(w, lane.0, &mut h);
                h
            })
        })
        .collect();
    let mut t = trace(m.clone(), streams);
    t.launches[0].launch.totals.bare = 1000;
    t.launches[0].launch.totals.instrumented = 1043;
    t
}

pub fn compare(a: &Trace, b: &Trace) -> Report {
    let mut r = diff(a, b, &DiffOptions::default()).unwrap();
    r.names = ["good.toml".into(), "bad.toml".into()];
    r
}

/// Three lanes of one warp and two of another take different branches.
pub fn flipped() -> (Trace, Trace, Report) {
    flipped_in(toy())
}

/// As [`flipped`]; the decision is on line 2 of a library header, inlined at line 9 of the user's file.
pub fn flipped_in_library() -> (Trace, Trace, Report) {
    let (toy, mut m) = toy();
    m.files.push(SourceFile {
        path: "include/cuda_fp16.hpp".into(),
        text: Some("bool above(half x)\n    return x > 0;\n".into()),
    });
    (m.locs[1].file, m.locs[1].line) = (FileId(1), 2);
    flipped_in((toy, m))
}

fn flipped_in((toy, m): (Vec<Vec<S>>, Module)) -> (Trace, Trace, Report) {
    let a = run(&m, &toy, 16, |_, _, _| {});
    let b = run(&m, &toy, 16, |w, l, h| {
        if (w == 3 && (26..=28).contains(&l)) || (w == 7 && l < 2) {
            h.flips.push((SiteId(1), vec![if l == 28 { 4 } else { 2 }]));
        }
    });
    let r = compare(&a, &b);
    (a, b, r)
}

/// What a second recording at level `operands` gives for the first finding.
pub fn operands(t: &Trace, window: Window, threshold: f32) -> Trace {
    let mut t = t.clone();
    let (mut records, mut ends) = (Vec::new(), Vec::new());
    for lane in 0..32u32 {
        for visit in window.visits.0..window.visits.1 {
            let sample = 0.5 + (lane * 7 % 10) as f32 / 50.0;
            let record = |site, values: [f32; 2]| OperandRecord {
                site: SiteId(site),
                visit: visit as u32,
                values: values.map(|v| u64::from(v.to_bits())),
            };
            records.push(record(12, [-sample, 0.0]));
            records.push(record(13, [threshold, 0.0]));
            records.push(record(1, [sample, threshold]));
        }
        ends.push(records.len() as u32);
    }
    let warp =
        WarpStream { warp: WarpId(window.warps.0), dropped: 0, lanes: Lanes::Operands { records, ends } };
    t.launches[0].streams = Streams::new(vec![warp]);
    t.launches[0].launch.level = Level::Operands;
    t.launches[0].launch.window = Some(window);
    t
}

/// A comparison of which one output differs, with a cause.
pub fn explained() -> Report {
    let (toy, m) = toy();
    let a = run(&m, &toy, 2, |_, _, _| {});
    let mut r = compare(&a, &a);
    let bytes = |last: f32| {
        let all = [0.5, 1.0, 2.0, f32::NAN, 1.0, 1.0, 1.0, last];
        all.into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>()
    };
    let (a, mut b) = (bytes(1.25), bytes(4.35));
    b[..4].copy_from_slice(&0.25f32.to_le_bytes());
    let exact = Tolerance::default();
    let (output, _) = compare_output("c", Scalar::F32, &[2, 4], [&a, &b], &exact);
    let place = |code: &str| CausePlace {
        text: "ld.global.f32 %f1, [%rd1];".into(),
        location: Some(Location {
            file: "src/mm.cu".into(),
            line: 19,
            code: Some(code.into()),
            ..Location::default()
        }),
        cta: [0, 3, 0],
        thread: [31, 2, 0],
        ..CausePlace::default()
    };
    let step = |n: u32| CauseStep {
        what: format!("operand {n} of fma.rn.f32"),
        values: ["0.0".into(), if n == 1 { String::new() } else { "3.1".into() }],
        places: [
            None,
            Some(CausePlace { module_line: 40 + n, function: "mm".into(), ..CausePlace::default() }),
        ],
    };
    let launch = &mut r.launches[0];
    add_outputs(launch, vec![output]);
    launch.causes.push(Cause {
        class: CauseClass::Guard,
        output: "c".into(),
        element: vec![1, 3],
        values: ["1.25".into(), "4.35".into()],
        elements: 2,
        followed: 8,
        what: "the guard is false in A and true in B".into(),
        advice: "compare the condition of the guard".into(),
        places: [Some(place("  if (k < K) <tile>")), Some(place("tile"))],
        steps: (0..10).map(step).collect(),
        ..Cause::default()
    });
    r.conclude();
    r
}
