//! What every way to look says of a report, in words: the same sentence on a terminal, in a page and in the viewer.
//!
//! Holds: what comes from a trace is escaped for a terminal ([`clean`]).

use prlx_analyze::Kind;
use prlx_analyze::look::{Look, Mark, Nest, Step, Within};
use prlx_analyze::report::{
    Coverage, Finding, LaunchPart, LaunchReport, Location, ProcessPair, Report, Sites, Uncompared, Verdict,
    WarpHit, WhyUncompared,
};
use prlx_trace::LaneMask;
use prlx_trace::kernel::{FaultKind, Level, SiteClass};

use crate::text::paint::{clean, count, number, plain};

/// The report in a sentence.
pub(crate) fn headline(r: &Report) -> String {
    let stopped = r.launches.iter().find_map(|l| match &l.faults {
        [Some(f), None] => Some((l, "A", f.kind)),
        [None, Some(f)] => Some((l, "B", f.kind)),
        _ => None,
    });
    let what = match (r.verdict, r.first()) {
        (Verdict::Same, _) => "no difference, and everything was seen".to_string(),
        (Verdict::Unknown, _) if !r.launches.is_empty() && r.launches.iter().all(untouched) => {
            "no difference seen, for no lane was compared".to_string()
        }
        (Verdict::Unknown, _) => "no difference seen, but not everything was".to_string(),
        (_, Some((l, f))) => {
            let listed = l.findings.iter().fold(0u64, |n, f| n.saturating_add(f.roots));
            let roots = l.differing.lanes.max(listed).max(f.lanes_total);
            let part = if roots == 1 { "lanes parts" } else { "lanes part" };
            let place = f.location().map(|l| format!(", first at {}", short(l))).unwrap_or_default();
            let name = match stopped {
                Some((of, ..)) if std::ptr::eq(of, l) => String::new(),
                _ => format!("{}: ", clean(&plain(&l.kernel))),
            };
            let what = format!("{name}{} of {} {part}{place}", number(roots), number(l.coverage.lanes.total));
            first(r, Some(l), &what)
        }
        (_, None) if stopped.is_some() => "no decision seen to differ".to_string(),
        (_, None) if r.first_launch().is_some() => match &r.launches[..] {
            [l] if untouched(l) => {
                format!("{}: {}, and no lane was compared", kernel(l), parts(l))
            }
            [l] if unseen(l) => format!("{}: {}, though no decision that compares does", kernel(l), parts(l)),
            [l] => format!("{}: {}, though no decision does", kernel(l), parts(l)),
            _ => first(r, None, "though no decision does"),
        },
        (_, None) => "one side launched more".to_string(),
    };
    match stopped {
        Some((l, side, kind)) => {
            format!("{}: only {side} {}; {what}", clean(&plain(&l.kernel)), stops(kind, 1))
        }
        None => what,
    }
}

/// Whether a decision that differs could be among what was not compared, or not seen.
pub fn unseen(l: &LaunchReport) -> bool {
    !l.gaps.is_empty()
}

/// Whether no lane was compared. Why is the first thing to say then.
pub(crate) fn untouched(l: &LaunchReport) -> bool {
    l.coverage.warps.missing == l.coverage.warps.total && l.coverage.warps.total > 0
}

/// What differs of a launch as a whole.
fn parts(l: &LaunchReport) -> String {
    let all = [
        (LaunchPart::Geometry, "dimensions"),
        (LaunchPart::Input, "inputs"),
        (LaunchPart::Output, "outputs"),
    ];
    let has = |part| l.differences.iter().any(|d| d.what == part);
    let names: Vec<&str> = all.into_iter().filter(|(part, _)| has(*part)).map(|(_, name)| name).collect();
    if names.is_empty() { "it differs".into() } else { format!("{} differ", names.join(" and ")) }
}

/// `what` of `of`, as it is for one launch; of several, with how many differ and which is first.
fn first(r: &Report, of: Option<&LaunchReport>, what: &str) -> String {
    if r.launches.len() == 1 {
        return what.to_owned();
    }
    let parted = r.launches.iter().filter(|l| l.verdict == Verdict::Differs).count() as u64;
    let all = count(r.launches.len() as u64, "launch", "launches");
    let first = match r.first_launch() {
        Some(l) if of.is_some_and(|of| std::ptr::eq(of, l)) => format!(", first {}", launch(&r.processes, l)),
        Some(l) => format!(", first {}, {}", launch(&r.processes, l), kernel(l)),
        None => String::new(),
    };
    format!("{} of {all}{first}; {what}", number(parted))
}

