//! `prlx compare`: runs two launch files, says where they first part, and looks closer there by itself.

use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx_analyze::Report;
use prlx_driver::Job;
use prlx_trace::Level;
use prlx_trace::check::Findings;
use prlx_trace::launch::Window;

use crate::args::{CompareArgs, DeviceArgs};
use crate::commands::record::save;
use crate::record;
use crate::report;
use crate::seeds;
use crate::ui::Ui;

/// Findings that are looked at closer: each costs one more run of both sides.
const ZOOMS: usize = 3;

/// Compares two launches, or the schedules of one or two, and prints the report.
pub fn run(args: &CompareArgs, ui: &Ui) -> Result<ExitCode> {
    if let Some(range) = &args.seeds {
        return seeds::run(args, range, false, ui);
    }
    let files = [&args.a, args.b.as_ref().unwrap_or(&args.a)];
    let jobs = [record::load(files[0], &args.device)?, record::load(files[1], &args.device)?];
    let names = files.map(|f| f.display().to_string());
    let (found, [a, b]) = parted(&jobs, names, args, &args.device, ui)?;
    report::print(&found, args.device.check.map(|_| [&a, &b]), &args.report, ui)
}

/// Records both sides on a device, compares, and records again around the first findings with all operands. Also what checks
/// found.
pub fn parted(
    jobs: &[Job; 2],
    names: [String; 2],
    args: &CompareArgs,
    device: &DeviceArgs,
    ui: &Ui,
) -> Result<(Report, [Findings; 2])> {
    let programs = jobs.each_ref().map(|job| record::program(&args.recorder, record::warps_per_cta(job)));
    let of = |i: usize| record::record(&jobs[i], &programs[i], &args.recorder, device, ui);
    let ((a, found_a), (b, found_b)) = (of(0)?, of(1)?);
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        save(&a, &folder.join("a.prlx"))?;
        save(&b, &folder.join("b.prlx"))?;
    }
    let mut found = report::diff(&a, &b, names, &args.report, None, ui)?;
    if !args.no_zoom && args.recorder.level == Level::Path {
        let windows: Vec<[Option<Window>; 2]> = found
            .launches
            .iter()
            .flat_map(|l| &l.findings)
            .take(ZOOMS)
            .map(|f| [0, 1].map(|side| prlx_analyze::window_for(f, side)))
            .collect();
        for [wa, wb] in windows {
            // A finding that only one side has a site for shows that side's operands.
            let zoom = |i: usize, w: Option<Window>| match w {
                Some(w) => {
                    let unchecked = DeviceArgs { check: None, ..device.clone() };
                    let zoomed = record::zoom(&programs[i], w);
                    record::record(&jobs[i], &zoomed, &args.recorder, &unchecked, ui).map(|(trace, _)| trace)
                }
                None => Ok(prlx_trace::Trace::default()),
            };
            prlx_analyze::attach_operands(&mut found, &zoom(0, wa)?, &zoom(1, wb)?)?;
        }
    }
    Ok((found, [found_a, found_b]))
}
