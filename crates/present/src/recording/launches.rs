//! The process, launches and kernels of a recording as text.
//!
//! # Invariants
//! The same recording gives the same text. The rows of the kernels add up to the launches.

use std::io::{self, Write};

use prlx_analyze::survey::KernelCounts;
use prlx_trace::launch::Origin;
use prlx_trace::{Launch, Trace};

use crate::format::Style;
use crate::format::{Ink, clean, clip, count, number, pad, plain_name};
use crate::words;

/// Maximum width of a kernel's name.
const NAME: usize = 48;

/// Writes the process, and a line for each launch whose kernel `wanted` accepts, in launch order.
///
/// # Errors
/// When `out` does.
pub fn launches(
    out: &mut impl Write,
    trace: &Trace,
    wanted: &dyn Fn(&str) -> bool,
    style: &Style,
) -> io::Result<()> {
    process(out, trace, style)?;
    let kernel = |l: &Launch| {
        let function = trace.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
        function.map_or("?", |f| &f.name)
    };
    let mut all: Vec<(u64, &Launch)> = (0u64..)
        .zip(&trace.launches)
        .map(|(i, r)| (if trace.process.is_some() { r.launch.number } else { i }, &r.launch))
        .filter(|(_, l)| wanted(kernel(l)))
        .collect();
    all.sort_by_key(|(number, _)| *number);
    let devices = all.iter().any(|(_, l)| l.ordinal != all[0].1.ordinal);
    let row = |(number, l): &(u64, &Launch)| -> [String; 7] {
        let on = if devices { format!(" on device {}", l.ordinal) } else { String::new() };
        let place = match l.origin {
            Origin::Direct => format!("{}{on}", l.stream),
            Origin::Graph { exec, node, replay } => format!("{}{on} graph {exec}.{node} #{replay}", l.stream),
        };
        let what = match (&l.skipped, &l.fault) {
            (Some(why), _) => format!("not recorded: {}", clean(why)),
            (None, Some(fault)) => {
                format!("{}, {}: {}", l.level.label(), fault.kind.name(), clean(&fault.text))
            }
            (None, None) => {
                let lost = if l.totals.dropped > 0 {
                    format!(", {} dropped", l.totals.dropped)
                } else {
                    String::new()
                };
                // What a device counts that is no GPU is not told here.
                let timed = trace.process.is_some() && l.totals.instrumented > 0;
                let time = if timed { format!(", {}", time(l.totals.instrumented)) } else { String::new() };
                format!("{}, {}{lost}{time}", l.level.label(), elements(l.totals.recorded))
            }
        };
        let name = clip(&clean(&plain_name(kernel(l))), NAME);
        let names: Vec<_> = trace.range_names(l).collect();
        let ranges = clip(&words::innermost_ranges(&names).unwrap_or_default(), NAME);
        [number.to_string(), name, l.grid.to_string(), l.block.to_string(), place, ranges, what]
    };
    let rows: Vec<[String; 7]> = all.iter().map(row).collect();
    let head = ["launch", "kernel", "grid", "block", "stream", "NVTX ranges", "recorded"].map(String::from);
    if rows.iter().any(|row| !row[5].is_empty()) {
        return table(out, head, &rows, style);
    }
    let without = |[launch, kernel, grid, block, stream, _, recorded]: [String; 7]| {
        [launch, kernel, grid, block, stream, recorded]
    };
    let rows: Vec<[String; 6]> = rows.into_iter().map(without).collect();
    table(out, without(head), &rows, style)
}

/// A time in nanoseconds with its unit.
fn time(nanos: u64) -> String {
    match nanos {
        0..10_000_000 => format!("{:.1} µs", nanos as f64 / 1e3),
        _ => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}

fn elements(n: u64) -> String {
    count(n, "element", "elements")
}

fn process(out: &mut impl Write, trace: &Trace, style: &Style) -> io::Result<()> {
    match &trace.process {
        None => writeln!(out, "{}", style.ink(Ink::Strong, &clean(&trace.producer)))?,
        Some(p) => {
            let rank = match (p.rank, p.world_size) {
                (Some(rank), Some(of)) => format!("rank {rank} of {of}, "),
                (Some(rank), None) => format!("rank {rank}, "),
                _ => String::new(),
            };
            let who = format!("{rank}process {} on {}", p.pid, clean(&p.host));
            let command =
                clip(&clean(&p.command.join(" ")), style.width.saturating_sub(who.chars().count() + 2));
            writeln!(out, "{}  {command}", style.ink(Ink::Strong, &who))?;
            for d in &p.devices {
                let (major, minor) = d.capability;
                writeln!(
                    out,
                    "  device {}  {}, compute capability {major}.{minor}",
                    d.ordinal,
                    clean(&d.name)
                )?;
            }
            for (name, version) in &p.versions {
                writeln!(out, "  {}  {}", clean(name), clean(version))?;
            }
        }
    }
    for s in &trace.skipped {
        let kernel = s.kernel.as_ref().map_or_else(String::new, |k| format!(", {}", clean(&plain_name(k))));
        writeln!(out, "  not recorded: {}{kernel}: {}", clean(&s.module), clean(&s.reason))?;
    }
    if let Some(cut) = &trace.cut {
        let what = format!("truncated: the records after this point are missing ({cut})");
        writeln!(out, "  {}", style.ink(Ink::Warning, &clean(&what)))?;
    }
    Ok(())
}

/// Writes a line for each kernel: its launches, and the reasons why some were not recorded.
///
/// # Errors
/// When `out` does.
pub fn kernels(out: &mut impl Write, kernels: &[KernelCounts], style: &Style) -> io::Result<()> {
    let row = |k: &KernelCounts| -> [String; 6] {
        let name = clip(&clean(&plain_name(&k.name)), NAME);
        let lost = if k.dropped > 0 { number(k.dropped) } else { String::new() };
        let why: Vec<String> =
            k.skipped.iter().map(|(why, n)| format!("{}: {}", number(*n), clean(why))).collect();
        [name, number(k.launches), number(k.recorded), number(k.elements), lost, why.join("; ")]
    };
    let rows: Vec<[String; 6]> = kernels.iter().map(row).collect();
    let head = ["kernel", "launches", "recorded", "elements", "dropped", "not recorded"].map(String::from);
    table(out, head, &rows, style)
}

/// Writes aligned columns.
fn table<const N: usize>(
    out: &mut impl Write,
    head: [String; N],
    rows: &[[String; N]],
    style: &Style,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let wide = |i: usize| rows.iter().chain([&head]).map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(wide);
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| pad(cell, width)).collect();
        format!("  {}", cells.join("  ")).trim_end().to_owned()
    };
    writeln!(out, "{}", style.ink(Ink::Faint, &line(&head)))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
}
