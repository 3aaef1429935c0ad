//! Why an output differs, in words.

use prlx_analyze::report::{Cause, CauseClass, CausePlace, Location, place};

use super::names::{exact, own, short};
use crate::format::{clean, count, number};

/// Most steps of the way from the output to the cause.
const STEPS: usize = 8;

/// The element and its values, as `C[3,255]` and a value for each side.
pub(crate) fn element(c: &Cause) -> (String, [String; 2]) {
    (clean(&place(&c.output, &c.element)), c.values.each_ref().map(|v| clean(v)))
}

/// The class and the line, as `guard at mm.cu:19`.
pub(crate) fn brief(c: &Cause) -> String {
    match c.places.iter().flatten().next() {
        Some(place) => format!("{} at {}", c.class.name(), line(place)),
        None => c.class.name().to_owned(),
    }
}

/// Whether the cause is that of a decision of a thread. Causes of errors have no way to them.
pub(crate) fn of_decision(c: &Cause) -> bool {
    c.output.is_empty() && !c.steps.is_empty()
}

/// Rows on a cause: names, then texts. A row without a name continues the row before it.
pub(crate) fn rows(c: &Cause) -> Vec<(&'static str, String)> {
    let mut rows = vec![("what", clean(&c.what))];
    let sides = ["A", "B"].into_iter().zip(&c.places);
    let places = sides.filter_map(|(side, p)| p.as_ref().map(|p| format!("{side}  {}", full(p))));
    put(&mut rows, "first difference", places);
    let (other, way) = match c.class {
        CauseClass::Stuck => ("stuck at", ""),
        _ if of_decision(c) => ("decision", "way from the decision"),
        _ => ("other access", "way from the output"),
    };
    put(&mut rows, other, c.other.iter().map(full));
    let more = c.steps.len().saturating_sub(STEPS) as u64;
    let more = (more > 0).then(|| count(more, "more step", "more steps"));
    put(&mut rows, way, c.steps.iter().take(STEPS).map(step).chain(more));
    if c.followed > 1 {
        let of = format!("{} of {} elements that were followed back", number(c.elements), number(c.followed));
        rows.push(("elements", format!("{of} {} this cause", if c.elements == 1 { "has" } else { "have" })));
    }
    rows.extend(c.uncertain.as_ref().map(|why| ("uncertain", clean(why))));
    if !c.advice.is_empty() {
        rows.push(("next", clean(&c.advice)));
    }
    rows
}

fn put(rows: &mut Vec<(&'static str, String)>, name: &'static str, texts: impl Iterator<Item = String>) {
    rows.extend(texts.enumerate().map(|(i, text)| (if i == 0 { name } else { "" }, text)));
}

/// A step, with its values and the lines where they come from.
fn step(s: &prlx_analyze::report::CauseStep) -> String {
    let at: Vec<String> = s.places.iter().flatten().map(line).collect();
    let at = match &at[..] {
        [] => String::new(),
        [a, b] if a != b => format!("  {a} in A, {b} in B"),
        [a, ..] => format!("  {a}"),
    };
    let value = |side: &str, value: &str| match value {
        "" => format!("not in {side}"),
        value => format!("{side} {}", clean(value)),
    };
    format!("{}   {}   {}{at}", clean(&s.what), value("A", &s.values[0]), value("B", &s.values[1]))
}

/// The line of a place of a step: the inlined call is named only if it lies in another file.
fn line(p: &CausePlace) -> String {
    let other_file = |call: &&Location| p.location.as_ref().is_some_and(|l| l.file != call.file);
    with_call(p, call(p).filter(other_file))
}

/// The line of a place: in the source, with the inlined call, or else in the module's text.
fn with_call(p: &CausePlace, call: Option<&Location>) -> String {
    match (&p.location, call) {
        (Some(location), _) if !std::ptr::eq(own(location), location) => {
            format!("{} (in {})", short(location), exact(location))
        }
        (Some(location), Some(call)) => format!("{} (inlined at {})", short(location), short(call)),
        (Some(location), None) => short(location),
        (None, _) => format!("{}, line {} of the module", clean(&p.function), p.module_line),
    }
}

/// Where the kernel calls what was inlined at a place.
fn call(p: &CausePlace) -> Option<&Location> {
    p.location.as_ref()?.inlined.last().filter(|call| call.line > 0)
}

/// A place with its thread and its code.
fn full(p: &CausePlace) -> String {
    let coordinates = |v: [u32; 3]| format!("({},{},{})", v[0], v[1], v[2]);
    let thread = format!("CTA {}, thread {}", coordinates(p.cta), coordinates(p.thread));
    let nth = if p.trip > 0 { format!(", execution {}", p.trip + 1) } else { String::new() };
    let source =
        p.location.as_ref().and_then(|l| own(l).code.as_deref()).map(str::trim).filter(|c| !c.is_empty());
    let line = with_call(p, call(p));
    format!("{line}, {thread}{nth}  `{}`", clean(source.unwrap_or(&p.text)))
}
