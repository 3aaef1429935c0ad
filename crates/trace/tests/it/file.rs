//! The file of a recording: it reads back as written, damage is reported, and files of old versions are still
//! readable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::made::{Random, trace, warp};
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{End, Level, Module, Scalar, Source};
use prlx_trace::launch::{Lanes, Pointee};
use prlx_trace::mark::{Marks, Record, Records, Sum, Track};
use prlx_trace::outputs::OutputContents;
use prlx_trace::process::{Device, Process, Skipped};
use prlx_trace::table::{Aggregate, Field, Row, TableContents};
use prlx_trace::{
    BlockId, Bytes, Dim3, Error, FuncId, LaneMask, Launch, LocId, LoopId, Recording, SiteId, Streams, Trace,
    WarpId, WarpSize, Writer,
};
use proptest::prelude::*;

fn bytes(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    trace.write(&mut out).unwrap();
    out
}

fn text(trace: &Trace) -> String {
    let mut out = Vec::new();
    trace.dump(&mut out).unwrap();
    let mut text = String::from_utf8(out).unwrap();
    // What markers left is not dumped.
    for marks in &trace.marks {
        text.push_str(&format!("marks of launch {}, {} left out\n", marks.launch, marks.left_out));
        marks.tracks.iter().for_each(|track| text.push_str(&format!("{track:?}\n")));
    }
    text
}

