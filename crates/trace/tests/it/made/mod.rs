//! Traces made from random numbers: valid, and with every kind of thing in them.

use prlx_trace::ids::{Cycles, Nanos};
use prlx_trace::kernel::{
    Alu, Arg, Block, End, FaultKind, Fidelity, Function, Guard, Level, Loc, Loop, Module, Node, NodeKind,
    Operand, Param, Scalar, Site, SiteClass, Source, SourceFile, Special, Steered, Step, ThreadResources,
};
use prlx_trace::launch::{
    ArgInfo, Event, Fault, Host, Lanes, Launch, LaunchRange, OperandRecord, Origin, Pointee, RangeName,
    StreamHashes, Totals, WarpStream, Window,
};
use prlx_trace::mark::{Anchor, Anchors, Mark, MarkKind, Marks, Record, Records, Sum, Track, Via};
use prlx_trace::outputs::OutputContents;
use prlx_trace::process::{Device, Process, Skipped};
use prlx_trace::table::{Aggregate, Field, Row, Shown, Table, TableContents};
use prlx_trace::{
    BlockId, Dim3, FileId, FuncId, LaneMask, LocId, LoopId, ModuleId, RangeId, Recording, SiteId, Slot,
    Streams, Trace, WarpId, WarpSize,
};

/// Number of range names in a trace.
const RANGES: usize = 3;

/// Pseudo-random numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }
    fn id(&mut self, n: usize) -> u32 {
        self.below(n) as u32
    }
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }
    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    fn text(&mut self) -> String {
        self.one(&["", "%p1", "setp.lt.s32 %p1, %r1, 4;", "größer", "ld.global.u32 %r4, [%rd2+16];"]).into()
    }
    fn loc(&mut self) -> Option<LocId> {
        self.maybe(|r| LocId(r.id(4)))
    }
    fn guard(&mut self) -> Option<Guard> {
        self.maybe(|r| Guard { slot: Slot(r.id(8)), negate: r.below(2) == 0 })
    }
}

const BLOCKS: usize = 5;
const SITES: usize = 6;

fn step(r: &mut Random) -> Step {
    let guard = r.guard();
    match r.below(5) {
        0 => Step::Let {
            to: Slot(r.id(8)),
            op: r.one(Alu::ALL),
            ty: r.one(Scalar::ALL),
            args: r.some(3, |r| match r.below(4) {
                0 => Arg::Slot(Slot(r.id(8))),
                1 => Arg::Const(r.bits()),
                2 => Arg::Special(r.one(Special::ALL)),
                _ => Arg::Param { offset: r.id(40), size: r.one(&[1, 2, 4, 8]) },
            }),
            guard,
        },
        1 => Step::Decide { site: SiteId(r.id(SITES)), slot: Slot(r.id(8)), guard },
        2 => Step::Visit { site: SiteId(r.id(SITES)), guard },
        3 => Step::Read {
            to: Slot(r.id(8)),
            bits: 1 + r.below(64) as u8,
            guard,
            text: r.text(),
            loc: guard.map(|g| LocId(g.slot.0 % 4)),
        },
        _ => Step::Call { function: FuncId(r.id(2)), guard, loc: guard.map(|g| LocId(g.slot.0 % 4)) },
    }
}

fn block(r: &mut Random) -> Block {
    Block {
        loc: r.loc(),
        steps: r.some(4, step),
        end: match r.below(5) {
            0 => End::Jump(BlockId(r.id(BLOCKS))),
            1 => End::Branch {
                guard: Guard { slot: Slot(r.id(8)), negate: true },
                taken: BlockId(r.id(BLOCKS)),
                other: BlockId(r.id(BLOCKS)),
            },
            2 => End::Switch { index: Slot(r.id(8)), targets: r.some(3, |r| BlockId(r.id(BLOCKS))) },
            3 => End::Return,
            _ => End::Exit,
        },
        ipdom: r.maybe(|r| BlockId(r.id(BLOCKS))),
        in_loop: r.maybe(|r| LoopId(r.id(2))),
    }
}

