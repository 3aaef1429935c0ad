//! Markers become insertions: those that stand in the source, and (`outside`) those put at waits, arrivals and asynchronous work.
//!
//! Markers of one basic block share a test for room and a cursor's move ([`Action::Room`]): whoever passes one passes them
//! all. What stands behind a call of a recorded function, which moves the cursor itself, or has a guard, makes room for
//! itself.
//!
//! Holds: records of a lane are in the order in which it passes markers, those at one place in the order in which they were
//! found. Misses: a marker between two labels, to the first of which a switch goes; payloads of more than 32 bits a word.

mod anchors;
mod open;
pub(crate) mod options;
mod outside;
mod spans;
mod sums;

use std::collections::HashMap;

use prlx_isa::view::{self, BlockId, Class, FuncId, Guard, InstId, LocId, Operand, PassedBy};
use prlx_trace::device::tracks::{APART, Form, Group, Layout, Shape};
use prlx_trace::kernel::Scalar;
use prlx_trace::mark::{Mark, MarkKind, Via};
use prlx_trace::table::{Field, Shown};

use crate::function::body::{Body, PartEnd};
pub use options::Marking;

use crate::plan::{Action, At, Insertion, SpanBegin, SpanEnd, Word};
use crate::probe::state::Missed;

/// What a module's markers become.
pub(crate) struct Marked {
    /// By function.
    pub insertions: Vec<Vec<Insertion>>,
    /// The table of them.
    pub marks: Vec<Mark>,
    /// Where what they leave lies; `None`: there is nothing to leave.
    pub layout: Option<Layout>,
    /// Those that nothing could be put at.
    pub missed: Vec<Missed>,
}

