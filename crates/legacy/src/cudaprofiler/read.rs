//! Reads a buffer: its header, then the words of each lane.

use std::collections::BTreeMap;

use prlx_trace::Error;
use prlx_trace::narrow::{high32, low32};

use super::buffer::{Buffer, Format, Given, Repair, add};
use super::lanes::{Places, align, lane, stride};
use super::tag::{BLOCK_BITS, EVENT_BITS, LANE_BITS, Word, wrong};

/// Reads a buffer.
///
/// # Errors
/// If a word contradicts its slot. The error names slot and field.
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

/// The words of each lane, in the order of their slots. Words after the last lane has finalized belong to an
/// earlier launch.
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