fn function(r: &mut Random) -> Function {
    Function {
        name: r.text(),
        kernel: r.below(2) == 0,
        params: r.some(3, |r| Param { name: r.text(), ty: r.one(Scalar::ALL), offset: r.id(99), size: 8 }),
        slots: 8,
        blocks: (0..BLOCKS).map(|_| block(r)).collect(),
        loops: (0..2)
            .map(|i| {
                let mut blocks = r.some(4, |r| BlockId(r.id(BLOCKS)));
                blocks.sort();
                let parent = if i == 1 { Some(LoopId(0)) } else { None };
                Loop { header: BlockId(r.id(BLOCKS)), parent, blocks, irreducible: i == 1, loc: r.loc() }
            })
            .collect(),
        skipped: r.maybe(Random::text),
        needs: r.maybe(|r| (needs(r), needs(r))),
        pointer_calls: r.some(3, Random::loc),
    }
}

fn needs(r: &mut Random) -> ThreadResources {
    ThreadResources { registers: r.id(256), local: r.id(1024) }
}

fn site(r: &mut Random) -> Site {
    Site {
        function: FuncId(r.id(2)),
        block: BlockId(r.id(BLOCKS)),
        loc: r.loc(),
        class: r.one(SiteClass::ALL),
        nth: r.id(1000),
        text: r.text(),
        source: match r.below(5) {
            0 => Source::None,
            1 => Source::Bits(1),
            2 => Source::Computed,
            3 => Source::Follows,
            _ => Source::Trips { of: LoopId(r.id(2)), stay: true, bits: 6 },
        },
        operands: r.some(2, |r| Operand { name: r.text(), ty: r.one(Scalar::ALL) }),
        steers: r.some(2, |r| Steered { class: r.one(SiteClass::ALL), text: r.text(), loc: r.loc() }),
        slice: {
            let n = r.below(4);
            let node = |r: &mut Random| Node {
                kind: r.one(NodeKind::ALL),
                text: r.text(),
                loc: r.loc(),
                inputs: r.some(2, |r| r.id(n)),
            };
            (0..n).map(|_| node(r)).collect()
        },
        skipped: r.maybe(Random::text),
    }
}

fn module(r: &mut Random) -> Module {
    Module {
        name: "kernel.ptx".into(),
        target: "sm_80".into(),
        digest: u128::from(r.bits()) << 64 | u128::from(r.bits()),
        files: vec![SourceFile { path: "a.cu".into(), text: r.maybe(|_| "int main() {}\n".into()) }],
        locs: (0..4)
            .map(|i| Loc {
                file: FileId(0),
                line: r.id(500),
                column: r.id(80),
                function: r.text(),
                inlined_at: (i < 3).then_some(LocId(i + 1)),
            })
            .collect(),
        functions: (0..2).map(|_| function(r)).collect(),
        sites: (0..SITES).map(|_| site(r)).collect(),
        tables: tables(),
        marks: (0..3).map(|_| mark(r)).collect(),
        hashing: 1,
    }
}

fn field(name: &str, ty: Scalar, shown: Shown) -> Field {
    Field { name: name.into(), ty, shown }
}

/// A table of every kind of aggregate.
fn tables() -> Vec<Table> {
    let value = || vec![field("value", Scalar::S64, Shown::Number)];
    let lhist = Aggregate::Lhist { low: -3, step: 2, steps: 4 };
    let of = |(i, (aggregate, values)): (usize, (Aggregate, Vec<Field>))| Table {
        name: format!("t{i}"),
        keys: vec![field("opcode", Scalar::U64, Shown::Word), field("line", Scalar::U64, Shown::Line)],
        aggregate,
        values,
        words: vec!["add".into(), "ld.global.f32".into()],
    };
    let all = vec![
        (Aggregate::Count, vec![]),
        (Aggregate::Min, value()),
        (lhist, value()),
        (Aggregate::Record { keep: 2, last: true }, [value(), value()].concat()),
    ];
    all.into_iter().enumerate().map(of).collect()
}

fn tally(r: &mut Random) -> TableContents {
    let table = r.id(4);
    let of = &tables()[table as usize];
    let row = |r: &mut Random| Row {
        key: vec![u64::from(r.id(2)), u64::from(r.id(4))],
        cells: (0..of.aggregate.cells(of.values.len())).map(|_| r.bits()).collect(),
    };
    let rows = r.some(3, row);
    TableContents {
        module: ModuleId(r.id(2)),
        table,
        launches: r.maybe(|r| (r.bits(), r.bits())),
        rows,
        lost: r.bits(),
    }
}

