//! A report as text: what a person reads first.
//!
//! Order: the verdict; what differs before any code ran; findings, first things first, the first few in full; what was
//! looked at and what it cost. Launches that agree take one line together.

mod finding;
pub(crate) mod paint;

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_analyze::report::{Coverage, LaunchPart, LaunchReport, ProcessPair, Report, Verdict};
use prlx_trace::Level;
use prlx_trace::kernel::{FaultKind, SiteClass};

pub use paint::Style;
use paint::{Ink, clean, clip, count, number, pad, plain, wrap};

/// Findings of a launch that are shown in full.
const FULL: usize = 3;
/// Gaps that are listed.
const GAPS: usize = 6;
/// Launches that are shown in full …
const LAUNCHES: usize = 3;
/// … and after them with a line each.
const BRIEF: usize = 20;

/// Writes `report` for people.
///
/// # Errors
/// Those of `out`.
pub fn text(out: &mut impl Write, report: &Report, style: &Style) -> io::Result<()> {
    let t = Text { style: *style, names: &report.names, processes: &report.processes };
    t.head(out, report)?;
    t.alone(out, report)?;
    let one = report.launches.len() == 1;
    let unseen = |l: &LaunchReport| l.verdict == Verdict::Unknown && l.skipped.iter().any(Option::is_some);
    let agree = |l: &LaunchReport| l.verdict == Verdict::Same && l.differences.is_empty();
    let shown = |v: Verdict| report.launches.iter().filter(move |l| one || (l.verdict == v && !unseen(l) && !agree(l)));
    let mut told = 0;
    for v in [Verdict::Differs, Verdict::Unknown, Verdict::Same].into_iter().take(if one { 1 } else { 3 }) {
        for l in shown(v) {
            told += 1;
            if told <= LAUNCHES {
                writeln!(out)?;
                t.launch(out, l, one)?;
            } else if told <= LAUNCHES + BRIEF {
                let gap = if told == LAUNCHES + 1 { "\n" } else { "" };
                writeln!(out, "{gap}{}", t.launch_line(l))?;
            }
        }
    }
    if told > LAUNCHES + BRIEF {
        writeln!(out, "and {} like these", count((told - LAUNCHES - BRIEF) as u64, "launch", "launches"))?;
    }
    if one {
        return Ok(());
    }
    t.unseen(out, report.launches.iter().filter(|l| unseen(l)))?;
    let same: Vec<_> = report.launches.iter().filter(|l| agree(l)).collect();
    if !same.is_empty() {
        writeln!(out)?;
        let warps = same.iter().fold(0u64, |n, l| n.saturating_add(l.coverage.warps.total));
        let what = format!(
            "{} the same: {}",
            count(same.len() as u64, "launch is", "launches are"),
            count(warps, "warp", "warps")
        );
        writeln!(out, "{}", t.style.ink(Ink::Good, &what))?;
    }
    Ok(())
}

/// What writing needs everywhere.
struct Text<'a> {
    style: Style,
    names: &'a [String; 2],
    processes: &'a [ProcessPair],
}

