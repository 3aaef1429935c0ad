//! Runs launch files with a probe program inserted.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use prlx_driver::{Job, RecordOptions};
use prlx_plan::ProbeProgram as _;
use prlx_present::tallies::{Tallies, Unavailable};
use prlx_probe::ProbeMatch;
use prlx_probe::lang::Script;
use prlx_trace::kernel::Module;
use prlx_trace::names::display_name;
use prlx_trace::process::Skipped;
use prlx_trace::{Printed, Trace};

use super::matches;
use super::plan::recording_request;
use super::script::SelectedScript;
use crate::Monitor;
use crate::device::{Device, DeviceOptions, TURN};
use crate::record;

/// How to run launch files with a probe program.
#[derive(Clone, Debug, Default)]
pub struct ProbeOptions {
    /// Name patterns of kernels; empty means the kernel that is launched.
    pub kernels: Vec<String>,
    /// Where launch files run.
    pub device: DeviceOptions,
    /// On the CPU device, run instrumented code, as on a GPU, instead of by the device itself.
    pub rewritten: bool,
}

/// What a probe program recorded in launch files.
#[derive(Debug)]
pub struct LaunchProbe {
    /// The tables, over all launch files.
    pub tables: Tallies,
    /// All launches in one recording.
    pub trace: Trace,
    /// What the kernel of each launch file printed.
    pub printed: Vec<Printed>,
    /// The first launch that was stopped, and why. The tables hold what was recorded before.
    pub stopped: Option<String>,
}

/// Runs launch files one after the other with a probe program inserted.
///
/// # Errors
/// If a file cannot be read or launched, or the program matches nothing in a kernel.
pub fn probe_launch_files(
    launches: &[PathBuf],
    script: &SelectedScript<'_>,
    options: &ProbeOptions,
    monitor: &Monitor<'_>,
) -> Result<LaunchProbe> {
    let jobs = launches.iter().map(|path| {
        let job = record::load(path, &options.device)?;
        record::require_kernel("--kernel", &options.kernels, &job.kernel)?;
        Ok((path.display().to_string(), job))
    });
    probe_jobs(jobs, script, options, monitor)
}

/// Runs launches one after the other with a probe program inserted. Each has a name for reports.
///
/// # Errors
/// If there is no launch to run, it cannot run, or the program matches nothing in a kernel.
pub fn probe_jobs(
    jobs: impl Iterator<Item = Result<(String, Job)>>,
    script: &SelectedScript<'_>,
    options: &ProbeOptions,
    monitor: &Monitor<'_>,
) -> Result<LaunchProbe> {
    // What a program says of time, and of the order of warps, needs warps that advance together.
    let turn = if script.script.is_about_order() { Some(TURN) } else { options.device.turn };
    let on = options.device.for_inserted_code(options.rewritten);
    let mut device = Device::open(&DeviceOptions { turn, ..on })?;
    let mut traces: Vec<(String, Trace)> = Vec::new();
    let mut missed: BTreeSet<Unavailable> = BTreeSet::new();
    let mut printed = Vec::new();
    let mut stopped = None;
    for job in jobs {
        monitor.check()?;
        let (name, job) = job?;
        let probed = probe_job(&job, script, options, &mut device, monitor)?;
        missed.extend(probed.missed);
        printed.push(device.take_printed());
        if let Some(why) = probed.fault {
            let why = format!("{name} was stopped, and the tables hold what was recorded before: {why}");
            stopped.get_or_insert(why);
        }
        traces.push((name, probed.trace));
    }
    let named: Vec<(String, &Trace)> = traces.iter().map(|(name, trace)| (name.clone(), trace)).collect();
    let mut tables = Tallies::of(&named);
    tables.missed = missed.into_iter().collect();
    let mut trace = Trace::default();
    for (_, one) in traces {
        let before = trace.launches.len() as u64;
        trace.append(one, before);
    }
    Ok(LaunchProbe { tables, trace, printed, stopped })
}

/// One launch with a probe program.
struct ProbedJob {
    trace: Trace,
    missed: Vec<Unavailable>,
    /// What stopped the launch.
    fault: Option<String>,
}

fn probe_job(
    job: &Job,
    selected: &SelectedScript<'_>,
    options: &ProbeOptions,
    device: &mut Device,
    monitor: &Monitor<'_>,
) -> Result<ProbedJob> {
    let script = &selected.script;
    let _activity = monitor.activity(&format!("probing {}", job.name));
    let kernels = if options.kernels.is_empty() { vec![job.kernel.clone()] } else { options.kernels.clone() };
    let program = recording_request(script, &kernels);
    let module = job.view(device.driver().info().warp_size)?;
    let found = ProbeMatch::all(script, &module, &program.filter);
    let unmatched = matches::unmatched(script, &module, &program.filter, &found);
    if unmatched.all {
        bail!(
            "the probe program matches no instruction in {} of {}\n  {}",
            display_name(&job.kernel),
            job.module,
            unmatched.lines.join("\n  ")
        );
    }
    for clause in unmatched.clauses.iter().filter(|_| !selected.is_tool) {
        let what = script.clause(*clause);
        monitor.warn(&format!("{}: {what} matches no instruction: `prlx probe check` says why", job.module));
    }
    let rewrite = record::instrument(job, &program, device, options.rewritten)
        .with_context(|| format!("cannot probe {}", job.module))?;
    if let Some(why) = matches::idle(script, &rewrite, &job.kernel, &found) {
        let kernel = display_name(&job.kernel);
        bail!("the probe program does nothing in {kernel} of {}\n  {}", job.module, why.join("\n  "));
    }
    let code = device.code_to_run(&rewrite, options.rewritten);
    let recorded = prlx_driver::record(device.driver(), code, &rewrite.plan, job, &RecordOptions::default())
        .with_context(|| format!("cannot probe {}", job.name))?;
    let fault = recorded.fault.as_ref().map(|f| f.message.clone());
    let mut missed = matches::unavailable(script, &rewrite.module, &rewrite.plan.probe_state.unavailable);
    missed.extend(pointer_calls(script, &rewrite.plan.module, &job.kernel));
    let skipped = missed.iter().map(|m| Skipped {
        module: job.module.clone(),
        kernel: Some(job.kernel.clone()),
        reason: m.what.clone(),
    });
    let skipped = skipped.collect();
    let trace = Trace { skipped, ..recorded.into_trace(rewrite.plan.module) };
    Ok(ProbedJob { trace, missed, fault })
}

/// Functions that a kernel or a device function calls through a pointer are not probed: no table has them.
fn pointer_calls(script: &Script, module: &Module, kernel: &str) -> impl Iterator<Item = Unavailable> {
    let mut tables: Vec<String> = script.tables.iter().map(|t| t.name.clone()).collect();
    tables.extend(script.records.iter().map(|r| r.name.clone()));
    let here = module.functions.iter().filter(move |f| !f.kernel || f.name == kernel);
    let calling = here.filter(|f| f.skipped.is_none() && !f.pointer_calls.is_empty());
    calling.map(move |f| Unavailable {
        tables: tables.clone(),
        what: format!("functions that `{}` calls through a pointer are not probed", display_name(&f.name)),
    })
}
