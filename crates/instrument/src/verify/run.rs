//! Invariant 7: every piece does what the plan says, on sample states.

use std::collections::HashMap;

use prlx_isa::view::{Class, FunctionKind, InstId, Operand, Reg, Role, Space, Type};
use prlx_probe::{Action, At, Insertion, Plan, Word};
use prlx_trace::device::{Context, MAGAZINE_COUNT, MAGAZINE_STRIDE, MAGAZINES, Shape};
use prlx_trace::kernel::{Level, SiteClass};

use super::check::{Checked, Inserted, Texts, calls_recorded};
use super::machine::{Machine, address, mix, write};
use super::marks::Track;
use super::model::Lane;
use super::wrong;
use crate::error::Error;

/// Where things are in the sample machine.
const CONTEXT: u64 = 0x1_0000;
const HEADS: u64 = 0x2_0000_0000;
const FINALS: u64 = 0x4_0000_0000;
const BUCKET: u64 = 0x6_0000_0000;
const TABLES: u64 = 0x6_8000_0000;
const RECORDS: u64 = 0x40_0000_0000;
const CURSOR: u64 = 0x7_0000_0000;
const TRACKS: u64 = 0x50_1000_0000;
const MAGAZINE: u64 = 0x7_8000_0000;
const POOL: u64 = 0x8_0000_0000;

/// A sample: what is recorded, and where the lane's cursor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sample {
    /// Rows are left.
    Room,
    /// Rows are left, and the whole warp is here.
    Whole,
    /// Nothing was written yet, and nobody has a chunk.
    Fresh,
    /// Nothing was written yet, and the head has a chunk.
    Joined,
    /// Nothing was written yet, and the warp begins with a chunk.
    Given,
    /// The chunk is full, and has no successor.
    Full,
    /// The chunk is full, and another lane made the next.
    FullJoined,
    /// The chunk is full, and the magazine has some.
    Loaded,
    /// The chunk is full, and so few are left in the pool that a batch runs past it; the magazine has none.
    Empty,
    /// The chunk is full, and somebody is about to fill the magazine.
    Filling,
    /// There are no chunks left.
    Exhausted,
    /// The chunk is full and the bucket follows.
    Bucket,
    /// Elements were lost before.
    Lost,
    /// This lane is not recorded, and knows.
    Off,
    /// There is no context.
    NoContext,
    /// The filter leaves this warp out.
    Filtered,
}

use Sample::*;
/// Taken twice: first in states where something is written (words full, visits wanted), then in any.
const SAMPLES: [Sample; 24] = [
    Room, Room, Room, Room, Whole, Whole, Whole, Fresh, Joined, Given, Given, Given, Full, FullJoined, Loaded, Empty,
    Filling, Exhausted, Bucket, Lost, Off, NoContext, Filtered, Filtered,
];

/// How often a piece of a probe program is tried, each time on other values.
const PROBE_SAMPLES: u64 = 16;

