//! Buffers of profilers that write one 64-bit word per event: TVM's `CudaProfiler` and FlashInfer's.
//!
//! Word 0 is the header: the number of CTAs ("blocks") in its lower half, the number of groups in its upper
//! half. A (CTA, group) pair is a lane, numbered `block * groups + group`. It writes to slot `1 + lane`, then
//! to every `write_stride`-th slot; the buffer does not store the stride. A word holds the low 32 bits of the
//! global timer above a tag. Tag bits of TVM: lane (31 to 12). Tag bits of FlashInfer: SM (31 to 24) and CTA
//! (23 to 12). Both: event (11 to 2) and event type (1 to 0). A word of 0 is an empty slot. Sources: TVM
//! `tirx/bench.py`, FlashInfer `profiler.cuh`.
//!
//! # Invariants
//! Damage that can be repaired is repaired and counted ([`Repair`]). Everything else is refused with slot and
//! field. Memory is proportional to the buffer.
//!
//! # Limitations
//! Lanes past 2^20 and events past 2^10 run into other fields; the buffer cannot show that. An instant of
//! FlashInfer does not move its cursor, so the next event overwrites it.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;

mod timeline;

use prlx_trace::Error;
use prlx_trace::narrow::{high32, low32};

pub use timeline::{from_timeline, to_timeline};

/// Bits of a lane in TVM's tag.
const LANE_BITS: u32 = 20;
/// Bits of a CTA in FlashInfer's tag.
const BLOCK_BITS: u32 = 12;
/// Bits of an event.
const EVENT_BITS: u32 = 10;

/// Which profiler wrote the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// TVM's, and FlashInfer's before it wrote down multiprocessors.
    #[default]
    CudaProfiler,
    /// The layout of FlashInfer's profiler.
    FlashInfer,
}

/// What an event says; the codes of the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A region begins.
    Begin,
    /// The region ends.
    End,
    /// A moment without duration.
    Instant,
}

/// One decoded word of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Nanoseconds of the global timer, unwrapped; the lowest 32 bits are as written.
    pub nanos: u64,
    /// Number of the region: an index into the user's event names.
    pub id: u16,
    /// What it says.
    pub kind: Kind,
}

/// What a (CTA, group) wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lane {
    /// Which: `block * groups + group`.
    pub number: u32,
    /// The multiprocessor, where that is written down.
    pub sm: Option<u32>,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// When it finalized.
    pub end: Option<u64>,
    /// Events that are not there; of a lane that ran out of the buffer at least this many.
    pub lost: u64,
}

/// A decoded buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    /// CTAs of the grid.
    pub blocks: u32,
    /// Groups of a CTA.
    pub groups: u32,
    /// Lanes that wrote something, ascending.
    pub lanes: Vec<Lane>,
    /// What was repaired or is missing, and how often.
    pub repairs: BTreeMap<Repair, u64>,
}

/// What is wrong with a buffer, and was mended or left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// The header was never written.
    Header,
    /// The timer's low half began anew.
    Wrap,
    /// What an earlier launch left.
    Stale,
    /// The word of a begin was 0, as an empty slot.
    ZeroWord,
    /// An empty slot between two of a lane.
    Hole,
    /// The lane wrote past the end of the buffer.
    Truncated,
    /// The lane never finalized.
    Unfinished,
    /// Groups that the tag does not tell apart.
    Groups,
    /// The CTA's number ran into the multiprocessor's.
    Carry,
}

impl Repair {
    /// The name that scripts go by, and what it is of one and of several.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Repair::Header => ("header", "the header was never written: blocks and groups are as given"),
            Repair::Wrap => ("wrap", "turns of the 32-bit timer were undone, lane by lane"),
            Repair::Stale => {
                ("stale", "words of an earlier launch (the buffer was not zeroed) were left out")
            }
            Repair::ZeroWord => {
                ("zero-word", "begins of event 0 whose word was 0, as that of an empty slot, were put back")
            }
            Repair::Hole => ("hole", "slots are empty between two of their lane"),
            Repair::Truncated => (
                "truncated",
                "lanes ran past the end of the buffer: it is too small, and what lay behind it was overwritten",
            ),
            Repair::Unfinished => {
                ("unfinished", "lanes never finalized: the launch was stopped, or its code does not call it")
            }
            Repair::Groups => ("groups", "words name only their CTA: groups were identified by their slots"),
            Repair::Carry => {
                ("carry", "words of CTAs past 4095 ran into the multiprocessor, which is left out")
            }
        }
    }
}

