//! The outcomes of a launch under many schedules as text and JSON.
//!
//! # Invariants
//! Outcomes are sorted by how often they occurred, then by their first run.
//!
//! # Limitations
//! Schedules that were not tried are unknown; the text gives their number.

use std::io::{self, Write};

use prlx_analyze::runs::schedules::{ScheduleFindings, ScheduleOutcome, ScheduleRun, Schedules};
use serde::Serialize;
use serde_json::{Value, json};

use crate::checks::{checks_json, checks_with};
use crate::document;
use crate::format::{Ink, Style, clean, count, number, plain_name, shell_word, wrap};
use crate::printed::printed_lines;
use crate::report::text::text;
use crate::words::stops;

/// Outcomes that the text lists.
const LISTED: usize = 6;
/// Where the text of an outcome begins.
const INDENT: usize = 16;

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 1;

/// Writes it as one JSON object, followed by a line end.
///
/// # Errors
/// Those of `out`.
pub fn schedules_json(out: &mut impl Write, s: &Schedules) -> io::Result<()> {
    document::write(out, "prlx-schedules", VERSION, &Body { schedules: s, checks: findings_json(s) })
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    schedules: &'a Schedules,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Value>,
}

/// What the checks found, each finding with the runs that have it and a command that repeats the first one.
fn findings_json(s: &Schedules) -> Option<Value> {
    let checks = s.checks.as_ref()?;
    let mut value = checks_json(&checks.found);
    let list = value.get_mut("findings").and_then(Value::as_array_mut);
    for (i, (finding, seen)) in list.into_iter().flatten().zip(&checks.seen).enumerate() {
        finding["seen"] = json!(seen);
        finding["command"] = json!(command(s, checks, i));
    }
    Some(value)
}

/// Writes it as text.
///
/// # Errors
/// Those of `out`.
pub fn schedules(out: &mut impl Write, s: &Schedules, style: &Style) -> io::Result<()> {
    let what = match s.outcomes.len() {
        1 => format!("the same outcome in all {}", count(s.runs, "run", "runs")),
        n => format!("{} in {}", count(n as u64, "outcome", "outcomes"), count(s.runs, "run", "runs")),
    };
    writeln!(out, "{}  {}: {what}", style.verdict(s.verdict), clean(&plain_name(&s.kernel)))?;
    for (i, file) in s.files.iter().enumerate() {
        let name = if s.files.len() > 1 { format!("{} ", file_name(i)) } else { String::new() };
        writeln!(out, "  {name}{}, seeds {}..{}", clean(file), s.seeds[0], s.seeds[1])?;
    }
    writeln!(out)?;
    let wide = number(s.outcomes.iter().map(|o| o.runs).max().unwrap_or(0)).len();
    for o in s.outcomes.iter().take(LISTED) {
        let head = format!("{:>wide$} {}", number(o.runs), if o.runs == 1 { "run" } else { "runs" });
        for (i, line) in outcome(s, o, style.width.saturating_sub(INDENT)).iter().enumerate() {
            let head = if i == 0 { head.as_str() } else { "" };
            writeln!(out, "  {head:<w$}{line}", w = INDENT - 2)?;
        }
    }
    let more = s.outcomes.get(LISTED..).unwrap_or_default();
    if !more.is_empty() {
        let runs = more.iter().map(|o| o.runs).sum();
        let what = format!(
            "and {} in {}",
            count(more.len() as u64, "more outcome", "more outcomes"),
            count(runs, "run", "runs")
        );
        writeln!(out, "  {what}")?;
    }
    if let Some(checks) = &s.checks {
        writeln!(out)?;
        checks_with(out, &checks.found, &|i| seen(s, checks, i), style)?;
    }
    if let Some(report) = &s.report {
        writeln!(out, "\n{}", style.ink(Ink::Strong, "First difference between the first two outcomes"))?;
        writeln!(out)?;
        text(out, report, style)?;
    }
    Ok(())
}

