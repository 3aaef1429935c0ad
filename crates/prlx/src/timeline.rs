//! Reads timelines from recordings with markers and from the buffers of other profilers, and writes such
//! buffers.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use prlx_driver::npy::{self, Array};
use prlx_driver::occupancy::threads_per_sm;
use prlx_driver::session::KernelPattern;
use prlx_legacy::cudaprofiler::{self, Format, Given};
use prlx_timeline::Timeline;
use prlx_trace::Trace;
use prlx_trace::kernel::Scalar;

use crate::Monitor;
use crate::diff::read_file;
use crate::input::{self, FileKind};

/// Which launches of a recording a timeline shows; empty lists mean all.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchFilter<'a> {
    /// Name patterns of kernels.
    pub kernels: &'a [KernelPattern],
    /// By half-open ranges of launch numbers.
    pub launches: &'a [(u64, u64)],
}

impl LaunchFilter<'_> {
    fn is_empty(self) -> bool {
        self.kernels.is_empty() && self.launches.is_empty()
    }

    /// Drops the marker records of all other launches.
    fn apply(self, trace: &mut Trace) {
        let wanted = |number: u64, kernel: &str| {
            let kernel = self.kernels.is_empty() || self.kernels.iter().any(|p| p.matches(kernel));
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

/// What a buffer of another profiler does not say itself.
#[derive(Clone, Debug)]
pub struct BufferFormat {
    /// Which profiler wrote it.
    pub format: Format,
    /// Names of its events, from number 0 on.
    pub names: Vec<String>,
    /// CTAs of the grid, if the buffer's header was never written.
    pub blocks: Option<u32>,
    /// Groups of a CTA, if the buffer's header was never written.
    pub groups: Option<u32>,
}

/// Reads a timeline: a buffer in a `.npy` file, or a recording with markers.
///
/// # Errors
/// If the file cannot be read, has nothing that matches, or an option does not apply to it.
pub fn read_timeline(
    path: &Path,
    format: &BufferFormat,
    filter: LaunchFilter<'_>,
    monitor: &Monitor<'_>,
) -> Result<Timeline> {
    let _activity = monitor.activity("reading the timeline");
    let name = path.display();
    if path.extension().is_some_and(|e| e == "npy") {
        if !filter.is_empty() {
            bail!("--kernel and --launch are for recordings; {name} has one launch");
        }
        return read_buffer(path, format).with_context(|| name.to_string());
    }
    let given = [
        ("--names", !format.names.is_empty()),
        ("--blocks", format.blocks.is_some()),
        ("--groups", format.groups.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        bail!("{option} is for buffers in .npy files; {name} is not one");
    }
    if input::identify(path)? == FileKind::LaunchFile {
        let help = format!("measure it with: prlx profile {}", input::shell(path));
        return Err(input::refuse(path, FileKind::LaunchFile, "a recording", help));
    }
    let mut all = marked_traces(path)?;
    match all.len() {
        0 => bail!("{name} has no marker records: `prlx profile` makes such recordings"),
        1 => {}
        n => bail!("{name} has {n} processes with markers: name the file of one process, as {}", all[0].0),
    }
    let (_, mut trace) = all.remove(0);
    filter.apply(&mut trace);
    if trace.marks.is_empty() {
        bail!("no launch in {name} matches --kernel and --launch");
    }
    Ok(prlx_timeline::timeline(&trace, threads_per_sm))
}

/// The files of a recording that hold marker records, with their names.
fn marked_traces(path: &Path) -> Result<Vec<(String, Trace)>> {
    let session = input::open_session(path)?;
    let mut all = Vec::new();
    for (i, file) in session.files.iter().enumerate() {
        let trace = read_file(&session, i)?;
        if !trace.marks.is_empty() {
            all.push((file.path.display().to_string(), trace));
        }
    }
    Ok(all)
}

fn read_buffer(path: &Path, format: &BufferFormat) -> Result<Timeline> {
    let array = npy::read(&prlx_driver::files::read(path)?).map_err(|e| anyhow!(e))?;
    if !matches!(array.ty, Scalar::U64 | Scalar::S64) {
        bail!("its elements are {}; a buffer has 64-bit words", array.ty.name());
    }
    let words: Vec<u64> = array.bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
    let events = Some(format.names.len()).filter(|n| *n > 0);
    let given = Given { blocks: format.blocks, groups: format.groups, events };
    let no_sizes = words.first() == Some(&0) && (given.blocks.is_none() || given.groups.is_none());
    let help = if no_sizes { " (--blocks and --groups)" } else { "" };
    let buffer = cudaprofiler::read(&words, format.format, given).map_err(|e| anyhow!("{e}{help}"))?;
    Ok(cudaprofiler::to_timeline(&buffer, &format.names))
}

/// Writes a timeline as a buffer of TVM's CudaProfiler. Returns the names of its events.
///
/// # Errors
/// If the buffer cannot hold the timeline, or the file cannot be written.
pub fn save_buffer(timeline: &mut Timeline, path: &Path) -> Result<Vec<String>> {
    let failed = |e| anyhow!("{} cannot be written as a CudaProfiler buffer: {e}", path.display());
    let (buffer, names) = cudaprofiler::from_timeline(timeline).map_err(failed)?;
    let words = cudaprofiler::write(&buffer).map_err(|e| failed(e.to_string()))?;
    let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let array = Array { ty: Scalar::U64, shape: vec![words.len() as u64], bytes };
    prlx_driver::files::write(path, &npy::write(&array))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(names)
}