/// What a user says of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// CTAs of the grid: stands in for a header that was never written.
    pub blocks: Option<u32>,
    /// Groups of a CTA: the same.
    pub groups: Option<u32>,
    /// How many events there are.
    pub events: Option<usize>,
}

/// A word, its fields apart.
struct Word {
    slot: u64,
    raw: u32,
    id: u16,
    kind: u8,
    sm: Option<u32>,
}

/// Reads a buffer.
///
/// # Errors
/// With the slot and the field, when a word can't be what its place says.
pub fn read(words: &[u64], format: Format, given: Given) -> Result<Buffer, Error> {
    let mut out = Buffer::default();
    let [blocks, groups] = header(words, [given.blocks, given.groups], &mut out.repairs)?;
    (out.blocks, out.groups) = (blocks, groups);
    let lanes = u64::from(blocks) * u64::from(groups);
    if format == Format::CudaProfiler && lanes > 1 << LANE_BITS {
        let what = format!(
            "{blocks} blocks of {groups} groups are more lanes than a tag of {LANE_BITS} bits can number"
        );
        return Err(wrong(0, "num_blocks", what));
    }
    let mut found = gather(words, format, [blocks, groups], given.events, &mut out.repairs)?;
    let stride = match format {
        Format::FlashInfer => Some(lanes),
        Format::CudaProfiler => stride(&found),
    };
    if let Some(stride) = stride {
        let mut stale = 0;
        for (lane, words) in &mut found {
            let before = words.len();
            words.retain(|w| {
                w.slot > u64::from(*lane) && (w.slot - 1 - u64::from(*lane)).is_multiple_of(stride)
            });
            stale += (before - words.len()) as u64;
        }
        add(&mut out.repairs, Repair::Stale, stale);
    }
    let places = Places { stride, slots: words.len() as u64, finalizes: format == Format::CudaProfiler };
    for (number, words) in found {
        let lane = lane(number, words, &places, &mut out.repairs);
        if !lane.events.is_empty() || lane.end.is_some() {
            out.lanes.push(lane);
        }
    }
    align(&mut out);
    Ok(out)
}

fn wrong(slot: u64, field: &str, what: String) -> Error {
    Error { offset: slot * 8, field: format!("slot {slot}, {field}"), what }
}

fn add(repairs: &mut BTreeMap<Repair, u64>, what: Repair, n: u64) {
    if n > 0 {
        *repairs.entry(what).or_default() += n;
    }
}

fn header(
    words: &[u64],
    given: [Option<u32>; 2],
    repairs: &mut BTreeMap<Repair, u64>,
) -> Result<[u32; 2], Error> {
    let word = *words.first().ok_or_else(|| wrong(0, "header", "the buffer is empty".into()))?;
    let names = ["num_blocks", "num_groups"];
    let mut sizes = [low32(word), high32(word)];
    if word == 0 {
        add(repairs, Repair::Header, 1);
        for ((size, given), name) in sizes.iter_mut().zip(given).zip(names) {
            let missing = || wrong(0, name, "the header was never written; the number must be given".into());
            *size = given.ok_or_else(missing)?;
        }
    }
    for ((size, given), name) in sizes.iter().zip(given).zip(names) {
        if let Some(given) = given.filter(|g| g != size) {
            return Err(wrong(0, name, format!("it is {size}, not {given}")));
        }
        if *size == 0 {
            return Err(wrong(0, name, "it is 0".into()));
        }
    }
    Ok(sizes)
}

