//! `prlx diff` of recordings of PRLX 0.x: files or sessions, with the flags, keys and columns that its
//! scripts know.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::diff::{Histories, LegacyComparison, LegacyOptions, diff_legacy};
use prlx::legacy::{self, Input};
use prlx_analyze::{FindingKind, Report, Verdict};
use prlx_present::legacy::{DivergenceCounts, LegacyGate, legacy_chrome, legacy_csv, legacy_json, passes};

use crate::args::DiffArgs;
use crate::launch_timeline;
use crate::report;
use crate::ui::Ui;

/// Minimum number of findings that JSON and pages list: PRLX 0.x listed more divergences than it printed.
const MIN_LISTED: usize = 64;

/// Compares two recordings of PRLX 0.x, and prints the report; `None` if neither is one.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<Option<ExitCode>> {
    let Some(mut found) = compare(args, ui)? else { return Ok(None) };
    if launch_timeline::wanted(&args.report) {
        bail!("a recording of PRLX 0.x has no times, so it has no timeline");
    }
    report::write_files(&mut found.report, &found.scene, findings_listed(args), &args.report)?;
    let no_traces = |_| bail!("a recording of PRLX 0.x does not hold the code");
    report::open_viewer(&found.report, &found.scene, no_traces, &args.report, ui)?;
    let LegacyComparison { report, counts, histories, session, .. } = &found;
    let divergences = Divergences { counts, histories, session: *session };
    finish(args, report, divergences, ui).map(Some)
}

/// Compares two recordings of PRLX 0.x; `None` if neither is one.
pub fn compare(args: &DiffArgs, ui: &Ui) -> Result<Option<LegacyComparison>> {
    let paths = [args.a.as_path(), args.b.as_path()];
    if args.shard.is_some() && !matches!(legacy::identify(paths[0])?, Input::Other) {
        bail!("--shard is for recordings of this version");
    }
    let p = &args.legacy;
    let lists = args.report.json || args.output.is_some() || p.csv.is_some() || p.export_flamegraph.is_some();
    let options = LegacyOptions {
        values: p.values,
        force: p.force,
        site_table: p.map.clone(),
        site_tables: [p.remap_a.clone(), p.remap_b.clone()],
        warps: p.warps.iter().map(|(first, end)| (clamped(*first), clamped(end - 1))).collect(),
        kinds: p.filter_kind.clone(),
        sites: p.filter_sites.clone(),
        findings: report::findings_kept(&args.report, findings_listed(args)),
        listed: lists.then_some(p.limit),
        float: p.float,
        session: p.session,
    };
    let found = diff_legacy(paths, &options, &ui.monitor())?;
    if found.is_some() && args.tolerance.options().is_some() {
        ui.warn("the tolerance has no effect: recordings of PRLX 0.x hold no outputs");
    }
    Ok(found)
}

/// The number of a warp in a file of PRLX 0.x, which has 32 bits.
fn clamped(warp: u64) -> u32 {
    u32::try_from(warp).unwrap_or(u32::MAX)
}

/// Findings of each launch that JSON and pages list.
fn findings_listed(args: &DiffArgs) -> usize {
    args.report.findings.max(MIN_LISTED)
}

/// What a report prints besides its findings.
#[derive(Clone, Copy)]
pub struct Divergences<'a> {
    /// By launch: counts and single divergences.
    pub counts: &'a [DivergenceCounts],
    /// By launch and finding: the values that the warp read before.
    pub histories: &'a [Vec<Histories>],
    /// Both sides are sessions of PRLX 0.x.
    pub session: bool,
}

/// Writes everything that the options ask for. The exit code is the gate's, if there is one.
pub fn finish(args: &DiffArgs, report: &Report, divergences: Divergences<'_>, ui: &Ui) -> Result<ExitCode> {
    let Divergences { counts, histories, session } = divergences;
    let p = &args.legacy;
    let gate =
        LegacyGate { threshold: p.max_allowed_divergences.unwrap_or(0), ignore_masks: p.ignore_active_mask };
    let file = |path: &Path, write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        prlx_driver::files::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &p.csv {
        file(path, &|out| legacy_csv(out, counts))?;
    }
    if let Some(path) = &p.export_flamegraph {
        file(path, &|out| legacy_chrome(out, report, counts))?;
    }
    if let Some(path) = &args.output {
        file(path, &|out| legacy_json(out, report, counts, gate, session))?;
    } else if !args.report.tui {
        let mut out = ui.out(args.report.json);
        if args.report.json {
            legacy_json(&mut out, report, counts, gate, session)?;
        } else {
            let mut shown = report.clone();
            shown.launches.iter_mut().for_each(|l| l.findings.truncate(args.report.findings));
            prlx_present::text(&mut out, &shown, &ui.style())?;
            if p.history {
                history(&mut out, report, histories)?;
            }
            if p.classify {
                classify(&mut out, report)?;
            }
        }
        out.flush()?;
    }
    let gated = p.max_allowed_divergences.is_some() || p.ignore_active_mask;
    Ok(match report.verdict {
        Verdict::Differs if gated && passes(report, counts, gate) => ExitCode::SUCCESS,
        verdict => ExitCode::from(verdict.exit_code()),
    })
}

fn history(out: &mut impl Write, report: &Report, histories: &[Vec<Histories>]) -> Result<()> {
    for (launch, of) in report.launches.iter().zip(histories) {
        for (i, (f, sides)) in launch.findings.iter().zip(of).enumerate() {
            for (name, values) in ["A", "B"].iter().zip(sides).filter(|(_, v)| !v.is_empty()) {
                let values: Vec<String> =
                    values.iter().map(|h| format!("{:#x} at {:#010x}", h.value, h.site)).collect();
                writeln!(
                    out,
                    "history   finding {}, warp {} of {name}: {}",
                    i + 1,
                    f.warp.warp,
                    values.join(", ")
                )?;
            }
        }
    }
    Ok(())
}

fn classify(out: &mut impl Write, report: &Report) -> Result<()> {
    let all = FindingKind::ALL.into_iter().map(|k| {
        let of = report.launches.iter().map(|l| l.differing.kinds[k as usize]);
        (k, of.fold(0, u64::saturating_add))
    });
    let all: Vec<String> = all.filter(|(_, n)| *n > 0).map(|(k, n)| format!("{} {n}", k.name())).collect();
    writeln!(out, "kinds     {}", if all.is_empty() { "none".into() } else { all.join(", ") })?;
    Ok(())
}
