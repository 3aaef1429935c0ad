//! Turns markers into insertions: markers in the source, and (`outside`) markers at waits and asynchronous
//! work.
//!
//! Markers of one basic block share one capacity test and one move of the track's cursor ([`Action::Room`]),
//! because a lane that passes one of them passes all. A marker behind a call of a recorded function, or with
//! a guard, reserves its own slots.
//!
//! # Invariants
//!
//! - A lane's records are in the order in which it passes markers. Records of one place are in the order in
//!   which the markers were found.
//!
//! # Limitations
//!
//! - A marker between two labels is not recorded if a switch goes to the first label.
//! - A payload word has at most 32 bits.

mod anchors;
mod open;
pub(crate) mod options;
mod outside;
mod placed;
mod spans;
mod sums;

use std::collections::HashMap;

use prlx_isa::view::{self, BlockId, FuncId, InstId, LocId};
use prlx_trace::device::tracks::{APART, Form, Group, Layout, Shape};
use prlx_trace::kernel::Scalar;
use prlx_trace::mark::{Mark, MarkKind, Via};
use prlx_trace::table::{Field, Shown};

use crate::function::body::{self, Body};
pub use options::MarkerOptions;
pub use placed::{MarkerPosition, edge, positions};

use placed::{MarkerOutput, PlacedMarker, kind};

use crate::plan::{Action, At, Insertion, SpanEnd, Word};
use crate::probe::state::Unavailable;

/// What a module's markers become.
pub(crate) struct Marked {
    /// By function: what to insert.
    pub insertions: Vec<Vec<Insertion>>,
    /// The table of them.
    pub marks: Vec<Mark>,
    /// Where what they leave lies; `None`: there is nothing to leave.
    pub layout: Option<Layout>,
    /// Those that nothing could be put at.
    pub missed: Vec<Unavailable>,
}

/// Markers that are one entry of the table, so that copies of a loop's body are: name, kind, why, function,
/// location, words, queue.
type Key = (String, MarkKind, Via, u32, Option<LocId>, usize, Option<Group>);

/// Finds the markers of `bodies` for which `wanted` holds; `recorded` functions get their callers' state.
pub(crate) fn marks(
    marking: &MarkerOptions,
    bodies: &[&Body<'_>],
    wanted: &dyn Fn(usize) -> bool,
    recorded: &dyn Fn(FuncId) -> bool,
) -> Marked {
    let mut all = Marked { insertions: Vec::new(), marks: Vec::new(), layout: None, missed: Vec::new() };
    let mut layout = Layout {
        form: marking.form,
        lanes: marking.lanes,
        warp_size: body::warp_size_of(bodies),
        ..Layout::default()
    };
    let mut known: HashMap<Key, u32> = HashMap::new();
    let mut numbered: Vec<Vec<(u32, PlacedMarker)>> = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let mut found = Vec::new();
        if wanted(i) {
            let mut missed = Vec::new();
            if marking.source {
                in_source(body, &mut found, &mut missed);
            }
            outside::outside(marking, body, &mut found, &mut missed);
            let miss = |(at, why)| Unavailable { clause: 0, function: body.id, at, why };
            all.missed.extend(missed.into_iter().map(miss));
        }
        let mut number = |f: &PlacedMarker| {
            let key = (f.name.clone(), f.kind, f.via, body.id.0, f.loc, f.words.len(), f.group);
            *known.entry(key).or_insert_with(|| all.add(body, f, &mut layout.shapes))
        };
        let mut found: Vec<(u32, PlacedMarker)> = found.into_iter().map(|f| (number(&f), f)).collect();
        found.sort_by_key(|(_, f)| f.at.order());
        numbered.push(found);
    }
    let mut due = vec![Vec::new(); bodies.len()];
    if matches!(marking.form, Form::Records | Form::Spans) {
        let each = bodies.iter().zip(&numbered);
        due = each.map(|(body, found)| anchors::places(body, found)).collect();
        layout.apart = if due.iter().all(Vec::is_empty) { 0 } else { APART };
    }
    match marking.form {
        Form::Records | Form::Ring { .. } => {
            let size = |mark: u32| 1 + u32::from(layout.shapes[mark as usize].words > 0);
            for ((body, found), due) in bodies.iter().zip(&numbered).zip(due) {
                let left = found.iter().map(|_| MarkerOutput::Record).collect();
                all.insertions.push(insertions(body, found, left, &size, due, recorded));
            }
        }
        Form::Spans => {
            let left = spans::spans(bodies, &numbered, &all.marks, &mut layout, &mut all.missed);
            for (((body, found), (left, ends)), due) in bodies.iter().zip(&numbered).zip(left).zip(due) {
                let mut of = insertions(body, found, left, &|_| spans::SLOTS, due, recorded);
                of.extend(ends);
                of.sort_by_key(|i| i.at.order());
                all.insertions.push(of);
            }
        }
        Form::Sums => all.insertions = sums::sums(bodies, numbered, &all.marks, &mut layout, &mut all.missed),
    }
    let leaves = all.insertions.iter().any(|i| !i.is_empty());
    all.layout = (leaves && !all.marks.is_empty()).then_some(layout);
    all
}

