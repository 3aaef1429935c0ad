//! A region leaves one record, as it ends ([`Form::Spans`](prlx_trace::device::tracks::Form::Spans)), where it is known before anything runs which begin
//! each end ends.
//!
//! Holds: what a track leaves stands for the same records as it does without: each time a lane passes a marker of a region is one end of one span,
//! or a record of its own. So nothing hangs on what the regions of a span are called. Misses: spans that are open where a lane is stuck.

use std::collections::{BTreeSet, HashMap};

use prlx_isa::view::FunctionKind;
use prlx_trace::device::tracks::{Layout, Spanned};
use prlx_trace::mark::{Mark, MarkKind};

use super::open::{Unsure, Walk, Wanted};
use super::placed::{MarkerOutput, PlacedMarker};
use crate::function::body::{Body, PartEnd};
use crate::plan::{Action, Insertion, SpanBegin, SpanEnd};
use crate::probe::state::Unavailable;

/// Slots of an entry.
pub(super) const SLOTS: u32 = 2;

/// What the markers of each function leave, and what lanes leave as they end.
pub(super) fn spans(
    bodies: &[&Body<'_>],
    found: &[Vec<(u32, PlacedMarker)>],
    marks: &[Mark],
    layout: &mut Layout,
    missed: &mut Vec<Unavailable>,
) -> Vec<(Vec<MarkerOutput>, Vec<Insertion>)> {
    let leads = |found: &[(u32, PlacedMarker)]| {
        found.iter().any(|(_, f)| f.kind == MarkKind::Group && f.words.len() > 1)
    };
    let exits = |body: &Body<'_>| body.parts.iter().any(|p| matches!(p.end, PartEnd::Exit));
    let calls = bodies
        .iter()
        .zip(found)
        .any(|(body, found)| body.function.kind == FunctionKind::Device && (exits(body) || leads(found)));
    let mut known = HashMap::new();
    let each = bodies.iter().zip(found);
    each.map(|(body, found)| function(body, found, marks, calls, layout, &mut known, missed)).collect()
}

fn function(
    body: &Body<'_>,
    found: &[(u32, PlacedMarker)],
    marks: &[Mark],
    calls: bool,
    layout: &mut Layout,
    known: &mut HashMap<(u32, Option<u32>), u32>,
    missed: &mut Vec<Unavailable>,
) -> (Vec<MarkerOutput>, Vec<Insertion>) {
    let mut left = BTreeSet::new();
    let walk = loop {
        let (one, steps, ends) = Default::default();
        let wanted = Wanted::Begin { calls };
        let mut walk = Walk { body, wanted, found, marks, left: &left, switches: &[], one, steps, ends };
        match walk.all() {
            Ok(()) => break walk,
            Err(Unsure { region, at, why }) => {
                let text = format!("{region} leaves a record as it begins and one as it ends: {why}");
                missed.push(Unavailable { clause: 0, function: body.id, at, why: text });
                if !left.insert(region) {
                    return (found.iter().map(|_| MarkerOutput::Record).collect(), Vec::new());
                }
            }
        }
    };
    let mut span = |begin: u32, end: Option<u32>| {
        *known.entry((begin, end)).or_insert_with(|| {
            layout.spans.push(Spanned { begin, end, alone: body.function.kind == FunctionKind::Kernel });
            layout.spans.len() as u32 - 1
        })
    };
    let mut what = Vec::new();
    for (i, (mark, f)) in found.iter().enumerate() {
        let ends = walk.steps.get(&i).and_then(|s| s.ends.first());
        let begins = walk.steps.get(&i).and_then(|s| s.begins.first());
        what.push(match (ends, begins) {
            (None, None) => MarkerOutput::Record,
            _ => MarkerOutput::Span {
                end: ends.map(|begin| span(*begin, Some(*mark))),
                begin: begins
                    .map(|_| SpanBegin { mark: *mark, word: f.words.first().map(|(_, word)| word.clone()) }),
            },
        });
    }
    let mut out = Vec::new();
    for (at, guard, open) in &walk.ends {
        let mut back = open.len() as u32 * SLOTS;
        out.push(Insertion { at: *at, guard: *guard, action: Action::Room { slots: back } });
        for begin in open {
            let end = Some(SpanEnd { span: span(*begin, None), back });
            out.push(Insertion { at: *at, guard: *guard, action: Action::Span { end, begin: None } });
            back -= SLOTS;
        }
    }
    out.sort_by_key(|i| i.at.order());
    (what, out)
}