/// A marker at its place.
struct Found {
    at: At,
    guard: Option<Guard>,
    name: String,
    kind: MarkKind,
    via: Via,
    loc: Option<LocId>,
    words: Vec<(&'static str, Word)>,
    /// Part of a queue of asynchronous work.
    group: Option<Group>,
}

/// Markers that are one entry of the table, so that copies of a loop's body are: name, kind, why, function, location, words, queue.
type Key = (String, MarkKind, Via, u32, Option<LocId>, usize, Option<Group>);

/// Finds the markers of `bodies` for which `wanted` holds; `recorded` functions get their callers' state.
pub(crate) fn marks(
    marking: &Marking,
    bodies: &[&Body<'_>],
    wanted: &dyn Fn(usize) -> bool,
    recorded: &dyn Fn(FuncId) -> bool,
) -> Marked {
    let mut all = Marked { insertions: Vec::new(), marks: Vec::new(), layout: None, missed: Vec::new() };
    let mut layout = Layout { form: marking.form, lanes: marking.lanes, ..Layout::default() };
    let mut known: HashMap<Key, u32> = HashMap::new();
    let mut numbered: Vec<Vec<(u32, Found)>> = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let mut found = Vec::new();
        if wanted(i) {
            let mut missed = Vec::new();
            if marking.source {
                in_source(body, &mut found, &mut missed);
            }
            outside::outside(marking, body, &mut found, &mut missed);
            let miss = |(at, why)| Missed { clause: 0, function: body.id, at, why };
            all.missed.extend(missed.into_iter().map(miss));
        }
        let mut number = |f: &Found| {
            let key = (f.name.clone(), f.kind, f.via, body.id.0, f.loc, f.words.len(), f.group);
            *known.entry(key).or_insert_with(|| all.add(body, f, &mut layout.shapes))
        };
        let mut found: Vec<(u32, Found)> = found.into_iter().map(|f| (number(&f), f)).collect();
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
                let left = found.iter().map(|_| Left::Record).collect();
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
    fn add(&mut self, body: &Body<'_>, f: &Found, shapes: &mut Vec<Shape>) -> u32 {
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

/// Where code at a marker goes, and for whom.
pub struct Stand {
    /// The place.
    pub at: At,
    /// The lanes that pass the marker there; `None`: all.
    pub guard: Option<Guard>,
    /// The part of the function that the place is in.
    pub part: BlockId,
}

/// Where code at a marker can stand: at one place, or on each way to it; at none, where nobody comes there.
pub fn stands(body: &Body<'_>, mark: &view::Marker) -> Result<Vec<Stand>, String> {
    let count = body.function.insts.len() as u32;
    let branches = match &mark.passed_by {
        PassedBy::All if mark.at.0 < count => {
            return Ok(vec![Stand { at: At::Before(mark.at), guard: None, part: body.inst(mark.at).block }]);
        }
        PassedBy::All | PassedBy::FallThrough => &[],
        PassedBy::Some(Some(branches)) => branches.as_slice(),
        PassedBy::Some(None) => {
            let what = format!("marker {} {}", mark.kind.name(), mark.name);
            return Err(format!(
                "{what} stands between two labels, and a switch or many branches go to the first"
            ));
        }
    };
    let take =
        |i: &InstId| Stand { at: At::Before(*i), guard: body.inst(*i).guard, part: body.inst(*i).block };
    let mut all: Vec<Stand> = branches.iter().map(take).collect();
    let Some(last) = mark.at.0.checked_sub(1).map(InstId) else {
        all.push(Stand { at: At::Entry, guard: None, part: BlockId(0) });
        return Ok(all);
    };
    let inst = body.inst(last);
    let part = inst.block;
    match (leaves(inst.class), inst.guard) {
        (false, _) => all.push(Stand { at: At::After(last), guard: None, part }),
        (true, None) => {}
        (true, Some(g)) => {
            let guard = Some(Guard { reg: g.reg, negate: !g.negate });
            all.push(Stand { at: At::Before(last), guard, part });
        }
    }
    Ok(all)
}

/// Whether control does not just come out behind an instruction.
fn leaves(class: Class) -> bool {
    matches!(class, Class::Branch | Class::Switch | Class::Return | Class::Exit)
}

/// Where lanes go from one part to another, and which of those that are there.
pub fn edge(body: &Body<'_>, from: BlockId, to: BlockId) -> Result<(At, Option<Guard>, InstId), String> {
    let part = &body.parts[from.index()];
    let Some(last) = part.insts.clone().next_back().map(InstId).or(part.of) else {
        return Err("there is no instruction at which this loop is entered or left".to_owned());
    };
    let class = body.inst(last).class;
    let at = if leaves(class) { At::Before(last) } else { At::After(last) };
    let guard = match part.end {
        PartEnd::Branch { taken, other, .. } if taken == other => None,
        PartEnd::Branch { guard, taken, .. } if taken == to => Some(guard),
        PartEnd::Branch { guard, .. } => Some(Guard { reg: guard.reg, negate: !guard.negate }),
        PartEnd::Switch { .. } if part.end.succs().len() > 1 => {
            return Err(
                "a switch enters or leaves a loop here, and which way lanes go is not a predicate".to_owned()
            );
        }
        _ => body.inst(last).guard.filter(|_| class == Class::Switch),
    };
    Ok((at, guard, last))
}

/// Those that stand in the source.
fn in_source(body: &Body<'_>, found: &mut Vec<Found>, missed: &mut Vec<(Option<InstId>, String)>) {
    let reachable = body.reachable();
    for mark in &body.function.markers {
        let stands = match stands(body, mark) {
            Ok(stands) => stands,
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
        for stand in stands.into_iter().filter(|s| reachable.get(s.part.index()) == Some(&true)) {
            let words = mark.payload.iter().map(|o| Word { of: o.clone(), add: 0 });
            found.push(Found {
                at: stand.at,
                guard: stand.guard,
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

fn kind(kind: view::MarkerKind) -> MarkKind {
    match kind {
        view::MarkerKind::Begin => MarkKind::Begin,
        view::MarkerKind::End => MarkKind::End,
        view::MarkerKind::Instant => MarkKind::Instant,
        view::MarkerKind::Switch => MarkKind::Switch,
        view::MarkerKind::Issue => MarkKind::Issue,
        view::MarkerKind::Complete => MarkKind::Complete,
        view::MarkerKind::Arrive => MarkKind::Arrive,
        view::MarkerKind::Group => MarkKind::Group,
    }
}

/// What a marker leaves.
enum Left {
    /// A record.
    Record,
    /// A span ends there, by number, or begins.
    Span { end: Option<u32>, begin: Option<SpanBegin> },
}

/// The markers of a function as insertions, room made for those of a block together; `size` says how many slots a marker's record has, `due` where anchors
/// may be.
fn insertions(
    body: &Body<'_>,
    found: &[(u32, Found)],
    left: Vec<Left>,
    size: &dyn Fn(u32) -> u32,
    due: Vec<At>,
    recorded: &dyn Fn(FuncId) -> bool,
) -> Vec<Insertion> {
    // What is between two places of a block: calls that move the cursor part them.
    let calls: Vec<u32> = (0..body.function.insts.len() as u32)
        .filter(|i| body.callee(InstId(*i)).is_some_and(recorded))
        .collect();
    let section = |f: &Found| match (f.at, f.guard) {
        (_, Some(_)) => None,
        (At::Entry, _) => Some((BlockId(u32::MAX), 0)),
        (At::Before(i), _) => Some((body.inst(i).block, calls.partition_point(|c| *c < i.0))),
        (At::After(i), _) => Some((body.inst(i).block, calls.partition_point(|c| *c <= i.0))),
    };
    let slots = |f: &Found, mark: u32, left: &Left| match left {
        Left::Record if f.kind == MarkKind::Group => 0,
        Left::Record => size(mark),
        Left::Span { end, .. } => end.map_or(0, |_| spans::SLOTS),
    };
    // An anchor moves the cursor: it stands before all that room is made for in its block.
    let mut out: Vec<_> =
        due.into_iter().map(|at| Insertion { at, guard: None, action: Action::Anchor }).collect();
    let mut rest = found.iter().zip(left).map(|((mark, f), left)| (*mark, f, left)).peekable();
    let mut together: Vec<(u32, &Found, Left)> = Vec::new();
    while let Some(first) = rest.next() {
        let group = |f: &Found| f.kind == MarkKind::Group;
        let own = section(first.1).filter(|_| !group(first.1));
        together.push(first);
        while let Some(next) = rest.next_if(|n| own.is_some() && section(n.1) == own && !group(n.1)) {
            together.push(next);
        }
        let mut back: u32 = together.iter().map(|(mark, f, left)| slots(f, *mark, left)).sum();
        if back > 0 {
            let Found { at, guard, .. } = *together[0].1;
            out.push(Insertion { at, guard, action: Action::Room { slots: back } });
        }
        for (mark, f, left) in together.drain(..) {
            let took = slots(f, mark, &left);
            let words = || f.words.iter().map(|(_, word)| word.clone()).collect();
            let action = match left {
                Left::Span { end, begin } => {
                    Action::Span { end: end.map(|span| SpanEnd { span, back }), begin }
                }
                Left::Record if group(f) => Action::Group { values: words() },
                Left::Record => Action::Mark { mark, back, words: words() },
            };
            back -= took;
            out.push(Insertion { at: f.at, guard: f.guard, action });
        }
    }
    out.sort_by_key(|i| i.at.order());
    out
}

/// A number as a word.
fn number(n: u32) -> Word {
    Word { of: Operand::Int(n.into()), add: 0 }
}
