//! Writes a buffer in TVM's format.

use prlx_trace::Error;

use super::buffer::Buffer;
use super::tag::{EVENT_BITS, LANE_BITS, wrong};

/// Writes a buffer in TVM's format. Each lane ends with a finalize word.
///
/// # Errors
/// If a number does not fit its field, or the word of an event would be 0, as in an empty slot.
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
            let word = nanos.0 << 32 | u64::from(lane.number << 12 | u32::from(id) << 2 | kind);
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
