//! `prlx run`: runs a launch file and shows what its buffers hold afterwards.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::device::{Device, DeviceOptions};
use prlx::record::load;
use prlx::schedules;
use prlx_driver::element;
use prlx_driver::run::{Comparison, Output, Run};
use prlx_driver::{Job, LaunchStats};
use prlx_trace::Printed;
use prlx_trace::check::Findings;
use prlx_trace::kernel::Scalar;
use prlx_trace::names::display_name;
use serde_json::{Value, json};

use crate::args::{ContractChoice, RunArgs};
use crate::commands::compare;
use crate::failure;
use crate::report;
use crate::ui::Ui;

/// Runs it. Exit code 1 if a buffer is not what `expect` says, or checks found errors; 4 if the run failed.
pub fn run(args: &RunArgs, ui: &Ui) -> Result<ExitCode> {
    if args.seeds.is_some() {
        let found = compare::explore(&args.under_seeds(), ui)?;
        let errors = found.checks.as_ref().is_some_and(|checks| checks.found.errors() > 0);
        let wrong = schedules::unexpected(&found) || errors;
        let failed = found.outcomes.iter().all(|o| o.fault.is_some());
        return Ok(ExitCode::from(match (failed, wrong) {
            (true, _) => failure::RUN,
            (false, true) => 1,
            (false, false) => found.verdict.exit_code(),
        }));
    }
    if args.tolerance.options().is_some() {
        bail!(
            "--rtol, --atol, --ulp and --equal-nan compare the outcomes of --seeds; `expect` in the launch file \
             states the tolerance of one run"
        );
    }
    let options = DeviceOptions { contract: args.contract.option(), ..args.device.options() };
    let job = load(&args.launch, &options)?;
    job.check_saves(&args.launch, args.allow_writes_outside)?;
    let mut device = Device::open(&options)?;
    let name = device.driver().info().name;
    let activity = ui.monitor().activity(&format!("running {}", display_name(&job.kernel)));
    let done = prlx_driver::run(device.driver(), &job);
    drop(activity);
    let found = device.findings(&job);
    let found = args.device.check.map(|_| &found);
    let printed = device.take_printed();
    if !args.json {
        report::print_text(&printed, ui)?;
    }
    let done = match done {
        Ok(done) => done,
        Err(e) => return failed(&job, found, &printed, e.into(), args, ui),
    };
    for output in &done.outputs {
        output.save()?;
        if let Some(path) = &output.save {
            ui.note(&format!("wrote {}", path.display()));
        }
    }
    if args.json {
        let mut value = as_json(&job, &done, &name);
        value["printed"] = json!(printed);
        if let Some(found) = found {
            value["checks"] = prlx_present::checks_json(found);
        }
        print(&value, ui)?;
    } else {
        text(&mut ui.out(false), ui, &job, &done, &name)?;
        report::print_checks(found, ui)?;
        if done.stats.warp_instructions > 0 {
            let seconds = done.stats.nanos.0 as f64 / 1e9;
            let rate = done.stats.warp_instructions as f64 / seconds.max(1e-9) / 1e6;
            ui.timing(&format!("{:.3} ms, {rate:.1} M warp instructions/s", seconds * 1e3));
        }
    }
    if args.contract.contract == ContractChoice::Both {
        report::print_contraction(&job, &options, ui)?;
    }
    let wrong = done.outputs.iter().any(|o| o.expect.as_ref().is_some_and(|c| c.wrong > 0));
    Ok(ExitCode::from(u8::from(wrong || found.is_some_and(|f| f.errors() > 0))))
}

/// Reports a run that failed, with what the checks found before: that may be its cause.
fn failed(
    job: &Job,
    found: Option<&Findings>,
    printed: &Printed,
    error: anyhow::Error,
    args: &RunArgs,
    ui: &Ui,
) -> Result<ExitCode> {
    let code = failure::exit_code(&error);
    if args.json && code == failure::RUN {
        let mut value = json!({ "kernel": job.kernel, "name": display_name(&job.kernel), "module": job.module, "launch": job.name });
        value["printed"] = json!(printed);
        if let Some(found) = found {
            value["checks"] = prlx_present::checks_json(found);
        }
        failure::print_json(&error, value)?;
    } else if let Some(found) = found.filter(|f| !f.list.is_empty()) {
        report::print_checks(Some(found), ui)?;
    }
    ui.error(&error);
    Ok(ExitCode::from(code))
}