/// The words of each lane, in the order of their slots. What follows when all lanes have finalized is an
/// earlier launch's.
fn gather(
    words: &[u64],
    format: Format,
    [blocks, groups]: [u32; 2],
    events: Option<usize>,
    repairs: &mut BTreeMap<Repair, u64>,
) -> Result<BTreeMap<u32, Vec<Word>>, Error> {
    let lanes = u64::from(blocks) * u64::from(groups);
    let mut found: BTreeMap<u32, Vec<Word>> = BTreeMap::new();
    let mut finalized = std::collections::BTreeSet::new();
    for (slot, &word) in (0..).zip(words).skip(1).filter(|(_, w)| **w != 0) {
        if finalized.len() as u64 == lanes {
            add(repairs, Repair::Stale, 1);
            continue;
        }
        let tag = low32(word);
        let (lane, sm) = match format {
            Format::CudaProfiler => {
                let lane = tag >> 12;
                if u64::from(lane) >= lanes {
                    let what =
                        format!("it is {lane}, and {blocks} blocks of {groups} groups are {lanes} lanes");
                    return Err(wrong(slot, "lane", what));
                }
                (lane, None)
            }
            Format::FlashInfer => {
                let lane = (slot - 1) % lanes;
                let (block, told) =
                    (lane / u64::from(groups), u64::from(tag >> 12 & ((1 << BLOCK_BITS) - 1)));
                let low = |n: u64| n & ((1 << BLOCK_BITS) - 1);
                if told != low(block) && told != low(lane) {
                    return Err(wrong(slot, "block", format!("it is {told}, in a slot of block {block}")));
                }
                if groups > 1 && told == low(block) {
                    add(repairs, Repair::Groups, 1);
                }
                let carried = block >> BLOCK_BITS != 0;
                add(repairs, Repair::Carry, carried.into());
                (low32(lane), (!carried).then_some(tag >> 24))
            }
        };
        let kind = (tag & 3) as u8;
        if kind == 3 {
            if format == Format::FlashInfer {
                return Err(wrong(slot, "type", "it is 3, which FlashInfer never writes".into()));
            }
            finalized.insert(lane);
        }
        let id = (tag >> 2 & ((1 << EVENT_BITS) - 1)) as u16;
        if let Some(known) = events.filter(|n| kind != 3 && usize::from(id) >= *n) {
            return Err(wrong(slot, "event", format!("it is {id}, and there are {known} names")));
        }
        found.entry(lane).or_default().push(Word { slot, raw: high32(word), id, kind, sm });
    }
    Ok(found)
}

/// How far lanes move on: what most of them did from their first slot to their second, if most words are
/// where that leads.
fn stride(found: &BTreeMap<u32, Vec<Word>>) -> Option<u64> {
    let mut votes: BTreeMap<u64, u64> = BTreeMap::new();
    for (lane, words) in found {
        if let [first, second, ..] = &words[..]
            && first.slot == 1 + u64::from(*lane)
        {
            *votes.entry(second.slot - first.slot).or_default() += 1;
        }
    }
    let (&stride, _) = votes.iter().max_by_key(|(stride, n)| (**n, std::cmp::Reverse(**stride)))?;
    let fits = |lane: u32, w: &Word| {
        w.slot > u64::from(lane) && (w.slot - 1 - u64::from(lane)).is_multiple_of(stride)
    };
    let (mut fit, mut all) = (0, 0);
    for (lane, words) in found {
        fit += words.iter().filter(|w| fits(*lane, w)).count();
        all += words.len();
    }
    (fit * 2 > all).then_some(stride)
}

struct Places {
    stride: Option<u64>,
    slots: u64,
    finalizes: bool,
}

/// The events of one lane. Times count from a whole turn of the timer, which [`align`] finds.
fn lane(number: u32, words: Vec<Word>, places: &Places, repairs: &mut BTreeMap<Repair, u64>) -> Lane {
    let mut lane = Lane { number, ..Lane::default() };
    let mut now: Option<u64> = None;
    let mut next = 1 + u64::from(number);
    let mut last = 0;
    for w in words {
        if lane.end.is_some() {
            add(repairs, Repair::Stale, 1);
            continue;
        }
        // Later by as little as can be; where that is more than half a turn after going back, it is older.
        let since = now.map_or(0, |n| w.raw.wrapping_sub(low32(n)));
        let back = now.is_some_and(|n| w.raw < low32(n));
        if back && since > u32::MAX / 2 {
            add(repairs, Repair::Stale, 1);
            continue;
        }
        if let Some(stride) = places.stride.filter(|_| w.slot > next) {
            let holes = (w.slot - next) / stride;
            // The one begin whose word is 0: of lane 0, event 0, at 0 of the timer's low half.
            let zero = number == 0 && holes == 1 && (w.kind != 0 || w.id != 0) && (back || now.is_none());
            if zero {
                let nanos = now.map_or(0, |n| ((n >> 32) + 1) << 32);
                lane.events.push(Event { nanos, id: 0, kind: Kind::Begin });
                add(repairs, Repair::ZeroWord, 1);
            } else {
                lane.lost += holes;
                add(repairs, Repair::Hole, holes);
            }
        }
        add(repairs, Repair::Wrap, back.into());
        let nanos = now.map_or(w.raw.into(), |n| n + u64::from(since));
        now = Some(nanos);
        last = w.slot;
        next = places.stride.map_or(0, |s| w.slot + s);
        lane.sm = lane.sm.or(w.sm);
        let kind = match w.kind {
            0 => Kind::Begin,
            1 => Kind::End,
            2 => Kind::Instant,
            _ => {
                lane.end = Some(nanos);
                continue;
            }
        };
        lane.events.push(Event { nanos, id: w.id, kind });
    }
    if lane.end.is_none() && last > 0 {
        let over = places.stride.is_some_and(|s| last + s >= places.slots);
        if over {
            lane.lost += 1;
            add(repairs, Repair::Truncated, 1);
        } else if places.finalizes {
            add(repairs, Repair::Unfinished, 1);
        }
    }
    lane
}

