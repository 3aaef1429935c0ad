//! Moves a cause to the line of the source that differs.
//!
//! The code of both sides differs at the cause, and its line reads the same on both sides. Then the compiler
//! made other code because of another line: the start value or the bound of an unrolled loop, a constant that
//! it used several lines later, an operation that it merged with its user.

use prlx_trace::names::file_name;

use super::flow::Source;
use super::source_changes::{Change, SourceChanges};
use super::walk::{Found, Walk};
use crate::report::{Cause, CauseClass, CausePlace, Location};

/// The most lines of a change that one line can stand for.
const FEW: usize = 3;

/// The most changes that are listed.
const LISTED: usize = 5;

/// Puts the line that differs in the place of the cause's line, if it is the only one. Otherwise lists
/// what differs. Of inlined code, puts the call that differs there.
pub(super) fn to_change(walk: &Walk<'_>, found: &Found, cause: &mut Cause) {
    use CauseClass::{Address, Guard, Input, Nan, Operation, Order, Stale, Undefined};
    let changes = &walk.code.changes;
    if walk.on_change(found) {
        to_call(changes, cause);
        return to_both(changes, cause);
    }
    let of_code = match found.class {
        Address | Guard | Nan | Operation | Order | Undefined => true,
        // Without a barrier that differs, threads come too late because they do something else.
        Stale => changes.count() == 1 && !changes.synchronise,
        _ => false,
    };
    let variable = variable(walk, found).filter(|_| found.class == Input);
    if !(of_code && !walk.code.same || variable.is_some()) {
        return;
    }
    let line = |side: usize| cause.places[side].as_ref()?.location.clone();
    let Some((side, own)) = [0, 1].into_iter().find_map(|side| Some((side, line(side)?))) else { return };
    let Some(change) = changes.nearest(side, &own.file, own.line) else { return };
    // The launch file can also set a variable.
    let named = |name: &str| change.text.iter().flatten().any(|text| text.contains(name));
    if variable.is_some_and(|name| !named(name)) {
        return;
    }
    let only = changes.count() == 1 && change.lines.iter().all(|lines| lines.len() <= FEW);
    let which = match changes.count() {
        1 => only_differs(change),
        2..=LISTED => {
            let all: Vec<String> = changes.iter().map(words).collect();
            format!("these lines differ: {}", all.join(", "))
        }
        n => format!("of {n} changes, the nearest is {}", words(change)),
    };
    // The line of the change can have code of another function inlined into it, which reads the same.
    cause.what = match changes.at(side, &own.file, own.line) {
        Some(_) => format!("{}; in the source, {which}", cause.what),
        None => format!("{}; line {} is the same in both sources, and {which}", cause.what, own.line),
    };
    // Of several changes, another one can be the reason. An order has its place where the sum is.
    let moves = only && found.class != Order;
    for (side, place) in cause.places.iter_mut().enumerate().filter(|_| moves) {
        if let Some(moved) = place.as_ref().and_then(|place| moved(place, change, side)) {
            *place = Some(moved);
        }
    }
}

/// Of an error that a check found: names the only line that differs, if none of the cause's places is on it.
/// The error follows from that line, so it comes first, unless it synchronises threads: where these then meet
/// says more.
pub(super) fn to_only_change(changes: &SourceChanges, cause: &mut Cause) {
    let Some(change) = only(changes) else { return };
    let mut places = cause.places.iter().flatten().chain(&cause.other);
    if places.any(|place| (0..2).any(|side| is_on_change(changes, place, side))) {
        return;
    }
    cause.what = format!("{}; {}", cause.what, only_differs(change));
    if !changes.synchronise {
        let Some(error) = cause.places.iter().flatten().next().cloned() else { return };
        // A side that lacks the line keeps the place of the error.
        for (side, place) in cause.places.iter_mut().enumerate() {
            *place = moved(&error, change, side).or(place.take());
        }
        if !cause.places.contains(&Some(error.clone())) {
            cause.other = Some(error);
        }
    }
}

