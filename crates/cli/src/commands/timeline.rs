//! `prlx timeline`: a buffer of another profiler, or a recording with markers: where the cycles go.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use prlx_analyze::profile::{self, Timeline, buffer};
use prlx_driver::npy::{self, Array};
use prlx_driver::session::Session;
use prlx_present::profile as present;
use prlx_trace::cudaprofiler::{self, Given};
use prlx_trace::kernel::Scalar;

use crate::args::{TimelineArgs, ViewArgs};
use crate::report;
use crate::ui::Ui;

/// Reads it, and shows what was asked for.
pub fn run(args: &TimelineArgs, ui: &Ui) -> Result<ExitCode> {
    let Some(other) = &args.against else {
        show(read(&args.input, args, ui)?, &name(&args.input), &args.view, ui)?;
        return Ok(ExitCode::SUCCESS);
    };
    let sides = [read(&args.input, args, ui)?, read(other, args, ui)?];
    against(sides, [name(&args.input), name(other)], args.least / 100.0, &args.view, ui)
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// A buffer, or a recording.
fn read(path: &Path, args: &TimelineArgs, ui: &Ui) -> Result<Timeline> {
    let _bar = ui.spinner("reading the timeline");
    if path.extension().is_some_and(|e| e == "npy") {
        return of_buffer(path, args).with_context(|| name(path));
    }
    let given =
        [("--names", !args.names.is_empty()), ("--blocks", args.blocks.is_some()), ("--groups", args.groups.is_some())];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{option} is for buffers in .npy files: {} is none", path.display());
    }
    of_recording(path)
}

/// Holds two timelines against each other: says what differs by more than a share, and writes the page of both if it was asked for.
pub fn against(sides: [Timeline; 2], names: [String; 2], least: f64, args: &ViewArgs, ui: &Ui) -> Result<ExitCode> {
    let files = [
        ("--perfetto", &args.perfetto),
        ("--chrome", &args.chrome),
        ("--csv", &args.csv),
        #[cfg(feature = "parquet")]
        ("--parquet", &args.parquet),
        ("--cudaprofiler", &args.cudaprofiler),
    ];
    if let Some((option, _)) = files.iter().find(|(_, path)| path.is_some()) {
        bail!("{option} is of one timeline: leave out --against");
    }
    let sides = sides.map(|mut side| {
        args.cut().apply(&mut side);
        side
    });
    let found = profile::diff(&sides[0], &sides[1], least);
    if let Some(path) = &args.html {
        let analyses = sides.each_ref().map(profile::analyze);
        let page = |i: usize| present::Page { name: &names[i], timeline: &sides[i], analysis: &analyses[i] };
        save(path, |out| present::profile_html(out, &[page(0), page(1)]))?;
    }
    let names = names.each_ref().map(String::as_str);
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        present::profile_diff_json(&mut out, names, &found)?;
    } else {
        present::profile_diff(&mut out, names, &found, args.rows, &ui.style())?;
    }
    out.flush()?;
    Ok(ExitCode::from(found.verdict.exit_code()))
}

fn of_buffer(path: &Path, args: &TimelineArgs) -> Result<Timeline> {
    let array = npy::read(&fs::read(path)?).map_err(|e| anyhow!(e))?;
    if !matches!(array.ty, Scalar::U64 | Scalar::S64) {
        bail!("its elements are {}: a buffer has words of 64 bits", array.ty.name());
    }
    let words: Vec<u64> = array.bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
    let events = Some(args.names.len()).filter(|n| *n > 0);
    let given = Given { blocks: args.blocks, groups: args.groups, events };
    let buffer = cudaprofiler::read(&words, args.format.into(), given).map_err(|e| {
        let help = if e.what.contains("must be given") { " (--blocks and --groups)" } else { "" };
        anyhow!("{e}{help}")
    })?;
    Ok(buffer::timeline(&buffer, &args.names))
}

/// The timeline of a recording of one process.
pub fn of_recording(path: &Path) -> Result<Timeline> {
    let session = Session::open(path)?;
    if session.files.len() != 1 {
        bail!("{} has {} processes: name the file of one of them", path.display(), session.files.len());
    }
    let trace = report::read(&session, 0)?;
    if trace.marks.is_empty() {
        bail!("{} has nothing that markers left: `prlx profile` records it", path.display());
    }
    Ok(profile::timeline(&trace))
}

/// Prints what is found in a timeline, and writes the files that were asked for.
pub fn show(mut timeline: Timeline, name: &str, args: &ViewArgs, ui: &Ui) -> Result<()> {
    args.cut().apply(&mut timeline);
    let bar = ui.spinner("looking where the cycles go");
    let analysis = profile::analyze(&timeline);
    drop(bar);
    if let Some(path) = &args.cudaprofiler {
        let (buffer, names) = buffer::of(&mut timeline).map_err(|e| anyhow!("--cudaprofiler: {e}"))?;
        let words = cudaprofiler::write(&buffer).map_err(|e| anyhow!("--cudaprofiler: {e}"))?;
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let array = Array { ty: Scalar::U64, shape: vec![words.len() as u64], bytes };
        fs::write(path, npy::write(&array)).with_context(|| format!("cannot write {}", path.display()))?;
        ui.note(&format!("{}: --names {}", path.display(), prlx_present::safe(&names.join(","))));
    }
    if let Some(path) = &args.perfetto {
        save(path, |out| present::perfetto(out, &timeline))?;
        let spans = analysis.spans;
        if spans > present::DETAILED as u64 {
            ui.note(&format!(
                "{}: names and times of {spans} spans; trips, cycles and words are left out",
                path.display()
            ));
        }
    }
    if let Some(path) = &args.chrome {
        save(path, |out| present::chrome(out, &timeline))?;
    }
    if let Some(path) = &args.csv {
        save(path, |out| present::csv(out, &timeline))?;
    }
    #[cfg(feature = "parquet")]
    if let Some(path) = &args.parquet {
        let all = || -> io::Result<()> {
            let mut out = prlx_present::parquet::Writer::new(BufWriter::new(File::create(path)?), &present::SPANS)?;
            present::rows(&timeline, &mut |batch| out.rows(&batch))?;
            out.finish()?.flush()
        };
        all().with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.html {
        let page = present::Page { name, timeline: &timeline, analysis: &analysis };
        save(path, |out| present::profile_html(out, &[page]))?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        present::profile_json(&mut out, &timeline, &analysis)?;
    } else {
        present::profile(&mut out, &timeline, &analysis, args.rows, &ui.style())?;
    }
    out.flush()?;
    Ok(())
}

fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let all = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        out.flush()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}
