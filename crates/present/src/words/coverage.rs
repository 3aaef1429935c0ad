//! How much of a launch was compared, what two builds do not share, and how the launch was recorded.

use prlx_analyze::report::{Coverage, LaunchReport, Location, Sites, Uncompared, WhyUncompared};
use prlx_trace::kernel::Level;

use super::headline::nothing_compared;
use super::names::{chain, noun, nouns, own, place, short};
use crate::format::{clean, count, number, plain_name};

/// The coverage of a launch as named rows; a row with an empty name continues the one before it.
pub(crate) fn rows(l: &LaunchReport) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let Coverage { percent, warps, lanes, visits, sites, .. } = &l.coverage;
    out.push(("coverage", format!("{percent} %")));
    // What was not compared may still have been recorded.
    let recorded = l.skipped.iter().all(Option::is_none);
    let missing = if nothing_compared(l) && recorded { "not compared" } else { "not recorded" };
    let w = parts(&[
        (warps.equal, "identical"),
        (warps.compared, "compared in detail"),
        (warps.missing, missing),
        (warps.failed, "not decodable"),
    ]);
    out.push(("compared", format!("{}{}", count(warps.total, "warp", "warps"), after_colon(&w))));
    let n = parts(&[
        (lanes.in_equal_warps, "in identical warps"),
        (lanes.same_words, "with identical recordings"),
        (lanes.compared, "decoded in full"),
        (lanes.truncated, "truncated"),
        (lanes.missing, missing),
        (lanes.failed, "not decodable"),
    ]);
    out.push(("", format!("{}{}", count(lanes.total, "lane", "lanes"), after_colon(&n))));
    for (side, v) in ["A", "B"].iter().zip(visits) {
        let all = v.recorded.saturating_add(v.computed);
        if all > 0 || v.other > 0 {
            let other =
                if v.other > 0 { format!(", {} other visits", number(v.other)) } else { String::new() };
            let how = in_brackets(&parts(&[(v.recorded, "recorded"), (v.computed, "reconstructed")]));
            let decisions = count(all, "branch decision", "branch decisions");
            out.push(("", format!("{side}: {decisions}{how}{other}")));
        }
    }
    if l.skipped.iter().any(Option::is_some) {
        return out;
    }
    let kind = if l.level == Level::Path { "decision sites" } else { "sites" };
    let what = |s: &Sites| {
        let parts = parts(&[(s.skipped, "not recorded"), (s.unmatched, "not matched")]);
        format!("{}{}", number(s.total), in_brackets(&parts))
    };
    let s = if sites[0] == sites[1] {
        what(&sites[0])
    } else {
        format!("A {}, B {}", what(&sites[0]), what(&sites[1]))
    };
    if sites.iter().any(|s| s.total > 0) {
        out.push(("", format!("{kind}: {s}")));
    }
    out.extend(uncompared(l));
    out
}

/// The counts that are not 0, as `14 identical, 2 not recorded`.
fn parts(all: &[(u64, &str)]) -> String {
    let some: Vec<_> =
        all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", number(*n))).collect();
    some.join(", ")
}

fn after_colon(parts: &str) -> String {
    if parts.is_empty() { String::new() } else { format!(": {parts}") }
}

fn in_brackets(parts: &str) -> String {
    if parts.is_empty() { String::new() } else { format!(" ({parts})") }
}

/// Places of code that only one build has which are listed, for each reason.
const LISTED: usize = 6;

/// The code of two builds that is not compared, as named rows by reason.
fn uncompared(l: &LaunchReport) -> Vec<(&'static str, String)> {
    use WhyUncompared::{Alone, Between, Copies, Doubtful, Opposite, Stays};
    let mut out = Vec::new();
    let kinds: [(&str, &[WhyUncompared], u8); 8] = [
        ("only in A", &[Alone, Between], 0),
        ("only in B", &[Alone, Between], 1),
        ("moved", &[Copies], 0),
        ("", &[Copies], 1),
        ("inverted", &[Opposite], 0),
        ("", &[Opposite], 1),
        ("uncertain", &[Doubtful], 0),
        ("", &[Doubtful], 1),
    ];
    for (name, whys, side) in kinds {
        let all: Vec<&Uncompared> =
            l.uncompared.iter().filter(|u| u.side == side && whys.contains(&u.why)).collect();
        for (i, u) in all.iter().take(LISTED).enumerate() {
            let visits = if u.visits == 0 { "never ran".into() } else { count(u.visits, "visit", "visits") };
            let covered = match u.why {
                Between if u.visits > 0 => ", covered by code that both builds have",
                Stays | Alone | Between | Copies | Opposite | Doubtful => "",
            };
            let side = if name.starts_with("only") { "" } else { ["A ", "B "][usize::from(side)] };
            let text = format!("{side}{}: {visits}{covered}", code(u));
            out.push((if i == 0 { name } else { "" }, text));
        }
        if all.len() > LISTED {
            let more = count((all.len() - LISTED) as u64, "more place", "more places");
            out.push(("", format!("and {more}")));
        }
    }
    out
}

/// A place that is not compared: where it is, the calls that it was inlined by, and the instruction.
fn code(u: &Uncompared) -> String {
    let stack = |l: &Location| {
        let around = chain(l).skip_while(|at| !std::ptr::eq(*at, own(l))).skip(1);
        around.fold(place(l), |at, by| format!("{at} < {}", short(by)))
    };
    let at = u.site.location.as_ref().map_or_else(|| clean(&plain_name(&u.site.function)), stack);
    match u.sites {
        1 => format!("{at}  {} {}", noun(u.site.class), clean(&u.site.text)),
        n => format!("{at}  {}", count(n, noun(u.site.class), nouns(u.site.class))),
    }
}

/// How a launch was recorded, and what that cost; `None` if it was not recorded.
pub(crate) fn recorded(l: &LaunchReport) -> Option<String> {
    if l.skipped.iter().any(Option::is_some) {
        return None;
    }
    let elements = &l.coverage.elements;
    let device = if l.device[0] == l.device[1] {
        clean(&l.device[0])
    } else {
        format!("A {}, B {}", clean(&l.device[0]), clean(&l.device[1]))
    };
    let e = elements.each_ref().map(|e| e.recorded);
    let dropped = elements[0].dropped.saturating_add(elements[1].dropped);
    let dropped = if dropped > 0 { format!(", {} dropped", number(dropped)) } else { String::new() };
    let cost = match l.dilation {
        [Some(a), Some(b)] if (a * 100.0).round() == (b * 100.0).round() => {
            format!(", {a:.2}x the original work")
        }
        [a, b] if a.is_some() || b.is_some() => {
            let x = |d: Option<f64>| d.map_or("?".into(), |d| format!("{d:.2}x"));
            format!(", A {} and B {} the original work", x(a), x(b))
        }
        _ => String::new(),
    };
    let words = if e[0] == e[1] { number(e[0]) } else { format!("{} and {}", number(e[0]), number(e[1])) };
    // For launch files the source is always what ran.
    let fidelity = match &l.fidelity {
        [a, b] if a == b && (a.is_empty() || a == "source") => String::new(),
        [a, b] if a == b => format!(", {}", clean(a)),
        [a, b] => format!(", A {} and B {}", clean(a), clean(b)),
    };
    Some(format!("level {} on {device}{fidelity}: {words} elements{dropped}{cost}", l.level.label()))
}