/// Of code that was inlined and reads the same on both sides: puts the call that differs in its place.
fn to_call(changes: &SourceChanges, cause: &mut Cause) {
    let differs = |side: usize, l: &Location| changes.at(side, &l.file, l.line).is_some();
    let mut of = None;
    for (side, place) in cause.places.iter_mut().enumerate() {
        let Some(location) = place.as_mut().and_then(|place| place.location.as_mut()) else { continue };
        let call = location.inlined.iter().position(|call| differs(side, call));
        let Some(call) = call.filter(|_| !differs(side, location)) else { continue };
        of = of.or(Some(format!("{}:{}", file_name(&location.file), location.line)));
        let outer = location.inlined.split_off(call + 1);
        let inlined = std::mem::take(&mut location.inlined);
        if let Some(call) = inlined.into_iter().next_back() {
            *location = Location { inlined: outer, ..call };
        }
    }
    if let Some(of) = of {
        cause.what = format!("{}; the code was inlined from {of}, and the call differs", cause.what);
    }
}

/// If one place is on the only line that differs, puts the other side's place there too: compilers merge what
/// that line computes with other lines, or compute it there. A side without a place has none of the code that
/// the line makes on the other side.
fn to_both(changes: &SourceChanges, cause: &mut Cause) {
    let Some(change) = only(changes) else { return };
    if let [Some(one), None] | [None, Some(one)] = &cause.places {
        let side = usize::from(cause.places[0].is_some());
        let thread = CausePlace { cta: one.cta, thread: one.thread, ..CausePlace::default() };
        cause.places[side] = moved(&thread, change, side);
    }
    let mut from = None;
    for (side, place) in cause.places.iter_mut().enumerate() {
        let Some(old) = place.as_ref().filter(|place| !is_on_change(changes, place, side)) else { continue };
        if let Some(new) = moved(old, change, side) {
            from = old.location.as_ref().map(|l| (side, l.line)).or(from);
            *place = Some(new);
        }
    }
    if let Some((side, line)) = from {
        let side = super::walk::name(side);
        cause.what =
            format!("{}; in {side} this is code of line {line}, and {}", cause.what, only_differs(change));
    }
}

/// The name of the buffer or variable whose content before the launch is the first difference.
fn variable<'a>(walk: &Walk<'a>, found: &Found) -> Option<&'a str> {
    match &walk.pairs[found.pair].sources[0] {
        Source::Memory(word) => walk.flows[0].place_of(word.space, word.address).map(|(name, _)| name),
        _ => None,
    }
}

/// The change of the source, if there is only one.
fn only(changes: &SourceChanges) -> Option<&Change> {
    changes.iter().next().filter(|_| changes.count() == 1)
}

/// Whether a place, or a call that its code was inlined at, is on a line of `side` that differs.
fn is_on_change(changes: &SourceChanges, place: &CausePlace, side: usize) -> bool {
    let mut lines = place.location.iter().flat_map(|l| std::iter::once(l).chain(&l.inlined));
    lines.any(|l| changes.at(side, &l.file, l.line).is_some())
}

/// The place, put on the line of a change on one side. `None` if that side lacks the line. Its trip counts
/// executions of an instruction that is on another line, so it has none.
fn moved(place: &CausePlace, change: &Change, side: usize) -> Option<CausePlace> {
    let location = Some(location(change, side)?);
    Some(CausePlace { location, trip: 0, ..place.clone() })
}

/// The first line of a change on one side; `None` if the side has none.
fn location(change: &Change, side: usize) -> Option<Location> {
    change.text[side].as_ref().map(|text| Location {
        file: change.file[side].clone(),
        line: change.lines[side].start,
        code: Some(text.clone()),
        ..Location::default()
    })
}

/// The lines of a change on one side, in words; `None` if the side has none.
fn lines(change: &Change, side: usize) -> Option<String> {
    let (first, last) = (change.lines[side].start, change.lines[side].end.saturating_sub(1));
    match (last + 1).checked_sub(first)? {
        0 => None,
        1 => Some(format!("line {first}")),
        _ => Some(format!("lines {first} to {last}")),
    }
}

/// Says that nothing but a change differs.
fn only_differs(change: &Change) -> String {
    let [a, b] = &change.lines;
    let one_line = if a == b { a.len() == 1 } else { a.len() + b.len() == 1 };
    format!("only {} {}", words(change), if one_line { "differs" } else { "differ" })
}

/// The lines of a change on both sides, in words.
fn words(change: &Change) -> String {
    match [0, 1].map(|side| lines(change, side)) {
        [Some(a), Some(b)] if a == b => a,
        [Some(a), Some(b)] => format!("{a} in A and {b} in B"),
        [Some(a), None] => format!("{a} in A"),
        [None, Some(b)] => format!("{b} in B"),
        [None, None] => String::new(),
    }
}
