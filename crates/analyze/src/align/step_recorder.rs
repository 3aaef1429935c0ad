//! Records the steps of one lane while both sides are compared: the steps around a place, a strip of cells
//! for all steps, and the loops and calls that contain them.

use std::collections::{BTreeMap, VecDeque};

use prlx_trace::kernel::Module;
use prlx_trace::{FuncId, LoopId, SiteId};

use crate::report::{OpenScope, Scope, StepMatch, describe};

use super::execution_tree::{self as tree, Entry};

/// Receives the steps of one lane from the comparison.
pub(crate) struct StepRecorder {
    pub window: Option<StepWindow>,
    pub map: LaneStrip,
    pub nest: Vec<ScopeBuilder>,
    /// The index in `nest`, by parent and identity.
    known: BTreeMap<(Option<u64>, u64), u64>,
    /// The open loops and calls, innermost last.
    open: Vec<OpenScope>,
    /// By open loop and side: the number of trips begun.
    begun: Vec<[u64; 2]>,
}

/// A loop or call whose counts are still growing.
pub(crate) struct ScopeBuilder {
    pub scope: Scope,
    pub side: usize,
    pub function: FuncId,
    pub of: Option<LoopId>,
}

impl ScopeBuilder {
    pub fn finish(&self, modules: [&Module; 2]) -> Scope {
        let m = modules[self.side];
        Scope {
            function: describe::function_name(m, self.function),
            location: self.of.and_then(|l| describe::loop_location(m, self.function, l)),
            ..self.scope.clone()
        }
    }
}

/// One recorded step.
pub(crate) struct RecordedStep {
    pub mark: StepMatch,
    pub entries: [Option<Entry>; 2],
    pub within: Vec<OpenScope>,
}

/// By side: a site, and how often the lane had visited it before.
pub(crate) type StepTarget = [Option<(SiteId, u64)>; 2];

/// The steps around a target.
pub(crate) struct StepWindow {
    pub target: StepTarget,
    pub before_most: usize,
    pub after_most: usize,
    pub before: u64,
    pub steps: VecDeque<RecordedStep>,
    pub after: u64,
    pub at: Option<usize>,
}

impl StepWindow {
    /// Whether this step is the target. Without a target, the first step that differs is.
    fn is_target(&self, step: &RecordedStep) -> bool {
        if self.target == [None; 2] {
            return step.mark != StepMatch::Same;
        }
        self.target.iter().zip(&step.entries).all(|(t, e)| match (t, e) {
            (Some((site, visit)), Some(e)) => *site == tree::site(*e) && *visit == u64::from(e.nth),
            (Some(_), None) => false,
            (None, _) => true,
        })
    }

    fn push(&mut self, step: RecordedStep) {
        if self.at.is_none() && self.is_target(&step) {
            self.at = Some(self.steps.len());
        }
        match self.at {
            Some(at) if self.steps.len() >= at.saturating_add(self.after_most) => self.after += 1,
            Some(_) => self.steps.push_back(step),
            None => {
                self.steps.push_back(step);
                if self.steps.len() > self.before_most {
                    self.steps.pop_front();
                    self.before += 1;
                }
            }
        }
    }
}

/// All steps of a lane in a bounded number of cells: neighbouring cells merge as the lane grows.
pub(crate) struct LaneStrip {
    pub most: usize,
    pub cells: Vec<StepMatch>,
    pub per_cell: u64,
    pub steps: u64,
    pub parts: Option<u64>,
}

impl LaneStrip {
    fn push(&mut self, mark: StepMatch) {
        if mark != StepMatch::Same {
            self.parts.get_or_insert(self.steps);
        }
        if self.steps.is_multiple_of(self.per_cell) {
            if self.cells.len() == self.most {
                self.halve();
            }
            self.cells.push(StepMatch::Same);
        }
        if let Some(last) = self.cells.last_mut() {
            *last = last.with(mark);
        }
        self.steps += 1;
    }
    pub fn halve(&mut self) {
        let pairs = self.cells.chunks(2).map(|c| c.iter().copied().fold(StepMatch::Same, StepMatch::with));
        self.cells = pairs.collect();
        self.per_cell = self.per_cell.saturating_mul(2);
    }
}

impl StepRecorder {
    pub fn new(before: usize, after: usize, columns: usize, target: Option<StepTarget>) -> StepRecorder {
        let window = |target| StepWindow {
            target,
            before_most: before,
            after_most: after.max(1),
            before: 0,
            steps: VecDeque::new(),
            after: 0,
            at: None,
        };
        // With an odd number of cells, merging would leave one half empty in the middle.
        let most = columns.max(2).next_multiple_of(2);
        StepRecorder {
            window: target.map(window),
            map: LaneStrip { most, cells: Vec::new(), per_cell: 1, steps: 0, parts: None },
            nest: Vec::new(),
            known: BTreeMap::new(),
            open: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// Records a visit, on both sides or on one.
    pub fn visit(&mut self, entries: [Option<Entry>; 2]) {
        let mark = match entries {
            [Some(a), Some(b)] if a.value == b.value => StepMatch::Same,
            [Some(_), None] => StepMatch::A,
            [None, Some(_)] => StepMatch::B,
            _ => StepMatch::Differs,
        };
        self.map.push(mark);
        let Some(window) = &mut self.window else { return };
        for w in &self.open {
            let scope = &mut self.nest[w.nest as usize].scope;
            for (n, e) in scope.visits.iter_mut().zip(entries) {
                *n += u64::from(e.is_some());
            }
            scope.differ += u64::from(mark != StepMatch::Same);
        }
        window.push(RecordedStep { mark, entries, within: self.open.clone() });
    }

    /// A loop or call begins, on the given sides.
    pub fn enter(&mut self, token: u64, sides: [bool; 2], function: FuncId, of: Option<LoopId>) {
        let parent = self.open.last().map(|w| w.nest);
        let next = self.nest.len() as u64;
        let nest = *self.known.entry((parent, token)).or_insert(next);
        if nest == next {
            let scope =
                Scope { parent, depth: self.open.len() as u64, looping: of.is_some(), ..Scope::default() };
            self.nest.push(ScopeBuilder { scope, side: usize::from(!sides[0]), function, of });
        }
        for (n, is) in self.nest[nest as usize].scope.entered.iter_mut().zip(sides) {
            *n += u64::from(is);
        }
        self.open.push(OpenScope { nest, trip: [0; 2] });
        self.begun.push([0; 2]);
    }

    /// A trip of the innermost loop begins, on the given sides.
    pub fn trip(&mut self, sides: [bool; 2]) {
        let (Some(within), Some(begun)) = (self.open.last_mut(), self.begun.last_mut()) else { return };
        let scope = &mut self.nest[within.nest as usize].scope;
        for side in 0..2 {
            if sides[side] {
                within.trip[side] = begun[side];
                begun[side] += 1;
                scope.trips[side] += 1;
            }
        }
    }

    /// The innermost loop or call ends.
    pub fn leave(&mut self) {
        self.open.pop();
        self.begun.pop();
    }
}
