//! Where a lane's recorded decisions come from: bit words and trip counts, or the events of its warp.

use prlx_trace::device::{COUNT_MORE, COUNT_WORD};
use prlx_trace::launch::Event;

/// The recorded bits of a lane, oldest first.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    pub words: std::slice::Iter<'a, u32>,
    pub word: u32,
    pub left: u32,
}

impl BitReader<'_> {
    /// The next `n` (at most 30) bits, first bit highest; `None` when fewer are left.
    pub fn take(&mut self, n: u32) -> Option<u64> {
        if n <= self.left {
            self.left -= n;
            return Some(u64::from(self.word >> self.left) & ((1 << n) - 1));
        }
        (0..n).try_fold(0u64, |acc, _| Some(acc << 1 | self.bit()?))
    }
    pub fn bit(&mut self) -> Option<u64> {
        while self.left == 0 {
            self.word = *self.words.find(|w| *w & COUNT_WORD == 0)?;
            // A zero word carries nothing, like a word of no decisions.
            self.left = self.word.checked_ilog2().unwrap_or(0);
        }
        self.left -= 1;
        Some(u64::from(self.word >> self.left & 1))
    }
    pub fn any_left(&mut self) -> bool {
        self.left > 0 || self.words.any(|w| w & COUNT_WORD == 0 && *w > 1)
    }
}

/// The recorded trip counts of a lane, oldest first.
#[derive(Clone, Debug)]
pub(super) struct TripCountReader<'a>(pub std::slice::Iter<'a, u32>);

impl TripCountReader<'_> {
    pub fn word(&mut self) -> Option<u32> {
        self.0.find(|w| *w & COUNT_WORD != 0).copied()
    }
    /// The next count; `Err` when it has no end or does not fit.
    pub fn take(&mut self) -> Result<Option<u64>, &'static str> {
        let (mut count, mut shift) = (0u64, 0);
        loop {
            let Some(word) = self.word() else {
                // Half a count is a recording cut short.
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

/// Where decisions come from.
#[derive(Clone, Debug)]
pub(super) enum DecisionSource<'a> {
    Words(BitReader<'a>, TripCountReader<'a>),
    /// The warp's events; the lane takes those that it takes part in.
    Events(std::iter::Peekable<std::iter::Enumerate<std::slice::Iter<'a, Event>>>),
}
