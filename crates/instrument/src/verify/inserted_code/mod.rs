//! Verifies what is inserted into machine code of any instruction set: every piece is executed in sample
//! states, and compared with the routine that it was compiled from.
//!
//! An instruction set gives a machine for its instructions, as [`InsertedPiece`]. The rest is here: sample
//! states, the text of routines run on them ([`crate::routines`] says what it means), and the comparison.
//! [`crate::verify`](crate::verify()) checks for PTX that the text does what the plan says. So the two
//! verifiers together check machine code against the plan.
//!
//! # Invariants
//! For each piece of inserted code, in each sample state:
//!
//! 1. State and memory are behind it what its routine makes of them, in every lane that is where the wave is,
//!    whatever the lanes are that instructions run for. Lanes that leave the wave or come back are noted as
//!    such.
//! 2. Nothing else has changed: [`InsertedPiece::compare`] looks at all that must be as before.
//!
//! # Limitations
//! What is copied from the original is not looked at, nor code that is in no piece.

mod memory;
mod piece;
mod routine;
mod sample;
mod trial;

pub use memory::{Memory, combine};
pub(crate) use memory::{double, single};
pub use piece::{Environment, InsertedPiece, Live, Row, Work, each};
pub use sample::{PARAMETERS, value};

/// The states that each piece is executed in.
#[derive(Debug)]
pub struct Samples<W> {
    waves: Vec<(sample::Lanes, W)>,
}

impl<W: Clone> Samples<W> {
    /// The samples of waves with so many lanes. `wave` makes a wave with arbitrary registers from a seed and
    /// the memory of the sample.
    pub fn of(lanes: u32, wave: impl Fn(u64, Memory) -> W) -> Samples<W> {
        let sample = |seed| (sample::Lanes::of(lanes, seed), wave(seed, sample::memory(seed)));
        Samples { waves: (0..sample::SAMPLES).map(sample).collect() }
    }

    /// Checks a piece.
    ///
    /// # Errors
    /// The first invariant of this module that does not hold. This is a bug in the code.
    pub fn check<P: InsertedPiece<Wave = W>>(&self, piece: &P) -> Result<(), String> {
        let lines = match piece.work() {
            Work::Routine(text) => crate::routines::lines(&text.lines).map_err(|e| e.message)?,
            Work::Depart(_) | Work::Rejoin(_) => Vec::new(),
        };
        let (begins, state) = (piece.begins(), piece.state());
        for (seed, (lanes, wave)) in (0..).zip(&self.waves) {
            let all = sample::Lanes { present: lanes.launched, exec: lanes.launched, ..*lanes };
            let lanes = if begins { &all } else { lanes };
            let trial = trial::Trial { piece, lines: &lines, state: &state, lanes, seed };
            trial.run(wave).map_err(|what| format!("{what} (sample {seed})"))?;
        }
        Ok(())
    }
}