fn mark(r: &mut Random) -> Mark {
    Mark {
        name: r.text(),
        kind: r.one(MarkKind::ALL),
        via: r.one(Via::ALL),
        function: FuncId(r.id(2)),
        loc: r.maybe(|r| LocId(r.id(4))),
        payload: r.some(2, |r| field("words", r.one(Scalar::ALL), Shown::Number)),
    }
}

fn marks(r: &mut Random) -> Marks {
    let anchor = |r: &mut Random| Anchor {
        cycles: Cycles(r.bits()),
        nanos: Nanos(r.bits()),
        took: r.maybe(|r| r.id(1024)),
    };
    let track = |r: &mut Random| Track {
        warp: WarpId(r.bits()),
        lane: r.id(64) as u8,
        sm: r.id(132),
        group: r.maybe(|r| r.id(9)),
        begin: r.maybe(anchor),
        end: r.maybe(anchor),
        lost: r.bits(),
        last: r.below(2) == 0,
        records: Records(r.some(9, |r| Record {
            mark: r.id(3),
            clock: r.bits() as u32,
            payload: [r.bits() as u32, 0],
        })),
        sums: r.some(2, |r| Sum { mark: r.id(3), count: r.bits(), cycles: Cycles(r.bits()) }),
        anchors: Anchors(r.some(3, anchor)),
    };
    Marks { module: ModuleId(r.id(2)), launch: r.bits(), tracks: r.some(3, track), left_out: r.bits() }
}

/// Elements by lane; lanes go together often, as real ones do.
fn lanes<T: Copy>(
    r: &mut Random,
    size: WarpSize,
    most: usize,
    make: impl Fn(&mut Random) -> T,
) -> (Vec<T>, Vec<u32>) {
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    let shared: Vec<T> = (0..r.below(most + 1)).map(|_| make(r)).collect();
    for _ in 0..size.lanes() {
        match r.below(4) {
            0 => all.extend((0..r.below(most + 1)).map(|_| make(r))),
            1 => {}
            _ => all.extend(&shared),
        }
        ends.push(all.len() as u32);
    }
    (all, ends)
}

pub fn warp(r: &mut Random, warp: u64, size: WarpSize, level: Level, most: usize) -> WarpStream {
    let mask = |r: &mut Random| LaneMask(r.bits() & size.full_mask().0);
    let lanes = match level {
        Level::Path | Level::Values => {
            let (words, ends) = lanes(r, size, most, |r| r.bits() as u32 | 1);
            Lanes::Path { words, ends }
        }
        Level::Fingerprint => {
            let (checkpoints, ends) = lanes(r, size, most, |r| r.bits() | 1);
            // Of the warp, or of each lane, as older files have them.
            let entries = r.one(&[1 + size.lanes() / 32, size.lanes()]);
            let hashes = (0..entries).map(|_| [r.bits(), 0, 5, r.bits()]).collect();
            Lanes::Fingerprint { checkpoints, ends, hashes }
        }
        Level::Probe => Lanes::default(),
        Level::Events => Lanes::Events(r.some(most, |r| Event {
            site: SiteId(r.id(SITES)),
            mask: mask(r),
            value: mask(r).0,
            clock: r.bits() as u32,
        })),
        Level::Operands => {
            let (records, ends) = lanes(r, size, most, |r| OperandRecord {
                site: SiteId(r.id(SITES)),
                visit: r.id(9),
                values: [r.bits(), 0],
            });
            Lanes::Operands { records, ends }
        }
    };
    WarpStream { warp: WarpId(warp), dropped: r.bits() >> 60, lanes }
}

