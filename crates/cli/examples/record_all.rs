//! Records launch files on the CPU device at every level and prints what their recordings take: a row of Markdown each.
//! With `NO_ELIDE` set, every decision is recorded. How `bench/runs/*-trace.md` is made.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use prlx_driver::{Job, RecordOptions, record};
use prlx_emu::Emulator;
use prlx_probe::{Filter, Plan, Program};
use prlx_trace::device::COUNT_WORD;
use prlx_trace::launch::Lanes;
use prlx_trace::{Level, Streams, Trace};

fn main() -> Result<()> {
    println!(
        "| launch | level | elements | dropped | decisions | raw bytes | in file | static | write | open | unpack |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for path in std::env::args().skip(1) {
        for level in [Level::Path, Level::Print, Level::Events] {
            row(&path, level).with_context(|| format!("{path} at level {}", level.name()))?;
        }
    }
    Ok(())
}

fn row(path: &str, level: Level) -> Result<()> {
    let job = Job::load(Path::new(path))?;
    let (view, _) = prlx_isa::ptx::read(&job.text);
    let elide = std::env::var_os("NO_ELIDE").is_none();
    let program = Program { level, elide, filter: Filter::default(), window: None };
    let plan = Plan::resolve(&program, &view, &job.text, &job.module, &|path| job.source_text(path));
    let edits = prlx_instrument::ptx(&job.text, &view, &plan).map_err(|e| anyhow!("{e:?}"))?;
    let text = prlx_instrument::apply(&job.text, &edits);
    let options = RecordOptions { pool: 512 << 20, bare: true };
    let recorded = record(&mut Emulator::default(), &text, &plan, &job, &options)?;
    let changed = recorded.bare.as_ref().map_or(&[][..], |b| &b.changed);
    if recorded.fault.is_some() || !recorded.damage.is_empty() || !changed.is_empty() {
        bail!("fault {:?}, damage {:?}, changed {changed:?}", recorded.fault, recorded.damage);
    }
    let totals = recorded.recording.launch.totals;
    let mut trace = recorded.into_trace(plan.module);
    let start = Instant::now();
    let mut file = Vec::new();
    trace.write(&mut file)?;
    let write = start.elapsed();
    let start = Instant::now();
    let read = Trace::read(&file)?;
    let open = start.elapsed();
    let start = Instant::now();
    let streams = &read.launches[0].streams;
    let mut decisions = 0;
    for i in 0..streams.frames() {
        decisions += streams.frame(i)?.iter().map(|w| of_words(&w.lanes)).sum::<u64>();
    }
    let unpack = start.elapsed();
    if read != trace {
        bail!("what was read is not what was written");
    }
    trace.launches[0].streams = Streams::default();
    let mut bare = Vec::new();
    trace.write(&mut bare)?;
    let name = Path::new(path).with_file_name(&job.kernel);
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let raw = totals.recorded * if level == Level::Path { 4 } else { 8 * (1 + u64::from(level == Level::Events)) };
    println!(
        "| {name} | {} | {} | {} | {decisions} | {raw} | {} | {} | {write:.1?} | {open:.1?} | {unpack:.1?} |",
        level.name(),
        totals.recorded,
        totals.dropped,
        file.len() - bare.len(),
        bare.len(),
    );
    Ok(())
}

/// Decisions in words of level `path`; trip counts are not taken apart.
fn of_words(lanes: &Lanes) -> u64 {
    let Lanes::Path { words, .. } = lanes else { return 0 };
    words.iter().filter(|w| **w & COUNT_WORD == 0).map(|w| u64::from(31 - w.leading_zeros())).sum()
}
