//! Recording on a fake device: streams come back as written, losses and damage are reported, and all
//! memory is freed.

use std::cell::RefCell;
use std::rc::Rc;

use crate::fake::{Fake, Memory};
use crate::lanes::Lanes;
use prlx_driver::buffer_content::Content;
use prlx_driver::job::{Arg, ArgValue, Buffer};
use prlx_driver::{
    Driver, Error, ErrorKind, Job, LaunchConfig, LaunchStats, ModuleCode, RecordOptions, Recorded, record,
};
use prlx_plan::{FunctionPlan, Plan, RecordingRequest};
use prlx_trace::device::{Context, EventRecord, Finals, Follow, Followers, HiddenParameter, WideEventRecord};
use prlx_trace::kernel::{FaultKind, Function, Module, Param, Scalar, Site};
use prlx_trace::launch::{Fault, Lanes as Streams, OperandRecord, Window};
use prlx_trace::{Dim3, Level, Nanos, SiteId, WarpId, WarpSize};

/// Instrumented code, which the device of these tests does not look at.
const CODE: Option<ModuleCode<'static>> = Some(ModuleCode::Ptx(""));

fn job(ctas: u32, threads: u32) -> Job {
    let param = |name: &str, offset, ty: Scalar| Param { name: name.into(), ty, offset, size: ty.bits() / 8 };
    let buffer = Buffer {
        ty: Scalar::U32,
        shape: vec![4],
        content: Content::Fill(7),
        random: (0, 0),
        out: true,
        save: None,
        expect: None,
        map: None,
        place: None,
        variable: false,
    };
    Job {
        object: None,
        name: "job.toml".into(),
        module: "k.ptx".into(),
        text: "bare".into(),
        folder: "".into(),
        source: "".into(),
        kernel: "k".into(),
        config: LaunchConfig {
            grid: Dim3 { x: ctas, ..Dim3::default() },
            block: Dim3 { x: threads, ..Dim3::default() },
            ..LaunchConfig::default()
        },
        params: vec![param("y", 0, Scalar::U64), param("n", 8, Scalar::S32)],
        args: vec![
            Arg { name: "y".into(), value: ArgValue::Buffer(buffer) },
            Arg { name: "n".into(), value: ArgValue::Scalar(Scalar::S32, 5) },
        ],
        before: Vec::new(),
    }
}

fn plan(level: Level) -> Plan {
    sized_plan(WarpSize::W32, level)
}

fn sized_plan(warp_size: WarpSize, level: Level) -> Plan {
    let function = Function { name: "k".into(), kernel: true, ..Function::default() };
    let window = Window { sites: vec![SiteId(0)], warps: (1, 2), visits: (0, 4) };
    Plan {
        request: RecordingRequest {
            window: (level == Level::Operands).then_some(window),
            ..RecordingRequest::new(level)
        },
        warp_size,
        module: Module { functions: vec![function], sites: vec![Site::default(); 4], ..Module::default() },
        functions: vec![FunctionPlan::default()],
        probe_state: Default::default(),
        finals: Finals { used: [true, false, true, false], warp_size, ..Finals::default() },
    }
}

