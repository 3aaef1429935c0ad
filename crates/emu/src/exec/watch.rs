//! Decides when a launch without `--check sync` searches for deadlocks.
//!
//! The search slows the interpreter down, so it runs for a short part of the time: each time that the work of
//! a host thread has doubled. A launch that ends soon is never searched. The search also shows whether memory
//! changes in a launch that waits.
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
    /// The work at which the search that runs began, and the changes of memory until then.
    begun: Option<(u64, u64)>,
    /// The work at which the first of the searches began that saw only waiting and no change of memory, and
    /// the work until the last of them ended.
    quiet: Option<(u64, u64)>,
}

impl Watch {
    /// The state before the first turn.
    pub fn new() -> Watch {
        Watch { used: 0, turns: 0, waited: 0, begin: FIRST, begun: None, quiet: None }
    }
    /// Counts the work of a turn, and begins or ends the search. `waits`: the turn only waited.
    pub fn turn(&mut self, launch: &Launch<'_>, check: &SharedChecker, used: u64, waits: bool) {
        self.used += used;
        self.turns += 1;
        self.waited = if waits { self.waited + used } else { 0 };
        if !waits {
            self.quiet = None;
        }
        let part = (self.used / PARTS[usize::from(!waits)]).max(SHORTEST);
        match self.begun {
            None if self.used >= self.begin => {
                let Ok(mut shelf) = check.lock() else { return };
                let checker = shelf.get_or_insert_with(|| Checker::watching(launch));
                checker.watch(launch, true);
                self.begun = Some((self.used, checker.memory_changes()));
            }
            Some((begun, changes)) if self.used - begun >= part => {
                (self.begin, self.begun) = (2 * self.used, None);
                let Ok(mut shelf) = check.lock() else { return };
                let Some(checker) = shelf.as_mut() else { return };
                let quiet = self.waited >= self.used - begun && checker.memory_changes() == changes;
                self.quiet = quiet.then(|| (self.quiet.map_or(begun, |(first, _)| first), self.used));
                let needed = checker.watch(launch, false);
                shelf.take_if(|_| !needed);
            }
            _ => {}
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
    /// The work since which all searches saw only waiting and no change of memory.
    pub fn quiet(&self) -> u64 {
        self.quiet.map_or(0, |(first, last)| last - first)
    }
}
