//! The registers that markers use: the state of a track, constants of loops, and spans under way.

use std::collections::{BTreeSet, HashSet};

use prlx_isa::view::{FunctionKind, Module};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, SpanEnd};
use prlx_trace::device::tracks::{Layout, SLOT, SPAN};

/// Registers that are handed on, their bytes, and what is in them at first.
pub(in crate::ptx) fn state(layout: &Layout) -> impl Iterator<Item = (&'static str, u64, u64)> {
    let all = [("at", 8, 0), ("limit", 4, 0), ("turn", 4, 0), ("who", 4, 0), ("next", 4, NEVER.into())];
    let (ring, anchors) = (layout.ring().is_some(), layout.apart > 0);
    all.into_iter().filter(move |(name, ..)| match *name {
        "turn" | "who" => ring,
        "next" => anchors,
        _ => true,
    })
}

/// Behind where any cursor stops.
pub(in crate::ptx) const NEVER: u32 = u32::MAX;

/// Most registers for markers' and spans' numbers.
const TAGS: usize = 8;

/// The register of a marker's number.
pub(in crate::ptx) fn tag(mark: u32) -> String {
    format!("tag{mark}")
}

/// The register of a word of a track.
pub(in crate::ptx) fn sum(word: u32) -> String {
    format!("sum{word}")
}

/// What a function's loops have in registers, which the assembler would make anew each time.
#[derive(Clone, Debug, Default)]
pub(in crate::ptx) struct Constants {
    /// Markers: their numbers.
    pub(in crate::ptx) marks: Vec<u32>,
    /// Spans: their numbers.
    pub(in crate::ptx) spans: Vec<u32>,
    /// Markers without a word at which spans begin.
    pub(in crate::ptx) wordless: Vec<u32>,
    /// How far cursors move, in slots.
    pub(in crate::ptx) steps: Vec<u32>,
}

/// Most distances that cursors move by which are in registers.
const STEPS: usize = 2;

impl Constants {
    /// Those of function `index`. None where a device function may give a lane its track, for it could not give it its numbers, and none in a ring.
    pub fn new(module: &Module, plan: &Plan, index: usize) -> Constants {
        let mut all = Constants::default();
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

    /// Their registers, and what is in them in lanes that have a track and in others.
    pub fn registers(&self) -> impl Iterator<Item = (String, u64, u64)> {
        let number = |n: &u32| u64::from(*n) + 1;
        let marks = self.marks.iter().map(move |m| (tag(*m), number(m), 0));
        let spans = self.spans.iter().map(move |s| (ended(*s), number(s) | u64::from(SPAN), 0));
        let wordless = self.wordless.iter().map(move |m| (none(*m), number(m), 0));
        // Without a track the cursor only has to stay above the limit.
        let steps = self.steps.iter().map(move |n| (step(*n), u64::from(*n) * SLOT, number(n) * SLOT));
        marks.chain(spans).chain(wordless).chain(steps)
    }
}

/// Whether a span that begins at a marker has no word.
pub(in crate::ptx) fn wordless(tracks: &Layout, mark: u32) -> bool {
    tracks.shapes.get(mark as usize).is_none_or(|s| s.words == 0)
}

pub(in crate::ptx) fn ended(span: u32) -> String {
    format!("ended{span}")
}

pub(in crate::ptx) fn none(mark: u32) -> String {
    format!("none{mark}")
}

pub(in crate::ptx) fn step(slots: u32) -> String {
    format!("step{slots}")
}

/// The registers of spans of a function under way.
pub(in crate::ptx) fn under_way(of_plan: &FunctionPlan) -> BTreeSet<String> {
    let begins = of_plan.insertions.iter().filter_map(|i| match &i.action {
        Action::Span { begin: Some(begin), .. } => Some(begin),
        _ => None,
    });
    begins.flat_map(|b| [Some(opened(b.mark)), b.word.as_ref().map(|_| said(b.mark))]).flatten().collect()
}

pub(in crate::ptx) fn opened(mark: u32) -> String {
    format!("opened{mark}")
}

pub(in crate::ptx) fn said(mark: u32) -> String {
    format!("said{mark}")
}