/// What the culprit is; of one launch alone, what is said of it says it.
pub(crate) fn culprit(r: &Report) -> Option<String> {
    let l = r.culprit().filter(|_| r.launches.len() > 1)?;
    let which = format!("{}, {}", launch(&r.processes, l), kernel(l));
    Some(format!("{which}: the same went in, other bytes came out ({})", outputs(l)))
}

/// What may be the culprit, and why that is open.
pub(crate) fn suspect(r: &Report) -> Option<[String; 2]> {
    let (l, alike) = r.suspect()?;
    let which = format!("{}, {}", launch(&r.processes, l), kernel(l));
    let bytes = clean(l.padding.as_deref().unwrap_or_default());
    let why = match alike {
        0 => "which may be padding: nothing tells whether the kernel reads them".to_owned(),
        n => {
            let others = count(n, "other launch", "other launches");
            format!("which may be padding: they differ in {others} of it too, which left the same")
        }
    };
    Some([
        format!("{which}: other bytes came out ({}), and the same went in but for", outputs(l)),
        format!("{bytes}, {why}"),
    ])
}

/// The outputs that differ.
fn outputs(l: &LaunchReport) -> String {
    let outputs = l.differences.iter().filter(|d| d.what == LaunchPart::Output);
    outputs.map(|d| clean(&d.name)).collect::<Vec<_>>().join(", ")
}

/// Which launch it is.
pub(crate) fn launch(processes: &[ProcessPair], l: &LaunchReport) -> String {
    let number = if l.launch[0] == l.launch[1] {
        format!("launch {}", l.launch[0])
    } else {
        format!("launch {} of A, {} of B", l.launch[0], l.launch[1])
    };
    match processes.get(l.process as usize) {
        Some(p) if processes.len() > 1 => format!("{number} of {}", clean(&p.names[0])),
        _ => number,
    }
}

/// A launch's kernel.
pub(crate) fn kernel(l: &LaunchReport) -> String {
    clean(&plain(&l.kernel))
}

/// What a launch does that is stopped; `n` of them.
pub(crate) fn stops(kind: FaultKind, n: u64) -> &'static str {
    match (kind, n) {
        (FaultKind::Fault, 1) => "faults",
        (FaultKind::Fault, _) => "fault",
        (FaultKind::Stuck, 1) => "gets stuck",
        (FaultKind::Stuck, _) => "get stuck",
    }
}

/// What a site of a class is called.
pub(crate) fn noun(class: SiteClass) -> &'static str {
    match class {
        SiteClass::Branch => "branch",
        SiteClass::Guard => "guard",
        SiteClass::Select => "select",
        SiteClass::Switch => "switch",
        SiteClass::Load => "load",
        SiteClass::Store => "store",
        SiteClass::Atomic => "atomic",
        SiteClass::Sync => "barrier",
        SiteClass::Entry => "entry",
        SiteClass::Exit => "exit",
    }
}

/// The same of several.
fn nouns(class: SiteClass) -> &'static str {
    match class {
        SiteClass::Branch => "branches",
        SiteClass::Guard => "guards",
        SiteClass::Select => "selects",
        SiteClass::Switch => "switches",
        SiteClass::Load => "loads",
        SiteClass::Store => "stores",
        SiteClass::Atomic => "atomics",
        SiteClass::Sync => "barriers",
        SiteClass::Entry => "entries",
        SiteClass::Exit => "exits",
    }
}

