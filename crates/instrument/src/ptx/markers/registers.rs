//! The registers that markers use: the state of a track, constants of loops, and spans in progress.

use std::collections::{BTreeSet, HashSet};

use prlx_isa::view::{FunctionKind, Module};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, SpanEnd};
use prlx_trace::device::tracks::{Layout, SLOT, SPAN};

/// Registers of a track that are passed to callees: name, size in bytes, initial value.
pub(in crate::ptx) fn track_registers(layout: &Layout) -> impl Iterator<Item = (&'static str, u64, u64)> {
    let all = [("at", 8, 0), ("limit", 4, 0), ("turn", 4, 0), ("who", 4, 0), ("next", 4, NEVER.into())];
    let (ring, anchors) = (layout.ring().is_some(), layout.apart > 0);
    all.into_iter().filter(move |(name, ..)| match *name {
        "turn" | "who" => ring,
        "next" => anchors,
        _ => true,
    })
}

/// A cursor position beyond the end of every region.
pub(in crate::ptx) const NEVER: u32 = u32::MAX;

/// Maximum number of registers for the numbers of markers and spans.
const TAGS: usize = 8;

/// Name of the register of a marker's number.
pub(in crate::ptx) fn marker_number(mark: u32) -> String {
    format!("tag{mark}")
}

/// Name of the register of a word of a track of sums.
pub(in crate::ptx) fn sum(word: u32) -> String {
    format!("sum{word}")
}

/// Constants that a function's loops keep in registers. The assembler would otherwise materialise them at
/// every use.
#[derive(Clone, Debug, Default)]
pub(in crate::ptx) struct LoopConstants {
    /// Markers whose numbers are in registers.
    pub(in crate::ptx) marks: Vec<u32>,
    /// Spans whose numbers are in registers.
    pub(in crate::ptx) spans: Vec<u32>,
    /// Begin markers of spans without a payload word.
    pub(in crate::ptx) wordless: Vec<u32>,
    /// Distances by which cursors move, in slots.
    pub(in crate::ptx) steps: Vec<u32>,
}

/// Maximum number of distances in registers.
const STEPS: usize = 2;

impl LoopConstants {
    /// The constants of function `index`. There are none in a ring, and none if a device function may assign
    /// a track to a lane, because it cannot set the registers of its caller.
    pub fn new(module: &Module, plan: &Plan, index: usize) -> LoopConstants {
        let mut all = LoopConstants::default();
        let leads = |i: &Insertion| matches!(&i.action, Action::Group { values } if values.len() > 1);
        let device = |f: &FunctionPlan| {
            module.functions.get(f.function.index()).is_some_and(|f| f.kind == FunctionKind::Device)
        };
        let elsewhere = plan.functions.iter().filter(|f| device(f)).any(|f| f.insertions.iter().any(leads));
        let (Some(function), Some(of_plan)) = (module.functions.get(index), plan.functions.get(index)) else {
            return all;
        };
        let Some(tracks) = plan.probe_state.tracks.as_ref().filter(|t| t.ring().is_none()) else {
            return all;
        };
        if function.kind == FunctionKind::Device || elsewhere {
            return all;
        }
        let loops = plan.module.functions.get(index).map_or(&[][..], |f| &f.loops[..]);
        let looped: HashSet<u32> = loops.iter().flat_map(|l| l.blocks.iter().map(|b| b.0)).collect();
        let inside = |i: &&Insertion| match i.at {
            At::Before(at) | At::After(at) => {
                function.insts.get(at.index()).is_some_and(|i| looped.contains(&i.block.0))
            }
            At::Entry => false,
        };
        for insertion in of_plan.insertions.iter().filter(inside) {
            let free = TAGS.saturating_sub(all.marks.len() + all.spans.len() + all.wordless.len());
            match &insertion.action {
                Action::Mark { mark, .. } if free > 0 && !all.marks.contains(mark) => all.marks.push(*mark),
                Action::Span { end: Some(SpanEnd { span, .. }), .. } if !all.spans.contains(span) => {
                    let Some(begin) = tracks.spans.get(*span as usize).map(|s| s.begin) else { continue };
                    let word = wordless(tracks, begin) && !all.wordless.contains(&begin);
                    if free > usize::from(word) {
                        all.spans.push(*span);
                        all.wordless.extend(word.then_some(begin));
                    }
                }
                Action::Room { slots } if all.steps.len() < STEPS && !all.steps.contains(slots) => {
                    all.steps.push(*slots);
                }
                _ => {}
            }
        }
        all
    }

    /// Their registers: name, value in a lane with a track, value in a lane without.
    pub fn registers(&self) -> impl Iterator<Item = (String, u64, u64)> {
        let number = |n: &u32| u64::from(*n) + 1;
        let marks = self.marks.iter().map(move |m| (marker_number(*m), number(m), 0));
        let spans = self.spans.iter().map(move |s| (span_number(*s), number(s) | u64::from(SPAN), 0));
        let wordless = self.wordless.iter().map(move |m| (missing_word(*m), number(m), 0));
        // Without a track the cursor only has to stay above the limit.
        let steps = self.steps.iter().map(move |n| (step(*n), u64::from(*n) * SLOT, number(n) * SLOT));
        marks.chain(spans).chain(wordless).chain(steps)
    }
}

/// Whether spans that begin at a marker have no payload word.
pub(in crate::ptx) fn wordless(tracks: &Layout, mark: u32) -> bool {
    tracks.shapes.get(mark as usize).is_none_or(|s| s.words == 0)
}

pub(in crate::ptx) fn span_number(span: u32) -> String {
    format!("ended{span}")
}

pub(in crate::ptx) fn missing_word(mark: u32) -> String {
    format!("none{mark}")
}

pub(in crate::ptx) fn step(slots: u32) -> String {
    format!("step{slots}")
}

/// Names of the registers of a function's spans in progress.
pub(in crate::ptx) fn open_span_registers(of_plan: &FunctionPlan) -> BTreeSet<String> {
    let begins = of_plan.insertions.iter().filter_map(|i| match &i.action {
        Action::Span { begin: Some(begin), .. } => Some(begin),
        _ => None,
    });
    begins
        .flat_map(|b| [Some(span_begin_clock(b.mark)), b.word.as_ref().map(|_| span_word(b.mark))])
        .flatten()
        .collect()
}

pub(in crate::ptx) fn span_begin_clock(mark: u32) -> String {
    format!("opened{mark}")
}

pub(in crate::ptx) fn span_word(mark: u32) -> String {
    format!("said{mark}")
}
