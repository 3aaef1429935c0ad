//! Two timelines compared, as text and JSON.

use std::io::{self, Write};

use prlx_timeline::{Change, Diff, Pace};
use serde_json::json;

use crate::format::Grid;
use crate::format::Style;
use crate::format::time;
use crate::format::{Ink, clean, clip, count, number};

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 2;

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

fn interval<T>(change: &Change<T>) -> String {
    change.interval.map(|[low, high]| format!("{:+.1} to {}", low * 100.0, percent(high))).unwrap_or_default()
}

/// Writes the comparison as text, with at most `top` regions.
///
/// # Errors
/// Those of `out`.
pub fn profile_diff(
    out: &mut impl Write,
    names: [&str; 2],
    diff: &Diff,
    top: usize,
    style: &Style,
) -> io::Result<()> {
    let ink = match diff.verdict {
        Pace::Same | Pace::Faster => Ink::Good,
        Pace::Slower => Ink::Bad,
        Pace::Unknown => Ink::Warning,
    };
    let several = diff.kernels.len() > 1;
    let verdict = style.ink(ink, diff.verdict.name()).to_string();
    for (i, k) in diff.kernels.iter().enumerate() {
        let head = if i == 0 { verdict.clone() } else { " ".repeat(diff.verdict.name().len()) };
        let of = if several { format!(" of {}", clip(&clean(&k.kernel), 32)) } else { String::new() };
        let [a, b] = k.time.medians.map(time);
        let drawn = k.time.interval.map(|_| format!(", {}", interval(&k.time))).unwrap_or_default();
        let change =
            if k.launches.contains(&0) { "only on one side".to_owned() } else { percent(k.time.change) };
        writeln!(out, "{head}  launch time{of}: A {a}, B {b}, {change}{drawn}")?;
    }
    if diff.kernels.is_empty() {
        writeln!(out, "{verdict}")?;
    }
    writeln!(out, "{}", style.ink(Ink::Faint, &format!("A {}, B {}", clean(names[0]), clean(names[1]))))?;
    for gap in &diff.gaps {
        writeln!(out, "{}", style.ink(Ink::Warning, &clean(gap)))?;
    }
    let mut grid =
        Grid { right: vec![false, false, true, true, true, true, true, true, false], rows: Vec::new() };
    let head =
        ["region", "role", "visits", "A", "B", "change", "95 % interval", "median visit", "largest change"];
    let kernel = several.then_some("kernel");
    grid.right.splice(0..0, kernel.map(|_| false));
    grid.rows.push((Ink::Faint, kernel.into_iter().chain(head).map(str::to_owned).collect()));
    for r in diff.regions.iter().take(top) {
        let trip = r
            .trip
            .map(|(trip, [a, b])| format!("iteration {trip}: A {}, B {}", time(a), time(b)))
            .unwrap_or_default();
        let [a, b] = r.total.medians.map(time);
        let one_sided = r.visits.contains(&0);
        let change = if one_sided { "only on one side".to_owned() } else { percent(r.total.change) };
        let visit = if one_sided { String::new() } else { percent(r.median.change) };
        let visits = match r.visits {
            [a, b] if a == b => number(a),
            [a, b] => format!("A {}, B {}", number(a), number(b)),
        };
        let name = clip(&clean(&r.name), 32);
        let row = [name, r.role.clone(), visits, a, b, change, interval(&r.total), visit, trip];
        let kernel = several.then(|| clip(&clean(&r.kernel), 32));
        grid.rows.push((
            if r.total.differs { Ink::Bad } else { Ink::Plain },
            kernel.into_iter().chain(row).collect(),
        ));
    }
    writeln!(
        out,
        "\n{}  {}",
        style.ink(Ink::Strong, "Regions"),
        style.ink(Ink::Faint, "A, B: median total time per CTA; change: of the mean total; median visit: change of the median visit")
    )?;
    grid.print(out, *style)?;
    let more = diff.regions.len().saturating_sub(top);
    if more > 0 {
        writeln!(
            out,
            "  {}",
            style.ink(Ink::Faint, &format!("and {} (-n)", count(more as u64, "row", "rows")))
        )?;
    }
    Ok(())
}