type Body = fn(&mut Lanes<'_>);

/// Records with a kernel that runs `body` when it is instrumented, and leaves 9 in the first element of `y`.
fn recorded(level: Level, job: &Job, options: RecordOptions, body: Body) -> Result<Recorded, Error> {
    sized(WarpSize::W32, level, job, options, body)
}

/// The same on a device with warps of that size.
fn sized(
    size: WarpSize,
    level: Level,
    job: &Job,
    options: RecordOptions,
    body: Body,
) -> Result<Recorded, Error> {
    let mut device = Fake::new(move |memory, text, _, params| {
        let y = u64::from_le_bytes(params[..8].try_into().unwrap());
        memory.set(y, &9u32.to_le_bytes());
        if text == "instrumented" {
            assert_eq!(params.len(), 16 + HiddenParameter::SIZE, "the hidden parameter is aligned");
            body(&mut Lanes::new(memory, level, size, params));
        }
        Ok(LaunchStats { warp_instructions: if text == "bare" { 10 } else { 15 }, nanos: Nanos(1) })
    });
    device.warp_size = size;
    let limit = device.limit;
    let result =
        record(&mut device, Some(ModuleCode::Ptx("instrumented")), &sized_plan(size, level), job, &options);
    assert!(device.memory.blocks.is_empty(), "all memory is given back");
    assert_eq!(device.limit, limit);
    result
}

fn words(r: &Recorded, warp: u64) -> Vec<Vec<u32>> {
    let stream = r.recording.streams.warp(WarpId(warp)).unwrap().unwrap();
    let Streams::Path { words, ends } = stream.lanes else { panic!() };
    let mut from = 0;
    ends.iter().map(|&e| words[std::mem::replace(&mut from, e as usize)..e as usize].to_vec()).collect()
}

#[test]
fn words_come_back_by_lane() {
    // Lane l of warp w writes l + w words: some none, some several chunks.
    let body: Body = |lanes| {
        for i in 0..40u32 {
            for (warp, lane) in (0..4).flat_map(|w| (0..32).map(move |l| (w, l))) {
                if u64::from(i) < lane + warp {
                    lanes.store(warp, lane, &(1 + i * 100 + lane as u32).to_le_bytes());
                }
            }
        }
    };
    let options = RecordOptions { run_original: true, ..RecordOptions::default() };
    let r = recorded(Level::Path, &job(2, 64), options, body).unwrap();
    assert_eq!((&r.damage, &r.fault), (&vec![], &None));
    let mut sum = 0;
    for warp in 0..4 {
        for (lane, got) in words(&r, warp).into_iter().enumerate() {
            let want: Vec<u32> = (0..lane as u32 + warp as u32).map(|i| 1 + i * 100 + lane as u32).collect();
            sum += want.len() as u64;
            assert_eq!(got, want, "warp {warp} lane {lane}");
        }
    }
    let launch = &r.recording.launch;
    let totals = launch.totals;
    assert_eq!((totals.recorded, totals.dropped, totals.filtered_warps), (sum, 0, 0));
    assert_eq!((totals.bare, totals.instrumented), (10, 15));
    assert_eq!(r.original.unwrap().changed, Vec::<String>::new());
    assert_eq!(r.outputs[0].bytes[..8], [9, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!((launch.device.as_str(), launch.params.len()), ("fake device", 12));
    assert_ne!(launch.args[0].before, launch.args[0].after);
    assert_eq!((launch.args[0].bytes, launch.args[1].bytes), (Some(16), None));
}

#[test]
fn last_words_come_behind_the_stream() {
    let body: Body = |lanes| {
        let word = |lanes: &mut Lanes<'_>, warp: u64, lane: u64, word: u32| {
            let at = lanes.context.finals + (32 * warp + lane) * 4;
            lanes.memory.set(at, &word.to_le_bytes());
        };
        // Warp 1 has last words only; of warp 2 one lane has both, one a stream, and one a last word.
        word(lanes, 1, 3, 0b1101);
        word(lanes, 1, 31, 0b10);
        lanes.store(2, 5, &9u32.to_le_bytes());
        lanes.store(2, 5, &8u32.to_le_bytes());
        word(lanes, 2, 5, 7);
        lanes.store(2, 6, &6u32.to_le_bytes());
        word(lanes, 2, 30, 5);
    };
    let r = recorded(Level::Path, &job(2, 64), RecordOptions::default(), body).unwrap();
    assert_eq!((&r.damage, &r.fault), (&vec![], &None));
    let only = |all: &[(usize, u32)]| {
        let mut want = vec![Vec::new(); 32];
        all.iter().for_each(|(lane, word)| want[*lane].push(*word));
        want
    };
    assert_eq!(words(&r, 0), only(&[]));
    assert_eq!(words(&r, 1), only(&[(3, 0b1101), (31, 0b10)]));
    assert_eq!(words(&r, 2), only(&[(5, 9), (5, 8), (5, 7), (6, 6), (30, 5)]));
    let totals = r.recording.launch.totals;
    assert_eq!((totals.recorded, totals.dropped), (7, 0));
}

#[test]
fn what_does_not_fit_is_counted() {
    // Two chunks of room, and both warps want three each.
    let body: Body = |lanes| {
        for i in 0..3 * Lanes::rows() {
            for (warp, lane) in (0..2).flat_map(|w| (0..32).map(move |l| (w, l))) {
                lanes.store(warp, lane, &(1 + i as u32).to_le_bytes());
            }
        }
    };
    let r =
        recorded(Level::Path, &job(1, 64), RecordOptions { pool: 2 * 2048 + 100, run_original: false }, body)
            .unwrap();
    assert_eq!(r.damage, Vec::<String>::new());
    let per_chunk = 32 * Lanes::rows();
    let totals = r.recording.launch.totals;
    assert_eq!((totals.recorded, totals.dropped), (2 * per_chunk, 4 * per_chunk));
    let dropped: Vec<u64> = r.recording.streams.infos().map(|i| i.dropped).collect();
    assert_eq!(dropped, [2 * per_chunk, 2 * per_chunk]);
    assert_eq!(words(&r, 1)[31], (1..=Lanes::rows() as u32).collect::<Vec<_>>());
}

#[test]
fn no_pool_at_all() {
    let body: Body = |lanes| lanes.store(0, 3, &1u32.to_le_bytes());
    let r = recorded(Level::Path, &job(1, 32), RecordOptions { pool: 0, run_original: false }, body).unwrap();
    assert_eq!((r.recording.launch.totals.recorded, r.recording.launch.totals.dropped), (0, 1));
}

#[test]
fn corrupt_links_end_the_stream_and_are_told() {
    for (name, link) in [
        ("into itself", (|c: &Context| c.pool) as fn(&Context) -> u64),
        ("into the other warp's", |c| c.pool + 2048),
        ("into the middle of a chunk", |c| c.pool + 8),
        ("past what was handed out", |c| c.pool + 4 * 2048),
        ("anywhere", |_| 0xdead_beef_dead_beef),
    ] {
        let link = Rc::new(link);
        let level = Level::Path;
        let mut device = Fake::new(move |memory: &mut Memory, _: &str, _: &LaunchConfig, params: &[u8]| {
            let mut lanes = Lanes::new(memory, level, WarpSize::W32, params);
            for warp in 0..2 {
                lanes.store(warp, 0, &5u32.to_le_bytes());
            }
            let (at, to) = (lanes.context.pool, link(&lanes.context));
            memory.set(at, &to.to_le_bytes());
            Ok(LaunchStats::default())
        });
        let r = record(&mut device, CODE, &plan(level), &job(1, 64), &RecordOptions::default()).unwrap();
        assert_eq!(r.damage.len(), 1, "{name}");
        let dropped: Vec<u64> = r.recording.streams.infos().map(|i| i.dropped).collect();
        assert_eq!(dropped.iter().sum::<u64>(), 1, "{name}: {dropped:?}");
        assert_eq!(words(&r, 0)[0], [5], "{name}");
    }
}

#[test]
fn elements_after_a_hole_are_not_taken() {
    let body: Body = |lanes| {
        lanes.store(0, 0, &5u32.to_le_bytes());
        let row = 128;
        lanes.memory.set(lanes.context.pool + 4 * row, &6u32.to_le_bytes());
    };
    let r = recorded(Level::Path, &job(1, 32), RecordOptions::default(), body).unwrap();
    assert_eq!(words(&r, 0)[0], [5]);
    assert!(r.damage[0].contains("lane 0 has elements after its stream's end"), "{:?}", r.damage);
    assert_eq!(r.recording.launch.totals.dropped, 1);
}

#[test]
fn any_garbage_is_survived() {
    for seed in 0..200u64 {
        let size = if seed % 4 == 3 { WarpSize::W64 } else { WarpSize::W32 };
        for level in [Level::Path, Level::Fingerprint, Level::Events, Level::Operands] {
            let mut device =
                Fake::new(move |memory: &mut Memory, _: &str, _: &LaunchConfig, params: &[u8]| {
                    let mut random = prlx_driver::random::SplitMix::of_argument(seed, 0);
                    let context = Lanes::new(memory, level, size, params).context;
                    memory.set(context.cursor, &(random.draw() % 20_000).to_le_bytes());
                    // Words that are often good links, so that chains of all shapes come about.
                    let word = |random: &mut prlx_driver::random::SplitMix| match random.draw() % 4 {
                        0 => 0,
                        1 => context.bucket,
                        2 => context.pool + random.draw() % 64 * 256,
                        _ => random.draw() % 9,
                    };
                    for i in 0..16_384 / 8 {
                        memory.set(context.pool + i * 8, &word(&mut random).to_le_bytes());
                    }
                    for i in 0..4 {
                        memory.set(context.heads + i * 8, &word(&mut random).to_le_bytes());
                    }
                    Ok(LaunchStats::default())
                });
            let options = RecordOptions { pool: 16_384, run_original: false };
            device.warp_size = size;
            let r = record(
                &mut device,
                CODE,
                &sized_plan(size, level),
                &job(1, 2 * size.lanes() as u32),
                &options,
            )
            .unwrap();
            assert!(r.recording.launch.totals.recorded <= 16_384 / 4);
        }
    }
}

#[test]
fn events_are_merged_by_clock_even_when_it_wraps() {
    let body: Body = |lanes| {
        let mut event = |lane: u64, clock: u32, site: u32| {
            let record = EventRecord { site: site + 1, mask: 0xff, value: clock, clock };
            lanes.store(0, lane, &record.to_bytes());
        };
        event(5, 0xffff_fff0, 0);
        event(5, 10, 2);
        event(9, 0xffff_ffff, 1);
        event(9, 20, 3);
        for i in 0..20 {
            event(1, 30 + i, 0);
        }
    };
    let r = recorded(Level::Events, &job(1, 32), RecordOptions::default(), body).unwrap();
    let Streams::Events(events) = r.recording.streams.warp(WarpId(0)).unwrap().unwrap().lanes else {
        panic!()
    };
    let sites: Vec<u32> = events.iter().map(|e| e.site.0).collect();
    assert_eq!(sites[..4], [0, 1, 2, 3]);
    assert_eq!((events.len(), r.recording.launch.totals.recorded), (24, 24));
    assert_eq!(r.damage, Vec::<String>::new());
}

#[test]
fn warps_of_64_lanes_have_wide_events() {
    let body: Body = |lanes| {
        let (all, taken) = (u64::MAX, 0x8000_0001_ffff_ffff);
        let event = |site: u32, mask: u64, value: u64, clock: u32| {
            WideEventRecord { site, mask, value, clock, spare: 0 }.to_bytes()
        };
        // Lane 0 takes a branch with the lanes of `taken`, and two stores follow. Lane 33 is the lowest of
        // the others and leads them.
        let tag = Followers { count: 2, lanes: Follow::With }.tag();
        lanes.store(0, 0, &event(1 | tag, all, taken, 10));
        lanes.store(0, 0, &[0x1_0000_0000u64, 7, 0, 0].map(u64::to_le_bytes).concat());
        lanes.store(0, 33, &event(4, all & !taken, 1 << 40, 20));
    };
    let r = sized(WarpSize::W64, Level::Events, &job(1, 96), RecordOptions::default(), body).unwrap();
    assert_eq!((&r.damage, r.recording.launch.warp_size), (&vec![], WarpSize::W64));
    assert_eq!(r.recording.streams.infos().len(), 2);
    let Streams::Events(events) = r.recording.streams.warp(WarpId(0)).unwrap().unwrap().lanes else {
        panic!()
    };
    let (taken, rest) = (0x8000_0001_ffff_ffff, 0x7fff_fffe_0000_0000);
    let got: Vec<_> = events.iter().map(|e| (e.site.0, e.mask.0, e.value)).collect();
    assert_eq!(got, [(0, u64::MAX, taken), (1, taken, 1 << 32), (2, taken, 7), (3, rest, 1 << 40)]);
}

#[test]
fn warps_of_64_lanes_have_a_word_and_a_signature_for_each_lane() {
    let body: Body = |lanes| {
        for lane in 0..64 {
            lanes.store(1, lane, &(1 + lane as u32).to_le_bytes());
        }
    };
    let r = sized(WarpSize::W64, Level::Path, &job(1, 128), RecordOptions::default(), body).unwrap();
    let want: Vec<Vec<u32>> = (1..=64).map(|word| vec![word]).collect();
    assert_eq!((words(&r, 1), words(&r, 0).len()), (want, 64));
    let body: Body = |lanes| {
        let at = lanes.context.finals + 72;
        lanes.memory.set(at + 4, &9u32.to_le_bytes());
        lanes.memory.set(at + 8 + 63, &[5]);
    };
    let r = sized(WarpSize::W64, Level::Fingerprint, &job(1, 128), RecordOptions::default(), body).unwrap();
    let Streams::Fingerprint { hashes, ends, .. } =
        r.recording.streams.warp(WarpId(1)).unwrap().unwrap().lanes
    else {
        panic!()
    };
    assert_eq!((hashes, ends.len()), (vec![[0, 0, 9, 0], [0; 4], [0, 0, 0, 5 << 56]], 64));
}

#[test]
fn code_for_other_warps_is_refused() {
    let mut device = Fake::new(|_, _, _, _| Ok(LaunchStats::default()));
    let plan = sized_plan(WarpSize::W64, Level::Path);
    let e = record(&mut device, CODE, &plan, &job(1, 32), &RecordOptions::default()).unwrap_err();
    assert_eq!(e.message, "the code is for warps of 64 lanes; the device has warps of 32");
}

#[test]
fn fingerprints_and_their_finals() {
    let body: Body = |lanes| {
        for warp in 0..2 {
            lanes.store(warp, 4, &77u64.to_le_bytes());
            let at = lanes.context.finals + warp * 40;
            lanes.memory.set(at + 4, &(100 + warp as u32).to_le_bytes());
            lanes.memory.set(at + 8 + 9, &[7]);
        }
    };
    let r = recorded(Level::Fingerprint, &job(1, 40), RecordOptions::default(), body).unwrap();
    let Streams::Fingerprint { checkpoints, hashes, .. } =
        r.recording.streams.warp(WarpId(1)).unwrap().unwrap().lanes
    else {
        panic!()
    };
    assert_eq!((checkpoints, hashes), (vec![77], vec![[0, 0, 101, 0], [0, 7 << 8, 0, 0]]));
}

#[test]
fn operand_records_keep_zero_values_and_only_the_window_is_there() {
    let body: Body = |lanes| {
        for visit in 0..12u64 {
            for e in [(1 + 3) | (visit << 32), 0, visit] {
                lanes.store(1, 8, &e.to_le_bytes());
            }
        }
    };
    let r = recorded(Level::Operands, &job(2, 64), RecordOptions::default(), body).unwrap();
    let infos: Vec<WarpId> = r.recording.streams.infos().map(|i| i.warp).collect();
    assert_eq!(infos, [WarpId(1)]);
    assert_eq!(r.recording.launch.totals.filtered_warps, 3);
    let Streams::Operands { records, ends } = r.recording.streams.warp(WarpId(1)).unwrap().unwrap().lanes
    else {
        panic!()
    };
    assert_eq!((records.len(), ends[7], ends[8]), (12, 0, 12));
    assert_eq!(records[11], OperandRecord { site: SiteId(3), visit: 11, values: [0, 11] });
    assert_eq!(r.recording.launch.window, plan(Level::Operands).request.window);
}

#[test]
fn digests_are_equal_for_equal_streams_only() {
    let streams = |body: Body| {
        let r = recorded(Level::Path, &job(1, 64), RecordOptions::default(), body).unwrap();
        r.recording.streams
    };
    let one = || streams(|lanes| lanes.store(0, 0, &5u32.to_le_bytes()));
    let (a, again) = (one(), one());
    assert_ne!(a.root(), 0);
    assert_eq!(a.root(), again.root());
    let more = streams(|lanes| {
        lanes.store(1, 0, &5u32.to_le_bytes());
        lanes.store(0, 0, &5u32.to_le_bytes());
    });
    assert_ne!(a.root(), more.root());
    let warps = [&a, &more].map(|streams| streams.frame(0).unwrap());
    assert!(warps[0][0].same(&warps[1][0]) && !warps[0][1].same(&warps[1][1]));
    let other = streams(|lanes| lanes.store(0, 1, &5u32.to_le_bytes()));
    assert_ne!(a.root(), other.root(), "which lane wrote it matters");
}

#[test]
fn a_fault_keeps_what_was_recorded() {
    let mut device = Fake::new(|memory, _, _, params| {
        Lanes::new(memory, Level::Path, WarpSize::W32, params).store(0, 0, &5u32.to_le_bytes());
        Err(Error::new(ErrorKind::Fault, "k.ptx:12: out of bounds"))
    });
    let options = RecordOptions { run_original: true, ..RecordOptions::default() };
    let r = record(&mut device, CODE, &plan(Level::Path), &job(1, 32), &options).unwrap();
    assert_eq!(words(&r, 0)[0], [5]);
    assert_eq!(r.fault.unwrap().message, "k.ptx:12: out of bounds");
    let launch = &r.recording.launch;
    let fault = Fault { kind: FaultKind::Fault, text: "k.ptx:12: out of bounds".into(), unfinished: None };
    assert_eq!(launch.fault, Some(fault));
    assert_eq!(launch.unfinished(WarpId(0)), launch.lanes(WarpId(0)), "nobody knows who had ended");
    assert_eq!((launch.totals.filtered_warps, launch.args[0].after, r.outputs.len()), (0, None, 0));
    assert!(r.original.is_none() && device.memory.blocks.is_empty());
}

#[test]
fn a_device_that_can_not_be_read_after_a_fault() {
    let mut device = Fake::new(|memory, _, _, _| {
        memory.dead = true;
        Err(Error::new(ErrorKind::Stuck, "too many steps"))
    });
    let r = record(&mut device, CODE, &plan(Level::Path), &job(1, 32), &RecordOptions::default()).unwrap();
    let launch = &r.recording.launch;
    assert_eq!(launch.fault.as_ref().map(|f| f.kind), Some(FaultKind::Stuck));
    assert_eq!(
        (r.recording.streams.infos().len(), launch.totals.recorded, launch.totals.filtered_warps),
        (0, 0, 0)
    );
}

#[test]
fn runs_that_leave_different_bytes_are_told() {
    let count = Rc::new(RefCell::new(0u32));
    let mut device = Fake::new(move |memory, _, _, params| {
        let y = u64::from_le_bytes(params[..8].try_into().unwrap());
        assert_eq!(memory.u64(y), 7 << 32 | 7, "the buffer was given its content again");
        *count.borrow_mut() += 1;
        memory.set(y, &count.borrow().to_le_bytes());
        Ok(LaunchStats::default())
    });
    let options = RecordOptions { run_original: true, ..RecordOptions::default() };
    let r = record(&mut device, CODE, &plan(Level::Path), &job(1, 32), &options).unwrap();
    assert_eq!(r.original.unwrap().changed, ["y"]);
}

#[test]
fn refusals_give_everything_back() {
    let mut skipped = plan(Level::Path);
    skipped.functions[0].skipped = Some("the filter leaves it out".into());
    let mut device = Fake::new(|_, _, _, _| Ok(LaunchStats::default()));
    let e = record(&mut device, CODE, &skipped, &job(1, 32), &RecordOptions::default()).unwrap_err();
    assert_eq!(e.message, "kernel `k` is not instrumented: the filter leaves it out");
    device.limit = 5000;
    let e =
        record(&mut device, CODE, &plan(Level::Path), &job(1, 32), &RecordOptions::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::Memory);
    assert!(device.memory.blocks.is_empty());
    assert_eq!(device.info().warp_size, WarpSize::W32);
}

#[test]
fn what_was_not_started_is_no_recording() {
    let mut device = Fake::new(|_, _, _, _| Err(Error::new(ErrorKind::Unsupported, "wgmma is not there")));
    let e =
        record(&mut device, CODE, &plan(Level::Path), &job(1, 32), &RecordOptions::default()).unwrap_err();
    assert_eq!((e.kind, device.memory.blocks.len()), (ErrorKind::Unsupported, 0));
}
