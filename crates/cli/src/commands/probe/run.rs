//! Runs launch files with a program woven in, and prints what it kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::{Job, RecordOptions};
use prlx_plan::ProbeProgram;
use prlx_present::tallies::{Missed, Tallies};
use prlx_probe::ProbeMatch;
use prlx_trace::Trace;
use prlx_trace::process::Skipped;

use super::{Given, app, given, place, program, show};
use crate::args::ProbeArgs;
use crate::commands::record::save;
use crate::record::{self, Device};
use crate::ui::Ui;

/// Runs them one after the other; what their tables hold comes together.
pub fn run(args: &ProbeArgs, ui: &Ui) -> Result<ExitCode> {
    let given = given(&args.words, args.file.as_deref(), ui)?;
    if !args.command.is_empty() {
        if let Some(launch) = given.rest.first() {
            bail!("{}: give either launch files, or a program after `--`", Path::new(launch).display());
        }
        return app::run(args, &given, ui);
    }
    if given.rest.is_empty() {
        bail!("name a launch file behind the program, or a program to run after `--`");
    }
    if args.interval.is_some() {
        bail!("--interval is for programs: a launch file's tables are read when it has ended");
    }
    if args.memory.is_some() {
        bail!("--memory is for programs: a launch file's tables and records take what they need");
    }
    if args.device.check.is_some() {
        bail!("--check looks at the kernel as it is: `prlx run` has it");
    }
    let mut device = record::device(&args.device)?;
    let mut traces: Vec<(String, Trace)> = Vec::new();
    let mut missed: BTreeSet<Missed> = BTreeSet::new();
    let mut stopped = None;
    for launch in given.rest {
        let path = Path::new(launch);
        let job = record::load(path, &args.device)?;
        let probed = one(&job, &given, args, &mut device, ui)?;
        missed.extend(probed.missed);
        if let Some(why) = probed.fault {
            let why = format!("{} was stopped; the tables hold what was before: {why}", path.display());
            stopped.get_or_insert(why);
        }
        traces.push((path.display().to_string(), probed.trace));
    }
    let named: Vec<(String, &Trace)> = traces.iter().map(|(name, trace)| (name.clone(), trace)).collect();
    let mut tallies = Tallies::of(&named);
    tallies.missed = missed.into_iter().collect();
    if let Some(output) = &args.output {
        save(&together(traces.iter().map(|t| &t.1)), output)?;
    }
    let names: Vec<&str> = traces.iter().map(|t| t.0.as_str()).collect();
    show::print(&tallies, &format!("Probes of {}", names.join(", ")), &args.show, ui)?;
    match stopped {
        Some(why) => bail!(why),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A launch with a program in it.
struct Probed {
    trace: Trace,
    missed: Vec<Missed>,
    /// What stopped it.
    fault: Option<String>,
}

fn one(job: &Job, given: &Given<'_>, args: &ProbeArgs, device: &mut Device, ui: &Ui) -> Result<Probed> {
    let script = &given.script;
    let bar = ui.spinner(&format!("probing {}", job.name));
    let kernels = if args.kernel.is_empty() { vec![job.kernel.clone()] } else { args.kernel.clone() };
    let program = program(script, &kernels);
    let (module, _) = prlx_isa::ptx::read(&job.text);
    let landings = ProbeMatch::all(script, &module, &job.text, &program.filter);
    let nowhere = place::nowhere(script, &module, &program.filter, &landings);
    if nowhere.all {
        bail!(
            "the program lands nowhere in {} of {}\n  {}",
            job.kernel,
            job.module,
            nowhere.lines.join("\n  ")
        );
    }
    // Tools are for kernels of every kind: what is not there has nothing to tell.
    for clause in nowhere.clauses.iter().filter(|_| !given.tool) {
        let what = script.clause(*clause);
        ui.warn(&format!("{}: {what} lands nowhere: `prlx probe check` says more", job.module));
    }
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program, &|path| job.source_text(path))
        .with_context(|| format!("cannot probe {}", job.module))?;
    let options = RecordOptions { hooks: !args.rewritten, ..RecordOptions::default() };
    let recorded = prlx_driver::record(device.driver(), &rewrite.text, &rewrite.plan, job, &options)
        .with_context(|| format!("cannot probe {}", job.name))?;
    bar.finish_and_clear();
    let fault = recorded.fault.as_ref().map(|f| f.message.clone());
    let missed = place::missed(script, &rewrite.module, &job.text, &rewrite.plan.kept.missed);
    let untold = missed.iter().map(|m| Skipped {
        module: job.module.clone(),
        kernel: Some(job.kernel.clone()),
        reason: m.what.clone(),
    });
    let untold = untold.collect();
    let trace = Trace { skipped: untold, ..recorded.into_trace(rewrite.plan.module) };
    Ok(Probed { trace, missed, fault })
}

/// One recording of several: launches and modules in their order.
fn together<'a>(traces: impl Iterator<Item = &'a Trace>) -> Trace {
    let mut all = Trace::default();
    for trace in traces {
        let before = all.launches.len() as u64;
        all.append(trace.clone(), before);
    }
    all
}