/// Checks all pieces of a function; `places` are the same piece's possible places, in order.
pub(super) fn run(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    layout: &HashMap<String, i64>,
    places: &[(At, Inserted)],
) -> Result<(), Error> {
    let mut expected: HashMap<At, Vec<&Insertion>> = HashMap::new();
    if f.recorded {
        let insertions = || texts.plan.functions[f.index].insertions.iter();
        for insertion in insertions().filter(|i| effective(f, i) != i.at) {
            expected.entry(effective(f, insertion)).or_default().push(insertion);
        }
        for insertion in insertions().filter(|i| effective(f, i) == i.at) {
            expected.entry(insertion.at).or_default().push(insertion);
        }
    }
    let mut i = 0;
    while i < places.len() {
        let inserted = &places[i].1;
        let mut here: Vec<&Insertion> = Vec::new();
        let mut call = false;
        while i < places.len() && places[i].1.at == inserted.at {
            let at = places[i].0;
            here.extend(expected.remove(&at).unwrap_or_default());
            if let At::Before(id) = at {
                call |= calls_recorded(texts, texts.module, &f.old.insts[id.index()]);
            }
            i += 1;
        }
        if here.is_empty() && !call {
            return Err(wrong(inserted.at, format!("{}: the plan has nothing here", f.old.name)));
        }
        state_moves(f, &here, inserted)?;
        if f.recorded {
            // Code that reaches no memory does not care where the cursor is.
            let insts = &f.new.insts[inserted.insts.clone()];
            let writes = insts.iter().any(|i| i.space == Space::Global);
            if texts.plan.program.level == Level::Probe {
                for seed in 0..PROBE_SAMPLES {
                    let sample = if seed % 8 == 7 { NoContext } else { Room };
                    execute(texts, f, layout, &here, inserted, sample, seed)?;
                }
                continue;
            }
            for seed in 0..2 * SAMPLES.len() {
                let sample = SAMPLES[seed % SAMPLES.len()];
                if f.idle {
                    if matches!(sample, Whole | Fresh | NoContext | Filtered) {
                        execute(texts, f, layout, &here, inserted, sample, seed as u64)?;
                    }
                } else if writes || sample == Room {
                    execute(texts, f, layout, &here, inserted, sample, seed as u64)?;
                }
            }
        }
    }
    let missing = expected.into_iter().filter(|(_, list)| list.iter().any(|x| has_effect(texts, f, x)));
    if let Some((at, list)) = missing.min_by_key(|(at, _)| *at) {
        let message = format!("{}: nothing was inserted {at:?}, where the plan has {:?}", f.old.name, list[0].action);
        return Err(wrong(f.new.body.start as usize, message));
    }
    Ok(())
}

/// Where an insertion's text stands: what is not part of a call goes before the stores of its arguments, or after the
/// loads of its results.
fn effective(f: &Checked<'_>, insertion: &Insertion) -> At {
    let (At::Before(id) | At::After(id)) = insertion.at else { return insertion.at };
    let insts = &f.old.insts;
    let mut at = id.index();
    if insts[at].class != Class::Call || matches!(insertion.action, Action::Save | Action::Restore) {
        return insertion.at;
    }
    let block = f.old.blocks[insts[at].block.index()].insts.clone();
    let moves = |i: usize, class| insts[i].class == class && insts[i].space == Space::Param;
    if matches!(insertion.at, At::Before(_)) {
        while at > block.start as usize && moves(at - 1, Class::Store) {
            at -= 1;
        }
        return At::Before(InstId(at as u32));
    }
    while at + 1 < block.end as usize && moves(at + 1, Class::Load) {
        at += 1;
    }
    At::After(InstId(at as u32))
}

fn has_effect(texts: &Texts<'_>, f: &Checked<'_>, insertion: &Insertion) -> bool {
    match (&insertion.action, insertion.at) {
        (Action::Save | Action::Restore, At::Before(id) | At::After(id)) => {
            calls_recorded(texts, texts.module, &f.old.insts[id.index()]) && !handed(texts.plan, true).is_empty()
        }
        (Action::Fold { values, .. }, _) => !values.is_empty(),
        (Action::Reserve { bits }, _) => *bits > 0,
        // Without variables and counters there is nothing to begin or to end with.
        (Action::Begin | Action::End, _) if texts.plan.program.level == Level::Probe && f.kernel() => {
            let kept = &texts.plan.kept;
            let end = !kept.counters.is_empty() || kept.tracks.is_some();
            end || insertion.action == Action::Begin && !kept.vars.is_empty()
        }
        (Action::End, _) if texts.plan.program.level == Level::Probe => {
            !texts.plan.kept.counters.is_empty() || texts.plan.kept.tracks.is_some()
        }
        (Action::End, _) => !f.idle || texts.plan.program.level == Level::Print,
        // All that an idle kernel keeps at level `events` is a cursor that nothing moves.
        (Action::Begin, _) => !f.idle || texts.plan.program.level != Level::Events,
        _ => true,
    }
}

