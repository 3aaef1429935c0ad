//! Sample states: pairs of a machine and a model, on which snippets are executed.
//!
//! All snippets of a function use the same states, so they are made once. Copies share their memory.

use crate::verify::plan_facts::{has_warp_reductions, saved_at_most_once};
use std::collections::HashMap;
use std::sync::Arc;

use prlx_isa::view::Reg;
use prlx_trace::WarpSize;
use prlx_trace::device::tables::{Part, Which};
use prlx_trace::device::tracks::SPAN;
use prlx_trace::device::{Context, HiddenParameter, MAGAZINE_COUNT, MAGAZINE_STRIDE, MAGAZINES, Shape};
use prlx_trace::kernel::Level;

use crate::verify::function::{FunctionPair, Inputs};
use crate::verify::machine::{Machine, address, mix};
use crate::verify::memory::{Memory, write};
use crate::verify::model::lane::LaneModel;
use crate::verify::model::track::Track;

/// Addresses in the sample machine.
const CONTEXT: u64 = 0x1_0000;

const HEADS: u64 = 0x2_0000_0000;

const FINALS: u64 = 0x4_0000_0000;

const BUCKET: u64 = 0x6_0000_0000;

const TABLES: u64 = 0x6_8000_0000;

const RECORDS: u64 = 0x40_0000_0000;

const CURSOR: u64 = 0x7_0000_0000;

const TRACKS: u64 = 0x50_1000_0000;

const MAGAZINE: u64 = 0x7_8000_0000;

/// The pool begins at this address plus the size of a chunk: at a multiple of one chunk, and not of two.
const POOL: u64 = 0x8_0000_0000;

/// What is recorded in a sample, and where the lane's cursor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sample {
    /// The chunk has rows left.
    Room,
    /// The chunk has rows left, and all lanes of the warp are active.
    Whole,
    /// No element was written yet, and the head is empty.
    Fresh,
    /// No element was written yet, and the head has a chunk.
    Joined,
    /// No element was written yet, and a chunk was assigned to the warp before the launch.
    Given,
    /// The chunk is full and has no successor.
    Full,
    /// The chunk is full, and another lane linked the next one.
    FullJoined,
    /// The chunk is full, and the magazine has chunks.
    Loaded,
    /// The chunk is full, the magazine is empty, and the pool has fewer chunks than a batch.
    Empty,
    /// The chunk is full, and another lane is about to fill the magazine.
    Filling,
    /// The pool has no chunks left.
    Exhausted,
    /// The chunk is full and the bucket follows.
    Bucket,
    /// This lane has lost elements before.
    Lost,
    /// This lane is not recorded, and its cursor says so.
    Off,
    /// The launch has no context.
    NoContext,
    /// The filter excludes this warp.
    Filtered,
}

use Sample::*;

/// Used twice: first with states in which something is written (full words, wanted visits), then with any.
const SAMPLES: [Sample; 24] = [
    Room, Room, Room, Room, Whole, Whole, Whole, Fresh, Joined, Given, Given, Given, Full, FullJoined,
    Loaded, Empty, Filling, Exhausted, Bucket, Lost, Off, NoContext, Filtered, Filtered,
];

/// Number of samples of a probe program, each with other values.
const PROBE_SAMPLES: u64 = 16;

/// Number of samples with a full warp of equal lanes, for programs that only write records or add counters.
/// The first are multi-dimensional launches; then each lane in turn, as many as add counters.
const PROBE_WHOLE: u64 = 22;

/// Programs that only write records use the samples below this number.
pub(super) const RECORDS_WHOLE: u64 = PROBE_SAMPLES + 6;

/// A machine and a model in the same sample state.
pub(super) struct SampleState {
    pub sample: Sample,
    pub seed: u64,
    pub machine: Machine,
    pub lane: LaneModel,
}

/// The samples for all snippets of a function.
pub(super) struct Samples<'a> {
    pub layout: &'a HashMap<String, i64>,
    /// State registers with their names, in the order of [`register_values`].
    pub parts: Vec<(String, Option<Reg>)>,
    pub states: Vec<SampleState>,
}