/// What happened, in a sentence.
pub(crate) fn sentence(f: &Finding) -> String {
    let lanes =
        format!("{} of {}", count(f.lanes_total, "lane", "lanes"), count(f.warps_total, "warp", "warps"));
    let one = f.lanes_total == 1;
    let s = if one { "s" } else { "" };
    let side = ["A", "B"][usize::from(f.side.unwrap_or(0).min(1))];
    match f.kind {
        Kind::Branch if f.hashes.is_some() => format!("{lanes} take{s} other decisions"),
        Kind::Branch => match f.ways {
            [0, n] if n > 0 => format!("{lanes} decide{s} otherwise: false in A, true in B"),
            [n, 0] if n > 0 => format!("{lanes} decide{s} otherwise: true in A, false in B"),
            [a, b] => {
                let ways = if a.saturating_add(b) == f.count {
                    format!(": {} true only in A, {} only in B", number(a), number(b))
                } else {
                    String::new()
                };
                format!("{lanes} decide{s} otherwise{ways}")
            }
        },
        Kind::ActiveMask => format!("{lanes} {} in other company", if one { "is" } else { "are" }),
        Kind::Value if f.hashes.is_some() => format!("{lanes} see{s} other values"),
        // Level `events` knows that of a warp's visit.
        Kind::Value if f.masks.is_some() => {
            let has = if f.warps_total == 1 { "has" } else { "have" };
            let warps = count(f.warps_total, "warp", "warps");
            format!("{warps} {has} other values among {}", count(f.lanes_total, "lane", "lanes"))
        }
        Kind::Value => format!("{lanes} {} another value", if one { "has" } else { "have" }),
        Kind::Path => format!("{lanes} take{s} another path"),
        Kind::ExtraEvents => {
            let side_at = usize::from(f.side.unwrap_or(0).min(1));
            let what = match (f.extra_trips[side_at], f.extra_visits[side_at]) {
                (0, n) => count(n, "visit", "visits"),
                (n, _) => count(n, "loop trip", "loop trips"),
            };
            format!("{lanes} make{s} {what} more in {side}")
        }
    }
}

/// `file:line:column`.
pub(crate) fn place(l: &Location) -> String {
    let file = clean(l.file.rsplit(['/', '\\']).next().unwrap_or(&l.file));
    if l.column > 0 { format!("{file}:{}:{}", l.line, l.column) } else { format!("{file}:{}", l.line) }
}

/// `file:line`.
pub(crate) fn short(l: &Location) -> String {
    let file = clean(l.file.rsplit(['/', '\\']).next().unwrap_or(&l.file));
    format!("{file}:{}", l.line)
}

/// `lanes 3, 5-7`.
pub(crate) fn lanes(mask: LaneMask, size: u8) -> String {
    let all = if size >= 64 { u64::MAX } else { (1 << size) - 1 };
    if mask.0 == all { "all lanes".into() } else { mask.to_string() }
}

/// The warp shown, and its lanes.
pub(crate) fn at(f: &Finding, warp_size: u8) -> String {
    let w = &f.warp;
    format!("warp {} of CTA {} {}, {}", w.in_cta, w.cta, w.at, lanes(f.lanes, warp_size))
}

/// Another warp that has the finding.
pub(crate) fn hit(h: &WarpHit, warp_size: u8) -> String {
    let visit = match h.visit {
        Some(0) => ", at the first visit".into(),
        Some(v) => format!(", after {}", count(v, "visit", "visits")),
        None => String::new(),
    };
    format!("warp {} of CTA {}, {}{visit}", h.in_cta, h.cta, lanes(h.lanes, warp_size))
}

/// What is to be said of a finding.
pub(crate) enum Fact {
    Text(String),
    /// Another thing on each side.
    Sides([String; 2]),
}

/// When it happened and what was decided, each under its name; what belongs to the one before has none.
pub(crate) fn facts(f: &Finding) -> Vec<(&'static str, Fact)> {
    let mut out = Vec::new();
    let visits = |v: u64| {
        if v == 0 { "the first visit".to_string() } else { format!("after {}", count(v, "visit", "visits")) }
    };
    match f.visit {
        [Some(a), Some(b)] if a != b => {
            let text = format!("{} of lane {} in A, {} in B", visits(a), f.lane, visits(b));
            out.push(("when", Fact::Text(text)));
        }
        [a, b] => {
            let text = a.or(b).map(|v| Fact::Text(format!("{} of lane {}", visits(v), f.lane)));
            out.extend(text.map(|text| ("when", text)));
        }
    }
    for (i, trip) in f.trips.iter().enumerate() {
        let at = trip.location.as_ref().map(|l| format!(" of the loop at {}", short(l))).unwrap_or_default();
        let [a, b] = trip.trip.map(|t| t.saturating_add(1));
        let of = match trip.trips {
            [m, n] if m == n => format!("of {} on both sides", number(m)),
            [m, n] => format!("of {} in A, {} in B", number(m), number(n)),
        };
        let which = if a == b {
            format!("trip {}", number(a))
        } else {
            format!("trip {} in A, {} in B,", number(a), number(b))
        };
        let name = if i == 0 && f.visit == [None, None] { "when" } else { "" };
        out.push((name, Fact::Text(format!("{which}{at}, {of}"))));
    }
    if let Some(values) = f.values.filter(|_| f.kind == Kind::Branch) {
        let class = f.shown().map_or(SiteClass::Branch, |s| s.class);
        out.push(("value", Fact::Sides(values.map(|v| value(class, v)))));
    }
    if let Some(masks) = &f.masks {
        out.push(("lanes", Fact::Sides(masks.each_ref().map(|m| format!("{:#x}", m.lanes.0)))));
    }
    if let Some(h) = &f.hashes {
        let names = ["decisions", "loaded values", "stored values", "synchronisation"];
        let differ: Vec<_> = names.iter().zip(h.differ).filter(|(_, d)| *d).map(|(n, _)| *n).collect();
        if !differ.is_empty() {
            out.push(("hashes", Fact::Text(format!("{} differ", differ.join(" and ")))));
        }
        let [all, _] = h.checkpoints;
        let text = match h.checkpoint {
            Some(c) => Some(format!(
                "checkpoint {} is the first of {} that differs",
                c.saturating_add(1),
                number(all)
            )),
            None if h.checkpoints != [0, 0] => {
                Some(format!("after all of {}", count(all, "checkpoint", "checkpoints")))
            }
            None => None,
        };
        out.extend(text.map(|text| ("", Fact::Text(text))));
    }
    out
}

