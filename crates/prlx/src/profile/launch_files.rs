//! Profiles launch files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use prlx_driver::occupancy::threads_per_sm;
use prlx_driver::{Job, RecordOptions};
use prlx_instrument::Rewrite;
use prlx_isa::image::Target;
use prlx_plan::{Filter, UNPROBED, Unavailable};
use prlx_timeline::{Calibration, Note, Timeline};
use prlx_trace::names::display_name;
use prlx_trace::{Nanos, Printed, Trace};

use super::calibrate::{calibrate, empty_region, track_memory};
use super::machine_code;
use super::markers::ProfileOptions;
use crate::Monitor;
use crate::device::{Device, DeviceOptions, TURN};
use crate::record;

/// A profile of launch files.
#[derive(Debug)]
pub struct LaunchProfile {
    /// All launches in one recording.
    pub trace: Trace,
    /// The timeline of the recording, with notes and calibrations.
    pub timeline: Timeline,
    /// What the kernel of each launch file printed.
    pub printed: Vec<Printed>,
    /// The first launch that was stopped, and why.
    pub stopped: Option<String>,
}

/// Profiles launch files, one after the other.
///
/// # Errors
/// If a file cannot be read, a kernel has no markers, or a launch cannot be made.
pub fn profile_launch_files(
    launches: &[PathBuf],
    options: &ProfileOptions,
    monitor: &Monitor<'_>,
) -> Result<LaunchProfile> {
    let on = options.device.for_inserted_code(options.rewritten);
    let device = Device::open(&DeviceOptions { turn: Some(TURN), ..on })?;
    let mut profiler = Profiler { options, device, notes: Vec::new(), calibrations: Vec::new() };
    let mut trace = Trace::default();
    let (mut printed, mut stopped) = (Vec::new(), None);
    for path in launches {
        monitor.check()?;
        let job = record::load(path, &options.device)?;
        let (one, text, fault) = profiler.profile(&job, path, monitor)?;
        printed.push(text);
        stopped = stopped.or(fault);
        let before = trace.launches.len() as u64;
        trace.append(one, before);
    }
    let mut timeline = prlx_timeline::timeline(&trace, threads_per_sm);
    profiler.notes.into_iter().for_each(|n| timeline.note(n.kind, n.count, n.text));
    timeline.calibrations = profiler.calibrations;
    Ok(LaunchProfile { trace, timeline, printed, stopped })
}

/// Profiles launches on one device.
struct Profiler<'a> {
    options: &'a ProfileOptions,
    device: Device,
    notes: Vec<Note>,
    calibrations: Vec<Calibration>,
}

