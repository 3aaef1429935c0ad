//! The master test of probe programs: a program records the same, however it is run (DESIGN.md, house rule
//! 7).
//!
//! For every kernel of the corpus and each program of `tests/cases/probe`, the emulator runs the original
//! code with hooks and rewritten code, also under hostile schedules. Both must give the same rows and
//! records, and the outputs of the kernel's independent reference.
//!
//! The programs read nothing that a schedule decides: no clocks, no masks, no sums of floating-point numbers.
//! The programs of [`TOGETHER`], and tools that compare lanes, depend on which lanes are converged. They must
//! agree at seed 0, where lanes reconverge as early as they can, except for the kernels of [`PARTED`].
//! Elsewhere they only have to run. The same is true of kernels in `tests/kernels/schedule.txt`.
//!
//! `PRLX_MASTER=name` runs the kernels whose directory name contains that text.

use std::path::Path;
use std::sync::Arc;

use crate::corpus::{kernels, label, list, root};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Driver, Job, ModuleCode, RecordOptions, prepare};
use prlx_emu::{Emulator, Options};
use prlx_plan::{Plan, RecordingRequest};
use prlx_probe::lang;
use prlx_probe::tools::TOOLS;
use prlx_trace::TableContents;

const SEEDS: &[u64] = &[0, 7];
/// How programs begin that ask which lanes are together.
const TOGETHER: &str = "// Lanes that are together";
/// Kernels whose lanes go through loops at paces of their own: which of them meet depends on how long a
/// loop's trip is.
const PARTED: [&str; 3] = ["cuda/levenshtein", "cuda/quicksort_local", "cuda/state_machine"];
/// Tools that compare lanes.
const COMPARE: [&str; 3] = ["bank-conflicts", "coalescing", "transactions"];

/// One trial for each kernel of the corpus and each probe program.
pub fn trials() -> Vec<Trial> {
    let only = std::env::var("PRLX_MASTER").unwrap_or_default();
    let refused = list("refused.txt");
    let free = list("schedule.txt");
    let programs = programs();
    let mut trials = Vec::new();
    for folder in kernels().into_iter().filter(|f| label(f).contains(&only)) {
        let name = label(&folder);
        if refused.contains_key(&name) {
            continue;
        }
        for (program, text) in &programs {
            let (folder, text, free) = (folder.clone(), text.clone(), free.contains_key(&name));
            trials.push(Trial::test(format!("probes/{name} {program}"), move || one(&folder, &text, free)));
        }
    }
    trials
}

/// One host thread: what kernels do across CTAs is then the same in every run.
fn emulator() -> Emulator {
    Emulator::new(Options { threads: 1, ..Options::default() })
}

/// The programs of `tests/cases/probe`, and some tools: name and text.
fn programs() -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(root().join("tests/cases/probe")) else { return Vec::new() };
    let mut all: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|e| {
            Some((e.path().file_stem()?.to_str()?.to_owned(), std::fs::read_to_string(e.path()).ok()?))
        })
        .collect();
    all.sort();
    let tools = TOOLS.iter().filter(|t| COMPARE.contains(&t.0));
    all.extend(tools.map(|(name, _, text)| ((*name).to_owned(), format!("{TOGETHER}\n{text}"))));
    all
}

fn one(folder: &Path, text: &str, free: bool) -> Result<(), Failed> {
    let mut job = Job::load(&folder.join("launch.toml"))?;
    let script = lang::parse(text).map_err(|c| c[0].render(text, "program"))?;
    let program = RecordingRequest::of_probe(Arc::new(script));
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program, &|_| None)?;
    // A kernel in which it does nothing stays as it is.
    let of_kernel =
        rewrite.plan.functions.iter().zip(&rewrite.module.functions).find(|f| f.1.name == job.kernel);
    if of_kernel.is_some_and(|(f, _)| f.skipped.is_some() && f.insertions.is_empty()) {
        return Ok(());
    }
    for &seed in SEEDS {
        job.config.seed = seed;
        let hooks = observe(&job, &rewrite.plan)?;
        let recorded = prlx_driver::record(
            &mut emulator(),
            Some(ModuleCode::Ptx(&rewrite.text)),
            &rewrite.plan,
            &job,
            &RecordOptions::default(),
        )?;
        if let Some(fault) = recorded.fault {
            return Err(format!("seed {seed}: {}", fault.message).into());
        }
        let parted = seed != 0 || PARTED.contains(&label(folder).as_str());
        if free || parted && text.starts_with(TOGETHER) {
            continue;
        }
        let wrong: u64 = recorded.outputs.iter().filter_map(|o| o.expect.as_ref()).map(|e| e.wrong).sum();
        if wrong > 0 {
            return Err(format!("seed {seed}: {wrong} elements are not what the reference says").into());
        }
        same(&hooks, &recorded.tallies, &rewrite.plan).map_err(|e| format!("seed {seed}: {e}"))?;
    }
    Ok(())
}

/// Runs the original code with hooks.
fn observe(job: &Job, plan: &Plan) -> Result<Vec<TableContents>, Failed> {
    let mut device = emulator();
    let module = device.load(ModuleCode::Ptx(&job.text))?;
    let prepared = prepare(&mut device, job)?;
    let seen = device
        .observe(module, &job.kernel, &job.config, &prepared.params, plan)
        .ok_or("the CPU device has hooks")??;
    seen.ended?;
    Ok(seen.tallies)
}

/// The first row that is not the same.
fn same(hooks: &[TableContents], code: &[TableContents], plan: &Plan) -> Result<(), String> {
    if hooks.len() != code.len() {
        return Err(format!("{} tables by hooks, {} by code", hooks.len(), code.len()));
    }
    for (h, c) in hooks.iter().zip(code) {
        let table = &plan.module.tables[h.table as usize];
        // A full table loses values where hooks lose none.
        if c.lost > 0 && h.lost == 0 {
            return Err(format!("@{} lost {} values", table.name, c.lost));
        }
        if let Some((x, y)) = h.rows.iter().zip(&c.rows).find(|(x, y)| x != y) {
            return Err(format!("@{}: {x:?} by hooks, {y:?} by code", table.name));
        }
        if h.rows.len() != c.rows.len() || h.lost != c.lost {
            let of = |t: &TableContents| format!("{} rows and {} lost", t.rows.len(), t.lost);
            return Err(format!("@{}: {} by hooks, {} by code", table.name, of(h), of(c)));
        }
    }
    Ok(())
}