/// What a decision gave.
pub(crate) fn value(class: SiteClass, v: u64) -> String {
    match (class, v) {
        (SiteClass::Switch, _) => v.to_string(),
        (_, 0) => "false".into(),
        _ => "true".into(),
    }
}

/// What a visit of a site gave; nothing where it only says that it was there.
pub(crate) fn step_value(class: SiteClass, v: u64) -> String {
    match class {
        SiteClass::Branch | SiteClass::Guard | SiteClass::Select | SiteClass::Switch => value(class, v),
        _ if v == 0 => String::new(),
        _ => format!("{v:#x}"),
    }
}

/// The trips, from 1, of the loops that a step is in; with a stroke where the sides' differ.
pub(crate) fn trips(look: &Look, s: &Step) -> Vec<String> {
    let looping = |w: &&Within| look.nest.get(w.nest as usize).is_some_and(|n| n.looping);
    let one = |w: &Within| match (w.trip, s.mark) {
        ([a, b], Mark::Same | Mark::Differs) if a != b => format!("{}/{}", a + 1, b + 1),
        ([_, b], Mark::B) => (b + 1).to_string(),
        ([a, _], _) => (a + 1).to_string(),
    };
    s.within.iter().filter(looping).map(one).collect()
}

/// A loop or call that a lane went through.
pub(crate) fn nest(n: &Nest) -> String {
    match &n.location {
        Some(l) if n.looping => format!("loop at {}", place(l)),
        _ if n.looping => format!("loop in {}", clean(&plain(&n.function))),
        _ => format!("call of {}", clean(&plain(&n.function))),
    }
}

/// What follows from it.
pub(crate) fn follows(f: &Finding) -> Option<String> {
    let visits = |n: u64| count(n, "visit", "visits");
    let text = match f.follows {
        [0, 0] => return None,
        [0, b] => format!("{} only in B", visits(b)),
        [a, 0] => format!("{} only in A", visits(a)),
        [a, b] => format!("{} only in A and {} only in B", visits(a), visits(b)),
    };
    Some(format!("{text}, because of it"))
}

/// How much was looked at, each under its name.
pub(crate) fn seen(l: &LaunchReport) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let Coverage { percent, warps, lanes, visits, sites, .. } = &l.coverage;
    out.push(("coverage", format!("{percent} %")));
    let parts = |all: &[(u64, &str)]| -> String {
        let some: Vec<_> =
            all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", number(*n))).collect();
        if some.is_empty() { String::new() } else { format!(": {}", some.join(", ")) }
    };
    // What was not compared may have been recorded.
    let recorded = l.skipped.iter().all(Option::is_none);
    let missing = if untouched(l) && recorded { "not compared" } else { "not recorded" };
    let w = parts(&[
        (warps.equal, "equal by digest"),
        (warps.compared, "compared"),
        (warps.missing, missing),
        (warps.failed, "not decodable"),
    ]);
    out.push(("seen", format!("{}{w}", count(warps.total, "warp", "warps"))));
    let n = parts(&[
        (lanes.in_equal_warps, "in equal warps"),
        (lanes.same_words, "with the same recording"),
        (lanes.compared, "decoded to the end"),
        (lanes.truncated, "cut short"),
        (lanes.missing, missing),
        (lanes.failed, "not decodable"),
    ]);
    out.push(("", format!("{}{n}", count(lanes.total, "lane", "lanes"))));
    for (side, v) in ["A", "B"].iter().zip(visits) {
        let all = v.recorded.saturating_add(v.computed);
        if all > 0 || v.other > 0 {
            let other =
                if v.other > 0 { format!(", {} other visits", number(v.other)) } else { String::new() };
            let how = parts(&[(v.recorded, "recorded"), (v.computed, "computed again")]);
            out.push(("", format!("{side}: {} decoded{how}{other}", count(all, "decision", "decisions"))));
        }
    }
    if l.skipped.iter().any(Option::is_some) {
        return out;
    }
    let kind = if l.level == Level::Path { "decision sites" } else { "sites" };
    let what = |s: &Sites| {
        format!(
            "{}{}",
            number(s.total),
            parts(&[(s.skipped, "not recorded"), (s.unmatched, "without a partner")])
        )
    };
    let s = if sites[0] == sites[1] {
        what(&sites[0])
    } else {
        format!("A {}; B {}", what(&sites[0]), what(&sites[1]))
    };
    if sites.iter().any(|s| s.total > 0) {
        out.push(("", format!("{kind}: {s}")));
    }
    out.extend(uncompared(l));
    out
}

