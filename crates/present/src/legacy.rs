//! The outputs of PRLX 0.5 that scripts read: JSON keys, CSV, and a Chrome trace of divergences.
//!
//! # Invariants
//! - Every key and column of PRLX 0.5.1 is present under its name and in its form, beside the report's own
//!   keys.
//! - `status` is never `identical`, and `passed` never true, if something was not compared.
//! - CSV fields are quoted where RFC 4180 requires it. No control characters are written.
//!
//! # Limitations
//! The number of single divergences is limited by the comparison. The totals count all of them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prlx_analyze::report::{Finding, LaunchReport, Location, WarpHit};
use prlx_analyze::{FindingKind, Report, Verdict};
use prlx_legacy::compare::{Divergence, SiteTable};
use serde_json::{Map, Value, json};

use crate::format::clean;
use crate::report::json::json_with;

/// One divergence in the list of PRLX 0.5.
#[derive(Clone, PartialEq, Debug)]
pub struct DivergenceRow {
    /// Number of the warp in the grid.
    pub warp: u64,
    /// Index of A's event, or where it would be.
    pub event: u64,
    /// Site id: A's, or B's where A has none.
    pub site: u32,
    /// Kind of the divergence.
    pub kind: FindingKind,
    /// The values of both sides, as `dir_a=0 dir_b=1`.
    pub details: String,
    /// `file:function:line:column`, if known.
    pub location: Option<String>,
}

/// The divergences of a pair of launches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DivergenceCounts {
    /// Divergences in all, by [`FindingKind`] in its order.
    pub kinds: [u64; 5],
    /// Number of warps with a divergence.
    pub warps: u64,
    /// Events recorded, by side.
    pub events: [u64; 2],
    /// The first divergences; the comparison limits their number.
    pub rows: Vec<DivergenceRow>,
}

/// The conditions under which a report passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LegacyGate {
    /// Maximum number of divergences that passes.
    pub threshold: u64,
    /// Whether differing active masks are not counted.
    pub ignore_masks: bool,
}

fn place(l: &Location) -> String {
    format!("{}:{}:{}:{}", clean(&l.file), clean(&l.function), l.line, l.column)
}

/// The details of a finding in one warp: both sides' values if it is the warp shown, and the number of
/// visits.
fn details(f: &Finding, w: &WarpHit, shown: bool) -> String {
    let count = w.count;
    let sides = match (f.kind, f.values.filter(|_| shown), f.masks.as_ref().filter(|_| shown)) {
        (FindingKind::Branch, Some([a, b]), _) if a > 1 || b > 1 => format!("target_a={a} target_b={b}"),
        (FindingKind::Branch, Some([a, b]), _) => format!("dir_a={a} dir_b={b}"),
        (FindingKind::ActiveMask, _, Some([a, b])) => {
            format!("mask_a={:#010x} mask_b={:#010x}", a.lanes.0, b.lanes.0)
        }
        (FindingKind::Value, Some([a, b]), _) => format!("val_a={a} val_b={b}"),
        (FindingKind::ExtraEvents, ..) => {
            return format!("count={count} in_trace={}", if f.side == Some(1) { "B" } else { "A" });
        }
        _ => return format!("count={count}"),
    };
    format!("{sides} count={count}")
}

impl DivergenceRow {
    /// The row for one difference of version 1 recordings.
    pub fn new(d: &Divergence, tables: [&SiteTable; 2]) -> DivergenceRow {
        let [a, b] = d.events;
        let site = a.or(b).map_or(0, |e| e.site);
        let details = match (d.kind, a, b) {
            (FindingKind::Branch, Some(a), Some(b)) if a.dir == b.dir => {
                format!("target_a={} target_b={}", a.value, b.value)
            }
            (FindingKind::Branch, Some(a), Some(b)) => format!("dir_a={} dir_b={}", a.dir, b.dir),
            (FindingKind::ActiveMask, Some(a), Some(b)) => {
                format!("mask_a={:#010x} mask_b={:#010x}", a.mask, b.mask)
            }
            (FindingKind::Value, Some(a), Some(b)) if a.value == b.value => {
                format!("old_a={} old_b={}", a.result, b.result)
            }
            (FindingKind::Value, Some(a), Some(b)) => format!("val_a={} val_b={}", a.value, b.value),
            (_, Some(a), Some(b)) if a.site == b.site => format!("type_a={} type_b={}", a.kind, b.kind),
            (_, Some(a), Some(b)) => format!("site_a={:#010x} site_b={:#010x}", a.site, b.site),
            (_, a, _) => {
                format!(
                    "count={} in_trace={}",
                    d.extra[0].max(d.extra[1]),
                    if a.is_some() { "A" } else { "B" }
                )
            }
        };
        let location = tables[0].location(site).or_else(|| tables[1].location(site)).map(|l| place(&l));
        DivergenceRow { warp: d.warp.into(), event: d.at[0].into(), site, kind: d.kind, details, location }
    }
}

