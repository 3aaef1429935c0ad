//! Runs launch files with their markers recorded, and says where the cycles went.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::{Job, RecordOptions};
use prlx_instrument::Rewrite;
use prlx_isa::image::Target;
use prlx_plan::{Filter, Missed};
use prlx_timeline::{Calibration, Note};
use prlx_trace::Trace;
use prlx_trace::names::display_name;

use super::calibrate::{calibrate, empty, spared};
use super::{machine, program};
use crate::args::{Kept, ProfileArgs};
use crate::commands::record::save;
use crate::commands::timeline;
use crate::record::{self, Device};
use crate::ui::Ui;

/// MiB of tracks on a GPU, and on the CPU device.
const MEMORY: (u64, u64) = (1024, 256);

/// Records them one after the other, in one recording.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    if args.device.check.is_some() {
        bail!("--check looks at the kernel as it is: `prlx run` has it");
    }
    if let Some(name) = args.choice.given() {
        bail!("{name} is for programs: a launch file has one launch");
    }
    if !args.kernel.is_empty() {
        bail!("--kernel is for programs: a launch file has one kernel");
    }
    let mut device = record::device(&args.device)?;
    let mut all = Trace::default();
    let mut stopped = None;
    let (mut notes, mut calibrations) = (Vec::new(), Vec::new());
    for path in &args.launches {
        let job = record::load(path, &args.device)?;
        let (trace, fault) = one(&job, path, args, &mut device, &mut notes, &mut calibrations, ui)?;
        stopped = stopped.or(fault);
        let before = all.launches.len() as u64;
        all.append(trace, before);
    }
    let mut timeline = prlx_timeline::timeline(&all, prlx_driver::occupancy::threads_per_sm);
    notes.into_iter().for_each(|n| timeline.note(n.kind, n.count, n.text));
    timeline.calibrations = calibrations;
    if let Some(output) = args.output.as_ref().filter(|_| args.format == Kept::Cudaprofiler) {
        timeline::save_buffer(&mut timeline, output, ui)?;
    } else if let Some(output) = &args.output {
        let bytes = save(&all, output)?;
        let tracks = all.marks.iter().flat_map(|m| &m.tracks);
        let (what, n) = match args.sums {
            true => ("sums", tracks.map(|t| t.sums.len()).sum::<usize>()),
            false => ("records", tracks.map(|t| t.records.0.len()).sum()),
        };
        ui.note(&format!("{}: {n} {what}, {bytes} bytes", output.display()));
    }
    if !all.marks.is_empty() {
        let names: Vec<String> = args.launches.iter().map(|p| p.display().to_string()).collect();
        timeline::show(timeline, &names.join(", "), &args.view, ui)?;
    }
    match stopped {
        Some(why) => bail!("{why}"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Bytes of tracks.
pub fn memory(args: &ProfileArgs, device: &Device) -> u64 {
    let most = if matches!(device, Device::Gpu(_)) { MEMORY.0 } else { MEMORY.1 };
    args.memory.unwrap_or(most) << 20
}

/// A launch's recording, and what stopped it.
fn one(
    job: &Job,
    path: &Path,
    args: &ProfileArgs,
    device: &mut Device,
    notes: &mut Vec<Note>,
    calibrations: &mut Vec<Calibration>,
    ui: &Ui,
) -> Result<(Trace, Option<String>)> {
    let bar = ui.spinner(&format!("profiling {}", job.name));
    let filter = Filter {
        kernels: vec![job.kernel.clone()],
        warps: args.warps.as_ref().map(|w| (w.start, w.end)),
        ..Filter::default()
    };
    let program = program(args, filter);
    let write =
        |program| prlx_instrument::rewrite(&job.text, &job.module, program, &|path| job.source_text(path));
    let rewrite = write(&program).with_context(|| format!("cannot profile {}", job.module))?;
    if rewrite.plan.kept.tracks.is_none() {
        bail!("{}", nothing(&rewrite, job, args));
    }
    let gpu = match device {
        Device::Gpu(cuda) => Some(Target::of(cuda.gpu().capability)),
        Device::Cpu(_) => None,
    };
    let rewrite = match program.with_spans().filter(|_| gpu.is_some()) {
        Some(less) => spared(rewrite, || write(&less).ok(), job, device),
        None => rewrite,
    };
    let options = RecordOptions { hooks: !args.rewritten, pool: memory(args, device), bare: false };
    let recorded = prlx_driver::record(device.driver(), &rewrite.text, &rewrite.plan, job, &options)
        .with_context(|| format!("cannot profile {}", job.name))?;
    if args.machine_code || gpu.is_some() && !args.sums {
        notes.extend(machine::check(job, &rewrite, gpu));
    }
    // Without code in the kernel nothing costs; what hangs is not run again.
    if (gpu.is_some() || args.rewritten) && recorded.fault.is_none() && args.flight_recorder.is_none() {
        // It is the device's, not the kernel's.
        let empty = calibrations.first().map_or_else(|| empty(args, device).unwrap_or_default(), |c| c.empty);
        let kernel = display_name(&job.kernel);
        let measured =
            Calibration { kernel, empty, ..calibrate(job, &rewrite, recorded.stats.nanos, args, device) };
        if let Some([bare, marked]) = measured.resident.filter(|[bare, marked]| bare != marked) {
            ui.warn(&format!("{}: threads on a multiprocessor {bare} -> {marked}", path.display()));
        }
        calibrations.push(measured);
    }
    bar.finish_and_clear();
    for Missed { function, why, .. } in &rewrite.plan.kept.unmarked {
        let function = rewrite.module.functions.get(function.index()).map_or("", |f| f.name.as_str());
        ui.warn(&format!("{}: {}: {why}", job.module, prlx_present::safe(function)));
    }
    let left_out = recorded.marks.as_ref().map_or(0, |m| m.left_out);
    if left_out > 0 && args.warps.is_none() {
        ui.warn(&format!("{}: no room for {left_out} warps (--memory)", path.display()));
    }
    let fault = recorded.fault.as_ref().map(|f| format!("{} was stopped: {}", path.display(), f.message));
    Ok((recorded.into_trace(rewrite.plan.module), fault))
}

/// Why there is nothing to record.
fn nothing(rewrite: &Rewrite, job: &Job, args: &ProfileArgs) -> String {
    let mut text = format!("{} of {} has no markers", job.kernel, job.module);
    if let Some(missed) = rewrite.plan.kept.unmarked.first() {
        text += &format!(" that can be recorded: {}", missed.why);
    } else {
        text += super::others(args);
    }
    text
}
