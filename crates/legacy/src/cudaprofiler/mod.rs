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

mod buffer;
mod lanes;
mod read;
mod tag;
mod timeline;
mod write;

pub use buffer::{Buffer, Event, Format, Given, Kind, Lane, Repair};
pub use read::read;
pub use timeline::{from_timeline, to_timeline};
pub use write::write;
