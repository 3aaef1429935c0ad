//! A gate's outcome as text.

use std::io::{self, Write};

use prlx_analyze::gate::{GateOutcome, JudgedDifference, Judgement};
use prlx_analyze::report::Report;

use super::item::sentence;
use crate::format::Style;
use crate::format::{Ink, clean, count, number, pad};
use crate::report::text::text;

/// Maximum number of differences listed.
const LISTED: usize = 20;
/// Writes the outcome, the counted and the allowed differences, and then the report with at most `findings`
/// findings of each launch.
///
/// # Errors
/// Those of `out`.
pub fn gate(
    out: &mut impl Write,
    j: &Judgement,
    r: &Report,
    findings: usize,
    style: &Style,
) -> io::Result<()> {
    let ink = match j.outcome {
        GateOutcome::Passed => Ink::Good,
        GateOutcome::Failed => Ink::Bad,
        GateOutcome::Unknown => Ink::Warning,
    };
    writeln!(out, "{}  {}", style.ink(ink, j.outcome.name()), headline(j))?;
    for (left, name, ink) in [(true, "counted", Ink::Bad), (false, "allowed", Ink::Faint)] {
        let items: Vec<&JudgedDifference> = j.items.iter().filter(|i| i.rule.is_none() == left).collect();
        for i in items.iter().take(LISTED) {
            let why =
                i.rule.map_or_else(String::new, |rule| format!("  by {}", clean(&j.rules[rule as usize])));
            writeln!(out, "  {}{}{why}", style.ink(ink, &pad(name, 9)), sentence(r, i))?;
        }
        if items.len() > LISTED {
            writeln!(out, "  {:<9}and {} more", "", number((items.len() - LISTED) as u64))?;
        }
    }
    for (i, rule) in j.rules.iter().enumerate().filter(|(i, _)| j.used[*i] == 0) {
        let (word, why) = match j.one_sided[i] {
            0 => ("unused", "matches no difference".to_owned()),
            n => (
                "partial",
                format!(
                    "matches one side of {}; add a rule that matches both sides",
                    count(n, "finding", "findings")
                ),
            ),
        };
        writeln!(out, "  {}{}: {why}", style.ink(Ink::Faint, &pad(word, 9)), clean(rule))?;
    }
    writeln!(out)?;
    let mut shown = r.clone();
    shown.launches.iter_mut().for_each(|l| l.findings.truncate(findings.max(1)));
    text(out, &shown, style)
}

/// The outcome in one sentence.
fn headline(j: &Judgement) -> String {
    let allowed = j.items.iter().filter(|i| i.rule.is_some()).count() as u64;
    let other = j.items.iter().filter(|i| i.rule.is_none() && i.finding.is_none()).count() as u64;
    let mut parts = Vec::new();
    let [findings, visits, lanes] = j.counted;
    if findings > 0 {
        let limits = [(j.most.findings, "findings"), (j.most.visits, "visits"), (j.most.lanes, "lanes")];
        let said: Vec<String> =
            limits.into_iter().filter_map(|(n, what)| Some(format!("{} {what}", number(n?)))).collect();
        let most = match said.is_empty() {
            true => String::new(),
            false => format!(" (limit: {})", said.join(", ")),
        };
        let (visits, lanes) = (count(visits, "visit", "visits"), count(lanes, "lane", "lanes"));
        parts.push(format!("{}, {visits} in {lanes}{most}", count(findings, "finding", "findings")));
    }
    if other > 0 {
        parts.push(count(other, "other difference", "other differences"));
    }
    if parts.is_empty() {
        parts.push("no difference remains".into());
    }
    if allowed > 0 {
        parts.push(format!("{} allowed", number(allowed)));
    }
    if j.outcome == GateOutcome::Unknown {
        parts.push("but not everything was compared".into());
    }
    parts.join("; ")
}