fn recording(r: &mut Random, modules: usize, warps: u64, most: usize) -> Recording {
    let level = r.one(Level::RECORDERS);
    let size = r.one(&[WarpSize::W32, WarpSize::W64]);
    let launch = Launch {
        module: ModuleId(r.id(modules)),
        kernel: FuncId(r.id(2)),
        grid: Dim3 { x: 100, y: 10, z: 1 },
        block: Dim3 { x: 33, y: 2, z: 1 },
        shared: r.id(1000),
        warp_size: size,
        params: (0..r.below(30)).map(|i| i as u8).collect(),
        args: r.some(3, |r| ArgInfo {
            name: r.text(),
            ty: r.one(Scalar::ALL),
            bytes: r.maybe(Random::bits),
            before: r.maybe(Random::bits),
            after: r.maybe(Random::bits),
        }),
        seed: r.maybe(Random::bits),
        device: "CPU device".into(),
        level,
        window: r.maybe(|r| Window {
            sites: vec![SiteId(r.id(SITES))],
            warps: (0, r.bits()),
            visits: (3, 9),
        }),
        totals: Totals { recorded: 1, dropped: 2, filtered_warps: 3, bare: 4, instrumented: r.bits() },
        cluster: r.maybe(|r| Dim3 { x: 1 + r.id(4), y: 1, z: 1 }),
        number: r.bits() >> 40,
        stream: r.id(3),
        origin: r.one(&[Origin::Direct, Origin::Graph { exec: 1, node: 2, replay: 1 << 40 }]),
        ordinal: r.id(2),
        start: Nanos(r.bits()),
        fidelity: r.one(Fidelity::ALL),
        skipped: r.maybe(Random::text),
        pointees: r.some(3, |r| Pointee {
            offset: r.id(99) * 8,
            bytes: r.bits(),
            digested: r.bits() >> 9,
            before: r.maybe(Random::bits),
            after: r.maybe(Random::bits),
        }),
        undigested: r.maybe(Random::text),
        fault: r.maybe(|r| Fault {
            kind: r.one(FaultKind::ALL),
            text: r.text(),
            unfinished: r.maybe(|r| {
                (0..r.below(3) as u64)
                    .map(|w| (WarpId(w * 5), LaneMask(r.bits() & size.full_mask().0)))
                    .collect()
            }),
        }),
        host: r.maybe(|r| Host {
            thread: r.id(3),
            called: r.maybe(|r| (Nanos(r.bits()), Nanos(r.bits() >> 30))),
            seen: r.maybe(|r| Nanos(r.bits())),
            waited: r.maybe(|r| (Nanos(7), Nanos(r.bits()))),
            held: Nanos(r.bits()),
        }),
        ranges: r.some(3, |r| LaunchRange { name: RangeId(r.id(RANGES)), instance: r.bits() }),
        hashes: r.maybe(|r| StreamHashes {
            warps: r.bits() >> 20,
            control: r.bits(),
            loaded: r.bits(),
            stored: r.bits(),
            signatures: r.bits(),
        }),
    };
    let streams = (0..warps).filter_map(|w| r.maybe(|r| warp(r, w * 3, size, level, most))).collect();
    Recording { launch, streams: Streams::new(streams) }
}

/// An output of a launch, with or without its elements.
fn output(r: &mut Random, launch: u64) -> OutputContents {
    let elements: Vec<u8> = (0..4 * r.below(9)).map(|_| r.bits() as u8).collect();
    let mut out = OutputContents {
        launch,
        name: r.text(),
        ty: Scalar::F32,
        shape: vec![elements.len() as u64 / 4],
        tolerance: r.maybe(|r| (r.bits(), 0)),
        bytes: elements.len() as u64,
        packed: Vec::new(),
    };
    if r.below(2) == 0 {
        out.pack(&elements).unwrap();
    }
    out
}

/// A trace of up to that many launches, with up to that many warps each, of up to `most` elements a lane.
pub fn trace(seed: u64, launches: usize, warps: u64, most: usize) -> Trace {
    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let modules = vec![module(&mut r), module(&mut r)];
    let launches: Vec<Recording> =
        (0..r.below(launches + 1)).map(|_| recording(&mut r, 2, warps, most)).collect();
    let outputs = launches.iter().map(|l| output(&mut r, l.launch.number)).collect();
    Trace {
        producer: "prlx 0.1.0".into(),
        launches,
        outputs,
        modules,
        process: r.maybe(process),
        skipped: r.some(2, |r| Skipped { module: r.text(), kernel: r.maybe(Random::text), reason: r.text() }),
        tallies: r.some(3, tally),
        marks: r.some(3, marks),
        ranges: (0..RANGES).map(|_| RangeName { name: r.text(), domain: r.text() }).collect(),
        cut: None,
    }
}

fn process(r: &mut Random) -> Process {
    Process {
        pid: r.bits() as u32,
        host: "here".into(),
        rank: r.maybe(|r| r.id(8)),
        local_rank: r.maybe(|r| r.id(8)),
        world_size: r.maybe(|_| 8),
        command: r.some(3, Random::text),
        started: Nanos(r.bits()),
        devices: r.some(2, |r| Device {
            ordinal: r.id(8),
            name: r.text(),
            uuid: r.text(),
            capability: (9, 0),
        }),
        versions: r.some(2, |r| (r.text(), r.text())),
    }
}
