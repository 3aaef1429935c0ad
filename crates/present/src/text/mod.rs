//! A report as text: what a person reads first.
//!
//! Order: the verdict; what differs before any code ran; findings, first things first, the first few in full; what was
//! looked at and what it cost. Launches that agree take one line together.

mod finding;
pub(crate) mod paint;

use std::io::{self, Write};

use prlx_analyze::report::{Coverage, LaunchPart, LaunchReport, Report, Verdict};
use prlx_trace::Level;
use prlx_trace::kernel::{FaultKind, SiteClass};

pub use paint::Style;
use paint::{Ink, clean, clip, count, number, pad, plain, wrap};

/// Findings of a launch that are shown in full.
const FULL: usize = 3;
/// Gaps that are listed.
const GAPS: usize = 6;

/// Writes `report` for people.
///
/// # Errors
/// Those of `out`.
pub fn text(out: &mut impl Write, report: &Report, style: &Style) -> io::Result<()> {
    let t = Text { style: *style, names: &report.names };
    t.head(out, report)?;
    for u in &report.unpaired {
        let side = ["A", "B"][usize::from(u.side.min(1))];
        writeln!(out, "  launch {} of {side}, {}, has no partner", u.launch, clean(&u.kernel))?;
    }
    let same = report.launches.iter().filter(|l| l.verdict == Verdict::Same && l.differences.is_empty());
    let same: Vec<_> = same.collect();
    let one = report.launches.len() == 1;
    for l in &report.launches {
        if one || l.verdict != Verdict::Same || !l.differences.is_empty() {
            writeln!(out)?;
            t.launch(out, l, one)?;
        }
    }
    if !one && !same.is_empty() {
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
                let parted = r.launches.iter().filter(|l| l.verdict == Verdict::Differs).count() as u64;
                match count(r.launches.len() as u64, "launch", "launches") {
                    _ if r.launches.len() == 1 => what,
                    all => format!("{} of {all}; {what}", number(parted)),
                }
            }
            (_, None) if stopped.is_some() => "no decision seen to differ".to_string(),
            (_, None) if r.launches.iter().any(|l| l.verdict == Verdict::Differs) => {
                "though no decision does".to_string()
            }
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
        Ok(())
    }

    fn launch(&self, out: &mut impl Write, l: &LaunchReport, one: bool) -> io::Result<()> {
        let shape = format!("grid {}, block {}", l.grid, l.block);
        let kernel = self.style.ink(Ink::Strong, &clean(&plain(&l.kernel)));
        if one {
            writeln!(out, "{kernel}  {}", self.style.ink(Ink::Faint, &shape))?;
        } else {
            let number = if l.launch[0] == l.launch[1] {
                format!("launch {}", l.launch[0])
            } else {
                format!("launch {} of A, {} of B", l.launch[0], l.launch[1])
            };
            writeln!(
                out,
                "{}  {kernel}  {}",
                self.verdict(l.verdict),
                self.style.ink(Ink::Faint, &format!("{number}, {shape}"))
            )?;
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
                if l.findings.is_empty() { "outputs differ, though all decisions agree" } else { "outputs differ" },
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

    /// Coverage, gaps, cost.
    fn seen(&self, out: &mut impl Write, l: &LaunchReport) -> io::Result<()> {
        let line = |out: &mut dyn Write, name: &str, text: &str| -> io::Result<()> {
            for (i, part) in wrap(text, self.style.width.saturating_sub(12)).iter().enumerate() {
                let name = if i == 0 { name } else { "" };
                writeln!(out, "  {} {part}", self.style.ink(Ink::Faint, &pad(name, 9)))?;
            }
            Ok(())
        };
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
        let kind = if l.level == Level::Path { "decision sites" } else { "sites" };
        let what = |s: &prlx_analyze::report::Sites| {
            format!("{}{}", number(s.total), parts(&[(s.skipped, "not recorded"), (s.unmatched, "without a partner")]))
        };
        let s = if sites[0] == sites[1] {
            what(&sites[0])
        } else {
            format!("A {}; B {}", what(&sites[0]), what(&sites[1]))
        };
        line(out, "", &format!("{kind}: {s}"))?;
        for (i, gap) in l.gaps.iter().take(GAPS).enumerate() {
            let name = if i == 0 { "not seen" } else { "" };
            for (i, part) in wrap(&clean(gap), self.style.width.saturating_sub(12)).iter().enumerate() {
                line(out, if i == 0 { name } else { "" }, &self.style.ink(Ink::Doubt, part))?;
            }
        }
        if l.gaps.len() > GAPS {
            line(out, "", &format!("and {} more", l.gaps.len() - GAPS))?;
        }
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
        line(out, "recorded", &format!("level {} on {device}: {words} elements{lost}{cost}", l.level.name()))
    }
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
