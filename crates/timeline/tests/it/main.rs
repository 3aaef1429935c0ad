//! Tests of timelines: made of recordings, and analysed.

mod analysis;
mod recorded;