impl Text<'_> {
    fn verdict(&self, v: Verdict) -> String {
        ink(self.style, v)
    }

    fn head(&self, out: &mut impl Write, r: &Report) -> io::Result<()> {
        let stopped = r.launches.iter().find_map(|l| match &l.faults {
            [Some(f), None] => Some((l, "A", f.kind)),
            [None, Some(f)] => Some((l, "B", f.kind)),
            _ => None,
        });
        let what = match (r.verdict, r.first()) {
            (Verdict::Same, _) => "no difference, and everything was seen".to_string(),
            (Verdict::Unknown, _) => "no difference seen, but not everything was".to_string(),
            (_, Some((l, f))) => {
                let roots = l.findings.iter().fold(0u64, |n, f| n.saturating_add(f.roots)).max(f.lanes_total);
                let part = if roots == 1 { "lanes parts" } else { "lanes part" };
                let place = f.location().map(|l| format!(", first at {}", finding::short(l))).unwrap_or_default();
                let name = match stopped {
                    Some((of, ..)) if std::ptr::eq(of, l) => String::new(),
                    _ => format!("{}: ", clean(&plain(&l.kernel))),
                };
                let what = format!("{name}{} of {} {part}{place}", number(roots), number(l.coverage.lanes.total));
                self.first(r, Some(l), &what)
            }
            (_, None) if stopped.is_some() => "no decision seen to differ".to_string(),
            (_, None) if r.first_launch().is_some() => self.first(r, None, "though no decision does"),
            (_, None) => "one side launched more".to_string(),
        };
        let what = match stopped {
            Some((l, side, kind)) => format!("{}: only {side} {}; {what}", clean(&plain(&l.kernel)), stops(kind, 1)),
            None => what,
        };
        writeln!(out, "{}  {what}", self.verdict(r.verdict))?;
        for (side, name) in ["A", "B"].iter().zip(self.names).filter(|(_, n)| !n.is_empty()) {
            writeln!(
                out,
                "  {} {}",
                self.style.ink(Ink::Faint, side),
                clip(&clean(name), self.style.width.saturating_sub(4))
            )?;
        }
        for gap in &r.gaps {
            writeln!(out, "  {}", clean(gap))?;
        }
        // Of one launch, what is below says it.
        if let Some(l) = r.culprit().filter(|_| r.launches.len() > 1) {
            let outputs: Vec<_> = l.differences.iter().map(|d| clean(&d.name)).collect();
            let outputs = outputs.join(", ");
            let what = format!("{}, {}: the same went in, other bytes came out ({outputs})", self.place(l), kernel(l));
            writeln!(out, "  {} {what}", self.style.ink(Ink::Bad, "culprit"))?;
        }
        Ok(())
    }

    /// `what` of `of`, as it is for one launch; of several, with how many differ and which is first.
    fn first(&self, r: &Report, of: Option<&LaunchReport>, what: &str) -> String {
        if r.launches.len() == 1 {
            return what.to_owned();
        }
        let parted = r.launches.iter().filter(|l| l.verdict == Verdict::Differs).count() as u64;
        let all = count(r.launches.len() as u64, "launch", "launches");
        let first = match r.first_launch() {
            Some(l) if of.is_some_and(|of| std::ptr::eq(of, l)) => format!(", first {}", self.place(l)),
            Some(l) => format!(", first {}, {}", self.place(l), kernel(l)),
            None => String::new(),
        };
        format!("{} of {all}{first}; {what}", number(parted))
    }

    /// Which launch it is.
    fn place(&self, l: &LaunchReport) -> String {
        let number = if l.launch[0] == l.launch[1] {
            format!("launch {}", l.launch[0])
        } else {
            format!("launch {} of A, {} of B", l.launch[0], l.launch[1])
        };
        match self.processes.get(l.process as usize) {
            Some(p) if self.processes.len() > 1 => format!("{number} of {}", clean(&p.names[0])),
            _ => number,
        }
    }

    /// What only one side has.
    fn alone(&self, out: &mut impl Write, r: &Report) -> io::Result<()> {
        let side = |side: u8| ["A", "B"][usize::from(side.min(1))];
        for p in r.alone.iter().filter(|p| p.launches > 0).take(BRIEF) {
            let launches = count(p.launches, "launch", "launches");
            writeln!(out, "  {}'s {} has no partner: {launches}", side(p.side), clean(&p.name))?;
        }
        for u in r.unpaired.iter().take(BRIEF) {
            let process = self.processes.get(u.process as usize).filter(|_| self.processes.len() > 1);
            let of = process.map_or(String::new(), |p| format!(", {}", clean(&p.names[usize::from(u.side.min(1))])));
            let kernel = clean(&plain(&u.kernel));
            writeln!(out, "  launch {} of {}{of}, {kernel}, has no partner", u.launch, side(u.side))?;
        }
        if r.unpaired.len() > BRIEF {
            let more = count((r.unpaired.len() - BRIEF) as u64, "launch has", "launches have");
            writeln!(out, "  and {more} no partner")?;
        }
        Ok(())
    }

    /// A launch on one line.
    fn launch_line(&self, l: &LaunchReport) -> String {
        let why = match (&l.findings[..], &l.differences[..], &l.gaps[..]) {
            ([f, ..], ..) => f.location().map(|l| format!(", first at {}", finding::short(l))).unwrap_or_default(),
            (_, [d, ..], _) => format!(", {} {}", d.what.name(), clean(&d.name)),
            (_, _, [gap, ..]) => format!(", {}", clean(gap)),
            _ => String::new(),
        };
        format!("{}  {}  {}{why}", self.verdict(l.verdict), kernel(l), self.style.ink(Ink::Faint, &self.place(l)))
    }

    /// Launches that were not recorded, by kernel and reason.
    fn unseen<'r>(&self, out: &mut impl Write, all: impl Iterator<Item = &'r LaunchReport>) -> io::Result<()> {
        let mut groups: BTreeMap<(String, String), u64> = BTreeMap::new();
        for l in all {
            let why = l.gaps.first().map_or(String::new(), |g| clean(g));
            *groups.entry((kernel(l), why)).or_default() += 1;
        }
        if groups.is_empty() {
            return Ok(());
        }
        let n = groups.values().sum();
        let title = format!("{} not recorded", count(n, "pair of launches was", "pairs of launches were"));
        writeln!(out, "\n{}", self.style.ink(Ink::Doubt, &title))?;
        for ((kernel, why), n) in groups.iter().take(BRIEF) {
            writeln!(out, "  {:>6}  {kernel}: {why}", number(*n))?;
        }
        if groups.len() > BRIEF {
            writeln!(out, "  and {} more", count((groups.len() - BRIEF) as u64, "kernel", "kernels"))?;
        }
        Ok(())
    }

    fn launch(&self, out: &mut impl Write, l: &LaunchReport, one: bool) -> io::Result<()> {
        let shape = format!("grid {}, block {}", l.grid, l.block);
        let kernel = self.style.ink(Ink::Strong, &clean(&plain(&l.kernel)));
        if one {
            writeln!(out, "{kernel}  {}", self.style.ink(Ink::Faint, &shape))?;
        } else {
            let place = format!("{}, {shape}", self.place(l));
            writeln!(out, "{}  {kernel}  {}", self.verdict(l.verdict), self.style.ink(Ink::Faint, &place))?;
        }
        self.faults(out, l)?;
        self.differences(out, l)?;
        for (i, f) in l.findings.iter().enumerate() {
            if i == FULL {
                writeln!(out)?;
            }
            if i < FULL {
                writeln!(out)?;
                finding::full(out, self, l, i + 1, f)?;
            } else {
                finding::brief(out, self, i + 1, f)?;
            }
        }
        let cut = l.findings_total.saturating_sub(l.findings.len() as u64);
        if cut > 0 {
            writeln!(out, "  and {} that are not kept", count(cut, "finding", "findings"))?;
        }
        writeln!(out)?;
        self.seen(out, l)
    }

    /// What stopped it.
    fn faults(&self, out: &mut impl Write, l: &LaunchReport) -> io::Result<()> {
        let both = matches!(&l.faults, [Some(a), Some(b)] if a == b);
        for (side, fault) in ["A", "B"].iter().zip(&l.faults).skip(usize::from(both)) {
            let Some(f) = fault else {
                if l.faults.iter().any(Option::is_some) {
                    writeln!(out, "  {side} runs to its end")?;
                }
                continue;
            };
            let who =
                if both { format!("both sides {}", stops(f.kind, 2)) } else { format!("{side} {}", stops(f.kind, 1)) };
            writeln!(out, "  {}", self.style.ink(Ink::Bad, &who))?;
            for line in f.text.lines() {
                for part in wrap(&clean(line), self.style.width.saturating_sub(4)) {
                    writeln!(out, "    {part}")?;
                }
            }
        }
        Ok(())
    }

    fn differences(&self, out: &mut impl Write, l: &LaunchReport) -> io::Result<()> {
        let groups = [
            (LaunchPart::Geometry, "launched otherwise"),
            (LaunchPart::Input, "inputs differ"),
            (
                LaunchPart::Output,
                match (&l.findings[..], &l.skipped) {
                    ([], [None, None]) => "outputs differ, though all decisions agree",
                    _ => "outputs differ",
                },
            ),
        ];
        for (part, title) in groups {
            let of: Vec<_> = l.differences.iter().filter(|d| d.what == part).collect();
            if of.is_empty() {
                continue;
            }
            writeln!(out, "  {title}")?;
            let wide = |f: fn(&prlx_analyze::report::LaunchDifference) -> String| {
                of.iter().map(|d| f(d).chars().count()).max().unwrap_or(0)
            };
            let (name, a) = (wide(|d| clean(&d.name)), wide(|d| clean(&d.values[0])));
            for d in of {
                let b = self.style.ink(Ink::Bad, &clean(&d.values[1]));
                writeln!(out, "    {}   A {}   B {b}", pad(&clean(&d.name), name), pad(&clean(&d.values[0]), a))?;
            }
        }
        Ok(())
    }

    /// A line of what was seen, under its name.
    fn line(&self, out: &mut dyn Write, name: &str, text: &str) -> io::Result<()> {
        for (i, part) in wrap(text, self.style.width.saturating_sub(12)).iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            writeln!(out, "  {} {part}", self.style.ink(Ink::Faint, &pad(name, 9)))?;
        }
        Ok(())
    }

    /// What was not seen.
    fn gaps(&self, out: &mut dyn Write, l: &LaunchReport) -> io::Result<()> {
        for (i, gap) in l.gaps.iter().take(GAPS).enumerate() {
            let name = if i == 0 { "not seen" } else { "" };
            for (i, part) in wrap(&clean(gap), self.style.width.saturating_sub(12)).iter().enumerate() {
                self.line(out, if i == 0 { name } else { "" }, &self.style.ink(Ink::Doubt, part))?;
            }
        }
        if l.gaps.len() > GAPS {
            self.line(out, "", &format!("and {} more", l.gaps.len() - GAPS))?;
        }
        Ok(())
    }

    /// Coverage, gaps, cost.
    fn seen(&self, out: &mut impl Write, l: &LaunchReport) -> io::Result<()> {
        let line = |out: &mut dyn Write, name: &str, text: &str| self.line(out, name, text);
        let Coverage { percent, warps, lanes, visits, elements, sites } = &l.coverage;
        line(out, "coverage", &format!("{percent} %"))?;
        let parts = |all: &[(u64, &str)]| -> String {
            let some: Vec<_> =
                all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", number(*n))).collect();
            if some.is_empty() { String::new() } else { format!(": {}", some.join(", ")) }
        };
        let w = parts(&[
            (warps.equal, "equal by digest"),
            (warps.compared, "compared"),
            (warps.missing, "not recorded"),
            (warps.failed, "not decodable"),
        ]);
        line(out, "seen", &format!("{}{w}", count(warps.total, "warp", "warps")))?;
        let n = parts(&[
            (lanes.in_equal_warps, "in equal warps"),
            (lanes.same_words, "with the same recording"),
            (lanes.compared, "decoded to the end"),
            (lanes.truncated, "cut short"),
            (lanes.missing, "not recorded"),
            (lanes.failed, "not decodable"),
        ]);
        line(out, "", &format!("{}{n}", count(lanes.total, "lane", "lanes")))?;
        for (side, v) in ["A", "B"].iter().zip(visits) {
            let all = v.recorded.saturating_add(v.computed);
            if all > 0 || v.other > 0 {
                let other = if v.other > 0 { format!(", {} other visits", number(v.other)) } else { String::new() };
                let how = parts(&[(v.recorded, "recorded"), (v.computed, "computed again")]);
                line(out, "", &format!("{side}: {} decoded{how}{other}", count(all, "decision", "decisions")))?;
            }
        }
        if l.skipped.iter().any(Option::is_some) {
            return self.gaps(out, l);
        }
        let kind = if l.level == Level::Path { "decision sites" } else { "sites" };
        let what = |s: &prlx_analyze::report::Sites| {
            format!("{}{}", number(s.total), parts(&[(s.skipped, "not recorded"), (s.unmatched, "without a partner")]))
        };
        let s = if sites[0] == sites[1] {
            what(&sites[0])
        } else {
            format!("A {}; B {}", what(&sites[0]), what(&sites[1]))
        };
        if sites.iter().any(|s| s.total > 0) {
            line(out, "", &format!("{kind}: {s}"))?;
        }
        self.gaps(out, l)?;
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
        line(out, "recorded", &format!("level {} on {device}{sure}: {words} elements{lost}{cost}", l.level.name()))
    }
}

/// A launch's kernel, safe for a terminal.
fn kernel(l: &LaunchReport) -> String {
    clean(&plain(&l.kernel))
}

/// A verdict in its colour.
pub(crate) fn ink(style: Style, v: Verdict) -> String {
    let ink = match v {
        Verdict::Same => Ink::Good,
        Verdict::Differs => Ink::Bad,
        Verdict::Unknown => Ink::Doubt,
    };
    style.ink(ink, v.name())
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
fn noun(class: SiteClass) -> &'static str {
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