/// Lines of code that one build alone has that are spelt out, by reason.
const SPELT: usize = 6;

/// What two builds do not have in common, each under its name.
fn uncompared(l: &LaunchReport) -> Vec<(&'static str, String)> {
    use WhyUncompared::{Alone, Between, Copies, Doubtful, Opposite, Stays};
    let mut out = Vec::new();
    let kinds: [(&str, &[WhyUncompared], u8); 8] = [
        ("only in A", &[Alone, Between], 0),
        ("only in B", &[Alone, Between], 1),
        ("moved", &[Copies], 0),
        ("", &[Copies], 1),
        ("turned", &[Opposite], 0),
        ("", &[Opposite], 1),
        ("unsure", &[Doubtful], 0),
        ("", &[Doubtful], 1),
    ];
    for (name, whys, side) in kinds {
        let all: Vec<&Uncompared> =
            l.uncompared.iter().filter(|u| u.side == side && whys.contains(&u.why)).collect();
        for (i, u) in all.iter().take(SPELT).enumerate() {
            let visits = if u.visits == 0 { "never ran".into() } else { count(u.visits, "visit", "visits") };
            let shows = match u.why {
                Between if u.visits > 0 => ", which shows in what both have",
                Stays | Alone | Between | Copies | Opposite | Doubtful => "",
            };
            let side = if name.starts_with("only") { "" } else { ["A ", "B "][usize::from(side)] };
            let text = format!("{side}{}: {visits}{shows}", code(u));
            out.push((if i == 0 { name } else { "" }, text));
        }
        if all.len() > SPELT {
            out.push(("", format!("and {} more", count((all.len() - SPELT) as u64, "place", "places"))));
        }
    }
    out
}

/// The place of what is not compared, and of the calls that it was inlined by; and what stands there.
fn code(u: &Uncompared) -> String {
    let stack = |l: &Location| l.inlined.iter().fold(place(l), |at, by| format!("{at} < {}", short(by)));
    let at = u.site.location.as_ref().map_or_else(|| clean(&plain(&u.site.function)), stack);
    match u.sites {
        1 => format!("{at}  {} {}", noun(u.site.class), clean(&u.site.text)),
        n => format!("{at}  {}", count(n, noun(u.site.class), nouns(u.site.class))),
    }
}

/// How it was recorded, and what that cost; of a launch that was.
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
    let lost = if dropped > 0 { format!(", {} lost", number(dropped)) } else { String::new() };
    let cost = match l.dilation {
        [Some(a), Some(b)] if (a * 100.0).round() == (b * 100.0).round() => format!(", {a:.2}x the work"),
        [a, b] if a.is_some() || b.is_some() => {
            let x = |d: Option<f64>| d.map_or("?".into(), |d| format!("{d:.2}x"));
            format!(", A {} and B {} the work", x(a), x(b))
        }
        _ => String::new(),
    };
    let words = if e[0] == e[1] { number(e[0]) } else { format!("{} and {}", number(e[0]), number(e[1])) };
    // Of launch files it goes without saying.
    let sure = match &l.fidelity {
        [a, b] if a == b && (a.is_empty() || a == "source") => String::new(),
        [a, b] if a == b => format!(", {}", clean(a)),
        [a, b] => format!(", A {} and B {}", clean(a), clean(b)),
    };
    Some(format!("level {} on {device}{sure}: {words} elements{lost}{cost}", l.level.label()))
}
