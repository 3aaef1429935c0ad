//! Two timelines held against each other, as text and as JSON.

use std::io::{self, Write};

use prlx_analyze::Verdict;
use prlx_analyze::profile::{Change, Diff};
use serde_json::json;

use super::time;
use crate::tallies::text::Grid;
use crate::text::Style;
use crate::text::paint::{Ink, clean, clip, count, number};

/// The number that changes when a key changes its meaning or goes; new keys do not change it.
const VERSION: u32 = 1;

/// Writes it as one object and a line end.
///
/// # Errors
/// Those of `out`.
pub fn profile_diff_json(out: &mut impl Write, names: [&str; 2], diff: &Diff) -> io::Result<()> {
    let document = json!({ "format": "prlx-profile-diff", "version": VERSION, "names": names, "diff": serde_json::to_value(diff)? });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn interval(change: &Change) -> String {
    change.interval.map(|[low, high]| format!("{} to {}", percent(low), percent(high))).unwrap_or_default()
}

/// Prints it, with at most `top` regions.
///
/// # Errors
/// Those of `out`.
pub fn profile_diff(out: &mut impl Write, names: [&str; 2], diff: &Diff, top: usize, style: &Style) -> io::Result<()> {
    let ink = match diff.verdict {
        Verdict::Same => Ink::Good,
        Verdict::Differs => Ink::Bad,
        Verdict::Unknown => Ink::Doubt,
    };
    let k = &diff.kernel;
    let [a, b] = k.times.map(time);
    let drawn = k.interval.map(|_| format!(", {}", interval(k))).unwrap_or_default();
    writeln!(
        out,
        "{}  a launch takes {a}, then {b}: {}{drawn}",
        style.ink(ink, diff.verdict.name()),
        percent(k.change)
    )?;
    writeln!(out, "{}", style.ink(Ink::Faint, &format!("A {}, B {}", clean(names[0]), clean(names[1]))))?;
    for gap in &diff.gaps {
        writeln!(out, "{}", style.ink(Ink::Doubt, &clean(gap)))?;
    }
    let mut grid = Grid { right: vec![false, false, true, true, true, true, true, true, false], rows: Vec::new() };
    let head = ["region", "role", "visits", "then", "A", "B", "change", "95 of 100 draws", "most in trip"];
    grid.rows.push((Ink::Faint, head.map(str::to_owned).to_vec()));
    for r in diff.regions.iter().take(top) {
        let trip = r.trip.map(|(trip, [a, b])| format!("{trip}: {}, then {}", time(a), time(b))).unwrap_or_default();
        let [a, b] = r.total.times.map(time);
        let change = if r.visits.contains(&0) { "only one side".to_owned() } else { percent(r.total.change) };
        let [one, two] = r.visits.map(number);
        let row = vec![clip(&clean(&r.name), 32), r.role.clone(), one, two, a, b, change, interval(&r.total), trip];
        grid.rows.push((if r.total.differs { Ink::Bad } else { Ink::Plain }, row));
    }
    writeln!(
        out,
        "\n{}  {}",
        style.ink(Ink::Strong, "Regions"),
        style.ink(Ink::Faint, "time of a CTA's visits: median; change of the mean")
    )?;
    grid.print(out, *style)?;
    let more = diff.regions.len().saturating_sub(top);
    if more > 0 {
        writeln!(out, "  {}", style.ink(Ink::Faint, &format!("and {} (-n)", count(more as u64, "row", "rows"))))?;
    }
    Ok(())
}