impl Profiler<'_> {
    /// Profiles a launch. Returns its recording, what the kernel printed, and what stopped it.
    fn profile(
        &mut self,
        job: &Job,
        path: &Path,
        monitor: &Monitor<'_>,
    ) -> Result<(Trace, Printed, Option<String>)> {
        let options = self.options;
        let warps = job.config.grid.volume().saturating_mul(record::warps_per_cta(job, &options.device));
        record::out_of_range("--warps", "warps", &options.warps, warps)?;
        let activity = monitor.activity(&format!("profiling {}", job.name));
        let gpu = match &self.device {
            Device::Gpu(cuda) => Some(Target::of(cuda.gpu().capability)),
            Device::Cpu(_) => None,
        };
        let rewrite = self.rewrite(job)?;
        let pool = track_memory(options, &self.device);
        // In machine code the overhead is that of this launch. The other measurements are made of PTX.
        let run_original = job.object.is_some() && options.rewritten;
        let record = RecordOptions { pool, run_original };
        let code = self.device.code_to_run(&rewrite, options.rewritten);
        let driver = self.device.driver();
        let mut recorded = prlx_driver::record(driver, code, &rewrite.plan, job, &record)
            .with_context(|| format!("cannot profile {}", job.name))?;
        let printed = self.device.take_printed();
        let sums = options.form == prlx_trace::device::tracks::Form::Sums;
        if options.machine_code || gpu.is_some() && !sums {
            self.notes.extend(machine_code::check(job, &rewrite, gpu));
        }
        record::warn_of_changes(job, &recorded, monitor);
        if let Some(original) = &recorded.original {
            let [marked, bare] = [&recorded.stats, &original.stats].map(|s| s.warp_instructions as f64);
            let kernel = display_name(&job.kernel);
            let dilation = (bare > 0.0).then(|| marked / bare);
            self.calibrations.push(Calibration { kernel, dilation, ..Calibration::default() });
        } else if (gpu.is_some() || options.rewritten)
            && recorded.fault.is_none()
            && !options.is_flight_recorder()
        {
            // Without inserted code there is no overhead; a launch that hangs is not made again.
            self.calibrate(job, &rewrite, recorded.stats.nanos, path, monitor);
        }
        drop(activity);
        for Unavailable { function, why, .. } in &rewrite.plan.probe_state.unrecorded_markers {
            let function = rewrite.module.functions.get(function.index()).map_or("", |f| f.name.as_str());
            monitor.warn(&format!("{}: {}: {why}", job.module, prlx_present::safe(&display_name(function))));
        }
        let left_out = recorded.marks.as_ref().map_or(0, |m| m.left_out);
        if left_out > 0 && options.warps.is_empty() {
            monitor.warn(&format!(
                "{}: the track memory is too small for {left_out} warps (--memory)",
                path.display()
            ));
        }
        let filter = self.filter(job);
        if let Some(marks) = recorded.marks.as_mut().filter(|_| !filter.warps.is_empty()) {
            // The recorder takes one range of warps; those between the selected ones are removed here.
            marks.tracks.retain(|t| filter.takes_warp(t.warp.0));
            let selected = (0..warps).filter(|w| filter.takes_warp(*w)).count() as u64;
            marks.left_out = marks.left_out.max(warps - selected);
        }
        let fault = recorded.fault.as_ref().map(|f| format!("{} was stopped: {}", path.display(), f.message));
        Ok((recorded.into_trace(rewrite.plan.module), printed, fault))
    }

    /// What the options record of a launch.
    fn filter(&self, job: &Job) -> Filter {
        let (kernels, warps) = (vec![job.kernel.clone()], self.options.warps.clone());
        Filter { kernels, warps, ..Filter::default() }
    }

    /// Places the markers, with code for them if the device or the options need it. On a GPU the code has the
    /// form that keeps the occupancy, if there is one.
    fn rewrite(&mut self, job: &Job) -> Result<Rewrite> {
        let options = self.options;
        if options.machine_code && job.object.is_some() {
            bail!(
                "{} is machine code already: --machine-code compares PTX with what the assembler makes of \
                 it",
                job.module
            );
        }
        let program = options.program(self.filter(job));
        let code = options.rewritten || options.machine_code;
        let rewrite = record::instrument(job, &program, &mut self.device, code)
            .with_context(|| format!("cannot profile {}", job.module))?;
        record::require_lines(&options.lines, &rewrite.plan.module)?;
        // Device functions that this kernel does not call may have markers.
        let mut functions = rewrite.plan.module.functions.iter().zip(&rewrite.plan.functions);
        let unmarked = functions
            .any(|(f, of_plan)| f.name == job.kernel && of_plan.skipped.as_deref() == Some(UNPROBED));
        if unmarked || rewrite.plan.probe_state.tracks.is_none() {
            bail!("{}", no_markers(&rewrite, job, options));
        }
        Ok(rewrite)
    }

    /// Measures the overhead of a kernel's markers. `nanos` is the time of its launch.
    fn calibrate(&mut self, job: &Job, rewrite: &Rewrite, nanos: Nanos, path: &Path, monitor: &Monitor<'_>) {
        // The empty region belongs to the device, not to the kernel: one measurement is enough.
        let empty = match self.calibrations.first() {
            Some(first) => first.empty,
            None => empty_region(self.options, &mut self.device).unwrap_or_default(),
        };
        let kernel = display_name(&job.kernel);
        let measured =
            Calibration { kernel, empty, ..calibrate(job, rewrite, nanos, self.options, &mut self.device) };
        if let Some([bare, marked]) = measured.resident.filter(|[bare, marked]| bare != marked) {
            monitor.warn(&format!("{}: resident threads on an SM {bare} -> {marked}", path.display()));
        }
        self.calibrations.push(measured);
    }
}

/// Why there is nothing to record.
fn no_markers(rewrite: &Rewrite, job: &Job, options: &ProfileOptions) -> String {
    let text = format!("{} of {} has no markers", display_name(&job.kernel), job.module);
    match rewrite.plan.probe_state.unrecorded_markers.first() {
        Some(missed) => format!("{text} that can be recorded: {}", missed.why),
        None => text + options.hint.text(),
    }
}
