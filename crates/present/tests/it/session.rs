//! Sessions made by hand: a training run of two processes, changed in known ways; reports and tables as
//! blessed.

use crate::build::{Hashed, S, module, trace};
use crate::golden::check;
use prlx_analyze::report::Report;
use prlx_analyze::survey::Survey;
use prlx_analyze::{DiffOptions, Verdict, match_processes};
use prlx_present::{Style, json, kernels, launches, read_json, text};
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Fidelity, Function, Module, Param, Scalar};
use prlx_trace::launch::{ArgInfo, Origin};
use prlx_trace::process::{Device, Skipped};
use prlx_trace::{Dim3, FuncId, Launch, ModuleId, Process, Recording, SiteId, Streams, Trace};

/// What is launched: a kernel by name, with content; `!` before it: it is not recorded.
type Step<'a> = (&'a str, u64);

fn toy() -> Vec<Vec<S>> {
    vec![vec![S::Store, S::Loop(vec![S::If(vec![S::Store], vec![])])]]
}

/// A process that launches `steps`, each with one buffer `x` that holds `content` after it, and its number
/// before it.
fn process(rank: u32, steps: &[Step<'_>]) -> Trace {
    let mut names: Vec<&str> = steps.iter().map(|s| s.0).collect();
    names.sort_unstable();
    names.dedup();
    let toy = toy();
    let modules = names.iter().map(|name| match name.strip_prefix('!') {
        None => {
            let mut m = module(&toy);
            m.name = format!("{name}.ptx");
            m.functions[0].name = (*name).into();
            m
        }
        Some(name) => Module {
            name: "libvendor.so".into(),
            target: "sm_90".into(),
            functions: vec![Function {
                name: name.into(),
                kernel: true,
                skipped: Some("its module has no PTX".into()),
                ..Function::default()
            }],
            ..Module::default()
        },
    });
    let modules: Vec<Module> = modules.collect();
    let launch = |(number, (name, content)): (u64, &Step<'_>)| {
        let streams = (0..2).map(|w| {
            crate::build::warp(&toy, w, |lane| {
                let mut h = Hashed::new(w * 32 + u64::from(lane.0), &[4]);
                if *content >= 100 {
                    h.flips.push((SiteId(1), vec![content % 4]));
                }
                h
            })
        });
        let skipped = name.starts_with('!').then(|| "its module has no PTX".to_owned());
        let recorded = trace(module(&toy), streams.collect()).launches.remove(0);
        let m = names.binary_search(name).unwrap() as u32;
        let arg = ArgInfo {
            name: "x".into(),
            bytes: Some(64),
            before: Some(number),
            after: Some(*content),
            ..ArgInfo::default()
        };
        Recording {
            streams: if skipped.is_some() { Streams::default() } else { recorded.streams },
            launch: Launch {
                module: ModuleId(m),
                kernel: FuncId(0),
                device: "NVIDIA H200".into(),
                cluster: Some(Dim3::default()),
                number,
                stream: (number % 2) as u32,
                origin: if number == 3 {
                    Origin::Graph { exec: 0, node: 2, replay: 7 }
                } else {
                    Origin::Direct
                },
                start: Nanos(number * 1000),
                fidelity: Fidelity::Exact,
                args: vec![arg],
                skipped,
                ..recorded.launch
            },
        }
    };
    let mut launches: Vec<Recording> = (0..).zip(steps).map(launch).collect();
    // They end in another order than they begin.
    launches.reverse();
    Trace {
        marks: Vec::new(),
        ranges: Vec::new(),
        outputs: Vec::new(),
        tallies: vec![],
        producer: "prlx 0.1.0".into(),
        process: Some(Process {
            pid: 100 + rank,
            host: "node1".into(),
            rank: Some(rank),
            local_rank: Some(rank),
            world_size: Some(2),
            command: vec!["python".into(), "train.py".into()],
            started: Nanos(5),
            devices: vec![Device {
                ordinal: 0,
                name: "NVIDIA H200".into(),
                uuid: "GPU-1".into(),
                capability: (9, 0),
            }],
            versions: vec![("driver".into(), "13.0".into())],
        }),
        skipped: vec![Skipped {
            module: "libvendor.so".into(),
            kernel: None,
            reason: "it has no PTX".into(),
        }],
        modules,
        launches,
        cut: None,
    }
}

const STEPS: &[Step<'static>] =
    &[("embed", 1), ("!gemm", 2), ("norm", 3), ("loss", 4), ("norm", 5), ("!gemm", 6)];

/// The recorded ones alone.
const SEEN: &[Step<'static>] = &[("embed", 1), ("norm", 3), ("loss", 4), ("norm", 5)];

fn compare(a: &[Trace], b: &[Trace], options: &DiffOptions) -> Report {
    let of = |t: &[Trace]| t.iter().map(|t| t.process.clone()).collect::<Vec<_>>();
    let matching = match_processes(&of(a), &of(b));
    let mut r = Report::new(["a.prlx".into(), "b.prlx".into()]);
    for (i, j) in matching.pairs {
        r.add([&a[i], &b[j]], options).unwrap();
    }
    for (side, all) in matching.alone.iter().enumerate() {
        all.iter().for_each(|i| r.add_alone(side as u8, &[a, b][side][*i]));
    }
    let written = |r: &Report| {
        let mut out = Vec::new();
        json(&mut out, r, prlx_present::Sides::default()).unwrap();
        out
    };
    assert_eq!(written(&read_json(&written(&r)).unwrap()), written(&r));
    r
}

fn as_text(r: &Report) -> String {
    let mut out = Vec::new();
    text(&mut out, r, &Style::default()).unwrap();
    String::from_utf8(out).unwrap()
}

fn all() -> DiffOptions {
    DiffOptions::default()
}

#[test]
fn equal_sessions() {
    let a = [process(0, SEEN), process(1, SEEN)];
    // Processes and launches lie in another order.
    let b = [process(1, SEEN), process(0, SEEN)];
    let r = compare(&a, &b, &all());
    assert_eq!((r.verdict, r.pairs, r.culprit()), (Verdict::Same, 8, None));
    check("report", "session-same.txt", &as_text(&r));
}

#[test]
fn what_was_not_recorded_could_differ() {
    let a = [process(0, STEPS)];
    let r = compare(&a, &a, &DiffOptions { strict: true, ..all() });
    assert_eq!((r.verdict, r.pairs), (Verdict::Unknown, 6));
    check("report", "session-unknown.txt", &as_text(&r));
    // Its memory is known, and agrees.
    let r = compare(&a, &a, &all());
    assert_eq!((r.verdict, r.pairs), (Verdict::Same, 6));
    check("report", "session-unrecorded.txt", &as_text(&r));
    // What is asked for was seen.
    let r = compare(&a, &a, &DiffOptions { kernels: vec!["norm".into()], ..all() });
    assert_eq!((r.verdict, r.pairs, r.launches[0].launch), (Verdict::Same, 2, [2, 2]));
    let r = compare(&a, &a, &DiffOptions { launches: vec![(2, 4)], ..all() });
    assert_eq!((r.verdict, r.pairs), (Verdict::Same, 2));
}

#[test]
fn the_culprit_is_named() {
    let a = [process(0, SEEN), process(1, STEPS)];
    let mut steps = STEPS.to_vec();
    // The same goes into the vendor's product, and something else comes out; later a decision differs.
    (steps[1].1, steps[4].1) = (22, 105);
    let mut b = process(1, &steps);
    for r in b.launches.iter_mut().filter(|r| r.launch.number > 1) {
        r.launch.args[0].before = r.launch.args[0].before.map(|n| n + 50);
    }
    let r = compare(&a, &[process(0, SEEN), b], &all());
    assert_eq!(r.verdict, Verdict::Differs);
    assert_eq!(r.culprit().map(|l| (l.process, l.launch, l.kernel.as_str())), Some((1, [1, 1], "gemm")));
    assert_eq!(r.first_launch().map(|l| l.launch), Some([1, 1]));
    check("report", "session-culprit.txt", &as_text(&r));
}

#[test]
fn who_may_be_the_culprit_is_suspected() {
    let with = |padding: u8, steps: &[Step<'_>]| {
        let mut t = process(0, steps);
        let gemm = t.modules.iter_mut().find(|m| m.name == "libvendor.so").unwrap();
        let param = |name: &str, ty, offset, size| Param { name: name.into(), ty, offset, size };
        gemm.functions[0].params =
            vec![param("x", Scalar::B64, 0, 8), param("parameter 1", Scalar::B8, 8, 24)];
        for l in t.launches.iter_mut().map(|r| &mut r.launch).filter(|l| l.skipped.is_some()) {
            l.params = vec![1; 32];
            l.params[12..16].fill(padding);
            l.args.push(ArgInfo { name: "parameter 1".into(), ..ArgInfo::default() });
        }
        t
    };
    let mut steps = STEPS.to_vec();
    steps[5].1 = 66;
    let a = [with(7, STEPS)];
    let r = compare(&a, &[with(9, &steps)], &all());
    let (l, alike) = r.suspect().unwrap();
    assert_eq!((l.launch, alike, l.padding.as_deref()), ([5, 5], 1, Some("bytes 4 to 7 of parameter 1")));
    check("report", "session-suspect.txt", &as_text(&r));
    // The padding of both gemms differs, and who left something else is the first.
    steps[1].1 = 22;
    let r = compare(&a, &[with(9, &steps)], &all());
    assert_eq!(r.suspect().map(|(l, alike)| (l.launch, alike)), Some(([1, 1], 0)));
    // What comes behind the culprit is no suspect; a first byte is no padding; nor is anything said where
    // something else differs.
    (steps[0].1, steps[1].1) = (11, 2);
    let r = compare(&a, &[with(9, &steps)], &all());
    assert_eq!((r.culprit().map(|l| l.launch), r.suspect()), (Some([0, 0]), None));
    steps[0].1 = STEPS[0].1;
    for change in [
        (|l| l.params[8] = 5) as fn(&mut Launch),
        |l| l.params[3] = 5,
        |l| l.args[0].before = Some(77),
        |l| l.args[0].before = None,
        |l| l.grid.x += 1,
    ] {
        let mut b = with(9, &steps);
        b.launches.iter_mut().map(|r| &mut r.launch).filter(|l| l.skipped.is_some()).for_each(change);
        let r = compare(&a, &[b], &all());
        assert!(r.suspect().is_none() && r.launches.iter().all(|l| l.padding.is_none()));
    }
}

#[test]
fn launches_and_processes_too_many() {
    let a = [process(0, SEEN), process(1, SEEN)];
    let mut steps = SEEN.to_vec();
    steps.insert(2, ("norm", 33));
    steps.pop();
    steps.push(("clip", 9));
    let mut b = process(0, &steps);
    for r in &mut b.launches {
        // One launch later, the same goes in.
        let l = &mut r.launch;
        l.args[0].before = Some(l.number - u64::from(l.number > 2));
    }
    let r = compare(&a, &[b], &all());
    assert_eq!(r.verdict, Verdict::Differs);
    let unpaired: Vec<_> = r.unpaired.iter().map(|u| (u.side, u.launch, u.kernel.as_str())).collect();
    assert_eq!(unpaired, [(1, 4, "clip")]);
    // One `norm` moved before `loss`: it has a partner still.
    assert_eq!(r.launches.iter().map(|l| l.launch).collect::<Vec<_>>(), [[0, 0], [1, 1], [2, 3], [3, 2]]);
    assert_eq!(r.alone.iter().map(|p| (p.side, p.launches)).collect::<Vec<_>>(), [(0, 4)]);
    check("report", "session-extra.txt", &as_text(&r));
}

/// Threads that drive a device each launch in another order, in other numbers.
#[test]
fn devices_are_compared_each_with_its_own() {
    let on = |devices: &[u32]| {
        let mut t = process(0, &vec![("norm", 3); devices.len()]);
        for r in &mut t.launches {
            let l = &mut r.launch;
            l.ordinal = devices[l.number as usize];
            // Each device has its own content.
            (l.args[0].before, l.args[0].after) = (Some(l.ordinal.into()), Some(u64::from(l.ordinal) + 10));
        }
        t
    };
    let r = compare(&[on(&[0, 1, 0, 1])], &[on(&[1, 0, 0, 1])], &all());
    assert_eq!((r.verdict, r.pairs), (Verdict::Same, 4));
    assert!(r.launches.iter().all(|l| l.differences.is_empty()), "{:?}", r.launches);
    // One that only one side used says nothing.
    let r = compare(&[on(&[1, 1])], &[on(&[0, 0])], &all());
    assert_eq!((r.pairs, r.unpaired.len()), (2, 0));
    let mut out = Vec::new();
    launches(&mut out, &on(&[0, 1]), &|_| true, &Style::default()).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("  0 on device 0  "));
}

/// Many launches that differ take a few lines each, then none.
#[test]
fn long_sessions_stay_short() {
    let steps = |content: u64| (0..200).map(|_| ("norm", content)).collect::<Vec<Step<'_>>>();
    let r = compare(&[process(0, &steps(1))], &[process(0, &steps(101))], &all());
    let shown = as_text(&r);
    assert!(shown.lines().count() < 130, "{}", shown.lines().count());
    assert!(shown.contains("and 177 launches like these"), "{shown}");
}

/// A side that was cut off may have gone on.
#[test]
fn a_killed_process() {
    let whole = process(0, SEEN);
    let mut file = Vec::new();
    let mut sorted = whole.clone();
    sorted.launches.reverse();
    sorted.write(&mut file).unwrap();
    let cut = Trace::read_cut(&file[..file.len() - 400]).unwrap();
    assert!(cut.launches.len() < 4 && !cut.launches.is_empty());
    let r = compare(&[whole], &[cut], &all());
    assert_eq!(r.verdict, Verdict::Unknown);
    check("report", "session-cut.txt", &as_text(&r));
}

/// Shards of a session, put together in any order, are the report of the whole.
#[test]
fn parts_add_up() {
    let a = [process(0, STEPS), process(1, SEEN)];
    let b = [process(0, SEEN), process(1, STEPS)];
    let part =
        |index| compare(&a, &b, &DiffOptions { shard: Some(prlx_analyze::Shard { index, of: 3 }), ..all() });
    let merged = part(2).merge(part(0)).unwrap().merge(part(1)).unwrap();
    assert_eq!(merged, compare(&a, &b, &all()));
}

#[test]
fn tables() {
    let t = process(1, STEPS);
    let mut out = Vec::new();
    launches(&mut out, &t, &|_| true, &Style::default()).unwrap();
    let mut survey = Survey::default();
    survey.add(&t);
    survey.add(&process(0, SEEN));
    let rows = survey.kernels();
    for k in &rows {
        assert_eq!(k.launches, k.recorded + k.skipped.values().sum::<u64>(), "{k:?}");
    }
    kernels(&mut out, &rows, &Style::default()).unwrap();
    check("report", "session-tables.txt", &String::from_utf8(out).unwrap());
}

/// How long launches ran, where it is known.
#[test]
fn times() {
    let mut t = process(1, STEPS);
    for (nanos, said) in [(12_345, "elements, 12.3 µs\n"), (12_345_678, "elements, 12.3 ms\n")] {
        t.launches.iter_mut().for_each(|r| r.launch.totals.instrumented = nanos);
        let mut out = Vec::new();
        launches(&mut out, &t, &|_| true, &Style::default()).unwrap();
        assert!(String::from_utf8(out).unwrap().contains(said), "{said}");
    }
}