impl<'a> Samples<'a> {
    pub fn of(texts: &Inputs<'_>, f: &FunctionPair<'_>, layout: &'a HashMap<String, i64>) -> Samples<'a> {
        if !f.recorded {
            return Samples { layout, parts: Vec::new(), states: Vec::new() };
        }
        let parts = state_registers(texts, f);
        let count = match texts.plan.request.level {
            Level::Probe => PROBE_SAMPLES + PROBE_WHOLE,
            _ => 2 * SAMPLES.len() as u64,
        };
        let state = |seed: u64| {
            let sample = match texts.plan.request.level {
                Level::Probe if seed >= PROBE_SAMPLES => Whole,
                Level::Probe if seed % 8 == 7 => NoContext,
                // The context exists, but has no tables and records.
                Level::Probe if seed % 8 == 6 => Exhausted,
                Level::Probe => Room,
                _ => SAMPLES[seed as usize % SAMPLES.len()],
            };
            let (machine, lane) = prepare(texts, f, layout, &parts, sample, seed);
            SampleState { sample, seed, machine, lane }
        };
        let states = (0..count).map(state).collect();
        let parts = parts.into_iter().map(|(name, _)| {
            let reg = f.state(&name);
            (name, reg)
        });
        Samples { layout, parts: parts.collect(), states }
    }
}

/// State registers of the lane: names, and sizes in bytes.
fn state_registers(texts: &Inputs<'_>, f: &FunctionPair<'_>) -> Vec<(String, u64)> {
    let kept = &texts.plan.probe_state;
    let many =
        |name: &'static str, count: usize, size: u64| (0..count).map(move |i| (format!("{name}{i}"), size));
    let one = [("cursor", 8), ("word", 4), ("edges", 4), ("first", 4), ("span", 4)];
    let mut all: Vec<(String, u64)> = one.into_iter().map(|(name, size)| (name.to_owned(), size)).collect();
    all.extend(many("hash", 4, 8));
    all.extend(many("trip", texts.plan.functions[f.index].trip_counters as usize, 4));
    all.extend(many("visit", f.visits as usize, 4));
    all.extend(
        kept.vars.iter().enumerate().map(|(i, v)| (format!("var{i}"), if v.ty.bits() == 64 { 8 } else { 4 })),
    );
    all.extend((kept.packed.counters as usize..kept.counters.len()).map(|i| (format!("counter{i}"), 8)));
    all.extend(many("packed", kept.packed.words() as usize, 4));
    all.push(("records".to_owned(), 8));
    all.extend(many("saved", kept.records.parts.len(), 4));
    all.extend(Track::default().registers().into_iter().map(|(name, size, _)| (name.to_owned(), size)));
    all.extend(many("sum", kept.tracks.as_ref().map_or(0, |t| t.words as usize), 4));
    let marks = texts.plan.module.marks.len();
    for name in ["tag", "none", "opened", "said"] {
        all.extend(many(name, marks, 4));
    }
    all.extend(many("ended", kept.tracks.as_ref().map_or(0, |t| t.spans.len()), 4));
    all.extend(f.steps.iter().map(|n| (format!("step{n}"), 4)));
    all
}

/// Values of the [`state_registers`] of a lane.
pub(super) fn register_values(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    lane: &LaneModel,
) -> impl Iterator<Item = u64> {
    let small = [lane.word, lane.edges, lane.first, lane.span].map(u64::from);
    let words = |words: &[u32]| words.iter().map(|w| u64::from(*w)).collect::<Vec<u64>>();
    let packed = texts.plan.probe_state.packed;
    let (shared, wide) = lane.counters.split_at(packed.counters as usize);
    let mut shares = vec![0u64; packed.words() as usize];
    for (i, counter) in (0u32..).zip(shared) {
        let (word, bit) = packed.place(i).unwrap_or_default();
        shares[word as usize] += counter << bit;
    }
    let lists = [
        &words(&lane.hashes),
        &lane.trips,
        &words(&lane.visits),
        &lane.vars,
        wide,
        &shares,
        &[lane.records],
        &lane.saved,
    ]
    .concat();
    let track = lane.track.registers().map(|(_, _, value)| value);
    let numbers =
        || (1..=texts.plan.module.marks.len() as u32).map(|n| lane.track.tag(n)).collect::<Vec<_>>();
    let spans = texts.plan.probe_state.tracks.as_ref().map_or(0, |t| t.spans.len() as u32);
    let ended = (1..=spans).map(|n| lane.track.tag(n | SPAN)).collect();
    let (opened, said): (Vec<u64>, Vec<u64>) =
        lane.opened.iter().map(|(at, word)| (u64::from(*at), u64::from(*word))).unzip();
    let steps = f.steps.iter().map(|n| lane.track.step(*n)).collect();
    let numbers = [numbers(), numbers(), opened, said, ended, steps].concat();
    let sums = words(&lane.sums);
    [lane.cursor].into_iter().chain(small).chain(lists).chain(track).chain(sums).chain(numbers)
}

/// Where the sampled lane is in its launch.
struct LanePlace {
    /// The launch has one dimension.
    flat: bool,
    /// All lanes of the warp are active and hold the same values.
    whole: bool,
    tid: [u32; 3],
    ntid: [u32; 3],
    ctaid: [u32; 3],
    nctaid: [u32; 3],
    /// Lanes of a warp.
    lanes: u32,
    /// Lane in its warp.
    lane: u32,
    /// Warp in the grid.
    warp: u64,
    warps_of_cta: u64,
    clock: u32,
    multiprocessor: u32,
    /// Mask of the active lanes.
    mask: u64,
}

impl LanePlace {
    fn of(level: Level, size: WarpSize, sample: Sample, seed: u64) -> LanePlace {
        // Some launches have one dimension. In a full warp the first lane writes the joint entry.
        let flat = (seed + seed / SAMPLES.len() as u64) % 2 == 1 && sample != Filtered;
        let whole = sample == Whole && level == Level::Probe;
        let nth = seed.saturating_sub(PROBE_SAMPLES) as u32;
        let flat = if whole { nth >= 3 } else { flat };
        let of = |many: [u32; 3], none| if flat { [many[0], none, none] } else { many };
        let first = if whole { 32 + nth.saturating_sub(4) } else { 32 };
        let tid = of([if flat { first } else { 7 }, 2, 1 + (seed as u32 % 3)], 0);
        let (ntid, nctaid) = (of([if whole && flat { 64 } else { 37 }, 3, 4], 1), of([70_000, 50, 9], 1));
        let ctaid = of([69_000, 41, seed as u32 % 9], 0);
        let lanes = size.lanes() as u32;
        let linear = tid[0] + ntid[0] * (tid[1] + ntid[1] * tid[2]);
        let cta = u64::from(ctaid[0])
            + u64::from(nctaid[0]) * (u64::from(ctaid[1]) + u64::from(nctaid[1]) * u64::from(ctaid[2]));
        let warps_of_cta = u64::from((ntid[0] * ntid[1] * ntid[2]).div_ceil(lanes));
        let warp = cta * warps_of_cta + u64::from(linear / lanes);
        let clock = mix(seed) as u32;
        let multiprocessor = (mix(seed) % 400) as u32;
        let lane = linear % lanes;
        let mask = if sample == Whole { size.full_mask().0 } else { 1 << lane };
        LanePlace {
            flat,
            whole,
            tid,
            ntid,
            ctaid,
            nctaid,
            lanes,
            lane,
            warp,
            warps_of_cta,
            clock,
            multiprocessor,
            mask,
        }
    }

