//! What an instruction set gives the verifier: a piece of inserted code, and a machine that executes it.

use rustc_hash::FxHashMap;

use super::memory::Memory;
use crate::ptx::Text;
use crate::routines::Line;

/// A value of each lane. Predicates are 0 and 1.
pub type Row = [u64; 64];

/// What a piece of inserted code must do.
#[derive(Debug)]
pub enum Work {
    /// Run a routine in the lanes that are where the wave is.
    Routine(Text),
    /// Note this number for the lanes that leave the wave: those that are with it, and that instructions do
    /// not run for.
    Depart(u32),
    /// Take back the lanes with this number.
    Rejoin(u32),
}

/// What is live between pieces, and the lanes that instructions run for.
#[derive(Clone, Debug)]
pub struct Live {
    /// Lanes that instructions run for when the piece begins and when it ends.
    pub exec: u64,
    /// Lanes that the wave began with.
    pub launched: u64,
    /// Lanes that are where the wave is.
    pub present: u64,
    /// Number of the warp in the grid.
    pub warp: u32,
    /// Number of events of the wave so far, if `%clock` is that.
    pub events: Option<u32>,
    /// By lane: the number of the place where it waits.
    pub away: Vec<u32>,
    /// State of lanes, by name.
    pub state: FxHashMap<String, Row>,
}

/// What code of an instruction set reads that lies in no register, and how it stores.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The number of the multiprocessor: `%smid`.
    pub multiprocessor: u32,
    /// `%clock` and `%clock64`, if they are no count of events.
    pub clock: u64,
    /// `%globaltimer`.
    pub timer: u64,
    /// How many elements of a vector an instruction stores: of so many bytes each, of a vector of so many, at
    /// this offset. It matters in samples in which lanes store to one place.
    pub stored_at_once: fn(u64, usize, i64) -> usize,
}

/// A piece of inserted code, with a machine that executes it.
pub trait InsertedPiece {
    /// A wave, with the memory that it sees.
    type Wave: Clone;

    /// What the piece must do.
    fn work(&self) -> &Work;

    /// Whether it runs where a kernel begins. All lanes are where the wave is there.
    fn begins(&self) -> bool;

    /// State that is kept between pieces, and its bits.
    fn state(&self) -> Vec<(&str, u32)>;

    /// What the code reads that lies in no register.
    fn environment(&self) -> Environment;

    /// Puts what is live where the code has it. The hidden parameter is at [`PARAMETERS`](super::PARAMETERS).
    fn put(&self, wave: &mut Self::Wave, live: &Live);

    /// Number of events of a wave, if `%clock` is that.
    fn events(&self, wave: &Self::Wave) -> Option<u32>;

    /// What a register of the function, as a predicate or as a number, or a special register holds before the
    /// piece; `None` if nothing holds it there.
    fn register(&self, wave: &Self::Wave, name: &str, predicate: bool) -> Option<Row>;

    /// Executes the piece, whose routine has these lines, until control is at its end.
    ///
    /// # Errors
    /// What the machine does not know, or what the code does that no piece may do: it does not end, control
    /// leaves it, or it reads what is not there yet.
    fn execute(&self, wave: &mut Self::Wave, lines: &[Line<'_>]) -> Result<(), String>;

    /// Memory that all lanes see.
    fn memory(wave: &Self::Wave) -> &Memory;

    /// Compares what the piece leaves with what it must leave: all but memory, and but registers that hold
    /// nothing between pieces.
    ///
    /// # Errors
    /// What differs.
    fn compare(&self, wave: &Self::Wave, wanted: &Self::Wave) -> Result<(), String>;
}

/// Lanes of a mask.
pub fn each(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}
