//! Kernels with changed inputs: what level `fingerprint` leaves out must follow from what it hashes, and at
//! level `values` all lanes that record something else must be found.
//!
//! Each kernel of the corpus runs with its inputs, and again with single elements changed. If the decisions
//! or the stored values of a warp differ, its fingerprint must. Decisions and stored values are those that
//! are hashed without elision. If outputs differ, and any hash does without elision, the fingerprint of some
//! warp must. At level `values`, lanes are decoded one by one; as many as have other visits must be in the
//! report of a comparison, which decodes the lanes of a warp together.
//!
//! # Limitations
//! - Changed inputs with which a kernel faults are passed over. Hashes of 32 bits can agree by chance, which
//!   the fixed changes do not.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use prlx_analyze::{DiffOptions, diff};
use prlx_driver::Job;
use prlx_driver::buffer_content::Content;
use prlx_driver::job::{Arg, ArgValue};
use prlx_plan::Plan;
use prlx_trace::launch::Lanes;
use prlx_trace::{Launch, Level, ModuleId, Recording, Streams, Trace, WarpId, WarpSize};

use crate::corpus::{kernels, label, list};
use crate::lane_runs::{Run, emulator, observe, program, stream, visits};

/// Changes of each input.
const CHANGES: usize = 4;

/// One trial for each kernel of the corpus that the CPU device runs.
pub fn trials() -> Vec<Trial> {
    let refused = list("refused.txt");
    let folders = kernels().into_iter().filter(|folder| !refused.contains_key(&label(folder)));
    folders
        .map(|folder| Trial::test(format!("fingerprints/{}", label(&folder)), move || one(&folder)))
        .collect()
}

/// A launch, recorded in two ways.
struct Runs {
    /// Without elision: all loads and decisions are hashed.
    all: Run,
    /// With elision, as by default.
    cut: Run,
    /// At level `values`.
    values: Run,
    /// Bytes of the buffers that are read back.
    outputs: Vec<Vec<u8>>,
}

fn one(folder: &Path) -> Result<(), Failed> {
    let job = Job::load(&folder.join("launch.toml"))?;
    let (view, _) = prlx_isa::ptx::read(&job.text);
    let [all, cut] = [false, true]
        .map(|elide| Plan::resolve(&program(Level::Fingerprint, elide, &job), &view, &job.module, &|_| None));
    let values = Plan::resolve(&program(Level::Values, true, &job), &view, &job.module, &|_| None);
    let runs = |job: &Job| -> Result<Runs, Box<dyn std::error::Error>> {
        let done = prlx_driver::run(&mut emulator(WarpSize::W32), job)?;
        let outputs = done.outputs.into_iter().map(|o| o.bytes).collect();
        let [all, cut, values] = [observe(job, &all)?, observe(job, &cut)?, observe(job, &values)?];
        Ok(Runs { all, cut, values, outputs })
    };
    let before = runs(&job)?;
    for change in 0..CHANGES * job.args.len() {
        let mut changed = job.clone();
        let Some(what) = changed.args.get_mut(change / CHANGES).and_then(|arg| flip(arg, change)) else {
            continue;
        };
        let Ok(after) = runs(&changed) else { continue };
        same(&before, &after).map_err(|e| format!("{what}: {e}"))?;
        found(&before.values, &after.values).map_err(|e| format!("{what}: {e}"))?;
    }
    Ok(())
}

/// Flips a bit of an element of a buffer that is no output. Which one differs from change to change.
fn flip(arg: &mut Arg, change: usize) -> Option<String> {
    let ArgValue::Buffer(buffer) = &mut arg.value else { return None };
    let mut bytes = if buffer.is_empty() || buffer.out { return None } else { buffer.bytes().into_owned() };
    let size = bytes.len() / usize::try_from(buffer.len()).ok()?;
    let element = change.wrapping_mul(2_654_435_761) % usize::try_from(buffer.len()).ok()?;
    // The lowest bit of an integer, and a high one of a float's fraction.
    let bit = if change.is_multiple_of(2) { 0 } else { 8 * size - 11.min(8 * size - 1) };
    *bytes.get_mut(element * size + bit / 8)? ^= 1 << (bit % 8);
    buffer.content = Content::Bytes(bytes);
    Some(format!("bit {bit} of {}[{element}] flipped", arg.name))
}

/// The warp's hashes of control and of stored values, and all that is recorded of it.
fn hashes(run: &Run, warp: WarpId) -> ([u64; 2], Lanes) {
    let lanes = stream(run, warp).lanes;
    let [control, _, stored, _] = match &lanes {
        Lanes::Fingerprint { hashes, .. } => hashes.first().copied().unwrap_or_default(),
        _ => [0; 4],
    };
    ([control, stored], lanes)
}

fn same(before: &Runs, after: &Runs) -> Result<(), String> {
    let (mut seen, mut any) = (false, false);
    for warp in (0..before.all.launch.warps()).map(WarpId) {
        let differ = |of: fn(&Runs) -> &Run| {
            let (a, b) = (hashes(of(before), warp), hashes(of(after), warp));
            (a.0 != b.0, a.1 != b.1)
        };
        let ((wanted, all), (_, found)) = (differ(|r| &r.all), differ(|r| &r.cut));
        seen |= all;
        any |= found;
        if wanted && !found {
            return Err(format!("{warp} decides or stores otherwise, and its fingerprint is the same"));
        }
    }
    match before.outputs != after.outputs && seen && !any {
        true => Err("outputs differ, and no fingerprint does".into()),
        false => Ok(()),
    }
}

/// Whether a comparison finds the lanes whose decoded visits differ.
fn found(before: &Run, after: &Run) -> Result<(), String> {
    let mut differ = 0;
    for warp in (0..before.launch.warps()).map(WarpId) {
        let (a, b) = (stream(before, warp), stream(after, warp));
        for lane in before.launch.lanes(warp).lanes() {
            differ += u64::from(visits(before, &a, lane)? != visits(after, &b, lane)?);
        }
    }
    let trace = |run: &Run| {
        let launch = Launch { module: ModuleId(0), ..run.launch.clone() };
        let recording = Recording { launch, streams: Streams::new(run.warps.clone()) };
        Trace { modules: vec![run.module.clone()], launches: vec![recording], ..Trace::default() }
    };
    let options = DiffOptions { findings: usize::MAX, ..DiffOptions::default() };
    let report = diff(&trace(before), &trace(after), &options).map_err(|e| e.to_string())?;
    let found: u64 = report.launches.iter().flat_map(|l| &l.findings).map(|f| f.roots).sum();
    match found == differ {
        true => Ok(()),
        false => Err(format!("{differ} lanes differ at level values, and {found} are found")),
    }
}
