//! Markers: the registers that they use, and the tracks that they write to.

pub(super) mod registers;
mod tracks;
