//! A report as text.
//!
//! Order: the verdict; what differs before any code ran; the findings, the first few in full; coverage and
//! cost. Launches without a difference share one line, and so do those of which only their memory is unknown.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_analyze::report::{LaunchPart, LaunchReport, NOTES_OF_SAME, ProcessPair, Report, Verdict};

use super::{cause, finding, output};
use crate::format::{Ink, Style, clean, clip, count, number, pad, plain_name, wrap};
use crate::words;

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
    let t = ReportText { style: *style, names: &report.names, processes: &report.processes };
    t.head(out, report)?;
    t.alone(out, report)?;
    let one = report.launches.len() == 1;
    let unseen = |l: &LaunchReport| l.verdict == Verdict::Unknown && l.skipped.iter().any(Option::is_some);
    let stored = |l: &LaunchReport| {
        l.verdict == Verdict::Unknown && l.gaps.len() == 1 && l.unseen_memory.as_ref() == l.gaps.first()
    };
    let agree = |l: &LaunchReport| l.verdict == Verdict::Same && l.differences.is_empty();
    let shown = |v: Verdict| {
        let brief = move |l: &LaunchReport| unseen(l) || stored(l) || agree(l);
        report.launches.iter().filter(move |l| one || (l.verdict == v && !brief(l)))
    };
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
    t.stored(out, report.launches.iter().filter(|l| stored(l)))?;
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
        let ordered = same.iter().filter(|l| l.order).count() as u64;
        if ordered > 0 {
            let n = count(ordered, "launch", "launches");
            writeln!(
                out,
                "  in {n} of them, threads behave differently, with no effect on the outputs (--strict counts it)"
            )?;
        }
        for text in NOTES_OF_SAME {
            let noted = same.iter().filter(|l| l.notes.iter().any(|note| note == text)).count() as u64;
            if noted > 0 {
                writeln!(out, "  {}: {text}", count(noted, "launch of them", "launches of them"))?;
            }
        }
    }
    Ok(())
}

/// What writing needs everywhere.
struct ReportText<'a> {
    style: Style,
    names: &'a [String; 2],
    processes: &'a [ProcessPair],
}