impl Marked {
    /// A new entry of the table.
    fn add(&mut self, body: &Body<'_>, f: &PlacedMarker, shapes: &mut Vec<Shape>) -> u32 {
        let field = |name: &str| Field {
            name: name.to_owned(),
            ty: Scalar::U32,
            shown: if name == "mbarrier" { Shown::Address } else { Shown::Number },
        };
        let mut payload: Vec<Field> = f.words.iter().map(|(name, _)| field(name)).collect();
        // The reader counts them.
        payload.extend(f.group.map(|_| field("group")));
        shapes.push(Shape { words: f.words.len() as u32, group: f.group });
        self.marks.push(Mark {
            name: f.name.clone(),
            kind: f.kind,
            via: f.via,
            function: prlx_trace::FuncId(body.id.0),
            loc: f.loc.map(|l| prlx_trace::LocId(l.0)),
            payload,
        });
        self.marks.len() as u32 - 1
    }
}

/// Finds the markers of the source.
fn in_source(body: &Body<'_>, found: &mut Vec<PlacedMarker>, missed: &mut Vec<(Option<InstId>, String)>) {
    let reachable = body.reachable();
    for mark in &body.function.markers {
        let placed = match positions(body, mark) {
            Ok(placed) => placed,
            Err(why) => {
                missed.push((Some(mark.at), why));
                continue;
            }
        };
        let names = match mark.kind {
            view::MarkerKind::Group => ["group", "leader"],
            _ => ["word0", "word1"],
        };
        if mark.kind == view::MarkerKind::Group && mark.payload.is_empty() {
            missed.push((Some(mark.at), format!("marker group {} does not say which group", mark.name)));
            continue;
        }
        for position in placed.into_iter().filter(|s| reachable.get(s.part.index()) == Some(&true)) {
            let words = mark.payload.iter().map(|o| Word { of: o.clone(), add: 0 });
            found.push(PlacedMarker {
                at: position.at,
                guard: position.guard,
                name: mark.name.clone(),
                kind: kind(mark.kind),
                via: Via::Source,
                loc: mark.loc,
                words: names.into_iter().zip(words).collect(),
                group: None,
            });
        }
    }
}

/// The markers of a function as insertions, room made for those of a block together; `size` says how many
/// slots a marker's record has, `due` where anchors may be.
fn insertions(
    body: &Body<'_>,
    found: &[(u32, PlacedMarker)],
    left: Vec<MarkerOutput>,
    size: &dyn Fn(u32) -> u32,
    due: Vec<At>,
    recorded: &dyn Fn(FuncId) -> bool,
) -> Vec<Insertion> {
    // What is between two places of a block: calls that move the cursor part them.
    let calls: Vec<u32> = (0..body.function.insts.len() as u32)
        .filter(|i| body.callee(InstId(*i)).is_some_and(recorded))
        .collect();
    let section = |f: &PlacedMarker| match (f.at, f.guard) {
        (_, Some(_)) => None,
        (At::Entry, _) => Some((BlockId(u32::MAX), 0)),
        (At::Before(i), _) => Some((body.inst(i).block, calls.partition_point(|c| *c < i.0))),
        (At::After(i), _) => Some((body.inst(i).block, calls.partition_point(|c| *c <= i.0))),
    };
    let slots = |f: &PlacedMarker, mark: u32, left: &MarkerOutput| match left {
        MarkerOutput::Record if f.kind == MarkKind::Group => 0,
        MarkerOutput::Record => size(mark),
        MarkerOutput::Span { end, .. } => end.map_or(0, |_| spans::SLOTS),
    };
    // An anchor moves the cursor: it stands before all that room is made for in its block.
    let mut out: Vec<_> =
        due.into_iter().map(|at| Insertion { at, guard: None, action: Action::Anchor }).collect();
    let mut rest = found.iter().zip(left).map(|((mark, f), left)| (*mark, f, left)).peekable();
    let mut together: Vec<(u32, &PlacedMarker, MarkerOutput)> = Vec::new();
    while let Some(first) = rest.next() {
        let group = |f: &PlacedMarker| f.kind == MarkKind::Group;
        let own = section(first.1).filter(|_| !group(first.1));
        together.push(first);
        while let Some(next) = rest.next_if(|n| own.is_some() && section(n.1) == own && !group(n.1)) {
            together.push(next);
        }
        let mut back: u32 = together.iter().map(|(mark, f, left)| slots(f, *mark, left)).sum();
        if back > 0 {
            let PlacedMarker { at, guard, .. } = *together[0].1;
            out.push(Insertion { at, guard, action: Action::Room { slots: back } });
        }
        for (mark, f, left) in together.drain(..) {
            let took = slots(f, mark, &left);
            let words = || f.words.iter().map(|(_, word)| word.clone()).collect();
            let action = match left {
                MarkerOutput::Span { end, begin } => {
                    Action::Span { end: end.map(|span| SpanEnd { span, back }), begin }
                }
                MarkerOutput::Record if group(f) => Action::Group { values: words() },
                MarkerOutput::Record => Action::Mark { mark, back, words: words() },
            };
            back -= took;
            out.push(Insertion { at: f.at, guard: f.guard, action });
        }
    }
    out.sort_by_key(|i| i.at.order());
    out
}
