//! `prlx timeline`: shows where the cycles go, from a recording with markers or another profiler's buffer.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use prlx::timeline::{LaunchFilter, read_timeline};
use prlx_present::profile as present;
use prlx_timeline::{Analysis, Timeline};
use prlx_trace::Printed;

use crate::args::{TimelineArgs, ViewArgs};
use crate::files::write_file;
use crate::ui::Ui;

/// Reads the timeline, and shows what the options ask for.
pub fn run(args: &TimelineArgs, ui: &Ui) -> Result<ExitCode> {
    let filter = LaunchFilter { kernels: &args.kernel, launches: &args.launch };
    let timeline = read_timeline(&args.input, &args.buffer.format(), filter, &ui.monitor())?;
    show(timeline, None, &args.input.display().to_string(), &args.view, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints an analysis of a timeline, and writes the files that the options ask for. JSON also has `printed`,
/// what the kernel of each launch file printed.
pub fn show(
    mut timeline: Timeline,
    printed: Option<&[Printed]>,
    name: &str,
    args: &ViewArgs,
    ui: &Ui,
) -> Result<()> {
    args.cut().apply(&mut timeline);
    let activity = ui.monitor().activity("analysing the timeline");
    let analysis = prlx_timeline::analyze(&timeline);
    drop(activity);
    if let Some(path) = &args.cudaprofiler {
        save_buffer(&mut timeline, path, ui)?;
    }
    if let Some(path) = &args.perfetto {
        write_file(path, |out| present::perfetto(out, &timeline))?;
        let spans = analysis.spans;
        if spans > present::DETAILED as u64 {
            ui.note(&format!(
                "{}: {spans} spans with names and times; iterations, cycles and words are omitted",
                path.display()
            ));
        }
    }
    if let Some(path) = &args.chrome {
        write_file(path, |out| present::chrome(out, &timeline))?;
    }
    if let Some(path) = &args.csv {
        write_file(path, |out| present::csv(out, &timeline))?;
    }
    if let Some(path) = &args.parquet {
        crate::tables::write_spans(&timeline, path)?;
    }
    if let Some(path) = &args.html {
        let page = present::ProfilePage { name, timeline: &timeline, analysis: &analysis };
        write_file(path, |out| present::profile_html(out, &[page]))?;
    }
    let mut out = ui.out(args.json);
    let kernels: Vec<(Timeline, Analysis)> = match timeline.by_kernel() {
        parts if parts.len() > 1 => {
            parts.into_iter().map(|t| (prlx_timeline::analyze(&t), t)).map(|(a, t)| (t, a)).collect()
        }
        _ => Vec::new(),
    };
    if args.json {
        present::profile_json(&mut out, &timeline, &analysis, &kernels, printed)?;
    } else if kernels.is_empty() {
        present::profile(&mut out, &timeline, &analysis, args.rows, &ui.style())?;
    } else {
        // Tables over several kernels mean nothing, so each kernel has its own.
        present::profile_head(&mut out, &timeline, &analysis, args.rows, &ui.style())?;
        for (timeline, analysis) in &kernels {
            writeln!(out)?;
            present::profile(&mut out, timeline, analysis, args.rows, &ui.style())?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Writes a timeline as a buffer of TVM's CudaProfiler, and prints the names of its events.
pub fn save_buffer(timeline: &mut Timeline, path: &Path, ui: &Ui) -> Result<()> {
    let names = prlx::timeline::save_buffer(timeline, path)?;
    ui.note(&format!("{}: --names {}", path.display(), prlx_present::safe(&names.join(","))));
    Ok(())
}