impl DivergenceCounts {
    /// Rows from a launch's report alone: the first difference of each finding in each listed warp.
    pub fn of(launch: &LaunchReport) -> DivergenceCounts {
        let d = &launch.differing;
        let mut out = DivergenceCounts { kinds: d.kinds, warps: d.warps, ..DivergenceCounts::default() };
        for f in &launch.findings {
            for w in &f.warps {
                let shown = w.warp == f.warp.warp;
                out.rows.push(DivergenceRow {
                    warp: w.warp,
                    event: if shown { f.position } else { w.visit.unwrap_or(0) },
                    site: f.shown().map_or(0, |s| s.id.0),
                    kind: f.kind,
                    details: details(f, w, shown),
                    location: f.location().map(|l| match (&l.function[..], f.shown()) {
                        ("", Some(site)) => place(&Location { function: site.function.clone(), ..l.clone() }),
                        _ => place(l),
                    }),
                });
            }
        }
        out.events = [0, 1].map(|s| launch.coverage.elements[s].recorded);
        out
    }

    fn counted(&self, gate: LegacyGate) -> u64 {
        self.all() - if gate.ignore_masks { self.kinds[FindingKind::ActiveMask as usize] } else { 0 }
    }

    fn all(&self) -> u64 {
        self.kinds.iter().fold(0, |n, k| n.saturating_add(*k))
    }
}

/// Whether a report passes: at most the threshold of divergences, no other difference, and no gaps.
pub fn passes(report: &Report, counts: &[DivergenceCounts], gate: LegacyGate) -> bool {
    let counted: u64 = counts.iter().map(|c| c.counted(gate)).sum();
    let seen = report.gaps.is_empty() && report.launches.iter().all(|l| l.gaps.is_empty());
    // A launch that differs without a divergence differs as a whole: shape, outputs, a fault.
    let mut pairs = report.launches.iter().zip(counts);
    let whole = pairs.all(|(l, c)| l.verdict != Verdict::Differs || c.all() > 0);
    counted <= gate.threshold && seen && whole && report.unpaired.is_empty()
}

fn status(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "identical",
        Verdict::Differs => "diverged",
        Verdict::Unknown => "unknown",
    }
}

