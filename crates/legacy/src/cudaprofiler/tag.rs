//! The words of a buffer: the widths of their fields, one word taken apart, and errors that name its slot.

use prlx_trace::Error;

/// Number of bits of a lane in TVM's tag.
pub const LANE_BITS: u32 = 20;
/// Number of bits of a CTA in FlashInfer's tag.
pub const BLOCK_BITS: u32 = 12;
/// Number of bits of an event in both tags.
pub const EVENT_BITS: u32 = 10;

/// The fields of one word.
pub struct Word {
    /// Slot of the word in the buffer.
    pub slot: u64,
    /// The low 32 bits of the global timer, nanoseconds.
    pub raw: u32,
    /// Number of the event.
    pub id: u16,
    /// Type of the event: begin, end, instant, finalize.
    pub kind: u8,
    /// The multiprocessor, if the tag holds it.
    pub sm: Option<u32>,
}

/// An error at a slot, with the name of the field.
pub fn wrong(slot: u64, field: &str, what: String) -> Error {
    Error { offset: slot * 8, field: format!("slot {slot}, {field}"), what }
}
