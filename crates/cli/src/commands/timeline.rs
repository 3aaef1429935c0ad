//! `prlx timeline`: a buffer of another profiler, or a recording with markers: where the cycles go.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use prlx_driver::npy::{self, Array};
use prlx_driver::session::{Pattern, Session};
use prlx_legacy::cudaprofiler::{self, Given};
use prlx_present::profile as present;
use prlx_timeline::{Analysis, Timeline};
use prlx_trace::Trace;
use prlx_trace::kernel::Scalar;

use crate::args::{BufferArgs, TimelineArgs, ViewArgs};
use crate::report;
use crate::timeline::save;
use crate::ui::Ui;

/// Reads it, and shows what was asked for.
pub fn run(args: &TimelineArgs, ui: &Ui) -> Result<ExitCode> {
    let choice = Choice { kernels: &args.kernel, launches: &args.launch };
    let timeline = read(&args.input, &args.buffer, choice, ui)?;
    show(timeline, &args.input.display().to_string(), &args.view, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// Which launches of a recording; empty lists are all.
#[derive(Clone, Copy, Default)]
pub struct Choice<'a> {
    /// By their kernels.
    pub kernels: &'a [Pattern],
    /// By their numbers: first, and end.
    pub launches: &'a [(u64, u64)],
}

impl Choice<'_> {
    /// Leaves out what the markers of other launches left.
    fn apply(self, trace: &mut Trace) {
        let wanted = |number: u64, kernel: &str| {
            let kernel = self.kernels.is_empty() || self.kernels.iter().any(|p| p.takes(kernel));
            kernel
                && (self.launches.is_empty() || self.launches.iter().any(|(a, b)| (*a..*b).contains(&number)))
        };
        let (launches, modules) = (&trace.launches, &trace.modules);
        trace.marks.retain(|m| {
            let of =
                launches.iter().map(|r| &r.launch).find(|l| l.number == m.launch && l.module == m.module);
            let function = of.and_then(|l| modules.get(l.module.index())?.functions.get(l.kernel.index()));
            wanted(m.launch, function.map_or("", |f| &f.name))
        });
    }
}

/// A buffer, or a recording.
pub fn read(path: &Path, args: &BufferArgs, choice: Choice<'_>, ui: &Ui) -> Result<Timeline> {
    let _bar = ui.spinner("reading the timeline");
    let name = path.display();
    if path.extension().is_some_and(|e| e == "npy") {
        if !choice.kernels.is_empty() || !choice.launches.is_empty() {
            bail!("--kernel and --launch are for recordings: {name} is of one launch");
        }
        return of_buffer(path, args).with_context(|| name.to_string());
    }
    let given = [
        ("--names", !args.names.is_empty()),
        ("--blocks", args.blocks.is_some()),
        ("--groups", args.groups.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{option} is for buffers in .npy files: {name} is none");
    }
    let mut all = traces(path)?;
    match all.len() {
        0 => bail!("{name} has nothing that markers left: `prlx profile` records it"),
        1 => {}
        n => bail!("{name} has {n} processes with markers: name the file of one of them, as {}", all[0].0),
    }
    let (_, mut trace) = all.remove(0);
    choice.apply(&mut trace);
    if trace.marks.is_empty() {
        bail!("none of the launches in {name} was asked for (--kernel, --launch)");
    }
    Ok(prlx_timeline::timeline(&trace, prlx_driver::occupancy::threads_per_sm))
}

/// The files of a recording in which markers left something, and what they hold.
pub fn traces(path: &Path) -> Result<Vec<(String, Trace)>> {
    let session = Session::open(path)?;
    let mut all = Vec::new();
    for (i, file) in session.files.iter().enumerate() {
        let trace = report::read(&session, i)?;
        if !trace.marks.is_empty() {
            all.push((file.path.display().to_string(), trace));
        }
    }
    Ok(all)
}

fn of_buffer(path: &Path, args: &BufferArgs) -> Result<Timeline> {
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
    Ok(cudaprofiler::to_timeline(&buffer, &args.names))
}

/// Prints what is found in a timeline, and writes the files that were asked for.
pub fn show(mut timeline: Timeline, name: &str, args: &ViewArgs, ui: &Ui) -> Result<()> {
    args.cut().apply(&mut timeline);
    let bar = ui.spinner("looking where the cycles go");
    let analysis = prlx_timeline::analyze(&timeline);
    drop(bar);
    if let Some(path) = &args.cudaprofiler {
        save_buffer(&mut timeline, path, ui)?;
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
            let mut out =
                prlx_present::parquet::Writer::new(BufWriter::new(File::create(path)?), &present::SPANS)?;
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
    let kernels: Vec<(Timeline, Analysis)> = match timeline.by_kernel() {
        parts if parts.len() > 1 => {
            parts.into_iter().map(|t| (prlx_timeline::analyze(&t), t)).map(|(a, t)| (t, a)).collect()
        }
        _ => Vec::new(),
    };
    if args.json {
        present::profile_json(&mut out, &timeline, &analysis, &kernels)?;
    } else if kernels.is_empty() {
        present::profile(&mut out, &timeline, &analysis, args.rows, &ui.style())?;
    } else {
        // Of several kernels no table makes sense but those of each.
        present::profile_head(&mut out, &timeline, &analysis, args.rows, &ui.style())?;
        for (timeline, analysis) in &kernels {
            writeln!(out)?;
            present::profile(&mut out, timeline, analysis, args.rows, &ui.style())?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Writes it as a buffer of TVM's.
pub fn save_buffer(timeline: &mut Timeline, path: &Path, ui: &Ui) -> Result<()> {
    let failed = |e| anyhow!("{} can't be a buffer of CudaProfiler's: {e}", path.display());
    let (buffer, names) = cudaprofiler::from_timeline(timeline).map_err(failed)?;
    let words = cudaprofiler::write(&buffer).map_err(|e| failed(e.to_string()))?;
    let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let array = Array { ty: Scalar::U64, shape: vec![words.len() as u64], bytes };
    fs::write(path, npy::write(&array)).with_context(|| format!("cannot write {}", path.display()))?;
    ui.note(&format!("{}: --names {}", path.display(), prlx_present::safe(&names.join(","))));
    Ok(())
}
