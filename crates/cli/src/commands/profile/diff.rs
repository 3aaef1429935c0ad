//! `prlx profile diff`: compares two timelines, for people and for CI.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::timeline::{LaunchFilter, read_timeline};
use prlx_present::profile as present;
use prlx_timeline::Timeline;

use crate::args::ProfileDiffArgs;
use crate::files::write_file;
use crate::ui::Ui;

/// Prints which regions take longer or shorter, and writes the page of both if the options ask for it.
pub fn run(args: &ProfileDiffArgs, ui: &Ui) -> Result<ExitCode> {
    let view = &args.view;
    if let Some(option) = view.span_file() {
        bail!("{option} is for one timeline: use it with `prlx timeline`");
    }
    if !(0.0..=1e6).contains(&args.least) {
        bail!("--least {} is not a percentage", args.least);
    }
    let side = |path| -> Result<Timeline> {
        let mut side = read_timeline(path, &args.buffer.format(), LaunchFilter::default(), &ui.monitor())?;
        view.cut().apply(&mut side);
        Ok(side)
    };
    let sides = [side(&args.a)?, side(&args.b)?];
    let names = [&args.a, &args.b].map(|p| p.display().to_string());
    let found = prlx_timeline::diff(&sides[0], &sides[1], args.least / 100.0);
    if let Some(path) = &view.html {
        let analyses = sides.each_ref().map(prlx_timeline::analyze);
        let page =
            |i: usize| present::ProfilePage { name: &names[i], timeline: &sides[i], analysis: &analyses[i] };
        write_file(path, |out| present::profile_html(out, &[page(0), page(1)]))?;
    }
    let names = names.each_ref().map(String::as_str);
    let mut out = ui.out(view.json);
    if view.json {
        present::profile_diff_json(&mut out, names, &found)?;
    } else {
        present::profile_diff(&mut out, names, &found, view.rows, &ui.style())?;
    }
    out.flush()?;
    Ok(ExitCode::from(found.verdict.exit_code()))
}
