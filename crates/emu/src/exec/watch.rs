//! Decides when a launch without `--check sync` searches for deadlocks.
//!
//! The search slows the interpreter down, so it runs for a short part of the time: each time that the work of
//! a host thread has doubled. A launch that ends soon is never searched.
//!
//! # Invariants
//! The search neither changes what the kernel does nor the schedule.

use crate::check::{Checker, SharedChecker};
use crate::exec::launch::Launch;

/// Work, in instructions, before the first search.
const FIRST: u64 = 1 << 22;
/// The part of the work that a search takes in a launch that seems to wait, and in another one.
const PARTS: [u64; 2] = [4, 128];
/// The shortest search, in instructions.
const SHORTEST: u64 = 1 << 18;

/// Instructions of a turn that is long enough to examine all clusters.
const LONG_TURN: u64 = 1 << 14;

/// The state of the search on a host thread. Work is counted in instructions, those that look like waiting
/// more than once.
#[derive(Debug)]
pub struct Watch {
    /// The work so far.
    used: u64,
    /// Turns so far.
    turns: u64,
    /// The work so far since anything but waiting was done.
    waited: u64,
    /// The work at which the search begins.
    begin: u64,
    /// The work at which the search that runs began.
    begun: Option<u64>,
}

impl Watch {
    /// The state before the first turn.
    pub fn new() -> Watch {
        Watch { used: 0, turns: 0, waited: 0, begin: FIRST, begun: None }
    }
    /// Counts the work of a turn, and begins or ends the search. `waits`: the turn only waited.
    pub fn turn(&mut self, launch: &Launch<'_>, check: &SharedChecker, used: u64, waits: bool) {
        self.used += used;
        self.turns += 1;
        self.waited = if waits { self.waited + used } else { 0 };
        let part = (self.used / PARTS[usize::from(!waits)]).max(SHORTEST);
        let on = match self.begun {
            None if self.used >= self.begin => {
                self.begun = Some(self.used);
                true
            }
            Some(begun) if self.used - begun >= part => {
                (self.begin, self.begun) = (2 * self.used, None);
                false
            }
            _ => return,
        };
        let Ok(mut shelf) = check.lock() else { return };
        match shelf.as_mut() {
            None if on => *shelf = Some(Checker::watching(launch)),
            None => {}
            Some(checker) => {
                let needed = checker.watch(launch, on) || on;
                shelf.take_if(|_| !needed);
            }
        }
    }
    /// Whether the clusters must be examined after a turn. Under a hostile schedule turns are short, and
    /// there are many clusters.
    pub fn examines(&self, used: u64, waits: bool) -> bool {
        waits || used >= LONG_TURN || self.turns.is_multiple_of(64)
    }
    /// The work since any cluster did something other than waiting.
    pub fn waited(&self) -> u64 {
        self.waited
    }
}
