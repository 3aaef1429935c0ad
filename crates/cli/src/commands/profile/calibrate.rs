//! What code for markers costs: what a region with nothing in it seems to take here, how much longer the kernel runs, and what it takes of
//! a multiprocessor.

use prlx_driver::{CostOptions, Error, Form, Job, Needs, RecordOptions};
use prlx_instrument::Rewrite;
use prlx_plan::Filter;
use prlx_timeline::Calibration;

use super::program;
use crate::args::ProfileArgs;
use crate::record::Device;

/// A kernel of empty regions, and how it is launched.
const EMPTY: [&str; 2] = [include_str!("empty.ptx"), include_str!("empty.toml")];
/// Runs of the kernel with markers and without, of which the middle ones count.
const ROUNDS: u32 = 5;
/// A kernel that runs longer than this is not run again.
const LONGEST: u64 = 1_000_000_000;

/// Measures the kernel's part, of a launch that took so many nanoseconds. What can't be measured is not there.
pub fn calibrate(
    job: &Job,
    rewrite: &Rewrite,
    took: u64,
    args: &ProfileArgs,
    device: &mut Device,
) -> Calibration {
    let mut out = Calibration::default();
    let needs = [needs(device, job, None), needs(device, job, Some(rewrite))];
    if let [Some(bare), Some(marked)] = needs {
        out.registers = Some([bare.registers, marked.registers]);
        out.local = Some([bare.local, marked.local]);
        out.resident = Some([bare.resident, marked.resident]);
    }
    if took <= LONGEST {
        out.dilation = dilation(job, rewrite, args, device).unwrap_or_default();
    }
    out
}

/// Cycles that a visit of an empty region seems to take, in the middle.
pub fn empty(args: &ProfileArgs, device: &mut Device) -> Result<Option<u64>, Error> {
    let [text, launch] = EMPTY;
    let job = Job::parse("empty.toml", launch, &|_| Ok(text.as_bytes().to_vec()))?;
    let program = program(args, Filter::default());
    let Ok(rewrite) = prlx_instrument::rewrite(&job.text, &job.module, &program, &|_| None) else {
        return Ok(None);
    };
    let options = RecordOptions { hooks: !args.rewritten, pool: 1 << 20, bare: false };
    let recorded = prlx_driver::record(device.driver(), &rewrite.text, &rewrite.plan, &job, &options)?;
    let timeline = prlx_timeline::timeline(
        &recorded.into_trace(rewrite.plan.module),
        prlx_driver::occupancy::threads_per_sm,
    );
    let of = |region: u32| timeline.regions.get(region as usize).is_some_and(|r| r.name == "empty");
    let mut cycles: Vec<u64> = timeline
        .tracks
        .iter()
        .flat_map(|t| {
            let spans = t.spans.iter().filter(|s| of(s.region)).map(|s| s.cycles);
            spans.chain(t.sums.iter().filter(|s| of(s.region)).filter_map(|s| s.cycles.checked_div(s.count)))
        })
        .collect();
    cycles.sort_unstable();
    Ok(cycles.get(cycles.len() / 2).copied())
}

/// The kernel's time with its markers recorded, in proportion to that without; warp instructions where the device counts them.
fn dilation(
    job: &Job,
    rewrite: &Rewrite,
    args: &ProfileArgs,
    device: &mut Device,
) -> Result<Option<f64>, Error> {
    let bare = Form { text: &job.text, plan: None, records: false };
    let marked = Form { text: &rewrite.text, plan: Some(&rewrite.plan), records: true };
    let pool = super::files::memory(args, device);
    let rounds = if device.driver().info().hooks { 1 } else { ROUNDS };
    let costs =
        prlx_driver::cost(device.driver(), job, &[bare, marked], &CostOptions { rounds, pool, flush: 0 })?;
    let middle = |mut rounds: Vec<u64>| {
        rounds.sort_unstable();
        rounds.get(rounds.len() / 2).copied().filter(|t| *t > 0)
    };
    let mut each = costs.into_iter().map(|c| middle(c.rounds));
    let (Some(Some(bare)), Some(Some(marked))) = (each.next(), each.next()) else { return Ok(None) };
    Ok(Some(marked as f64 / bare as f64))
}

/// Of what records the kernel's markers the first, or the second where this leaves room for more of its threads on a multiprocessor and the first for fewer
/// than there are without.
pub fn spared(
    first: Rewrite,
    second: impl FnOnce() -> Option<Rewrite>,
    job: &Job,
    device: &mut Device,
) -> Rewrite {
    let mut resident =
        |rewrite: Option<&Rewrite>| needs(device, job, rewrite).map_or(0, |n: Needs| n.resident);
    let (bare, now) = (resident(None), resident(Some(&first)));
    let other = if now < bare { second() } else { None };
    other.filter(|other| resident(Some(other)) > now).unwrap_or(first)
}

/// What the kernel takes of a multiprocessor, as it is or rewritten, where that is known.
fn needs(device: &mut Device, job: &Job, rewrite: Option<&Rewrite>) -> Option<Needs> {
    let driver = device.driver();
    let module = match rewrite {
        Some(rewrite) => driver.load_rewritten(&rewrite.text, &rewrite.plan, &job.text),
        None => driver.load(job.text.as_bytes()),
    };
    let module = module.ok()?;
    let needs = driver.needs(module, &job.kernel, &job.config).ok().flatten();
    driver.unload(module).ok()?;
    needs
}