fn print(value: &Value, ui: &Ui) -> Result<()> {
    let mut out = ui.out(true);
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn text(out: &mut impl Write, ui: &Ui, job: &Job, done: &Run, device: &str) -> io::Result<()> {
    let (bold, dim, red, green, off) = if ui.color() {
        ("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m")
    } else {
        ("", "", "", "", "")
    };
    let c = &job.config;
    let cluster = if c.cluster.volume() > 1 { format!(", clusters of {}", c.cluster) } else { String::new() };
    let launch = format!("grid {} x block {}{cluster}, seed {}", c.grid, c.block, c.seed);
    writeln!(out, "{bold}{}{off}  {launch}, on the {device}", display_name(&job.kernel))?;
    let width = done.outputs.iter().map(|o| o.name.len()).max().unwrap_or(0);
    for o in &done.outputs {
        writeln!(out, "  {:<width$}  {dim}{}{}{off}  {}", o.name, o.ty.name(), shape(o), summary(o))?;
        match &o.expect {
            Some(c) if c.wrong == 0 => {
                writeln!(
                    out,
                    "  {:<width$}  {green}as expected{off} by {} ({} elements)",
                    "", c.file, c.elements
                )?;
            }
            Some(c) => writeln!(out, "  {:<width$}  {red}not as expected{off}: {}", "", wrong(o, c))?,
            None => {}
        }
    }
    if done.outputs.is_empty() {
        writeln!(out, "  {dim}no argument has `out` or `expect`: nothing to show{off}")?;
    }
    match done.stats {
        LaunchStats { warp_instructions: 0, nanos } => {
            writeln!(out, "{dim}{:.3} ms{off}", nanos.0 as f64 / 1e6)
        }
        LaunchStats { warp_instructions, .. } => {
            writeln!(out, "{dim}{warp_instructions} warp instructions{off}")
        }
    }
}

fn wrong(o: &Output, c: &Comparison) -> String {
    let first = c.first.map_or_else(String::new, |(i, got, want)| {
        format!("; first [{i}]: {} instead of {}", element::show(o.ty, got), element::show(o.ty, want))
    });
    // The digits that the type has; a difference of two `f32` as binary64 has 17.
    let worst = match o.ty {
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 => format!("{:e}", c.worst as f32),
        _ => format!("{:e}", c.worst),
    };
    format!(
        "{} of {} elements differ from {}{first}; greatest difference {worst}",
        c.wrong, c.elements, c.file
    )
}

fn shape(o: &Output) -> String {
    let sizes: Vec<String> = o.shape.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(" x "))
}

/// A summary of a buffer's elements: the first few, the range and mean of finite ones, the number of others.
struct Numbers {
    first: Vec<String>,
    count: usize,
    /// Bits of the least and the greatest finite element.
    range: Option<[u64; 2]>,
    mean: f64,
    not_finite: usize,
}

/// Bytes that are looked at at once, a multiple of every element's size.
const BLOCK: usize = 4096;
/// A block of zeros.
const ZEROS: [u8; BLOCK] = [0; BLOCK];

fn numbers(o: &Output) -> Numbers {
    let all = || (0..).map_while(|i| element::get(o.ty, &o.bytes, i));
    let mut n = Numbers {
        first: all().take(6).map(|b| element::show(o.ty, b)).collect(),
        count: 0,
        range: None,
        mean: 0.0,
        not_finite: 0,
    };
    let value = |bits| element::as_f64(o.ty, bits);
    for block in o.bytes.chunks(BLOCK) {
        // Most of a large output is zero: there, one element stands for all.
        let same = if *block == ZEROS[..block.len()] { block.len() / element::size(o.ty) } else { 1 };
        for bits in (0..).step_by(same.max(1)).map_while(|i| element::get(o.ty, block, i)) {
            n.count += same;
            let v = value(bits);
            if v.is_finite() {
                let [least, greatest] = n.range.unwrap_or([bits; 2]);
                n.range = Some([
                    if v < value(least) { bits } else { least },
                    if v > value(greatest) { bits } else { greatest },
                ]);
                n.mean += v;
            } else {
                n.not_finite += 1;
            }
        }
    }
    n.mean /= (n.count - n.not_finite).max(1) as f64;
    n
}

fn summary(o: &Output) -> String {
    let n = numbers(o);
    let more = if n.count > n.first.len() { ", …" } else { "" };
    let mut text = format!("{}{more}", n.first.join(", "));
    if let Some(range) = n.range {
        let [min, max] = range.map(|bits| element::show(o.ty, bits));
        text += &format!("  min {min} max {max} mean {:.6}", n.mean);
    }
    if n.not_finite > 0 {
        text += &format!("  {} not finite", n.not_finite);
    }
    text
}

/// The number with the shortest decimal form that the element has in its own type: 0.1 for the `f32` next to
/// it.
fn shortest(ty: Scalar, bits: u64) -> f64 {
    element::show(ty, bits).parse().unwrap_or_else(|_| element::as_f64(ty, bits))
}

fn as_json(job: &Job, done: &Run, device: &str) -> Value {
    let outputs: Vec<Value> = done
        .outputs
        .iter()
        .map(|o| {
            let n = numbers(o);
            let range = n.range.map(|range| range.map(|bits| shortest(o.ty, bits)));
            json!({
                "name": o.name, "type": o.ty.name(), "shape": o.shape, "first": n.first, "not_finite": n.not_finite,
                "min": range.map(|r| r[0]), "max": range.map(|r| r[1]), "mean": range.map(|_| n.mean),
                "saved": o.save.as_ref().map(|p| p.display().to_string()),
                "expect": o.expect.as_ref().map(|c| json!({
                    "file": c.file, "elements": c.elements, "wrong": c.wrong, "worst": c.worst.is_finite().then_some(c.worst),
                })),
            })
        })
        .collect();
    let dims = |d: prlx_trace::Dim3| [d.x, d.y, d.z];
    let (cost, amount) = match done.stats {
        LaunchStats { warp_instructions: 0, nanos } => ("nanos", nanos.0),
        LaunchStats { warp_instructions, .. } => ("warp_instructions", warp_instructions),
    };
    json!({
        "kernel": job.kernel, "name": display_name(&job.kernel), "module": job.module,
        "grid": dims(job.config.grid), "block": dims(job.config.block),
        "cluster": dims(job.config.cluster),
        "seed": job.config.seed, "device": device, "outputs": outputs,
        (cost): amount,
    })
}