impl ReportText<'_> {
    fn verdict(&self, v: Verdict) -> String {
        self.style.verdict(v)
    }

    fn head(&self, out: &mut impl Write, r: &Report) -> io::Result<()> {
        writeln!(out, "{}  {}", self.verdict(r.verdict), words::headline(r))?;
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
        if let Some(what) = words::culprit(r) {
            writeln!(out, "  {} {what}", self.style.ink(Ink::Bad, "culprit"))?;
        }
        if let Some([what, why]) = words::suspect(r) {
            writeln!(out, "  {} {what}", self.style.ink(Ink::Warning, "suspect"))?;
            writeln!(out, "          {why}")?;
        }
        let mut undigested: BTreeMap<&str, u64> = BTreeMap::new();
        for l in &r.launches {
            if let Some(why) = l.undigested.iter().flatten().next() {
                *undigested.entry(why).or_default() += 1;
            }
        }
        for (why, n) in undigested.into_iter().take(BRIEF) {
            let launches = count(n, "launch", "launches");
            writeln!(out, "  {} {launches}: {}", self.style.ink(Ink::Faint, "no digest"), clean(why))?;
        }
        Ok(())
    }

    /// What only one side has.
    fn alone(&self, out: &mut impl Write, r: &Report) -> io::Result<()> {
        let side = |side: u8| ["A", "B"][usize::from(side.min(1))];
        for p in r.alone.iter().filter(|p| p.launches > 0).take(BRIEF) {
            let launches = count(p.launches, "launch", "launches");
            writeln!(
                out,
                "  {}'s {} has no match in {}: {launches}",
                side(p.side),
                clean(&p.name),
                side(1 - p.side.min(1))
            )?;
        }
        for line in words::unmatched_launches(r).iter().chain(&words::folded_launches(r)) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }

    /// A launch on one line.
    fn launch_line(&self, l: &LaunchReport) -> String {
        let why = match (&l.findings[..], &l.differences[..], &l.gaps[..]) {
            ([f, ..], ..) => {
                f.location().map(|l| format!(", first at {}", words::short(l))).unwrap_or_default()
            }
            (_, [d, ..], _) => format!(", {} {}", d.what.name(), clean(&d.name)),
            (_, _, [gap, ..]) => format!(", {}", clean(gap)),
            _ => String::new(),
        };
        format!(
            "{}  {}  {}{why}",
            self.verdict(l.verdict),
            words::kernel(l),
            self.style.ink(Ink::Faint, &words::launch(self.processes, l))
        )
    }

    /// Launches that were not recorded, by kernel and reason.
    fn unseen<'r>(
        &self,
        out: &mut impl Write,
        all: impl Iterator<Item = &'r LaunchReport>,
    ) -> io::Result<()> {
        let mut groups: BTreeMap<(String, String), u64> = BTreeMap::new();
        for l in all {
            let why = l.gaps.iter().map(|gap| clean(gap)).collect::<Vec<_>>().join("; ");
            *groups.entry((words::kernel(l), why)).or_default() += 1;
        }
        if groups.is_empty() {
            return Ok(());
        }
        let n = groups.values().sum();
        let title = format!("{} not recorded", count(n, "pair of launches was", "pairs of launches were"));
        writeln!(out, "\n{}", self.style.ink(Ink::Warning, &title))?;
        for ((kernel, why), n) in groups.iter().take(BRIEF) {
            writeln!(out, "  {:>6}  {kernel}: {why}", number(*n))?;
        }
        if groups.len() > BRIEF {
            writeln!(out, "  and {} more", count((groups.len() - BRIEF) as u64, "kernel", "kernels"))?;
        }
        Ok(())
    }

    /// Launches of which nothing differs and only their memory is unknown, by the reason.
    fn stored<'r>(
        &self,
        out: &mut impl Write,
        all: impl Iterator<Item = &'r LaunchReport>,
    ) -> io::Result<()> {
        let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
        for gap in all.flat_map(|l| &l.gaps) {
            *groups.entry(gap).or_default() += 1;
        }
        for (why, n) in groups {
            let text = format!("{} alike, but {}", count(n, "launch decides", "launches decide"), clean(why));
            writeln!(out)?;
            for line in wrap(&text, self.style.width) {
                writeln!(out, "{}", self.style.ink(Ink::Warning, &line))?;
            }
        }
        Ok(())
    }

    fn launch(&self, out: &mut impl Write, l: &LaunchReport, one: bool) -> io::Result<()> {
        let shape = format!("grid {}, block {}", l.grid, l.block);
        let kernel = self.style.ink(Ink::Strong, &clean(&plain_name(&l.kernel)));
        if one {
            writeln!(out, "{kernel}  {}", self.style.ink(Ink::Faint, &shape))?;
        } else {
            let place = format!("{}, {shape}", words::launch(self.processes, l));
            writeln!(out, "{}  {kernel}  {}", self.verdict(l.verdict), self.style.ink(Ink::Faint, &place))?;
        }
        self.faults(out, l)?;
        self.differences(out, l)?;
        output::outputs(out, self.style, l)?;
        cause::causes(out, self.style, l)?;
        for (i, f) in l.findings.iter().enumerate() {
            if i == FULL {
                writeln!(out)?;
            }
            if i < FULL {
                writeln!(out)?;
                finding::full(out, self.style, l, i + 1, f)?;
            } else {
                finding::brief(out, self.style, i + 1, f)?;
            }
        }
        let cut = l.findings_total.saturating_sub(l.findings.len() as u64);
        if cut > 0 {
            writeln!(out, "  and {}", words::findings_cut(cut))?;
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
                    writeln!(out, "  {side} completes")?;
                }
                continue;
            };
            let who = if both {
                format!("both sides {}", words::stops(f.kind, 2))
            } else {
                format!("{side} {}", words::stops(f.kind, 1))
            };
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
        let outputs = match (&l.findings[..], &l.skipped) {
            ([], [None, None]) => format!("outputs differ, but {}", words::decisions_agree(l)),
            _ => "outputs differ".to_owned(),
        };
        let groups = [
            (LaunchPart::Code, "the kernels are different builds"),
            (LaunchPart::Geometry, "launch dimensions differ"),
            (LaunchPart::Input, "inputs differ"),
            (LaunchPart::Output, outputs.as_str()),
            (LaunchPart::Check, "errors that the checks found on one side alone"),
            (
                LaunchPart::Scratch,
                "buffers that are not outputs differ after the launch (this decides nothing)",
            ),
        ];
        for (part, title) in groups {
            let of: Vec<_> = words::other_differences(l).filter(|d| d.what == part).collect();
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
                writeln!(
                    out,
                    "    {}   A {}   B {b}",
                    pad(&clean(&d.name), name),
                    pad(&clean(&d.values[0]), a)
                )?;
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
            let name = if i == 0 { "gaps" } else { "" };
            for (i, part) in wrap(&clean(gap), self.style.width.saturating_sub(12)).iter().enumerate() {
                self.line(out, if i == 0 { name } else { "" }, &self.style.ink(Ink::Warning, part))?;
            }
        }
        if l.gaps.len() > GAPS {
            self.line(out, "", &format!("and {} more", l.gaps.len() - GAPS))?;
        }
        Ok(())
    }

    /// Coverage, gaps, cost; first of all why nothing was compared.
    fn seen(&self, out: &mut impl Write, l: &LaunchReport) -> io::Result<()> {
        if words::nothing_compared(l) {
            self.gaps(out, l)?;
        }
        for (name, what) in words::coverage(l) {
            self.line(out, name, &what)?;
        }
        if !words::nothing_compared(l) {
            self.gaps(out, l)?;
        }
        for note in &l.notes {
            self.line(out, "note", &clean(note))?;
        }
        if let Some(how) = words::recorded(l) {
            self.line(out, "recorded", &how)?;
        }
        Ok(())
    }
}