/// Everything that the file holds is looked at.
fn read_all(file: &[u8]) -> Result<Trace, Error> {
    let trace = Trace::read(file)?;
    for launch in &trace.launches {
        for i in 0..launch.streams.frames() {
            launch.streams.frame(i)?;
        }
    }
    Ok(trace)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

proptest! {
    #[test]
    fn what_is_written_is_read(seed: u64) {
        let made = trace(seed, 4, 40, 20);
        let file = bytes(&made);
        let read = read_all(&file).unwrap();
        prop_assert_eq!(&read, &made);
        prop_assert_eq!(text(&read), text(&made));
        let index = Trace::read_index(&file).unwrap();
        for (a, b) in index.launches.iter().zip(&read.launches) {
            prop_assert_eq!((&a.launch, a.streams.root()), (&b.launch, b.streams.root()));
            prop_assert!(a.streams.infos().eq(b.streams.infos()));
            prop_assert!(a.streams.frames() == 0 || a.streams.frame(0).is_err());
        }
        // Frames that were read are written as they are, wherever they lie.
        prop_assert_eq!(&bytes(&read), &file);
        let mapped: Bytes = Arc::new(file.clone());
        let there = Trace::read_mapped(&mapped).unwrap();
        prop_assert_eq!(&there, &read);
        prop_assert_eq!(bytes(&there), file);
    }
}

#[test]
fn many_warps_lie_in_many_frames() {
    for level in Level::RECORDERS {
        let mut r = Random(99);
        let warps: Vec<_> = (0..1000).rev().map(|w| warp(&mut r, w, WarpSize::W32, *level, 30)).collect();
        let mut made = trace(1, 0, 0, 0);
        let mut one = (0..).map(|seed| trace(seed, 1, 0, 0)).find(|t| t.launches.len() == 1).unwrap();
        let mut launch = one.launches.remove(0).launch;
        launch.level = *level;
        let streams = Streams::new(warps.clone());
        made.launches.push(Recording { launch, streams });
        let read = read_all(&bytes(&made)).unwrap();
        let streams = &read.launches[0].streams;
        assert_eq!((streams.frames(), streams.infos().len()), (4, 1000));
        assert_eq!(streams.frame_infos(3).next().map(|i| i.warp), Some(WarpId(768)));
        let flat: Vec<_> = (0..4).flat_map(|i| streams.frame(i).unwrap()).collect();
        assert!(flat.iter().eq(warps.iter().rev()));
        for w in [0, 255, 256, 999] {
            assert_eq!(streams.warp(WarpId(w)).unwrap().as_ref(), Some(&warps[999 - w as usize]));
        }
        assert_eq!(streams.warp(WarpId(1000)), Ok(None));
        assert_eq!(streams.frame_of(WarpId(300)), Some(1));
    }
}

/// Warps of 64 lanes read back, with masks above bit 31.
#[test]
fn warps_may_have_64_lanes() {
    let mut r = Random(7);
    for level in Level::RECORDERS {
        let launch = Launch {
            warp_size: WarpSize::W64,
            block: Dim3 { x: 130, y: 1, z: 1 },
            level: *level,
            ..Launch::default()
        };
        assert_eq!((launch.warps_per_cta(), launch.lanes(WarpId(1))), (3, LaneMask(u64::MAX)));
        assert_eq!(launch.lanes(WarpId(2)), LaneMask(3));
        let warps: Vec<_> = (0..3).map(|w| warp(&mut r, w, WarpSize::W64, *level, 40)).collect();
        let streams = Streams::new(warps.clone());
        let made = Trace {
            modules: vec![small().modules[0].clone()],
            launches: vec![Recording { launch, streams }],
            ..Trace::default()
        };
        let read = read_all(&bytes(&made)).unwrap();
        assert_eq!(read, made);
        if let Lanes::Events(events) = &read.launches[0].streams.frame(0).unwrap()[0].lanes {
            assert!(events.iter().any(|e| e.mask.0 >> 32 != 0 && e.mask.0 as u32 != 0));
        }
    }
}

#[test]
fn odd_streams() {
    let mut made = (0..).map(|seed| trace(seed, 1, 0, 0)).find(|t| t.launches.len() == 1).unwrap();
    let lanes = [
        Lanes::default(),
        Lanes::Events(vec![]),
        Lanes::Path { words: vec![7; 3], ends: vec![0, 3, 3] },
        Lanes::Fingerprint { checkpoints: vec![], ends: vec![], hashes: vec![[1; 4]; 3] },
        Lanes::Operands { records: vec![], ends: vec![0; 64] },
        Lanes::Path { words: vec![8], ends: vec![1; 64] },
    ];
    let warps = lanes.into_iter().enumerate();
    let warps = warps.map(|(i, lanes)| prlx_trace::WarpStream { warp: WarpId(i as u64), dropped: 0, lanes });
    made.launches[0].streams = Streams::new(warps.collect());
    assert_eq!(read_all(&bytes(&made)).unwrap(), made);
}

/// Small, with everything in it.
fn small() -> Trace {
    (0..).map(|seed| trace(seed, 3, 4, 3)).find(|t| t.launches.len() == 3).unwrap()
}

#[test]
fn every_damaged_byte_is_noticed() {
    let made = small();
    let file = bytes(&made);
    for i in 0..file.len() {
        let mut bad = file.clone();
        bad[i] ^= 1 << (i % 8);
        match read_all(&bad) {
            Ok(read) => assert!(read == made, "byte {i} changed makes another trace"),
            Err(e) => assert!(!e.what.is_empty() && !e.field.is_empty(), "byte {i}: {e}"),
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let file = bytes(&small());
    for n in 0..file.len() {
        assert!(read_all(&file[..n]).is_err(), "cut at {n}");
    }
    let mut longer = file.clone();
    longer.push(0);
    assert!(read_all(&longer).unwrap_err().what.contains("follow the end"));
}

/// Appended a frame at a time, launches are what they are at once.
#[test]
fn streams_grow_by_frames() {
    let made = trace(1, 4, 40, 20);
    let all: Vec<_> = made
        .launches
        .iter()
        .map(|r| (0..r.streams.frames()).flat_map(|i| r.streams.frame(i).unwrap()).collect::<Vec<_>>())
        .collect();
    for (warps, launch) in all.iter().zip(&made.launches) {
        let mut grown = Streams::default();
        warps.chunks(2).for_each(|some| grown.append(some).unwrap());
        assert_eq!(grown, launch.streams);
        assert_eq!(grown.frames(), warps.len().div_ceil(2));
        if let Some(last) = warps.last() {
            assert!(grown.append(std::slice::from_ref(last)).is_err(), "it is there");
        }
    }
    assert!(all.iter().any(|w| w.len() > 2));
}

/// What is left of a file is what was whole in it, and says that it is not all.
#[test]
fn every_cut_leaves_what_was_whole() {
    let made = small();
    let file = bytes(&made);
    let mut seen = [0; 4];
    for n in 0..file.len() {
        let Ok(read) = Trace::read_cut(&file[..n]) else {
            assert!(n < 200, "cut at {n}");
            continue;
        };
        let cut = read.cut.clone().expect("it says so");
        assert!(cut.offset <= n as u64, "{cut}");
        assert!(made.modules.starts_with(&read.modules) && made.skipped.starts_with(&read.skipped));
        assert!(made.launches.starts_with(&read.launches), "cut at {n}");
        assert!(read.launches.is_empty() || (read.modules.len() == 2 && read.process == made.process));
        seen[read.launches.len()] += 1;
        // Written again, it is no more whole than before.
        let again = bytes(&read);
        assert!(Trace::read(&again).is_err());
        let again = Trace::read_cut(&again).unwrap();
        assert_eq!(Trace { cut: None, ..again }, Trace { cut: None, ..read });
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    assert_eq!(Trace::read_cut(&file).unwrap(), made);
}

#[test]
fn damage_is_no_cut() {
    let file = bytes(&small());
    for i in 0..file.len() {
        let mut bad = file.clone();
        bad[i] ^= 1 << (i % 8);
        assert!(Trace::read_cut(&bad).is_err() || Trace::read(&bad).is_ok(), "byte {i}");
    }
}

/// A disk that is full after so many bytes, and has room again when it has said so once.
struct Full {
    room: Option<usize>,
    bytes: Vec<u8>,
}

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.room == Some(0) {
            self.room = None;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let n = bytes.len().min(self.room.unwrap_or(usize::MAX));
        self.room = self.room.map(|room| room - n);
        self.bytes.extend_from_slice(&bytes[..n]);
        Ok(n)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What could not be written whole is the last of the file, whoever goes on writing.
#[test]
fn nothing_follows_a_section_that_is_not_whole() {
    let made = small();
    let file = bytes(&made);
    for room in 0..file.len() {
        let mut full = Full { room: Some(room), bytes: Vec::new() };
        let Ok(mut to) = Writer::new(&mut full, &made.producer, made.process.as_ref()) else { continue };
        for m in &made.modules {
            let _ = to.module(m);
        }
        made.skipped.iter().for_each(|s| drop(to.skipped(s)));
        made.ranges.iter().for_each(|name| drop(to.range(name)));
        made.launches.iter().for_each(|r| drop(to.launch(&r.launch, &r.streams)));
        made.tallies.iter().for_each(|t| drop(to.tally(t)));
        made.marks.iter().for_each(|m| drop(to.marks(m)));
        made.outputs.iter().for_each(|o| drop(to.output(o)));
        assert!(to.finish().is_err());
        assert!(Trace::read_cut(&full.bytes).is_ok_and(|t| t.cut.is_some()), "room for {room}");
    }
}

#[test]
fn a_launch_of_a_module_that_is_not_there_is_refused() {
    let mut to = Writer::new(Vec::new(), "me", None).unwrap();
    let e = to.launch(&small().launches[0].launch, &Streams::default()).unwrap_err();
    assert!(e.to_string().contains("0 were written"), "{e}");
    assert_eq!(Trace::read(&to.finish().unwrap()).unwrap().producer, "me");
}

#[test]
fn later_versions_and_other_files_are_refused() {
    assert!(Trace::read(b"").unwrap_err().what.contains("no recording of prlx"));
    assert!(Trace::read(b"PK\x03\x04 and more").unwrap_err().what.contains("no recording of prlx"));
    assert!(Trace::read(b"PRLXTRC2").unwrap_err().what.contains("cut off"));
}

/// A trace that breaks one promise of its types is written, and refused when read.
#[test]
fn ids_out_of_range_are_refused() {
    type Break = fn(&mut Module);
    let breaks: &[(&str, Break)] = &[
        ("modules[0].locs[0].file", |m| m.files.clear()),
        ("locs[3].inlined_at", |m| m.locs[3].inlined_at = Some(LocId(4))),
        ("locs[0].inlined_at", |m| m.locs[3].inlined_at = Some(LocId(0))),
        ("tables[0].values", |m| m.tables[0].values = m.tables[1].values.clone()),
        ("tables[2].aggregate.steps", |m| {
            m.tables[2].aggregate = Aggregate::Lhist { low: 0, step: 1, steps: 1 << 20 }
        }),
        ("marks[1].function", |m| m.marks[1].function = FuncId(2)),
        ("marks[0].loc", |m| m.marks[0].loc = Some(LocId(4))),
        ("marks[2].payload", |m| m.marks[2].payload = vec![Field::default(); 3]),
        ("functions[1].blocks[2].end", |m| m.functions[1].blocks[2].end = End::Jump(BlockId(5))),
        ("functions[1].blocks[2].ipdom", |m| m.functions[1].blocks[2].ipdom = Some(BlockId(5))),
        ("functions[0].blocks[0].in_loop", |m| m.functions[0].blocks[0].in_loop = Some(LoopId(2))),
        ("functions[0].loops[0].parent", |m| m.functions[0].loops[0].parent = Some(LoopId(0))),
        ("functions[0].loops[1].blocks", |m| m.functions[0].loops[1].blocks = vec![BlockId(1), BlockId(0)]),
        ("functions[0].slots", |m| m.functions[0].slots = u32::MAX),
        ("sites[2].function", |m| m.sites[2].function = FuncId(2)),
        ("sites[2].block", |m| m.sites[2].block = BlockId(9)),
        ("sites[2].source.of", |m| m.sites[2].source = Source::Trips { of: LoopId(7), stay: true, bits: 6 }),
    ];
    for (field, change) in breaks {
        let mut bad = trace(3, 0, 0, 0);
        change(&mut bad.modules[0]);
        let e = Trace::read(&bytes(&bad)).expect_err(field);
        assert!(e.field.contains(field), "{field}: {e}");
    }
    let mut bad = small();
    bad.launches[0].launch.kernel = FuncId(2);
    assert_eq!(Trace::read(&bytes(&bad)).unwrap_err().field, "Trace.launches[0].kernel");
    let mut bad = small();
    bad.launches[1].launch.grid = Dim3 { x: u32::MAX, y: u32::MAX, z: u32::MAX };
    assert_eq!(Trace::read(&bytes(&bad)).unwrap_err().field, "Trace.launches[1].grid");
    for warps in [[3, 3], [0, u64::MAX]] {
        let mut bad = small();
        let unfinished = Some(warps.map(|w| (WarpId(w), LaneMask(1))).to_vec());
        bad.launches[1].launch.fault = Some(prlx_trace::launch::Fault { unfinished, ..Default::default() });
        assert_eq!(Trace::read(&bytes(&bad)).unwrap_err().field, "Trace.launches[1].fault.unfinished");
    }
    let mut bad = small();
    let events = vec![prlx_trace::launch::Event { site: SiteId(6), ..Default::default() }];
    let lanes = Lanes::Events(events);
    bad.launches[0].streams = Streams::new(vec![prlx_trace::WarpStream { lanes, ..Default::default() }]);
    assert!(read_all(&bytes(&bad)).unwrap_err().what.contains("site"));
}

/// `docs/format.md` says what the code does.
#[test]
fn the_description_is_fresh() {
    let path = root().join("docs/format.md");
    let made = prlx_trace::format_markdown();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/format.md is not what the tables give: run with BLESS=1, and read what changed"
    );
}

fn old_files() -> PathBuf {
    root().join("tests/traces/v2")
}

/// Small, with a launch at every level, each with elements, and some that faulted.
fn at_every_level() -> Trace {
    let full = |t: &Trace| {
        let mut levels: Vec<Level> = t.launches.iter().map(|r| r.launch.level).collect();
        levels.sort();
        let elements =
            |r: &Recording| r.streams.frame(0).unwrap().iter().map(|w| w.lanes.elements()).sum::<u64>();
        levels == Level::RECORDERS
            && t.marks
                .iter()
                .flat_map(|m| &m.tracks)
                .any(|t| t.anchors.0.len() > 1 && !t.records.0.is_empty())
            && t.launches.iter().all(|r| elements(r) > 0 && r.streams.infos().len() > 1)
            && t.launches.iter().any(|r| {
                r.launch.fault.as_ref().is_some_and(|f| f.unfinished.as_ref().is_some_and(|u| !u.is_empty()))
            })
    };
    let mut made = (0..).map(|seed| trace(seed, 4, 4, 3)).find(full).unwrap();
    // What a program's recording has.
    made.process = Some(Process {
        pid: 7,
        host: "here".into(),
        rank: Some(1),
        local_rank: None,
        world_size: Some(2),
        command: vec!["python".into(), "train.py".into()],
        started: Nanos(1_700_000_000_000_000_000),
        devices: vec![Device { ordinal: 0, name: "GPU".into(), uuid: "GPU-0".into(), capability: (9, 0) }],
        versions: vec![("driver".into(), "13.0".into())],
    });
    let code = Skipped { module: "lib.so".into(), kernel: Some("gemm".into()), reason: "no PTX".into() };
    made.skipped = vec![code, Skipped { module: "other.so".into(), kernel: None, reason: "no PTX".into() }];
    let mut launch =
        Launch { warp_size: WarpSize::W32, number: 9, skipped: Some("no PTX".into()), ..Launch::default() };
    launch.pointees = vec![Pointee { offset: 8, bytes: 64, digested: 60, before: Some(1), after: None }];
    launch.undigested = Some("it still ran".into());
    made.launches.push(Recording { launch, streams: Streams::default() });
    made
}

/// Files that were written once are read for ever. They are never made again: a new version adds a file.
/// (When the dump changes, BLESS=1 makes the texts again from the files; nothing but the form may differ
/// then.)
#[test]
fn old_files_are_read() {
    let mut seen = 0;
    for entry in fs::read_dir(old_files()).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "prlx") {
            let trace = read_all(&fs::read(&path).unwrap()).unwrap();
            if std::env::var_os("BLESS").is_some() {
                fs::write(path.with_extension("txt"), text(&trace)).unwrap();
            }
            let kept = fs::read_to_string(path.with_extension("txt")).unwrap();
            assert_eq!(text(&trace), kept, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// Adds the file of a new version; it does not touch one that is there.
#[test]
#[ignore = "run once for each version of the format, by hand"]
fn add_the_file_of_this_version() {
    let file = bytes(&at_every_level());
    let path =
        old_files().join(format!("version{}.prlx", u32::from_le_bytes(file[8..12].try_into().unwrap())));
    assert!(!path.exists(), "files that are there are never made again");
    fs::create_dir_all(old_files()).unwrap();
    fs::write(path.with_extension("txt"), text(&at_every_level())).unwrap();
    fs::write(path, file).unwrap();
}

/// An output reads back, is refused without its launch or with another shape, and never unpacks to more than
/// its size.
#[test]
fn outputs_are_of_their_launch() {
    let elements: Vec<u8> = (0u8..32).collect();
    let launch = Launch { warp_size: WarpSize::W32, number: 3, ..Launch::default() };
    let made = |change: fn(&mut OutputContents)| {
        let mut output = OutputContents {
            launch: 3,
            name: "c".into(),
            ty: Scalar::F32,
            shape: vec![2, 4],
            ..OutputContents::default()
        };
        output.pack(&elements).unwrap();
        change(&mut output);
        Trace {
            modules: vec![small().modules[0].clone()],
            launches: vec![Recording { launch: launch.clone(), streams: Streams::default() }],
            outputs: vec![output],
            ..Trace::default()
        }
    };
    let read = Trace::read(&bytes(&made(|_| ()))).unwrap();
    assert_eq!(read.outputs[0].unpack().unwrap(), Some(elements.clone()));
    let absent = Trace::read(&bytes(&made(|o| o.packed.clear()))).unwrap();
    assert_eq!(absent.outputs[0].unpack().unwrap(), None);
    let refused = |change| Trace::read(&bytes(&made(change))).unwrap_err().field;
    assert_eq!(refused(|o| o.launch = 4), "Trace.outputs[0].launch");
    assert_eq!(refused(|o| o.shape = vec![2, 5]), "Trace.outputs[0].bytes");
    assert_eq!(refused(|o| o.shape = vec![u64::MAX, 2]), "Trace.outputs[0].bytes");
    let longer = Trace::read(&bytes(&made(|o| (o.shape, o.bytes) = (vec![7], 28)))).unwrap();
    assert!(longer.outputs[0].unpack().is_err(), "32 bytes come out");
    let appended = {
        let mut all = made(|_| ());
        all.append(made(|_| ()), 10);
        all.outputs.iter().map(|o| o.launch).collect::<Vec<_>>()
    };
    assert_eq!(appended, [3, 13]);
}

/// What a marker left that is not the module's is refused.
#[test]
fn marks_are_of_their_module() {
    let of = |track| Marks { tracks: vec![track], ..Marks::default() };
    let record = Record { mark: 3, ..Record::default() };
    let cases = [
        ("marks[0].tracks[0].lane", of(Track { lane: 64, ..Track::default() })),
        (
            "marks[0].tracks[0].records[0].mark",
            of(Track { records: Records(vec![record]), ..Track::default() }),
        ),
        (
            "marks[0].tracks[0].sums[0].mark",
            of(Track { sums: vec![Sum { mark: 3, ..Sum::default() }], ..Track::default() }),
        ),
    ];
    for (field, marks) in cases {
        let mut made = small();
        made.marks = vec![marks];
        let e = Trace::read(&bytes(&made)).unwrap_err();
        assert!(e.field.contains(field), "{field}: {e}");
    }
}

/// A tally that does not fit its table is refused.
#[test]
fn tallies_fit_their_tables() {
    let row = |key: [u64; 2]| Row { key: key.to_vec(), cells: vec![1] };
    let of = |table, row| TableContents { table, rows: vec![row], ..TableContents::default() };
    let cases = [
        ("tallies[0].table", of(4, row([0, 0]))),
        ("tallies[0].rows[0].key[0]", of(0, row([2, 0]))),
        ("tallies[0].rows[0].key[1]", of(0, row([0, 4]))),
        ("tallies[0].rows[0]", of(1, row([0, 0]))),
    ];
    for (field, tally) in cases {
        let mut made = small();
        made.tallies = vec![tally];
        let e = Trace::read(&bytes(&made)).unwrap_err();
        assert!(e.field.contains(field), "{field}: {e}");
    }
}
