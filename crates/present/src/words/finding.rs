//! One finding in words: what happened, when, to which lanes, and what follows from it.

use prlx_analyze::FindingKind;
use prlx_analyze::report::{Finding, WarpHit};
use prlx_analyze::view::{AlignedStep, OpenScope, PathView, Scope, StepMatch};
use prlx_trace::WarpSize;
use prlx_trace::kernel::SiteClass;

use super::names::{lanes, place, short};
use crate::format::{clean, count, number, plain_name};

/// What happened, in one sentence.
pub(crate) fn sentence(f: &Finding) -> String {
    let who =
        format!("{} in {}", count(f.lanes_total, "lane", "lanes"), count(f.warps_total, "warp", "warps"));
    let one = f.lanes_total == 1;
    let s = if one { "s" } else { "" };
    let have = if one { "has" } else { "have" };
    match f.kind {
        FindingKind::Branch if f.hashes.is_some() => format!("{who} make{s} different branch decisions"),
        FindingKind::Branch => format!("{who}: {}", condition(f)),
        FindingKind::ActiveMask => format!("{who} run{s} with other active lanes"),
        FindingKind::Value if f.hashes.is_some() => format!("{who} see{s} different values"),
        // At level `events` a value belongs to a visit of a warp: which of its lanes differ is not recorded.
        FindingKind::Value if f.masks.is_some() => {
            let have = if f.warps_total == 1 { "has" } else { "have" };
            let warps = count(f.warps_total, "warp", "warps");
            format!("{warps} {have} different values in some of {}", count(f.lanes_total, "lane", "lanes"))
        }
        FindingKind::Value => format!("{who} {have} a different value"),
        FindingKind::Path => format!("{who} take{s} a different path"),
        FindingKind::ExtraEvents => {
            let side = usize::from(f.side.unwrap_or(0).min(1));
            let name = ["A", "B"][side];
            match (f.extra_trips[side], f.extra_visits[side]) {
                (0, n) => format!("{who} execute{s} this {} in {name}", count(n, "more time", "more times")),
                (n, _) => {
                    let iterations = count(n, "more loop iteration", "more loop iterations");
                    format!("{who} run{s} {iterations} in {name}")
                }
            }
        }
    }
}

/// How a decision differs.
fn condition(f: &Finding) -> String {
    if f.shown().is_some_and(|s| s.class == SiteClass::Switch) {
        return "the target of the switch differs".into();
    }
    match f.ways {
        [0, n] if n > 0 => "the condition is false in A and true in B".into(),
        [n, 0] if n > 0 => "the condition is true in A and false in B".into(),
        [a, b] if a.saturating_add(b) == f.count => {
            format!("the condition differs (true only in A: {}, only in B: {})", number(a), number(b))
        }
        _ => "the condition differs".into(),
    }
}

/// The warp shown, its place in the grid, and its lanes that have the finding.
pub(crate) fn warp_shown(f: &Finding, warp_size: WarpSize) -> String {
    let w = &f.warp;
    format!("warp {} of CTA {} {}, {}", w.in_cta, w.cta, w.at, lanes(f.lanes, warp_size))
}

/// Another warp that has the finding, and the first execution that has it.
pub(crate) fn warp_hit(h: &WarpHit, warp_size: WarpSize) -> String {
    let visit = h.visit.map_or_else(String::new, |v| format!(", {} execution", ordinal(v)));
    format!("warp {} of CTA {}, {}{visit}", h.in_cta, h.cta, lanes(h.lanes, warp_size))
}

/// The ordinal of an index that counts from 0: `first`, `third`, `21st`.
fn ordinal(index: u64) -> String {
    const WORDS: [&str; 10] =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    if let Some(word) = usize::try_from(index).ok().and_then(|i| WORDS.get(i)) {
        return (*word).to_owned();
    }
    let n = index.saturating_add(1);
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{suffix}", number(n))
}

/// Said of a finding whose lanes had all diverged at an earlier one.
pub(crate) const ALREADY_DIVERGED: &str = "only in lanes that had already diverged";

/// The relation of a decision to the instructions that use it.
pub(crate) const CONTROLS: &str = "controls";

/// One fact of a finding.
pub(crate) enum Fact {
    /// The same for both sides.
    Text(String),
    /// A's, then B's.
    Sides([String; 2]),
}

/// When it happened and what was decided. Each fact has a name; a fact with an empty name continues the one
/// before it.
pub(crate) fn facts(f: &Finding) -> Vec<(&'static str, Fact)> {
    let mut out = when(f);
    if let Some(values) = f.values.filter(|_| f.kind == FindingKind::Branch) {
        let class = f.shown().map_or(SiteClass::Branch, |s| s.class);
        out.push(("value", Fact::Sides(values.map(|v| value(class, v)))));
    }
    if let Some(masks) = &f.masks {
        out.push(("active", Fact::Sides(masks.each_ref().map(|m| format!("{:#x}", m.lanes.0)))));
    }
    out.extend(hashes(f));
    out
}