    fn special_registers(&self) -> Vec<(&'static str, u64)> {
        let mut special: Vec<(&'static str, u64)> = Vec::new();
        for (names, values) in [
            (["%tid.x", "%tid.y", "%tid.z"], self.tid),
            (["%ntid.x", "%ntid.y", "%ntid.z"], self.ntid),
            (["%ctaid.x", "%ctaid.y", "%ctaid.z"], self.ctaid),
            (["%nctaid.x", "%nctaid.y", "%nctaid.z"], self.nctaid),
            (["%laneid", "WARP_SZ", "%clock"], [self.lane, self.lanes, self.clock]),
            (["%smid", "%nsmid", "%warpid"], [self.multiprocessor, 1000, 3]),
        ] {
            special.extend(names.into_iter().zip(values.map(u64::from)));
        }
        special.push(("%lanemask_eq", 1 << self.lane));
        special.push(("%lanemask_lt", (1 << self.lane) - 1));
        special
    }
}

/// A machine and a model in the same state.
fn prepare(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    layout: &HashMap<String, i64>,
    parts: &[(String, u64)],
    sample: Sample,
    seed: u64,
) -> (Machine, LaneModel) {
    let level = texts.plan.request.level;
    let chunk = Shape::of(level, texts.plan.warp_size).chunk();
    let place = LanePlace::of(level, texts.plan.warp_size, sample, seed);
    // The recorders assume a single active lane in the sample.
    let mut machine =
        Machine { seed: mix(seed + 1), mask: place.mask, uniform: place.whole, ..Machine::default() };
    machine.special = Arc::new(place.special_registers());
    let context = context(texts, sample, seed, &place);
    write_recorder(&mut machine.global, &context, sample, seed, &place, chunk);
    let mut lane = lane(texts, f, sample, seed, &place);
    set_counters(texts, f, &mut lane, seed);
    match sample {
        Joined => {
            lane.memory = machine.global.clone();
            let mut joined = lane.clone();
            joined.hand_out();
            machine.global = joined.memory;
        }
        FullJoined => write(&mut machine.global, POOL + chunk, 8, POOL + 2 * chunk),
        Bucket => write(&mut machine.global, POOL + chunk, 8, BUCKET),
        _ => {}
    }
    write_earlier_records(texts, &mut machine.global, sample, seed, &place);
    let kept = &texts.plan.probe_state;
    machine.global.seal();
    lane.memory = machine.global.clone();
    lane.records = if level == Level::Probe { lane.own_records(&kept.records) } else { 0 };
    if let Some(layout) = &kept.tracks {
        let region = if lane.context == 0 { 0 } else { lane.region(layout) };
        // Without a context there is no track.
        let seed = if lane.context == 0 { 0 } else { seed };
        lane.track = Track::sample(seed, region, context.track_log as u32, layout, lane.lane);
        let own = |i: usize| (mix(seed * 23 + i as u64) as u32, mix(seed * 29 + i as u64) as u32);
        lane.opened = (0..texts.plan.module.marks.len()).map(own).collect();
        lane.sums = (0..layout.words).map(|i| mix(seed * 17 + u64::from(i)) as u32).collect();
    }
    let record = address(&format!("{}record", texts.prefix));
    // A graph's node passes only the address of its context.
    let told = match seed % 4 {
        _ if lane.context == 0 => HiddenParameter::default(),
        3 => HiddenParameter { context: CONTEXT, ..HiddenParameter::default() },
        _ => context.hidden_parameter(CONTEXT),
    };
    let HiddenParameter { context: at, tables, ends, cta_warps } = told;
    let params = [("context", vec![at, tables, ends, cta_warps]), ("state", vec![record])];
    machine.params = Arc::new(params.map(|(name, value)| (format!("{}{name}", texts.prefix), value)).into());
    if let Some(reg) = f.state_parameter() {
        machine.regs.insert(reg, record);
    }
    let mut set = |name: &str, size: u64, value: u64| {
        if let Some(reg) = f.state(name) {
            machine.regs.insert(reg, value);
        }
        if let Some(at) = layout.get(name) {
            write(&mut machine.local, record.wrapping_add_signed(*at), size, value);
        }
    };
    set("context", 8, lane.context);
    set("state", 8, record);
    parts
        .iter()
        .zip(register_values(texts, f, &lane))
        .for_each(|((name, size), value)| set(name, *size, value));
    machine.local.seal();
    // Room for the registers that a snippet writes.
    machine.regs.reserve(64);
    (machine, lane)
}

/// The context of the launch in a sample.
fn context(texts: &Inputs<'_>, sample: Sample, seed: u64, place: &LanePlace) -> Context {
    let level = texts.plan.request.level;
    let chunk = Shape::of(level, texts.plan.warp_size).chunk();
    Context {
        pool: POOL + chunk,
        size: match sample {
            Exhausted => 2 * chunk,
            Empty => 3 * chunk,
            _ => 64 * chunk,
        },
        cursor: CURSOR,
        magazines: if matches!(sample, Loaded | Empty | Filling) { MAGAZINE } else { 0 },
        batch: 4 * chunk,
        heads: HEADS,
        finals: if level == Level::Probe { 0 } else { FINALS },
        cta_warps: if place.flat { place.warps_of_cta } else { 0 },
        bucket: BUCKET,
        warp_first: if sample == Filtered && seed.is_multiple_of(2) { place.warp + 1 } else { place.warp - 1 }
            as u32,
        warps: if sample == Filtered && !seed.is_multiple_of(2) { 1 } else { 2 },
        given: if sample == Given { 2 } else { 0 },
        tables: if sample == Exhausted { 0 } else { TABLES },
        records: if matches!(sample, Exhausted | Empty) { 0 } else { RECORDS },
        record_warps: if place.flat && !matches!(sample, Exhausted | Empty) { place.warps_of_cta } else { 0 },
        tracks: TRACKS,
        // The size of a ring is a constant of the code.
        track_log: texts
            .plan
            .probe_state
            .tracks
            .as_ref()
            .and_then(|t| t.ring())
            .map_or(7 + seed % 4, |r| r.log.into()),
        launch: seed,
        visit_first: seed % 3,
        visit_last: if seed % 5 == 4 { u64::MAX } else { seed % 3 + 2 },
    }
}

/// Writes the context, the pool's cursor, the bucket and the magazine.
fn write_recorder(
    memory: &mut Memory,
    context: &Context,
    sample: Sample,
    seed: u64,
    place: &LanePlace,
    chunk: u64,
) {
    for (i, bytes) in context.to_bytes().chunks_exact(4).enumerate() {
        let word = bytes.iter().rev().fold(0u32, |w, b| w << 8 | u32::from(*b));
        write(memory, CONTEXT + 4 * i as u64, 4, word.into());
    }
    write(memory, CURSOR, 8, 2 * chunk);
    write(memory, BUCKET, 8, BUCKET);
    let left = match sample {
        Loaded => 1 + seed % 3,
        Filling => (1 << MAGAZINE_COUNT) - 1 - seed % 3,
        _ => 0,
    };
    let magazine = MAGAZINE + u64::from(place.multiprocessor) % MAGAZINES * MAGAZINE_STRIDE;
    write(memory, magazine, 8, (17 * chunk) << MAGAZINE_COUNT | left);
}

/// The cursor of the lane in a sample.
fn cursor(f: &FunctionPair<'_>, shape: Shape, sample: Sample, seed: u64, place: &LanePlace) -> u64 {
    let (row, chunk) = (shape.row(), shape.chunk());
    let part = if shape.lanes > 1 { u64::from(place.lane) * shape.element } else { 0 };
    let first = POOL + chunk + part;
    match sample {
        _ if f.idle => 0,
        // A private stream's chunk has one or two rows left: too few for all events of a position.
        Room | Whole if shape.lanes == 1 && seed % 4 == 3 => {
            first + chunk - row * (1 + (seed / SAMPLES.len() as u64) % 2)
        }
        Room | Whole => first + row * (1 << (seed % 4)),
        Fresh | Joined | Given | NoContext | Filtered => 0,
        Full | FullJoined | Loaded | Empty | Filling | Exhausted | Bucket => first + chunk,
        Lost => 2 + 5 * chunk,
        Off => 1 + 3 * chunk,
    }
}

/// The model of the lane, without what a probe program keeps.
fn lane(texts: &Inputs<'_>, f: &FunctionPair<'_>, sample: Sample, seed: u64, place: &LanePlace) -> LaneModel {
    let level = texts.plan.request.level;
    let eager = seed < SAMPLES.len() as u64;
    let cursor = cursor(f, Shape::of(level, texts.plan.warp_size), sample, seed, place);
    LaneModel {
        level,
        kind: f.old.kind,
        word: match (eager, seed % 4) {
            _ if f.idle => 1,
            (true, _) => mix(seed + 2) as u32 >> 1 | 1 << 30,
            (false, 0) => 1,
            (false, _) => (mix(seed + 2) as u32 | 1 << 31) >> (1 + seed % 26),
        },
        cursor,
        trips: (0..texts.plan.functions[f.index].trip_counters)
            .map(|i| {
                if seed % 5 == 3 {
                    0
                } else {
                    u64::from(mix(seed + u64::from(i)) as u32) >> (2 * (seed % 15))
                }
            })
            .collect(),
        hashes: [3, 4, 5, 6].map(|i| mix(seed + i) as u32),
        finals: texts.plan.finals,
        reduces: has_warp_reductions(texts),
        edges: (mix(seed) as u32) << 8 | if eager { 0xFF } else { 7 },
        first: if eager { 0 } else { (seed % 3) as u32 },
        span: if eager { u32::MAX } else { (seed % 4) as u32 },
        visits: Vec::new(),
        vars: Vec::new(),
        counters: Vec::new(),
        records: 0,
        saved: Vec::new(),
        track: Track::default(),
        sums: Vec::new(),
        opened: Vec::new(),
        memory: Memory::default(),
        mask: place.mask,
        lane: place.lane,
        warp: place.warp,
        clock: place.clock,
        multiprocessor: place.multiprocessor,
        context: if sample == NoContext { 0 } else { CONTEXT },
    }
}

/// Sets visit counters, variables, counters and counts of records to sample values.
fn set_counters(texts: &Inputs<'_>, f: &FunctionPair<'_>, lane: &mut LaneModel, seed: u64) {
    // Visit counters of device functions are in the record, which starts with 0.
    lane.visits =
        (0..f.visits).map(|i| if f.kernel() { (mix(seed + u64::from(i)) % 5) as u32 } else { 0 }).collect();
    let kept = &texts.plan.probe_state;
    let own = |i: usize, bits: u32| own(seed, i, bits);
    lane.vars = kept.vars.iter().enumerate().map(|(i, v)| own(i, v.ty.bits())).collect();
    // Small counters, whose warp sum fits 32 bits, and zeros take separate paths.
    let bits = [64, 26, 1][(mix(seed + 9) % 3) as usize];
    // A packed counter holds what one thread may have, with room to add.
    let room = (1u64 << kept.packed.bits.max(6) >> 6) + 1;
    let own_counter = |i: usize| match kept.packed.place(i as u32) {
        Some(_) => own(100 + i, 64) % room,
        None => own(100 + i, bits),
    };
    lane.counters = (0..kept.counters.len()).map(own_counter).collect();
    // Around the number of records that are kept.
    let saved = |(i, part): (usize, &Part)| own(200 + i, 32) % (2 * u64::from(part.keep) + 2);
    lane.saved = kept.records.parts.iter().enumerate().map(saved).collect();
}

/// A sample value of `bits` bits.
fn own(seed: u64, i: usize, bits: u32) -> u64 {
    mix(seed * 31 + i as u64) & u64::MAX >> (64 - bits)
}

/// Writes the heads of the warp's records: it wrote some before, except those that it can write only once.
fn write_earlier_records(
    texts: &Inputs<'_>,
    memory: &mut Memory,
    sample: Sample,
    seed: u64,
    place: &LanePlace,
) {
    let kept = &texts.plan.probe_state;
    let own = |i: usize, bits: u32| own(seed, i, bits);
    // The warp wrote some of its records before, except those that it can write only once.
    for (i, part) in kept.records.parts.iter().enumerate() {
        let once = sample == Whole && saved_at_most_once(texts, i);
        if !part.of_lane && part.which != Which::Room && !once {
            let at = RECORDS + place.warp * kept.records.warp + part.at;
            let (at, size) = part.offsets().get(part.fields.len()).map_or((at, 8), |offset| (at + offset, 2));
            write(memory, at, size, own(300 + i, 32) % (2 * u64::from(part.keep) + 2));
        }
    }
}
