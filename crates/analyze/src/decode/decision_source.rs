//! Where a lane's recorded decisions come from: bit words and trip counts, or the events of its warp.

use prlx_trace::device::{COUNT_MORE, COUNT_WORD, decisions_in, value_parts};
use prlx_trace::launch::Event;

/// Reads a lane's recorded bits, oldest first.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    pub words: std::slice::Iter<'a, u32>,
    pub word: u32,
    pub remaining: u32,
}

impl BitReader<'_> {
    /// Takes the next `n` bits (at most 30), first bit highest. `None` if fewer are left.
    pub fn take(&mut self, n: u32) -> Option<u64> {
        if n <= self.remaining {
            self.remaining -= n;
            return Some(u64::from(self.word >> self.remaining) & ((1 << n) - 1));
        }
        (0..n).try_fold(0u64, |acc, _| Some(acc << 1 | self.bit()?))
    }
    pub fn bit(&mut self) -> Option<u64> {
        while self.remaining == 0 {
            self.word = *self.words.find(|w| *w & COUNT_WORD == 0)?;
            self.remaining = decisions_in(self.word);
        }
        self.remaining -= 1;
        Some(u64::from(self.word >> self.remaining & 1))
    }
    /// Takes the next recorded value, of `bits` bits. `None` if fewer are left.
    pub fn value(&mut self, bits: u8) -> Option<u64> {
        value_parts(bits).try_fold(0, |value, (_, n)| Some(value << n | self.take(n.into())?))
    }
    pub fn any_remaining(&mut self) -> bool {
        self.remaining > 0 || self.words.any(|w| w & COUNT_WORD == 0 && *w > 1)
    }
}

/// Reads a lane's recorded trip counts, oldest first.
#[derive(Clone, Debug)]
pub(super) struct TripCountReader<'a>(pub std::slice::Iter<'a, u32>);

impl TripCountReader<'_> {
    pub fn word(&mut self) -> Option<u32> {
        self.0.find(|w| *w & COUNT_WORD != 0).copied()
    }
    /// Takes the next count. `Ok(None)` at the end of the recording; `Err` if the count exceeds 64 bits.
    pub fn take(&mut self) -> Result<Option<u64>, &'static str> {
        let (mut count, mut shift) = (0u64, 0);
        loop {
            let Some(word) = self.word() else {
                // An incomplete count: the recording is truncated.
                return Ok(None);
            };
            let part = u64::from(word & (COUNT_MORE - 1));
            if shift >= 64 || part << shift >> shift != part {
                return Err("a trip count of more than 64 bits");
            }
            count |= part << shift;
            shift += 30;
            if word & COUNT_MORE == 0 {
                return Ok(Some(count));
            }
        }
    }
}

/// Takes the count of a loop that is entered: `small` bits, or if those are all ones, a count of its own.
/// `Ok(None)` at the end of the recording; `Err` if the count exceeds 64 bits.
pub(super) fn take_count(
    bits: &mut BitReader<'_>,
    trips: &mut TripCountReader<'_>,
    small: u8,
) -> Result<Option<u64>, &'static str> {
    match bits.take(u32::from(small)) {
        Some(n) if n == (1 << small) - 1 => trips.take(),
        small => Ok(small),
    }
}

/// The source of a lane's decisions, by recording level.
#[derive(Clone, Debug)]
pub(super) enum DecisionSource<'a> {
    Words(BitReader<'a>, TripCountReader<'a>),
    /// The warp's events; the lane takes those whose mask contains it.
    Events(std::iter::Peekable<std::iter::Enumerate<std::slice::Iter<'a, Event>>>),
}

impl DecisionSource<'_> {
    /// How many words or events were recorded.
    pub fn words(&self) -> u64 {
        match self {
            DecisionSource::Words(bits, _) => bits.words.len() as u64,
            DecisionSource::Events(events) => events.len() as u64,
        }
    }
}
