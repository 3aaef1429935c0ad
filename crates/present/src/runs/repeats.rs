//! The outcomes of repeated runs as text and JSON.
//!
//! # Invariants
//! Outcomes are sorted by how often they occurred, then by their first run.
//!
//! # Limitations
//! Outcomes that no run produced are unknown; the text gives the number of runs.

use std::io::{self, Write};

use prlx_analyze::report::Verdict;
use prlx_analyze::runs::repeats::Repeats;

use crate::document;
use crate::format::{Ink, Style, clean, clip, count, number};
use crate::printed::printed_lines;
use crate::report::text::text;

/// Outcomes that the text lists.
const LISTED: usize = 12;
/// Outcomes whose difference from the first is shown in full.
const SHOWN: usize = 2;

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 1;

/// Writes it as one JSON object, followed by a line end.
///
/// # Errors
/// Those of `out`.
pub fn repeats_json(out: &mut impl Write, r: &Repeats) -> io::Result<()> {
    document::write(out, "prlx-repeat", VERSION, r)
}

/// Writes it as text.
///
/// # Errors
/// Those of `out`.
pub fn repeats(out: &mut impl Write, r: &Repeats, style: &Style) -> io::Result<()> {
    let what = match r.outcomes.len() {
        1 => format!("the same outcome in all {}", count(r.runs, "run", "runs")),
        n => format!("{} in {}", count(n as u64, "outcome", "outcomes"), count(r.runs, "run", "runs")),
    };
    let more = if r.verdict == Verdict::Unknown { ", but not everything was compared" } else { "" };
    writeln!(out, "{}  {what}{more}", style.verdict(r.verdict))?;
    writeln!(out, "  {}", clip(&clean(&r.command), style.width.saturating_sub(2)))?;
    writeln!(out)?;
    let wide = number(r.outcomes.iter().map(|o| o.runs).max().unwrap_or(0)).len();
    for o in r.outcomes.iter().take(LISTED) {
        let which: Vec<String> = o.first.iter().map(u64::to_string).collect();
        let more = if o.first.len() as u64 == o.runs { "" } else { ", …" };
        let noun = if o.runs == 1 { "run " } else { "runs" };
        let digest = o.digest.as_ref().map_or_else(|| "no digest".into(), |d| format!("digest {d}"));
        let launches = count(o.launches, "launch", "launches");
        let ended = o.ended.as_ref().map_or_else(String::new, |e| format!(", {}", clean(e)));
        let head = format!("{:>wide$} {noun}", number(o.runs));
        writeln!(out, "  {head}  {digest}, {launches}{ended}: {}{more}", which.join(", "))?;
        let wide = head.chars().count();
        if o.other_digests > 0 {
            let have = if o.other_digests == 1 { "has another digest" } else { "have other digests" };
            let what = format!("{} of them {have}, and compared as the same", number(o.other_digests));
            writeln!(out, "  {:wide$}  {what}", "")?;
            o.notes.iter().try_for_each(|note| writeln!(out, "  {:wide$}    {}", "", clean(note)))?;
        }
        if let Some(kept) = &o.kept {
            writeln!(out, "  {:wide$}  {}", "", style.ink(Ink::Faint, &clean(kept)))?;
        }
        printed_lines(&o.printed).iter().try_for_each(|line| writeln!(out, "  {:wide$}  {line}", ""))?;
    }
    if r.outcomes.len() > LISTED {
        let more = &r.outcomes[LISTED..];
        let runs = count(more.iter().map(|o| o.runs).sum(), "run", "runs");
        writeln!(out, "  and {} in {runs}", count(more.len() as u64, "more outcome", "more outcomes"))?;
    }
    let first = r.outcomes.first().and_then(|o| o.first.first()).copied().unwrap_or(0);
    for o in r.outcomes.iter().filter(|o| o.report.is_some()).take(SHOWN) {
        let other = o.first.first().copied().unwrap_or(0);
        let heading = format!("First difference between run {first} and run {other}");
        writeln!(out, "\n{}\n", style.ink(Ink::Strong, &heading))?;
        o.report.iter().try_for_each(|report| text(out, report, style))?;
    }
    if let Some(report) = r.alone.as_ref().filter(|report| report.verdict != Verdict::Same) {
        writeln!(out, "\n{}\n", style.ink(Ink::Strong, "What was not compared"))?;
        text(out, report, style)?;
    }
    Ok(())
}