/// Brings lanes to one turn of the timer: they begin in the shortest time in which they can have begun.
fn align(buffer: &mut Buffer) {
    let begin = |l: &Lane| l.events.first().map_or(l.end, |e| Some(e.nanos)).unwrap_or_default();
    let mut begins: Vec<u64> = buffer.lanes.iter().map(begin).collect();
    begins.sort_unstable();
    begins.dedup();
    let around = begins.first().zip(begins.last()).map_or(0, |(first, last)| (1 << 32) + first - last);
    let gap = begins
        .iter()
        .zip(begins.iter().skip(1))
        .map(|(a, b)| (b - a, *b))
        .max_by_key(|(gap, at)| (*gap, std::cmp::Reverse(*at)));
    let Some((_, cut)) = gap.filter(|(gap, _)| *gap > around) else { return };
    let mut turned = 0;
    for lane in buffer.lanes.iter_mut().filter(|l| begin(l) < cut) {
        turned += 1;
        lane.events.iter_mut().map(|e| &mut e.nanos).chain(&mut lane.end).for_each(|nanos| *nanos += 1 << 32);
    }
    add(&mut buffer.repairs, Repair::Wrap, turned);
}

/// Writes a buffer of TVM's: lanes side by side, each with its finalize.
///
/// # Errors
/// When a number has no room in its field, or an event's word would be that of an empty slot.
pub fn write(buffer: &Buffer) -> Result<Vec<u64>, Error> {
    let stride = u64::from(buffer.blocks) * u64::from(buffer.groups);
    if stride > 1 << LANE_BITS {
        return Err(wrong(0, "num_blocks", format!("{stride} lanes do not fit into {LANE_BITS} bits")));
    }
    let most = buffer.lanes.iter().map(|l| l.events.len() as u64 + 1).max().unwrap_or(0);
    let length = usize::try_from(1 + stride * most);
    let mut words = vec![0; length.map_err(|e| wrong(0, "num_blocks", e.to_string()))?];
    let mut put = |slot: u64, word: u64| {
        let slot = usize::try_from(slot).ok().and_then(|slot| words.get_mut(slot));
        slot.into_iter().for_each(|slot| *slot = word);
    };
    put(0, u64::from(buffer.groups) << 32 | u64::from(buffer.blocks));
    for lane in &buffer.lanes {
        let mut slot = 1 + u64::from(lane.number);
        if u64::from(lane.number) >= stride {
            return Err(wrong(slot, "lane", format!("there are {stride} lanes")));
        }
        let last = lane.events.last().map(|e| e.nanos);
        let events = lane.events.iter().map(|e| (e.nanos, e.id, e.kind as u32));
        for (nanos, id, kind) in events.chain(lane.end.or(last).map(|at| (at, 0, 3))) {
            if id >> EVENT_BITS != 0 {
                return Err(wrong(slot, "event", format!("{id} does not fit into {EVENT_BITS} bits")));
            }
            let word = nanos << 32 | u64::from(lane.number << 12 | u32::from(id) << 2 | kind);
            if word == 0 {
                return Err(wrong(
                    slot,
                    "timestamp",
                    "lane 0 begins event 0 at 0, which is an empty slot".into(),
                ));
            }
            put(slot, word);
            slot += stride;
        }
    }
    Ok(words)
}