/// Writes what the checks found in `runs` runs of one launch under several schedules, with the seeds of each
/// finding.
///
/// # Errors
/// Those of `out`.
pub fn schedule_checks(
    out: &mut impl Write,
    checks: &ScheduleFindings,
    runs: u64,
    style: &Style,
) -> io::Result<()> {
    let seeds = |i: usize| {
        let seen = checks.seen.get(i)?;
        let all: Vec<String> = seen.first.iter().map(|run| run.seed.to_string()).collect();
        Some(format!("seen at {} of {} seeds: {}", number(seen.runs), number(runs), all.join(", ")))
    };
    checks_with(out, &checks.found, &|i| seeds(i).into_iter().collect(), style)
}

/// The runs that have a finding, and the command that repeats the first one.
fn seen(s: &Schedules, checks: &ScheduleFindings, i: usize) -> Vec<String> {
    let Some(seen) = checks.seen.get(i) else { return Vec::new() };
    let more = if seen.first.len() as u64 == seen.runs { "" } else { ", …" };
    let noun = if s.files.len() > 1 { "runs" } else { "seeds" };
    let runs = number(seen.runs);
    let mut rows =
        vec![format!("seen at {runs} of {} {noun}: {}{more}", number(s.runs), which(s, &seen.first))];
    rows.extend(command(s, checks, i).map(|command| format!("reproduce: {}", clean(&command))));
    rows
}

/// The command that repeats the first run with a finding.
fn command(s: &Schedules, checks: &ScheduleFindings, i: usize) -> Option<String> {
    let run = checks.seen.get(i)?.first.first()?;
    let check = checks.found.list.get(i)?.kind.check().name();
    let file = shell_word(s.files.get(run.file)?);
    Some(format!("prlx run {file} --check {check} --seed {}", run.seed))
}

/// The seeds of runs; with two files, by file.
fn which(s: &Schedules, runs: &[ScheduleRun]) -> String {
    let seeds = |file: usize| {
        let all: Vec<String> = runs.iter().filter(|r| r.file == file).map(|r| r.seed.to_string()).collect();
        all.join(", ")
    };
    if s.files.len() < 2 {
        return seeds(0);
    }
    let sides = (0..s.files.len()).map(|file| (file_name(file), seeds(file)));
    let sides = sides.filter(|(_, seeds)| !seeds.is_empty());
    sides.map(|(name, seeds)| format!("{name} seed {seeds}")).collect::<Vec<_>>().join("; ")
}

fn file_name(i: usize) -> &'static str {
    if i == 0 { "A" } else { "B" }
}

/// What it was, and which runs.
fn outcome(s: &Schedules, o: &ScheduleOutcome, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(f) = &o.fault {
        lines.push(format!("{}; the first such run reports:", stops(f.kind, 1)));
        lines.extend(f.text.lines().flat_map(|l| wrap(&clean(l), width)));
    }
    let wide = o.outputs.iter().map(|c| clean(&c.name).chars().count()).max().unwrap_or(0);
    for c in &o.outputs {
        let wrong = match c.wrong {
            None => String::new(),
            Some(0) => ", as expected".into(),
            Some(n) => format!(", {} not as expected", count(n, "element", "elements")),
        };
        let what = match c.first.len() as u64 == c.elements {
            true => c.first.join(", "),
            false => format!("{}, …  content {}", c.first.join(", "), c.digest),
        };
        lines.push(format!("{:<wide$}  {what}{wrong}", clean(&c.name)));
    }
    lines.extend(printed_lines(&o.printed));
    let mut which = Vec::new();
    for file in 0..s.files.len() {
        let seeds: Vec<String> =
            o.first.iter().filter(|r| r.file == file).map(|r| r.seed.to_string()).collect();
        if !seeds.is_empty() {
            let name = if s.files.len() > 1 { format!("{} ", file_name(file)) } else { String::new() };
            let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
            which.push(format!("{name}{noun} {}", seeds.join(", ")));
        }
    }
    if o.within_tolerance > 0 {
        let runs = count(o.within_tolerance, "run has", "runs have");
        lines.push(format!("{runs} other bits, equal within the tolerance"));
    }
    let more = if o.first.len() as u64 == o.runs { "" } else { ", …" };
    lines.push(format!("{}{more}", which.join("; ")));
    lines
}
