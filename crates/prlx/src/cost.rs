//! Measures the overhead of recording, probing and profiling: time on a GPU, warp instructions on the CPU
//! device.
//!
//! Each kernel runs unchanged; unchanged once more, from a second copy (`again`, which shows the noise); and
//! with each instrumentation, recording and not recording. Every cost is in proportion to the first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use prlx_driver::{Cost, CostOptions, KernelVariant, MarkerVisits, ModuleCode};
use prlx_instrument::Rewrite;
use prlx_plan::RecordingRequest;
use prlx_trace::Level;

use crate::device::{Device, DeviceOptions, instrumented_code};
use crate::record;
use crate::record::kernel_resources::keep_resident;

/// Code that is inserted into kernels: a recorder, a probe program, or markers.
#[derive(Clone, Debug)]
pub struct Instrumentation {
    /// The name in results.
    pub name: String,
    /// What to insert.
    pub program: RecordingRequest,
}

/// The costs of one launch file's kernel.
#[derive(Debug)]
pub struct KernelCost {
    /// The launch file's name.
    pub name: String,
    /// The kernel's name.
    pub kernel: String,
    /// The unchanged kernel.
    pub bare: Cost,
    /// The unchanged kernel, from a second copy.
    pub again: Cost,
    /// Costs by instrumentation, in the given order.
    pub instrumented: Vec<InstrumentedCost>,
    /// Kernels of other modules, by module name.
    pub others: Vec<(String, Cost)>,
}

/// The cost of a kernel with one instrumentation.
#[derive(Debug)]
pub struct InstrumentedCost {
    /// The instrumentation's name.
    pub name: String,
    /// Time to read, plan, lower and verify the module, without the assembler.
    pub rewriting: Duration,
    /// Recording, and not recording; `None` if the program has no effect in the kernel, which stays
    /// unchanged.
    pub costs: Option<(Cost, Cost)>,
    /// Why some markers were left out.
    pub unmarked: Vec<String>,
}

impl InstrumentedCost {
    /// Recording, and not recording, in proportion to the bare kernel.
    pub fn ratios(&self, bare: &Cost) -> (f64, f64) {
        self.costs.as_ref().map_or((1.0, 1.0), |(on, off)| (ratio(on, bare), ratio(off, bare)))
    }
}

/// Measures one launch file.
///
/// # Errors
/// If the file cannot be read, a form cannot be made, or the kernel faults.
pub fn measure(
    launch: &Path,
    instrumentations: &[Instrumentation],
    others: &[PathBuf],
    options: &CostOptions,
    device: &DeviceOptions,
) -> Result<KernelCost> {
    let job = record::load(launch, device)?;
    if !others.is_empty() {
        job.require_ptx("comparisons with PTX files (`--also`)")?;
    }
    // A device of its own: a fault of one launch does not affect the next.
    let mut device = Device::open(device)?;
    let warp_size = device.driver().info().warp_size;
    let rewrites = instrumentations
        .iter()
        .map(|instrumentation| {
            let began = Instant::now();
            let rewrite = record::rewrite(&job, &instrumentation.program, warp_size)?;
            let elapsed = began.elapsed();
            Ok((keep_resident(rewrite, &instrumentation.program, &job, &mut device), elapsed))
        })
        .collect::<Result<Vec<(Rewrite, Duration)>>>()?;
    // A program without effect in the kernel leaves it unchanged.
    let idle = |instrumentation: &Instrumentation, rewrite: &Rewrite| {
        let kernel = rewrite
            .plan
            .functions
            .iter()
            .zip(&rewrite.plan.module.functions)
            .find(|f| f.1.name == job.kernel);
        instrumentation.program.level == Level::Probe && kernel.is_some_and(|(f, _)| f.skipped.is_some())
    };
    let idle: Vec<bool> = instrumentations.iter().zip(&rewrites).map(|(w, (r, _))| idle(w, r)).collect();
    let mut forms = vec![KernelVariant { code: job.code(), plan: None, records: false }; 2];
    for ((rewrite, _), _) in rewrites.iter().zip(&idle).filter(|(_, idle)| !**idle) {
        let code = instrumented_code(rewrite);
        let form = KernelVariant { code, plan: Some(&rewrite.plan), records: true };
        forms.extend([form, KernelVariant { records: false, ..form }]);
    }
    let also = others.iter().map(|path| read_module(path)).collect::<Result<Vec<_>>>()?;
    forms.extend(also.iter().map(|(_, text)| KernelVariant {
        code: ModuleCode::Ptx(text),
        plan: None,
        records: false,
    }));
    let mut costs = prlx_driver::cost(device.driver(), &job, &forms, options)?.into_iter();
    let mut next = || costs.next().unwrap_or_default();
    let (bare, again) = (next(), next());
    let each = instrumentations.iter().zip(&rewrites).zip(idle);
    let instrumented = each.map(|((instrumentation, (rewrite, rewriting)), idle)| InstrumentedCost {
        name: instrumentation.name.clone(),
        rewriting: *rewriting,
        costs: (!idle).then(|| (next(), next())),
        unmarked: unmarked(rewrite),
    });
    let instrumented = instrumented.collect();
    let others = also.into_iter().map(|(name, _)| (name, next())).collect();
    let folder = launch.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = launch.file_stem().unwrap_or_default().to_string_lossy();
    // A file called `launch…` is one of a folder of its own, whose name tells more.
    let name = if name.starts_with("launch") { format!("{folder}/{name}") } else { name.into_owned() };
    Ok(KernelCost { name, kernel: job.kernel, bare, again, instrumented, others })
}

/// Another module: its name and text.
fn read_module(path: &Path) -> Result<(String, String)> {
    let text =
        prlx_driver::files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text))
}

/// Why markers were left out, if some were.
fn unmarked(rewrite: &Rewrite) -> Vec<String> {
    rewrite
        .plan
        .probe_state
        .unrecorded_markers
        .iter()
        .map(|m| prlx_present::safe(&m.why).to_string())
        .collect()
}

/// Overhead of one marker visit: nanoseconds in the track with the most visits, or, if the device counts,
/// warp instructions of all visits.
pub fn per_visit(cost: &Cost, bare: &Cost, passed: MarkerVisits, counts: bool) -> f64 {
    let more = quartile(cost, 2) as f64 - quartile(bare, 2) as f64;
    more / if counts { passed.all } else { passed.most }.max(1) as f64
}

/// Quartile `n` of the rounds: 2 is the median.
pub fn quartile(cost: &Cost, n: usize) -> u64 {
    let mut sorted = cost.rounds.clone();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) * n / 4).copied().unwrap_or(0)
}

/// The median of `cost` in proportion to that of `bare`.
pub fn ratio(cost: &Cost, bare: &Cost) -> f64 {
    quartile(cost, 2) as f64 / quartile(bare, 2).max(1) as f64
}

/// Distance of the outer quartiles, in proportion to the median.
pub fn spread(cost: &Cost) -> f64 {
    (quartile(cost, 3) - quartile(cost, 1)) as f64 / quartile(cost, 2).max(1) as f64
}

/// Geometric mean and maximum of a ratio over kernels, and the name of the kernel with the maximum.
pub fn mean(kernels: &[KernelCost], of: impl Fn(&KernelCost) -> f64) -> (f64, f64, &str) {
    let logs: f64 = kernels.iter().map(|r| of(r).max(f64::MIN_POSITIVE).ln()).sum();
    let worst = kernels.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
    let (most, which) = worst.map_or((0.0, ""), |r| (of(r), r.name.as_str()));
    ((logs / kernels.len().max(1) as f64).exp(), most, which)
}