/// The iterations of the loops around the finding, outermost first, and how often the lane had executed the
/// line.
fn when(f: &Finding) -> Vec<(&'static str, Fact)> {
    let of = |v: u64| format!("{} execution of this line", ordinal(v));
    let visit = match f.visit {
        [Some(a), Some(b)] if a != b => {
            Some(format!("lane {}'s {} in A, {} in B", f.lane, of(a), ordinal(b)))
        }
        [a, b] => a.or(b).map(|v| format!("lane {}'s {}", f.lane, of(v))),
    };
    let mut lines: Vec<String> = Vec::new();
    for trip in &f.trips {
        let at = trip.location.as_ref().map(|l| format!(" of the loop at {}", short(l))).unwrap_or_default();
        let [a, b] = trip.trip.map(|t| number(t.saturating_add(1)));
        let [m, n] = trip.trips.map(number);
        lines.push(match (a == b, m == n) {
            (true, true) => format!("iteration {a} of {m}{at}"),
            (true, false) => format!("iteration {a}{at}, which runs {m} in A and {n} in B"),
            (false, _) => format!("iteration {a} of {m} in A, iteration {b} of {n} in B{at}"),
        });
    }
    match (lines.last_mut(), visit) {
        (Some(line), Some(visit)) => *line += &format!(" ({visit})"),
        (None, Some(visit)) => lines.push(visit),
        (_, None) => {}
    }
    let named = |(i, line)| (if i == 0 { "when" } else { "" }, Fact::Text(line));
    lines.into_iter().enumerate().map(named).collect()
}

/// Which hashes differ, and from which checkpoint on (level `print`).
fn hashes(f: &Finding) -> Vec<(&'static str, Fact)> {
    let mut out = Vec::new();
    let Some(h) = &f.hashes else { return out };
    let names = ["branch decisions", "loaded values", "stored values", "synchronisation"];
    let differ: Vec<_> = names.iter().zip(h.differ).filter(|(_, d)| *d).map(|(n, _)| *n).collect();
    if !differ.is_empty() {
        out.push(("hashes", Fact::Text(format!("{} differ", differ.join(" and ")))));
    }
    let [all, _] = h.checkpoints;
    let text = match h.checkpoint {
        Some(c) => {
            Some(format!("checkpoint {} of {} is the first that differs", c.saturating_add(1), number(all)))
        }
        None if h.checkpoints != [0, 0] => {
            Some(format!("after the last of {}", count(all, "checkpoint", "checkpoints")))
        }
        None => None,
    };
    out.extend(text.map(|text| ("", Fact::Text(text))));
    out
}

/// The value of a decision.
fn value(class: SiteClass, v: u64) -> String {
    match (class, v) {
        (SiteClass::Switch, _) => v.to_string(),
        (_, 0) => "false".into(),
        _ => "true".into(),
    }
}

/// The value recorded with a visit of a site; empty if the visit has none.
pub(crate) fn step_value(class: SiteClass, v: u64) -> String {
    match class {
        SiteClass::Branch | SiteClass::Guard | SiteClass::Select | SiteClass::Switch => value(class, v),
        _ if v == 0 => String::new(),
        _ => format!("{v:#x}"),
    }
}

/// The iterations, from 1, of the loops around a step; `A/B` where the sides' numbers differ.
pub(crate) fn iterations(look: &PathView, s: &AlignedStep) -> Vec<String> {
    let looping = |w: &&OpenScope| look.nest.get(w.nest as usize).is_some_and(|n| n.looping);
    let one = |w: &OpenScope| match (w.trip, s.mark) {
        ([a, b], StepMatch::Same | StepMatch::Differs) if a != b => format!("{}/{}", a + 1, b + 1),
        ([_, b], StepMatch::B) => (b + 1).to_string(),
        ([a, _], _) => (a + 1).to_string(),
    };
    s.within.iter().filter(looping).map(one).collect()
}

/// A loop or call that a lane went through.
pub(crate) fn nest(n: &Scope) -> String {
    match &n.location {
        Some(l) if n.looping => format!("loop at {}", place(l)),
        _ if n.looping => format!("loop in {}", clean(&plain_name(&n.function))),
        _ => format!("call of {}", clean(&plain_name(&n.function))),
    }
}

/// The visits that only one side has because of the finding.
pub(crate) fn consequence(f: &Finding) -> Option<String> {
    let visits = |n: u64| count(n, "visit", "visits");
    let text = match f.follows {
        [0, 0] => return None,
        [0, b] => format!("{} only in B", visits(b)),
        [a, 0] => format!("{} only in A", visits(a)),
        [a, b] => format!("{} only in A and {} only in B", visits(a), visits(b)),
    };
    Some(format!("{text}, as a consequence"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ordinals() {
        let words = [0, 2, 9, 10, 11, 12, 20, 21, 22, 110, 1_000].map(super::ordinal);
        let expected =
            ["first", "third", "tenth", "11th", "12th", "13th", "21st", "22nd", "23rd", "111th", "1,001st"];
        assert_eq!(words, expected);
    }
}