/// Whether a place is right before the lane ends, and not the function.
fn exits(f: &Checked<'_>, at: At) -> bool {
    matches!(at, At::Before(id) if f.old.insts[id.index()].class == Class::Exit)
}

/// What a callee has to get, and gives back.
fn handed(plan: &Plan, back: bool) -> Vec<String> {
    let names: &[&str] = match (plan.program.level, back) {
        (Level::Path, _) => &["cursor", "word"],
        (Level::Print, _) => &["cursor", "hash0", "hash1", "hash2", "hash3", "edges"],
        (Level::Events, _) | (Level::Operands, true) => &["cursor"],
        (Level::Operands, false) => &["cursor", "first", "span"],
        (Level::Probe, _) => {
            let vars = (0..plan.kept.vars.len()).map(|i| format!("var{i}"));
            let counters = (0..plan.kept.counters.len()).map(|i| format!("counter{i}"));
            let track = ["at", "limit"].iter().filter(|_| plan.kept.tracks.is_some());
            let sums = (0..plan.kept.tracks.as_ref().map_or(0, |t| t.words)).map(|i| format!("sum{i}"));
            return vars.chain(counters).chain(track.map(|n| (*n).to_owned())).chain(sums).collect();
        }
    };
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Actions that hand state over move all of it.
fn state_moves(f: &Checked<'_>, here: &[&Insertion], inserted: &Inserted) -> Result<(), Error> {
    for insertion in here {
        let (load, back) = match (&insertion.action, insertion.at) {
            (Action::Save, _) => (false, false),
            (Action::Restore, _) => (true, true),
            (Action::Begin, _) if !f.kernel() => (true, false),
            (Action::End, at) if !f.kernel() && !exits(f, at) => (false, true),
            _ => continue,
        };
        let called = match insertion.at {
            At::Before(id) | At::After(id) => calls_recorded(f.texts, f.texts.module, &f.old.insts[id.index()]),
            At::Entry => true,
        };
        if !called && matches!(insertion.action, Action::Save | Action::Restore) {
            continue;
        }
        for name in handed(f.texts.plan, back) {
            let reg = f.state(&name);
            let moved = f.new.insts[inserted.insts.clone()].iter().any(|inst| {
                let class = if load { Class::Load } else { Class::Store };
                let data = if load { 0 } else { 1 };
                inst.space == Space::Local
                    && inst.class == class
                    && reg.is_some_and(|r| inst.operands.get(data) == Some(&Operand::Reg(r)))
            });
            if !moved {
                return Err(wrong(inserted.at, format!("{}: {name} is not handed on", f.old.name)));
            }
        }
    }
    Ok(())
}

/// Where the record keeps which state: all of the module has to agree.
pub(super) fn layout(texts: &Texts<'_>) -> Result<HashMap<String, i64>, Error> {
    let mut layout: HashMap<String, i64> = HashMap::new();
    let handed = handed(texts.plan, false);
    for function in &texts.after.functions {
        for inst in function.insts.iter().filter(|i| i.space == Space::Local) {
            let data = inst.operands.iter().zip(&inst.roles).find(|(_, role)| **role != Role::Addr).map(|(o, _)| o);
            let at = inst.operands.iter().find_map(|o| if let Operand::Address(_, n) = o { Some(*n) } else { None });
            let (Some(Operand::Reg(r)), Some(at)) = (data, at) else { continue };
            let name = &function.regs[r.index()].name;
            let Some(name) = name.strip_prefix('%').and_then(|n| n.strip_prefix(texts.prefix)) else { continue };
            let state = name == "context" || handed.iter().any(|h| h == name);
            if state && *layout.entry(name.to_owned()).or_insert(at) != at {
                let message = format!("{}: {name} is not where others look for it", function.name);
                return Err(wrong(inst.span.start as usize, message));
            }
        }
    }
    let mut seen: Vec<i64> = layout.values().copied().collect();
    seen.sort_unstable();
    match seen.windows(2).any(|w| w[0] == w[1]) {
        true => Err(wrong(0, "two parts of the state share a place in the record")),
        false => Ok(layout),
    }
}

/// Runs one piece and the model on one sample.
fn execute(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    layout: &HashMap<String, i64>,
    here: &[&Insertion],
    inserted: &Inserted,
    sample: Sample,
    seed: u64,
) -> Result<(), Error> {
    let (mut machine, mut lane) = prepare(texts, f, layout, sample, seed);
    // Guards hold in some samples and not in others.
    for (n, guard) in here.iter().filter_map(|x| x.guard).enumerate() {
        machine.regs.insert(f.regs[guard.reg.index()], mix(seed ^ n as u64 ^ 0x5eed) & 1);
    }
    let before = machine.regs.clone();
    machine
        .run(texts.after, f.new, inserted.insts.clone())
        .map_err(|e| wrong(inserted.at, format!("{}: {e}", f.old.name)))?;
    for piece in texts.plan.pieces(here) {
        let holds = piece[0].guard.is_none_or(|g| {
            let reg = f.regs[g.reg.index()];
            (before.get(&reg).copied().unwrap_or_default() != 0) != g.negate
        });
        let always = matches!(piece[0].action, Action::Begin | Action::Save | Action::Restore);
        if holds || always {
            let events: Vec<[u64; 4]> = piece.iter().filter_map(|i| event(texts, f, &machine, &lane, i)).collect();
            lane.events(&events);
            if let ([one], []) = (piece, &events[..]) {
                apply(texts, f, &machine, &mut lane, one);
            }
        }
    }
    compare(texts, f, layout, &machine, &lane).map_err(|what| {
        let actions: Vec<String> = here.iter().map(|x| format!("{:?}", x.action)).collect();
        let message =
            format!("{}: {what}, where the plan has {} (sample {sample:?}, {seed})", f.old.name, actions.join(", "));
        wrong(inserted.at, message)
    })
}

/// A machine and a model in the same state.
fn prepare(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    layout: &HashMap<String, i64>,
    sample: Sample,
    seed: u64,
) -> (Machine, Lane) {
    let level = texts.plan.program.level;
    let eager = seed < SAMPLES.len() as u64;
    let shape = Shape::of(level, 32);
    let (row, chunk) = (shape.row(), shape.chunk());
    // Some launches have one dimension; a warp's first lane gives what the whole warp leaves.
    let flat = (seed + seed / SAMPLES.len() as u64) % 2 == 1 && sample != Filtered;
    let of = |many: [u32; 3], none| if flat { [many[0], none, none] } else { many };
    let tid = of([if flat { 32 } else { 7 }, 2, 1 + (seed as u32 % 3)], 0);
    let (ntid, nctaid) = (of([37, 3, 4], 1), of([70_000, 50, 9], 1));
    let ctaid = of([69_000, 41, seed as u32 % 9], 0);
    let linear = tid[0] + ntid[0] * (tid[1] + ntid[1] * tid[2]);
    let cta =
        u64::from(ctaid[0]) + u64::from(nctaid[0]) * (u64::from(ctaid[1]) + u64::from(nctaid[1]) * u64::from(ctaid[2]));
    let warps_of_cta = u64::from((ntid[0] * ntid[1] * ntid[2]).div_ceil(32));
    let warp = cta * warps_of_cta + u64::from(linear / 32);
    let clock = mix(seed) as u32;
    let multiprocessor = (mix(seed) % 400) as u32;
    let mask = if sample == Whole { u32::MAX } else { 1 << (linear % 32) };
    let mut machine = Machine { seed: mix(seed + 1), mask, ..Machine::default() };
    for (names, values) in [
        (["%tid.x", "%tid.y", "%tid.z"], tid),
        (["%ntid.x", "%ntid.y", "%ntid.z"], ntid),
        (["%ctaid.x", "%ctaid.y", "%ctaid.z"], ctaid),
        (["%nctaid.x", "%nctaid.y", "%nctaid.z"], nctaid),
        (["%laneid", "%lanemask_lt", "%clock"], [linear % 32, (1 << (linear % 32)) - 1, clock]),
        (["%smid", "%nsmid", "%warpid"], [multiprocessor, 1000, 3]),
    ] {
        machine.special.extend(names.into_iter().zip(values.map(u64::from)));
    }
    machine.special.extend([("%lanemask_eq", 1 << (linear % 32))]);
    let part = if shape.lanes > 1 { u64::from(linear % 32) * shape.element } else { 0 };
    let context = Context {
        pool: POOL,
        size: match sample {
            Exhausted => 2 * chunk,
            Empty => 3 * chunk,
            _ => 64 * chunk,
        },
        cursor: CURSOR,
        magazines: if matches!(sample, Loaded | Empty | Filling) { MAGAZINE } else { 0 },
        batch: 4 * chunk,
        heads: HEADS,
        finals: FINALS,
        cta_warps: if flat { warps_of_cta } else { 0 },
        bucket: BUCKET,
        warp_first: if sample == Filtered && seed.is_multiple_of(2) { warp + 1 } else { warp - 1 } as u32,
        warps: if sample == Filtered && !seed.is_multiple_of(2) { 1 } else { 2 },
        given: if sample == Given { 2 } else { 0 },
        tables: if sample == Exhausted { 0 } else { TABLES },
        records: if matches!(sample, Exhausted | Empty) { 0 } else { RECORDS },
        tracks: TRACKS,
        track_log: 7 + seed % 4,
        launch: seed,
        visit_first: seed % 3,
        visit_last: if seed % 5 == 4 { u64::MAX } else { seed % 3 + 2 },
    };
    for (i, bytes) in context.to_bytes().chunks_exact(4).enumerate() {
        let word = bytes.iter().rev().fold(0u32, |w, b| w << 8 | u32::from(*b));
        machine.global.insert(CONTEXT + 4 * i as u64, word);
    }
    write(&mut machine.global, CURSOR, 8, 2 * chunk);
    write(&mut machine.global, BUCKET, 8, BUCKET);
    let left = match sample {
        Loaded => 1 + seed % 3,
        Filling => (1 << MAGAZINE_COUNT) - 1 - seed % 3,
        _ => 0,
    };
    let magazine = MAGAZINE + u64::from(multiprocessor) % MAGAZINES * MAGAZINE_STRIDE;
    write(&mut machine.global, magazine, 8, (17 * chunk) << MAGAZINE_COUNT | left);
    let first = POOL + part;
    let cursor = match sample {
        _ if f.idle => part,
        // One row or two are left of a private stream's chunk: not enough for all events of a place.
        Room | Whole if shape.lanes == 1 && seed % 4 == 3 => {
            first + chunk - row * (1 + (seed / SAMPLES.len() as u64) % 2)
        }
        Room | Whole => first + row * (1 << (seed % 4)),
        Fresh | Joined | Given | NoContext | Filtered => part,
        Full | FullJoined | Loaded | Empty | Filling | Exhausted | Bucket => first + chunk,
        Lost => 2 + 5 * chunk,
        Off => 1 + 3 * chunk,
    };
    let mut lane = Lane {
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
            .map(|i| if seed % 5 == 3 { 0 } else { u64::from(mix(seed + u64::from(i)) as u32) >> (2 * (seed % 15)) })
            .collect(),
        hashes: [3, 4, 5, 6].map(|i| mix(seed + i)),
        finals: texts.plan.finals,
        edges: (mix(seed) as u32) << 8 | if eager { 0xFF } else { 7 },
        first: if eager { 0 } else { (seed % 3) as u32 },
        span: if eager { u32::MAX } else { (seed % 4) as u32 },
        visits: Vec::new(),
        vars: Vec::new(),
        counters: Vec::new(),
        track: Track::default(),
        sums: Vec::new(),
        memory: HashMap::new(),
        mask,
        lane: linear % 32,
        warp,
        clock,
        multiprocessor,
        context: if sample == NoContext { 0 } else { CONTEXT },
    };
    // Those of device functions are in the record, where nothing but 0 is known of them.
    lane.visits = (0..f.visits).map(|i| if f.kernel() { (mix(seed + u64::from(i)) % 5) as u32 } else { 0 }).collect();
    let kept = &texts.plan.kept;
    let own = |i: usize, bits: u32| mix(seed * 31 + i as u64) & u64::MAX >> (64 - bits);
    lane.vars = kept.vars.iter().enumerate().map(|(i, v)| own(i, v.ty.bits())).collect();
    lane.counters = (0..kept.counters.len()).map(|i| own(100 + i, 64)).collect();
    match sample {
        Joined => {
            lane.memory = machine.global.clone();
            let mut joined = lane.clone();
            joined.hand_out();
            machine.global = joined.memory;
        }
        FullJoined => write(&mut machine.global, POOL, 8, POOL + chunk),
        Bucket => write(&mut machine.global, POOL, 8, BUCKET),
        _ => {}
    }
    lane.memory = machine.global.clone();
    if let Some(layout) = &kept.tracks {
        let region = if lane.context == 0 { 0 } else { lane.region(layout) };
        // Without a context there is no track.
        let seed = if lane.context == 0 { 0 } else { seed };
        lane.track = Track::sample(seed, region, context.track_log as u32);
        lane.sums = (0..layout.words).map(|i| mix(seed * 17 + u64::from(i)) as u32).collect();
    }
    let record = address(&format!("{}record", texts.prefix));
    machine.params.insert(format!("{}context", texts.prefix), lane.context);
    machine.params.insert(format!("{}state", texts.prefix), record);
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
    set("cursor", 8, lane.cursor);
    set("word", 4, u64::from(lane.word));
    set("edges", 4, u64::from(lane.edges));
    set("first", 4, u64::from(lane.first));
    set("span", 4, u64::from(lane.span));
    set("context", 8, lane.context);
    set("state", 8, record);
    for (i, hash) in lane.hashes.iter().enumerate() {
        set(&format!("hash{i}"), 8, *hash);
    }
    for (i, trips) in lane.trips.iter().enumerate() {
        set(&format!("trip{i}"), 4, *trips);
    }
    for (i, visits) in lane.visits.iter().enumerate() {
        set(&format!("visit{i}"), 4, u64::from(*visits));
    }
    for (i, (var, of)) in lane.vars.iter().zip(&kept.vars).enumerate() {
        set(&format!("var{i}"), if of.ty.bits() == 64 { 8 } else { 4 }, *var);
    }
    for (i, counter) in lane.counters.iter().enumerate() {
        set(&format!("counter{i}"), 8, *counter);
    }
    lane.track.registers().into_iter().for_each(|(name, size, value)| set(name, size, value));
    lane.sums.iter().enumerate().for_each(|(i, sum)| set(&format!("sum{i}"), 4, u64::from(*sum)));
    for mark in 0..texts.plan.module.marks.len() as u32 {
        set(&format!("tag{mark}"), 4, lane.track.tag(mark));
    }
    (machine, lane)
}

/// The words of an event, of a lane that is there.
fn event(texts: &Texts<'_>, f: &Checked<'_>, machine: &Machine, lane: &Lane, i: &Insertion) -> Option<[u64; 4]> {
    let Action::Event { site, value } = &i.action else { return None };
    let values = value.iter().filter_map(|o| machine.values(texts.after, f.new, &translated(f, o)));
    let values: Vec<u64> = values.flatten().collect();
    let ballot = match value {
        Some(Operand::Reg(r)) => f.old.regs[r.index()].ty == Type::Pred,
        Some(Operand::Not(_)) => true,
        _ => false,
    };
    let class = texts.plan.module.sites.get(site.index()).map(|s| s.class);
    let sm: String = texts.module.target.chars().filter(char::is_ascii_digit).collect();
    let digests = sm.parse::<u32>().is_ok_and(|n| n >= 80);
    Some(lane.event(site.0, &values, ballot, class == Some(SiteClass::Switch), digests))
}

/// One action on the model.
fn apply(texts: &Texts<'_>, f: &Checked<'_>, machine: &Machine, lane: &mut Lane, insertion: &Insertion) {
    let scalars = |operands: &[Operand]| -> Vec<u64> {
        let all = operands.iter().filter_map(|o| machine.values(texts.after, f.new, &translated(f, o)));
        all.flatten().collect()
    };
    let words = |words: &[Word]| -> Vec<u32> {
        let value = |w: &Word| scalars(std::slice::from_ref(&w.of)).first().copied().unwrap_or(0);
        words.iter().map(|w| (value(w) as u32).wrapping_add(w.add as u32)).collect()
    };
    match &insertion.action {
        Action::Begin if f.kernel() => {
            lane.begin();
            lane.vars = texts.plan.kept.vars.iter().map(|v| v.init).collect();
            lane.counters.fill(0);
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.begin_track(layout, machine);
            }
        }
        Action::Room { slots } => lane.make_room(*slots),
        Action::Mark { mark, back, words: list } => lane.mark(*mark, *back, &words(list)),
        Action::Add { ends, begins, count } => lane.add(ends, begins, *count),
        Action::Group { values } => {
            if let Some(layout) = &texts.plan.kept.tracks {
                lane.group(layout, machine, &words(values));
            }
        }
        Action::Probe(code) => super::tables::probe(texts, f, machine, lane, code),
        Action::Count { counter, add } => {
            let counter = &mut lane.counters[*counter as usize];
            *counter = counter.wrapping_add(*add);
        }
        Action::Begin => lane.begin_device(),
        Action::End => {
            if lane.kind == FunctionKind::Kernel || exits(f, insertion.at) {
                if texts.plan.program.level == Level::Probe && lane.context != 0 {
                    for (counter, sum) in texts.plan.kept.counters.iter().zip(lane.counters.clone()) {
                        super::tables::flush(lane, texts, machine, *counter, sum);
                    }
                }
                if let Some(layout) = &texts.plan.kept.tracks {
                    lane.end_track(layout, machine);
                }
                lane.end();
            }
        }
        Action::Save | Action::Restore => {}
        Action::Reserve { bits } => lane.reserve(*bits),
        Action::Bits { reg, bits, .. } => lane.bits(machine.reg(f.new, f.regs[reg.index()]), *bits),
        Action::TripBegin { counter } => lane.trip_begin(*counter as usize),
        Action::TripAdd { counter } => lane.trip_add(*counter as usize),
        Action::TripEnd { counter, room } => lane.trip_end(*counter as usize, *room),
        Action::TripEvent { counter, site } => lane.trip_event(*counter as usize, site.0),
        Action::TripRead { counter, reg, less } => {
            let own = machine.reg(f.new, f.regs[reg.index()]) as u32;
            lane.trip_read(*counter as usize, own.wrapping_sub(*less));
        }
        Action::TripFold { counter } => lane.trip_fold(*counter as usize),
        Action::Fold { into, values, .. } => lane.fold(*into, &scalars(values)),
        Action::Checkpoint { every } => lane.checkpoint(*every),
        Action::Event { .. } => {} // see `event`
        Action::Operands { site, counter, values } => lane.operands(site.0, *counter as usize, &scalars(values)),
    }
}

