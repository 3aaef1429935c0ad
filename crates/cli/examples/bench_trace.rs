//! Benchmark: sizes and times of recordings, recorded on the CPU device at every level. Prints Markdown.
//!
//! Run `cargo xtask bench trace` (the launches of `bench/launches`), or this example with launch files. The
//! column `raw` is what the device wrote, `in file` the index and the frames, `static` the rest of the file.
//! Times are processor time of all threads.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use prlx_driver::workers::WORKERS;
use prlx_driver::{Job, ModuleCode, RecordOptions, record};
use prlx_emu::Emulator;
use prlx_plan::RecordingRequest;
use prlx_trace::device::COUNT_WORD;
use prlx_trace::launch::Lanes;
use prlx_trace::{Level, Streams, Trace};

fn main() -> Result<()> {
    let mut paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/launches");
        paths = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
        paths.retain(|path| path.is_file());
        paths.sort();
    }
    println!(
        "| launch | level | elements | decisions | raw bytes | in file | static | bits/decision | write, MB/s | open, µs | unpack, MB/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for path in paths {
        for (level, elide) in
            [(Level::Path, true), (Level::Path, false), (Level::Fingerprint, true), (Level::Events, true)]
        {
            row(&path, level, elide)
                .with_context(|| format!("{} at level {}", path.display(), level.name()))?;
        }
    }
    Ok(())
}

fn row(path: &Path, level: Level, elide: bool) -> Result<()> {
    let job = Job::load(path)?;
    let mut trace = recorded(&job, level, elide)?;
    let elements = trace.launches[0].launch.totals.recorded;
    let mut file = Vec::new();
    let write = mean(|| {
        file.clear();
        trace.write_parallel(&mut file, &WORKERS).is_ok()
    })?;
    let read = Trace::read(&file)?;
    if read != trace {
        bail!("what was read is not what was written");
    }
    let open = mean(|| black_box(Trace::read(&file)).is_ok())?;
    let streams = &read.launches[0].streams;
    let mut decisions = 0;
    let unpack = mean(|| {
        decisions = 0;
        (0..streams.frames()).all(|i| match streams.frame(i) {
            Ok(warps) => {
                decisions += warps.iter().map(|w| of_words(&w.lanes)).sum::<u64>();
                true
            }
            Err(_) => false,
        })
    })?;
    trace.launches[0].streams = Streams::default();
    let mut rest = Vec::new();
    trace.write(&mut rest)?;
    let stored = file.len() - rest.len();
    // Level `print` leaves four hashes of each lane beside its checkpoints.
    let finals = if level == Level::Fingerprint {
        job.config.grid.volume() * job.config.block.volume() * 32
    } else {
        0
    };
    let raw = finals
        + elements * if level == Level::Path { 4 } else { 8 * (1 + u64::from(level == Level::Events)) };
    let bits =
        if decisions == 0 { "–".into() } else { format!("{:.2}", stored as f64 * 8.0 / decisions as f64) };
    let speed = |t: f64| if raw == 0 { "–".into() } else { format!("{:.0}", raw as f64 / 1e6 / t) };
    println!(
        "| {} | {}{} | {elements} | {decisions} | {raw} | {stored} | {} | {bits} | {} | {:.0} | {} |",
        job.kernel,
        level.name(),
        if elide { "" } else { ", every decision" },
        rest.len(),
        speed(write),
        open * 1e6,
        speed(unpack),
    );
    Ok(())
}

fn recorded(job: &Job, level: Level, elide: bool) -> Result<Trace> {
    let program = RecordingRequest { elide, ..RecordingRequest::new(level) };
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program, &|path| job.source_text(path))?;
    let options = RecordOptions { pool: 512 << 20, run_original: true };
    let recorded =
        record(&mut Emulator::default(), Some(ModuleCode::Ptx(&rewrite.text)), &rewrite.plan, job, &options)?;
    let changed = recorded.original.as_ref().map_or(&[][..], |b| &b.changed);
    let dropped = recorded.recording.launch.totals.dropped;
    if recorded.fault.is_some() || !recorded.damage.is_empty() || !changed.is_empty() || dropped > 0 {
        bail!(
            "fault {:?}, damage {:?}, changed {changed:?}, dropped {dropped}",
            recorded.fault,
            recorded.damage
        );
    }
    Ok(recorded.into_trace(rewrite.plan.module))
}

/// Seconds on the processor that one call takes; of threads that have ended too, in steps of 10 ms.
fn mean(mut call: impl FnMut() -> bool) -> Result<f64> {
    let (begin, before) = (Instant::now(), ticks());
    let mut calls = 0u32;
    while begin.elapsed() < Duration::from_secs(1) || calls < 3 {
        if !call() {
            bail!("the file can't be written or read");
        }
        calls += 1;
    }
    let seconds =
        ticks().zip(before).map_or(begin.elapsed().as_secs_f64(), |(after, before)| (after - before) / 100.0);
    Ok(seconds / f64::from(calls))
}

/// Hundredths of seconds of this process on the processor, where the system tells.
fn ticks() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
}

/// Decisions in words of level `path`; trip counts are not taken apart.
fn of_words(lanes: &Lanes) -> u64 {
    let Lanes::Path { words, .. } = lanes else { return 0 };
    words.iter().filter(|w| **w & COUNT_WORD == 0).map(|w| u64::from(31 - w.leading_zeros())).sum()
}