/// Writes a report with the keys of PRLX 0.5 before its own. `session` selects the form for sessions.
///
/// # Errors
/// Those of `out`.
pub fn legacy_json(
    out: &mut impl Write,
    report: &Report,
    counts: &[DivergenceCounts],
    gate: LegacyGate,
    session: bool,
) -> io::Result<()> {
    let mut keys = Map::new();
    keys.insert("status".into(), status(report.verdict).into());
    if session {
        let of = |(l, c): (&LaunchReport, &DivergenceCounts)| {
            json!({
                "kernel": l.kernel, "launch": l.launch[0], "status": status(l.verdict), "divergences": c.all(),
            })
        };
        keys.insert("kernel_results".into(), report.launches.iter().zip(counts).map(of).collect());
        for (side, name) in [(0, "unmatched_a"), (1, "unmatched_b")] {
            let alone = report.unpaired.iter().filter(|u| u.side == side);
            let names: Value = alone.map(|u| format!("{} (launch {})", u.kernel, u.launch)).collect();
            keys.insert(name.into(), names);
        }
    } else {
        let sum = |of: &dyn Fn(&DivergenceCounts) -> u64| counts.iter().map(of).sum::<u64>();
        let rows = || counts.iter().flat_map(|c| &c.rows);
        let kinds = [
            FindingKind::Branch,
            FindingKind::ActiveMask,
            FindingKind::Value,
            FindingKind::Path,
            FindingKind::ExtraEvents,
        ];
        let count = |k: FindingKind| (k.name(), sum(&|c| c.kinds[k as usize]));
        let kinds: BTreeMap<&str, u64> = kinds.into_iter().map(count).filter(|(_, n)| *n > 0).collect();
        let warps: u64 =
            report.launches.iter().map(|l| l.coverage.warps.equal + l.coverage.warps.compared).sum();
        let row = |r: &DivergenceRow| {
            let mut row = Map::new();
            row.insert("warp_idx".into(), r.warp.into());
            row.insert("event_idx".into(), r.event.into());
            row.insert("site_id".into(), format!("{:#010x}", r.site).into());
            row.insert("kind".into(), r.kind.name().into());
            if let Some(l) = &r.location {
                row.insert("source_location".into(), l.clone().into());
            }
            row.insert("details".into(), r.details.clone().into());
            Value::Object(row)
        };
        let pairs = [
            ("total_divergences", sum(&|c| c.all()).into()),
            ("counted_divergences", sum(&|c| c.counted(gate)).into()),
            ("warps_compared", warps.into()),
            ("warps_diverged", sum(&|c| c.warps).into()),
            ("total_events_a", sum(&|c| c.events[0]).into()),
            ("total_events_b", sum(&|c| c.events[1]).into()),
            ("divergence_breakdown", json!(kinds)),
            ("divergences", rows().map(row).collect()),
            ("divergences_listed", rows().count().into()),
        ];
        keys.extend(pairs.map(|(k, v)| (k.to_owned(), v)));
        if let Some(l) = report.launches.first().filter(|l| l.device[0] != l.device[1]) {
            let size = [l.warp_size; 2];
            let block = [l.block.x, l.block.y, l.block.z];
            let grid = [l.grid.x, l.grid.y, l.grid.z];
            keys.insert(
                "cross_gpu".into(),
                json!({
                    "arch_a": l.device[0], "arch_b": l.device[1], "warp_size_a": size[0], "warp_size_b": size[1],
                    "grid_a": grid, "grid_b": grid, "block_a": block, "block_b": block,
                }),
            );
        }
    }
    keys.insert("threshold".into(), gate.threshold.into());
    keys.insert("passed".into(), passes(report, counts, gate).into());
    json_with(out, report, keys)
}

/// `text` as a CSV field: quoted where needed, and without anything that a terminal or a spreadsheet would
/// execute.
pub fn csv_field(text: &str) -> String {
    let text = clean(text);
    let formula = text.starts_with(['=', '+', '@', '-']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Writes the listed divergences as the CSV of PRLX 0.5.
///
/// # Errors
/// Those of `out`.
pub fn legacy_csv(out: &mut impl Write, counts: &[DivergenceCounts]) -> io::Result<()> {
    writeln!(out, "warp_idx,event_idx,site_id,kind,details,source_location")?;
    for r in counts.iter().flat_map(|c| &c.rows) {
        let location = r.location.as_deref().map(csv_field).unwrap_or_default();
        let (kind, details) = (r.kind.name(), csv_field(&r.details));
        writeln!(out, "{},{},{:#010x},{kind},{details},{location}", r.warp, r.event, r.site)?;
    }
    Ok(())
}

/// Writes the listed divergences as a Chrome trace. A CTA is a process, a warp a thread, an event's index its
/// time.
///
/// # Errors
/// Those of `out`.
pub fn legacy_chrome(out: &mut impl Write, report: &Report, counts: &[DivergenceCounts]) -> io::Result<()> {
    let mut events = Vec::new();
    let mut heat: BTreeMap<String, u64> = BTreeMap::new();
    for (launch, c) in report.launches.iter().zip(counts) {
        let per_cta = launch.warp_size.warps(launch.block.volume()).max(1);
        let name = json!({"name": clean(&launch.kernel)});
        events.push(
            json!({"name": "process_name", "cat": "__metadata", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": name}),
        );
        for r in &c.rows {
            let place = r.location.clone().unwrap_or_else(|| format!("{:#010x}", r.site));
            let args = json!({
                "site_id": format!("{:#010x}", r.site), "kind": r.kind.name(), "event_idx": r.event, "warp_idx": r.warp,
            });
            events.push(json!({
                "name": format!("{place} [{}]", r.kind.name()), "cat": r.kind.name(), "ph": "X",
                "ts": r.event.saturating_mul(10), "dur": 10, "pid": r.warp / per_cta, "tid": r.warp % per_cta, "args": args,
            }));
            *heat.entry(place).or_default() += 1;
        }
    }
    events.push(json!({
        "name": "divergence_count", "cat": "heatmap", "ph": "C", "ts": 0, "pid": 0, "tid": 0, "args": heat,
    }));
    serde_json::to_writer(&mut *out, &json!({ "traceEvents": events }))?;
    writeln!(out)
}