/// An operand of the original in the registers and symbols of the rewritten function.
pub(super) fn translated(f: &Checked<'_>, operand: &Operand) -> Operand {
    let reg = |r: Reg| f.regs[r.index()];
    match operand {
        Operand::Reg(r) => Operand::Reg(reg(*r)),
        Operand::Not(r) => Operand::Not(reg(*r)),
        Operand::Element(r, i) => Operand::Element(reg(*r), *i),
        Operand::Vector(parts) => Operand::Vector(parts.iter().map(|p| translated(f, p)).collect()),
        Operand::Pair(a, b) => Operand::Pair(Box::new(translated(f, a)), Box::new(translated(f, b))),
        Operand::Symbol(id, offset) => {
            let name = f.texts.module.symbols.get(id.index()).map(|s| &s.name);
            let new = f.texts.after.symbols.iter().position(|s| Some(&s.name) == name).unwrap_or(usize::MAX);
            Operand::Symbol(prlx_isa::view::SymbolId(new as u32), *offset)
        }
        other => other.clone(),
    }
}

/// The first difference between what ran and what was meant.
fn compare(
    texts: &Texts<'_>,
    f: &Checked<'_>,
    layout: &HashMap<String, i64>,
    machine: &Machine,
    lane: &Lane,
) -> Result<(), String> {
    let same = |name: &str, wanted: u64| match f.state(name).map(|r| machine.reg(f.new, r)) {
        Some(value) if value != wanted => Err(format!("{name} becomes {value:#x} and not {wanted:#x}")),
        _ => Ok(()),
    };
    same("cursor", lane.cursor)?;
    same("word", u64::from(lane.word))?;
    same("edges", u64::from(lane.edges))?;
    same("first", u64::from(lane.first))?;
    same("span", u64::from(lane.span))?;
    for (i, hash) in lane.hashes.iter().enumerate() {
        same(&format!("hash{i}"), *hash)?;
    }
    for (i, trips) in lane.trips.iter().enumerate() {
        same(&format!("trip{i}"), *trips)?;
    }
    for (i, visits) in lane.visits.iter().enumerate() {
        same(&format!("visit{i}"), u64::from(*visits))?;
    }
    for (i, var) in lane.vars.iter().enumerate() {
        same(&format!("var{i}"), *var)?;
    }
    for (i, counter) in lane.counters.iter().enumerate() {
        same(&format!("counter{i}"), *counter)?;
    }
    lane.track.registers().into_iter().try_for_each(|(name, _, value)| same(name, value))?;
    lane.sums.iter().enumerate().try_for_each(|(i, sum)| same(&format!("sum{i}"), u64::from(*sum)))?;
    (0..texts.plan.module.marks.len() as u32).try_for_each(|mark| same(&format!("tag{mark}"), lane.track.tag(mark)))?;
    if !f.kernel() {
        let record = address(&format!("{}record", texts.prefix));
        let var =
            |name: &str| name.strip_prefix("var").and_then(|i| texts.plan.kept.vars.get(i.parse::<usize>().ok()?));
        let small = |name: &str| {
            let small = matches!(name, "word" | "edges" | "first" | "span" | "limit");
            small || name.starts_with("sum") || var(name).is_some_and(|v| v.ty.bits() < 64)
        };
        let known: Vec<u64> = layout
            .iter()
            .flat_map(|(name, at)| {
                (0..if small(name) { 1 } else { 2 }).map(|n| record.wrapping_add_signed(*at) + 4 * n)
            })
            .collect();
        let mut counted: Vec<u32> =
            machine.local.iter().filter(|(at, n)| !known.contains(at) && **n != 0).map(|(_, n)| *n).collect();
        let mut wanted: Vec<u32> = lane.visits.iter().copied().filter(|n| *n != 0).collect();
        counted.sort_unstable();
        wanted.sort_unstable();
        if counted != wanted {
            return Err(format!("visits in the record become {counted:?} and not {wanted:?}"));
        }
    }
    let all = machine.global.keys().chain(lane.memory.keys());
    let word = |m: &HashMap<u64, u32>, at: &u64| m.get(at).copied().unwrap_or_default();
    let differs = all.filter(|at| word(&machine.global, at) != word(&lane.memory, at)).min();
    match differs {
        None => Ok(()),
        Some(at) => {
            let (is, wanted) = (word(&machine.global, at), word(&lane.memory, at));
            Err(format!("memory at {at:#x} becomes {is:#x} and not {wanted:#x}"))
        }
    }
}
